/**
 * Everything that a worker of this process logs, the SDK's own core included. Import it before anything that starts a
 * worker: a process has one runtime.
 */
import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';

const lines: string[] = [];

Runtime.install({
  logger: new DefaultLogger('TRACE', ({ level, message, meta }) => {
    lines.push(`${level} ${message} ${textOf(meta)}`);
  }),
  telemetryOptions: {
    logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'DEBUG', other: 'INFO' }) },
  },
});

/** What has been logged so far, oldest first. */
export function loggedLines(): readonly string[] {
  return lines;
}

/** Errors with their messages and stacks, which JSON leaves out. */
function textOf(meta: unknown): string {
  return JSON.stringify(meta, (_, value: unknown) => {
    if (value instanceof Error) return [value.message, value.stack, value.cause, Object.entries(value)];
    return typeof value === 'bigint' ? String(value) : value;
  });
}
