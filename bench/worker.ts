/**
 * A real worker process (`cambist worker`) on its own: how soon it works after its start, how soon a quote is traded, and
 * which requests a happy run makes. The sandbox's request log and Temporal's history are the witnesses.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';
import type { RequestLogEntry } from '../sandbox/request-log.ts';
import { openStage, type Run, type Stage } from '../test/support/stage.ts';
import { counted, median, number, plain, timed, type Section } from './figures.ts';
import { endWithUs, firstLine } from './pinned.ts';
import { withTimeLimit } from './time-limit.ts';

const STARTS = 3;
const RUNS = 10;
const RUNS_AT_USUAL_PACE = 2;
const MOST_GAP_MS = 100;

const AT_ONCE = {
  settlementMs: { IMMEDIATE: 0, T0: 0, T1: 0, T2: 0 },
  withdrawalSteps: [{ status: 'PENDING', forMs: 0 }],
};
/** As the sandbox has it when nobody says otherwise. */
const USUAL_PACE = {
  settlementMs: { IMMEDIATE: 0, T0: 2_000, T1: 4_000, T2: 6_000 },
  withdrawalSteps: [
    { status: 'PENDING', forMs: 500 },
    { status: 'PROCESSING', forMs: 1_000 },
  ],
};

const BIN = fileURLToPath(new URL('../bin/cambist.mjs', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));

export async function measureWorker(): Promise<readonly Section[]> {
  const policy = await readFile(new URL('../policies/mxn-supplier.yaml', import.meta.url), 'utf8');
  const stage = await openStage({ rates: { 'USD/MXN': '17.25' }, settings: AT_ONCE });
  let worker: ChildProcess | null = null;
  try {
    const starts: Started[] = [];
    for (let round = 0; round < STARTS; round += 1) {
      if (worker !== null) await end(worker);
      const run = await stage.start(policy, { name: `start-${round}` });
      const started = await startWorker(stage);
      ({ worker } = started);
      starts.push({ ...started, firstTaskMs: (await firstTaskAtMs(run)) - started.spawnedAtMs });
      await withTimeLimit(run.report(), run.handle.workflowId);
    }
    const runs = await takeRuns(stage, policy, { runs: RUNS, name: 'at-once' });
    stage.sandbox.setSettings(USUAL_PACE);
    const usual = await takeRuns(stage, policy, { runs: RUNS_AT_USUAL_PACE, name: 'usual-pace' });
    return [startSection(starts, await bundlingMs()), gapSection(runs), countSection(runs, usual)];
  } finally {
    if (worker !== null) await end(worker);
    await stage.close();
  }
}

type Started = {
  readonly worker: ChildProcess;
  readonly spawnedAtMs: number;
  readonly readyMs: number;
  readonly firstTaskMs?: number;
};

async function startWorker(stage: Stage): Promise<Started> {
  const spawnedAtMs = Date.now();
  const worker = endWithUs(
    spawn(process.execPath, [BIN, 'worker', '--json'], {
      env: stage.env,
      cwd: stage.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  await withTimeLimit(firstLine(worker, 'The worker'), 'The start of the worker');
  return { worker, spawnedAtMs, readyMs: Date.now() - spawnedAtMs };
}

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  worker.kill('SIGTERM');
  await once(worker, 'exit');
}

/** When Temporal gave the first workflow task of the run to a worker. */
async function firstTaskAtMs(run: Run): Promise<number> {
  await withTimeLimit(run.report(), run.handle.workflowId);
  const { events } = await run.handle.fetchHistory();
  const time = events?.find((event) => event.workflowTaskStartedEventAttributes)?.eventTime;
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;
}

/** What webpack would add to each start, if the bundle were not built before. */
async function bundlingMs(): Promise<number> {
  const startedAt = performance.now();
  await bundleWorkflowCode({ workflowsPath: WORKFLOWS, logger: new DefaultLogger('ERROR') });
  return performance.now() - startedAt;
}

type Measured = { readonly requests: readonly RequestLogEntry[]; readonly events: number };

/** Runs one after the other, so that the worker is idle when each begins. */
async function takeRuns(
  stage: Stage,
  policy: string,
  options: { readonly runs: number; readonly name: string },
): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  for (let turn = 0; turn < options.runs; turn += 1) {
    const before = stage.sandbox.requests().at(-1)?.seq ?? 0;
    const run = await stage.start(policy, { name: `${options.name}-${turn}` });
    const report = await withTimeLimit(run.report(), run.handle.workflowId);
    if (report.status !== 'COMPLETED') throw new Error(`${report.run} ended ${report.status}.`);
    const { events } = await run.handle.fetchHistory();
    measured.push({ requests: stage.sandbox.requests(before), events: events?.length ?? 0 });
  }
  return measured;
}

function startSection(starts: readonly Started[], bundlingTookMs: number): Section {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return {
    title: `start of \`cambist worker\` (median of ${starts.length})`,
    figures: [
      plain('from exec to its line `ready`', seconds(median(starts.map(({ readyMs }) => readyMs)))),
      plain(
        'from exec to its first workflow task',
        seconds(median(starts.map(({ firstTaskMs }) => firstTaskMs ?? Number.NaN))),
      ),
      plain('bundling at start would add (webpack; it is built before)', seconds(bundlingTookMs)),
    ],
  };
}

function gapSection(runs: readonly Measured[]): Section {
  const gaps = runs.map(({ requests }) => atMs(requests, 'createTrade') - atMs(requests, 'createQuote'));
  const slowest = Math.max(...gaps);
  return {
    title: `from quote to trade, worker idle (${gaps.length} runs; request log of the sandbox)`,
    figures: [
      plain('quote asked to trade asked, median', `${number(median(gaps))} ms`),
      timed('  slowest', `${number(slowest)} ms`, `at most ${MOST_GAP_MS} ms`, slowest <= MOST_GAP_MS),
    ],
  };
}

/** Arrival at the service. The quote reached the worker later than its request came here: the gap is an upper bound. */
function atMs(requests: readonly RequestLogEntry[], operation: string): number {
  return Date.parse(requests.find((entry) => entry.operation === operation)?.at ?? '');
}

function countSection(runs: readonly Measured[], usual: readonly Measured[]): Section {
  const count = (of: readonly RequestLogEntry[], operation: string): number =>
    of.filter((entry) => entry.operation === operation).length;
  const beforeWrites = ({ requests }: Measured): readonly RequestLogEntry[] =>
    requests.slice(
      0,
      requests.findIndex((entry) => entry.operation === 'createQuote'),
    );
  const betweenWrites = ({ requests }: Measured): readonly RequestLogEntry[] =>
    requests.slice(
      requests.findIndex((entry) => entry.operation === 'createQuote'),
      requests.findIndex((entry) => entry.operation === 'createWithdrawal'),
    );
  const all = [...runs, ...usual];
  const total = (of: readonly Measured[]): string => {
    const totals = of.map(({ requests }) => requests.length);
    return [...new Set([Math.min(...totals), Math.max(...totals)])].join(' to ');
  };
  return {
    title: 'requests and events of one happy run (policies/mxn-supplier.yaml)',
    figures: [
      ...['createQuote', 'createTrade', 'createWithdrawal'].map((operation) =>
        counted(
          operation,
          all.map(({ requests }) => count(requests, operation)),
          1,
        ),
      ),
      // Of the trades, one for runs of the policy that Temporal may have lost, and one with the balances for the plan.
      ...Object.entries({ listTrades: 2, listWithdrawals: 1 }).map(([operation, looks]) =>
        counted(
          `${operation} before the first write`,
          all.map((run) => count(beforeWrites(run), operation)),
          looks,
        ),
      ),
      counted(
        'looks at lists between the writes',
        all.map(
          (run) => count(betweenWrites(run), 'listTrades') + count(betweenWrites(run), 'listWithdrawals'),
        ),
        0,
      ),
      plain('all requests, when money moves at once', total(runs)),
      plain('all requests, at the usual pace of the sandbox', total(usual)),
      plain('history events', [...new Set(all.map(({ events }) => events))].join(' or ')),
    ],
  };
}
