/**
 * The activities that only read or note: making and reading the plan, keeping a word, and the polls. They are told from
 * the real ones (`activities/observe.ts`, `read-plan.ts`, `await-settlement.ts`, `await-withdrawals.ts`, `polling.ts`),
 * and can be repeated at will, so that nothing strikes them. Those between a batch and its chunks are the real ones.
 */
import { ApplicationFailure } from '@temporalio/common';
import { observedNow } from '../../../activities/observe.ts';
import { readChunks } from '../../../activities/read-chunks.ts';
import { isNotFound, mustBeListed } from '../../../activities/polling.ts';
import { readGo } from '../../../activities/read-go.ts';
import type { Problem } from '../../../domain/problems.ts';
import type { Wait } from '../../../domain/waits.ts';
import { compare, sum } from '../../../domain/money.ts';
import {
  isFromBalances,
  keptPlan,
  wholePlan,
  type Leg,
  type Plan,
  type PlanHead,
} from '../../../domain/plan/plan.ts';
import { isObserved } from '../../../domain/run/answer-shapes.ts';
import { makePlan, type PlanPorts } from '../../../domain/run/make-plan.ts';
import { Pauses } from '../../../domain/run/pauses.ts';
import { RunRefused } from '../../../domain/run/ports.ts';
import type { Reply } from '../../../domain/service/reply.ts';
import { followUp } from '../../../domain/service/reply-rules.ts';
import { isKnown } from '../../../domain/service/facts.ts';
import { configurationWait, foreignCredentials } from '../../../domain/writes/step.ts';
import { isCancelled } from '../../../domain/people/instructions.ts';
import type { Activities } from '../../../workflows/calls.ts';
import { afterRefusal } from '../../../domain/run/calls.ts';
import type {
  ChunksAnswer,
  ChunksCall,
  ConfirmCall,
  Confirmed,
  GoAnswer,
  GoCall,
  Observed,
  PlanAnswer,
  Settlement,
  SettlementCall,
  ShownTrade,
  WithdrawalsAnswer,
  WithdrawalsCall,
  PlanInput,
} from '../../../domain/run/calls.ts';
import { notPaidBy } from '../../../domain/run/unpaid.ts';
import { inActivity } from '../../support/activities.ts';
import { confirmedBy } from '../../../domain/run/confirmed.ts';
import { readInputOf } from './ours.ts';
import { workerOf } from './worker.ts';
import type { Activity, PlanRun, Temporal } from './temporal.ts';
import type { World } from './world.ts';

const ORGANISATION = 'org-1';
/** A plan that is long in coming is asked for again after this. */
const PATIENCE_MS = 4_000;
const PATIENT_POLLS = 5;
const NO_ANSWER: Reply<never> = {
  kind: 'UNKNOWN',
  reason: 'no answer',
  error: null,
  facts: { status: null, traceId: null, replayed: null, retryAfterMs: null, serviceTimeMs: null },
};

/**
 * What came of one poll; a service that could not be asked is asked again at once, some times. `unlisted`: it does not show a
 * record yet.
 */
type Polled<Result> = Result | 'not yet' | 'unlisted' | 'unanswered';
/** A record that the lists do not show yet is looked for again after this. */
const UNLISTED_MS = 30_000;

export class Chores {
  readonly #world: World;
  readonly #temporal: Temporal;
  /** Polls that have seen nothing new; they look again when something has changed that a look could see. */
  #parked: Activity[] = [];
  /** When each poll began. */
  readonly #polledFromMs = new WeakMap<Activity, number>();

  constructor(world: World, temporal: Temporal) {
    this.#world = world;
    this.#temporal = temporal;
  }

  /** Does what a run has asked for, when there is a worker. */
  take(activity: Activity): void {
    const temporal = this.#temporal;
    if (activity.name === 'readPlan') temporal.whenUp(20, () => this.#readPlan(activity));
    else if (activity.name === 'recordInstruction')
      temporal.whenUp(20, () => {
        if (!temporal.home.keeps()) {
          this.#world.agenda.after(1_000, () => this.take(activity));
          return;
        }
        const { instruction } = activity.args as Parameters<Activities['recordInstruction']>[0];
        if (!isCancelled(temporal.kept.instructions))
          temporal.keep({ ...instruction, id: `${instruction.kind}-${activity.execution.runId}` }, 0);
        return temporal.complete(activity, undefined);
      });
    else if (isBetween(activity.name)) temporal.whenUp(20, () => this.#goBetween(activity));
    else if (activity.name === 'tellCoordinator')
      this.#world.agenda.after(10, async () => {
        await temporal.home.hear(temporal.number ?? 0);
        await temporal.complete(activity, undefined);
      });
    else temporal.whenUp(50, () => this.#poll(activity));
  }

  #goBetween(activity: Activity): void {
    if (activity.isOver || !this.#temporal.isOpen(activity)) return;
    this.#world.goesOn(() => this.#betweenChunks(activity));
  }

  /** The real activity; its answer comes a little later. */
  async #betweenChunks(activity: Activity): Promise<void> {
    const temporal = this.#temporal;
    const deps = workerOf(this.#world, temporal);
    const { runId } = activity.execution;
    const asked =
      activity.name === 'readGo'
        ? inActivity({ runId }, () => readGo(deps, this.#world.chunkMemory)(activity.args as GoCall))
        : inActivity({ runId }, () => readChunks(deps)(activity.args as ChunksCall));
    const answer = await asked.catch(notYet);
    if (answer instanceof ApplicationFailure) {
      temporal.whenUp(Number(answer.nextRetryDelay), () => this.#goBetween(activity));
      return;
    }
    this.#world.tell(() => `${temporal.nameOf(runId)} ${activity.name}: ${JSON.stringify(shortOf(answer))}`);
    temporal.whenUp(20, () => temporal.complete(activity, answer));
  }

  lookAgain(): void {
    const parked = this.#parked;
    this.#parked = [];
    for (const activity of parked) this.#temporal.whenUp(1_000, () => this.#poll(activity));
  }

  // The plan workflow: its first completed result counts for ever.

  #readPlan(activity: Activity): void {
    const temporal = this.#temporal;
    const { agenda } = this.#world;
    if (!temporal.isOpen(activity)) return;
    // As `durable/plans.ts`: the Temporal run for which it was refused must be told why.
    const askedBy = activity.execution.runId;
    const { planRun: earlier } = temporal;
    if (earlier === null || (earlier.refused !== null && earlier.askedBy !== askedBy)) {
      const asked = { ...(activity.args as PlanInput), askedBy };
      const { forRun } = earlier === null ? asked : afterRefusal(asked);
      const planRun = { forRun, askedBy, startedAtMs: agenda.nowMs, plan: null, refused: null };
      temporal.planRun = { ...planRun, endedAtMs: null, waiting: null };
      this.makePlan(temporal.planRun);
    }
    const answer = (isLate: boolean): Promise<void> | void => {
      const state = stateOf(temporal.planRun, isLate);
      const { waiting } = temporal.planRun ?? {};
      if (isLate && waiting) return temporal.complete(activity, { kind: 'waiting', waiting });
      const cancelled = isCancelled(temporal.kept.instructions);
      if (state?.kind === 'plan') this.#tellTurn(activity, temporal.planRun?.plan ?? null);
      if (state !== null) return temporal.complete(activity, { ...state, cancelled });
      temporal.whenUp(PATIENCE_MS, () => answer(true));
    };
    temporal.whenUp(300, () => answer(false));
  }

  /** As `activities/read-plan.ts`: others are told of what will be sent, or have the turn at once. */
  #tellTurn({ execution }: Activity, plan: Plan | null): void {
    if (plan === null) return;
    const turn = this.#world.turns.asked();
    const isPlannedInTurn = plan.legs.every(isFromBalances);
    if (!isPlannedInTurn || plan.madeFor !== execution.runId) void turn.reopen(plan.run);
    else if (plan.batch !== null && plan.legs.length === 0) void turn.giveBack(plan.run, null);
  }

  /** The workflow `plan`, and the activity that observes. Of a plan that is lost, nobody hears any more. */
  makePlan(planRun: PlanRun): void {
    const world = this.#world;
    const { forRun, askedBy } = planRun;
    const input: PlanInput = { ...this.#temporal.ours.input, forRun, askedBy };
    const isUp = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        this.#temporal.whenUp(ms, () => {
          world.moves();
          if (this.#temporal.planRun === planRun) resolve();
        });
      });
    const ports: PlanPorts = {
      observe: async () => {
        await isUp(100);
        // Nobody makes the plan of a run anew for somebody else's money.
        while (world.credentials.organisation !== ORGANISATION) await isUp(5_000);
        const observed = await this.#observed(input);
        if (!isObserved(observed)) world.oracle.broken('answer', 'what a plan is made from is no answer');
        // A workflow compiles it, which may have to wait for its worker.
        if (observed.kind === 'observed') await isUp(50);
        return observed;
      },
      giveTurnBack: () => world.turns.asked().giveBack(input.run, null),
      waitUntil: (_holds, ms = 0) => new Promise((resolve) => world.clock.wake(ms, () => resolve(false))),
      nowMs: () => world.temporalMs(),
      historyIsLong: () => false,
      show: () => {},
    };
    world.goesOn(() =>
      makePlan(input, ports, new Pauses(ports, input.run), planRun).then(
        (plan) => this.#notePlan(planRun, wholePlan(plan)),
        (error: unknown) => this.#refuse(planRun, error),
      ),
    );
  }

  /** The real look, before the turn of the run and in it. */
  #observed(input: PlanInput): Promise<Observed> {
    const given = readInputOf(this.#temporal.ours, this.#world.schedule.batch);
    return inActivity({ runId: 'plan' }, () =>
      observedNow(workerOf(this.#world, this.#temporal), input, given),
    );
  }

  #refuse(planRun: PlanRun, error: unknown): void {
    if (!(error instanceof RunRefused)) throw error;
    const { problems } = error;
    planRun.refused = problems;
    planRun.endedAtMs = this.#world.agenda.nowMs;
    this.#world.tell(() => `no plan can be made: ${problems.map(({ code }) => code).join()}`);
  }

  #notePlan(planRun: PlanRun, plan: Plan): void {
    const world = this.#world;
    planRun.plan = plan;
    planRun.endedAtMs = world.agenda.nowMs;
    const { legs, positions } = plan;
    for (const { restraint } of positions)
      if (restraint !== null) world.coverage.hit('rebalance', `held back by ${restraint}`);
    if (legs.some(({ needsFromSales }) => needsFromSales !== '0'))
      world.coverage.hit('rebalance', 'a purchase on the proceeds');
    world.tell(
      () => `the plan is made for ${this.#temporal.itemOf(planRun.forRun)}: ${legs.map(textOfLeg).join()}`,
    );
  }

  // Polls.

  #poll(activity: Activity): Promise<void> | void {
    const temporal = this.#temporal;
    if (activity.isOver || !temporal.isOpen(activity)) return;
    activity.attempts += 1;
    const { nowMs } = this.#world.agenda;
    this.#polledFromMs.set(activity, this.#polledFromMs.get(activity) ?? nowMs);
    const result =
      activity.name === 'awaitSettlement'
        ? this.#settlement(activity)
        : activity.name === 'confirmOutcomes'
          ? this.#shown(activity)
          : this.#lastWords(activity);
    if (result === 'not yet') this.#parked.push(activity);
    else if (result === 'unlisted') temporal.whenUp(UNLISTED_MS, () => this.#poll(activity));
    else if (result === 'unanswered') temporal.whenUp(1_000, () => this.#poll(activity));
    else return temporal.complete(activity, result);
  }

  #mustBeListed(activity: Activity): boolean {
    const { agenda, facts } = this.#world;
    return mustBeListed({ facts }, agenda.nowMs - (this.#polledFromMs.get(activity) ?? agenda.nowMs));
  }

  /** Which of the records that were handed on the service shows, one by one. */
  #shown(activity: Activity): Polled<Confirmed> {
    const { service } = this.#world;
    const call = activity.args as ConfirmCall;
    const foreign = this.#foreignReader(call);
    if (foreign !== null) return { kind: 'wait', wait: foreign };
    const trades = service.ledger.flatMap((one) =>
      one.kind === 'trade' ? [{ ...one.record, status: one.status }] : [],
    );
    const withdrawals = service.ledger.flatMap((one) =>
      one.kind === 'withdrawal' ? [{ ...one.record, status: one.status }] : [],
    );
    const records = { trades: byId(trades), withdrawals: byId(withdrawals) };
    return confirmedBy(call, records, this.#world.facts.withdrawalStatuses);
  }

  #settlement(activity: Activity): Polled<Settlement> {
    const world = this.#world;
    const call = activity.args as SettlementCall;
    const { runId } = activity.execution;
    if (call.undoneIn.some((other) => other !== runId)) return { kind: 'other run', runId };
    const foreign = this.#foreignReader(call);
    if (foreign !== null) return { kind: 'wait', wait: foreign };
    const trade = world.told(world.service.trade(call.tradeId));
    if (isNotFound(trade) && world.service.isReadable())
      return this.#mustBeListed(activity) ? { kind: 'missing' } : 'unlisted';
    if (trade.kind !== 'DONE') return waitFor(activity, trade, (wait) => ({ kind: 'wait', wait }));
    const { createdAt: _, settlementWindow: _window, ...shown } = trade.value;
    const { status } = shown;
    const { settled, failed } = world.facts.tradeStatuses;
    if (failed.includes(status)) return { kind: 'failed', record: shown };
    const { foundRecords, madeFor } = call.plan;
    const maybePaid = foundRecords || madeFor !== activity.execution.runId;
    if ((call.until === 'status' || maybePaid) && settled.includes(status))
      return { kind: 'settled', record: shown };
    if (call.until === 'status') return this.#notSettled(call, shown);
    const balances = world.told(world.service.balances());
    if (balances.kind !== 'DONE') return waitFor(activity, balances, (wait) => ({ kind: 'wait', wait }));
    const there = balances.value.balances.find((row) => row.currency === call.currency)?.withdrawable ?? '0';
    const { records } = world.service.scanWithdrawals((record) => record.currency === call.currency);
    const unpaid = maybePaid ? notPaidBy(records, call) : call.unpaid;
    const needed = sum([call.owedByBatch, ...unpaid.map(({ amount }) => amount)]);
    if (compare(there, needed) >= 0) return { kind: 'settled', record: shown };
    return this.#notSettled(call, shown);
  }

  #notSettled(call: SettlementCall, record: ShownTrade): Polled<Settlement> {
    const { status } = record;
    const isUnwanted = isCancelled(this.#temporal.kept.instructions);
    if (isUnwanted && call.isAwaited !== true) return { kind: 'cancelled' };
    const isUnknown = !isKnown(this.#world.facts.tradeStatuses, status);
    const isNews = call.isAwaited === true || (isUnknown ? status : null) !== call.unknownStatus;
    return isNews ? { kind: 'news', record, isUnknown } : 'not yet';
  }

  #lastWords(activity: Activity): Polled<WithdrawalsAnswer> {
    const { service, facts } = this.#world;
    const call = activity.args as WithdrawalsCall;
    const runId = this.#lookingAs(activity, call);
    const hasToldEnd = false;
    if (runId !== null && call.undoneIn.some((other) => other !== runId))
      return { ended: [], wait: null, runId, hasToldEnd };
    const foreign = this.#foreignReader(call);
    if (foreign !== null) return { ended: [], wait: foreign, runId, hasToldEnd };
    const ids = new Set(call.items.map((item) => item.withdrawalId));
    const { records, complete } = service.scanWithdrawals((record) => ids.has(record.id));
    const { paid, failed } = facts.withdrawalStatuses;
    const ended = call.items.flatMap((item): WithdrawalsAnswer['ended'] => {
      const listed = records.find(({ id }) => id === item.withdrawalId);
      const isMissed = listed === undefined && complete && this.#mustBeListed(activity);
      const fetched = isMissed ? this.#world.told(service.withdrawal(item.withdrawalId)) : null;
      if (fetched !== null && isNotFound(fetched))
        return [{ id: item.id, record: null, paid: null, isUnknown: false }];
      const shown = fetched?.kind === 'DONE' ? fetched.value : listed;
      if (shown === undefined) return [];
      const { createdAt: _, ...record } = shown;
      const { status } = record;
      if (paid.includes(status))
        return item.paid ? [] : [{ id: item.id, record, paid: true, isUnknown: false }];
      if (failed.includes(status)) return [{ id: item.id, record, paid: false, isUnknown: false }];
      const isUnknown = !isKnown(facts.withdrawalStatuses, status);
      return item.paid || (status === item.status && isUnknown === item.isUnknown)
        ? []
        : [{ id: item.id, record, paid: null, isUnknown }];
    });
    if (ended.length > 0) return { ended, wait: null, runId, hasToldEnd };
    if (!complete) return waitFor(activity, NO_ANSWER, (wait) => ({ ended, wait, runId, hasToldEnd }));
    return records.length < ids.size ? 'unlisted' : 'not yet';
  }

  /** Of a chunk its run is named too; where that gives it no go, nothing is taken up once more. */
  #lookingAs({ execution: { runId } }: Activity, { chunk }: WithdrawalsCall): string | null {
    if (chunk === undefined) return runId;
    const go = this.#temporal.home.goFor(chunk);
    return go === null || go === 'over' || !go.mayGo ? null : `${go.runId}/${runId}`;
  }

  #foreignReader({ plan }: { readonly plan: PlanHead }): Wait | null {
    const { credentials } = this.#world;
    const problem = foreignCredentials({ plan, credentials, reader: credentials });
    return problem === null ? null : configurationWait(problem, 3);
  }
}

function textOfLeg({ id, amount }: Leg): string {
  return `${id} ${amount?.side ?? ''} ${amount?.value ?? ''}`;
}

/** What a real activity throws to be asked again after a time. */
function notYet(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure && typeof error.nextRetryDelay === 'number') return error;
  throw error;
}

/** Where a plan workflow stands for somebody who asks; null: ask again a little later. */
function stateOf(planRun: PlanRun | null, isLate: boolean): PlanAnswer | null {
  if (planRun?.plan) return { kind: 'plan', plan: keptPlan(planRun.plan) };
  if (planRun?.refused) return { kind: 'refused', problems: planRun.refused };
  return planRun === null || isLate ? { kind: 'waiting', waiting: null } : null;
}

function byId<T extends { readonly id: string }>(records: readonly T[]): ReadonlyMap<string, T> {
  return new Map(records.map((record) => [record.id, record]));
}

/** A service that could not be asked: at its own pace at first, then a wait that people see. */
function waitFor<Result>(
  { attempts }: Activity,
  reply: Reply<unknown>,
  shown: (wait: Wait) => Result,
): Polled<Result> {
  const problem: Problem = { code: 'NO_ANSWER', item: null, message: 'It could not be read.', fix: '' };
  const { read } = followUp(reply);
  if (read === 'ask again slowly' || read === 'give up') return shown(configurationWait(problem, 3));
  return attempts <= PATIENT_POLLS ? 'unanswered' : shown({ afterMs: 60_000, reason: 'outage', problem });
}

function isBetween(name: Activity['name']): boolean {
  return name === 'readGo' || name === 'readChunks';
}

/** Of an answer between a run and a chunk, what a person wants to see. */
function shortOf(answer: GoAnswer | ChunksAnswer): unknown {
  if ('chunks' in answer)
    return answer.chunks.map(({ number, state, isClosed }) => [
      number,
      isClosed,
      state?.heard,
      state?.counts,
    ]);
  if (answer.kind !== 'go') return answer;
  const { kind, isFresh, unpayable, alike, released, stopped, runId } = answer;
  return { kind, isFresh, unpayable, alike, released, stopped: stopped?.code, runId };
}
