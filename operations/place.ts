/**
 * What commands about runs need: Temporal, the mode and the task queue. It has no key of the service, since a command that
 * only looks at runs needs none.
 */
import type { Mode } from '../domain/service/records.ts';
import { withDevEnvironment } from '../config/dev-environment.ts';
import { taskQueueOf } from '../config/task-queue.ts';
import { connectTemporal, type Temporal } from '../config/temporal.ts';
import { CommandFailure, NOT_SET_UP } from './failure.ts';

export type Place = Pick<Temporal, 'client' | 'connection' | 'namespace' | 'address'> & {
  readonly mode: Mode;
  readonly taskQueue: string;
  readonly uiUrl: string | null;
  /** Called with what the command waits for, while it waits. */
  readonly say: (message: string) => void;
};

/** The world outside the program, as far as an operation needs it. */
export type Caller = {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Called with what the command waits for, while it waits. */
  readonly say: (message: string) => void;
};

/** The command waits this long for a Temporal that a person may be starting at this moment. */
const PATIENCE_MS = 15_000;

/** Connects, runs `work`, and closes the connection. `mode`: the mode in a workflow id, or null for the configured one. */
export async function atPlace<T>(
  caller: Caller,
  mode: Mode | null,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  // Live runs never use the settings that `cambist up` left.
  const env = mode === 'LIVE' ? caller.env : await withDevEnvironment(caller.env, caller.cwd);
  const known = mode ?? modeOf(env);
  const temporal = await connectTemporal(env, known, { ms: PATIENCE_MS, say: caller.say });
  try {
    return await work({
      ...temporal,
      mode: known,
      taskQueue: taskQueueOf(env, known),
      uiUrl: env['CAMBIST_UI_URL'] || null,
      say: caller.say,
    });
  } finally {
    await temporal.connection.close();
  }
}

/** @throws CommandFailure when no task queue is set */
export function modeOf(env: NodeJS.ProcessEnv): Mode {
  const text = env['CAMBIST_APP_MODE'];
  const mode = text?.toUpperCase();
  if (mode === 'SANDBOX' || mode === 'LIVE') return mode;
  const isNothingSet = ['CAMBIST_APP_MODE', 'CAMBIST_BASE_URL', 'CAMBIST_KEY_FILE'].every(
    (name) => !env[name],
  );
  throw new CommandFailure('configuration', [
    ...(isNothingSet ? [NOT_SET_UP] : []),
    {
      code: 'MODE_MISSING',
      place: 'CAMBIST_APP_MODE',
      message: text === undefined || text === '' ? 'it is not set' : `it is "${text}"`,
      fix: 'Set it to SANDBOX or LIVE, or name the run as `sandbox/policy.id`.',
    },
  ]);
}

/** The address of the run in the Temporal UI; null when the UI's address is not known. */
export function uiAddress(
  place: Place,
  facts: { readonly workflowId: string; readonly temporalRunId: string },
): string | null {
  if (place.uiUrl === null) return null;
  const id = encodeURIComponent(facts.workflowId);
  return `${place.uiUrl.replace(/\/$/, '')}/namespaces/${place.namespace}/workflows/${id}/${facts.temporalRunId}`;
}
