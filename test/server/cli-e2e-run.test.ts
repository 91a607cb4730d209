/**
 * The command line end to end, against the sandbox and a real Temporal server: running, attaching, leaving, waiting,
 * cancelling, and the reads beside it. What a process shows (its output, its end, Ctrl-C, several at once) is played by
 * processes. The tests share one stage and run side by side where they can.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  assertExit,
  command,
  commandProcess,
  documentOf,
  flat,
  movedFor,
  putPolicy,
  reportOf,
  startCommand,
  type Ended,
  type PolicyOnStage,
} from '../support/commands.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { seenAs } from '../../domain/run/report.ts';
import { lasting } from '../support/lasting.ts';

let stage: Stage;
before(async () => {
  // A refusal is not kept under its key: the same key succeeds as soon as the cause is mended.
  stage = await openStage({ settings: { storeErrors: 'none' } });
  // So much that no run takes what another one has bought.
  stage.sandbox.deposit({ currency: 'MXN', amount: '10000000.00' });
  await stage.startWorker();
});
after(() => stage.close());

const names = (policy: PolicyOnStage) => ({
  trades: [`${policy.runText}.usd-mxn-1`],
  withdrawals: [`${policy.runText}.supplier`],
});

/** How `list --json` has the run. */
function stateIn(listed: Ended, policy: PolicyOnStage): string | undefined {
  const { runs } = documentOf(listed) as { runs: { run: string; state: string }[] };
  return runs.find(({ run }) => run === policy.runText)?.state;
}

describe('runs that end', { concurrency: 2 }, () => {
  test('run --json prints one report; the next run, the report and the status say the same and send nothing', async () => {
    const policy = await putPolicy(stage);
    const ran = await commandProcess(stage, ['run', policy.file, '--json', '--by', 'bo']);
    assertExit(ran, 0);
    const report = reportOf(ran);
    assert.equal(report.startedBy, 'bo');
    assert.equal(report.status, 'COMPLETED');
    assert.equal(report.run, policy.runText);
    assert.deepEqual(movedFor(stage, policy), names(policy));

    const again = await command(stage, ['run', policy.file]);
    assertExit(again, 0);
    assert.match(flat(again.stdout), /COMPLETED.*Paid 18,500\.00 MXN to wac_7Hk2mQ9vT4xR/);
    assert.match(flat(again.stderr), /is completed; there is nothing to do/);
    assertExit(await command(stage, ['run', policy.file, '--go-on']), 0);
    const read = await command(stage, ['report', policy.workflowId, '--json']);
    assertExit(read, 0);
    assert.deepEqual(lasting(reportOf(read)), lasting(report));
    const status = await command(stage, ['status', policy.runText]);
    assertExit(status, 0);
    assert.match(
      flat(status.stdout),
      /is completed \(2 of 2 items done\); there is nothing left to do\. Started by bo at \S+ America\/Mexico_City, ended at \S+\. $/,
    );
    const [leg] = report.legs;
    const [payment] = report.payments;
    const times = [
      report.startedAt,
      leg?.tradedAt,
      seenAs('settled', report).get(leg?.id ?? ''),
      payment?.sentAt,
      seenAs('paid', report).get(payment?.id ?? ''),
      report.endedAt,
    ].map((at) => Date.parse(at ?? ''));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
      'one after the other',
    );
    assert.deepEqual(report.resets, []);
    assert.deepEqual(movedFor(stage, policy), names(policy));
  });

  test('a piped run prints a line per step, then sentences and tables, and no escape', async () => {
    const policy = await putPolicy(stage);
    const ran = await commandProcess(stage, ['run', policy.file]);
    assertExit(ran, 0);
    // What stands between two looks of a slow machine is not shown.
    for (const step of ['plan: ', 'leg usd-mxn-1: TRADED', 'payment supplier: PAID'])
      assert.match(ran.stdout, new RegExp(`^[0-9:]{8} ${step}`, 'm'));
    assert.match(ran.stdout, /Traded 1,000\.00 USD for 18,500\.00 MXN at 18\.5/);
    assert.match(
      ran.stdout,
      /^TOTAL +PLANNED +PAID +NOT PAID +NEEDS A PERSON\nMXN +18,500\.00 +18,500\.00 +0\.00 +0\.00$/m,
    );
    assert.ok(!`${ran.stdout}${ran.stderr}`.includes('\u001b'));
  });

  test('the same run started by four terminals at once moves the money once', async () => {
    const policy = await putPolicy(stage);
    const all = await Promise.all(
      Array.from({ length: 4 }, () => commandProcess(stage, ['run', policy.file, '--json'])),
    );
    for (const ended of all) {
      assertExit(ended, 0);
      assert.equal(reportOf(ended).status, 'COMPLETED');
    }
    assert.deepEqual(movedFor(stage, policy), names(policy));
  });

  test('plan explains every number and moves nothing', async () => {
    const policy = await putPolicy(stage, ['sell: "1000.00"', 'sell: "1234.56"']);
    const planned = await command(stage, ['plan', policy.file, '--quote']);
    assertExit(planned, 0);
    assert.match(flat(planned.stdout), /the amount is fixed by the policy/i);
    assert.match(flat(planned.stdout), /Price now: 18\.5 MXN per USD .* The guard allows it\./);
    assert.match(flat(planned.stdout), /A price below 16\.9 MXN per USD is not traded/);
    assert.match(flat(planned.stdout), /Nothing was moved\. To run it: npx cambist run/);
    const json = documentOf(
      await command(stage, ['plan', policy.file, '--json'], {
        env: { TEMPORAL_ADDRESS: '127.0.0.1:1' },
      }),
    ) as { run: string; exitCode: number };
    assert.deepEqual({ run: json.run, exitCode: json.exitCode }, { run: policy.runText, exitCode: 0 });
    assert.deepEqual(movedFor(stage, policy), { trades: [], withdrawals: [] });
    const quotes = stage.sandbox.ledger().quotes.filter((quote) => quote['sellAmount'] === '1234.56');
    assert.deepEqual(
      quotes.map(({ tradeId }) => tradeId),
      [null],
    );
  });

  test('check draws a caret below every mistake', async () => {
    const text =
      'policy: 1\nkind: convert\nname: p\nenviroment: sandbox\nconvert: { sell: USD, buy: MXN, amount: { sell: 1000.00 } }\n';
    await writeFile(join(stage.folder, 'wrong.yaml'), text);
    const checked = await command(stage, ['check', 'wrong.yaml']);
    assertExit(checked, 2);
    assert.match(
      checked.stdout,
      /wrong\.yaml:4:1: .*\n {4}enviroment: sandbox\n {4}\^{10}\n {2}fix: .*environment/,
    );
    assert.match(
      checked.stdout,
      /AMOUNT_UNQUOTED wrong\.yaml:5:49: .*\n {2}.*\n {4}convert: .*\n {52}\^{7}\n {2}fix: /,
    );
  });

  test('another text of the policy is refused with the difference, and nothing is sent', async () => {
    const policy = await putPolicy(stage);
    assertExit(await command(stage, ['run', policy.file]), 0);
    const path = join(stage.folder, policy.file);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('sell: "1000.00"', 'sell: "2000.00"'));
    const ran = await command(stage, ['run', policy.file]);
    assertExit(ran, 4);
    assert.match(ran.stderr, /^POLICY_CHANGED /);
    assert.match(ran.stderr, /^-.*sell: "1000\.00".*\n\+.*sell: "2000\.00"/m);
    assert.deepEqual(movedFor(stage, policy), names(policy));
  });
});

test('a run that ended without paying goes on with --go-on once the cause is mended, and pays once', async () => {
  const account = 'wac_Suspended77';
  const put = (status: 'LIVE' | 'SUSPENDED'): void =>
    stage.sandbox.putAccounts([{ id: account, currency: 'MXN', assetType: 'FIAT', status }]);
  put('SUSPENDED');
  const policy = await putPolicy(stage, ['wac_7Hk2mQ9vT4xR', account]);
  const refused = await command(stage, ['run', policy.file, '--json']);
  assertExit(refused, 5);
  const report = reportOf(refused);
  assert.equal(report.status, 'PARTIAL');
  assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
  assert.equal(report.problems[0]?.code, 'WITHDRAWAL_ACCOUNT_NOT_LIVE');
  const attention = await command(stage, ['list', '--attention', '--json']);
  assertExit(attention, 6);
  assert.equal(stateIn(attention, policy), 'PARTIAL');
  assert.deepEqual(movedFor(stage, policy).withdrawals, []);
  put('LIVE');
  const goesOn = await command(stage, ['run', policy.file, '--go-on', '--json']);
  assertExit(goesOn, 0);
  assert.equal(reportOf(goesOn).status, 'COMPLETED');
  const { trades, withdrawals } = movedFor(stage, policy);
  assert.deepEqual([trades.length, withdrawals.length], [1, 1]);
});

describe('runs that stay open', { concurrency: 4 }, () => {
  /** Lets the trade of one run wait at the service until it is released. */
  const holdTrade = (policy: PolicyOnStage): string =>
    stage.sandbox.addFault({
      operation: 'createTrade',
      when: { reference: `${policy.runText}.usd-mxn-1` },
      times: 1,
      effect: { kind: 'hold' },
    });
  const HUGE = ['sell: "1000.00"', 'sell: "90000000.00"'] as const;
  const HOLDING = ['shortfall: skip', 'shortfall: hold'] as const;

  test('--detach returns at once, status and list say where it is, and a second run attaches to its end', async () => {
    const policy = await putPolicy(stage);
    const fault = holdTrade(policy);
    const started = await command(stage, ['run', policy.file, '--detach', '--json']);
    assertExit(started, 8);
    assert.equal(reportOf(started).status, 'RUNNING');
    await stage.sandbox.faultHit(fault);
    const status = await command(stage, ['status', policy.runText, '--json']);
    assertExit(status, 8);
    assert.match(
      (documentOf(status) as { sentence: string }).sentence,
      /is running \(0 of 2 items done\); now usd-mxn-1: trading/,
    );
    assert.equal(stateIn(await command(stage, ['list', '--json']), policy), 'RUNNING');

    const attached = startCommand(stage, ['run', policy.file]);
    await attached.says(/is open already; attaching/);
    stage.sandbox.releaseFaults(fault);
    assertExit(await attached.ended, 0);
    assert.deepEqual(movedFor(stage, policy), names(policy));
  });

  test('Ctrl-C only leaves: 130, and the run goes on', async () => {
    const policy = await putPolicy(stage);
    const fault = holdTrade(policy);
    const left = startCommand(stage, ['run', policy.file, '--json']);
    await stage.sandbox.faultHit(fault);
    left.process.kill('SIGINT');
    const ended = await left.ended;
    assertExit(ended, 130);
    assert.equal(reportOf(ended).status, 'RUNNING');
    assert.match(ended.stderr, /This command has ended; .* goes on/);
    stage.sandbox.releaseFaults(fault);
    const attached = await command(stage, ['run', policy.file, '--json']);
    assertExit(attached, 0);
    assert.deepEqual(movedFor(stage, policy), names(policy));
  });

  test('a run that was terminated is started again by the same command, and adopts its trade', async () => {
    const policy = await putPolicy(stage);
    const fault = holdTrade(policy);
    assertExit(await command(stage, ['run', policy.file, '--detach']), 8);
    await stage.sandbox.faultHit(fault);
    await stage.temporal.client.workflow.getHandle(policy.workflowId).terminate('for this test');
    stage.sandbox.releaseFaults(fault);
    const report = await command(stage, ['report', policy.runText, '--json']);
    assertExit(report, 6);
    assert.equal(reportOf(report).problems[0]?.code, 'ENDED_FROM_OUTSIDE');
    assertExit(await command(stage, ['run', policy.file]), 0);
    assert.deepEqual(movedFor(stage, policy), names(policy));
  });

  test('a run that waits for money is left after 15 s', async () => {
    const policy = await putPolicy(stage, HUGE, HOLDING);
    const held = await command(stage, ['run', policy.file, '--json']);
    assertExit(held, 8);
    const report = reportOf(held);
    assert.equal(report.status, 'HELD');
    assert.equal(report.problems[0]?.code, 'SHORTFALL');
    assert.match(
      flat(held.stderr),
      /is held .* The run goes on without this command\. With --wait, the command would stay\./,
    );
  });

  test('--wait stays until the money has come, and the run has gone on by itself', async () => {
    const policy = await putPolicy(
      stage,
      ['sell: USD', 'sell: EUR'],
      [/worst_rate: ".*"/, 'worst_rate: "18.00 MXN per EUR"'],
      ['sell: "1000.00"', 'sell: "3000000.00"'],
      HOLDING,
    );
    const waiting = startCommand(stage, ['run', policy.file, '--wait']);
    await waiting.says(/waits: SHORTFALL/);
    stage.sandbox.deposit({ currency: 'EUR', amount: '3000000' });
    assertExit(await waiting.ended, 0);
    assert.equal(movedFor(stage, policy).trades.length, 1);
  });

  test('a held run needs attention, is cancelled, and goes on only with --go-on', async () => {
    const policy = await putPolicy(stage, HUGE, HOLDING);
    const waiting = startCommand(stage, ['run', policy.file, '--wait', '--json']);
    await waiting.says(/waits: SHORTFALL/);
    const attention = await command(stage, ['list', '--attention', '--json']);
    assertExit(attention, 6);
    assert.equal(stateIn(attention, policy), 'HELD');
    const acknowledge = [
      'list',
      '--acknowledge',
      policy.runText,
      '--by',
      'ana',
      '--reason',
      'money is on its way',
    ];
    const acknowledged = await command(stage, acknowledge);
    assertExit(acknowledged, 0);
    assert.match(
      flat(acknowledged.stdout),
      /is HELD \(SHORTFALL\), acknowledged by ana; --attention leaves it out/,
    );
    const without = await command(stage, ['list', '--attention', '--json']);
    assert.equal(stateIn(without, policy), undefined);
    const status = await command(stage, ['status', policy.runText]);
    assertExit(status, 8);
    assert.match(
      status.stdout,
      /is held \(0 of 2 items done\) by SHORTFALL since \d\d:\d\d:\d\d\s+\S+: .*it\s+looks again by\s+itself at/s,
    );

    const cancelled = await command(stage, ['cancel', policy.runText, '--by', 'ana', '--json']);
    assertExit(cancelled, 0);
    assert.deepEqual((documentOf(cancelled) as { sent: string[] }).sent, []);
    const ended = await waiting.ended;
    assertExit(ended, 4);
    assert.equal(reportOf(ended).status, 'CANCELLED');
    // It stands otherwise now, and so it is shown again.
    const anew = await command(stage, ['list', '--attention', '--json']);
    assertExit(anew, 6);
    assert.equal(stateIn(anew, policy), 'CANCELLED');

    const again = await command(stage, ['run', policy.file]);
    assertExit(again, 4);
    assert.match(
      flat(again.stdout),
      /Said by people: .* "ana": acknowledged: "money is on its way" .* "ana": cancel what is not sent/,
    );
    assert.match(
      flat(again.stderr),
      /has ended; nothing was sent\. With --go-on this would go on: usd-mxn-1, supplier/,
    );
    assert.deepEqual(movedFor(stage, policy), { trades: [], withdrawals: [] });
    assertExit(
      await command(stage, ['run', policy.file, '--go-on', '--detach', '--by', 'bo', '--reason', 'mended']),
      8,
    );
    const taken = await command(stage, ['report', policy.runText]);
    assert.match(
      flat(taken.stdout),
      /"ana": cancel what is not sent: "no reason given" .* "bo": go on after the cancel: "mended"/,
    );
    // Temporal's button, which the command presses too, adds nothing.
    assert.doesNotMatch(taken.stdout, /Cancel was pressed/);
    await stage.temporal.client.workflow.getHandle(policy.workflowId).terminate('the test is over');
    assert.deepEqual(movedFor(stage, policy), { trades: [], withdrawals: [] });
  });

  test('--go-on of an open run that is cancelled says why it cannot go on, and sends nothing', async () => {
    const policy = await putPolicy(stage);
    const fault = stage.sandbox.addFault({
      operation: 'createWithdrawal',
      when: { reference: `${policy.runText}.supplier` },
      effect: { kind: 'outcome', outcome: 'stuck' },
    });
    const waiting = startCommand(stage, ['run', policy.file, '--wait']);
    await waiting.says(/payment supplier: accepted/);
    stage.sandbox.clearFaults(fault);
    assertExit(await command(stage, ['cancel', policy.runText, '--by', 'ana', '--reason', 'not today']), 0);
    const status = await command(stage, ['status', policy.runText]);
    assertExit(status, 8);
    assert.match(
      flat(status.stdout),
      /is being cancelled by ana \(1 of 2 items done\): what is under way ends first; now supplier: accepted/,
    );
    await waiting.says(/run: being cancelled: what is under way ends first/);
    const details = await stage.temporal.client.workflow
      .getHandle(policy.workflowId)
      .query<{ readonly currentDetails: string }>('__temporal_workflow_metadata');
    assert.match(details.currentDetails, /^\*\*RUNNING\*\*, being cancelled: what is under way ends first\./);
    const goesOn = await command(stage, ['run', policy.file, '--go-on']);
    assertExit(goesOn, 4);
    assert.match(
      flat(goesOn.stderr),
      /^RUN_CANCELLED \S+: the run is cancelled, and stays open only to follow what was sent before; .* Wait for its end/,
    );
    waiting.process.kill('SIGINT');
    await waiting.ended;
    const shown = await command(stage, ['report', policy.runText]);
    assert.match(flat(shown.stdout), /"ana": cancel what is not sent: "not today"/);
    await stage.temporal.client.workflow.getHandle(policy.workflowId).terminate('the test is over');
  });

  test('--go-on ITEM says that its cause is gone; another item, or one of a cancelled run, is refused', async () => {
    const policy = await putPolicy(stage, HUGE, HOLDING);
    const waiting = startCommand(stage, ['run', policy.file, '--wait']);
    await waiting.says(/waits: SHORTFALL/);
    const goOn = (item: string, ...more: readonly string[]) =>
      command(stage, ['run', policy.file, '--detach', '--go-on', item, ...more]);
    const unknown = await goOn('nobody');
    assertExit(unknown, 2);
    assert.match(flat(unknown.stderr), /^ITEM_NOT_FOUND .*It has: usd-mxn-1, supplier\./);
    assertExit(await goOn('usd-mxn-1', '--by', 'ana', '--reason', 'money is on its way'), 8);
    const shown = await command(stage, ['report', policy.runText]);
    assert.match(
      flat(shown.stdout),
      /usd-mxn-1, "ana": try it now, its cause is gone: "money is on its way"/,
    );
    assertExit(await command(stage, ['cancel', policy.runText, '--by', 'ana']), 0);
    assertExit(await waiting.ended, 4);
    const cancelled = await goOn('usd-mxn-1');
    assertExit(cancelled, 4);
    assert.match(
      flat(cancelled.stderr),
      /^RUN_CANCELLED .* Take the cancel back first: --go-on without an item/,
    );
    assert.deepEqual(movedFor(stage, policy), { trades: [], withdrawals: [] });
  });
});
