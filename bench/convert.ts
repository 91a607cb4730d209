/**
 * One convert run by the interpreter (`run`) against the same by hand (`hand-written.ts`): history events and time. Both
 * have a worker of their own in this process, with a bundle of its own; they share the activities, the sandbox and the
 * Temporal server, and take turns, so that whatever disturbs the machine disturbs both.
 */
import { fileURLToPath } from 'node:url';
import { policyHash } from '../language/policy/policy-hash.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import type { WorkflowHandle } from '@temporalio/client';
import { InstructionsMissing, machineClock } from '../activities/deps.ts';
import { createActivities } from '../activities/index.ts';
import { OPEN_GATE } from '../activities/write-gate.ts';
import { SharedScans } from '../activities/shared-scans.ts';
import { KeptRefusals } from '../domain/writes/kept-refusals.ts';
import { NEW_LEG } from '../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../domain/writes/withdrawal.ts';
import { todayIn } from '../calendar/business-date.ts';
import { chunksOf } from '../durable/batches/chunks.ts';
import { claimsOf } from '../durable/other-runs/claims.ts';
import { turnsOf } from '../durable/other-runs/turn.ts';
import { completedBeside, isCurrentAttempt } from '../durable/attempts.ts';
import { findPlan, readEarlierPlan, readPlan, startPlan } from '../durable/plans.ts';
import {
  endInstructions,
  noteFacts,
  openInstructions,
  recordInstruction,
} from '../durable/instructions/keep.ts';
import { readEarlierInstructions, readInstructions } from '../durable/instructions/read.ts';
import { createClient, loadSettings } from '../config/config.ts';
import { readProfile } from '../config/temporal.ts';
import { connectWorker } from '../worker/connect.ts';
import type { RunInput } from '../domain/run/calls.ts';
import { openStage, type Stage } from '../test/support/stage.ts';
import { counted, median, number, plain, quantile, timed, type Section } from './figures.ts';
import type { NewItems } from './hand-written.ts';
import { withTimeLimit } from './time-limit.ts';

/** No waiting on the service's side, so that what is left is Temporal and us. */
const AT_ONCE = {
  settlementMs: { IMMEDIATE: 0, T0: 0, T1: 0, T2: 0 },
  withdrawalSteps: [{ status: 'PENDING', forMs: 0 }],
};

const POLICY = `
policy: 1
kind: convert
name: bench
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { sell: "1000.00" } }
quote: { valid_for: 45s, settlement: T0 }
guard: { worst_rate: "16.90 MXN per USD" }
settle: { until: funds }
shortfall: skip
withdraw:
  - { id: supplier, account: wac_7Hk2mQ9vT4xR, amount: proceeds, rounding: down }
`;

/** Turns before the first that counts: the first runs of a worker load and compile what later ones have. */
const WARM_UP = 5;
const SETTLE_MS = 50;

type Measured = {
  readonly events: number;
  readonly upserts: number;
  readonly ms: number;
  readonly taskMs: number;
  /** Of this process: worker, sandbox and client. */
  readonly cpuMs: number;
};

/** @param turns how many runs of each kind count */
export async function measureConvert(turns: number): Promise<Section> {
  const stage = await openStage({ rates: { 'USD/MXN': '17.25' }, settings: AT_ONCE });
  const byHand = await startHandWritten(stage);
  try {
    await stage.startWorker();
    const interpreted: Measured[] = [];
    const handWritten: Measured[] = [];
    const takeTurn = async (turn: number): Promise<void> => {
      const kinds = turn % 2 === 0 ? [runInterpreted, byHand.run] : [byHand.run, runInterpreted];
      for (const kind of kinds) {
        const measured = await measure(() => kind(stage, turn));
        if (turn >= WARM_UP) (kind === runInterpreted ? interpreted : handWritten).push(measured);
        await sleep(SETTLE_MS);
      }
    };
    for (let turn = 0; turn < WARM_UP + turns; turn += 1) await takeTurn(turn);
    return sectionOf(interpreted, handWritten);
  } finally {
    await byHand.stop();
    await stage.close();
  }
}

function sectionOf(interpreted: readonly Measured[], handWritten: readonly Measured[]): Section {
  const ratio = (of: (measured: Measured) => number): number =>
    median(interpreted.map(of)) / median(handWritten.map(of));
  const spread = (of: readonly number[]): string =>
    `${number(median(of))} ms (half of them ${number(quantile(of, 0.25))} to ${number(quantile(of, 0.75))})`;
  const against = (of: (measured: Measured) => number): string =>
    `${number(median(interpreted.map(of)))} ms against ${number(median(handWritten.map(of)))} ms`;
  const byHandEvents = median(handWritten.map(({ events }) => events));
  const percent = (ratio((measured) => measured.ms) - 1) * 100;
  return {
    title: `one convert run against a hand-written workflow (${interpreted.length} runs of each, in turns)`,
    figures: [
      plain(
        'history events, hand-written',
        [...new Set(handWritten.map(({ events }) => events))].join(' or '),
      ),
      plain(
        'history events, interpreter',
        [...new Set(interpreted.map(({ events }) => events))].join(' or '),
      ),
      plain(
        '  of these, search attribute',
        [...new Set(interpreted.map(({ upserts }) => upserts))].join(' or '),
      ),
      counted(
        'events that the interpreter adds besides',
        interpreted.map(({ events, upserts }) => events - upserts - byHandEvents),
        0,
      ),
      plain('time, hand-written', spread(handWritten.map(({ ms }) => ms))),
      plain('time, interpreter', spread(interpreted.map(({ ms }) => ms))),
      timed('time that the interpreter adds', `${percent.toFixed(1)} %`, 'at most 5 %', percent <= 5),
      plain(
        '  in its workflow tasks alone',
        against(({ taskMs }) => taskMs),
      ),
      plain(
        '  CPU time of worker, sandbox and client',
        against(({ cpuMs }) => cpuMs),
      ),
    ],
  };
}

const NEW_ITEMS: NewItems = { leg: NEW_LEG, payment: NEW_PAYMENT };

type Start = (stage: Stage, turn: number) => Promise<WorkflowHandle>;

/** As a user has it. */
const runInterpreted: Start = async (stage, turn) => {
  const run = await stage.start(POLICY, { name: `interpreted-${turn}` });
  return run.handle;
};

async function startHandWritten(
  stage: Stage,
): Promise<{ readonly run: Start; readonly stop: () => Promise<void> }> {
  const settings = await loadSettings(stage.env, stage.folder);
  const { client } = stage.temporal;
  const service = createClient(settings, 'write');
  const profile = readProfile(stage.env, 'SANDBOX');
  const connection = await connectWorker(profile);
  const { namespace } = profile;
  const taskQueue = `${settings.taskQueue}-by-hand`;
  const others = { client, taskQueue: settings.taskQueue };
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('hand-written.ts', import.meta.url)),
      logger: new DefaultLogger('ERROR'),
    }),
    // As `worker/worker.ts` has them. Plan and instructions are the other worker's in both cases: no part of the comparison.
    activities: createActivities({
      service,
      reader: service,
      scans: new SharedScans(service, { clock: machineClock, listLagMs: settings.facts.listLagMs }),
      facts: settings.facts,
      halts: { whyNot: () => null, settled: async () => {} },
      keptRefusals: new KeptRefusals(),
      gate: OPEN_GATE,
      clock: machineClock,
      isCurrentAttempt: (info) => isCurrentAttempt(client, info),
      completedBeside: (of, withinMs) => completedBeside(client, of, withinMs),
      isStopping: () => false,
      chunks: chunksOf(client, others.taskQueue),
      turn: turnsOf({ ...others, mode: service.mode, organisation: service.organisation }),
      startScheduled: () => Promise.reject(new Error('Nothing is scheduled here.')),
      readOwnFile: async () => null,
      tryScheduled: () => Promise.reject(new Error('Nothing is scheduled here.')),
      claims: {
        ...claimsOf(client),
        whose: async () => [],
        rival: async () => ({ rival: null, silent: null }),
        unknown: async () => [],
        keptForMs: async () => 0,
      },
      tell: () => {},
      instructions: {
        read: async (mode, run) => {
          const kept = await readInstructions({ client, mode, run });
          if (kept === null) throw new InstructionsMissing();
          return kept;
        },
        readEarlier: (mode, run, runId) => readEarlierInstructions({ client, mode, run }, runId),
        open: (mode, run, onlyIfKnown) => openInstructions({ ...others, mode, run }, onlyIfKnown),
        record: async (mode, run, instruction) => {
          await recordInstruction({ ...others, mode, run }, instruction);
        },
        note: (mode, run, facts) => noteFacts({ ...others, mode, run }, facts),
        end: (mode, run) => endInstructions(client, mode, run),
      },
      plans: {
        find: (mode, run) => findPlan(client, mode, run),
        start: (input, found) =>
          startPlan(
            client,
            { taskQueue: settings.taskQueue, organisation: service.organisation },
            input,
            found,
          ),
        read: (mode, run, patienceMs, startedRunId) => readPlan(client, mode, run, patienceMs, startedRunId),
        readEarlier: (mode, run, runId) => readEarlierPlan(client, mode, run, runId),
      },
    }),
    stickyQueueScheduleToStartTimeout: '2s',
    maxCachedWorkflows: 500,
  });
  const ended = worker.run();
  return {
    run: async (_stage, turn) => {
      const name = `by-hand-${turn}`;
      const policyText = POLICY.replace(/^name: .*$/m, `name: ${name}`);
      const input: RunInput = {
        run: { policy: name, id: todayIn('UTC', Date.now()) },
        mode: 'SANDBOX',
        policyText,
        policyHash: policyHash(policyText) ?? '',
        policyFile: 'policy.yaml',
        files: {},
        startedBy: 'bench',
      };
      return client.workflow.start('handWritten', {
        workflowId: `by-hand/${taskQueue}/${turn}`,
        taskQueue,
        args: [input, NEW_ITEMS],
      });
    },
    stop: async () => {
      worker.shutdown();
      await ended;
      await Promise.all([service.close(), connection.close()]);
    },
  };
}

/** Starts a run, waits for its end and reads the history. Times are the server's, first event to last. */
async function measure(start: () => Promise<WorkflowHandle>): Promise<Measured> {
  const cpu = process.cpuUsage();
  const handle = await start();
  await withTimeLimit(handle.result(), `The run ${handle.workflowId}`);
  const { user, system } = process.cpuUsage(cpu);
  const { events } = await handle.fetchHistory();
  if (!events) throw new Error(`The history of ${handle.workflowId} is empty.`);
  const moments = events.map(
    ({ eventTime }) => Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6,
  );
  let taskMs = 0;
  for (const [index, event] of events.entries()) {
    if (event.workflowTaskCompletedEventAttributes)
      taskMs += (moments[index] ?? 0) - (moments[index - 1] ?? 0);
  }
  return {
    events: events.length,
    upserts: events.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes).length,
    ms: (moments.at(-1) ?? 0) - (moments[0] ?? 0),
    taskMs,
    cpuMs: (user + system) / 1_000,
  };
}
