/**
 * The rows of docs/operations/buttons.md, each with the test that presses it. A row is named by its buttons and by what they
 * are pressed on, as the page has them; `test/unit/docs-buttons.test.ts` holds the page against this.
 */

/** Pressed in test/machines/buttons.test.ts; each test there has the name of its row. */
export const ON_DEV_SERVER = [
  'Reset many to the first event | run, plan, instructions, chunk',
  'Reset many to the last event | run, plan, instructions, chunk',
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
  'Update options | run, plan, instructions, chunk, turn',
] as const;
export type OnDevServer = (typeof ON_DEV_SERVER)[number];

/** Pressed in test/machines/temporal-server.test.ts, on a server that can pause workflows. */
export const ON_REAL_SERVER = [
  'Pause, Unpause | run, chunk',
  'Pause, Unpause | plan',
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

type Shown = { readonly file: string; readonly title: string };

/** Rows that tests of something larger press: each with words of the titles of these. */
export const ELSEWHERE: Readonly<Record<string, readonly Shown[]>> = {
  'Reset | run': [
    { file: 'machines/run-again.test.ts', title: 'a completed run can be reset to every event' },
    {
      file: 'machines/run-again.test.ts',
      title: 'a run that is ended and reset while createWithdrawal is held after its booking moves once',
    },
  ],
  'Reset, Start like this one | plan': [
    {
      file: 'machines/run-again.test.ts',
      title: 'a plan workflow that is reset, or started again with another policy, returns the first plan',
    },
  ],
  'Reset, Cancel, Terminate | chunk': [
    { file: 'machines/run-batch-resets.test.ts', title: 'resets of all of them at once pay nobody twice' },
    { file: 'machines/run-batch-resets.test.ts', title: 'a cancel of a chunk alone changes nothing' },
    {
      file: 'machines/run-batch-resets.test.ts',
      title: 'a chunk that is terminated is started again when the run is woken',
    },
  ],
  'Cancel | run': [{ file: 'machines/run-cancels.test.ts', title: 'it is told truly, nothing else is sent' }],
  'Pause, Unpause | instructions': [
    {
      file: 'machines/temporal-server.test.ts',
      title: 'while somebody has paused what keeps the instructions of a run, nothing of it is sent',
    },
  ],
  'Pause, Unpause, Reset | activity of run': [
    { file: 'machines/run-buttons.test.ts', title: 'while the reply to ${operation} is on its way' },
    { file: 'machines/run-buttons.test.ts', title: 'reset when the worker of ${operation} was lost' },
  ],
  'Update options, Complete, Fail | activity of run': [
    {
      file: 'server/run-answers.test.ts',
      title: 'temporal activity complete with the withdrawal of another run',
    },
    { file: 'server/run-answers.test.ts', title: 'temporal activity fail: the payment is looked up' },
    { file: 'server/run-answers.test.ts', title: 'Update options with a schedule-to-close of a second' },
  ],
  'Delete | instructions': [
    {
      file: 'server/run-memory.test.ts',
      title: 'it is gone for good while the plan is there: nothing is sent before somebody says what holds',
    },
  ],
};
