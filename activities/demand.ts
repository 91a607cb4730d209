/**
 * How much of a leg the policy still asks for, by the balances of this moment. A run that was reset has
 * computed its legs from older balances, and trades one only while a new plan would trade at least as much
 * (design: "Reset means: try again what is not done").
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { decimalsOf } from '../domain/currencies.ts';
import { add, compare, isPositive, subtract, sum } from '../domain/money.ts';
import type { Money, Policy } from '../domain/policy.ts';
import { compilePlan } from '../domain/plan/compile.ts';
import { plannedMoneyOf } from '../domain/plan/amounts.ts';
import type { Observation } from '../domain/plan/observation.ts';
import { onTheWay } from '../domain/plan/on-the-way.ts';
import type { Leg } from '../domain/plan/plan.ts';
import type { OthersReserved, Reserved } from '../domain/plan/reserved.ts';
import { runName, runOf, type RunName } from '../domain/references.ts';
import type { Observed } from '../domain/run/calls.ts';
import type { Mode, Trade } from '../domain/service/records.ts';
import { CLOCK_TOLERANCE_MS, type Demand, type OwnTrade } from '../domain/writes/step.ts';
import { listsLag, type OwnTurn } from '../domain/turn.ts';
import { settledAtTheLatestMs } from '../calendar/business-date.ts';
import { scanList } from '../service/list-scan.ts';
import type { Deps } from './deps.ts';
import {
  countedFor,
  listsLagMs,
  observeInTurn,
  readInput,
  reservationUnknown,
  untoldIn,
  withoutTurn,
  type ReadInput,
} from './observing.ts';
import { readBatch, tallyBatch } from './observing-batch.ts';
import { readOthers } from './others.ts';
import { wrongInput } from './run-input.ts';

const NOTHING: Demand = { demand: '0', takenBy: [], lacks: null };

type DemandQuestion = {
  readonly mode: Mode;
  readonly run: RunName;
  readonly leg: Leg;
  /** The trades of the run's other legs. */
  readonly ownTrades: readonly OwnTrade[];
  readonly turn: OwnTurn | null;
};

/** @param read reads what the run was started with; null when that cannot be read */
export async function readDemand(
  deps: Deps,
  { mode, run, leg, ownTrades, turn }: DemandQuestion,
  read: () => Promise<ReadInput | null> = () => readOwnInput(deps, mode, run),
): Promise<Demand> {
  if (turn === null) return { wait: withoutTurn(leg.id) };
  const lagMs = listsLagMs(deps, turn);
  if (lagMs > 0) return { wait: listsLag(lagMs, leg.id) };
  const own = await read();
  if (own === null) return NOTHING;
  const { policy, manifest, destinations } = own;
  const currencies = countedFor(policy, leg);
  const beside = await readOthers(deps, { turn, currencies, day: null });
  if ('wait' in beside) return beside;
  const { others } = beside;
  // The answer would be "nothing", and the leg would never be traded, only because another run is in doubt for some
  // minutes. So this run waits.
  const untold = untoldIn(currencies, others);
  if (untold !== null) return { wait: reservationUnknown(untold) };
  const batchRead =
    manifest === null || policy.kind !== 'payout'
      ? null
      : await readBatch(deps, { mode, run, manifest, policy, destinations });
  // Payments that another batch has made since need no money here. Payments that look like others are held
  // later, before they leave.
  const seen =
    batchRead?.kind === 'read' && policy.kind === 'payout'
      ? tallyBatch(deps, batchRead, { policy, held: new Map(), alike: null })
      : null;
  if (batchRead?.kind === 'wait') return { wait: batchRead.wait };
  if (batchRead !== null && seen?.kind !== 'seen') return NOTHING;
  const batch = seen?.kind === 'seen' ? seen.batch : null;
  const observed = await observeInTurn(deps, run, own, { isTaken: true, others }, batch);
  if (observed.kind === 'wait') return { wait: observed.wait };
  if (observed.kind !== 'observed') return NOTHING;
  const { policy: asked, observation } = observed;
  const unlistedMs = unlistedForMs(deps, observation, ownTrades);
  if (unlistedMs > 0) return { wait: listsLag(unlistedMs, leg.id, 'This run') };
  const now = withoutSales(asked, leg);
  const askedBy = (one: Policy, reserved: readonly Reserved[], by: Seen = observed): string =>
    askedFor({ run, leg, observed: by, policy: one, reserved });
  const demand = askedBy(now, observation.reserved);
  if (leg.amount === null || compare(demand, leg.amount.value) >= 0)
    return { demand, takenBy: [], lacks: null };
  const isReserved = compare(askedBy(now, []), demand) > 0;
  const takenBy = isReserved
    ? takersOf(leg, others)
    : await unsettledTraders(deps, { run, leg, sinceMs: observed.sendWindows.opensAtMs });
  const settled = onceSettled(deps, observed, leg);
  if (compare(askedBy(now, observation.reserved, settled), leg.amount.value) >= 0)
    return { demand, takenBy, lacks: 'proceeds' };
  const needsSales = compare(askedBy(asked, observation.reserved), demand) > 0;
  return { demand, takenBy, lacks: needsSales ? 'sales' : null };
}

/**
 * For so long at most, the lists may not show a trade of this run. Until they do, a plan of now would count its money as if it were not
 * traded. 0: they show all of them.
 */
function unlistedForMs(
  { clock, facts }: Deps,
  { trades }: Observation,
  ownTrades: readonly OwnTrade[],
): number {
  const listed = new Set(trades.map(({ id }) => id));
  const now = clock.wallMs();
  const madeMs = ownTrades.flatMap(({ tradeId, createdAtMs }) => (listed.has(tradeId) ? [] : createdAtMs));
  // No trade was made later than now: such a date, which only the history says, holds nothing up until it has come.
  const possible = madeMs.filter((ms) => ms <= now + CLOCK_TOLERANCE_MS);
  return Math.max(0, ...possible.map((ms) => ms + facts.listLagMs + CLOCK_TOLERANCE_MS - now));
}

/**
 * The same reading, as if what the run's own trades bring of what the leg sells had settled. A new plan spends nothing that is on its
 * way. But a run waits for what it has sold itself, and does not end a purchase meanwhile (M8).
 */
function onceSettled({ facts, clock }: Deps, seen: Seen, { sell }: Leg): Seen {
  const { observation } = seen;
  const own = onTheWay(observation.trades, facts, clock.wallMs(), settledAtTheLatestMs);
  const comes = own.find(({ currency }) => currency === sell)?.comes ?? '0';
  if (!isPositive(comes)) return seen;
  const { balances } = observation.balances;
  const there = balances.find(({ currency }) => currency === sell);
  const row = {
    total: comes,
    ...there,
    currency: sell,
    withdrawable: add(there?.withdrawable ?? '0', comes),
  };
  return {
    ...seen,
    observation: {
      ...observation,
      balances: { balances: [...balances.filter((one) => one !== there), row] },
      onTheWay: observation.onTheWay.map((one) =>
        one.currency === sell ? { ...one, comes: subtract(one.comes, comes) } : one,
      ),
    },
  };
}

type Seen = Extract<Observed, { kind: 'observed' }>;

/**
 * The policy by which a purchase of a rebalancing is asked for. A plan of now may make sales that are not made yet, and that this
 * run may not make at all. Their money pays for nothing before.
 */
function withoutSales(policy: Policy, { sell }: Leg): Policy {
  if (policy.kind !== 'rebalance' || sell !== policy.rebalance.base.currency) return policy;
  const neverSell = policy.rebalance.targets.map(({ currency }) => currency);
  return { ...policy, rebalance: { ...policy.rebalance, neverSell } };
}

/** How much of the leg a plan of now by this policy would trade, if other runs had reserved this. */
function askedFor({
  run,
  leg,
  observed,
  policy,
  reserved,
}: {
  readonly run: RunName;
  readonly leg: Leg;
  readonly observed: Seen;
  readonly policy: Policy;
  readonly reserved: readonly Reserved[];
}): string {
  const result = compilePlan({
    ...observed,
    run,
    // Each leg is held against the limits elsewhere. They do not change how much the policy asks for.
    policy: { ...policy, rules: { ...policy.rules, limits: null } },
    // As if the run had sent nothing: what it has sent is in the balances by now, or on its way.
    observation: { ...observed.observation, reserved, trades: [], withdrawals: [] },
    batch: observed.batch === null ? null : { ...observed.batch, payable: stillPayable(observed) },
    decimalsOf: (currency) => decimalsOf(currency, observed.decimals),
    madeFor: '',
  });
  if (!result.ok) return '0';
  const same = result.plan.legs.filter(
    ({ sell, buy, amount }) => sell === leg.sell && buy === leg.buy && amount?.side === leg.amount?.side,
  );
  return sum(same.flatMap((one) => plannedMoneyOf(one)?.value ?? []));
}

/** The runs that have reserved what the leg trades, or, where none has, the other currency of the leg. */
function takersOf(leg: Leg, others: readonly OthersReserved[]): readonly RunName[] {
  const inCurrency = (currency: string): readonly RunName[] =>
    others.flatMap(({ run, reserved, legs }) => {
      const takes = reserved.some((one) => one.currency === currency && isPositive(one.takes));
      const trades = legs.some(({ sides }) => sides.some((side) => side.currency === currency));
      return takes || trades ? [run] : [];
    });
  const own = plannedMoneyOf(leg)?.currency ?? leg.sell;
  const takers = inCurrency(own);
  return takers.length > 0 ? takers : inCurrency(own === leg.sell ? leg.buy : leg.sell);
}

/** The other runs that have traded the same since then, whose trades have not settled and may still fail. */
async function unsettledTraders(
  { reader, facts }: Deps,
  { run, leg, sinceMs }: { readonly run: RunName; readonly leg: Leg; readonly sinceMs: number },
): Promise<readonly RunName[]> {
  const { settled, failed } = facts.tradeStatuses;
  const { records } = await scanList(reader.listTrades, {
    sinceMs,
    wanted: ({ sellCurrency, buyCurrency, status }: Trade): boolean =>
      sellCurrency === leg.sell && buyCurrency === leg.buy && ![...settled, ...failed].includes(status),
    signal: ActivityContext.current().cancellationSignal,
  });
  const runs = new Map(
    records
      .flatMap(({ clientReferenceId }) => runOf(clientReferenceId ?? '') ?? [])
      .map((one) => [runName(one), one] as const),
  );
  runs.delete(runName(run));
  return [...runs.values()];
}

async function readOwnInput(deps: Deps, mode: Mode, run: RunName): Promise<ReadInput | null> {
  const input = (await deps.plans.find(mode, run))?.input ?? null;
  if (input === null || wrongInput(input) !== null) return null;
  const own = readInput(deps, { ...input, run });
  return own.kind === 'read' ? own : null;
}

/** Payments that are made already need no money. */
function stillPayable({ batch, paid }: Seen): readonly Money[] {
  return (batch?.payable ?? []).flatMap(({ currency, value }) => {
    const gone = paid.find((one) => one.currency === currency)?.value ?? '0';
    const left = subtract(value, gone);
    return isPositive(left) ? [{ currency, value: left }] : [];
  });
}
