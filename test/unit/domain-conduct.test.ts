/** The run of a batch, driven without Temporal: which chunks it reads, tells and lets go, and when it is done. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanBatch } from '../../domain/batch.ts';
import { makeProblem } from '../../domain/problems.ts';
import type { ChunksCall, RunInput } from '../../domain/run/calls.ts';
import { isDone, type ChunkState } from '../../domain/run/chunk-state.ts';
import { conduct, tellEnd } from '../../domain/run/conduct.ts';
import type { Conducting } from '../../domain/run/parts.ts';
import { releasedIn } from '../../domain/run/release.ts';
import type { LegStage } from '../../domain/run/items.ts';
import { Pauses } from '../../domain/run/pauses.ts';
import { HistoryIsLong, StepFailed } from '../../domain/run/ports.ts';
import { adoptPlan, newRunState } from '../../domain/run/state.ts';
import { LEG, RUN, context } from '../support/scripts.ts';
import { ScriptTime } from '../support/script-time.ts';
import { TRADED_LEG, legAt } from '../support/stages.ts';

const MINUTE_MS = 60_000;
/** Payments of each chunk. */
const SIZE = 10;
const NOBODY = { refused: 0, sent: 0, inARow: null };
const NONE = {
  planned: SIZE,
  accepted: 0,
  paid: 0,
  notPaid: 0,
  needsHuman: 0,
  open: SIZE,
  sent: 0,
  waiting: 0,
};

type ToldState = Omit<Partial<ChunkState>, 'counts'> & { readonly counts?: Partial<ChunkState['counts']> };

/** A chunk that waits for its go. */
function chunk(number: number, { counts, ...more }: ToldState = {}): ChunkState {
  return {
    number,
    heard: null,
    isSending: false,
    counts: { ...NONE, ...counts },
    totals: [],
    waits: [],
    refusals: NOBODY,
    unpaid: [],
    ...more,
  };
}

const SENDING: ToldState = { heard: 'r1/c', isSending: true };
/** All of it is accepted, and nothing left to send. */
const ACCEPTED: ToldState = { heard: 'r1/c', counts: { accepted: SIZE } };
const PAID: ToldState = { heard: 'r1/c', counts: { accepted: SIZE, paid: SIZE, open: 0 } };
const REFUSED: ToldState = { heard: 'r1/c', counts: { accepted: 9, paid: 9, notPaid: 1, open: 0 } };

type More = Partial<PlanBatch['rules']> & {
  readonly chunks: number;
  /** Letters of the first chunk. */
  readonly unpayable?: string;
};

function planOf({ chunks, unpayable, ...more }: More) {
  const batch: PlanBatch = {
    payments: chunks * SIZE,
    totals: ['EUR', 'MXN'].map((currency) => ({ currency, value: '100' })),
    payable: [],
    heldBy: [],
    chunks: Array.from({ length: chunks }, (_, index) => ({
      payments: SIZE,
      hash: `hash-${index}`,
      unpayable: index === 0 ? (unpayable ?? null) : null,
    })),
    rules: { parallel: 2, stopAfter: null, canary: null, dedupeMs: 0, ...more },
  };
  const policy = { name: 'p', hash: '' };
  return { ...context().plan, policy, legs: [], payments: [], positions: [], batch };
}

/** Chunks that stand as the test says. */
class World {
  readonly time = new ScriptTime();
  readonly state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: '' });
  readonly news = new Set<number>();
  readonly calls: ChunksCall[] = [];
  readonly chunks: { state: ChunkState | null; isClosed: boolean }[];
  /** What stands beside the timers. */
  readonly timers: string[] = [];
  runId = 'r1';
  fails = false;
  isHeld = false;
  historyIsLong = false;
  isEnded = false;
  readonly course: Conducting;
  readonly end: Promise<unknown>;

  constructor(more: More, knownAs = (runId: string): string => runId) {
    const { state, time, news } = this;
    adoptPlan(state, planOf(more));
    this.chunks = state.chunks.map(({ number }) => ({ state: chunk(number), isClosed: false }));
    const ports: Conducting['ports'] = {
      readChunks: async (call) => {
        this.calls.push(call);
        if (this.fails) throw new StepFailed('no memory');
        await time.waitUntil(() => !this.isHeld);
        const { runId } = this;
        return { chunks: call.read.map((number) => ({ number, ...this.#at(number) })), runId };
      },
      waitUntil: (holds, timeoutMs, why) => {
        if (why !== undefined && !holds()) this.timers.push(why);
        return time.waitUntil(holds, timeoutMs, why);
      },
      nowMs: time.nowMs,
      historyIsLong: () => this.historyIsLong,
      show: () => {},
    };
    this.course = {
      input: { mode: 'SANDBOX', run: RUN },
      state,
      ports,
      pauses: new Pauses(ports, RUN),
      releases: 0,
      news,
      leaveLongHistory: () => Promise.reject(new HistoryIsLong()),
      takeUp: () => false,
      knownAs,
      isOver: () => this.isOver,
      isConducting: false,
      heldBy: '',
    };
    this.end = conduct(this.course).then(
      () => (this.isEnded = true),
      (error: unknown) => error,
    );
  }

  /** As of a run without legs. */
  get isOver(): boolean {
    return this.state.chunks.every((each) => isDone(each, this.state.knownAs));
  }

  #at(number: number) {
    return this.chunks[number - 1] ?? assert.fail(`There is no chunk ${number}.`);
  }

  /** The chunk stands like this from now on, and says that there is news. */
  async say(number: number, said: ToldState, isClosed = false): Promise<void> {
    Object.assign(this.#at(number), { state: chunk(number, said), isClosed });
    this.news.add(number);
    await this.time.quiet();
  }

  /** Why it was stopped, if it was. */
  get stops(): readonly string[] {
    return [this.state.stopped ?? []].flat().map(({ message }) => message);
  }

  get reads(): readonly (readonly number[])[] {
    return this.calls.map(({ read }) => read).filter((numbers) => numbers.length > 0);
  }

  get tells(): readonly (readonly number[])[] {
    return this.calls.map(({ tell }) => tell).filter((numbers) => numbers.length > 0);
  }
}

async function worldOf(more: More, knownAs?: (runId: string) => string): Promise<World> {
  const world = new World(more, knownAs);
  await world.time.quiet();
  return world;
}

test('every chunk is read at the start, and then just those that have news', async () => {
  const world = await worldOf({ chunks: 4 });
  await world.say(3, {});
  await world.say(2, SENDING);
  assert.deepEqual(world.reads, [[1, 2, 3, 4], [3], [2]]);
  assert.deepEqual(world.state.chunks[1]?.state, chunk(2, SENDING));
});

test('chunks in which everybody was paid hear of a new run as well: something may have come back since', async () => {
  const world = new World({ chunks: 2 });
  for (const [index, at] of world.chunks.entries())
    Object.assign(at, { state: chunk(index + 1, { ...PAID, heard: 'r0/c' }), isClosed: true });
  await world.time.quiet();
  assert.deepEqual(world.tells, [[1, 2]]);
  assert.ok(world.state.chunks.every((one) => !isDone(one, 'r1')));
  await world.say(1, PAID);
  await world.say(2, PAID);
  assert.ok(world.state.chunks.every((one) => isDone(one, 'r1')));
  assert.deepEqual(world.tells, [[1, 2]]);
});

test('a call reads 50 chunks at most', async () => {
  const world = await worldOf({ chunks: 120 });
  assert.deepEqual(
    world.reads.map(({ length }) => length),
    [50, 50, 20],
  );
});

test('news that comes while chunks are read is read next', async () => {
  const world = new World({ chunks: 2 });
  world.isHeld = true;
  await world.time.quiet();
  world.news.add(2);
  world.isHeld = false;
  await world.time.quiet();
  assert.deepEqual(world.reads, [[1, 2], [2]]);
});

test('a few chunks send side by side; the next may go as soon as one of them has nothing left to send', async () => {
  const world = await worldOf({ chunks: 4 });
  assert.deepEqual(world.tells, [[1, 2]]);
  await world.say(1, SENDING);
  await world.say(2, SENDING);
  assert.deepEqual(world.tells, [[1, 2]]);
  await world.say(2, ACCEPTED);
  assert.deepEqual(world.tells, [[1, 2], [3]]);
  await world.say(1, PAID);
  assert.deepEqual(world.tells, [[1, 2], [3], [4]]);
});

test('a chunk that has not heard of its go yet is about to send', async () => {
  const world = await worldOf({ chunks: 3 });
  await world.say(1, {});
  await world.say(2, { heard: 'r0/c', counts: { accepted: SIZE } });
  assert.deepEqual(world.tells, [[1, 2]]);
});

test('a chunk that has nothing to do takes nobody’s place', async () => {
  const world = new World({ chunks: 4 });
  for (const [index, at] of world.chunks.slice(0, 2).entries()) at.state = chunk(index + 1, PAID);
  await world.time.quiet();
  assert.deepEqual(world.tells, [[3, 4]]);
});

test('the first payments are accepted before any other chunk goes; then all that have their go hear of it', async () => {
  const world = await worldOf({ chunks: 3, canary: 3 });
  assert.deepEqual(world.tells, [[1]]);
  await world.say(1, { heard: 'r1/c', counts: { accepted: 2 } });
  assert.equal(world.state.isTested, false);
  await world.say(1, { heard: 'r1/c', isSending: true, counts: { accepted: 3 } });
  assert.equal(world.state.isTested, true);
  assert.deepEqual(world.tells, [[1], [1, 2]]);
});

test('first payments of the run before are tried again, and count once they are accepted', async () => {
  const world = new World({ chunks: 2, canary: 3 });
  const before: ToldState = { heard: 'r0/c', counts: { accepted: 2, notPaid: 8, open: 0 } };
  for (const at of world.chunks) at.state = chunk(1, before);
  await world.time.quiet();
  assert.deepEqual([world.state.isTested, world.tells], [false, [[1]]]);
});

test('where no first payment can be paid any more, nobody waits for it', async () => {
  const world = await worldOf({ chunks: 2, canary: 3 });
  await world.say(1, { heard: 'r1/c', counts: { accepted: 1, notPaid: 8, open: 2 } });
  assert.equal(world.state.isTested, false);
  await world.say(1, { heard: 'r1/c', counts: { accepted: 1, notPaid: 9, open: 1 } });
  assert.deepEqual([world.state.isTested, world.tells], [true, [[1], [1, 2]]]);
});

test('where fewer first payments can be paid than the rule asks for, those are enough', async () => {
  const world = await worldOf({ chunks: 2, canary: 9, unpayable: 'mmmmmmmm..' });
  await world.say(1, { heard: 'r1/c', counts: { accepted: 1 } });
  assert.equal(world.state.isTested, false);
  await world.say(1, { heard: 'r1/c', counts: { accepted: 2 } });
  assert.equal(world.state.isTested, true);
});

const TWO = { failed: 2, ratioPercent: null, sameCode: null };
const ONE_REFUSED = { ...SENDING, refusals: { refused: 1, sent: 5, inARow: null } };

test('refusals of all chunks stop the batch: every chunk hears of it, and ends what is not sent', async () => {
  const world = await worldOf({ chunks: 5, stopAfter: TWO });
  await world.say(1, ONE_REFUSED);
  assert.deepEqual(world.stops, []);
  await world.say(2, ONE_REFUSED);
  assert.deepEqual(world.stops, ['The batch was stopped: 2 payments were refused.']);
  assert.deepEqual(world.tells, [
    [1, 2],
    [1, 2],
  ]);
  for (const number of [1, 2]) await world.say(number, { ...REFUSED, refusals: ONE_REFUSED.refusals });
  assert.deepEqual(world.tells.slice(2).flat(), [3, 4]);
});

test('a refused first payment stops the batch, and the others are let go to end', async () => {
  const world = await worldOf({ chunks: 3, canary: 3 });
  await world.say(1, { ...SENDING, refusals: { refused: 1, sent: 1, inARow: null } });
  assert.equal(world.state.stopped?.code, 'BATCH_STOPPED');
  assert.deepEqual(world.tells, [[1], [1, 2]]);
});

test('once the first payments are accepted, a refusal stops nothing by their rule, also where their chunk has not answered yet', async () => {
  const world = new World({ chunks: 2, canary: 1 });
  const before: ToldState = { heard: 'r0/c', counts: { accepted: 1, open: 0 } };
  for (const at of world.chunks) at.state = chunk(1, before);
  await world.time.quiet();
  await world.say(2, { ...SENDING, refusals: { refused: 1, sent: 1, inARow: null } });
  assert.deepEqual([world.state.isTested, world.stops], [true, []]);
});

test('after a reset the first payments go first again, where they were refused', async () => {
  const world = await worldOf({ chunks: 3, canary: 1 });
  const refusals = { refused: 1, sent: 1, inARow: null };
  const refused: ToldState = { heard: 'r1/c', counts: { notPaid: SIZE, open: 0 }, refusals };
  await world.say(1, refused);
  assert.deepEqual([world.state.isTested, world.state.stopped?.code], [true, 'BATCH_STOPPED']);
  assert.deepEqual(world.tells, [[1], [2, 3]]);
  world.runId = 'r2';
  await world.say(2, {});
  assert.deepEqual([world.state.isTested, world.state.stopped], [false, null]);
  assert.deepEqual(world.tells, [[1], [2, 3], [1]]);
});

test('what an earlier run was refused does not stop this one', async () => {
  const world = await worldOf({ chunks: 2, stopAfter: TWO });
  for (const number of [1, 2]) await world.say(number, { ...ONE_REFUSED, heard: 'r0/c' });
  assert.equal(world.state.stopped, null);
});

test('a reset tries again: the stop of the run before it counts no more', async () => {
  const world = await worldOf({ chunks: 2, stopAfter: TWO });
  for (const number of [1, 2]) await world.say(number, ONE_REFUSED);
  world.runId = 'r2';
  await world.say(1, ONE_REFUSED);
  assert.deepEqual([world.state.stopped, world.state.knownAs], [null, 'r2']);
});

test('after a reset every chunk is told of the new run, also one that was told before and is paid', async () => {
  const world = await worldOf({ chunks: 2 });
  await world.say(2, PAID);
  world.runId = 'r2';
  await world.say(1, SENDING);
  assert.deepEqual(
    world.tells
      .slice(1)
      .flat()
      .toSorted((a, b) => a - b),
    [1, 2],
  );
  assert.deepEqual(world.reads.at(-1), [1, 2]);
});

test('a run that goes on in a new history is known as before, so that its refusals and its stop stand', async () => {
  const world = new World({ chunks: 2, stopAfter: TWO }, () => 'r1');
  world.runId = 'r2';
  for (const at of world.chunks) at.state = chunk(1, ONE_REFUSED);
  await world.time.quiet();
  assert.equal(world.state.knownAs, 'r1');
  assert.equal(world.state.stopped?.code, 'BATCH_STOPPED');
});

test('a chunk that is not in Temporal is shown, and holds up no other; it is looked for again after 10 minutes', async () => {
  const world = new World({ chunks: 3 });
  Object.assign(world.chunks[0] ?? {}, { state: null });
  await world.time.quiet();
  const [first] = world.state.chunks;
  assert.equal(first?.waiting?.problem.code, 'CHUNK_MISSING');
  assert.deepEqual(world.tells.flat(), [1, 2, 3]);
  const { length } = world.reads;
  Object.assign(world.chunks[0] ?? {}, { state: chunk(1, SENDING) });
  await world.time.pass(10 * MINUTE_MS);
  assert.deepEqual(world.reads.slice(length), [[1, 2, 3]]);
  assert.equal(first.waiting, null);
});

test('after 10 minutes of silence those that are not done are read', async () => {
  const world = await worldOf({ chunks: 3 });
  await world.say(2, PAID);
  const { length } = world.reads;
  await world.time.pass(10 * MINUTE_MS);
  assert.deepEqual(world.reads.slice(length), [[1, 3]]);
});

test('a chunk whose news is lost is read after 10 minutes, although another chunk says something each minute', async () => {
  const world = await worldOf({ chunks: 2 });
  for (let minute = 1; minute < 10; minute += 1) {
    await world.time.pass(MINUTE_MS);
    await world.say(1, SENDING);
  }
  const { length } = world.reads;
  await world.time.pass(MINUTE_MS);
  assert.deepEqual(world.reads.slice(length), [[1, 2]]);
});

test('a chunk that has ended undone is told until it is there again, one that is paid never', async () => {
  const world = await worldOf({ chunks: 2 });
  await world.say(2, PAID, true);
  assert.deepEqual(world.tells, [[1, 2]]);
  await world.say(1, SENDING, true);
  assert.deepEqual(world.tells, [[1, 2], [1]]);
  await world.say(1, SENDING);
  assert.deepEqual(world.tells, [[1, 2], [1]]);
});

test('chunks that have their go hear of what is released later, also where it was released while they were told', async () => {
  const world = await worldOf({ chunks: 3 });
  await world.say(2, SENDING);
  world.isHeld = true;
  world.course.releases += 1;
  await world.time.quiet();
  world.course.releases += 1;
  world.isHeld = false;
  await world.time.quiet();
  assert.deepEqual(world.tells, [
    [1, 2],
    [1, 2],
    [1, 2],
  ]);
});

test('a call that fails is made again with the same chunks, ever later, and people see why', async () => {
  const world = await worldOf({ chunks: 2 });
  world.fails = true;
  await world.say(1, SENDING);
  await world.time.pass(MINUTE_MS);
  await world.time.pass(MINUTE_MS);
  assert.deepEqual(world.reads.slice(1), [[1], [1]]);
  assert.equal(world.state.waiting?.problem.code, 'ACTIVITY_FAILED');
  world.fails = false;
  await world.time.pass(MINUTE_MS);
  assert.equal(world.state.waiting, null);
  assert.deepEqual(world.state.chunks[0]?.state, chunk(1, SENDING));
});

test('it is done when nothing of any chunk is open, and tells nobody any more', async () => {
  const world = await worldOf({ chunks: 2 });
  await world.say(1, PAID);
  assert.equal(world.isEnded, false);
  await world.say(2, REFUSED);
  assert.equal(world.isEnded, true);
  assert.deepEqual(world.tells, [[1, 2]]);
});

test('a history that has grown long is left before the next call', async () => {
  const world = await worldOf({ chunks: 1 });
  const { length } = world.calls;
  world.historyIsLong = true;
  await world.say(1, SENDING);
  assert.ok((await world.end) instanceof HistoryIsLong);
  assert.equal(world.calls.length, length);
});

test('a currency is paid once its leg has brought the money, or never will', () => {
  const why = makeProblem('CANCELLED', null);
  const cases: readonly (readonly [
    title: string,
    stage: LegStage,
    isCancelled: boolean,
    isReleased: boolean,
  ])[] = [
    ['nothing is traded yet', legAt('PENDING', why), false, false],
    ['traded, and not settled yet', TRADED_LEG, false, false],
    ['traded and settled', { ...TRADED_LEG, settled: true }, false, true],
    ['it never settles', { ...TRADED_LEG, settled: false }, false, true],
    ['it was not traded', legAt('NOT_TRADED', why), false, true],
    ['cancelled, and no poll has shown the trade', TRADED_LEG, true, false],
    ['cancelled, and a poll has shown the trade', { ...TRADED_LEG, isShown: true }, true, true],
    [
      'a person looks at it',
      { ...TRADED_LEG, settled: true, worse: { problem: why, isHeld: true } },
      false,
      false,
    ],
  ];
  for (const [title, stage, cancelled, isReleased] of cases) {
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: '' });
    adoptPlan(state, { ...planOf({ chunks: 1 }), legs: [LEG] });
    for (const record of state.legs) record.stage = stage;
    state.cancelled = cancelled;
    // Nothing is bought for payments in EUR.
    assert.deepEqual([title, releasedIn(state)], [title, isReleased ? ['EUR', 'MXN'] : ['EUR']]);
  }
});

test('when the run ends every chunk is told, 50 a call, and none is started again; who cannot be told asks by itself', async () => {
  const calls: ChunksCall[] = [];
  const chunks = Array.from({ length: 60 }, () => ({ payments: SIZE, hash: '' }));
  const input: RunInput = {
    run: RUN,
    mode: 'SANDBOX',
    policyText: '',
    policyHash: '',
    policyFile: '',
    files: {},
    startedBy: 'ana',
    batch: { payments: 600, totals: [], chunks },
  };
  const readChunks: Conducting['ports']['readChunks'] = (call) => {
    calls.push(call);
    return Promise.reject(new StepFailed('no memory'));
  };
  await tellEnd({ input, ports: { readChunks } });
  assert.deepEqual(
    calls.map(({ read, tell, isEnding }) => [read.length, tell.length, tell[0], isEnding]),
    [
      [0, 50, 1, true],
      [0, 10, 51, true],
    ],
  );
});

test('a timer begins whenever payments begin to wait for something else, so that its text can tell it', async () => {
  const world = new World({ chunks: 2 });
  await world.time.quiet();
  const begun = (): number => world.timers.filter((why) => why === 'Then it reads all open chunks').length;
  assert.equal(begun(), 1);
  const held = (payments: number): ToldState => ({
    ...ACCEPTED,
    held: [{ code: 'SHORTFALL', reason: 'money', currency: 'EUR', payments, value: '1', there: null }],
  });
  await world.say(1, held(2));
  assert.equal(begun(), 2);
  await world.say(2, ACCEPTED);
  assert.equal(begun(), 2, 'nothing else waits');
  await world.say(1, held(3));
  assert.equal(begun(), 3);
  await world.say(1, ACCEPTED);
  assert.equal(begun(), 4, 'nothing waits any more, and the newest text says so');
  await world.say(1, PAID);
  await world.say(2, PAID);
  assert.ok(world.isEnded, 'no timer keeps the run open');
});
