/**
 * Records the histories that `test/run-replay.test.ts` replays: real runs on a real server, each file one history in
 * Temporal's own JSON. To be run again when workflows change on purpose: `node --import tsx test/support/record-histories.ts`
 * (after `npm run build`). Nothing of this machine stays in the files.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { FaultEffect } from '../../sandbox/server.ts';
import { pinIdOf, wordsIdOf } from '../../workflows/names.ts';
import { convertPolicy, type PolicyParts } from './policies.ts';
import { resetPoints, resetTo } from './resets.ts';
import { openStage, type Run } from './stage.ts';

const FOLDER = fileURLToPath(new URL('../histories/', import.meta.url));
/** Stands where the machine and the process stood. */
const RECORDER = 'recorder';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  settings: { settlementMs: { T2: 3_600_000 } },
});
await stage.startWorker({ identity: RECORDER });
await rm(FOLDER, { recursive: true, force: true });
await mkdir(FOLDER, { recursive: true });
try {
  await recordAll();
} finally {
  await stage.close();
}

async function recordAll(): Promise<void> {
  const happy = await start('happy', { settle: '{ until: funds, late_after: 6h }' });
  await happy.report();
  await record('happy', happy);
  await save('happy-pin', pinIdOf('SANDBOX', happy.name));

  const requoted = await start('requoted', {}, { kind: 'error', code: 'QUOTE_EXPIRED' });
  await requoted.report();
  await record('requoted', requoted);

  const lost = await start('lost-reply', {}, { kind: 'lose-reply' });
  await lost.report();
  await record('lost-reply', lost);

  const held = await start('held', { sell: 'EUR', amount: '{ sell: "300000.00" }', shortfall: 'hold' });
  await held.heldBy('SHORTFALL');
  stage.sandbox.deposit({ currency: 'EUR', amount: '50000.00' });
  await held.wake();
  await held.report();
  await record('held', held);

  const refused = await start('refused', { guard: '{ worst_rate: "18 MXN per USD" }' });
  await refused.report();
  await record('refused', refused);

  const unplanned = await start('unplanned', { withdraw: [{ id: 'supplier', account: 'wac_Nobody' }] });
  await unplanned.report();
  await record('unplanned', unplanned);
  await save('unplanned-pin', pinIdOf('SANDBOX', unplanned.name));

  const reset = await start('reset', { settle: '{ until: funds }' });
  await reset.report();
  const points = await resetPoints(reset.handle);
  const middle = points[Math.floor(points.length / 2)];
  if (middle === undefined) throw new Error('The run has no event to reset it to.');
  const { workflowId, runId } = await reset.handle.describe();
  await resetTo(stage.temporal, { workflowId, runId }, middle);
  await reset.report();
  await record('reset', reset);

  const cancelled = await start('cancelled', { quote: '{ valid_for: 45s, settlement: T2 }' });
  await cancelled.heldBy('AWAITING_SETTLEMENT');
  await cancelled.handle.cancel();
  await cancelled.report();
  await record('cancelled', cancelled);
  await save('cancelled-words', wordsIdOf('SANDBOX', cancelled.name));
}

/** A run whose first trade meets a fault, if one is given. */
function start(name: string, parts: PolicyParts, effect: FaultEffect | null = null): Promise<Run> {
  const when = { reference: `${name}.*` };
  if (effect !== null) stage.sandbox.addFault({ operation: 'createTrade', times: 1, when, effect });
  return stage.start(convertPolicy(parts), { name });
}

function record(name: string, run: Run): Promise<void> {
  return save(name, run.handle.workflowId);
}

/** One event a line. */
async function save(name: string, workflowId: string): Promise<void> {
  const history = await stage.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  const { events } = JSON.parse(historyToJSON(history)) as { readonly events: readonly unknown[] };
  const lines = events.map((event) =>
    JSON.stringify(event).replaceAll(`${process.pid}@${hostname()}`, RECORDER),
  );
  await writeFile(`${FOLDER}${name}.json`, `{"events":[\n${lines.join(',\n')}\n]}\n`);
}
