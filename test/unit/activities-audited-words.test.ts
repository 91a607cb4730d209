/** What people say, in the journal of the worker that sees it: each word once, and no write waits for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditedActivities, wordsIn } from '../../activities/audited-words.ts';
import { clockSkew } from '../../activities/clock-skew.ts';
import { nextLine, NOTHING_WRITTEN, readLine, type AuditFact } from '../../domain/audit.ts';
import {
  holding,
  NO_RECORD,
  drillScope,
  heldAfter,
  type HaltRecord,
  type HaltScope,
  type HaltWord,
} from '../../domain/halt.ts';
import { spelledOut, type Recorded } from '../../domain/people/instructions.ts';
import { auditDigest } from '../../config/audit-digest.ts';
import { inActivity, instructionsOf, worker } from '../support/activities.ts';
import { LIST_HASH, recorded, said } from '../support/instructions.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { NOW, PAYMENT, RUN, context } from '../support/scripts.ts';
import { forgedBy } from '../support/signers.ts';

const AT = new Date(NOW).toISOString();
const ALL: HaltScope = { policy: null, currency: null };
const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIEbQw1sTt+bYJUdkY/jovjtF+wjGeUc9zNSLjdTZm/YR';
/** As `ssh-keygen -l` tells it of this key. */
const FINGERPRINT = 'SHA256:uYd+gDJqLzc/MaqUEPRAVAqjUIT1NtVusYg0u1lhMfw';

/** Words whose journal is a list. Each line is one that a journal can be read with. */
function written(more: { readonly fails?: number } = {}) {
  let fails = more.fails ?? 0;
  const lines: AuditFact[] = [];
  const noted: string[] = [];
  const keepSoon = async (fact: AuditFact): Promise<number> => {
    if (fails > 0) {
      fails -= 1;
      throw new Error('no space left');
    }
    const { text } = nextLine({ ...NOTHING_WRITTEN, n: 1 }, fact, AT, auditDigest);
    assert.notEqual(typeof readLine({ ...NOTHING_WRITTEN, n: 1 }, text, auditDigest), 'string', text);
    return lines.push(fact);
  };
  const words = wordsIn({ keepSoon, keep: keepSoon }, (problem) => noted.push(problem));
  return { words, lines, noted };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('each word of people is one line, however often it is read, and one for the payments of each chunk that it means', () => {
  const { words, lines } = written();
  const cancel = recorded({ kind: 'cancel', id: 'c', by: 'ana', why: 'wrong file', atMs: NOW });
  const again = recorded({
    kind: 'pay these again',
    id: 'a',
    chunks: [
      [1, 2, LIST_HASH],
      [2, 2, LIST_HASH],
    ],
    number: 1,
    atMs: NOW,
  });
  const listed = (...items: readonly string[]) => {
    const list = {
      kind: 'to pay again',
      said: 'a',
      items: items.map((item) => [item, 1, null] as const),
    } as const;
    return spelledOut({ instructions: [cancel, again], facts: [list] }).instructions;
  };
  words.kept(RUN, [cancel]);
  words.kept(RUN, listed('inv-1', 'inv-2'));
  words.kept(RUN, listed('inv-501', 'inv-502'));
  words.kept(RUN, listed('inv-1', 'inv-2'));
  const head = { kind: 'said', run: 'p.2026-11-21', number: 1, saidAt: AT, signed: null };
  assert.deepEqual(lines, [
    { ...head, entry: 'c', what: 'cancel', items: [], recordId: null, by: 'ana', why: 'wrong file' },
    ...[
      ['inv-1', 'inv-2'],
      ['inv-501', 'inv-502'],
    ].map((items) => {
      return { ...head, entry: 'a', what: 'pay these again', items, recordId: null, by: 'ana', why: 'seen' };
    }),
  ]);
  words.kept({ ...RUN, id: '2026-11-22' }, [cancel]);
  assert.equal(lines.length, 4);
});

test('a word that is read again and says something else is one more line', () => {
  const { words, lines } = written();
  const cancel = recorded({ kind: 'cancel', id: 'c', by: 'ana', why: 'wrong file', atMs: NOW });
  for (const more of [{}, { by: 'ben' }, { why: 'another' }, { atMs: NOW + 1 }, {}])
    words.kept(RUN, [{ ...cancel, ...more }]);
  assert.equal(lines.length, 4);
});

test('a decision names the record of the service that it is about', () => {
  const { words, lines } = written();
  words.kept(RUN, [recorded({ kind: 'executed', item: 'supplier', recordId: 'wtd_1' })]);
  const [line] = lines;
  assert.deepEqual(line?.kind === 'said' && [line.items, line.recordId], [['supplier'], 'wtd_1']);
});

test('who has approved is told with the role, what it is about and the fingerprint of the key', () => {
  const { words, lines } = written();
  const signature = forgedBy({ publicKey: `ssh-ed25519 ${KEY}` });
  const signed = { kind: 'approve', expiresAtMs: NOW + 60_000, by: 'ana' } as const;
  words.kept(RUN, [
    recorded({ ...signed, id: 'a', as: 'starter', about: null, signature }),
    recorded({ ...signed, id: 'b', as: 'approver', about: 'c', signature: 'b2Rk', number: 2 }),
  ]);
  assert.deepEqual(
    lines.map((line) => line.kind === 'said' && [line.what, line.signed]),
    [
      ['approve', { as: 'starter', about: null, key: FINGERPRINT }],
      ['approve', { as: 'approver', about: 'c', key: null }],
    ],
  );
});

test('a word that the journal could not take is told, and is written when it is read again', async () => {
  const { words, lines, noted } = written({ fails: 1 });
  const cancel = recorded({ kind: 'cancel' });
  words.kept(RUN, [cancel]);
  await settled();
  assert.deepEqual([lines.length, noted], [0, ['no space left']]);
  words.kept(RUN, [cancel]);
  assert.equal(lines.length, 1);
});

test('a worker remembers the words of so many runs, and names those of others once more', () => {
  const { words, lines } = written();
  const cancel = recorded({ kind: 'cancel' });
  const runs = Array.from({ length: 1_001 }, (_, index) => ({ ...RUN, id: `r${index}` }));
  const [first = RUN, second = RUN] = runs;
  for (const run of runs.slice(0, 1_000)) words.kept(run, [cancel]);
  words.kept(first, [cancel]);
  words.kept(runs[1_000] ?? RUN, [cancel]);
  assert.equal(lines.length, 1_001);
  words.kept(first, [cancel]);
  assert.equal(lines.length, 1_001);
  words.kept(second, [cancel]);
  assert.equal(lines.length, 1_002);
});

const word = (kind: string, scope: HaltScope, more: object = {}, atMs = NOW): HaltWord => ({
  word: kind,
  said: { scope, by: 'ana', why: 'wrong accounts', ...more },
  atMs,
});
const recordOf = (...words: readonly HaltWord[]): HaltRecord => ({
  ...NO_RECORD,
  runIds: ['run-1'],
  sinceMs: NOW,
  isOpen: true,
  words,
});

test('each halt, each resume and each end of a halt is one line, drills aside, also where a worker puts the halt back', () => {
  const { words, lines } = written();
  const halt = word('halt', ALL);
  const back = word('stands', ALL, { atMs: NOW }, NOW + 5);
  const resume = word('resume', ALL, { haltAtMs: NOW, by: 'ben', why: 'mended' }, NOW + 1);
  const drill = [word('halt', drillScope('d')), word('resume', drillScope('d'), { haltAtMs: NOW })];
  let held = holding([]);
  for (const record of [
    NO_RECORD,
    recordOf(halt, ...drill),
    recordOf(halt, ...drill, back),
    recordOf(halt, resume),
  ]) {
    held = heldAfter(held, record);
    words.halts(held);
  }
  const saidAt = new Date(NOW + 1).toISOString();
  assert.deepEqual(lines, [
    { kind: 'halt', scope: ALL, by: 'ana', why: 'wrong accounts', saidAt: AT },
    { kind: 'resume', scope: ALL, by: 'ben', why: 'mended', saidAt, haltAt: AT },
    { kind: 'over', scope: ALL, haltAt: AT },
  ]);
});

test('who has signed for the end of a halt, as whom and by which key, is one line, and the halt is not over by it', () => {
  const { words, lines } = written();
  const signature = forgedBy({ publicKey: `ssh-ed25519 ${KEY}` });
  const signs = (as: string, atMs: number): HaltWord => {
    const more = { haltAtMs: NOW, by: 'chi', why: 'seen', as, expiresAtMs: NOW + 60_000, signature };
    return word('approve', ALL, more, atMs);
  };
  const resume = { ...word('resume', ALL, { haltAtMs: NOW }, NOW + 1), unsigned: 'ben is missing' };
  // Whoever sends a signature again says nothing new.
  const record = recordOf(word('halt', ALL), resume, signs('starter', NOW + 2), signs('starter', NOW + 3));
  words.halts(heldAfter(holding([]), record));
  words.halts(heldAfter(holding([]), { ...record, words: [...record.words, signs('approver', NOW + 4)] }));
  const [halt, , ...approved] = lines;
  assert.equal(halt?.kind, 'halt');
  const line = { kind: 'approve', scope: ALL, by: 'chi', why: 'seen', haltAt: AT, key: FINGERPRINT };
  assert.deepEqual(approved, [
    { ...line, as: 'starter', saidAt: new Date(NOW + 2).toISOString() },
    { ...line, as: 'approver', saidAt: new Date(NOW + 4).toISOString() },
  ]);
});

test('a halt that another one has replaced is over, and so is one that the record does not know and a resume names', () => {
  const { words, lines } = written();
  const [first, second, lost] = [NOW, NOW + 1, NOW - 9].map((atMs) => new Date(atMs).toISOString());
  const before = { scope: ALL, by: 'ana', why: 'wrong accounts', atMs: NOW - 9 };
  const held = heldAfter(holding([before]), recordOf(word('halt', ALL), word('halt', ALL, {}, NOW + 1)));
  words.halts(held);
  const overs = () => lines.flatMap((line) => (line.kind === 'over' ? line.haltAt : []));
  assert.deepEqual(overs(), [first]);
  const resumed = [word('resume', ALL, { haltAtMs: NOW - 9 }), word('resume', ALL, { haltAtMs: NOW + 1 })];
  words.halts(heldAfter(held, recordOf(...(held.record?.words ?? []), ...resumed)));
  assert.deepEqual(overs(), [first, lost, second]);
});

test('a halt that the journal could not take is written when the worker next reads what people have said', async () => {
  const { words, lines, noted } = written({ fails: 1 });
  words.halts(heldAfter(holding([]), recordOf(word('halt', ALL))));
  await settled();
  assert.deepEqual([lines.length, noted], [0, ['no space left']]);
  words.kept(RUN, []);
  words.kept(RUN, []);
  assert.deepEqual(
    lines.map(({ kind }) => kind),
    ['halt'],
  );
});

test('a halt because the record is gone, or cannot be read, is a line too', () => {
  const { words, lines } = written();
  words.halts(heldAfter(heldAfter(holding([]), recordOf()), NO_RECORD));
  words.halts(
    heldAfter(
      holding([]),
      recordOf({ word: 'halt', said: 'odd', atMs: NOW + 1 }, word('resume', ALL, { haltAtMs: 'odd' })),
    ),
  );
  assert.deepEqual(
    lines.map((line) => (line.kind === 'halt' ? line.by : line.kind)),
    ['a worker', 'unknown'],
  );
});

test('what a worker accepts is a line without a number, and one more when it is kept', async () => {
  clockSkew.tell(0);
  const { words, lines } = written();
  const { deps } = worker();
  const activities = auditedActivities(words, deps);
  const instruction = said({ kind: 'cancel' });
  const accepted = await inActivity({}, () => activities.acceptInstruction({ instruction }));
  words.kept(RUN, [{ ...accepted, number: 4 }]);
  const numbers = lines.map((line) => line.kind === 'said' && [line.run, line.entry, line.number]);
  assert.deepEqual(numbers, [
    ['p.2026-11-21', instruction.id, null],
    ['p.2026-11-21', instruction.id, 4],
  ]);
});

test('what is no instruction, or belongs to no run, is accepted as before and is no line', async () => {
  const { words, lines } = written();
  const { deps } = worker();
  const activities = auditedActivities(words, deps);
  const instruction = { ...said({ kind: 'cancel' }), why: 'x'.repeat(5_000) };
  assert.equal(
    (await inActivity({}, () => activities.acceptInstruction({ instruction }))).id,
    instruction.id,
  );
  await inActivity({ workflowId: 'a-workflow-of-another' }, () =>
    activities.acceptInstruction({ instruction: said({ kind: 'cancel' }) }),
  );
  assert.deepEqual(lines, []);
});

test('what a worker reads before a write, or takes over, is in its journal, and nothing waits for the disk', async () => {
  const kept: Recorded[] = [recorded({ kind: 'cancel', id: 'c' })];
  const facts: AuditFact[] = [];
  const never = new Promise<number>(() => {});
  const keepSoon = (fact: AuditFact): Promise<number> => {
    facts.push(fact);
    return never;
  };
  const instructions = {
    ...instructionsOf(),
    read: async () => ({ instructions: kept, facts: [] }),
    readEarlier: async () => ({ instructions: [recorded({ kind: 'cancel', id: 'e' })], facts: [] }),
  };
  const { deps } = worker({}, { instructions });
  const activities = auditedActivities(
    wordsIn({ keepSoon, keep: keepSoon }, () => {}),
    deps,
  );
  const call = {
    plan: context().plan,
    items: [{ payment: PAYMENT, wanted: { amount: '1.00', ahead: '0', unwanted: null }, state: NEW_PAYMENT }],
    othersAccepted: false,
    tradedSoFar: [],
    unwanted: null,
    follows: 'none' as const,
    twinIds: [],
  };
  await inActivity({}, () => activities.createWithdrawals(call));
  await inActivity({}, () =>
    activities.takeOverInstructions({ mode: 'SANDBOX', run: RUN, previousRunId: null, offset: 0 }),
  );
  assert.deepEqual(
    facts.map((fact) => fact.kind === 'said' && fact.entry),
    ['c', 'e'],
  );
});
