/**
 * Compares a person's decision with the service before it is kept as an instruction (design: "In doubt, absent,
 * generations", "The chain rule"). A record of the service stands above what a person says. Reading and judging are separate
 * functions. Nothing here writes to the service or to Temporal. Upholds M1: a later generation is opened only where no
 * record can still pay.
 */
import { minuteText } from '../../domain/waits.ts';
import {
  CREATED_SLACK_MS,
  LOOK_BACK_MS,
  candidatesOf,
  couldBe,
  isTradeOf,
  isWithdrawalOf,
  lookForTrade,
  lookForWithdrawal,
  tradeDifference,
  withdrawalDifference,
  type Look,
  type PaymentIdentity,
  type ListScan,
} from '../../domain/writes/lookups.ts';
import type { Leg } from '../../domain/plan/plan.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import { isDecimal, normalise } from '../../domain/money.ts';
import { firstReference, generationOf, runPrefix, type RunName } from '../../domain/references.ts';
import type { Reply } from '../../domain/service/reply.ts';
import type { ReportPayment } from '../../domain/run/report.ts';
import {
  instructionsAbout,
  nextOpening,
  type Kept,
  type NextOpening,
} from '../../domain/people/instructions.ts';
import type { ServiceClient } from '../../service/client.ts';
import { scanList, type Scanned } from '../../service/list-scan.ts';

/** The item of a decision, with what identifies its records. */
export type Subject = LegSubject | { readonly kind: 'payment'; readonly payment: PaymentIdentity };

export type LegSubject = {
  readonly kind: 'leg';
  readonly leg: Leg;
  /** The quote that the run has, or has traded; null when it has none. */
  readonly quoteId: string | null;
  /** Ids of the trades of other legs. */
  readonly otherIds: readonly string[];
  /** When the run's date begins, epoch milliseconds. */
  readonly opensAtMs: number;
};

/** The calls that read trades and withdrawals. */
type Reader = Pick<ServiceClient, 'trade' | 'withdrawal' | 'listTrades' | 'listWithdrawals'>;

export type ExecutedVerdict =
  | { readonly kind: 'agrees'; readonly record: Trade | Withdrawal }
  /** The record is there but cannot be this item's. The decision is refused with the differences. */
  | {
      readonly kind: 'differs';
      readonly record: Trade | Withdrawal;
      readonly differences: readonly string[];
    }
  /** The service finds nothing by its id, and the whole list does not show it. */
  | { readonly kind: 'missing' }
  /** The records could not be read whole. The decision is refused until they can be read. */
  | { readonly kind: 'unreadable'; readonly reply: Reply<unknown> };

/**
 * Whether the record `id` is there and agrees with the plan: looked up by its id, else in the whole list.
 * @throws ServiceInputError `BAD_ID` when the text is not an id of such a record
 */
export async function checkExecuted(reader: Reader, subject: Subject, id: string): Promise<ExecutedVerdict> {
  switch (subject.kind) {
    case 'leg': {
      const sinceMs = subject.opensAtMs - LOOK_BACK_MS;
      const found = await findRecord<Trade>(await reader.trade(id), reader.listTrades, { id, sinceMs });
      return executed(found, (trade) => legDifferences(subject, trade));
    }
    case 'payment': {
      const { payment } = subject;
      const wanted = { id, sinceMs: payment.opensAtMs - LOOK_BACK_MS };
      const byId = await reader.withdrawal(id);
      const found = await findRecord<Withdrawal>(byId, reader.listWithdrawals, wanted);
      return executed(found, (record) => paymentDifferences(payment, record));
    }
  }
}

function executed<T extends Trade | Withdrawal>(
  found: Found<T>,
  differencesOf: (record: T) => readonly string[],
): ExecutedVerdict {
  if (found.kind !== 'record') return found;
  const { record } = found;
  const differences = differencesOf(record);
  return differences.length === 0 ? { kind: 'agrees', record } : { kind: 'differs', record, differences };
}

/** The reasons why a trade cannot be this leg's; none when it agrees with the plan. Amounts are compared as numbers. */
export function legDifferences({ leg, otherIds, opensAtMs }: LegSubject, trade: Trade): readonly string[] {
  const { clientReferenceId } = trade;
  // This also holds for an amount that was computed from balances: the plan has it, and no other amount was ever sent.
  const fixed = leg.amount === null ? leg : { ...leg, amount: { ...leg.amount, fixed: true } };
  return [
    clientReferenceId !== null && clientReferenceId !== leg.reference
      ? `its reference is "${clientReferenceId}", and the reference of this leg is "${leg.reference}"`
      : null,
    otherIds.includes(trade.id) ? 'it is the record of another leg of this run' : null,
    tradeDifference(fixed, trade),
    createdBefore(opensAtMs, trade),
  ].filter((difference) => difference !== null);
}

/** The same for a withdrawal and a payment. */
export function paymentDifferences(payment: PaymentIdentity, record: Withdrawal): readonly string[] {
  return [
    record.tag !== null && generationOf(payment.reference, record.tag) === null
      ? `its reference is "${record.tag}", and the reference of this payment is "${payment.reference}"`
      : null,
    payment.otherIds.includes(record.id) ? 'it is the record of another payment of this run' : null,
    withdrawalDifference(payment, record),
    createdBefore(payment.opensAtMs, record),
  ].filter((difference) => difference !== null);
}

function createdBefore(opensAtMs: number, { createdAt }: Trade | Withdrawal): string | null {
  return Date.parse(createdAt) < opensAtMs - CREATED_SLACK_MS
    ? `it was created at ${minuteText(Date.parse(createdAt))}, before the run's date began`
    : null;
}

export type NotExecutedVerdict =
  /** The whole list shows no record of the item. `couldBe`: untagged records that a person must judge. */
  | { readonly kind: 'absent'; readonly couldBe: readonly (Trade | Withdrawal)[] }
  /** A record is ours and agrees with the plan. The run adopts it by itself, whatever a person says. */
  | { readonly kind: 'found'; readonly record: Trade | Withdrawal }
  /** A record has the item's name and contradicts the plan. A person may decide otherwise. */
  | {
      readonly kind: 'contradicts';
      readonly record: Trade | Withdrawal;
      readonly difference: string;
      readonly couldBe: readonly (Trade | Withdrawal)[];
    }
  | { readonly kind: 'unreadable'; readonly reply: Reply<unknown> };

/** Looks through the whole list for an item that a person says was not executed. */
export async function checkNotExecuted(reader: Reader, subject: Subject): Promise<NotExecutedVerdict> {
  switch (subject.kind) {
    case 'leg': {
      const { leg, quoteId, opensAtMs } = subject;
      const mayBe = (trade: Trade) => couldBeTrade(subject, trade);
      const { records, stopped } = await scanList(reader.listTrades, {
        sinceMs: opensAtMs - LOOK_BACK_MS,
        wanted: (trade: Trade) => isTradeOf(leg, quoteId, trade) || mayBe(trade),
      });
      return notExecuted(
        lookForTrade(leg, { quoteId, namedId: null, isStray: () => false }, scanOf(records)),
        stopped,
        records.filter(mayBe),
      );
    }
    case 'payment': {
      const { payment } = subject;
      const mayBe = (record: Withdrawal) => couldBe(payment, record);
      const { records, stopped } = await scanList(reader.listWithdrawals, {
        sinceMs: payment.opensAtMs - LOOK_BACK_MS,
        wanted: (record: Withdrawal) => isWithdrawalOf(payment, record) || mayBe(record),
      });
      return notExecuted(lookForWithdrawal(payment, scanOf(records)), stopped, records.filter(mayBe));
    }
  }
}

/** A record that agrees counts even if the list was not read whole. Every other answer needs the whole list. */
function notExecuted<T extends Trade | Withdrawal>(
  look: Look<T>,
  stopped: Reply<unknown> | null,
  couldBeIt: readonly T[],
): NotExecutedVerdict {
  if (look.kind === 'found') return { kind: 'found', record: look.record };
  if (stopped !== null) return { kind: 'unreadable', reply: stopped };
  switch (look.kind) {
    case 'differs': {
      const { record, difference } = look;
      return { kind: 'contradicts', record, difference, couldBe: couldBeIt };
    }
    // The list was read whole. Records that could be the item's are shown to the person.
    case 'absent':
    case 'unproven':
      return { kind: 'absent', couldBe: couldBeIt };
  }
}

/** An untagged trade that agrees with the leg. It is shown to a person, never adopted. */
/** Those that were made so shortly before the decision that no worker lets it judge them. */
export function youngOnes<T extends { readonly createdAt: string }>(
  records: readonly T[],
  decidedAtMs: number,
): readonly T[] {
  return records.filter(({ createdAt }) => Date.parse(createdAt) > decidedAtMs - CREATED_SLACK_MS);
}

function couldBeTrade(subject: LegSubject, trade: Trade): boolean {
  return trade.clientReferenceId === null && legDifferences(subject, trade).length === 0;
}

export type PayAgainVerdict =
  | {
      readonly kind: 'may';
      /** The highest generation that was sent, or that was opened and never leaves. The instruction opens the next eight. */
      readonly follows: number;
      /** The record of the last generation that was sent; null when it has none. */
      readonly recordId: string | null;
      /** The first of the generations that the instruction opens. */
      readonly generation: number;
      /** Records of earlier generations, all failed. */
      readonly failed: readonly Withdrawal[];
    }
  /** A record may still pay, or has paid. No later generation is opened. */
  | { readonly kind: 'stands'; readonly id: string; readonly status: string }
  /** An untagged record that may be the payment and has not failed. */
  | { readonly kind: 'could be'; readonly record: Withdrawal }
  /**
   * A person has opened generations before, and none of them has led to a record yet. One more instruction would change
   * nothing.
   */
  | Extract<NextOpening, { kind: 'opened before' }>
  | { readonly kind: 'unreadable'; readonly reply: Reply<unknown> };

/** What is known of a payment before it may be paid again. */
export type PaymentHistory = {
  /** With `fromGeneration` 1 and the id that the report names. */
  readonly identity: PaymentIdentity;
  readonly reported: ReportPayment;
  readonly kept: Kept;
  /** When the command looked, epoch milliseconds. */
  readonly nowMs: number;
};

/** What one scan of the withdrawals shows of a run: for each payment, the records that are or could be its own. */
export class WithdrawalBook {
  /** Why the scan was cut short; null when every page was read. */
  readonly stopped: Reply<unknown> | null;
  readonly #byReference = new Map<string, Withdrawal[]>();
  readonly #byOwner = new Map<string, Withdrawal[]>();
  readonly #byAmount = new Map<string, Withdrawal[]>();

  /** @param owners for each record that the report names, the item of the run */
  constructor({ records, stopped }: Scanned<Withdrawal>, owners: ReadonlyMap<string, string>) {
    this.stopped = stopped;
    for (const record of records) {
      const { id, tag, currency, withdrawalAmount } = record;
      const owner = owners.get(id);
      if (tag !== null) put(this.#byReference, firstReference(tag), record);
      else if (owner !== undefined) put(this.#byOwner, owner, record);
      else put(this.#byAmount, amountKey(currency, withdrawalAmount), record);
    }
  }

  /** The records that are this payment, in any generation, and those without a name that could be this payment. */
  of(item: string, identity: PaymentIdentity): readonly Withdrawal[] {
    const { reference, currency, amount } = identity;
    return [
      ...(this.#byReference.get(reference) ?? []),
      ...(this.#byOwner.get(item) ?? []),
      ...(amount === null ? [] : (this.#byAmount.get(amountKey(currency, amount)) ?? [])),
    ].filter((record) => isWithdrawalOf(identity, record) || couldBe(identity, record));
  }
}

/** Reads the withdrawals of a run once, however many payments are asked about. */
export async function readWithdrawals(
  reader: Pick<Reader, 'listWithdrawals'>,
  of: {
    readonly run: RunName;
    readonly opensAtMs: number;
    readonly payments: readonly Pick<ReportPayment, 'id' | 'withdrawalId'>[];
  },
): Promise<WithdrawalBook> {
  const prefix = runPrefix(of.run);
  const scanned = await scanList(reader.listWithdrawals, {
    sinceMs: of.opensAtMs - LOOK_BACK_MS,
    wanted: ({ tag }: Withdrawal) => tag === null || tag.startsWith(prefix),
  });
  const owners = of.payments.flatMap(({ id, withdrawalId }) =>
    withdrawalId === null ? [] : [[withdrawalId, id] as const],
  );
  return new WithdrawalBook(scanned, new Map(owners));
}

function amountKey(currency: string, amount: string): string {
  return `${currency} ${isDecimal(amount) ? normalise(amount) : amount}`;
}

function put<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/**
 * Looks at every generation of a payment: a later one may be opened only when none of them can still pay. The result is
 * advice for the person who asks. The worker looks again before it sends, since anything may happen between this look and
 * the person's yes.
 */
export async function checkPayAgain(
  reader: Pick<Reader, 'withdrawal'>,
  book: WithdrawalBook,
  history: PaymentHistory,
): Promise<PayAgainVerdict> {
  const { identity, reported } = history;
  const records = book.of(reported.id, identity);
  const verdict = judgePayAgain(history, records);
  if (verdict.kind !== 'may') return verdict;
  if (book.stopped !== null) return { kind: 'unreadable', reply: book.stopped };
  for (const known of new Set([reported.withdrawalId, recordNamedIn(history)])) {
    if (known === null || records.some((record) => record.id === known)) continue;
    // The list does not show the record that the report or a person names, so the record is asked for by its id.
    const reply = await reader.withdrawal(known);
    if (reply.kind !== 'DONE') return { kind: 'unreadable', reply };
    const { id, status } = reply.value.record;
    if (!identity.failedWords.includes(status)) return { kind: 'stands', id, status };
  }
  return verdict;
}

/**
 * The record that a person has named as the payment; null: none has. Where people sign, only what the run has taken as the payment's
 * shows which of these words counts.
 */
function recordNamedIn({ reported, kept }: Pick<PaymentHistory, 'reported' | 'kept'>): string | null {
  const { id, withdrawalId } = reported;
  if (isSigned(kept)) return recordsNamedFor(kept, id).includes(withdrawalId) ? withdrawalId : null;
  const { decision } = instructionsAbout(kept, id);
  return decision?.kind === 'executed' ? decision.recordId : null;
}

/** The records that people have named for an item, whether or not these words count. */
export function recordsNamedFor({ instructions }: Kept, item: string): readonly (string | null)[] {
  return instructions.flatMap((said) =>
    said.kind === 'executed' && said.item === item ? [said.recordId] : [],
  );
}

/**
 * Whether people sign what is said about the run. Then only workers know which words count: signatures may be forged, too few, or those
 * of who has said it. So no word keeps a person from saying the true one; workers judge both.
 */
export function isSigned({ instructions }: Kept): boolean {
  return instructions.some(({ kind }) => kind === 'approve');
}

/**
 * What the records that were found allow. It judges by the same lookup as the worker, which looks once more before it sends
 * the first of the generations that a person opens. Pure.
 */
export function judgePayAgain(history: PaymentHistory, records: readonly Withdrawal[]): PayAgainVerdict {
  const { identity, reported, kept, nowMs } = history;
  const ours = records.filter((record) => isWithdrawalOf(identity, record));
  const said = instructionsAbout(kept, reported.id);
  const generationIn = (text: string | null) => generationOf(identity.reference, text ?? '');
  const known = [
    ...ours.map((record) => generationIn(record.tag)),
    generationIn(reported.reference),
    ...said.opened.map(({ generation }) => generation),
  ];
  const follows = Math.max(1, ...known.map((generation) => generation ?? 1));
  const tagged = ours.find((record) => generationIn(record.tag) === follows);
  const recordId =
    recordNamedIn(history) ??
    tagged?.id ??
    (generationIn(reported.reference) === follows ? reported.withdrawalId : null);
  const next = nextOpening(said, {
    follows,
    nowMs,
    keepsOut: ({ openedBy }) => !isSigned(kept) && [null, recordId].includes(openedBy.recordId),
  });
  // As the worker will look: records of earlier generations count only while they may still pay.
  const fromGeneration = Math.max(follows + 1, next.generation);
  const opened = { ...identity, fromGeneration, closedIds: identity.ownIds };
  const scan = scanOf(records);
  const look = lookForWithdrawal(opened, scan);
  if (look.kind === 'found' || look.kind === 'differs')
    return { kind: 'stands', id: look.record.id, status: look.record.status };
  const [twin] = candidatesOf(opened, scan);
  if (twin !== undefined) return { kind: 'could be', record: twin };
  if (next.kind === 'opened before') return next;
  return { kind: 'may', follows: next.follows, recordId, generation: next.generation, failed: ours };
}

type Found<T> =
  | { readonly kind: 'record'; readonly record: T }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reply: Reply<unknown> };

type Fetched<T> =
  { readonly kind: 'WHOLE'; readonly record: T } | { readonly kind: 'PARTIAL'; readonly record: unknown };

/** The record with this id: as the service answers for the id, else as the list shows it. */
async function findRecord<T extends Trade | Withdrawal>(
  byId: Reply<Fetched<T>>,
  list: Parameters<typeof scanList<T>>[0],
  wanted: { readonly id: string; readonly sinceMs: number },
): Promise<Found<T>> {
  if (byId.kind === 'DONE' && byId.value.kind === 'WHOLE')
    return { kind: 'record', record: byId.value.record };
  // An answer that the id is not found proves nothing, since the interface does not show the shape of that answer. So the
  // whole list is read.
  const { records, stopped } = await scanList(list, {
    sinceMs: wanted.sinceMs,
    wanted: (record) => record.id === wanted.id,
  });
  const [record] = records;
  if (record !== undefined) return { kind: 'record', record };
  return stopped === null ? { kind: 'missing' } : { kind: 'unreadable', reply: stopped };
}

function scanOf<T>(records: readonly T[]): ListScan<T> {
  return { records, complete: true, reason: null };
}
