/** A list that is longer than one call may read is read over several ones, and nothing of it twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Withdrawal } from '../../domain/service/records.ts';
import type { PageRequest } from '../../service/pages.ts';
import { Rereading } from '../../service/rereading.ts';
import { NO_ANSWER, NOW, WITHDRAWAL, done, failed } from '../support/scripts.ts';

/** A list of ten pages, of a record each minute; and which pages were asked for. */
function listOfTen() {
  const asked: number[] = [];
  const broken = new Set<number>();
  let isCursorGood = true;
  const list = async ({ startingAfter = '0' }: PageRequest) => {
    const nth = Number(startingAfter);
    asked.push(nth);
    if (broken.delete(nth)) return NO_ANSWER;
    if (nth > 0 && !isCursorGood) return failed('VALIDATION_QUERY_FAILED');
    const record: Withdrawal = {
      ...WITHDRAWAL,
      id: `wtd_${nth}`,
      createdAt: new Date(NOW - nth * 60_000).toISOString(),
      status: nth === 2 ? 'FAILED' : 'PENDING',
    };
    return done({ items: [record], nextCursor: nth === 9 ? null : String(nth + 1), prevCursor: null });
  };
  const spoilCursors = (): void => {
    isCursorGood = false;
  };
  const mendCursors = (): void => {
    isCursorGood = true;
  };
  return { list, asked, broken, spoilCursors, mendCursors };
}

const FOUR_PAGES = { maxPages: 4, withinMs: 60_000, nowMs: () => 0 };
const idsOf = (reading: Rereading<Withdrawal>): string =>
  reading.records.map(({ id }) => id.slice(4)).join('');

test('it goes on over several calls, reads each page once, and leaves failed and older records out', async () => {
  const { list, asked } = listOfTen();
  const reading = new Rereading(list, NOW - 6.5 * 60_000, ['FAILED'], FOUR_PAGES);
  assert.equal(await reading.goOn(), 'a bound');
  assert.equal(await reading.goOn(), 'its end');
  assert.equal(await reading.goOn(), 'its end');
  assert.deepEqual(asked, [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(idsOf(reading), '013456');
});

test('a page that fails is asked for again, and no page before it', async () => {
  const { list, asked, broken } = listOfTen();
  broken.add(5);
  const reading = new Rereading(list, 0, []);
  assert.equal(await reading.goOn(), 'a failure');
  assert.equal(await reading.goOn(), 'its end');
  assert.deepEqual(asked, [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9]);
});

test('where a cursor is not good any more, the list is read from its beginning', async () => {
  const { list, spoilCursors, mendCursors } = listOfTen();
  const reading = new Rereading(list, 0, [], FOUR_PAGES);
  assert.equal(await reading.goOn(), 'a bound');
  spoilCursors();
  for (let nth = 1; nth <= 3; nth += 1) assert.equal(await reading.goOn(), 'a failure');
  mendCursors();
  for (const stopped of ['a bound', 'a bound', 'its end']) assert.equal(await reading.goOn(), stopped);
  assert.equal(idsOf(reading), '0123456789');
});
