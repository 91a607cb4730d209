/**
 * What the service, a policy or a person says is printed as data: it cannot steer a terminal, reorder a line or forge
 * one of ours, in texts and in JSON (M6).
 */
import type { Problem } from '../../domain/problems.ts';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import type { Waiting } from '../../domain/waits.ts';
import { difference } from '../../cli/views/difference.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Io } from '../../cli/terminal/io.ts';
import { listText } from '../../cli/commands/list.ts';
import { main } from '../../cli/main.ts';
import { Output } from '../../cli/terminal/output.ts';
import { drawProgress, stepLines } from '../../cli/views/progress-text.ts';
import { reportText, statusSentence } from '../../cli/views/report-text.ts';
import type { RunFacts } from '../../operations/follow/runs.ts';
import type { Report } from '../../domain/run/report.ts';
import type { Progress } from '../../domain/run/progress.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { urlOf } from '../support/root.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
/** A terminal's escape, the same as one C1 character, a colour, a forged line, and text that runs backwards. */
const HOSTILE = 'X\u001b[2J\u009b2J\u001b[32m\r\n12:00:00 payment supplier: PAID\u2028\u202eDIAP\u0000';
// oxlint-disable-next-line no-control-regex -- these are what must not come out
const OBEYED =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** No character that a terminal obeys, and no line that only looks like ours. */
function assertHarmless(text: string): void {
  assert.doesNotMatch(text, OBEYED);
  assert.doesNotMatch(text, /^12:00:00/m, text);
}

/** The value with something hostile at the end of every text but those of a closed list. */
function poisoned<T>(value: T): T {
  return poison(value, '') as T;
}
const CLOSED: readonly string[] = [
  'outcome',
  'kind',
  'hold',
  'at',
  'amount',
  'planned',
  'paid',
  'notPaid',
  'needsHuman',
];
function poison(value: unknown, name: string): unknown {
  if (typeof value === 'string') return CLOSED.includes(name) ? value : `${value}${HOSTILE}`;
  if (Array.isArray(value)) return value.map((each) => poison(each, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, poison(each, key)]));
}

const STATUSES = ['COMPLETED', 'PARTIAL', 'FAILED', 'CANCELLED', 'HELD', 'RUNNING'] as const;
const problem: Problem = { code: 'RECORD_DIFFERS', item: 'supplier', message: 'm', fix: 'f' };
const evidence = {
  at: '2026-11-21T12:00:00Z',
  item: 'supplier',
  result: 'r',
  traceId: null,
  replayed: null,
  quote: null,
};
const reports: readonly Report[] = STATUSES.flatMap((status) =>
  (['PAID', 'NOT_PAID', 'NEEDS_HUMAN', 'PENDING'] as const).map((payment) => ({
    ...poisoned({
      ...makeReportOf({ status, payment, problems: [problem] }),
      evidence: [{ ...evidence, call: 'instruction' }],
    }),
    status,
  })),
);
const waiting: Waiting = { reason: 'person', problem, wakeAtMs: NOW_MS + 60_000 };
const progressOf = (status: Report['status']): Progress => ({
  ...poisoned<Progress>({
    status,
    items: [
      { id: 'plan', kind: 'plan', step: 'made', waiting: null },
      { id: 'supplier', kind: 'payment', step: 'to be sent', waiting },
    ],
    batch: null,
  }),
  status,
});
const FACTS: RunFacts = {
  run: { policy: 'mxn-supplier', id: '2026-11-21' },
  workflowId: `sandbox/mxn-supplier.2026-11-21${HOSTILE}`,
  temporalRunId: 'r',
  taskQueue: 'cambist',
  temporalStatus: 'RUNNING',
  isOpen: true,
  startedAtMs: 0,
  closedAtMs: null,
  state: `HELD${HOSTILE}`,
  isUntaken: false,
  hasOddMemo: false,
  missingKey: null,
};

/** What an output writes to both streams. */
function written(use: (output: Output) => void, isJson = false): string {
  let text = '';
  const sink = { write: (more: string) => (text += more) };
  const io: Io = {
    stdout: sink,
    stderr: sink,
    env: {},
    cwd: tmpdir(),
    now: () => NOW_MS,
    ask: null,
    onInterrupt: () => () => {},
  };
  use(new Output(io, isJson));
  return text;
}

test('no view of a run hands on what a terminal obeys, nor a line that only looks like ours', () => {
  for (const report of reports) {
    const progress = progressOf(report.status);
    for (const width of [40, 80]) {
      // A paint of our own, and no output behind it: the views make their values plain by themselves.
      const paint = output().paint;
      assertHarmless(reportText({ report, uiUrl: null, nowMs: NOW_MS, width, paint }));
      const drawing = {
        progress,
        zone: HOSTILE,
        startedAtMs: 0,
        nowMs: NOW_MS,
        silence: null,
        pace: '',
        width,
        paint,
      };
      assertHarmless(drawProgress({ name: `p${HOSTILE}`, ...drawing }));
      assertHarmless(
        listText(
          [{ facts: FACTS, why: { code: HOSTILE, message: HOSTILE }, needs: [], reasons: [], isStuck: true }],
          {
            pausedIds: new Set(),
            nowMs: NOW_MS,
            zone: 'UTC',
            width,
          },
        ),
      );
    }
    assertHarmless(statusSentence(report, progress, NOW_MS));
    for (const line of stepLines(progress, new Map(), { nowMs: NOW_MS, zone: 'UTC' }, ''))
      assert.doesNotMatch(line, /\n/);
  }
});

test('a difference shows the lines of both texts, and none that is not there', () => {
  const shown = difference({ label: 'a', text: 'x' }, { label: 'b', text: `x${HOSTILE}` });
  assertHarmless(shown.replaceAll(/^[-+ ]/gm, ' '));
});

test('a difference of two texts that are nothing but line breaks is told too, and fills no memory', () => {
  const shown = difference(
    { label: 'a', text: '\n'.repeat(64_000) },
    { label: 'b', text: 'x\n'.repeat(32_000) },
  );
  assert.equal(shown.split('\n').filter((line) => line.startsWith('+x')).length, 32_000);
});

const output = (): Output => {
  let made: Output | null = null;
  written((each) => (made = each));
  assert.ok(made !== null);
  return made;
};

const FAILURE = new CommandFailure('infrastructure', [
  poisoned<Trouble>({ code: 'RECORD_DIFFERS', place: 'p', message: 'm', fix: 'f' }),
  poisoned<Trouble>({ ...problem, place: null, excerpt: 'e' }),
]);
const USES: readonly (readonly [name: string, use: (output: Output) => void])[] = [
  ['what is said', (each) => each.say(`said${HOSTILE}`, `more${HOSTILE}`)],
  ['a remark', (each) => each.note(`noted${HOSTILE}`)],
  ['a warning', (each) => each.warn(poisoned<Trouble>({ ...problem, place: 'p' }))],
  ['a line of progress', (each) => each.step(`step${HOSTILE}`)],
  ['the line `ready`', (each) => each.ready(`ready${HOSTILE.replaceAll('\n', '')}`, { ready: HOSTILE })],
  ['a document', (each) => each.document({ texts: [HOSTILE], [HOSTILE]: 1 })],
  ['a failure', (each) => each.fail(FAILURE, 'd\u001b[2J')],
];
for (const [name, use] of USES) {
  test(`${name} obeys nobody, as text and as JSON`, () => {
    assertHarmless(written(use));
    assertHarmless(written(use, true));
  });
}

test('a view that forgot to make its values plain still prints no escape', () => {
  assert.doesNotMatch(
    written((each) => each.show(`a${HOSTILE}`)),
    OBEYED,
  );
});

test('colours stay where there are colours, and are the only escapes', () => {
  let text = '';
  const sink = { write: (more: string) => (text += more), isTTY: true };
  const io = { stdout: sink, stderr: sink, env: {} } as unknown as Io;
  const coloured = new Output(io, false);
  coloured.show(`${coloured.paint.bad('red')} \u001b[2J\u009b31m`);
  assert.equal(text, '\u001b[31mred\u001b[39m \ufffd[2J\ufffd31m\n');
});

test('JSON says the same as before', () => {
  const value = { status: HOSTILE, nested: [{ 'ä€😀': 'ä€😀\n' }] };
  assert.deepEqual(JSON.parse(written((each) => each.document(value), true)), value);
  assert.deepEqual(JSON.parse(written((each) => each.ready('', value), true)), value);
});

for (const argv of [
  ['status', `a${HOSTILE}.b`],
  ['report', `a${HOSTILE}.b`],
  ['cancel', `a${HOSTILE}.b`],
  ['resolve', `a${HOSTILE}.b`, 'i', '--executed', 'x', '--by', 'ana'],
  ['run', `a${HOSTILE}.yaml`],
  ['plan', `a${HOSTILE}.yaml`],
  ['check', `a${HOSTILE}.yaml`],
  ['list', `--x${HOSTILE}`],
  ['worker', `--x${HOSTILE}`],
  [`x${HOSTILE}`],
]) {
  test(`"cambist ${argv[0]?.slice(0, 8)}" repeats a hostile line harmlessly, as text and as JSON`, async () => {
    for (const more of [[], ['--json']]) {
      let text = '';
      const sink = { write: (each: string) => (text += each) };
      const io: Io = {
        stdout: sink,
        stderr: sink,
        env: {},
        cwd: tmpdir(),
        now: () => NOW_MS,
        ask: null,
        onInterrupt: () => () => {},
      };
      // One command after the other.
      assert.equal(await main([...argv, ...more], io), 2, text);
      assertHarmless(text);
    }
  });
}

test('only the output writes to a stream', () => {
  const folder = urlOf('cli/');
  const others = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'output.ts');
  const wrong = others.filter((name) =>
    /\b(?:stdout|stderr|[sS]ink)\.write\(|\bconsole\./.test(readFileSync(new URL(name, folder), 'utf8')),
  );
  assert.deepEqual(wrong, []);
});
