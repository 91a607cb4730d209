/**
 * A second plan: a run of which nothing was executed is planned anew. Whatever is reset, started again or lost afterwards, one leg
 * is traded, under the number of one plan, and each payment is made once (M1).
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { readReport, type Report } from '../../domain/run/report.ts';
import { readAllInstructions } from '../../durable/instructions/read.ts';
import { recordInstruction } from '../../durable/instructions/keep.ts';
import { wakeRun } from '../../operations/decide/keep-instruction.ts';
import { readPlanInput } from '../../durable/plans.ts';
import { judgeReplan, replan } from '../../operations/replay/replan.ts';
import { startRun } from '../../operations/start/workflow.ts';
import { workerIdentity } from '../../operations/watch/worker-identity.ts';
import { loadSettings } from '../../config/config.ts';
import { packageVersion } from '../../cli/commands/version.ts';
import { readPolicyFile, type PolicyFile } from '../../operations/policy-file.ts';
import { instructionsIdOf, planIdOf, reportQuery } from '../../workflows/names.ts';
import { deleteInTemporal } from '../support/batches.ts';
import {
  assertExit,
  command,
  flat,
  movedFor,
  putPolicy,
  reportOf,
  startCommand,
  type Edit,
  type PolicyOnStage,
} from '../support/commands.ts';
import { eventually } from '../support/patience.ts';
import { patiently } from '../support/patiently.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { cell, test } from '../support/sliced.ts';
import { wakeable } from '../support/passing-time.ts';
import { openStage, type Stage } from '../support/stage.ts';

const stages: Stage[] = [];
after(() => Promise.all(stages.map((stage) => stage.close())));

/** As a worker calls itself that the command line has started. */
const OF_THIS_VERSION = workerIdentity(packageVersion(), { pid: process.pid, host: 'test' });
/** On a stage doubt about a trade lasts two seconds. */
const SAFETY_MS = 97_000;
const AT_ONCE = { concurrency: 4 };
const TOO_STRICT: Edit = [/16\.90 MXN/, '99.00 MXN'];
const SAID = ['--by', 'ana', '--reason', 'the worst rate was too strict'];

/** A run on a stage of its own, on which time passes where a test waits. */
class Replanned {
  readonly stage: Stage;
  readonly policy: PolicyOnStage;
  /** The policy that the second plan is made from. */
  readonly second: string;

  constructor(stage: Stage, policy: PolicyOnStage, second: string) {
    this.stage = stage;
    this.policy = policy;
    this.second = second;
  }

  get handle() {
    return this.stage.temporal.client.workflow.getHandle(this.policy.workflowId);
  }

  get of() {
    const { client } = this.stage.temporal;
    return {
      client,
      taskQueue: this.stage.env['CAMBIST_TASK_QUEUE'] ?? '',
      mode: 'SANDBOX',
      run: this.policy.run,
    } as const;
  }

  /** A file of the policy that is another one once more. */
  async withPolicy(name: string, edits: readonly Edit[]): Promise<string> {
    let text = await readFile(join(this.stage.folder, this.second), 'utf8');
    for (const [from, to] of edits) text = text.replace(from, to);
    const file = `${name}-${this.policy.file}`;
    await writeFile(join(this.stage.folder, file), text);
    return file;
  }

  /** By the clock of the stage, on which time has passed: as a person would. */
  async say(kind: 'cancel' | 'go-on'): Promise<void> {
    const said = { id: `${kind}-${Date.now()}`, by: 'ben', why: 'so' };
    await recordInstruction(this.of, kind === 'cancel' ? { kind, ...said } : { kind, item: null, ...said });
    if (kind === 'cancel') await this.handle.cancel();
  }

  async replanNow(file: string): Promise<void> {
    const place = { ...this.stage.temporal, ...this.of, uiUrl: null, say: () => {} };
    const settings = await loadSettings(this.stage.env, this.stage.folder);
    const policyFile = await this.policyFile(file);
    const { now } = this.stage.time;
    const asked = { place, settings, policyFile, run: this.policy.run, version: packageVersion(), now };
    await replan(asked, await judgeReplan(asked), { by: 'ana', why: 'so', shown: null });
  }

  /**
   * By the command line, which only watches from the moment at which it has said that the run is planned anew. The safety wait
   * passes at once unless it is seen.
   */
  async replan(file = this.second, isWaitSeen = false): Promise<string> {
    const argv = ['replay', this.policy.runText, '--replan', file, ...SAID];
    const started = startCommand(this.stage, argv);
    await started.says(/is planned anew|nothing was/);
    started.process.kill('SIGKILL');
    const { stderr } = await started.ended;
    assert.match(flat(stderr), /is planned anew/);
    if (!isWaitSeen) this.stage.time.pass(SAFETY_MS);
    return flat(stderr);
  }

  /** Time passes while this is done. */
  passing<T>(work: () => Promise<T>): Promise<T> {
    const place = { ...this.stage.temporal, ...this.of, uiUrl: null, say: () => {} };
    const wake = async (): Promise<void> => void (await wakeRun(place, this.policy.run));
    return this.stage.time.during({ ...wakeable(this.handle), wake }, work);
  }

  /** Until the newest Temporal run has ended, as its report tells. */
  async ended(): Promise<Report> {
    await this.passing(() =>
      this.handle.result().then(
        () => null,
        () => null,
      ),
    );
    return this.report();
  }

  report(): Promise<Report> {
    return patiently(() =>
      readReport(
        (offset) => this.handle.query(reportQuery, offset),
        () => () => Promise.reject(new Error('There are no chunks.')),
      ),
    );
  }

  /** As the report says, once it waits for a person. */
  async held(code: string): Promise<Report> {
    return this.passing(() =>
      eventually(
        `it is held by ${code}`,
        async () => {
          const report = await this.report();
          const isHeld = report.status === 'HELD' && report.problems.some((problem) => problem.code === code);
          return isHeld ? report : null;
        },
        async () => JSON.stringify(await this.report()),
      ),
    );
  }

  async policyFile(file: string): Promise<PolicyFile> {
    const read = await readPolicyFile(file, { cwd: this.stage.folder, decimals: {}, nowMs: Date.now() });
    assert.ok(read.policyFile !== null);
    return read.policyFile;
  }

  async startAgain(file: string): Promise<void> {
    const policyFile = await this.policyFile(file);
    const started = { policyFile, batch: null, shown: null, startedBy: 'ben', again: true };
    assert.ok(await startRun({ ...this.of, ...started }));
  }

  /** Ids of its Temporal runs, the first one first. */
  async temporalRuns(): Promise<readonly string[]> {
    const runs: { runId: string; atMs: number }[] = [];
    for await (const { runId, startTime } of this.stage.temporal.client.workflow.list({
      query: `WorkflowId = '${this.policy.workflowId}'`,
    }))
      runs.push({ runId, atMs: startTime.getTime() });
    return runs.toSorted((a, b) => a.atMs - b.atMs).map(({ runId }) => runId);
  }

  /** As the button of the UI: the first Temporal run of all, to an event so far in its history. */
  async resetFirst(share: number): Promise<void> {
    const [runId = ''] = await this.temporalRuns();
    const { client } = this.stage.temporal;
    const { workflowId } = this.policy;
    const points = await resetPoints(client.workflow.getHandle(workflowId, runId));
    const point = points[Math.min(Math.floor(points.length * share), points.length - 1)];
    assert.ok(point !== undefined);
    await resetTo(this.stage.temporal, { workflowId, runId }, point);
  }

  assertMovedOnce(): void {
    assert.deepEqual(movedFor(this.stage, this.policy), {
      trades: [`${this.policy.runText}.usd-mxn-2`],
      withdrawals: [`${this.policy.runText}.supplier`],
    });
  }

  assertNothingMoved(): void {
    assert.deepEqual(movedFor(this.stage, this.policy), { trades: [], withdrawals: [] });
  }
}

/** A run that has ended since its guard let no quote pass, or for what else the policy says. */
async function failed(
  edits: readonly Edit[] = [TOO_STRICT],
  changes: readonly Edit[] = [],
): Promise<Replanned> {
  const stage = await openStage({ balances: { USD: '100000', MXN: '0' }, timePasses: true });
  stages.push(stage);
  await stage.startWorker({ identity: OF_THIS_VERSION });
  const policy = await putPolicy(stage, ...edits);
  const ended = await command(stage, ['run', policy.file, '--json']);
  assert.equal(reportOf(ended).status, 'FAILED', ended.stdout);
  let text = (await readFile(join(stage.folder, policy.file), 'utf8')).replace('99.00 MXN', '16.00 MXN');
  for (const [from, to] of changes) text = text.replace(from, to);
  const second = `second-${policy.file}`;
  await writeFile(join(stage.folder, second), text);
  return new Replanned(stage, policy, second);
}

function assertDone(report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report));
  assert.deepEqual(
    [
      report.legs.map(({ id, outcome }) => [id, outcome]),
      report.payments.map(({ id, outcome }) => [id, outcome]),
    ],
    [[['usd-mxn-2', 'TRADED']], [['supplier', 'PAID']]],
  );
}

describe('a run that is planned anew', AT_ONCE, () => {
  cell(
    'says what changes, waits until nothing of the first plan can be under way, and is carried out',
    async () => {
      const run = await failed();
      const said = await run.replan(run.second, true);
      assert.match(said, /- usd-mxn-1: sell 1000\.00 USD for MXN, not worse than 99\.00/);
      assert.match(said, /\+ usd-mxn-2: sell 1000\.00 USD for MXN, not worse than 16\.00/);
      const askedAtMs = (await readAllInstructions(run.of))?.instructions.at(-1)?.atMs ?? 0;
      assertDone(await run.ended());
      run.assertMovedOnce();
      const [trade] = run.stage.sandbox.ledger().trades;
      const waitedMs = Date.parse(String(trade?.['createdAt'])) - askedAtMs;
      assert.ok(waitedMs >= SAFETY_MS, `${waitedMs} ms`);
    },
  );

  for (const share of [0, 0.5, 1])
    test(`is carried out once although the first Temporal run is reset to ${share * 100} % of its events`, async () => {
      const run = await failed();
      await run.replan();
      await run.ended();
      await run.resetFirst(share);
      assertDone(await run.ended());
      run.assertMovedOnce();
    });

  test('goes on with the second plan where the first Temporal run is reset before there is one', async () => {
    const run = await failed();
    await run.replan(run.second, true);
    const { client, mode, run: name } = run.of;
    await eventually('the second plan', () => readPlanInput(client, mode, name, 2));
    await run.handle.terminate('somebody did not want to wait');
    await run.resetFirst(1);
    assertDone(await run.ended());
    run.assertMovedOnce();
  });

  test('sends nothing of the first plan where whoever asked never started it again', async () => {
    const run = await failed();
    const { client, mode, run: name, taskQueue } = run.of;
    const said = { by: 'ana', why: 'it was too strict' };
    const { hash: policyHash } = await run.policyFile(run.second);
    await recordInstruction(
      { client, mode, run: name, taskQueue },
      { kind: 'replan', id: 'asked-1', ...said, policyHash },
    );
    for (const share of [0, 1]) {
      // One after the other.
      await run.resetFirst(share);
      const report = await run.ended();
      assert.deepEqual(
        [report.status, report.problems.map(({ code }) => code)],
        ['FAILED', ['REPLAN_UNFINISHED']],
      );
    }
    run.assertNothingMoved();
    await run.startAgain(run.second);
    assertDone(await run.ended());
    run.assertMovedOnce();
  });

  test('may have another amount and another account', async () => {
    const run = await failed(
      [TOO_STRICT],
      [
        ['{ sell: "1000.00" }', '{ sell: "500.00" }'],
        ['wac_7Hk2mQ9vT4xR', 'wac_U5DFedw1re9'],
      ],
    );
    const refused = await command(run.stage, ['replay', run.policy.runText, '--replan', run.second, ...SAID]);
    // The account takes dollars: said before anything is kept.
    assertExit(refused, 2);
    assert.match(refused.stderr, /PLAN_ACCOUNT_CURRENCY/);
    assert.deepEqual((await readAllInstructions(run.of))?.instructions, []);
    const text = (await readFile(join(run.stage.folder, run.second), 'utf8')).replace(
      'wac_U5DFedw1re9',
      'wac_7Hk2mQ9vT4xR',
    );
    await writeFile(join(run.stage.folder, run.second), text);
    await run.replan();
    const report = await run.ended();
    assertDone(report);
    assert.equal(report.legs[0]?.sellAmount, '500.00');
    run.assertMovedOnce();
  });

  test('is lost by Temporal with its plan: the same is found again', async () => {
    const run = await failed();
    await run.replan();
    assertDone(await run.ended());
    const { mode, run: name } = run.of;
    await deleteInTemporal(run.stage, [planIdOf(mode, name, 2)]);
    await run.startAgain(run.second);
    assertDone(await run.ended());
    run.assertMovedOnce();
  });

  for (const which of ['first', 'second'] as const)
    test(`is lost by Temporal with everything: a start with the ${which} policy trades nothing, and waits for a person`, async () => {
      const run = await failed();
      await run.replan();
      assertDone(await run.ended());
      const { mode, run: name } = run.of;
      await deleteInTemporal(run.stage, [
        run.policy.workflowId,
        planIdOf(mode, name),
        planIdOf(mode, name, 2),
        instructionsIdOf(mode, name),
      ]);
      await run.startAgain(which === 'first' ? run.policy.file : run.second);
      await run.held('RECORD_COULD_BE_IT');
      run.assertMovedOnce();
      await run.handle.terminate();
    });

  test('is cancelled and goes on again as any run', async () => {
    const run = await failed();
    await run.replan(run.second, true);
    await run.say('cancel');
    const report = await run.ended();
    assert.equal(report.problems[0]?.code, 'CANCELLED');
    run.assertNothingMoved();
    await run.say('go-on');
    await run.startAgain(run.second);
    assertDone(await run.ended());
    run.assertMovedOnce();
  });

  test('is cancelled before its plan was made, and asked for once more by the same policy', async () => {
    const run = await failed();
    await run.replan(run.second, true);
    const early = await command(run.stage, ['replay', run.policy.runText, '--replan', run.second, ...SAID]);
    assertExit(early, 4);
    assert.match(flat(early.stderr), /its second plan is being made/);
    assertExit(await command(run.stage, ['cancel', run.policy.runText]), 0);
    await run.handle.result().catch(() => {});
    const goOn = await command(run.stage, ['run', run.second, '--id', run.policy.run.id, '--go-on']);
    assertExit(goOn, 4);
    assert.match(flat(goOn.stderr), /REPLAN_UNFINISHED/);
    await run.replan();
    assertDone(await run.ended());
    run.assertMovedOnce();
  });

  test('is cancelled before its plan was made, and planned by another policy: by that one alone', async () => {
    const run = await failed();
    await run.replan(run.second, true);
    await run.say('cancel');
    await run.ended();
    const third = await run.withPolicy('third', [['16.00 MXN', '15.00 MXN']]);
    await run.replan(third);
    const report = await run.ended();
    assertDone(report);
    assert.equal(report.policy.hash, (await run.policyFile(third)).hash);
    run.assertMovedOnce();
    const again = await command(run.stage, ['run', run.second, '--id', run.policy.run.id, '--go-on']);
    assertExit(again, 4);
    run.assertMovedOnce();
  });

  test('loses what asked for it: it sends nothing until somebody says so once more', async () => {
    const run = await failed();
    await run.replan();
    const { mode, run: name } = run.of;
    const hold = run.stage.sandbox.addFault({
      operation: 'createWithdrawal',
      times: 1_000,
      when: { reference: `${run.policy.runText}.supplier` },
      effect: { kind: 'error', code: 'SERVICE_UNAVAILABLE', status: 503, stored: false },
    });
    await run.passing(() => eventually('a trade', () => movedFor(run.stage, run.policy).trades.length));
    await deleteInTemporal(run.stage, [instructionsIdOf(mode, name)]);
    run.stage.sandbox.clearFaults(hold);
    await run.held('INSTRUCTIONS_MISSING');
    await run.replanNow(run.second);
    assertDone(await run.ended());
    run.assertMovedOnce();
  });
});

describe('a second plan is refused', AT_ONCE, () => {
  cell(
    'for a run that has traded, for one that is open, for one that has no plan, and without a reason',
    async () => {
      const stage = await openStage({ balances: { USD: '100000', MXN: '0' } });
      stages.push(stage);
      await stage.startWorker({ identity: OF_THIS_VERSION });
      const refusedOf = async (policy: PolicyOnStage, ...more: readonly string[]): Promise<string> => {
        const ended = await command(stage, ['replay', policy.runText, '--replan', policy.file, ...more]);
        assert.ok(ended.exitCode === 4 || ended.exitCode === 2);
        return flat(ended.stderr);
      };
      const done = await putPolicy(stage);
      assertExit(await command(stage, ['run', done.file]), 0);
      assert.match(await refusedOf(done, ...SAID), /REPLAN_REFUSED.*"usd-mxn-1" is TRADED/);
      assert.match(await refusedOf(done), /--reason/);
      const open = await putPolicy(
        stage,
        ['shortfall: skip', 'shortfall: hold'],
        ['"1000.00"', '"900000.00"'],
      );
      await command(stage, ['run', open.file, '--detach']);
      assert.match(await refusedOf(open, ...SAID), /REPLAN_REFUSED.*it has not ended/);
      const unplanned = await putPolicy(stage, [/wac_7Hk2mQ9vT4xR/, 'wac_Missing12345']);
      await command(stage, ['run', unplanned.file]);
      assert.match(await refusedOf(unplanned, ...SAID), /REPLAN_REFUSED.*it has no plan yet/);
    },
  );

  cell('with the policy that it was planned with, and a second time: there is no third plan', async () => {
    const run = await failed();
    const argv = ['replay', run.policy.runText, '--replan', run.policy.file, ...SAID];
    const same = await command(run.stage, argv);
    assertExit(same, 4);
    assert.match(flat(same.stderr), /REPLAN_REFUSED.*says what it was planned with/);
    await run.replan();
    await run.ended();
    const ended = await command(run.stage, ['replay', run.policy.runText, '--replan', run.second, ...SAID]);
    assertExit(ended, 4);
    assert.match(flat(ended.stderr), /it has its second plan already/);
  });
});
