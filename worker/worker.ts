/**
 * Puts a worker together from its settings, the client of the service, Temporal, the prebuilt workflow bundle
 * and the activities. No other file does this.
 */
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { Worker, type WorkerOptions as TemporalWorkerOptions } from '@temporalio/worker';
import type { MetricMeter } from '@temporalio/common';
import { auditedService } from '../activities/audited-service.ts';
import { auditedActivities, wordsIn } from '../activities/audited-words.ts';
import { InstructionsMissing, machineClock, type TimedClock } from '../activities/deps.ts';
import { requestsOf, type Tell } from '../activities/events.ts';
import { HaltGate } from '../activities/halt-gate.ts';
import { SharedScans } from '../activities/shared-scans.ts';
import { heeding } from '../activities/approval-gate.ts';
import { datingKeys } from '../activities/keys-seen.ts';
import { remembering } from '../activities/words-seen.ts';
import { completedBeside, isCurrentAttempt } from '../durable/attempts.ts';
import { NOTHING_KEPT } from '../domain/people/instructions.ts';
import { KeptRefusals } from '../domain/writes/kept-refusals.ts';
import { MOST_CHUNKS } from '../domain/batch.ts';
import type { Mode } from '../domain/service/records.ts';
import { chunksOf } from '../durable/batches/chunks.ts';
import { readChunk } from '../durable/batches/submitted-chunk.ts';
import { answerDrills } from '../durable/halts/answer-drills.ts';
import { haltsOf } from '../durable/halts/read.ts';
import { puttingBack } from '../durable/halts/say.ts';
import type { Place } from '../operations/place.ts';
import { startScheduled, tryScheduled } from '../operations/start/by-schedule.ts';
import { lookSince, readFailedPayments } from '../operations/watch/look-for-failed.ts';
import { readFigures } from '../operations/watch/figures.ts';
import { requireRetention } from '../operations/watch/retention.ts';
import { claimsOf } from '../durable/other-runs/claims.ts';
import { findPlan, readEarlierPlan, readPlan, startPlan } from '../durable/plans.ts';
import {
  endInstructions,
  noteFacts,
  openInstructions,
  recordInstruction,
} from '../durable/instructions/keep.ts';
import { withChunk, readInstructionsToActBy, readEarlierInstructions } from '../durable/instructions/read.ts';
import { ownTrouble } from '../operations/watch/builds.ts';
import { turnsOf } from '../durable/other-runs/turn.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';
import { beginJournal, type AuditJournal } from './audit-journal.ts';
import { connectWorker } from './connect.ts';
import { gateOf } from './gate-of-policies.ts';
import { LOOKING_PACE, keepLookingRound, type LookingPace } from './look-round.ts';
import { metricsOf, type Metrics } from './metrics.ts';
import type { Note } from './note.ts';
import { saidInJournals } from './said-in-journals.ts';
import { withKeysAskedFor, withSealedFailures } from './sealed-failures.ts';
import type { WorkerTraces } from './traces.ts';
import { holding, rememberedText } from '../domain/halt.ts';
import { createClient, type Settings } from '../config/config.ts';
import { readFolderFile } from '../config/files-folder.ts';
import { haltFileAt } from '../config/halt-file.ts';
import { connectTemporal, readProfile, registerSearchAttributes, type Patience } from '../config/temporal.ts';

export type WorkerOptions = {
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  /** How long to wait for a Temporal that is still starting; default: not at all. */
  readonly patience?: Patience;
  /** The worker's identity, which the Temporal UI and `cambist doctor` show; default: process id and host. */
  readonly identity?: string;
  /**
   * Called with trouble for the worker's log: what could not be written to its journal, or read of those before it; what of its folder
   * of policies cannot be used; which halts it holds that Temporal does not know.
   */
  readonly note?: Note;
  /** Absent: the worker shows no metrics. `meter` is that of the SDK's runtime. `pace`: for tests. */
  readonly metrics?: {
    readonly meter: MetricMeter;
    readonly version: string;
    readonly pace?: LookingPace;
  };
  /** Absent: the worker makes no spans. */
  readonly traces?: WorkerTraces;
  /** For tests. */
  readonly clock?: TimedClock;
  /** For tests that end the process at a named moment. */
  readonly reached?: (point: string) => void;
  /** For tests: a clock that is not Temporal's, and workflows in the thread of the test. */
  readonly temporal?: Pick<TemporalWorkerOptions, 'interceptors' | 'debugMode'>;
};

export type RunningWorker = {
  /** Serves until `shutdown`; rejects when the worker fails. */
  readonly run: () => Promise<void>;
  /** The file of its journal; null: it keeps none. */
  readonly journal: string | null;
  /** Ends the worker in order: it finishes the activities that are under way first. */
  readonly shutdown: () => void;
  readonly taskQueue: string;
  /** Why the worker's build gets no work; null when it gets work, and for a worker without a build. */
  readonly trouble: Awaited<ReturnType<typeof ownTrouble>>;
  /** The address of the worker's Temporal. */
  readonly address: string;
  readonly namespace: string;
};

/** Null: no folder is named for it. */
async function journalOf(
  { auditFolder, mode }: Settings,
  { organisation, keyName }: Pick<ReturnType<typeof createClient>, 'organisation' | 'keyName'>,
  { identity, clock }: { readonly identity: string; readonly clock: TimedClock },
): Promise<AuditJournal | null> {
  if (auditFolder === null) return null;
  return beginJournal(auditFolder, { worker: identity, mode, organisation, keyName }, clock);
}

/** What workers before this one have read, by the journals in its folder. A worker without a folder remembers nothing. */
async function saidBefore(
  { auditFolder, mode }: Settings,
  { organisation }: Pick<ReturnType<typeof createClient>, 'organisation'>,
  { journal, note }: { readonly journal: AuditJournal | null; readonly note: Note },
): Promise<Awaited<ReturnType<typeof saidInJournals>>> {
  if (auditFolder === null) return { words: new Map(), halts: [] };
  return saidInJournals(auditFolder, { mode, organisation }, { own: journal?.path ?? null, note });
}

/** Built by `npm run build`; no worker runs webpack when it starts. */
const BUNDLE = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.js') ? '../workflow-bundle.js' : '../dist/workflow-bundle.js',
    import.meta.url,
  ),
);

/**
 * So many calls are under way at a time. Most of them wait for the service: each chunk of the largest batch has one that
 * follows its payments, and few that send. So a batch leaves places to others, and further batches are behind them in line.
 */
const MOST_CALLS = MOST_CHUNKS + 200;

/** What the write gate reads of runs. It believes nothing of what workflows hand over. */
function shownBy(client: Client, mode: Mode): Parameters<typeof gateOf>[1]['shown'] {
  return {
    readPlan: (run) => readPlan(client, mode, run, 0),
    readWords: async (run, chunk) =>
      (await readInstructionsToActBy(withChunk({ client, mode, run }, chunk ?? undefined))) ?? NOTHING_KEPT,
    readRows: async (run, number) => {
      const chunk = await readChunk({ client, mode }, run, number);
      return chunk.kind === 'payments' ? chunk.payments : null;
    },
  };
}

/** Null: the worker shows no metrics. */
function metricsFor({ metrics, settings }: WorkerOptions, clock: TimedClock): Metrics | null {
  if (metrics === undefined) return null;
  const { meter, version } = metrics;
  const made = metricsOf({ meter, clock });
  const labels = { version, build: settings.build?.id ?? 'none', mode: settings.mode };
  made.show('cambist_build_info', [{ labels, value: 1 }]);
  return made;
}

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { settings, env } = options;
  const temporal = await connectTemporal(env, settings.mode, options.patience);
  await requireRetention(temporal.client, settings.mode, temporal.namespace);
  await registerSearchAttributes(temporal.connection, temporal.namespace);
  const profile = readProfile(env, settings.mode);
  const connection = await connectWorker(profile);
  const { namespace } = profile;
  const { client } = temporal;
  const { taskQueue } = settings;
  const clock = options.clock ?? machineClock;
  const metrics = metricsFor(options, clock);
  const tell: Tell = (event) => {
    if (event.kind === 'reached') options.reached?.(event.point);
    metrics?.take(event);
    options.traces?.take(event);
  };
  const signed = createClient(settings, 'write', undefined, requestsOf('write', tell));
  const reader =
    settings.readKey === null ? signed : createClient(settings, 'read', undefined, requestsOf('read', tell));
  const identity = options.identity ?? `${process.pid}@${hostname()}`;
  const journal = await journalOf(settings, signed, { identity, clock });
  const note = options.note ?? (() => {});
  const unwritten = (why: string): void => note('AUDIT_UNWRITABLE', why);
  const service = journal === null ? signed : auditedService(signed, journal, unwritten);
  const words = journal === null ? null : wordsIn(journal, unwritten);
  const said = await saidBefore(settings, signed, { journal, note });
  // A worker that ends before it can read the halts hands them on too.
  words?.halts(holding(said.halts));
  const halted = { client, mode: settings.mode };
  const shown = shownBy(client, settings.mode);
  const approved = await gateOf(settings, { reader, clock, shown, note, namespace });
  const { gate, heard, resumesHeard } = approved;
  const onMachine = haltFileAt(settings.haltFile);
  let held = holding(said.halts);
  const halts = new HaltGate({
    read: resumesHeard(haltsOf(halted)),
    remembered: said.halts,
    putBack: puttingBack(halted),
    // The gate counts by the machine's own time, also where a test moves the clock.
    clock: machineClock,
    onMachine,
    onChange: (now) => {
      held = now;
      answerDrills(halted, now.halts, { worker: identity, whyNot: (write) => halts.whyNot(write) });
      words?.halts(now);
    },
  });
  await halts.look();
  const unknown = held.record === null ? held.halts : held.lost;
  for (const halt of unknown) note('HALTED', rememberedText(halt));
  const looking = new AbortController();
  const interceptors = temporal.isSealed
    ? withSealedFailures(options.temporal?.interceptors ?? {})
    : withKeysAskedFor(options.temporal?.interceptors ?? {});
  const place: Place = { ...temporal, mode: settings.mode, taskQueue, uiUrl: null, say: () => {} };
  const { build } = settings;
  const worker: Worker = await Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle: { codePath: BUNDLE },
    activities: auditedActivities(words, {
      service,
      reader,
      scans: new SharedScans(reader, { clock, listLagMs: settings.facts.listLagMs }),
      facts: settings.facts,
      halts,
      keptRefusals: new KeptRefusals(),
      gate,
      clock,
      startScheduled: (call) => startScheduled({ place, settings, now: clock.wallMs }, call),
      tryScheduled: (input) => tryScheduled(settings, input),
      readOwnFile: async (name, mostBytes) =>
        settings.filesFolder === null ? null : readFolderFile(settings.filesFolder, name, mostBytes),
      isCurrentAttempt: (info) => isCurrentAttempt(client, info),
      completedBeside: (of, withinMs) => completedBeside(client, of, withinMs),
      isStopping: () => worker.getState() !== 'RUNNING',
      tell,
      turn: turnsOf({ client, taskQueue, mode: service.mode, organisation: service.organisation }),
      claims: claimsOf(client, heard),
      instructions: heeding(
        datingKeys(
          remembering(
            {
              read: async (mode, run, chunk) => {
                const kept = await readInstructionsToActBy(withChunk({ client, mode, run }, chunk));
                if (kept === null) throw new InstructionsMissing();
                return kept;
              },
              readEarlier: (mode, run, runId, chunk) =>
                readEarlierInstructions(withChunk({ client, mode, run }, chunk), runId),
              open: (mode, run, onlyIfKnown) =>
                openInstructions({ client, taskQueue, mode, run }, onlyIfKnown),
              record: async (mode, run, instruction) => {
                await recordInstruction({ client, taskQueue, mode, run }, instruction);
              },
              note: (mode, run, facts, chunk) =>
                noteFacts(withChunk({ client, taskQueue, mode, run }, chunk), facts),
              end: (mode, run, chunk) => endInstructions(client, mode, run, chunk),
            },
            said.words,
          ),
          clock,
        ),
        heard,
      ),
      chunks: chunksOf(client, taskQueue),
      plans: {
        find: (mode, run) => findPlan(client, mode, run),
        start: (input, found) =>
          startPlan(client, { taskQueue, organisation: service.organisation }, input, found),
        read: (mode, run, patienceMs, startedRunId) => readPlan(client, mode, run, patienceMs, startedRunId),
        readEarlier: (mode, run, runId) => readEarlierPlan(client, mode, run, runId),
      },
    }),
    ...(build !== null && {
      workerDeploymentOptions: {
        version: { deploymentName: build.deployment, buildId: build.id },
        useWorkerVersioning: true,
        // Every newer build can replay the histories, so no run waits for a build that is gone (design: "Builds").
        defaultVersioningBehavior: 'AUTO_UPGRADE' as const,
      },
    }),
    identity,
    ...options.temporal,
    dataConverter: { payloadCodecs: [temporal.codec] },
    interceptors: options.traces?.around(interceptors) ?? interceptors,
    // Longer than any call that writes, so that a deployment of a new version interrupts none.
    shutdownGraceTime: WRITE_LIMITS.startToCloseMs,
    // When a worker dies, the runs in its cache wait this long before another worker takes them.
    stickyQueueScheduleToStartTimeout: '2s',
    maxCachedWorkflows: 500,
    maxConcurrentActivityTaskExecutions: MOST_CALLS,
  });
  const trouble = build === null ? null : await ownTrouble(temporal, taskQueue, build);
  return {
    taskQueue,
    journal: journal?.path ?? null,
    trouble,
    address: profile.address,
    namespace,
    shutdown: () => worker.shutdown(),
    run: async () => {
      const looks = [halts.keepLooking(looking.signal)];
      const seen = new Map<string, number>();
      if (metrics !== null)
        looks.push(
          keepLookingRound(
            {
              metrics,
              clock,
              pace: options.metrics?.pace ?? LOOKING_PACE,
              halts: () => held.halts,
              onMachine,
              isUnreadable: () => halts.whyNot({ policy: '', currencies: [] })?.kind === 'unreadable',
              ceilings: gate.ceilingsUsed,
              readFailed: () =>
                readFailedPayments(reader, settings.address.origin, {
                  facts: settings.facts,
                  sinceMs: lookSince(clock.wallMs()),
                }),
              readFigures: (failed) =>
                readFigures(place, {
                  nowMs: clock.wallMs(),
                  failed,
                  filesFolder: settings.filesFolder,
                  seen,
                }),
            },
            looking.signal,
          ),
        );
      try {
        await worker.run();
      } finally {
        looking.abort();
        await Promise.all(looks);
        await Promise.allSettled([
          service.close(),
          reader.close(),
          connection.close(),
          temporal.connection.close(),
        ]);
        // The last outcomes are in it by now.
        await journal?.close();
      }
    },
  };
}
