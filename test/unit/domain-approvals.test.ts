/** Which rules of approvals cover a run, and who counts as one person: what cannot be judged counts as above the rule. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../../domain/plan/plan.ts';
import {
  movedAgain,
  movedBefore,
  movedByMost,
  movedByPlan,
  movedByRows,
  personsOf,
  standingBy,
  standingText,
  textToSign,
  whyCovered,
  whyNotOfPlan,
  type Moved,
} from '../../domain/writes/approvals.ts';
import type { ApprovalRule } from '../../domain/writes/approval-rules.ts';
import type { AllowedPolicy } from '../../domain/writes/write-gate.ts';
import { planHash } from '../../language/plan-hash.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { sells1000 } from '../support/policies.ts';
import { LEG, NOW, PAYMENT, WHOLE_PLAN } from '../support/scripts.ts';

const REBALANCE = `policy: 1
kind: rebalance
name: p
environment: sandbox
rebalance: { base: { currency: USD, min: "1.00" }, targets: { MXN: { max: "0.00" } } }
quote: { settlement: T0 }
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 25bps }
`;
const CONVERT = sells1000(`{ id: supplier, account: ${PAYMENT.account}, amount: proceeds, rounding: down }`);

function versionOf(text: string, asOf = new Date(NOW - 3_600_000).toISOString()): AllowedPolicy {
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const { policy, hash } = loaded;
  const referenceRates = { asOf, rates: [{ value: '20', currency: 'MXN', per: 'USD' }] };
  return { policy, hash, destinations: null, referenceRates, before: null };
}

const ruleAbove = (value: string, currency: string): ApprovalRule => ({
  policies: null,
  above: { value, currency },
  need: 1,
  of: ['ana'],
  withinMs: 1,
});

const proceeds = { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 } as const;
const CONVERTS: Plan = { ...WHOLE_PLAN, payments: [{ ...PAYMENT, dependsOn: LEG.id, amount: proceeds }] };

test('all that a run trades and pays is added up; what depends on a trade counts as what the trade moves', () => {
  const moved = movedByPlan(CONVERTS, versionOf(CONVERT).policy, []);
  assert.deepEqual(moved, { sums: [{ value: '2000', currency: 'USD' }], odd: null });
  const covered = (above: string) => whyCovered(ruleAbove(above, 'USD'), moved, versionOf(CONVERT), CONVERTS);
  assert.equal(covered('2000.00'), null);
  assert.match(
    covered('1999.99') ?? '',
    /trades and pays 2,?000\.00 USD in all, which is above 1,?999\.99 USD/,
  );
});

test('what is paid again counts once more: of the plan its payment, of a batch as many of its largest as are listed, of what nobody knows all', () => {
  const rows = [{ sums: [{ value: '600', currency: 'EUR' }], odd: null }];
  assert.deepEqual(movedAgain(WHOLE_PLAN, PAYMENT.id, rows), [
    { sums: [{ value: '17250', currency: PAYMENT.currency }], odd: null },
  ]);
  assert.deepEqual(movedAgain(WHOLE_PLAN, 'another', rows), rows);
  const of = (id: string, currency: string, value: string) => [id, PAYMENT.account, currency, value] as const;
  const batch = [of('a', 'EUR', '9'), of('b', 'EUR', '100.5'), of('c', 'USD', '7'), of('d', 'EUR', '20')];
  assert.deepEqual(movedByMost(batch, 2).sums, [
    { value: '120.5', currency: 'EUR' },
    { value: '7', currency: 'USD' },
  ]);
});

test('each generation of an eight before the one that is sent counts the amount of its payment once more; a trade has no such sum', () => {
  const { reference, account, currency } = PAYMENT;
  const paid = { kind: 'withdrawal', account, currency, amount: '17250' } as const;
  assert.deepEqual(movedBefore({ ...paid, reference }).sums, []);
  for (const generation of [3, 11])
    assert.deepEqual(movedBefore({ ...paid, reference: `${reference}~${generation}` }).sums, [
      { value: '34500', currency },
    ]);
  assert.deepEqual(movedBefore({ ...paid, reference: `${reference}~9` }).sums, []);
});

test('an edit of the policy beside what a trade brings hides no amount; a payment or trade that it names otherwise does', () => {
  const oddOf = (plan: Plan, policy = CONVERT) => movedByPlan(plan, versionOf(policy).policy, []).odd;
  const rent = `  - { id: rent, account: ${PAYMENT.account}, amount: { fixed: "5.00" } }\n`;
  const edit = CONVERT.replace('proceeds', 'rest') + rent;
  assert.equal(oddOf(CONVERTS, edit), null);
  const paysProceeds = { ...PAYMENT, dependsOn: LEG.id, amount: proceeds };
  const otherwise: readonly (readonly [Plan, string])[] = [
    [{ ...CONVERTS, payments: [{ ...paysProceeds, reference: 'p.2026-11-21.rent' }] }, edit],
    [{ ...CONVERTS, legs: [{ ...LEG, reference: 'p.2026-11-21.other' }] }, CONVERT],
    [{ ...CONVERTS, legs: [LEG, LEG] }, CONVERT],
    [{ ...CONVERTS, legs: [] }, CONVERT],
  ];
  for (const [plan, policy] of otherwise)
    assert.match(oddOf(plan, policy) ?? '', /says otherwise/, JSON.stringify(plan));
});

test('another currency counts by the reference rates of the folder, unless they were too old when the plan was made; without one it is above', () => {
  const moved: Moved = {
    sums: [
      { value: '100', currency: 'USD' },
      { value: '2000', currency: 'MXN' },
    ],
    odd: null,
  };
  const why = (version: AllowedPolicy, above: ApprovalRule) => whyCovered(above, moved, version, WHOLE_PLAN);
  assert.equal(why(versionOf(REBALANCE), ruleAbove('200.00', 'USD')), null);
  assert.match(why(versionOf(REBALANCE), ruleAbove('199.99', 'USD')) ?? '', /200\.00 USD in all/);
  assert.match(
    why(versionOf(REBALANCE), ruleAbove('9999.00', 'EUR')) ?? '',
    /no reference rate between USD and EUR/,
  );
  assert.match(
    why(versionOf(REBALANCE, '2026-11-19T00:00:00Z'), ruleAbove('9999.00', 'USD')) ?? '',
    /no reference rate between MXN and USD/,
  );
  // A worst rate bounds a price. It is no rate by which amounts are told.
  assert.match(why(versionOf(CONVERT), ruleAbove('9999.00', 'USD')) ?? '', /no reference rate between MXN/);
});

test('a leg without an amount, a payment that the policy does not have, a negative row and one of nothing count as above', () => {
  const policy = versionOf(REBALANCE).policy;
  const odds: readonly (readonly [Moved, RegExp])[] = [
    [
      movedByPlan({ ...WHOLE_PLAN, payments: [], legs: [{ ...LEG, amount: null }] }, policy, []),
      /"usd-mxn-1" has no amount/,
    ],
    [movedByPlan(CONVERTS, policy, []), /says otherwise than the policy/],
    [
      movedByPlan({ ...WHOLE_PLAN, payments: [] }, policy, [movedByRows([['a', 'b', 'USD', '-5']])]),
      /"a" has no amount/,
    ],
    [movedByRows([['a', 'b', 'USD', '0']]), /"a" has no amount/],
    [movedByRows([['a', 'b', 'USD', '1e9']]), /"a" has no amount/],
  ];
  for (const [moved, why] of odds)
    assert.match(
      whyCovered(ruleAbove('999999999.00', 'USD'), moved, versionOf(REBALANCE), WHOLE_PLAN) ?? '',
      why,
    );
});

test('a write is one of the plan only with its item, its account, its currencies and its amount', () => {
  const quote = {
    kind: 'quote',
    reference: LEG.reference,
    sell: 'USD',
    buy: 'MXN',
    validForSeconds: 30,
    settlement: 'T0',
  } as const;
  const trade = {
    kind: 'trade',
    reference: LEG.reference,
    sell: 'USD',
    buy: 'MXN',
    sellAmount: '1000',
    buyAmount: '1',
  } as const;
  const { reference, account, currency } = PAYMENT;
  const paid = { kind: 'withdrawal', reference, account, currency, amount: '17250' } as const;
  const sells = { ...quote, amount: { side: 'sell', value: '1000.0' } } as const;
  const ours = [sells, trade, paid, { ...paid, reference: `${reference}~2` }];
  for (const write of ours) assert.equal(whyNotOfPlan(WHOLE_PLAN, [], write), null, JSON.stringify(write));
  const theirs = [
    { ...quote, amount: { side: 'sell', value: '1001' } } as const,
    { ...quote, amount: { side: 'buy', value: '1000' } } as const,
    { ...sells, buy: 'EUR' },
    { ...trade, sellAmount: '999' },
    { ...trade, reference: 'p.2026-11-21.usd-mxn-2' },
    { ...paid, amount: '17250.01' },
    { ...paid, account: 'wac_Strangers' },
    { ...paid, currency: 'EUR' },
    { ...paid, reference: 'p.2026-11-21.rent' },
  ];
  for (const write of theirs)
    assert.match(whyNotOfPlan(WHOLE_PLAN, [], write) ?? '', /has no such/, JSON.stringify(write));
});

test('names that share a key are one person, also through a third name', () => {
  const personOf = personsOf([
    { name: 'ana', key: 'K1' },
    { name: 'ben', key: 'K2' },
    { name: 'a-work', key: 'K1' },
    { name: 'a-work', key: 'K3' },
    { name: 'anna', key: 'K3' },
  ]);
  assert.equal(personOf('ana'), personOf('anna'));
  assert.notEqual(personOf('ana'), personOf('ben'));
});

test('who waits for more people than are left is told what helps', () => {
  const signers = ['ana', 'ben'].map((name) => ({ name, key: name }));
  const told = (of: Parameters<typeof standingText>[2], as: 'starter' | 'approver', need = 1) => {
    const rule = { ...ruleAbove('1.00', 'USD'), need, of: need === 1 ? ['ana'] : ['ana', 'ben'] };
    const signed = [{ as, name: 'ana', saidAtMs: NOW, expiresAtMs: NOW + 2 }];
    const standing = standingBy(rule, signed, { signers }, { madeAtMs: NOW, nowMs: NOW });
    assert.ok(standing.kind === 'awaiting');
    return standingText(rule, standing, of);
  };
  // She has said it, and nobody else may approve it.
  for (const [of, instead] of [
    ['pay again', /`cancel` the run, and let somebody else type --pay-again$/],
    ['decision', /let somebody else say the same again$/],
    ['resume', /`halt` it again, and let somebody else resume it$/],
    ['plan', /`cancel` it, and let somebody else start another run$/],
  ] as const) {
    assert.match(told(of, 'starter'), instead);
    assert.match(told(of, 'starter', 2), instead, 'two must, and one of them has said it');
    assert.doesNotMatch(told(of, 'approver'), instead);
    assert.doesNotMatch(told(of, 'approver', 2), instead);
  }
});

test('the signed text names everything that a signature is for, and the hash of a plan is of all of it', () => {
  const of = {
    as: 'approver',
    plan: WHOLE_PLAN,
    planHash: planHash(WHOLE_PLAN),
    said: null,
    expiresAtMs: NOW,
  } as const;
  assert.equal(
    textToSign(of),
    `{
  "form": "cambist-plan-1",
  "as": "approver",
  "mode": "SANDBOX",
  "organisation": "org-1",
  "run": "p.2026-11-21",
  "plan": "${planHash(WHOLE_PLAN)}",
  "policy": "hash",
  "instead_of": null,
  "chunks": [],
  "expires": "2026-11-21T15:00:00.000Z"
}
`,
  );
  const { legs, ...rest } = WHOLE_PLAN;
  assert.equal(planHash({ legs, ...rest }), planHash(WHOLE_PLAN));
  for (const other of [
    { ...WHOLE_PLAN, madeAtMs: 1 },
    { ...WHOLE_PLAN, payments: [{ ...PAYMENT, account: 'b' }] },
  ])
    assert.notEqual(planHash(other), planHash(WHOLE_PLAN));
});
