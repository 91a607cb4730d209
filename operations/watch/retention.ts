/** How long Temporal must keep closed workflows, for live runs. */
import type { Client } from '@temporalio/client';
import type { Mode } from '../../domain/service/records.ts';
import { keptForMs } from '../../durable/retention.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { CommandFailure } from '../failure.ts';

const DAY_SECONDS = 86_400;
const LEAST_DAYS = 30;

export function keptFor(seconds: number): string {
  const days = Math.floor(seconds / DAY_SECONDS);
  return `Temporal keeps what has ended for ${days < 1 ? 'less than a day' : `${days} d`}`;
}

/**
 * The problem of a namespace that does not keep closed workflows long enough for live runs; null: it keeps them long enough.
 */
export function shortRetention(mode: Mode, namespace: string, seconds: number): Trouble | null {
  if (mode !== 'LIVE' || seconds >= LEAST_DAYS * DAY_SECONDS) return null;
  return {
    code: 'RETENTION_SHORT',
    place: namespace,
    message: `${keptFor(seconds)}; live runs need ${LEAST_DAYS} d, so that reports, decisions and batches are still known when a person asks`,
    fix: `Have an administrator run: temporal operator namespace update --namespace ${namespace} --retention ${LEAST_DAYS}d`,
  };
}

/**
 * Checked before a worker takes work. Where a worker may not ask for the retention, `cambist doctor` says so. @throws
 * CommandFailure
 */
export async function requireRetention(client: Client, mode: Mode, namespace: string): Promise<void> {
  if (mode !== 'LIVE') return;
  const keptMs = await keptForMs(client);
  const short = keptMs === 0 ? null : shortRetention(mode, namespace, keptMs / 1_000);
  if (short !== null) throw new CommandFailure('configuration', [short]);
}
