/** Whose is it: what runs and chunks tell of their items decides who has a payment, and whose a record is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Answers,
  accountedFor,
  isHeld,
  mayTake,
  rivalry,
  recordIn,
  type Coordinator,
  type Holds,
  type Standing,
} from '../../domain/run/claims.ts';

const NOTHING: Holds = { runId: 'c1', heard: 'r1/c1', isFirst: true, hasPlan: true, items: [] };
const UNSENT: Holds = { ...NOTHING, items: [['A', 'PENDING', null]] };
const OPEN: Coordinator = { kind: 'open', runId: 'r1' };
const RESET: Coordinator = { kind: 'open', runId: 'r2' };
const ENDED: Coordinator = { kind: 'ended' };
const CUT_OFF: Coordinator = { kind: 'cut off' };
/** An open run that was started once. */
const ALONE: Standing = { isOpen: true, isOnly: true };
const UNPAID: Holds = { ...NOTHING, items: [['A', 'NOT_PAID', 'wtd_1']] };

const CASES: readonly (readonly [
  title: string,
  chunk: Holds,
  coordinator: Coordinator,
  isWanted: boolean,
  isHeld: boolean,
])[] = [
  ['one that is still to be sent', UNSENT, OPEN, true, true],
  ['one that is unsent in a run that was terminated', UNSENT, CUT_OFF, true, true],
  [
    'one that was accepted, also once its run has ended',
    { ...NOTHING, items: [['A', 'PAID', 'wtd_1']] },
    ENDED,
    true,
    true,
  ],
  ['one that ended unpaid', UNPAID, OPEN, true, false],
  ['one that ended unpaid, in a run that has ended', UNPAID, ENDED, true, false],
  ['one that ended unpaid, of which a reset run takes up what is undone', UNPAID, RESET, true, true],
  ['the same, of which the chunk was reset', { ...UNPAID, runId: 'c2' }, OPEN, true, true],
  ['one that is planned and waits for its go', NOTHING, OPEN, true, true],
  ['one whose run ended before it got its go', NOTHING, ENDED, true, false],
  ['the same, of a chunk that was started once more', { ...NOTHING, isFirst: false }, ENDED, true, true],
  [
    'one that a reset chunk, before its go, knows as unpaid, and may have paid since',
    { ...UNPAID, heard: null, isFirst: false, hasPlan: false },
    ENDED,
    true,
    true,
  ],
  ['one that is planned in a run that was terminated', NOTHING, CUT_OFF, true, true],
  ['one that its own plan knows to be unpayable', NOTHING, OPEN, false, false],
  ['the same, in a run that was reset and looks again', NOTHING, RESET, false, true],
];

for (const [title, chunk, coordinator, isWanted, expected] of CASES) {
  test(`${title} ${expected ? 'is held' : 'is not held'}`, () => {
    assert.equal(isHeld(chunk, coordinator, { name: 'a', isWanted, madeFor: 'r1' }), expected);
  });
}

test('the record of an item is told, unless it has failed', () => {
  const items: Holds['items'] = [
    ['paid', 'PAID', 'wtd_1'],
    ['failed', 'NOT_PAID', 'wtd_2'],
    ['unsent', 'PENDING', null],
  ];
  assert.deepEqual(
    ['paid', 'failed', 'unsent', 'unknown'].map((name) => recordIn({ items }, name)),
    ['wtd_1', null, null, null],
  );
});

for (const [item, isDone] of [
  [['a', 'PAID', 'wtd_1'], true],
  [['a', 'PENDING', 'wtd_1'], true],
  [['a', 'NEEDS_HUMAN', null], true],
  [['a', 'TRADED', 'tde_1'], true],
  [['a', 'NOT_PAID', 'wtd_1'], false],
  [['a', 'NOT_TRADED', null], false],
  [['a', 'PENDING', null], false],
  [['b', 'PAID', 'wtd_1'], false],
] as const)
  test(`an item that is told as ${item.join(' ')} ${isDone ? 'is' : 'is not'} done elsewhere`, () => {
    for (const [hasPlan, isOpen] of [
      [true, true],
      [true, false],
      [false, false],
    ] as const)
      assert.equal(
        rivalry({ items: [item], hasPlan, isFirst: false }, { isOpen, isOnly: true }, 'a'),
        isDone ? 'has' : 'has not',
      );
  });

test('a silent run, and an open one that has read no plan yet, may have done an item', () => {
  assert.equal(rivalry(null, { isOpen: false, isOnly: true }, 'a'), 'may have');
  const withoutPlan = { items: [], hasPlan: false, isFirst: false };
  assert.equal(rivalry(withoutPlan, ALONE, 'a'), 'may have');
  assert.equal(rivalry({ ...withoutPlan, items: [['a', 'PAID', 'wtd_1']] }, ALONE, 'a'), 'has');
  // What an earlier Temporal run of it has done it does not know.
  assert.equal(rivalry(withoutPlan, { isOpen: false, isOnly: false }, 'a'), 'may have');
});

test('a record is of the first item that counts it as its own; without one it is of nobody, unless a run is silent', () => {
  const [q, s] = [
    { policy: 'q', id: '2026-11-21' },
    { policy: 's', id: '2026-11-21' },
  ];
  const answers = new Answers(['wtd_1', 'wtd_2']);
  answers.add(
    q,
    {
      ...NOTHING,
      items: [
        ['a', 'PAID', 'wtd_1'],
        ['b', 'PAID', null],
        ['c', 'PAID', 'wtd_3'],
      ],
    },
    ALONE,
  );
  answers.add(s, { ...NOTHING, items: [['z', 'PAID', 'wtd_1']] }, ALONE);
  const owned = { recordId: 'wtd_1', by: { kind: 'item', run: 'q.2026-11-21', item: 'a' } };
  assert.deepEqual(answers.claims, [owned, { recordId: 'wtd_2', by: { kind: 'none' } }]);
  assert.equal(answers.areEnough, false);
  answers.add(s, null, ALONE);
  assert.deepEqual(answers.claims, [owned, { recordId: 'wtd_2', by: { kind: 'silent', runs: [s] } }]);
  assert.deepEqual(accountedFor(answers.claims), ['wtd_1'], 'what a silent run may have sent looks alike');
  answers.add(q, { ...NOTHING, items: [['b', 'NOT_PAID', 'wtd_2']] }, ALONE);
  assert.equal(answers.areEnough, true);
  assert.deepEqual(accountedFor(answers.claims), ['wtd_1', 'wtd_2']);
});

test('a run or chunk that may hold more than it tells is silent about the records that it does not tell', () => {
  const q = { policy: 'q', id: '2026-11-21' };
  const byOf = (holds: Pick<Holds, 'hasPlan' | 'isFirst'>, standing: Standing = ALONE) => {
    const answers = new Answers(['wtd_1', 'wtd_2']);
    answers.add(q, { ...holds, items: [['a', 'PAID', 'wtd_1']] }, standing);
    return answers.claims.map(({ by }) => by.kind);
  };
  assert.deepEqual(byOf({ hasPlan: false, isFirst: false }), ['item', 'silent']);
  assert.deepEqual(byOf({ hasPlan: true, isFirst: false }), ['item', 'none']);
  assert.deepEqual(
    byOf({ hasPlan: false, isFirst: false }, { isOpen: false, isOnly: true }),
    ['item', 'none'],
    'it ended without a plan',
  );
  const again = { isOpen: false, isOnly: false };
  assert.deepEqual(byOf({ hasPlan: false, isFirst: false }, again), ['item', 'silent'], 'and had one before');
  assert.deepEqual(byOf({ hasPlan: false, isFirst: true }, again), ['item', 'silent'], 'its input is copied');
  assert.deepEqual(byOf({ hasPlan: false, isFirst: true }), ['item', 'none'], 'it has sent nothing');
});

test('an item for which people have named a record may no longer take it once another record of it is paid or under way', () => {
  const holding = (...item: Holds['items'][number]): Holds => ({ ...NOTHING, items: [item] });
  const may = (...holds: readonly (Holds | null)[]) => mayTake(holds, 'Inv-1', 'wtd_1');
  for (const outcome of ['PAID', 'PENDING', 'TRADED'] as const)
    assert.ok(!may(null, holding('Inv-1', outcome, 'wtd_2')), outcome);
  // What has failed, or what a person is asked about, may still turn out to be this record.
  for (const outcome of ['NOT_PAID', 'NOT_TRADED', 'NEEDS_HUMAN'] as const)
    assert.ok(may(holding('Inv-1', outcome, 'wtd_2')), outcome);
  assert.ok(may(holding('Inv-1', 'PAID', 'wtd_1')));
  assert.ok(may(holding('Inv-1', 'PENDING', null)));
  assert.ok(may(holding('Inv-2', 'PAID', 'wtd_2')));
  assert.ok(may(null));
  assert.ok(may());
});
