// Withdrawals: what is refused and in which order, the life cycle, and the two shapes they are shown in.

import { createHash } from 'node:crypto';

import { netEquityUsd } from './balances.ts';
import { closedBody, isObject, textField } from './bodies.ts';
import type { Booking } from './booking.ts';
import { isoOf } from './clock.ts';
import type { Core } from './core.ts';
import { isoOrNull } from './core.ts';
import { accountIdPattern } from './default-accounts.ts';
import { Decimal, fractionDigits, positiveAmount, textOf } from './money.ts';
import type {
  AgendaWhat,
  BookId,
  WithdrawalAccountRecord,
  WithdrawalOutcome,
  WithdrawalRecord,
} from './records.ts';
import type { Issue } from './refusal.ts';
import { Refusal, refuseIssues } from './refusal.ts';
import type { JsonValue } from './strict-json.ts';

export interface WithdrawalInput {
  readonly currency: string;
  readonly withdrawalAmount: string;
  readonly withdrawalAccountId: string;
  readonly metadata: Readonly<Record<string, string>> | null;
}

const cryptoCurrencies = ['USDT', 'USDC', 'EURC', 'EUROP'];
const fiatCurrencies =
  'USD AED GBP EUR AUD MXN BRL PHP ARS COP INR CHF IDR NOK PLN SGD ZAR DKK HKD SEK'.split(' ');
const currencies = new Set([...cryptoCurrencies, ...fiatCurrencies]);
const maskedActor = { actorId: 'usr_internal', actorEmail: 'internal@service.example' };

/** "POST /fx/withdrawals", the request body. */
export function readWithdrawalInput(core: Core, body: JsonValue): WithdrawalInput {
  const issues: Issue[] = [];
  const known = ['currency', 'withdrawalAmount', 'withdrawalAccountId', 'metadata'];
  const fields = closedBody(body, known, issues);
  const currency = textField(fields, 'currency', issues) ?? '';
  if (currency !== '' && !/^[A-Z0-9]{2,15}$/.test(currency)) {
    issues.push({ path: 'currency', message: 'must be 2 to 15 upper-case letters or digits' });
  }
  const amount = fields['withdrawalAmount'];
  const most = core.settings.withdrawalFractionDigits;
  if (typeof amount !== 'string' || !positiveAmount.test(amount)) {
    issues.push({ path: 'withdrawalAmount', message: 'must be a positive decimal string' });
  } else if (most !== null && fractionDigits(amount) > most) {
    issues.push({ path: 'withdrawalAmount', message: `must have at most ${most} fraction digits` });
  }
  const accountId = textField(fields, 'withdrawalAccountId', issues) ?? '';
  if (accountId !== '' && !accountIdPattern.test(accountId)) {
    issues.push({ path: 'withdrawalAccountId', message: 'is not an account id' });
  }
  const metadata = readMetadata(fields['metadata'], issues);
  if (issues.length > 0) refuseIssues('VALIDATION_BODY_FAILED', issues);
  if (!currencies.has(currency)) throw new Refusal('WITHDRAWAL_CURRENCY_NOT_SUPPORTED');
  return {
    currency,
    withdrawalAmount: typeof amount === 'string' ? amount : '',
    withdrawalAccountId: accountId,
    metadata,
  };
}

/** "Metadata rules". */
function readMetadata(
  value: JsonValue | undefined,
  issues: Issue[],
): Readonly<Record<string, string>> | null {
  if (value === undefined) return null;
  if (!isObject(value)) {
    issues.push({ path: 'metadata', message: 'must be an object' });
    return null;
  }
  const entries = Object.entries(value);
  if (entries.length > 50) issues.push({ path: 'metadata', message: 'must have at most 50 keys' });
  for (const [name, item] of entries) {
    const length = Array.from(name).length;
    if (length < 1 || length > 40) {
      issues.push({ path: `metadata.${name}`, message: 'a key must have 1 to 40 characters' });
    }
    if (typeof item !== 'string') issues.push({ path: `metadata.${name}`, message: 'must be a string' });
    else if (Array.from(item).length > 500) {
      issues.push({ path: `metadata.${name}`, message: 'must have at most 500 characters' });
    }
  }
  if (Buffer.byteLength(JSON.stringify(value)) > 8_192) {
    issues.push({ path: 'metadata', message: 'must have at most 8192 bytes' });
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

/** All that can refuse a withdrawal. */
export function checkWithdrawal(core: Core, book: BookId, input: WithdrawalInput): WithdrawalAccountRecord {
  const { settings } = core;
  const { currency, withdrawalAccountId: accountId } = input;
  if (settings.withdrawalsDisabled) throw new Refusal('WITHDRAWAL_DISABLED_FOR_ACCOUNT');
  const account = core.store.tables.accounts.get(`${book} ${accountId}`);
  if (account === undefined) throw new Refusal('WITHDRAWAL_ADDRESS_NOT_FOUND', { accountId });
  if (account.status === 'UNVERIFIED') {
    const status = settings.withdrawalStateRefusalStatus;
    throw new Refusal('WITHDRAWAL_ADDRESS_NOT_VERIFIED', { accountId }, { status });
  }
  if (account.status !== 'LIVE') {
    throw new Refusal('WITHDRAWAL_ACCOUNT_NOT_LIVE', { accountId, status: account.status });
  }
  const assetType = cryptoCurrencies.includes(currency) ? 'CRYPTO' : 'FIAT';
  if (account.assetType !== assetType || (account.currency !== null && account.currency !== currency)) {
    const expected = account.currency ?? account.assetType;
    throw new Refusal('WITHDRAWAL_ADDRESS_CURRENCY_MISMATCH', { expected, received: currency });
  }
  if (account.checksumFails) {
    throw new Refusal('WITHDRAWAL_ADDRESS_CHECKSUM_FAILED', {
      address: account.destination['address'] ?? '',
      network: account.network ?? '',
    });
  }
  const maxDecimals = settings.decimals[currency] ?? 2;
  if (fractionDigits(input.withdrawalAmount) > maxDecimals) {
    throw new Refusal('WITHDRAWAL_INVALID_AMOUNT_PRECISION', { maxDecimals, currency });
  }
  if (settings.pendingDeposit !== null) {
    const { amount, currency: owedIn } = settings.pendingDeposit;
    throw new Refusal('WITHDRAWAL_PENDING_DEPOSIT_REQUIRED', { outstandingAmount: amount, currency: owedIn });
  }
  checkCovered(core, book, currency, new Decimal(input.withdrawalAmount));
  return account;
}

/** The currency's own balance, and the organisation's net equity over all currencies, must both cover it. */
function checkCovered(core: Core, book: BookId, currency: string, amount: Decimal): void {
  const own = core.ledger.withdrawable(book, currency);
  const perDollar = core.rates.rate('USD', currency);
  const ceiling = perDollar === null ? own : netEquityUsd(core, book).times(perDollar);
  const available = Decimal.min(own, ceiling);
  if (amount.lte(available)) return;
  throw new Refusal(
    'WITHDRAWAL_INSUFFICIENT_BALANCE',
    { requiredAmount: textOf(amount), availableAmount: textOf(available), currency },
    { status: core.settings.withdrawalStateRefusalStatus },
  );
}

/** Books a withdrawal: reserves the money and plans how it goes on. */
export function createWithdrawal(core: Core, input: WithdrawalInput, booking: Booking): WithdrawalRecord {
  const { book, at, marks } = booking;
  const account = checkWithdrawal(core, book, input);
  const { withdrawalSteps, withdrawalWords, withdrawalReturnAfterMs } = core.settings;
  const lasts = withdrawalSteps.reduce((sum, step) => sum + step.forMs, 0);
  const withdrawal = core.store.tables.withdrawals.put({
    ...core.listed(booking.id, book, booking.seq, at, marks),
    currency: input.currency,
    assetType: account.assetType,
    withdrawalAmount: input.withdrawalAmount,
    status: withdrawalSteps[0]?.status ?? withdrawalWords.completed,
    network: account.network,
    withdrawalAccountId: input.withdrawalAccountId,
    paymentDetails: null,
    transactionHash: null,
    estimatedCompletionAt: at + lasts,
    ...(core.settings.maskActors
      ? maskedActor
      : { actorId: booking.actorId, actorEmail: booking.actorEmail }),
    metadata: input.metadata,
    money: 'reserved',
  });
  core.withdrawals.add(withdrawal);
  core.ledger.post(book, at, 'withdrawal reserved', withdrawal.id, [
    {
      from: 'withdrawable',
      to: 'reserved',
      currency: input.currency,
      amount: new Decimal(input.withdrawalAmount),
    },
  ]);

  const plan = (afterMs: number, status: string, more: Partial<WithdrawalStep> = {}): void =>
    core.agenda.plan(at + afterMs, {
      kind: 'withdrawal-step',
      recordId: withdrawal.id,
      status,
      money: null,
      terminal: false,
      broadcast: false,
      ...more,
    });
  let afterMs = withdrawalSteps[0]?.forMs ?? 0;
  for (const step of withdrawalSteps.slice(1)) {
    plan(afterMs, step.status, { broadcast: true });
    afterMs += step.forMs;
  }
  if (marks.word !== null) {
    const money = { moved: 'pay', returned: 'return', kept: null } as const;
    const moved = marks.word.money === 'moved';
    plan(lasts, marks.word.word, { money: money[marks.word.money], terminal: true, broadcast: moved });
    return withdrawal;
  }
  const outcome: WithdrawalOutcome = marks.outcome ?? account.outcome;
  if (outcome === 'stuck') return withdrawal;
  if (outcome === 'failed' || outcome === 'returned') {
    plan(lasts, withdrawalWords[outcome], { money: 'return', terminal: true });
    return withdrawal;
  }
  plan(lasts, withdrawalWords.completed, { money: 'pay', terminal: true, broadcast: true });
  if (outcome === 'returned-after-completed') {
    plan(lasts + withdrawalReturnAfterMs, withdrawalWords.returned, { money: 'return', terminal: true });
  }
  return withdrawal;
}

type WithdrawalStep = Extract<AgendaWhat, { kind: 'withdrawal-step' }>;

/** Carries out one planned step of a withdrawal. */
export function stepWithdrawal(core: Core, at: number, step: WithdrawalStep): void {
  const withdrawal = core.store.tables.withdrawals.get(step.recordId);
  if (withdrawal === undefined) return;
  const onChain = withdrawal.assetType === 'CRYPTO';
  core.store.tables.withdrawals.put({
    ...withdrawal,
    status: step.status,
    transactionHash:
      withdrawal.transactionHash ?? (onChain && step.broadcast ? `0x${digestOf(withdrawal.id)}` : null),
    paymentDetails:
      withdrawal.paymentDetails ?? (!onChain && step.terminal ? paymentDetailsOf(core, withdrawal) : null),
  });
  if (step.money !== null) moveWithdrawal(core, withdrawal.id, step.money, at);
}

/** Pays reserved money out, or gives back what was reserved or paid. */
export function moveWithdrawal(core: Core, id: string, money: 'pay' | 'return', at: number): void {
  const withdrawal = core.store.tables.withdrawals.get(id);
  if (withdrawal === undefined || withdrawal.money === 'returned') return;
  if (money === 'pay' && withdrawal.money === 'paid') return;
  const { book, currency } = withdrawal;
  const from = withdrawal.money === 'paid' ? 'outside' : 'reserved';
  const to = money === 'pay' ? 'outside' : 'withdrawable';
  core.ledger.post(book, at, money === 'pay' ? 'withdrawal paid' : 'withdrawal returned', id, [
    { from, to, currency, amount: new Decimal(withdrawal.withdrawalAmount) },
  ]);
  core.store.tables.withdrawals.put({ ...withdrawal, money: money === 'pay' ? 'paid' : 'returned' });
}

/** The create response. `paymentDetails` is null for fiat and absent for crypto. */
export function createdWithdrawalView(withdrawal: WithdrawalRecord): Record<string, unknown> {
  return {
    ...commonView(withdrawal),
    ...(withdrawal.assetType === 'FIAT' ? { paymentDetails: null } : {}),
    estimatedCompletionAt: isoOrNull(withdrawal.estimatedCompletionAt),
    metadata: withdrawal.metadata,
  };
}

/** A list item, and what is shown by id. */
export function withdrawalView(
  withdrawal: WithdrawalRecord,
  metadata: 'always' | 'never' | 'mixed',
): Record<string, unknown> {
  const shows = metadata === 'always' || (metadata === 'mixed' && digestOf(withdrawal.id) > '8');
  return {
    ...commonView(withdrawal),
    ...(withdrawal.assetType === 'FIAT' ? { paymentDetails: withdrawal.paymentDetails } : {}),
    transactionHash: withdrawal.transactionHash,
    ...(shows ? { metadata: withdrawal.metadata } : {}),
  };
}

function commonView(withdrawal: WithdrawalRecord): Record<string, unknown> {
  return {
    object: 'withdrawal',
    id: withdrawal.id,
    currency: withdrawal.currency,
    assetType: withdrawal.assetType,
    withdrawalAmount: withdrawal.withdrawalAmount,
    status: withdrawal.status,
    network: withdrawal.network,
    withdrawalAccountId: withdrawal.withdrawalAccountId,
    actorId: withdrawal.actorId,
    actorEmail: withdrawal.actorEmail,
    createdAt: isoOf(withdrawal.createdAt),
  };
}

function paymentDetailsOf(
  core: Core,
  withdrawal: WithdrawalRecord,
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const account = core.store.tables.accounts.get(`${withdrawal.book} ${withdrawal.withdrawalAccountId}`);
  const reference = digestOf(withdrawal.id).slice(0, 16).toUpperCase();
  return { [account?.rail ?? 'WIRE']: { transferReference: reference } };
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
