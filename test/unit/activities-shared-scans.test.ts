/** One scan of the withdrawal list for all that ask at about the same moment: whom it serves, and what it proves (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitWithdrawals } from '../../activities/await-withdrawals.ts';
import { machineClock, type Joins } from '../../activities/deps.ts';
import { SharedScans } from '../../activities/shared-scans.ts';
import { isDefinitive } from '../../domain/service/reply-rules.ts';
import type { Page, Withdrawal } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { generateKey } from '../../sandbox/keys.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { parseAddress } from '../../service/address.ts';
import { createServiceClient } from '../../service/client.ts';
import { parseKey } from '../../service/key.ts';
import type { Question } from '../../service/list-scan.ts';
import type { PageRequest } from '../../service/pages.ts';
import { inActivity, worker } from '../support/activities.ts';
import { keyOf } from '../support/sandbox-stage.ts';
import { context, done, failed, NOW, WITHDRAWAL } from '../support/scripts.ts';

const HOUR_MS = 3_600_000;

/** The record that was created so many hours ago. */
const aged = (hours: number): Withdrawal => ({
  ...WITHDRAWAL,
  id: `wtd_${hours}`,
  createdAt: new Date(NOW - hours * HOUR_MS).toISOString(),
});
const all = (sinceHours: number): Question<Withdrawal> => ({
  sinceMs: NOW - sinceHours * HOUR_MS,
  wanted: () => true,
});
const only = (...hours: readonly number[]): Question<Withdrawal> => ({
  sinceMs: 0,
  wanted: ({ id }) => hours.some((each) => id === `wtd_${each}`),
});
const idsOf = ({ records }: { readonly records: readonly Withdrawal[] }) => records.map(({ id }) => id);

/** A list of one record a page, an hour between two; each page is answered when the test says so. */
class SlowList {
  /** The cursors of the pages that were asked for; null: the newest. */
  readonly asked: (string | null)[] = [];
  newest = 0;
  oldest = 5;
  status = WITHDRAWAL.status;
  /** Of the records, from the newest. */
  tags: readonly Withdrawal['tag'][] = [];
  nowMs = 0;
  /** By the clock on the wall alone. */
  laterMs = 0;
  readonly #open: (() => void)[] = [];
  readonly #timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();
  readonly scans = new SharedScans(
    { listWithdrawals: (page = {}) => this.#page(page) },
    {
      clock: {
        wallMs: () => NOW + this.nowMs + this.laterMs,
        monotonicMs: () => this.nowMs,
        wake: (afterMs, callback) => {
          const timer = { atMs: this.nowMs + afterMs, callback };
          this.#timers.add(timer);
          return () => this.#timers.delete(timer);
        },
      },
      listLagMs: 60_000,
    },
  );
  readonly signal = new AbortController().signal;
  cut: Reply<never> | Error | null = null;

  lookUp(question = all(99), signal = this.signal) {
    return this.scans.lookUp(question, signal);
  }

  poll(question = all(99), signal = this.signal, joins: Joins = 'ends with it') {
    return this.scans.poll(question, signal, { joins });
  }

  /** Whatever was to happen by then happens. */
  pass(ms: number): void {
    this.nowMs += ms;
    for (const timer of this.#timers) {
      if (timer.atMs > this.nowMs) continue;
      this.#timers.delete(timer);
      timer.callback();
    }
  }

  /** Answers so many pages, one after the other. */
  async turn(pages: number): Promise<void> {
    for (let page = 0; page < pages; page += 1) {
      await settled();
      const answer = this.#open.shift();
      assert.ok(answer !== undefined, 'no page is asked for');
      answer();
    }
    await settled();
  }

  /** Answers whatever is asked for, to the end. */
  async finish(): Promise<void> {
    for (await settled(); this.#open.length > 0; await settled()) this.#open.shift()?.();
  }

  #page({ startingAfter }: PageRequest): Promise<Reply<Page<Withdrawal>>> {
    this.asked.push(startingAfter ?? null);
    return new Promise((resolve, reject) => {
      this.#open.push(() => {
        if (this.cut instanceof Error) return reject(this.cut);
        if (this.cut !== null) return resolve(this.cut);
        const hours = startingAfter === undefined ? this.newest : Number(startingAfter);
        const nextCursor = hours === this.oldest ? null : String(hours + 1);
        const tag = this.tags[hours] === undefined ? WITHDRAWAL.tag : this.tags[hours];
        const items = [{ ...aged(hours), status: this.status, tag }];
        return resolve(done({ items, nextCursor, prevCursor: null }));
      });
    });
  }
}

/** Whatever can happen without the service has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

test('all who ask before a scan begins are served by it, each with what it asked for', async () => {
  const list = new SlowList();
  const answers = [list.lookUp(only(1)), list.lookUp(only(5, 2)), list.lookUp(only(7)), list.lookUp(all(99))];
  await list.finish();
  assert.equal(list.asked.length, 6);
  assert.deepEqual((await Promise.all(answers)).map(idsOf), [
    ['wtd_1'],
    ['wtd_2', 'wtd_5'],
    [],
    ['wtd_0', 'wtd_1', 'wtd_2', 'wtd_3', 'wtd_4', 'wtd_5'],
  ]);
});

test('a scan goes back as far as anybody asked, and who asked for less waits for no more', async () => {
  const list = new SlowList();
  const near = list.lookUp(all(1));
  const far = list.lookUp(all(3));
  await list.turn(3);
  assert.deepEqual(await near, { records: [aged(0), aged(1), aged(2)], stopped: null });
  await list.turn(2);
  assert.equal(idsOf(await far).length, 5);
  assert.equal(list.asked.length, 5, 'the sixth page is for nobody');
});

test('whoever has found all that it can want has no older page read', async () => {
  const list = new SlowList();
  const some = list.poll({ ...only(1, 3), most: 2 });
  await list.finish();
  assert.deepEqual(idsOf(await some), ['wtd_1', 'wtd_3']);
  assert.equal(list.asked.length, 4);
  const more = list.poll({ ...only(1, 4), most: 2 });
  await list.finish();
  assert.deepEqual(idsOf(await more), ['wtd_1', 'wtd_4'], 'what the scan before has not read is read');
});

test('who looks up while a scan is under way waits for the next one, which sees what is new', async () => {
  const list = new SlowList();
  const first = list.lookUp();
  await list.turn(1);
  list.newest = -1;
  const second = list.lookUp();
  const third = list.lookUp();
  await list.finish();
  assert.ok(!idsOf(await first).includes('wtd_-1'));
  for (const later of [await second, await third]) assert.ok(idsOf(later).includes('wtd_-1'));
  // The rest is known by then.
  assert.equal(list.asked.length, 6 + 3);
});

/** A list that was read whole by a look. */
async function lookedAt(): Promise<SlowList> {
  const list = new SlowList();
  const look = list.lookUp();
  await list.finish();
  assert.equal((await look).stopped, null);
  assert.equal(list.asked.length, 6);
  return list;
}

test('a look goes on where the last whole one began: one scan of a long list serves all that look later', async () => {
  const list = await lookedAt();
  const look = list.lookUp(only(0, 4));
  await list.finish();
  assert.deepEqual(await look, { records: [aged(0), aged(4)], stopped: null });
  assert.equal(list.asked.length, 6 + 2, 'the page of what may be new, and the one behind it');
});

test('what a look goes on with is there to its end, though nobody has looked for a minute when it ends', async () => {
  const list = await lookedAt();
  list.pass(59_900);
  const look = list.lookUp(only(0, 4));
  await list.turn(1);
  list.pass(1_000);
  await list.finish();
  assert.deepEqual(await look, { records: [aged(0), aged(4)], stopped: null });
  assert.equal(list.asked.length, 6 + 2);
  const next = list.lookUp(only(0, 4));
  await list.finish();
  assert.deepEqual(idsOf(await next), ['wtd_0', 'wtd_4']);
  assert.equal(list.asked.length, 6 + 2 + 2, 'it is known again');
});

test('what nobody has looked at for a minute is read anew', async () => {
  const list = await lookedAt();
  list.pass(59_999);
  const soon = list.lookUp(only(4));
  await list.finish();
  assert.deepEqual([idsOf(await soon), list.asked.length], [['wtd_4'], 6 + 2]);
  list.pass(60_000);
  const late = list.lookUp(only(4));
  await list.finish();
  assert.deepEqual([idsOf(await late), list.asked.length], [['wtd_4'], 6 + 2 + 6]);
});

test('what a list has shown late is read again, and as it stands now', async () => {
  const list = await lookedAt();
  // Two minutes old by now, and not shown before: as long as a list may lag, twice.
  list.nowMs = 120_000;
  list.status = 'RETURNED';
  const look = list.lookUp(only(0, 5));
  await list.finish();
  assert.deepEqual(
    (await look).records.map(({ id, status }) => [id, status]),
    [
      ['wtd_0', 'RETURNED'],
      ['wtd_5', WITHDRAWAL.status],
    ],
  );
});

test('whoever must know what a record has come to since has all of the list read anew', async () => {
  const list = await lookedAt();
  list.laterMs = 60_000;
  list.status = 'RETURNED';
  const statusOf = async (question: Question<Withdrawal>): Promise<unknown> => {
    const look = list.lookUp(question);
    await list.finish();
    return (await look).records[0]?.status;
  };
  assert.equal(await statusOf(only(5)), WITHDRAWAL.status);
  assert.equal(await statusOf({ ...only(5), readAfterMs: NOW }), 'RETURNED');
  const { length } = list.asked;
  // By the service's clock, and so much earlier that clocks need not agree to the second.
  assert.equal(await statusOf({ ...only(5), readAfterMs: NOW - 11_000 }), 'RETURNED');
  assert.equal(list.asked.length, length + 2, 'it has been read since');
});

test('a look that asks for older records than the last one has read reads all of it anew', async () => {
  const list = new SlowList();
  const near = list.lookUp(all(1));
  await list.finish();
  assert.equal(idsOf(await near).length, 3);
  const far = list.lookUp(all(4));
  await list.finish();
  assert.equal(idsOf(await far).length, 6);
  assert.equal(list.asked.length, 3 + 6);
});

test('a scan that was cut short, or given up, is nothing that a later look goes on with', async () => {
  const list = await lookedAt();
  // What was created since then is older than a list may lag, and no scan has read it all.
  list.laterMs = 3 * HOUR_MS;
  list.newest = -3;
  const giveUp = new AbortController();
  const given = list.lookUp(all(99), giveUp.signal);
  await settled();
  giveUp.abort();
  await list.finish();
  assert.equal((await given).stopped?.kind, 'UNKNOWN');
  list.cut = failed('INTERNAL_ERROR');
  const cut = list.lookUp();
  await list.finish();
  assert.equal((await cut).stopped, list.cut);
  list.cut = null;
  const look = list.lookUp(only(-1));
  await list.finish();
  assert.deepEqual(idsOf(await look), ['wtd_-1']);
});

test('what is known is read anew after ten minutes', async () => {
  const list = await lookedAt();
  list.nowMs = 600_001;
  const look = list.lookUp();
  await list.finish();
  assert.equal(idsOf(await look).length, 6);
  assert.equal(list.asked.length, 6 + 6);
});

test('a look for one reference is told of it in every generation, and of what carries none', async () => {
  const list = await lookedAt();
  list.tags = ['p.r.a', 'p.r.a~2', 'p.r.b', null, 'p.r.ab', 'p.r.b~9'];
  list.nowMs = 600_001;
  const whole = list.lookUp();
  await list.finish();
  await whole;
  const look = list.lookUp({ sinceMs: 0, wanted: ({ tag }) => tag !== 'p.r.b', reference: 'p.r.a' });
  await list.finish();
  assert.deepEqual(idsOf(await look).toSorted(), ['wtd_0', 'wtd_1', 'wtd_3']);
});

test('a poll joins a scan that began less than a second before, with all that it has read', async () => {
  for (const ask of ['lookUp', 'poll'] as const) {
    const list = new SlowList();
    const first = list[ask]();
    await list.turn(2);
    list.nowMs = 999;
    const joined = list.poll();
    await list.finish();
    assert.deepEqual(idsOf(await joined), idsOf(await first));
    assert.equal(list.asked.length, 6);
    const afterwards = await list.poll(only(5));
    assert.deepEqual([idsOf(afterwards), list.asked.length], [['wtd_5'], 6]);
    list.nowMs = 1_000;
    const late = list.poll();
    await list.finish();
    assert.equal(idsOf(await late).length, 6);
    assert.equal(list.asked.length, 12);
  }
});

test('a poll for what may have come back is served by no scan that began before it', async () => {
  for (const ask of ['lookUp', 'poll'] as const) {
    const list = new SlowList();
    const first = list[ask]();
    await list.turn(2);
    const poll = list.poll(all(99), list.signal, 'never');
    await list.finish();
    await Promise.all([first, poll]);
    assert.equal(list.asked.length, 6 + 6);
  }
});

const goesOn = (list: SlowList, ...hours: readonly number[]) =>
  list.poll({ ...only(...hours), most: hours.length }, list.signal, 'goes on after it');

test('a poll that goes on takes what the scan before reads, and the next one reads what is newer, and no more', async () => {
  const list = new SlowList();
  const first = list.poll();
  await list.turn(2);
  list.newest = -1;
  const going = goesOn(list, 0, 4, -1);
  await list.finish();
  assert.deepEqual(idsOf(await going), ['wtd_0', 'wtd_4', 'wtd_-1']);
  assert.equal(idsOf(await first).length, 6);
  assert.equal(list.asked.length, 6 + 1);
});

test('a poll that goes on and finds all in what was read has no page read', async () => {
  const list = new SlowList();
  const first = list.poll();
  await list.turn(2);
  const read = goesOn(list, 0, 1);
  const soon = goesOn(list, 1, 3);
  assert.deepEqual(idsOf(await read), ['wtd_0', 'wtd_1']);
  await list.turn(2);
  assert.deepEqual(idsOf(await soon), ['wtd_1', 'wtd_3']);
  await list.finish();
  await first;
  assert.deepEqual(idsOf(await goesOn(list, 5)), ['wtd_5']);
  assert.equal(list.asked.length, 6);
});

test('no scan is read further back for a poll that goes on, and what was read a second ago counts no more', async () => {
  const list = new SlowList();
  const first = list.poll({ ...only(2), most: 1 });
  await list.turn(1);
  const going = goesOn(list, 0, 4);
  await list.turn(2);
  assert.deepEqual(idsOf(await first), ['wtd_2']);
  await list.finish();
  assert.deepEqual(idsOf(await going), ['wtd_0', 'wtd_4']);
  assert.equal(list.asked.length, 3 + 5);
  list.nowMs = 1_000;
  const later = goesOn(list, 0);
  await list.finish();
  assert.deepEqual(idsOf(await later), ['wtd_0']);
  assert.equal(list.asked.length, 3 + 5 + 1);
});

test('a poll that goes on after a scan that is cut short reads by itself, and one that is given up reads nothing', async () => {
  const list = new SlowList();
  const first = list.poll();
  const controller = new AbortController();
  await settled();
  const going = goesOn(list, 0, 4);
  const givenUp = list.poll({ ...only(5), most: 1 }, controller.signal, 'goes on after it');
  controller.abort();
  assert.notEqual((await givenUp).stopped, null);
  list.cut = failed('UNKNOWN');
  await list.turn(1);
  assert.notEqual((await first).stopped, null);
  list.cut = null;
  await list.finish();
  const { records, stopped } = await going;
  assert.deepEqual([records.map(({ id }) => id), stopped], [['wtd_0', 'wtd_4'], null]);
  assert.equal(list.asked.length, 1 + 5);
});

test('a poll that asks for more than the last scan has read is served by a new one', async () => {
  const list = new SlowList();
  const near = list.poll(all(0));
  await list.finish();
  assert.equal(idsOf(await near).length, 2);
  const far = list.poll(all(2));
  await list.finish();
  assert.equal(idsOf(await far).length, 4);
  assert.equal(list.asked.length, 2 + 4);
});

test('a look before a write does not wait for a long poll', async () => {
  const list = new SlowList();
  list.oldest = 500;
  void list.poll();
  await list.turn(1);
  const look = list.lookUp(all(0));
  await list.turn(4);
  assert.equal(idsOf(await look).length, 2);
  await list.finish();
});

test('who gives up breaks nobody else’s scan, and a scan that nobody waits for ends', async () => {
  const list = new SlowList();
  const [one, other] = [new AbortController(), new AbortController()];
  const [first, second] = [list.lookUp(all(99), one.signal), list.lookUp(all(99), other.signal)];
  await list.turn(2);
  one.abort();
  const { stopped } = await first;
  assert.match(stopped?.kind === 'UNKNOWN' ? stopped.reason : '', /given up/);
  const waiting = list.lookUp(all(99), one.signal);
  assert.equal((await waiting).stopped?.kind, 'UNKNOWN');
  await list.turn(1);
  other.abort();
  assert.equal((await second).stopped?.kind, 'UNKNOWN');
  await list.finish();
  assert.equal(list.asked.length, 4);
});

test('a page that cannot be read leaves everybody without proof, but for those who had theirs', async () => {
  const list = new SlowList();
  const near = list.lookUp(all(0));
  const far = list.lookUp();
  await list.turn(1);
  const poll = list.poll();
  await list.turn(1);
  const cut = failed('INTERNAL_ERROR');
  list.cut = cut;
  await list.finish();
  assert.equal((await near).stopped, null);
  for (const answer of [await far, await poll]) assert.equal(answer.stopped, cut);
  list.cut = null;
  const again = list.poll();
  await list.finish();
  assert.equal((await again).stopped, null, 'what was cut short serves no later poll');
});

test('a fault of the program is told to all, and the next scan is made as usual', async () => {
  const list = new SlowList();
  const answers = [list.lookUp(), list.lookUp()];
  list.cut = new Error('broken');
  const told = answers.map((answer) => assert.rejects(answer, /broken/));
  await list.finish();
  await Promise.all(told);
  list.cut = null;
  const next = list.lookUp();
  await list.finish();
  assert.equal(idsOf(await next).length, 6);
});

test('an answer that takes longer than a minute is none, for whom it took so long', async () => {
  const list = new SlowList();
  list.oldest = 500;
  const first = list.lookUp();
  await list.turn(1);
  list.nowMs = 40_000;
  const second = list.lookUp(all(1));
  list.nowMs = 60_001;
  await list.turn(1);
  assert.equal((await first).stopped?.kind, 'UNKNOWN');
  await list.turn(3);
  assert.equal((await second).stopped, null);
});

test('fifty chunks that poll side by side read each page of the sandbox’s list once', async (t) => {
  const key = generateKey('org/acme/apiKey/writer1');
  const sandbox = await startSandbox({ keys: [keyOf(key)], balances: { MXN: '100000' } });
  t.after(() => sandbox.close());
  sandbox.clock.freeze(NOW);
  const client = createServiceClient({
    baseUrl: parseAddress(sandbox.baseUrl),
    key: await parseKey(JSON.stringify({ name: key.name, privateKey: key.privateKeyPem }), 'test key'),
    mode: 'SANDBOX',
    issuer: 'service',
    isDefinitive,
  });
  t.after(() => client.close());
  const payments = await Promise.all(
    Array.from({ length: 250 }, async (_, index) => {
      const id = `item-${index}`;
      const account = 'wac_7Hk2mQ9vT4xR';
      const reply = await client.createWithdrawal({
        account,
        currency: 'MXN',
        amount: '1.00',
        tag: `p.2026-11-21.${id}`,
        idempotencyKey: id,
      });
      assert.equal(reply.kind, 'DONE');
      return { id, withdrawalId: reply.kind === 'DONE' ? reply.value.id : '' };
    }),
  );
  sandbox.clock.advance(60_000);

  const clock = { ...machineClock, wallMs: () => NOW };
  const { deps } = worker({}, { clock, scans: new SharedScans(client, { clock, listLagMs: 60_000 }) });
  const poll = (chunk: number) => {
    const items = payments
      .slice(chunk * 5, chunk * 5 + 5)
      .map((payment) => ({ ...payment, paid: false, status: 'PENDING', isUnknown: false }));
    const call = { plan: context().plan, undoneIn: [], isLast: false, items };
    return inActivity({}, () => awaitWithdrawals(deps)(call));
  };
  const answers = await Promise.all(Array.from({ length: 50 }, (_, chunk) => poll(chunk)));
  for (const { ended } of answers) assert.deepEqual(new Set(ended.map(({ paid }) => paid)), new Set([true]));
  assert.equal(answers.flatMap(({ ended }) => ended).length, 250);
  const pages = sandbox.requests().filter(({ operation }) => operation === 'listWithdrawals');
  assert.equal(pages.length, 3, 'a hundred records a page');
});
