/** A schedule of a policy that the command line has made, for tests that press its buttons. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ScheduleHandle } from '@temporalio/client';
import { scheduleIdOf } from '../../workflows/names.ts';
import { assertExit, command } from './commands.ts';
import { uniqueName } from './dev-server.ts';
import { eventually } from './patience.ts';
import { patiently } from './patiently.ts';
import { convertPolicy } from './policies.ts';
import type { Stage } from './stage.ts';

export type AppliedSchedule = {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly schedule: ScheduleHandle;
};

/** Of midnight, so that nothing starts by itself. @param taskQueue absent: that of the stage */
export async function applySchedule(on: Stage, taskQueue?: string): Promise<AppliedSchedule> {
  const name = uniqueName('s');
  const text = convertPolicy().replace(
    'name: replaced\n',
    `name: ${name}\nzone: UTC\nschedule: { at: "00:00", days: daily }\n`,
  );
  const file = `${name}.yaml`;
  await writeFile(join(on.folder, file), text);
  const env = taskQueue === undefined ? {} : { CAMBIST_TASK_QUEUE: taskQueue };
  assertExit(await command(on, ['schedule', 'apply', file], { env }), 0);
  return { name, file, text, schedule: on.temporal.client.schedule.getHandle(scheduleIdOf('SANDBOX', name)) };
}

/** The ids of the workflows that a schedule has started, once there are so many. */
export function startedBy(schedule: ScheduleHandle, count = 1): Promise<readonly string[]> {
  return eventually('what the schedule has started', async () => {
    const { info } = await patiently(() => schedule.describe());
    const ids = info.recentActions.map(({ action }) => action.workflow.workflowId);
    return ids.length >= count ? ids : null;
  });
}
