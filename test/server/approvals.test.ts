/**
 * Runs that people must approve, through the whole of it: typed at the command line, kept in Temporal, verified by the worker with keys
 * of OpenSSH (M4).
 */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { todayIn } from '../../calendar/business-date.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { RATES_FILES, REBALANCING_RATES, rebalancingPolicy, traded } from '../support/rebalancing.ts';
import { signerWith } from '../support/sandbox-signer.ts';
import { allowedSigners, signersNamed, type Person } from '../support/signers.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Run } from '../support/stage.ts';

const stage = await openStage({
  rates: REBALANCING_RATES,
  balances: { USD: '1000000', EUR: '300000', GBP: '50000', MXN: '0' },
  timePasses: true,
});
after(() => stage.close());
const { people, close } = await signersNamed('ana', 'ben', 'dan', 'chi');
after(close);
const { ana, ben, dan, chi } = people;

const id = todayIn('UTC', Date.now());
const policies = join(stage.folder, 'policies');
const named = (text: string, name: string): string => text.replace(/^name: .*$/m, `name: ${name}`);
const names = {
  convert: uniqueName('p'),
  again: uniqueName('a'),
  halted: uniqueName('h'),
  batch: uniqueName('b'),
  alike: uniqueName('l'),
  rebalance: uniqueName('r'),
};
const payout = (name: string): string =>
  `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\npayout: { fund: { mode: none } }\nshortfall: hold\n`;
const TEXTS = {
  convert: named(convertPolicy(), names.convert),
  halted: named(convertPolicy(), names.halted),
  again: named(convertPolicy({ withdraw: [{ id: 'supplier', account: 'wac_SignedAgain1' }] }), names.again),
  batch: payout(names.batch),
  alike: payout(names.alike),
  rebalance: named(rebalancingPolicy('0.00'), names.rebalance),
};
type Kind = keyof typeof TEXTS;

const setOutcome = (outcome: 'completed' | 'failed'): void =>
  stage.sandbox.putAccounts([
    { id: 'wac_SignedAgain1', currency: 'MXN', assetType: 'FIAT', status: 'LIVE', outcome },
  ]);
setOutcome('failed');
await mkdir(policies);
for (const folder of [stage.folder, policies]) {
  for (const [kind, text] of Object.entries(TEXTS)) await writeFile(join(folder, `${kind}.yaml`), text);
  await writeFile(join(folder, 'rates.yaml'), RATES_FILES['rates.yaml']);
}
await writeFile(
  join(stage.folder, 'payments.csv'),
  'id,account,currency,amount\ninv-1,wac_EuR5epaLive1,EUR,10.50\ninv-2,wac_EuR5epaLive1,EUR,20.50\n',
);
await writeFile(
  join(policies, 'approvals.yaml'),
  'approvals: 1\nrules: [{ above: "1.00 USD", need: 2, of: [ana, ben, dan], within: 4h }]\n',
);
await writeFile(join(policies, 'allowed_signers'), allowedSigners(ana, ben, dan));
await stage.startWorker({ env: { CAMBIST_POLICIES: policies } });

const yes = async () => 'yes';

/** Starts it as dan, who signs for that. */
async function started(kind: Kind, ...more: readonly string[]): Promise<Run> {
  const argv = ['run', `${kind}.yaml`, '--id', id, ...more, '--sign', dan.keyFile, '--detach'];
  const ended = await command(stage, argv, { ask: yes });
  assertExit(ended, 8);
  return stage.find(TEXTS[kind], { name: names[kind], id });
}

async function approves({ keyFile }: Person, kind: Kind, what: RegExp): Promise<void> {
  const ended = await command(stage, ['approve', `${names[kind]}.${id}`, '--key', keyFile], { ask: yes });
  assertExit(ended, 0);
  assert.match(ended.stderr, what);
}

/** Who has started it is not asked to approve it. */
async function assertStarterRefused(kind: Kind): Promise<void> {
  const argv = ['approve', `${names[kind]}.${id}`, '--key', dan.keyFile];
  const ended = await command(stage, argv, { ask: yes });
  assertExit(ended, 4);
  assert.match(ended.stderr, /SIGNED_AS_OTHER/);
}

/** Returns once the run waits for these people. A signature that was just said may not be counted yet. */
async function heldFor(run: Run, why: RegExp, by = 'AWAITING_APPROVAL'): Promise<void> {
  await run.until(
    ({ status, problems }) =>
      status === 'HELD' && problems.some(({ code, message }) => code === by && why.test(message)),
  );
}

/** Held until ana and ben have approved what they were shown; dan, who has started it, cannot. */
async function assertApproved(run: Run, kind: Kind, shown: RegExp): Promise<void> {
  await heldFor(run, /it needs the signature of 2 of ana, ben/);
  await assertStarterRefused(kind);
  await approves(ana, kind, shown);
  await run.wake();
  // Just woken, it looks first whether anybody has signed.
  const attention = await eventually('the list names it', async () => {
    const told = await command(stage, ['list', '--attention']);
    return new RegExp(`${names[kind]}\\..*AWAITING_APPROVAL`, 's').test(told.stdout) ? told : null;
  });
  assertExit(attention, 6);
  assertNothingMoved(run);
  await approves(ben, kind, shown);
}

test('a conversion waits for two people who have not started it, and is then traded and paid', async () => {
  const run = await started('convert');
  await assertApproved(run, 'convert', /usd-mxn-1: sell 1,000\.00 USD for MXN/);
  assertDoneOnce(run, await run.report());
  const told = await command(stage, ['report', `${names.convert}.${id}`]);
  assert.match(told.stdout, /approves the\s+plan, signed\s+with\s+key\s+SHA256:/);
  const env = { CAMBIST_POLICIES: policies };
  const verified = await command(stage, ['report', `${names.convert}.${id}`], { env });
  assert.match(
    verified.stdout.replaceAll(/\s+/g, ' '),
    /approves the plan, signed by ben, as verified here, with key SHA256:/,
  );
});

test('what has failed is paid again once two people have approved that too', async () => {
  const run = await started('again');
  await assertApproved(run, 'again', /usd-mxn-1: sell 1,000\.00 USD for MXN/);
  assert.equal((await run.report()).payments[0]?.outcome, 'NOT_PAID');
  setOutcome('completed');
  const again = await started(
    'again',
    '--pay-again',
    'supplier',
    '--reason',
    'it is open again',
    '--by',
    'dan',
  );
  await heldFor(again, /pay "supplier" again.* it needs the signature of 2 of ana, ben/);
  const asked =
    /pay "supplier" again after generation 1, whose record\s+\S+ has failed, as "dan" has said: "it is open again"/;
  await assertStarterRefused('again');
  await approves(ana, 'again', asked);
  await again.wake();
  assert.equal(again.movements().withdrawals.length, 1);
  await approves(ben, 'again', asked);
  assert.equal((await again.report()).payments[0]?.reference, `${names.again}.${id}.supplier~9`);
  assert.equal(again.movements().withdrawals.length, 2);
});

test('a batch waits for two people who were shown its rows, and is then paid', async () => {
  const agrees = ['--batch', 'payments.csv', '--out', 'agreed.txt'];
  assertExit(await command(stage, ['plan', 'batch.yaml', ...agrees]), 0);
  const run = await started('batch', '--batch', 'payments.csv');
  const agreed = await readFile(join(stage.folder, 'agreed.txt'), 'utf8');
  assert.match(agreed, /^inv-2: pay 20\.50 EUR to wac_EuR5epaLive1$/m);
  await writeFile(join(stage.folder, 'other.txt'), agreed.replace('20.50', '20.49'));
  const approvesBy = ['approve', `${names.batch}.${id}`, '--key', chi.keyFile, '--plan'];
  const differs = await command(stage, [...approvesBy, 'other.txt'], { ask: yes });
  assertExit(differs, 4);
  assert.match(differs.stderr, /PLAN_DIFFERS.*20\.49.*20\.50/s);
  const same = await command(stage, [...approvesBy, 'agreed.txt', '--out', 'signed.txt'], { ask: yes });
  assertExit(same, 0);
  assert.equal(await readFile(join(stage.folder, 'signed.txt'), 'utf8'), agreed);
  await assertApproved(
    run,
    'batch',
    /inv-1: pay 10\.50 EUR to wac_EuR5epaLive1.*2 payments, in total 31\.00 EUR/s,
  );
  assertDoneOnce(run, await run.report());
  assert.equal(run.movements().withdrawals.length, 2);
});

test('that a withdrawal by another tool is none of the payments of a batch waits for two people, also once they have approved its plan', async () => {
  const account = 'wac_EuR5epaLive1';
  const signer = await signerWith(stage.sandbox.baseUrl, stage.env['CAMBIST_KEY_FILE'] ?? '');
  const byHand = { currency: 'EUR', withdrawalAmount: '30.50', withdrawalAccountId: account };
  assert.equal((await signer.post('/fx/withdrawals', byHand, 'a'.repeat(64))).status, 200);
  await writeFile(
    join(stage.folder, 'salaries.csv'),
    `id,account,currency,amount\ninv-1,${account},EUR,30.50\n`,
  );
  const batch = ['--batch', 'salaries.csv'];
  const shown = await command(stage, ['run', 'alike.yaml', '--id', id, ...batch]);
  assertExit(shown, 4);
  const [list = ''] = /look-alikes-[\w-]{12}/.exec(shown.stderr) ?? [];
  const run = await started(
    'alike',
    ...batch,
    '--go-on',
    list,
    '--reason',
    'salary of October',
    '--by',
    'dan',
  );
  const approve = ['approve', `${names.alike}.${id}`, '--key'];
  for (const { keyFile } of [ana, ben]) {
    const ask = async (question: string) => (question.includes('this plan') ? 'yes' : 'no');
    // One after the other.
    assertExit(await command(stage, [...approve, keyFile], { ask }), 0);
  }
  await heldFor(
    run,
    /none of the withdrawals until .* look like payments of the batch.* signature of 2 of ana, ben/,
  );
  assertNothingMoved(run);
  for (const person of [ana, ben])
    await approves(person, 'alike', /none of the withdrawals until .* has said: "salary of October"/s);
  assertDoneOnce(run, await run.report());
  assert.equal(run.movements().withdrawals.length, 1);
});

test('a rebalancing waits for two people, and then trades', async () => {
  const run = await started('rebalance');
  await assertApproved(run, 'rebalance', /eur-usd-1: sell [\d,.]+ EUR for USD/);
  await run.report();
  assert.match(traded(run).join('; '), /^sell [\d.]+ EUR$/);
});

test('what was halted goes on once two people have approved that it is resumed', async () => {
  const scope = ['--policy', names.halted];
  assertExit(await command(stage, ['halt', ...scope, '--reason', 'in doubt']), 0);
  const run = await started('halted');
  for (const person of [ana, ben]) await approves(person, 'halted', /usd-mxn-1: sell/);
  const resumes = (...more: readonly string[]) => command(stage, ['resume', ...scope, ...more], { ask: yes });
  assertExit(await resumes('--by', 'dan', '--sign', dan.keyFile), 0);
  await heldFor(run, /"dan" has resumed it; it needs the signature of 2 of ana, ben/, 'HALTED');
  const status = await command(stage, ['status', `${names.halted}.${id}`]);
  assert.match(status.stdout, /is held.*"dan" has resumed it; it needs the signature of 2 of ana, ben/s);
  assertExit(await resumes('--approve', dan.keyFile), 4);
  assertNothingMoved(run);
  for (const { keyFile } of [ana, ben]) assertExit(await resumes('--approve', keyFile), 0);
  assertDoneOnce(run, await run.report());
});

test('nobody signs without having been asked: without a terminal, and without a yes, nothing is signed', async () => {
  const run = `${names.convert}.${id}`;
  const blind = await command(stage, ['approve', run, '--key', ana.keyFile]);
  assertExit(blind, 4);
  assert.match(blind.stderr, /NOT_CONFIRMED/);
});
