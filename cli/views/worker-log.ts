/**
 * What a worker writes of Temporal's own log: a line for people, or a record for programs. It never has a stack or an input.
 * Pure.
 */
import type { LogEntry } from '@temporalio/worker';

/** Levels of Temporal's log, as a person reads them. */
const LEVELS: Readonly<Record<string, string>> = { WARN: 'warning' };
/** The facts that tell where something happened. Nothing else that Temporal adds is shown. */
const PLACE = ['workflowId', 'runId', 'workflowType', 'activityType', 'activityId', 'attempt'];

/** One line per message. Why a run failed is in its report, not in a stack trace here. */
export function logLine({ level, message, meta }: LogEntry): string {
  const facts: Readonly<Record<string, unknown>> = meta ?? {};
  const error = errorIn(facts);
  const workflowId = typeof facts['workflowId'] === 'string' ? ` ${facts['workflowId']}` : '';
  return `${levelOf(level)}${workflowId} ${message}${error === null ? '' : `: ${error}`}`;
}

/** The same as a record with the time, ISO 8601 in UTC. */
export function logRecord(entry: LogEntry): Readonly<Record<string, unknown>> {
  const { level, message, meta, timestampNanos } = entry;
  const facts: Readonly<Record<string, unknown>> = meta ?? {};
  const place = PLACE.filter((name) => ['string', 'number'].includes(typeof facts[name]));
  const error = errorIn(facts);
  return {
    at: new Date(Number(timestampNanos / 1_000_000n)).toISOString(),
    level: levelOf(level),
    message,
    ...Object.fromEntries(place.map((name) => [name, facts[name]])),
    ...(error !== null && { error }),
  };
}

function levelOf(level: LogEntry['level']): string {
  return LEVELS[level] ?? level.toLowerCase();
}

function errorIn({ error }: Readonly<Record<string, unknown>>): string | null {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : null;
}
