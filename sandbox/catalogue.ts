// The error catalogue of the service as data: every code the interface shows, with its status, type, retry
// strategy and the fields of its details. Nothing here decides when a code is given.

export type ErrorType =
  | 'VALIDATION_ERROR'
  | 'AUTHENTICATION_ERROR'
  | 'AUTHORIZATION_ERROR'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR';

export type RetryStrategy =
  'RETRY_SAME_KEY' | 'WAIT_THEN_RETRY_SAME_KEY' | 'FIX_AND_RESUBMIT' | 'CHECK_STATE_THEN_RETRY' | 'TERMINAL';

export interface CatalogueEntry {
  readonly status: number;
  readonly type: ErrorType;
  readonly retryStrategy: RetryStrategy;
  /** Names of the fields of `details`; a trailing `?` marks an optional one. */
  readonly details: readonly string[];
}

/** One helper per row of "Status mapping"; the strategy follows from "Retry strategy assignment". */
const unauthenticated = (...details: string[]): CatalogueEntry => ({
  status: 401,
  type: 'AUTHENTICATION_ERROR',
  retryStrategy: 'TERMINAL',
  details,
});
const forbidden = (...details: string[]): CatalogueEntry => ({
  status: 403,
  type: 'AUTHORIZATION_ERROR',
  retryStrategy: 'TERMINAL',
  details,
});
const invalid = (status: 400 | 405 | 413 | 415 | 422 | 428, ...details: string[]): CatalogueEntry => ({
  status,
  type: 'VALIDATION_ERROR',
  retryStrategy: 'FIX_AND_RESUBMIT',
  details,
});
const absent = (status: 404 | 410, ...details: string[]): CatalogueEntry => ({
  status,
  type: 'NOT_FOUND',
  retryStrategy: 'TERMINAL',
  details,
});
const conflict = (status: 409 | 422, ...details: string[]): CatalogueEntry => ({
  status,
  type: 'CONFLICT',
  retryStrategy: 'FIX_AND_RESUBMIT',
  details,
});
const broken = (...details: string[]): CatalogueEntry => ({
  status: 500,
  type: 'INTERNAL_ERROR',
  retryStrategy: 'CHECK_STATE_THEN_RETRY',
  details,
});

/** "Code catalog (shown codes)", table by table. */
export const catalogue = {
  // Authentication and authorization
  AUTH_TOKEN_MISSING: unauthenticated(),
  AUTH_TOKEN_INVALID: unauthenticated('reason?'),
  AUTH_TOKEN_EXPIRED: unauthenticated('expiredAt?'),
  AUTH_TOKEN_INVALID_CONFIG: unauthenticated('reason', 'maxSeconds?'),
  AUTH_API_KEY_MISSING: unauthenticated(),
  AUTH_API_KEY_INVALID: unauthenticated(),
  AUTH_API_KEY_SANDBOX_REQUIRED: forbidden(),
  AUTH_API_KEY_LIVE_REQUIRED: forbidden(),
  SANDBOX_MODE_REQUIRED: forbidden(),
  AUTH_FORBIDDEN_IP: forbidden('ip?'),
  AUTH_INSUFFICIENT_SCOPE: forbidden(),

  // Validation
  INVALID_APP_MODE: invalid(400, 'received', 'allowed'),
  VALIDATION_QUERY_FAILED: invalid(400, 'issues', 'firstIssuePath?'),
  VALIDATION_PATH_FAILED: invalid(400, 'issues', 'firstIssuePath?'),
  VALIDATION_BODY_FAILED: invalid(400, 'issues', 'firstIssuePath?'),
  VALIDATION_HEADER_FAILED: invalid(400, 'issues', 'firstIssuePath'),
  VALIDATION_CONTENT_TYPE: invalid(400),
  INVALID_ORGANIZATION: invalid(400),
  MISSING_REQUEST_CONTEXT: invalid(400),
  METHOD_NOT_ALLOWED: invalid(405, 'method', 'allowed'),
  VALIDATION_PAYLOAD_TOO_LARGE: invalid(413, 'reason?', 'receivedBytes?', 'limitBytes?'),
  UNSUPPORTED_MEDIA_TYPE: invalid(415),

  // Idempotency, routing, rate limiting, platform
  IDEMPOTENCY_KEY_MISSING: invalid(428, 'endpoint'),
  IDEMPOTENCY_KEY_INVALID: invalid(400),
  IDEMPOTENCY_IN_FLIGHT: { ...conflict(409), retryStrategy: 'WAIT_THEN_RETRY_SAME_KEY' },
  IDEMPOTENCY_MISMATCH: conflict(422, 'originalRequestHash', 'firstSeenAt?'),
  IDEMPOTENCY_UNAVAILABLE: {
    status: 503,
    type: 'INTERNAL_ERROR',
    retryStrategy: 'WAIT_THEN_RETRY_SAME_KEY',
    details: [],
  },
  ROUTE_NOT_FOUND: absent(404, 'path'),
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    type: 'RATE_LIMITED',
    retryStrategy: 'WAIT_THEN_RETRY_SAME_KEY',
    details: [],
  },
  FEATURE_NOT_ENABLED: forbidden(),
  INTERNAL_ERROR: broken('resourceId?'),
  // The interface maps 410 to type NOT_FOUND but shows no code for it: this name is ours.
  ENDPOINT_SUNSET: absent(410),

  // Trading and quotes
  TRADE_NOT_FOUND: absent(404, 'tradeId'),
  TRADE_NOT_REVERSIBLE: conflict(409),
  TRADE_NOT_SETTLEABLE: conflict(409),
  TRADE_NOT_MANUAL: conflict(409),
  TRADE_ALREADY_SETTLED: conflict(409),
  TRADE_EXECUTION_FAILED: broken('resourceId', 'timeoutMs?'),
  TRADE_DUPLICATE_CLIENT_REFERENCE: conflict(409),
  TRADE_DISABLED: forbidden(),
  TRADE_AMOUNT_ABOVE_LIMIT: invalid(422, 'requestedAmount', 'currency', 'limitAmount'),
  TRADE_AMOUNT_BELOW_MINIMUM: invalid(422, 'requestedAmount', 'currency', 'minimumAmount'),
  TRADE_PAIR_VOLUME_LIMIT_REACHED: conflict(409, 'pair'),
  TRADE_CREDIT_LIMIT_EXCEEDED: conflict(409, 'usedAmount', 'limitAmount', 'currency'),
  TRADE_INSUFFICIENT_BALANCE: conflict(409, 'requiredAmount', 'availableAmount', 'currency', 'side'),
  TRADE_CURRENCY_NOT_SUPPORTED: invalid(400, 'currency'),
  TRADE_CURRENCY_NOT_ENABLED_FOR_ACCOUNT: forbidden('currency'),
  TRADE_PAIR_NOT_SUPPORTED: invalid(400, 'pair'),
  TRADE_PAIR_NOT_ENABLED_FOR_ACCOUNT: forbidden('pair'),
  QUOTE_INVALID_REFERENCE_UNIT: invalid(400),
  QUOTE_EXPIRED: conflict(409, 'quoteId', 'expiredAt'),
  // The payments variant of this code has empty details; only the FX variant is given here.
  QUOTE_ALREADY_CONSUMED: conflict(409, 'quoteId', 'consumedAt'),
  QUOTE_NOT_FOUND: absent(404, 'quoteId'),
  DEPOSIT_NOT_FOUND: absent(404, 'depositId'),
  EXPOSURE_NOT_ENABLED: forbidden(),

  // Withdrawals
  WITHDRAWAL_NOT_FOUND: absent(404),
  WITHDRAWAL_INITIATION_FAILED: broken('resourceId', 'timeoutMs?'),
  WITHDRAWAL_INVALID_AMOUNT_PRECISION: invalid(422, 'maxDecimals', 'currency'),
  WITHDRAWAL_INSUFFICIENT_BALANCE: conflict(409, 'requiredAmount', 'availableAmount', 'currency'),
  WITHDRAWAL_ADDRESS_NOT_VERIFIED: conflict(409, 'accountId'),
  WITHDRAWAL_ADDRESS_CHECKSUM_FAILED: invalid(422, 'address', 'network'),
  WITHDRAWAL_CURRENCY_NOT_SUPPORTED: invalid(400),
  WITHDRAWAL_DISABLED_FOR_ACCOUNT: forbidden(),
  WITHDRAWAL_PENDING_DEPOSIT_REQUIRED: conflict(409, 'outstandingAmount', 'currency'),
  WITHDRAWAL_ADDRESS_CURRENCY_MISMATCH: invalid(422, 'expected', 'received'),
  WITHDRAWAL_ADDRESS_NOT_FOUND: absent(404, 'accountId'),
  WITHDRAWAL_ACCOUNT_NOT_LIVE: forbidden('accountId', 'status'),
  WITHDRAWAL_ACCOUNT_FIAT_INVALID_NETWORK: invalid(400, 'network'),
  WITHDRAWAL_ACCOUNT_CRYPTO_INVALID_RAIL: invalid(400, 'rail'),

  // Accounts, capabilities, payout addresses, payout quotes (payments surface)
  ACCOUNT_ARCHIVED: conflict(409, 'accountId'),
  ACCOUNT_HOLDER_MISMATCH: conflict(409),
  ACCOUNT_NOT_ACTIVE: conflict(409, 'accountId', 'status'),
  ACCOUNT_NOT_FOUND: absent(404),
  AGREEMENTS_NOT_ACTIVE: conflict(409),
  AGREEMENTS_PENDING: conflict(409),
  BENEFICIARY_DETAILS_MISSING: conflict(409),
  FINANCIAL_ACCOUNT_CURRENCY_MISMATCH: invalid(422),
  FINANCIAL_ACCOUNT_NOT_FOUND: absent(404),
  IDENTITY_REQUIREMENT_UNMET: invalid(422, 'issues', 'firstIssuePath?'),
  KYC_REQUIRED: conflict(409),
  ADDRESS_SERVES_NO_CAPABILITY: conflict(409, 'accountId', 'required'),
  CAPABILITY_DUPLICATE: invalid(422, 'duplicates'),
  CAPABILITY_NOT_ACTIVE: conflict(409, 'accountId', 'required', 'capabilityId', 'status'),
  BANK_ACCOUNT_NOT_FOUND: absent(404, 'reason'),
  PAYOUT_ADDRESS_ARCHIVED: conflict(409),
  PAYOUT_ADDRESS_CONFLICT: conflict(409, 'payoutAddressId', 'status'),
  PAYOUT_ADDRESS_FIELD_MISSING: invalid(400),
  PAYOUT_ADDRESS_NOT_FOUND: absent(404),
  PAYOUT_ADDRESS_REJECTED: conflict(409),
  PAYOUT_ADDRESS_VERIFICATION_FAILED: conflict(409),
  VERIFICATION_EXECUTION_FAILED: broken(),
  AMOUNT_OUT_OF_RANGE: invalid(
    422,
    'issues',
    'firstIssuePath?',
    'amount?',
    'minimum?',
    'maximum?',
    'currency?',
  ),
  CURRENCY_NOT_SUPPORTED: invalid(422),
} as const satisfies Record<string, CatalogueEntry>;

export type Code = keyof typeof catalogue;

export function isCode(value: string): value is Code {
  return Object.hasOwn(catalogue, value);
}

export function entryOf(code: Code): CatalogueEntry {
  return catalogue[code];
}
