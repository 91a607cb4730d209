/** The journal of a worker: on the disk before a byte leaves, whole whatever the disk does, and each change of it is found. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { auditedService, type Journal } from '../../activities/audited-service.ts';
import { ConfigurationError } from '../../config/errors.ts';
import { NOTHING_WRITTEN, nextLine, type AuditFact } from '../../domain/audit.ts';
import type { Reply } from '../../domain/service/reply.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { countWords, holdAgainstService, readJournals } from '../../operations/watch/verify-audit.ts';
import type { Leaving, ServiceClient } from '../../service/client.ts';
import { beginJournal } from '../../worker/audit-journal.ts';
import { NEVER_WAKES } from '../support/activities.ts';
import { NOW, done } from '../support/scripts.ts';

const folder = await mkdtemp(join(tmpdir(), 'audit-'));
after(() => rm(folder, { recursive: true }));

const CLOCK = { ...NEVER_WAKES, wallMs: () => NOW };
const BEGIN = { worker: 'w', mode: 'SANDBOX', organisation: 'org', keyName: 'key' };
const SEND: AuditFact = {
  kind: 'send',
  write: 'withdrawal',
  reference: 'p.2026-11-21.supplier',
  idempotencyKey: 'k',
  request: { account: 'wac_1', currency: 'MXN', amount: '10.50' },
};
const made = (of: number, recordId: string): AuditFact => ({
  kind: 'outcome',
  of,
  result: 'DONE',
  recordId,
  why: null,
});

/** A journal with these lines after its first one. */
async function written(...facts: readonly AuditFact[]): Promise<string> {
  let nowMs = NOW;
  const journal = await beginJournal(folder, BEGIN, { ...CLOCK, wallMs: () => (nowMs += 60_000) });
  for (const fact of facts) await journal.keep(fact);
  await journal.close();
  return journal.path;
}

describe('a journal', () => {
  test('is whole with all of its lines, also of those that came at the same moment, and only its owner reads it', async () => {
    const journal = await beginJournal(folder, BEGIN, CLOCK);
    const numbers = await Promise.all(Array.from({ length: 100 }, () => journal.keep(SEND)));
    assert.deepEqual(
      numbers,
      [...Array(100).keys()].map((index) => index + 2),
    );
    await journal.close();
    const [read] = await readJournals([journal.path]);
    assert.deepEqual([read?.lines, read?.sends.length, read?.hasEnded], [102, 100, true]);
    assert.equal((await stat(journal.path)).mode & 0o777, 0o600);
  });

  test('has a line for which nobody waits with the next send, or a moment later, or at the end', async () => {
    const wakes: (() => void)[] = [];
    const wake = (_afterMs: number, callback: () => void): (() => void) => {
      wakes.push(callback);
      return () => wakes.splice(wakes.indexOf(callback), 1);
    };
    const journal = await beginJournal(folder, BEGIN, { ...CLOCK, wake });
    const kinds = async () => {
      const lines = (await readFile(journal.path, 'utf8')).trim().split('\n');
      return lines.map((line) => (JSON.parse(line) as { kind: string }).kind).join();
    };
    const outcome = made(2, 'wtd_1');
    const first = [journal.keepSoon(outcome), journal.keepSoon(outcome)];
    assert.deepEqual([await kinds(), wakes.length], ['begin', 1]);
    assert.deepEqual([await journal.keep(SEND), wakes.length], [4, 0]);
    assert.deepEqual(await Promise.all(first), [2, 3]);
    const sending = journal.keep(SEND);
    const meanwhile = journal.keepSoon(outcome);
    await sending;
    assert.deepEqual([await kinds(), wakes.length], ['begin,outcome,outcome,send,send', 1]);
    wakes.shift()?.();
    assert.equal(await meanwhile, 6);
    const last = journal.keepSoon(outcome);
    await journal.close();
    assert.equal(await last, 7);
    assert.equal(await kinds(), 'begin,outcome,outcome,send,send,outcome,outcome,end');
    await readJournals([journal.path]);
  });

  test('is begun by each worker in a file of its own, and in no folder that is not there', async () => {
    const before = (await readdir(folder)).length;
    await Promise.all([written(), written()]);
    assert.equal((await readdir(folder)).length, before + 2);
    await assert.rejects(
      beginJournal(join(folder, 'missing'), BEGIN, CLOCK),
      (error) => error instanceof ConfigurationError && error.problems[0]?.code === 'AUDIT_UNWRITABLE',
    );
  });

  test('whose first line cannot be written leaves no file behind', async () => {
    const empty = await mkdtemp(join(folder, 'empty-'));
    const moments = [NOW, NaN];
    await assert.rejects(
      beginJournal(empty, BEGIN, { ...CLOCK, wallMs: () => moments.shift() ?? NOW }),
      ConfigurationError,
    );
    assert.deepEqual(await readdir(empty), []);
  });

  test('takes no line once its file was deleted', async () => {
    const journal = await beginJournal(folder, BEGIN, CLOCK);
    await rm(journal.path);
    await assert.rejects(journal.keep(SEND), /deleted/);
    await journal.close();
  });

  const CHANGES: readonly (readonly [what: string, change: (lines: string[]) => string[], line: number])[] = [
    ['changed amount', (lines) => lines.map((line) => line.replace('10.50', '90.50')), 2],
    ['line that was cut out', (lines) => lines.toSpliced(2, 1), 3],
    ['line that stands twice', (lines) => lines.toSpliced(2, 0, lines[1] ?? ''), 3],
    [
      'two lines that changed places',
      (lines) => [lines[0], lines[2], lines[1], ...lines.slice(3)].map(String),
      2,
    ],
    ['first line that was cut out', (lines) => lines.slice(1), 1],
    [
      'line that is cut off in the middle',
      (lines) => [...lines.slice(0, 2), (lines[2] ?? '').slice(0, 50)],
      3,
    ],
    ['line of another journal', (lines) => [...lines, foreign.trim()], 5],
  ];
  let foreign = '';
  for (const [what, change, line] of CHANGES)
    test(`with a ${what} is not whole, and the place is told`, async () => {
      foreign = (await readFile(await written(), 'utf8')).split('\n')[1] ?? '';
      const path = await written(SEND, made(2, 'wtd_1'));
      const lines = (await readFile(path, 'utf8')).trim().split('\n');
      await writeFile(path, `${change(lines).join('\n')}\n`);
      await assert.rejects(
        readJournals([path]),
        (error) =>
          error instanceof CommandFailure &&
          error.problems[0]?.code === 'AUDIT_CHANGED' &&
          error.problems[0].place === `${path}:${line}`,
      );
    });
});

describe('a journal that is read', () => {
  test('is whole where a person has said something with a line separator of Unicode', async () => {
    const scope = { policy: null, currency: null };
    const saidAt = new Date(NOW).toISOString();
    const why = 'one\u2028two\u2029three\u0085four';
    const path = await written({ kind: 'halt', scope, by: 'me', why, saidAt }, SEND);
    const [read] = await readJournals([path]);
    assert.deepEqual([read?.lines, read?.hasEnded], [4, true]);
  });

  test('tells how often people said what, each word once for all workers that saw it', async () => {
    const saidAt = new Date(NOW).toISOString();
    const halt: AuditFact = {
      kind: 'halt',
      scope: { policy: null, currency: null },
      by: 'ana',
      why: 'x',
      saidAt,
    };
    const cancel = (entry: string, number: number | null): AuditFact => ({
      kind: 'said',
      run: 'p.2026-11-21',
      entry,
      number,
      what: 'cancel',
      items: [],
      recordId: null,
      by: 'ana',
      why: 'x',
      saidAt,
      signed: null,
    });
    const journals = await readJournals([
      await written(halt, cancel('c', null), cancel('c', 1)),
      await written(halt, { ...halt, kind: 'resume', by: 'ben', haltAt: saidAt }, cancel('d', 2)),
      await written(
        { ...halt, kind: 'approve', by: 'chi', haltAt: saidAt, as: 'approver', key: null },
        { kind: 'over', scope: { policy: null, currency: null }, haltAt: saidAt },
      ),
    ]);
    assert.deepEqual(Object.fromEntries(countWords(journals)), {
      halt: 1,
      cancel: 2,
      resume: 1,
      approve: 1,
    });
  });

  test('has no end where the last line is not whole on the disk: nothing was sent by that line', async () => {
    const path = await written(SEND, SEND);
    const lines = (await readFile(path, 'utf8')).split('\n');
    await writeFile(path, `${lines.slice(0, 2).join('\n')}\n${(lines[2] ?? '').slice(0, 50)}`);
    const [read] = await readJournals([path]);
    assert.deepEqual([read?.lines, read?.sends.length, read?.hasEnded], [2, 1, false]);
    await writeFile(path, `${lines.join('\n')}more`);
    const [added] = await readJournals([path]);
    assert.equal(added?.hasEnded, false);
  });

  test('that cannot be read, as a folder with the name of one, is named', async () => {
    const path = join(await mkdtemp(join(folder, 'odd-')), 'a.jsonl');
    await mkdir(path);
    await assert.rejects(
      readJournals([join(path, '..')]),
      (error) => error instanceof CommandFailure && error.problems[0]?.place === path,
    );
  });

  test(
    'that is a pipe or a device is refused at once, alone and in a folder',
    { timeout: 20_000 },
    async () => {
      const odd = await mkdtemp(join(folder, 'odd-'));
      const [pipe, device] = [join(odd, 'a.jsonl'), join(odd, 'b.jsonl')];
      execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
      await symlink('/dev/zero', device);
      for (const [path, places] of [
        [pipe, [pipe]],
        [odd, [pipe, device]],
      ] as const)
        await assert.rejects(readJournals([path]), (error) => {
          assert.ok(error instanceof CommandFailure);
          assert.deepEqual(
            error.problems.map(({ place }) => place),
            places,
          );
          return error.problems.every(({ message }) => message.includes('no regular file'));
        });
    },
  );

  test('covers all of its lines, whatever the clock of its worker did', async () => {
    const hours = [2, 2, 4, 1, 3];
    const journal = await beginJournal(folder, BEGIN, {
      ...CLOCK,
      // The name of the file is the first to ask.
      wallMs: () => NOW + (hours.shift() ?? 0) * 3_600_000,
    });
    for (const fact of [SEND, made(2, 'wtd_1')]) await journal.keep(fact);
    await journal.close();
    const [read] = await readJournals([journal.path]);
    const moments = [1, 4].map((hour) => new Date(NOW + hour * 3_600_000).toISOString());
    assert.deepEqual([read?.from, read?.until], moments);
  });

  test('begins with the worker that writes it, and each line has a moment', async () => {
    const begin: AuditFact = { kind: 'begin', ...BEGIN };
    const at = new Date(NOW).toISOString();
    for (const told of [
      [[SEND, at] as const, [begin, at] as const],
      [[begin, 'no moment'] as const],
      [[begin, at] as const, [begin, at] as const],
    ]) {
      let end = NOTHING_WRITTEN;
      const texts = told.map(([fact, when]) => {
        const next = nextLine(end, fact, when, (text) => createHash('sha256').update(text).digest('hex'));
        end = next.end;
        return `${next.text}\n`;
      });
      const path = join(folder, 'odd.jsonl');
      await writeFile(path, texts.join(''));
      await assert.rejects(
        readJournals([path]),
        (error) => error instanceof CommandFailure && error.problems[0]?.code === 'AUDIT_CHANGED',
        JSON.stringify(told),
      );
    }
  });
});

describe('a write', () => {
  const REQUEST = {
    account: 'wac_1',
    currency: 'MXN',
    amount: '10.50',
    tag: 'p.2026-11-21.supplier',
    idempotencyKey: 'k',
  };
  const RECORD = { id: 'wtd_1' } as Withdrawal;
  const LEAVING: Leaving = {
    signal: new AbortController().signal,
    whyNot: async () => null,
    whyNotNow: () => null,
    withinMs: 1_000,
  };

  /** Sends one withdrawal by a client that notes what happens, in its order. */
  async function sent(
    journal: Partial<Journal>,
    {
      leaving = LEAVING,
      reply = done(RECORD),
    }: { readonly leaving?: Leaving; readonly reply?: Reply<Withdrawal> } = {},
  ) {
    const events: string[] = [];
    const noted: string[] = [];
    const keep = async (fact: AuditFact): Promise<number> => {
      const n = await (journal.keep?.(fact) ?? Promise.resolve(7));
      events.push(fact.kind === 'outcome' ? `outcome ${fact.result} of ${fact.of}` : fact.kind);
      return n;
    };
    const keepSoon = journal.keepSoon ?? keep;
    const client = {
      createWithdrawal: async (_request: unknown, asked: Leaving) => {
        const reason = await asked.whyNot();
        if (reason !== null) return { kind: 'NOT_SENT', reason };
        events.push('a byte leaves');
        return reply;
      },
    } as unknown as ServiceClient;
    const answer = await auditedService(client, { keep, keepSoon }, (why) =>
      noted.push(why),
    ).createWithdrawal(REQUEST, leaving);
    return { events, noted, answer };
  }

  test('is in the journal before a byte leaves, and what came of it after', async () => {
    const { events } = await sent({});
    assert.deepEqual(events, ['send', 'a byte leaves', 'outcome DONE of 7']);
  });

  test('is answered before the disk has its outcome', async () => {
    const { answer } = await sent({ keepSoon: () => new Promise(() => {}) });
    assert.equal(answer.kind, 'DONE');
  });

  test('that the journal cannot take is not sent', async () => {
    const { events, answer } = await sent({ keep: () => Promise.reject(new Error('no space left')) });
    assert.deepEqual(events, []);
    assert.equal(answer.kind, 'NOT_SENT');
    assert.match(
      answer.kind === 'NOT_SENT' ? answer.reason : '',
      /CAMBIST_AUDIT\) cannot be written: no space left/,
    );
  });

  test('that may not leave any more once the line is on the disk is not sent, and the journal says so', async () => {
    let asked = 0;
    const whyNot = async (): Promise<string | null> => (++asked === 1 ? null : 'too late');
    const { events } = await sent({}, { leaving: { ...LEAVING, whyNot } });
    assert.deepEqual(events, ['send', 'outcome NOT_SENT of 7']);
  });

  test('that may not leave at all is no line', async () => {
    const { events } = await sent({}, { leaving: { ...LEAVING, whyNot: async () => 'halted' } });
    assert.deepEqual(events, []);
  });

  test('whose outcome cannot be written is answered all the same, and that is told', async () => {
    const { answer, noted } = await sent({ keepSoon: () => Promise.reject(new Error('no space left')) });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([answer.kind, noted], ['DONE', ['no space left']]);
  });
});

describe('held against the service', () => {
  const record = (more: Partial<Withdrawal>): Withdrawal => ({
    id: 'wtd_1',
    currency: 'MXN',
    withdrawalAmount: '10.5',
    status: 'COMPLETED',
    withdrawalAccountId: 'wac_1',
    createdAt: new Date(NOW + 150_000).toISOString(),
    tag: null,
    ...more,
  });
  /** The ids that no line explains. */
  async function unexplained(
    facts: readonly AuditFact[],
    ...records: readonly (Withdrawal | Trade)[]
  ): Promise<readonly string[]> {
    const journals = await readJournals([await written(...facts)]);
    const page =
      <T>(items: readonly T[]) =>
      async () =>
        done({ items, hasMore: false, nextCursor: null });
    const service = {
      listTrades: page(records.filter(({ id }) => id.startsWith('tde'))),
      listWithdrawals: page(records.filter(({ id }) => id.startsWith('wtd'))),
    } as unknown as ServiceClient;
    const { unexplained: found } = await holdAgainstService(service, journals, 'service');
    return found.map(({ id }) => id);
  }

  test('a record that a line names is explained, and one by another program is not', async () => {
    assert.deepEqual(await unexplained([SEND, made(2, 'wtd_1')], record({}), record({ id: 'wtd_2' })), [
      'wtd_2',
    ]);
  });

  test('a send whose outcome is not known explains one record: the one with its tag, or one that looks like it', async () => {
    const tag = 'p.2026-11-21.supplier';
    assert.deepEqual(await unexplained([SEND], record({}), record({ id: 'wtd_2', tag })), ['wtd_1']);
    assert.deepEqual(await unexplained([SEND], record({}), record({ id: 'wtd_2' })), ['wtd_2']);
    assert.deepEqual(await unexplained([SEND], record({ withdrawalAmount: '10.51' })), ['wtd_1']);
  });

  test('the sends of one key explain one record, however often a worker has tried', async () => {
    const tag = 'p.2026-11-21.supplier';
    const records = [record({ tag }), record({ id: 'wtd_2', tag })];
    assert.deepEqual(await unexplained([SEND, SEND, SEND], ...records), ['wtd_2']);
    assert.deepEqual(await unexplained([SEND, SEND, made(3, 'wtd_1')], ...records), ['wtd_2']);
  });

  test('a trade whose outcome is not known explains one trade with its reference', async () => {
    const trade = (id: string) =>
      ({ id, clientReferenceId: 'p.2026-11-21.eur-usd-1', createdAt: record({}).createdAt }) as Trade;
    const sent: AuditFact = {
      kind: 'send',
      write: 'trade',
      reference: 'p.2026-11-21.eur-usd-1',
      idempotencyKey: 't',
      request: { quoteId: 'qte_1' },
    };
    assert.deepEqual(await unexplained([sent], trade('tde_1'), trade('tde_2')), ['tde_2']);
  });

  test('a send that was refused or never left explains nothing', async () => {
    for (const result of ['REFUSED', 'NOT_SENT'] as const) {
      const outcome: AuditFact = { kind: 'outcome', of: 2, result, recordId: null, why: 'no' };
      assert.deepEqual(await unexplained([SEND, outcome], record({})), ['wtd_1']);
    }
  });

  test('what the service made before the first line or after the last one is not asked about', async () => {
    const [early, late] = [NOW - 1, NOW + 600_000].map((atMs) =>
      record({ createdAt: new Date(atMs).toISOString() }),
    );
    assert.ok(early !== undefined && late !== undefined);
    assert.deepEqual(await unexplained([], early, late), []);
  });
});
