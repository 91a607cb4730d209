/** Workflows that a person has paused in Temporal, as `status`, `list --attention` and `cancel` show them. */
import type { Trouble } from '../../language/text/problem.ts';

export function pausedLine({ place, message, fix }: Trouble): string {
  return `${place ?? 'It'} is ${message}. ${fix}`;
}

export function pausedDocument({ place, message, fix }: Trouble): Record<string, unknown> {
  return { workflowId: place, message, fix };
}
