/**
 * When a trade was made and a payment was sent is what the service's records say, whatever is reset. When it settled and when
 * it was paid no record says: the evidence has when the run saw it, and nothing where the run found it so.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seenAs } from '../../domain/run/report.ts';
import { END, GO_ON, LOST_REPLY, reset, story, type Glimpse, type Story } from '../machines/model/story.ts';
import { lasting } from '../support/lasting.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const ms = (text: string | null | undefined): number => Date.parse(text ?? assert.fail('It has no time.'));

function timesOf({ report }: Glimpse) {
  const [leg] = report.legs;
  const [payment] = report.payments;
  assert.ok(leg !== undefined && payment !== undefined, 'There is a leg, and a payment.');
  const settledAt = seenAs('settled', report).get(leg.id) ?? null;
  const paidAt = seenAs('paid', report).get(payment.id) ?? null;
  return { ...leg, ...payment, settledAt, paidAt };
}

/** A time that tells when the service made something is the record's own. */
function assertOfTheRecords(end: Glimpse): void {
  const { tradedAt, sentAt } = timesOf(end);
  assert.deepEqual(
    [ms(tradedAt), ms(sentAt)],
    [ms(end.trades[0]?.createdAt), ms(end.withdrawals[0]?.createdAt)],
  );
}

test('given a plain day, then the report says when it was traded, settled, sent and paid', async () => {
  const end = await story().given({}).play();
  assertOfTheRecords(end);
  const { tradedAt, settledAt, sentAt, paidAt } = timesOf(end);
  const times = [tradedAt, settledAt, sentAt, paidAt].map(ms);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
    'one after the other',
  );
});

test('given a lost reply to the withdrawal, then it was sent when the service made it, not when the run found it', async () => {
  assertOfTheRecords(
    await story()
      .given({ withdrawal: [LOST_REPLY] })
      .play(),
  );
});

test('given a completed run, when it is reset to its beginning hours later, then what it finds paid has no time of its own', async () => {
  const end = await story()
    .given({})
    .when({ ...END, plusMs: HOUR_MS }, reset(99))
    .play();
  assertOfTheRecords(end);
  const { settledAt, paidAt, outcome } = timesOf(end);
  assert.deepEqual([outcome, settledAt, paidAt], ['PAID', null, null]);
});

test('given a completed run, when it is reset to its beginning, then its report is the same, byte for byte, evidence aside', async () => {
  const bytes = async (so: Story): Promise<string> => JSON.stringify(lasting((await so.play()).report));
  const told = story().given({});
  assert.equal(await bytes(told.when({ ...END, plusMs: HOUR_MS }, reset(99))), await bytes(told));
});

test('given a payment that a completed run saw paid, when the run is started again, then the time of the record stays', async () => {
  const end = await story()
    .given({})
    .when({ ...END, plusMs: HOUR_MS }, GO_ON)
    .play();
  assertOfTheRecords(end);
});

test('given a run that goes on in new histories, then it says when it saw the settlement and the payment', async () => {
  const end = await story().given({ longHistory: 4 }).play();
  assertOfTheRecords(end);
  const { settledAt, paidAt } = timesOf(end);
  assert.ok(ms(settledAt) <= ms(paidAt));
});
