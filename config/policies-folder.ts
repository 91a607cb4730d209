/**
 * The folder of policies by which a worker sends (CAMBIST_POLICIES): only who can change this folder decides what may be moved.
 * `*.yaml` are the policies that hold, and `ceilings.yaml` says how much may be moved on one day.
 * `finishing/NAME@2026-11-28.yaml` is a policy that was replaced: runs of earlier dates than the one in its name still go by it.
 * A policy that says the same as a file in `revoked/` allows nothing, wherever else it stands.
 * Rates and destinations are read from the folder, by the names that the policies give them.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountsOf, DESTINATIONS_FILE_BYTES, type Destinations } from '../domain/destinations.ts';
import { destinationsFileOf, referenceFileOf, type Policy, type ReferenceRates } from '../domain/policy.ts';
import type { AllowedPolicy, PoliciesRead } from '../domain/writes/write-gate.ts';
import type { Ceilings } from '../domain/writes/ceilings.ts';
import { loadCeilings } from '../language/load-ceilings.ts';
import { loadDestinations } from '../language/load-destinations.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { policyHash } from '../language/policy/policy-hash.ts';
import { isCalendarDate } from '../calendar/business-date.ts';
import { placeOf, type PolicyProblem } from '../language/text/problem.ts';
import { readFolderFile } from './files-folder.ts';
import { readTextFile } from './read-text-file.ts';

const FINISHING = 'finishing';
const REVOKED = 'revoked';
const CEILINGS = 'ceilings.yaml';
const IS_POLICY = /\.ya?ml$/;
/** Ceilings under another name would bind nothing. */
const IS_CEILINGS = /^ceilings\.ya?ml$/i;
const IS_REPLACED = /@([0-9]{4}-[0-9]{2}-[0-9]{2})\.ya?ml$/;

/** Between two readings of a folder that has changed. An editor or a copy writes one file in less. */
const SETTLES_MS = 300;
const MOST_READINGS = 4;

/**
 * Makes what reads the whole folder, each time as it stands then. What cannot be used is told, and allows nothing. Ceilings that
 * were there once must stay: a file that is missing for a moment, while somebody replaces it, must not set anything free. A folder
 * that has changed counts once two readings are alike: a policy that is half written may lack its limits. The reader never throws.
 */
export function policiesFolder(
  folder: string,
  decimals: Readonly<Record<string, number>>,
  pause: (ms: number) => Promise<unknown> = sleep,
): () => Promise<PoliciesRead> {
  let hadCeilings = false;
  let settled: string | null = null;
  return async () => {
    let seen: string | null = null;
    for (let nth = 1; nth <= MOST_READINGS; nth += 1) {
      // One after the other.
      if (nth > 1) await pause(SETTLES_MS);
      const read = await readFolder(folder, decimals, hadCeilings);
      const text = textOfRead(read);
      if (text === settled || text === seen) {
        settled = text;
        hadCeilings ||= read.ceilings !== null;
        return read;
      }
      seen = text;
    }
    return { policies: [], ceilings: null, troubles: [`folder "${folder}" is being changed`] };
  };
}

function textOfRead(read: PoliciesRead): string {
  return JSON.stringify(read, (_, value: unknown) => (value instanceof Map ? [...value.entries()] : value));
}

async function readFolder(
  folder: string,
  decimals: Readonly<Record<string, number>>,
  hadCeilings: boolean,
): Promise<PoliciesRead> {
  const troubles: string[] = [];
  const current = await namesIn(folder, '.', troubles);
  const misnamed = current.find((name) => IS_CEILINGS.test(name)) ?? null;
  const ceilings = await readCeilings(folder, { misnamed, hadCeilings, troubles });
  const replaced = await namesIn(folder, FINISHING, troubles);
  const revoked = await readRevoked(folder, troubles);
  const reading = { decimals, troubles, revoked: new Set(revoked) };
  const read = await Promise.all([
    ...current.map((name) => readPolicy(folder, name, null, reading)),
    ...replaced.map((name) => {
      const before = IS_REPLACED.exec(name)?.[1];
      if (before !== undefined && isCalendarDate(before)) return readPolicy(folder, name, before, reading);
      return { name, trouble: `"${name}" has no date in its name, as in "name@2026-11-28.yaml"` };
    }),
  ]);
  const policies = read.filter((one) => 'policy' in one);
  const beside = new Set(policies.flatMap(({ policy }) => filesOf(policy)));
  // A file that a policy names is none itself.
  for (const one of read) if ('trouble' in one && !beside.has(one.name)) troubles.push(one.trouble);
  if (ceilings !== 'unusable') tellUnboundOf(ceilings, policies, troubles);
  const isUsable = ceilings !== 'unusable' && revoked !== null;
  return {
    // While it cannot be read what binds, or what is revoked, nothing is allowed.
    policies: isUsable ? policies.filter((one) => !isTwice(one, policies, troubles)) : [],
    ceilings: ceilings === 'unusable' ? null : ceilings,
    troubles,
  };
}

/** The names of the policies in a folder of it, below `folder`. */
async function namesIn(folder: string, below: string, troubles: string[]): Promise<readonly string[]> {
  try {
    const names = await readdir(join(folder, below));
    return names.filter((name) => IS_POLICY.test(name) && name !== CEILINGS).map((name) => join(below, name));
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (reason !== 'ENOENT' || below === '.') troubles.push(`folder "${join(folder, below)}": ${reason}`);
    return [];
  }
}

/** The hashes of the policies that are revoked; null: a file of them cannot be read. */
async function readRevoked(folder: string, troubles: string[]): Promise<readonly string[] | null> {
  const untold: string[] = [];
  const names = await namesIn(folder, REVOKED, untold);
  const hashes = await Promise.all(
    names.map(async (name) => {
      const read = await readTextFile(join(folder, name));
      const hash = read.ok ? policyHash(read.text) : null;
      if (hash === null) untold.push(`"${name}", which is revoked, cannot be read`);
      return hash;
    }),
  );
  troubles.push(...untold);
  return untold.length > 0 ? null : hashes.filter((hash) => hash !== null);
}

type Reading = {
  readonly decimals: Readonly<Record<string, number>>;
  readonly troubles: string[];
  /** The hashes of policies that allow nothing. */
  readonly revoked: ReadonlySet<string>;
};

/** A file that is no policy that can be used. */
type NoPolicy = { readonly name: string; readonly trouble: string };

async function readPolicy(
  folder: string,
  name: string,
  before: string | null,
  { decimals, troubles, revoked }: Reading,
): Promise<AllowedPolicy | NoPolicy> {
  const read = await readTextFile(join(folder, name));
  if (!read.ok) return { name, trouble: `"${name}": ${read.message}` };
  if (revoked.has(policyHash(read.text) ?? '')) return { name, trouble: `"${name}" is revoked` };
  const loaded = loadPolicy(read.text, name, decimals);
  if (!loaded.ok) return { name, trouble: mistakesOf(name, loaded.problems) };
  const { policy } = loaded;
  const accounts = readDestinations(await textOf(folder, destinationsFileOf(policy), troubles), troubles);
  const rates = readRates(await textOf(folder, referenceFileOf(policy.guard), troubles), troubles);
  return { policy, destinations: accounts, referenceRates: rates, before };
}

/** Null: there is no such file, and there was none before. */
async function readCeilings(
  folder: string,
  {
    misnamed,
    hadCeilings,
    troubles,
  }: { readonly misnamed: string | null; readonly hadCeilings: boolean; readonly troubles: string[] },
): Promise<Ceilings | 'unusable' | null> {
  const read = await readTextFile(join(folder, CEILINGS));
  if (misnamed !== null) {
    troubles.push(`"${misnamed}" must have the name "${CEILINGS}"`);
    return 'unusable';
  }
  if (!read.ok && read.isMissing) {
    if (!hadCeilings) return null;
    troubles.push(`"${CEILINGS}" was there, and is missing now`);
    return 'unusable';
  }
  const loaded = read.ok ? loadCeilings(read.text, CEILINGS) : null;
  if (loaded?.ok === true) return loaded.ceilings;
  troubles.push(loaded === null ? `"${CEILINGS}" cannot be read` : mistakesOf(CEILINGS, loaded.problems));
  return 'unusable';
}

/** A ceiling of a policy that is not there binds nothing: most likely its name is a mistake. */
function tellUnboundOf(
  ceilings: Ceilings | null,
  policies: readonly AllowedPolicy[],
  troubles: string[],
): void {
  const names = new Set((ceilings?.all ?? []).flatMap(({ policy }) => (policy === null ? [] : [policy])));
  for (const { policy } of policies) names.delete(policy.name);
  for (const name of names) troubles.push(`"${CEILINGS}" names policy "${name}", which is not in the folder`);
}

/** Of two policies that hold and have one name, neither counts. */
function isTwice(one: AllowedPolicy, all: readonly AllowedPolicy[], troubles: string[]): boolean {
  const { name } = one.policy;
  const isSame = (other: AllowedPolicy): boolean => other.policy.name === name && other.before === one.before;
  if (all.filter(isSame).length === 1) return false;
  const trouble = `policy "${name}" stands in it twice`;
  if (!troubles.includes(trouble)) troubles.push(trouble);
  return true;
}

/** The files that a policy names. */
function filesOf(policy: Policy): readonly string[] {
  return [destinationsFileOf(policy), referenceFileOf(policy.guard)].filter((file) => file !== null);
}

type NamedText = { readonly file: string; readonly text: string };

/** The text of a file that a policy names; null: it names none, or the file cannot be read. */
async function textOf(folder: string, file: string | null, troubles: string[]): Promise<NamedText | null> {
  if (file === null) return null;
  const read = await readFolderFile(folder, file, DESTINATIONS_FILE_BYTES);
  if (read.ok) return { file, text: read.text };
  troubles.push(`"${file}": ${read.message}`);
  return null;
}

function readDestinations(named: NamedText | null, troubles: string[]): Destinations | null {
  if (named === null) return null;
  const loaded = loadDestinations(named.text, named.file);
  if (loaded.ok) return accountsOf(loaded.destinations);
  // A mistake may quote the name of a payee, which must reach no history and no log (M6).
  const [first] = loaded.problems;
  troubles.push(`${first === undefined ? named.file : placeOf(first)}: a mistake`);
  return null;
}

function readRates(named: NamedText | null, troubles: string[]): ReferenceRates | null {
  if (named === null) return null;
  const loaded = loadReferenceRates(named.text, named.file);
  if (loaded.ok) return loaded.rates;
  troubles.push(mistakesOf(named.file, loaded.problems));
  return null;
}

function mistakesOf(file: string, problems: readonly PolicyProblem[]): string {
  const [first] = problems;
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : '';
  return first === undefined ? `"${file}" has mistakes` : `${placeOf(first)}: ${first.message}${more}`;
}
