/**
 * The folder of policies by which a worker sends (CAMBIST_POLICIES): only who can change this folder decides what may be moved.
 * `*.yaml` are the policies that hold, `ceilings.yaml` says how much may be moved on one day, and `approvals.yaml` who must sign before
 * much is moved. `allowed_signers` and `revoked_keys` say by which keys people sign.
 * `finishing/NAME@2026-11-28.yaml` is a policy that was replaced: runs of earlier dates than the one in its name still go by it.
 * A policy that says the same as a file in `revoked/` allows nothing, wherever else it stands.
 * Rates and destinations are read from the folder, by the names that the policies give them.
 * In live, what binds nobody allows nothing: a file that Cambist does not know, a rule for a policy that is not there, a person who is not
 * in the list, and a folder without `revoked/`, `ceilings.yaml`, `approvals.yaml` or, where people must sign, `revoked_keys`: nobody can
 * tell one that is only half deployed from one in which nothing is revoked, nothing binds a day and nobody must sign.
 */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  accountsOf,
  DESTINATIONS_FILE_BYTES,
  destinationsText,
  type Destinations,
} from '../domain/destinations.ts';
import { destinationsFileOf, referenceFileOf, type Policy, type ReferenceRates } from '../domain/policy.ts';
import type { AllowedPolicy, PoliciesRead } from '../domain/writes/write-gate.ts';
import type { Approvals } from '../domain/writes/approval-rules.ts';
import { loadApprovals } from '../language/load-approvals.ts';
import { loadCeilings } from '../language/load-ceilings.ts';
import { loadDestinations } from '../language/load-destinations.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { hashWith, policyHash } from '../language/policy/policy-hash.ts';
import { loadSigners } from '../language/ssh-signers.ts';
import { isCalendarDate } from '../calendar/business-date.ts';
import { nearest } from '../language/text/nearest.ts';
import { placeOf, type PolicyProblem } from '../language/text/problem.ts';
import { readFolderFile } from './files-folder.ts';
import { openByteFile, readTextFile } from './read-text-file.ts';

const FINISHING = 'finishing';
const REVOKED = 'revoked';
const CEILINGS = 'ceilings.yaml';
const APPROVALS = 'approvals.yaml';
const ALLOWED_SIGNERS = 'allowed_signers';
const REVOKED_KEYS = 'revoked_keys';
/** What editors and deployments leave beside the files: `.one.yaml.swp`, `.#one.yaml`, `allowed_signers~`. It is none of ours. */
const IS_HIDDEN = /^\.|~$/;
const IS_POLICY = /\.ya?ml$/;
const IS_REPLACED = /@([0-9]{4}-[0-9]{2}-[0-9]{2})\.ya?ml$/;

/** Between two readings of a folder that has changed. An editor or a copy writes one file in less. */
const SETTLES_MS = 300;
const MOST_READINGS = 4;

type HowToRead = {
  /** As live reads it: nothing is allowed while the folder has a file that binds nobody, or lacks what says what is revoked. */
  readonly isStrict?: boolean;
  readonly pause?: (ms: number) => Promise<unknown>;
};

/**
 * Makes what reads the whole folder, each time as it stands then. What cannot be used is told, and allows nothing. Ceilings, rules of
 * approvals and revoked keys that were there once must stay: a file that is missing for a moment, while somebody replaces it, must not
 * set anything free. A folder
 * that has changed counts once two readings are alike: a policy that is half written may lack its limits. The reader never throws.
 */
export function policiesFolder(
  folder: string,
  decimals: Readonly<Record<string, number>>,
  { isStrict = false, pause = sleep }: HowToRead = {},
): () => Promise<PoliciesRead> {
  const had = new Set<string>();
  let settled: string | null = null;
  return async () => {
    let seen: string | null = null;
    for (let nth = 1; nth <= MOST_READINGS; nth += 1) {
      // One after the other.
      if (nth > 1) await pause(SETTLES_MS);
      const read = await readFolder(folder, { decimals, had, isStrict });
      const text = textOfRead(read);
      if (text === settled || text === seen) {
        settled = text;
        if (read.ceilings !== null) had.add(CEILINGS);
        if (read.approvals !== null) had.add(APPROVALS);
        if ((read.approvals?.revokedKeys ?? null) !== null) had.add(REVOKED_KEYS);
        return read;
      }
      seen = text;
    }
    return {
      policies: [],
      ceilings: null,
      approvals: null,
      troubles: [`folder "${folder}" is being changed`],
    };
  };
}

function textOfRead(read: PoliciesRead): string {
  return JSON.stringify(read, (_, value: unknown) => (value instanceof Map ? [...value.entries()] : value));
}

async function readFolder(
  folder: string,
  {
    decimals,
    had,
    isStrict,
  }: {
    readonly decimals: Readonly<Record<string, number>>;
    readonly had: ReadonlySet<string>;
    readonly isStrict: boolean;
  },
): Promise<PoliciesRead> {
  const troubles: string[] = [];
  const current = await namesIn(folder, '.', troubles);
  const listed = new Set(await readdir(folder).catch(() => []));
  const of = { folder, current, listed, had, troubles };
  const ceilings = await readRules(of, CEILINGS, (text) => {
    const loaded = loadCeilings(text, CEILINGS);
    return loaded.ok ? { ok: true, rules: loaded.ceilings } : loaded;
  });
  const approvals = await readApprovals(of);
  const replaced = await namesIn(folder, FINISHING, troubles);
  const revoked = await readRevoked(of);
  const reading = { decimals, troubles, revoked: new Set(revoked?.map(({ hash }) => hash)) };
  const read = await Promise.all([
    ...current.map((name) => readPolicy(folder, name, null, reading)),
    ...replaced.map((name) => {
      const before = IS_REPLACED.exec(name)?.[1];
      if (before !== undefined && isCalendarDate(before)) return readPolicy(folder, name, before, reading);
      return {
        name,
        named: namedIn(name, ''),
        trouble: `"${name}" has no date in its name, as in "name@2026-11-28.yaml"`,
      };
    }),
  ]);
  const policies = read.filter((one) => 'policy' in one);
  const beside = new Set(policies.flatMap(({ policy }) => filesOf(policy)));
  // A file that a policy names is none itself.
  const unused = read.filter((one): one is NoPolicy => 'trouble' in one && !beside.has(one.name));
  troubles.push(...unused.map(({ trouble }) => trouble));
  const unknown = await unknownIn(
    folder,
    unused.flatMap(({ name }) => (current.includes(name) ? name : [])),
  );
  // While it cannot be read what binds, who must sign, or what is revoked, nothing is allowed.
  if (ceilings === 'unusable' || approvals === 'unusable' || revoked === null)
    return { policies: [], ceilings: null, approvals: null, troubles };
  const told = {
    [CEILINGS]: ceilings === 'UNBOUNDED' ? [] : (ceilings?.all ?? []).flatMap(({ policy }) => policy ?? []),
    [APPROVALS]: (approvals?.rules ?? []).flatMap((rule) => rule.policies ?? []),
  };
  // What allows nothing, since it is revoked or has a mistake, can be named all the same: it must not stop the other policies.
  const known = [
    ...policies.map(({ policy }) => policy.name),
    ...unused.flatMap(({ named }) => named),
    ...revoked.flatMap(({ named }) => named),
  ];
  const unbound = [...unknown, ...unboundOf(told, known), ...unknownSigners(approvals)];
  const lacks = isStrict ? lacksOf(listed, { ceilings, approvals }) : [];
  troubles.push(...unbound, ...lacks);
  if (isStrict && unbound.length + lacks.length > 0)
    return { policies: [], ceilings: null, approvals: null, troubles };
  return {
    policies: policies.filter((one) => !isTwice(one, policies, troubles)),
    ceilings,
    approvals,
    troubles,
  };
}

/** What must be there in live, also where it says nothing. */
function lacksOf(
  listed: ReadonlySet<string>,
  { ceilings, approvals }: Pick<PoliciesRead, 'ceilings' | 'approvals'>,
): readonly string[] {
  const lacks: string[] = [];
  if (!listed.has(REVOKED))
    lacks.push(`folder "${REVOKED}" is not there: make it, empty where nothing is revoked`);
  if (ceilings === null)
    lacks.push(`"${CEILINGS}" is not there: write it, with \`unbounded: true\` where nothing binds a day`);
  if (approvals === null)
    lacks.push(`"${APPROVALS}" is not there: write it, with \`rules: []\` where nobody has to sign`);
  if (approvals !== null && approvals.rules.length > 0 && approvals.revokedKeys === null)
    lacks.push(`"${REVOKED_KEYS}" is not there: make it, empty where no key is revoked`);
  return lacks;
}

/** The names of the policies in a folder of it, below `folder`. */
async function namesIn(folder: string, below: string, troubles: string[]): Promise<readonly string[]> {
  try {
    const names = await readdir(join(folder, below));
    return names
      .filter(
        (name) => IS_POLICY.test(name) && !IS_HIDDEN.test(name) && ![CEILINGS, APPROVALS].includes(name),
      )
      .map((name) => join(below, name));
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (reason !== 'ENOENT' || below === '.') troubles.push(`folder "${join(folder, below)}": ${reason}`);
    return [];
  }
}

type Revoked = { readonly hash: string; readonly named: readonly string[] };

/** The policies that are revoked; null: a file of them cannot be read. */
async function readRevoked({ folder, listed, troubles }: Of): Promise<readonly Revoked[] | null> {
  const untold: string[] = [];
  if (listed.has(REVOKED) && !(await isFolder(join(folder, REVOKED))))
    untold.push(`"${REVOKED}" is in the folder, and cannot be opened`);
  const names = await namesIn(folder, REVOKED, untold);
  const revoked = await Promise.all(
    names.map(async (name): Promise<readonly Revoked[]> => {
      const read = await readTextFile(join(folder, name));
      const hash = read.ok ? policyHash(read.text) : null;
      if (read.ok && hash !== null) return [{ hash, named: namedIn(name, read.text) }];
      untold.push(`"${name}", which is revoked, cannot be read`);
      return [];
    }),
  );
  troubles.push(...untold);
  return untold.length > 0 ? null : revoked.flat();
}

/** The names that the policy of a file may have, though it cannot be used: the one that it says, and that of its file. */
function namedIn(file: string, text: string): readonly string[] {
  const said = /^name[ \t]*:[ \t]*(["']?)([^\s"'#]+)\1[ \t]*(?:#.*)?$/m.exec(text)?.[2];
  return [basename(file).replace(/(?:@[0-9-]+)?\.ya?ml$/, ''), ...(said === undefined ? [] : [said])];
}

type Reading = {
  readonly decimals: Readonly<Record<string, number>>;
  readonly troubles: string[];
  /** The hashes of policies that allow nothing. */
  readonly revoked: ReadonlySet<string>;
};

/** A file that is no policy that can be used. `named`: what a rule may call it. */
type NoPolicy = { readonly name: string; readonly named: readonly string[]; readonly trouble: string };

async function readPolicy(
  folder: string,
  name: string,
  before: string | null,
  { decimals, troubles, revoked }: Reading,
): Promise<AllowedPolicy | NoPolicy> {
  const read = await readTextFile(join(folder, name));
  const named = namedIn(name, read.ok ? read.text : '');
  if (!read.ok) return { name, named, trouble: `"${name}": ${read.message}` };
  if (revoked.has(policyHash(read.text) ?? '')) return { name, named, trouble: `"${name}" is revoked` };
  const loaded = loadPolicy(read.text, name, decimals);
  if (!loaded.ok) return { name, named, trouble: mistakesOf(name, loaded.problems) };
  const { policy } = loaded;
  const accounts = readDestinations(await textOf(folder, destinationsFileOf(policy), troubles), troubles);
  const rates = readRates(await textOf(folder, referenceFileOf(policy.guard), troubles), troubles);
  const hash = hashWith(loaded.hash, accounts === null ? null : destinationsText(accounts));
  return { policy, hash, destinations: accounts, referenceRates: rates, before };
}

/** What one reading of the folder knows of it. */
type Of = {
  readonly folder: string;
  readonly current: readonly string[];
  /** All names in it, also those of links that lead nowhere. */
  readonly listed: ReadonlySet<string>;
  /** The files that were there once. */
  readonly had: ReadonlySet<string>;
  readonly troubles: string[];
};

type LoadedRules<Rules> =
  | { readonly ok: true; readonly rules: Rules }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** Reads a file that binds what policies allow. Null: there is no such file, and there was none before. */
async function readRules<Rules>(
  { folder, current, listed, had, troubles }: Of,
  file: string,
  load: (text: string) => LoadedRules<Rules>,
): Promise<Rules | 'unusable' | null> {
  const read = await readTextFile(join(folder, file));
  // Under another name they would bind nothing.
  const misnamed = current.find((name) => name.toLowerCase().replace(/\.yml$/, '.yaml') === file);
  if (misnamed !== undefined) {
    troubles.push(`"${misnamed}" must have the name "${file}"`);
    return 'unusable';
  }
  if (!read.ok && read.isMissing) {
    const gone = whyGone({ listed, had }, file);
    if (gone === null) return null;
    troubles.push(gone);
    return 'unusable';
  }
  const loaded = read.ok ? load(read.text) : null;
  if (loaded?.ok === true) return loaded.rules;
  troubles.push(loaded === null ? `"${file}" cannot be read` : mistakesOf(file, loaded.problems));
  return 'unusable';
}

/** Why a file that cannot be found is not one that was never there; null: it is. */
function whyGone({ listed, had }: Pick<Of, 'listed' | 'had'>, file: string): string | null {
  if (listed.has(file)) return `"${file}" is in the folder, and cannot be opened`;
  return had.has(file) ? `"${file}" was there, and is missing now` : null;
}

async function readApprovals(of: Of): Promise<Approvals | 'unusable' | null> {
  const rules = await readRules(of, APPROVALS, (text) => loadApprovals(text, APPROVALS));
  if (rules === 'unusable') return rules;
  const { folder, listed, had, troubles } = of;
  if (rules === null) {
    if (listed.has(ALLOWED_SIGNERS))
      troubles.push(`"${ALLOWED_SIGNERS}" is there, and "${APPROVALS}" is not: nobody is asked to sign`);
    return null;
  }
  // Where nobody has to sign, nobody need be able to.
  const isNobody = rules.length === 0 && !listed.has(ALLOWED_SIGNERS);
  const signers = isNobody
    ? ({ ok: true, text: '' } as const)
    : await readTextFile(join(folder, ALLOWED_SIGNERS));
  const loaded = signers.ok ? loadSigners(signers.text) : { ok: false as const, mistake: signers.message };
  if (!signers.ok || !loaded.ok) {
    troubles.push(`"${ALLOWED_SIGNERS}": ${loaded.ok ? '' : loaded.mistake}`);
    return 'unusable';
  }
  const revoked = await readBytes(join(folder, REVOKED_KEYS));
  const gone = revoked.ok && revoked.base64 === null ? whyGone({ listed, had }, REVOKED_KEYS) : null;
  if (!revoked.ok || gone !== null) {
    troubles.push(gone ?? `"${REVOKED_KEYS}" cannot be read`);
    return 'unusable';
  }
  return { rules, signers: loaded.signers, allowedSigners: signers.text, revokedKeys: revoked.base64 };
}

/** A list of revoked keys may be binary. `base64` null: there is no such file. */
async function readBytes(
  path: string,
): Promise<{ readonly ok: true; readonly base64: string | null } | { readonly ok: false }> {
  const opened = await openByteFile(path);
  if (!opened.ok) return opened.isMissing ? { ok: true, base64: null } : { ok: false };
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened.chunks) chunks.push(Uint8Array.from(chunk));
    return { ok: true, base64: Buffer.concat(chunks).toString('base64') };
  } catch {
    return { ok: false };
  }
}

/** A rule for a policy that is not there binds nothing: most likely its name is a mistake. */
function unboundOf(
  told: Readonly<Record<string, readonly string[]>>,
  known: readonly string[],
): readonly string[] {
  return Object.entries(told).flatMap(([file, names]) =>
    [...new Set(names)]
      .filter((name) => !known.includes(name))
      .map((name) => `"${file}" names policy "${name}", which is not in the folder`),
  );
}

/** Who is not in the list can sign nothing. */
function unknownSigners(approvals: Approvals | null): readonly string[] {
  const known = new Set(approvals?.signers.map(({ name }) => name));
  const named = new Set(approvals?.rules.flatMap(({ of }) => of));
  return [...named]
    .filter((name) => !known.has(name))
    .map((name) => `"${APPROVALS}" names "${name}", who is not in "${ALLOWED_SIGNERS}"`);
}

/** What a file of the folder begins with that is a policy, or is named by one. */
const IS_KNOWN = /^(?:policy|accounts|as_of|rates)[ \t]*:/m;
/** Files that Cambist looks for by their names, and folders. */
const LOOKED_FOR = [ALLOWED_SIGNERS, REVOKED_KEYS, FINISHING, REVOKED];
/** Files that nobody takes for rules: notes, and what is being put there. */
const IS_NO_RULE = /\.(?:md|new|part)$/;

/**
 * What in the folder binds nobody, though somebody has put it there: a file that is none of ours, and one that nearly has a name that
 * Cambist looks for. Parts of a sentence.
 * @param unused the files `*.yaml` that are no policies that can be used
 */
async function unknownIn(folder: string, unused: readonly string[]): Promise<readonly string[]> {
  const told: string[] = [];
  for (const name of unused) {
    // One after the other: there is mostly none.
    const read = await readTextFile(join(folder, name));
    if (read.ok && !IS_KNOWN.test(read.text)) told.push(`"${name}" is no policy and no file that one names`);
  }
  const other = async (below: string): Promise<readonly string[]> => {
    const names = await readdir(join(folder, below)).catch(() => []);
    return names.filter((name) => ![IS_POLICY, IS_HIDDEN, IS_NO_RULE].some((is) => is.test(name)));
  };
  for (const name of await other('.')) {
    const meant = LOOKED_FOR.includes(name) ? null : nearest(name, LOOKED_FOR);
    if (meant !== null) told.push(`"${name}" must have the name "${meant}"`);
  }
  for (const below of [FINISHING, REVOKED])
    for (const name of await other(below)) told.push(`"${join(below, name)}" is no file *.yaml`);
  return told;
}

export async function isFolder(path: string): Promise<boolean> {
  return readdir(path).then(
    () => true,
    () => false,
  );
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
