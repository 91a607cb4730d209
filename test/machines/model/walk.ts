/**
 * Walks all schedules of a small world with at most two faults, where the fuzzer plays some of many: every fault at every
 * point of the plain course, and after each of them every kind of fault at every later point of the course that came of it.
 * The parameters of a second fault take turns, from one first fault to the next.
 *
 * What the walk leaves out, since it would find the same again: a fault at a point that a course does not reach; the second of
 * two moments between which nothing happens; a pair in the other order; and all pairs of a first fault that leads to the same
 * course as an earlier one. Two courses are the same when the same happens in both, line by line, and when at each point the
 * same lies ahead of both: clocks, requests under way, what the service keeps, workers that stand still.
 * What the walk leaves out for want of time: other parameters than those below, and what a course does for the fourth time.
 */
import { createHash } from 'node:crypto';
import { isInSlice, type Slice } from '../../../scripts/lib/slice.mjs';
import { PROBABLY_OURS, REFUSALS } from './arbitrary.ts';
import { inProcess } from './fuzz.ts';
import {
  PLAIN_DAY,
  TWO_LEGS,
  nameOfFault,
  type Misfortune,
  type ReadFault,
  type ReadStep,
  type Schedule,
  type WriteFault,
  type WriteStep,
} from './schedule.ts';
import { failed, reset, story } from './story.ts';
import { World } from './world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The worlds: as small as a world can be that has these things in it. */
const WORLDS = {
  'one payment': story(),
  'two payments': story().given({ policy: { pays: 'twins' }, service: { alsoMxn: '50000' } }),
  'one chunk': story().given({ batch: { chunks: [2] }, service: { alsoMxn: '50000' } }),
  'one rebalancing': story({ ...PLAIN_DAY, rebalance: TWO_LEGS }),
  halts: story(),
  'one chunk and its run': story().given({
    batch: { chunks: [2], parallel: 2 },
    service: { alsoMxn: '50000' },
  }),
  // Of three payments, the second batch has every other one.
  'two batches': story().given({
    batch: { chunks: [2], otherChunks: [1] },
    service: { alsoMxn: '50000', paysAfterMs: 2 * MINUTE_MS },
    secondAfterMs: MINUTE_MS,
  }),
  // What both together may trade is less than the balances ask for.
  'two rebalancings': story({
    ...PLAIN_DAY,
    rebalance: {
      ...TWO_LEGS,
      startsWith: { USD: '5000', EUR: '1000', GBP: '400', MXN: '60000' },
      perDay: '4000',
      maxTrades: 1,
      other: 'run',
    },
  }).given({ secondAfterMs: 30_000 }),
} as const;

export type WorldName = keyof typeof WORLDS;
export const WORLD_NAMES = Object.keys(WORLDS) as readonly WorldName[];

/** Of the same kind, at the same point of a course: the first three times; in a world of a few moves, twice. */
const MOST_TIMES = 3;
const FEW_TIMES = 2;

export type WalkFailure = {
  readonly name: string;
  readonly schedule: Schedule;
  readonly broken: readonly string[];
  /** What happened, line by line. */
  readonly story: readonly string[];
};

export type Walk = {
  /** Walked in this slice. */
  readonly schedules: number;
  /** Courses with one fault that differ from each other, from which all others go on. */
  readonly states: number;
  readonly failure: WalkFailure | null;
};

/** A place in a course at which something can go wrong, the `nth` of its kind. */
type Point = {
  readonly kind: 'write' | 'read' | 'moment';
  readonly at: string;
  readonly nth: number;
  readonly atMs: number;
};
/** One thing that goes wrong at one point. */
type Fault = Pick<Point, 'nth'> &
  (
    | { readonly kind: 'write'; readonly at: WriteStep; readonly what: WriteFault }
    | { readonly kind: 'read'; readonly at: ReadStep; readonly what: ReadFault }
    | { readonly kind: 'moment'; readonly at: string; readonly what: Misfortune; readonly of: number }
  );

// What can go wrong.

const YES_NO = [true, false] as const;

/** Every kind of fault that a write can have, each with parameters that matter: before and after the time limits of a step. */
function writeFaults(step: WriteStep): readonly WriteFault[] {
  const late = (['in work', 'free', 'stored'] as const).flatMap((key) =>
    [50_000, 4 * MINUTE_MS].flatMap((ms): WriteFault[] => [
      { kind: 'late', ms, key, reply: 'none', resourceId: false },
      { kind: 'late', ms, key, reply: '500', resourceId: true },
    ]),
  );
  const movesMoney = step !== 'quote';
  return [
    { kind: 'not sent' },
    { kind: 'lost before' },
    { kind: 'lost after' },
    { kind: 'slow network', ms: 30_000 },
    ...(movesMoney ? late : []),
    ...YES_NO.flatMap((committed) =>
      (movesMoney ? YES_NO : [false]).flatMap((stored) =>
        YES_NO.map((resourceId) => failed({ committed, stored, resourceId })),
      ),
    ),
    { kind: '429', retryAfterMs: 40_000 },
    { kind: '503' },
    { kind: 'same key, please' },
    ...YES_NO.flatMap((committed): WriteFault[] => [
      { kind: 'html', committed },
      { kind: 'odd success', committed },
      { kind: 'nonce replay', committed },
      { kind: 'unknown code', status: 400, committed },
      { kind: 'unknown code', status: 500, committed },
    ]),
    ...REFUSALS[step].map((code): WriteFault => ({ kind: 'refusal', code })),
    ...PROBABLY_OURS[step].map((code): WriteFault => ({ kind: 'ours, probably', code })),
  ];
}

const WRITE_FAULTS: Readonly<Record<WriteStep, readonly WriteFault[]>> = {
  quote: writeFaults('quote'),
  trade: writeFaults('trade'),
  withdrawal: writeFaults('withdrawal'),
};
const READ_FAULTS: readonly ReadFault[] = ['no answer', 'html', '500', 'second page', 'key refused'];
const MISFORTUNES: readonly Misfortune[] = [
  { kind: 'crash' },
  { kind: 'freeze', ms: MINUTE_MS },
  { kind: 'mute' },
  { kind: 'slow dispatch', ms: 30_000 },
  // What a person does to the activities that are pending, in their place.
  { kind: 'answered', claim: 'another’s' },
  { kind: 'answered', claim: 'nobody’s' },
  { kind: 'answered', claim: 'undone' },
  { kind: 'answered', claim: 'failed' },
  { kind: 'handed on', what: 'nobody’s' },
  { kind: 'handed on', what: 'nothing' },
  { kind: 'handed on', what: 'undone' },
  { kind: 'pause', ms: 3 * MINUTE_MS },
  { kind: 'away', ms: 3 * HOUR_MS },
  reset(0),
  reset(2),
  { kind: 'two resets', back: 1 },
  { kind: 'terminate', againAfterMs: 0, plan: 'kept' },
  { kind: 'terminate', againAfterMs: MINUTE_MS, plan: 'lost' },
  { kind: 'start', times: 2 },
  { kind: 'restore', back: 2, takesMs: 5 * MINUTE_MS },
  { kind: 'cancel', how: 'both' },
  { kind: 'go on', promptMs: 0 },
  { kind: 'cause gone', item: 1, promptMs: 0 },
  { kind: 'executed', item: 1, claim: 'true', promptMs: 0 },
  { kind: 'not executed', item: 0, promptMs: 0 },
  { kind: 'not executed', item: 1, promptMs: 0 },
  { kind: 'pay again', item: 0, ahead: 1, promptMs: 0 },
  // A command looks, and its person says yes two minutes later. Two of them are two people.
  { kind: 'go on', promptMs: 2 * MINUTE_MS },
  { kind: 'executed', item: 1, claim: 'true', promptMs: 2 * MINUTE_MS },
  { kind: 'not executed', item: 1, promptMs: 2 * MINUTE_MS },
  { kind: 'pay again', item: 0, ahead: 1, promptMs: 2 * MINUTE_MS },
  { kind: 'Temporal’s clock', byMs: -3 * MINUTE_MS },
  { kind: 'our clock', byMs: MINUTE_MS },
  { kind: 'their clock', byMs: MINUTE_MS },
  { kind: 'credentials', use: 'another key' },
  { kind: 'lists unreadable', ms: 5 * MINUTE_MS },
  { kind: 'slow reads', takesMs: 6_000, ms: 5 * MINUTE_MS },
  { kind: 'instructions unreadable', ms: 5 * MINUTE_MS },
  { kind: 'service away', ms: 10 * MINUTE_MS },
  { kind: 'halt', policy: null, currency: null, forMs: 10 * MINUTE_MS },
  { kind: 'halt record lost', isBegunAnew: true },
  { kind: 'money', currency: 'MXN', change: 'goes' },
];

/** What happens to one of our workflows: each run, and of a batch its chunks after it. */
type Move = { readonly what: Misfortune; readonly of: number };

function each(of: readonly number[], ...all: readonly Misfortune[]): readonly Move[] {
  return all.flatMap((what) => of.map((one) => ({ what, of: one })));
}

/**
 * The worlds of a few moves: what goes wrong in them, instead of everything. Each has faults that the others do not play, and in
 * none of them does a read go wrong.
 */
const FEW: {
  readonly [Name in WorldName]?: {
    readonly writes: { readonly [Step in WriteStep]?: readonly WriteFault[] };
    readonly moves: readonly Move[];
  };
} = {
  // People halt everything, or a part; the record of it is lost, cannot be read, or is read slowly, also by a worker that begins.
  halts: {
    writes: {},
    moves: each(
      [0],
      { kind: 'halt', policy: null, currency: null, forMs: 10 * MINUTE_MS },
      { kind: 'halt', policy: 'p', currency: null, forMs: 10 * MINUTE_MS },
      { kind: 'halt', policy: null, currency: 'MXN', forMs: 10 * MINUTE_MS },
      { kind: 'halts unreadable', ms: 5 * MINUTE_MS },
      { kind: 'slow readings', takesMs: 700, ms: 5 * MINUTE_MS },
      { kind: 'halt record lost', isBegunAnew: false },
      { kind: 'halt record lost', isBegunAnew: true },
      { kind: 'crash' },
    ),
  },
  // The buttons of a chunk, and those of its run while a call of the chunk is in the middle of its payments.
  'one chunk and its run': {
    writes: { withdrawal: [{ kind: 'lost after' }] },
    moves: [
      ...each([0, 1], { kind: 'pause', ms: 3 * MINUTE_MS }, { kind: 'instructions unreadable', ms: 1_000 }),
      ...each(
        [1],
        reset(0),
        reset(2),
        { kind: 'terminate', againAfterMs: 0, plan: 'kept' },
        { kind: 'answered', claim: 'another’s' },
        { kind: 'answered', claim: 'undone' },
        { kind: 'answered', claim: 'failed' },
        { kind: 'handed on', what: 'nobody’s' },
        { kind: 'handed on', what: 'nothing' },
        { kind: 'handed on', what: 'undone' },
      ),
      ...each(
        [0],
        { kind: 'terminate', againAfterMs: MINUTE_MS, plan: 'kept' },
        { kind: 'cancel', how: 'both' },
      ),
    ],
  },
  // The payment that both have: what each of them learns of the other.
  'two batches': {
    writes: { withdrawal: [{ kind: 'lost after' }, { kind: 'lost before' }] },
    moves: [
      ...each([0, 2], reset(1), { kind: 'cancel', how: 'both' }),
      ...each([1, 3], reset(1), { kind: 'pause', ms: 15 * MINUTE_MS }),
      ...each(
        [0],
        { kind: 'word', item: 0, word: 'RETURNED' },
        { kind: 'lists unreadable', ms: 5 * MINUTE_MS },
        { kind: 'crash' },
        { kind: 'terminate', againAfterMs: MINUTE_MS, plan: 'lost' },
        { kind: 'pay again', item: 0, ahead: 1, promptMs: 2 * MINUTE_MS },
      ),
    ],
  },
  // One of them is held up, ended or lost in the middle of a trade, and the other one has what is left of the day.
  'two rebalancings': {
    writes: {
      trade: [
        { kind: 'lost after' },
        { kind: 'lost before' },
        { kind: 'late', ms: 1.5 * MINUTE_MS, key: 'free', reply: 'none', resourceId: false },
      ],
    },
    moves: [
      ...each(
        [0, 1],
        { kind: 'terminate', againAfterMs: HOUR_MS, plan: 'kept' },
        { kind: 'pause', ms: 10 * MINUTE_MS },
        reset(1),
      ),
      ...each(
        [0],
        { kind: 'vanish', againAfterMs: HOUR_MS },
        { kind: 'turn lost' },
        { kind: 'crash' },
        { kind: 'halt', policy: null, currency: 'MXN', forMs: 10 * MINUTE_MS },
        { kind: 'lists unreadable', ms: 5 * MINUTE_MS },
        { kind: 'executed', item: 0, claim: 'true', promptMs: 2 * MINUTE_MS },
      ),
    ],
  },
};

function faultsAt(world: WorldName, { kind, at, nth }: Point): readonly Fault[] {
  const few = FEW[world];
  switch (kind) {
    case 'write': {
      const step = at as WriteStep;
      const faults = few === undefined ? WRITE_FAULTS[step] : (few.writes[step] ?? []);
      return faults.map((what) => ({ kind, at: step, nth, what }));
    }
    case 'read':
      return few === undefined ? READ_FAULTS.map((what) => ({ kind, at: at as ReadStep, nth, what })) : [];
    case 'moment':
      return (few?.moves ?? each([0], ...MISFORTUNES)).map((move) => ({ kind, at, nth, ...move }));
  }
}

/** Of each kind of fault one, with the parameters whose turn it is. @param turn 0 and more */
function oneOfEachKind(faults: readonly Fault[], turn: number): readonly Fault[] {
  const kindOf = ({ what }: Fault): string => (typeof what === 'string' ? what : what.kind);
  return [...new Set(faults.map(kindOf))].flatMap((kind) => {
    const alike = faults.filter((fault) => kindOf(fault) === kind);
    return alike[turn % alike.length] ?? [];
  });
}

function nameOf(fault: Fault): string {
  const where = `${fault.at} ${fault.nth}`;
  switch (fault.kind) {
    case 'write':
      return `${where}: ${nameOfFault(fault.what)}${'ms' in fault.what ? `, ${fault.what.ms} ms` : ''}`;
    case 'read':
      return `${where}: ${fault.what}`;
    case 'moment':
      return `${where}: ${JSON.stringify(fault.what)}${fault.of === 0 ? '' : ` of ${fault.of}`}`;
  }
}

/** A world in which these things go wrong. */
function scheduleOf(world: WorldName, faults: readonly Fault[]): Schedule {
  const upTo = <T>(kind: Fault['kind'], at: string, none: T): T[] => {
    const here = faults.filter((fault) => fault.kind === kind && fault.at === at);
    const most = Math.max(0, ...here.map(({ nth }) => nth));
    return Array.from({ length: most }, (_, index) => {
      const hit = here.find(({ nth }) => nth === index + 1);
      return hit === undefined ? none : (hit.what as T);
    });
  };
  const writes = (step: WriteStep) => upTo<WriteFault>('write', step, { kind: 'none' });
  const reads = (step: ReadStep) => upTo<ReadFault>('read', step, 'none');
  const told = WORLDS[world].given({
    quote: writes('quote'),
    trade: writes('trade'),
    withdrawal: writes('withdrawal'),
    reads: {
      trades: reads('trades'),
      withdrawals: reads('withdrawals'),
      balances: reads('balances'),
      'by id': reads('by id'),
    },
  });
  return faults.reduce(
    (so, fault) =>
      fault.kind === 'moment'
        ? so.when({ at: fault.at, nth: fault.nth, plusMs: 0 }, fault.what, fault.of)
        : so,
    told,
  ).schedule;
}

// Courses.

/** A world that notes where something could have gone wrong, as long as faults happen. */
class Walked extends World {
  readonly points: Point[] = [];
  /** At each of them, what lay ahead. */
  readonly ahead: unknown[] = [];
  readonly #times = new Map<string, number>();

  constructor(schedule: Schedule, lines: string[]) {
    super(schedule, { hit: () => {} }, lines);
    const { service } = this;
    const noted =
      <Args extends unknown[], Result>(step: ReadStep, read: (...args: Args) => Result) =>
      (...args: Args): Result => {
        this.#note('read', step);
        return read.apply(service, args);
      };
    // Each of these meets one fault of its step.
    service.tradesPage = noted('trades', service.tradesPage.bind(service));
    service.withdrawalsPage = noted('withdrawals', service.withdrawalsPage.bind(service));
    service.scanWithdrawals = noted('withdrawals', service.scanWithdrawals.bind(service));
    service.balances = noted('balances', service.balances.bind(service));
    service.trade = noted('by id', service.trade.bind(service));
    service.withdrawal = noted('by id', service.withdrawal.bind(service));
    const wire = service.wire.bind(service);
    service.wire = (write, answer) => {
      this.#note('write', write.step);
      wire(write, answer);
    };
  }

  override reach(moment: string): void {
    this.#note('moment', moment);
    super.reach(moment);
  }

  #note(kind: Point['kind'], at: string): void {
    if (this.healedAtMs !== null) return;
    const name = `${kind} ${at}`;
    const nth = (this.#times.get(name) ?? 0) + 1;
    this.#times.set(name, nth);
    this.points.push({ kind, at, nth, atMs: this.agenda.nowMs });
    this.ahead.push(this.pending());
  }
}

type Course = {
  readonly points: readonly Point[];
  /** Everything that happened, and what lay ahead at each of its points. */
  readonly print: string;
  readonly failure: WalkFailure | null;
};

async function courseOf(world: WorldName, faults: readonly Fault[]): Promise<Course> {
  const schedule = scheduleOf(world, faults);
  const lines: string[] = [];
  const walked = new Walked(schedule, lines);
  const broken = await walked.run();
  const kept = walked.runs.map((run) => run.kept);
  // The line that names the fault itself is no part of what came of it; a chunk's ids have the number of its world.
  const came = lines.filter((line) => !line.includes('### {'));
  const print = createHash('sha256')
    .update(
      JSON.stringify([came, kept, walked.ahead, walked.keysUsed.size]).replaceAll(
        walked.nameOfRuns || ' ',
        '',
      ),
    )
    .digest('base64');
  const failure =
    broken.length === 0 ? null : { name: nameOfAll(world, faults), schedule, broken, story: lines };
  return { points: pointsOf(world, walked.points), print, failure };
}

/** Plays a schedule from which no other one goes on, so that nobody needs its course. */
async function failureOf(world: WorldName, faults: readonly Fault[]): Promise<WalkFailure | null> {
  const played = new World(scheduleOf(world, faults), { hit: () => {} });
  const broken = await played.run();
  // Once more, for its story.
  return broken.length === 0 ? null : (await courseOf(world, faults)).failure;
}

function nameOfAll(world: WorldName, faults: readonly Fault[]): string {
  return `${world}, ${faults.map(nameOf).join(', then ')}`;
}

/** What a course does for the fourth time is left out, and so is a moment that nothing parts from the next one. */
function pointsOf(world: WorldName, all: readonly Point[]): readonly Point[] {
  const most = FEW[world] === undefined ? MOST_TIMES : FEW_TIMES;
  return all.filter((point, index) => {
    const next = all[index + 1];
    const isNextOne =
      point.kind === 'moment' &&
      point.at.startsWith('after ') &&
      next?.kind === 'moment' &&
      next.atMs === point.atMs;
    return point.nth <= most && !isNextOne;
  });
}

/** What comes after a fault in the course that came of it. */
function pointsAfter({ kind, at, nth }: Fault, { points }: Course): readonly Point[] {
  const index = points.findIndex((point) => point.kind === kind && point.at === at && point.nth === nth);
  return points.slice(index + 1);
}

/** One slice of a world, in this process; stops at the first schedule that breaks a promise. */
export async function walkHere({
  world,
  slice,
}: {
  readonly world: WorldName;
  readonly slice: Slice;
}): Promise<Walk> {
  let schedules = 0;
  const plain = await courseOf(world, []);
  const seen = new Set([plain.print]);
  const goOnFrom: { readonly fault: Fault; readonly later: readonly Point[] }[] = [];
  if (plain.failure !== null) return { schedules: 1, states: 1, failure: plain.failure };
  for (const fault of plain.points.flatMap((point) => faultsAt(world, point))) {
    // Every slice needs to know what comes of one fault; it is counted in one of them.
    const course = await courseOf(world, [fault]);
    if (isInSlice(nameOf(fault), slice)) schedules += 1;
    if (course.failure !== null) return { schedules, states: seen.size, failure: course.failure };
    if (seen.has(course.print)) continue;
    seen.add(course.print);
    goOnFrom.push({ fault, later: pointsAfter(fault, course) });
  }
  for (const [turn, { fault, later }] of goOnFrom.entries())
    for (const second of later.flatMap((point) => oneOfEachKind(faultsAt(world, point), turn))) {
      if (!isInSlice(`${nameOf(fault)}, ${nameOf(second)}`, slice)) continue;
      // One after the other.
      const failure = await failureOf(world, [fault, second]);
      schedules += 1;
      if (failure !== null) return { schedules, states: seen.size, failure };
    }
  return { schedules, states: seen.size, failure: null };
}

/**
 * Walks one slice of a world, or of all of them, up to the first world in which a schedule breaks a promise.
 * @param onWorld is told of each world that was walked
 */
export async function walk({
  world,
  slice,
  processes,
  onWorld,
}: {
  readonly world: WorldName | 'all';
  readonly slice: Slice;
  readonly processes: number;
  readonly onWorld: (name: WorldName, walked: Walk) => void;
}): Promise<Walk> {
  let all: Walk = { schedules: 0, states: 0, failure: null };
  for (const name of world === 'all' ? WORLD_NAMES : [world]) {
    // One world after the other: each uses all processes.
    const walked = await walkWorld(name, slice, processes);
    onWorld(name, walked);
    const { schedules, states, failure } = walked;
    all = { schedules: all.schedules + schedules, states: all.states + states, failure };
    if (failure !== null) break;
  }
  return all;
}

async function walkWorld(world: WorldName, slice: Slice, processes: number): Promise<Walk> {
  const parts = await Promise.all(
    Array.from({ length: processes }, (_, process) => {
      const share = { of: slice.of * processes, number: (slice.number - 1) * processes + process + 1 };
      return inProcess<Walk>('walk-process', { world, slice: share });
    }),
  );
  return {
    schedules: parts.reduce((sum, { schedules }) => sum + schedules, 0),
    // Each process finds all of them.
    states: parts[0]?.states ?? 0,
    failure: parts.find(({ failure }) => failure !== null)?.failure ?? null,
  };
}

/** A failure for a person: what was broken, the schedule as data, and its last events. */
export function textOfWalk({ name, schedule, broken, story: lines }: WalkFailure): string {
  return [
    ...broken,
    '',
    `The schedule, ${name}:`,
    JSON.stringify(schedule, null, 1),
    '',
    'What happened:',
    ...lines.slice(-200),
  ].join('\n');
}
