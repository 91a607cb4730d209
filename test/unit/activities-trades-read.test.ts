/** The write gate reads a few pages of the list of trades at a time, and takes no part of it for the whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TradesRead } from '../../activities/trades-read.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Trade } from '../../domain/service/records.ts';
import type { PageRequest } from '../../service/pages.ts';
import { NO_ANSWER, NOW, TRADE, done } from '../support/scripts.ts';

const MINUTE_MS = 60_000;

/** A list with a trade each minute back to `oldest` minutes ago, one a page, and what was asked of it. */
function listOf(oldest: number) {
  let ms = 0;
  let isDown = false;
  let status = 'PENDING';
  const asked: string[] = [];
  const added: Trade[] = [];
  const listTrades = async ({ startingAfter }: PageRequest = {}) => {
    asked.push(startingAfter ?? 'newest');
    if (isDown) return NO_ANSWER;
    const nth = Number(startingAfter ?? 0);
    const createdAt = new Date(NOW - nth * MINUTE_MS).toISOString();
    const items = [
      ...(startingAfter === undefined ? added : []),
      { ...TRADE, id: `tde_${nth}`, createdAt, status },
    ];
    return done({ items, nextCursor: nth === oldest ? null : String(nth + 1), prevCursor: null });
  };
  const clock = { wallMs: () => NOW + ms, monotonicMs: () => ms };
  return {
    read: new TradesRead({ reader: { listTrades }, facts: DEFAULT_SERVICE_FACTS, clock }),
    asked,
    added,
    passes: (more: number) => (ms += more),
    fails: (down: boolean) => (isDown = down),
    are: (now: string) => (status = now),
  };
}

const idsOf = (trades: readonly Trade[] | null): string => (trades ?? []).map(({ id }) => id).join(' ');

test('a list that is longer than one reading is read on, and shows nothing before its end', async () => {
  const { read, asked, added, passes } = listOf(29);
  assert.equal(await read.since(0), null);
  passes(20_000);
  added.push({ ...TRADE, id: 'tde_new', createdAt: new Date(NOW + 10_000).toISOString() });
  const trades = await read.since(0);
  assert.equal(trades?.length, 31);
  assert.match(idsOf(trades), /\btde_new\b/);
  // No old page is asked for twice: of the beginning only what may be new.
  assert.equal(asked.filter((page) => page === '15').length, 1);
  assert.equal(asked.filter((page) => page === '25').length, 1);
});

test('what has changed while a long list was read counts as it is now', async () => {
  const { read, are, passes } = listOf(29);
  await read.since(0);
  passes(20_000);
  are('FAILED');
  const seen = await read.since(0);
  assert.equal(seen?.find(({ id }) => id === 'tde_0')?.status, 'FAILED');
});

test('what was read long ago is read anew, and so is what does not go back far enough', async () => {
  const { read, asked, passes } = listOf(29);
  await read.since(NOW - 25 * MINUTE_MS);
  passes(20_000);
  assert.equal(await read.since(0), null);
  passes(300_001);
  assert.equal(await read.since(0), null);
  assert.equal(asked.filter((page) => page === '15').length, 3);
});

test('a list that cannot be read shows nothing, and one that can shows it at once', async () => {
  const { read, fails } = listOf(3);
  fails(true);
  assert.equal(await read.since(0), null);
  fails(false);
  assert.equal(idsOf(await read.since(0)), 'tde_0 tde_1 tde_2 tde_3');
});
