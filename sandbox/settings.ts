// Settings of the sandbox: one named value for each thing the interface leaves open, and for what an operator
// may switch on the service's side. All of them can be changed while it runs.

import type { Check } from './checks.ts';
import {
  BadInput,
  amount,
  basisPoints,
  count,
  currency,
  filledText,
  flag,
  listOf,
  mapOf,
  oneOf,
  orNull,
  positive,
  positiveCount,
  shape,
} from './checks.ts';
import { isOperation } from './operations.ts';
import type { RateLimit } from './request-rate.ts';

export type SettlementWindow = 'IMMEDIATE' | 'T0' | 'T1' | 'T2';

export interface SandboxSettings {
  // Authentication
  /** The issuer a token must name. */
  readonly issuer: string;
  /** Whose time judges iat, nbf and exp. `system` lets a client with the real time go on while the clock is moved. */
  readonly tokenClock: 'system' | 'sandbox';
  readonly clockToleranceSeconds: number;
  /** `sandbox-only`: a request with another mode gets SANDBOX_MODE_REQUIRED. */
  readonly environment: 'both' | 'sandbox-only';
  /** How `+` in a query is decoded before it is signed. */
  readonly plusInQuery: 'space' | 'plus';

  // Requests
  readonly maxBodyBytes: number;
  /** Which of the two codes a wrong content type gets. */
  readonly contentTypeRefusal: 'VALIDATION_CONTENT_TYPE' | 'UNSUPPORTED_MEDIA_TYPE';
  /** How many authentic requests an organisation, or a key, may make in a window; null: any number. */
  readonly rateLimit: RateLimit | null;
  /** Whether v1 paths are gone already, or only after 31 December 2026 by the sandbox clock. */
  readonly v1Sunset: 'always' | 'by-date';

  // Idempotency
  /** What is kept under a key besides successes. */
  readonly storeErrors: 'all' | 'refusals' | 'none';
  readonly keyScope: 'org' | 'apiKey';
  /** Whether each operation has its own key space. */
  readonly keyPerOperation: boolean;
  readonly inFlightRetryAfterSeconds: number;

  // Prices
  /** Taken from the mid rate, against the client. */
  readonly spreadBps: number;
  /** Most fraction digits of quoteAmount. */
  readonly quoteDecimals: number;
  /** `currency` rounds executedAmount to the currency's own decimals. */
  readonly executedDecimals: 'quote' | 'currency';
  readonly decimals: Readonly<Record<string, number>>;

  // Limits and switches
  /** Pair limits in US dollars, turned into the sell currency unless `pairLimits` names the pair. */
  readonly minTradeUsd: string;
  readonly maxTradeUsd: string;
  /** By `SELL/BUY`, in the sell currency. */
  readonly pairLimits: Readonly<Record<string, { readonly min: string; readonly max: string }>>;
  readonly limitsInclusive: boolean;
  readonly limitsCheckedAt: 'trade' | 'quote';
  readonly tradingDisabled: boolean;
  readonly withdrawalsDisabled: boolean;
  readonly currenciesNotEnabled: readonly string[];
  /** `SELL/BUY`. */
  readonly pairsNotEnabled: readonly string[];
  readonly pairsNotSupported: readonly string[];
  readonly pairsAtVolumeLimit: readonly string[];
  /** Operations answered with FEATURE_NOT_ENABLED. */
  readonly operationsNotEnabled: readonly string[];
  readonly pendingDeposit: { readonly currency: string; readonly amount: string } | null;
  /** The credit line; null: none, and exposures answer EXPOSURE_NOT_ENABLED. */
  readonly creditLimitUsd: string | null;

  // Trades
  readonly duplicateReferenceRefused: boolean;
  /** Whether a trade that was refused or failed uses up its reference. */
  readonly failedTradeBurnsReference: boolean;
  /** Which check comes first when both the quote and the reference are bad. */
  readonly tradeCheckOrder: 'quote-first' | 'reference-first';
  /** What a quote that is both consumed and past its life answers. */
  readonly deadQuoteOrder: 'consumed-first' | 'expired-first';
  /** From execution to the final word; LOCKED comes after a quarter, READY_TO_SETTLE after half of it. */
  readonly settlementMs: Readonly<Record<SettlementWindow, number>>;
  readonly tradeWords: {
    readonly executed: string;
    readonly locked: string;
    readonly ready: string;
    readonly final: string;
  };
  readonly boughtMoneyWithdrawable: 'at_settlement' | 'at_trade';
  readonly soldMoneyLeaves: 'at_trade' | 'at_settlement';

  // Withdrawals
  /** The states before the end, with how long each lasts. */
  readonly withdrawalSteps: readonly { readonly status: string; readonly forMs: number }[];
  readonly withdrawalWords: {
    readonly completed: string;
    readonly failed: string;
    readonly returned: string;
  };
  /** How long after the end a completed withdrawal comes back, where the outcome says so. */
  readonly withdrawalReturnAfterMs: number;
  /** Most fraction digits the schema lets pass; null: any number. */
  readonly withdrawalFractionDigits: 8 | 16 | null;
  /** Status of WITHDRAWAL_INSUFFICIENT_BALANCE and WITHDRAWAL_ADDRESS_NOT_VERIFIED. */
  readonly withdrawalStateRefusalStatus: 400 | 409;
  readonly metadataInLists: 'always' | 'never' | 'mixed';
  readonly maskActors: boolean;

  // Lists and reads
  /** A new record shows in lists only after this long. */
  readonly listLagMs: number;
  /** A new record is found by id only after this long. */
  readonly readLagMs: number;
  /** Pages hold at most so many rows, whatever the limit; null: as asked. */
  readonly maxRowsPerPage: number | null;
  /** Which rows `endingBefore` gives when more are newer than fit a page. */
  readonly endingBeforePage: 'nearest' | 'newest';
  /** `awkward` cursors hold every character that must be escaped in a query. */
  readonly cursorStyle: 'plain' | 'awkward';
  readonly hideZeroBalances: boolean;
}

export const defaultSettings: SandboxSettings = {
  issuer: 'service',
  tokenClock: 'system',
  clockToleranceSeconds: 0,
  environment: 'both',
  plusInQuery: 'space',
  maxBodyBytes: 65_536,
  contentTypeRefusal: 'VALIDATION_CONTENT_TYPE',
  rateLimit: null,
  v1Sunset: 'always',
  storeErrors: 'refusals',
  keyScope: 'org',
  keyPerOperation: true,
  inFlightRetryAfterSeconds: 1,
  spreadBps: 0,
  quoteDecimals: 10,
  executedDecimals: 'quote',
  decimals: { JPY: 0, USDC: 6, USDT: 6, EURC: 6, EUROP: 6 },
  minTradeUsd: '1',
  maxTradeUsd: '10000000',
  pairLimits: {},
  limitsInclusive: true,
  limitsCheckedAt: 'trade',
  tradingDisabled: false,
  withdrawalsDisabled: false,
  currenciesNotEnabled: [],
  pairsNotEnabled: [],
  pairsNotSupported: [],
  pairsAtVolumeLimit: [],
  operationsNotEnabled: [],
  pendingDeposit: null,
  creditLimitUsd: null,
  duplicateReferenceRefused: true,
  failedTradeBurnsReference: false,
  tradeCheckOrder: 'quote-first',
  deadQuoteOrder: 'consumed-first',
  settlementMs: { IMMEDIATE: 0, T0: 2_000, T1: 4_000, T2: 6_000 },
  tradeWords: { executed: 'EXECUTED', locked: 'LOCKED', ready: 'READY_TO_SETTLE', final: 'SETTLED' },
  boughtMoneyWithdrawable: 'at_settlement',
  soldMoneyLeaves: 'at_trade',
  withdrawalSteps: [
    { status: 'PENDING', forMs: 500 },
    { status: 'PROCESSING', forMs: 1_000 },
  ],
  withdrawalWords: { completed: 'COMPLETED', failed: 'FAILED', returned: 'RETURNED' },
  withdrawalReturnAfterMs: 1_000,
  withdrawalFractionDigits: 8,
  withdrawalStateRefusalStatus: 409,
  metadataInLists: 'always',
  maskActors: false,
  listLagMs: 0,
  readLagMs: 0,
  maxRowsPerPage: null,
  endingBeforePage: 'nearest',
  cursorStyle: 'plain',
  hideZeroBalances: false,
};

/** Objects among the settings may be given in part; lists are replaced whole. */
export type SettingsPatch = {
  readonly [K in keyof SandboxSettings]?: SandboxSettings[K] extends readonly unknown[]
    ? SandboxSettings[K]
    : SandboxSettings[K] extends object
      ? Readonly<Partial<SandboxSettings[K]>>
      : SandboxSettings[K];
};

const pairName: Check<string> = (value, at) => {
  const name = filledText(value, at);
  const [sell, buy, ...more] = name.split('/');
  currency(sell, at);
  currency(buy, at);
  return more.length === 0 ? name : filledText(undefined, at);
};

const operationName: Check<string> = (value, at) => {
  const name = filledText(value, at);
  if (!isOperation(name))
    throw new BadInput(`${at} is "${name}"; it must be an operation like "createTrade".`);
  return name;
};

const settingChecks: { readonly [K in keyof SandboxSettings]: Check<unknown> } = {
  issuer: filledText,
  tokenClock: oneOf('system', 'sandbox'),
  clockToleranceSeconds: count,
  environment: oneOf('both', 'sandbox-only'),
  plusInQuery: oneOf('space', 'plus'),
  maxBodyBytes: positiveCount,
  contentTypeRefusal: oneOf('VALIDATION_CONTENT_TYPE', 'UNSUPPORTED_MEDIA_TYPE'),
  rateLimit: orNull(
    shape({ requests: positiveCount, windowMs: positiveCount, scope: oneOf('org', 'apiKey') }, {}),
  ),
  v1Sunset: oneOf('always', 'by-date'),
  storeErrors: oneOf('all', 'refusals', 'none'),
  keyScope: oneOf('org', 'apiKey'),
  keyPerOperation: flag,
  inFlightRetryAfterSeconds: count,
  spreadBps: basisPoints,
  quoteDecimals: count,
  executedDecimals: oneOf('quote', 'currency'),
  decimals: mapOf(count, currency),
  minTradeUsd: amount,
  maxTradeUsd: amount,
  pairLimits: mapOf(shape({ min: amount, max: amount }, {}), pairName),
  limitsInclusive: flag,
  limitsCheckedAt: oneOf('trade', 'quote'),
  tradingDisabled: flag,
  withdrawalsDisabled: flag,
  currenciesNotEnabled: listOf(currency),
  pairsNotEnabled: listOf(pairName),
  pairsNotSupported: listOf(pairName),
  pairsAtVolumeLimit: listOf(pairName),
  operationsNotEnabled: listOf(operationName),
  pendingDeposit: orNull(shape({ currency, amount: positive }, {})),
  creditLimitUsd: orNull(amount),
  duplicateReferenceRefused: flag,
  failedTradeBurnsReference: flag,
  tradeCheckOrder: oneOf('quote-first', 'reference-first'),
  deadQuoteOrder: oneOf('consumed-first', 'expired-first'),
  settlementMs: shape({}, { IMMEDIATE: count, T0: count, T1: count, T2: count }),
  tradeWords: shape({}, { executed: filledText, locked: filledText, ready: filledText, final: filledText }),
  boughtMoneyWithdrawable: oneOf('at_settlement', 'at_trade'),
  soldMoneyLeaves: oneOf('at_trade', 'at_settlement'),
  withdrawalSteps: (value, at) => {
    const steps = listOf(shape({ status: filledText, forMs: count }, {}))(value, at);
    if (steps.length === 0) filledText(undefined, `${at}[0].status`);
    return steps;
  },
  withdrawalWords: shape({}, { completed: filledText, failed: filledText, returned: filledText }),
  withdrawalReturnAfterMs: count,
  withdrawalFractionDigits: oneOf(8, 16, null),
  withdrawalStateRefusalStatus: oneOf(400, 409),
  metadataInLists: oneOf('always', 'never', 'mixed'),
  maskActors: flag,
  listLagMs: count,
  readLagMs: count,
  maxRowsPerPage: orNull(positiveCount),
  endingBeforePage: oneOf('nearest', 'newest'),
  cursorStyle: oneOf('plain', 'awkward'),
  hideZeroBalances: flag,
};

const patchCheck = shape({}, settingChecks);

/** Checks a patch (unknown names are refused) and returns the settings with it applied. */
export function withPatch(settings: SandboxSettings, patch: unknown): SandboxSettings {
  const checked = patchCheck(patch, 'settings') as Readonly<Record<string, unknown>>;
  const merged: Record<string, unknown> = { ...settings };
  for (const [name, value] of Object.entries(checked)) {
    merged[name] =
      isPlainObject(value) && isPlainObject(merged[name]) ? { ...merged[name], ...value } : value;
  }
  return merged as unknown as SandboxSettings;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
