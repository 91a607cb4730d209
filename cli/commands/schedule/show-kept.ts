/** What `schedule pause` and `schedule resume` show of the schedule as Temporal keeps it now. */
import type { Ending } from '../../../domain/endings.ts';
import { EXIT_CODES } from '../../../operations/exit-codes.ts';
import type { KeptSchedule } from '../../../operations/schedules/spec.ts';
import type { Output } from '../../terminal/output.ts';

export function showKept(output: Output, { name, isPaused, note }: KeptSchedule, message: string): Ending {
  output.document({ policy: name, paused: isPaused, note, message, exitCode: EXIT_CODES.done });
  output.say(message);
  return 'done';
}
