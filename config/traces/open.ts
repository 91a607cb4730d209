/**
 * Makes spans and sends them by OTLP, as OpenTelemetry's own variables say. Only the context of a trace goes from one program to
 * another, and no baggage. Loaded only where traces are wanted.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpanKind, context, createContextKey, propagation, type Span, type Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { Resource, detectResourcesSync, envDetectorSync } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { sendingShown } from './shown-spans.ts';
import { tracedStarts } from './starts.ts';
import type { Unsent } from './unsent.ts';

export type TracesOptions = {
  /** How long one sending may take; absent: as `OTEL_EXPORTER_OTLP_TIMEOUT` says. */
  readonly timeoutMs?: number;
  /** Called where no spans are sent; seldom. */
  readonly say: (trouble: Unsent) => void;
};

export type Traces = {
  readonly tracer: Tracer;
  /** Hands the trace on to what a client of Temporal starts. */
  readonly starts: WorkflowClientInterceptor;
  /** Carries out `work` in a span that begins a trace. */
  readonly inSpan: <T>(name: string, work: (span: Span) => Promise<T>) => Promise<T>;
  /** A span that begins a trace in `work` begins the one of this name: the same wherever and whenever it begins. */
  readonly inTraceOf: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  /** Sends what is left, for a second at most. Never rejects. */
  readonly close: () => Promise<void>;
};

const CLOSE_MS = 1_000;
const TRACE_ID = createContextKey('cambist trace id');

export function newTraces({ say, timeoutMs }: TracesOptions): Traces {
  const exporter = new OTLPTraceExporter(timeoutMs === undefined ? {} : { timeoutMillis: timeoutMs });
  return tracesBy(new BatchSpanProcessor(sendingShown(exporter, say)));
}

/** @param processor what is done with each span that has ended */
export function tracesBy(processor: SpanProcessor): Traces {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const ids = new RandomIdGenerator();
  const provider = new BasicTracerProvider({
    resource: new Resource({ 'service.name': 'cambist' }).merge(
      detectResourcesSync({ detectors: [envDetectorSync] }),
    ),
    idGenerator: {
      generateTraceId: () => {
        const named = context.active().getValue(TRACE_ID);
        return typeof named === 'string' ? named : ids.generateTraceId();
      },
      generateSpanId: () => ids.generateSpanId(),
    },
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('cambist');
  return {
    tracer,
    starts: tracedStarts(tracer),
    inSpan: (name, work) =>
      tracer.startActiveSpan(name, { kind: SpanKind.INTERNAL }, async (span) => {
        try {
          return await work(span);
        } finally {
          span.end();
        }
      }),
    inTraceOf: (name, work) => {
      const id = createHash('sha256').update(name).digest('hex').slice(0, 32);
      return context.with(context.active().setValue(TRACE_ID, id), work);
    },
    close: async () => {
      const closed = provider.shutdown().catch(() => undefined);
      await Promise.race([closed, sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}
