/**
 * A stranger with every right on the Temporal namespace, a client and a worker of his own, and no key file, tries to move money
 * by our workers, which have a folder of policies. No attack makes an entry in the ledger, and each is told (M4, docs/security.md).
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import { NativeConnection, Worker } from '@temporalio/worker';
import { todayIn } from '../../calendar/business-date.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { PLAN_TYPE, RUN_TYPE, planIdOf } from '../../workflows/names.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { ROOT } from '../support/root.ts';
import { cell, test } from '../support/sliced.ts';
import { assertDoneOnce, openStage, type Run, type Stage } from '../support/stage.ts';

const POLICY = uniqueName('p');
const TEAM = uniqueName('team');
const HIS_ACCOUNT = 'wac_USDStranger1';
const HIS_PESOS = 'wac_MXNStranger1';

const named = (text: string): string => text.replace(/^name: .*$/m, `name: ${POLICY}`);
const OURS = named(convertPolicy());
/** The same as he would have it. */
const DEAR = named(convertPolicy({ amount: '{ sell: "50000.00" }' }));

const payout = (destinations: string): string => `policy: 1
kind: payout
name: ${TEAM}
environment: sandbox
payout: { fund: { mode: none }${destinations} }
shortfall: hold
`;

let stage: Stage;
let worker: Worker;
let working: Promise<void>;
/** A run of ours that was done, and its plan, which he may read. */
let done: Run;
let plan: Plan;

before(async () => {
  stage = await openStage({
    rates: { 'USD/MXN': '17.25' },
    balances: { USD: '1000000', MXN: '1000000' },
    timePasses: true,
  });
  stage.sandbox.putAccounts([
    { id: HIS_ACCOUNT, currency: 'USD', assetType: 'FIAT', status: 'LIVE' },
    { id: HIS_PESOS, currency: 'MXN', assetType: 'FIAT', status: 'LIVE' },
  ]);
  const policies = join(stage.folder, 'policies');
  await mkdir(policies);
  await writeFile(join(policies, 'ours.yaml'), OURS);
  await writeFile(join(policies, 'team.yaml'), payout(', destinations: accounts.yaml'));
  await writeFile(
    join(policies, 'accounts.yaml'),
    `accounts: { ${MXN_ACCOUNT}: { currency: MXN, label: Ana } }\n`,
  );
  await stage.startWorker({ env: { CAMBIST_POLICIES: policies } });
  done = await stage.start(OURS, { name: POLICY });
  assertDoneOnce(done, await done.report());
  const read = await readFirstPlan(stage.temporal.client, 'SANDBOX', done.name);
  assert.ok(read !== null);
  plan = read;
  const connection = await NativeConnection.connect({ address: stage.env['TEMPORAL_ADDRESS'] ?? '' });
  worker = await Worker.create({
    connection,
    taskQueue: uniqueName('stranger'),
    workflowsPath: join(ROOT, 'test/support/strangers-workflow.ts'),
  });
  working = worker.run().then(() => connection.close());
});
after(async () => {
  worker.shutdown();
  await working;
  await stage.close();
});

/** What has moved at the service, whoever has moved it. */
function entries(): number {
  const { trades, withdrawals } = stage.sandbox.ledger();
  return trades.length + withdrawals.length;
}

/** An attack: what he does, and then what is told. It ends with the number of entries that it has made. */
function attack(title: string, work: () => Promise<void>, play = test): void {
  play(title, async (context: TestContext) => {
    const atFirst = entries();
    await work();
    const made = entries() - atFirst;
    context.diagnostic(`${made} entries in the ledger`);
    assert.equal(made, 0);
  });
}

const ourQueue = (): string => stage.env['CAMBIST_TASK_QUEUE'] ?? '';
const hisQueue = (): string => worker.options.taskQueue ?? '';
const idOf = (suffix: string): string => `${todayIn('UTC', Date.now())}-${suffix}`;

/** Calls an activity of ours from a workflow of his own. */
async function calls(activity: string, call: object): Promise<string> {
  const { client } = stage.temporal;
  const args = [{ taskQueue: ourQueue(), activity, call: { plan, ...call } }];
  const workflowId = uniqueName('his');
  return JSON.stringify(
    await client.workflow.execute('straight', { taskQueue: hisQueue(), workflowId, args }),
  );
}

async function assertInAttention(name: string, code: string): Promise<void> {
  const attention = await command(stage, ['list', '--attention']);
  assertExit(attention, 6);
  const at = attention.stdout.indexOf(name);
  assert.ok(at >= 0 && attention.stdout.indexOf(code, at) > at, attention.stdout);
}

async function isHeld(run: Run, code = 'NOT_ALLOWED'): Promise<void> {
  await run.heldBy(code);
  await assertInAttention(run.name.id, code);
  await run.handle.terminate('seen');
}

attack(
  'a payment of 600,000 USD to a registered account, by an activity of ours that he calls himself, is not sent',
  async () => {
    const [payment] = plan.payments;
    assert.ok(payment !== undefined);
    const amount = '600000.00';
    const items = ['bonus', payment.id].map((id) => ({
      payment: {
        ...payment,
        id,
        reference: `${POLICY}.${done.name.id}.${id}`,
        account: HIS_ACCOUNT,
        currency: 'USD',
        amount: { kind: 'fixed', value: amount },
        dependsOn: null,
      },
      wanted: { amount, ahead: '0', unwanted: null },
      state: NEW_PAYMENT,
    }));
    for (const item of items) {
      // One after the other.
      const told = await calls('createWithdrawals', { items: [item], othersAccepted: false, twinIds: [] });
      assert.match(told, /"NOT_ALLOWED"/);
    }
  },
  cell,
);

attack(
  '50,000 USD at any price, quoted and traded by activities of ours that he calls himself, are not sold',
  async () => {
    const [leg] = plan.legs;
    assert.ok(leg !== undefined);
    const id = 'usd-mxn-2';
    const call = {
      leg: {
        ...leg,
        id,
        reference: `${POLICY}.${done.name.id}.${id}`,
        amount: { side: 'sell', value: '50000.00', fixed: true },
        guard: null,
      },
      othersAccepted: false,
      tradedSoFar: [],
      unwanted: null,
      follows: 'none',
    };
    assert.match(await calls('requestQuote', { ...call, state: NEW_LEG }), /"NOT_ALLOWED"/);
    const quote = {
      id: 'qte_hisOwnQuote1',
      sellAmount: '50000.00',
      buyAmount: '1.00',
      usableUntilMs: Date.now() + 60_000,
      probed: false,
      seal: 'his own',
    };
    assert.match(
      await calls('executeTrade', { ...call, state: { ...NEW_LEG, quotes: 1, quote } }),
      /"NOT_ALLOWED"/,
    );
  },
);

attack('a run with a policy of his own, which “the CFO” has started, is held and named', async () => {
  const run = stage.find(DEAR, { name: POLICY, id: idOf('cfo') });
  await stage.temporal.client.workflow.start(RUN_TYPE, {
    workflowId: run.handle.workflowId,
    taskQueue: ourQueue(),
    args: [{ ...run.input, startedBy: 'the CFO' }],
  });
  await isHeld(run);
});

attack('a run of a policy that nobody has put into the folder is held and named', async () => {
  const name = uniqueName('own');
  const run = await stage.start(convertPolicy({ withdraw: [{ id: 'me', account: HIS_PESOS }] }), {
    name,
    id: idOf('own'),
  });
  await isHeld(run);
});

attack('a plan that he has forged, and that a run of ours then carries out, pays nobody', async () => {
  const run = stage.find(OURS, { name: POLICY, id: idOf('forged') });
  const { client } = stage.temporal;
  const ours: unknown = await client.workflow.getHandle(planIdOf('SANDBOX', done.name)).result();
  const forged: unknown = JSON.parse(
    JSON.stringify(ours)
      .replaceAll(`.${done.name.id}.`, `.${run.name.id}.`)
      .replaceAll(`"id":"${done.name.id}"`, `"id":"${run.name.id}"`)
      .replaceAll(MXN_ACCOUNT, HIS_PESOS)
      .replaceAll('"1000.00"', '"50000.00"'),
  );
  assert.match(JSON.stringify(forged), /"50000\.00".*wac_MXNStranger1/);
  const workflowId = planIdOf('SANDBOX', run.name);
  const input = { ...run.input, forRun: 'his', askedBy: 'his' };
  await client.workflow.execute(PLAN_TYPE, { taskQueue: hisQueue(), workflowId, args: [input, forged] });
  await run.startAgain();
  const { problems } = await run.until((report) => report.problems.length > 0);
  assert.match(JSON.stringify(problems), /PLAN_CONTRADICTS_POLICY.*sell 50000\.00/);
  await run.handle.terminate('seen').catch(() => undefined);
});

attack(
  'a batch past the destinations, by a policy of the same name without them, is held and named',
  async () => {
    const [policy, batch] = ['his.yaml', 'his.csv'];
    await writeFile(join(stage.folder, policy), payout(''));
    await writeFile(
      join(stage.folder, batch),
      `id,account,currency,amount\nbonus,${HIS_ACCOUNT},USD,600000.00\n`,
    );
    const id = idOf('batch');
    await command(stage, ['run', policy, '--batch', batch, '--id', id, '--detach']);
    await isHeld(stage.find(payout(''), { name: TEAM, id }));
  },
);
