/** When a batch stops by itself: each rule at its bound and just below it, and what counts as a refusal at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PayoutRules } from '../../domain/policy.ts';
import { makeProblem, type Problem } from '../../domain/problems.ts';
import type { PaymentStage } from '../../domain/run/items.ts';
import { newRecord } from '../../domain/run/state.ts';
import { refusalsIn, stopOf, type Refusals } from '../../domain/run/stop-rule.ts';
import { PAYMENT } from '../support/scripts.ts';
import { paymentAt } from '../support/stages.ts';

const RUN_ID = 'r1/c1';

/** A refusal of the service, or, by a code of ours, an end that the service knows nothing of. */
function ended(code: string, endedIn = RUN_ID): PaymentStage {
  const problem = { code, item: PAYMENT.id, message: 'No.', fix: 'Mend it.' } as Problem;
  return { kind: 'not paid', problem, endedIn };
}

const WHY = makeProblem('CANCELLED', null);
const STAGES = {
  /** Letters of the rows below. */
  r: ended('WITHDRAWAL_REFUSED'),
  q: ended('ACCOUNT_CLOSED'),
  /** Refused as the run was another one, or its chunk was. */
  o: ended('WITHDRAWAL_REFUSED', 'r0/c1'),
  m: ended('ACCOUNT_MISSING'),
  d: ended('PAID_BY_ANOTHER_BATCH'),
  s: ended('BATCH_STOPPED'),
  c: ended('CANCELLED'),
  u: paymentAt('PENDING', WHY),
  h: paymentAt('NEEDS_HUMAN', WHY),
  p: paymentAt('PAID', WHY),
} as const satisfies Readonly<Record<string, PaymentStage>>;
const RETURNED: PaymentStage = {
  kind: 'failed',
  accepted: {
    withdrawalId: 'wtd_1',
    createdAtMs: 0,
    reference: PAYMENT.reference,
    atMs: 0,
    status: 'RETURNED',
  },
  endedIn: RUN_ID,
};

function refusalsOf(...stages: readonly PaymentStage[]): Refusals {
  return refusalsIn(
    stages.map((stage, index) => ({ ...newRecord({ ...PAYMENT, id: `inv-${index}` }), stage })),
    RUN_ID,
  );
}

function row(letters: string): Refusals {
  return refusalsOf(...letters.split('').map((letter) => STAGES[letter as keyof typeof STAGES]));
}

test('a refusal is what the service has said no to, in this run alone; an acceptance is one, whatever became of it', () => {
  const rows: readonly (readonly [letters: string, refused: number, sent: number])[] = [
    ['', 0, 0],
    ['rp', 1, 2],
    ['rqr', 3, 3],
    ['uh', 0, 0],
    ['mdsc', 0, 0],
    ['oo', 0, 0],
    ['romp', 1, 2],
  ];
  for (const [letters, refused, sent] of rows) {
    const found = row(letters);
    assert.deepEqual([letters, found.refused, found.sent], [letters, refused, sent]);
  }
});

test('a payment that was returned was not refused', () => {
  assert.deepEqual(refusalsOf(STAGES.r, RETURNED), { refused: 1, sent: 2, inARow: null });
});

test('nothing was refused before there is a go', () => {
  const records = [{ ...newRecord(PAYMENT), stage: STAGES.r }];
  assert.deepEqual(refusalsIn(records, null), { refused: 0, sent: 0, inARow: null });
});

test('refusals are in a row until a payment is accepted, or another code comes; what was never sent is not between them', () => {
  const rows: readonly (readonly [letters: string, code: string | null, times: number])[] = [
    ['rrr', 'WITHDRAWAL_REFUSED', 3],
    ['rrrp', null, 0],
    ['rrpr', 'WITHDRAWAL_REFUSED', 1],
    ['rrq', 'ACCOUNT_CLOSED', 1],
    ['rqrr', 'WITHDRAWAL_REFUSED', 2],
    ['rmuhr', 'WITHDRAWAL_REFUSED', 2],
    ['ror', 'WITHDRAWAL_REFUSED', 2],
  ];
  for (const [letters, code, times] of rows) {
    const expected = code === null ? null : { code, times };
    assert.deepEqual([letters, row(letters).inARow], [letters, expected]);
  }
});

type Rules = Pick<PayoutRules, 'stopAfter' | 'canary'>;

/** The rules of `stop_after`; what is not named is no rule. */
function after(of: Partial<NonNullable<Rules['stopAfter']>>): Rules {
  return { canary: null, stopAfter: { failed: null, ratioPercent: null, sameCode: null, ...of } };
}

function said(refused: number, sent: number, times = 0): Refusals {
  return { refused, sent, inARow: times === 0 ? null : { code: 'ACCOUNT_CLOSED', times } };
}

const NO_RULE: Rules = { canary: null, stopAfter: null };
const CANARY: Rules = { canary: 3, stopAfter: null };
const CASES: readonly (readonly [
  title: string,
  rules: Rules,
  chunks: readonly Refusals[],
  why: string | null,
])[] = [
  ['without a rule nothing stops it', NO_RULE, [said(100, 100, 100)], null],
  ['rules that all say nothing stop nothing', after({}), [said(100, 100, 100)], null],
  ['one refusal fewer than `failed`', after({ failed: 3 }), [said(2, 9)], null],
  ['as many refusals as `failed`', after({ failed: 3 }), [said(3, 9)], '3 payments were refused'],
  [
    'refusals of all chunks count together',
    after({ failed: 3 }),
    [said(1, 5), said(2, 4)],
    '3 payments were refused',
  ],
  ['a share of fewer than 20 payments says nothing', after({ ratioPercent: '5' }), [said(19, 19)], null],
  [
    'a share that is reached at 20 payments',
    after({ ratioPercent: '5' }),
    [said(1, 20)],
    '1 of 20 payments were refused',
  ],
  ['a share just below', after({ ratioPercent: '5' }), [said(4, 81)], null],
  ['a share just above', after({ ratioPercent: '5' }), [said(4, 79)], '4 of 79 payments were refused'],
  ['a share with decimals', after({ ratioPercent: '33.33' }), [said(7, 21)], '7 of 21 payments were refused'],
  ['a share with decimals that is not reached', after({ ratioPercent: '33.34' }), [said(7, 21)], null],
  [
    'the share is one of all chunks',
    after({ ratioPercent: '10' }),
    [said(2, 10), said(0, 10)],
    '2 of 20 payments were refused',
  ],
  ['a bad chunk among good ones', after({ ratioPercent: '10' }), [said(2, 20), said(0, 20)], null],
  ['one fewer in a row than `same_code`', after({ sameCode: 3 }), [said(2, 2, 2)], null],
  [
    'as many in a row as `same_code`',
    after({ sameCode: 3 }),
    [said(0, 5), said(3, 3, 3)],
    '3 payments in a row were refused with ACCOUNT_CLOSED',
  ],
  ['a row ends with its chunk', after({ sameCode: 3 }), [said(2, 2, 2), said(2, 2, 2)], null],
  ['the first payment was refused', { ...CANARY, canary: 1 }, [said(1, 1)], 'its first payment was refused'],
  ['a refusal among the first payments', CANARY, [said(1, 3)], 'one of its first 3 payments was refused'],
  ['a refusal once the first payments were sent', CANARY, [said(1, 4)], null],
  ['first payments without a refusal', CANARY, [said(0, 3)], null],
];

for (const [title, rules, chunks, why] of CASES) {
  test(`${title}: the batch ${why === null ? 'goes on' : 'stops'}`, () => {
    const problem = stopOf({ ...rules, isTested: false }, chunks);
    assert.equal(problem?.message ?? null, why === null ? null : `The batch was stopped: ${why}.`);
    if (problem !== null) assert.equal(problem.code, 'BATCH_STOPPED');
  });
}

test('a refusal stops nothing by the rule of the first payments once these are accepted', () => {
  const rules = { ...after({ failed: 3 }), canary: 3, isTested: true };
  assert.equal(stopOf(rules, [said(1, 1)]), null);
  assert.equal(stopOf(rules, [said(3, 3)])?.code, 'BATCH_STOPPED');
});
