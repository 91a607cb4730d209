/**
 * Runs activities without Temporal, against a service of scripted answers: what an attempt is and what the service says
 * is data, what the worker asked of the service is the result.
 */
import type { Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { Deps } from '../../activities/deps.ts';
import { SharedScans } from '../../activities/shared-scans.ts';
import type { Page } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { KeptRefusals } from '../../domain/writes/kept-refusals.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';

import type { Leaving, ServiceClient } from '../../service/client.ts';
import type { Go, PlanInput } from '../../domain/run/calls.ts';
import type { OwnTurn } from '../../domain/turn.ts';
import { OPEN_GATE } from '../../activities/write-gate.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';
import { NOW, QUOTE, RUN, TRADE, WITHDRAWAL, context, done } from './scripts.ts';
import { kept, type LooseRecorded } from './instructions.ts';

/** One request: the operation, and what it was called with. */
export type Request = { readonly operation: string; readonly asked: unknown };

export type Scripted = Partial<
  Pick<
    ServiceClient,
    | 'balances'
    | 'pairs'
    | 'createQuote'
    | 'createTrade'
    | 'createWithdrawal'
    | 'trade'
    | 'withdrawal'
    | 'listTrades'
    | 'listWithdrawals'
    | 'listWithdrawalAccounts'
    | 'organisation'
  >
>;

/** One whole page, and no further one. */
export function page<T>(...items: readonly T[]): Reply<Page<T>> {
  return done({ items, nextCursor: null, prevCursor: null });
}

/** A client that answers by script, and plain sailing where there is none; what it is asked is added to `requests`. */
export function client(requests: Request[], scripted: Scripted = {}): ServiceClient {
  const { mode, organisation, keyName } = context().credentials;
  const plain = {
    balances: async () =>
      done({ aggregateUsd: '1', balances: [{ currency: 'MXN', withdrawable: '17250', total: '17250' }] }),
    pairs: async () => done([]),
    createQuote: async () => done(QUOTE),
    createTrade: async () => done(TRADE),
    createWithdrawal: async () => done(WITHDRAWAL),
    trade: async () => done({ kind: 'WHOLE' as const, record: TRADE }),
    withdrawal: async () => done({ kind: 'WHOLE' as const, record: WITHDRAWAL }),
    listTrades: async () => page(),
    listWithdrawals: async () => page(),
    listWithdrawalAccounts: async () => page(),
  };
  const { organisation: other, ...operations } = { ...plain, ...scripted };
  const noted = Object.entries(operations).map(([operation, answer]) => [
    operation,
    async (asked: unknown, leaving?: Leaving) => {
      const reason = leaving === undefined ? null : ((await leaving.whyNot()) ?? leaving.whyNotNow());
      if (reason !== null) return { kind: 'NOT_SENT', reason };
      requests.push({ operation, asked });
      return (answer as (asked: unknown) => unknown)(asked);
    },
  ]);
  return {
    mode,
    organisation: other ?? organisation,
    keyName,
    ...Object.fromEntries(noted),
  } as ServiceClient;
}

/** Of which nobody needs to hear. */
export const NO_OTHER_RUNS: Deps['claims'] = {
  whose: async () => [],
  named: async () => false,
  rival: async () => ({ rival: null, silent: null }),
  suspects: async () => [],
  holders: async () => ({ held: new Map(), silent: null }),
  plannedBeside: async () => [],
  unknown: async () => [],
  keptForMs: async () => 0,
};

const never = () => Promise.reject(new Error('Nothing asks for this here.'));

/** What an open run says to a chunk that may send. */
export const GO: Go = {
  runId: 'r1',
  isFresh: true,
  isOver: false,
  mayGo: true,
  released: ['MXN'],
  most: null,
  stopped: null,
  wakes: 0,
};

/** The answer that it is the turn of the run that asks, beside no other run. */
export const OUR_TURN: OwnTurn = {
  turn: 'ours',
  hasLapsed: false,
  others: [],
  gone: [],
  tradedAgoMs: null,
  tradedAtMs: null,
};

/** The chunks of batches, of which nobody asks more than this. */
export function chunksWith(more: Partial<Deps['chunks']>): Deps['chunks'] {
  return {
    readInput: never,
    readGo: never,
    readState: never,
    tell: never,
    startAgain: never,
    reopenRun: never,
    ...more,
  };
}

/** Calls nobody back. */
export const NEVER_WAKES = { wake: () => () => {} };

/** What a worker is given; its clock stands at `NOW` unless the test moves it. */
export function worker(scripted: Scripted = {}, more: Partial<Deps> = {}) {
  const requests: Request[] = [];
  const service = client(requests, scripted);
  const given = { reader: service, clock: { wallMs: () => NOW, monotonicMs: () => 0 }, ...more };
  const deps: Deps = {
    service,
    reader: service,
    scans: new SharedScans(given.reader, {
      clock: { ...NEVER_WAKES, ...given.clock },
      listLagMs: DEFAULT_SERVICE_FACTS.listLagMs,
    }),
    facts: DEFAULT_SERVICE_FACTS,
    instructions: instructionsOf(),
    chunks: chunksWith({}),
    plans: { find: never, start: never, read: never, readEarlier: never },
    clock: given.clock,
    isCurrentAttempt: async () => true,
    completedBeside: async () => null,
    claims: { ...NO_OTHER_RUNS, suspects: never, holders: never, plannedBeside: never },
    turn: {
      take: async () => OUR_TURN,
      giveBack: async () => {},
      reopen: async () => {},
      readReserved: async () => ({ open: [], gone: [] }),
      noteGone: async () => {},
      forget: async () => {},
    },
    startScheduled: never,
    tryScheduled: never,
    readOwnFile: async () => null,
    halts: { whyNot: () => null, settled: async () => {} },
    keptRefusals: new KeptRefusals(),
    gate: OPEN_GATE,
    isStopping: () => false,
    tell: () => {},
    ...more,
  };
  return { deps, requests, sent: (operation: string) => sentIn(requests, operation) };
}

/** What a plan of the scripts' run is asked for with. */
export function planInputOf(policyText: string): PlanInput {
  return {
    run: RUN,
    mode: 'SANDBOX',
    policyText,
    policyHash: policyHash(policyText) ?? '',
    policyFile: 'p.yaml',
    files: {},
    startedBy: 'ana',
    forRun: 'run-1',
    askedBy: 'run-1',
  };
}

/** What people have said. */
export function instructionsOf(...said: readonly LooseRecorded[]): Deps['instructions'] {
  const nobody = () => Promise.reject(new Error('Nobody says anything here.'));
  return {
    read: async () => kept(...said),
    record: nobody,
    note: nobody,
    end: nobody,
    readEarlier: nobody,
    open: nobody,
  };
}

function sentIn(requests: readonly Request[], operation: string): readonly unknown[] {
  return requests.filter((request) => request.operation === operation).map(({ asked }) => asked);
}

/** Which attempt of an activity runs. */
export type AttemptInfo = {
  readonly workflowId?: string;
  readonly runId?: string;
  readonly attempt?: number;
  readonly scheduledAtMs?: number;
  readonly signal?: AbortSignal;
  /** What the attempt before left. */
  readonly heartbeatDetails?: unknown;
  /** What it told, and how long it slept, step by step: added here. */
  readonly heartbeats?: unknown[];
  readonly slept?: { push(ms: number): unknown };
};

/** Failures are what these tests are about. */
const QUIET = { logger: new DefaultLogger('ERROR', () => {}) };

/** Runs `work` as an attempt of an activity: the first one, of the run that made the plan, unless it is said otherwise. */
export function inActivity<T>(attempt: AttemptInfo, work: () => Promise<T>): Promise<T> {
  const { runId = 'run-1', attempt: number = 1, scheduledAtMs = NOW, signal, heartbeats, slept } = attempt;
  const info: Partial<Info> = {
    activityId: 'activity',
    attempt: number,
    heartbeatDetails: attempt.heartbeatDetails,
    scheduledTimestampMs: scheduledAtMs,
    currentAttemptScheduledTimestampMs: scheduledAtMs,
    workflowExecution: { workflowId: attempt.workflowId ?? 'sandbox/p.2026-11-21', runId },
  };
  const environment = new MockActivityEnvironment(info, QUIET);
  environment.on('heartbeat', (progress: unknown) => {
    if (progress !== undefined) heartbeats?.push(progress);
  });
  if (signal?.aborted === true) environment.cancel();
  signal?.addEventListener('abort', () => environment.cancel());
  // Nothing waits here: what a sleep was to last is noted instead.
  const sleep = async (ms: number): Promise<void> => {
    slept?.push(ms);
  };
  Object.assign(environment.context, { sleep });
  return environment.run(work);
}
