/**
 * A stranger with every right on the Temporal namespace, a client and a worker of his own, and no key file, tries to move money
 * by our workers, which have a folder of policies: where what Temporal keeps is plain, and where it is sealed and he has no keys.
 * No attack makes an entry in the ledger, and each is told (M1, M4, docs/security.md).
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { after, before, describe, type TestContext } from 'node:test';
import { Client, type WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { todayIn } from '../../calendar/business-date.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { describe as describeInTemporal } from '../../durable/described.ts';
import { noteFacts } from '../../durable/instructions/keep.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { workflowIdOf } from '../../domain/references.ts';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { startDevServer, type DevServer } from '../../worker/dev-server.ts';
import {
  HALT_TYPE,
  INSTRUCTIONS_TYPE,
  PLAN_TYPE,
  RUN_TYPE,
  haltIdOf,
  instructionsIdOf,
  planIdOf,
} from '../../workflows/names.ts';
import { applySchedule, startedBy } from '../support/applied-schedule.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { ROOT } from '../support/root.ts';
import { say } from '../support/say.ts';
import { ONLY_CELLS, cell, test } from '../support/sliced.ts';
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

/** He has no keys: what is sealed he copies as it is, and cannot read. */
const BLIND: PayloadCodec = {
  encode: async (payloads) => payloads,
  decode: async (payloads) =>
    payloads.map((payload) =>
      Buffer.from(payload.metadata?.['encoding'] ?? []).toString() === 'binary/cambist-sealed'
        ? defaultPayloadConverter.toPayload('not for him')
        : payload,
    ),
};

for (const isSealed of [false, true])
  void describe(isSealed ? 'where what Temporal keeps is sealed' : 'where what Temporal keeps is plain', () =>
    attacks(isSealed),
  );

function attacks(isSealed: boolean): void {
  const mode = isSealed ? 'sealed' : 'plain';
  let server: DevServer | null = null;
  let stage: Stage;
  let worker: Worker;
  let working: Promise<void>;
  let policies: string;
  /** His own client. */
  let his: Client;
  /** A run of ours that was done, and its plan, which he may have read somewhere. */
  let done: Run;
  let plan: Plan;

  before(async () => {
    if (ONLY_CELLS && isSealed) return;
    // A halt is one of every test on a server, and a plain one halts all that is sealed.
    if (isSealed) server = await startDevServer({ port: 0, headless: true, shortTimers: true });
    stage = await openStage({
      rates: { 'USD/MXN': '17.25' },
      balances: { USD: '1000000', MXN: '1000000' },
      timePasses: true,
      sealed: isSealed,
      ...(server !== null && { temporalAddress: server.address }),
    });
    stage.sandbox.putAccounts([
      { id: HIS_ACCOUNT, currency: 'USD', assetType: 'FIAT', status: 'LIVE' },
      { id: HIS_PESOS, currency: 'MXN', assetType: 'FIAT', status: 'LIVE' },
    ]);
    policies = join(stage.folder, 'policies');
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
    his = clientWith(BLIND);
    const connection = await NativeConnection.connect({ address: stage.env['TEMPORAL_ADDRESS'] ?? '' });
    worker = await Worker.create({
      connection,
      taskQueue: uniqueName('stranger'),
      workflowsPath: join(ROOT, 'test/support/strangers-workflow.ts'),
      dataConverter: { payloadCodecs: [BLIND] },
    });
    working = worker.run().then(() => connection.close());
  });
  after(async () => {
    if (ONLY_CELLS && isSealed) return;
    worker.shutdown();
    await working;
    await stage.close();
    await server?.stop();
  });

  /** What has moved at the service, whoever has moved it. */
  function entries(): number {
    const { trades, withdrawals } = stage.sandbox.ledger();
    return trades.length + withdrawals.length;
  }

  /**
   * An attack: what he does, and then what is told. It ends with the number of entries that it has made.
   * @param work comes to the number of entries that a run of ours has made meanwhile
   */
  function attack(title: string, work: () => Promise<number | void>, play = test): void {
    play(`${mode}: ${title}`, async (context: TestContext) => {
      const atFirst = entries();
      const ours = (await work()) ?? 0;
      const made = entries() - atFirst - ours;
      context.diagnostic(`${made} entries in the ledger`);
      assert.equal(made, 0);
    });
  }

  const ourQueue = (): string => stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  const hisQueue = (): string => worker.options.taskQueue ?? '';
  const idOf = (suffix: string): string => `${todayIn('UTC', Date.now())}-${suffix}`;

  function clientWith(codec: PayloadCodec): Client {
    const { connection, options } = stage.temporal.client;
    return new Client({
      connection,
      namespace: options.namespace,
      dataConverter: { payloadCodecs: [codec] },
    });
  }

  /** He writes again what stands in Temporal, as it is. */
  function copier(copy: Payload): Client {
    return clientWith({ ...BLIND, encode: async () => [copy] });
  }

  /**
   * Calls an activity of ours from a workflow of his own, under an id of his own and under that of a run, of which he has begun what
   * people say: it is refused for what it is, or because nothing of it was sealed.
   */
  async function isRefused(
    activity: string,
    call: object,
    run = { policy: POLICY, id: idOf('his') },
  ): Promise<void> {
    const asOfRun = JSON.stringify({ plan, ...call })
      .replaceAll(done.name.id, run.id)
      .replaceAll(POLICY, run.policy);
    const own: unknown = JSON.parse(asOfRun);
    await his.workflow.start(INSTRUCTIONS_TYPE, {
      workflowId: instructionsIdOf('SANDBOX', run),
      taskQueue: ourQueue(),
      args: [{ mode: 'SANDBOX', run }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    for (const workflowId of [uniqueName('his'), workflowIdOf('SANDBOX', run)]) {
      // One after the other.
      const args = [{ taskQueue: ourQueue(), activity, nowMs: stage.time.now(), call: own }];
      const told = await his.workflow.execute('straight', { taskQueue: hisQueue(), workflowId, args }).then(
        (answer) => JSON.stringify(answer),
        (error: unknown) => inspect(error, { depth: 5 }),
      );
      assert.match(told, isSealed ? /unreadable|WorkflowFailedError/ : /NOT_ALLOWED/);
    }
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

  /** What he has started waits and is named, or ends at once because nothing of it was sealed for it. */
  async function comesToNothing(run: Run, started: WorkflowHandle): Promise<void> {
    if (isSealed) await assert.rejects(started.result());
    else await isHeld(run);
    assertExit(await command(stage, ['list']), 0);
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
      for (const item of items)
        // One after the other.
        await isRefused('createWithdrawals', { items: [item], othersAccepted: false, twinIds: [] });
    },
    isSealed ? test : cell,
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
      await isRefused('requestQuote', { ...call, state: NEW_LEG });
      const quote = {
        id: 'qte_hisOwnQuote1',
        sellAmount: '50000.00',
        buyAmount: '1.00',
        usableUntilMs: stage.time.now() + 60_000,
        probed: false,
        seal: 'his own',
      };
      await isRefused('executeTrade', { ...call, state: { ...NEW_LEG, quotes: 1, quote } });
    },
  );

  attack(
    'a payment to a destination of ours, under the date of another day or under none, is not sent',
    async () => {
      const amount = '17250.00';
      const payment = { ...plan.payments[0], amount: { kind: 'fixed', value: amount }, dependsOn: null };
      const item = {
        payment,
        wanted: { amount, ahead: '0', unwanted: null },
        state: { ...NEW_PAYMENT, sent: true },
      };
      const sendWindows = { opensAtMs: 0, tradesUntilMs: 9e12, withdrawalsUntilMs: 9e12 };
      const call = { plan: { ...plan, sendWindows }, items: [item], othersAccepted: false, twinIds: [] };
      for (const id of ['2020-01-01', '2099-01-01', 'whatever'])
        // One after the other.
        await isRefused('createWithdrawals', call, { policy: TEAM, id });
    },
  );

  attack('a run with a policy of his own, which “the CFO” has started, comes to nothing', async () => {
    const run = stage.find(DEAR, { name: POLICY, id: idOf('cfo') });
    const started = await his.workflow.start(RUN_TYPE, {
      workflowId: run.handle.workflowId,
      taskQueue: ourQueue(),
      args: [{ ...run.input, startedBy: 'the CFO' }],
      memo: { note: 'his own' },
    });
    await comesToNothing(run, started);
  });

  attack('a run of a policy that nobody has put into the folder is held and named', async () => {
    const name = uniqueName('own');
    const run = await stage.start(convertPolicy({ withdraw: [{ id: 'me', account: HIS_PESOS }] }), {
      name,
      id: idOf('own'),
    });
    await isHeld(run);
  });

  attack('a plan that he has forged, and that a run of ours then finds, pays nobody', async () => {
    const run = stage.find(OURS, { name: POLICY, id: idOf('forged') });
    const ours: unknown = await stage.temporal.client.workflow
      .getHandle(planIdOf('SANDBOX', done.name))
      .result();
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
    await his.workflow.execute(PLAN_TYPE, { taskQueue: hisQueue(), workflowId, args: [input, forged] });
    await run.startAgain();
    const { problems, status } = await run.until(
      (report) => report.problems.length > 0 || (isSealed && report.legs.length === 0),
    );
    assert.notEqual(status, 'COMPLETED');
    if (!isSealed) assert.match(JSON.stringify(problems), /PLAN_CONTRADICTS_POLICY.*sell 50000\.00/);
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

  attack('a schedule whose policy he has changed starts nothing that is sent', async () => {
    const { name, text, schedule } = await applySchedule(stage);
    await writeFile(join(policies, `${name}.yaml`), text);
    const dear = text.replace('"1000.00"', '"50000.00"');
    assert.notEqual(dear, text);
    const input = { mode: 'SANDBOX', policy: name, policyText: dear, policyFile: 'his.yaml' };
    await his.schedule
      .getHandle(schedule.scheduleId)
      .update(({ action, ...other }) => ({ ...other, action: { ...action, args: [input] } }));
    await schedule.trigger();
    const run = stage.find(dear, { name });
    const [started = ''] = await startedBy(schedule);
    if (isSealed) await assert.rejects(his.workflow.getHandle(started).result());
    else await isHeld(run);
    await schedule.delete();
  });

  attack(
    'what people said of a run, deleted and begun anew without it, is missed by the worker that has read it',
    async () => {
      const name = uniqueName('said');
      const run = stage.find(convertPolicy(), { name });
      const { client } = stage.temporal;
      await say(
        { client, taskQueue: ourQueue(), mode: 'SANDBOX', run: run.name },
        { kind: 'not this', item: 'supplier', recordId: 'wtd_other' },
      );
      await run.startAgain();
      await run.heldBy('NOT_ALLOWED');
      const workflowId = instructionsIdOf('SANDBOX', run.name);
      const keeper = his.workflow.getHandle(workflowId);
      const { runId } = await keeper.describe();
      const { events } = await keeper.fetchHistory();
      const copy = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
      assert.ok(copy);
      await keeper.terminate('his');
      const { namespace } = client.options;
      await client.workflowService.deleteWorkflowExecution({
        namespace,
        workflowExecution: { workflowId, runId },
      });
      await eventually('it is deleted', async () => (await describeInTemporal(client, workflowId)) === null);
      await copier(copy).workflow.start(INSTRUCTIONS_TYPE, {
        workflowId,
        taskQueue: ourQueue(),
        args: [null],
      });
      await run.wake();
      await isHeld(run, 'INSTRUCTIONS_FEWER');
    },
  );

  if (isSealed) sealedAttacks();
  else
    attack(
      'a payment that no list shows yet is not made once more, though he writes that eight generations of it are opened and fires all of them',
      async () => {
        const id = idOf('again');
        const atFirst = entries();
        stage.sandbox.addFault({
          operation: 'createWithdrawal',
          when: { reference: `${POLICY}.${id}.*` },
          effect: { kind: 'list-lag', ms: 600_000 },
        });
        const run = await stage.start(OURS, { name: POLICY, id });
        const { payments } = await run.until((report) =>
          report.payments.some(({ withdrawalId }) => withdrawalId !== null),
        );
        const ours = entries() - atFirst;
        const own = await readFirstPlan(stage.temporal.client, 'SANDBOX', run.name);
        const [payment] = own?.payments ?? [];
        assert.ok(own !== null && payment !== undefined);
        const amount = payments[0]?.amount ?? null;
        const generations = [1, 2, 3, 4, 5, 6, 7, 8];
        const opened = generations.slice(1).map((generation) => {
          return { kind: 'opened', item: payment.id, generation, atMs: Date.now() } as const;
        });
        const { client } = stage.temporal;
        await noteFacts({ client, taskQueue: ourQueue(), mode: 'SANDBOX', run: run.name }, opened);
        const answers = await Promise.all(
          generations.map(async (generation) => {
            const wanted = { amount, ahead: '0', unwanted: null };
            const state = { ...NEW_PAYMENT, generation, sent: true };
            const items = [{ payment, wanted, state }];
            const call = { plan: own, items, othersAccepted: true, twinIds: [] };
            const nowMs = stage.time.now();
            const args = [{ taskQueue: ourQueue(), activity: 'createWithdrawals', nowMs, call }];
            const workflowId = `${run.handle.workflowId}/his-${generation}`;
            return his.workflow.execute('straight', { taskQueue: hisQueue(), workflowId, args });
          }),
        );
        for (const answer of answers) assert.match(JSON.stringify(answer), /"accepted"/);
        await run.handle.terminate('seen').catch(() => undefined);
        return ours;
      },
    );

  function sealedAttacks(): void {
    attack(
      'what was sealed for a run that was paid starts no other run, and pays nothing again under its own id',
      async () => {
        const { events } = await done.handle.fetchHistory();
        const copy = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
        assert.ok(copy);
        const start = (workflowId: string) =>
          copier(copy).workflow.start(RUN_TYPE, { workflowId, taskQueue: ourQueue(), args: [null] });
        const other = stage.find(OURS, { name: POLICY, id: idOf('copied') });
        await assert.rejects((await start(other.handle.workflowId)).result());
        await start(done.handle.workflowId);
        assertDoneOnce(done, await done.report());
      },
    );

    attack(
      'his plain signals, updates and memos change nothing of a run, which is not stuck by them',
      async () => {
        const run = await stage.start(convertPolicy(), { name: uniqueName('spoken') });
        await run.heldBy('NOT_ALLOWED');
        const strange = his.workflow.getHandle(run.handle.workflowId);
        for (const signal of ['news', 'wake', 'anything'])
          // One after the other.
          await strange.signal(signal, run.input);
        const keeper = his.workflow.getHandle(instructionsIdOf('SANDBOX', run.name));
        for (const update of ['record', 'note'])
          await assert.rejects(
            keeper.executeUpdate(update, { args: [{ kind: 'cancel', id: 'x', by: 'ana', why: 'y' }] }),
          );
        assertExit(await command(stage, ['list']), 0);
        await isHeld(run);
      },
    );

    // The last one: what is halted stays so.
    attack('a halt stands, whatever he says, ends, deletes or repeats', async () => {
      const haltId = haltIdOf('SANDBOX');
      assertExit(await command(stage, ['halt', '--reason', 'a drill', '--by', 'ana']), 0);
      assertExit(await command(stage, ['resume', '--by', 'ben']), 0);
      const { events } = await his.workflow.getHandle(haltId).fetchHistory();
      const resumed = events?.flatMap(({ workflowExecutionSignaledEventAttributes: said }) =>
        said?.signalName === 'resume' ? (said.input?.payloads ?? []) : [],
      );
      const [copy] = resumed ?? [];
      assert.ok(copy);
      assertExit(await command(stage, ['halt', '--reason', 'in earnest', '--by', 'ana']), 0);
      const { client } = stage.temporal;
      const { namespace } = client.options;
      const record = his.workflow.getHandle(haltId);
      const again = (by: Client, signal: string) =>
        by.workflow.signalWithStart(HALT_TYPE, {
          workflowId: haltId,
          taskQueue: hisQueue(),
          signal,
          signalArgs: [{ by: 'ana', why: 'over' }],
        });
      const acts: readonly (() => Promise<unknown>)[] = [
        () => record.signal('resume', { by: 'ana', why: 'over', scope: {} }),
        () => copier(copy).workflow.getHandle(haltId).signal('resume', null),
        () => record.terminate('his'),
        () => again(his, 'resume'),
        () => again(copier(copy), 'resume'),
        async () => {
          const { runId } = await record.describe();
          await client.workflowService.deleteWorkflowExecution({
            namespace,
            workflowExecution: { workflowId: haltId, runId },
          });
        },
        () => again(copier(copy), 'resume'),
      ];
      for (const [nth, act] of acts.entries()) {
        // One after the other.
        await act();
        const run = await stage.start(OURS, { name: POLICY, id: idOf(`halted-${nth}`) });
        await run.heldBy('HALTED');
        await run.handle.terminate('seen');
      }
    });
  }
}
