/** Nobody is paid by two batches of a policy, whatever order they come in and whatever Temporal has lost meanwhile (M1). */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Report } from '../../domain/run/report.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { loseInTemporal } from '../support/batches.ts';
import { assertExit, command, commandProcess, reportOf } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { openStage } from '../support/stage.ts';
import { workflowIdOf } from '../../domain/references.ts';

const EUR = 'wac_EuR5epaLive1';
const HANGS = 'wac_Hangs';
const stage = await openStage({ balances: { EUR: '1000000' } });
stage.sandbox.putAccounts([
  { id: HANGS, currency: 'EUR', assetType: 'FIAT', status: 'LIVE', outcome: 'stuck' },
]);
await stage.startWorker();
after(() => stage.close());
const { client } = stage.temporal;
const DATE = todayIn('UTC', Date.now());

type Row = readonly [id: string, amount: string, account?: string];

/** A payout policy of its own, and the batches that are run by it. */
async function putPayout() {
  const policy = uniqueName('twice');
  await writeFile(
    join(stage.folder, `${policy}.yaml`),
    `policy: 1\nkind: payout\nname: ${policy}\nenvironment: sandbox\npayout: { fund: { mode: none } }\n`,
  );
  const argv = async (id: string, rows: readonly Row[]): Promise<readonly string[]> => {
    const file = `${policy}-${id}.csv`;
    const lines = rows.map(([item, amount, account = EUR]) => `${item},${account},EUR,${amount}`);
    await writeFile(join(stage.folder, file), `id,account,currency,amount\n${lines.join('\n')}\n`);
    return ['run', `${policy}.yaml`, '--batch', file, '--id', `${DATE}-${id}`, '--json', '--wait'];
  };
  return {
    policy,
    argv,
    nameOf: (id: string) => ({ policy, id: `${DATE}-${id}` }),
    run: async (
      id: string,
      rows: readonly Row[],
      exitCode: number,
      ...more: readonly string[]
    ): Promise<Report> => {
      const ran = await command(stage, [...(await argv(id, rows)), ...more]);
      assertExit(ran, exitCode);
      return reportOf(ran);
    },
    /** The items for which the service has a record, each as often as it has one. */
    booked: (): readonly string[] =>
      stage.sandbox
        .ledger()
        .withdrawals.map(({ metadata }) => {
          const { cambist } = metadata as { readonly cambist: string };
          return cambist.split('.');
        })
        .flatMap(([of, , item]) => (of === policy && item !== undefined ? [item] : []))
        .toSorted(),
  };
}

function outcomes({ payments }: Report): readonly (readonly [string, string])[] {
  return payments.map(({ id, outcome }) => [id, outcome] as const);
}

describe('two batches of one policy', { concurrency: 4 }, () => {
  test('an id that an earlier batch has paid is refused, and stops nobody else', async () => {
    const payout = await putPayout();
    await payout.run(
      'one',
      [
        ['a', '10.00'],
        ['b', '11.00'],
      ],
      0,
    );
    const second = await payout.run(
      'two',
      [
        ['B', '12.00'],
        ['c', '13.00'],
      ],
      4,
    );
    assert.deepEqual(outcomes(second), [
      ['B', 'NOT_PAID'],
      ['c', 'PAID'],
    ]);
    assert.deepEqual(
      second.problems.map(({ code, item }) => [code, item]),
      [['PAID_BY_ANOTHER_BATCH', 'B']],
    );
    assert.match(second.payments[0]?.reason ?? '', new RegExp(`: ${payout.policy}\\.${DATE}-one\\.$`));
    assert.deepEqual(payout.booked(), ['a', 'b', 'c']);
  });

  test('of two that are started at once, one pays each id', async () => {
    const payout = await putPayout();
    const rows: readonly Row[] = Array.from({ length: 12 }, (_, index) => [`p-${index}`, `${index + 1}.00`]);
    const typed = await Promise.all(['x', 'y', 'z'].map((id) => payout.argv(id, rows)));
    const ended = await Promise.all(typed.map((argv) => commandProcess(stage, argv)));
    assert.deepEqual(
      ended.map(({ exitCode }) => exitCode ?? -1).toSorted((a, b) => a - b),
      [0, 4, 4],
    );
    assert.deepEqual(payout.booked(), rows.map(([id]) => id).toSorted());
  });

  test('what an earlier batch did not pay, a later one may, and then the earlier one does not', async () => {
    const payout = await putPayout();
    const first = await payout.run(
      'one',
      [
        ['a', '10.00', 'wac_Nowhere1'],
        ['b', '5.00'],
      ],
      5,
    );
    assert.deepEqual(outcomes(first)[0], ['a', 'NOT_PAID']);
    await payout.run('two', [['a', '10.00']], 0);
    assert.deepEqual(payout.booked(), ['a', 'b']);
  });

  test('a record that was returned pays nobody: another batch may, and then it is not paid again by the first', async () => {
    const payout = await putPayout();
    const first = await payout.run('one', [['a', '10.00']], 0);
    const [paid] = first.payments;
    stage.sandbox.setStatus({ id: paid?.withdrawalId ?? '', status: 'RETURNED', money: 'returned' });
    await payout.run('two', [['a', '10.00']], 0);
    assert.deepEqual(payout.booked(), ['a', 'a']);
    const words = ['--pay-again', 'all-failed', '--reason', 'it came back', '--by', 'ana'];
    const again = await payout.run('one', [['a', '10.00']], 4, ...words);
    assert.deepEqual(outcomes(again), [['a', 'NOT_PAID']]);
    assert.deepEqual(payout.booked(), ['a', 'a']);
  });

  test('what Temporal has lost is refused by the list of the service alone', async () => {
    const payout = await putPayout();
    await payout.run(
      'one',
      [
        ['a', '10.00'],
        ['b', '11.00'],
      ],
      0,
    );
    await loseInTemporal(stage, payout.nameOf('one'));
    const rows: readonly Row[] = [
      ['a', '10.00'],
      ['c', '11.00'],
    ];
    // A person who has looked lets it go.
    const argv = await payout.argv('two', rows);
    const held = await command(
      stage,
      argv.filter((word) => word !== '--wait'),
    );
    assertExit(held, 6);
    const [name = ''] = /lost-runs-[\w-]{12}/.exec(held.stdout) ?? [];
    assert.deepEqual(payout.booked(), ['a', 'b']);
    const second = await payout.run('two', rows, 4, '--go-on', name);
    assert.deepEqual(outcomes(second), [
      ['a', 'NOT_PAID'],
      ['c', 'PAID'],
    ]);
    assert.deepEqual(payout.booked(), ['a', 'b', 'c']);
  });

  test('a run that is reset after a later batch has paid what it did not leaves it', async () => {
    const payout = await putPayout();
    stage.sandbox.addFault({
      operation: 'createWithdrawal',
      times: 1,
      when: { reference: `${payout.policy}.${DATE}-one.a` },
      effect: { kind: 'error', code: 'WITHDRAWAL_ADDRESS_NOT_VERIFIED', stored: false },
    });
    const run = payout.nameOf('one');
    const workflowId = workflowIdOf('SANDBOX', run);
    const typed = await payout.argv('one', [
      ['a', '10.00'],
      ['b', '5.00', HANGS],
    ]);
    const open = await command(stage, [...typed.slice(0, -1), '--detach']);
    assertExit(open, 8);
    const reason = async (): Promise<string> => {
      const told = reportOf(await command(stage, ['report', `${run.policy}.${run.id}`, '--json']));
      return told.payments[0]?.reason ?? '';
    };
    const untilItSays = async (what: RegExp): Promise<void> => {
      await eventually(String(what), async () => what.test(await reason()), reason);
    };
    await untilItSays(/verified/i);
    await payout.run('two', [['a', '10.00']], 0);
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    const last = (await resetPoints(client.workflow.getHandle(workflowId, runId))).at(-1);
    assert.ok(last !== undefined);
    await resetTo(stage.temporal, { workflowId, runId }, last);
    // Whether its own earlier attempt paid it is settled first.
    await untilItSays(/Another batch of the policy has paid this id/);
    assert.deepEqual(payout.booked(), ['a', 'b']);
  });
});
