/** What the journals of workers before this one show as sent, and may therefore leave once more under its key (M1, M4). */
import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { AuditFact } from '../../domain/audit.ts';
import { keyOf } from '../../domain/writes/sent-before.ts';
import { beginJournal } from '../../worker/audit-journal.ts';
import { sentInJournals } from '../../worker/sent-in-journals.ts';
import { NEVER_WAKES } from '../support/activities.ts';

/** The files of this test have the time of the machine. */
const NOW = Date.now();
const OWNER = { mode: 'SANDBOX', organisation: 'org', keyName: 'key' };
const roots: string[] = [];
after(() => Promise.all(roots.map((root) => rm(root, { recursive: true }))));

const paid = (reference: string, amount = '10.50'): string =>
  keyOf({
    reference,
    quoteId: null,
    spending: { kind: 'paid', policy: null, account: 'wac_1', amounts: [{ value: amount, currency: 'MXN' }] },
  });
const traded = (reference: string, quoteId: string): string =>
  keyOf({ reference, quoteId, spending: { kind: 'traded', policy: null, account: null, amounts: [] } });

type Sent = Extract<AuditFact, { readonly kind: 'send' }>;

const pays = (reference: string): Sent => ({
  kind: 'send',
  write: 'withdrawal',
  reference,
  idempotencyKey: 'k',
  request: { account: 'wac_1', currency: 'MXN', amount: '10.5' },
});
const trades = (reference: string, quoteId: string): Sent => ({
  ...pays(reference),
  write: 'trade',
  request: { quoteId },
});
const came = (of: number, result: 'REFUSED' | 'UNKNOWN' | 'DONE', why: string | null = null): AuditFact => ({
  kind: 'outcome',
  of,
  result,
  recordId: null,
  why,
});

/** A folder with a journal of these lines, written five minutes ago; and what asks it. */
async function folderWith(facts: readonly AuditFact[], begin: Partial<typeof OWNER> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'journals-'));
  roots.push(folder);
  let ms = 0;
  const clock = { ...NEVER_WAKES, wallMs: () => NOW - 300_000 };
  const journal = await beginJournal(folder, { worker: 'w', ...OWNER, ...begin }, clock);
  for (const fact of facts) await journal.keep(fact);
  const notes: string[] = [];
  const asks = sentInJournals(folder, OWNER, {
    clock: { wallMs: () => NOW + ms, monotonicMs: () => ms },
    note: (code, problem) => notes.push(`${code}: ${problem}`),
  });
  return { folder, journal, asks, notes, passes: (more: number) => (ms += more) };
}

test('a send without an outcome, with an unknown one or with a record passes; a refused one does not', async () => {
  const facts = [
    pays('a'),
    pays('b'),
    pays('c'),
    pays('d'),
    came(3, 'UNKNOWN', 'no whole reply'),
    came(4, 'DONE'),
    came(5, 'REFUSED', 'WITHDRAWAL_ADDRESS_NOT_FOUND'),
    trades('l', 'qte_1'),
  ];
  const { asks, journal } = await folderWith(facts);
  await journal.close();
  const keys = [
    paid('a'),
    paid('b'),
    paid('c'),
    paid('d'),
    paid('a', '10.51'),
    traded('l', 'qte_1'),
    traded('l', 'qte_2'),
  ];
  const told = await Promise.all(keys.map(asks));
  assert.deepEqual(told, [true, true, true, false, false, true, false]);
});

test('the journal of another API key, organisation or mode shows nothing', async () => {
  for (const other of [{ keyName: 'other' }, { organisation: 'other' }, { mode: 'LIVE' }]) {
    // One after the other.
    const { asks, journal } = await folderWith([pays('a')], other);
    await journal.close();
    assert.ok(!(await asks(paid('a'))));
  }
});

test('what a worker beside this one has just sent may be under way; it passes later, when nothing has come of it', async () => {
  const { folder, asks, passes, journal } = await folderWith([]);
  await journal.close();
  const clock = { ...NEVER_WAKES, wallMs: () => NOW };
  const other = await beginJournal(folder, { worker: 'w2', ...OWNER }, clock);
  await other.keep(pays('a'));
  assert.ok(!(await asks(paid('a'))));
  passes(120_001);
  assert.ok(await asks(paid('a')));
  await other.close();
});

test('what was cut by a kill shows nothing and is no trouble; a line that was changed is named, and nothing after it counts', async () => {
  const cut = await folderWith([pays('a')]);
  await appendFile(cut.journal.path, '{"n":3');
  assert.deepEqual([await cut.asks(paid('a')), cut.notes], [true, []]);
  await appendFile(cut.journal.path, '\n');
  cut.passes(600_001);
  assert.ok(await cut.asks(paid('a')));
  assert.match(cut.notes.join(), /^AUDIT_CHANGED: ".*\.jsonl:3": It is no whole line of a journal/);
});

test('without a folder, nothing is shown, and it is said why', async () => {
  const { folder, asks, notes, journal } = await folderWith([pays('a')]);
  await journal.close();
  await rm(folder, { recursive: true });
  assert.ok(!(await asks(paid('a'))));
  assert.match(notes.join(), /^FILE_UNREADABLE: CAMBIST_AUDIT: .*ENOENT/);
  roots.splice(roots.indexOf(folder), 1);
});
