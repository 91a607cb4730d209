/**
 * A run that is open: what it knows, and what its parts, its chunks and people ask of it. `Run` carries it out.
 */
import { headOf, type Plan, type PlanHead } from '../plan/plan.ts';
import type { Call, Go, RunInput } from './calls.ts';
import { carry, type Carried } from './carry.ts';
import { isDone } from './chunk-state.ts';
import { NO_RUN, acceptedOf, isOpenPayment, tradeOf } from './items.ts';
import type { Carrying } from './parts.ts';
import { Writes, type Ports, type StepFailed } from './ports.ts';
import { recordCancel } from './record-cancel.ts';
import { fixAmounts, isDecided, release, releasedIn } from './release.ts';
import { adoptPlan, takeUp, type RunState } from './state.ts';
import { Pauses } from './pauses.ts';
import { takeOverShown } from './take-over-shown.ts';

/** A run without chunks sends at most so many payments in one call. The go of a chunk says how many the chunk sends. */
const PAYMENTS_OF_A_CALL = 25;

export class OpenRun implements Carrying {
  readonly input: RunInput;
  readonly state: RunState;
  readonly ports: Ports;
  readonly pauses: Pauses;
  isSending = true;
  readonly slices = { callSize: PAYMENTS_OF_A_CALL, sideBySide: null };
  releases = 0;
  hasToldEnd = false;
  isConducting = false;
  heldBy = '';
  readonly news = new Set<number>();
  /** A cancel that is being recorded as an instruction, or is recorded; null while there is none. */
  protected cancelKept: Promise<void> | null = null;
  readonly #carried: Carried | null;
  #head: PlanHead | null = null;
  readonly #writes: Writes;

  /** @param carried what an earlier history of the same run knew; null at its start */
  constructor(input: RunInput, state: RunState, ports: Ports, carried: Carried | null = null) {
    this.input = input;
    this.state = state;
    this.ports = ports;
    this.pauses = new Pauses(ports, input.run, carried !== null);
    this.#writes = new Writes(ports);
    this.#carried = carried;
  }

  /** Begins with this plan, and with what an earlier history knew of its items. */
  protected async adopt(plan: Plan): Promise<void> {
    adoptPlan(this.state, plan);
    if (this.#carried !== null) await takeOverShown(this, plan, this.#carried);
  }

  release(): void {
    // A payment in doubt has lost the amount that only the doubted answer had named.
    fixAmounts(this.state);
    release(this.state, this.plan.rules.limits);
    this.releases += 1;
  }

  /** Every leg is decided, and every open payment accepted. */
  isLast(): boolean {
    const { legs, payments, chunks, cancelled } = this.state;
    return (
      chunks.length === 0 &&
      legs.every((record) => isDecided(record, cancelled)) &&
      !payments.some(({ stage }) => stage.kind === 'unsent')
    );
  }

  isIdle(): boolean {
    return this.isOver();
  }

  /** Nothing is open: no leg, and no payment. */
  isOver(): boolean {
    const { legs, payments, chunks, knownAs, cancelled } = this.state;
    return (
      legs.every((record) => isDecided(record, cancelled)) &&
      !payments.some(isOpenPayment) &&
      chunks.every((chunk) => isDone(chunk, knownAs))
    );
  }

  /**
   * An answer has come from this Temporal run. Takes up again what another one has ended. True when there was
   * something.
   */
  takeUp(runId: string | null): boolean {
    const isTaken = runId !== null && takeUp(this.state, runId);
    if (isTaken) this.release();
    return isTaken;
  }

  endedIn(runId: string | null): string {
    return runId ?? NO_RUN;
  }

  // What the parts of a run need of the run.

  /** Throws before there is a plan. */
  get plan(): Plan {
    if (this.state.plan === null) throw new RangeError('There is no plan yet.');
    return this.state.plan;
  }

  get lateAfterMs(): Plan['lateAfterMs'] {
    return this.plan.lateAfterMs;
  }

  call(): Call {
    this.#head ??= headOf(this.plan);
    return { plan: this.#head };
  }

  othersAccepted(): boolean {
    const { legs, payments } = this.state;
    return [...legs.map(tradeOf), ...payments.map(acceptedOf)].some((record) => record !== null);
  }

  /** Runs a call that writes. A cancel is recorded first. */
  async write<Answer>(call: () => Promise<Answer>): Promise<Answer | StepFailed> {
    if (this.state.cancelled) await this.keepCancel();
    return this.#writes.make(call);
  }

  leaveLongHistory(): Promise<never> {
    return this.#writes.leaveLongHistory();
  }

  // A history that goes on in another one.

  /** What the next history begins with. After a reset, only what this history learned is its own. */
  handOn(): Carried {
    const { runId } = this.ports;
    return carry(this.state, { runId, knownAs: this.knownAs(runId) });
  }

  /** The name by which the chunks know this run. A reset begins another run, a new history does not. */
  knownAs(runId: string): string {
    return runId === this.ports.originalRunId ? (this.#carried?.knownAs ?? runId) : runId;
  }

  // People.

  /**
   * What a chunk of the batch may do now. The answer depends on which Temporal run this is. It is the answer to a
   * question, so that no history depends on it.
   */
  goFor(number: number): Go {
    const { state, ports } = this;
    const mayGo = state.chunks[number - 1]?.mayGo === true;
    const most = state.isTested ? null : (state.plan?.batch?.rules.canary ?? null);
    const { ended: isOver, stopped } = state;
    const wakes = this.pauses.asked;
    const runId = this.knownAs(ports.runId);
    return {
      runId,
      isFresh: !this.isAgain,
      isOver,
      mayGo,
      released: releasedIn(state),
      most,
      stopped,
      wakes,
    };
  }

  /**
   * True when this Temporal run is not the one that the plan was made for, or records were there before: it does not know what
   * was sent. Histories that follow one another are one run. So the last of them is as fresh as the first. No command of a
   * workflow may depend on it.
   */
  get isAgain(): boolean {
    const { state, ports } = this;
    const { plan } = state;
    if (plan === null || plan.foundRecords) return true;
    return ports.runId !== ports.originalRunId || plan.madeFor !== this.knownAs(ports.runId);
  }

  /** A chunk of the batch has news. */
  noteNews(number: number): void {
    if (this.state.chunks[number - 1] !== undefined) this.news.add(number);
  }

  /** A person wants the run to check everything now. */
  wake(): void {
    this.pauses.wake();
    const { chunks, knownAs } = this.state;
    if (chunks.length === 0) return;
    // Chunks that are not done are read, and check everything themselves as well.
    for (const chunk of chunks) if (!isDone(chunk, knownAs)) this.news.add(chunk.number);
    this.releases += 1;
  }

  /**
   * Cancels the run: what is not sent stays unsent. The cancel takes effect between steps. It is recorded as an
   * instruction at once, while a step is still under way, because a reset in the meantime would lose it.
   */
  cancel(): void {
    if (this.state.cancelled) return;
    this.state.cancelled = true;
    this.wake();
    this.keepCancel().catch(() => {});
  }

  /** The run is cancelled by an instruction that this history does not know. It is recorded already. */
  knowCancelled(): void {
    this.cancelKept = Promise.resolve();
    this.cancel();
  }

  /** Records a cancel as an instruction, also one by Temporal's own button, so that no reset loses it. */
  async keepCancel(): Promise<void> {
    if (!this.state.cancelled) return;
    this.cancelKept ??= recordCancel(this);
    await this.cancelKept;
  }
}
