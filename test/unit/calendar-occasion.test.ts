/** What brought a start by a schedule about is told by its times: by the clock, by a person, or for a time long past. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { occasionOf } from '../../calendar/occasion.ts';

const PARIS = { at: { hour: 9, minute: 30 }, zone: 'Europe/Paris' };
const MINUTE_MS = 60_000;

function occasion(nominal: string, lateMs: number, own = PARIS): readonly string[] {
  const nominalMs = Date.parse(nominal);
  const told = occasionOf(own, {
    nominalMs,
    startedAtMs: nominalMs + lateMs,
    catchUpMs: 10 * MINUTE_MS,
  });
  return [told.date, told.occasion];
}

test('a start at the schedule’s own time is the clock’s, however little late Temporal was', () => {
  assert.deepEqual(occasion('2026-11-23T08:30:00Z', 0), ['2026-11-23', 'clock']);
  assert.deepEqual(occasion('2026-11-23T08:30:00Z', 10 * MINUTE_MS + 59_000), ['2026-11-23', 'clock']);
  // In summer the same time of day is another moment.
  assert.deepEqual(occasion('2026-07-23T07:30:00Z', 0), ['2026-07-23', 'clock']);
});

test('a start at another time is a person’s, on the date that it is in the zone', () => {
  assert.deepEqual(occasion('2026-11-23T08:31:00Z', 0), ['2026-11-23', 'person']);
  assert.deepEqual(occasion('2026-11-23T08:30:07Z', 0), ['2026-11-23', 'person']);
  assert.deepEqual(occasion('2026-11-23T23:10:00Z', 0), ['2026-11-24', 'person']);
});

test('a start for a time that Temporal would have dropped is a backfill', () => {
  assert.deepEqual(occasion('2026-11-23T08:30:00Z', 12 * MINUTE_MS), ['2026-11-23', 'backfill']);
  assert.deepEqual(occasion('2026-11-20T08:30:00Z', 3 * 86_400_000), ['2026-11-20', 'backfill']);
});

test('the date is the one of the zone, far from the date of UTC', () => {
  const kiritimati = { at: { hour: 0, minute: 30 }, zone: 'Pacific/Kiritimati' };
  assert.deepEqual(occasion('2026-11-22T10:30:00Z', 0, kiritimati), ['2026-11-23', 'clock']);
});
