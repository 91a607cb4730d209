/**
 * What the service says goes on to histories, evidence and terminals only as plain words: nothing there can forge a line
 * of ours, steer a terminal, or carry the name of a beneficiary (M6). Pure.
 */

/** A code of the catalogue (heading "Codes"), known or not. Any other text is no code. */
export const PLAIN_CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

/**
 * Takes the place of each character that a plain word cannot have. No plain word has it, so that a changed text equals none.
 */
const MARK = '?';
/** Stands at the end of a text that was cut, for the same reason. */
const CUT = '…';

/** A status as it is shown and compared: at most 64 of the characters that the service file allows in a status. */
export function plainStatus(text: string): string {
  return plain(text, /[^A-Za-z0-9_ -]/gu, 64);
}

/** An id, a reference or a tag: longer than any of ours, so that none of ours is ever cut. */
export function plainId(text: string): string {
  return plain(text, /[^A-Za-z0-9_.:~-]/gu, 300);
}

function plain(text: string, odd: RegExp, maxLength: number): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength) : text;
  return `${cut.replaceAll(odd, MARK)}${cut.length < text.length ? CUT : ''}`;
}

/** Details of the code catalogue that are an amount, a time, an id, a currency or the like. */
const PLAIN_DETAILS: ReadonlySet<string> = new Set(
  `accountId allowed amount availableAmount capabilityId consumedAt currency depositId duplicates endpoint expected expiredAt
  firstIssuePath firstSeenAt ip limitAmount limitBytes maxDecimals maxSeconds maximum method minimum minimumAmount network
  originalRequestHash outstandingAmount pair payoutAddressId quoteId rail receivedBytes requestedAmount required
  requiredAmount resourceId side timeoutMs tradeId usedAmount`.split(/\s+/),
);

/** Of details that the service fills with words, only these values are shown: another one may be about a person. */
const SHOWN_VALUES: Readonly<Record<string, ReadonlySet<string>>> = {
  reason: new Set([
    'malformed_token',
    'signature_missing',
    'signature_malformed',
    'signature_invalid',
    'token_signature_invalid',
    'nonce_malformed',
    'alg_not_allowed',
    'typ_not_allowed',
    'kid_malformed',
    'sub_mismatch',
    'aud_mismatch',
    'iss_mismatch',
    'iat_malformed',
    'nbf_malformed',
    'exp_malformed',
    'not_yet_valid',
    'issued_in_future',
    'lifetime_too_long',
    'lifetime_not_positive',
  ]),
  status: new Set([
    'ACTIVE',
    'ARCHIVED',
    'BLOCKED',
    'CLOSED',
    'DELETED',
    'DISABLED',
    'EXPIRED',
    'INACTIVE',
    'LIVE',
    'PENDING',
    'PENDING_VERIFICATION',
    'REJECTED',
    'REVOKED',
    'SUSPENDED',
    'UNVERIFIED',
    'VERIFIED',
  ]),
};

/** No blanks: a detail is one word, or it is not shown. */
const PLAIN_DETAIL = /^[A-Za-z0-9_.:/+~-]{1,100}$/;

/**
 * The details of an error that may go on: those that the code catalogue names, as numbers, yes or no, or single plain words.
 * A beneficiary's `address`, nested details and what the code catalogue does not name are dropped; nothing decides by them.
 */
export function shownDetails(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(details).flatMap(([name, value]) => {
      const shown = shownDetail(name, value);
      return shown === null ? [] : [[name, shown]];
    }),
  );
}

function shownDetail(name: string, value: unknown): string | number | boolean | null {
  if (name === 'reason' && typeof value === 'string' && /replay/i.test(value)) return 'nonce_replay';
  if (Object.hasOwn(SHOWN_VALUES, name))
    return typeof value === 'string' && SHOWN_VALUES[name]?.has(value) === true ? value : null;
  if (!PLAIN_DETAILS.has(name)) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return typeof value === 'string' && PLAIN_DETAIL.test(value) ? value : null;
}
