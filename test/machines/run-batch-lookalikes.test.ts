/**
 * Withdrawals by others that look like payments of a batch: shown before it starts, approved by a person or not, and never
 * a reason to wait where nobody need to (M1, M3).
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { nameOfFound } from '../../domain/run/claims.ts';
import type { Report } from '../../domain/run/report.ts';
import { normalise } from '../../domain/money.ts';
import { workflowIdOf, type RunName } from '../../domain/references.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { hashOfTexts } from '../../language/batch/chunk-hash.ts';
import { readStart } from '../../durable/history.ts';
import { loseInTemporal, startBatch } from '../support/batches.ts';
import { assertExit, command, reportOf, type Ended } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { signerWith } from '../support/sandbox-signer.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { say } from '../support/say.ts';

const EUR = 'wac_EuR5epaLive1';
const DATE = todayIn('UTC', Date.now());
const WHY = ['--reason', 'salaries of October', '--by', 'ana'];

type Row = readonly [id: string, amount: string];

/** A withdrawal by another tool, which has the same API key and sends no tag. */
async function payByAnotherTool(stage: Stage, amount: string): Promise<string> {
  const signer = await signerWith(stage.sandbox.baseUrl, stage.env['CAMBIST_KEY_FILE'] ?? '');
  const answer = await signer.post(
    '/fx/withdrawals',
    { currency: 'EUR', withdrawalAmount: amount, withdrawalAccountId: EUR },
    createHash('sha256').update(randomUUID()).digest('hex'),
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.textAt('data.id');
}

/** A payout policy of its own, and a batch that is run by it. */
async function putPayout(stage: Stage, rows: readonly Row[]) {
  const policy = uniqueName('alike');
  const id = `${DATE}-x`;
  const run = { policy, id };
  await writeFile(
    join(stage.folder, `${policy}.yaml`),
    `policy: 1\nkind: payout\nname: ${policy}\nenvironment: sandbox\nzone: UTC\npayout: { fund: { mode: none } }\n`,
  );
  const file = `${policy}.csv`;
  const lines = rows.map(([item, amount]) => `${item},${EUR},EUR,${amount}`);
  await writeFile(join(stage.folder, file), `id,account,currency,amount\n${lines.join('\n')}\n`);
  const argv = ['run', `${policy}.yaml`, '--batch', file, '--id', id];
  const workflowId = workflowIdOf('SANDBOX', run);
  const report = async (): Promise<Report> =>
    reportOf(await command(stage, ['report', `${policy}.${id}`, '--json']));
  return {
    name: `${policy}.${id}`,
    run,
    workflowId,
    type: (...more: readonly string[]): Promise<Ended> =>
      stage.during(workflowId, () => command(stage, [...argv, '--json', ...more])),
    /** Approves by the name of the list, which the command shows where it does not get it. */
    approve: async (): Promise<Ended> => {
      const shown = await command(stage, [...argv, '--json', '--go-on', 'look-alikes', ...WHY]);
      assertExit(shown, 4);
      const name = /--go-on (look-alikes-[\w-]{12}),/.exec(shown.stdout)?.[1] ?? '';
      return stage.during(workflowId, () =>
        command(stage, [...argv, '--json', '--wait', '--go-on', name, ...WHY]),
      );
    },
    plan: (): Promise<Ended> => command(stage, ['plan', `${policy}.yaml`, '--batch', file]),
    answer: (answer: string): Promise<Ended> =>
      stage.during(workflowId, () =>
        command(stage, [...argv, '--wait'], { ask: () => Promise.resolve(answer) }),
      ),
    /** Started by hand, as a command starts what nothing looks like. */
    start: async (): Promise<void> => {
      await startBatch(
        stage,
        rows.map(([item, amount]) => [item, EUR, 'EUR', normalise(amount)]),
        { perChunk: 500, name: policy, id, policy: 'payout: { fund: { mode: none } }' },
      );
    },
    /** The report as soon as this one waits for a person, and no other payment is pending. */
    untilHeld: (item: string): Promise<Report> =>
      stage.during(workflowId, () =>
        eventually(
          `${item} waits for a person`,
          async () => {
            const told = await report();
            const isHeld = told.problems.some(({ code, item: of }) => code === 'LOOKS_PAID' && of === item);
            return isHeld && told.payments.every(({ outcome }) => outcome !== 'PENDING') ? told : null;
          },
          async () => JSON.stringify(await report()),
        ),
      ),
    report,
    /** How often the service has booked each payment. */
    booked: (): readonly string[] =>
      stage.sandbox
        .ledger()
        .withdrawals.flatMap(({ metadata }) => {
          const tag = (metadata as { readonly cambist?: string } | null)?.cambist?.split('.');
          return tag?.[0] === policy && tag[2] !== undefined ? [tag[2]] : [];
        })
        .toSorted(),
  };
}

function outcomes({ payments }: Report): readonly (readonly [string, string])[] {
  return payments.map(({ id, outcome }) => [id, outcome] as const);
}

function reportIds({ payments }: Report): readonly (string | null)[] {
  return payments.map(({ withdrawalId }) => withdrawalId);
}

function codesOf({ stdout }: Ended): readonly string[] {
  const { problems } = JSON.parse(stdout) as { readonly problems: readonly { readonly code: string }[] };
  return problems.map(({ code }) => code);
}

/** A person has approved that withdrawal, before anything of the run is there. */
async function approve(stage: Stage, run: RunName, withdrawalId: string): Promise<void> {
  const record = stage.sandbox.ledger().withdrawals.find(({ id }) => id === withdrawalId);
  const atMs = Date.parse(String(record?.['createdAt']));
  const group = `1.0.${hashOfTexts([hashOfTexts([withdrawalId])])}`;
  const approval = { sinceMs: atMs - 86_400_000, untilMs: atMs, perGroup: 1, groups: [group] };
  await say(
    {
      client: stage.temporal.client,
      taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
      mode: 'SANDBOX',
      run,
    },
    {
      kind: 'go-on',
      item: nameOfFound('look-alikes', [withdrawalId], hashOfTexts),
      takesBack: null,
      lookAlikes: approval,
    },
  );
}

async function resetRun(stage: Stage, workflowId: string): Promise<void> {
  const handle = stage.temporal.client.workflow.getHandle(workflowId);
  const { runId } = await handle.describe();
  const [point] = await resetPoints(handle);
  assert.ok(point !== undefined);
  await resetTo(stage.temporal, { workflowId, runId }, point);
}

/** What ana decides of one payment. */
function resolve(stage: Stage, run: string, ...decided: readonly string[]): Promise<Ended> {
  return command(stage, ['resolve', run, ...decided, '--by', 'ana']);
}

for (const metadataInLists of ['always', 'never'] as const)
  describe(`where lists show tags ${metadataInLists}`, { concurrency: 4 }, () => {
    // Without tags there is most to ask.
    const play = metadataInLists === 'never' ? cell : test;
    let stage: Stage;
    before(async () => {
      stage = await openStage({ balances: { EUR: '1000000' }, settings: { metadataInLists } });
      await stage.startWorker();
    });
    after(() => stage.close());

    test('what looks like a payment is shown before the start, and nothing is started', async () => {
      const id = await payByAnotherTool(stage, '101.00');
      const payout = await putPayout(stage, [
        ['a', '101.00'],
        ['b', '102.00'],
      ]);
      const refused = await payout.type();
      assertExit(refused, 4);
      assert.deepEqual(codesOf(refused), ['LOOKALIKES', 'LOOKALIKE']);
      assert.match(refused.stdout, new RegExp(`${id} of ${DATE}, \\w+: 101.00 EUR to ${EUR}, like a`));
      const other = ['--go-on', 'look-alikes-abcdefghijkl', ...WHY];
      assert.deepEqual(
        codesOf(await payout.type(...other)),
        ['LOOKALIKES', 'LOOKALIKE'],
        'the name of another list',
      );
      assert.equal(await readStart(stage.temporal.client, payout.workflowId), null);
      assert.deepEqual(payout.booked(), []);
      assert.match((await payout.plan()).stdout, new RegExp(`${id} of ${DATE}`));
    });

    play('one approval lets the batch go', async () => {
      await payByAnotherTool(stage, '111.00');
      const payout = await putPayout(stage, [
        ['a', '111.00'],
        ['b', '112.00'],
      ]);
      const ran = await payout.approve();
      assertExit(ran, 0);
      assert.deepEqual(outcomes(reportOf(ran)), [
        ['a', 'PAID'],
        ['b', 'PAID'],
      ]);
      assert.deepEqual(payout.booked(), ['a', 'b']);
    });

    test('at a terminal a person is asked', async () => {
      await payByAnotherTool(stage, '121.00');
      const payout = await putPayout(stage, [['a', '121.00']]);
      assertExit(await payout.answer('no'), 4);
      assert.deepEqual(payout.booked(), []);
      assertExit(await payout.answer('yes'), 0);
      assert.deepEqual(payout.booked(), ['a']);
    });

    test('what appears after the approval holds its own payment, until it is approved as well', async () => {
      const approvedId = await payByAnotherTool(stage, '131.00');
      const payout = await putPayout(stage, [
        ['a', '131.00'],
        ['b', '132.00'],
        ['c', '133.00'],
      ]);
      await approve(stage, payout.run, approvedId);
      const laterId = await payByAnotherTool(stage, '132.00');
      await payout.start();
      const held = await payout.untilHeld('b');
      assert.deepEqual(outcomes(held), [
        ['a', 'PAID'],
        ['b', 'NEEDS_HUMAN'],
        ['c', 'PAID'],
      ]);
      assert.match(held.payments[1]?.reason ?? '', new RegExp(laterId));
      // A reset is no approval.
      await resetRun(stage, payout.workflowId);
      await payout.untilHeld('b');
      assert.deepEqual(payout.booked(), ['a', 'c']);
      assertExit(await payout.approve(), 0);
      assert.deepEqual(payout.booked(), ['a', 'b', 'c']);
    });

    test('a person names the withdrawal as the payment', async () => {
      const payout = await putPayout(stage, [
        ['a', '136.00'],
        ['b', '138.00'],
      ]);
      const paidId = await payByAnotherTool(stage, '136.00');
      await payout.start();
      await payout.untilHeld('a');
      assertExit(await resolve(stage, payout.name, 'a', '--executed', paidId), 0);
      const ended = await payout.type('--wait');
      assertExit(ended, 0);
      assert.deepEqual(outcomes(reportOf(ended)), [
        ['a', 'PAID'],
        ['b', 'PAID'],
      ]);
      assert.equal(reportIds(reportOf(ended))[0], paidId);
      assert.deepEqual(payout.booked(), ['b']);
    });

    test('a reset does not take the approval away', async () => {
      await payByAnotherTool(stage, '141.00');
      const payout = await putPayout(stage, [['a', '141.00']]);
      assertExit(await payout.approve(), 0);
      await resetRun(stage, payout.workflowId);
      assertExit(await payout.type('--wait'), 0);
      assert.deepEqual(payout.booked(), ['a']);
    });

    test('what another batch of ours has paid is no reason to ask', async () => {
      const first = await putPayout(stage, [['a', '151.00']]);
      assertExit(await first.type('--wait'), 0);
      const second = await putPayout(stage, [['b', '151.00']]);
      assertExit(await second.type('--wait'), 0);
      assert.deepEqual([first.booked(), second.booked()], [['a'], ['b']]);
    });

    test('what is of another amount is no reason to ask', async () => {
      await payByAnotherTool(stage, '161.01');
      const payout = await putPayout(stage, [['a', '161.00']]);
      assertExit(await payout.type('--wait'), 0);
    });

    test('what has failed on the date of the batch may be its own, and a person is asked', async () => {
      const id = await payByAnotherTool(stage, '171.00');
      stage.sandbox.setStatus({ id, status: 'RETURNED', money: 'returned' });
      const payout = await putPayout(stage, [['a', '171.00']]);
      assert.deepEqual(codesOf(await payout.type()), ['LOOKALIKES', 'LOOKALIKE']);
      assertExit(await payout.approve(), 0);
      assertExit(await payout.type('--wait'), 0);
      assert.deepEqual(payout.booked(), ['a']);
    });
  });

const KEY_KNOWN = `key_used_since: ${todayIn('UTC', Date.now() - 2 * 86_400_000)}\n`;

for (const metadataInLists of ['always', 'never', 'mixed'] as const)
  describe(`where only this API key has written, and lists show tags ${metadataInLists}`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage({
        balances: { EUR: '1000000' },
        settings: { metadataInLists },
        serviceFile: `list_lag: 1s\nsettle_doubt: { trade: 2s, withdrawal: 4s }\n${KEY_KNOWN}`,
      });
      await stage.startWorker();
    });
    after(() => stage.close());

    test('a batch of which Temporal has lost everything is submitted again, and nobody waits or is paid twice', async () => {
      const rows = Array.from({ length: 6 }, (_, index): Row => [`p-${index}`, `${201 + index}.00`]);
      const payout = await putPayout(stage, rows);
      assertExit(await payout.type('--wait'), 0);
      const ids = reportIds(await payout.report());
      await loseInTemporal(stage, payout.run);
      const again = await payout.type('--wait');
      assertExit(again, 0);
      assert.deepEqual(reportIds(reportOf(again)), ids);
      assert.deepEqual(
        payout.booked(),
        rows.map(([id]) => id),
      );
    });
  });

describe('where nobody knows which API keys have written, and lists show no tags', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({ balances: { EUR: '1000000' }, settings: { metadataInLists: 'never' } });
    await stage.startWorker();
  });
  after(() => stage.close());

  test('a batch of which Temporal has lost everything asks a person, who pays nobody twice', async () => {
    const payout = await putPayout(stage, [
      ['a', '301.00'],
      ['b', '302.00'],
    ]);
    assertExit(await payout.type('--wait'), 0);
    const ids = reportIds(await payout.report());
    await loseInTemporal(stage, payout.run);
    const refused = await payout.type();
    assertExit(refused, 4);
    assert.deepEqual(codesOf(refused), ['LOOKALIKES', 'LOOKALIKE', 'LOOKALIKE']);
    const again = await payout.approve();
    assertExit(again, 0);
    assert.deepEqual(reportIds(reportOf(again)), ids);
    assert.deepEqual(payout.booked(), ['a', 'b']);
  });
});

describe('where time passes between a withdrawal by another tool and the batch', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({ balances: { EUR: '1000000' }, settings: { metadataInLists: 'never' } });
    await stage.startWorker();
  });
  after(() => stage.close());

  test('a person says that the payment is not to be paid, because the other tool has paid it', async () => {
    await payByAnotherTool(stage, '137.00');
    // A record of the last ten minutes could still be the payment: the clock of the service may be wrong.
    stage.time.pass(10 * 60_000);
    const payout = await putPayout(stage, [
      ['a', '137.00'],
      ['b', '138.00'],
    ]);
    await payout.start();
    await payout.untilHeld('a');
    assertExit(
      await resolve(stage, payout.name, 'a', '--not-executed', '--evidence', 'paid by the old tool'),
      0,
    );
    const ended = await payout.type('--wait');
    assertExit(ended, 4);
    assert.deepEqual(outcomes(reportOf(ended)), [
      ['a', 'NOT_PAID'],
      ['b', 'PAID'],
    ]);
    assert.deepEqual(payout.booked(), ['b']);
  });
});
