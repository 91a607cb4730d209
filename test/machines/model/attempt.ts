/**
 * One attempt of an activity that may write: a process that drives the steps of `domain/` effect by effect, as
 * `activities/driver.ts` does, with the same deadline. It can die, stand still, or go on unheard between any two effects.
 */
import { accountedFor, mayTake } from '../../../domain/run/claims.ts';
import type { ListScan } from '../../../domain/writes/lookups.ts';
import type { Quote, Trade, Withdrawal } from '../../../domain/service/records.ts';
import { compare } from '../../../domain/money.ts';
import { keyMaterial, type WriteEndpoint } from '../../../domain/references.ts';
import type { Money } from '../../../domain/policy.ts';
import type { Reply } from '../../../domain/service/reply.ts';
import {
  TOKEN_LIFE_MS,
  type Answer,
  type Context,
  type Demand,
  type Effect,
  type Steps,
} from '../../../domain/writes/step.ts';
import type { LegStep } from '../../../domain/writes/leg-state.ts';
import type { SeenRuns } from '../../../domain/writes/lost-runs.ts';
import { executeTradeSteps, requestQuoteSteps, tradedSteps } from '../../../domain/writes/trade.ts';
import { createWithdrawalSteps, type PaymentStep } from '../../../domain/writes/withdrawal.ts';
import type {
  LegAnswer,
  LegCall,
  PaymentsAnswer,
  PaymentsCall,
  TradedCall,
} from '../../../domain/run/calls.ts';
import { asForgotten } from '../../../domain/writes/doubt.ts';
import type { Closed } from '../../../domain/halt.ts';
import { itemsOfRecordIn } from '../../../domain/people/instructions.ts';
import { makeProblem, type Problem } from '../../../domain/problems.ts';
import { WRITE_LIMITS } from '../../../workflows/limits.ts';
import { heldBesideNow } from '../../../activities/claims.ts';
import { readDay } from '../../../activities/day.ts';
import { readDemand } from '../../../activities/demand.ts';
import { readFreeMoney } from '../../../activities/free-money.ts';
import { turnGivenBack } from '../../../activities/leg-calls.ts';
import type { OwnTurn } from '../../../domain/turn.ts';
import { scanList, type Scanned } from '../../../service/list-scan.ts';
import { inActivity } from '../../support/activities.ts';
import { holdsOfAll, rivalOf, whose } from './others.ts';
import { readInputOf } from './ours.ts';
import type { WorkerGate } from './halts.ts';
import { workerOf } from './worker.ts';
import type { Write } from './service.ts';
import type { Activity } from './temporal.ts';
import type { World } from './world.ts';

/** An attempt that comes to a worker later than this asks whether it still counts (`activities/driver.ts`). */
const PROMPT_MS = 5_000;
const INSTRUCTIONS_MS = 10;
/** From when a write is found to be wanted until its connection stands, where something may be halted. */
const CONNECTS_MS = 200;

type Call = LegCall | TradedCall | PaymentsCall;
type Step = LegStep | PaymentStep;
/** One item of a call, under way; `step` is what came of it. */
type Item = { readonly id: string; readonly steps: Steps<Step>; step: Step | null };

export class Attempt {
  readonly activity: Activity;
  readonly number: number;
  readonly scheduledAtMs: number;
  isDead = false;
  isMute = false;
  frozenUntilMs = 0;
  /** It has told what came of it. */
  #hasTold = false;
  /** Of its worker. */
  #gate: WorkerGate | null = null;
  /** True moment at which it began. */
  beganAtMs = 0;
  readonly #world: World;
  #wallDeadlineMs = 0;
  #keyName = '';
  #items: readonly Item[] = [];
  /** Of a slice: those that are sent once others have come to their end. */
  #waiting: Item[] = [];
  /** The turn of the run, once it has it. */
  #turn: OwnTurn | null = null;
  readonly #signal = new AbortController().signal;
  /** Of a chunk: who has given the go. */
  #coordinator = '';
  /** Of a chunk: why nothing more of its batch is sent. */
  #stopped: Problem | null = null;

  constructor(world: World, activity: Activity, number: number) {
    this.#world = world;
    this.activity = activity;
    this.number = number;
    this.scheduledAtMs = world.temporalMs();
  }

  /** True once Temporal counts on another attempt, or on none. */
  isSuperseded(): boolean {
    return (
      this.activity.current !== this || this.activity.isOver || !this.activity.temporal.isOpen(this.activity)
    );
  }

  /** Heard by Temporal: its heartbeats arrive. */
  isHeard(): boolean {
    return !this.isDead && !this.isMute && this.frozenUntilMs <= this.#world.agenda.nowMs;
  }

  begin(): void {
    if (this.isDead) return;
    const world = this.#world;
    if (this.#isFrozen(() => this.begin())) return;
    this.beganAtMs = world.agenda.nowMs;
    if (Math.abs(world.wallMs() - this.scheduledAtMs) > PROMPT_MS && this.isSuperseded()) return;
    this.#wallDeadlineMs = world.wallMs() + WRITE_LIMITS.sendWithinMs;
    this.#keyName = world.credentials.keyName;
    const call = this.activity.args as Call;
    this.#gate = world.gate;
    this.#gate?.open({ isOver: () => this.isDead || this.#hasTold });
    this.#items = 'items' in call ? this.#payments(call) : [this.#leg(call)];
    if (!this.#hasGo(call)) return;
    const atOnce = 'sideBySide' in call ? call.sideBySide : undefined;
    this.#waiting = this.#items.slice(atOnce ?? this.#items.length);
    this.#onceRead(() => {
      for (const item of this.#items.slice(0, atOnce)) this.#next(item, undefined);
    });
  }

  /** Waits for a late reading of what is halted, as the driver does before it begins and before each write. */
  #onceRead(then: () => void): void {
    const gate = this.#gate;
    if (gate === null) {
      then();
      return;
    }
    const goOn = (): void => {
      if (!this.isDead && !this.#isFrozen(goOn)) then();
    };
    this.#world.goesOn(async () => {
      await gate.settled({ policy: this.#policy(), currencies: [] });
      goOn();
    });
  }

  #policy(): string {
    return this.activity.temporal.ours.input.run.policy;
  }

  /** A chunk that has no go sends nothing of the call. */
  #hasGo(call: Call): boolean {
    if (call.chunk === undefined || !('items' in call)) return true;
    const { temporal } = this.activity;
    if (this.#readGo(call.chunk)) return true;
    this.#world.coverage.hit('batch', 'a slice without a go');
    const wait = { afterMs: 60_000, reason: 'service', problem: makeProblem('CHUNK_WAITS', null) } as const;
    const items = call.items.map(({ payment, state }) => {
      const known = this.number > 1 ? asForgotten(state) : state;
      return { id: payment.id, step: { kind: 'wait' as const, state: known, wait } };
    });
    this.#hasTold = true;
    temporal.report(this, { items, evidence: [], runId: null });
    return false;
  }

  /** As `activities/said.ts` does whenever it reads what people said. */
  #readGo(chunk: number): boolean {
    const go = this.activity.temporal.home.goFor(chunk);
    if (go === null || go === 'over' || !go.mayGo) return false;
    this.#coordinator = `${go.runId}/`;
    this.#stopped = go.stopped;
    return true;
  }

  #leg(call: LegCall | TradedCall): Item {
    if ('traded' in call) {
      const { leg, tradedSoFar, traded } = call;
      const steps = tradedSteps({ ...this.#context(call, true, []), tradedSoFar }, leg, traded);
      return { id: leg.id, steps, step: null };
    }
    const { tradedSoFar, unwanted, legs, funding, sale, ownTrades } = call;
    const context: Context = {
      ...this.#context(call, call.othersAccepted, []),
      tradedSoFar,
      unwanted,
      ...(legs !== undefined && { legs }),
      ...(funding !== undefined && { funding }),
      ...(sale !== undefined && { sale }),
      ...(ownTrades !== undefined && { ownTrades }),
    };
    const begin = this.activity.name === 'requestQuote' ? requestQuoteSteps : executeTradeSteps;
    return { id: call.leg.id, steps: begin(context, call.leg, call.state), step: null };
  }

  /** The items of a slice, side by side. */
  #payments(call: PaymentsCall): readonly Item[] {
    const context = this.#context(call, call.othersAccepted, call.twinIds);
    const takenBy = new Map<string, string>();
    return call.items.map(({ payment, wanted: asked, state }) => {
      const take = (recordId: string): boolean => {
        const owner = takenBy.get(recordId) ?? payment.id;
        takenBy.set(recordId, owner);
        return owner === payment.id;
      };
      const steps = (): Steps<Step> => {
        const stopped = this.#stopped === null ? null : { ...this.#stopped, item: payment.id };
        const wanted = { ...asked, unwanted: asked.unwanted ?? stopped };
        return createWithdrawalSteps({ ...context, take }, payment, wanted, state);
      };
      return { id: payment.id, steps: begunBy(steps), step: null };
    });
  }

  #context(call: Call, othersAccepted: boolean, otherWithdrawalIds: readonly string[]): Context {
    const world = this.#world;
    return {
      plan: call.plan,
      attempt: {
        runId: this.activity.execution.runId,
        number: this.number,
        startedAtMs: world.wallMs(),
        sendWithinMs: WRITE_LIMITS.sendWithinMs,
      },
      facts: world.facts,
      credentials: world.credentials,
      reader: world.credentials,
      othersAccepted,
      tradedSoFar: [],
      unwanted: null,
      otherWithdrawalIds,
      keptRefusals: world.keptRefusals,
      take: () => true,
      nowMs: () => world.wallMs(),
      skewMs: () => world.toldSkewMs,
      whyHalted: (currencies) => this.#whyHalted(currencies),
    };
  }

  #next(item: Item, answer: Answer | undefined): void {
    if (this.isDead || this.#isFrozen(() => this.#next(item, answer))) return;
    const next = item.steps.next(answer as Answer);
    if (next.done === true) {
      item.step = next.value;
      const waiting = this.#waiting.shift();
      if (waiting !== undefined) this.#next(waiting, undefined);
      else if (this.#items.every(({ step }) => step !== null)) this.#finish();
      return;
    }
    const effect = next.value;
    this.#world.reach(`before ${effect.kind}`);
    this.#perform(item, effect);
  }

  #perform(item: Item, effect: Effect): void {
    if (this.isDead || this.#isFrozen(() => this.#perform(item, effect))) return;
    const world = this.#world;
    const { temporal } = this.activity;
    world.tell(() => `${this.name()} asks for ${item.id}: ${effect.kind}`);
    const answer = (given: Answer): void => {
      if (this.isDead) return;
      world.tell(() => `${this.name()} is answered for ${item.id}: ${effect.kind}: ${shortOf(given)}`);
      world.reach(`after ${effect.kind}`);
      this.#next(item, given);
    };
    const read = (now: () => Answer): void => {
      const ms = world.service.readMs();
      // What a read says was true in the middle of it.
      world.agenda.after(ms / 2, () => {
        const given = now();
        world.agenda.after(ms / 2, () => answer(given));
      });
    };
    const later = (given: () => Promise<Answer>): void => {
      world.goesOn(async () => answer(await given()));
    };
    switch (effect.kind) {
      case 'read instructions':
        world.agenda.after(INSTRUCTIONS_MS, () => {
          // Without them the attempt fails.
          if (this.isDead) return;
          const { chunk } = this.activity.args as Call;
          const mayGo = chunk === undefined || this.#readGo(chunk);
          if (!mayGo || !temporal.home.keeps()) temporal.fail(this);
          else answer(temporal.home.kept);
        });
        return;
      case 'note facts':
        world.agenda.after(INSTRUCTIONS_MS, () => {
          if (temporal.home.keeps()) temporal.home.note(effect.facts);
          answer(temporal.home.keeps());
        });
        return;
      case 'read claims':
        world.agenda.after(INSTRUCTIONS_MS, () => {
          // Of a batch also what other items of it count as theirs.
          const others = world.runs.filter((each) => each !== temporal.home || each.chunks.length > 0);
          answer({ claimed: accountedFor(whose(others, effect.records)) });
        });
        return;
      case 'read words':
        world.agenda.after(INSTRUCTIONS_MS, () => {
          const { id } = effect.record;
          const named = world.runs.some((run) =>
            itemsOfRecordIn(run.kept, id)
              .filter((each) => run !== temporal.home || each !== effect.item)
              .some((each) => mayTake(holdsOfAll(run, [each.toLowerCase()]), each, id)),
          );
          answer({ named });
        });
        return;
      case 'read rival':
        world.agenda.after(INSTRUCTIONS_MS, () => answer(rivalOf(world.runs, temporal, effect.item)));
        return;
      case 'read demand':
        later(async () => this.#demand(effect));
        return;
      case 'read day':
        later(async () => this.#day(effect.limit));
        return;
      case 'read lost runs':
        later(async () => this.#lostRuns(effect.seen));
        return;
      case 'read free money':
        later(async () => this.#freeMoney(effect.currencies));
        return;
      case 'take turn':
        world.agenda.after(INSTRUCTIONS_MS, () => later(() => this.#takeTurn()));
        return;
      case 'read balances':
        read(() => world.told(world.service.balances()));
        return;
      case 'fetch trade':
        read(() => world.told(world.service.trade(effect.id)));
        return;
      case 'fetch withdrawal':
        read(() => world.told(world.service.withdrawal(effect.id)));
        return;
      case 'scan trades':
        later(async () =>
          this.#scanned(
            await scanList(world.reader.listTrades, { ...effect, onReply: (reply) => world.told(reply) }),
          ),
        );
        return;
      case 'scan withdrawals':
        later(async () => this.#scanned(await world.scans.lookUp(effect, this.#signal)));
        return;
      case 'send quote':
        this.#send(
          { ...this.#origin(item.id), step: 'quote', request: effect.request },
          [effect.request.sell, effect.request.buy],
          answer,
        );
        return;
      case 'send trade': {
        const { quote, reference, sell, buy } = effect;
        const quoteId = quote.id;
        const key = this.#key('trades', reference, quoteId);
        this.#send({ ...this.#origin(item.id), step: 'trade', quoteId, reference, key }, [sell, buy], answer);
        return;
      }
      case 'send withdrawal': {
        const { request } = effect;
        const key = this.#key('withdrawals', request.reference, null);
        this.#send(
          { ...this.#origin(item.id), step: 'withdrawal', request, key },
          [request.currency],
          answer,
        );
      }
    }
  }

  /** Of a step that waits, and of a write that is about to leave. */
  #whyHalted(currencies: readonly string[]): Closed | null {
    const closed = this.#gate?.whyNot({ policy: this.#policy(), currencies }) ?? null;
    if (closed !== null) this.#world.coverage.hit('halt', `the gate is closed: ${closed.kind}`);
    return closed;
  }

  #send(write: Write, currencies: readonly string[], answer: (reply: Answer) => void): void {
    this.#onceRead(() => {
      if (this.#gate === null) this.#leave(write, answer);
      else this.#world.agenda.after(CONNECTS_MS, () => this.#leaveUnlessHalted(write, currencies, answer));
    });
  }

  /** The last look at what is halted: the connection stands, and the first byte leaves. */
  #leaveUnlessHalted(write: Write, currencies: readonly string[], answer: (reply: Answer) => void): void {
    if (this.isDead || this.#isFrozen(() => this.#leaveUnlessHalted(write, currencies, answer))) return;
    const closed = this.#whyHalted(currencies);
    if (closed === null) {
      this.#leave(write, answer);
      return;
    }
    this.#world.coverage.hit('halt', 'stopped at the last moment');
    this.#world.agenda.after(1, () => answer({ kind: 'NOT_SENT', reason: closed.problem.message }));
  }

  #leave(write: Write, answer: (reply: Answer) => void): void {
    const world = this.#world;
    if (write.step !== 'quote' && this.#isTooLate()) {
      world.coverage.hit(write.step, 'not sent after the deadline');
      world.agenda.after(1, () => answer({ kind: 'NOT_SENT', reason: 'this attempt took too long' }));
      return;
    }
    const sent = world.sending(write, this);
    world.service.wire(write, (reply) => {
      sent.reply = reply;
      world.told(reply);
      // A service that sends no `Date` tells its clock by the quote's creation.
      if (write.step === 'quote' && reply.kind === 'DONE' && reply.facts.serviceTimeMs === null)
        world.toldSkewMs = Date.parse((reply.value as Quote).createdAt) - world.wallMs();
      answer(reply as Reply<Quote> | Reply<Trade> | Reply<Withdrawal>);
    });
  }

  /** No write leaves after the attempt's own deadline, on either clock. */
  #isTooLate(): boolean {
    const world = this.#world;
    const isWallOver = world.wallMs() > this.#wallDeadlineMs;
    return isWallOver || world.agenda.nowMs > this.beganAtMs + WRITE_LIMITS.sendWithinMs;
  }

  #origin(id: string) {
    return {
      item: this.activity.temporal.itemOf(id),
      keyName: this.#keyName,
      tokenUntilMs: Math.floor(this.#world.wallMs() / 1_000) * 1_000 + TOKEN_LIFE_MS,
      deadlineMs: this.beganAtMs + WRITE_LIMITS.sendWithinMs,
      wantedAtMs: this.#world.agenda.nowMs,
    };
  }

  /** The same item always has the same key: from the plan's credentials, never from this worker's. */
  #key(endpoint: WriteEndpoint, reference: string, quoteId: string | null): string {
    const { mode, organisation } = (this.activity.args as Call).plan.credentials;
    return keyMaterial({ mode, organisation, endpoint, reference, quoteId });
  }

  #finish(): void {
    this.#world.reach('before result');
    if (this.isDead || this.#isFrozen(() => this.#finish())) return;
    const [only] = this.#items;
    const call = this.activity.args as Call;
    if ('follows' in call && only !== undefined) this.#giveTurnBack(call, only.step as LegStep);
    this.#hasTold = true;
    this.activity.temporal.report(this, this.#answer());
  }

  #answer(): LegAnswer | PaymentsAnswer {
    const [only] = this.#items;
    if (this.activity.name === 'createWithdrawals')
      return {
        items: this.#items.map(({ id, step }) => ({ id, step: step as PaymentStep })),
        evidence: [],
        runId: `${this.#coordinator}${this.activity.execution.runId}`,
      };
    if (only === undefined) throw new RangeError('An attempt ended without a step.');
    return { step: only.step as LegStep, evidence: [], runId: this.activity.execution.runId };
  }

  #scanned<T extends Trade | Withdrawal>({ records, stopped }: Scanned<T>): ListScan<T> {
    return { records, complete: stopped === null, reason: stopped === null ? null : 'no answer' };
  }

  async #takeTurn(): Promise<Answer> {
    const { temporal } = this.activity;
    if (temporal.isAway()) return { turn: 'silent' };
    const answer = await this.#world.turns.asked().take(temporal.ours.input.run, false);
    if (answer.turn === 'ours') this.#turn = answer;
    return answer;
  }

  async #lostRuns(seen: SeenRuns): Promise<Answer> {
    const { temporal, execution } = this.activity;
    const { run, mode } = temporal.ours.input;
    const deps = workerOf(this.#world, temporal);
    const lostRuns = await inActivity({ runId: execution.runId }, () =>
      heldBesideNow(deps, { mode, run }, seen),
    );
    if (lostRuns !== null) this.#world.coverage.hit('rebalance', 'waits beside a lost run');
    return { lostRuns };
  }

  async #demand({ leg, ownTrades }: Extract<Effect, { kind: 'read demand' }>): Promise<Demand> {
    const world = this.#world;
    const { temporal, execution } = this.activity;
    const { run, mode } = temporal.ours.input;
    const deps = workerOf(world, temporal);
    const given = readInputOf(temporal.ours, world.schedule.batch);
    const told = await inActivity({ runId: execution.runId }, () =>
      readDemand(deps, { mode, run, leg, ownTrades, turn: this.#turn }, async () => given),
    );
    const of = this.#cellsOfBalances();
    if ('demand' in told && of !== null) {
      const isLess = leg.amount !== null && compare(told.demand, leg.amount.value) < 0;
      world.coverage.hit(of, isLess ? 'not asked for any more' : 'asked for by new balances');
    }
    return told;
  }

  async #day(limit: Money): Promise<Answer> {
    const { temporal, execution } = this.activity;
    const { run, sendWindows } = (this.activity.args as LegCall).plan;
    const onReply = (reply: Reply<unknown>): void => {
      this.#world.told(reply);
    };
    const told = await inActivity({ runId: execution.runId }, () =>
      readDay(workerOf(this.#world, temporal), { run, sendWindows, limit, turn: this.#turn, onReply }),
    );
    if ('onDate' in told) this.#world.coverage.hit('rebalance', 'the day is read');
    return told;
  }

  async #freeMoney(currencies: readonly string[]): Promise<Answer> {
    const { temporal, execution } = this.activity;
    const onReply = (reply: Reply<unknown>): void => {
      this.#world.told(reply);
    };
    const asked = { currencies, turn: this.#turn, onReply };
    this.#world.coverage.hit('batch', 'free money is asked for');
    return inActivity({ runId: execution.runId }, () =>
      readFreeMoney(workerOf(this.#world, temporal), asked),
    );
  }

  /** Where it is counted what became of a leg that new balances judge; null: no such legs are counted. */
  #cellsOfBalances(): 'rebalance' | 'batch' | null {
    const { rebalance, batch } = this.activity.temporal.ours;
    if (rebalance !== null) return 'rebalance';
    return batch === null ? null : 'batch';
  }

  /** As `carriedOut` of `activities/leg-calls.ts`. */
  #giveTurnBack(call: LegCall, step: LegStep): void {
    const givenBack = turnGivenBack(call, step);
    if (givenBack === null) return;
    const tradedAtMs = givenBack.mayHaveTraded ? this.#world.wallMs() : null;
    void this.#world.turns.asked().giveBack(call.plan.run, tradedAtMs);
  }

  #isFrozen(later: () => void): boolean {
    if (this.frozenUntilMs <= this.#world.agenda.nowMs) return false;
    this.#world.agenda.at(this.frozenUntilMs, later);
    return true;
  }

  name(): string {
    const { execution, name, number, temporal } = this.activity;
    return `${temporal.nameOf(execution.runId)} ${name}#${number} attempt ${this.number}`;
  }
}

/** Steps that begin when they are asked for the first effect. */
function* begunBy(begin: () => Steps<Step>): Steps<Step> {
  return yield* begin();
}

function shortOf(answer: Answer): string {
  if (typeof answer === 'boolean') return answer ? 'kept' : 'not kept';
  if ('complete' in answer)
    return `${answer.complete ? '' : 'incomplete, '}${answer.records.map((record) => `${record.id} ${record.status}`).join(', ') || 'nothing'}`;
  if ('claimed' in answer) return answer.claimed.join(', ') || 'nobody’s';
  if ('turn' in answer) return answer.turn;
  if ('demand' in answer) return answer.demand;
  if ('named' in answer) return answer.named === true ? 'named elsewhere' : 'not named elsewhere';
  if ('onDate' in answer)
    return answer.onDate.map(({ value, currency }) => `${value} ${currency}`).join(', ') || 'nothing';
  if ('free' in answer) return Object.values(answer.free).join(', ');
  if ('wait' in answer) return answer.wait.reason;
  if ('lostRuns' in answer) return answer.lostRuns?.reason ?? 'none';
  if ('rival' in answer) return answer.rival ?? 'none';
  if ('instructions' in answer)
    return answer.instructions.map(({ kind }) => kind).join(', ') || 'nothing said';
  switch (answer.kind) {
    case 'DONE':
      return `done${answer.facts.replayed === true ? ', replayed' : ''} ${'id' in answer.value ? answer.value.id : ''}`;
    case 'NOT_SENT':
      return `not sent, ${answer.reason}`;
    case 'REFUSED':
    case 'UNKNOWN':
      return `${answer.kind} ${answer.error?.code ?? 'without a code'}${answer.facts.replayed === true ? ', replayed' : ''}`;
  }
}
