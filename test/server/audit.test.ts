/** A worker with a journal: each write of a run is in it, the service agrees with it, and what no worker sent is named. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertExit, command, flat, type Ended } from '../support/commands.ts';
import { patiently } from '../support/patiently.ts';
import { convertPolicy } from '../support/policies.ts';
import { signerWith } from '../support/sandbox-signer.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';

type Word = {
  readonly kind: string;
  readonly what?: string;
  readonly number?: number | null;
  readonly run?: string;
  readonly scope?: { readonly policy: string | null };
  readonly by: string;
  readonly why: string;
};

function assertNamed(ended: Ended, code: string, text: RegExp): void {
  assertExit(ended, 6);
  assert.match(ended.stderr, new RegExp(`^${code}\\s`, 'm'));
  assert.match(flat(ended.stderr), text);
}

test('journals explain each record of their runs; `audit verify` names a payment by another program, and a changed line', async () => {
  const stage = await openStage({
    balances: { USD: '100000', MXN: '100000' },
    rates: { 'USD/MXN': '17.25' },
  });
  try {
    const folder = join(stage.folder, 'journals');
    await mkdir(folder);
    const verify = (...options: readonly string[]) => command(stage, ['audit', 'verify', folder, ...options]);
    /** A worker of its own pays one run. */
    const workOnce = async (): Promise<void> => {
      const worker = await stage.startWorker({ env: { CAMBIST_AUDIT: folder } });
      const run = await stage.start(convertPolicy());
      assertDoneOnce(run, await run.report());
      worker.shutdown();
      await worker.ended;
    };
    await workOnce();
    await workOnce();
    const whole = await verify('--json');
    assertExit(whole, 0);
    const { journals, withdrawals } = JSON.parse(whole.stdout) as {
      journals: { sends: number; hasEnded: boolean }[];
      withdrawals: number;
    };
    const payments = stage.sandbox.ledger().withdrawals.length;
    assert.deepEqual(
      journals.map(({ hasEnded }) => hasEnded),
      [true, true],
    );
    // A quote and a trade for each run, and its payments.
    assert.equal(
      journals.reduce((sum, { sends }) => sum + sends, 0),
      2 * 2 + payments,
    );
    assert.equal(withdrawals, payments);

    const signer = await signerWith(stage.sandbox.baseUrl, join(stage.folder, 'key.json'));
    const byHand = await signer.post(
      '/fx/withdrawals',
      { currency: 'MXN', withdrawalAmount: '12.50', withdrawalAccountId: 'wac_7Hk2mQ9vT4xR' },
      randomUUID(),
    );
    await workOnce();
    assertNamed(await verify(), 'AUDIT_UNEXPLAINED', new RegExp(`${byHand.textAt('data.id')}.*12\\.50 MXN`));

    const [first = ''] = (await readdir(folder)).toSorted();
    const text = await readFile(join(folder, first), 'utf8');
    await writeFile(join(folder, first), text.replace('"currency":"MXN"', '"currency":"EUR"'));
    assertNamed(await verify(), 'AUDIT_CHANGED', /does not follow the line before it/);
  } finally {
    await stage.close();
  }
});

test('who has halted, resumed and cancelled is in the journal of the worker that saw it, to its last line', async () => {
  const stage = await openStage({ balances: { USD: '100000' }, rates: { 'USD/MXN': '17.25' } });
  try {
    const folder = join(stage.folder, 'journals');
    await mkdir(folder);
    const worker = await stage.startWorker({ env: { CAMBIST_AUDIT: folder } });
    const run = stage.find(convertPolicy(), {});
    const { policy, id } = run.name;
    const halt = ['halt', '--policy', policy, '--reason', 'is doubted', '--by', 'ana'];
    assertExit(await command(stage, halt), 0);
    await run.startAgain();
    await run.heldBy('HALTED');
    const cancel = ['cancel', `${policy}.${id}`, '--reason', 'wrong', '--by', 'ben'];
    assertExit(await command(stage, cancel), 0);
    const resume = ['resume', '--policy', policy, '--reason', 'was right', '--by', 'chi', '--yes'];
    assertExit(await command(stage, resume), 0);
    assert.equal((await run.report()).status, 'CANCELLED');
    const [name = ''] = await readdir(folder);
    const journal = (): Promise<string> => readFile(join(folder, name), 'utf8');
    await patiently(async () => assert.match(await journal(), /"kind":"resume"/));
    worker.shutdown();
    await worker.ended;
    const text = await journal();
    const lines = text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as Word)));
    const ofRun = lines.filter((line) => line.run === `${policy}.${id}` || line.scope?.policy === policy);
    const told = ofRun.map(({ kind, what = kind, number, by, why }) => [what, number, by, why].join());
    assert.deepEqual(
      told.toSorted((one, other) => one.localeCompare(other)),
      ['cancel,,ben,wrong', 'cancel,1,ben,wrong', 'halt,,ana,is doubted', 'over,,,', 'resume,,chi,was right'],
    );
    const verified = await command(stage, ['audit', 'verify', folder]);
    assertExit(verified, 0);
    assert.match(flat(verified.stdout), /People said: .*1 × cancel/);
  } finally {
    await stage.close();
  }
});
