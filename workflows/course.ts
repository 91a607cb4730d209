/**
 * The course of a run through its plan, readable from top to bottom as the business reads: plan, convert, wait for
 * settlement, pay. It decides nothing about replies (the stepper in `domain/` does) and knows no Temporal: everything
 * that it awaits comes through `Ports`, so that a model can drive the same code. Ends when no item is open; never
 * while something is in doubt (M3, M8).
 */
import { activityFailed } from '../domain/activity-failed.ts';
import { growing } from '../domain/growing.ts';
import { brokenPaymentLimit } from '../domain/limits.ts';
import { round, sum } from '../domain/money.ts';
import { movesOf } from '../domain/plan-moves.ts';
import type { Plan } from '../domain/plan.ts';
import type { Money } from '../domain/policy.ts';
import { runName } from '../domain/references.ts';
import {
  addEvidence,
  adoptPlan,
  carry,
  forgetAllBut,
  statusOf,
  takeOver,
  type Carried,
  type LegRecord,
  type PaymentRecord,
  type RunState,
  type Waiting,
} from '../domain/report.ts';
import { SLOW_LOOKUP_MS, type Problem, type Wait } from '../domain/stepper.ts';
import { NEW_LEG, type Traded } from '../domain/trade-steps.ts';
import { NEW_PAYMENT, type PaymentStep, type Wanted } from '../domain/withdrawal-steps.ts';
import type { SendState } from '../domain/writes/doubt.ts';
import {
  headOf,
  type Activities,
  type Call,
  type PlanAnswer,
  type Settlement,
  type SettlementCall,
  type WithdrawalsAnswer,
  type WithdrawalsCall,
} from './calls.ts';
import type { Progress, RunInput } from './names.ts';

/** Everything that a course awaits or asks of the world: the activities, durable waits, the run's own facts. */
export type Ports = Pick<
  Activities,
  | 'readPlan'
  | 'requestQuote'
  | 'executeTrade'
  | 'createWithdrawals'
  | 'recordInstruction'
  | 'tellRun'
  | 'confirmOutcomes'
> & {
  /** Polls that may be given up. */
  awaitWithdrawals(call: WithdrawalsCall): {
    readonly answer: Promise<WithdrawalsAnswer>;
    readonly giveUp: () => void;
  };
  awaitSettlement(call: SettlementCall): {
    readonly settled: Promise<Settlement>;
    readonly giveUp: () => void;
  };
  /** Waits until `condition` holds, at most `timeoutMs`; false when the time was up. */
  waitUntil(condition: () => boolean, timeoutMs?: number): Promise<boolean>;
  nowMs(): number;
  /** Events of the history so far. */
  historyLength(): number;
  /** The history has grown so long that the run should go on in a new one. */
  historyIsLong(): boolean;
  /** False in histories from before a cancel was kept as a word at once: they kept it before the next step. */
  keepsCancelAtOnce(): boolean;
  /** Id and `originalExecutionRunId` (another one after a reset) of the Temporal run. */
  readonly runId: string;
  readonly originalRunId: string;
  /** Called whenever the state has changed: shows it to people. */
  show(): void;
};

/** The run cannot go on: no plan, another policy, a broken invariant. Carries what a person must know. */
export class RunRefused extends Error {
  override readonly name = 'RunRefused';
  readonly code: string;
  readonly problems: readonly Problem[];

  constructor(code: string, message: string, problems: readonly Problem[]) {
    super(message);
    this.code = code;
    this.problems = problems;
  }
}

/** A call that failed at all its attempts: people are told, and it is tried again later. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

/** Not a failure: the run must go on in a new history, with what it knows carried over. */
export class HistoryIsLong extends Error {
  override readonly name = 'HistoryIsLong';
}

/** When settlement will be late, epoch milliseconds, and whether it is. */
type Late = { readonly atMs: number; is: boolean };

/** How an accepted payment that has no terminal status stands: what people are told of it. */
type Follow = { isWatched: boolean; isUnknown: boolean; isLate: boolean };

/** What people are told of a settlement, and how often in a row its poll was stopped. */
type SettlementWatch = { readonly late: Late; unknownStatus: string | null; stops: number };

/** Payments of one call of `createWithdrawals`: one each in small runs, so that each is seen in the UI. */
const SMALL_RUN = 50;
const SLICE = 25;

/** One course of a run. `complete` ends with every item decided, or throws `RunRefused`. */
export class Course {
  readonly input: RunInput;
  readonly state: RunState;
  readonly ports: Ports;
  /** A cancel on its way to being kept as a word, or kept; null while there is none. */
  #cancelKept: Promise<void> | null = null;
  /** Payments that are not wanted any more, and why. */
  readonly #unwanted = new Map<PaymentRecord, Problem>();
  /** Payments are being sent, so that more will soon be accepted. */
  #isSending = true;
  /** What people are told of accepted payments; one that is not here has nothing to be told. */
  readonly #follows = new Map<PaymentRecord, Follow>();
  /** What waits in a row, of an item or of the run, have come to. */
  readonly #paces = new Map<object, { readonly moneyTimes: number; readonly serviceMs: number }>();
  /** A leg is tried again: whatever is under way for payments is left, and comes back after it. */
  #takesUpLegs = false;
  /** Counts whatever ends waits early: a person's signal, a cancel, an outcome. */
  #wakes = 0;
  /** Counts people's signals and cancels among them. */
  #asked = 0;

  readonly #carried: Carried | null;

  /** @param carried what an earlier history of the same run knew; null at its start */
  constructor(input: RunInput, state: RunState, ports: Ports, carried: Carried | null = null) {
    this.input = input;
    this.state = state;
    this.ports = ports;
    this.#carried = carried;
  }

  /** What the next history of the run begins with. After a reset, what this one has learned itself is its own, no more. */
  handOn(): Carried {
    return carry(this.state, this.ports.runId);
  }

  /**
   * Somebody wants everything looked at now: every wait ends, and so does at once the next one of a call that is under way.
   * In a replay the signal may stand before the answer of that call, which it followed when it happened, or the other way
   * round: the same must come of both.
   */
  wake(): void {
    this.#asked += 1;
    this.stir();
  }

  /** Ends every wait: something has changed. */
  stir(): void {
    this.#wakes += 1;
  }

  /**
   * What is not sent stays unsent; takes effect between steps. It is kept as a word while a step is still under way: a
   * reset in the meantime would lose it.
   */
  cancel(): void {
    if (this.state.cancelled) return;
    this.state.cancelled = true;
    this.wake();
    if (this.ports.keepsCancelAtOnce()) this.recordCancel().catch(() => {});
  }

  async complete(): Promise<void> {
    try {
      await this.carryOut(await this.readPlan());
    } catch (error) {
      if (error instanceof RunRefused) {
        this.state.refusals = error.problems;
        this.state.ended = true;
        this.show();
      }
      throw error;
    } finally {
      await this.#cancelKept;
    }
    this.state.ended = true;
    this.show();
  }

  async carryOut(plan: Plan): Promise<void> {
    adoptPlan(this.state, plan);
    await this.takeOver(plan);
    this.show();
    do {
      this.#takesUpLegs = false;
      for (const leg of this.state.legs) await this.convert(plan, leg);
      await this.waitForSettlement(plan);
      this.#unwanted.clear();
      this.dropDependants();
      this.dropBeyondLimits(plan);
      this.#isSending = true;
      await Promise.all([this.pay(plan), this.track(plan), this.noticeLate(plan)]);
    } while (this.#takesUpLegs || (await this.takesUpAgain()));
  }

  /**
   * A reset means: try again what is not done. A run that is about to end with something undone asks which Temporal run
   * it is, and takes up once more what another one has ended. A reset to its last event replays the answer that the run
   * before was given, but its history has grown by more than that call's own events: then it asks again.
   */
  async takesUpAgain(): Promise<boolean> {
    while (this.state.legs.some(isUndoneLeg) || this.state.payments.some(isUndonePayment)) {
      const before = this.ports.historyLength();
      const { runId } = await this.ports.tellRun();
      if (this.takeUp(runId)) return true;
      if (this.ports.historyLength() - before <= EVENTS_OF_A_CALL) return false;
    }
    return false;
  }

  /** Takes up once more what a Temporal run other than `runId` has ended; true when there was something. */
  takeUp(runId: string): boolean {
    const hasLegs = this.takeUpLegs(runId);
    return this.takeUpPayments(runId) || hasLegs;
  }

  /** A leg is taken up with every payment that depends on it: those were not paid because of it. */
  takeUpLegs(runId: string): boolean {
    const { legs, payments } = this.state;
    const undone = legs.filter(
      (record) => isUndoneLeg(record) && record.endedIn !== runId && isNeeded(record, payments),
    );
    for (const record of undone) {
      Object.assign(record, AGAIN_LEG);
      for (const payment of payments)
        if (isUndonePayment(payment) && payment.payment.dependsOn === record.leg.id)
          Object.assign(payment, AGAIN_PAYMENT);
    }
    if (undone.length === 0) return false;
    this.#takesUpLegs = true;
    this.stir();
    return true;
  }

  /** Payments that wait for no undone leg. */
  takeUpPayments(runId: string): boolean {
    const undone = this.state.payments.filter(
      (record) => isUndonePayment(record) && record.endedIn !== runId && !this.#dependsOnUndone(record),
    );
    for (const record of undone) Object.assign(record, AGAIN_PAYMENT);
    if (undone.length > 0) this.stir();
    return undone.length > 0;
  }

  #dependsOnUndone({ payment }: PaymentRecord): boolean {
    return this.state.legs.some(({ leg, outcome }) => leg.id === payment.dependsOn && outcome !== 'TRADED');
  }

  /** Temporal runs in which payments have ended that another one could take up at once. */
  #undoneIn(): readonly string[] {
    const undone = this.state.payments.filter(
      (record) => isUndonePayment(record) && !this.#dependsOnUndone(record),
    );
    return [...new Set(undone.flatMap(({ endedIn }) => endedIn ?? []))];
  }

  /** What an earlier history handed on counts only for the plan that was read anew, and as the service shows it. */
  async takeOver(plan: Plan): Promise<void> {
    if (this.#carried === null || !isSamePlan(this.#carried.plan, plan)) return;
    takeOver(this.state, this.#carried, this.ports.originalRunId);
    const tradeIds = this.state.legs.flatMap(({ traded }) => traded?.tradeId ?? []);
    const withdrawalIds = this.state.payments.flatMap(({ accepted }) => accepted?.withdrawalId ?? []);
    while (tradeIds.length + withdrawalIds.length > 0) {
      const asked = this.#asked;
      const answer = await this.ports.confirmOutcomes({ plan: headOf(plan), tradeIds, withdrawalIds });
      if (answer.kind === 'shown') return forgetAllBut(this.state, answer);
      this.leaveLongHistory();
      await this.pause(this.state, answer.wait, asked);
    }
  }

  /** The plan that counts: the first completed result of this run's `plan`. */
  async readPlan(): Promise<Plan> {
    const planInput = { ...this.input, forRun: this.ports.originalRunId };
    for (let failures = 0, polls = 0; ;) {
      this.leaveLongHistory();
      const asked = this.#asked;
      const answer = await this.ports.readPlan(planInput).catch(failed);
      if (answer instanceof StepFailed) {
        failures += 1;
        await this.pause(this.state, activityFailed(answer.message, failures), asked);
        continue;
      }
      failures = 0;
      switch (answer.kind) {
        case 'plan':
          return asShown(this.input, answer.plan);
        case 'other policy':
          throw otherPolicy(this.input, answer);
        case 'refused':
          throw new RunRefused('PLAN_REFUSED', 'No plan can be made; nothing was sent.', answer.problems);
        case 'cancelled':
          throw new RunRefused('CANCELLED', CANCELLED.message, [CANCELLED]);
        case 'waiting':
          await this.recordCancel();
          if (this.state.cancelled) throw new RunRefused('CANCELLED', CANCELLED.message, [CANCELLED]);
          polls += 1;
          await this.pause(
            this.state,
            this.paced(this.state, {
              ...(answer.waiting ?? PLANNING),
              afterMs: growing(PLAN_POLL_MS.first, polls - 1, PLAN_POLL_MS.most),
            }),
            asked,
          );
      }
    }
  }

  /** Quote and trade until the leg is traded, ended or in a person's hands. */
  async convert(plan: Plan, record: LegRecord): Promise<void> {
    let failures = 0;
    while (isOpenLeg(record)) {
      this.leaveLongHistory();
      await this.recordCancel();
      const call = {
        ...this.call(plan),
        leg: record.leg,
        state: record.state,
        othersAccepted: this.othersAccepted(),
      };
      const asked = this.#asked;
      const isQuote = record.state.quote === null;
      const answer = await (isQuote ? this.ports.requestQuote(call) : this.ports.executeTrade(call)).catch(
        failed,
      );
      if (answer instanceof StepFailed) {
        failures += 1;
        // A quote moves no money.
        if (!isQuote) record.state = asForgotten(record.state);
        await this.pause(record, itemFailed(record.leg.id, answer, failures), asked);
        continue;
      }
      failures = 0;
      const { step, evidence, runId } = answer;
      if (step.kind !== 'wait') this.#paces.delete(record);
      addEvidence(this.state, evidence);
      record.state = step.state;
      switch (step.kind) {
        case 'quoted':
        case 'requote':
          record.outcome = 'PENDING';
          break;
        case 'traded':
          record.outcome = 'TRADED';
          record.traded = step.traded;
          record.problem = step.worse;
          record.isUnaccepted = step.worse !== null && step.isHeld;
          if (step.worse !== null && step.isHeld) await this.holdForAcceptance(record, step.worse, asked);
          break;
        case 'not traded':
          record.outcome = 'NOT_TRADED';
          record.problem = step.problem;
          record.endedIn = runId;
          break;
        case 'wait':
          record.outcome = step.wait.hold === 'person' ? 'NEEDS_HUMAN' : 'PENDING';
          await this.pause(record, this.paced(record, step.wait), asked);
      }
    }
  }

  /** What depends on a trade that came out worse than planned waits for a person, and so do the legs after it. */
  async holdForAcceptance(record: LegRecord, worse: Problem, asked: number): Promise<void> {
    const held = this.state.payments.filter(
      (payment) => payment.payment.dependsOn === record.leg.id && isOpen(payment),
    );
    for (const payment of held) {
      payment.outcome = 'NEEDS_HUMAN';
      this.showWaiting(payment, {
        afterMs: SLOW_LOOKUP_MS,
        hold: 'person',
        problem: { ...worse, item: payment.payment.id },
      });
    }
    await this.pause(record, { afterMs: SLOW_LOOKUP_MS, hold: 'person', problem: worse }, asked);
    for (const payment of held) Object.assign(payment, { outcome: 'PENDING', waiting: null });
  }

  /** Money that a leg bought must be there before it is paid on. Late: it says so, and goes on waiting. */
  async waitForSettlement(plan: Plan): Promise<void> {
    this.fixProceeds();
    // As in `pay`, a timer says whether it is late, never the clock.
    const late = { atMs: this.ports.nowMs() + plan.lateAfterMs.settlement, is: false };
    for (const record of this.state.legs) {
      const watch: SettlementWatch = { late, unknownStatus: null, stops: 0 };
      while (record.traded !== null && record.settled === null && !this.state.cancelled)
        await this.pollSettlement(plan, record, record.traded, watch);
    }
  }

  async pollSettlement(plan: Plan, record: LegRecord, trade: Traded, watch: SettlementWatch): Promise<void> {
    const { late } = watch;
    const asked = this.#asked;
    this.leaveLongHistory();
    const { settled, giveUp } = this.ports.awaitSettlement({
      plan: headOf(plan),
      leg: record.leg.id,
      tradeId: trade.tradeId,
      until: plan.settle.until,
      currency: record.leg.buy,
      unknownStatus: watch.unknownStatus,
      unpaid: this.stillToPay(record),
    });
    const poll = { open: true };
    const close = () => {
      poll.open = false;
    };
    settled.then(close, close);
    const over = () => !poll.open || this.state.cancelled;
    this.showWaiting(record, settlementWait(record, plan, watch));
    if (!late.is) {
      late.is = !(await this.ports.waitUntil(over, Math.max(late.atMs - this.ports.nowMs(), 1)));
      if (late.is) this.showWaiting(record, settlementWait(record, plan, watch));
    }
    await this.ports.waitUntil(over);
    record.waiting = null;
    if (poll.open) {
      giveUp();
      await settled.catch(() => undefined);
      return;
    }
    const result = await settled;
    if (result.kind === 'wait') {
      watch.stops += 1;
      return this.pause(record, backedOff(result.wait, watch.stops), asked);
    }
    watch.stops = 0;
    if (result.kind === 'cancelled') return this.#knowCancelled();
    if (result.kind === 'news') {
      watch.unknownStatus = result.isUnknown ? result.status : null;
      record.traded = { ...trade, status: result.status };
      return;
    }
    record.settled = result.kind === 'settled';
    record.traded = { ...trade, status: result.status };
    if (result.kind === 'failed') record.problem = settlementFailed(record, result.status);
  }

  /** A payment whose leg was not traded, or will never settle, is not sent; whether it was is looked for all the same. */
  dropDependants(): void {
    for (const record of this.state.payments) {
      const { dependsOn } = record.payment;
      if (dependsOn === null) continue;
      const leg = this.state.legs.find((candidate) => candidate.leg.id === dependsOn);
      if (leg === undefined) {
        this.#unwanted.set(record, nothingToConvert(record, dependsOn));
        continue;
      }
      if (leg.outcome === 'TRADED' && leg.settled !== false) continue;
      const problem: Problem = {
        code: leg.problem?.code === 'CANCELLED' ? 'CANCELLED' : 'LEG_NOT_TRADED',
        item: record.payment.id,
        message: `Leg "${leg.leg.id}" brought no ${record.payment.currency}: ${leg.problem?.message ?? leg.outcome}`,
        fix: leg.problem?.fix ?? 'See the leg.',
      };
      this.#unwanted.set(record, problem);
    }
  }

  /** Limits bind what is paid, sums of the run included (M4). What proceeds come to is known only here. */
  dropBeyondLimits(plan: Plan): void {
    const before: Money[] = [];
    for (const record of this.state.payments) {
      if (record.amount === null || this.#unwanted.has(record)) continue;
      const money = { value: record.amount, currency: record.payment.currency };
      const broken = brokenPaymentLimit(plan.limits, money, before);
      before.push(money);
      if (broken === null) continue;
      this.#unwanted.set(record, {
        code: 'OVER_LIMIT',
        item: record.payment.id,
        message: broken,
        fix: 'The money stays as a balance. Pay it by another run, with a limit that was raised on purpose.',
      });
    }
  }

  /** Sends every payment that is due, a slice a call, until none is unsent. */
  async pay(plan: Plan): Promise<void> {
    const size = this.state.payments.length <= SMALL_RUN ? 1 : SLICE;
    // Counted by timers alone, never by the clock: a worker that takes over while somebody asks how the run stands may
    // see an older time than a later replay, which must ask for the same.
    const leftMs = new Map<PaymentRecord, number>();
    const failures = new Map<PaymentRecord, number>();
    let asked = this.#asked;
    const leftOf = (record: PaymentRecord): number => leftMs.get(record) ?? 0;
    for (;;) {
      const unsent = this.state.payments.filter((record) => isOpen(record) && record.accepted === null);
      if (unsent.length === 0) {
        this.#isSending = false;
        // While others are followed, what another Temporal run has ended may be taken up once more.
        await this.ports.waitUntil(() => this.#isOver() || this.#hasUnsent());
        if (this.#isOver()) return;
        this.#isSending = true;
        continue;
      }
      this.leaveLongHistory();
      await this.recordCancel();
      const due = unsent.filter((record) => leftOf(record) <= 0).slice(0, size);
      if (due.length === 0) {
        const nextMs = Math.min(...unsent.map(leftOf));
        this.#isSending = false;
        // Whoever wakes the run wants every payment looked at now.
        if (await this.sleep(nextMs, asked)) leftMs.clear();
        asked = this.#asked;
        if (this.#takesUpLegs) return;
        for (const [record, ms] of leftMs) leftMs.set(record, ms - nextMs);
        this.#isSending = true;
        continue;
      }
      const answer = await this.ports
        .createWithdrawals({
          ...this.call(plan),
          items: due.map((record) => ({
            payment: record.payment,
            wanted: this.wanted(record),
            state: record.state,
          })),
          acceptedIds: this.state.payments.flatMap((record) => record.accepted?.withdrawalId ?? []),
        })
        .catch(failed);
      if (answer instanceof StepFailed) {
        for (const record of due) {
          const times = (failures.get(record) ?? 0) + 1;
          failures.set(record, times);
          const wait = itemFailed(record.payment.id, answer, times);
          this.takeStep(record, { kind: 'wait', state: asForgotten(record.state), wait }, leftMs);
        }
        this.show();
        continue;
      }
      for (const record of due) failures.delete(record);
      addEvidence(this.state, answer.evidence);
      for (const record of due) {
        const item = answer.items.find((candidate) => candidate.id === record.payment.id);
        if (item === undefined)
          throw new RunRefused('ANSWER_INCOMPLETE', `No outcome for payment "${record.payment.id}".`, []);
        this.takeStep(record, item.step, leftMs);
        if (record.outcome === 'NOT_PAID') record.endedIn = answer.runId;
      }
      this.takeUp(answer.runId);
      this.show();
      if (this.#takesUpLegs) return;
    }
  }

  /** Nothing is left to do for payments, or a leg goes first. */
  #isOver(): boolean {
    return this.#takesUpLegs || !this.state.payments.some(isOpen);
  }

  #hasUnsent(): boolean {
    return this.state.payments.some((record) => isOpen(record) && record.accepted === null);
  }

  /** What the run wants of a payment now; money goes to the payments before it in the plan first. */
  wanted(record: PaymentRecord): Wanted {
    const before = this.state.payments.slice(0, this.state.payments.indexOf(record));
    const ahead = before.flatMap((other) =>
      isOpen(other) &&
      other.accepted === null &&
      other.amount !== null &&
      other.payment.currency === record.payment.currency &&
      !this.#unwanted.has(other)
        ? [other.amount]
        : [],
    );
    return { amount: record.amount, ahead: sum(ahead), unwanted: this.#unwanted.get(record) ?? null };
  }

  takeStep(record: PaymentRecord, step: PaymentStep, leftMs: Map<PaymentRecord, number>): void {
    record.state = step.state;
    record.waiting = null;
    switch (step.kind) {
      case 'accepted':
        record.outcome = 'PENDING';
        record.accepted = step.accepted;
        record.acceptedAtMs = this.ports.nowMs();
        record.amount ??= step.accepted.amount;
        record.status = step.accepted.status;
        // Money has come: more may follow soon.
        this.#paces.clear();
        this.stir();
        break;
      case 'not paid':
        record.outcome = 'NOT_PAID';
        record.problem = step.problem;
        this.stir();
        break;
      case 'wait': {
        const { afterMs, hold, problem } = this.paced(record, step.wait);
        leftMs.set(record, afterMs);
        record.outcome = hold === 'person' ? 'NEEDS_HUMAN' : 'PENDING';
        record.waiting = { hold, problem, wakeAtMs: this.ports.nowMs() + afterMs };
      }
    }
  }

  /**
   * Follows accepted payments to their terminal status: `PAID` at a paid status, not before. A paid one is watched as
   * long as the run is open: it may still be returned.
   */
  async track(plan: Plan): Promise<void> {
    const { payments } = this.state;
    const isOver = () => this.#isOver();
    const isFollowed = (record: PaymentRecord) => record.accepted !== null && record.outcome !== 'NOT_PAID';
    let stops = 0;
    for (;;) {
      // While something is unsent `pay` leaves, between two calls that write.
      if (!payments.some((record) => isOpen(record) && record.accepted === null)) this.leaveLongHistory();
      await this.ports.waitUntil(() => isOver() || (!this.#isSending && payments.some(isFollowed)));
      if (isOver()) return;
      const followed = payments.filter(isFollowed);
      // Another one was accepted meanwhile: it is followed as well.
      const isOutdated = () => !this.#isSending && payments.filter(isFollowed).length > followed.length;
      const asked = this.#asked;
      const { answer, giveUp } = this.ports.awaitWithdrawals({
        plan: headOf(plan),
        undoneIn: this.#undoneIn(),
        items: followed.flatMap((record) => {
          const { payment, accepted, outcome, status } = record;
          return accepted === null
            ? []
            : [
                {
                  id: payment.id,
                  withdrawalId: accepted.withdrawalId,
                  paid: outcome === 'PAID',
                  status,
                  isUnknown: this.followOf(record).isUnknown,
                },
              ];
        }),
      });
      const poll = { open: true };
      const close = () => {
        poll.open = false;
      };
      answer.then(close, close);
      await this.ports.waitUntil(() => !poll.open || isOver() || isOutdated());
      if (poll.open) {
        giveUp();
        await answer.catch(() => undefined);
        continue;
      }
      const { ended, wait, runId } = await answer;
      this.takeUp(runId);
      for (const { id, status, paid, isUnknown } of ended) {
        const record = payments.find((candidate) => candidate.payment.id === id);
        if (record === undefined) continue;
        record.status = status;
        this.followOf(record).isUnknown = isUnknown;
        if (paid !== null) record.outcome = paid ? 'PAID' : 'NOT_PAID';
        if (paid === false) {
          record.problem = paymentFailed(record, status);
          record.endedIn = runId;
        }
        this.tellFollow(record);
      }
      stops = wait === null ? 0 : stops + 1;
      if (wait !== null) await this.pause(this.state, backedOff(wait, stops), asked);
      this.show();
    }
  }

  /** An accepted payment without a terminal status after `late_after` is late, and says so. As in `pay`, by timers. */
  async noticeLate(plan: Plan): Promise<void> {
    const { payments } = this.state;
    const isOver = () => this.#isOver();
    const isNew = (record: PaymentRecord) =>
      isOpen(record) && record.accepted !== null && !this.followOf(record).isWatched;
    for (;;) {
      await this.ports.waitUntil(() => isOver() || (!this.#isSending && payments.some(isNew)));
      if (isOver()) return;
      // One timer for all that were accepted by now: what is accepted later has the next one.
      const watched = payments.filter(isNew);
      for (const record of watched) this.followOf(record).isWatched = true;
      const lastMs = Math.max(...watched.map(({ acceptedAtMs }) => acceptedAtMs ?? this.ports.nowMs()));
      const leftMs = Math.max(lastMs + plan.lateAfterMs.withdrawal - this.ports.nowMs(), 1);
      await this.ports.waitUntil(() => isOver() || !watched.some(isOpen), leftMs);
      for (const record of watched.filter(isOpen)) {
        this.followOf(record).isLate = true;
        this.tellFollow(record);
      }
      this.show();
    }
  }

  followOf(record: PaymentRecord): Follow {
    const follow = this.#follows.get(record) ?? { isWatched: false, isUnknown: false, isLate: false };
    this.#follows.set(record, follow);
    return follow;
  }

  /** Shows what an accepted payment waits for that people should know: a status in no list, or a late one. */
  tellFollow(record: PaymentRecord): void {
    const { isUnknown, isLate } = this.followOf(record);
    const problem = isUnknown ? statusUnknownOf(record) : isLate ? withdrawalLate(record) : null;
    const isShown = problem !== null && isOpen(record);
    record.waiting = isShown
      ? { hold: isUnknown ? 'configuration' : 'settlement', problem, wakeAtMs: this.ports.nowMs() }
      : null;
  }

  /** The amount of a payment of proceeds, once its leg has brought them; cut by the rounding that the policy names. */
  fixProceeds(): void {
    for (const record of this.state.payments) {
      const { amount } = record.payment;
      if (amount.kind !== 'proceeds') continue;
      const leg = this.state.legs.find((candidate) => candidate.leg.id === amount.leg);
      if (leg?.traded) record.amount = round(leg.traded.buyAmount, amount.decimals, amount.rounding);
    }
  }

  /** What this run still has to pay in the currency that a leg buys. */
  stillToPay(record: LegRecord): SettlementCall['unpaid'] {
    return this.state.payments.flatMap(({ payment, amount, outcome }) =>
      amount === null || payment.currency !== record.leg.buy || outcome === 'PAID' || outcome === 'NOT_PAID'
        ? []
        : [{ reference: payment.reference, account: payment.account, amount }],
    );
  }

  call(plan: Plan): Call {
    return { plan: headOf(plan), originalRunId: this.ports.originalRunId };
  }

  othersAccepted(): boolean {
    return (
      this.state.legs.some((leg) => leg.traded !== null) ||
      this.state.payments.some((payment) => payment.accepted !== null)
    );
  }

  /** A cancel by Temporal's own button is kept as a word too, so that no reset loses it. */
  async recordCancel(): Promise<void> {
    if (!this.state.cancelled) return;
    this.#cancelKept ??= this.keepCancel();
    await this.#cancelKept;
  }

  async keepCancel(): Promise<void> {
    const { mode, run } = this.input;
    const instruction = { kind: 'cancel', by: 'Temporal', why: 'Cancel was pressed' } as const;
    for (let failures = 1; ; failures += 1) {
      const asked = this.#asked;
      const kept = await this.ports.recordInstruction({ mode, run, instruction }).catch(failed);
      if (!(kept instanceof StepFailed)) return;
      await this.pause(this.state, activityFailed(kept.message, failures), asked);
    }
  }

  /** A word said so that this history does not know of: it is kept already. */
  #knowCancelled(): void {
    this.#cancelKept = Promise.resolve();
    this.cancel();
  }

  /**
   * A wait as it is made and shown. Whoever waits for money asks for ever later, up to 5 min: each time costs a read of the
   * balances, and history. What waits at the service's own pace for longer than a minute altogether is shown (M8).
   */
  paced(item: object, wait: Wait): Wait {
    const { moneyTimes, serviceMs } = this.#paces.get(item) ?? { moneyTimes: 0, serviceMs: 0 };
    switch (wait.hold) {
      case 'money': {
        this.#paces.set(item, { moneyTimes: moneyTimes + 1, serviceMs: 0 });
        return { ...wait, afterMs: growing(wait.afterMs, moneyTimes, LONGEST_MONEY_WAIT_MS) };
      }
      case 'service': {
        const totalMs = serviceMs + wait.afterMs;
        this.#paces.set(item, { moneyTimes: 0, serviceMs: totalMs });
        return totalMs > PATIENT_MS ? { ...wait, hold: 'outage' } : wait;
      }
      case 'outage':
      case 'doubt':
      case 'configuration':
      case 'opening':
      case 'settlement':
      case 'person':
        this.#paces.delete(item);
        return wait;
    }
  }

  /**
   * A durable wait, shown with its reason; a wake-up ends it early.
   * @param asked people's wake-ups as they stood before the call that led to this wait
   */
  async pause(item: { waiting: Waiting | null }, wait: Wait, asked: number): Promise<void> {
    this.showWaiting(item, wait);
    await this.sleep(wait.afterMs, asked);
    item.waiting = null;
    this.show();
  }

  showWaiting(item: { waiting: Waiting | null }, wait: Wait): void {
    item.waiting = { hold: wait.hold, problem: wait.problem, wakeAtMs: this.ports.nowMs() + wait.afterMs };
    this.show();
  }

  /** A durable wait that a wake-up ends early; true when one did. */
  async sleep(ms: number, asked: number): Promise<boolean> {
    const before = this.#wakes;
    const isOver = () => this.#wakes !== before || this.#asked !== asked;
    return this.ports.waitUntil(isOver, Math.max(ms, 1));
  }

  /** Between two calls that write, and only there, a long history can be left. */
  leaveLongHistory(): void {
    if (this.ports.historyIsLong()) throw new HistoryIsLong();
  }

  show(): void {
    this.ports.show();
  }
}

const LONGEST_MONEY_WAIT_MS = 300_000;
/** Waits at the service's own pace are shown once they have come to more than this in a row. */
const PATIENT_MS = 60_000;
/** How soon a run asks again for a plan that is still being made: each time costs history. */
const PLAN_POLL_MS = { first: 2_000, most: 30_000 };
const CANCELLED: Problem = {
  code: 'CANCELLED',
  item: null,
  message: 'The run was cancelled before there was a plan; nothing was sent.',
  fix: 'Start the run with --go-on to carry it out after all.',
};
const PLANNING = {
  hold: 'service',
  problem: {
    code: 'PLANNING',
    item: null,
    message: 'The plan is being made.',
    fix: 'Nothing to do. If it stays, see that a worker of this mode serves the task queue of the run.',
  },
} as const;

/** Both come out of the same result, field by field in the same order. */
function isSamePlan(one: Plan | null, other: Plan): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What a person has said yes to is what is carried out (M4). */
function asShown(input: RunInput, plan: Plan): Plan {
  const moves = movesOf(plan);
  if (input.shown === undefined || input.shown.join('\n') === moves.join('\n')) return plan;
  throw new RunRefused('PLAN_NOT_AS_SHOWN', 'The plan is not what was shown; nothing was sent.', [
    {
      code: 'PLAN_NOT_AS_SHOWN',
      item: null,
      message: `What was shown before the start was: ${input.shown.join(' ')} The plan is: ${moves.join(' ')}`,
      fix: 'Start it again with --go-on: it shows this plan, and asks.',
    },
  ]);
}

/** The plan counts only for the policy that it was made from (M4). */
function otherPolicy(
  input: RunInput,
  { planned, given }: Extract<PlanAnswer, { kind: 'other policy' }>,
): RunRefused {
  return new RunRefused('POLICY_CHANGED', `Run ${runName(input.run)} was planned with another policy.`, [
    {
      code: 'POLICY_CHANGED',
      item: null,
      message: `The plan was made from a policy with the hash ${planned}, this start has ${given}.`,
      fix: 'Start it with the policy that the plan was made from. Another --id would pay everything again.',
    },
  ]);
}

/** The failure of a step as an answer; everything else is thrown on. */
function failed(error: unknown): StepFailed {
  if (error instanceof StepFailed) return error;
  throw error;
}

function itemFailed(item: string, { message }: StepFailed, times: number): Wait {
  const wait = activityFailed(message, times);
  return { ...wait, problem: { ...wait.problem, item } };
}

/** The state after a call that came to nothing: it may have sent, and what it learned is lost. */
function asForgotten<State extends SendState>(state: State): State {
  return { ...state, knownIn: null, sent: true };
}

/** A leg that was traded worse than planned is open until a person has accepted that. */
function isOpenLeg({ outcome, isUnaccepted }: LegRecord): boolean {
  return outcome === 'PENDING' || outcome === 'NEEDS_HUMAN' || isUnaccepted;
}

function isUndoneLeg({ outcome }: LegRecord): boolean {
  return outcome === 'NOT_TRADED';
}

function isUndonePayment({ outcome }: PaymentRecord): boolean {
  return outcome === 'NOT_PAID';
}

/** A leg is taken up once more only while an unpaid payment of the plan needs it. */
function isNeeded({ leg }: LegRecord, payments: readonly PaymentRecord[]): boolean {
  const dependants = payments.filter(({ payment }) => payment.dependsOn === leg.id);
  return dependants.length === 0 || dependants.some(({ outcome }) => outcome !== 'PAID');
}

/** An item that is taken up once more: what another Temporal run knew of it is looked up anew. */
const AGAIN = { endedIn: null, problem: null, outcome: 'PENDING', waiting: null } as const;
const AGAIN_LEG: Partial<LegRecord> = { ...AGAIN, state: NEW_LEG };
const AGAIN_PAYMENT: Partial<PaymentRecord> = {
  ...AGAIN,
  state: NEW_PAYMENT,
  accepted: null,
  acceptedAtMs: null,
  status: null,
};
/** What a call of an activity adds to a history, with the two workflow tasks about it. */
const EVENTS_OF_A_CALL = 6;

function isOpen(record: PaymentRecord): boolean {
  return record.outcome === 'PENDING' || record.outcome === 'NEEDS_HUMAN';
}

/** A poll that is stopped again and again is asked for ever later, up to 10 min: each time costs history. */
function backedOff(wait: Wait, times: number): Wait {
  return { ...wait, afterMs: growing(wait.afterMs, times - 1, 600_000) };
}

function settlementWait(record: LegRecord, plan: Plan, watch: SettlementWatch): Wait {
  const late = watch.late.is;
  if (watch.unknownStatus !== null)
    return {
      afterMs: 0,
      hold: 'configuration',
      problem: statusUnknown({
        item: record.leg.id,
        subject: `trade ${record.traded?.tradeId ?? ''}`,
        status: watch.unknownStatus,
        field: 'trade_statuses',
        lists: 'settled, failed or pending',
      }),
    };
  const message = `Leg "${record.leg.id}" is traded; its ${record.leg.buy} ${plan.settle.until === 'funds' ? 'is not withdrawable' : 'is not settled'} yet${late ? ', later than expected' : ''}.`;
  return {
    // The poller looks by itself every few seconds; there is no timer of ours to show.
    afterMs: 0,
    hold: 'settlement',
    problem: {
      code: late ? 'SETTLEMENT_LATE' : 'AWAITING_SETTLEMENT',
      item: record.leg.id,
      message,
      fix: 'Nothing to do: it looks again by itself.',
    },
  };
}

/** `sell: all` with nothing to sell: the plan has no leg, and what depends on it gets no money (M3). */
function nothingToConvert(record: PaymentRecord, leg: string): Problem {
  return {
    code: 'LEG_NOT_TRADED',
    item: record.payment.id,
    message: `Leg "${leg}" brings no ${record.payment.currency}: when the plan was made, nothing was there to sell.`,
    fix: 'Bring money in and start another run, or pay it by a policy that sells a fixed amount.',
  };
}

/** A status that is in no list: it may mean anything, so that it is waited out, and somebody has to say what it means. */
function statusUnknown(of: {
  readonly item: string;
  readonly subject: string;
  readonly status: string;
  readonly field: string;
  readonly lists: string;
}): Problem {
  return {
    code: 'STATUS_UNKNOWN',
    item: of.item,
    message: `The service says "${of.status}" of ${of.subject}; it is not known what that status means.`,
    fix: `Write it into \`${of.field}\` (${of.lists}) of the service file (CAMBIST_SERVICE_FILE) and start the workers again; the run then goes on by itself.`,
  };
}

function statusUnknownOf(record: PaymentRecord): Problem {
  return statusUnknown({
    item: record.payment.id,
    subject: `withdrawal ${record.accepted?.withdrawalId ?? ''}`,
    status: record.status ?? '',
    field: 'withdrawal_statuses',
    lists: 'paid, failed or pending',
  });
}

function withdrawalLate(record: PaymentRecord): Problem {
  return {
    code: 'WITHDRAWAL_LATE',
    item: record.payment.id,
    message: `Withdrawal ${record.accepted?.withdrawalId ?? ''} was accepted and is still "${record.status ?? ''}", later than expected.`,
    fix: 'Ask the operator of the service; it looks again by itself and is never paid again meanwhile.',
  };
}

function settlementFailed(record: LegRecord, word: string): Problem {
  return {
    code: 'SETTLEMENT_FAILED',
    item: record.leg.id,
    message: `The service says "${word}" of trade ${record.traded?.tradeId ?? ''}: it will not settle.`,
    fix: 'Ask the operator of the service; no payment of its money was sent.',
  };
}

function paymentFailed(record: PaymentRecord, word: string): Problem {
  return {
    code: 'WITHDRAWAL_FAILED',
    item: record.payment.id,
    message: `The service accepted withdrawal ${record.accepted?.withdrawalId ?? ''} and then said "${word}".`,
    fix: 'Find out why at the service; it is never paid again by itself.',
  };
}

/** Item by item, in words, for a terminal. */
export function progressOf(state: RunState): Progress {
  const plan = {
    id: 'plan',
    kind: 'plan',
    step: state.plan === null ? 'reading' : 'pinned',
    waiting: state.waiting,
  } as const;
  const legs = state.legs.map((record) => ({
    id: record.leg.id,
    kind: 'leg' as const,
    step:
      record.outcome === 'PENDING'
        ? record.state.quote === null
          ? 'quoting'
          : 'trading'
        : `${record.outcome}${record.settled === true ? ', settled' : ''}`,
    waiting: record.waiting,
  }));
  const payments = state.payments.map((record) => ({
    id: record.payment.id,
    kind: 'payment' as const,
    step:
      record.outcome === 'PENDING'
        ? record.accepted === null
          ? 'to be sent'
          : `accepted, ${record.status ?? ''}`
        : record.outcome,
    waiting: record.waiting,
  }));
  return { status: statusOf(state), items: [plan, ...legs, ...payments] };
}
