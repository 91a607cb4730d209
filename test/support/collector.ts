/** What takes spans in a test, as a collector of OpenTelemetry does: OTLP over HTTP, in protobuf, on this machine. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

export type TakenSpan = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Null: of a span that begins a trace. */
  readonly parentId: string | null;
  readonly attributes: Readonly<Record<string, string | number>>;
};

export type Collector = {
  /** `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string;
  readonly spans: () => readonly TakenSpan[];
  /** Every body that came, one character a byte. */
  readonly bodies: () => string;
  close(): Promise<void>;
};

/** What of the format the tests read; whatever else there is stays unread, and `bodies` has it. */
const FORMAT = `syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; repeated KeyValue attributes = 9;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }`;

type Read = {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: Uint8Array;
        readonly spanId: Uint8Array;
        readonly parentSpanId: Uint8Array;
        readonly name: string;
        readonly attributes: readonly {
          readonly key: string;
          readonly value: { readonly stringValue: string; readonly intValue: number };
        }[];
      }[];
    }[];
  }[];
};

const request = protobuf.parse(FORMAT).root.lookupType('Request');

export async function openCollector(): Promise<Collector> {
  const taken: TakenSpan[] = [];
  let bodies = '';
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      bodies += body.toString('latin1');
      taken.push(...spansIn(body));
      outgoing.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => taken,
    bodies: () => bodies,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function spansIn(body: Buffer): readonly TakenSpan[] {
  const read = request.toObject(request.decode(body), {
    defaults: true,
    arrays: true,
    longs: Number,
  }) as Read;
  return read.resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map(({ name, traceId, spanId, parentSpanId, attributes }) => ({
      name,
      traceId: hexOf(traceId),
      spanId: hexOf(spanId),
      parentId: parentSpanId.length === 0 ? null : hexOf(parentSpanId),
      attributes: Object.fromEntries(
        attributes.map(({ key, value }) => [
          key,
          value.stringValue === '' ? value.intValue : value.stringValue,
        ]),
      ),
    }));
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
