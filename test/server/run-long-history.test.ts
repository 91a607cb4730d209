/**
 * A run that is held for days must not run into Temporal's limits: it goes on in a new history, knowing what it knew. So
 * does the workflow that keeps what people said.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInstructions } from '../../durable/instructions/read.ts';
import { instructionsIdOf, wakeSignal } from '../../workflows/names.ts';
import { startServerOfShortHistories } from '../support/dev-server.ts';
import { said } from '../support/instructions.ts';
import { openStage, type Run, type Stage } from '../support/stage.ts';
import { say } from '../support/say.ts';

const HELD = `
policy: 1
kind: convert
name: held
environment: sandbox
zone: UTC
convert: { sell: USD, buy: MXN, amount: { sell: "1000.00" } }
quote: { settlement: IMMEDIATE }
shortfall: hold
withdraw:
  - { id: supplier, account: wac_7Hk2mQ9vT4xR, amount: { fixed: "100.00" } }
`;

/** A run that waits for money, on a server of its own that finds histories long early. */
async function withHeldRun(work: (stage: Stage, run: Run) => Promise<void>): Promise<void> {
  // What a history takes over is read again first, which takes about 35 events.
  const server = await startServerOfShortHistories(60);
  const stage = await openStage({ balances: { USD: '0' }, temporalAddress: server.address });
  try {
    await stage.startWorker();
    await work(stage, await stage.start(HELD));
  } finally {
    await stage.close();
    await server.kill();
  }
}

test('a held run goes on in a new history and then does what was planned, once', () =>
  withHeldRun(async (stage, run) => {
    const first = (await run.handle.describe()).runId;
    // Each wake-up makes it look for the money again, which makes its history longer.
    for (let wakes = 0; wakes < 400 && (await run.handle.describe()).runId === first; wakes += 1)
      await run.handle.signal(wakeSignal);
    assert.notEqual((await run.handle.describe()).runId, first);
    stage.sandbox.deposit({ currency: 'USD', amount: '1000' });
    await run.handle.signal(wakeSignal);
    const report = await run.report();
    assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
    assert.equal(stage.sandbox.ledger().trades.length, 1);
    assert.equal(stage.sandbox.ledger().withdrawals.length, 1);
  }));

test('what people said is all known after its workflow has gone on in a new history', () =>
  withHeldRun(async (stage, run) => {
    const { client } = stage.temporal;
    const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
    const place = { client, taskQueue, mode: 'SANDBOX', run: run.name } as const;
    const keeping = client.workflow.getHandle(instructionsIdOf('SANDBOX', run.name));
    const instructions = [
      said({ kind: 'cancel' }),
      ...Array.from({ length: 12 }, () => said({ kind: 'not executed', item: 'supplier' })),
    ];
    const histories = new Set<string>();
    for (const instruction of instructions) {
      // One after the other, as people speak.
      await say(place, instruction);
      // See above.
      histories.add((await keeping.describe()).runId);
    }
    assert.ok(histories.size > 1, 'it went on in a new history');
    const kept = await readInstructions(place);
    assert.deepEqual(
      kept?.instructions.map(({ id }) => id),
      instructions.map(({ id }) => id),
    );
  }));
