/**
 * A batch from the command line, as a user has it: the command and its workers are processes, one reply of fifty is lost,
 * and two workers are killed. Whether everybody was paid is read from the service's ledger and from the file alone: no
 * line of ours judges it.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startBuiltWorker } from './built-worker.ts';
import { assertExit, command, reportOf, startCommand } from './commands.ts';
import { uniqueName } from './dev-server.ts';
import { eventually } from './patience.ts';
import { openStage, type Stage } from './stage.ts';

const PAYEES = [
  ['EUR', 'wac_EuR5epaLive1'],
  ['USD', 'wac_U5DFedw1re9'],
  ['MXN', 'wac_7Hk2mQ9vT4xR'],
] as const;
const MONEY = { EUR: '10000000', USD: '10000000', MXN: '10000000' };
const LOST = { operation: 'createWithdrawal', probability: 0.02, effect: { kind: 'lose-reply' } } as const;
/**
 * The end of a line of the results: when the payment was sent, and seen paid, with what follows. One that was found paid, by a worker
 * that had not sent it, has no moment at which it was seen so.
 */
const SENT_AND_PAID = /,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,|,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),[^,]*,[^,]*$/;
/** A worker dies when so much of the batch is booked. */
const KILLED_AT = [1 / 3, 2 / 3];

/**
 * Pays so many payments. Fails where one of them is not there exactly once, or the report or the results differ.
 * @returns how many the ledger has
 */
export async function payThroughKills(payments: number): Promise<number> {
  const stage = await openStage({
    balances: MONEY,
    settings: { withdrawalSteps: [{ status: 'PENDING', forMs: 0 }] },
  });
  let worker = startBuiltWorker({ env: stage.env });
  try {
    const rows = rowsOf(payments);
    const name = uniqueName('killed');
    const policy = `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\nzone: UTC\npayout: { fund: { mode: none } }\n`;
    await writeFile(join(stage.folder, 'batch.yaml'), policy);
    await writeFile(join(stage.folder, 'batch.csv'), `id,account,currency,amount\n${rows.join('\n')}\n`);
    const fault = stage.sandbox.addFault(LOST);
    await worker.ready;
    const id = `${new Date().toISOString().slice(0, 10)}-killed`;
    const typed = ['run', 'batch.yaml', '--batch', 'batch.csv', '--id', id, '--wait', '--out', 'results.csv'];
    const running = startCommand(stage, typed);
    for (const share of KILLED_AT) {
      const booked = (): number => withdrawalsOf(stage).length;
      await eventually(
        `${share} of the payments are booked`,
        () => {
          assert.equal(running.process.exitCode, null, 'It ended before a worker was killed.');
          return booked() >= payments * share;
        },
        async () => booked(),
      );
      await worker.kill();
      worker = startBuiltWorker({ env: stage.env });
    }
    const ended = await running.ended;
    assertExit(ended, 0);
    const booked = bookedBy(stage, `${name}.${id}`);
    assert.deepEqual([...booked.keys()].toSorted(), rows.toSorted());
    assert.equal(withdrawalsOf(stage).length, payments);
    assertProgress(ended.stdout, payments);
    const results = (await readFile(join(stage.folder, 'results.csv'), 'utf8')).split('\n').slice(1, -1);
    assert.deepEqual(
      results.map((line) => line.replace(SENT_AND_PAID, '')),
      rows.map((row) => `${row},PAID,${booked.get(row)},COMPLETED`),
    );
    const report = reportOf(await command(stage, ['report', `${name}.${id}`, '--json']));
    assert.deepEqual(
      report.payments.map(({ id: item, account, currency, amount, outcome, withdrawalId }) =>
        [item, account, currency, amount, outcome, withdrawalId].join(),
      ),
      rows.map((row) => `${row},PAID,${booked.get(row)}`),
    );
    assert.ok(
      stage.sandbox.faults().some((one) => one.id === fault && one.hits > 0),
      'No reply was lost.',
    );
    return booked.size;
  } finally {
    await worker.kill();
    await stage.close();
  }
}

/** Amounts end in no zero, so that everybody writes them as the file does. */
function rowsOf(payments: number): readonly string[] {
  return Array.from({ length: payments }, (_, index) => {
    const [currency, account] = PAYEES[index % PAYEES.length] ?? PAYEES[0];
    const cents = 11 + 2 * (index % 44);
    return [`inv-${index + 1}`, account, currency, `${1 + (index % 97)}.${cents}`].join(',');
  });
}

function withdrawalsOf({ sandbox }: Stage): readonly Readonly<Record<string, unknown>>[] {
  return sandbox.ledger().withdrawals;
}

/** By the row of the file that each withdrawal of the ledger is: its id. Whatever is no payment of the run fails. */
function bookedBy(stage: Stage, run: string): ReadonlyMap<string, string> {
  return new Map(
    withdrawalsOf(stage).map((record) => {
      const tag = String((record['metadata'] as Readonly<Record<string, unknown>> | null)?.['cambist']);
      assert.ok(tag.startsWith(`${run}.`), tag);
      const { withdrawalAccountId, currency, withdrawalAmount, id } = record;
      const row = [tag.slice(run.length + 1), withdrawalAccountId, currency, withdrawalAmount].join();
      return [row, String(id)];
    }),
  );
}

/** It was told on the way, never less than before, and all of it in the end. */
function assertProgress(said: string, payments: number): void {
  const told = [...said.matchAll(/ batch payments: (\d+) of (\d+) accepted, (\d+) paid/g)].map(
    ([, accepted, of, paid]) => [accepted, of, paid].map(Number),
  );
  assert.ok(told.length > 1, said);
  assert.deepEqual(told.at(-1), [payments, payments, payments]);
  const accepted = told.map(([count = 0]) => count);
  assert.deepEqual(
    accepted,
    accepted.toSorted((one, other) => one - other),
  );
}
