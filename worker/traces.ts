/**
 * The spans of a worker: one for each attempt of an activity, by its step and its items, and below it one for each request to the
 * service. Which of their attributes leave is in `config/traces/shown-spans.ts`.
 */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { ApplicationFailure } from '@temporalio/common';
import { OpenTelemetryActivityInboundInterceptor } from '@temporalio/interceptors-opentelemetry';
import type { ActivityInboundCallsInterceptor, WorkerInterceptors } from '@temporalio/worker';
import type { WorkerEvent } from '../activities/events.ts';
import type { Traces } from '../config/traces/open.ts';
import { isPart, runOfWorkflowId } from '../domain/references.ts';
import { classOfReply } from '../domain/service/reply-rules.ts';
import { activityStep } from '../workflows/steps.ts';
import { TRACE_HEADER, traceHeaderIn } from '../workflows/trace-header.ts';

export type WorkerTraces = {
  /** The interceptors, and one for activities around them. */
  readonly around: (interceptors: WorkerInterceptors) => WorkerInterceptors;
  /** Makes a span of a request. */
  readonly take: (event: WorkerEvent) => void;
};

export function tracesOfWorker(traces: Traces): WorkerTraces {
  return {
    around: ({ activity = [], ...others }) => ({
      ...others,
      activity: [(context) => ({ inbound: new TracedActivity(traces, context) }), ...activity],
    }),
    take: (event) => {
      if (event.kind === 'requested') addRequest(traces, event.request);
    },
  };
}

type Requested = Extract<WorkerEvent, { kind: 'requested' }>['request'];
type Execute = NonNullable<ActivityInboundCallsInterceptor['execute']>;
type Context = ConstructorParameters<typeof OpenTelemetryActivityInboundInterceptor>[0];

class TracedActivity extends OpenTelemetryActivityInboundInterceptor {
  readonly #traces: Traces;

  constructor(traces: Traces, context: Context) {
    super(context, { tracer: traces.tracer });
    this.#traces = traces;
  }

  override async execute(...[input, next]: Parameters<Execute>): Promise<unknown> {
    const { headers } = input;
    const { activityType, attempt } = this.ctx.info;
    // Whoever starts workflows can write any header, and the package takes it as it is.
    const handed = traceHeaderIn(headers);
    const inSpan = (): Promise<unknown> =>
      super.execute({ ...input, headers: handed }, async (given) => {
        const span = trace.getActiveSpan();
        span?.updateName(spanName(activityType, given.args));
        span?.setAttribute('cambist.attempt', attempt);
        try {
          return await next({ ...given, headers });
        } catch (error) {
          span?.setAttribute('cambist.failure', failureOf(error));
          throw error;
        }
      });
    return TRACE_HEADER in handed ? inSpan() : this.#traces.inTraceOf(this.#traceName(), inSpan);
  }

  /** A run that was started without a trace is one trace all the same, and so is each start by a schedule. */
  #traceName(): string {
    const { workflowNamespace = '', workflowExecution, activityId } = this.ctx.info;
    const id = workflowExecution?.workflowId ?? activityId;
    const ofRun = id.split('/').slice(0, 2).join('/');
    return `${workflowNamespace}\n${runOfWorkflowId(ofRun) === null ? id : ofRun}`;
  }
}

const MOST_ITEMS = 3;

/**
 * The words that the Temporal UI has for the step, and the items that it is about, by their ids. Whatever the call holds: no
 * amount and no account.
 */
export function spanName(activityType: string, args: readonly unknown[]): string {
  const items = itemsOf(args[0]);
  const more = items.length > MOST_ITEMS ? ` and ${items.length - MOST_ITEMS} more` : '';
  const step = activityStep(activityType, '');
  return items.length === 0 ? step : `${step}: ${items.slice(0, MOST_ITEMS).join(', ')}${more}`;
}

function itemsOf(call: unknown): readonly string[] {
  const { leg, legs, payments, items } = asRecord(call);
  return [leg, ...asList(legs), ...asList(payments), ...asList(items)]
    .map(idOf)
    .filter((id) => typeof id === 'string')
    .filter(isPart);
}

/** Of a leg, a payment, or what holds one of them. */
function idOf(item: unknown): unknown {
  if (typeof item === 'string') return item;
  const { id, leg, payment } = asRecord(item);
  return id ?? asRecord(leg)['id'] ?? asRecord(payment)['id'];
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A code of ours, such as `NOT_YET`; the words of a failure may name anything. */
function failureOf(error: unknown): string {
  const type = error instanceof ApplicationFailure ? error.type : null;
  return type && /^[A-Z_]{1,64}$/.test(type) ? type : 'OTHER';
}

/** Each operation as the interface writes it, without the id that is asked for. */
const REQUESTS: Readonly<
  Record<Requested['operation'], readonly [method: 'GET' | 'POST', template: string]>
> = {
  balances: ['GET', '/fx/balances'],
  exposure: ['GET', '/fx/exposures'],
  pairs: ['GET', '/fx/pairs'],
  createQuote: ['POST', '/fx/quotes'],
  createTrade: ['POST', '/fx/trades'],
  createWithdrawal: ['POST', '/fx/withdrawals'],
  trade: ['GET', '/fx/trades/{id}'],
  withdrawal: ['GET', '/fx/withdrawals/{id}'],
  listTrades: ['GET', '/fx/trades'],
  listWithdrawals: ['GET', '/fx/withdrawals'],
  listDeposits: ['GET', '/fx/deposits'],
  listWithdrawalAccounts: ['GET', '/fx/withdrawal-accounts'],
  listAccounts: ['GET', '/common/accounts'],
  listPayoutAddresses: ['GET', '/payments/payout-addresses'],
  listPayouts: ['GET', '/payments/payouts'],
};

/** A trace id as services write it; shorter than a signature or a token, which a hostile service could put there. */
const PLAIN_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

/** A request of an activity. What was never sent is none, and what the worker asks for itself is in no trace. */
function addRequest({ tracer }: Traces, { operation, reply, requestId, tookMs }: Requested): void {
  if (reply.kind === 'NOT_SENT' || trace.getActiveSpan() === undefined) return;
  const [method, template] = REQUESTS[operation];
  const { status, traceId } = reply.facts;
  const endedAtMs = Date.now();
  const error = reply.kind === 'DONE' ? null : reply.error;
  const span = tracer.startSpan(`${method} ${template}`, {
    kind: SpanKind.CLIENT,
    startTime: endedAtMs - tookMs,
    attributes: {
      'http.request.method': method,
      'url.template': template,
      'cambist.operation': operation,
      'cambist.reply': classOfReply(reply),
      'cambist.request_id': requestId,
      ...(status !== null && { 'http.response.status_code': status }),
      ...(error !== null && { 'cambist.code': error.code }),
      ...(traceId !== null && PLAIN_ID.test(traceId) && { 'cambist.service_trace_id': traceId }),
    },
  });
  if (reply.kind !== 'DONE') span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(endedAtMs);
}
