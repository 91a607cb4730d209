/** The seal of a quote: shows that a program with the same API key asked for it. It never leaves for the service. */
import { createHmac, hkdfSync } from 'node:crypto';
import { signingKeys, type ApiKey } from './key.ts';

/**
 * Makes the function that seals facts: HMAC-SHA256, hex, over length-prefixed texts, under a key derived from the private key.
 * @throws ServiceInputError `BAD_KEY` for a record that `parseKey` did not make
 */
export function sealerOf(key: ApiKey): (facts: readonly string[]) => string {
  const secret = signingKeys(key).forRequest.export({ type: 'pkcs8', format: 'der' });
  const derived = new Uint8Array(hkdfSync('sha256', secret, '', 'cambist quote seal 1', 32));
  return (facts) =>
    createHmac('sha256', derived)
      .update(facts.map((text) => `${text.length}:${text}`).join(''), 'utf8')
      .digest('hex');
}
