/**
 * The activities that only read or note: making and reading the plan, keeping a word, and the polls. They are told from
 * the real ones (`activities/observe.ts`, `read-plan.ts`, `await-settlement.ts`, `await-withdrawals.ts`, `polling.ts`),
 * and can be repeated at will, so that nothing strikes them.
 */
import type { Problem } from '../../../domain/problems.ts';
import type { Wait } from '../../../domain/waits.ts';
import { compare, sum } from '../../../domain/money.ts';
import { compilePlan } from '../../../domain/plan/compile.ts';
import type { PlanHead } from '../../../domain/plan/plan.ts';
import { isOfRun, type Observation } from '../../../domain/plan/observation.ts';
import type { SendWindows } from '../../../domain/plan/plan.ts';
import type { Policy, WithdrawSpec } from '../../../domain/policy.ts';
import type { Reply } from '../../../domain/service/reply.ts';
import { followUp } from '../../../domain/service/reply-rules.ts';
import { isKnown } from '../../../domain/service/facts.ts';
import { configurationWait, foreignCredentials, skewOf } from '../../../domain/writes/step.ts';
import { isCancelled } from '../../../domain/people/instructions.ts';
import { sendWindowsOf } from '../../../calendar/business-date.ts';
import type { Activities } from '../../../workflows/calls.ts';
import type {
  ConfirmCall,
  Confirmed,
  PlanAnswer,
  Settlement,
  SettlementCall,
  WithdrawalsAnswer,
  WithdrawalsCall,
  PlanInput,
  RunInput,
} from '../../../domain/run/calls.ts';
import { notPaidBy } from '../../../domain/run/unpaid.ts';
import type { PolicySettings } from './schedule.ts';
import type { Activity, PlanRun, Temporal } from './temporal.ts';
import type { World } from './world.ts';

const WINDOWS: SendWindows = sendWindowsOf('2026-11-21', 'UTC');

/** One run of ours: what it is called, what its policy asks, and what sets its items apart from those of another run. */
export type Ours = {
  readonly input: RunInput;
  readonly policy: PolicySettings;
  readonly prefix: string;
};

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
  return { input, policy, prefix: name === 'p' ? '' : `${name}/` };
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
        if (!temporal.keeps()) {
          this.#world.agenda.after(1_000, () => this.take(activity));
          return;
        }
        const { instruction } = activity.args as Parameters<Activities['recordInstruction']>[0];
        if (!isCancelled(temporal.kept.instructions))
          temporal.keep({ ...instruction, id: `${instruction.kind}-${activity.execution.runId}` });
        return temporal.complete(activity, undefined);
      });
    else temporal.whenUp(50, () => this.#poll(activity));
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
      const cancelled = isCancelled(temporal.kept.instructions);
      if (state !== null) return temporal.complete(activity, { ...state, cancelled });
      temporal.whenUp(PATIENCE_MS, () => answer(true));
    };
    temporal.whenUp(300, () => answer(false));
  }

  makePlan(planRun: PlanRun): void {
    const world = this.#world;
    const { ours } = this.#temporal;
    this.#temporal.whenUp(100, () => {
      if (this.#temporal.planRun !== planRun || planRun.plan !== null) return;
      const observation = this.#observe();
      // Nobody makes the plan of a run anew for somebody else's money.
      const isForeign = world.credentials.organisation !== ORGANISATION;
      if (observation === null || isForeign || skewOf(world.toldSkewMs) !== null) {
        world.agenda.after(5_000, () => this.makePlan(planRun));
        return;
      }
      const result = compilePlan({
        run: ours.input.run,
        policy: policyOf(ours),
        policyHash: ours.input.policyHash,
        date: '2026-11-21',
        sendWindows: WINDOWS,
        referenceRates: null,
        observation,
        lateAfterMs: world.facts.lateAfterMs,
        decimalsOf: () => 2,
        batch: null,
        madeFor: planRun.forRun,
      });
      if (result.ok) planRun.plan = result.plan;
      else planRun.refused = result.problems;
      planRun.endedAtMs = world.agenda.nowMs;
      world.tell(() =>
        result.ok ? `the plan is made for ${this.#temporal.itemOf(planRun.forRun)}` : 'no plan can be made',
      );
    });
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
    const { runId } = activity.execution;
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

  #foreignReader({ plan }: { readonly plan: PlanHead }): Wait | null {
    const { credentials } = this.#world;
    const problem = foreignCredentials({ plan, credentials, reader: credentials });
    return problem === null ? null : configurationWait(problem, 3);
  }
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

function policyOf({ input, policy }: Ours): Policy {
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
