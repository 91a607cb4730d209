/**
 * Nobody is paid by two batches of a policy (M1): what a later one asks of Temporal, and what of the service where Temporal has
 * lost the earlier one. What follows in whatever order they come is told in `test/story/batches-again.test.ts`.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { workflowIdOf } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { loseInTemporal } from '../support/batches.ts';
import { assertExit, command, reportOf } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { openStage } from '../support/stage.ts';

const EUR = 'wac_EuR5epaLive1';
const stage = await openStage({ balances: { EUR: '1000000' } });
await stage.startWorker();
after(() => stage.close());
const DATE = todayIn('UTC', Date.now());

type Row = readonly [id: string, amount: string];

/** A payout policy of its own, and the batches that are run by it. */
async function putPayout() {
  const policy = uniqueName('twice');
  await writeFile(
    join(stage.folder, `${policy}.yaml`),
    `policy: 1\nkind: payout\nname: ${policy}\nenvironment: sandbox\npayout: { fund: { mode: none } }\n`,
  );
  const argv = async (id: string, rows: readonly Row[]): Promise<readonly string[]> => {
    const file = `${policy}-${id}.csv`;
    const lines = rows.map(([item, amount]) => `${item},${EUR},EUR,${amount}`);
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
      const words = [...(await argv(id, rows)), ...more];
      const workflowId = workflowIdOf('SANDBOX', { policy, id: `${DATE}-${id}` });
      const ran = await stage.during(workflowId, () => command(stage, words));
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

describe('two batches of one policy', { concurrency: 2 }, () => {
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
});
