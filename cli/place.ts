/**
 * What commands about runs need: Temporal, the mode and the task queue. The key of the service is not among it: whoever
 * only looks at runs needs none.
 */
import type { Mode } from '../domain/records.ts';
import { withDevEnvironment } from '../worker/dev-environment.ts';
import { connectTemporal, type Temporal } from '../worker/temporal.ts';
import { defaultTaskQueue } from '../workflows/names.ts';
import { CommandFailure, NOT_SET_UP } from './failure.ts';
import type { Io } from './io.ts';
import { Output } from './output.ts';
import type { RunFacts } from './runs.ts';

export type Place = Temporal & {
  readonly mode: Mode;
  readonly taskQueue: string;
  readonly uiUrl: string | null;
};

/** Somebody may be starting Temporal at this very moment. */
const PATIENCE_MS = 15_000;

/** Connects, runs `work`, and closes the connection. `mode`: the one that a workflow id names, null for the configured. */
export async function atPlace<T>(io: Io, mode: Mode | null, work: (place: Place) => Promise<T>): Promise<T> {
  // What `cambist up` left has no live runs.
  const env = mode === 'LIVE' ? io.env : await withDevEnvironment(io.env, io.cwd);
  const known = mode ?? modeOf(env);
  const temporal = await connectTemporal(env, known, {
    ms: PATIENCE_MS,
    say: (message) => new Output(io, false).note(message),
  });
  try {
    return await work({
      ...temporal,
      mode: known,
      taskQueue: env['CAMBIST_TASK_QUEUE'] || defaultTaskQueue(known),
      uiUrl: env['CAMBIST_UI_URL'] || null,
    });
  } finally {
    await temporal.connection.close();
  }
}

function modeOf(env: NodeJS.ProcessEnv): Mode {
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

/** The run in the Temporal UI; null when the UI's address is not known. */
export function uiAddress(place: Place, facts: RunFacts): string | null {
  if (place.uiUrl === null) return null;
  const id = encodeURIComponent(facts.workflowId);
  return `${place.uiUrl.replace(/\/$/, '')}/namespaces/${place.namespace}/workflows/${id}/${facts.temporalRunId}`;
}
