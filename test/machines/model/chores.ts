/**
 * The activities that only read or note: making and reading the plan, keeping a word, and the polls. They are told from
 * the real ones (`activities/observe.ts`, `read-plan.ts`, `await-settlement.ts`, `await-withdrawals.ts`, `polling.ts`),
 * and can be repeated at will, so that nothing strikes them. Those between a batch and its chunks are the real ones.
 */
import { ApplicationFailure } from '@temporalio/common';
import { lookBeforeTurn, seeInTurn } from '../../../activities/observing-batch.ts';
import { readChunks } from '../../../activities/read-chunks.ts';
import { readGo } from '../../../activities/read-go.ts';
import type { BatchPayment, SeenBatch } from '../../../domain/batch.ts';
import type { Problem } from '../../../domain/problems.ts';
import type { Wait } from '../../../domain/waits.ts';
import { compare, sum } from '../../../domain/money.ts';
import { compilePlan, type CompileResult } from '../../../domain/plan/compile.ts';
import type { PlanHead } from '../../../domain/plan/plan.ts';
import { isOfRun, type Observation } from '../../../domain/plan/observation.ts';
import type { SendWindows } from '../../../domain/plan/plan.ts';
import type { PayoutPolicy, Policy, WithdrawSpec } from '../../../domain/policy.ts';
import type { Reply } from '../../../domain/service/reply.ts';
import { followUp } from '../../../domain/service/reply-rules.ts';
import { isKnown } from '../../../domain/service/facts.ts';
import { configurationWait, foreignCredentials, skewOf } from '../../../domain/writes/step.ts';
import { isCancelled } from '../../../domain/people/instructions.ts';
import { sendWindowsOf } from '../../../calendar/business-date.ts';
import type { Activities } from '../../../workflows/calls.ts';
import type {
  ChunksAnswer,
  ChunksCall,
  ConfirmCall,
  Confirmed,
  GoAnswer,
  GoCall,
  PlanAnswer,
  Settlement,
  SettlementCall,
  WithdrawalsAnswer,
  WithdrawalsCall,
  PlanInput,
  RunInput,
} from '../../../domain/run/calls.ts';
import { notPaidBy } from '../../../domain/run/unpaid.ts';
import { hashOfChunk } from '../../../language/batch/chunk-hash.ts';
import { inActivity } from '../../support/activities.ts';
import { batchWorkerOf } from './batch-worker.ts';
import type { BatchSettings, PolicySettings } from './schedule.ts';
import type { Activity, PlanRun, Temporal } from './temporal.ts';
import type { World } from './world.ts';

const WINDOWS: SendWindows = sendWindowsOf('2026-11-21', 'UTC');

/** One run of ours: what it is called, what its policy asks, and what sets its items apart from those of another run. */
export type Ours = {
  readonly input: RunInput;
  readonly policy: PolicySettings;
  readonly prefix: string;
  /** The payments of a batch, chunk by chunk; null: it is none. */
  readonly batch: readonly (readonly BatchPayment[])[] | null;
};

/** A batch; the other one of its policy has every other payment of it. */
export function batchOf(which: 'the' | 'the other', policy: PolicySettings, of: BatchSettings): Ours {
  const isOther = which === 'the other';
  const sizes = isOther ? of.otherChunks : of.chunks;
  let count = 0;
  const batch = sizes.map((size) => Array.from({ length: size }, () => paymentOf((count += 1) - 1, isOther)));
  const plain = oursOf('p', policy);
  const { run } = plain.input;
  const input: RunInput = {
    ...plain.input,
    run: isOther ? { ...run, id: `${run.id}-b` } : run,
    batch: {
      payments: count,
      totals: [{ currency: 'MXN', value: sum(batch.flat().map(([, , , amount]) => amount)) }],
      chunks: batch.map((payments) => ({ payments: payments.length, hash: hashOfChunk(payments) })),
    },
  };
  return { input, policy, prefix: isOther ? 'b/' : '', batch };
}

/** The first two of a batch are twins. */
function paymentOf(index: number, isOther: boolean): BatchPayment {
  if (isOther && index % 2 === 1) return [`other-${index}`, `wac_other_${index}`, 'MXN', `${500 + index}`];
  const id = ['supplier', 'second'][index] ?? `payee-${index}`;
  return index < 2 ? [id, 'wac_supplier', 'MXN', '200'] : [id, `wac_${index}`, 'MXN', `${200 + index}`];
}

export function oursOf(name: 'p' | 'q', policy: PolicySettings): Ours {
  const input: RunInput = {
    run: { policy: name, id: '2026-11-21' },
    mode: 'SANDBOX',
    policyText: 'the policy',
    policyHash: 'its hash',
    policyFile: `${name}.yaml`,
    files: {},
    startedBy: 'ana',
  };
  return { input, policy, prefix: name === 'p' ? '' : `${name}/`, batch: null };
}

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

/** What came of one poll; a service that could not be asked is asked again at once, some times. */
type Polled<Result> = Result | 'not yet' | 'unanswered';

export class Chores {
  readonly #world: World;
  readonly #temporal: Temporal;
  /** Polls that have seen nothing new; they look again when something has changed that a look could see. */
  #parked: Activity[] = [];

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
          temporal.keep({ ...instruction, id: `${instruction.kind}-${activity.execution.runId}` });
        return temporal.complete(activity, undefined);
      });
    else if (isBetween(activity.name)) temporal.whenUp(20, () => this.#betweenChunks(activity));
    else if (activity.name === 'tellCoordinator')
      this.#world.agenda.after(10, async () => {
        await temporal.home.hear(temporal.number ?? 0);
        await temporal.complete(activity, undefined);
      });
    else temporal.whenUp(50, () => this.#poll(activity));
  }

  /** The real activity at one moment; its answer comes a little later. */
  async #betweenChunks(activity: Activity): Promise<void> {
    const temporal = this.#temporal;
    if (activity.isOver || !temporal.isOpen(activity)) return;
    const deps = batchWorkerOf(this.#world, temporal);
    const { runId } = activity.execution;
    const asked =
      activity.name === 'readGo'
        ? inActivity({ runId }, () => readGo(deps)(activity.args as GoCall))
        : inActivity({ runId }, () => readChunks(deps)(activity.args as ChunksCall));
    const answer = await asked.catch(notYet);
    if (answer instanceof ApplicationFailure) {
      temporal.whenUp(Number(answer.nextRetryDelay), () => this.#betweenChunks(activity));
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
    if (temporal.planRun === null || temporal.planRun.refused !== null) {
      const { forRun } = activity.args as PlanInput;
      temporal.planRun = { forRun, startedAtMs: agenda.nowMs, plan: null, refused: null, endedAtMs: null };
      this.makePlan(temporal.planRun);
    }
    const answer = (isLate: boolean): Promise<void> | void => {
      const state = stateOf(temporal.planRun, isLate);
      const { waiting } = temporal.planRun ?? {};
      if (isLate && waiting) return temporal.complete(activity, { kind: 'waiting', waiting });
      const cancelled = isCancelled(temporal.kept.instructions);
      if (state !== null) return temporal.complete(activity, { ...state, cancelled });
      temporal.whenUp(PATIENCE_MS, () => answer(true));
    };
    temporal.whenUp(300, () => answer(false));
  }

  makePlan(planRun: PlanRun): void {
    const world = this.#world;
    const { ours } = this.#temporal;
    this.#temporal.whenUp(100, async () => {
      if (this.#temporal.planRun !== planRun || planRun.plan !== null) return;
      const batch = ours.batch === null ? null : await this.#seeBatch(planRun);
      if (batch === 'not now') return;
      const observation = this.#observe();
      // Nobody makes the plan of a run anew for somebody else's money.
      const isForeign = world.credentials.organisation !== ORGANISATION;
      if (observation === null || isForeign || skewOf(world.toldSkewMs) !== null) {
        world.agenda.after(5_000, () => this.makePlan(planRun));
        return;
      }
      const compile = (): CompileResult =>
        compilePlan({
          run: ours.input.run,
          policy: policyOf(ours, world.schedule.batch),
          policyHash: ours.input.policyHash,
          date: '2026-11-21',
          sendWindows: WINDOWS,
          referenceRates: null,
          observation,
          lateAfterMs: world.facts.lateAfterMs,
          decimalsOf: () => 2,
          batch,
          madeFor: planRun.forRun,
        });
      // What was seen in the turn is compiled by a workflow, which may have to wait for its worker.
      if (ours.batch === null) this.#notePlan(planRun, compile());
      else this.#temporal.whenUp(50, () => this.#notePlan(planRun, compile()));
    });
  }

  #notePlan(planRun: PlanRun, result: CompileResult): void {
    const world = this.#world;
    if (this.#temporal.planRun !== planRun || planRun.plan !== null) return;
    if (result.ok) planRun.plan = result.plan;
    else planRun.refused = result.problems;
    planRun.endedAtMs = world.agenda.nowMs;
    world.tell(() =>
      result.ok ? `the plan is made for ${this.#temporal.itemOf(planRun.forRun)}` : 'no plan can be made',
    );
    world.giveTurnBack(this.#temporal);
  }

  /** As `activities/observe.ts`: the batch before its turn, and in it; `not now`: it is looked at again later. */
  async #seeBatch(planRun: PlanRun): Promise<SeenBatch | 'not now'> {
    const world = this.#world;
    const temporal = this.#temporal;
    const { input } = temporal.ours;
    const policy = policyOf(temporal.ours, world.schedule.batch);
    const { batch: manifest = null } = input;
    if (policy.kind !== 'payout' || manifest === null) throw new RangeError('It is no batch.');
    const deps = batchWorkerOf(world, temporal);
    const { mode, run } = input;
    const seen = await inActivity({ runId: 'plan' }, async () => {
      const looked = await lookBeforeTurn(deps, { mode, run, date: '2026-11-21', policy, manifest });
      if (looked.kind !== 'looked') return looked;
      return world.isPlanning(temporal) ? seeInTurn(deps, looked) : null;
    });
    if (seen?.kind === 'seen') return seen.batch;
    if (seen?.kind === 'refused') {
      planRun.refused = seen.problems;
      planRun.endedAtMs = world.agenda.nowMs;
    } else {
      const { reason, problem } = seen?.wait ?? {};
      planRun.waiting =
        reason === undefined || problem === undefined
          ? null
          : { reason, problem, wakeAtMs: world.temporalMs() + 5_000 };
      world.agenda.after(5_000, () => this.makePlan(planRun));
    }
    return 'not now';
  }

  /** As `observeService`: null when anything could not be read. */
  #observe(): Observation | null {
    const world = this.#world;
    const { run } = this.#temporal.ours.input;
    const balances = world.told(world.service.balances());
    const trades = world.service.scanTrades((trade) => isOfRun(run, trade.clientReferenceId));
    const withdrawals = world.service.scanWithdrawals((record) => isOfRun(run, record.tag));
    if (balances.kind !== 'DONE' || !trades.complete || !withdrawals.complete) return null;
    return {
      credentials: world.credentials,
      observedAtMs: world.wallMs(),
      balances: balances.value,
      accounts: [],
      accountsComplete: false,
      accountIdForms: [],
      pairs: null,
      onTheWay: [],
      reserved: [],
      tradedOnDate: [],
      trades: trades.records,
      withdrawals: withdrawals.records,
    };
  }

  // Polls.

  #poll(activity: Activity): Promise<void> | void {
    const temporal = this.#temporal;
    if (activity.isOver || !temporal.isOpen(activity)) return;
    activity.attempts += 1;
    const result =
      activity.name === 'awaitSettlement'
        ? this.#settlement(activity)
        : activity.name === 'confirmOutcomes'
          ? this.#shown(activity)
          : this.#lastWords(activity);
    if (result === 'not yet') this.#parked.push(activity);
    else if (result === 'unanswered') temporal.whenUp(1_000, () => this.#poll(activity));
    else return temporal.complete(activity, result);
  }

  /** Which of the records that were handed on the service shows, one by one. */
  #shown(activity: Activity): Polled<Confirmed> {
    const { service } = this.#world;
    const call = activity.args as ConfirmCall;
    const foreign = this.#foreignReader(call);
    if (foreign !== null) return { kind: 'wait', wait: foreign };
    const ids = new Set(service.ledger.map(({ record }) => record.id));
    const isShown = (id: string): boolean => ids.has(id);
    return {
      kind: 'shown',
      tradeIds: call.tradeIds.filter(isShown),
      withdrawalIds: call.withdrawalIds.filter(isShown),
    };
  }

  #settlement(activity: Activity): Polled<Settlement> {
    const world = this.#world;
    const call = activity.args as SettlementCall;
    const { runId } = activity.execution;
    if (call.undoneIn.some((other) => other !== runId)) return { kind: 'other run', runId };
    const foreign = this.#foreignReader(call);
    if (foreign !== null) return { kind: 'wait', wait: foreign };
    const trade = world.told(world.service.trade(call.tradeId));
    if (trade.kind !== 'DONE') return waitFor(activity, trade, (wait) => ({ kind: 'wait', wait }));
    const { status } = trade.value;
    const { settled, failed } = world.facts.tradeStatuses;
    if (failed.includes(status)) return { kind: 'failed', status };
    const maybePaid = call.plan.madeFor !== activity.execution.runId;
    if ((call.until === 'status' || maybePaid) && settled.includes(status))
      return { kind: 'settled', status };
    if (call.until === 'status') return this.#notSettled(call, status);
    const balances = world.told(world.service.balances());
    if (balances.kind !== 'DONE') return waitFor(activity, balances, (wait) => ({ kind: 'wait', wait }));
    const there = balances.value.balances.find((row) => row.currency === call.currency)?.withdrawable ?? '0';
    const { records } = world.service.scanWithdrawals((record) => record.currency === call.currency);
    const unpaid = maybePaid ? notPaidBy(records, call) : call.unpaid;
    const needed = sum(unpaid.map(({ amount }) => amount));
    if (compare(there, needed) >= 0) return { kind: 'settled', status };
    return this.#notSettled(call, status);
  }

  #notSettled(call: SettlementCall, status: string): Polled<Settlement> {
    if (isCancelled(this.#temporal.kept.instructions)) return { kind: 'cancelled' };
    const isUnknown = !isKnown(this.#world.facts.tradeStatuses, status);
    const isNews = (isUnknown ? status : null) !== call.unknownStatus;
    return isNews ? { kind: 'news', status, isUnknown } : 'not yet';
  }

  #lastWords(activity: Activity): Polled<WithdrawalsAnswer> {
    const { service, facts } = this.#world;
    const call = activity.args as WithdrawalsCall;
    const runId = this.#lookingAs(activity, call);
    const hasToldEnd = false;
    if (call.undoneIn.some((other) => other !== runId)) return { ended: [], wait: null, runId, hasToldEnd };
    const foreign = this.#foreignReader(call);
    if (foreign !== null) return { ended: [], wait: foreign, runId, hasToldEnd };
    const ids = new Set(call.items.map((item) => item.withdrawalId));
    const { records, complete } = service.scanWithdrawals((record) => ids.has(record.id));
    const { paid, failed } = facts.withdrawalStatuses;
    const ended = call.items.flatMap((item): WithdrawalsAnswer['ended'] => {
      const status = records.find(({ id }) => id === item.withdrawalId)?.status;
      if (status === undefined) return [];
      if (paid.includes(status))
        return item.paid ? [] : [{ id: item.id, status, paid: true, isUnknown: false }];
      if (failed.includes(status)) return [{ id: item.id, status, paid: false, isUnknown: false }];
      const isUnknown = !isKnown(facts.withdrawalStatuses, status);
      return item.paid || (status === item.status && isUnknown === item.isUnknown)
        ? []
        : [{ id: item.id, status, paid: null, isUnknown }];
    });
    if (ended.length > 0) return { ended, wait: null, runId, hasToldEnd };
    if (!complete) return waitFor(activity, NO_ANSWER, (wait) => ({ ended, wait, runId, hasToldEnd }));
    return 'not yet';
  }

  /** Of a chunk its run is named too; where that cannot be asked, nothing is taken up once more. */
  #lookingAs({ execution: { runId } }: Activity, { chunk, undoneIn }: WithdrawalsCall): string {
    if (chunk === undefined) return runId;
    const go = this.#temporal.home.goFor(chunk);
    return go === null || go === 'over' ? (undoneIn[0] ?? runId) : `${go.runId}/${runId}`;
  }

  #foreignReader({ plan }: { readonly plan: PlanHead }): Wait | null {
    const { credentials } = this.#world;
    const problem = foreignCredentials({ plan, credentials, reader: credentials });
    return problem === null ? null : configurationWait(problem, 3);
  }
}

/** What a real activity throws to be asked again after a time. */
function notYet(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure && typeof error.nextRetryDelay === 'number') return error;
  throw error;
}

/** Where a plan workflow stands for somebody who asks; null: ask again a little later. */
function stateOf(planRun: PlanRun | null, isLate: boolean): PlanAnswer | null {
  if (planRun?.plan) return { kind: 'plan', plan: planRun.plan };
  if (planRun?.refused) return { kind: 'refused', problems: planRun.refused };
  return planRun === null || isLate ? { kind: 'waiting', waiting: null } : null;
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

/** What a policy of this kind pays, in Mexican pesos. */
export function paymentsOf({ pays }: Pick<PolicySettings, 'pays'>): readonly WithdrawSpec[] {
  const supplier = (amount: WithdrawSpec['amount']): WithdrawSpec => ({
    id: 'supplier',
    account: 'wac_supplier',
    amount,
  });
  const second = (value: string): WithdrawSpec => ({ ...supplier({ kind: 'fixed', value }), id: 'second' });
  const proceeds = supplier({ kind: 'proceeds', rounding: 'down' });
  const fixed = supplier({ kind: 'fixed', value: '17000.00' });
  switch (pays) {
    case 'proceeds':
      return [proceeds];
    case 'fixed':
      return [fixed];
    case 'twins':
      return [fixed, second('17000.00')];
    case 'both':
      return [proceeds, second('17000.00')];
    // By the price something is left, nothing, or less than nothing.
    case 'rest':
      return [supplier({ kind: 'rest', rounding: 'down' }), second('16900.00')];
    // More than fit one call: slices, in which payments leave side by side. The first two are twins.
    case 'batch':
      return Array.from({ length: BATCH }, (_, index) => ({
        id: ['supplier', 'second'][index] ?? `payee-${index}`,
        account: index < 2 ? 'wac_supplier' : `wac_${index}`,
        amount: { kind: 'fixed', value: index < 2 ? '200.00' : `${200 + index}.00` },
      }));
  }
}

/** Payments of a batch. */
const BATCH = 60;

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

function payoutOf({ input, policy }: Ours, { parallel, stopAfter, canary }: BatchSettings): PayoutPolicy {
  return {
    kind: 'payout',
    name: input.run.policy,
    environment: 'sandbox',
    zone: 'UTC',
    schedule: null,
    quote: { validForSeconds: 30, settlement: 'T0', maxQuotes: 5 },
    guard: null,
    settle: { until: 'funds', lateAfterMs: 3_600_000 },
    shortfall: policy.shortfall,
    limits: null,
    payout: {
      fund: { kind: 'none' },
      columns: { id: 'id', account: 'account', currency: 'currency', amount: 'amount' },
      parallel,
      stopAfter: stopAfter === null ? null : { failed: stopAfter, ratioPercent: null, sameCode: null },
      canary,
      dedupeMs: 30 * 86_400_000,
      destinations: null,
    },
  };
}

function policyOf(ours: Ours, batch: BatchSettings | null): Policy {
  if (batch !== null) return payoutOf(ours, batch);
  const { input, policy } = ours;
  const { amount, shortfall, validForSeconds, guard, limit, settle } = policy;
  const amounts = {
    sell: { kind: 'sell', value: '1000.00' },
    buy: { kind: 'buy', value: '17000.00' },
    'sell all': { kind: 'sell-all', keep: '500.00' },
  } as const;
  return {
    kind: 'convert',
    name: input.run.policy,
    environment: 'sandbox',
    zone: 'UTC',
    schedule: null,
    quote: { validForSeconds, settlement: 'T0', maxQuotes: 5 },
    guard: guard
      ? {
          worstRates: [{ sell: 'USD', buy: 'MXN', rate: { value: '17', currency: 'MXN', per: 'USD' } }],
          reference: null,
        }
      : null,
    settle: { until: settle, lateAfterMs: 3_600_000 },
    shortfall,
    limits: limit
      ? {
          perTrade: { value: '17300', currency: 'MXN' },
          perRun: null,
          perDay: null,
          perPayment: [],
          paidPerRun: [],
        }
      : null,
    convert: { sell: 'USD', buy: 'MXN', amount: amounts[amount] },
    withdraw: paymentsOf(policy),
  };
}
