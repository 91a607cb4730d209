/**
 * The service as its interface describes it, small and in memory: quotes, trades, withdrawals, the idempotency cache,
 * balances and lists, with every fault that a schedule asks for. Made from `service-interface-v3.md` alone. It also
 * keeps what no client can see: the ledger of what really moved, and which requests may still be booked.
 */
import { isDefinitive } from '../../../domain/service/reply-rules.ts';
import type { ListScan } from '../../../domain/writes/lookups.ts';
import type {
  Balances,
  LenientRecord,
  Page,
  Pair,
  Quote,
  Trade,
  Withdrawal,
} from '../../../domain/service/records.ts';
import type { Reply, ReplyFacts } from '../../../domain/service/reply.ts';
import type { PageRequest } from '../../../service/pages.ts';
import type { QuoteRequest, WithdrawalRequest } from '../../../domain/writes/step.ts';
import type { Agenda } from './agenda.ts';
import type { Coverage } from './coverage.ts';
import {
  nameOfFault,
  type Misfortune,
  type ReadFault,
  type ReadStep,
  type Schedule,
  type ServiceSettings,
  type WriteFault,
} from './schedule.ts';
import { TRADES_SETTLE_MS, WITHDRAWALS_SETTLE_MS } from './outside.ts';
import { PAIRS, otherSide } from './prices.ts';
import { textOf, units } from './units.ts';

const DAY_MS = 86_400_000;
/** How long a key is kept, by the interface's table of endpoints. */
const RETENTION_MS = { trade: DAY_MS, withdrawal: 7 * DAY_MS };
const QUOTE_KNOWN_MS = 2 * DAY_MS;
/** The client waits this long for a reply. */
const HTTP_LIMIT_MS = 15_000;
const TRAVEL_MS = 60;
const SMALL_PAGE = 3;
/** Of a list. */
export const MOST_PAGES = 5;

/** What every write says about where it comes from; only the oracle looks at it. */
type Origin = {
  /** Leg or payment. */
  readonly item: string;
  readonly keyName: string;
  /** The token's `exp` on the service's clock. */
  readonly tokenUntilMs: number;
  /** The true time after which its attempt sends nothing more. */
  readonly deadlineMs: number;
  /** When its step decided to send it. */
  readonly wantedAtMs: number;
};
export type Write = Origin &
  (
    | { readonly step: 'quote'; readonly request: QuoteRequest }
    | { readonly step: 'trade'; readonly quoteId: string; readonly reference: string; readonly key: string }
    | { readonly step: 'withdrawal'; readonly request: WithdrawalRequest; readonly key: string }
  );
type TradeWrite = Extract<Write, { step: 'trade' }>;
type WithdrawalWrite = Extract<Write, { step: 'withdrawal' }>;
type Booked = Quote | Trade | Withdrawal;

/** One request of a write on its way, in work, or over: only while it is not over can it still be booked. */
export type Send = {
  readonly write: Write;
  readonly sentAtMs: number;
  state: 'on its way' | 'in work' | 'over';
  /** Booked later than the design assumes (a withdrawal, more than a day after it was sent). */
  beyond: boolean;
};

/** Money that really moved. */
export type Movement =
  | {
      readonly kind: 'trade';
      readonly record: Trade;
      readonly send: Send;
      readonly atMs: number;
      status: string;
      /** Since when that is its status. */
      saidAtMs: number;
    }
  | {
      readonly kind: 'withdrawal';
      readonly record: Withdrawal;
      readonly send: Send;
      readonly atMs: number;
      status: string;
      saidAtMs: number;
      /** When the service first said that it will never be paid, or came back. */
      failedAtMs: number | null;
      wasPaid: boolean;
    };

type Listed<T> = { readonly record: T; readonly visibleAtMs: number; status: string };
type Kept = {
  readonly hash: string;
  readonly expiresAtMs: number;
  /** Null while the first request is in work. */
  reply: Reply<Booked> | null;
};
type OurQuote = { readonly quote: Quote; readonly expiresAtMs: number; consumed: boolean };

/** What the world and the oracle want to hear of. */
type ServiceWatcher = {
  readonly booked: (movement: Movement) => void;
  /** Something changed that a poll could see. */
  readonly changed: () => void;
};

export class Service {
  readonly settings: ServiceSettings;
  /** The service's clock less the true time. */
  skewMs = 0;
  awayUntilMs = 0;
  listsUnreadableUntilMs = 0;
  #slow = { takesMs: 0, untilMs: 0 };
  /** Legs of which it answers some trade's key with a refusal for as long as keys are kept. */
  readonly tradesRefusedForGood = new Set<string>();
  /** What it refuses to do, as which code, until when. */
  #refusing: { readonly step: Write['step']; readonly code: string; readonly untilMs: number }[] = [];
  readonly ledger: Movement[] = [];
  #sends: Send[] = [];
  /** Ids of somebody else's untagged withdrawals that look like ours. */
  readonly twinIds: string[] = [];
  /** References that somebody else's withdrawals show. */
  readonly strangersTags: string[] = [];
  /** References that somebody else's trades show, and what each trade moves in US dollars. */
  readonly strangersTrades: { readonly reference: string; readonly dollars: string }[] = [];
  readonly #agenda: Agenda;
  readonly #watcher: ServiceWatcher;
  readonly #coverage: Pick<Coverage, 'hit'>;
  readonly #faults: Record<'quote' | 'trade' | 'withdrawal', WriteFault[]>;
  readonly #reads: Record<ReadStep, ReadFault[]>;
  readonly #quotes = new Map<string, OurQuote>();
  readonly #keys = new Map<string, Kept>();
  /** Withdrawals that are booked late while their key is free. */
  readonly #freeLate = new Map<string, Send>();
  readonly #trades: Listed<Trade>[] = [];
  readonly #withdrawals: Listed<Withdrawal>[] = [];
  readonly #balances: Map<string, bigint>;
  readonly #unverified = new Set<string>();
  /** Accounts that were not verified at some time. */
  readonly onceUnverified = new Set<string>();
  /** Currencies of which money came or went that no run of ours has moved. */
  readonly movedByOthers = new Set<string>();
  #ids = 0;
  #prices = 0;
  #headers = 0;
  #healed = false;
  /** What is there once the faults have stopped; a rebalancing is left the money that it planned with. */
  readonly #healedBy: Readonly<Record<string, string>>;

  constructor(schedule: Schedule, agenda: Agenda, coverage: Pick<Coverage, 'hit'>, watcher: ServiceWatcher) {
    this.settings = schedule.service;
    this.#agenda = agenda;
    this.#watcher = watcher;
    this.#coverage = coverage;
    this.#faults = {
      quote: [...schedule.faults.quote],
      trade: [...schedule.faults.trade],
      withdrawal: [...schedule.faults.withdrawal],
    };
    this.#reads = {
      trades: [...schedule.reads.trades],
      withdrawals: [...schedule.reads.withdrawals],
      balances: [...schedule.reads.balances],
      'by id': [...schedule.reads['by id']],
    };
    const { startsWith, alsoMxn } = this.settings;
    const there = schedule.rebalance?.startsWith ?? { USD: startsWith, MXN: alsoMxn };
    const isFunded = schedule.batch?.isFunded === true;
    this.#healedBy =
      schedule.rebalance !== null ? {} : { USD: '1000000', ...(!isFunded && { MXN: '10000000' }) };
    this.#balances = new Map(Object.entries(there).map(([currency, value]) => [currency, units(value)]));
    if (this.settings.twins) this.#addStrangers();
  }

  nowMs(): number {
    return this.#agenda.nowMs + this.skewMs;
  }

  /** Steps that have not met all the faults that were meant for them. */
  faultsLeft(): readonly string[] {
    const all = Object.entries<readonly unknown[]>({ ...this.#faults, ...this.#reads });
    return all.flatMap(([step, faults]) => (faults.length > 0 ? step : []));
  }

  /** Faults stop: everything answers, every word is final, money is there. */
  heal(): void {
    this.#healed = true;
    this.skewMs = 0;
    this.awayUntilMs = 0;
    this.listsUnreadableUntilMs = 0;
    this.#slow = { takesMs: 0, untilMs: 0 };
    for (const step of ['quote', 'trade', 'withdrawal'] as const) this.#faults[step].length = 0;
    for (const step of ['trades', 'withdrawals', 'balances', 'by id'] as const) this.#reads[step].length = 0;
    this.#refusing = [];
    this.#unverified.clear();
    for (const [currency, value] of Object.entries(this.#healedBy)) this.#add(currency, units(value));
    for (const movement of this.ledger) {
      if (movement.kind === 'withdrawal' && !isLast(movement.status)) this.#say(movement, 'COMPLETED');
      if (movement.kind === 'trade' && !isLast(movement.status)) this.#say(movement, 'SETTLED');
    }
    this.#watcher.changed();
  }

  money(currency: string, change: 'comes' | 'goes'): void {
    const there = this.balanceOf(currency);
    this.movedByOthers.add(currency);
    this.#add(currency, change === 'comes' ? units('100000') : -there);
    this.#watcher.changed();
  }

  balanceOf(currency: string): bigint {
    return this.#balances.get(currency) ?? 0n;
  }

  #add(currency: string, value: bigint): void {
    this.#balances.set(currency, this.balanceOf(currency) + value);
  }

  /** The service has another word for the newest record of an item. */
  sayOf(item: string, word: string): void {
    const movement = this.ledger.findLast(({ send }) => send.write.item === item);
    if (movement !== undefined) this.#say(movement, word);
  }

  /** Whether an account is verified; the service pays no other. */
  verify(account: string, isVerified: boolean): void {
    if (isVerified) this.#unverified.delete(account);
    else this.#unverified.add(account);
    if (!isVerified) this.onceUnverified.add(account);
    this.#watcher.changed();
  }

  deposit(amount: string): void {
    this.movedByOthers.add('MXN');
    this.#add('MXN', units(amount));
    this.#watcher.changed();
  }

  /** From now on, for so long, whatever `step` asks for is refused. */
  refuse(step: Write['step'], code: string, ms: number): void {
    const untilMs = this.#agenda.nowMs + ms;
    this.#refusing.push({ step, code, untilMs });
    this.#agenda.at(untilMs, () => this.#watcher.changed());
  }

  #refusal(step: Write['step']): string | null {
    const { nowMs } = this.#agenda;
    return this.#refusing.find((each) => each.step === step && each.untilMs > nowMs)?.code ?? null;
  }

  /** Requests of trades and withdrawals that may still be booked. */
  alive(): readonly Send[] {
    this.#sends = this.#sends.filter(({ state }) => state !== 'over');
    return this.#sends.filter((send) => this.#mayStillBook(send));
  }

  #mayStillBook({ state, write }: Send): boolean {
    if (write.step === 'quote') return false;
    if (state === 'in work') return true;
    if (this.nowMs() > write.tokenUntilMs) return false;
    // What its quote or its key has brought already, it cannot bring again.
    if (write.step === 'trade' && this.#quotes.get(write.quoteId)?.consumed === true) return false;
    return this.#keys.get(this.#scoped(write))?.reply?.kind !== 'DONE';
  }

  /** What lies ahead of it and no line has told yet. */
  pending(): unknown {
    const { nowMs } = this.#agenda;
    return [
      this.skewMs,
      [this.awayUntilMs, this.listsUnreadableUntilMs, this.#slow.untilMs].map((untilMs) =>
        Math.max(0, untilMs - nowMs),
      ),
      this.#sends.flatMap(({ write, state }) => (state === 'over' ? [] : [[write.item, write.step, state]])),
      [...this.#keys].map(([key, { reply }]) => [key, reply?.kind]),
      [...this.#balances.values()].map(textOf),
    ];
  }

  /** One request of a write, from the moment at which its first byte leaves. `answer` is called once. */
  wire(write: Write, answer: (reply: Reply<Booked>) => void): void {
    const fault: WriteFault = this.#isAway()
      ? { kind: 'lost before' }
      : (this.#faults[write.step].shift() ?? { kind: 'none' });
    if (fault.kind !== 'none') this.#coverage.hit(write.step, nameOfFault(fault));
    if (fault.kind === 'not sent') {
      this.#agenda.after(20, () => answer({ kind: 'NOT_SENT', reason: 'no connection' }));
      return;
    }
    const send: Send = { write, sentAtMs: this.#agenda.nowMs, state: 'on its way', beyond: false };
    this.#sends.push(send);
    if (write.step === 'withdrawal') this.#twinOf(write.request);
    let isAnswered = false;
    const once = (reply: Reply<Booked>): void => {
      if (isAnswered) return;
      isAnswered = true;
      answer(reply);
    };
    if (fault.kind === 'lost before') {
      send.state = 'over';
      this.#agenda.after(1_000, () => once(noAnswer()));
      return;
    }
    const travelMs = fault.kind === 'slow network' ? fault.ms : TRAVEL_MS;
    this.#agenda.after(travelMs, () => {
      const reply = this.#serve(write, fault, send);
      if (send.state === 'on its way') send.state = 'over';
      if (reply !== null) this.#agenda.after(TRAVEL_MS, () => once(reply));
    });
    // A cut connection is noticed soon, silence only by the client's limit.
    this.#agenda.after(fault.kind === 'lost after' ? 1_000 : HTTP_LIMIT_MS, () => once(noAnswer()));
  }

  /** From arrival to reply; null when none leaves. */
  #serve(write: Write, fault: WriteFault, send: Send): Reply<Booked> | null {
    const refusedAtTheGate = this.#gate(write, fault);
    if (refusedAtTheGate !== null) return refusedAtTheGate;
    if (write.step === 'quote') return this.#operate(write, fault, send, null);
    const scoped = this.#scoped(write);
    const kept = this.#keys.get(scoped);
    if (kept !== undefined && (kept.reply === null || kept.expiresAtMs > this.nowMs())) {
      if (kept.hash !== hashOf(write)) return this.#failed('IDEMPOTENCY_MISMATCH');
      if (kept.reply === null) {
        this.#coverage.hit(write.step, 'in flight');
        // The longer it has been in work, the longer one is asked to stay away.
        const sinceMs = this.nowMs() - (kept.expiresAtMs - RETENTION_MS[write.step]);
        const retryAfterMs = Math.min(Math.max(1_000, Math.floor(sinceMs / 10_000) * 1_000), 600_000);
        return this.#failed('IDEMPOTENCY_IN_FLIGHT', { retryAfterMs });
      }
      this.#coverage.hit(write.step, kept.reply.kind === 'DONE' ? 'success replayed' : 'error replayed');
      return this.#dress(write, fault, this.#replay(kept.reply));
    }
    const overtaken = this.#freeLate.get(scoped);
    if (overtaken !== undefined) overtaken.state = 'over';
    const expiresAtMs = this.nowMs() + RETENTION_MS[write.step];
    this.#keys.set(scoped, { hash: hashOf(write), expiresAtMs, reply: null });
    return this.#operate(write, fault, send, scoped);
  }

  /** The operation itself; `scoped` is the key under which its answer is kept, null for a quote. */
  #operate(write: Write, fault: WriteFault, send: Send, scoped: string | null): Reply<Booked> | null {
    const refusal = fault.kind === 'refusal' ? fault.code : (this.#refusal(write.step) ?? this.#check(write));
    if (refusal !== null) {
      if (fault.kind !== 'refusal') this.#coverage.hit(write.step, `refused: ${refusal}`);
      const reply = this.#failed(refusal);
      this.#keep(write, scoped, this.settings.stores === 'nothing else' ? null : reply);
      return this.#dress(write, fault, reply);
    }
    if (fault.kind === 'late' && write.step !== 'quote') return this.#late(write, fault, send, scoped ?? '');
    if (fault.kind === '5xx' && !fault.committed) {
      const reply = this.#serverError(write, fault, this.#id(write.step));
      this.#keep(write, scoped, this.#storesFailure(fault) ? reply : null);
      return reply;
    }
    const success = this.#book(write, send, this.#id(write.step), null);
    if (fault.kind === '5xx') {
      const id = success.kind === 'DONE' ? success.value.id : '';
      const reply = this.#serverError(write, fault, id);
      this.#keep(write, scoped, this.#storesFailure(fault) ? reply : success);
      return reply;
    }
    this.#keep(write, scoped, success);
    return this.#dress(write, fault, success);
  }

  /** What is answered before the operation or its key is looked at. */
  #gate(write: Write, fault: WriteFault): Reply<Booked> | null {
    if (this.nowMs() > write.tokenUntilMs) return this.#failed('AUTH_TOKEN_EXPIRED');
    if (fault.kind === '429')
      return this.#failed('RATE_LIMIT_EXCEEDED', { retryAfterMs: fault.retryAfterMs });
    if (fault.kind === '503') return this.#failed('IDEMPOTENCY_UNAVAILABLE');
    if (fault.kind === 'same key, please')
      return this.#failed('SOMETHING_NEW', { retryStrategy: 'RETRY_SAME_KEY' });
    if (fault.kind === 'ours, probably' && fault.committed !== true) return this.#failed(fault.code);
    const refusal = fault.kind === 'refusal' ? fault.code : this.#refusal(write.step);
    if (refusal !== null && BEFORE_THE_OPERATION.test(refusal)) return this.#failed(refusal);
    return isOddity(fault) && !fault.committed ? this.#oddity(write, fault) : null;
  }

  /** What the way back makes of a reply; null when it is lost. */
  #dress(write: Write, fault: WriteFault, reply: Reply<Booked>): Reply<Booked> | null {
    if (fault.kind === 'lost after' || fault.kind === 'late') return null;
    if (fault.kind === '5xx')
      return this.#serverError(write, fault, reply.kind === 'DONE' ? reply.value.id : 'none');
    if (fault.kind === 'ours, probably') return this.#failed(fault.code);
    return isOddity(fault) ? this.#oddity(write, fault) : reply;
  }

  #oddity(write: Write, fault: Oddity): Reply<Booked> {
    switch (fault.kind) {
      case 'html':
        return { kind: 'UNKNOWN', reason: 'not JSON', error: null, facts: this.#facts({ status: 502 }) };
      case 'unknown code':
        return this.#failed(fault.status === 400 ? 'SOMETHING_NEW' : 'SOMETHING_BROKE', {
          status: fault.status,
        });
      case 'nonce replay':
        return this.#failed('AUTH_TOKEN_INVALID', { details: { reason: 'nonce_replay' } });
      case 'odd success':
        return { kind: 'DONE', value: this.#strange(write), facts: this.#facts({}) };
    }
  }

  /** A whole success that is about something else. */
  #strange(write: Write): Booked {
    switch (write.step) {
      case 'quote':
        return { ...this.#newQuote(write.request), id: this.#id('quote'), sellCurrency: 'EUR' };
      case 'trade':
        return {
          id: this.#id('trade'),
          quoteId: 'qte_other',
          buyCurrency: 'MXN',
          sellCurrency: 'USD',
          buyAmount: null,
          sellAmount: '1000',
          executedAmount: '17000',
          status: 'EXECUTED',
          clientReferenceId: null,
          createdAt: iso(this.nowMs()),
          settlementWindow: 'T0',
        };
      case 'withdrawal':
        return {
          id: this.#id('withdrawal'),
          currency: write.request.currency,
          withdrawalAmount: '1',
          status: 'PENDING',
          withdrawalAccountId: write.request.account,
          createdAt: iso(this.nowMs()),
          tag: null,
        };
    }
  }

  /** Accepted now, booked later; a key that has succeeded meanwhile is not booked again. */
  #late(
    write: TradeWrite | WithdrawalWrite,
    fault: Extract<WriteFault, { kind: 'late' }>,
    send: Send,
    scoped: string,
  ): Reply<never> | null {
    const id = this.#id(write.step);
    const reply = this.#serverError(write, { resourceId: fault.resourceId, timeoutMs: null }, id);
    send.state = 'in work';
    if (fault.key === 'free') {
      this.#keys.delete(scoped);
      // The interface answers a key once: a withdrawal whose key gets another answer meanwhile is not booked any more.
      if (write.step === 'withdrawal') this.#freeLate.set(scoped, send);
    }
    if (fault.key === 'stored') this.#keep(write, scoped, reply);
    const limitMs = write.step === 'trade' ? this.#assumedUntilMs(write) : Infinity;
    const bookAtMs = Math.min(this.#agenda.nowMs + fault.ms, limitMs - 1_000);
    if (write.step === 'withdrawal' && fault.ms > WITHDRAWALS_SETTLE_MS) send.beyond = true;
    this.#agenda.at(bookAtMs, () => {
      const overtaken = send.state === 'over';
      send.state = 'over';
      const consumed = write.step === 'trade' && this.#quotes.get(write.quoteId)?.consumed === true;
      const duplicate = write.step === 'trade' && this.#isDuplicate(write);
      if (overtaken || consumed || duplicate) {
        if (fault.key === 'in work') this.#keys.delete(scoped);
        return;
      }
      const success = this.#book(write, send, id, limitMs);
      if (fault.key === 'stored') return;
      // A key that has succeeded answers with its success, also where it was free until then.
      const expiresAtMs = this.nowMs() + RETENTION_MS[write.step];
      this.#keys.set(scoped, { hash: hashOf(write), expiresAtMs, reply: success });
    });
    return fault.reply === '500' ? reply : null;
  }

  /** The last moment at which the design still reckons with a booking of this trade. */
  #assumedUntilMs(write: TradeWrite): number {
    const quoteUntilMs = (this.#quotes.get(write.quoteId)?.expiresAtMs ?? 0) - this.skewMs;
    const tokenUntilMs = write.tokenUntilMs - this.skewMs;
    return Math.max(quoteUntilMs, tokenUntilMs, write.deadlineMs) + TRADES_SETTLE_MS;
  }

  /** Why the operation itself refuses the write; null when it does not. */
  #check(write: Write): string | null {
    switch (write.step) {
      case 'quote':
        return null;
      case 'trade': {
        const ours = this.#quotes.get(write.quoteId);
        if (ours === undefined || this.nowMs() > Date.parse(ours.quote.createdAt) + QUOTE_KNOWN_MS)
          return 'QUOTE_NOT_FOUND';
        const isExpired = this.nowMs() >= ours.expiresAtMs;
        if (ours.consumed)
          return isExpired && this.settings.deadQuoteSays === 'expired'
            ? 'QUOTE_EXPIRED'
            : 'QUOTE_ALREADY_CONSUMED';
        if (isExpired) return 'QUOTE_EXPIRED';
        if (this.#isDuplicate(write)) return 'TRADE_DUPLICATE_CLIENT_REFERENCE';
        const sells = units(ours.quote.sellAmount ?? ours.quote.quoteAmount);
        return sells > this.balanceOf(ours.quote.sellCurrency) ? 'TRADE_INSUFFICIENT_BALANCE' : null;
      }
      case 'withdrawal':
        if (this.#unverified.has(write.request.account)) return 'WITHDRAWAL_ADDRESS_NOT_VERIFIED';
        return units(write.request.amount) > this.balanceOf(write.request.currency)
          ? 'WITHDRAWAL_INSUFFICIENT_BALANCE'
          : null;
    }
  }

  #isDuplicate(write: TradeWrite): boolean {
    return (
      this.settings.refusesDuplicates &&
      this.ledger.some(({ kind, record }) => kind === 'trade' && record.clientReferenceId === write.reference)
    );
  }

  /** Books the write: from here on money has moved. `visibleByMs`: lists show it by then whatever their lag. */
  #book(write: Write, send: Send, id: string, visibleByMs: number | null): Reply<Booked> {
    send.state = 'over';
    const { nowMs } = this.#agenda;
    const visibleAtMs = Math.max(nowMs, Math.min(nowMs + this.settings.lagMs, visibleByMs ?? Infinity));
    switch (write.step) {
      case 'quote': {
        const quote = { ...this.#newQuote(write.request), id };
        const expiresAtMs = this.nowMs() + write.request.validForSeconds * 1_000;
        this.#quotes.set(id, { quote, expiresAtMs, consumed: false });
        return this.#done(quote);
      }
      case 'trade': {
        const ours = this.#quotes.get(write.quoteId);
        if (ours === undefined) throw new RangeError(`No quote ${write.quoteId}.`);
        ours.consumed = true;
        const { buyCurrency, sellCurrency, buyAmount, sellAmount, quoteAmount } = ours.quote;
        const record: Trade = {
          id,
          quoteId: write.quoteId,
          buyCurrency,
          sellCurrency,
          buyAmount,
          sellAmount,
          executedAmount: quoteAmount,
          status: 'EXECUTED',
          clientReferenceId: write.reference,
          createdAt: iso(this.nowMs()),
          settlementWindow: 'T0',
        };
        this.#add(sellCurrency, -units(sellAmount ?? quoteAmount));
        const movement: Movement = {
          kind: 'trade',
          record,
          send,
          atMs: nowMs,
          status: 'EXECUTED',
          saidAtMs: nowMs,
        };
        this.#trades.push({ record, visibleAtMs, status: 'EXECUTED' });
        this.#enter(movement);
        this.#agenda.after(this.settings.settlesAfterMs, () => this.#say(movement, this.settings.tradeWord));
        return this.#done(record);
      }
      case 'withdrawal': {
        const { request } = write;
        const record: Withdrawal = {
          id,
          currency: request.currency,
          withdrawalAmount: request.amount,
          status: 'PENDING',
          withdrawalAccountId: request.account,
          createdAt: iso(this.nowMs()),
          tag: this.#showsTag() ? request.reference : null,
        };
        this.#add(request.currency, -units(request.amount));
        const movement: Movement = {
          kind: 'withdrawal',
          record,
          send,
          atMs: nowMs,
          status: 'PENDING',
          saidAtMs: nowMs,
          failedAtMs: null,
          wasPaid: false,
        };
        this.#withdrawals.push({ record, visibleAtMs, status: 'PENDING' });
        this.#enter(movement);
        this.#agenda.after(this.settings.paysAfterMs, () => this.#say(movement, this.settings.paymentWord));
        return this.#done(record);
      }
    }
  }

  #enter(movement: Movement): void {
    this.ledger.push(movement);
    this.#watcher.booked(movement);
    this.#watcher.changed();
    // A lagging list will show it later: polls look again then.
    if (this.settings.lagMs > 0) this.#agenda.after(this.settings.lagMs, () => this.#watcher.changed());
  }

  /** The service's word for a record changes. */
  #say(movement: Movement, word: string): void {
    if (isFailed(movement.status) || movement.status === word) return;
    const status =
      this.#healed && !isLast(word) ? (movement.kind === 'trade' ? 'SETTLED' : 'COMPLETED') : word;
    movement.status = status;
    movement.saidAtMs = this.#agenda.nowMs;
    const list: Listed<Trade | Withdrawal>[] = movement.kind === 'trade' ? this.#trades : this.#withdrawals;
    const listed = list.find(({ record }) => record.id === movement.record.id);
    if (listed !== undefined) listed.status = status;
    if (movement.kind === 'trade') {
      const { record } = movement;
      if (isFailed(status)) this.#add(record.sellCurrency, units(record.sellAmount ?? record.executedAmount));
      else if (isLast(status))
        this.#add(record.buyCurrency, units(record.buyAmount ?? record.executedAmount));
    } else {
      if (isFailed(status)) {
        movement.failedAtMs = this.#agenda.nowMs;
        this.#add(movement.record.currency, units(movement.record.withdrawalAmount));
      }
      if (status === 'COMPLETED') {
        movement.wasPaid = true;
        if (this.settings.returnsAfterMs !== null)
          this.#agenda.after(this.settings.returnsAfterMs, () => this.#say(movement, 'RETURNED'));
      }
    }
    this.#watcher.changed();
  }

  /** One page of a list, newest first, as it is now. */
  tradesPage(page: PageRequest): Reply<Page<Trade>> {
    return this.#page('trades', this.#trades, page);
  }

  withdrawalsPage(page: PageRequest): Reply<Page<Withdrawal>> {
    return this.#page('withdrawals', this.#withdrawals, page);
  }

  #page<T extends Trade | Withdrawal>(
    step: 'trades' | 'withdrawals',
    list: readonly Listed<T>[],
    { startingAfter }: PageRequest,
  ): Reply<Page<T>> {
    const fault = this.#unread(step, startingAfter === undefined);
    if (fault !== null) return fault;
    const { nowMs } = this.#agenda;
    const before = startingAfter === undefined ? list.length : Number(startingAfter);
    // A long list has larger pages: nobody reads on for minutes.
    const size = Math.max(SMALL_PAGE, Math.ceil(list.length / MOST_PAGES));
    const items: T[] = [];
    let place = before;
    while (place > 0 && items.length < size) {
      place -= 1;
      const listed = list[place];
      if (listed !== undefined && listed.visibleAtMs <= nowMs)
        items.push({ ...listed.record, status: listed.status });
    }
    return this.#done({ items, nextCursor: place === 0 ? null : `${place}`, prevCursor: null });
  }

  /** What is offered: everything, in any amount. */
  pairs(): Reply<readonly Pair[]> {
    return this.#unread('balances') ?? this.#done(PAIRS);
  }

  /** These are all registered. */
  accounts(ids: readonly string[]): Reply<Page<LenientRecord>> {
    const items = ids.map((id) => ({
      id,
      status: this.#unverified.has(id) ? 'UNVERIFIED' : 'VERIFIED',
      currency: 'MXN',
    }));
    return this.#unread('balances') ?? this.#done({ items, nextCursor: null, prevCursor: null });
  }

  /** What both lists show now; nothing while they cannot be read. `name`: the reference or the tag. */
  listedNow(): readonly { readonly id: string; readonly name: string | null; readonly status: string }[] {
    if (!this.isReadable()) return [];
    const isShown = ({ visibleAtMs }: Listed<unknown>): boolean => visibleAtMs <= this.#agenda.nowMs;
    return [
      ...this.#trades
        .filter(isShown)
        .map(({ record, status }) => ({ id: record.id, name: record.clientReferenceId, status })),
      ...this.#withdrawals
        .filter(isShown)
        .map(({ record, status }) => ({ id: record.id, name: record.tag, status })),
    ];
  }

  /** Reads the list at one moment, newest first, for polls; `wanted` are kept. */
  scanWithdrawals(wanted: (record: Withdrawal) => boolean): ListScan<Withdrawal> {
    return this.#scan('withdrawals', this.#withdrawals, wanted);
  }

  #scan<T extends Trade | Withdrawal>(
    step: 'trades' | 'withdrawals',
    list: readonly Listed<T>[],
    wanted: (record: T) => boolean,
  ): ListScan<T> {
    const fault = this.#readFault(step);
    const visible = list.filter(({ visibleAtMs }) => visibleAtMs <= this.#agenda.nowMs);
    const newestFirst = visible.map(({ record, status }) => ({ ...record, status })).toReversed();
    if (fault === 'none') return { records: newestFirst.filter(wanted), complete: true, reason: null };
    // The first page came and held only the newest record.
    const firstPage = fault === 'second page' ? newestFirst.slice(0, 1) : [];
    return { records: firstPage.filter(wanted), complete: false, reason: fault };
  }

  /** Ids of withdrawals without a tag that pay this account this much, or any amount where null. */
  untaggedLike(account: string, amount: bigint | null): readonly Withdrawal[] {
    return this.#withdrawals.flatMap(({ record }) =>
      record.tag === null &&
      record.withdrawalAccountId === account &&
      (amount === null || units(record.withdrawalAmount) === amount)
        ? [record]
        : [],
    );
  }

  trade(id: string): Reply<Trade> {
    return this.#byId(this.#trades, id, 'TRADE_NOT_FOUND');
  }

  withdrawal(id: string): Reply<Withdrawal> {
    return this.#byId(this.#withdrawals, id, 'WITHDRAWAL_NOT_FOUND');
  }

  #byId<T extends Trade | Withdrawal>(list: readonly Listed<T>[], id: string, notFound: string): Reply<T> {
    const unread = this.#unread('by id');
    if (unread !== null) return unread;
    const listed = list.find(({ record }) => record.id === id);
    if (listed === undefined || (this.settings.lagById && listed.visibleAtMs > this.#agenda.nowMs))
      return this.#failed(notFound);
    return this.#done({ ...listed.record, status: listed.status });
  }

  balances(): Reply<Balances> {
    const unread = this.#unread('balances');
    if (unread !== null) return unread;
    const balances = [...this.#balances].map(([currency, value]) => {
      return { currency, withdrawable: textOf(value < 0n ? 0n : value), total: textOf(value) };
    });
    return this.#done({ aggregateUsd: balances[0]?.withdrawable ?? '0', balances });
  }

  /** For `ms` each read takes `takesMs`. */
  slowDown({ takesMs, ms }: Extract<Misfortune, { kind: 'slow reads' }>): void {
    this.#slow = { takesMs, untilMs: this.#agenda.nowMs + ms };
  }

  isSlow(): boolean {
    return this.#agenda.nowMs < this.#slow.untilMs;
  }

  /** How long a read that begins now takes; one page of a list takes as long where the service is slow. */
  readMs(): number {
    return this.isSlow() ? this.#slow.takesMs : this.settings.readMs;
  }

  /** The facts of any answer that came now: tells the service's clock. */
  factsOfRead(): ReplyFacts {
    return this.#facts({});
  }

  #readFault(step: ReadStep): ReadFault {
    if (this.#isAway()) return 'no answer';
    const isList = step === 'trades' || step === 'withdrawals';
    if (isList && this.#agenda.nowMs < this.listsUnreadableUntilMs) return 'no answer';
    const fault = this.#reads[step].shift() ?? 'none';
    if (fault !== 'none') this.#coverage.hit(step, fault);
    return fault;
  }

  /** @param isFirstPage a list is cut short behind it, where that is what happens */
  #unread(step: ReadStep, isFirstPage = false): Reply<never> | null {
    const fault = this.#readFault(step);
    if (fault === 'second page' && isFirstPage) {
      this.#reads[step].unshift('no answer');
      return null;
    }
    switch (fault) {
      case 'none':
        return null;
      case 'no answer':
      case 'second page':
        return noAnswer();
      case 'html':
        return { kind: 'UNKNOWN', reason: 'not JSON', error: null, facts: this.#facts({ status: 502 }) };
      case '500':
        return this.#failed('INTERNAL_ERROR');
      case 'key refused':
        return this.#failed('AUTH_API_KEY_INVALID');
    }
  }

  #isAway(): boolean {
    return this.#agenda.nowMs < this.awayUntilMs;
  }

  /** Whatever is asked is answered now. */
  isReadable(): boolean {
    return !this.#isAway() && this.#agenda.nowMs >= this.listsUnreadableUntilMs;
  }

  #newQuote(request: QuoteRequest): Quote {
    const { prices } = this.settings;
    const price = units(prices[Math.min((this.#prices += 1), prices.length) - 1] ?? '17');
    const { side, value } = request.amount;
    const other = otherSide(request, side, units(value), price);
    const createdMs = this.nowMs();
    return {
      id: '',
      buyCurrency: request.buy,
      sellCurrency: request.sell,
      buyAmount: side === 'buy' ? value : null,
      sellAmount: side === 'sell' ? value : null,
      quoteAmount: textOf(other),
      createdAt: iso(createdMs),
      expiresAt:
        this.settings.quotesExpireAt === 'told' ? iso(createdMs + request.validForSeconds * 1_000) : null,
      settlementWindow: request.settlement,
    };
  }

  #scoped(write: TradeWrite | WithdrawalWrite): string {
    const owner = this.settings.keysBelongTo === 'organisation' ? 'org' : write.keyName;
    return `${owner} ${write.step} ${write.key}`;
  }

  /** Keeps a reply under the key, or forgets the key. */
  #keep(write: Write, scoped: string | null, reply: Reply<Booked> | null): void {
    if (scoped === null) return;
    const kept = this.#keys.get(scoped);
    if (reply !== null && reply.kind !== 'DONE' && write.step === 'trade')
      this.tradesRefusedForGood.add(write.item);
    if (reply === null) this.#keys.delete(scoped);
    else if (kept !== undefined) kept.reply = reply;
  }

  #storesFailure(fault: Extract<WriteFault, { kind: '5xx' }>): boolean {
    return fault.stored || this.settings.stores === 'every error';
  }

  #serverError(
    write: Write,
    { resourceId, timeoutMs }: { readonly resourceId: boolean; readonly timeoutMs: number | null },
    id: string,
  ): Reply<never> {
    const code = {
      quote: 'INTERNAL_ERROR',
      trade: 'TRADE_EXECUTION_FAILED',
      withdrawal: 'WITHDRAWAL_INITIATION_FAILED',
    }[write.step];
    const details = {
      ...(resourceId && { resourceId: id }),
      ...(timeoutMs !== null && { timeoutMs }),
    };
    return this.#failed(resourceId ? code : 'INTERNAL_ERROR', { details, status: 500 });
  }

  #replay(reply: Reply<Booked>): Reply<Booked> {
    if (reply.kind === 'NOT_SENT') return reply;
    return { ...reply, facts: this.#facts({ status: reply.facts.status, replayed: true }) };
  }

  #done<T>(value: T): Reply<T> {
    return { kind: 'DONE', value, facts: this.#facts({}) };
  }

  /** A whole error envelope, as the client reads it: refused where its code is definitive. */
  #failed(
    code: string,
    how: {
      readonly details?: Readonly<Record<string, unknown>>;
      readonly retryAfterMs?: number | null;
      readonly retryStrategy?: string;
      readonly status?: number;
    } = {},
  ): Reply<never> {
    const { details = {}, retryAfterMs = null, retryStrategy = 'TERMINAL', status = 409 } = how;
    const error = { code, type: 'CONFLICT', message: 'so it is', retryStrategy, details };
    const facts = this.#facts({ status, retryAfterMs });
    return isDefinitive(code) && details['reason'] !== 'nonce_replay'
      ? { kind: 'REFUSED', error, facts }
      : { kind: 'UNKNOWN', reason: code, error, facts };
  }

  #facts(more: Partial<ReplyFacts>): ReplyFacts {
    const { dates, headersLost } = this.settings;
    const isLost = this.#headers < headersLost;
    if (more.replayed !== undefined) this.#headers += 1;
    return {
      status: more.status ?? 200,
      traceId: null,
      replayed: isLost ? null : (more.replayed ?? false),
      retryAfterMs: more.retryAfterMs ?? null,
      serviceTimeMs: dates ? Math.floor(this.nowMs() / 1_000) * 1_000 : null,
    };
  }

  #showsTag(): boolean {
    const { metadataInLists } = this.settings;
    return (
      metadataInLists === 'always' || (metadataInLists === 'mixed' && this.#withdrawals.length % 2 === 1)
    );
  }

  /** Ids that end like those of the interface; told apart by their number. */
  #id(step: 'quote' | 'trade' | 'withdrawal'): string {
    const prefix = { quote: 'qte', trade: 'tde', withdrawal: 'wtd' }[step];
    return `${prefix}_${(this.#ids += 1)}`;
  }

  /** Somebody else's records under names like ours, there from the beginning. */
  #addStrangers(): void {
    const createdAt = iso(this.nowMs() - 60_000);
    const trade: Trade = {
      id: this.#id('trade'),
      quoteId: 'qte_stranger',
      buyCurrency: 'MXN',
      sellCurrency: 'USD',
      buyAmount: null,
      sellAmount: '1000',
      executedAmount: '17250',
      status: 'SETTLED',
      clientReferenceId: null,
      createdAt,
      settlementWindow: 'T0',
    };
    for (const clientReferenceId of [null, 'p.2026-11-21-weekly.usd-mxn-1', 'r.2026-11-21.usd-mxn-1']) {
      const record = { ...trade, id: this.#id('trade'), clientReferenceId };
      this.#trades.push({ record, visibleAtMs: 0, status: 'SETTLED' });
      if (clientReferenceId !== null)
        this.strangersTrades.push({ reference: clientReferenceId, dollars: trade.sellAmount ?? '0' });
    }
    this.#stranger('17000', 'p.2026-11-21-weekly.supplier', createdAt);
    this.#stranger('17000', 'p.2026-11-21.supplier-2~3', createdAt);
  }

  /** Somebody else pays the same amount to the same account, at the same time, without a tag. */
  #twinOf(request: WithdrawalRequest): void {
    if (!this.settings.twins || this.twinIds.length > 0) return;
    this.twinIds.push(this.#stranger(request.amount, null, iso(this.nowMs())));
  }

  #stranger(amount: string, tag: string | null, createdAt: string): string {
    const record: Withdrawal = {
      id: this.#id('withdrawal'),
      currency: 'MXN',
      withdrawalAmount: amount,
      status: 'COMPLETED',
      withdrawalAccountId: 'wac_supplier',
      createdAt,
      tag: this.settings.metadataInLists === 'always' ? tag : null,
    };
    this.#withdrawals.push({ record, visibleAtMs: 0, status: 'COMPLETED' });
    if (record.tag !== null) this.strangersTags.push(record.tag);
    return record.id;
  }
}

/** Answers that no one reads as what they should say. */
type Oddity = Extract<WriteFault, { kind: 'html' | 'unknown code' | 'nonce replay' | 'odd success' }>;

function isOddity(fault: WriteFault): fault is Oddity {
  return ['html', 'unknown code', 'nonce replay', 'odd success'].includes(fault.kind);
}

/** Answered before the operation is reached, and so never kept under the key. */
const BEFORE_THE_OPERATION = /^(AUTH_|VALIDATION_|IDEMPOTENCY_|SANDBOX_|INVALID_|ROUTE_)/;

const FAILED_WORDS = ['FAILED', 'REJECTED', 'RETURNED', 'CANCELLED', 'CANCELED', 'EXPIRED'];
const LAST_WORDS = [...FAILED_WORDS, 'SETTLED', 'COMPLETED'];

export function isFailed(word: string): boolean {
  return FAILED_WORDS.includes(word);
}

export function isLast(word: string): boolean {
  return LAST_WORDS.includes(word);
}

/** What the service hashes to tell one body from another. */
function hashOf(write: TradeWrite | WithdrawalWrite): string {
  return write.step === 'trade'
    ? JSON.stringify([write.quoteId, write.reference])
    : JSON.stringify([
        write.request.account,
        write.request.currency,
        write.request.amount,
        write.request.reference,
      ]);
}

function noAnswer(): Reply<never> {
  return {
    kind: 'UNKNOWN',
    reason: 'no whole reply within the time limit',
    error: null,
    facts: { status: null, traceId: null, replayed: null, retryAfterMs: null, serviceTimeMs: null },
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
