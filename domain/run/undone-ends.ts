/**
 * What has ended undone, as calls have said, is held against the service before a run or a chunk concludes from it: a person can
 * complete a pending call in its place, and a stranger's worker can hand on what he likes (M3).
 */
import { makeProblem } from '../problems.ts';
import type { Beside } from './calls.ts';
import type { Pauses } from './pauses.ts';
import type { Ports } from './ports.ts';
import { takeUpDone, undoneItems, type RunState, type UndoneItems } from './state.ts';

type Concluding = {
  readonly state: RunState;
  readonly ports: Pick<Ports, 'tellRun' | 'waitUntil'>;
  readonly pauses: Pauses;
};

const NEVER = (): boolean => false;

export class UndoneEnds {
  readonly #of: Concluding;
  /** The newest event for which the workflow has waited already. */
  #heeded = 0;
  /** References of items that the service has shown as done although a call had said that they were not. */
  readonly #takenUp = new Set<string>();

  constructor(of: Concluding) {
    this.#of = of;
  }

  /** Null: nothing has ended undone. */
  items(): UndoneItems | null {
    return undoneItems(this.#of.state);
  }

  /** Takes up what the service shows as done. True when there was something. */
  takeUp(done: readonly string[]): boolean {
    return takeUpDone(this.#of.state, done, this.#takenUp);
  }

  /**
   * Waits until the service shows whatever the worker may still send of a call that a person has completed in its place. False: nobody
   * has, or it has waited for that already. @param isNews ends the wait
   */
  async waitFor(beside: Beside | undefined, isNews: () => boolean = NEVER): Promise<boolean> {
    if (beside === undefined || beside.eventId <= this.#heeded) return false;
    this.#heeded = beside.eventId;
    // What was typed once more after an item was taken up is held against the service once more.
    this.#takenUp.clear();
    const { state, ports, pauses } = this.#of;
    const { againAfterMs: afterMs } = beside;
    const problem = makeProblem('COMPLETED_BESIDE', null);
    pauses.show(state, { afterMs, reason: 'doubt', problem });
    await ports.waitUntil(isNews, afterMs, 'Then it looks at the service once more');
    pauses.goesOn(state);
    return true;
  }

  /** Asks the service now. True: it shows some as done, and these are taken up. */
  async areContradicted(isNews: () => boolean): Promise<boolean> {
    for (;;) {
      const { done = [], beside } = await this.#of.ports.tellRun(this.items());
      if (this.takeUp(done)) return true;
      if (!(await this.waitFor(beside, isNews))) return false;
    }
  }
}
