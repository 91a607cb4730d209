/**
 * Traces by OpenTelemetry, off unless a standard variable names a collector. Then nothing of OpenTelemetry is loaded. What spans
 * may hold, and how they are sent, is in `traces/`.
 */
import type { Traces, TracesOptions } from './traces/open.ts';
import { unsent } from './traces/unsent.ts';

let opened: Traces | null = null;

/** What this process traces by; null: it does not. */
export function openedTraces(): Traces | null {
  return opened;
}

/**
 * Begins to trace this process, if the environment asks for it: from here on every client of Temporal that the process makes
 * hands its trace on. Nothing about traces ever fails a command or a worker.
 */
export async function openTraces(env: NodeJS.ProcessEnv, options: TracesOptions): Promise<Traces | null> {
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT'] || null;
  if (endpoint === null || isSwitchedOff(env)) return null;
  const unfit = whyUnfit(endpoint, env);
  if (unfit !== null) {
    options.say(unsent(unfit));
    return null;
  }
  try {
    const { newTraces } = await import('./traces/open.ts');
    opened ??= newTraces(options);
  } catch {
    // The packages throw at some values of the variables. What they say may repeat a password.
    options.say(unsent('OpenTelemetry cannot use the value of one of its variables'));
  }
  return opened;
}

function isSwitchedOff(env: NodeJS.ProcessEnv): boolean {
  return env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none';
}

/** The address may hold a password, so it is not said. */
function whyUnfit(endpoint: string, env: NodeJS.ProcessEnv): string | null {
  if (!/^https?:$/.test(protocolOf(endpoint)))
    return 'The address in OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT does not begin with http:// or https://';
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'];
  if (protocol === undefined || protocol === '' || protocol === 'http/protobuf') return null;
  return 'OTEL_EXPORTER_OTLP_PROTOCOL or OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is not http/protobuf, and Cambist knows no other';
}

function protocolOf(address: string): string {
  try {
    return new URL(address.trim()).protocol;
  } catch {
    return '';
  }
}
