/** Beside a run that is gone in the middle of a trade, nothing is traded that it may have traded, until that is known (M4). */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { clockSkew } from '../../activities/clock-skew.ts';
import { readOthers } from '../../activities/others.ts';
import { NOTHING_RESERVED, openLeg } from '../../domain/plan/reserved.ts';
import type { GoneNoted, OwnTurn } from '../../domain/turn.ts';
import type { Gone } from '../../domain/writes/gone-runs.ts';
import { inActivity, page, worker } from '../support/activities.ts';
import { LEG, NOW, NO_ANSWER, TRADE } from '../support/scripts.ts';

const RUN = { policy: 'p', id: '2026-11-21-b' };
const NAME = 'p.2026-11-21-b';
const OPEN = { run: { policy: 'q', id: '2026-11-21' }, ...NOTHING_RESERVED };
const GONE: Gone = { run: RUN, runId: 'run-1', legs: [openLeg(LEG, false)] };
const UNKNOWN: Gone = { run: RUN, runId: null, legs: null };
/** 20 s to send, 55 s in which the service may accept it, two minutes of `settle_doubt`, ten seconds of tolerance. */
const DOUBT_MS = 205_000;

beforeEach(() => clockSkew.tell(null));

type Asked = {
  readonly gone?: Gone;
  readonly noted?: GoneNoted | null;
  readonly listed?: readonly string[] | null;
  readonly currencies?: readonly string[];
  readonly day?: string | null;
  /** The clock of this worker, and not of the service. */
  readonly aheadMs?: number;
};

/** What comes of it, and what the turn was told. */
async function asked({
  gone = GONE,
  noted = null,
  listed = [],
  currencies = ['USD'],
  day = null,
  aheadMs = 0,
}: Asked): Promise<readonly unknown[]> {
  const told: unknown[] = [];
  const { deps } = worker(
    {
      listTrades: async () =>
        listed === null
          ? NO_ANSWER
          : page(...listed.map((clientReferenceId) => ({ ...TRADE, clientReferenceId }))),
    },
    {
      clock: { wallMs: () => NOW + aheadMs, monotonicMs: () => 0 },
      turn: {
        ...worker().deps.turn,
        readReserved: async () => ({ open: [OPEN], gone: [gone] }),
        noteGone: async (...of) => void told.push(...of),
        forget: async (...of) => void told.push(...of),
      },
    },
  );
  const turn: OwnTurn = {
    turn: 'ours',
    hasLapsed: false,
    others: [NAME],
    gone: noted === null ? [] : [noted],
    tradedAgoMs: null,
    tradedAtMs: null,
  };
  const of = { turn, currencies, day: day === null ? null : { policy: 'p', date: day } };
  const read = await inActivity({}, () => readOthers(deps, of));
  return ['others' in read ? read.others : read.wait.problem.code, ...told];
}

test('a run waits beside one that is gone, says its name and since when, and notes when it was found', async () => {
  for (const gone of [GONE, UNKNOWN])
    assert.deepEqual(await asked({ gone }), [
      'RESERVATION_UNKNOWN',
      { run: NAME, runId: gone.runId, sinceMs: NOW },
    ]);
  const { deps } = worker(
    {},
    { turn: { ...worker().deps.turn, readReserved: async () => ({ open: [], gone: [GONE] }) } },
  );
  const { turn } = { turn: await deps.turn.take(RUN, true) };
  assert.ok(turn.turn === 'ours');
  const read = await inActivity({}, () => readOthers(deps, { turn, currencies: ['MXN'], day: null }));
  assert.ok('wait' in read);
  const { message, fix } = read.wait.problem;
  const minute = new Date(NOW).toISOString().slice(0, 16).replace('T', ' ');
  assert.ok(message.startsWith(`Run ${NAME} is gone from Temporal since ${minute} UTC`), message);
  assert.match(fix, /at the latest at \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
});

test('it waits as long as the run itself would have been in doubt, counted from when a worker first saw it gone', async () => {
  const after = (ms: number, runId: string | null = 'run-1') =>
    asked({ noted: { run: NAME, runId, sinceMs: NOW - ms } });
  assert.deepEqual(await after(DOUBT_MS - 1), ['RESERVATION_UNKNOWN']);
  assert.deepEqual(await after(DOUBT_MS), [[OPEN], [RUN]]);
  // It was started again since, and is gone once more.
  assert.deepEqual(await after(DOUBT_MS, 'run-0'), [
    'RESERVATION_UNKNOWN',
    { run: NAME, runId: 'run-1', sinceMs: NOW },
  ]);
  // No worker has noted a moment that is still to come.
  assert.deepEqual(await after(-3_600_000), [
    'RESERVATION_UNKNOWN',
    { run: NAME, runId: 'run-1', sinceMs: NOW },
  ]);
});

test('once the lists show its trade it waits no longer; where nothing tells what the run had planned, they cannot show that', async () => {
  for (const reference of [LEG.reference, `${LEG.reference}~2`])
    assert.deepEqual(await asked({ listed: [reference] }), [[OPEN], [RUN]]);
  for (const [gone, listed] of [
    [GONE, [`${LEG.reference}0`]],
    [GONE, null],
    [
      { ...GONE, legs: [openLeg(LEG, false), openLeg({ ...LEG, reference: 'other' }, false)] },
      [LEG.reference],
    ],
    [UNKNOWN, [LEG.reference]],
  ] as const)
    assert.equal((await asked({ gone, listed }))[0], 'RESERVATION_UNKNOWN');
});

test('only whoever would trade the same waits: one of its currencies, or on its date beside a limit of the day', async () => {
  assert.deepEqual(await asked({ currencies: ['EUR'] }), [[OPEN]]);
  assert.deepEqual(await asked({ currencies: ['EUR'], day: '2026-11-22' }), [[OPEN]]);
  assert.equal((await asked({ currencies: ['EUR'], day: '2026-11-21' }))[0], 'RESERVATION_UNKNOWN');
  assert.equal((await asked({ currencies: ['EUR'], gone: UNKNOWN }))[0], 'RESERVATION_UNKNOWN');
});

test('a wrong clock neither begins nor ends the wait', async () => {
  for (const aheadMs of [60_000, -60_000]) {
    assert.deepEqual(await asked({ aheadMs }), ['CLOCK_SKEW']);
    const noted = { run: NAME, runId: 'run-1', sinceMs: NOW + aheadMs - DOUBT_MS };
    assert.deepEqual(await asked({ aheadMs, noted }), ['CLOCK_SKEW']);
  }
});
