/**
 * The service's address, `CAMBIST_BASE_URL`, checked before anything is sent to it (interface heading "Versioning": the
 * address ends in the version segment). It must never accept an address on which a signed path would not be the path that
 * the server receives, nor one that sends tokens over an open network.
 */
import { canonicalPath } from './canonical.ts';
import { type ConfigurationCode, ServiceConfigurationError } from './errors.ts';

/** A checked address: `origin` like `https://api.example.com`, `basePath` like `/v3`, both canonical. */
export type ServiceAddress = { readonly origin: string; readonly basePath: string };

/**
 * @param text the address as configured, for instance `https://api.example.com/v3`
 * @throws ServiceConfigurationError `ADDRESS_…`
 */
export function parseAddress(text: string): ServiceAddress {
  // Never quotes the text: it may hold a password.
  const refuse = (code: ConfigurationCode, problem: string, fix: string): never => {
    throw new ServiceConfigurationError({ code, place: 'CAMBIST_BASE_URL', problem, fix });
  };
  const example = 'Write it like "https://api.example.com/v3".';

  if (text.trim() === '') refuse('ADDRESS_MISSING', 'no service address is given.', example);
  const parts = /^([a-z][a-z0-9+.-]*):\/\/([^/?#\s\\]+)([^?#\s\\]*)([?#]\S*)?$/i.exec(text);
  const url = parts === null ? null : parseUrl(text);
  if (parts === null || url === null)
    return refuse('ADDRESS_NOT_URL', 'the service address is not a URL.', example);
  const [, , authority = '', path = '', query] = parts;

  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    refuse('ADDRESS_SCHEME', `the scheme "${url.protocol}" is neither https nor http.`, example);
  if (authority.includes('@'))
    refuse(
      'ADDRESS_CREDENTIALS',
      'the address holds a user or password.',
      'Remove everything before "@"; requests are signed with the API key.',
    );
  if (query !== undefined)
    refuse('ADDRESS_QUERY', 'the address holds a query or fragment.', 'End it with "/v3".');
  if (/\/v[12]\/?$/i.test(path))
    refuse(
      'ADDRESS_SUNSET',
      'the address names an earlier version of the service; v1 ends after 31 December 2026.',
      'End it with "/v3".',
    );
  if (/\/v3\/+$/.test(path))
    refuse(
      'ADDRESS_TRAILING_SLASH',
      'the address ends in "/"; signed paths would hold "//".',
      'Remove the last "/".',
    );
  if (!path.endsWith('/v3'))
    refuse(
      'ADDRESS_VERSION',
      'the address does not end in the version segment.',
      'End it with "/v3", in lower case.',
    );
  if (canonicalPath(path) !== path || !/^[\x21-\x7e]*$/.test(path))
    refuse(
      'ADDRESS_PATH',
      `the path "${path}" is not written as the server sees it.`,
      `Write it as the server sees it: "${canonicalPath(path)}".`,
    );
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    refuse(
      'ADDRESS_PLAIN_HTTP',
      `plain http to "${url.hostname}" would let others on the network read tokens and amounts.`,
      'Use https; http is for this machine only.',
    );
  return Object.freeze({ origin: url.origin, basePath: path });
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Whether a host is this machine. `hostname` comes from URL, which has already written every form of an IP address in one way. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
