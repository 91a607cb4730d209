// Faults: what each effect does to the reply, to the key and to the money, and which requests are hit.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startSandbox } from '../../sandbox/server.ts';
import type { FaultEffect, SandboxFault } from '../../sandbox/server.ts';
import { signerFor } from '../support/sandbox-signer.ts';
import type { Stage } from '../support/sandbox-stage.ts';
import { acmeKey, assertDone, assertRefused, keyOf, stage } from '../support/sandbox-stage.ts';

/** Strikes the first withdrawal only. */
const once = (effect: FaultEffect): SandboxFault => ({ operation: 'createWithdrawal', nth: 1, effect });

const booked = ({ sandbox }: Stage): number => sandbox.ledger().withdrawals.length;

test('lose-reply books the write and answers nothing; the same key then replays it', async (t) => {
  const on = await stage(t);
  const fault = on.sandbox.addFault(once({ kind: 'lose-reply' }));
  await assert.rejects(on.withdraw({}, 'k'), { code: 'ECONNRESET' });
  assert.equal(booked(on), 1);
  const again = await on.withdraw({}, 'k');
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.equal(again.at('data.id'), on.sandbox.ledger().withdrawals[0]?.['id']);
  assert.equal(booked(on), 1);
  assert.equal(on.sandbox.faults().find(({ id }) => id === fault)?.hits, 1);
  assert.deepEqual(
    on.sandbox.requests().map(({ outcome, status, faults }) => ({ outcome, status, faults })),
    [
      { outcome: 'lost', status: null, faults: [fault] },
      { outcome: 'replied', status: 200, faults: [] },
    ],
  );
});

test('close-before does nothing at all; the same key is fresh', async (t) => {
  const on = await stage(t);
  on.sandbox.addFault(once({ kind: 'close-before' }));
  await assert.rejects(on.withdraw({}, 'k'), { code: 'ECONNRESET' });
  assert.equal(booked(on), 0);
  assert.equal((await on.withdraw({}, 'k')).headers['idempotency-replayed'], 'false');
});

test('connections are counted: the most that were open side by side', async (t) => {
  const on = await stage(t);
  assert.equal(on.sandbox.mostConnections(), 0);
  const held = on.sandbox.addFault({ operation: 'createWithdrawal', effect: { kind: 'hold' } });
  const answers = Promise.all(['a', 'b', 'c'].map((key) => on.withdraw({}, key)));
  await on.sandbox.faultHit(held, 3);
  assert.equal(on.sandbox.mostConnections(), 3);
  on.sandbox.clearFaults(held);
  await answers;
  await on.withdraw({}, 'd');
  assert.equal(on.sandbox.mostConnections(), 3);
});

test('a request that is held and never answered is held first', async (t) => {
  const on = await stage(t);
  const held = on.sandbox.addFault(once({ kind: 'hold', when: 'before' }));
  on.sandbox.addFault(once({ kind: 'close-before' }));
  const answer = assert.rejects(on.withdraw({}, 'k'), { code: 'ECONNRESET' });
  await on.sandbox.faultHit(held);
  assert.equal(on.sandbox.releaseFaults(held), 1);
  await answer;
});

test('cut-body books the write and breaks off in the middle of the reply', async (t) => {
  const on = await stage(t);
  on.sandbox.addFault(once({ kind: 'cut-body' }));
  await assert.rejects(on.withdraw({}, 'k'), (error: { code?: string; partial?: string }) => {
    assert.equal(error.code, 'ECONNRESET');
    assert.match(error.partial ?? '', /^\{"data":\{"object":"withdrawal",.*[^}]$/);
    return true;
  });
  assert.equal(on.sandbox.requests().at(-1)?.outcome, 'cut');
  assert.equal((await on.withdraw({}, 'k')).headers['idempotency-replayed'], 'true');
  assert.equal(booked(on), 1);
});

test('delay waits before or after the booking', async (t) => {
  for (const when of ['before', 'after'] as const) {
    const on = await stage(t);
    const fault = on.sandbox.addFault(once({ kind: 'delay', ms: 600_000, when }));
    const answer = on.withdraw();
    await on.sandbox.faultHit(fault);
    // The booking, if it comes first, comes in the same turn as the hit or in the one of the next request.
    assertDone(await on.client.get('/fx/pairs'));
    assert.equal(booked(on), when === 'before' ? 0 : 1);
    assert.equal(on.sandbox.releaseFaults(fault), 1);
    assertDone(await answer);
  }
  const on = await stage(t);
  on.sandbox.addFault(once({ kind: 'delay', ms: 30 }));
  const started = performance.now();
  assertDone(await on.withdraw());
  assert.ok(performance.now() - started >= 29);
});

test('error answers with any code, status, body and headers, before or after the booking', async (t) => {
  const cases: readonly (readonly [
    effect: Omit<Extract<FaultEffect, { kind: 'error' }>, 'kind'>,
    first: string,
    booked: number,
    second: string,
  ])[] = [
    [{ code: 'WITHDRAWAL_INITIATION_FAILED' }, '500 WITHDRAWAL_INITIATION_FAILED', 0, '200 fresh'],
    [
      { code: 'WITHDRAWAL_INITIATION_FAILED', committed: true },
      '500 WITHDRAWAL_INITIATION_FAILED',
      1,
      '200 replayed',
    ],
    [{ code: 'INTERNAL_ERROR', stored: true }, '500 INTERNAL_ERROR', 0, '500 replayed'],
    [{ code: 'INTERNAL_ERROR', stored: true, committed: true }, '500 INTERNAL_ERROR', 1, '500 replayed'],
    [
      { code: 'WITHDRAWAL_PENDING_DEPOSIT_REQUIRED' },
      '409 WITHDRAWAL_PENDING_DEPOSIT_REQUIRED',
      0,
      '409 replayed',
    ],
    [{ code: 'INVALID_ORGANIZATION' }, '400 INVALID_ORGANIZATION', 0, '200 fresh'],
    [{ code: 'SOMETHING_NEW', status: 409 }, '409 SOMETHING_NEW', 0, '409 replayed'],
    [{ status: 504, body: '' }, '504 undefined', 0, '200 fresh'],
    [
      { status: 503, body: { error: { code: 'X' } }, headers: { 'Retry-After': '7' } },
      '503 X',
      0,
      '200 fresh',
    ],
  ];
  for (const [effect, first, count, second] of cases) {
    const on = await stage(t);
    on.sandbox.addFault(once({ kind: 'error', ...effect }));
    const refused = await on.withdraw({}, 'k');
    assert.equal(`${refused.status} ${String(refused.at('error.code'))}`, first);
    if (effect.headers !== undefined) assert.equal(refused.headers['retry-after'], '7');
    assert.equal(booked(on), count, first);
    const again = await on.withdraw({}, 'k');
    const replayed = again.headers['idempotency-replayed'] === 'true' ? 'replayed' : 'fresh';
    assert.equal(`${again.status} ${replayed}`, second, first);
    const total = second === '200 fresh' || count === 1 ? 1 : 0;
    assert.equal(booked(on), total, first);
  }
});

test('stored-failure keeps a 500 under the key whether or not the write was booked', async (t) => {
  for (const committed of [true, false]) {
    const on = await stage(t);
    on.sandbox.addFault(once({ kind: 'stored-failure', committed, timeoutMs: 5_000 }));
    const failed = await on.withdraw({}, 'k');
    assertRefused(failed, 500, 'WITHDRAWAL_INITIATION_FAILED');
    assert.equal(failed.at('error.retryStrategy'), 'CHECK_STATE_THEN_RETRY');
    assert.equal(failed.at('error.details.timeoutMs'), 5_000);
    const again = await on.withdraw({}, 'k');
    assert.deepEqual([again.status, again.headers['idempotency-replayed']], [500, 'true']);
    const found = await on.client.get(`/fx/withdrawals/${failed.textAt('error.details.resourceId')}`);
    assert.equal(found.status, committed ? 200 : 404);
    assert.equal(booked(on), committed ? 1 : 0);
  }
});

test('late-commit books after the reply; the key is in flight, free, or keeps the failure', async (t) => {
  for (const key of ['in-flight', 'free', 'stored'] as const) {
    for (const reply of ['lost', '500'] as const) {
      const on = await stage(t);
      on.sandbox.clock.freeze();
      on.sandbox.addFault(once({ kind: 'late-commit', ms: 30_000, key, reply }));
      if (reply === 'lost') await assert.rejects(on.withdraw({}, 'k'), { code: 'ECONNRESET' });
      else assertRefused(await on.withdraw({}, 'k'), 500, 'WITHDRAWAL_INITIATION_FAILED');
      on.sandbox.clock.advance(29_999);
      assert.equal(booked(on), 0);
      const meanwhile = await on.withdraw({}, 'k');
      assert.equal(meanwhile.status, { 'in-flight': 409, free: 200, stored: 500 }[key]);
      on.sandbox.clock.advance(1);
      assert.equal(booked(on), 1, 'a key that has succeeded meanwhile is not booked again');
      const after = await on.withdraw({}, 'k');
      assert.equal(after.status, key === 'stored' ? 500 : 200);
      assert.equal(after.headers['idempotency-replayed'], 'true');
      if (key === 'in-flight') {
        assert.equal(after.at('data.createdAt'), new Date(on.sandbox.clock.now()).toISOString());
      }
    }
  }
});

test('a trade that is booked late outlives its quote, and a refusal is still a refusal', async (t) => {
  const on = await stage(t);
  const fault: SandboxFault = { operation: 'createTrade', effect: { kind: 'late-commit', ms: 10_000 } };
  on.sandbox.addFault(fault);
  assertRefused(await on.trade('qte_none'), 404, 'QUOTE_NOT_FOUND');
  const quoteId = await on.quote({ quoteForSeconds: 3 });
  await assert.rejects(on.trade(quoteId, 'late'));
  on.sandbox.clock.advance(5_000);
  assertRefused(await on.trade(quoteId, 'late'), 409, 'QUOTE_EXPIRED');
  on.sandbox.clock.advance(5_000);
  assert.equal(on.sandbox.ledger().trades[0]?.['clientReferenceId'], 'late');
});

test('html is a page of a gateway, without the headers of the service', async (t) => {
  for (const committed of [false, true]) {
    const on = await stage(t);
    on.sandbox.addFault(once({ kind: 'html', status: 504, committed }));
    const page = await on.withdraw({}, 'k');
    assert.equal(page.status, 504);
    assert.equal(page.headers['content-type'], 'text/html');
    assert.equal(page.headers['x-trace-id'], undefined);
    assert.equal(booked(on), committed ? 1 : 0);
    assert.equal((await on.withdraw({}, 'k')).headers['idempotency-replayed'], `${committed}`);
  }
});

test('rate-limit refuses some requests before they are looked at', async (t) => {
  const on = await stage(t);
  on.sandbox.addFault({ operation: '*', times: 2, effect: { kind: 'rate-limit', retryAfter: 3 } });
  for (const answer of [await on.withdraw({}, 'k'), await on.client.get('/fx/pairs')]) {
    assertRefused(answer, 429, 'RATE_LIMIT_EXCEEDED');
    assert.equal(answer.headers['retry-after'], '3');
    assert.equal(answer.at('error.retryStrategy'), 'WAIT_THEN_RETRY_SAME_KEY');
  }
  assert.equal((await on.withdraw({}, 'k')).headers['idempotency-replayed'], 'false');
});

test('status answers a booked write with another status or body', async (t) => {
  const on = await stage(t);
  on.sandbox.addFault(once({ kind: 'status', status: 202 }));
  on.sandbox.addFault({
    operation: 'createWithdrawal',
    nth: 2,
    effect: { kind: 'status', body: '{"data":' },
  });
  const accepted = await on.withdraw({}, 'a');
  assert.equal(accepted.status, 202);
  assert.match(accepted.textAt('data.id'), /^wtd_/);
  const garbage = await on.withdraw({}, 'b');
  assert.deepEqual([garbage.status, garbage.text], [200, '{"data":']);
  assert.equal(booked(on), 2);
  assert.equal((await on.withdraw({}, 'b')).at('data.object'), 'withdrawal', 'the key keeps the true reply');
});

test('word ends a record with another status, its money moved, returned or kept', async (t) => {
  const ends = [
    ['moved', '99000'],
    ['returned', '100000'],
    ['kept', '100000'],
  ] as const;
  for (const [money, total] of ends) {
    const on = await stage(t);
    on.sandbox.addFault(once({ kind: 'word', word: 'ODD', money }));
    assert.equal((await on.withdraw()).at('data.status'), 'PENDING');
    on.sandbox.clock.advance(5_000);
    assert.equal((await on.client.get('/fx/withdrawals')).at('data.0.status'), 'ODD');
    assert.equal(on.sandbox.ledger().balances['MXN']?.total, total, money);
    assert.equal(on.sandbox.ledger().balances['MXN']?.accounts.reserved, money === 'kept' ? '1000' : '0');
  }
  const on = await stage(t);
  const before = on.sandbox.ledger().balances;
  on.sandbox.addFault({
    operation: 'createTrade',
    effect: { kind: 'word', word: 'FAILED', money: 'returned' },
  });
  assertDone(await on.trade(await on.quote()));
  on.sandbox.clock.advance(5_000);
  assert.equal((await on.client.get('/fx/trades')).at('data.0.status'), 'FAILED');
  assert.deepEqual(on.sandbox.ledger().balances, before);
});

test('list-lag keeps one record out of lists for a while', async (t) => {
  const on = await stage(t);
  on.sandbox.clock.freeze();
  on.sandbox.addFault(once({ kind: 'list-lag', ms: 60_000, byId: true }));
  const hidden = (await on.withdraw()).textAt('data.id');
  const shown = (await on.withdraw()).textAt('data.id');
  const ids = async (): Promise<string[]> =>
    ((await on.client.get('/fx/withdrawals')).at('data') as { id: string }[]).map(({ id }) => id);
  assert.deepEqual(await ids(), [shown]);
  assert.equal((await on.client.get(`/fx/withdrawals/${hidden}`)).status, 404);
  on.sandbox.clock.advance(60_000);
  assert.deepEqual(await ids(), [shown, hidden]);
  assert.equal((await on.client.get(`/fx/withdrawals/${hidden}`)).status, 200);
});

test('faults on reads change the reply only', async (t) => {
  const on = await stage(t);
  on.sandbox.addFault({ operation: 'listTrades', nth: 1, effect: { kind: 'lose-reply' } });
  on.sandbox.addFault({ operation: 'listTrades', nth: 2, effect: { kind: 'error', code: 'INTERNAL_ERROR' } });
  on.sandbox.addFault({ operation: 'listTrades', nth: 3, effect: { kind: 'html' } });
  on.sandbox.addFault({ operation: 'listTrades', nth: 4, effect: { kind: 'cut-body' } });
  await assert.rejects(on.client.get('/fx/trades'));
  assertRefused(await on.client.get('/fx/trades'), 500, 'INTERNAL_ERROR');
  assert.equal((await on.client.get('/fx/trades')).status, 502);
  await assert.rejects(on.client.get('/fx/trades'));
  assertDone(await on.client.get('/fx/trades'));
});

test('a fault strikes the requests it names: nth, every, times, chance, currency, account, reference', async (t) => {
  const effect: FaultEffect = { kind: 'error', status: 418, body: '' };
  const cases: readonly (readonly [
    fault: Omit<SandboxFault, 'operation' | 'effect'>,
    struck: readonly number[],
  ])[] = [
    [{}, [1, 2, 3, 4, 5, 6]],
    [{ nth: 2 }, [2]],
    [{ nth: [1, 4] }, [1, 4]],
    [{ every: 3 }, [3, 6]],
    [{ times: 2 }, [1, 2]],
    [{ every: 2, times: 1 }, [2]],
    [{ probability: 0 }, []],
    [{ probability: 1, times: 3 }, [1, 2, 3]],
    [{ when: { currency: 'MXN' } }, [1, 2, 3, 4, 5, 6]],
    [{ when: { currency: 'EUR' } }, []],
    [{ when: { account: 'wac_7Hk2mQ9vT4xR' }, nth: 1 }, [1]],
    [{ when: { account: 'wac_else' } }, []],
    [{ when: { reference: 'item-3' } }, [3]],
    [{ when: { reference: 'item-*' }, nth: 6 }, [6]],
    [{ when: { reference: 'other-*' } }, []],
  ];
  for (const [fault, expected] of cases) {
    const on = await stage(t);
    on.sandbox.addFault({ operation: 'createWithdrawal', effect, ...fault });
    const struck: number[] = [];
    for (let item = 1; item <= 6; item += 1) {
      const answer = await on.withdraw({ withdrawalAmount: '1', metadata: { ref: `item-${item}` } });
      if (answer.status === 418) struck.push(item);
    }
    assert.deepEqual(struck, expected, JSON.stringify(fault));
    assert.equal(on.sandbox.faults()[0]?.hits, expected.length);
  }
});

test('the dice of a seed fall the same way every time', async () => {
  const run = async (seed: string): Promise<string> => {
    const sandbox = await startSandbox({
      seed,
      keys: [keyOf(acmeKey)],
      faults: [
        { id: 'half', operation: 'listPairs', probability: 0.5, effect: { kind: 'error', status: 500 } },
      ],
    });
    const client = signerFor(sandbox.baseUrl, acmeKey);
    let falls = '';
    for (let item = 0; item < 20; item += 1)
      falls += (await client.get('/fx/pairs')).status === 500 ? '1' : '0';
    await sandbox.close();
    return falls;
  };
  const falls = await run('a');
  assert.equal(await run('a'), falls);
  assert.notEqual(await run('b'), falls);
  assert.match(falls, /1.*0|0.*1/);
});

test('a trade is found by the currencies of its quote and by its reference', async (t) => {
  const on = await stage(t);
  on.sandbox.addFault({
    operation: 'createTrade',
    when: { currency: 'MXN', reference: 'leg-*' },
    effect: { kind: 'error', code: 'TRADE_EXECUTION_FAILED' },
  });
  assertRefused(await on.trade(await on.quote(), 'leg-1'), 500, 'TRADE_EXECUTION_FAILED');
  assertDone(await on.trade(await on.quote(), 'other'));
  assertDone(await on.trade(await on.quote({ buyCurrency: 'EUR' }), 'leg-2'));
});

test('requests that are not authentic are neither counted nor struck', async (t) => {
  const on = await stage(t);
  on.sandbox.addFault({ operation: 'listPairs', nth: 1, effect: { kind: 'close-before' } });
  assert.equal((await on.client.get('/fx/pairs', { signedPath: '/x' })).status, 401);
  await assert.rejects(on.client.get('/fx/pairs'));
});

test('a fault that makes no sense is refused with the reason', async (t) => {
  const { sandbox } = await stage(t);
  const cases: readonly (readonly [fault: unknown, message: RegExp])[] = [
    [{ operation: 'createTrade' }, /lacks "effect"/],
    [{ operation: 'pay', effect: { kind: 'html' } }, /operation is "pay"/],
    [{ operation: '*', effect: { kind: 'explode' } }, /kind is "explode".*lose-reply/],
    [{ operation: '*', effect: { kind: 'html', colour: 1 } }, /no field "colour"/],
    [{ operation: '*', effect: { kind: 'html' }, evry: 2 }, /no field "evry"; its fields are .*every/],
    [{ operation: '*', effect: { kind: 'error' } }, /lacks "code" or "status"/],
    [{ operation: '*', effect: { kind: 'error', code: 'NOPE' } }, /not in the catalogue/],
    [{ operation: '*', effect: { kind: 'html', status: 42 } }, /from 200 to 599/],
    [{ operation: 'listPairs', effect: { kind: 'late-commit', ms: 1 } }, /means nothing for "listPairs"/],
    [
      { operation: '*', effect: { kind: 'error', status: 500, headers: { 'a b': 'c' } } },
      /cannot be a header/,
    ],
    [{ operation: '*', nth: 0, effect: { kind: 'html' } }, /nth/],
    [{ operation: '*', probability: 2, effect: { kind: 'html' } }, /from 0 to 1/],
  ];
  for (const [fault, message] of cases)
    assert.throws(() => sandbox.addFault(fault as SandboxFault), { message });
  assert.deepEqual(sandbox.faults(), []);
});
