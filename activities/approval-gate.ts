/**
 * The approvals that a worker asks for, behind what its folder allows (`write-gate.ts`). Where a rule of `approvals.yaml` names the policy
 * of a write, the worker reads the plan of the run, the rows of its batch and what people have signed, each itself. It believes nothing
 * of what a workflow hands over. Without such a rule it reads nothing.
 */
import pLimit from 'p-limit';
import { createHash } from 'node:crypto';
import type { BatchPayment } from '../domain/batch.ts';
import type { Plan } from '../domain/plan/plan.ts';
import type { Kept, Recorded } from '../domain/people/instructions.ts';
import { runName, runOf, type RunName } from '../domain/references.ts';
import type { PlanState } from '../domain/run/calls.ts';
import type { Mode } from '../domain/service/records.ts';
import {
  movedBefore,
  movedByPlan,
  movedByRows,
  standingBy,
  standingText,
  textToSign,
  whyCovered,
  whyNotOfPlan,
  type Moved,
  type Signed,
  type ToVerify,
  type Verified,
} from '../domain/writes/approvals.ts';
import { rulesFor, type ApprovalRule, type Approvals } from '../domain/writes/approval-rules.ts';
import type { AllowedPolicy, GatedWrite } from '../domain/writes/write-gate.ts';
import { hashOfChunk } from '../language/batch/chunk-hash.ts';
import { planHash } from '../language/plan-hash.ts';
import { keyOfSignature } from '../language/ssh-signers.ts';
import type { Clock } from './deps.ts';
import { putLast } from './put-last.ts';
import { SharedReads } from './shared-read.ts';
import type { ApprovalGate, NotApproved } from './write-gate.ts';

type Options = {
  readonly mode: Mode;
  readonly organisation: string;
  readonly clock: Clock;
  readonly readPlan: (run: RunName) => Promise<PlanState>;
  readonly readWords: (run: RunName) => Promise<Kept>;
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
/** Whoever may write to Temporal can say as much as he likes. Of each signer so many of the newest signatures are looked at, */
const MOST_OF_ONE = 50;
/** of a run so many that were not verified before at a time, */
const MOST_AT_ONCE = 16;
/** and so many results are remembered. A key may begin or cease to be valid, so that they are asked for again. */
const MOST_RESULTS = 5_000;
const RESULT_MS = 60_000;
/** Chunks whose rows are kept, and whose sums are. */
const MOST_ROWS = 16;
const MOST_SUMS = 2_000;
const ROWS_SIDE_BY_SIDE = 5;

export function approvalGate(options: Options): ApprovalGate {
  const { mode, organisation, clock, readPlan, readWords, verify } = options;
  const plans = new SharedReads<PlanState>(clock);
  const words = new SharedReads<Kept>(clock);
  const rows = new ReadRows(options);
  const verifying = new Verifying(clock, verify);
  const judge = async (
    write: GatedWrite,
    approvals: Approvals,
    { versions, chunk }: { readonly versions: readonly AllowedPolicy[]; readonly chunk: number | null },
  ): Promise<NotApproved | null> => {
    const run = runOf(write.reference);
    if (run === null) return notAllowed(`"${write.reference}" is no reference of a run`);
    const rules = rulesFor(approvals, run.policy);
    if (rules.length === 0) return null;
    const name = runName(run);
    const state = await plans.get(name, () => readPlan(run)).value(PLAN_READ_MS);
    if (state.kind !== 'plan') throw new Error('its plan is not there');
    const { plan } = state;
    const isOwn = plan.credentials.mode === mode && plan.credentials.organisation === organisation;
    if (runName(plan.run) !== name || !isOwn)
      return notAllowed(`the plan that Temporal has of ${name} is another one’s`);
    const moved = [...(await rows.movedBy(plan)), movedBefore(write)];
    const ofChunk = chunk === null || plan.batch === null ? [] : await rows.ofChunk(plan, chunk);
    const strange = whyNotOfPlan(plan, ofChunk, write);
    if (strange !== null) return notAllowed(strange);
    const version = versions.find(({ hash }) => hash === plan.policy.hash);
    const covering = rules.flatMap((rule) => {
      const whys = (version === undefined ? versions : [version]).map((one) =>
        whyCovered(rule, movedByPlan(plan, one.policy, moved), one, plan),
      );
      const why = whys.find((one) => one !== null);
      return why === undefined ? [] : [{ rule, why }];
    });
    const [first] = covering;
    if (first === undefined) return null;
    if (version === undefined)
      return awaiting(
        `run ${name}: ${first.why}; the policy "${run.policy}" of the folder or its destinations have changed since its plan was made, so that no signature for this plan counts: put them back, or start a new run`,
      );
    const said = await words.get(name, () => readWords(run)).value(WORDS_READ_MS);
    const signed = await verifying.signedIn(said, approvals, {
      plan,
      hash: hashOf(plan),
      rules: covering.map(({ rule }) => rule),
    });
    const all = covering.map(({ rule, why }) =>
      refusalBy(rule, { why, signed, approvals, plan, nowMs: clock.wallMs() }),
    );
    return all.find((one) => one !== null) ?? null;
  };
  return async (write, approvals, versions, chunk) => {
    try {
      return await judge(write, approvals, { versions, chunk });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const reason = `the worker cannot read now what approvals are judged by, for ${write.reference} (${why})`;
      return { code: 'NOT_SENT', reason, afterMs: SOON_MS };
    }
  };
}

type Judged = {
  readonly why: string;
  readonly signed: SignedSoFar;
  readonly approvals: Approvals;
  readonly plan: Plan;
  readonly nowMs: number;
};

function refusalBy(rule: ApprovalRule, { why, signed, approvals, plan, nowMs }: Judged): NotApproved | null {
  const standing = standingBy(rule, signed.all, approvals, { madeAtMs: plan.madeAtMs, nowMs });
  if (standing.kind === 'approved') return null;
  const told = `run ${runName(plan.run)}: ${why}; ${standingText(rule, standing)}`;
  if (signed.isUnable)
    return awaiting(
      `the worker’s ssh-keygen is missing, cannot verify or did not end in time, so that not every signature could be verified. ${told}`,
    );
  return signed.isMore ? awaiting(`not all signatures are verified yet. ${told}`, SOON_MS) : awaiting(told);
}

function awaiting(reason: string, afterMs = ASK_AGAIN_MS): NotApproved {
  return { code: 'AWAITING_APPROVAL', reason, afterMs };
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

type Approve = Extract<Recorded, { readonly kind: 'approve' }>;

/** Verifies signatures, each once for what it is about. Whatever it remembers is named by all that it was made from. */
class Verifying {
  readonly #clock: Clock;
  readonly #verify: Options['verify'];
  readonly #results = new Map<string, { readonly result: Verified; readonly untilMs: number }>();
  readonly #underWay = new Map<string, Promise<Verified>>();
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
      rules,
    }: { readonly plan: Plan; readonly hash: string; readonly rules: readonly ApprovalRule[] },
  ): Promise<SignedSoFar> {
    const counts = new Map<string, number>();
    const asked: { readonly said: Approve; readonly of: ToVerify }[] = [];
    for (const said of instructions.toReversed()) {
      const name = said.kind === 'approve' ? nameOf(said, approvals, rules) : null;
      if (said.kind !== 'approve' || name === null) continue;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count > MOST_OF_ONE) continue;
      const { as, expiresAtMs, signature } = said;
      const text = textToSign({ as, plan, planHash: hash, expiresAtMs });
      const { allowedSigners, revokedKeys } = approvals;
      asked.push({ said, of: { text, signature, name, allowedSigners, revokedKeys } });
    }
    let left = MOST_AT_ONCE;
    const results = await Promise.all(
      // What was said first is verified first, so that nothing that is said later keeps it from that.
      asked.toReversed().map(async ({ said, of }) => {
        const name = createHash('sha256').update(JSON.stringify(of)).digest('hex');
        const known = this.#known(name) ?? this.#underWay.get(name) ?? null;
        if (known === null && left <= 0) return { said, of, result: null };
        if (known === null) left -= 1;
        return { said, of, result: await (known ?? this.#ask(name, of)) };
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

  #known(name: string): Verified | null {
    const known = this.#results.get(name);
    return known !== undefined && this.#clock.monotonicMs() < known.untilMs ? known.result : null;
  }

  /** Calls for the same at the same time share one verification. */
  #ask(name: string, of: ToVerify): Promise<Verified> {
    const asked = this.#inPlace(() => this.#askNow(name, of)).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, asked);
    return asked;
  }

  async #askNow(name: string, of: ToVerify): Promise<Verified> {
    const result: Verified = await this.#verify(of);
    if (result === 'unable') return result;
    const untilMs = this.#clock.monotonicMs() + RESULT_MS;
    return putLast(this.#results, name, { result, untilMs }, MOST_RESULTS).result;
  }
}

/** The name by whose key a signature claims to be: of several, one that a rule names. Null: nobody’s whom a rule could count. */
function nameOf(
  { as, signature }: Approve,
  { signers }: Approvals,
  rules: readonly ApprovalRule[],
): string | null {
  const key = keyOfSignature(signature);
  const names = signers.flatMap((signer) => (signer.key === key ? [signer.name] : []));
  const named = names.find((name) => rules.some(({ of }) => of.includes(name)));
  return named ?? (as === 'starter' ? (names[0] ?? null) : null);
}

/** The rows of batches. What is remembered of them is named by their hash. */
class ReadRows {
  readonly #readRows: Options['readRows'];
  readonly #rows = new Map<string, readonly BatchPayment[]>();
  readonly #sums = new Map<string, Moved>();
  readonly #inPlace = pLimit(ROWS_SIDE_BY_SIDE);

  constructor({ readRows }: Pick<Options, 'readRows'>) {
    this.#readRows = readRows;
  }

  /** What each chunk of the plan's batch moves. @throws Error when some chunk is not there, or not that of the plan */
  movedBy({ run, batch }: Plan): Promise<readonly Moved[]> {
    return Promise.all(
      (batch?.chunks ?? []).map(({ hash }, index) =>
        this.#inPlace(
          async () =>
            this.#sums.get(hash) ??
            putLast(this.#sums, hash, movedByRows(await this.#read(run, index + 1, hash)), MOST_SUMS),
        ),
      ),
    );
  }

  /** @throws Error when there is no such chunk, or it is not that of the plan */
  async ofChunk({ run, batch }: Plan, number: number): Promise<readonly BatchPayment[]> {
    const planned = batch?.chunks[number - 1];
    if (planned === undefined) throw new Error(`its plan has no chunk ${number}`);
    return this.#read(run, number, planned.hash);
  }

  async #read(run: RunName, number: number, hash: string): Promise<readonly BatchPayment[]> {
    const known = this.#rows.get(hash);
    if (known !== undefined) return known;
    const rows = await this.#readRows(run, number);
    if (rows === null) throw new Error(`Temporal does not show chunk ${number} of its batch`);
    if (hashOfChunk(rows) !== hash) throw new Error(`the rows of chunk ${number} are not those of its plan`);
    return putLast(this.#rows, hash, rows, MOST_ROWS);
  }
}
