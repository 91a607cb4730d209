/** Which withdrawals by others stand against a payment of a batch, and exactly which of them an approval is about (M1). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BatchPayment } from '../../domain/batch.ts';
import { instructionOf } from '../../domain/people/instruction-shape.ts';
import type { LookAlikeApproval } from '../../domain/people/instructions.ts';
import { nameOfFound } from '../../domain/run/claims.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { Alike, LookAlikes, countsSince, ownOf, type Judging } from '../../domain/writes/look-alikes.ts';
import { approvalOf } from '../../operations/batches/look-alikes.ts';
import { hashOfTexts } from '../../language/batch/chunk-hash.ts';

const at = (text: string): number => Date.parse(`2026-${text}Z`);
const NOW = at('11-21T09:00:00');
const DAY_MS = 86_400_000;
const PAYMENTS: readonly BatchPayment[] = [
  ['anna', 'wac_1', 'EUR', '10.5'],
  ['ben', 'wac_2', 'EUR', '10.5'],
  ['cleo', 'wac_3', 'MXN', '300'],
];
const RECORD: Withdrawal = {
  id: 'wtd_1',
  currency: 'EUR',
  withdrawalAmount: '10.50',
  status: 'COMPLETED',
  withdrawalAccountId: 'wac_1',
  createdAt: '2026-10-25T09:00:00.000Z',
  tag: null,
};

const OWN = { opensAtMs: at('11-21T06:00:00'), keysAnswerSinceMs: Infinity };
const OWN_KEYS = { ...OWN, keysAnswerSinceMs: at('11-21T08:00:00') };

function judge(records: readonly Withdrawal[], more: Partial<Judging> = {}): LookAlikes {
  const alike = new Alike();
  alike.add(PAYMENTS);
  return new LookAlikes(
    {
      records: records.filter((record) => alike.has(record)),
      accounted: new Set(),
      failedWords: ['RETURNED'],
      sinceMs: NOW - 30 * DAY_MS,
      own: OWN,
      approval: null,
      ...more,
    },
    hashOfTexts,
  );
}

function lettersOf(records: readonly Withdrawal[], more: Partial<Judging> = {}): string | null {
  return judge(records, more).lettersOf(1, PAYMENTS);
}

describe('what stands against a payment', () => {
  const CASES: readonly (readonly [
    what: string,
    record: Partial<Withdrawal>,
    letters: string | null,
    more?: Partial<Judging>,
  ])[] = [
    ['one of the same account, currency and amount', {}, 'l..'],
    ['an amount is compared as a number', { withdrawalAmount: '10.5000' }, 'l..'],
    ['one that shows no account could be of any', { withdrawalAccountId: null }, 'll.'],
    ['another account', { withdrawalAccountId: 'wac_9' }, null],
    ['another amount', { withdrawalAmount: '10.51' }, null],
    ['another currency', { currency: 'USD' }, null],
    ['one with a tag is accounted for by its tag', { tag: 'p.2026-10-25.anna' }, null],
    ['one that has failed', { status: 'RETURNED' }, null],
    [
      'one that failed in the ten minutes before the batch could be paid, or later, and may be its own',
      { status: 'RETURNED', createdAt: '2026-11-21T05:50:00.000Z' },
      'l..',
    ],
    ['one that failed before that', { status: 'RETURNED', createdAt: '2026-11-21T05:49:59.999Z' }, null],
    [
      'one that has failed, and that the payment’s own key answers for',
      { status: 'RETURNED', createdAt: '2026-11-21T08:00:00.000Z' },
      null,
      { own: OWN_KEYS },
    ],
    ['one that a run of ours accounts for', {}, null, { accounted: new Set(['wtd_1']) }],
    ['one that is older than `dedupe`', { createdAt: '2026-10-22T08:59:59.000Z' }, null],
    ['one that is as old as `dedupe`', { createdAt: '2026-10-22T09:00:00.000Z' }, 'l..'],
    [
      'one that the payment’s own key answers for',
      { createdAt: '2026-11-21T08:00:00.000Z' },
      null,
      { own: OWN_KEYS },
    ],
    ['one from before that', { createdAt: '2026-11-21T07:59:59.999Z' }, 'l..', { own: OWN_KEYS }],
  ];
  for (const [what, record, letters, more] of CASES)
    test(`${what}: ${letters ?? 'nothing'}`, () => {
      assert.equal(lettersOf([{ ...RECORD, ...record }], more), letters);
    });
});

describe('an approval', () => {
  const SECOND: Withdrawal = { ...RECORD, id: 'wtd_2', withdrawalAccountId: 'wac_2' };
  const approve = (records: readonly Withdrawal[], more: Partial<Judging> = {}): LookAlikeApproval => {
    const judged = judge(records, more);
    const bounds = judged.bounds(PAYMENTS.length);
    return { ...bounds, groups: judged.groupsOf(bounds, 1, PAYMENTS) };
  };
  const approval = approve([RECORD, SECOND]);

  test('is about all that was there', () => {
    assert.equal(lettersOf([RECORD, SECOND], { approval }), 'aa.');
  });

  test('is about no other record, and holds that one’s payment alone', () => {
    const later = { ...RECORD, id: 'wtd_3', createdAt: '2026-11-21T08:00:00.000Z' };
    assert.equal(lettersOf([RECORD, SECOND, later], { approval }), 'la.');
    // One that was not listed yet.
    const late = { ...RECORD, id: 'wtd_4', createdAt: '2026-10-24T08:00:00.000Z' };
    assert.equal(lettersOf([RECORD, SECOND, late], { approval }), 'la.');
    const instead = { ...RECORD, id: 'wtd_5' };
    assert.equal(lettersOf([instead, SECOND], { approval }), 'la.');
  });

  test('is as good when one of the records fails, is accounted for, or grows too old', () => {
    const failed = { ...RECORD, status: 'RETURNED' };
    assert.equal(lettersOf([failed, SECOND], { approval }), '.a.');
    assert.equal(lettersOf([RECORD, SECOND], { approval, accounted: new Set(['wtd_2']) }), 'a..');
    assert.equal(lettersOf([RECORD, SECOND], { approval, sinceMs: approval.sinceMs + 1 }), 'aa.');
  });

  test('is about no payment of another chunk', () => {
    assert.equal(judge([RECORD, SECOND], { approval }).lettersOf(2, PAYMENTS), 'll.');
  });

  test('is never about what the payments’ own keys answer for', () => {
    const own = { ...RECORD, id: 'wtd_6', createdAt: '2026-11-21T08:30:00.000Z' };
    assert.equal(approve([RECORD, own], { own: OWN_KEYS }).untilMs, OWN_KEYS.keysAnswerSinceMs - 1);
  });

  test('of the largest batch is far below 128 KiB, and has the shape of an instruction', () => {
    const all = 100_000;
    const payments = Array.from({ length: all }, (_, index): BatchPayment => [
      `p-${index}`,
      `wac_${index}`,
      'EUR',
      '10',
    ]);
    const records = payments.map(([id, account]): Withdrawal => ({
      ...RECORD,
      id,
      withdrawalAccountId: account,
      withdrawalAmount: '10',
    }));
    const judged = judge([], { records });
    const bounds = judged.bounds(all);
    const groups = Array.from({ length: all / 500 }, (_, index) =>
      judged.groupsOf(bounds, index + 1, payments.slice(index * 500, (index + 1) * 500)),
    ).flat();
    const lookAlikes = { ...bounds, groups };
    const item = nameOfFound('look-alikes', ['wtd_1'], hashOfTexts);
    const said = { kind: 'go-on', id: 'i-1', by: 'ana', why: 'salaries', item, takesBack: null, lookAlikes };
    assert.equal(instructionOf(said).ok, true);
    assert.ok(JSON.stringify(said).length < 65_536, `${JSON.stringify(said).length}`);
    const again = new LookAlikes(
      {
        records,
        accounted: new Set(),
        failedWords: [],
        sinceMs: NOW - 30 * DAY_MS,
        own: OWN,
        approval: { ...bounds, groups },
      },
      hashOfTexts,
    );
    assert.equal(again.lettersOf(200, payments.slice(-500)), 'a'.repeat(500));
  });
});

test('own keys answer since the run’s date began, where only this API key has written since before that', () => {
  const opensAtMs = at('11-21T00:00:00');
  const since = (keyUsedSince: string | null) => ownOf({ keyUsedSince }, opensAtMs).keysAnswerSinceMs;
  assert.deepEqual(
    [since(null), since('2026-11-22'), since('2026-11-21')],
    [Infinity, Infinity, opensAtMs - 600_000],
  );
});

test('a person approves look-alikes by the name of exactly their list', () => {
  const nameOf = (...ids: readonly string[]): string => nameOfFound('look-alikes', ids, hashOfTexts);
  const name = nameOf('wtd_1', 'wtd_2');
  const by = (typed: string | null) => approvalOf({ isApproved: false, name }, typed);
  assert.equal(by(nameOf('wtd_2', 'wtd_1')), 'approved');
  for (const other of [nameOf('wtd_1'), nameOf('wtd_1', 'wtd_2', 'wtd_3'), 'look-alikes'])
    assert.equal(by(other), 'another list', other);
  assert.equal(by(null), 'not approved');
  assert.equal(approvalOf({ isApproved: true, name }, null), 'approved before');
});

test('what the batch itself may have sent counts, however short `dedupe` is', () => {
  const [opensAtMs, hourMs] = [1_000 * 3_600_000, 3_600_000];
  const own = ownOf({ keyUsedSince: null }, opensAtMs);
  assert.equal(countsSince(opensAtMs + 24 * hourMs, hourMs, own), opensAtMs - 600_000);
  assert.equal(countsSince(opensAtMs + 24 * hourMs, 48 * hourMs, own), opensAtMs - 24 * hourMs);
});
