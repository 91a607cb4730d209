/**
 * What was moved on this UTC day, as a worker with ceilings counts it. Its own sends count from the moment at which they are about
 * to leave until the service has refused them; what is in doubt stays counted. After its start a worker does not know what it had
 * sent before: it waits until the lists must show it, and then counts all records of the policies that day as its own.
 */
import { dateOfRunId } from '../calendar/business-date.ts';
import { runOf } from '../domain/references.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import {
  Totals,
  usedOf,
  whyOverCeiling,
  type Ceilings,
  type CeilingUse,
  type Spending,
} from '../domain/writes/ceilings.ts';
import { sidesOf } from '../domain/writes/lookups.ts';
import { KEY_LIVES_MS, keyOf, type Send } from '../domain/writes/sent-before.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import type { ServiceClient } from '../service/client.ts';
import { Rereading } from '../service/rereading.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';

/** So long a reading of the lists counts. */
const LISTED_MS = 60_000;
/** So long a send waits for a reading. An attempt has little more time before its send must leave. */
const PATIENCE_MS = 5_000;
/** A send near midnight counts on both days. */
const NEAR_MIDNIGHT_MS = 120_000;
const DAY_MS = 86_400_000;

/** Why a spending is not counted, as a part of a sentence. */
type NotCounted = { readonly code: 'OVER_CEILING' | 'CEILING_UNKNOWN'; readonly why: string };

type Listed = Spending & {
  readonly id: string;
  readonly reference: string | null;
  readonly quoteId: string | null;
  readonly atMs: number;
};
type Own = {
  readonly spending: Spending;
  /** The days on which it counts. */
  readonly days: number[];
  /** Sends under this key that have not been told of. */
  underWay: number;
  /** It may have been executed, whatever comes back for a later send. */
  isSure: boolean;
  /** The service has answered with its record. */
  isMade: boolean;
};

/** How far a reading of the lists has come. */
type ReadTo = 'its end' | 'under way' | 'a failure';

const NOT_READ: Readonly<Record<Exclude<ReadTo, 'its end'>, string>> = {
  'under way':
    'the lists of the service, which show what was moved today, are long, and are still being read',
  'a failure': 'the lists of the service, which show what was moved today, cannot be read',
};

/** `beganMs`: by the wall clock. */
type DayReading = {
  readonly beganMs: number;
  readonly monotonicMs: number;
  readonly trades: Rereading<Trade>;
  readonly withdrawals: Rereading<Withdrawal>;
};

type Options = {
  readonly reader: Pick<ServiceClient, 'listTrades' | 'listWithdrawals'>;
  readonly facts: Pick<ServiceFacts, 'listLagMs' | 'tradeStatuses' | 'withdrawalStatuses'>;
  /** Milliseconds. */
  readonly clock: { readonly wallMs: () => number; readonly monotonicMs: () => number };
  /** Resolves after so many milliseconds. */
  readonly wait: (ms: number) => Promise<unknown>;
};

export class CeilingTally {
  readonly #options: Options;
  #startedAtMs: number;
  readonly #settleMs: number;
  /** What this worker has sent, by its key. */
  readonly #sent = new Map<string, Own>();
  /** The keys of records that were there when the worker had started, and when these were made. */
  readonly #before = new Map<string, number>();
  /** Ids of the records of what it has sent, and when they were made. */
  readonly #ownIds = new Map<string, number>();
  /** By the UTC day, in epoch milliseconds. */
  readonly #own = new Map<number, Totals>();
  readonly #foreign = new Map<number, Totals>();
  /** Records that the lists show, and that are of no policy of ours. */
  readonly #strange = new Map<string, Listed>();
  /** When the last whole reading began, by the monotonic clock. */
  #wholeAtMs: number | null = null;
  /** A reading that is not whole yet. */
  #reading: DayReading | null = null;
  #underWay: Promise<ReadTo> | null = null;
  #readBackToMs: number | null = null;
  #forgotBefore = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#startedAtMs = options.clock.monotonicMs();
    this.#settleMs = options.facts.listLagMs + WRITE_LIMITS.startToCloseMs + CLOCK_TOLERANCE_MS;
  }

  /**
   * Counts the spending when no ceiling is exceeded.
   * @param counts false: it only asks
   * @returns why it is not counted; null: it is, and may leave
   */
  async take(ceilings: Ceilings, send: Send, counts: boolean): Promise<NotCounted | null> {
    const { clock } = this.#options;
    const { spending } = send;
    if (counts && this.#isCounted(send)) return null;
    if (clock.monotonicMs() - this.#startedAtMs < this.#settleMs)
      return unknown(
        'this worker has just begun to count, and waits until the lists show what it may have sent before',
      );
    const to = await this.#read();
    if (to !== 'its end') return unknown(NOT_READ[to]);
    // No other send is counted between here and the end.
    const nowMs = clock.wallMs();
    const day = dayOf(nowMs);
    this.#forgetBefore(day - DAY_MS, nowMs);
    if (counts && (this.#isCounted(send) || this.#wasThere(send))) return null;
    const spent = { own: on(this.#own, day), foreign: on(this.#foreign, day) };
    const why = whyOverCeiling(ceilings, spent, spending);
    if (why !== null) return { code: 'OVER_CEILING', why };
    if (!counts) return null;
    this.#count(send, nowMs, false);
    return null;
  }

  /** How much of the ceilings is used today, as far as is known without asking anybody; none before the lists were read once. */
  used(ceilings: Ceilings): readonly CeilingUse[] {
    if (this.#wholeAtMs === null) return [];
    const day = dayOf(this.#options.clock.wallMs());
    return usedOf(ceilings, { own: on(this.#own, day), foreign: on(this.#foreign, day) });
  }

  /** What was sent before leaves once more, whatever the ceilings are. It counts, unless it is counted already. */
  again(send: Send): void {
    const nowMs = this.#options.clock.wallMs();
    this.#forgetBefore(dayOf(nowMs) - DAY_MS, nowMs);
    if (!this.#isCounted(send) && !this.#wasThere(send)) this.#count(send, nowMs, true);
  }

  #count(send: Send, nowMs: number, isSure: boolean): void {
    const { spending } = send;
    const own: Own = { spending, days: [], underWay: 1, isSure, isMade: false };
    this.#countOn(nowMs, own);
    this.#sent.set(keyOf(send), own);
  }

  /** Counts it on the day of now, and just before midnight on the next one too, unless it is counted there. */
  #countOn(nowMs: number, { spending, days }: Own): void {
    for (const day of new Set([dayOf(nowMs), dayOf(nowMs + NEAR_MIDNIGHT_MS)])) {
      if (days.includes(day)) continue;
      days.push(day);
      on(this.#own, day).add(spending);
    }
  }

  /** Something leaves that nobody counts, since there are no ceilings yet. Once there are, the lists must show it first. */
  leftUncounted(): void {
    this.#startedAtMs = this.#options.clock.monotonicMs();
  }

  /** What came of the send. A refusal, and what never left, is counted no more, unless the same is under way once more. */
  told(send: Send, reply: Reply<{ readonly id: string }>): void {
    const key = keyOf(send);
    const own = this.#sent.get(key);
    if (own === undefined) return;
    own.underWay -= 1;
    if (reply.kind === 'DONE') {
      own.isMade = true;
      this.#isOwn(reply.value.id);
    }
    const isUndone = reply.kind === 'REFUSED' || reply.kind === 'NOT_SENT';
    if (!isUndone) own.isSure = true;
    if (own.isSure || own.underWay > 0) return;
    for (const day of own.days) on(this.#own, day).add(own.spending, -1);
    this.#sent.delete(key);
  }

  /**
   * True for what is counted already: the same again under the same key moves nothing more. While nobody knows its record, the service
   * may make it now, on the day of now.
   */
  #isCounted(send: Send): boolean {
    const own = this.#sent.get(keyOf(send));
    if (own === undefined) return false;
    own.underWay += 1;
    if (!own.isMade) this.#countOn(this.#options.clock.wallMs(), own);
    return true;
  }

  /** What the service showed at the start is sent again under its key, which is a lookup. A record may name no account. */
  #wasThere(send: Send): boolean {
    const withoutAccount = { ...send, spending: { ...send.spending, account: null } };
    return [send, withoutAccount].some((one) => this.#before.has(keyOf(one)));
  }

  /** A record that shows no reference of ours: foreign, unless this worker made it. */
  #note(one: Listed): void {
    if (this.#ownIds.has(one.id) || this.#strange.has(one.id)) return;
    this.#strange.set(one.id, one);
    on(this.#foreign, dayOf(one.atMs)).add(one);
  }

  #isOwn(id: string): void {
    this.#ownIds.set(id, this.#options.clock.wallMs());
    const strange = this.#strange.get(id);
    if (strange === undefined) return;
    this.#strange.delete(id);
    on(this.#foreign, dayOf(strange.atMs)).add(strange, -1);
  }

  /** What happened on earlier days than this one counts no more. */
  #forgetBefore(day: number, nowMs: number): void {
    if (day === this.#forgotBefore) return;
    this.#forgotBefore = day;
    for (const [key, atMs] of this.#before) if (atMs < nowMs - KEY_LIVES_MS) this.#before.delete(key);
    for (const [key, { days }] of this.#sent) if (days.every((each) => each < day)) this.#sent.delete(key);
    for (const [id, { atMs }] of this.#strange) if (atMs < day) this.#strange.delete(id);
    for (const [id, atMs] of this.#ownIds) if (atMs < day) this.#ownIds.delete(id);
  }

  /** Reads what the lists show of the day, unless a reading is young. It goes on also when nobody waits for it any more. */
  async #read(): Promise<ReadTo> {
    if (this.#isYoung()) return 'its end';
    const late = this.#options.wait(PATIENCE_MS).then(() => 'under way' as const);
    while (!this.#isYoung()) {
      this.#underWay ??= this.#goOn().finally(() => (this.#underWay = null));
      // One after the other: when a long reading ends, a short one brings it up to date.
      const to = await Promise.race([this.#underWay, late]);
      if (to !== 'its end') return to;
    }
    return 'its end';
  }

  #isYoung(): boolean {
    return this.#wholeAtMs !== null && this.#options.clock.monotonicMs() - this.#wholeAtMs <= LISTED_MS;
  }

  /** Goes on where the last reading was stopped. A list of a busy day is longer than what can be read at a time. */
  async #goOn(): Promise<ReadTo> {
    const { clock, reader, facts } = this.#options;
    const { tradeStatuses, withdrawalStatuses } = facts;
    const beganMs = clock.wallMs();
    const sinceMs = this.#readBackToMs ?? dayOf(beganMs);
    this.#reading ??= {
      beganMs,
      monotonicMs: clock.monotonicMs(),
      trades: new Rereading(reader.listTrades, sinceMs, tradeStatuses.failed),
      withdrawals: new Rereading(reader.listWithdrawals, sinceMs, withdrawalStatuses.failed),
    };
    const { trades, withdrawals, ...began } = this.#reading;
    const ends = await Promise.all([trades.goOn(), withdrawals.goOn()]);
    if (ends.includes('a bound')) return 'under way';
    if (ends.includes('a failure')) return 'a failure';
    this.#take([...trades.records.map(ofTrade), ...withdrawals.records.map(ofWithdrawal)]);
    this.#reading = null;
    this.#wholeAtMs = began.monotonicMs;
    this.#readBackToMs = began.beganMs - 2 * facts.listLagMs - CLOCK_TOLERANCE_MS;
    return 'its end';
  }

  #take(records: readonly Listed[]): void {
    const isFirst = this.#readBackToMs === null;
    for (const one of records) {
      if (one.policy === null) this.#note(one);
      else if (isFirst) {
        const key = keyOf({ reference: one.reference ?? '', quoteId: one.quoteId, spending: one });
        this.#before.set(key, one.atMs);
        if (!this.#sent.has(key)) on(this.#own, dayOf(one.atMs)).add(one);
      }
    }
  }
}

function unknown(why: string): NotCounted {
  return { code: 'CEILING_UNKNOWN', why };
}

function on(days: Map<number, Totals>, day: number): Totals {
  const totals = days.get(day) ?? new Totals();
  days.set(day, totals);
  return totals;
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

function ofTrade(trade: Trade): Listed {
  const { id, createdAt, clientReferenceId: reference, quoteId, sellCurrency, buyCurrency } = trade;
  const { sellAmount, buyAmount } = sidesOf(trade);
  const amounts = [
    { value: sellAmount, currency: sellCurrency },
    { value: buyAmount, currency: buyCurrency },
  ];
  return {
    id,
    reference,
    quoteId,
    kind: 'traded',
    policy: policyOf(reference),
    account: null,
    amounts,
    atMs: Date.parse(createdAt),
  };
}

function ofWithdrawal(record: Withdrawal): Listed {
  const {
    id,
    createdAt,
    tag: reference,
    currency,
    withdrawalAmount: value,
    withdrawalAccountId: account,
  } = record;
  const amounts = [{ value, currency }];
  return {
    id,
    reference,
    quoteId: null,
    kind: 'paid',
    policy: policyOf(reference),
    account,
    amounts,
    atMs: Date.parse(createdAt),
  };
}

/** Null: the record is of no run of ours. Other tools may write dots into their references as well. */
function policyOf(reference: string | null): string | null {
  const run = runOf(reference ?? '');
  return run === null || dateOfRunId(run.id) === null ? null : run.policy;
}
