/**
 * `run`: a policy as a durable workflow, readable from top to bottom as the business reads: plan, convert, wait for
 * settlement, pay. Awaits only Temporal commands; decides nothing about replies (the stepper in `domain/` does, inside
 * the activities). Ends when no item is open; never while something is in doubt (M3, M8).
 */
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { add, compare, round, sum } from '../domain/money.ts';
import type { Plan } from '../domain/plan.ts';
import { runName, workflowIdOf } from '../domain/references.ts';
import {
  MAX_PROBLEMS_IN_FAILURE,
  addEvidence,
  adoptPlan,
  holdsOf,
  makeReport,
  newRunState,
  statusOf,
  type LegRecord,
  type PaymentRecord,
  type Report,
  type RunState,
  type Waiting,
} from '../domain/report.ts';
import type { Problem, Wait } from '../domain/stepper.ts';
import type { PaymentStep } from '../domain/withdrawal-steps.ts';
import { headOf, polls, reads, writes, type Call } from './activities.ts';
import {
  progressQuery,
  reportQuery,
  stateAttribute,
  wakeSignal,
  type PinState,
  type Progress,
  type RunInput,
} from './names.ts';
import { neverFailTheTask } from './never-fail-the-task.ts';

/** Payments of one call of `createWithdrawals`: one each in small runs, so that each is seen in the UI. */
const SMALL_RUN = 50;
const SLICE = 25;

export async function run(input: RunInput): Promise<Report> {
  const state = newRunState(input.run, workflowIdOf(input.mode, input.run), {
    name: input.run.policy,
    hash: input.policyHash,
  });
  const wakeUp = new WakeUp();
  setHandler(reportQuery, () => makeReport(state));
  setHandler(progressQuery, () => progressOf(state));
  setHandler(wakeSignal, () => wakeUp.now());
  // Never settles unless somebody cancels: a listener, not something to wait for.
  void CancellationScope.current().cancelRequested.catch(() => {
    state.cancelled = true;
    wakeUp.now();
  });
  // A cancel takes effect between steps, never in the middle of a write.
  await CancellationScope.nonCancellable(() =>
    neverFailTheTask(() => new Course(input, state, wakeUp).complete()),
  );
  return conclude(state);
}

/** Lets waits end early: a person's signal, a cancel. */
class WakeUp {
  #count = 0;

  now(): void {
    this.#count += 1;
  }

  /** Waits `ms`, or until somebody wakes the run. */
  async wait(ms: number): Promise<void> {
    const before = this.#count;
    await condition(() => this.#count !== before, Math.max(ms, 1));
  }
}

/** One course of the run through its plan. */
class Course {
  readonly input: RunInput;
  readonly state: RunState;
  readonly wakeUp: WakeUp;
  #cancelRecorded = false;
  #shown: string | null = null;

  constructor(input: RunInput, state: RunState, wakeUp: WakeUp) {
    this.input = input;
    this.state = state;
    this.wakeUp = wakeUp;
  }

  async complete(): Promise<void> {
    const plan = await this.readPlan();
    adoptPlan(this.state, plan);
    this.show();
    for (const leg of this.state.legs) await this.convert(plan, leg);
    await this.waitForSettlement(plan);
    this.dropDependants();
    await Promise.all([this.pay(plan), this.track(plan)]);
    this.state.ended = true;
    this.show();
  }

  /** The plan that counts: the first completed result of this run's pin. */
  async readPlan(): Promise<Plan> {
    const forRun = workflowInfo().originalExecutionRunId;
    for (;;) {
      const answer: PinState = await reads.readPlan({ ...this.input, forRun });
      switch (answer.kind) {
        case 'plan':
          return samePolicy(this.input, answer.plan);
        case 'refused':
          throw failureOf('PLAN_REFUSED', 'No plan can be made; nothing was sent.', answer.problems);
        case 'waiting':
          if (this.state.cancelled)
            throw new CancelledFailure('Cancelled before there was a plan; nothing was sent.');
          await this.pause(this.state, { ...(answer.waiting ?? PLANNING), afterMs: PLAN_POLL_MS });
      }
    }
  }

  /** Quote and trade until the leg is traded, ended or in a person's hands. */
  async convert(plan: Plan, record: LegRecord): Promise<void> {
    while (record.outcome === 'PENDING' || record.outcome === 'NEEDS_HUMAN') {
      await this.recordCancel(plan);
      const call = {
        ...this.call(plan),
        leg: record.leg,
        state: record.state,
        othersAccepted: this.othersAccepted(),
      };
      const { step, evidence } = await (record.state.quote === null
        ? writes.requestQuote(call)
        : writes.executeTrade(call));
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
          break;
        case 'not traded':
          record.outcome = 'NOT_TRADED';
          record.problem = step.problem;
          break;
        case 'wait':
          record.outcome = step.wait.hold === 'person' ? 'NEEDS_HUMAN' : 'PENDING';
          await this.pause(record, step.wait);
      }
    }
  }

  /** Money that a leg bought must be there before it is paid on. Late: it says so, and goes on waiting. */
  async waitForSettlement(plan: Plan): Promise<void> {
    this.fixProceeds();
    for (const record of this.state.legs) {
      const needed = this.stillToPay(record);
      if (record.traded === null || (plan.settle.until === 'funds' && needed === null)) continue;
      const { tradeId } = record.traded;
      const call = {
        plan: headOf(plan),
        leg: record.leg.id,
        tradeId,
        until: plan.settle.until,
        currency: record.leg.buy,
        needed: needed ?? '0',
      };
      const poll = new CancellationScope();
      const course = { open: true };
      const settled = poll
        .run(() => polls.awaitSettlement(call))
        .finally(() => {
          course.open = false;
        });
      const over = () => !course.open || this.state.cancelled;
      this.showWaiting(record, settlementWait(record, plan, false));
      if (plan.settle.lateAfterMs !== null && !(await condition(over, plan.settle.lateAfterMs))) {
        this.showWaiting(record, settlementWait(record, plan, true));
      }
      await condition(over);
      record.waiting = null;
      if (course.open) {
        poll.cancel();
        await settled.catch(() => undefined);
        continue;
      }
      const result = await settled;
      record.settled = result.kind === 'settled';
      record.traded = { ...record.traded, status: result.status ?? record.traded.status };
      if (result.kind === 'failed') record.problem = settlementFailed(record, result.status);
    }
  }

  /** A payment whose leg was not traded, or will never settle, is not sent. */
  dropDependants(): void {
    for (const record of this.state.payments) {
      const leg = this.state.legs.find((candidate) => candidate.leg.id === record.payment.dependsOn);
      if (leg === undefined || (leg.outcome === 'TRADED' && leg.settled !== false)) continue;
      record.outcome = 'NOT_PAID';
      record.problem = {
        code: leg.problem?.code === 'CANCELLED' ? 'CANCELLED' : 'LEG_NOT_TRADED',
        item: record.payment.id,
        message: `Leg "${leg.leg.id}" brought no ${record.payment.currency}: ${leg.problem?.message ?? leg.outcome}`,
        fix: leg.problem?.fix ?? 'See the leg.',
      };
    }
  }

  /** Sends every payment that is due, a slice a call, until none is unsent. */
  async pay(plan: Plan): Promise<void> {
    const size = this.state.payments.length <= SMALL_RUN ? 1 : SLICE;
    const wakeAtMs = new Map<PaymentRecord, number>();
    for (;;) {
      const unsent = this.state.payments.filter((record) => isOpen(record) && record.accepted === null);
      if (unsent.length === 0) return;
      await this.recordCancel(plan);
      const due = unsent.filter((record) => (wakeAtMs.get(record) ?? 0) <= Date.now()).slice(0, size);
      if (due.length === 0) {
        await this.wakeUp.wait(Math.min(...unsent.map((record) => wakeAtMs.get(record) ?? 0)) - Date.now());
        if (this.state.cancelled) wakeAtMs.clear();
        continue;
      }
      const answer = await writes.createWithdrawals({
        ...this.call(plan),
        items: due.map((record) => ({
          payment: record.payment,
          amount: record.amount ?? '0',
          state: record.state,
        })),
        acceptedIds: this.state.payments.flatMap((record) => record.accepted?.withdrawalId ?? []),
      });
      addEvidence(this.state, answer.evidence);
      for (const record of due) {
        const item = answer.items.find((candidate) => candidate.id === record.payment.id);
        if (item === undefined)
          throw failureOf('ANSWER_INCOMPLETE', `No outcome for payment "${record.payment.id}".`, []);
        this.takeStep(record, item.step, wakeAtMs);
      }
      this.show();
    }
  }

  takeStep(record: PaymentRecord, step: PaymentStep, wakeAtMs: Map<PaymentRecord, number>): void {
    record.state = step.state;
    record.waiting = null;
    switch (step.kind) {
      case 'accepted':
        record.outcome = 'PENDING';
        record.accepted = step.accepted;
        record.status = step.accepted.status;
        this.wakeUp.now();
        break;
      case 'not paid':
        record.outcome = 'NOT_PAID';
        record.problem = step.problem;
        this.wakeUp.now();
        break;
      case 'wait': {
        const until = Date.now() + step.wait.afterMs;
        wakeAtMs.set(record, until);
        record.outcome = step.wait.hold === 'person' ? 'NEEDS_HUMAN' : 'PENDING';
        record.waiting = { hold: step.wait.hold, problem: step.wait.problem, wakeAtMs: until };
      }
    }
  }

  /** Follows accepted payments to their last word: `PAID` at the paid word, not before. */
  async track(plan: Plan): Promise<void> {
    for (;;) {
      const sent = this.state.payments.filter((record) => isOpen(record) && record.accepted !== null);
      if (sent.length === 0) {
        const unsent = this.state.payments.some((record) => isOpen(record));
        if (!unsent) return;
        await condition(
          () =>
            this.state.payments.every((record) => !isOpen(record) || record.accepted !== null) ||
            this.state.payments.some((record) => isOpen(record) && record.accepted !== null),
        );
        continue;
      }
      const answer = await polls.awaitWithdrawals({
        plan: headOf(plan),
        items: sent.flatMap((record) =>
          record.accepted === null
            ? []
            : [{ id: record.payment.id, withdrawalId: record.accepted.withdrawalId }],
        ),
      });
      for (const ended of answer.ended) {
        const record = sent.find((candidate) => candidate.payment.id === ended.id);
        if (record === undefined) continue;
        record.status = ended.status;
        record.outcome = ended.paid ? 'PAID' : 'NOT_PAID';
        if (!ended.paid) record.problem = paymentFailed(record, ended.status);
      }
      this.show();
    }
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

  /** What this run still has to pay in the currency that a leg buys; null when nothing. */
  stillToPay(record: LegRecord): string | null {
    const open = this.state.payments.filter(
      (payment) => isOpen(payment) && payment.payment.currency === record.leg.buy,
    );
    const total = sum(open.flatMap((payment) => payment.amount ?? []));
    return compare(total, '0') > 0 ? add(total, '0') : null;
  }

  call(plan: Plan): Call {
    const info = workflowInfo();
    return {
      plan: headOf(plan),
      originalRunId: info.originalExecutionRunId,
      runStartedAtMs: info.runStartTime.getTime(),
    };
  }

  othersAccepted(): boolean {
    return (
      this.state.legs.some((leg) => leg.traded !== null) ||
      this.state.payments.some((payment) => payment.accepted !== null)
    );
  }

  /** A cancel by Temporal's own button is kept as a word too, so that no reset loses it. */
  async recordCancel(plan: Plan): Promise<void> {
    if (!this.state.cancelled || this.#cancelRecorded) return;
    this.#cancelRecorded = true;
    await reads.recordWord({
      plan: headOf(plan),
      word: { kind: 'cancel', by: 'Temporal', atMs: Date.now() },
    });
  }

  /** A durable wait, shown with its reason; a wake-up ends it early. */
  async pause(item: { waiting: Waiting | null }, wait: Wait): Promise<void> {
    this.showWaiting(item, wait);
    await this.wakeUp.wait(wait.afterMs);
    item.waiting = null;
    this.show();
  }

  showWaiting(item: { waiting: Waiting | null }, wait: Wait): void {
    item.waiting = { hold: wait.hold, problem: wait.problem, wakeAtMs: Date.now() + wait.afterMs };
    this.show();
  }

  /** Tells the Temporal UI: one search attribute, only when it changes, and the current details. */
  show(): void {
    const status = statusOf(this.state);
    const holds = holdsOf(this.state);
    setCurrentDetails(
      [
        `**${status}**`,
        ...holds.map(({ problem }) => `- \`${problem.code}\` ${problem.message} ${problem.fix}`),
      ].join('\n'),
    );
    if (this.#shown === status || (this.#shown === null && status === 'RUNNING')) return;
    this.#shown = status;
    upsertSearchAttributes([{ key: stateAttribute, value: status }]);
  }
}

/** Ends the Temporal run: green only when everything planned was done. */
function conclude(state: RunState): Report {
  const report = makeReport(state);
  if (report.status === 'COMPLETED') return report;
  if (report.status === 'CANCELLED') throw new CancelledFailure(summaryOf(report));
  throw failureOf(`RUN_${report.status}`, summaryOf(report), report.problems);
}

function summaryOf(report: Report): string {
  const done = [...report.legs, ...report.payments].filter(
    (item) => item.outcome === 'TRADED' || item.outcome === 'PAID',
  ).length;
  const all = report.legs.length + report.payments.length;
  return `${report.run}: ${done} of ${all} done, ${report.problems.length} problem(s); see the report.`;
}

function failureOf(type: string, message: string, problems: readonly Problem[]): ApplicationFailure {
  const shown = problems.slice(0, MAX_PROBLEMS_IN_FAILURE);
  const text = [
    message,
    ...shown.map((problem) => `${problem.code}: ${problem.message} ${problem.fix}`),
  ].join('\n');
  return ApplicationFailure.create({
    type,
    message: text,
    nonRetryable: true,
    details: [{ problems: shown }],
  });
}

/** How often a run asks again for a plan that is still being made. */
const PLAN_POLL_MS = 2_000;
const PLANNING = {
  hold: 'service',
  problem: { code: 'PLANNING', item: null, message: 'The plan is being made.', fix: 'Nothing to do.' },
} as const;

/** The plan counts only for the policy that it was made from (M4). */
function samePolicy(input: RunInput, plan: Plan): Plan {
  if (plan.policy.text === input.policyText) return plan;
  throw failureOf(
    'POLICY_CHANGED',
    `Run ${runName(input.run)} was planned with another text of the policy.`,
    [
      {
        code: 'POLICY_CHANGED',
        item: null,
        message: `The plan has the policy with SHA-256 ${plan.policy.hash}, this start has ${input.policyHash}.`,
        fix: 'Start it with the policy that the plan was made from, or use another --id.',
      },
    ],
  );
}

function isOpen(record: PaymentRecord): boolean {
  return record.outcome === 'PENDING' || record.outcome === 'NEEDS_HUMAN';
}

function settlementWait(record: LegRecord, plan: Plan, late: boolean): Wait {
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
function progressOf(state: RunState): Progress {
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
