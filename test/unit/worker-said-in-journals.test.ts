/** What the journals of workers before this one show that people said: a worker that is started anew misses it, too. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { AuditFact } from '../../domain/audit.ts';
import { beginJournal } from '../../worker/audit-journal.ts';
import { saidInJournals } from '../../worker/said-in-journals.ts';
import { NEVER_WAKES } from '../support/activities.ts';

const NOW = Date.now();
const OWNER = { mode: 'SANDBOX', organisation: 'org', keyName: 'key' };
const folder = await mkdtemp(join(tmpdir(), 'journals-'));
after(() => rm(folder, { recursive: true }));

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
  };
}

async function journal(begin: Partial<typeof OWNER>, ...facts: readonly AuditFact[]): Promise<void> {
  const clock = { ...NEVER_WAKES, wallMs: () => NOW };
  const kept = await beginJournal(folder, { worker: 'w', ...OWNER, ...begin }, clock);
  // In the order of the lines.
  for (const fact of facts) await kept.keep(fact);
  await kept.close();
}

test('words that were kept are known by their run, also under another API key; those of others and refused ones are not', async () => {
  await journal({}, said('p.2026-11-21', 'one', 1), said('p.2026-11-21', 'refused', null));
  await journal({ keyName: 'older' }, said('p.2026-11-21', 'two', 2), said('q.2026-11-21', 'three', 1));
  await journal({ organisation: 'other' }, said('p.2026-11-21', 'theirs', 3));
  await journal({ mode: 'LIVE' }, said('p.2026-11-21', 'live', 3));
  const notes: string[] = [];
  const read = saidInJournals(folder, OWNER, { nowMs: () => NOW, note: (problem) => notes.push(problem) });
  const known = await read();
  assert.deepEqual([...(known.get('p.2026-11-21') ?? [])].toSorted(), ['one', 'two']);
  assert.deepEqual([...(known.get('q.2026-11-21') ?? [])], ['three']);
  assert.deepEqual(notes, []);
});

test('a folder that cannot be read is told, and knows nothing', async () => {
  const notes: string[] = [];
  const read = saidInJournals(join(folder, 'none'), OWNER, {
    nowMs: () => NOW,
    note: (problem) => notes.push(problem),
  });
  assert.equal((await read()).size, 0);
  assert.equal(notes.length, 1);
});
