/**
 * The folder of policies by which a worker sends (CAMBIST_POLICIES): only who can change this folder decides what may be moved.
 * `*.yaml` are the policies that hold. `finishing/NAME@2026-11-28.yaml` is a policy that was replaced: runs of earlier dates than
 * the one in its name still go by it. Rates and destinations are read from the folder, by the names that the policies give them.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { accountsOf, DESTINATIONS_FILE_BYTES, type Destinations } from '../domain/destinations.ts';
import { destinationsFileOf, referenceFileOf, type ReferenceRates } from '../domain/policy.ts';
import type { AllowedPolicy, PoliciesRead } from '../domain/writes/write-gate.ts';
import { loadDestinations } from '../language/load-destinations.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { placeOf, type PolicyProblem } from '../language/text/problem.ts';
import { readFolderFile } from './files-folder.ts';
import { readTextFile } from './read-text-file.ts';

const FINISHING = 'finishing';
const IS_POLICY = /\.ya?ml$/;
const IS_REPLACED = /@([0-9]{4}-[0-9]{2}-[0-9]{2})\.ya?ml$/;

/** Reads the whole folder. What cannot be used is told, and allows nothing. Never throws. */
export async function readPoliciesFolder(
  folder: string,
  decimals: Readonly<Record<string, number>>,
): Promise<PoliciesRead> {
  const troubles: string[] = [];
  const current = await namesIn(folder, '.', troubles);
  const replaced = await namesIn(folder, FINISHING, troubles);
  const read = await Promise.all([
    ...current.map((name) => readPolicy(folder, name, null, { decimals, troubles })),
    ...replaced.map((name) => {
      const before = IS_REPLACED.exec(name)?.[1];
      if (before !== undefined) return readPolicy(folder, name, before, { decimals, troubles });
      troubles.push(`"${name}" has no date in its name, as in "name@2026-11-28.yaml"`);
      return null;
    }),
  ]);
  const policies = read.filter((one) => one !== null);
  return { policies: policies.filter((one) => !isTwice(one, policies, troubles)), troubles };
}

/** The names of the policies in a folder of it, below `folder`. */
async function namesIn(folder: string, below: string, troubles: string[]): Promise<readonly string[]> {
  try {
    const names = await readdir(join(folder, below));
    return names.filter((name) => IS_POLICY.test(name)).map((name) => join(below, name));
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (reason !== 'ENOENT' || below !== FINISHING)
      troubles.push(`folder "${join(folder, below)}": ${reason}`);
    return [];
  }
}

type Reading = { readonly decimals: Readonly<Record<string, number>>; readonly troubles: string[] };

async function readPolicy(
  folder: string,
  name: string,
  before: string | null,
  { decimals, troubles }: Reading,
): Promise<AllowedPolicy | null> {
  const read = await readTextFile(join(folder, name));
  if (!read.ok) {
    troubles.push(`"${name}": ${read.message}`);
    return null;
  }
  const loaded = loadPolicy(read.text, name, decimals);
  if (!loaded.ok) {
    troubles.push(mistakesOf(name, loaded.problems));
    return null;
  }
  const { policy } = loaded;
  const accounts = readDestinations(await textOf(folder, destinationsFileOf(policy), troubles), troubles);
  const rates = readRates(await textOf(folder, referenceFileOf(policy.guard), troubles), troubles);
  return { policy, destinations: accounts, referenceRates: rates, before };
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
  troubles.push(mistakesOf(named.file, loaded.problems));
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
