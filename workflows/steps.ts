/**
 * Names the steps of a workflow, each by the event of Temporal's reset dialog from which it begins again. A
 * history that is read, and a workflow that describes itself, give the same steps. Pure.
 */
import type { Activities } from './calls.ts';
import { newsSignal, runEndedSignal } from './names.ts';

/** Names of the activities, for histories that have no summary of them. */
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

/** @param summary the summary in the history; empty: none */
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

/** The steps that each completed task of a workflow has begun, by the id of the event that completed it. */
export class Steps {
  readonly #byTask = new Map<number, string>();

  /** @param isTimer a timer beside a call adds no step: it only limits how long the workflow waits */
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
