/**
 * Records the histories that `test/machines/run-replay.test.ts` replays: real runs on a real server, each file one history in
 * Temporal's own JSON. `npm run record-histories` records all of them anew, when workflows change so that they do not
 * replay any more; `-- NAME …` records only these (names of `RECORDINGS`). Nothing of this machine stays in the files. Those of
 * releases stay as they are.
 */
import { readdir, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { readInstructions } from '../../durable/instructions/read.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import { SUPERSEDED } from '../../domain/replacement.ts';
import type { FaultEffect, SandboxFault } from '../../sandbox/server.ts';
import {
  SCHEDULED_TYPE,
  TURN_TYPE,
  instructionsIdOf,
  nominalTimeAttribute,
  planIdOf,
  scheduledIdOf,
  wakeSignal,
  type ScheduledInput,
} from '../../workflows/names.ts';
import { chunkOf, paymentsOf, startBatch, untilAllEnded } from './batches.ts';
import { startServerOfShortHistories } from './dev-server.ts';
import { killIn, type Cell } from './kill-cells.ts';
import { eventually } from './patience.ts';
import { MXN_ACCOUNT, convertPolicy, type PolicyParts } from './policies.ts';
import { resetPoints, resetTo } from './resets.ts';
import { ROOT } from './root.ts';
import { openStage, type Run, type Stage } from './stage.ts';
import type { LooseInstruction } from './instructions.ts';
import { say } from './say.ts';

const FOLDER = join(ROOT, 'test/machines/histories/');
/** Stands where the machine and a process stood. */
const RECORDER = 'recorder';
const OF_THIS_MACHINE = new RegExp(`\\d+@${hostname().replaceAll('.', String.raw`\.`)}`, 'g');

/** The moments of `kill-cells.ts` that leave different histories behind. */
const KILLS: Readonly<Record<string, Cell>> = {
  'killed-unscheduled': { movement: 'trade', moment: 'the reference is in history', side: 'before' },
  'killed-in-trade': { movement: 'trade', moment: 'the service commits', side: 'after' },
  'killed-in-withdrawal': { movement: 'withdrawal', moment: 'half of its body has left', side: 'after' },
  'killed-unreported': { movement: 'withdrawal', moment: 'the result is reported', side: 'before' },
};

const REBALANCE = `policy: 1
kind: rebalance
name: replaced
environment: sandbox
rebalance:
  base: { currency: USD, min: "100000.00" }
  targets: { EUR: { keep: "250000.00", band: "25000.00" }, GBP: { min: "40000.00" } }
quote: { valid_for: 45s, settlement: T0 }
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 100bps }
limits: { per_run: "1000000.00 USD" }
`;

/** Longer than a run waits that takes the place of another one: on a stage doubt about a trade lasts two seconds. */
const SAFETY_MS = 120_000;

/** Recorded before the others. */
const UNSEEN = 'unseen';
/** What is recorded side by side; some of it leaves several histories. */
const RECORDINGS: Readonly<Record<string, (name: string) => Promise<void>>> = {
  happy: recordHappy,
  ends: recordEnds,
  held: recordHeld,
  reset: recordReset,
  cancelled: recordCancelled,
  'cancelled-in-trade': recordCancelledInTrade,
  'paid-again': recordPaidAgain,
  resolved: recordResolved,
  continued: recordContinued,
  rebalanced: recordRebalanced,
  scheduled: recordScheduled,
  batch: recordBatch,
  'batch-of-one-chunk': recordBatchOfOneChunk,
  instead: recordInstead,
  ...Object.fromEntries(Object.keys(KILLS).map((name) => [name, recordKilled])),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => name !== UNSEEN && RECORDINGS[name] === undefined);
if (unknown.length > 0)
  throw new Error(
    `Not known: ${unknown.join(', ')}. There are ${[UNSEEN, ...Object.keys(RECORDINGS)].join(', ')}.`,
  );

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  settings: { settlementMs: { T1: 20_000, T2: 3_600_000 } },
});
await stage.startWorker({ identity: RECORDER });
const recorded = (await readdir(FOLDER)).filter((name) => name.endsWith('.json'));
if (asked.length === 0) await Promise.all(recorded.map((name) => rm(join(FOLDER, name))));
try {
  // Alone: what happens to reads happens to all.
  if (isAsked(UNSEEN)) await recordWaitingPlan();
  const wanted = Object.entries(RECORDINGS).filter(([name]) => isAsked(name));
  await Promise.all(wanted.map(([name, work]) => work(name)));
} finally {
  await stage.close();
}

function isAsked(name: string): boolean {
  return asked.length === 0 || asked.includes(name);
}

async function recordHappy(name: string): Promise<void> {
  const run = await recordEnd(name, { settle: '{ until: funds, late_after: 6h }' });
  await save(`${name}-plan`, planIdOf('SANDBOX', run.name));
}

/** What else ends by itself, one way or another. */
async function recordEnds(): Promise<void> {
  const fixed = [{ id: 'supplier', account: MXN_ACCOUNT, fixed: '100.00' }];
  const tooDear = '{ worst_rate: "18 MXN per USD" }';
  await Promise.all([
    recordEnd('requoted', {}, [{ kind: 'error', code: 'QUOTE_EXPIRED' }]),
    recordEnd('lost-reply', {}, [{ kind: 'lose-reply' }]),
    recordEnd('in-doubt', {}, [{ kind: 'lose-reply' }, { kind: 'list-lag', ms: 12_000 }]),
    recordEnd('late', {
      quote: '{ valid_for: 45s, settlement: T1 }',
      settle: '{ until: funds, late_after: 1s }',
    }),
    recordEnd('several-payments', {
      withdraw: ['one', 'two', 'three'].map((id) => ({ id, account: MXN_ACCOUNT, fixed: '100.00' })),
    }),
    recordEnd('refused', { guard: tooDear }),
    recordEnd('refused-with-payment', { guard: tooDear, withdraw: fixed }),
    recordEnd('unplanned', { withdraw: [{ id: 'supplier', account: 'wac_Nobody' }] }).then((run) =>
      save('unplanned-plan', planIdOf('SANDBOX', run.name)),
    ),
  ]);
}

async function recordWaitingPlan(): Promise<void> {
  const balances: SandboxFault = { operation: 'listBalances', effect: { kind: 'html', status: 503 } };
  const id = stage.sandbox.addFault(balances);
  const run = await start('unseen');
  await run.until((report) => report.problems.length > 0);
  stage.sandbox.clearFaults(id);
  await run.report();
  await record('unseen', run);
  await save('unseen-plan', planIdOf('SANDBOX', run.name));
}

async function recordHeld(): Promise<void> {
  const held = await start('held', { sell: 'EUR', amount: '{ sell: "300000.00" }', shortfall: 'hold' });
  await held.heldBy('SHORTFALL');
  stage.sandbox.deposit({ currency: 'EUR', amount: '50000.00' });
  await held.wake();
  await held.report();
  await record('held', held);
}

async function recordReset(): Promise<void> {
  const reset = await start('reset', { settle: '{ until: funds }' });
  await reset.report();
  await resetToPoint(reset, 0.5);
  await reset.report();
  await record('reset', reset);
}

/** Cancelled by Temporal's own button, then reset: the word outlives what the reset takes back. */
async function recordCancelled(): Promise<void> {
  const cancelled = await start('cancelled', { quote: '{ valid_for: 45s, settlement: T2 }' });
  await cancelled.until(({ problems }) => problems.some(({ code }) => code === 'AWAITING_SETTLEMENT'));
  await cancelled.handle.cancel();
  await cancelled.report();
  await record('cancelled', cancelled);
  await save('cancelled-instructions', instructionsIdOf('SANDBOX', cancelled.name));
  await resetToPoint(cancelled, 0);
  await cancelled.report();
  await record('cancelled-reset', cancelled);
}

/** Cancelled while its trade is under way: the word is kept before that has ended. */
async function recordCancelledInTrade(name: string): Promise<void> {
  const effect = { kind: 'hold', when: 'before' } as const;
  const id = stage.sandbox.addFault({ operation: 'createTrade', when: { reference: `${name}.*` }, effect });
  const run = await start(name);
  await stage.sandbox.faultHit(id);
  await run.handle.cancel();
  const { client } = stage.temporal;
  const kept = () => readInstructions({ client, mode: 'SANDBOX', run: run.name });
  await eventually('the cancel is kept', async () => (await kept())?.instructions.length);
  stage.sandbox.clearFaults(id);
  await run.report();
  await record(name, run);
}

async function recordPaidAgain(): Promise<void> {
  const account = 'wac_Again';
  const setOutcome = (outcome: 'failed' | 'completed') =>
    stage.sandbox.putAccounts([{ id: account, currency: 'MXN', assetType: 'FIAT', status: 'LIVE', outcome }]);
  setOutcome('failed');
  const run = await start('paid-again', { withdraw: [{ id: 'supplier', account }] });
  await run.report();
  await record('payment-failed', run);
  setOutcome('completed');
  await sayOf(run, {
    kind: 'pay again',
    item: 'supplier',
    follows: 1,
    recordId: null,
    why: 'the account is open again',
  });
  await run.startAgain();
  await run.report();
  await record('paid-again', run);
  await save('paid-again-instructions', instructionsIdOf('SANDBOX', run.name));
}

/** What the machine cannot tell is decided by a person. */
async function recordResolved(): Promise<void> {
  const run = await start('resolved');
  stage.sandbox.addFault({
    operation: 'createWithdrawal',
    when: { reference: 'resolved.*' },
    effect: { kind: 'error', code: 'IDEMPOTENCY_MISMATCH' },
  });
  await run.until(({ payments }) => payments[0]?.outcome === 'NEEDS_HUMAN');
  await sayOf(run, {
    kind: 'not executed',
    item: 'supplier',
    why: 'never received',
  });
  await run.wake();
  await run.report();
  await record('resolved', run);
}

/** Held for so long that it goes on in a new history, on a server that finds histories long early. */
async function recordContinued(): Promise<void> {
  // What a history takes over is read again first, which takes about 35 events.
  const server = await startServerOfShortHistories(60);
  const patient = await openStage({ balances: { USD: '0' }, temporalAddress: server.address });
  try {
    await patient.startWorker({ identity: RECORDER });
    const run = await patient.start(convertPolicy({ shortfall: 'hold' }), { name: 'continued' });
    const { workflowId, runId: first } = await run.handle.describe();
    const latest = async () => (await run.handle.describe()).runId;
    // Each wake-up makes the history longer.
    while ((await latest()) === first) await run.wake();
    patient.sandbox.deposit({ currency: 'USD', amount: '1000' });
    await run.wake();
    await run.report();
    await save('continued-from', workflowId, { on: patient, runId: first });
    await save('continued', workflowId, { on: patient });
  } finally {
    await patient.close();
    await server.kill();
  }
}

/** A day on which two currencies are traded, one on which nothing is, and the turns of both. */
async function recordRebalanced(): Promise<void> {
  const treasury = await openStage({
    rates: { 'EUR/USD': '1.08', 'GBP/USD': '1.27' },
    balances: { USD: '300000', EUR: '300000' },
  });
  try {
    await treasury.startWorker({ identity: RECORDER });
    const files = {
      'rates.yaml': `as_of: ${new Date().toISOString().slice(0, 19)}Z\nrates: ["1.0800 USD per EUR", "1.2700 USD per GBP"]\n`,
    };
    const run = await treasury.start(REBALANCE, { name: 'rebalanced', files });
    await run.report();
    const quiet = await treasury.start(REBALANCE, { name: 'quiet', files });
    await quiet.report();
    await save('rebalanced', run.handle.workflowId, { on: treasury });
    await save('quiet-plan', planIdOf('SANDBOX', quiet.name), { on: treasury });
    const query = `WorkflowType = '${TURN_TYPE}' AND TaskQueue = '${treasury.env['CAMBIST_TASK_QUEUE'] ?? ''}'`;
    for await (const { workflowId } of treasury.temporal.client.workflow.list({ query }))
      await save('turn', workflowId, { on: treasury });
  } finally {
    await treasury.close();
  }
}

/** A batch of two chunks with one payment that cannot be paid at first; its chunk is reset after the end. */
async function recordBatch(name: string): Promise<void> {
  const office = await openStage({ balances: { USD: '1000', EUR: '1000', MXN: '1000' } });
  const account = 'wac_Verified';
  const put = (status: string) =>
    office.sandbox.putAccounts([{ id: account, currency: 'EUR', assetType: 'FIAT', status }]);
  try {
    await office.startWorker({ identity: RECORDER });
    put('UNVERIFIED');
    const rows = paymentsOf(4).map((row, index): BatchPayment => {
      return index === 0 ? [row[0], account, row[2], row[3]] : row;
    });
    const batch = await startBatch(office, rows, { perChunk: 2, name });
    await untilAllEnded(office, batch);
    const chunk = chunkOf(office, batch, 1);
    const { workflowId, runId } = await chunk.describe();
    await save(name, batch.handle.workflowId, { on: office });
    await save(`${name}-plan`, planIdOf('SANDBOX', batch.name), { on: office });
    await save(`${name}-payments`, workflowId, { on: office });
    put('LIVE');
    const last = (await resetPoints(chunk)).at(-1);
    if (last === undefined) throw new Error('The chunk has no event to reset it to.');
    await resetTo(office.temporal, { workflowId, runId }, last);
    await untilAllEnded(office, batch);
    await save(`${name}-payments-reset`, workflowId, { on: office });
  } finally {
    await office.close();
  }
}

/** A batch whose payments take several calls of one chunk. */
async function recordBatchOfOneChunk(name: string): Promise<void> {
  const office = await openStage({ balances: { USD: '100000', EUR: '100000', MXN: '100000' } });
  try {
    await office.startWorker({ identity: RECORDER });
    const batch = await startBatch(office, paymentsOf(55), { perChunk: 55, name });
    await untilAllEnded(office, batch);
    const { workflowId } = await chunkOf(office, batch, 1).describe();
    await save(name, workflowId, { on: office });
  } finally {
    await office.close();
  }
}

/** In the place of a run whose guard let no quote pass, which is reset afterwards. */
async function recordInstead(name: string): Promise<void> {
  const office = await openStage({ rates: { 'USD/MXN': '17.25' }, timePasses: true });
  try {
    await office.startWorker({ identity: RECORDER });
    const old = await office.start(convertPolicy({ guard: '{ worst_rate: "18 MXN per USD" }' }), { name });
    await old.report();
    const id = `${old.name.id}-b`;
    await sayOf(old, { kind: 'superseded', id: SUPERSEDED, instead: id }, office);
    const next = office.find(convertPolicy({ guard: '{ worst_rate: "16 MXN per USD" }' }), { name, id });
    await next.startAgain({ insteadOf: old.name.id });
    await next.until(({ problems }) => problems.some(({ code }) => code === 'INSTEAD_WAITS'));
    office.time.pass(SAFETY_MS);
    await office.temporal.client.workflow.getHandle(planIdOf('SANDBOX', next.name)).signal(wakeSignal);
    await next.report();
    await save(name, next.handle.workflowId, { on: office });
    await save(`${name}-plan`, planIdOf('SANDBOX', next.name), { on: office });
    const { workflowId, runId } = await old.handle.describe();
    const last = (await resetPoints(old.handle)).at(-1);
    if (last === undefined) throw new Error('The run has no event to reset it to.');
    await resetTo(office.temporal, { workflowId, runId }, last);
    await old.report();
    await save('superseded', workflowId, { on: office });
  } finally {
    await office.close();
  }
}

/** Started as a schedule starts it, for today: it starts the run, and ends. */
async function recordScheduled(policy: string): Promise<void> {
  const nominalMs = Date.now();
  const input: ScheduledInput = {
    mode: 'SANDBOX',
    policy,
    policyText: convertPolicy().replace(
      'name: replaced\n',
      `name: ${policy}\nzone: UTC\nschedule: { at: "09:30", days: daily }\n`,
    ),
    policyFile: `${policy}.yaml`,
  };
  const workflowId = scheduledIdOf('SANDBOX', policy, nominalMs);
  const handle = await stage.temporal.client.workflow.start(SCHEDULED_TYPE, {
    workflowId,
    taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
    args: [input],
    typedSearchAttributes: [{ key: nominalTimeAttribute, value: new Date(nominalMs) }],
  });
  await handle.result();
  await save('scheduled', workflowId);
}

/** A worker was killed in the cell, and another one went on. */
async function recordKilled(name: string): Promise<void> {
  const cell = KILLS[name];
  if (cell === undefined) throw new Error(`No cell is chosen for ${name}.`);
  const { run, taskQueue, afterwards } = await killIn(cell, stage, name);
  await stage.startWorker({ identity: RECORDER, env: { CAMBIST_TASK_QUEUE: taskQueue } });
  await Promise.all([afterwards(), run.report()]);
  await record(name, run);
}

/** A run whose first trade meets these faults. */
function start(name: string, parts: PolicyParts = {}, effects: readonly FaultEffect[] = []): Promise<Run> {
  const when = { reference: `${name}.*` };
  for (const effect of effects) stage.sandbox.addFault({ operation: 'createTrade', times: 1, when, effect });
  return stage.start(convertPolicy(parts), { name });
}

async function recordEnd(...started: Parameters<typeof start>): Promise<Run> {
  const run = await start(...started);
  await run.report();
  await record(started[0], run);
  return run;
}

/** Resets the newest Temporal run to an event that lies so far in its history. */
async function resetToPoint(run: Run, share: number): Promise<void> {
  const points = await resetPoints(run.handle);
  const point = points[Math.floor(points.length * share)];
  if (point === undefined) throw new Error('The run has no event to reset it to.');
  const { workflowId, runId } = await run.handle.describe();
  await resetTo(stage.temporal, { workflowId, runId }, point);
}

/** Keeps an instruction about a run, as the command line does. */
function sayOf(run: Run, instruction: LooseInstruction, on = stage): Promise<void> {
  const { client } = on.temporal;
  const taskQueue = on.env['CAMBIST_TASK_QUEUE'] ?? '';
  return say({ client, taskQueue, mode: 'SANDBOX', run: run.name }, instruction);
}

function record(name: string, run: Run): Promise<void> {
  return save(name, run.handle.workflowId);
}

/** One event a line. */
async function save(
  name: string,
  workflowId: string,
  { on = stage, runId }: { readonly on?: Stage; readonly runId?: string } = {},
): Promise<void> {
  const history = await on.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
  const { events } = JSON.parse(historyToJSON(history)) as { readonly events: readonly unknown[] };
  const lines = events.map((event) => JSON.stringify(event).replaceAll(OF_THIS_MACHINE, RECORDER));
  await writeFile(`${FOLDER}${name}.json`, `{"events":[\n${lines.join(',\n')}\n]}\n`);
}
