/**
 * What leaves of a span: its name, its times, its place in the trace, and the attributes of one list. The packages that make
 * spans also note messages and stacks of errors, which may name an account or an amount, and reasons that a person has typed:
 * none of that leaves.
 */
import { SpanStatusCode } from '@opentelemetry/api';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { unsent, type Unsent } from './unsent.ts';

/** Every attribute that a span may have; docs/monitoring.md says what each of them is. */
export const SPAN_ATTRIBUTES = [
  'temporalWorkflowId',
  'run_id',
  'temporalActivityId',
  'cambist.attempt',
  'cambist.failure',
  'cambist.exit_code',
  'http.request.method',
  'url.template',
  'http.response.status_code',
  'cambist.operation',
  'cambist.reply',
  'cambist.code',
  'cambist.request_id',
  'cambist.service_trace_id',
] as const;

/** Where spans cannot be sent, this is said at most so often. */
const SAY_AGAIN_MS = 3_600_000;

/** Sends by `exporter` what may leave. `say` is told, seldom, that nothing does. */
export function sendingShown(exporter: SpanExporter, say: (trouble: Unsent) => void): SpanExporter {
  let saidAtMs: number | null = null;
  const note = ({ code, error }: ExportResult): void => {
    if (code === ExportResultCode.SUCCESS) return;
    const nowMs = performance.now();
    if (saidAtMs !== null && nowMs - saidAtMs < SAY_AGAIN_MS) return;
    saidAtMs = nowMs;
    say(unsent(`The collector takes no spans${reasonOf(error)}`));
  };
  return {
    export: (spans, done) =>
      exporter.export(spans.map(shown), (result) => {
        note(result);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

export function shown(span: ReadableSpan): ReadableSpan {
  const { name, kind, parentSpanId, startTime, endTime, duration, ended, resource } = span;
  const { traceId, spanId, traceFlags } = span.spanContext();
  const { instrumentationLibrary } = span;
  const attributes = Object.fromEntries(
    SPAN_ATTRIBUTES.flatMap((key) => {
      const value = span.attributes[key];
      return value === undefined ? [] : [[key, value]];
    }),
  );
  return {
    name,
    kind,
    spanContext: () => ({ traceId, spanId, traceFlags }),
    ...(parentSpanId !== undefined && { parentSpanId }),
    startTime,
    endTime,
    duration,
    ended,
    attributes,
    status: { code: span.status.code === SpanStatusCode.ERROR ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    links: [],
    events: [],
    resource,
    instrumentationLibrary,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** A code of the system, or a status; what a collector says in words is not repeated. */
function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  const code = error?.code;
  return typeof code === 'number' || (typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code))
    ? ` (${code})`
    : '';
}
