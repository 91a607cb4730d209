/** What `--pay-again` opens: which payments are meant by `all-failed`, and how what a person says is kept (M1, M2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { payAgainLines } from '../../cli/views/pay-again-text.ts';
import { NOTHING_KEPT, type PaidAgain } from '../../domain/people/instructions.ts';
import type { ReportPayment } from '../../domain/run/report.ts';
import { nextStart } from '../../domain/run/next-start.ts';
import { readWithdrawals } from '../../operations/decide/decisions.ts';
import { goesOnWith, instructionsFor } from '../../operations/decide/pay-again.ts';
import { hashOfList } from '../../language/batch/chunk-hash.ts';
import { mayBeAskedAgain, whyAgain } from '../../operations/decide/payable-again.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { RUN, WITHDRAWAL, done } from '../support/scripts.ts';

const failedWords = ['FAILED', 'RETURNED'];
const RETURNED = { id: 'wtd_1', status: 'RETURNED' };
const STANDS = { id: 'wtd_1', status: 'COMPLETED' };

test('only what has ended may be paid again', () => {
  const outcomes = ['PAID', 'NOT_PAID', 'PENDING', 'NEEDS_HUMAN'] as const;
  assert.deepEqual(
    outcomes.filter((outcome) => mayBeAskedAgain({ outcome })),
    ['PAID', 'NOT_PAID'],
  );
});

test('all that has failed is what the service says so of, and what lies behind its window', () => {
  const why = (withdrawalId: string | null, records: readonly (typeof STANDS)[], code = '') =>
    whyAgain({ withdrawalId }, { records, failedWords, code });
  assert.equal(why('wtd_1', [RETURNED]), 'failed');
  assert.equal(why('wtd_1', [STANDS]), null);
  assert.equal(why(null, []), null, 'refused, and never accepted');
  assert.equal(why(null, [], 'ACCOUNT_UNUSABLE'), null);
  assert.equal(why(null, [], 'WINDOW_PASSED'), 'late');
  assert.equal(why(null, [RETURNED]), 'failed', 'it has failed, and was refused since');
  assert.equal(why('wtd_2', [RETURNED]), null, 'the record of the report is not shown');
  assert.equal(why('wtd_1', [], 'WITHDRAWAL_FAILED'), null, 'the report alone says so');
});

const payment = (id: string, currency = 'EUR', amount = '10.5'): ReportPayment => ({
  id,
  reference: `p.2026-11-21.${id}`,
  account: 'wac_1',
  currency,
  amount,
  withdrawalId: null,
  status: null,
  outcome: 'NOT_PAID',
  sentAt: null,
  reason: null,
});

const opening = (id: string, chunk: number | null, recordId: string | null = null) => ({
  payment: payment(id),
  reference: `p.2026-11-21.${id}~9`,
  chunk,
  paidAgain: [id, 1, recordId] as PaidAgain,
  kept: NOTHING_KEPT,
});

test('what is said about payments of a batch is one instruction, with a list by chunk before it; others have one instruction each', () => {
  const said = { by: 'ana', why: 'r' };
  const { lists, instructions } = instructionsFor([opening('a', 2), opening('b', 1), opening('c', 2)], said);
  const [word] = instructions;
  assert.deepEqual(instructions, [
    {
      kind: 'pay these again',
      id: word?.id,
      ...said,
      chunks: [
        [1, 1, hashOfList([['b', 1, null]])],
        [
          2,
          2,
          hashOfList([
            ['c', 1, null],
            ['a', 1, null],
          ]),
        ],
      ],
    },
  ]);
  assert.deepEqual(lists, [
    { chunk: 1, facts: [{ kind: 'to pay again', said: word?.id, items: [['b', 1, null]] }] },
    {
      chunk: 2,
      facts: [
        {
          kind: 'to pay again',
          said: word?.id,
          items: [
            ['a', 1, null],
            ['c', 1, null],
          ],
        },
      ],
    },
  ]);
  const others = instructionsFor([opening('a', null), opening('b', null)], said);
  assert.deepEqual(others.lists, []);
  assert.deepEqual(
    others.instructions.map((each) => [each.kind, 'item' in each && each.item]),
    [
      ['pay again', 'a'],
      ['pay again', 'b'],
    ],
  );
});

test('no list is larger than Temporal likes to carry several times, and nothing of it is left out', () => {
  const long = (index: number): string => `${index}-${'x'.repeat(58)}`;
  const list = Array.from({ length: 500 }, (_, index) => opening(long(index), 1, `wtd_${'y'.repeat(150)}`));
  const { lists } = instructionsFor(list, { by: 'ana', why: 'r' });
  const facts = lists.flatMap((of) => of.facts);
  assert.ok(facts.length > 1);
  for (const fact of facts) assert.ok(JSON.stringify(fact).length < 34_000);
  assert.deepEqual(
    facts.flatMap(({ items }) => items.map(([item]) => item)),
    list.map(({ paidAgain: [item] }) => item),
  );
});

test('a person sees how many, what they come to, and the first fifty', () => {
  const list = Array.from({ length: 52 }, (_, index) => ({
    payment: payment(`inv-${index}`, index % 2 === 0 ? 'USD' : 'EUR'),
    reference: `r.inv-${index}~9`,
  }));
  const lines = payAgainLines(list);
  assert.equal(lines[0], '52 payments, 273.00 EUR, 273.00 USD');
  assert.equal(lines[1], '  10.50 USD to wac_1, as r.inv-0~9');
  assert.equal(lines.length, 1 + 50 + 1);
  assert.equal(lines.at(-1), '  and 2 more');
  assert.deepEqual(payAgainLines(list.slice(0, 1)), ['10.50 USD to wac_1, as r.inv-0~9']);
});

test('one scan of the list serves every payment, and no record is another one’s', async () => {
  let pages = 0;
  const of = (id: string, more: Partial<typeof WITHDRAWAL>) => ({
    ...WITHDRAWAL,
    id,
    currency: 'EUR',
    withdrawalAmount: '10.50',
    withdrawalAccountId: 'wac_1',
    ...more,
  });
  const items = [
    of('wtd_a', { tag: 'p.2026-11-21.a' }),
    of('wtd_a2', { tag: 'p.2026-11-21.a~2' }),
    of('wtd_b', { tag: null }),
    of('wtd_x', { tag: null }),
    of('wtd_other', { tag: 'p.2026-11-22.a' }),
  ];
  const payments = [payment('a'), { ...payment('b'), withdrawalId: 'wtd_b' }];
  const list = async () => {
    pages += 1;
    return done({ items, nextCursor: null, prevCursor: null });
  };
  const book = await readWithdrawals({ listWithdrawals: list }, { run: RUN, opensAtMs: 0, payments });
  const found = payments.map(({ id, withdrawalId, account, currency, amount }) => {
    const identity = {
      reference: `p.2026-11-21.${id}`,
      account,
      currency,
      amount,
      opensAtMs: 0,
      namedId: null,
      ownIds: withdrawalId === null ? [] : [withdrawalId],
      otherIds: [],
      fromGeneration: 1,
      closedIds: [],
      follows: [],
      approvedUntilMs: null,
      failedWords,
    };
    return book.of(id, identity).map((record) => record.id);
  });
  // What carries no name and is nobody's could be either of them.
  assert.deepEqual(found, [
    ['wtd_a', 'wtd_a2', 'wtd_x'],
    ['wtd_b', 'wtd_x'],
  ]);
  assert.equal(pages, 1);
});

test('besides what is paid again, a new start goes on with what was never accepted, and not with what has failed', () => {
  const failed = { ...payment('failed'), withdrawalId: 'wtd_1', status: 'FAILED' };
  const payments = [failed, { ...failed, id: 'again' }, payment('refused')];
  const report = { ...makeReportOf({ status: 'PARTIAL', leg: 'NOT_TRADED' }), payments };
  assert.deepEqual(
    goesOnWith(nextStart(report, [], { takesCancelBack: true, nowMs: 1 }), new Set(['again'])),
    ['usd-mxn-1', 'refused'],
  );
});
