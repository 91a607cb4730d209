/**
 * Live money, end to end: a worker in LIVE behind a secured Temporal, the sandbox with live books, and the commands as a
 * person at a terminal types and answers them. The ledger is the judge.
 */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { DateTime } from 'luxon';
import { todayIn } from '../../calendar/business-date.ts';
import { runName, workflowIdOf, type RunName } from '../../domain/references.ts';
import { chunkIdOf, scheduleIdOf } from '../../workflows/names.ts';
import {
  assertExit,
  command,
  documentOf,
  flat,
  movedFor,
  putPolicy,
  reportOf,
  type Edit,
  type Ended,
  type PolicyOnStage,
} from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { openStage, type Stage } from '../support/stage.ts';

/** What live asks for beside what the sample has. */
const LIVE: readonly Edit[] = [
  ['environment: sandbox', 'environment: live'],
  [
    /^withdraw:/m,
    'limits: { per_run: "1500.00 USD", per_payment: ["30000.00 MXN"], paid_per_run: ["30000.00 MXN"] }\n\nwithdraw:',
  ],
];
const NOTHING = { trades: [], withdrawals: [] };

let stage: Stage;

type Answered = Ended & { readonly asked: readonly string[] };
type Answer = (() => string | Promise<string>) | null;

/** A schedule beside it, at a time that does not come while the tests run. */
const FAR_OFF = DateTime.now().setZone('America/Mexico_City').plus({ hours: 6 }).toFormat('HH:00');
const SCHEDULED: readonly Edit[] = [
  ...LIVE,
  [/^convert:/m, `schedule: { at: "${FAR_OFF}", days: weekdays }\n\nconvert:`],
];

/** Types `run`; the person answers each question by `answer`. */
function typed(policy: PolicyOnStage, argv: readonly string[], answer: Answer): Promise<Answered> {
  return typedWords(['run', policy.file, ...argv], answer);
}

async function typedWords(words: readonly string[], answer: Answer): Promise<Answered> {
  const asked: string[] = [];
  const person = answer && {
    ask: async (question: string) => {
      asked.push(question);
      return answer();
    },
  };
  const ended = await command(stage, words, person ?? {});
  return { ...ended, asked };
}

function movedOnce(policy: PolicyOnStage): void {
  assert.deepEqual(movedFor(stage, policy), {
    trades: [`${policy.runText}.usd-mxn-1`],
    withdrawals: [`${policy.runText}.supplier`],
  });
}

const codesOf = (ended: Ended): readonly string[] =>
  (documentOf(ended) as { readonly problems: readonly { readonly code: string }[] }).problems.map(
    ({ code }) => code,
  );

describe('live money moves when a person has said yes to it', { concurrency: 4 }, () => {
  before(async () => {
    stage = await openStage({ mode: 'LIVE', settings: { executedDecimals: 'currency' } });
    // So much that no run takes what another one has bought.
    stage.sandbox.deposit({ currency: 'MXN', amount: '10000000.00' });
    await stage.startWorker();
  });
  after(() => stage.close());

  const isStarted = async ({ workflowId }: Pick<PolicyOnStage, 'workflowId'>): Promise<boolean> => {
    try {
      await stage.temporal.client.workflow.getHandle(workflowId).describe();
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  };

  test('a run takes the place of another one once a person has said yes to what it moves, and not before', async () => {
    const policy = await putPolicy(stage, ...LIVE, [/16\.90 MXN/, '99.00 MXN']);
    assertExit(await typed(policy, ['--yes'], null), 4);
    const text = await readFile(join(stage.folder, policy.file), 'utf8');
    // Not beside the other one: two policies of one name in the folder of a worker allow nothing.
    const file = join('mended', policy.file);
    await mkdir(join(stage.folder, 'mended'));
    await writeFile(join(stage.folder, file), text.replace('99.00 MXN', '16.00 MXN'));
    const id = `${policy.run.id}-b`;
    const argv = ['--id', id, '--instead-of', policy.run.id, '--detach'];
    const instead = (answer: string) => typed({ ...policy, file }, argv, () => answer);
    const replayed = (): Promise<Ended> =>
      stage.during(policy.workflowId, () => command(stage, ['replay', policy.runText, '--yes']));
    const no = await instead('no');
    assertExit(no, 4);
    assert.match(
      flat(no.stderr),
      /Nothing of \S+ was executed.*usd-mxn-1: sell 1,000\.00 USD.*NOT_CONFIRMED/,
    );
    assert.match((await replayed()).stdout, /OUTSIDE_GUARD/);
    assertExit(await instead('yes'), 8);
    assert.match((await replayed()).stderr, /SUPERSEDED/);
    assert.deepEqual(movedFor(stage, policy), NOTHING);
    const { client } = stage.temporal;
    await client.workflow
      .getHandle(workflowIdOf('LIVE', { ...policy.run, id }))
      .terminate('the test is over');
  });

  test('the plan is shown with its totals, one yes starts it, and it is carried out once', async () => {
    const policy = await putPolicy(stage, ...LIVE);
    const ended = await typed(policy, [], () => {
      assert.deepEqual(movedFor(stage, policy), NOTHING);
      return ' Yes \n';
    });
    assertExit(ended, 0);
    assert.deepEqual(ended.asked, ['Go ahead with live money? Type yes: ']);
    assert.match(
      flat(ended.stderr),
      new RegExp(
        `${policy.runText}, LIVE: ` +
          'usd-mxn-1: sell 1,000\\.00 USD for MXN, not worse than 16\\.90 MXN per USD ' +
          'supplier: pay what usd-mxn-1 brings, in MXN, to wac_7Hk2mQ9vT4xR ' +
          'In total: sell 1,000.00 USD; 1 of proceeds\\.',
      ),
    );
    movedOnce(policy);
    const again = await typed(policy, ['--json'], () => assert.fail('It is done: there is nothing to ask.'));
    assertExit(again, 0);
    // Who started it is kept, by the login where --by does not say so.
    assert.equal(reportOf(again).startedBy, `${userInfo().username} (login of this machine)`);
    movedOnce(policy);
  });

  for (const answer of ['no', '', 'y', 'yes please'])
    test(`"${answer}" is no yes: nothing is started`, async () => {
      const policy = await putPolicy(stage, ...LIVE);
      const ended = await typed(policy, ['--json'], () => answer);
      assertExit(ended, 4);
      assert.deepEqual(codesOf(ended), ['NOT_CONFIRMED']);
      assert.equal(ended.asked.length, 1);
      assert.equal(await isStarted(policy), false);
    });

  test('where nobody can be asked nothing is started without --yes; with it nobody is asked', async () => {
    const policy = await putPolicy(stage, ...LIVE);
    const refused = await typed(policy, ['--json'], null);
    assertExit(refused, 4);
    assert.deepEqual(codesOf(refused), ['NOT_CONFIRMED']);
    assert.equal(await isStarted(policy), false);
    assertExit(await typed(policy, ['--yes'], () => assert.fail('It was answered by --yes.')), 0);
    movedOnce(policy);
  });

  test('--yes does not answer for a second run of the date; --again does, and is asked like a first one', async () => {
    const policy = await putPolicy(stage, ...LIVE);
    assertExit(await typed(policy, ['--yes'], null), 0);
    const id = `${policy.run.id}-second`;
    const second = { ...policy, runText: `${policy.name}.${id}`, workflowId: `${policy.workflowId}-second` };
    const refused = await typed(policy, ['--id', id, '--yes', '--json'], () => 'yes');
    assertExit(refused, 4);
    assert.deepEqual(codesOf(refused), ['DATE_TRADED', 'DONE_ALREADY', 'DONE_ALREADY']);
    assert.deepEqual(refused.asked, []);
    const unsure = await typed(policy, ['--id', id, '--again'], () => 'no');
    assertExit(unsure, 4);
    assert.equal(unsure.asked.length, 1);
    assert.equal(await isStarted(second), false);
    assert.deepEqual(movedFor(stage, second), NOTHING);
    assertExit(await typed(policy, ['--id', id, '--again', '--yes'], null), 0);
    movedOnce(second);
    movedOnce(policy);
  });

  test('a payment that another run has made under another name starts by the name of its list alone', async () => {
    const fixed: readonly Edit[] = [
      [/amount: proceeds.*\n/, 'amount: { fixed: "123.45" }\n'],
      [/ *rounding: down.*\n/, ''],
    ];
    const first = await putPolicy(stage, ...LIVE, ...fixed);
    assertExit(await typed(first, ['--yes'], null), 0);
    const second = await putPolicy(stage, ...LIVE, ...fixed, ['id: supplier', 'id: Supplier-0']);
    const refused = await typed(second, ['--yes', '--json'], null);
    assertExit(refused, 4);
    assert.deepEqual(codesOf(refused), ['MADE_BEFORE', 'PAID_ALREADY']);
    assert.equal(await isStarted(second), false);
    const [name = ''] = /made-before-[\w-]{12}/.exec(refused.stdout) ?? [];
    assertExit(await typed(second, ['--yes', '--again', name], null), 0);
    assert.deepEqual(movedFor(stage, second).withdrawals, [`${second.runText}.Supplier-0`]);
  });

  test('a yes to pay one payment again speaks for nothing that another person has let go on meanwhile: it is refused, and what is typed again is shown and asked again', async () => {
    const accounts = ['wac_TestAaa1', 'wac_TestBbb1'] as const;
    const setOutcome = (outcome: 'completed' | 'failed'): void => {
      const all = accounts.map(
        (id, index) => ({ id, outcome: index === 0 ? outcome : 'completed' }) as const,
      );
      stage.sandbox.putAccounts(
        all.map((one) => ({ ...one, currency: 'MXN', assetType: 'FIAT', status: 'LIVE' })),
      );
    };
    setOutcome('failed');
    const payments = ['aaa', 'bbb'].map(
      (id, index) => `  - { id: ${id}, account: ${accounts[index]}, amount: { fixed: "1${index}1.00" } }\n`,
    );
    const policy = await putPolicy(stage, ...LIVE, [/^ {2}- id: supplier[\s\S]*$/m, payments.join('')]);
    const refusal = stage.sandbox.addFault({
      operation: 'createWithdrawal',
      when: { reference: `${policy.runText}.bbb` },
      effect: { kind: 'error', code: 'WITHDRAWAL_ACCOUNT_NOT_LIVE' },
    });
    const failed = await typed(policy, ['--yes', '--json'], null);
    assertExit(failed, 5);
    assert.deepEqual(
      reportOf(failed).payments.map(({ id, outcome }) => [id, outcome]),
      [
        ['aaa', 'NOT_PAID'],
        ['bbb', 'NOT_PAID'],
      ],
    );
    const withdrawals = (): readonly string[] => movedFor(stage, policy).withdrawals.toSorted();
    const [aaa = '', ...none] = withdrawals();
    assert.deepEqual([aaa, none], [`${policy.runText}.aaa`, []]);

    setOutcome('completed');
    const again = ['--pay-again', 'aaa', '--reason', 'the account is open again', '--by', 'ana'];
    const ben = async (): Promise<string> => {
      stage.sandbox.clearFaults(refusal);
      assertExit(await typed(policy, ['--go-on', 'bbb', '--by', 'ben', '--yes', '--detach'], null), 8);
      return 'yes';
    };
    const late = await typed(policy, again, ben);
    assertExit(late, 4);
    assert.equal(late.asked.length, 1);
    const shown = /LIVE: pay AGAIN 101\.00 MXN to wac_TestAaa1, as \S+\.aaa~9/;
    assert.match(flat(late.stderr), shown);
    assert.match(flat(late.stderr), /goes on with: bbb\..* SAID_SINCE .* "ben": try it now/);

    // Ben's word stands, and only that has gone on.
    const gone = await typed(policy, ['--wait', '--json'], () => assert.fail('It is under way.'));
    assertExit(gone, 5);
    const [, bbb = '', ...more] = withdrawals();
    assert.deepEqual([bbb.replace(/~.*/, ''), more], [`${policy.runText}.bbb`, []]);

    const asked = await typed(policy, [...again, '--wait'], () => 'yes');
    assertExit(asked, 0);
    assert.equal(asked.asked.length, 1);
    assert.match(flat(asked.stderr), shown);
    assert.doesNotMatch(flat(asked.stderr), /goes on with/);
    assert.deepEqual(withdrawals(), [aaa, `${aaa}~9`, bbb]);
  });

  test('a batch says what it pays and cannot pay before it asks; a no submits nothing, a yes pays the rest once', async () => {
    const name = uniqueName('live');
    const policy = [
      `policy: 1\nkind: payout\nname: ${name}\nenvironment: live\nzone: UTC`,
      `payout: { fund: { mode: none }, stop_after: { failed: 5 }, destinations: ${name}-accounts.yaml }\nshortfall: hold`,
      'limits: { per_payment: ["500.00 MXN"], paid_per_run: ["900.00 MXN"] }\n',
    ];
    const rows = [
      'id,account,currency,amount',
      'first,wac_7Hk2mQ9vT4xR,MXN,101.10',
      'unverified,wac_Unver1fied22,MXN,202.20',
      'second,wac_7Hk2mQ9vT4xR,MXN,303.30',
    ];
    await writeFile(join(stage.folder, `${name}.yaml`), policy.join('\n'));
    const accounts = ['wac_7Hk2mQ9vT4xR', 'wac_Unver1fied22'].map(
      (id) => `${id}: { currency: MXN, label: ${id} }`,
    );
    await writeFile(join(stage.folder, `${name}-accounts.yaml`), `accounts: { ${accounts.join(', ')} }\n`);
    await writeFile(join(stage.folder, `${name}.csv`), `${rows.join('\n')}\n`);
    const run: RunName = { policy: name, id: `${todayIn('UTC', Date.now())}-weekly` };
    const words = ['run', `${name}.yaml`, '--batch', `${name}.csv`, '--id', run.id];
    const no = await typedWords([...words, '--json'], () => 'no');
    assertExit(no, 4);
    assert.deepEqual(codesOf(no), ['NOT_CONFIRMED']);
    for (const workflowId of [workflowIdOf('LIVE', run), chunkIdOf('LIVE', run, 1)])
      assert.equal(await isStarted({ workflowId }), false);
    const yes = await typedWords(words, () => 'yes');
    // One of its payments is not paid.
    assertExit(yes, 5);
    assert.deepEqual(yes.asked, ['Go ahead with live money? Type yes: ']);
    assert.match(flat(yes.stderr), /unverified.*, LIVE: .*404\.40 MXN/);
    assert.deepEqual(movedFor(stage, { runText: runName(run) }).withdrawals.toSorted(), [
      `${runName(run)}.first`,
      `${runName(run)}.second`,
    ]);
  });

  test('a plan that has changed while the question stood open is not carried out', async () => {
    const policy = await putPolicy(
      stage,
      ...LIVE,
      ['sell: USD', 'sell: EUR'],
      ['sell: "1000.00"', 'sell: all, keep: "1.00"'],
      [/worst_rate: ".*"/, 'worst_rate: "18.00 MXN per EUR"'],
      ['per_run: "1500.00 USD"', 'per_run: "9000000.00 EUR"'],
      [
        '["30000.00 MXN"], paid_per_run: ["30000.00 MXN"]',
        '["900000000.00 MXN"], paid_per_run: ["900000000.00 MXN"]',
      ],
    );
    const ended = await typed(policy, ['--json'], () => {
      stage.sandbox.deposit({ currency: 'EUR', amount: '5000.00' });
      return 'yes';
    });
    assertExit(ended, 4);
    assert.deepEqual(
      reportOf(ended).problems.map(({ code }) => code),
      ['PLAN_NOT_AS_SHOWN'],
    );
    assert.deepEqual(movedFor(stage, policy), NOTHING);
  });

  const isScheduled = async ({ name }: PolicyOnStage): Promise<boolean> => {
    try {
      await stage.temporal.client.schedule.getHandle(scheduleIdOf('LIVE', name)).describe();
      return true;
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return false;
      throw error;
    }
  };

  test('what a schedule would do unattended is shown, and one yes applies it', async () => {
    const policy = await putPolicy(stage, ...SCHEDULED);
    const words = ['schedule', 'apply', policy.file];
    const ended = await typedWords(words, () => 'yes');
    assertExit(ended, 0);
    assert.deepEqual(ended.asked, ['Let them move live money by themselves? Type yes: ']);
    assert.match(
      flat(ended.stderr),
      new RegExp(
        `schedule apply, LIVE: ${policy.name}: unattended at ${FAR_OFF} America/Mexico_City on weekdays; ` +
          'at most 1,500\\.00 USD per run, 30,000\\.00 MXN per payment, 30,000\\.00 MXN paid per run',
      ),
    );
    assert.equal(await isScheduled(policy), true);
    // Typed again it changes nothing, and so asks nothing.
    assertExit(await typedWords(words, () => assert.fail('There is nothing to ask.')), 0);
    assert.deepEqual(movedFor(stage, policy), NOTHING);
  });

  test('without a yes no schedule is made or changed; where nobody can be asked it takes --yes', async () => {
    const policy = await putPolicy(stage, ...SCHEDULED);
    const words = ['schedule', 'apply', policy.file];
    for (const answer of [() => 'no', () => '', null]) {
      // One after the other, as a person types.
      const refused = await typedWords([...words, '--json'], answer);
      assertExit(refused, 4);
      assert.deepEqual(codesOf(refused), ['NOT_CONFIRMED']);
    }
    const dry = await typedWords([...words, '--dry-run'], () => assert.fail('A dry run arms nothing.'));
    assertExit(dry, 0);
    assert.equal(await isScheduled(policy), false);
    assertExit(await typedWords([...words, '--yes'], null), 0);
    assert.equal(await isScheduled(policy), true);
  });

  test('no run of a schedule is started, and no paused one let go again, without a yes', async () => {
    const policy = await putPolicy(stage, ...SCHEDULED);
    assertExit(await typedWords(['schedule', 'apply', policy.file, '--yes'], null), 0);
    assertExit(await typedWords(['schedule', 'pause', policy.name], null), 0);
    const date = todayIn('America/Mexico_City', Date.now());
    for (const words of [
      ['schedule', 'trigger', policy.name],
      ['schedule', 'backfill', policy.name, '--from', date, '--to', date],
      ['schedule', 'resume', policy.name],
    ])
      for (const answer of [() => 'no', null]) {
        // One after the other, as a person types.
        const refused = await typedWords([...words, '--json'], answer);
        assertExit(refused, 4);
        assert.deepEqual(codesOf(refused), ['NOT_CONFIRMED']);
      }
    assert.deepEqual(movedFor(stage, policy), NOTHING);
    assertExit(await typedWords(['schedule', 'resume', policy.name], () => 'yes'), 0);
  });

  test('a trade that came out worse than its guard holds its payment until a person accepts that very trade', async () => {
    // The service rounds what it executes down to cents: 18.68 for 1.01 is less than 18.50 for one.
    const policy = await putPolicy(stage, ...LIVE, ['sell: "1000.00"', 'sell: "1.01"'], ['16.90', '18.50']);
    const held = await typed(policy, ['--yes', '--json'], null);
    assertExit(held, 6);
    const report = reportOf(held);
    assert.deepEqual([report.status, report.payments[0]?.outcome], ['HELD', 'NEEDS_HUMAN']);
    assert.ok(report.problems.every(({ code }) => code === 'EXECUTED_OUTSIDE_GUARD'));
    const tradeId = report.legs[0]?.tradeId ?? '';
    const accept = (id: string): Promise<Ended> =>
      command(stage, [
        ...['resolve', policy.runText, 'usd-mxn-1', '--accept', id, '--by', 'ana'],
        ...['--evidence', 'rounded to cents, says the operator', '--json'],
      ]);
    const other = await accept('tde_BhQh2Nqoq3ZLr1vFGEXEey');
    assertExit(other, 4);
    assert.deepEqual(movedFor(stage, policy).withdrawals, []);
    const accepted = await accept(tradeId);
    assertExit(accepted, 0);
    const { decision, recordId, by } = documentOf(accepted) as Readonly<Record<string, unknown>>;
    assert.deepEqual([decision, recordId, by], ['accept', tradeId, 'ana']);
    const paid = await typed(policy, ['--wait', '--json'], null);
    assertExit(paid, 0);
    assert.deepEqual(
      reportOf(paid).payments.map(({ outcome, amount }) => [outcome, amount]),
      [['PAID', '18.68']],
    );
    movedOnce(policy);
  });
});
