/**
 * What a person may say of a payment of a batch that waits in doubt: it ends soon by that, and not by the day that doubt takes;
 * of one about which nothing is in question nobody can say it.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Report } from '../../domain/run/report.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { runName } from '../../domain/references.ts';
import {
  assertPaidOnce,
  chunkOf,
  paymentsOf,
  resetBatch,
  startBatch,
  untilAllEnded,
  type BatchRun,
} from '../support/batches.ts';
import { assertExit, command, documentOf, flat, type Ended } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { openStage, type Stage } from '../support/stage.ts';

/** By then a person's "not executed" counts: no request that was under way can be accepted any more, and lists show what was. */
const COUNTS_AFTER_MS = 90_000;

let stage: Stage;
before(async () => {
  stage = await openStage({
    balances: { USD: '10000', EUR: '10000', MXN: '10000' },
    serviceFile: 'list_lag: 1s\nsettle_doubt: { trade: 2s, withdrawal: 24h }\n',
    timePasses: true,
  });
  await stage.startWorker();
});
after(() => stage.close());

const codesOf = ({ problems }: Report, item: string): readonly string[] =>
  problems.filter((problem) => problem.item === item).map(({ code }) => code);

/** Time passes once the run knows what was said. */
async function untilItCounts(batch: BatchRun, item: string): Promise<void> {
  await batch.until((report) => codesOf(report, item).includes('DECISION_PENDING'));
  stage.time.pass(COUNTS_AFTER_MS);
  await batch.wake();
}

const notExecuted = (batch: BatchRun, item: string): Promise<Ended> =>
  command(stage, [
    'resolve',
    runName(batch.name),
    item,
    '--not-executed',
    ...['--evidence', 'ticket 4711: never received', '--by', 'ana'],
  ]);

test('a payment in doubt that cannot be sent ends by "not executed"', async () => {
  const name = uniqueName('b');
  // It was handed to the service, so that after a reset only time, or a person, can say that it was not sent.
  stage.sandbox.addFault({
    operation: 'createWithdrawal',
    times: 1_000,
    when: { reference: `${name}.${todayIn('UTC', Date.now())}-weekly.inv-4` },
    effect: { kind: 'error', code: 'WITHDRAWAL_ADDRESS_NOT_VERIFIED', stored: false },
  });
  const batch = await startBatch(stage, paymentsOf(6), { perChunk: 2, name });
  assertPaidOnce(batch, await untilAllEnded(stage, batch), ['inv-4']);

  await resetBatch(stage, batch, 'run', 0);
  const isInDoubt = (report: Report): boolean =>
    codesOf(report, 'inv-4').includes('IN_DOUBT') &&
    report.payments.every(({ id, outcome }) => id === 'inv-4' || outcome === 'PAID');
  await batch.until(isInDoubt);
  const done = await notExecuted(batch, 'inv-3');
  assertExit(done, 4);
  assert.match(done.stderr, /^ITEM_DONE /);

  const said = await notExecuted(batch, 'inv-4');
  assertExit(said, 0);
  assert.match(flat(said.stdout), /The run is open and looks at once; inv-4 then ends NOT_PAID/);
  await untilItCounts(batch, 'inv-4');
  const ended = await untilAllEnded(stage, batch);
  assertPaidOnce(batch, ended, ['inv-4']);
  assert.deepEqual(codesOf(ended, 'inv-4'), ['DECIDED_NOT_EXECUTED']);
});

test('of a payment of a batch that waits for money nobody can say that it was not executed', async () => {
  const [first] = paymentsOf(1);
  assert.ok(first !== undefined);
  const [id, account, currency] = first;
  const batch = await startBatch(stage, [[id, account, currency, '1000000']], {
    perChunk: 2,
    policy: 'payout: { fund: { mode: none } }\nshortfall: hold',
  });
  await batch.until((report) => codesOf(report, id).length > 0);
  const said = await notExecuted(batch, id);
  assertExit(said, 4);
  assert.match(
    flat(said.stderr),
    /^ITEM_NOT_IN_QUESTION .* it waits \(\w+\), and there is nothing to decide about it/,
  );
  await batch.handle.terminate('the test is over');
});

test('an acknowledgement covers what its person saw: a second reason of the same batch brings it back into the list', async () => {
  const [first] = paymentsOf(1);
  assert.ok(first !== undefined);
  const [, account, currency] = first;
  const policy = 'payout: { fund: { mode: none } }\nshortfall: hold';
  const batch = await startBatch(
    stage,
    [
      ['inv-a', account, currency, '900000'],
      ['inv-b', account, currency, '1000000'],
    ],
    { perChunk: 2, policy },
  );
  const isIn = async (): Promise<boolean> => {
    const listed = await command(stage, ['list', '--attention', '--json']);
    const { runs } = documentOf(listed) as { readonly runs: readonly { readonly run: string }[] };
    return runs.some(({ run }) => run === runName(batch.name));
  };
  const acknowledge = async (): Promise<void> =>
    assertExit(await command(stage, ['list', '--acknowledge', runName(batch.name), '--by', 'ana']), 0);
  await batch.until((report) => ['inv-a', 'inv-b'].every((item) => codesOf(report, item).length > 0));
  assert.ok(await isIn());
  await acknowledge();
  assert.ok(!(await isIn()), 'both payments that lack money were seen');

  // Money comes for one of them, and then the service refuses the key.
  stage.sandbox.addFault({
    operation: 'createWithdrawal',
    times: 1_000,
    when: { reference: `${runName(batch.name)}.inv-a` },
    effect: { kind: 'error', code: 'AUTH_INSUFFICIENT_SCOPE', stored: false },
  });
  stage.sandbox.deposit({ currency, amount: '900000' });
  // The chunk looks at once.
  await stage.during(chunkOf(stage, batch, 1).workflowId, () =>
    batch.until((report) => codesOf(report, 'inv-a').includes('AUTH_INSUFFICIENT_SCOPE')),
  );
  assert.ok(await isIn(), 'nobody has seen that the key is refused');
  await acknowledge();
  assert.ok(!(await isIn()));
  await batch.handle.terminate('the test is over');
});
