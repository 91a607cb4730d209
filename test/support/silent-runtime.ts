/**
 * For tests of which a worker's errors are a part: nothing of them is logged. A process has one logger of this kind, and so
 * these files share none with a stage.
 */
import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';

let silent: DefaultLogger | undefined;

/** The logger, which the runtime of this process has from the first call on. */
export function silenceRuntime(): DefaultLogger {
  silent ??= install(new DefaultLogger('ERROR', () => {}));
  return silent;
}

function install(logger: DefaultLogger): DefaultLogger {
  const filter = makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
  Runtime.install({ logger, telemetryOptions: { logging: { forward: {}, filter } } });
  return logger;
}
