/**
 * The metrics of a worker, made by the meter of Temporal's SDK, which also serves them. What they are stands in one table. No
 * label names an account, a run, an item or an amount, and each metric has a bound on its series: what is above it counts as
 * `other`.
 */
import type { MetricMeter } from '@temporalio/common';
import type { TelemetryOptions } from '@temporalio/worker';
import type { WorkerEvent } from '../activities/events.ts';
import { putLast } from '../activities/put-last.ts';
import { isRunCode } from '../domain/problems.ts';
import type { LegStep } from '../domain/writes/leg-state.ts';
import type { PaymentStep } from '../domain/writes/withdrawal.ts';
import { DECISIONS, classOfReply } from '../domain/service/reply-rules.ts';
import type { Quote, Trade } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';

type Labels = Readonly<Record<string, string>>;

type Metric = {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly says: string;
  readonly labels: readonly string[];
  /** It has no more series than this, the one for all others included, before those of the buckets of a histogram. */
  readonly most: number;
  /** The upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[];
};

const HOUR = 3_600;

/** Every metric of ours, by the name under which Prometheus has it. */
export const METRICS = {
  cambist_build_info: {
    kind: 'gauge',
    says: '1, with the version and the build of the worker',
    labels: ['version', 'build', 'mode'],
    most: 1,
  },
  cambist_requests_total: {
    kind: 'counter',
    says: 'requests to the service, by operation, by the [class](replies.md) of the reply, and by its code',
    labels: ['operation', 'class', 'code'],
    most: 80,
  },
  cambist_request_seconds: {
    kind: 'histogram',
    says: 'how long a request took, from its turn to the end of its reply',
    labels: ['operation'],
    most: 16,
    buckets: [0.1, 0.5, 2, 5, 15],
  },
  cambist_request_wait_seconds: {
    kind: 'histogram',
    says: 'how long a request waited for its turn, by the pace that the service allows',
    labels: [],
    most: 1,
    buckets: [0.01, 0.1, 1, 5, 15],
  },
  cambist_repeated_writes_total: {
    kind: 'counter',
    says: 'writes sent once more under the same key: as this worker knows (`worker`), or as the service says by `Idempotency-Replayed` (`service`)',
    labels: ['operation', 'known_by'],
    most: 7,
  },
  cambist_list_pages_total: {
    kind: 'counter',
    says: 'pages of lists that were read whole',
    labels: ['list'],
    most: 8,
  },
  cambist_service_silent_seconds: {
    kind: 'gauge',
    says: 'since when no request has had an answer of the service; 0 after one',
    labels: [],
    most: 1,
  },
  cambist_configuration_refused: {
    kind: 'gauge',
    says: '1 while the service refuses the key, the mode or the address (class `pause everything`)',
    labels: ['key'],
    most: 3,
  },
  cambist_clock_skew_seconds: {
    kind: 'gauge',
    says: 'how far apart the clocks of the service and of the worker are',
    labels: [],
    most: 1,
  },
  cambist_items_total: {
    kind: 'counter',
    says: 'ends of calls about legs and payments, by outcome and code; an item that waits is counted at each look',
    labels: ['item', 'outcome', 'code'],
    most: 60,
  },
  cambist_quote_to_trade_seconds: {
    kind: 'histogram',
    says: 'from the quote to the trade of it, where one worker made both',
    labels: [],
    most: 1,
    buckets: [0.25, 1, 5, 15, 45],
  },
  cambist_trade_to_settled_seconds: {
    kind: 'histogram',
    says: 'from a trade to its settlement, by the clock of the service',
    labels: [],
    most: 1,
    buckets: [10, 60, 600, HOUR, 6 * HOUR, 24 * HOUR, 72 * HOUR],
  },
  cambist_accepted_to_paid_seconds: {
    kind: 'histogram',
    says: 'from a withdrawal that the service accepted to its end as paid, by the clock of the service',
    labels: [],
    most: 1,
    buckets: [5, 30, 120, 600, HOUR, 6 * HOUR, 24 * HOUR],
  },
  cambist_runs: {
    kind: 'gauge',
    says: 'runs that Temporal still shows, by policy and [state](operations.md#states-of-a-run)',
    labels: ['policy', 'state'],
    most: 60,
  },
  cambist_attention_runs: {
    kind: 'gauge',
    says: 'runs that `list --attention` shows, by the reason of their wait; `ended`: with something undone',
    labels: ['reason'],
    most: 17,
  },
  cambist_attention_oldest_seconds: {
    kind: 'gauge',
    says: 'for how long the oldest of them has waited',
    labels: ['reason'],
    most: 17,
  },
  cambist_came_back_payments: {
    kind: 'gauge',
    says: 'payments that were paid and have failed or come back since, and that no person has acknowledged',
    labels: [],
    most: 1,
  },
  cambist_missed_starts: {
    kind: 'gauge',
    says: 'starts of schedules that are missing',
    labels: [],
    most: 1,
  },
  cambist_reference_age_ratio: {
    kind: 'gauge',
    says: 'age of the reference rates of a scheduled policy, as a part of its `max_age`; above 1 its next run trades nothing',
    labels: ['policy'],
    most: 20,
  },
  cambist_halts: {
    kind: 'gauge',
    says: 'halts that stand: of `everything`, a `policy`, a `currency`, this `machine`; `unreadable`: the worker cannot read them and sends nothing',
    labels: ['of'],
    most: 6,
  },
  cambist_ceiling_used_ratio: {
    kind: 'gauge',
    says: 'how much of a ceiling of the day is used, from 0 to 1; of ceilings for each account, the account with the most',
    labels: ['kind', 'policy', 'per', 'currency'],
    most: 20,
  },
  cambist_looked_timestamp_seconds: {
    kind: 'gauge',
    says: 'when the worker last read what the gauges of runs say',
    labels: [],
    most: 1,
  },
} as const satisfies Readonly<Record<string, Metric>>;

type Name = keyof typeof METRICS;
type NameOf<Kind extends Metric['kind']> = {
  [N in Name]: (typeof METRICS)[N]['kind'] extends Kind ? N : never;
}[Name];

const ENTRIES = Object.entries(METRICS) as readonly [Name, Metric][];

/** The bounds of the histograms. */
export const HISTOGRAM_BUCKETS: Record<string, number[]> = Object.fromEntries(
  ENTRIES.flatMap(([name, { buckets }]) => (buckets === undefined ? [] : [[name, [...buckets]]])),
);

/** What the SDK's runtime needs to serve its metrics and ours. @param address host:port; null: none are served */
export function metricsServedAt(address: string | null): Pick<TelemetryOptions, 'metrics'> {
  if (address === null) return {};
  const prometheus = {
    bindAddress: address,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
    histogramBucketOverrides: HISTOGRAM_BUCKETS,
  };
  return { metrics: { prometheus, attachServiceName: false } };
}

/** Stands for what is above the bound of a metric, and for a code that is not known. */
const OTHER = 'other';
/** Of no reply: a whole success, and a request that never left. */
const NO_CODE = 'none';
/** So many keys of writes, and quotes, are remembered. */
const MOST_REMEMBERED = 10_000;

/** One row of a gauge. */
export type Row = { readonly labels: Labels; readonly value: number };

export type Metrics = {
  /** Never throws. */
  readonly take: (event: WorkerEvent) => void;
  /** Sets the rows of a gauge. What it had before, and does not have any more, is 0 from now on. */
  readonly show: (name: NameOf<'gauge'>, rows: readonly Row[]) => void;
};

type Options = {
  readonly meter: MetricMeter;
  /** Milliseconds. */
  readonly clock: { readonly wallMs: () => number; readonly monotonicMs: () => number };
};

export function metricsOf({ meter, clock }: Options): Metrics {
  const series = new Series(meter);
  const keys = new Map<string, true>();
  /** When each quote was given, on the monotonic clock. */
  const quotes = new Map<string, number>();
  /** The first request since the last answer; null: the last one was answered. */
  let silentSinceMs: number | null = null;
  /** How far the clock of the service is ahead, by its last `Date`. */
  let skewMs = 0;

  const count = (name: NameOf<'counter'>, labels: Labels): void => series.add(name, labels);
  const seconds = (name: NameOf<'histogram'>, ms: number, labels: Labels = {}): void =>
    series.record(name, Math.max(ms, 0) / 1_000, labels);
  const set = (name: NameOf<'gauge'>, value: number, labels: Labels = {}): void =>
    series.set(name, value, labels);

  const requested = ({ key, request }: Extract<WorkerEvent, { kind: 'requested' }>): void => {
    const { operation, reply, waitedMs, tookMs, idempotencyKey } = request;
    const replyClass = classOfReply(reply);
    count('cambist_requests_total', { operation, class: slug(replyClass), code: codeOfReply(reply) });
    seconds('cambist_request_wait_seconds', waitedMs);
    noteSilence(reply);
    if (reply.kind === 'NOT_SENT') return;
    seconds('cambist_request_seconds', tookMs, { operation });
    if (isAnswer(reply))
      set('cambist_configuration_refused', replyClass === 'pause everything' ? 1 : 0, { key });
    if (idempotencyKey !== null) {
      if (keys.has(idempotencyKey)) count('cambist_repeated_writes_total', { operation, known_by: 'worker' });
      putLast(keys, idempotencyKey, true, MOST_REMEMBERED);
    }
    if (reply.facts.replayed === true)
      count('cambist_repeated_writes_total', { operation, known_by: 'service' });
    const { serviceTimeMs } = reply.facts;
    if (serviceTimeMs !== null) {
      // `Date` is cut to the second, which takes half a second off on average.
      skewMs = serviceTimeMs + 500 - clock.wallMs();
      set('cambist_clock_skew_seconds', Math.abs(skewMs) / 1_000);
    }
    if (reply.kind !== 'DONE') return;
    if (operation.startsWith('list'))
      count('cambist_list_pages_total', { list: operation.slice('list'.length) });
    if (operation === 'createQuote')
      putLast(quotes, (reply.value as Quote).id, clock.monotonicMs(), MOST_REMEMBERED);
    if (operation === 'createTrade') {
      const quotedAtMs = quotes.get((reply.value as Trade).quoteId);
      if (quotedAtMs !== undefined)
        seconds('cambist_quote_to_trade_seconds', clock.monotonicMs() - quotedAtMs);
    }
  };

  const noteSilence = (reply: Reply<unknown>): void => {
    const nowMs = clock.monotonicMs();
    silentSinceMs = isAnswer(reply) ? null : (silentSinceMs ?? nowMs);
    set('cambist_service_silent_seconds', silentSinceMs === null ? 0 : (nowMs - silentSinceMs) / 1_000);
  };

  const followed = ({ to, record }: Extract<WorkerEvent, { kind: 'followed' }>): void => {
    const item = to === 'SETTLED' || to === 'NOT_SETTLED' ? 'leg' : 'payment';
    count('cambist_items_total', { item, outcome: to, code: NO_CODE });
    const tookMs = clock.wallMs() + skewMs - Date.parse(record.createdAt);
    if (to === 'SETTLED') seconds('cambist_trade_to_settled_seconds', tookMs);
    if (to === 'PAID') seconds('cambist_accepted_to_paid_seconds', tookMs);
  };

  const take = (event: WorkerEvent): void => {
    switch (event.kind) {
      case 'reached':
        return;
      case 'requested':
        return requested(event);
      case 'stepped':
        return count('cambist_items_total', outcomeOf(event.step));
      case 'followed':
        return followed(event);
    }
  };
  return {
    take: (event) => {
      try {
        take(event);
      } catch {
        // Nothing that counts may keep a payment from leaving, or from being kept as paid.
      }
    },
    show: (name, rows) => series.show(name, rows),
  };
}

/** The instruments of the meter, each with the series that it has. */
class Series {
  readonly #meter: MetricMeter;
  readonly #instruments = new Map<Name, (value: number, labels: Labels) => void>();
  /** By the name of the metric: its series, by the text of their labels. */
  readonly #known = new Map<Name, Map<string, Labels>>();

  constructor(meter: MetricMeter) {
    this.#meter = meter;
    for (const [name, { kind, says }] of ENTRIES) this.#instruments.set(name, this.#made(name, kind, says));
  }

  add(name: NameOf<'counter'>, labels: Labels): void {
    this.#tell(name, 1, labels);
  }

  record(name: NameOf<'histogram'>, value: number, labels: Labels): void {
    this.#tell(name, value, labels);
  }

  set(name: NameOf<'gauge'>, value: number, labels: Labels): void {
    this.#tell(name, value, labels);
  }

  show(name: NameOf<'gauge'>, rows: readonly Row[]): void {
    const values = new Map<string, { readonly labels: Labels; value: number }>();
    // What is gone is 0: a series of the exporter lasts as long as its process.
    for (const [text, labels] of this.#known.get(name) ?? []) values.set(text, { labels, value: 0 });
    for (const { labels, value } of rows) {
      const bounded = this.#bounded(name, labels);
      const text = JSON.stringify(bounded);
      const before = values.get(text);
      values.set(text, { labels: bounded, value: (before?.value ?? 0) + value });
    }
    for (const { labels, value } of values.values()) this.#instruments.get(name)?.(value, labels);
  }

  #tell(name: Name, value: number, labels: Labels): void {
    this.#instruments.get(name)?.(value, this.#bounded(name, labels));
  }

  /** The labels, or `other` in the place of each where the metric has as many series as it may. */
  #bounded(name: Name, labels: Labels): Labels {
    const known = this.#known.get(name) ?? new Map<string, Labels>();
    this.#known.set(name, known);
    const text = JSON.stringify(labels);
    if (known.has(text)) return labels;
    // The last one is for all others.
    const isFull = known.size >= METRICS[name].most - 1 && METRICS[name].most > 1;
    const bounded = isFull ? Object.fromEntries(Object.keys(labels).map((label) => [label, OTHER])) : labels;
    known.set(JSON.stringify(bounded), bounded);
    return bounded;
  }

  #made(name: Name, kind: Metric['kind'], says: string): (value: number, labels: Labels) => void {
    const meter = this.#meter;
    switch (kind) {
      case 'counter': {
        const counter = meter.createCounter(name.replace(/_total$/, ''), '', says);
        return (value, labels) => counter.add(value, labels);
      }
      case 'gauge': {
        const gauge = meter.createGauge(name, 'float', '', says);
        return (value, labels) => gauge.set(value, labels);
      }
      case 'histogram': {
        const histogram = meter.createHistogram(name, 'float', '', says);
        return (value, labels) => histogram.record(value, labels);
      }
    }
  }
}

/** True where the service itself has spoken: a whole reply, whatever it says. */
function isAnswer(reply: Reply<unknown>): boolean {
  return (
    reply.kind === 'DONE' || reply.kind === 'REFUSED' || (reply.kind === 'UNKNOWN' && reply.error !== null)
  );
}

function codeOfReply(reply: Reply<unknown>): string {
  switch (reply.kind) {
    case 'DONE':
    case 'NOT_SENT':
      return NO_CODE;
    case 'REFUSED':
      return knownCode(reply.error.code);
    case 'UNKNOWN':
      if (reply.error !== null) return knownCode(reply.error.code);
      // A gateway before the service says it by the status alone.
      return reply.facts.status === 429 ? 'RATE_LIMIT_EXCEEDED' : NO_CODE;
  }
}

/** The service, or whoever writes into Temporal, may send any code. */
function knownCode(code: string): string {
  return Object.hasOwn(DECISIONS, code) || isRunCode(code) ? code : OTHER;
}

function outcomeOf(step: LegStep | PaymentStep): Labels {
  switch (step.kind) {
    case 'quoted':
      return { item: 'leg', outcome: 'QUOTED', code: NO_CODE };
    case 'requote':
      return { item: 'leg', outcome: 'REQUOTE', code: NO_CODE };
    case 'traded':
      return {
        item: 'leg',
        outcome: 'TRADED',
        code: step.worse === null ? NO_CODE : knownCode(step.worse.code),
      };
    case 'not traded':
      return { item: 'leg', outcome: 'NOT_TRADED', code: knownCode(step.problem.code) };
    case 'accepted':
      return { item: 'payment', outcome: 'ACCEPTED', code: NO_CODE };
    case 'not paid':
      return { item: 'payment', outcome: 'NOT_PAID', code: knownCode(step.problem.code) };
    case 'wait':
      return {
        item: 'quote' in step.state ? 'leg' : 'payment',
        outcome: 'WAITS',
        code: knownCode(step.wait.problem.code),
      };
  }
}

function slug(text: string): string {
  return text.replaceAll(/[^a-z0-9]+/g, '_');
}
