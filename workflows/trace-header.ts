/**
 * The header by which a trace goes from a command to a workflow, and from there to its activities. It holds the ids of a trace
 * and a span, and nothing else. Whoever may start workflows can write anything into it: what is no such header counts as none,
 * because an error would stop the workflow for good. Pure.
 */
import { defaultPayloadConverter, type Headers } from '@temporalio/common';

/** The name that the interceptors of `@temporalio/interceptors-opentelemetry` give it. */
export const TRACE_HEADER = '_tracer-data';

/** One that is longer than this is none of ours. */
const MOST_BYTES = 512;
/** As the W3C's Trace Context writes the ids of a trace and a span. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Of these headers the one of a trace, written anew; no header where there is none, or one that cannot be read. */
export function traceHeaderIn(headers: Headers | null | undefined): Headers {
  const traceparent = traceparentIn(headers?.[TRACE_HEADER]);
  return traceparent === null ? {} : { [TRACE_HEADER]: defaultPayloadConverter.toPayload({ traceparent }) };
}

function traceparentIn(payload: Headers[string] | undefined): string | null {
  if ((payload?.data?.length ?? MOST_BYTES) >= MOST_BYTES) return null;
  try {
    const value = defaultPayloadConverter.fromPayload<{ readonly traceparent?: unknown } | null>(
      payload as Headers[string],
    );
    const text = value?.traceparent;
    return typeof text === 'string' && TRACEPARENT.test(text) ? text : null;
  } catch {
    return null;
  }
}
