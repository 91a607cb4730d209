/** The command line itself: help, mistakes of the line, and what needs no server. */
import type { Problem } from '../../domain/problems.ts';
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { convertPolicy } from '../support/policies.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ROOT } from '../support/root.ts';
import { typeCommand } from '../support/typed-command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { COMMANDS, type CommandEntry } from '../../cli/commands.ts';
import { endedReport } from '../../operations/follow/ended-report.ts';
import { isEndedFromOutside, stateOf, type RunFacts } from '../../operations/follow/runs.ts';
import { stuckBy, type Outside } from '../../operations/follow/stuck.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { commandsOf, silentProgram } from '../support/program.ts';

const SAMPLES = join(ROOT, 'policies');

/** Runs a command as a process without a terminal would. */
const cambist = (argv: readonly string[], options: { env?: NodeJS.ProcessEnv; cwd?: string } = {}) =>
  typeCommand(argv, { cwd: tmpdir(), ...options });

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-cli-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('every command is in the help, with its options, examples and exit codes', async () => {
  const program = await silentProgram();
  const overview = await cambist(['--help']);
  assert.equal(overview.exitCode, 0);
  const known = commandsOf(program);
  assert.deepEqual(
    known.map(({ name }) => name),
    [
      'up',
      'check',
      'plan',
      'run',
      'status',
      'report',
      'list',
      'watch',
      'cancel',
      'approve',
      'resolve',
      'replay',
      'explain-reset',
      'doctor',
      'halt',
      'resume',
      'schedule next',
      'schedule apply',
      'schedule list',
      'schedule pause',
      'schedule resume',
      'schedule trigger',
      'schedule backfill',
      'balances',
      'accounts',
      'ledger',
      'audit verify',
      'keys new',
      'keys rotate',
      'keys list',
      'worker',
      'sandbox',
      'temporal',
      'codec',
      'completion',
    ],
  );
  for (const { name, command } of known) {
    const words = name.split(' ');
    const parent = words.length === 1 ? overview : await cambist([...words.slice(0, -1), '--help']);
    assert.match(
      parent.stdout,
      new RegExp(`^  ${command.name()} .*\\b${command.summary().split(' ')[0]}`, 'm'),
    );
    const { stdout, exitCode } = await cambist([...words, '--help']);
    assert.equal(exitCode, 0);
    for (const option of command.options)
      if (!option.hidden) assert.ok(stdout.includes(option.flags), `${name} ${option.flags}`);
    assert.match(stdout, /\nExamples:\n {2}\S/);
    assert.match(stdout, /\nExit codes:\n {4}0 {2}done/);
    assert.ok(stdout.includes('--json'));
    // An example is one command, which people paste.
    const wide = stdout
      .split('\n')
      .filter((line) => line.length > 80 && !/^ {2}(\S+=\S+ )*(… )?npx /.test(line));
    assert.deepEqual(wide, [], name);
  }
  assert.deepEqual(
    overview.stdout.split('\n').filter((line) => line.length > 80),
    [],
  );
});

test('the overview shows what is typed behind each command', async () => {
  const program = await silentProgram();
  const expected = commandsOf(program).map(({ name, command }) =>
    [
      name,
      ...command.registeredArguments.map((argument) => {
        const typed = `${argument.name()}${argument.variadic ? '...' : ''}`;
        return argument.required ? `<${typed}>` : `[${typed}]`;
      }),
    ].join(' '),
  );
  const termsOf = (entries: readonly CommandEntry[]): readonly string[] =>
    entries.flatMap(({ term, commands }) =>
      commands === undefined ? term : termsOf(commands).map((inner) => `${term} ${inner}`),
    );
  assert.deepEqual(termsOf(COMMANDS), expected);
});

test('the options are those of the design', async () => {
  const program = await silentProgram();
  const optionsOf = (name: string): string[] =>
    program.commands
      .find((command) => command.name() === name)
      ?.options.map((option) => option.long ?? '')
      .toSorted() ?? [];
  assert.deepEqual(optionsOf('run'), [
    '--again',
    '--batch',
    '--by',
    '--detach',
    '--expect-count',
    '--expect-total',
    '--go-on',
    '--id',
    '--instead-of',
    '--json',
    '--out',
    '--pay-again',
    '--reason',
    '--sign',
    '--wait',
    '--yes',
  ]);
  assert.deepEqual(optionsOf('approve'), [
    '--by',
    '--json',
    '--key',
    '--out',
    '--plan',
    '--reason',
    '--starter',
  ]);
  assert.deepEqual(optionsOf('report'), ['--batch', '--json', '--jsonl', '--out', '--refresh']);
  assert.deepEqual(optionsOf('resolve'), [
    '--accept',
    '--by',
    '--evidence',
    '--executed',
    '--json',
    '--not-executed',
    '--not-this',
    '--sign',
  ]);
  assert.deepEqual(optionsOf('list'), ['--acknowledge', '--attention', '--by', '--json', '--reason']);
  assert.deepEqual(optionsOf('cancel'), ['--by', '--json', '--reason']);
  const ofHalts = ['--by', '--currency', '--json', '--mode', '--policy', '--reason'];
  assert.deepEqual(optionsOf('halt'), [...ofHalts, '--drill'].toSorted());
  assert.deepEqual(optionsOf('resume'), ['--approve', ...ofHalts, '--sign', '--yes']);
  assert.deepEqual(optionsOf('explain-reset'), ['--event', '--json']);
  assert.deepEqual(optionsOf('replay'), [
    '--attention',
    '--by',
    '--event',
    '--json',
    '--reason',
    '--wait',
    '--yes',
  ]);
});

for (const argv of [
  ['nonsense'],
  ['run'],
  ['run', 'a.yaml', '--nonsense'],
  ['cancel'],
  ['schedule', 'nxet'],
  ['schedule', 'next'],
  ['schedule', 'next', 'a.yaml', '--count', '0'],
  ['sandbox', '--port', 'x'],
]) {
  test(`"cambist ${argv.join(' ')}" is a mistake of the line, as text and as JSON`, async () => {
    const plain = await cambist(argv);
    assert.equal(plain.exitCode, EXIT_CODES['bad input']);
    assert.match(plain.stderr, /^BAD_COMMAND_LINE( \S+)?: /);
    assert.equal(plain.stdout, '');
    const json = await cambist([...argv, '--json']);
    const document: { problems: { code: string }[]; exitCode: number } = JSON.parse(json.stdout);
    assert.equal(document.exitCode, 2);
    assert.equal(document.problems[0]?.code, 'BAD_COMMAND_LINE');
    assert.equal(json.stderr, '');
  });
}

for (const command of ['check', 'plan', 'run']) {
  test(`${command} takes no batch with a policy of another kind`, async () => {
    const policy = join(SAMPLES, 'mxn-supplier.yaml');
    const { exitCode, stderr } = await cambist([command, policy, '--batch', 'b.csv']);
    assert.equal(exitCode, 2);
    assert.match(stderr, /^BATCH_OF_OTHER_KIND --batch: only a policy of kind payout takes a batch/);
  });
}

test('run takes no payout without an id', async () => {
  const { exitCode, stderr } = await cambist(['run', join(SAMPLES, 'contractors.yaml'), '--batch', 'b.csv']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /^RUN_ID --id: a batch needs an --id, so /);
});

test('run expects nothing of a batch that is not named', async () => {
  const { exitCode, stderr } = await cambist([
    'run',
    join(SAMPLES, 'contractors.yaml'),
    '--expect-count',
    '5',
  ]);
  assert.equal(exitCode, 2);
  assert.match(
    stderr,
    /^BAD_COMMAND_LINE --expect-count: it says what a batch should have, and no\s+batch is named/,
  );
});

test('check says ok for each sample', async () => {
  const files = [
    'eur-invoice',
    'gbp-reference-guard',
    'live-shaped',
    'mxn-invoices-and-rest',
    'mxn-supplier',
    'usd-to-usdc-treasury',
  ];
  const paths = files.map((name) => join(SAMPLES, `${name}.yaml`));
  const { exitCode, stdout } = await cambist(['check', ...paths]);
  assert.equal(exitCode, 0, stdout);
  assert.equal(stdout.match(/: ok \(convert, (sandbox|live)\)$/gm)?.length, files.length);
});

test('check shows every mistake with its place, and has all of them in its document', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'bad.yaml'), 'policy: 1\nkind: convert\nname: Bad Name\nenviroment: sandbox\n');
  const plain = await cambist(['check', 'bad.yaml'], { cwd });
  assert.equal(plain.exitCode, 2);
  assert.match(plain.stdout, /POLICY_NAME bad\.yaml:3:7: /);
  assert.match(plain.stdout, /\n {4}name: Bad Name\n {10}\^{8}\n {2}fix: /);
  assert.match(plain.stdout, /\nbad\.yaml: \d+ mistakes\n$/);
  const json = await cambist(['check', 'bad.yaml', '--json'], { cwd });
  const document: { problems: { code: string; place: string }[]; exitCode: number } = JSON.parse(json.stdout);
  assert.equal(document.exitCode, 2);
  assert.ok(document.problems.some(({ code, place }) => code === 'POLICY_NAME' && place === 'bad.yaml:3:7'));
  assert.ok(document.problems.length > 2);
});

test('check takes a folder of policies of workers, and tells what in it binds nobody', async (t) => {
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, 'all/revoked'), { recursive: true });
  writeFileSync(join(cwd, 'all/p.yaml'), convertPolicy());
  writeFileSync(join(cwd, 'all/approvals.yaml'), 'approvals: 1\nrules: []\n');
  const half = await cambist(['check', 'all'], { cwd });
  assert.equal(half.exitCode, 2);
  assert.match(
    half.stdout.replaceAll(/\s+/g, ' '),
    /POLICIES_DAMAGED .*"ceilings\.yaml" is not there: write it/,
  );
  writeFileSync(join(cwd, 'all/ceilings.yaml'), 'ceilings: 1\nunbounded: true\n');
  const good = await cambist(['check', 'all'], { cwd });
  assert.deepEqual([good.exitCode, good.stdout], [0, 'all: ok (1 policy)\n']);
  writeFileSync(join(cwd, 'all/approval.yaml'), 'approvals: 1\n');
  const bad = await cambist(['check', 'all'], { cwd });
  assert.equal(bad.exitCode, 2);
  assert.match(
    bad.stdout,
    /POLICIES_DAMAGED .*"approval\.yaml" is no policy and\s+no file that one\s+names/s,
  );
});

test('a policy whose reference file is missing is bad input, before anything is connected', async (t) => {
  const cwd = temporaryFolder(t);
  const sample = 'policy: 1\nkind: convert\nname: p\nenvironment: sandbox\n';
  const rest =
    'convert: { sell: EUR, buy: GBP, amount: { sell: "1.00" } }\nguard: { reference: { file: rates.yaml, max_age: 1h }, worst_cost: 25bps }\n';
  writeFileSync(join(cwd, 'p.yaml'), sample + rest);
  for (const command of ['check', 'plan', 'run']) {
    const { exitCode, stdout } = await cambist([command, 'p.yaml', '--json'], { cwd });
    assert.equal(exitCode, 2);
    assert.match(stdout, /"code": "FILE_NOT_FOUND"/);
  }
});

test('without any configuration the first line says what to type, and a run names everything that is missing, once', async () => {
  const { exitCode, stderr } = await cambist(['run', join(SAMPLES, 'mxn-supplier.yaml')]);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^NOT_SET_UP: type `npx cambist up` in this folder/);
  for (const code of ['MODE_MISSING', 'ADDRESS_MISSING', 'KEY_FILE_NOT_FOUND'])
    assert.equal(stderr.split(code).length, 2, code);
});

for (const argv of [['list'], ['status'], ['report', 'p.2026-11-21'], ['cancel', 'p.2026-11-21']]) {
  test(`without any configuration the first line of "${argv.join(' ')}" says what to type`, async () => {
    const { exitCode, stderr } = await cambist(argv);
    assert.equal(exitCode, 3);
    assert.match(stderr, /^NOT_SET_UP: type `npx cambist up` in this folder/);
  });
}

test('a configuration of which something is missing names that, and no `cambist up`', async () => {
  const env = { CAMBIST_APP_MODE: 'SANDBOX', CAMBIST_BASE_URL: 'http://127.0.0.1:1/v3' };
  const { exitCode, stderr } = await cambist(['run', join(SAMPLES, 'mxn-supplier.yaml')], { env });
  assert.equal(exitCode, 3);
  assert.match(stderr, /^KEY_FILE_NOT_FOUND/);
});

const FACTS: RunFacts = {
  run: { policy: 'mxn-supplier', id: '2026-11-21' },
  workflowId: 'sandbox/mxn-supplier.2026-11-21',
  temporalRunId: 'r',
  taskQueue: 'cambist',
  temporalStatus: 'FAILED',
  isOpen: false,
  startedAtMs: 0,
  closedAtMs: 1,
  state: 'FAILED',
  isUntaken: false,
  hasOddMemo: false,
  missingKey: null,
};

test('the state of a run is what was last told, unless Temporal ended it', () => {
  assert.equal(stateOf('RUNNING', null), 'RUNNING');
  assert.equal(stateOf('PAUSED', null), 'RUNNING');
  assert.equal(stateOf('RUNNING', 'HELD'), 'HELD');
  assert.equal(stateOf('FAILED', 'PARTIAL'), 'PARTIAL');
  assert.equal(stateOf('FAILED', 'HELD'), 'FAILED');
  assert.equal(stateOf('FAILED', null), 'FAILED');
  assert.equal(stateOf('TERMINATED', 'COMPLETED'), 'TERMINATED');
  assert.equal(stateOf('COMPLETED', 'COMPLETED'), 'COMPLETED');
});

const QUIET: Outside = {
  historyLength: 20,
  taskFailure: null,
  pendingWorkflowTask: null,
  pendingActivities: [],
};
const untaken = { attempt: 1, isStarted: false, waitsMs: 31_000 };
const call = { name: 'awaitSettlement', attempt: 40, lastFailure: 'NOT_YET' };
const STUCK: readonly (readonly [name: string, more: Partial<Outside>, why: RegExp | null])[] = [
  ['waits for a timer', {}, null],
  ['polls for days, which fails nothing', { pendingActivities: [call] }, null],
  ['had a call that failed twice', { pendingActivities: [{ ...call, attempt: 3, lastFailure: 'E' }] }, null],
  [
    'has a call that fails again and again',
    { pendingActivities: [call, { ...call, attempt: 4, lastFailure: 'TypeError' }] },
    /call awaitSettlement has failed 3 times \(TypeError\)/,
  ],
  ['was started just now', { historyLength: 2, pendingWorkflowTask: { ...untaken, waitsMs: 5_000 } }, null],
  ['was taken by no worker', { historyLength: 2, pendingWorkflowTask: untaken }, /No worker has taken it/],
  ['goes on as soon as a busy worker has time', { pendingWorkflowTask: untaken }, null],
  [
    'was paused before a worker had taken it, and is not given out after that',
    { historyLength: 4, pendingWorkflowTask: { ...untaken, waitsMs: 61_000 } },
    /No worker has taken it/,
  ],
  [
    'has a workflow task that fails',
    { pendingWorkflowTask: { attempt: 5, isStarted: true, waitsMs: 9_000 } },
    /workflow task has failed 4 times/,
  ],
  [
    'has a worker without its key',
    {
      taskFailure: 'SEAL_KEY_MISSING',
      pendingWorkflowTask: { attempt: 2, isStarted: false, waitsMs: 9_000 },
    },
    /sealed by a key that its worker does not have/,
  ],
  [
    'has a call whose worker is without its key',
    { pendingActivities: [{ ...call, attempt: 2, lastFailure: 'SEAL_KEY_MISSING' }] },
    /sealed by a key that its worker does not have/,
  ],
];
for (const [name, more, why] of STUCK) {
  test(`a run that ${name} ${why === null ? 'needs nobody' : 'is stuck, and list --attention says why'}`, () => {
    const said = stuckBy({ ...QUIET, ...more }, 'run');
    if (why === null) assert.equal(said, null);
    else assert.match(said?.message ?? '', why);
  });
}

test('a run that was refused a plan is reported as failed, with the reasons', () => {
  const problem: Problem = { code: 'PLAN_ACCOUNT_MISSING', item: 'supplier', message: 'm', fix: 'f' };
  const told = makeReportOf({ status: 'RUNNING', items: false });
  assert.deepEqual(endedReport(told, FACTS, [problem]), { ...told, status: 'FAILED', problems: [problem] });
});

test('a run that was terminated is reported with what is open, and how to go on', () => {
  const facts: RunFacts = { ...FACTS, temporalStatus: 'TERMINATED', state: 'TERMINATED' };
  assert.ok(isEndedFromOutside(facts));
  const told = makeReportOf({ status: 'HELD', payment: 'PENDING' });
  const report = endedReport(told, facts, []);
  assert.equal(report.status, 'TERMINATED');
  assert.deepEqual(
    report.problems.map(({ code }) => code),
    ['ENDED_FROM_OUTSIDE'],
  );
  assert.deepEqual(report.payments, told.payments);
});

test('a report that tells its own end is left as it is', () => {
  const told = makeReportOf({ status: 'PARTIAL', payment: 'NOT_PAID' });
  assert.equal(endedReport(told, FACTS, []), told);
});
