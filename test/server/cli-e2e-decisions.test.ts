/**
 * What people decide, end to end: resolving an item that the machine cannot tell, paying again, and a report held
 * against the service. Each test has a run of its own on one stage; the ledger is the judge.
 */
import { parseRunName } from '../../domain/references.ts';
import { readReport } from '../../domain/run/report.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Report } from '../../domain/run/report.ts';
import { reportQuery } from '../../workflows/names.ts';
import { eventually } from '../support/patience.ts';
import { signerWith } from '../support/sandbox-signer.ts';
import {
  assertExit,
  command,
  documentOf,
  flat,
  movedFor,
  putPolicy,
  reportOf,
  type Ended,
  type PolicyOnStage,
} from '../support/commands.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { say as keep } from '../support/say.ts';
import { lasting } from '../support/lasting.ts';

let stage: Stage;
before(async () => {
  stage = await openStage();
  // So much that no run takes what another one has bought.
  stage.sandbox.deposit({ currency: 'MXN', amount: '10000000.00' });
  await stage.startWorker();
});
after(() => stage.close());

const ANA = ['--by', 'ana'] as const;
const AGAIN = ['--pay-again', 'supplier', '--reason', 'the account is open again', ...ANA] as const;
const GONE = ['--not-executed', '--evidence', 'ticket 4711: never received', ...ANA] as const;

/** A line of `report --jsonl`. */
type LineOfReport = {
  readonly run?: Report;
  readonly payment?: Report['payments'][number];
  readonly problem?: Report['problems'][number];
};

/** The run of a policy whose payment goes to an account of its own. */
type Paid = PolicyOnStage & { readonly account: string; readonly reference: string };

let accounts = 0;

/** @param outcome how payments to the account end until `setOutcome` says otherwise */
async function putPaid(outcome: 'completed' | 'failed'): Promise<Paid> {
  accounts += 1;
  const account = `wac_Test${'x'.repeat(accounts)}`;
  setOutcome(account, outcome);
  const policy = await putPolicy(stage, ['wac_7Hk2mQ9vT4xR', account]);
  return { ...policy, account, reference: `${policy.runText}.supplier` };
}

function setOutcome(id: string, outcome: 'completed' | 'failed'): void {
  stage.sandbox.putAccounts([{ id, currency: 'MXN', assetType: 'FIAT', status: 'LIVE', outcome }]);
}

/** The service answers the payment of a run with a mismatch, for ever: the machine cannot tell what became of it. */
function mismatch(policy: Paid): string {
  return stage.sandbox.addFault({
    operation: 'createWithdrawal',
    when: { reference: policy.reference },
    effect: { kind: 'error', code: 'IDEMPOTENCY_MISMATCH' },
  });
}

const runNow = (policy: PolicyOnStage) => stage.temporal.client.workflow.getHandle(policy.workflowId);
/** Time passes for a run while something is waited for. */
const during = <T>(policy: PolicyOnStage, work: () => Promise<T>): Promise<T> =>
  stage.during(policy.workflowId, work);

/** The report of an open run as soon as it is like this. */
const reportWhen = (policy: PolicyOnStage, is: (report: Report) => boolean): Promise<Report> =>
  during(policy, () => untilReport(policy, is));

function untilReport(policy: PolicyOnStage, is: (report: Report) => boolean): Promise<Report> {
  const read = () => readReport((offset) => runNow(policy).query(reportQuery, offset)).catch(() => null);
  return eventually(
    `a report of ${policy.runText} like this`,
    async () => {
      const report = await read();
      return report !== null && is(report) ? report : null;
    },
    async () => JSON.stringify(await read()),
  );
}

const isInDoubt = (report: Report): boolean =>
  report.problems.some(({ code, item }) => code === 'IDEMPOTENCY_MISMATCH' && item === 'supplier');

/** What somebody pays by hand, beside this program; `tag` as the payment carries it, none by default. */
async function payByHand(
  policy: Paid,
  { tag = null, amount = '18500.00' }: { readonly tag?: string | null; readonly amount?: string } = {},
): Promise<string> {
  const signer = await signerWith(stage.sandbox.baseUrl, join(stage.folder, 'key.json'));
  const answer = await signer.post(
    '/fx/withdrawals',
    {
      currency: 'MXN',
      withdrawalAmount: amount,
      withdrawalAccountId: policy.account,
      ...(tag !== null && { metadata: { cambist: tag } }),
    },
    randomUUID(),
  );
  return answer.textAt('data.id');
}

function assertProblem(ended: Ended, exitCode: number, code: string, text: RegExp): void {
  assertExit(ended, exitCode);
  assert.match(ended.stderr, new RegExp(`^${code}[ :]`));
  assert.match(flat(ended.stderr), text);
}

/**
 * Types a command. Beside it other tests let time pass at the service, and on a busy machine their runs are silent for a while. People
 * are told to type the same again then.
 */
const typed = (...words: readonly string[]): Promise<Ended> =>
  eventually(`an answer to ${words.join(' ')}`, async () => {
    const told = await command(stage, words);
    return /CLOCK_SKEW|OTHER_RUN_SILENT/.test(`${told.stdout}${told.stderr}`) ? null : told;
  });
const run = (policy: PolicyOnStage, ...more: readonly string[]): Promise<Ended> =>
  during(policy, () => typed('run', policy.file, ...more));
const resolve = (policy: PolicyOnStage, item: string, ...more: readonly string[]): Promise<Ended> =>
  typed('resolve', policy.runText, item, ...more);

describe('what people decide', { concurrency: 8 }, () => {
  test('a reset leaves its trace: when, to which event, after what and why; the report and the status tell it', async () => {
    // Temporal keeps the reason and the moment of a reset, and nothing else does.
    const policy = await putPolicy(stage, ['"16.90 MXN per USD"', '"99.00 MXN per USD"']);
    const failed = await run(policy, '--json');
    const { startedAt, endedAt, status } = reportOf(failed);
    assert.equal(status, 'FAILED');
    const why = ['--reason', 'the price is better', '--by', 'ana'];
    await during(policy, () => command(stage, ['replay', policy.runText, '--wait', ...why]));
    const report = reportOf(await command(stage, ['report', policy.runText, '--json']));
    assert.equal(report.startedAt, startedAt);
    const [first] = report.resets;
    assert.deepEqual(
      [report.resets.length, first?.why, first?.before],
      [1, 'the price is better (cambist replay, by ana)', 'FAILED'],
    );
    const times = [startedAt, endedAt, first?.at, report.endedAt].map((at) => Date.parse(at ?? ''));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
      'one after the other',
    );
    assert.ok((first?.eventId ?? 0) > 3, `event ${first?.eventId}`);
    const told = await command(stage, ['status', policy.runText]);
    assert.match(
      flat(told.stdout),
      /Reset at \S+ to event \d+, after it had ended FAILED; the reason given is "the price is better \(cambist replay, by ana\)"\./,
    );
  });

  test('a mismatch waits for a person; decided as not executed it ends, and may be paid again once', async () => {
    const policy = await putPaid('completed');
    const fault = mismatch(policy);
    assertExit(await run(policy, '--detach'), 8);
    await reportWhen(policy, ({ payments }) => payments[0]?.outcome === 'NEEDS_HUMAN');
    const status = await command(stage, ['status', policy.runText]);
    assertExit(status, 6);
    assert.match(
      flat(status.stdout),
      /is held \(1 of 2 items done\) by IDEMPOTENCY_MISMATCH since \d\d:\d\d:\d\d \S+: .* Decide: npx cambist resolve \S+ supplier \(--executed/,
    );

    const twin = await payByHand(policy);
    assertProblem(
      await resolve(policy, 'supplier', ...GONE),
      4,
      'RECORD_COULD_BE_IT',
      /is less than 10 minutes old; your decision is not kept.* say the same again after/,
    );
    stage.time.pass(10 * 60_000);
    const decided = await resolve(policy, 'supplier', ...GONE, '--json');
    assertExit(decided, 0);
    const { couldBe, by } = documentOf(decided) as { couldBe: string[]; by: string };
    assert.deepEqual({ couldBe, by }, { couldBe: [twin], by: 'ana' });
    const ended = await run(policy, '--wait', '--json');
    assertExit(ended, 4);
    const report = reportOf(ended);
    assert.deepEqual(
      report.payments.map(({ outcome, reason }) => ({ outcome, reason })),
      [
        {
          outcome: 'NOT_PAID',
          reason: 'ana has said that payment "supplier" was not executed: ticket 4711: never received',
        },
      ],
    );
    assert.equal(report.problems[0]?.code, 'DECIDED_NOT_EXECUTED');
    assertProblem(
      await resolve(policy, 'supplier', ...GONE),
      4,
      'ITEM_ENDED',
      /has ended as NOT_PAID already/,
    );
    const shown = await command(stage, ['report', policy.runText]);
    assert.match(flat(shown.stdout), /Said by people: .* supplier, "ana": not executed: "ticket 4711/);

    // What was paid by hand could be it: nothing is paid beside it while it stands.
    assertProblem(
      await run(policy, ...AGAIN),
      4,
      'PAYMENT_COULD_STAND',
      new RegExp(`withdrawal ${twin} .*carries no reference`),
    );
    stage.sandbox.setStatus({ id: twin, status: 'RETURNED', money: 'returned' });
    stage.sandbox.clearFaults(fault);
    const paid = await run(policy, ...AGAIN, '--wait', '--json');
    assertExit(paid, 0);
    assert.equal(reportOf(paid).payments[0]?.reference, `${policy.reference}~9`);
    assert.deepEqual(movedFor(stage, policy).withdrawals, [`${policy.reference}~9`]);
  });

  test('a withdrawal of which a person says that it is not the payment stands against no decision any more', async () => {
    const policy = await putPaid('completed');
    mismatch(policy);
    assertExit(await run(policy, '--detach'), 8);
    await reportWhen(policy, ({ payments }) => payments[0]?.outcome === 'NEEDS_HUMAN');
    const twin = await payByHand(policy);
    assertProblem(await resolve(policy, 'supplier', ...GONE), 4, 'RECORD_COULD_BE_IT', new RegExp(twin));
    const because = ['--evidence', 'ben paid it by hand for another invoice', ...ANA];
    for (const [words, exitCode, code, text] of [
      [['--not-this', twin, ...ANA], 2, 'DECISION_INCOMPLETE', /--evidence: it is missing/],
      [['--not-this', 'wtd_Nowhere1', ...because], 4, 'RECORD_DIFFERS', new RegExp(`these are: ${twin}`)],
    ] as const)
      // One after the other, as a person types.
      assertProblem(await resolve(policy, 'supplier', ...words), exitCode, code, text);
    const said = await resolve(policy, 'supplier', '--not-this', twin, ...because, '--json');
    assertExit(said, 0);
    const { decision, recordId, evidence, by } = documentOf(said) as Readonly<Record<string, unknown>>;
    assert.deepEqual(
      { decision, recordId, evidence, by },
      {
        decision: 'not this',
        recordId: twin,
        evidence: 'ben paid it by hand for another invoice',
        by: 'ana',
      },
    );
    const decided = await resolve(policy, 'supplier', ...GONE, '--json');
    assertExit(decided, 0);
    assert.deepEqual((documentOf(decided) as { couldBe: string[] }).couldBe, []);
    const ended = await run(policy, '--wait', '--json');
    assertExit(ended, 4);
    assert.equal(reportOf(ended).problems[0]?.code, 'DECIDED_NOT_EXECUTED');
    assert.deepEqual(movedFor(stage, policy).withdrawals, []);
    const shown = await command(stage, ['report', policy.runText]);
    assert.match(flat(shown.stdout), new RegExp(`Said by people: .* supplier, "ana": .*${twin}`));
  });

  test('a withdrawal that failed is paid again once, by one recorded instruction; a reset changes nothing', async () => {
    const policy = await putPaid('failed');
    const failed = await run(policy, '--json');
    assertExit(failed, 5);
    const report = reportOf(failed);
    assert.equal(report.status, 'PARTIAL');
    assert.deepEqual(
      report.payments.map(({ outcome, status }) => ({ outcome, status })),
      [{ outcome: 'NOT_PAID', status: 'FAILED' }],
    );
    // By itself it is never paid again.
    assertExit(await run(policy, '--go-on'), 5);
    assert.deepEqual(movedFor(stage, policy).withdrawals, [policy.reference]);

    const unsaid = await run(policy, '--pay-again', 'supplier', '--json');
    assertExit(unsaid, 2);
    assert.deepEqual(
      (documentOf(unsaid) as { problems: { place: string }[] }).problems.map(({ place }) => place),
      ['--reason', '--by'],
    );
    for (const item of ['usd-mxn-1', 'nobody'])
      assertProblem(
        await run(policy, '--pay-again', item, '--reason', 'r', ...ANA),
        2,
        'ITEM_NOT_FOUND',
        /payment/,
      );

    setOutcome(policy.account, 'completed');
    // Two people at once: one generation.
    const both = await Promise.all([run(policy, ...AGAIN, '--wait'), run(policy, ...AGAIN, '--wait')]);
    for (const { exitCode, stderr } of both) assert.ok(exitCode === 0 || exitCode === 4, stderr);
    const paid = await run(policy, '--wait', '--json');
    assertExit(paid, 0);
    const again = reportOf(paid);
    assert.equal(again.status, 'COMPLETED');
    assert.equal(again.payments[0]?.reference, `${policy.reference}~9`);
    const moved = {
      trades: [`${policy.runText}.usd-mxn-1`],
      withdrawals: [policy.reference, `${policy.reference}~9`],
    };
    assert.deepEqual(movedFor(stage, policy), moved);
    assertProblem(await run(policy, ...AGAIN), 4, 'PAYMENT_STANDS', /which has not failed \("COMPLETED"\)/);

    const { runId } = await runNow(policy).describe();
    await stage.temporal.client.workflowService.resetWorkflowExecution({
      namespace: stage.temporal.client.options.namespace,
      workflowExecution: { workflowId: policy.workflowId, runId },
      // The first task of the run: everything is done anew.
      workflowTaskFinishEventId: (await firstTaskOf(policy, runId)) ?? null,
      requestId: randomUUID(),
      reason: 'to see that it changes nothing',
    });
    const anew = await run(policy, '--wait', '--json');
    assertExit(anew, 0);
    assert.deepEqual(lasting(reportOf(anew)), lasting(again));
    assert.deepEqual(movedFor(stage, policy), moved);
    const shown = await command(stage, ['report', policy.runText]);
    assert.match(
      flat(shown.stdout),
      /Said by people: .* supplier, "ana": pay again after generation 1 \(\S+\): "the account is open again"/,
    );
  });

  test('a generation that failed as well lets a person open one more; an unused one does not', async () => {
    const policy = await putPaid('failed');
    assertExit(await run(policy), 5);
    assertExit(await run(policy, ...AGAIN), 5);
    assertExit(await run(policy, ...AGAIN), 5);
    const three = [policy.reference, `${policy.reference}~9`, `${policy.reference}~17`];
    assert.deepEqual(movedFor(stage, policy).withdrawals, three);
    // As if the command had been killed between the word and the start.
    await keep(
      {
        client: stage.temporal.client,
        taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
        mode: 'SANDBOX',
        run: policy.run,
      },
      { kind: 'pay again', item: 'supplier', follows: 17, recordId: null, by: 'bo' },
    );
    assertProblem(
      await run(policy, ...AGAIN),
      4,
      'PAY_AGAIN_OPEN',
      /bo has said already that it is paid again, as ~25/,
    );
    const status = await command(stage, ['status', policy.runText]);
    assert.match(status.stdout, /^Also open: supplier, .* MXN\. A person has said that it is paid again/m);
    setOutcome(policy.account, 'completed');
    // Whoever lets the run go on reads first what bo had said.
    const goneOn = await run(policy, '--go-on');
    assertExit(goneOn, 0);
    assert.match(goneOn.stderr, /^Also open: supplier, .* MXN\. A person has said that it is paid again/m);
    assert.deepEqual(movedFor(stage, policy).withdrawals, [...three, `${policy.reference}~25`]);
  });

  test('an item that was executed by hand is adopted by its record, and only by its own', async () => {
    const policy = await putPaid('completed');
    const other = await putPaid('completed');
    const done = reportOf(await run(other, '--json'));
    mismatch(policy);
    assertExit(await run(policy, '--detach'), 8);
    await reportWhen(policy, isInDoubt);
    const say = (id: string) => resolve(policy, 'supplier', '--executed', id, ...ANA);
    assertProblem(await run(policy, ...AGAIN), 4, 'RUN_OPEN', /has not ended yet/);
    assertProblem(
      await say('wtd_Nowhere1'),
      2,
      'RECORD_NOT_FOUND',
      /shows no record with this id, also not in its list/,
    );
    assertProblem(await say(done.legs[0]?.tradeId ?? ''), 2, 'RECORD_ID', /is not a withdrawal id/);
    const foreign = await say(done.payments[0]?.withdrawalId ?? '');
    assertProblem(foreign, 4, 'RECORD_DIFFERS', /its reference is .* its account is/);
    assert.equal((await reportWhen(policy, isInDoubt)).payments[0]?.withdrawalId, null);

    const byHand = await payByHand(policy);
    const decided = await say(byHand);
    assertExit(decided, 0);
    assert.match(
      flat(decided.stdout),
      /ana decided that it was executed as .* The run is open and looks at once/,
    );
    const ended = await run(policy, '--wait', '--json');
    assertExit(ended, 0);
    assert.equal(reportOf(ended).payments[0]?.withdrawalId, byHand);
    assert.deepEqual(movedFor(stage, policy).withdrawals, []);
    const shown = await command(stage, ['report', policy.runText]);
    assert.match(flat(shown.stdout), new RegExp(`supplier, "ana": executed as ${byHand}`));
    assertProblem(await say(byHand), 4, 'ITEM_DONE', /it is PAID already/);

    // The record is that item's now: another payment that agrees with it cannot have it too.
    const twin = await putPolicy(stage, ['wac_7Hk2mQ9vT4xR', policy.account]);
    mismatch({ ...twin, account: policy.account, reference: `${twin.runText}.supplier` });
    assertExit(await run(twin, '--detach'), 8);
    await reportWhen(twin, isInDoubt);
    const claimed = await resolve(twin, 'supplier', '--executed', byHand, ...ANA);
    assertProblem(
      claimed,
      4,
      'RECORD_DIFFERS',
      new RegExp(`another item, ${policy.runText.replaceAll('.', '\\.')} supplier`),
    );
    // A worker that would take it is told the same by what people have said, before any run has the record.
    const createdAt = new Date().toISOString();
    const isNamed = ({ runText }: PolicyOnStage) => {
      const asks = {
        mode: 'SANDBOX',
        run: parseRunName(runText) ?? assert.fail(runText),
        item: 'supplier',
      } as const;
      return claimsOf(stage.temporal.client).named(asks, { id: byHand, createdAt }, 60_000);
    };
    assert.equal(await isNamed(twin), true);
    assert.equal(await isNamed(policy), false);
    await runNow(twin).terminate('the test is over');
  });

  test('a record of the item stands above --not-executed: the next start adopts it by itself', async () => {
    const policy = await putPaid('completed');
    const fault = mismatch(policy);
    assertExit(await run(policy, '--detach'), 8);
    await reportWhen(policy, isInDoubt);
    await runNow(policy).terminate('for this test');
    stage.sandbox.clearFaults(fault);
    const tagged = await payByHand(policy, { tag: policy.reference });
    const said = await resolve(policy, 'supplier', ...GONE);
    assertProblem(said, 4, 'RECORD_FOUND', /the run adopts it by itself/);
    const ended = await run(policy, '--wait', '--json');
    assertExit(ended, 0);
    const report = reportOf(ended);
    assert.equal(report.payments[0]?.withdrawalId, tagged);
    assert.ok(
      report.evidence.every(({ call }) => call !== 'instruction'),
      'your decision is not kept',
    );
  });

  test('a record that contradicts the plan is never adopted, and decided over it is never paid beside', async () => {
    const policy = await putPaid('completed');
    mismatch(policy);
    assertExit(await run(policy, '--detach'), 8);
    await reportWhen(policy, isInDoubt);
    const other = await payByHand(policy, { tag: `${policy.reference}~2`, amount: '500.00' });
    await reportWhen(policy, ({ problems }) => problems.some(({ code }) => code === 'RECORD_DIFFERS'));
    const named = await resolve(policy, 'supplier', '--executed', other, ...ANA);
    assertProblem(named, 4, 'RECORD_DIFFERS', /its amount is 500\.00, and the plan says 18500/);
    const decided = await resolve(policy, 'supplier', ...GONE);
    assertExit(decided, 0);
    assert.match(
      flat(decided.stdout),
      /has its reference, but its amount is 500\.00, .* Your decision counts all the same/,
    );
    const ended = await run(policy, '--wait', '--json');
    assertExit(ended, 4);
    assert.equal(reportOf(ended).problems[0]?.code, 'DECIDED_NOT_EXECUTED');
    assertProblem(
      await run(policy, ...AGAIN),
      4,
      'PAYMENT_STANDS',
      new RegExp(`withdrawal ${other} of this payment, which has not failed`),
    );
    assert.deepEqual(movedFor(stage, policy).withdrawals, [`${policy.reference}~2`]);
  });

  test('a leg is decided about too, and what depends on it is not paid', async () => {
    const policy = await putPaid('completed');
    stage.sandbox.addFault({
      operation: 'createTrade',
      when: { reference: `${policy.runText}.usd-mxn-1` },
      effect: { kind: 'error', code: 'TRADE_DUPLICATE_CLIENT_REFERENCE' },
    });
    assertExit(await run(policy, '--detach'), 8);
    await reportWhen(policy, ({ problems }) => problems.some(({ item }) => item === 'usd-mxn-1'));
    assertProblem(await resolve(policy, 'supplier', ...GONE), 4, 'ITEM_NOT_IN_QUESTION', /goes on by itself/);
    assertProblem(
      await resolve(policy, 'nobody', ...GONE),
      2,
      'ITEM_NOT_FOUND',
      /It has: usd-mxn-1, supplier\./,
    );
    assertExit(await resolve(policy, 'usd-mxn-1', ...GONE), 0);
    const ended = await run(policy, '--wait', '--json');
    assertExit(ended, 4);
    const { legs, payments } = reportOf(ended);
    assert.deepEqual([legs[0]?.outcome, payments[0]?.outcome], ['NOT_TRADED', 'NOT_PAID']);
    assert.deepEqual(movedFor(stage, policy), { trades: [], withdrawals: [] });
    assertProblem(await run(policy, ...AGAIN), 4, 'PAYMENT_NEVER_SENT', /--go-on/);
  });

  test('report --refresh shows what the service has said since, and decides nothing', async () => {
    const policy = await putPaid('completed');
    const told = reportOf(await run(policy, '--json'));
    const [payment] = told.payments;
    const same = await command(stage, ['report', policy.runText, '--refresh']);
    assertExit(same, 0);
    assert.match(same.stdout, /The service says what the report says\.\n$/);

    stage.sandbox.setStatus({ id: payment?.withdrawalId ?? '', status: 'RETURNED', money: 'returned' });
    const refreshed = await command(stage, ['report', policy.runText, '--refresh', '--json']);
    assertExit(refreshed, 5);
    const now = reportOf(refreshed);
    assert.equal(now.status, 'PARTIAL');
    assert.equal(now.payments[0]?.outcome, 'NOT_PAID');
    assert.equal(now.payments[0]?.status, 'RETURNED');
    assert.match(
      now.payments[0]?.reason ?? '',
      /The service says "RETURNED" of withdrawal .* after "COMPLETED"/,
    );
    assert.deepEqual(now.totals, [
      { currency: 'MXN', planned: '18500', paid: '0', notPaid: '18500', needsHuman: '0' },
    ]);
    const shown = await command(stage, ['report', policy.runText, '--refresh']);
    assert.match(flat(shown.stdout), /Different from the report: supplier: The service says "RETURNED"/);
    // Nobody need ask for it: the report says so by itself, and the run needs a person until one acknowledges it.
    const byItself = await command(stage, ['report', policy.runText, '--json']);
    assertExit(byItself, 5);
    assert.deepEqual(lasting(reportOf(byItself)), lasting(now));
    const byLines = await command(stage, ['report', policy.runText, '--jsonl']);
    assertExit(byLines, 5);
    const [first, ...items] = byLines.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as LineOfReport);
    assert.deepEqual([first?.run?.status, first?.run?.totals], [now.status, now.totals]);
    assert.deepEqual(
      items.flatMap(({ payment: each, problem }) => each ?? problem ?? []),
      [...now.payments, ...now.problems],
    );
    const attention = (): Promise<Ended> => command(stage, ['list', '--attention']);
    assert.match(
      flat((await attention()).stdout),
      new RegExp(`${policy.runText}: WITHDRAWAL_FAILED: .* of supplier`),
    );
    assertExit(await command(stage, ['list', '--acknowledge', policy.runText, '--by', 'ana']), 0);
    assert.ok(!(await attention()).stdout.includes(policy.runText));

    const paid = await run(policy, ...AGAIN, '--json');
    assertExit(paid, 0);
    assert.deepEqual(movedFor(stage, policy).withdrawals, [policy.reference, `${policy.reference}~9`]);
  });
});

/** Id of the event with which the first workflow task of a run was completed. */
async function firstTaskOf(policy: PolicyOnStage, runId: string) {
  const { events } = await stage.temporal.client.workflow.getHandle(policy.workflowId, runId).fetchHistory();
  // 7: `WORKFLOW_TASK_COMPLETED` in the server's enumeration.
  return (events ?? []).find(({ eventType }) => Number(eventType) === 7)?.eventId;
}
