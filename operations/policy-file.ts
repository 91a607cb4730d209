/**
 * Reads and checks a policy file, and the files that it names, before anything else happens. The worker gets the texts and
 * reads them again itself.
 */
import { dirname, isAbsolute, join } from 'node:path';
import { accountsOf, destinationsText } from '../domain/destinations.ts';
import { referenceFileOf, type Policy, type ReferenceRates } from '../domain/policy.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { hashWith } from '../language/policy/policy-hash.ts';
import { ratesAgeWarnings, scheduleProblems } from '../language/policy/schedule-problems.ts';
import { loadDestinations, type Destinations } from '../language/load-destinations.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { loadServiceFacts } from '../language/load-service-facts.ts';
import type { Settings } from '../config/config.ts';
import { withDevEnvironment } from '../config/dev-environment.ts';
import { readTextFile } from '../config/read-text-file.ts';
import { CommandFailure } from './failure.ts';
import { troubleOfPolicy, type PolicyProblem, type Trouble } from '../language/text/problem.ts';
import type { Caller } from './place.ts';

/** A policy with the files that it names. */
export type PolicyFile = {
  /** Its name as given on the command line. */
  readonly file: string;
  readonly text: string;
  /** Hash of the policy without comments and white space, and of its destinations (`language/policy/policy-hash.ts`). */
  readonly hash: string;
  readonly policy: Policy;
  /** Null where the policy names no reference rates. */
  readonly referenceRates: ReferenceRates | null;
  /** Null where any account may be paid. */
  readonly destinations: Destinations | null;
  /**
   * The files that its runs are started with: the text of the reference rates, by its name in the policy. Of the
   * destinations, runs get the accounts and currencies alone.
   */
  readonly files: Readonly<Record<string, string>>;
};

/** The policy file and the files that it names, as paths. */
export function filesOf({ file, policy }: Pick<PolicyFile, 'file' | 'policy'>): readonly string[] {
  const named = [referenceFileOf(policy.guard), policy.kind === 'payout' ? policy.payout.destinations : null];
  return [file, ...named.flatMap((name) => (name === null ? [] : [join(dirname(file), name)]))];
}

/** The result of reading: the policy if there are no problems, and all problems and warnings. */
export type ReadPolicy = {
  readonly policyFile: PolicyFile | null;
  readonly problems: readonly Trouble[];
  readonly warnings: readonly Trouble[];
};

type ReadOptions = {
  readonly cwd: string;
  readonly decimals: Readonly<Record<string, number>>;
  /** The schedule must have days after this moment, and each of them its time exactly once. */
  readonly nowMs: number;
};

/** Reads a policy and the files that it names (relative to the policy), all mistakes at once. */
export async function readPolicyFile(file: string, options: ReadOptions): Promise<ReadPolicy> {
  const path = isAbsolute(file) ? file : join(options.cwd, file);
  const read = await readText(path, file);
  if (!read.ok) return { policyFile: null, problems: [read.problem], warnings: [] };
  const loaded = loadPolicy(read.text, file, options.decimals);
  const warnings = loaded.warnings.map(troubleOfPolicy);
  const untimely = await scheduleProblems({ text: read.text, file, nowMs: options.nowMs });
  if (!loaded.ok || untimely.length > 0) {
    const found = [...(loaded.ok ? [] : loaded.problems), ...untimely];
    return { policyFile: null, problems: found.toSorted(byPlace).map(troubleOfPolicy), warnings };
  }
  const { policy, hash } = loaded;
  const problems: Trouble[] = [];
  const textOf = async (name: string, field: string): Promise<string | null> => {
    const named = await readText(join(dirname(path), name), `${file}, ${field} "${name}"`);
    if (!named.ok) problems.push(named.problem);
    return named.ok ? named.text : null;
  };
  let referenceRates: ReferenceRates | null = null;
  let destinations: Destinations | null = null;
  const ratesFile = referenceFileOf(policy.guard);
  const ratesText = ratesFile === null ? null : await textOf(ratesFile, 'guard.reference.file');
  if (ratesFile !== null && ratesText !== null) {
    const rates = loadReferenceRates(ratesText, ratesFile);
    if (rates.ok) referenceRates = rates.rates;
    else problems.push(...rates.problems.map(troubleOfPolicy));
  }
  if (referenceRates !== null) {
    const { asOf } = referenceRates;
    const { nowMs } = options;
    const old = await ratesAgeWarnings({ text: read.text, file, policy, asOf, nowMs });
    warnings.push(...old.map(troubleOfPolicy));
  }
  const listFile = policy.kind === 'payout' ? policy.payout.destinations : null;
  const listText = listFile === null ? null : await textOf(listFile, 'payout.destinations');
  if (listFile !== null && listText !== null) {
    const list = loadDestinations(listText, listFile);
    if (list.ok) destinations = list.destinations;
    else problems.push(...list.problems.map(troubleOfPolicy));
  }
  if (problems.length > 0) return { policyFile: null, problems, warnings };
  return {
    policyFile: {
      file,
      text: read.text,
      hash: hashWith(hash, destinations === null ? null : destinationsText(accountsOf(destinations))),
      policy,
      referenceRates,
      destinations,
      files: ratesFile === null || ratesText === null ? {} : { [ratesFile]: ratesText },
    },
    problems: [],
    warnings,
  };
}

function byPlace(left: PolicyProblem, right: PolicyProblem): number {
  return left.line - right.line || left.column - right.column;
}

/** @throws CommandFailure when the policy is for another environment than the configured one */
export function requireEnvironment(policyFile: PolicyFile, settings: Settings): void {
  const { environment } = policyFile.policy;
  if (environment === settings.mode.toLowerCase()) return;
  throw new CommandFailure('configuration', [
    {
      code: 'PLAN_ENVIRONMENT',
      place: `${policyFile.file}, environment`,
      message: `the policy says "${environment}", CAMBIST_APP_MODE is ${settings.mode}; nothing was sent`,
      fix: 'Use the mode that the policy is for, or change `environment:` in it if you mean it.',
    },
  ]);
}

/** The operator's decimals, where a service file is configured. Fixed amounts are checked against them. */
export async function readDecimals(
  caller: Pick<Caller, 'env' | 'cwd'>,
): Promise<Readonly<Record<string, number>>> {
  return (await readServiceFile(caller))?.decimals ?? {};
}

/** The service file of this terminal; null: none is configured. @throws CommandFailure when it cannot be used */
export async function readServiceFile({
  env: environment,
  cwd,
}: Pick<Caller, 'env' | 'cwd'>): Promise<ServiceFacts | null> {
  const env = await withDevEnvironment(environment, cwd);
  const path = env['CAMBIST_SERVICE_FILE'];
  if (path === undefined || path === '') return null;
  const read = await readText(path, `CAMBIST_SERVICE_FILE "${path}"`);
  if (!read.ok) throw new CommandFailure('configuration', [read.problem]);
  const loaded = loadServiceFacts(read.text, path);
  if (loaded.ok) return loaded.facts;
  throw new CommandFailure('configuration', loaded.problems.map(troubleOfPolicy));
}

async function readText(
  path: string,
  place: string,
): Promise<{ readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: Trouble }> {
  const read = await readTextFile(path);
  if (read.ok) return read;
  return {
    ok: false,
    problem: {
      code: read.isMissing ? 'FILE_NOT_FOUND' : 'FILE_UNREADABLE',
      place,
      message: read.message,
      fix: 'Check the path; it is relative to the working folder, one that a policy names is relative to the policy.',
    },
  };
}
