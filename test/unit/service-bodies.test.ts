/** Request bodies and idempotency keys: the same bytes for ever, and nothing ill-formed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quoteBody, type QuoteRequest, tradeBody, withdrawalBody } from '../../service/bodies.ts';
import type { ServiceInputError } from '../../service/errors.ts';
import { checkIdempotencyKey, hashKey } from '../../service/idempotency-key.ts';

const QUOTE: QuoteRequest = {
  buyCurrency: 'MXN',
  sellCurrency: 'USD',
  amount: { side: 'sell', value: '1000.00' },
  validForSeconds: 45,
  settlement: 'T0',
};
const WITHDRAWAL = {
  account: 'wac_7Hk2mQ9vT4xR',
  currency: 'MXN',
  amount: '16500.00',
  tag: 'contractors.2026-11-21.inv-1042~2',
};

test('body layout 1 is these bytes', () => {
  assert.equal(
    quoteBody(QUOTE).toString(),
    '{"buyCurrency":"MXN","sellCurrency":"USD","sellAmount":"1000.00","quoteForSeconds":45,"settlementWindow":"T0"}',
  );
  assert.equal(
    quoteBody({ ...QUOTE, amount: { side: 'buy', value: '0.5' }, settlement: 'IMMEDIATE' }).toString(),
    '{"buyCurrency":"MXN","sellCurrency":"USD","buyAmount":"0.5","quoteForSeconds":45,"settlementWindow":"IMMEDIATE"}',
  );
  assert.equal(
    tradeBody({ quoteId: 'qte_4Kd8', reference: 'mxn-supplier.2026-11-21.usd-mxn-1' }).toString(),
    '{"quoteId":"qte_4Kd8","clientReferenceId":"mxn-supplier.2026-11-21.usd-mxn-1"}',
  );
  assert.equal(
    withdrawalBody(WITHDRAWAL).toString(),
    '{"currency":"MXN","withdrawalAmount":"16500.00","withdrawalAccountId":"wac_7Hk2mQ9vT4xR","metadata":{"cambist":"contractors.2026-11-21.inv-1042~2"}}',
  );
});

test('a body does not depend on the order of the fields it is made from', () => {
  const { account, currency, amount, tag } = WITHDRAWAL;
  assert.deepEqual(withdrawalBody({ tag, amount, currency, account }), withdrawalBody(WITHDRAWAL));
});

test('an amount that the service would refuse or read in another way is never sent', () => {
  for (const amount of ['1', '0.1', '100', '0.00000001', '16500.00', '99999999999999999999.99'])
    assert.doesNotThrow(() => withdrawalBody({ ...WITHDRAWAL, amount }), amount);
  for (const amount of [
    '',
    '0',
    '0.00',
    '-1',
    '+1',
    '.5',
    '1.',
    '1e3',
    '007.50',
    '1,000',
    ' 1',
    '1 ',
    '1\n',
    'NaN',
    '١',
    '0.000000001',
    '1.2.3',
  ])
    assert.throws(() => withdrawalBody({ ...WITHDRAWAL, amount }), { code: 'BAD_AMOUNT' }, amount);
  assert.doesNotThrow(() => quoteBody({ ...QUOTE, amount: { side: 'sell', value: '0.000000001' } }));
});

test('ids, currencies and references have the form of the interface', () => {
  const accounts = [
    'wac_7Hk2',
    'abcde_1',
    'usr_1111111111111111111111',
    '0a1b2c3d-1111-4222-8333-444455556666',
  ];
  for (const account of accounts)
    assert.doesNotThrow(() => withdrawalBody({ ...WITHDRAWAL, account }), account);
  const bad: readonly (readonly [() => Buffer, ServiceInputError['code']])[] = [
    ...[
      '',
      'wac_',
      'wa_1',
      'WAC_1',
      'abcdef_1',
      'wac_11111111111111111111111',
      'wac_1/..',
      '0A1B2C3D-1111-4222-8333-444455556666',
    ].map((account) => [() => withdrawalBody({ ...WITHDRAWAL, account }), 'BAD_ID'] as const),
    ...['', 'qte_', 'tde_1', 'qte_1\n', 'qte_../x'].map(
      (quoteId) => [() => tradeBody({ quoteId, reference: 'a' }), 'BAD_ID'] as const,
    ),
    ...['usd', 'U', 'US-D', 'ABCDEFGHIJKLMNOP', ''].map(
      (currency) => [() => withdrawalBody({ ...WITHDRAWAL, currency }), 'BAD_CURRENCY'] as const,
    ),
    [() => quoteBody({ ...QUOTE, buyCurrency: 'USD' }), 'BAD_CURRENCY'],
    ...['', ' a', 'a ', 'a b', 'ä', 'a\n', 'a'.repeat(256)].map(
      (reference) => [() => tradeBody({ quoteId: 'qte_1', reference }), 'BAD_REFERENCE'] as const,
    ),
  ];
  for (const [make, code] of bad) assert.throws(make, { name: 'ServiceInputError', code });
});

test('an idempotency key is the hex SHA-256 of its material', () => {
  assert.equal(hashKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  assert.equal(hashKey('é'), '4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
  assert.equal(checkIdempotencyKey(hashKey('')), hashKey(''));
});

test('an idempotency key outside the pattern is refused', () => {
  for (const key of ['a', 'A_b-9', 'x'.repeat(255)]) assert.equal(checkIdempotencyKey(key), key);
  for (const key of ['', 'a.b', 'a:b', 'a/b', 'a b', 'a\n', 'ä', 'x'.repeat(256)])
    assert.throws(() => checkIdempotencyKey(key), { code: 'BAD_IDEMPOTENCY_KEY' }, key);
});
