/**
 * A run, readable from top to bottom as the business reads: plan, convert, wait for settlement, pay, track.
 * Each leg goes its own way and releases its own payments. The run decides nothing about replies (the steps
 * in `writes/` do) and knows no Temporal: everything that it awaits comes through `Ports`, so that a model
 * can drive the same code. It ends when no item is open, and never while something is in doubt (M3, M8).
 */
import type { Plan } from '../plan/plan.ts';
import { beginAs, conduct, tellEnd } from './conduct.ts';
import { convert } from './convert.ts';
import type { LegRecord } from './items.ts';
import { isResting } from './leg-order.ts';
import { OpenRun } from './open-run.ts';
import { pay } from './pay.ts';
import { RunRefused, runThatGoesOn } from './ports.ts';
import { readPlan } from './read-plan.ts';
import { fixAmounts, isDecided } from './release.ts';
import { settle } from './settle.ts';
import { isUndone } from './state.ts';
import { track } from './track.ts';
import { UndoneEnds } from './undone-ends.ts';

/** One run. `complete` ends with every item decided, or throws `RunRefused`. */
export class Run extends OpenRun {
  /** True when the run was refused a plan and has told the workflow `instructions` that it ends. */
  hasToldRefusal = false;
  readonly #ends = new UndoneEnds(this);

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
      await this.cancelKept;
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
    await this.adopt(plan);
    this.release();
    this.ports.show();
    do await Promise.all(this.#parts());
    while (await this.#takesUpAgain());
  }

  /** A batch is paid by its chunks. */
  #parts(): readonly Promise<void>[] {
    const paying = this.state.chunks.length > 0 ? [conduct(this)] : [pay(this), track(this)];
    return [this.#convertAll(), ...paying];
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
    const isOver = (): boolean => this.isOver() && !this.isConducting;
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

  async #end(): Promise<void> {
    this.state.ended = true;
    this.pauses.goesOn(this.state);
    this.ports.show();
    await tellEnd(this);
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
    if (state.plan !== null) return null;
    await this.cancelKept;
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
    await this.cancelKept;
    if (!this.hasToldEnd) await this.ports.tellEnd();
    this.hasToldEnd = false;
    const isBatch = this.state.chunks.length > 0;
    // An activity tells the chunks. The question must come after it, in the task that may end the run.
    if (isBatch) await this.#end();
    // A batch asks even when all is paid: a person who resets it wants to know what has come back.
    if (!isBatch && !isUndone(this.state)) return false;
    const goesOn = (runId: string, done: readonly string[]): boolean =>
      this.#takesUpBy(runId, isBatch) || this.#takesUpDone(done);
    return (await runThatGoesOn(this.ports, goesOn, this.#ends)) !== null;
  }

  /** A call has said of an item that it was not done, and the service shows its record. */
  #takesUpDone(done: readonly string[]): boolean {
    if (!this.#ends.takeUp(done)) return false;
    this.release();
    this.state.ended = false;
    return true;
  }

  #takesUpBy(runId: string, isBatch: boolean): boolean {
    const knownAs = this.knownAs(runId);
    const isOther = isBatch && this.state.knownAs !== knownAs;
    // The chunks must hear of this Temporal run, which nothing has stopped.
    if (isOther) {
      beginAs(this.state, knownAs);
      this.releases += 1;
    }
    const goesOn = this.takeUp(runId) || isOther;
    if (goesOn) this.state.ended = false;
    return goesOn;
  }
}
