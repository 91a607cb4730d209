/**
 * A run that takes the place of another one: the command line, the wait of its plan workflow, and that nothing of the old run
 * goes on, whoever starts or resets it (M1). Each test has runs of its own on one stage; the ledger is the judge.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { readReport, type Report } from '../../domain/run/report.ts';
import { workflowIdOf, type RunName } from '../../domain/references.ts';
import { readInstructionsToActBy } from '../../durable/instructions/read.ts';
import { wakeRun } from '../../operations/decide/keep-instruction.ts';
import { instructionsIdOf, planIdOf, reportQuery } from '../../workflows/names.ts';
import { deleteInTemporal } from '../support/batches.ts';
import {
  assertExit,
  command,
  flat,
  putPolicy,
  reportOf,
  type Edit,
  type Ended,
  type PolicyOnStage,
} from '../support/commands.ts';
import { eventually } from '../support/patience.ts';
import { wakeable } from '../support/passing-time.ts';
import { patiently } from '../support/patiently.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage({ balances: { USD: '1000000', MXN: '0' }, timePasses: true });
  await stage.startWorker();
});
after(() => stage.close());

/** On a stage doubt about a trade lasts two seconds. */
const SAFETY_MS = 97_000;
const TOO_STRICT: Edit = [/16\.90 MXN/, '99.00 MXN'];

/** A run that has ended since its guard let no quote pass, and the file of the policy that is mended. */
class Old {
  readonly policy: PolicyOnStage;
  readonly mended: string;

  constructor(policy: PolicyOnStage, mended: string) {
    this.policy = policy;
    this.mended = mended;
  }

  next(suffix: string): RunName {
    return { policy: this.policy.name, id: `${this.policy.run.id}-${suffix}` };
  }

  /** Types the command that puts another run in the place of this one. */
  instead(suffix: string, ...more: readonly string[]): Promise<Ended> {
    const { id } = this.next(suffix);
    return command(stage, ['run', this.mended, '--id', id, '--instead-of', this.policy.run.id, ...more]);
  }

  get place() {
    const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
    return { ...stage.temporal, taskQueue, mode: 'SANDBOX', uiUrl: null, say: () => {} } as const;
  }

  handleOf(run: RunName) {
    return stage.temporal.client.workflow.getHandle(workflowIdOf('SANDBOX', run));
  }

  async waits(run: RunName): Promise<void> {
    await eventually('the wait of its plan', async () =>
      (await this.report(run)).problems.some(({ code }) => code === 'INSTEAD_WAITS'),
    );
  }

  /** The wait of a run passes at once. */
  async passWait(run: RunName): Promise<void> {
    await this.waits(run);
    stage.time.pass(SAFETY_MS);
  }

  /** No command lets the old run go on. */
  async assertGivenUp(): Promise<void> {
    const { file, runText } = this.policy;
    for (const argv of [
      ['run', file, '--go-on'],
      ['run', file, '--go-on', 'supplier'],
      ['replay', runText],
    ]) {
      // One after the other.
      const refused = await command(stage, argv);
      assertExit(refused, 4);
      assert.match(flat(refused.stderr), /SUPERSEDED.*has taken the place of this one/);
    }
    const shown = await command(stage, ['run', file]);
    assert.match(flat(shown.stderr), /has taken its place; nothing was sent/);
  }

  report(run: RunName): Promise<Report> {
    return patiently(() =>
      readReport(
        (offset) => this.handleOf(run).query(reportQuery, offset),
        () => () => Promise.reject(new Error('There are no chunks.')),
      ),
    );
  }

  /** How a run ends, while time passes. */
  async ended(run: RunName): Promise<Report> {
    const handle = this.handleOf(run);
    const wake = async (): Promise<void> => void (await wakeRun(this.place, run));
    await stage.time.during({ ...wakeable(handle), wake }, () => handle.result().catch(() => {}));
    return this.report(run);
  }

  /** As the button of the UI: the newest Temporal run of the old run, to its first event. */
  async reset(): Promise<void> {
    const { workflowId, runId } = await this.handleOf(this.policy.run).describe();
    const [first] = await resetPoints(this.handleOf(this.policy.run));
    assert.ok(first !== undefined);
    await resetTo(stage.temporal, { workflowId, runId }, first);
  }

  assertMovedOnceAs(run: RunName): void {
    const name = `${run.policy}.${run.id}`;
    assert.deepEqual(
      { trades: this.trades(), withdrawals: this.withdrawals() },
      { trades: [`${name}.usd-mxn-1`], withdrawals: [`${name}.supplier`] },
    );
  }

  trades(): readonly string[] {
    return stage.sandbox
      .ledger()
      .trades.map((trade) => String(trade['clientReferenceId']))
      .filter((reference) => reference.startsWith(`${this.policy.name}.`));
  }

  withdrawals(): readonly string[] {
    return stage.sandbox
      .ledger()
      .withdrawals.map(({ metadata }) => String((metadata as Record<string, unknown> | null)?.['cambist']))
      .filter((reference) => reference.startsWith(`${this.policy.name}.`));
  }
}

async function failed(): Promise<Old> {
  const policy = await putPolicy(stage, TOO_STRICT);
  const ended = await command(stage, ['run', policy.file, '--json']);
  assert.equal(reportOf(ended).status, 'FAILED', ended.stdout);
  const text = await readFile(join(stage.folder, policy.file), 'utf8');
  const mended = `mended-${policy.file}`;
  await writeFile(join(stage.folder, mended), text.replace('99.00 MXN', '16.00 MXN'));
  return new Old(policy, mended);
}

describe('a run in the place of another one', () => {
  cell(
    'says what changes, waits until nothing of the old run can arrive, and is carried out once',
    async () => {
      const old = await failed();
      const next = old.next('b');
      const told = await command(stage, ['run', old.mended, '--id', old.policy.run.id]);
      assert.match(
        flat(told.stderr),
        /POLICY_CHANGED.*may take its place: `\S+ \S+ run \S+ --id NEW --instead-of/,
      );
      const started = await old.instead('b', '--detach', '--by', 'ana', '--reason', 'it was too strict');
      assertExit(started, 8);
      const said = flat(started.stderr);
      assert.match(said, /Nothing of \S+ was executed.*OUTSIDE_GUARD/);
      assert.match(said, /-\s+worst_rate: "99\.00 MXN per USD".*\+\s+worst_rate: "16\.00 MXN per USD"/);
      assert.match(said, /takes the place of \S+\. Nothing of \S+ is sent any more/);
      const kept = await readInstructionsToActBy({ ...old.place, run: old.policy.run });
      const [{ kind, by, why, atMs } = { kind: null, by: '', why: '', atMs: 0 }] = kept?.instructions ?? [];
      assert.deepEqual([kind, by, why], ['superseded', 'ana', 'it was too strict']);
      await old.assertGivenUp();
      const report = await old.ended(next);
      assert.equal(report.status, 'COMPLETED', JSON.stringify(report));
      old.assertMovedOnceAs(next);
      const trade = stage.sandbox
        .ledger()
        .trades.find(({ clientReferenceId }) => clientReferenceId === old.trades()[0]);
      const waitedMs = Date.parse(String(trade?.['createdAt'])) - atMs;
      assert.ok(waitedMs >= SAFETY_MS, `${waitedMs} ms`);
    },
  );

  test('leaves nothing of the old run to go on: no command, reset or new start sends anything of it', async () => {
    const old = await failed();
    const next = old.next('b');
    await old.instead('b', '--detach');
    const { file, run, runText } = old.policy;
    await old.assertGivenUp();
    await old.reset();
    const report = await old.ended(run);
    assert.equal(report.status, 'CANCELLED', JSON.stringify(report));
    assert.match(report.problems[0]?.message ?? '', /took the place of this one/);
    const listed = await command(stage, ['list', '--attention']);
    assert.doesNotMatch(listed.stdout, new RegExp(`${runText}\\s`));
    await old.passWait(next);
    assert.equal((await old.ended(next)).status, 'COMPLETED');
    old.assertMovedOnceAs(next);
    // What people said is lost: the run in its place still tells.
    await deleteInTemporal(stage, [instructionsIdOf('SANDBOX', run)]);
    const lost = await command(stage, ['run', file, '--go-on']);
    assertExit(lost, 4);
    assert.match(flat(lost.stderr), /SUPERSEDED/);
    const again = await readInstructionsToActBy({ ...old.place, run });
    assert.equal(again?.instructions[0]?.kind, 'superseded');
    old.assertMovedOnceAs(next);
  });

  test('keeps its place when it is terminated before its plan is made, and is planned only where it is known whose place it has', async () => {
    const old = await failed();
    const next = old.next('b');
    await old.instead('b', '--detach');
    await old.waits(next);
    for (const workflowId of [workflowIdOf('SANDBOX', next), planIdOf('SANDBOX', next)])
      await stage.temporal.client.workflow.getHandle(workflowId).terminate('somebody did not want to wait');
    await deleteInTemporal(stage, [instructionsIdOf('SANDBOX', old.policy.run)]);
    // Without a word of the place: the run knows it by itself, and plans nothing that nobody can check.
    await command(stage, ['run', old.mended, '--id', next.id, '--detach']);
    const refused = await old.ended(next);
    assert.deepEqual([refused.status, refused.problems[0]?.code], ['FAILED', 'INSTEAD_REFUSED']);
    assertExit(await old.instead('b', '--detach'), 8);
    await old.passWait(next);
    assert.equal((await old.ended(next)).status, 'COMPLETED');
    old.assertMovedOnceAs(next);
  });

  test('keeps its place where whoever put it there never started it, or Temporal has lost it', async () => {
    const old = await failed();
    const next = old.next('b');
    await old.instead('b', '--detach');
    await deleteInTemporal(stage, [
      workflowIdOf('SANDBOX', next),
      planIdOf('SANDBOX', next),
      instructionsIdOf('SANDBOX', next),
    ]);
    assertExit(await command(stage, ['run', old.mended, '--id', next.id, '--detach']), 8);
    await old.passWait(next);
    assert.equal((await old.ended(next)).status, 'COMPLETED');
    old.assertMovedOnceAs(next);
  });

  test('has the place alone: whoever comes second is told of the first, and a third run takes the place of the second', async () => {
    const old = await failed();
    await writeFile(
      join(stage.folder, old.mended),
      (await readFile(join(stage.folder, old.mended), 'utf8')).replace('16.00 MXN', '98.00 MXN'),
    );
    const [second, third] = [old.next('b'), old.next('c')];
    const [one, other] = await Promise.all([old.instead('b', '--detach'), old.instead('c', '--detach')]);
    assert.deepEqual(
      new Set([one.exitCode, other.exitCode]),
      new Set([4, 8]),
      `${one.stderr}${other.stderr}`,
    );
    const [winner, loser] = one.exitCode === 8 ? [second, third] : [third, second];
    assert.match(flat(one.exitCode === 8 ? other.stderr : one.stderr), /SUPERSEDED/);
    await old.passWait(winner);
    assert.equal((await old.ended(winner)).status, 'FAILED');
    await writeFile(
      join(stage.folder, old.mended),
      (await readFile(join(stage.folder, old.mended), 'utf8')).replace('98.00 MXN', '16.00 MXN'),
    );
    const argv = [
      'run',
      old.mended,
      '--id',
      loser.id,
      '--instead-of',
      `${winner.policy}.${winner.id}`,
      '--detach',
    ];
    assertExit(await command(stage, argv), 8);
    await old.passWait(loser);
    assert.equal((await old.ended(loser)).status, 'COMPLETED');
    old.assertMovedOnceAs(loser);
  });

  test('is refused in the place of a run that has traded, is open, or has no plan, and under the id of another run', async () => {
    const refusedOf = async (policy: PolicyOnStage, id: string): Promise<string> => {
      const ended = await command(stage, ['run', policy.file, '--id', id, '--instead-of', policy.run.id]);
      assertExit(ended, 4);
      return flat(ended.stderr);
    };
    const done = await putPolicy(stage);
    assertExit(await command(stage, ['run', done.file]), 0);
    assert.match(await refusedOf(done, `${done.run.id}-b`), /INSTEAD_REFUSED.*"usd-mxn-1" is TRADED/);
    const open = await putPolicy(
      stage,
      ['shortfall: skip', 'shortfall: hold'],
      ['"1000.00"', '"90000000.00"'],
    );
    await command(stage, ['run', open.file, '--detach']);
    assert.match(await refusedOf(open, `${open.run.id}-b`), /INSTEAD_REFUSED.*it has not ended/);
    await stage.temporal.client.workflow.getHandle(open.workflowId).terminate('the test is over');
    const unplanned = await putPolicy(stage, [/wac_7Hk2mQ9vT4xR/, 'wac_Missing12345']);
    await command(stage, ['run', unplanned.file]);
    assert.match(await refusedOf(unplanned, `${unplanned.run.id}-b`), /INSTEAD_REFUSED.*it has no plan/);
    const old = await failed();
    assertExit(await command(stage, ['run', old.policy.file, '--id', old.next('b').id]), 4);
    const taken = await command(stage, [
      'run',
      old.policy.file,
      '--id',
      old.next('b').id,
      '--instead-of',
      old.policy.run.id,
    ]);
    assertExit(taken, 4);
    assert.match(flat(taken.stderr), /INSTEAD_REFUSED.*is there already, and does not take the place/);
    const itself = await command(stage, [
      'run',
      old.mended,
      '--id',
      old.policy.run.id,
      '--instead-of',
      old.policy.run.id,
    ]);
    assertExit(itself, 2);
    assert.match(flat(itself.stderr), /cannot take its own place/);
  });
});
