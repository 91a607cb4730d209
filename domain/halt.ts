/**
 * The kill switch: people halt every write of every worker, or the writes of a policy, or in a currency
 * (`durable/halts/read.ts` keeps the halts in Temporal). A halt that cannot be understood counts as a halt of everything.
 * Pure.
 */
import { makeProblem, type Problem } from './problems.ts';
import { isMoment, isRecord, lineOf, misshapen, orNull, recordOf, type Fields } from './shape.ts';

/**
 * A worker may send writes by its reading of the halts for this long, counted from before it asked. This long after Temporal
 * has taken a halt, no worker sends anything that it stops.
 */
export const READING_HOLDS_MS = 1_000;

/** Null: every policy, or every currency. A halt stops a write only when both match. */
export type HaltScope = { readonly policy: string | null; readonly currency: string | null };

/** What a person says with `halt`. */
export type HaltSaid = { readonly scope: HaltScope; readonly by: string; readonly why: string };

/**
 * What a person says with `resume`. `haltAtMs`: the moment of the halt that the person has seen and takes back. A halt of
 * the same scope that came later stands.
 */
export type ResumeSaid = HaltSaid & { readonly haltAtMs: number };

/** A halt that stands, and the moment at which Temporal took it. */
export type Halt = HaltSaid & { readonly atMs: number };

/** One signal in the workflow that keeps the halts, as its history has it. */
export type HaltWord = { readonly word: string; readonly said: unknown; readonly atMs: number };

/** The facts of a write that decide whether a halt stops it. */
export type HaltedWrite = { readonly policy: string; readonly currencies: readonly string[] };

/** Why nothing may be sent: people have halted it, or it is not known whether they have. */
export type Closed = { readonly kind: 'halted' | 'unreadable'; readonly problem: Problem };

/** No policy can have this name: a policy's name has no slash. */
const DRILL = 'halt-drill/';

/** The scope of a drill's halt: everything of a policy with a name that no policy can have. */
export function drillScope(name: string): HaltScope {
  return { policy: `${DRILL}${name}`, currency: null };
}

/** The name of the drill that has this scope; null: it is a halt by people. */
export function drillOf({ policy }: HaltScope): string | null {
  return policy?.startsWith(DRILL) === true ? policy.slice(DRILL.length) : null;
}

const scope: Fields = { policy: orNull(lineOf(100)), currency: orNull(lineOf(10)) };
const SAID: Fields = { scope: recordOf(scope), by: lineOf(500), why: lineOf(2_000) };
const RESUME: Fields = { ...SAID, haltAtMs: isMoment };
const HALT: Fields = { ...SAID, atMs: isMoment };

const EVERYTHING: HaltScope = { policy: null, currency: null };

/**
 * The halts that stand, oldest first.
 * @param carried the halts that stood when the record began
 * @param words what people have said since, oldest first
 */
export function haltsAfter(carried: unknown, words: readonly HaltWord[]): readonly Halt[] {
  let halts: readonly Halt[] = carriedHalts(carried);
  for (const { word, said, atMs } of words) {
    if (word === 'resume') {
      // A resume that cannot be understood takes back no halt.
      if (isResume(said)) halts = halts.filter((halt) => !isNamedBy(said, halt));
      continue;
    }
    const halt: Halt = isSaid(said) ? { ...said, atMs } : unreadable(atMs);
    halts = [...halts.filter((one) => !isSameScope(one.scope, halt.scope)), halt];
  }
  return halts;
}

function carriedHalts(carried: unknown): readonly Halt[] {
  if (Array.isArray(carried) && carried.every((halt) => misshapen(halt, HALT) === null))
    return carried as readonly Halt[];
  return [unreadable(0)];
}

function isSaid(said: unknown): said is HaltSaid {
  return isRecord(said) && misshapen(said, SAID) === null;
}

function isResume(said: unknown): said is ResumeSaid {
  return isRecord(said) && misshapen(said, RESUME) === null;
}

/** True for the halt that a resume takes back. */
function isNamedBy({ scope: of, haltAtMs }: Pick<ResumeSaid, 'scope' | 'haltAtMs'>, halt: Halt): boolean {
  return isSameScope(halt.scope, of) && halt.atMs === haltAtMs;
}

function unreadable(atMs: number): Halt {
  return { scope: EVERYTHING, by: 'unknown', why: 'what was said cannot be read', atMs };
}

export function isSameScope(one: HaltScope, other: HaltScope): boolean {
  return one.policy === other.policy && one.currency === other.currency;
}

/** The halt that stops this write; null: none does. */
export function haltOf(halts: readonly Halt[], { policy, currencies }: HaltedWrite): Halt | null {
  const isOf = ({ scope: of }: Halt): boolean =>
    (of.policy === null || of.policy === policy) &&
    (of.currency === null || currencies.includes(of.currency));
  return halts.find(isOf) ?? null;
}

/** `policy "mxn-supplier" in MXN`. */
export function scopeText({ policy, currency }: HaltScope): string {
  if (policy === null) return currency === null ? 'everything' : `everything in ${currency}`;
  return currency === null ? `policy "${policy}"` : `policy "${policy}" in ${currency}`;
}

/** The scope as options of `halt` and `resume`; it begins with a blank, or is empty. */
export function scopeOptions({ policy, currency }: HaltScope): string {
  return `${policy === null ? '' : ` --policy ${policy}`}${currency === null ? '' : ` --currency ${currency}`}`;
}

/** `ana has halted everything since 2026-11-23 06:12:03 UTC: "wrong accounts".` */
export function haltSentence({ scope: of, by, why, atMs }: Halt): string {
  const since = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
  return `${by} has halted ${scopeText(of)} since ${since} UTC: "${why}".`;
}

/** The answer for a write that a halt stops. */
export function halted(halt: Halt): Closed {
  const problem = makeProblem('HALTED', null, {
    message: `${haltSentence(halt)} Cambist sends nothing of it until a person resumes it.`,
    fix: `When it may go on: \`npx cambist resume${scopeOptions(halt.scope)}\`; the run then goes on by itself.`,
  });
  return { kind: 'halted', problem };
}
