/**
 * The kill switch: people halt every write of every worker, or the writes of a policy, or in a currency
 * (`durable/halts/read.ts` keeps the halts in Temporal). A halt that cannot be understood counts as a halt of everything.
 * Pure.
 */
import { jsonBytes } from './json-bytes.ts';
import { makeProblem, type Problem } from './problems.ts';
import { isMoment, isRecord, lineOf, misshapen, oneOf, orNull, recordOf, type Fields } from './shape.ts';

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

/**
 * What a person says who has signed that a halt may end, as who has resumed it or as one of those who approve that. `signature` is one of
 * `ssh-keygen -Y sign`, base64. It counts only where a worker verifies it.
 */
export type ResumeSigned = ResumeSaid & {
  readonly as: 'starter' | 'approver';
  readonly expiresAtMs: number;
  readonly signature: string;
};

/** A halt that stands, and the moment at which Temporal took it. */
export type Halt = HaltSaid & { readonly atMs: number };

/**
 * One signal in the record of halts, as its history has it, in the order in which Temporal took them: `halt`, `resume`,
 * `approve`, a signature for a resume, or `stands`, a halt that was said before, which a new record begins with or a worker has put back.
 * `unsigned`: what a resume waits for that people must approve; it takes back nothing before. Only a worker knows that.
 */
export type HaltWord = {
  readonly word: string;
  readonly said: unknown;
  readonly atMs: number;
  readonly unsigned?: string;
};

/** Who has ended a workflow that keeps the halts, as far as its history says. */
export type RecordEnd = { readonly by: string; readonly why: string; readonly atMs: number };

/** The record of halts as Temporal has it: every workflow that has kept halts in a mode. */
export type HaltRecord = {
  /** Oldest first, over all of them. */
  readonly words: readonly HaltWord[];
  /** Temporal's ids of these workflows, the newest last; none: Temporal has no record. */
  readonly runIds: readonly string[];
  /** When the newest began; 0: there is none. */
  readonly sinceMs: number;
  /** True while the newest is open. */
  readonly isOpen: boolean;
  /** The last time that a person ended one of them; null: no person did, as far as Temporal still knows. */
  readonly ended: RecordEnd | null;
};

export const NO_RECORD: HaltRecord = { words: [], runIds: [], sinceMs: 0, isOpen: false, ended: null };

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
const SIGNED: Fields = {
  ...RESUME,
  as: oneOf('starter', 'approver'),
  expiresAtMs: isMoment,
  signature: (value) => typeof value === 'string' && /^[A-Za-z0-9+/]{1,6000}={0,2}$/.test(value),
};
const HALT: Fields = { ...SAID, atMs: isMoment };
const OF_AN_END: Fields = { word: oneOf('resume', 'approve'), said: isRecord, atMs: isMoment };

const EVERYTHING: HaltScope = { policy: null, currency: null };

/** The halts that stand by a record, oldest first. */
export function haltsAfter(words: readonly HaltWord[]): readonly Halt[] {
  const halts = new Map<string, Halt>();
  const ofScope = new Map<string, string[]>();
  const known = new Set<string>();
  for (const word of words) {
    const name = namedBy(word);
    // A resume that cannot be understood takes back no halt, nor does one that people must approve and have not.
    if (name === null) continue;
    const isBack = word.word === 'stands' && known.has(name);
    known.add(name);
    if (word.word === 'resume') halts.delete(name);
    // What was said of this very halt decides, even where another person puts it back.
    if (word.word === 'resume' || isBack) continue;
    const halt = haltIn(word);
    const scopeName = JSON.stringify([halt.scope.policy, halt.scope.currency]);
    const names = ofScope.get(scopeName) ?? [];
    // A halt that is said again takes the place of those before it; one that is put back stands beside them.
    if (word.word !== 'stands') for (const earlier of names.splice(0)) halts.delete(earlier);
    ofScope.set(scopeName, names);
    names.push(name);
    halts.set(name, halt);
  }
  return [...halts.values()];
}

/**
 * The halts that may stand for a worker, oldest first, whatever was resumed: only workers know whether a resume counts. A drill's end does.
 */
function mayStand(words: readonly HaltWord[]): readonly Halt[] {
  return haltsAfter(words.filter((word) => resumedBy(word) === null));
}

/** A halt that a new record begins with, or what people have said of the end of one, with its moment. */
export type Carried = Halt | Pick<HaltWord, 'word' | 'said' | 'atMs'>;

/** A new record begins with so many bytes at most, each of the three parts. Temporal takes 2 MiB in all. */
const MOST_BYTES = 131_072;
/** Of the end of each halt it has so many signatures at most, the oldest and the newest. */
const MOST_SIGNATURES = 16;

/**
 * What a command begins a new record with: all that may stand, with the resumes and signatures by which workers judge it. A halt must
 * not be lost, since somebody has resumed it without the signatures of others; nor may one stand again that was resumed with them.
 * Whoever may write to the namespace may have said far too much: what is left out stays halted, until people resume or sign it again.
 */
export function carriedFrom(words: readonly HaltWord[]): readonly Carried[] {
  const halts = boundedHalts(mayStand(words));
  const [resumes, signatures] = [resumesByHalt(words), signaturesIn(words)];
  // The newest are those that people most likely wait for.
  const names = halts.map((halt) => nameText(nameOf(halt))).toReversed();
  const resumed = names.flatMap((name) => resumes.get(name) ?? []);
  const signed = names.flatMap((name) => {
    const all = signatures.get(name) ?? [];
    const half = MOST_SIGNATURES / 2;
    return [...all.slice(0, half), ...all.slice(half).slice(-half)];
  });
  return [
    ...halts,
    ...thatFit(resumed.map(({ said, atMs }) => ({ word: 'resume', said, atMs }))),
    ...thatFit(signed.map(({ atMs, ...said }) => ({ word: 'approve', said, atMs }))),
  ];
}

/** Halts that a new record begins with. Where they are too many for one, everything is halted. Drills stop nothing, and are left out. */
export function boundedHalts(halts: readonly Halt[]): readonly Halt[] {
  const meant = halts.filter((halt) => drillOf(halt.scope) === null);
  const fit = thatFit(meant);
  if (fit.length === meant.length) return meant;
  const why = `so much was halted that a new record cannot hold it: ${meant.length} halts`;
  // A moment of its own, so that no resume of another halt is one of this.
  const atMs = 1 + meant.reduce((newest, halt) => Math.max(newest, halt.atMs), 0);
  return [...fit, { scope: EVERYTHING, by: 'Cambist', why, atMs }];
}

/** What a new record begins with where it could not be read what stood before. */
export function haltOfUnread(atMs: number): Halt {
  return { scope: EVERYTHING, by: 'Cambist', why: 'what was halted before could not be read', atMs };
}

function thatFit<One>(all: readonly One[]): readonly One[] {
  let bytes = 0;
  return all.filter((one) => {
    bytes += jsonBytes(one);
    return bytes <= MOST_BYTES;
  });
}

/** The halt of the same scope that stood when this was said last; null: there was none. */
export function replacedBy(words: readonly HaltWord[], { scope: of, by, why }: HaltSaid): Halt | null {
  const index = words.findLastIndex(
    ({ word, said }) =>
      word === 'halt' && isSaid(said) && said.by === by && said.why === why && isSameScope(said.scope, of),
  );
  if (index === -1) return null;
  return haltsAfter(words.slice(0, index)).find((halt) => isSameScope(halt.scope, of)) ?? null;
}

/** What a new record begins with, at `atMs`. What is no word about the end of a halt is a halt that stood then. */
export function beginsWith(carried: unknown, atMs: number): readonly HaltWord[] {
  const all: readonly unknown[] = Array.isArray(carried) ? carried : [carried];
  return all.map((one) => (isOfAnEnd(one) ? one : { word: 'stands', said: one, atMs }));
}

/** A halt that cannot be understood is one of everything. */
function haltIn({ word, said, atMs }: HaltWord): Halt {
  if (word === 'stands') return isHalt(said) ? said : unreadable(atMs);
  return isSaid(said) ? { ...said, atMs } : unreadable(atMs);
}

/** The halt that the word says, or takes back, by its name; null: none. A resume that lacks signatures does neither. */
function namedBy(word: HaltWord): string | null {
  if (word.word === 'approve') return null;
  if (word.word !== 'resume') return nameText(nameOf(haltIn(word)));
  return word.unsigned === undefined && isResume(word.said) ? nameText(word.said) : null;
}

/** A halt, a resume or a signature for one as it was said, and when. */
export type HaltSeen =
  | ({ readonly kind: 'halt' } & Halt)
  | ({ readonly kind: 'resume'; readonly atMs: number } & ResumeSaid)
  | ({ readonly kind: 'approve'; readonly atMs: number } & ResumeSigned);

/** The halts, resumes and signatures that a worker has seen, some perhaps twice. Those of drills are none. */
export function seenIn({ record, halts }: HaltsHeld): readonly HaltSeen[] {
  const words = record?.words ?? [];
  const signed = [...signaturesIn(words).values()].flat();
  const seen = words.flatMap((word): HaltSeen | readonly HaltSeen[] => {
    if (word.word === 'approve') return [];
    if (word.word !== 'resume') return { kind: 'halt', ...haltIn(word) };
    const { said, atMs } = word;
    return isResume(said) ? { kind: 'resume', ...said, atMs } : [];
  });
  // What a worker holds because the record is gone, nobody has said.
  const held = halts.map((halt): HaltSeen => ({ kind: 'halt', ...halt }));
  const approved = signed.map((one): HaltSeen => ({ kind: 'approve', ...one }));
  return [...seen, ...held, ...approved].filter(({ scope: of }) => drillOf(of) === null);
}

/** What a worker goes by: what it has read last, and what it has seen and Temporal has lost. */
export type HaltsHeld = {
  /** Null: it has read nothing. */
  readonly record: HaltRecord | null;
  readonly halts: readonly Halt[];
  /** Those of the halts of which the record knows nothing. */
  readonly lost: readonly Halt[];
  /** What it has read, or has held until this reading, and is over: it was resumed, or a later halt has taken its place. */
  readonly over: readonly Halt[];
};

/** What a worker goes by that has read nothing yet. `halts`: what workers before it have seen, and not seen the end of. */
export function holding(halts: readonly Halt[]): HaltsHeld {
  return { record: null, halts, lost: [], over: [] };
}

/**
 * A halt that was seen holds until a resume that names it. No other end of the record lets anything go: not when a person
 * terminates or deletes its workflow, or starts it again empty.
 */
export function heldAfter({ record: last, halts: before }: HaltsHeld, record: HaltRecord): HaltsHeld {
  const held = last !== null && isGone(last, record) ? [...before, haltOfGone(last)] : before;
  const known = new Set(record.words.map(namedBy));
  // A drill stops nothing, and ends by itself.
  const meant = held.filter((halt) => drillOf(halt.scope) === null);
  const lost = meant.filter((halt) => !known.has(nameText(nameOf(halt))));
  const halts = [...lost, ...haltsAfter(record.words)];
  const standing = new Set(halts.map((halt) => nameText(nameOf(halt))));
  const over = [...meant, ...haltsSaid(record.words)].filter((halt) => !standing.has(nameText(nameOf(halt))));
  return { record, halts, lost, over };
}

/** The halts that the words say, whatever has become of them. Drills are none. */
function haltsSaid(words: readonly HaltWord[]): readonly Halt[] {
  const said = words.flatMap((word) =>
    word.word === 'resume' || word.word === 'approve' ? [] : haltIn(word),
  );
  return said.filter((halt) => drillOf(halt.scope) === null);
}

/** An open workflow that Temporal does not have any more may have kept halts that no worker has read. */
function isGone({ isOpen, runIds }: HaltRecord, { runIds: there }: HaltRecord): boolean {
  const newest = runIds.at(-1);
  return isOpen && newest !== undefined && !there.includes(newest);
}

/** The same for every worker that had read this record, so that one resume names it for all of them. */
function haltOfGone({ sinceMs: atMs }: HaltRecord): Halt {
  const why =
    'the record of what is halted, which began then, is gone from Temporal; what stood in it last is not known';
  return { scope: EVERYTHING, by: 'a worker', why, atMs };
}

/** A resume, and what people have signed for it. */
export type Resumed = {
  readonly said: ResumeSaid;
  readonly atMs: number;
  readonly signed: readonly (ResumeSigned & { readonly atMs: number })[];
};

/** The resume that the word is; null: it is none, or that of a drill, which stops nothing. */
export function resumedBy({ word, said, atMs }: HaltWord): Pick<Resumed, 'said' | 'atMs'> | null {
  return word === 'resume' && isResume(said) && drillOf(said.scope) === null ? { said, atMs } : null;
}

/** The last resume of each halt, whether it counts or not, with what people have signed for the end of that halt. */
export function resumesIn(words: readonly HaltWord[]): readonly Resumed[] {
  return [...resumesByHalt(words).values()];
}

function resumesByHalt(words: readonly HaltWord[]): ReadonlyMap<string, Resumed> {
  const signatures = signaturesIn(words);
  const last = new Map<string, Resumed>();
  for (const word of words) {
    const resumed = resumedBy(word);
    if (resumed === null) continue;
    const name = nameText(resumed.said);
    last.set(name, { ...resumed, signed: signatures.get(name) ?? [] });
  }
  return last;
}

/** What people have signed for the end of this halt. */
export function signedFor(words: readonly HaltWord[], halt: HaltName): Resumed['signed'] {
  return signaturesIn(words).get(nameText(halt)) ?? [];
}

/** The signatures for the end of each halt, by its name. Each counts once, from when Temporal took it first. */
function signaturesIn(words: readonly HaltWord[]): ReadonlyMap<string, Resumed['signed']> {
  const all = new Map<string, Map<string, Resumed['signed'][number]>>();
  for (const { word, said, atMs } of words) {
    if (word !== 'approve' || !isSigned(said)) continue;
    const name = nameText(said);
    const signed = all.get(name) ?? new Map<string, Resumed['signed'][number]>();
    all.set(name, signed);
    const id = JSON.stringify([said.as, said.expiresAtMs, said.signature]);
    if (!signed.has(id)) signed.set(id, { ...said, atMs });
  }
  return new Map([...all].map(([name, signed]) => [name, [...signed.values()]]));
}

/** A halt whose end people may have to sign, and the last resume of it; null: nobody has resumed it. */
export type ToEnd = { readonly halt: Halt; readonly resumed: Resumed | null };

/**
 * The halts of exactly this scope whose end may wait for signatures. Once its record is gone, a worker may hold several of one scope. Where
 * nobody has resumed one yet, the last.
 */
export function endsToSign(words: readonly HaltWord[], of: HaltScope): readonly ToEnd[] {
  const resumes = resumesByHalt(words);
  const ends = mayStand(words)
    .filter((halt) => isSameScope(halt.scope, of))
    .map((halt): ToEnd => ({ halt, resumed: resumes.get(nameText(nameOf(halt))) ?? null }));
  const resumed = ends.filter((one) => one.resumed !== null);
  return resumed.length > 0 ? resumed : ends.slice(-1);
}

/** What the end of a halt waits for that a person has resumed; null: nobody has, or nothing must be signed. */
export function unsignedOf(words: readonly HaltWord[], halt: Halt): string | null {
  const word = words.findLast(
    ({ word: kind, said }) => kind === 'resume' && isResume(said) && isNamedBy(said, halt),
  );
  return word?.unsigned ?? null;
}

/** The text that a person signs. Another halt of the same scope has another moment. */
export function resumeToSign({
  as,
  mode,
  namespace,
  scope: { policy, currency },
  haltAtMs,
  expiresAtMs,
}: Pick<ResumeSigned, 'as' | 'scope' | 'haltAtMs' | 'expiresAtMs'> & {
  readonly mode: string;
  readonly namespace: string;
}): string {
  const signed = {
    form: 'cambist-resume-1',
    as,
    mode,
    namespace,
    policy,
    currency,
    halt: new Date(haltAtMs).toISOString(),
    expires: new Date(expiresAtMs).toISOString(),
  };
  return `${JSON.stringify(signed, null, 2)}\n`;
}

/** `unsigned` is none of its fields: only a worker says that. */
function isOfAnEnd(carried: unknown): carried is HaltWord {
  return isRecord(carried) && misshapen(carried, OF_AN_END) === null;
}

function isSigned(said: unknown): said is ResumeSigned {
  return isRecord(said) && misshapen(said, SIGNED) === null;
}

function isSaid(said: unknown): said is HaltSaid {
  return isRecord(said) && misshapen(said, SAID) === null;
}

function isHalt(said: unknown): said is Halt {
  return isRecord(said) && misshapen(said, HALT) === null;
}

function isResume(said: unknown): said is ResumeSaid {
  return isRecord(said) && misshapen(said, RESUME) === null;
}

/** What identifies a halt. */
export type HaltName = Pick<ResumeSaid, 'scope' | 'haltAtMs'>;

function nameOf({ scope: of, atMs: haltAtMs }: Halt): HaltName {
  return { scope: of, haltAtMs };
}

/** The same name for the same halt. */
export function nameText({ scope: of, haltAtMs }: HaltName): string {
  return JSON.stringify([of.policy, of.currency, haltAtMs]);
}

/** True for the halt that a resume takes back. */
function isNamedBy({ scope: of, haltAtMs }: HaltName, halt: Halt): boolean {
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
  return `${by} has halted ${scopeText(of)} since ${momentText(atMs)}: "${why}".`;
}

/** Of a halt that a worker holds by the journals of those before it, for its log. */
export function rememberedText(halt: Halt): string {
  return `${haltSentence(halt)} A journal of this worker’s folder says so, and the record in Temporal does not. The worker holds it until \`npx cambist resume${scopeOptions(halt.scope)}\`.`;
}

/** `ben@laptop ended the workflow that keeps what is halted, at 2026-11-23 06:12:03 UTC: "tidying up".` */
export function endedSentence({ by, why, atMs }: RecordEnd): string {
  return `${by} ended the workflow that keeps what is halted, at ${momentText(atMs)}: "${why}".`;
}

/** `by dan at 2026-11-23 06:12:03 UTC: "seen"`, of a resume. */
export function resumedText({ said: { by, why }, atMs }: Pick<Resumed, 'said' | 'atMs'>): string {
  return `by ${by} at ${momentText(atMs)}: "${why}"`;
}

function momentText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/**
 * The answer for a write that a halt stops.
 * @param unsigned what its end waits for, since a person has resumed it; null: nobody has
 */
export function halted(halt: Halt, unsigned: string | null = null): Closed {
  const until = unsigned === null ? 'Cambist sends nothing of it until a person resumes it.' : `${unsigned}.`;
  const problem = makeProblem('HALTED', null, {
    message: `${haltSentence(halt)} ${until}`,
    fix:
      unsigned !== null
        ? `Those who are missing type \`npx cambist resume${scopeOptions(halt.scope)} --approve FILE\`; who has resumed it types the same with --sign. The run then goes on by itself.`
        : `When it may go on: \`npx cambist resume${scopeOptions(halt.scope)}\`; the run then goes on by itself.`,
  });
  return { kind: 'halted', problem };
}
