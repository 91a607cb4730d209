/**
 * A run, readable from top to bottom as the business reads: plan, convert, wait for settlement, pay, track.
 * Each leg goes its own way and releases its own payments. The run decides nothing about replies (the steps
 * in `writes/` do) and knows no Temporal: everything that it awaits comes through `Ports`, so that a model
 * can drive the same code. It ends when no item is open, and never while something is in doubt (M3, M8).
 */
import { headOf, type Plan, type PlanHead } from '../plan/plan.ts';
import { recordCancel, takeOverShown } from './again.ts';
import type { Call, Go, RunInput } from './calls.ts';
import { carry, type Carried } from './carry.ts';
import { isDone } from './chunk-state.ts';
import { conduct, releasedIn, tellEnd } from './conduct.ts';
import { convert } from './convert.ts';
import { NOBODY, acceptedOf, isOpenPayment, tradeOf, type LegRecord } from './items.ts';
import { isResting } from './leg-order.ts';
import type { Carrying } from './parts.ts';
import { pay } from './pay.ts';
import { RunRefused, Writes, runThatGoesOn, type Ports, type StepFailed } from './ports.ts';
import { readPlan } from './read-plan.ts';
import { fixAmounts, isDecided, release } from './release.ts';
import { settle } from './settle.ts';
import { adoptPlan, isUndone, takeUp, type RunState } from './state.ts';
import { track } from './track.ts';
import { Pauses } from './pauses.ts';

/** For a chunk, its go says how many. */
const PAYMENTS_OF_A_CALL = 25;

/** One run. `complete` ends with every item decided, or throws `RunRefused`. */
export class Run implements Carrying {
  readonly input: RunInput;
  readonly state: RunState;
  readonly ports: Ports;
  readonly pauses: Pauses;
  isSending = true;
  readonly sideBySide = null;
  readonly callSize = PAYMENTS_OF_A_CALL;
  releases = 0;
  hasToldEnd = false;
  /** True when the run was refused a plan and has told the workflow `instructions` that it ends. */
  hasToldRefusal = false;
  readonly news = new Set<number>();
  readonly #carried: Carried | null;
  #plan: Plan | null = null;
  #head: PlanHead | null = null;
  /** A cancel that is being recorded as an instruction, or is recorded; null while there is none. */
  #cancelKept: Promise<void> | null = null;
  readonly #writes: Writes;
  /** True while the chunks of a batch are still read and told. */
  #isConducting = false;

  /** @param carried what an earlier history of the same run knew; null at its start */
  constructor(input: RunInput, state: RunState, ports: Ports, carried: Carried | null = null) {
    this.input = input;
    this.state = state;
    this.ports = ports;
    this.pauses = new Pauses(ports, carried !== null);
    this.#writes = new Writes(ports);
    this.#carried = carried;
  }

  async complete(): Promise<void> {
    try {
      for (let askedIn = this.ports.originalRunId; ;) {
        const refused = await this.#planAndCarryOut();
        if (refused === null) break;
        const asksIn = await this.#asksAgain(refused, askedIn);
        if (asksIn === null) throw refused;
        askedIn = asksIn;
      }
    } finally {
      await this.#cancelKept;
    }
    if (!this.state.ended) await this.#end();
  }

  /** Makes the plan and carries it out. Null: it was carried out; else why not. */
  async #planAndCarryOut(): Promise<RunRefused | null> {
    try {
      await this.#carryOut(await readPlan(this));
      return null;
    } catch (error) {
      if (error instanceof RunRefused) return error;
      throw error;
    }
  }

  async #carryOut(plan: Plan): Promise<void> {
    this.#plan = plan;
    this.#head = headOf(plan);
    adoptPlan(this.state, plan);
    if (this.#carried !== null) await takeOverShown(this, plan, this.#carried);
    this.release();
    this.ports.show();
    do await Promise.all(this.#parts());
    while (await this.#takesUpAgain());
  }

  /** A batch is paid by its chunks. */
  #parts(): readonly Promise<void>[] {
    const paying = this.state.chunks.length > 0 ? [this.#conduct()] : [pay(this), track(this)];
    return [this.#convertAll(), ...paying];
  }

  async #conduct(): Promise<void> {
    this.#isConducting = true;
    await conduct(this);
    this.#isConducting = false;
  }

  /** Converts in the order of the plan. A leg that waits lets the next one go on. */
  async #convertAll(): Promise<void> {
    await Promise.all(
      this.state.legs.map(async (record, index, legs) => {
        const before = legs[index - 1];
        if (before !== undefined) await this.ports.waitUntil(() => isResting(legs, before));
        await this.#carryOutLeg(record);
      }),
    );
  }

  /** Carries out a leg. A leg that a reset takes up again goes the same way once more. */
  async #carryOutLeg(record: LegRecord): Promise<void> {
    const { state, ports } = this;
    const isAtWork = (): boolean => !isDecided(record, state.cancelled);
    // While a batch still reads its chunks, the answer may show a reset, which takes the leg up again.
    const isOver = (): boolean => this.isOver() && !this.#isConducting;
    while (!isOver()) {
      await convert(this, record);
      fixAmounts(state);
      await settle(this, record);
      this.release();
      if (isOver()) return;
      ports.show();
      await ports.waitUntil(() => isOver() || isAtWork());
    }
  }

  release(): void {
    // A payment in doubt has lost the amount that only the doubted answer had named.
    fixAmounts(this.state);
    release(this.state, this.plan.rules.limits);
    this.releases += 1;
  }

  async #end(): Promise<void> {
    this.state.ended = true;
    this.pauses.goesOn(this.state);
    this.ports.show();
    await tellEnd(this);
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

  // A reset means: try again what is not done.

  /**
   * If another Temporal run of this history was refused the plan, asks for the plan once more, because a reset to any
   * event means that. As in `#takesUpAgain`, the run asks last of all which Temporal run it is. Null: the run ends;
   * else the Temporal run that asks now.
   */
  async #asksAgain({ problems }: RunRefused, askedIn: string): Promise<string | null> {
    const { state, ports } = this;
    state.refusals = problems;
    await this.#end();
    if (this.#plan !== null) return null;
    await this.#cancelKept;
    await ports.tellEnd();
    this.hasToldRefusal = true;
    const runId = await runThatGoesOn(ports, (told) => told !== askedIn);
    if (runId === null) return null;
    this.hasToldRefusal = false;
    state.refusals = [];
    state.ended = false;
    ports.show();
    return runId;
  }

  /**
   * Before a run ends with something undone, it asks, last of all, which
   * Temporal run it is. Then it takes up again what another Temporal run has ended.
   */
  async #takesUpAgain(): Promise<boolean> {
    await this.#cancelKept;
    if (!this.hasToldEnd) await this.ports.tellEnd();
    this.hasToldEnd = false;
    const isBatch = this.state.chunks.length > 0;
    // An activity tells the chunks. The question must come after it, in the task that may end the run.
    if (isBatch) await this.#end();
    // A batch asks even when all is paid: a person who resets it wants to know what has come back.
    if (!isBatch && !isUndone(this.state)) return false;
    return (await runThatGoesOn(this.ports, (runId) => this.#takesUpBy(runId, isBatch))) !== null;
  }

  #takesUpBy(runId: string, isBatch: boolean): boolean {
    const knownAs = this.knownAs(runId);
    const isOther = isBatch && this.state.knownAs !== knownAs;
    // The chunks must hear of this Temporal run, which nothing has stopped.
    if (isOther) {
      this.state.knownAs = knownAs;
      this.state.stopped = null;
      this.releases += 1;
    }
    const goesOn = this.takeUp(runId) || isOther;
    if (goesOn) this.state.ended = false;
    return goesOn;
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
    return runId ?? NOBODY;
  }

  // What the parts of a run need of the run.

  /** Throws before there is a plan. */
  get plan(): Plan {
    if (this.#plan === null) throw new RangeError('There is no plan yet.');
    return this.#plan;
  }

  get lateAfterMs(): Plan['lateAfterMs'] {
    return this.plan.lateAfterMs;
  }

  call(): Call {
    this.#head ??= headOf(this.plan);
    return { plan: this.#head, originalRunId: this.ports.originalRunId };
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
    // Histories that follow one another are one run. So the go is as fresh in the last of them as in the first.
    const isFirst = ports.runId === ports.originalRunId && state.plan?.madeFor === runId;
    const isFresh = isFirst && state.plan?.foundRecords === false;
    return { runId, isFresh, isOver, mayGo, released: releasedIn(state), most, stopped, wakes };
  }

  /** A chunk of the batch has news. */
  hear(number: number): void {
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
    this.#cancelKept = Promise.resolve();
    this.cancel();
  }

  /** Records a cancel as an instruction, also one by Temporal's own button, so that no reset loses it. */
  async keepCancel(): Promise<void> {
    if (!this.state.cancelled) return;
    this.#cancelKept ??= recordCancel(this);
    await this.#cancelKept;
  }
}
