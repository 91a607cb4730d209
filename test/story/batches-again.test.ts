/**
 * Batches whose payments fail, come back, are in doubt, or stand in two batches of one policy: whatever is said, reset or started
 * again afterwards, everybody is paid at most once, and whoever was paid again was so because a person said it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Misfortune } from '../machines/model/schedule.ts';
import {
  END,
  GO_ON,
  START,
  after,
  at,
  assertDoneOnce,
  late,
  refused,
  reset,
  story,
  type Glimpse,
  type Story,
} from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RICH = { alsoMxn: '1000000' } as const;
const REFUSED = 'WITHDRAWAL_ADDRESS_NOT_VERIFIED';

/** Items of a batch that people and the service can say something of, as a schedule has them. */
const SUPPLIER = 1;
const SECOND = 2;

/** So many hours after something has ended for the first time. */
function hoursAfterEnd(hours: number) {
  return { ...END, plusMs: hours * HOUR_MS };
}

function returned(item: 1 | 2): Misfortune {
  return { kind: 'word', item, word: 'RETURNED' };
}

function payAgain(item: 1 | 2): Misfortune {
  return { kind: 'pay again', item: item === SUPPLIER ? 0 : 1, ahead: 0, promptMs: 0 };
}

function outcomesOf({ report }: Glimpse): Readonly<Record<string, string>> {
  return Object.fromEntries(report.payments.map(({ id, outcome }) => [id, outcome]));
}

function problemsOf({ report }: Glimpse): readonly (readonly [string, string | null])[] {
  return report.problems.map(({ code, item }) => [code, item]);
}

/** The items of which the service has a record, each as often as it has one. */
function bookedBy(...ofRuns: readonly Glimpse[]): readonly string[] {
  return ofRuns
    .flatMap(({ report, withdrawals }) =>
      withdrawals.map(({ tag }) => (tag ?? '').replace(`${report.run}.`, '').replace(/~.*/, '')),
    )
    .toSorted();
}

/** Of everybody one record stands; these have one before it, which came back. */
function assertPaidAgain(end: Glimpse, again: readonly string[]): void {
  const { report, withdrawals } = end;
  const standing = withdrawals.filter(({ status }) => status === 'COMPLETED');
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report));
  assert.deepEqual(
    report.payments.map(({ outcome, withdrawalId }) => [outcome, withdrawalId]),
    report.payments.map(({ reference }) => ['PAID', standing.find(({ tag }) => tag === reference)?.id]),
  );
  assert.deepEqual(bookedBy(end), [...report.payments.map(({ id }) => id), ...again].toSorted());
}

/** Three chunks; the second payment stands in the second one. */
const THREE_CHUNKS = { chunks: [1, 2, 1] } as const;

/** Everybody was paid; an hour later these come back. */
function cameBack(...items: readonly (1 | 2)[]): Story {
  return story().given({ service: RICH, batch: THREE_CHUNKS }).when(hoursAfterEnd(1), items.map(returned));
}

/** Which workflow is reset, of a batch in three chunks. */
const WORKFLOWS = [
  ['the run', 0],
  ['chunk 2', 2],
] as const;
/** To where a workflow is reset, in points of history before the newest. */
const RESETS = [
  ['its end', 0],
  ['its middle', 4],
  ['its beginning', 99],
] as const;

describe('payments that came back after everybody was paid', () => {
  test('are told by a new start, and nobody is paid again by it', async () => {
    const end = await cameBack(SUPPLIER, SECOND).when(hoursAfterEnd(2), GO_ON).play();
    assert.equal(end.report.status, 'PARTIAL');
    assert.deepEqual(problemsOf(end), [
      ['WITHDRAWAL_FAILED', 'supplier'],
      ['WITHDRAWAL_FAILED', 'second'],
    ]);
    assert.equal(end.writes.length, 4);
  });

  for (const [where, back] of RESETS)
    test(`are told by a reset of the run to ${where}`, async () => {
      const end = await cameBack(SECOND).when(hoursAfterEnd(2), reset(back)).play();
      assert.deepEqual(problemsOf(end), [['WITHDRAWAL_FAILED', 'second']]);
      assert.deepEqual(bookedBy(end), end.report.payments.map(({ id }) => id).toSorted());
      assert.equal(end.withdrawals.length, 4);
    });

  test('are paid again once, however often that is said', async () => {
    const end = await cameBack(SUPPLIER, SECOND)
      .when(hoursAfterEnd(2), GO_ON)
      .when(hoursAfterEnd(3), [payAgain(SUPPLIER), payAgain(SECOND)])
      .when(hoursAfterEnd(4), [payAgain(SUPPLIER), payAgain(SECOND)])
      .play();
    assertPaidAgain(end, ['supplier', 'second']);
  });

  for (const [which, of] of WORKFLOWS)
    for (const [where, back] of RESETS)
      test(`are paid once although ${which} is reset afterwards to ${where}`, async () => {
        const end = await cameBack(SUPPLIER, SECOND)
          .when(hoursAfterEnd(2), GO_ON)
          .when(hoursAfterEnd(3), [payAgain(SUPPLIER), payAgain(SECOND)])
          .when(hoursAfterEnd(4), reset(back), of)
          .play();
        assertPaidAgain(end, ['supplier', 'second']);
      });

  test('are not paid again by what was said about others before they failed', async () => {
    const failsLater = cameBack(SUPPLIER)
      .when(hoursAfterEnd(2), GO_ON)
      .when(hoursAfterEnd(3), payAgain(SUPPLIER))
      .when({ ...hoursAfterEnd(3), plusMs: 3 * HOUR_MS + 100 }, returned(SECOND))
      .when(hoursAfterEnd(4), GO_ON);
    const end = await failsLater.play();
    assert.deepEqual(outcomesOf(end), {
      supplier: 'PAID',
      second: 'NOT_PAID',
      'payee-2': 'PAID',
      'payee-3': 'PAID',
    });
    assert.equal(end.withdrawals.length, 5);
    assertPaidAgain(await failsLater.when(hoursAfterEnd(5), payAgain(SECOND)).play(), ['supplier', 'second']);
  });
});

describe('a run that somebody terminates while one of its payments is in doubt', () => {
  /** Everybody is paid but the second, whom the service is at work on for an hour. Nobody starts the run again until then. */
  const TERMINATED = story()
    .given({ service: RICH, batch: THREE_CHUNKS, withdrawal: [{ kind: 'none' }, late(HOUR_MS)] })
    .when(after('send withdrawal', { plusMs: 10 * MINUTE_MS }), {
      kind: 'terminate',
      againAfterMs: HOUR_MS,
      plan: 'kept',
    });

  test('pays again what came back after that, once, when a person says so before it is started again', async () => {
    const end = await TERMINATED.when(
      after('send withdrawal', { plusMs: 20 * MINUTE_MS }),
      returned(SUPPLIER),
    )
      .when(after('send withdrawal', { plusMs: 30 * MINUTE_MS }), payAgain(SUPPLIER))
      .play();
    assertPaidAgain(end, ['supplier']);
  });

  test('pays nobody again whose payment stands or is in doubt, whatever a person says', async () => {
    const end = await TERMINATED.when(after('send withdrawal', { plusMs: 30 * MINUTE_MS }), [
      payAgain(SUPPLIER),
      payAgain(SECOND),
    ]).play();
    assertDoneOnce(end);
  });
});

test('one payment of a batch that failed later is paid again when a person says so, and nobody else is', async () => {
  const end = await story()
    .given({ service: { ...RICH, paysAfterMs: 10 * MINUTE_MS }, batch: { chunks: [3] } })
    .when(after('send withdrawal', { nth: 2, plusMs: MINUTE_MS }), returned(SECOND))
    .when(hoursAfterEnd(1), payAgain(SECOND))
    .play();
  assertPaidAgain(end, ['second']);
});

describe('a payment that a person has called "not executed"', () => {
  for (const [which, of] of [
    ['its run', 0],
    ['its chunk', 1],
  ] as const)
    for (const [where, back] of RESETS)
      test(`stays unpaid although it can be paid now, and ${which} is reset to ${where}`, async () => {
        const end = await story()
          .given({ service: RICH, batch: { chunks: [2] }, withdrawal: [refused('IDEMPOTENCY_MISMATCH')] })
          .when(after('send withdrawal', { nth: 2, plusMs: HOUR_MS }), {
            kind: 'not executed',
            item: SUPPLIER,
            promptMs: 0,
          })
          .when(hoursAfterEnd(1), reset(back), of)
          .play();
        assert.deepEqual(outcomesOf(end), { supplier: 'NOT_PAID', second: 'PAID' });
        assert.deepEqual(problemsOf(end), [['DECIDED_NOT_EXECUTED', 'supplier']]);
        assert.deepEqual(bookedBy(end), ['second']);
      });
});

describe('a batch that stops', () => {
  test('stops after so many refusals, says why, and is paid when somebody goes on with it', async () => {
    const stops = story()
      .given({ service: RICH, batch: { chunks: [60], stopAfter: 3 } })
      .when(START, { kind: 'refuses', step: 'withdrawal', code: REFUSED, ms: HOUR_MS });
    const end = await stops.play();
    const codes = end.report.problems.map(({ code }) => code);
    assert.equal(end.report.status, 'FAILED');
    assert.equal(end.withdrawals.length, 0);
    const isRefused = codes.filter((code) => code === REFUSED).length;
    // One slice is under way when the third is refused.
    assert.ok(isRefused >= 3 && isRefused <= 25 + 3, `${isRefused} are refused`);
    assert.equal(codes.filter((code) => code === 'BATCH_STOPPED').length, 60 - isRefused);
    assertDoneOnce(await stops.when(hoursAfterEnd(2), GO_ON).play());
  });

  test('the first payment must be accepted before the others leave', async () => {
    const canary = story().given({
      service: { ...RICH, stores: 'nothing else' },
      batch: { chunks: [60], canary: 1 },
      withdrawal: [refused(REFUSED)],
    });
    const end = await canary.play();
    assert.equal(end.report.status, 'FAILED');
    assert.equal(end.writes.length, 1);
    const goneOn = await canary.when(hoursAfterEnd(1), GO_ON).play();
    assertDoneOnce(goneOn);
    assert.equal(goneOn.writes.length, 61);
  });

  test('the first payment goes alone again after its refusal when the run is reset', async () => {
    const end = await story()
      .given({ service: { ...RICH, stores: 'nothing else' }, batch: { chunks: [1, 1], canary: 1 } })
      .when(START, { kind: 'refuses', step: 'withdrawal', code: REFUSED, ms: 3 * HOUR_MS })
      .when(hoursAfterEnd(1), reset())
      .play();
    assert.deepEqual(problemsOf(end), [
      [REFUSED, 'supplier'],
      ['BATCH_STOPPED', 'second'],
    ]);
    assert.equal(new Set(end.writes.map(({ write }) => write.item)).size, 1);
    end.afterwards.forEach(assertDoneOnce);
  });

  test('the first payment is paid, and the others with it, once its old refusal is no longer taken for a new one', async () => {
    const lost = story().given({
      service: { ...RICH, stores: 'refusals', headersLost: 2 },
      batch: { chunks: [1, 1], canary: 1 },
      withdrawal: [refused(REFUSED)],
    });
    // The next start is told of the old refusal as if it were a new one; the one after that is not.
    const [once] = (await lost.play()).afterwards;
    assert.ok(once !== undefined);
    assert.deepEqual(problemsOf(once), [
      [REFUSED, 'supplier'],
      ['BATCH_STOPPED', 'second'],
    ]);
    assertDoneOnce(await lost.when(hoursAfterEnd(1), GO_ON).when(hoursAfterEnd(48), GO_ON).play());
  });

  test('the first payment has been accepted: refused when it is paid again, it stops nobody who waits for money', async () => {
    const goes: Misfortune = { kind: 'money', currency: 'MXN', change: 'goes' };
    const sent = (plusMs: number) => after('send withdrawal', { plusMs });
    const end = await story()
      .given({
        service: RICH,
        policy: { shortfall: 'hold' },
        batch: { chunks: [1, 1], canary: 1 },
        withdrawal: [{ kind: 'none' }, { kind: 'none' }, refused(REFUSED)],
      })
      .when(sent(0), goes)
      .when(sent(5 * MINUTE_MS), [returned(SUPPLIER), goes])
      .when(sent(6 * MINUTE_MS), { kind: 'terminate', againAfterMs: 2 * HOUR_MS, plan: 'kept' })
      .when(sent(10 * MINUTE_MS), payAgain(SUPPLIER))
      .when(sent(5 * HOUR_MS), { kind: 'money', currency: 'MXN', change: 'comes' })
      .play();
    assert.deepEqual(outcomesOf(end), { supplier: 'NOT_PAID', second: 'PAID' });
    assert.deepEqual(problemsOf(end), [[REFUSED, 'supplier']]);
  });

  test('a refusal in a later chunk does not hold up the payments after it', async () => {
    const end = await story()
      .given({
        service: RICH,
        batch: { chunks: [1, 3], canary: 1 },
        withdrawal: [{ kind: 'none' }, refused(REFUSED)],
      })
      .play();
    assert.deepEqual(problemsOf(end), [[REFUSED, 'second']]);
    assert.ok(end.tookMs < MINUTE_MS, `it took ${end.tookMs} ms`);
  });
});

describe('two batches of one policy', () => {
  /** Of the second one every other payment stands in the first one too. */
  const TWO = { chunks: [4], otherChunks: [4] } as const;
  const EVERYBODY = ['other-1', 'other-3', 'payee-2', 'payee-3', 'second', 'supplier'];

  for (const [when, secondAfterMs] of [
    ['at once', 0],
    ['while the first one makes its plan', 300],
    ['while the first one pays', 4_500],
  ] as const)
    test(`of which the second is started ${when}: of every id they have in common one pays it, and nobody else waits`, async () => {
      const { runs } = await story().given({ service: RICH, batch: TWO, secondAfterMs }).play();
      assert.deepEqual(bookedBy(...runs), EVERYBODY);
      const all = runs.flatMap(({ report }) => report.problems);
      assert.deepEqual(
        all.map(({ code, item }) => [code, item]),
        [
          ['PAID_BY_ANOTHER_BATCH', 'supplier'],
          ['PAID_BY_ANOTHER_BATCH', 'payee-2'],
        ],
      );
    });

  test('what an earlier batch did not pay, a later one may, and then the earlier one does not', async () => {
    const end = await story()
      .given({ service: RICH, batch: TWO, secondAfterMs: HOUR_MS, withdrawal: [refused(REFUSED)] })
      .when(hoursAfterEnd(2), GO_ON)
      .play();
    const [first, second] = end.runs;
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(problemsOf(first), [['PAID_BY_ANOTHER_BATCH', 'supplier']]);
    assert.equal(outcomesOf(second)['supplier'], 'PAID');
    assert.deepEqual(bookedBy(first, second), EVERYBODY);
  });

  test('a record that was returned pays nobody: another batch may, and then it is not paid again by the first', async () => {
    const end = await story()
      .given({ service: RICH, batch: TWO, secondAfterMs: 2 * HOUR_MS })
      .when(hoursAfterEnd(1), returned(SUPPLIER))
      .when(hoursAfterEnd(3), GO_ON)
      .when(hoursAfterEnd(4), payAgain(SUPPLIER))
      .play();
    const [first, second] = end.runs;
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(outcomesOf(first)['supplier'], 'NOT_PAID');
    assert.equal(outcomesOf(second)['supplier'], 'PAID');
    assert.deepEqual(bookedBy(first, second), [...EVERYBODY, 'supplier'].toSorted());
  });

  for (const [which, of] of [
    ['its run', 0],
    ['its chunk', 1],
  ] as const)
    for (const [where, back] of RESETS)
      test(`one whose later batch has paid what it did not leaves it, although ${which} is reset to ${where}`, async () => {
        const end = await story()
          // Its other payments are not accepted for good yet, so that it is open.
          .given({ service: { ...RICH, paysAfterMs: 10 * HOUR_MS }, batch: TWO, secondAfterMs: HOUR_MS })
          .given({ withdrawal: [refused(REFUSED)] })
          .when({ ...START, plusMs: 2 * HOUR_MS }, reset(back), of)
          .play();
        const [first, second] = end.runs;
        assert.ok(first !== undefined && second !== undefined);
        assert.notEqual(outcomesOf(first)['supplier'], 'PAID');
        assert.equal(outcomesOf(second)['supplier'], 'PAID');
        assert.deepEqual(bookedBy(first, second), EVERYBODY);
      });
});

test('when a batch that has paid everybody is reset, it says that it is looking until it has seen that', async () => {
  const steps = new Set<string>();
  let hasEnded = false;
  const end = await story()
    .given({ batch: { chunks: [2, 1] }, service: RICH })
    .when({ ...END, plusMs: MINUTE_MS }, reset(99))
    .until(({ status }, { items }) => {
      const isDone = status === 'COMPLETED' && hasEnded && steps.size > 0;
      hasEnded ||= status === 'COMPLETED';
      for (const { kind, step } of items) if (hasEnded && kind === 'batch') steps.add(step);
      return isDone && steps.size > 1;
    })
    .play();
  const [before, ...told] = steps;
  assert.equal(before, '3 of 3 accepted, 3 paid');
  assert.ok(told.length > 0);
  for (const step of told) assert.match(step, /^looking, \d of 3 to be looked up; |^3 of 3 accepted, /);
  assertDoneOnce(end);
});

for (const [how, when, what] of [
  ['reset to its beginning', { ...END, plusMs: MINUTE_MS }, reset(99)],
  ['let go on by a stranger with nothing handed on', END, { kind: 'handed on', what: 'nothing' }],
] as const)
  test(`given a batch that has paid everybody, when one of its chunks is ${how} and terminated at once, then the report still says that everybody is paid`, async () => {
    const end = await story()
      .given({ batch: { chunks: [2] }, service: RICH })
      .when(when, what, 1)
      .when(at('start of a chunk', { nth: 2 }), { kind: 'terminate', againAfterMs: 0, plan: 'kept' }, 1)
      .play();
    assertDoneOnce(end);
  });
