/**
 * The approvals that a worker asks for, behind what its folder allows (`write-gate.ts`). Where a rule of `approvals.yaml` names the policy
 * of a write, the worker reads the plan of the run, the rows of its batch and what people have signed, each itself. It believes nothing
 * of what a workflow hands over. Without such a rule it reads nothing. What a person has said that lacks its signatures counts as not
 * said, wherever this worker acts by what people have said. What cannot be judged is marked as that, and what it names waits.
 */
import pLimit from 'p-limit';
import { createHash } from 'node:crypto';
import { CHUNK, MOST_CHUNKS, type BatchPayment, type ChunkDigest } from '../domain/batch.ts';
import type { Plan } from '../domain/plan/plan.ts';
import {
  eightOf,
  instructionsAbout,
  lastAlikeList,
  type Kept,
  type PaidAgain,
  type Recorded,
} from '../domain/people/instructions.ts';
import { firstReference, generationOf, runName, runOf, type RunName } from '../domain/references.ts';
import type { PlanState } from '../domain/run/calls.ts';
import type { Mode } from '../domain/service/records.ts';
import {
  NOTHING_MOVED,
  isSignable,
  movedAgain,
  movedBefore,
  movedByMost,
  movedByPlan,
  movedByRows,
  paysAgain,
  quoted,
  signableText,
  signedKind,
  standingBy,
  standingText,
  textToSign,
  together,
  whyCovered,
  whyNotOfPlan,
  type Moved,
  type Signable,
  type Signed,
  type ToSign,
  type ToVerify,
  type Verified,
} from '../domain/writes/approvals.ts';
import { rulesFor, type ApprovalRule, type Approvals } from '../domain/writes/approval-rules.ts';
import {
  itemOf,
  versionsFor,
  type AllowedPolicy,
  type GatedWrite,
  type PoliciesRead,
} from '../domain/writes/write-gate.ts';
import { dateOfRunId, sendWindowsOf } from '../calendar/business-date.ts';
import { hashOfChunk, isListOf } from '../language/batch/chunk-hash.ts';
import { planHash } from '../language/plan-hash.ts';
import { keyOfSignature } from '../language/ssh-signers.ts';
import type { Clock, Deps } from './deps.ts';
import { ageMs, momentOf } from './moment.ts';
import { putLast } from './put-last.ts';
import { minuteText } from '../domain/waits.ts';
import { SharedReads } from './shared-read.ts';
import type { ApprovalGate, NotApproved } from './write-gate.ts';

type Options = {
  readonly mode: Mode;
  readonly organisation: string;
  readonly clock: Clock;
  readonly readPlan: (run: RunName) => Promise<PlanState>;
  /** What people have said; with a chunk, also which of its payments are paid again. */
  readonly readWords: (run: RunName, chunk: number | null) => Promise<Kept>;
  /** The rows with which a chunk was started; null: Temporal does not show it. */
  readonly readRows: (run: RunName, chunk: number) => Promise<readonly BatchPayment[] | null>;
  /** Verifies by `ssh-keygen` (`config/ssh-keygen.ts`). */
  readonly verify: (asked: ToVerify) => Promise<Verified>;
};

const PLAN_READ_MS = 5_000;
const WORDS_READ_MS = 1_000;
/** So long a write waits that people must approve. */
const ASK_AGAIN_MS = 60_000;
/** The same while something cannot be read, or is not verified yet. */
const SOON_MS = 5_000;
/**
 * Whoever may write to Temporal can say as much as he likes. So many signatures of a run that were not verified before are verified at
 * a time: half of them the newest, so that a person who signs once more does not stand behind a flood, and half the oldest, so that a
 * flood that goes on does not keep back what stood before it.
 */
const MOST_AT_ONCE = 16;
/**
 * So many results are remembered. A key may cease to be valid, so that a good one is asked for again soon. It may also begin to be, so
 * that a bad one is asked for again later, after all that were never verified.
 */
const MOST_RESULTS = 20_000;
const GOOD_MS = 60_000;
const BAD_MS = 3_600_000;
/** So many sums of chunks, plans and lists of what is paid again are kept. */
const MOST_SUMS = 2_000;
const ROWS_SIDE_BY_SIDE = 5;
/** What has a hash in its name never grows old. */
const FOR_EVER = Number.POSITIVE_INFINITY;

/** The approvals of a worker. */
export type ApprovalsOfWorker = {
  /** Why a write does not leave. */
  readonly whyNot: ApprovalGate;
  /** The instructions of a run, and which of them count as not said, because people must approve them. */
  readonly heard: (run: RunName, kept: Kept) => Promise<Kept>;
};

/** @param readFolder reads what the folder says now, for `heard` */
export function approvalGate(options: Options, readFolder: () => Promise<PoliciesRead>): ApprovalsOfWorker {
  const judge = new Judge(options);
  return {
    whyNot: async (write, approvals, versions, chunk) => {
      try {
        return await judge.write(write, approvals, { versions, chunk });
      } catch (error) {
        return { code: 'NOT_SENT', reason: unread(write.reference, error), afterMs: SOON_MS };
      }
    },
    heard: async (run, kept) => {
      const all = signableIn(kept);
      if (all.length === 0) return kept;
      try {
        return asHeard(kept, await judge.unsignedOf(run, { kept, all, folder: await readFolder() }));
      } catch (error) {
        const reason = `${unread(runName(run), error)}; nothing of the item is sent before that.`;
        return asHeard(
          kept,
          all.map(({ id }) => ({ id, reason, isJudged: false })),
        );
      }
    },
  };
}

/** An instruction that counts as not said. `isJudged`: false where it cannot be told now whether people have approved it. */
type NotSaid = { readonly id: string; readonly reason: string; readonly isJudged: boolean };

function asHeard(kept: Kept, all: readonly NotSaid[]): Kept {
  if (all.length === 0) return kept;
  const unjudged = all.flatMap(({ id, isJudged }) => (isJudged ? [] : [id]));
  const unsigned = Object.fromEntries(all.map(({ id, reason }) => [id, reason]));
  return { ...kept, unsigned, ...(unjudged.length > 0 && { unjudged }) };
}

/** The instructions of runs, as this worker may act by them. */
export function heeding(
  instructions: Deps['instructions'],
  heard: ApprovalsOfWorker['heard'],
): Deps['instructions'] {
  return {
    ...instructions,
    read: async (mode, run, chunk) => heard(run, await instructions.read(mode, run, chunk)),
  };
}

function unread(what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `the worker cannot read now what approvals are judged by, for ${what} (${why})`;
}

/** What a rule covers, and why. `version`: the policy of the folder by which the plan was made; null: it has none. */
type Covered = {
  readonly version: AllowedPolicy | null;
  readonly covering: readonly { readonly rule: ApprovalRule; readonly why: string }[];
  /** All rules of its policy cover it. */
  readonly isByAll: boolean;
};

/** By what is judged whether people must approve something of a run. */
type Basis = {
  readonly plan: Plan;
  readonly approvals: Approvals;
  readonly versions: readonly AllowedPolicy[];
  /** What the rows of its batch move. */
  readonly rows: Moved;
};

/** What is judged, with all that it is judged by. */
type Case = Covered & Pick<Basis, 'plan' | 'approvals'> & { readonly kept: Kept };

/** What people have said, as it was judged. */
type Heard = {
  readonly notSaid: readonly NotSaid[];
  /** What is paid again up to each instruction, by its id. None, where that does not matter. */
  readonly moved: ReadonlyMap<string, Moved>;
};

class Judge {
  readonly #options: Options;
  readonly #plans: SharedReads<PlanState>;
  readonly #words: SharedReads<Kept>;
  readonly #rows: ReadRows;
  readonly #verifying: Verifying;

  constructor(options: Options) {
    this.#options = options;
    this.#plans = new SharedReads(options.clock);
    this.#words = new SharedReads(options.clock);
    this.#rows = new ReadRows(options);
    this.#verifying = new Verifying(options.clock, options.verify);
  }

  async write(
    write: GatedWrite,
    approvals: Approvals,
    { versions, chunk }: { readonly versions: readonly AllowedPolicy[]; readonly chunk: number | null },
  ): Promise<NotApproved | null> {
    const run = runOf(write.reference);
    if (run === null) return notAllowed(`"${write.reference}" is no reference of a run`);
    if (rulesFor(approvals, run.policy).length === 0) return null;
    const plan = await this.#planOf(run);
    if (plan === null) return notAllowed(`the plan that Temporal has of ${runName(run)} is another one’s`);
    const basis: Basis = { plan, approvals, versions, rows: await this.#rows.movedBy(plan) };
    const isOfRows = chunk !== null && plan.batch !== null;
    const strange = isOfRows ? null : whyNotOfPlan(plan, [], write);
    if (strange !== null) return notAllowed(strange);
    const refusal = await this.#unsigned(basis, write, chunk);
    if (refusal !== null || !isOfRows) return refusal;
    // Only now: while people have not signed, no row is read.
    const other = whyNotOfPlan(plan, await this.#rows.ofChunk(plan, chunk), write);
    return other === null ? null : notAllowed(other);
  }

  /** Which signatures the write lacks, or who has not said that it is made; null: nothing. */
  async #unsigned(basis: Basis, write: GatedWrite, chunk: number | null): Promise<NotApproved | null> {
    const { run } = basis.plan;
    const eight = eightOf(generationOf(firstReference(write.reference), write.reference) ?? 1);
    const isOfPlan = eight === 0;
    const before = movedBefore(write);
    const covered = coveredBy(basis, [before]);
    if (isOfPlan && covered.covering.length === 0) return null;
    const { clock, readWords } = this.#options;
    const began = momentOf(clock);
    // Which payments of a chunk are paid again stands with the chunk.
    const ofWords = isOfPlan ? null : chunk;
    const words = this.#words.get(`${runName(run)}/${ofWords ?? ''}`, () => readWords(run, ofWords));
    const byWords = async (kept: Kept): Promise<NotApproved | null> => {
      if (isOfPlan) return this.#refusal({ ...basis, ...covered, kept }, null);
      // What a person lets be paid again is no part of what was signed with the plan.
      const item = itemOf(write.reference);
      const { notSaid, moved } = await this.#heard(basis, kept, signableIn(kept).filter(paysAgain));
      const said = openingOf(asHeard(kept, notSaid), { item, eight, chunk });
      if (typeof said === 'string') return notAllowed(said);
      const paid = moved.get(said.id);
      const more = paid === undefined ? [before] : [before, paid];
      return this.#refusal({ ...basis, ...coveredBy(basis, more), kept }, said);
    };
    const first = words.read(WORDS_READ_MS);
    const refusal = await byWords(await first.value);
    // A signature wakes its run: what was read just before that must not keep the run waiting.
    const again = refusal === null ? first : words.read(ageMs(clock, began));
    return again === first ? refusal : byWords(await again.value);
  }

  /** Why instructions count as not said. One that counts is left out. */
  async unsignedOf(
    run: RunName,
    {
      kept,
      all,
      folder: { approvals, policies },
    }: { readonly kept: Kept; readonly all: readonly Signable[]; readonly folder: PoliciesRead },
  ): Promise<readonly NotSaid[]> {
    // A folder that cannot be used, or is just being changed, says nothing of what must be approved.
    if (policies.length === 0) throw new Error('the folder of policies cannot be used');
    if (approvals === null || rulesFor(approvals, run.policy).length === 0) return [];
    const versions = versionsFor(policies, run.policy, dateOfRunId(run.id));
    const plan = await this.#planOf(run);
    if (plan === null) throw new Error('its plan is another one’s');
    const basis: Basis = { plan, approvals, versions, rows: await this.#rows.movedBy(plan) };
    return (await this.#heard(basis, kept, all)).notSaid;
  }

  async #heard(basis: Basis, kept: Kept, all: readonly Signable[]): Promise<Heard> {
    const isCovered = coveredBy(basis, []).isByAll;
    const moved = isCovered ? new Map<string, Moved>() : await this.#movedUpTo(basis, all);
    const notSaid = await Promise.all(
      all.map(async (said): Promise<readonly NotSaid[]> => {
        const { id } = said;
        const covered = coveredBy(basis, [moved.get(id) ?? NOTHING_MOVED]);
        const refusal = await this.#refusal({ ...basis, ...covered, kept }, said);
        const reason = refusal?.reason ?? whyNotListed(kept, said);
        return reason === null ? [] : [{ id, reason, isJudged: refusal?.isJudged ?? true }];
      }),
    );
    return { notSaid: notSaid.flat(), moved };
  }

  /**
   * What is paid again by each instruction and by those that people have said before it. All of them add up, signed or not: signatures
   * expire, and what was paid by them stays paid.
   */
  async #movedUpTo(basis: Basis, all: readonly Signable[]): Promise<ReadonlyMap<string, Moved>> {
    const moved = new Map<string, Moved>();
    let before = NOTHING_MOVED;
    for (const said of all) {
      // One after the other: the rows of few chunks are kept at a time.
      const paid = paysAgain(said) ? await this.#paidAgain(basis, said) : [];
      before = together([before, ...paid]);
      moved.set(said.id, before);
    }
    return moved;
  }

  /** What an instruction lets be paid once more. */
  async #paidAgain(
    { plan, rows }: Basis,
    said: Extract<Signable, { readonly kind: `pay ${string}` }>,
  ): Promise<readonly Moved[]> {
    if (said.kind === 'pay again') return movedAgain(plan, said.item, [rows]);
    const chunks = plan.batch?.chunks.length ?? 0;
    const ofPlan = said.chunks.filter(([number]) => number <= chunks);
    return Promise.all(ofPlan.map(([number, count]) => this.#rows.mostOf(plan, number, count)));
  }

  /** Null: it is the plan of another run, date, mode or organisation. @throws Error when there is none */
  async #planOf(run: RunName): Promise<Plan | null> {
    const { readPlan, mode, organisation } = this.#options;
    const state = await this.#plans.get(runName(run), () => readPlan(run)).value(PLAN_READ_MS);
    if (state.kind !== 'plan') throw new Error('its plan is not there');
    const { plan } = state;
    const isOwn = plan.credentials.mode === mode && plan.credentials.organisation === organisation;
    return runName(plan.run) === runName(run) && isOwn && isOfItsDate(plan) ? plan : null;
  }

  /** @param said the instruction that must be signed; null: the plan must be */
  async #refusal(theCase: Case, said: Signable | null): Promise<Unapproved | null> {
    const { plan, covering, version, approvals, kept } = theCase;
    const [first] = covering;
    if (first === undefined) return null;
    const name = `run ${runName(plan.run)}${said === null ? '' : `, ${signableText(said)}`}`;
    const asked = `${name}: ${first.why}`;
    if (version === null)
      return awaiting(
        true,
        `${asked}; the policy "${plan.run.policy}" of the folder or its destinations have changed since its plan was made, so that no signature for ${said === null ? 'this plan counts: put them back, or start a new run' : 'what people say about it counts: put the file as it was into the folder "finishing" (destinations: back where they were)'}`,
      );
    const nowMs = this.#options.clock.wallMs();
    if (said !== null && said.atMs > nowMs + AHEAD_MS) return awaiting(true, `${asked}; ${toCome(said)}`);
    const rules = covering.map(({ rule }) => rule);
    const signed = await this.#verifying.signedIn(kept, approvals, { plan, hash: hashOf(plan), said, rules });
    const since = { madeAtMs: said?.atMs ?? plan.madeAtMs, nowMs };
    const all = covering.map(({ rule, why }) => {
      const standing = standingBy(rule, signed.all, approvals, since);
      if (standing.kind === 'approved') return null;
      const told = `${name}: ${why}; ${standingText(rule, standing, signedKind(said))}`;
      return unapproved(told, signed);
    });
    return all.find((one) => one !== null) ?? null;
  }
}

/** True where the plan may send as long as the date of its run says. Until then what people sign of it counts. */
function isOfItsDate({ run, sendWindows }: Plan): boolean {
  const date = dateOfRunId(run.id);
  return date !== null && sendWindows.withdrawalsUntilMs === sendWindowsOf(date, 'UTC').withdrawalsUntilMs;
}

/** Which rules cover a run that pays this besides what its plan says. */
function coveredBy({ plan, approvals, versions, rows }: Basis, more: readonly Moved[]): Covered {
  const moved = [rows, ...more];
  const version = versions.find(({ hash }) => hash === plan.policy.hash) ?? null;
  const rules = rulesFor(approvals, plan.run.policy);
  const covering = rules.flatMap((rule) => {
    const whys = (version === null ? versions : [version]).map((one) =>
      whyCovered(rule, movedByPlan(plan, one.policy, moved), one, plan),
    );
    // Where the policy is not there, nothing tells what its run moves.
    const why =
      versions.length === 0
        ? `the folder has no policy "${plan.run.policy}" for it`
        : whys.find((one) => one !== null);
    return why === undefined || why === null ? [] : [{ rule, why }];
  });
  return { version, covering, isByAll: covering.length === rules.length };
}

/** The instruction that has opened these generations of a payment; a text: why there is none that counts. */
function openingOf(
  kept: Kept,
  { item, eight, chunk }: { readonly item: string; readonly eight: number; readonly chunk: number | null },
): Signable | string {
  const { eights, awaited } = instructionsAbout(kept, item);
  const opened = [...eights, awaited].find((one) => one !== null && eightOf(one.first) === eight)?.openedBy;
  const said = kept.instructions.find(({ id }) => id === opened?.id);
  if (opened === undefined || said === undefined || !isSignable(said))
    return `no person has said that "${item}" is paid again so often`;
  if (said.kind !== 'pay these again') return said;
  const named = said.chunks.find(([number]) => number === chunk);
  return named !== undefined && isListOf(named, listedBy(kept, said))
    ? said
    : `the payments of chunk ${chunk ?? '?'} that are paid again are not those that ${quoted(said.by)} has named`;
}

/** All that people must approve. What was spelled out of a list is approved with the list. Of lists of look-alikes the last one counts. */
function signableIn({ instructions }: Kept): readonly Signable[] {
  const lists = new Set(instructions.flatMap(({ kind, id }) => (kind === 'pay these again' ? [id] : [])));
  const alike = lastAlikeList({ instructions });
  const isOver = (said: Signable): boolean =>
    said.kind === 'go-on' ? said !== alike : said.kind === 'pay again' && lists.has(said.id);
  return instructions.flatMap((said) => (isSignable(said) && !isOver(said) ? [said] : []));
}

function listedBy({ facts }: Kept, { id }: Signable): readonly PaidAgain[] {
  return facts.flatMap((fact) => (fact.kind === 'to pay again' && fact.said === id ? fact.items : []));
}

/** Why what a list of payments says counts as not said though people have approved it; null: it counts. */
function whyNotListed(kept: Kept, said: Signable): string | null {
  if (said.kind !== 'pay these again') return null;
  const listed = listedBy(kept, said);
  return listed.length === 0 || said.chunks.some((named) => isListOf(named, listed))
    ? null
    : `the payments that are paid again are not those that ${quoted(said.by)} has named`;
}

/** Far more than clocks are apart. */
const AHEAD_MS = 3_600_000;

/** What is paid again counts from the date of what was said. A later one would count longer than the service keeps a key. */
function toCome({ by, atMs }: Signable): string {
  return `what ${quoted(by)} is said to have said is dated ${minuteText(atMs)}, which is still to come`;
}

/** `isJudged`: false where signatures may be there that this worker cannot judge now. */
type Unapproved = NotApproved & { readonly isJudged: boolean };

/** Why it waits, with what is told of it. */
export function unapproved(told: string, { isUnable, isMore }: SignedSoFar): Unapproved {
  if (isUnable)
    return awaiting(
      false,
      `the worker’s ssh-keygen is missing, cannot verify or did not end in time, so that not every signature could be verified. ${told}`,
    );
  return isMore
    ? awaiting(false, `not all signatures are verified yet. ${told}`, SOON_MS)
    : awaiting(true, told);
}

function awaiting(isJudged: boolean, reason: string, afterMs = ASK_AGAIN_MS): Unapproved {
  return { code: 'AWAITING_APPROVAL', reason, afterMs, isJudged };
}

function notAllowed(reason: string): NotApproved {
  return { code: 'NOT_ALLOWED', reason, afterMs: ASK_AGAIN_MS };
}

const HASHES = new WeakMap<Plan, string>();

/** A plan that is read once is hashed once. */
function hashOf(plan: Plan): string {
  const hash = HASHES.get(plan) ?? planHash(plan);
  HASHES.set(plan, hash);
  return hash;
}

/** What was verified of what people have said. */
type SignedSoFar = {
  readonly all: readonly Signed[];
  /** There is more to verify. */
  readonly isMore: boolean;
  /** This machine cannot verify. */
  readonly isUnable: boolean;
};

/** A signature as somebody has kept it, and the text that it must be for. */
export type Signature = Pick<
  Extract<Recorded, { readonly kind: 'approve' }>,
  'as' | 'expiresAtMs' | 'signature' | 'atMs'
> & { readonly text: string };

/** Verifies signatures, each once for what it is about. Whatever it remembers is named by all that it was made from. */
export class Verifying {
  readonly #clock: Clock;
  readonly #verify: Options['verify'];
  readonly #results = new Map<string, { readonly result: Verified; readonly untilMs: number }>();
  readonly #underWay = new Map<string, Promise<Verified>>();
  /** How many verifications are under way of what people have said about each run. */
  readonly #countOf = new Map<string, number>();
  readonly #inPlace = pLimit(2);

  constructor(clock: Clock, verify: Options['verify']) {
    this.#clock = clock;
    this.#verify = verify;
  }

  async signedIn(
    { instructions }: Kept,
    approvals: Approvals,
    {
      plan,
      hash,
      said: about,
      rules,
    }: Pick<ToSign, 'plan' | 'said'> & { readonly hash: string; readonly rules: readonly ApprovalRule[] },
  ): Promise<SignedSoFar> {
    const entries = instructions.flatMap((said): readonly Signature[] => {
      if (said.kind !== 'approve' || said.about !== (about?.id ?? null)) return [];
      const { as, expiresAtMs, signature, atMs } = said;
      const text = textToSign({ as, plan, planHash: hash, said: about, expiresAtMs });
      return [{ as, expiresAtMs, signature, atMs, text }];
    });
    return this.verified(runName(plan.run), entries, approvals, rules);
  }

  /**
   * @param owner what they are about: a run, or the halts. Those of one keep none of another waiting for long
   * @param entries oldest first
   */
  async verified(
    owner: string,
    entries: readonly Signature[],
    approvals: Approvals,
    rules: readonly ApprovalRule[],
  ): Promise<SignedSoFar> {
    const { allowedSigners, revokedKeys } = approvals;
    const folder = hashOfText(JSON.stringify([allowedSigners, revokedKeys]));
    const asked = entries.flatMap((said) =>
      namesOf(said, approvals, rules).map((name) => {
        const { text, signature } = said;
        const of: ToVerify = { text, signature, name, allowedSigners, revokedKeys };
        return { said, of, id: hashOfText(JSON.stringify([text, signature, name, folder])) };
      }),
    );
    const ids = [...new Set(asked.map(({ id }) => id))].filter((id) => !this.#underWay.has(id));
    const unknown = ids.filter((id) => !this.#results.has(id));
    const old = ids.filter((id) => this.#lastOf(id) === 'bad' && this.#known(id) === null);
    const room = Math.max(0, MOST_AT_ONCE - (this.#countOf.get(owner) ?? 0));
    const oldest = unknown.slice(0, Math.ceil(room / 2));
    const newest = unknown
      .slice(oldest.length)
      .toReversed()
      .slice(0, room - oldest.length);
    const first = [...oldest, ...newest];
    const now = new Set([...first, ...old.slice(0, room - first.length)]);
    const results = await Promise.all(
      asked.map(async ({ said, of, id }) => {
        const known = this.#known(id) ?? this.#underWay.get(id) ?? null;
        // One that was good is asked for again at once: nobody else can make such a one. One that was bad stays bad until its turn.
        const isLeft = known === null && this.#lastOf(id) !== 'good' && !now.has(id);
        return { said, of, result: isLeft ? this.#lastOf(id) : await (known ?? this.#ask(owner, id, of)) };
      }),
    );
    return {
      all: results.flatMap(({ said, of, result }) =>
        result === 'good'
          ? [{ as: said.as, name: of.name, saidAtMs: said.atMs, expiresAtMs: said.expiresAtMs }]
          : [],
      ),
      isMore: results.some(({ result }) => result === null),
      isUnable: results.some(({ result }) => result === 'unable'),
    };
  }

  /** What it was when it was last verified; null: it never was. */
  #lastOf(name: string): Verified | null {
    return this.#results.get(name)?.result ?? null;
  }

  #known(name: string): Verified | null {
    const known = this.#results.get(name);
    return known !== undefined && this.#clock.monotonicMs() < known.untilMs ? known.result : null;
  }

  /** Calls for the same at the same time share one verification. */
  #ask(owner: string, name: string, of: ToVerify): Promise<Verified> {
    this.#count(owner, 1);
    const asked = this.#inPlace(() => this.#askNow(name, of)).finally(() => {
      this.#underWay.delete(name);
      this.#count(owner, -1);
    });
    this.#underWay.set(name, asked);
    return asked;
  }

  #count(owner: string, more: 1 | -1): void {
    const count = (this.#countOf.get(owner) ?? 0) + more;
    if (count > 0) this.#countOf.set(owner, count);
    else this.#countOf.delete(owner);
  }

  async #askNow(name: string, of: ToVerify): Promise<Verified> {
    const result: Verified = await this.#verify(of);
    if (result === 'unable') return result;
    const untilMs = this.#clock.monotonicMs() + (result === 'good' ? GOOD_MS : BAD_MS);
    return putLast(this.#results, name, { result, untilMs }, MOST_RESULTS).result;
  }
}

/** The names by whose key a signature claims to be: all that a rule names. None: it is nobody’s whom a rule could count. */
function namesOf(
  { as, signature }: Pick<Signature, 'as' | 'signature'>,
  { signers }: Approvals,
  rules: readonly ApprovalRule[],
): readonly string[] {
  const key = keyOfSignature(signature);
  const names = [...new Set(signers.flatMap((signer) => (signer.key === key ? [signer.name] : [])))];
  const named = names.filter((name) => rules.some(({ of }) => of.includes(name)));
  return named.length > 0 || as !== 'starter' ? named : names.slice(0, 1);
}

function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The rows of batches. What is remembered of them is named by their hash. */
class ReadRows {
  readonly #readRows: Options['readRows'];
  /** Of as many chunks as the largest batch has: its 100,000 payments take some 16 MB. */
  readonly #rows: SharedReads<readonly BatchPayment[]>;
  readonly #sums: SharedReads<Moved>;
  readonly #inPlace = pLimit(ROWS_SIDE_BY_SIDE);

  constructor({ readRows, clock }: Pick<Options, 'readRows' | 'clock'>) {
    this.#readRows = readRows;
    this.#rows = new SharedReads(clock, MOST_CHUNKS);
    this.#sums = new SharedReads(clock, MOST_SUMS);
  }

  /** What the plan's batch moves. @throws Error when some chunk is not there, or not that of the plan */
  movedBy(plan: Plan): Promise<Moved> {
    const { run, batch } = plan;
    const byChunk = ({ hash }: ChunkDigest, index: number): Promise<Moved> => {
      const read = async (): Promise<Moved> => movedByRows(await this.#read(run, index + 1, hash));
      return this.#sums.get(hash, () => this.#inPlace(read)).value(FOR_EVER);
    };
    const byAll = async (): Promise<Moved> => together(await Promise.all((batch?.chunks ?? []).map(byChunk)));
    return this.#sums.get(hashOf(plan), byAll).value(FOR_EVER);
  }

  /** The most that so many payments of a chunk of the plan move. @throws Error as `ofChunk` does */
  mostOf(plan: Plan, number: number, count: number): Promise<Moved> {
    const name = `${plan.batch?.chunks[number - 1]?.hash ?? ''}/${count}`;
    const read = async (): Promise<Moved> => movedByMost(await this.ofChunk(plan, number), count);
    return this.#sums.get(name, read).value(FOR_EVER);
  }

  /** @throws Error when there is no such chunk, or it is not that of the plan */
  async ofChunk({ run, batch }: Plan, number: number): Promise<readonly BatchPayment[]> {
    const planned = batch?.chunks[number - 1];
    if (planned === undefined) throw new Error(`its plan has no chunk ${number}`);
    return this.#read(run, number, planned.hash);
  }

  /** Payments of a chunk that ask side by side share one reading. */
  #read(run: RunName, number: number, hash: string): Promise<readonly BatchPayment[]> {
    const shared = this.#rows.get(hash, async () => {
      const rows = await this.#readRows(run, number);
      if (rows === null) throw new Error(`Temporal does not show chunk ${number} of its batch`);
      if (hashOfChunk(rows) !== hash)
        throw new Error(`the rows of chunk ${number} are not those of its plan`);
      // Whoever may write to Temporal can plan with a larger one, and nobody must fill the memory of the worker.
      if (Buffer.byteLength(JSON.stringify(rows)) > CHUNK.bytes)
        throw new Error(`chunk ${number} of its batch is larger than any that Cambist submits`);
      return rows;
    });
    return shared.value(FOR_EVER);
  }
}
