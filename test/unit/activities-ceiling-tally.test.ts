/** What a worker counts against the ceilings of a day: its own sends, also those in doubt, and what others move (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CeilingTally } from '../../activities/ceiling-tally.ts';
import type { Send } from '../../domain/writes/sent-before.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import type { Spending } from '../../domain/writes/ceilings.ts';
import { loadCeilings } from '../../language/load-ceilings.ts';
import { page } from '../support/activities.ts';
import { NOT_SENT, NOW, NO_ANSWER, TRADE, WITHDRAWAL, done, failed } from '../support/scripts.ts';

function ceilings(workers: number) {
  const loaded = loadCeilings(
    `ceilings: 1\nworkers: ${workers}\npaid: { per_day: ["1000.00 MXN"] }\ntraded: { per_day: ["1000.00 USD"] }\n`,
    'c',
  );
  assert.ok(loaded.ok && loaded.ceilings !== 'UNBOUNDED');
  return loaded.ceilings;
}

/** One service, whose list of withdrawals these workers read. */
class Office {
  readonly records: Withdrawal[] = [];
  readonly trades: Trade[] = [];
  isReadable = true;
  breaks = false;
  nowMs = NOW;
  reads = 0;
  /** So many pages of the list show nothing of it. */
  pagesBefore = 0;
  /** Nobody loses it, unless a test says so. */
  patience: Promise<unknown> = new Promise<never>(() => {});
  /** What happens between a question for the list of withdrawals and its answer. */
  meanwhile: () => Promise<void> = async () => {};

  worker(): CeilingTally {
    const startedMs = this.nowMs;
    return new CeilingTally({
      facts: DEFAULT_SERVICE_FACTS,
      wait: () => this.patience,
      clock: { wallMs: () => this.nowMs, monotonicMs: () => this.nowMs - startedMs },
      reader: {
        listTrades: async () => {
          if (this.breaks) throw new Error('It is broken.');
          return page(...this.trades);
        },
        listWithdrawals: async ({ startingAfter = '0' } = {}) => {
          this.reads += 1;
          const records = this.records.toReversed();
          await this.meanwhile();
          if (!this.isReadable) return NO_ANSWER;
          const nth = Number(startingAfter);
          return nth < this.pagesBefore
            ? done({ items: [], nextCursor: String(nth + 1), prevCursor: null })
            : page(...records);
        },
      },
    });
  }

  /** A worker that has been there for long enough. */
  settled(): CeilingTally {
    const worker = this.worker();
    this.nowMs += 600_000;
    return worker;
  }

  made(reference: string | null, amount: string, more: Partial<Withdrawal> = {}): Withdrawal {
    const record = {
      ...WITHDRAWAL,
      id: `wtd_${this.records.length + 1}`,
      tag: reference,
      withdrawalAmount: amount,
      createdAt: new Date(this.nowMs).toISOString(),
      ...more,
    };
    this.records.push(record);
    return record;
  }
}

const spent = (value: string): Spending => ({
  kind: 'paid',
  policy: 'p',
  account: WITHDRAWAL.withdrawalAccountId,
  amounts: [{ value, currency: 'MXN' }],
});
const ref = (item: string): string => `p.2026-11-21.${item}`;

const pay = (item: string, amount: string, more: Partial<Spending> = {}): Send => ({
  reference: ref(item),
  quoteId: null,
  spending: { ...spent(amount), ...more },
});

async function takes(worker: CeilingTally, item: string, amount: string, workers = 1): Promise<boolean> {
  return (await worker.take(ceilings(workers), pay(item, amount), true)) === null;
}

test('what is sent counts at once and once, also in doubt; a refusal and what never left count no more', async () => {
  const worker = new Office().settled();
  assert.ok(await takes(worker, 'a', '600'));
  assert.ok(!(await takes(worker, 'b', '400.01')));
  assert.ok(await takes(worker, 'a', '600'), 'the same send again');
  worker.told(pay('a', '600'), NO_ANSWER);
  worker.told(pay('a', '600'), failed('WITHDRAWAL_ADDRESS_NOT_FOUND', {}));
  assert.ok(
    !(await takes(worker, 'b', '400.01')),
    'a refusal of a later send proves nothing about an earlier one',
  );
  assert.ok(await takes(worker, 'b', '400'));
  for (const reply of [failed('WITHDRAWAL_ADDRESS_NOT_FOUND', {}), NOT_SENT]) {
    worker.told(pay('b', '400'), reply);
    assert.ok(await takes(worker, 'b', '400'));
  }
});

test('many sends at the same moment do not pass a ceiling together', async () => {
  const worker = new Office().settled();
  const taken = await Promise.all(['a', 'b', 'c', 'd'].map((item) => takes(worker, item, '300')));
  assert.equal(taken.filter(Boolean).length, 3);
});

test('of two sends under one key, the refusal of one says nothing about the other', async () => {
  const worker = new Office().settled();
  assert.ok(await takes(worker, 'a', '600'));
  assert.ok(await takes(worker, 'a', '600'), 'another attempt of the same send');
  worker.told(pay('a', '600'), NOT_SENT);
  assert.ok(!(await takes(worker, 'b', '400.01')), 'the other one is under way');
  worker.told(pay('a', '600'), NO_ANSWER);
  assert.ok(!(await takes(worker, 'b', '400.01')));
});

test('another amount under the same reference is counted anew, since an earlier send may never have arrived', async () => {
  const worker = new Office().settled();
  assert.ok(await takes(worker, 'a', '1'));
  worker.told(pay('a', '1'), NO_ANSWER);
  assert.ok(!(await takes(worker, 'a', '1000')));
  assert.ok(await takes(worker, 'a', '1.00'), 'the same amount');
});

test('what the service showed at the start passes as it was, with no other amount, account or quote', async () => {
  const office = new Office();
  office.made(ref('a'), '700');
  office.made(ref('b'), '300', { withdrawalAccountId: null });
  office.trades.push({
    ...TRADE,
    clientReferenceId: ref('leg-1'),
    quoteId: 'qte_1',
    createdAt: new Date(NOW).toISOString(),
  });
  const worker = office.settled();
  assert.ok(await takes(worker, 'a', '700.00'));
  assert.ok(!(await takes(worker, 'a', '700.01')));
  assert.ok(await takes(worker, 'b', '300'), 'a record without an account');
  assert.notEqual(await worker.take(ceilings(1), pay('a', '700', { account: 'wac_2' }), true), null);
  const trades = async (item: string, quoteId: string) => {
    const amounts = [{ value: '1000', currency: 'USD' }];
    const traded = { ...pay(item, '700', { kind: 'traded', account: null, amounts }), quoteId };
    return (await worker.take(ceilings(1), traded, true)) === null;
  };
  assert.ok(await trades('leg-1', 'qte_1'));
  assert.ok(!(await trades('leg-1', 'qte_2')));
  assert.ok(!(await trades('a', 'qte_1')), 'the reference of a payment');
});

test('what the service showed at the start passes for as long as it keeps the key, and not longer', async () => {
  const office = new Office();
  office.made(ref('a'), '1000');
  const worker = office.settled();
  assert.ok(!(await takes(worker, 'b', '1')));
  office.nowMs = NOW + 5 * 86_400_000;
  assert.ok(await takes(worker, 'b', '1000'));
  assert.ok(await takes(worker, 'a', '1000'));
  office.nowMs = NOW + 7 * 86_400_000;
  assert.ok(await takes(worker, 'b', '600'));
  assert.ok(!(await takes(worker, 'a', '1000')));
});

test('what left while there were no ceilings counts once the lists must show it', async () => {
  const office = new Office();
  const worker = office.settled();
  worker.leftUncounted();
  const early = await worker.take(ceilings(1), pay('b', '1'), true);
  assert.equal(early?.code, 'CEILING_UNKNOWN');
  office.made(ref('a'), '700');
  office.nowMs += 600_000;
  assert.ok(!(await takes(worker, 'b', '300.01')));
});

test('a list that fails with an exception is asked again, as one that cannot be read', async () => {
  const office = new Office();
  const worker = office.settled();
  office.breaks = true;
  const told = await worker.take(ceilings(1), pay('a', '1'), true);
  assert.equal(told?.code, 'CEILING_UNKNOWN');
  office.breaks = false;
  assert.ok(await takes(worker, 'a', '1'));
});

test('two workers keep it together, each by its share', async () => {
  const office = new Office();
  const [one, other] = [office.settled(), office.settled()];
  assert.ok(await takes(one, 'a', '500', 2));
  assert.ok(await takes(other, 'b', '500', 2));
  assert.ok(!(await takes(one, 'c', '0.01', 2)));
  assert.ok(!(await takes(other, 'd', '0.01', 2)));
});

test('after its start a worker waits until the lists show what it may have sent, and then counts that', async () => {
  const office = new Office();
  const first = office.settled();
  assert.ok(await takes(first, 'a', '700'));
  first.told(pay('a', '700'), done(office.made(ref('a'), '700')));
  const again = office.worker();
  const early = await again.take(ceilings(1), pay('b', '1'), true);
  assert.equal(early?.code, 'CEILING_UNKNOWN');
  assert.match(early.why, /has just begun to count, and waits/);
  office.nowMs += 600_000;
  assert.ok(!(await takes(again, 'b', '300.01')));
  assert.ok(await takes(again, 'b', '300'));
  assert.ok(await takes(again, 'a', '700'), 'what the service shows is sent again under its key');
});

test('what other tools move takes from the ceiling, failed records do not, and a record of its own counts once', async () => {
  const office = new Office();
  const worker = office.settled();
  office.made(null, '100');
  office.made(null, '900', { status: 'FAILED' });
  office.made('another tool', '100');
  assert.ok(!(await takes(worker, 'a', '800.01')));
  assert.ok(await takes(worker, 'a', '400'));
  // The service shows no tag.
  const record = office.made(null, '400');
  office.nowMs += 61_000;
  assert.ok(!(await takes(worker, 'b', '400')), 'nobody knows yet whose it is');
  worker.told(pay('a', '400'), done(record));
  assert.ok(await takes(worker, 'b', '400'));
});

test('what other tools move under references with dots is theirs, and counts', async () => {
  const office = new Office();
  const worker = office.settled();
  assert.ok(await takes(worker, 'a', '1'));
  office.made('payroll.november.42', '500');
  office.made('erp.2026.42', '300');
  office.nowMs += 61_000;
  assert.ok(!(await takes(worker, 'b', '199.01')));
  assert.ok(await takes(worker, 'b', '199'));
});

test('where the lists cannot be read nothing leaves, and they are asked again', async () => {
  const office = new Office();
  const worker = office.settled();
  office.isReadable = false;
  assert.ok(!(await takes(worker, 'a', '1')));
  office.isReadable = true;
  assert.ok(await takes(worker, 'a', '1'));
});

test('a ceiling is one of a day in UTC; what is sent near midnight counts on both days', async () => {
  const office = new Office();
  const worker = office.settled();
  office.nowMs = Date.parse('2026-11-21T23:59:00Z');
  assert.ok(await takes(worker, 'a', '900'));
  office.nowMs = Date.parse('2026-11-22T00:10:00Z');
  assert.ok(!(await takes(worker, 'b', '100.01')));
  office.nowMs = Date.parse('2026-11-23T00:10:00Z');
  assert.ok(await takes(worker, 'b', '1000'));
});

test('what is in doubt counts on each day on which it leaves, since its record may be made then; what was made counts once', async () => {
  const office = new Office();
  const worker = office.settled();
  for (const item of ['lost', 'made']) assert.ok(await takes(worker, item, '300'));
  worker.told(pay('lost', '300'), NO_ANSWER);
  worker.told(pay('made', '300'), done(WITHDRAWAL));
  office.nowMs = Date.parse('2026-11-22T10:00:00Z');
  for (const item of ['lost', 'made']) assert.ok(await takes(worker, item, '300'));
  assert.ok(!(await takes(worker, 'b', '700.01')));
  assert.ok(await takes(worker, 'b', '700'));
});

test('a hundred sends read the lists once', async () => {
  const office = new Office();
  const worker = office.settled();
  for (let number = 0; number < 100; number += 1) {
    // One after the other.
    assert.ok(await takes(worker, `n${number}`, '1'));
  }
  assert.equal(office.reads, 1);
});

test('a send does not wait for a long reading; it goes on, and the next send finds what it has read', async () => {
  const office = new Office();
  office.made(ref('a'), '700');
  const worker = office.settled();
  let go = (): void => {};
  office.meanwhile = () => new Promise((resolve) => (go = resolve));
  office.patience = Promise.resolve();
  const told = await worker.take(ceilings(1), pay('b', '1'), true);
  assert.equal(told?.code, 'CEILING_UNKNOWN');
  assert.match(told.why, /are still being read/);
  go();
  office.patience = new Promise<never>(() => {});
  assert.ok(!(await takes(worker, 'b', '300.01')));
  assert.ok(await takes(worker, 'b', '300'));
  assert.equal(office.reads, 1);
});

test('a list that is longer than what is read at a time counts nothing before its end', async () => {
  const office = new Office();
  office.made(ref('a'), '700');
  office.pagesBefore = 2_000;
  const worker = office.settled();
  const told = await worker.take(ceilings(1), pay('b', '1'), true);
  assert.match(told?.why ?? '', /are still being read/);
  assert.ok(!(await takes(worker, 'b', '300.01')));
  assert.ok(await takes(worker, 'b', '300'));
});

test('a reading that took longer than it counts is brought up to date before it counts', async () => {
  const office = new Office();
  const worker = office.settled();
  office.meanwhile = async () => {
    office.meanwhile = async () => {};
    office.nowMs += 90_000;
    office.made('another tool', '900');
  };
  assert.ok(!(await takes(worker, 'a', '100.01')));
  assert.equal(office.reads, 2);
});
