/** What a plan is made from: policy and files as this worker reads them, and one reading of the service. */
import { Context as ActivityContext } from '@temporalio/activity';
import type { Manifest, SeenBatch } from '../domain/batch.ts';
import { readDestinations, type Destinations } from '../domain/destinations.ts';
import { sumsOf } from '../domain/plan/amounts.ts';
import type { Leg } from '../domain/plan/plan.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import type { Withdrawal } from '../domain/service/records.ts';
import { minuteText, type Wait } from '../domain/waits.ts';
import { followUp, waitMs } from '../domain/service/reply-rules.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { reservedByAll, type OthersReserved, type Reserved } from '../domain/plan/reserved.ts';
import {
  currenciesOf,
  destinationsFileOf,
  plansWithBalances,
  referenceFileOf,
  type Money,
  type Policy,
  type RebalancePolicy,
  type ReferenceRates,
} from '../domain/policy.ts';
import { runName, type RunName } from '../domain/references.ts';
import type { Reply } from '../domain/service/reply.ts';
import {
  ADVICE,
  CLOCK_TOLERANCE_MS,
  configurationWait,
  problemOf,
  skewOf,
  unreadable,
} from '../domain/writes/step.ts';
import { dateOfRunId, settledAtTheLatestMs, sendWindowsOf } from '../calendar/business-date.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { hashWith } from '../language/policy/policy-hash.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { placeOf, type PolicyProblem } from '../language/text/problem.ts';
import { observeService } from '../service/observe.ts';
import type { Observed, PlanInput } from '../domain/run/calls.ts';
import { clockSkew } from './clock-skew.ts';
import type { OwnTurn } from '../domain/turn.ts';
import type { Deps } from './deps.ts';

/** What a run was started with, once its policy and its files are read. */
export type ReadInput = {
  readonly kind: 'read';
  readonly policy: Policy;
  readonly policyHash: string;
  /** As the run was started with. */
  readonly policyFile: string;
  readonly date: string;
  readonly referenceRates: ReferenceRates | null;
  /** The only accounts that may be paid, as the command has read them; null: any. */
  readonly destinations: Destinations | null;
  /** The batch of a payout; null for other policies. */
  readonly manifest: Manifest | null;
};
type Refused = Extract<Observed, { kind: 'refused' }>;

/** `others`: what other open runs have reserved. It is read before the service is. */
export type InTurn = { readonly isTaken: boolean; readonly others: readonly OthersReserved[] };

/** Reads the policy and the files, and believes nothing else of the input. */
export function readInput(
  deps: Deps,
  input: Pick<PlanInput, 'run' | 'policyText' | 'policyFile' | 'files' | 'batch' | 'destinations'>,
): ReadInput | Refused {
  const loaded = loadPolicy(input.policyText, input.policyFile, deps.facts.decimals);
  if (!loaded.ok) return refused(loaded.problems);
  const { policy, hash } = loaded;
  const date = dateOfRunId(input.run.id);
  if (date === null) return { kind: 'refused', problems: [noDate(input.run.id)] };
  if (policy.name !== input.run.policy)
    return { kind: 'refused', problems: [otherName(policy.name, input.run.policy)] };
  const manifest = input.batch ?? null;
  if ((manifest === null) === (policy.kind === 'payout'))
    return { kind: 'refused', problems: [wrongBatch(policy)] };
  const rates = readRates(policy, input.files);
  if (!rates.ok) return refused(rates.problems);
  const destinations = input.destinations === undefined ? null : readDestinations(input.destinations);
  if ((destinations === null) !== (destinationsFileOf(policy) === null))
    return { kind: 'refused', problems: [wrongDestinations()] };
  return {
    kind: 'read',
    policy,
    policyHash: hashWith(hash, input.destinations ?? null),
    policyFile: input.policyFile,
    date,
    referenceRates: rates.rates,
    destinations,
    manifest,
  };
}

/** For so long, the lists may not show yet what another run traded before this run got its turn. */
export function listsLagMs({ facts, clock }: Deps, { tradedAgoMs, tradedAtMs }: OwnTurn): number {
  if (tradedAgoMs === null) return 0;
  // Temporal's clock may leap, as when another server takes over. The clocks of workers agree with the service's.
  const byWorkersMs = tradedAtMs === null ? tradedAgoMs : clock.wallMs() - tradedAtMs;
  // A moment that is still to come is no worker's: a person may have sent the signal, and nobody would ever trade again.
  const isToCome = byWorkersMs < -2 * CLOCK_TOLERANCE_MS;
  return facts.listLagMs - (isToCome ? tradedAgoMs : Math.min(tradedAgoMs, Math.max(0, byWorkersMs)));
}

/** Reads the service once. What other runs have reserved was read before that, never after it. */
export async function observeInTurn(
  deps: Deps,
  run: RunName,
  { policy, policyHash, date, referenceRates }: ReadInput,
  { isTaken, others }: InTurn,
  batch: SeenBatch | null,
): Promise<Observed> {
  const sendWindows = sendWindowsOf(date, policy.zone);
  const nowMs = deps.clock.wallMs();
  const result = await observeService(deps.reader, {
    run,
    paid: (batch?.payable ?? []).map(({ currency }) => currency),
    policy,
    date,
    facts: deps.facts,
    sinceMs: sendWindows.opensAtMs - LOOK_BACK_MS,
    nowMs,
    settledBy: settledAtTheLatestMs,
    onReply: (reply) => clockSkew.note(deps.clock, reply),
    signal: ActivityContext.current().cancellationSignal,
  });
  if (!result.ok) return { kind: 'wait', wait: unreadableService(result.reply) };
  const skewed = skewOf(clockSkew.latestMs());
  if (skewed !== null) return { kind: 'wait', wait: configurationWait(skewed, 0) };
  const observation = {
    ...result.observation,
    reserved: reservedByAll(others.map(({ reserved }) => reserved)),
    tradedOnDate: [...result.observation.tradedOnDate, ...stillOnDate(policy, date, others)],
    // One record tells the plan that there are some. Hundreds would be more than Temporal likes to carry.
    withdrawals: result.observation.withdrawals.slice(0, 1),
    // The plan belongs to the key that will write, even if another key has read.
    credentials: {
      mode: deps.service.mode,
      organisation: deps.service.organisation,
      keyName: deps.service.keyName,
    },
  };
  return {
    kind: 'observed',
    policy,
    policyHash,
    date,
    sendWindows,
    hasTurn: isTaken,
    referenceRates,
    decimals: deps.facts.decimals,
    lateAfterMs: deps.facts.lateAfterMs,
    observation,
    batch,
    paid: paidBy(result.observation.withdrawals, deps.facts.withdrawalStatuses.failed),
  };
}

/**
 * The currencies from whose balances a plan is computed: for each of them it must be known what other runs still take. A
 * purchase spends only what is there of the base without what others have reserved, so that the base is one of them only
 * where shares refer to it.
 */
export function countedIn(policy: Policy): readonly string[] {
  switch (policy.kind) {
    case 'convert':
      return plansWithBalances(policy) ? [policy.convert.sell] : [];
    case 'rebalance': {
      const { targets } = policy.rebalance;
      return hasShares(policy) ? currenciesOf(policy.rebalance) : targets.map(({ currency }) => currency);
    }
    case 'payout':
      return [];
  }
}

/** The same for one leg that was planned before. The currency that a target names is not the base. */
export function countedFor(policy: Policy, { sell, buy, why }: Leg): readonly string[] {
  switch (policy.kind) {
    case 'convert':
      return [sell];
    case 'rebalance':
      return hasShares(policy) || why.kind !== 'target' ? currenciesOf(policy.rebalance) : [why.currency];
    case 'payout':
      return [sell, buy];
  }
}

function hasShares({ rebalance }: RebalancePolicy): boolean {
  return rebalance.targets.some(({ goal }) => goal.kind === 'share');
}

/**
 * So long before nothing can be traded any more, a rebalancing waits no longer for what another run may still take. It
 * trades the other currencies, and its report says which one it has left.
 */
const LAST_CALL_MS = 15 * 60_000;

/** The wait of a plan for what another run may still take of its currencies; null: it can be made now. */
export function waitForOthers(
  { clock }: Deps,
  { policy, date, referenceRates }: ReadInput,
  others: readonly OthersReserved[],
): Wait | null {
  const untold = untoldIn(countedIn(policy), others);
  if (untold === null) return null;
  const { tradesUntilMs } = sendWindowsOf(date, policy.zone);
  const maxAgeMs = policy.guard?.reference?.maxAgeMs ?? Infinity;
  const ratesUntilMs = referenceRates === null ? Infinity : Date.parse(referenceRates.asOf) + maxAgeMs;
  const isLastCall = clock.wallMs() > Math.min(tradesUntilMs, ratesUntilMs) - LAST_CALL_MS;
  return policy.kind === 'rebalance' && isLastCall ? null : reservationUnknown(untold);
}

/** The first run that may take one of these, where it is not known how much; null: there is none. */
export function untoldIn(currencies: readonly string[], others: readonly OthersReserved[]): Untold | null {
  for (const currency of currencies) {
    const isUntold = (one: Reserved): boolean => one.currency === currency && !one.isTold;
    const other = others.find(({ reserved }) => reserved.some(isUntold));
    if (other !== undefined) return { currency, other };
  }
  return null;
}

type Untold = { readonly currency: string; readonly other: OthersReserved };

export function reservationUnknown({ currency, other: { run, reserved } }: Untold): Wait {
  const sinceMs = reserved.find((one) => one.currency === currency)?.untoldSinceMs;
  const since = sinceMs === undefined ? '' : `; it waits since ${minuteText(sinceMs)}`;
  const message = `Run ${runName(run)} may still take ${currency}, and it is not known yet how much${since}.`;
  const problem = makeProblem('RESERVATION_UNKNOWN', null, { message });
  return { afterMs: 10_000, reason: 'doubt', problem };
}

/**
 * The most that other open runs of the policy may still trade on this date. It counts against the limit of the day as
 * if it were traded. What nothing bounds leaves nothing of the limit.
 */
function stillOnDate(
  { name, rules }: Policy,
  date: string,
  others: readonly OthersReserved[],
): readonly Money[] {
  const perDay = rules.limits?.perDay ?? null;
  if (perDay === null) return [];
  const { currency, value } = perDay;
  return others
    .filter((other) => isOfDay({ policy: name, date }, other))
    .flatMap(({ legs }) => legs.flatMap(({ sides }) => sides))
    .flatMap((side) => (side.currency === currency ? [{ currency, value: side.most ?? value }] : []));
}

/** A date of a policy. */
export type OfDay = { readonly policy: string; readonly date: string };

/** Whether the run is of the policy on this date. */
export function isOfDay({ policy, date }: OfDay, { run }: { readonly run: RunName }): boolean {
  return run.policy === policy && dateOfRunId(run.id) === date;
}

/** The wait of a question that only the run which has the turn may ask. */
export function withoutTurn(item = 'plan'): Wait {
  const problem = unreadable(item, 'balances and trades are read in the turn of the run alone');
  return { afterMs: 10_000, reason: 'outage', problem };
}

export type Rates =
  | { readonly ok: true; readonly rates: ReferenceRates | null }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** The reference rates that the guard names; none if the file was not given: the plan then refuses. */
export function readRates(policy: Policy, files: PlanInput['files']): Rates {
  const file = referenceFileOf(policy.guard);
  if (file === null) return { ok: true, rates: null };
  const text = Object.hasOwn(files, file) ? files[file] : undefined;
  return text === undefined ? { ok: true, rates: null } : loadReferenceRates(text, file);
}

/** The wait after a read that failed: long for a fault of configuration, else as the service asks. */
export function unreadableService(reply: Reply<unknown>): Wait {
  const follow = followUp(reply);
  const problem = problemOf(reply, 'plan', ADVICE[follow.class]);
  if (follow.read === 'ask again')
    return { afterMs: waitMs(reply, 2), reason: 'outage', problem: unreachable(problem) };
  return configurationWait(problem, 0);
}

function unreachable(problem: Problem): Problem {
  return {
    ...problem,
    item: null,
    fix: 'Check the address (CAMBIST_BASE_URL), and that the service is up. The run asks again by itself.',
  };
}

function refused(problems: readonly PolicyProblem[]): Refused {
  return {
    kind: 'refused',
    problems: problems.map((problem) => ({
      code: problem.code,
      item: null,
      message: `${placeOf(problem)}: ${problem.message}`,
      fix: problem.fix,
    })),
  };
}

function wrongDestinations(): Problem {
  const message = 'Its destinations are not those of its policy.';
  return makeProblem('INPUT_INVALID', null, { message });
}

function wrongBatch({ kind }: Policy): Problem {
  const message =
    kind === 'payout' ? 'A payout needs a batch of payments.' : `A policy of kind ${kind} takes no batch.`;
  return makeProblem('INPUT_INVALID', null, { message });
}

/** What these records pay, without those that have failed. */
function paidBy(records: readonly Withdrawal[], failed: readonly string[]): readonly Money[] {
  const paid = records.filter(({ status }) => !failed.includes(status));
  return sumsOf(paid.map(({ currency, withdrawalAmount }) => ({ currency, value: withdrawalAmount })));
}

function noDate(id: string): Problem {
  return makeProblem('RUN_ID_WITHOUT_DATE', null, {
    message: `The run id "${id}" does not begin with a business date.`,
  });
}

function otherName(found: string, expected: string): Problem {
  return makeProblem('POLICY_NAME_DIFFERS', null, {
    message: `The policy calls itself "${found}", the run is of "${expected}".`,
  });
}
