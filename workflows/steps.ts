/**
 * Names the steps of a workflow. Each step stands at the event of Temporal's reset dialog to which a person resets the
 * workflow so that the step begins again. A command that reads the history and the workflow itself name the same steps. Pure.
 */
import type { Activities } from './calls.ts';
import { newsSignal, runEndedSignal } from './names.ts';

/** What each activity does, shown where its call has no summary. */
const ACTIVITIES: Readonly<Record<keyof Activities, string>> = {
  readPlan: 'Read the plan',
  readChunks: 'Read how the chunks of the batch stand',
  readGo: 'Ask the run for the go',
  confirmOutcomes: 'Check at the service what was done',
  recordInstruction: 'Record an instruction',
  requestQuote: 'Ask for a price',
  executeTrade: 'Trade',
  createWithdrawals: 'Pay',
  awaitSettlement: 'Wait for the settlement',
  awaitWithdrawals: 'Wait until payments are paid',
  tellRun: 'Ask whether the run was reset',
  observe: 'Read what the service has',
  takeOverInstructions: 'Read what people said before',
  acceptInstruction: 'Accept an instruction',
  startScheduled: 'Start the run of the schedule',
  tryScheduled: 'Ask whether the run of the schedule could be started',
};

const SIGNALS: Readonly<Record<string, string>> = {
  [runEndedSignal.name]: 'Tells the workflow `instructions` that the run ends',
  [newsSignal.name]: 'Tells the run that the chunk has news',
};

export const END_STEP = 'The workflow ends';

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
  return SIGNALS[name] ?? `Sends the signal ${name} to another workflow`;
}

/** The steps that each workflow task has begun, by the id of the event that completed the task. */
export class Steps {
  readonly #byTask = new Map<number, string>();

  /** @param isTimer a timer. Beside a call it is no step: it only limits how long the workflow waits for the call. */
  add(task: number, step: string, isTimer = false): void {
    const before = this.#byTask.get(task);
    if (before === undefined) this.#byTask.set(task, step);
    else if (!isTimer) this.#byTask.set(task, `${before}; ${step}`);
  }

  of(task: number): string | undefined {
    return this.#byTask.get(task);
  }

  /** The last `most` steps, the newest first. */
  last(most: number): readonly (readonly [task: number, step: string])[] {
    return [...this.#byTask].slice(-most).toReversed();
  }

  /** Forgets all but the last `most` steps. */
  keepLast(most: number): void {
    for (const task of this.#byTask.keys()) {
      if (this.#byTask.size <= most) return;
      this.#byTask.delete(task);
    }
  }
}
