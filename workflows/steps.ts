/**
 * The steps of a workflow in words, by the event with which Temporal's reset dialog takes it back to them: what is read from a
 * history and what a workflow says of itself are the same. Pure.
 */
import type { Activities } from './calls.ts';
import { newsSignal, runEndedSignal } from './names.ts';

/** What an activity is for, where nothing stands beside it in the history. */
const ACTIVITIES: Readonly<Record<keyof Activities, string>> = {
  readPlan: 'Read the plan',
  readChunks: 'Read how the chunks of the batch stand',
  readGo: 'Ask the run for the go',
  confirmOutcomes: 'See that the service shows what was done',
  recordInstruction: 'Keep what people said',
  requestQuote: 'Price',
  executeTrade: 'Trade',
  createWithdrawals: 'Pay',
  awaitSettlement: 'Wait for the settlement',
  awaitWithdrawals: 'Wait until payments are paid',
  tellRun: 'Ask which run it is',
  observe: 'Look at the service',
  takeOverInstructions: 'Take over what people said',
  acceptInstruction: 'Accept what a person says',
  startScheduled: 'Start the run of the schedule',
};

const SIGNALS: Readonly<Record<string, string>> = {
  [runEndedSignal.name]: 'Tells those who keep what people said that the run ends',
  [newsSignal.name]: 'Tells its run that there is news',
};

export const END_STEP = 'Its end';

/** @param summary what stands beside it in the history; empty: nothing */
export function activityStep(type: string, summary: string): string {
  if (summary !== '') return summary;
  return (ACTIVITIES as Readonly<Record<string, string>>)[type] ?? type;
}

export function timerStep(summary: string): string {
  return summary === '' ? 'Waits' : summary;
}

/** A signal to another workflow. */
export function signalStep(name: string): string {
  return SIGNALS[name] ?? `Tells another workflow: ${name}`;
}

/** What each completed task of a workflow brought about, by the id of the event that completed it. */
export class Steps {
  readonly #byTask = new Map<number, string>();

  /** @param isTimer beside a call, a timer only says until when it is patient */
  add(task: number, step: string, isTimer = false): void {
    const before = this.#byTask.get(task);
    if (before === undefined) this.#byTask.set(task, step);
    else if (!isTimer) this.#byTask.set(task, `${before}; ${step}`);
  }

  of(task: number): string | undefined {
    return this.#byTask.get(task);
  }

  /** The last ones, the newest first. */
  last(most: number): readonly (readonly [task: number, step: string])[] {
    return [...this.#byTask].slice(-most).toReversed();
  }

  /** Forgets all but the last ones. */
  keepLast(most: number): void {
    for (const task of this.#byTask.keys()) {
      if (this.#byTask.size <= most) return;
      this.#byTask.delete(task);
    }
  }
}
