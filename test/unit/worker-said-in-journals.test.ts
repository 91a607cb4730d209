/** What the journals of workers before this one show that people said: a worker that is started anew misses it, too. */
import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { AuditFact } from '../../domain/audit.ts';
import type { HaltScope } from '../../domain/halt.ts';
import { beginJournal } from '../../worker/audit-journal.ts';
import { saidInJournals } from '../../worker/said-in-journals.ts';
import { NEVER_WAKES } from '../support/activities.ts';

const NOW = Date.now();
const OWNER = { mode: 'SANDBOX', organisation: 'org', keyName: 'key' };
const root = await mkdtemp(join(tmpdir(), 'journals-'));
after(() => rm(root, { recursive: true }));

function said(run: string, entry: string, number: number | null): AuditFact {
  const saidAt = new Date(NOW).toISOString();
  return {
    kind: 'said',
    run,
    entry,
    number,
    what: 'cancel',
    items: [],
    recordId: null,
    by: 'ana',
    why: 'x',
    saidAt,
    signed: null,
  };
}

type Of = Partial<typeof OWNER> & { readonly daysAgo?: number };

/** A folder of its own with journals; `known`: what a worker knows by them that is started now. */
async function folderOf() {
  const folder = await mkdtemp(join(root, 'worker-'));
  const clock = { ...NEVER_WAKES, wallMs: () => NOW };
  const journal = async ({ daysAgo = 0, ...begin }: Of, ...facts: readonly AuditFact[]): Promise<string> => {
    const kept = await beginJournal(folder, { worker: 'w', ...OWNER, ...begin }, clock);
    // In the order of the lines.
    for (const fact of facts) await kept.keep(fact);
    await kept.close();
    const at = new Date(NOW - daysAgo * 86_400_000);
    await utimes(kept.path, at, at);
    return kept.path;
  };
  const notes: string[] = [];
  const note = (code: string, problem: string) => notes.push(`${code}: ${problem}`);
  const known = (own: string | null = null) => saidInJournals(folder, OWNER, { own, note });
  return { folder, journal, known, notes };
}

test('words that were kept are known by their run, also under another API key; those of others and refused ones are not', async () => {
  const { journal, known, notes } = await folderOf();
  await journal({}, said('p.2026-11-21', 'one', 1), said('p.2026-11-21', 'refused', null));
  await journal({ keyName: 'older' }, said('p.2026-11-21', 'two', 2), said('q.2026-11-21', 'three', 1));
  await journal({ organisation: 'other' }, said('p.2026-11-21', 'theirs', 3));
  await journal({ mode: 'LIVE' }, said('p.2026-11-21', 'live', 3));
  const { words, halts } = await known();
  assert.deepEqual([...(words.get('p.2026-11-21') ?? [])].toSorted(), ['one', 'two']);
  assert.deepEqual([...(words.get('q.2026-11-21') ?? [])], ['three']);
  assert.deepEqual([halts, notes], [[], []]);
});

const IN_MXN: HaltScope = { policy: null, currency: 'MXN' };
const ALL: HaltScope = { policy: null, currency: null };
const momentOf = (atMs: number): string => new Date(atMs).toISOString();
const halt = (scope: HaltScope, atMs = NOW): AuditFact => {
  return { kind: 'halt', scope, by: 'ana', why: 'wrong accounts', saidAt: momentOf(atMs) };
};
const resumed = (scope: HaltScope, atMs = NOW): AuditFact => {
  const saidAt = momentOf(atMs + 5);
  return { kind: 'resume', scope, by: 'ben', why: 'mended', saidAt, haltAt: momentOf(atMs) };
};
const over = (scope: HaltScope, atMs = NOW): AuditFact => {
  return { kind: 'over', scope, haltAt: momentOf(atMs) };
};

test('a halt that a worker has seen is known to the next one as it was said, until one of them has seen its end', async () => {
  const { journal, known } = await folderOf();
  const seen = { by: 'ana', why: 'wrong accounts', atMs: NOW };
  await journal({}, halt(ALL), halt(IN_MXN));
  const scopes = async () => (await known()).halts.map(({ scope }) => scope);
  assert.deepEqual(
    (await known()).halts.find(({ scope }) => scope.currency === null),
    { ...seen, scope: ALL },
  );
  assert.equal((await scopes()).length, 2);
  // That somebody has resumed it is not its end: people may have to sign that. Nor is the end of another halt of the same.
  await journal({}, resumed(ALL), halt(ALL, NOW - 1), over(ALL, NOW - 1));
  assert.equal((await scopes()).length, 2);
  // A worker beside it, whose journal is older, has seen its end.
  await journal({ daysAgo: 1 }, halt(ALL), over(ALL));
  assert.deepEqual(await scopes(), [IN_MXN]);
});

test('a halt is known after however long a time without a worker; of a journal of others, and its own, a worker knows none', async () => {
  const { journal, known } = await folderOf();
  await journal({ mode: 'LIVE' }, halt(ALL));
  await journal({ organisation: 'other' }, halt(ALL));
  const own = await journal({}, halt(ALL));
  await journal({ daysAgo: 300 }, halt(IN_MXN));
  await journal({ daysAgo: 320 }, halt(ALL, NOW - 1));
  assert.deepEqual(
    (await known(own)).halts.map(({ scope }) => scope),
    [IN_MXN],
  );
});

test('a journal that cannot be read whole is told, and the others are read', async () => {
  const { folder, journal, known, notes } = await folderOf();
  await journal({ daysAgo: 2 }, halt(ALL));
  await mkdir(join(folder, '2026.jsonl'));
  await appendFile(await journal({ daysAgo: 1 }, halt(IN_MXN)), 'odd\n');
  assert.equal((await known()).halts.length, 2);
  assert.equal(notes.length, 2);
  assert.match(notes.join('\n'), /^FILE_UNREADABLE: .*2026\.jsonl/m);
  assert.match(notes.join('\n'), /^AUDIT_CHANGED: .*\.jsonl:4": It is no whole line/m);
});

test('a folder that cannot be read is told, and knows nothing', async () => {
  const { folder, known, notes } = await folderOf();
  await rm(folder, { recursive: true });
  const { words, halts } = await known();
  assert.deepEqual([words.size, halts.length], [0, 0]);
  assert.match(notes.join(), /^FILE_UNREADABLE: CAMBIST_AUDIT: .*ENOENT/);
});
