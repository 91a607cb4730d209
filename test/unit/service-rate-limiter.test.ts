/** The pace at which requests leave: what it learns from 429, and what it must never do. Time is virtual; counts decide. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateKey } from '../../sandbox/keys.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { isDefinitive, waitMs } from '../../domain/service/reply-rules.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { parseAddress } from '../../service/address.ts';
import { createServiceClient } from '../../service/client.ts';
import { parseKey } from '../../service/key.ts';
import type { PaceClock } from '../../service/rate-limiter.ts';
import { LIMITS, MINUTE, SECOND, tooFast, windows, World } from '../support/pace.ts';
import { keyOf } from '../support/sandbox-stage.ts';
import { done, NO_ANSWER, NOT_SENT } from '../support/scripts.ts';
import { answer, makeClient, serveHttp, WIRE_CREATED_WITHDRAWAL } from '../support/service-fixture.ts';

for (const [name, perSecond, limit] of LIMITS)
  test(`one worker uses at least 90 % of ${name}, from its first request on`, async () => {
    const world = new World();
    const counts = world.work(world.limiter(), limit());
    await world.until(3 * MINUTE);
    assert.ok(counts.accepted >= 0.9 * perSecond * 180, `${counts.accepted} of ${perSecond * 180}`);
    assert.ok(counts.refused <= 0.05 * counts.accepted, `${counts.refused} refused`);
  });

for (const [name, perSecond, limit] of LIMITS.slice(0, 4))
  test(`three workers that begin one after the other use at least 85 % of ${name}, and none starves`, async () => {
    const world = new World();
    const shared = limit();
    const workers: { accepted: number }[] = [];
    for (const startMs of [0, MINUTE, 2 * MINUTE])
      world.agenda.at(startMs, () => void workers.push(world.work(world.limiter(), shared)));
    await world.until(6 * MINUTE);
    const before = workers.map(({ accepted }) => accepted);
    await world.until(9 * MINUTE);
    const later = workers.map(({ accepted }, index) => accepted - (before[index] ?? 0));
    const all = later.reduce((sum, count) => sum + count, 0);
    assert.ok(all >= 0.85 * perSecond * 180, `${all} of ${perSecond * 180}`);
    for (const count of later) assert.ok(count >= all / 9, `shares ${later.join(', ')}`);
  });

/** What a gateway refuses now and then, whatever the pace; null: it takes the request. */
function everyNth(count: number, afterSeconds: number): () => number | null {
  let asked = 0;
  return () => {
    asked += 1;
    return asked % count === 0 ? afterSeconds : null;
  };
}

for (const [count, least] of [
  [2, 0.5],
  [20, 3],
  [100, 10],
] as const)
  test(`a 429 for every request in ${count}, whatever the pace, does not bring the rate down for good`, async () => {
    const world = new World();
    const counts = world.work(world.limiter(), everyNth(count, 1));
    await world.until(5 * MINUTE);
    assert.ok(counts.accepted >= least * 300, `${counts.accepted} in five minutes`);
  });

test('one 429 among few requests holds the next ones back for its pause, and hardly longer', async () => {
  const world = new World();
  const limiter = world.limiter();
  const ask = (reply: Reply<object>): Promise<Reply<object>> =>
    limiter.run(async () => {
      await world.sleep(20);
      return reply;
    });
  const first = [ask(done({})), ask(done({})), ask(tooFast(2 * SECOND))];
  await world.until(100);
  await Promise.all(first);
  let finished = 0;
  for (let index = 0; index < 30; index += 1) void ask(done({})).then(() => (finished += 1));
  await world.until(5 * SECOND);
  assert.equal(finished, 30);
});

test('nothing limits the rate before the service says so', async () => {
  const world = new World();
  const limiter = world.limiter();
  let finished = 0;
  for (let index = 0; index < 640; index += 1)
    void limiter.run(async () => {
      await world.sleep(10);
      finished += 1;
      return done({});
    });
  await world.until(99);
  assert.equal(finished, 640 - 64);
  await world.until(100);
  assert.equal(finished, 640);
});

test('requests leave in the order in which they came, and only so many are under way', async () => {
  const world = new World();
  const limiter = world.limiter({ sideBySide: 3 });
  const left: number[] = [];
  let [underWay, most] = [0, 0];
  for (let index = 0; index < 20; index += 1)
    void limiter.run(async () => {
      left.push(index);
      underWay += 1;
      most = Math.max(most, underWay);
      await world.sleep(5 + world.dice.below(20));
      underWay -= 1;
      return index % 4 === 0 ? NO_ANSWER : done({});
    });
  await world.until(MINUTE);
  assert.deepEqual(left, [...Array.from({ length: 20 }).keys()]);
  assert.equal(most, 3);
});

/** Requests that wait behind a limit of ten a second, and in which order they left. */
function inLine(world: World): {
  readonly left: string[];
  readonly ask: (name: string, isOfBatch: boolean) => Promise<Reply<object>>;
} {
  const limiter = world.limiter();
  const limit = windows(10, SECOND);
  const left: string[] = [];
  const ask = async (name: string, isOfBatch: boolean): Promise<Reply<object>> =>
    limiter.run(
      () => {
        left.push(name);
        return world.ask(limit);
      },
      { isOfBatch },
    );
  return { left, ask };
}

test('no conversion waits for a payment of a batch that waits as well', async () => {
  const world = new World();
  const { left, ask } = inLine(world);
  for (let index = 0; index < 200; index += 1) void ask('payment', true);
  await world.until(5 * SECOND);
  for (const name of ['quote', 'trade']) {
    const before = left.length;
    const asked = ask(name, false);
    await world.until(world.agenda.nowMs + 3 * SECOND);
    assert.equal(left[before], name);
    await asked;
    assert.ok(left.length < 200, 'Payments wait.');
  }
});

test('a batch goes on, however much else there is to send', async () => {
  const world = new World();
  const { left, ask } = inLine(world);
  for (let index = 0; index < 100; index += 1) void ask('payment', true);
  await world.until(3 * SECOND);
  const before = left.length;
  for (let index = 0; index < 100; index += 1) void ask('poll', false);
  await world.until(9 * SECOND);
  const later = left.slice(before);
  const payments = later.filter((name) => name === 'payment').length;
  assert.ok(later.length > 20 && later.length < 100, `${later.length} left`);
  assert.ok(Math.abs(payments - later.length / 5) <= 1, `${payments} of ${later.length}`);
});

for (const [what, retryAfterMs, pauses] of [
  ['as long as it says', 7 * SECOND, [7, 7]],
  ['a second at least', 0, [1, 1]],
  ['ten minutes at most', 86_400 * SECOND, [600, 600]],
  ['longer each time where it does not say', null, [1, 2, 4, 8]],
] as const)
  test(`a 429 stops all requests ${what}`, async () => {
    const world = new World();
    const limiter = world.limiter({ waitAtMostMs: 3_600 * SECOND });
    const leftAt: number[] = [];
    const ask = async (): Promise<void> => {
      for (const _ of [0, ...pauses])
        await limiter.run(async () => {
          leftAt.push(world.agenda.nowMs);
          return tooFast(retryAfterMs);
        });
    };
    void ask();
    await world.until(3_600 * SECOND);
    const waited = leftAt.map((atMs, index) => atMs - (leftAt[index - 1] ?? 0)).slice(1);
    assert.equal(waited.length, pauses.length);
    for (const [index, pause] of pauses.entries())
      assert.ok((waited[index] ?? 0) >= pause * SECOND, `${waited.join(', ')} ms`);
    // What is learned from nothing but refusals is no reason to stop for good.
    for (const [index, pause] of pauses.entries())
      assert.ok((waited[index] ?? 0) <= (pause + 10) * SECOND, `${waited.join(', ')} ms`);
  });

test('a request that would wait for too long is not sent, and is told how long the pause lasts', async () => {
  const world = new World();
  const limiter = world.limiter();
  await limiter.run(async () => tooFast(600 * SECOND));
  let sent = 0;
  const replies: Reply<object>[] = [];
  const ask = () =>
    limiter
      .run(async () => {
        sent += 1;
        return done({});
      })
      .then((reply) => replies.push(reply));
  void ask();
  await world.until(100 * SECOND);
  void ask();
  await world.until(590 * SECOND);
  assert.deepEqual(
    replies.map((reply) => [reply.kind, waitMs(reply, 0)]),
    [
      ['NOT_SENT', 600 * SECOND],
      ['NOT_SENT', 500 * SECOND],
    ],
  );
  // What is left of the pause is shorter than anybody waits.
  void ask();
  await world.until(599 * SECOND);
  assert.equal(sent, 0);
  await world.until(620 * SECOND);
  assert.deepEqual([sent, replies.length], [1, 3]);
});

test('those who wait when a long pause begins are sent away at once', async () => {
  const world = new World();
  const limiter = world.limiter({ sideBySide: 1 });
  const pausing = limiter.run(async () => {
    await world.sleep(10);
    return tooFast(600 * SECOND);
  });
  const waiting = limiter.run(async () => done({}));
  await world.until(10);
  assert.equal((await pausing).kind, 'UNKNOWN');
  assert.equal((await waiting).kind, 'NOT_SENT');
});

test('a request behind too many others is not sent', async () => {
  const world = new World();
  const limiter = world.limiter({ sideBySide: 1 });
  const hanging = limiter.run(async () => {
    await world.sleep(20 * SECOND);
    return done({});
  });
  const waiting = limiter.run(async () => assert.fail('It is sent.'));
  await world.until(15 * SECOND);
  assert.equal((await waiting).kind, 'NOT_SENT');
  const later = limiter.run(async () => done({}));
  await world.until(20 * SECOND);
  assert.deepEqual([(await hanging).kind, (await later).kind], ['DONE', 'DONE']);
});

test('a call that is given up leaves the queue at once, and keeps nobody waiting', async () => {
  const world = new World();
  const limiter = world.limiter({ sideBySide: 1 });
  void limiter.run(async () => {
    await world.sleep(SECOND);
    return done({});
  });
  const call = new AbortController();
  const givenUp = limiter.run(async () => assert.fail('It is sent.'), call);
  const next = limiter.run(async () => done({}));
  call.abort();
  assert.equal((await givenUp).kind, 'NOT_SENT');
  assert.equal((await limiter.run(async () => assert.fail('It is sent.'), call)).kind, 'NOT_SENT');
  await world.until(SECOND);
  assert.equal((await next).kind, 'DONE');
});

test('a request that fails in the program, or never leaves, gives its place back', async () => {
  const world = new World();
  const limiter = world.limiter({ sideBySide: 1 });
  await assert.rejects(
    limiter.run(() => Promise.reject(new Error('broken'))),
    /broken/,
  );
  assert.equal(await limiter.run(async () => NOT_SENT), NOT_SENT);
  assert.equal((await limiter.run(async () => done({}))).kind, 'DONE');
});

test('an idle hour teaches nothing about the limit', async () => {
  const world = new World();
  const limiter = world.limiter();
  const limit = windows(100, 10 * SECOND);
  let isWanted = true;
  world.work(limiter, limit, () => isWanted);
  await world.until(3 * MINUTE);
  isWanted = false;
  await world.until(63 * MINUTE);
  const counts = world.work(limiter, limit);
  await world.until(66 * MINUTE);
  assert.ok(counts.accepted >= 0.9 * 1_800, `${counts.accepted} of 1800`);
});

/** A clock that goes forward as soon as somebody waits by it and nothing is under way. */
function impatientClock(advance: (ms: number) => void, isQuiet: () => boolean): PaceClock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    wake: (afterMs, callback) => {
      let look: NodeJS.Immediate;
      const wake = (): void => {
        if (!isQuiet()) {
          look = setImmediate(wake);
          return;
        }
        nowMs += Math.ceil(afterMs);
        advance(Math.ceil(afterMs));
        callback();
      };
      look = setImmediate(wake);
      return () => clearImmediate(look);
    },
  };
}

test('a write is asked whether it is still wanted after it has waited, and is signed then', async (t) => {
  const issuedAt: number[] = [];
  const port = await serveHttp(t, (request, response) => {
    const [, claims = ''] = (request.headers.authorization ?? '').split('.');
    issuedAt.push((JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iat: number }).iat);
    const isFirst = issuedAt.length === 1;
    const error = {
      code: 'RATE_LIMIT_EXCEEDED',
      type: 'RATE_LIMITED',
      message: '',
      retryStrategy: 'WAIT_THEN_RETRY_SAME_KEY',
      details: {},
    };
    if (isFirst) answer(request, response, 429, { error }, { 'retry-after': '12' });
    else answer(request, response, 200, { data: WIRE_CREATED_WITHDRAWAL });
  });
  let nowMs = 1_800_000_000_000;
  const paceClock = impatientClock(
    (ms) => (nowMs += ms),
    () => true,
  );
  const client = await makeClient(t, port, { timeoutMs: 15_000, clock: { now: () => nowMs }, paceClock });
  const withdraw = (whyNot: () => Promise<string | null>) =>
    client.createWithdrawal(
      { account: 'wac_1', currency: 'MXN', amount: '1.00', tag: 'a.b.c', idempotencyKey: 'k' },
      { signal: new AbortController().signal, whyNot, whyNotNow: () => null, withinMs: 3_000 },
    );
  const refused = await withdraw(async () => null);
  assert.equal(refused.kind === 'UNKNOWN' && refused.error?.code, 'RATE_LIMIT_EXCEEDED');

  const askedAtMs: number[] = [];
  const unwanted = await withdraw(async () => {
    askedAtMs.push(nowMs);
    return 'it is too late';
  });
  assert.deepEqual(unwanted, { kind: 'NOT_SENT', reason: 'it is too late' });
  assert.deepEqual([askedAtMs, issuedAt.length], [[1_800_000_012_000], 1]);

  assert.equal((await withdraw(async () => null)).kind, 'DONE');
  const [first = 0, second = 0] = issuedAt;
  assert.ok(second - first >= 12, 'its token is as old as the wait');
});

test('against the sandbox with a rate limit, every payment is made once, and few requests are refused', async (t) => {
  const key = generateKey('org/acme/apiKey/writer1');
  const sandbox = await startSandbox({
    keys: [keyOf(key)],
    balances: { MXN: '100000' },
    settings: { rateLimit: { requests: 20, windowMs: 10 * SECOND, scope: 'org' } },
  });
  t.after(() => sandbox.close());
  const startMs = sandbox.clock.freeze();
  let underWay = 0;
  const client = createServiceClient({
    baseUrl: parseAddress(sandbox.baseUrl),
    key: await parseKey(JSON.stringify({ name: key.name, privateKey: key.privateKeyPem }), 'test key'),
    mode: 'SANDBOX',
    issuer: 'service',
    timeoutMs: 15_000,
    isDefinitive,
    paceClock: impatientClock(
      (ms) => sandbox.clock.advance(ms),
      () => underWay === 0,
    ),
  });
  t.after(() => client.close());
  const pay = async (name: string): Promise<void> => {
    for (;;) {
      const payment = { account: 'wac_7Hk2mQ9vT4xR', currency: 'MXN', amount: '1.00', tag: `p.d.${name}` };
      const reply = await client.createWithdrawal(
        { ...payment, idempotencyKey: name },
        {
          signal: new AbortController().signal,
          whyNotNow: () => null,
          whyNot: async () => {
            underWay += 1;
            return null;
          },
          withinMs: 3_000,
        },
      );
      if (reply.kind !== 'NOT_SENT') underWay -= 1;
      if (reply.kind === 'DONE') return;
      assert.ok(
        reply.kind === 'NOT_SENT' ||
          (reply.kind === 'UNKNOWN' && reply.error?.code === 'RATE_LIMIT_EXCEEDED'),
      );
    }
  };
  await Promise.all(Array.from({ length: 200 }, (_, index) => pay(`item-${index}`)));
  assert.equal(sandbox.ledger().withdrawals.length, 200);
  const perWindow = new Map<number, number>();
  let refused = 0;
  for (const { at, code } of sandbox.requests()) {
    if (code !== null) refused += 1;
    else
      perWindow.set(
        Math.floor(Date.parse(at) / 10_000),
        (perWindow.get(Math.floor(Date.parse(at) / 10_000)) ?? 0) + 1,
      );
  }
  assert.ok(Math.max(...perWindow.values()) <= 20);
  // Of the 64 that are under way before a limit is known, all but 20 are refused.
  assert.ok(refused < 44 + 40, `${refused} refused`);
  assert.ok(
    sandbox.clock.now() - startMs <= 140 * SECOND,
    `${sandbox.clock.now() - startMs} ms for 200 at 2 a second`,
  );
});
