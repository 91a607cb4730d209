/**
 * The rows of docs/operations/buttons.md, each with the test that presses it. A row is named by its buttons and by what they
 * are pressed on, as the page has them; `test/unit/docs-buttons.test.ts` holds the page against this.
 */

/** Pressed in test/machines/buttons.test.ts; each test there has the name of its row. */
export const ON_DEV_SERVER = [
  'Reset many to the first event | run, plan, instructions, chunk',
  'Reset many to the last event | run, plan, instructions, chunk',
  'Reset many to the first event, Reset many to the last event | turn, halt, scheduled',
  'Terminate | run',
  'Delete | run',
  'Start like this one | run',
  'Cancel | plan',
  'Terminate | plan',
  'Delete | plan',
  'Reset, Cancel, Terminate | instructions',
  'Start like this one | instructions',
  'Delete | chunk',
  'Start like this one | chunk',
  'Reset | turn',
  'Cancel, Terminate, Delete, Start like this one | turn',
  'Reset, Cancel, Terminate, Delete, Start like this one, Signal, Update | halt',
  'Reset, Cancel, Terminate, Delete, Start like this one | scheduled',
  'Reset, Cancel, Terminate, Delete, Start like this one, Signal, Update | trial',
  'Signal | run, plan, instructions, chunk, turn, scheduled',
  'Update | run, plan, instructions, chunk, turn, scheduled',
  'Start under another id | run, plan, instructions, chunk, turn, halt, scheduled',
  'Signal with start, Update with start | run, plan, instructions, chunk, turn',
  'Signal with start, Update with start | halt, scheduled',
  'Update options | run, plan, instructions, chunk, turn',
  'Update options | halt, scheduled',
] as const;
export type OnDevServer = (typeof ON_DEV_SERVER)[number];

/** Pressed in test/machines/buttons-of-runs.test.ts, in the middle of a payment. */
export const ON_RUNS = [
  'Reset | run',
  'Cancel | run',
  'Reset, Start like this one | plan',
  'Delete | instructions',
  'Reset, Cancel, Terminate | chunk',
  'Update options, Complete, Fail | activity of run',
] as const;
export type OnRuns = (typeof ON_RUNS)[number];

/** Pressed in test/machines/temporal-server.test.ts, on a server that can pause workflows. */
export const ON_REAL_SERVER = [
  'Pause, Unpause | run, chunk',
  'Pause, Unpause | plan',
  'Pause, Unpause | instructions',
  'Pause, Unpause | turn',
  'Pause, Unpause | halt',
  'Pause, Unpause | scheduled',
] as const;
export type OnRealServer = (typeof ON_REAL_SERVER)[number];

/** Pressed in test/machines/buttons-beside.test.ts: what stands beside a workflow. */
export const BESIDE = [
  'Pause, Unpause, Reset, Update options, Complete, Fail | activity of chunk',
  'Pause, Unpause, Reset, Update options, Complete, Fail | activity of plan, instructions, scheduled',
  'Pause, Unpause | schedule',
  'Trigger, Backfill | schedule',
  'Edit | schedule',
  'Delete | schedule',
  'Create | schedule',
  'Set current, Ramp, Unset, Delete version | deployment',
  'Set rate limit | task queue',
  'Set retention | namespace',
] as const;
export type Beside = (typeof BESIDE)[number];

/** Rows that tests of something larger press: each with words of the titles of these. */
export const ELSEWHERE: Readonly<
  Record<string, readonly { readonly file: string; readonly title: string }[]>
> = {
  'Pause, Unpause, Reset | activity of run': [
    { file: 'machines/run-buttons.test.ts', title: 'while the reply to ${operation} is on its way' },
    { file: 'machines/run-buttons.test.ts', title: 'reset when the worker of ${operation} was lost' },
  ],
};
