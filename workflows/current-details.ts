/**
 * What the Temporal UI shows as the current details of a workflow: how it stands, and below that a table of the last
 * events of Temporal's reset dialog. The dialog names no steps, so the table says which step begins again after a
 * reset to each event.
 */
import { log, setCurrentDetails, workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { SHOWN } from './names.ts';
import { Steps, activityStep, signalStep, timerStep } from './steps.ts';

/** The table has at most this many steps; `explain-reset` shows all of them. */
const MOST_STEPS = 15;

const steps = new Steps();
/** Null: this workflow shows no details. */
let standing: string | null = null;

/**
 * The worker logs at level debug that this was shown, so that a test which follows a run in the log need not ask it again
 * and again.
 *
 * @param text how the workflow stands now, in Markdown
 */
export function showStanding(text: string): void {
  standing = text;
  show();
  log.debug(SHOWN);
}

/** Notes a step that the workflow task under way has begun. */
export function showStep(step: string, isTimer = false): void {
  // The last event that the workflow knows started the task. The next one completes the task.
  steps.add(workflowInfo().historyLength + 1, step, isTimer);
  steps.keepLast(MOST_STEPS);
  show();
}

/** Notes every call, timer and signal to another workflow as a step, and gives every call a summary. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      scheduleActivity(input, next) {
        const summary = activityStep(input.activityType, input.options.summary ?? '');
        showStep(summary);
        // Without a summary, the timeline of the UI shows the name of the function.
        return next({ ...input, options: { ...input.options, summary } });
      },
      startTimer(input, next) {
        showStep(timerStep(input.options?.summary ?? ''), true);
        return next(input);
      },
      signalWorkflow(input, next) {
        showStep(signalStep(input.signalName));
        return next(input);
      },
    },
  ],
});

function show(): void {
  if (standing === null) return;
  const rows = steps.last(MOST_STEPS).map(([event, step]) => `| ${event} | ${step} |`);
  if (rows.length === 0) return setCurrentDetails(standing);
  setCurrentDetails(
    [
      standing,
      '',
      'A reset to any event is safe. This table shows the last events, and the step that begins again after a reset to each. After a reset to an event between them, the workflow goes on waiting:',
      '',
      '| event | step |',
      '| - | - |',
      ...rows,
    ].join('\n'),
  );
}
