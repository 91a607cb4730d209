/** How long Temporal keeps what has ended, and what live runs need of it. */
import { isGrpcServiceError, type Client } from '@temporalio/client';
import type { Mode } from '../domain/service/records.ts';
import type { Trouble } from '../language/text/problem.ts';
import { CommandFailure } from './failure.ts';

const DAY_SECONDS = 86_400;
const LEAST_DAYS = 30;

/** For so long the namespace keeps what has ended, seconds. */
export async function retentionSeconds({
  workflowService,
  options: { namespace },
}: Pick<Client, 'workflowService' | 'options'>): Promise<number> {
  const { config } = await workflowService.describeNamespace({ namespace });
  return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
}

/** gRPC's code for what we may not ask. */
const PERMISSION_DENIED = 7;

/** The same in milliseconds; where it may not be asked, nothing is known to be kept. */
export async function keptForMs(client: Client): Promise<number> {
  try {
    return (await retentionSeconds(client)) * 1_000;
  } catch (error) {
    const code: number | null = isGrpcServiceError(error) ? error.code : null;
    if (code === PERMISSION_DENIED) return 0;
    throw error;
  }
}

export function keptFor(seconds: number): string {
  const days = Math.floor(seconds / DAY_SECONDS);
  return `what has ended is kept for ${days < 1 ? 'less than a day' : `${days} d`}`;
}

/** What is to be said of a namespace that forgets too soon for live runs; null: nothing. */
export function shortRetention(mode: Mode, namespace: string, seconds: number): Trouble | null {
  if (mode !== 'LIVE' || seconds >= LEAST_DAYS * DAY_SECONDS) return null;
  return {
    code: 'RETENTION_SHORT',
    place: namespace,
    message: `${keptFor(seconds)}; live runs need ${LEAST_DAYS} d, so that reports, decisions and batches are still known when somebody asks`,
    fix: `Have an administrator run: temporal operator namespace update --namespace ${namespace} --retention ${LEAST_DAYS}d`,
  };
}

/** Before a worker takes work; where the retention may not be asked for, `cambist doctor` says so. @throws CommandFailure */
export async function requireRetention(client: Client, mode: Mode, namespace: string): Promise<void> {
  if (mode !== 'LIVE') return;
  const keptMs = await keptForMs(client);
  const short = keptMs === 0 ? null : shortRetention(mode, namespace, keptMs / 1_000);
  if (short !== null) throw new CommandFailure('configuration', [short]);
}
