/**
 * Which run a start is of, end to end: dates that are over, runs of earlier dates, a second run of one date, a policy
 * that was edited, and who started it. Each test has policies of its own on one stage; the ledger is the judge.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readInstructions } from '../../durable/instructions/read.ts';
import { workflowIdOf } from '../../domain/references.ts';
import { instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { compileNow, requireCompiled } from '../../operations/start/compile-now.ts';
import { readPolicyFile } from '../../operations/policy-file.ts';
import { startRun } from '../../operations/start/workflow.ts';
import { movesOf } from '../../domain/plan/moves.ts';
import { loadSettings } from '../../config/config.ts';
import { deleteInTemporal } from '../support/batches.ts';
import {
  assertExit,
  command,
  flat,
  movedFor,
  putPolicy,
  reportOf,
  startCommand,
  type PolicyOnStage,
} from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
  // So much that no run takes what another one has bought.
  stage.sandbox.deposit({ currency: 'MXN', amount: '10000000.00' });
  await stage.startWorker();
});
after(() => stage.close());

const run = (policy: PolicyOnStage, ...more: readonly string[]) =>
  command(stage, ['run', policy.file, ...more]);
const pathOf = (policy: PolicyOnStage): string => join(stage.folder, policy.file);
const YESTERDAY = todayIn('America/Mexico_City', Date.now() - 86_400_000);

describe('which run a start is of', { concurrency: 6 }, () => {
  test('a date that is over is refused like one to come, unless its run is there; nothing is started', async () => {
    const policy = await putPolicy(stage);
    const ran = await run(policy, '--id', '2020-01-05');
    assertExit(ran, 2);
    assert.match(
      flat(ran.stderr),
      /^RUN_ID_PAST --id: the date of "2020-01-05" is over, and there is no run/,
    );
    assertExit(await command(stage, ['status', `${policy.name}.2020-01-05`]), 2);
    assertExit(await run(policy), 0);
  });

  test('a run whose plan and instructions Temporal has lost does not go on, and pays nothing again; its records are named', async () => {
    const policy = await putPolicy(stage);
    assertExit(await run(policy), 0);
    const moved = movedFor(stage, policy);
    const [planId, instructionsId] = [
      planIdOf('SANDBOX', policy.run),
      instructionsIdOf('SANDBOX', policy.run),
    ];
    const workflowIds = [[planId, instructionsId], [workflowIdOf('SANDBOX', policy.run)]];
    for (const lost of workflowIds) {
      // One after the other: first what has ended first.
      await deleteInTemporal(stage, lost);
      for (const more of [['--go-on'], ['--pay-again', 'supplier', '--reason', 'not there', '--by', 'ana']]) {
        const refused = await run(policy, ...more);
        assertExit(refused, 4);
        assert.match(
          flat(refused.stderr),
          /^NO_PLAN .* trade tde_\w+ \(\S+\.usd-mxn-1\), withdrawal wtd_\w+ \(\S+\.supplier\); nothing was sent/,
        );
      }
    }
    assert.deepEqual(movedFor(stage, policy), moved);
  });

  test('an earlier run that never got a plan blocks nothing', async () => {
    const policy = await putPolicy(stage);
    const text = (await readFile(pathOf(policy), 'utf8')).replace('wac_7Hk2mQ9vT4xR', 'wac_Nowhere1');
    const planless = await stage.start(text, { name: policy.name, id: YESTERDAY });
    assert.equal((await planless.report()).legs.length, 0);
    assertExit(await run(policy), 0);
    assert.equal(movedFor(stage, policy).trades.length, 1);
  });

  test('an earlier run that may still send something is named, and passed over only by --id', async () => {
    const policy = await putPolicy(stage);
    const text = await readFile(pathOf(policy), 'utf8');
    const taskQueue = uniqueName('nobody');
    const earlier = await stage.start(text, { name: policy.name, id: YESTERDAY, taskQueue });
    const refused = await run(policy);
    assertExit(refused, 4);
    assert.match(
      flat(refused.stderr),
      new RegExp(
        `^EARLIER_RUN_OPEN ${policy.name}\\.${YESTERDAY}: .* is open, and something of it is still to be sent`,
      ),
    );
    assert.deepEqual(movedFor(stage, policy).trades, []);
    assertExit(await run(policy, '--id', policy.run.id), 0);
    await earlier.handle.terminate('the test is over');
  });

  test('a comment is no other policy; a changed one is refused with advice that pays nothing again', async () => {
    const policy = await putPolicy(stage);
    assertExit(await run(policy), 0);
    const text = await readFile(pathOf(policy), 'utf8');
    await writeFile(pathOf(policy), `# seen by ana\n\n${text.replaceAll(/ #.*$/gm, '')}\n`);
    const same = await run(policy);
    assertExit(same, 0);
    assert.match(flat(same.stderr), /is completed; there is nothing to do/);
    await writeFile(pathOf(policy), text.replace('sell: "1000.00"', 'sell: "2000.00"'));
    const changed = await run(policy);
    assertExit(changed, 4);
    assert.match(flat(changed.stderr), /^POLICY_CHANGED .* Put back what it was planned with/);
    assert.doesNotMatch(changed.stderr, /--id/);
    assert.deepEqual(
      [movedFor(stage, policy).trades.length, movedFor(stage, policy).withdrawals.length],
      [1, 1],
    );
  });

  test('a second run of a date says what was traded and paid on it', async () => {
    const policy = await putPolicy(stage);
    const first = await run(policy);
    assertExit(first, 0);
    assert.doesNotMatch(first.stderr, /one more run of this date/);
    const second = await run(policy, '--id', `${policy.run.id}-second`);
    assertExit(second, 0);
    assert.match(
      flat(second.stderr),
      /-second is one more run of this date\. It would do again what is done already: \S+ traded 1,000\.00 USD for 18,500\.00 MXN \(trade \S+\) \S+ paid supplier: 18,500\.00 MXN to wac_7Hk2mQ9vT4xR \(withdrawal \S+\)/,
    );
    // It is there now: nothing is said a second time.
    assert.doesNotMatch((await run(policy, '--id', `${policy.run.id}-second`)).stderr, /one more run/);
  });

  test('a run that never got a plan makes it anew with --go-on once the cause is mended', async () => {
    const file = `${uniqueName('rates')}.yaml`;
    const putRates = (asOf: string): Promise<void> =>
      writeFile(join(stage.folder, file), `as_of: ${asOf}\nrates: ["18.50 MXN per USD"]\n`);
    await putRates('2026-01-05T09:00:00Z');
    const policy = await putPolicy(stage, [
      /worst_rate: .*$/m,
      `reference: { file: ${file}, max_age: 30h }\n  worst_cost: 500bps`,
    ]);
    const refused = await run(policy, '--json');
    assertExit(refused, 4);
    const [problem] = reportOf(refused).problems;
    assert.equal(problem?.code, 'PLAN_REFERENCE_TOO_OLD');
    assert.ok(problem.fix.includes(`\`npx cambist run POLICY --id ${policy.run.id} --go-on\``), problem.fix);
    await putRates(new Date(Date.now() - 3_600_000).toISOString());
    const shown = await run(policy);
    assertExit(shown, 4);
    assert.match(
      flat(shown.stderr),
      /has ended without a plan; nothing was sent\. Mend what its report names, then type the same with --go-on/,
    );
    assertExit(await run(policy, '--go-on'), 0);
    assert.equal(movedFor(stage, policy).trades.length, 1);
  });

  test('--go-on says what holds where everything that people said is gone from Temporal', async () => {
    const policy = await putPolicy(
      stage,
      ['sell: "1000.00"', 'sell: "90000000.00"'],
      ['shortfall: skip', 'shortfall: hold'],
    );
    const { client, namespace } = stage.temporal;
    const held = startCommand(stage, ['run', policy.file, '--wait']);
    await held.says(/waits: SHORTFALL/);
    await client.workflow.getHandle(policy.workflowId).terminate('clean-up');
    await held.ended;
    const of = { client, mode: 'SANDBOX', run: policy.run } as const;
    const workflowId = instructionsIdOf('SANDBOX', policy.run);
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    await client.workflowService.deleteWorkflowExecution({
      namespace,
      workflowExecution: { workflowId, runId },
    });
    await eventually('what people said is deleted', async () => (await readInstructions(of)) === null);
    const again = startCommand(stage, ['run', policy.file, '--wait']);
    await again.says(/INSTRUCTIONS_MISSING/);
    assertExit(await run(policy, '--go-on', '--detach', '--by', 'ana'), 8);
    assert.equal((await readInstructions(of))?.instructions[0]?.by, 'ana');
    // What it may have sent before is over first.
    await stage.during(policy.workflowId, () => again.says(/waits: SHORTFALL/));
    await client.workflow.getHandle(policy.workflowId).terminate('the test is over');
    await again.ended;
  });

  test('a run whose plan is not what a person was shown ends without a send; --go-on carries out its plan', async () => {
    const policy = await putPolicy(
      stage,
      ['sell: USD', 'sell: EUR'],
      ['sell: "1000.00"', 'sell: all, keep: "1.00"'],
      [/worst_rate: ".*"/, 'worst_rate: "18.00 MXN per EUR"'],
    );
    const { policyFile } = await readPolicyFile(policy.file, {
      cwd: stage.folder,
      decimals: {},
      nowMs: Date.now(),
    });
    assert.ok(policyFile !== null);
    const settings = await loadSettings(stage.env, stage.folder);
    const compiled = await compileNow({
      policyFile,
      settings,
      run: policy.run,
      batch: null,
      now: Date.now,
    });
    const shown = movesOf(requireCompiled(compiled));
    // Between the question and the yes the balance changes, and the plan with it.
    stage.sandbox.deposit({ currency: 'EUR', amount: '5000.00' });
    const { client } = stage.temporal;
    const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
    const again = {
      client,
      taskQueue,
      mode: 'SANDBOX',
      run: policy.run,
      policyFile,
      startedBy: 'ana',
      batch: null,
      again: false,
    } as const;
    assert.ok(await startRun({ ...again, shown }));
    const ended = await run(policy, '--json');
    assertExit(ended, 4);
    assert.equal(reportOf(ended).problems[0]?.code, 'PLAN_NOT_AS_SHOWN');
    assert.deepEqual(movedFor(stage, policy), { trades: [], withdrawals: [] });
    assertExit(await run(policy, '--go-on', '--detach'), 8);
    await client.workflow.getHandle(policy.workflowId).terminate('the test is over');
  });
});
