/**
 * A story: a run or a batch in the model's virtual time, told as a sentence. It begins with a plain day; what is given and what
 * happens when is added to it, as data of a schedule. Played, it shows how things stood at the moments that a test asks
 * about, and no story ends before the oracle has judged all of it.
 */
import assert from 'node:assert/strict';
import { chunkStateOf } from '../../../domain/run/chunk-state.ts';
import { progressPage, standingWith, withStanding, type Progress } from '../../../domain/run/progress.ts';
import { chunkPage, readReport, reportPage, type Report } from '../../../domain/run/report.ts';
import type { Effect } from '../../../domain/writes/step.ts';
import type { Trade, Withdrawal } from '../../../domain/service/records.ts';
import {
  PLAIN_DAY,
  type BatchSettings,
  type Event,
  type Misfortune,
  type Moment,
  type PolicySettings,
  type Schedule,
  type ServiceSettings,
  type WriteFault,
} from './schedule.ts';
import type { Write } from './service.ts';
import type { Temporal } from './temporal.ts';
import { HELD, World, type Sent } from './world.ts';

const DAY_MS = 86_400_000;
/** Longer than any run waits: a story that has not come to its end by then never does. */
const PATIENCE_MS = 15 * DAY_MS;

// Words.

/** The reply does not come, although the service has done it. */
export const LOST_REPLY: WriteFault = { kind: 'lost after' };
/** The request does not come to the service. */
export const LOST_REQUEST: WriteFault = { kind: 'lost before' };
export const START: Moment = { at: 'start', nth: 1, plusMs: 0 };
export const END: Moment = { at: 'end', nth: 1, plusMs: 0 };
export const GO_ON: Misfortune = { kind: 'go on', promptMs: 0 };

export function refused(code: string): WriteFault {
  return { kind: 'refusal', code };
}

/** A 500 that says that it was not executed, which need not be so. */
export function failed(more: Partial<Extract<WriteFault, { kind: '5xx' }>> = {}): WriteFault {
  return { kind: '5xx', committed: false, stored: false, resourceId: true, timeoutMs: null, ...more };
}

/** Accepted at once, and booked so much later. */
export function late(ms: number, more: Partial<Extract<WriteFault, { kind: 'late' }>> = {}): WriteFault {
  return { kind: 'late', ms, reply: 'none', resourceId: false, key: 'in work', ...more };
}

/** @param back points of history before the newest */
export function reset(back = 0, run: 0 | 1 | 99 = 0): Misfortune {
  return { kind: 'reset', back, run };
}

type More = { readonly nth?: number; readonly plusMs?: number };

/** The moment at which something comes for the `nth` time, or a while after it. */
export function at(moment: string, { nth = 1, plusMs = 0 }: More = {}): Moment {
  return { at: moment, nth, plusMs };
}

export function before(effect: Effect['kind'], more?: More): Moment {
  return at(`before ${effect}`, more);
}

export function after(effect: Effect['kind'], more?: More): Moment {
  return at(`after ${effect}`, more);
}

/** A run is held by a problem of this code. */
export function heldBy(code: string, more?: More): Moment {
  return at(`${HELD}${code}`, more);
}

// Stories.

/** What a story is given. Faults of writes and reads happen before those that the day has. */
export type Given = {
  readonly service?: Partial<ServiceSettings>;
  readonly policy?: Partial<PolicySettings>;
  readonly batch?: Partial<BatchSettings>;
  readonly quote?: readonly WriteFault[];
  readonly trade?: readonly WriteFault[];
  readonly withdrawal?: readonly WriteFault[];
  readonly reads?: Partial<Schedule['reads']>;
} & Partial<Pick<Schedule, 'secondAfterMs' | 'longHistory' | 'isKeyKnown' | 'remedy' | 'story'>>;

const PLAIN_BATCH: BatchSettings = {
  chunks: [2],
  otherChunks: [1],
  parallel: 1,
  stopAfter: null,
  canary: null,
  cutAfter: null,
  submittedAgainAfterMs: 60_000,
  isFunded: false,
};

/** How things stood for one run at one moment. */
export type Glimpse = {
  readonly report: Report;
  /** As a command reads it, with what the chunks of a batch say themselves. */
  readonly progress: Progress;
  /** What really moved, by the service's own ledger, oldest first. */
  readonly trades: readonly Trade[];
  readonly withdrawals: readonly Withdrawal[];
  /** Trades and withdrawals that were sent, oldest first. */
  readonly writes: readonly Sent[];
  /** How many points of history the run has, and then each of its chunks. */
  readonly points: readonly number[];
};

/** How a story ended: its first run, all of them, and how they stood when a run was held. */
export type Ending = Glimpse & {
  readonly runs: readonly Glimpse[];
  /** All runs once the faults have stopped, money is there, and an operator has tried again what was left. */
  readonly afterwards: readonly Glimpse[];
  /** When the first run was held by a problem of this code, for the first time. */
  readonly heldBy: (code: string) => Glimpse;
  /** Codes by which the first run was held. */
  readonly held: readonly string[];
  /** How long all of it has taken. */
  readonly tookMs: number;
  /** How often something was asked of the service, by all runs. */
  readonly asked: (effect: Effect['kind']) => number;
};

type Until = (report: Report, progress: Progress) => boolean;

type End = {
  readonly runs: readonly Glimpse[];
  readonly moments: ReadonlyMap<string, number>;
  readonly missed: readonly string[];
  readonly tookMs: number;
};

export class Story {
  readonly #day: Schedule;
  readonly #events: readonly Event[];
  readonly #until: Until | null;

  constructor(day: Schedule, events: readonly Event[], until: Until | null) {
    this.#day = day;
    this.#events = events;
    this.#until = until;
  }

  given({
    service,
    policy,
    batch,
    quote = [],
    trade = [],
    withdrawal = [],
    reads = {},
    ...more
  }: Given): Story {
    const day = this.#day;
    const readsOf = (step: keyof Schedule['reads']) => [...(reads[step] ?? []), ...day.reads[step]];
    return new Story(
      {
        ...day,
        ...more,
        service: { ...day.service, ...service },
        policy: { ...day.policy, ...policy },
        batch: batch === undefined ? day.batch : { ...(day.batch ?? PLAIN_BATCH), ...batch },
        faults: {
          quote: [...quote, ...day.faults.quote],
          trade: [...trade, ...day.faults.trade],
          withdrawal: [...withdrawal, ...day.faults.withdrawal],
        },
        reads: {
          trades: readsOf('trades'),
          withdrawals: readsOf('withdrawals'),
          balances: readsOf('balances'),
          'by id': readsOf('by id'),
        },
      },
      this.#events,
      this.#until,
    );
  }

  /** Things that happen at a moment, to the first run unless `of` says otherwise. */
  when(moment: Moment, what: Misfortune | readonly Misfortune[], of = 0): Story {
    const all = 'kind' in what ? [what] : what;
    const events = all.map((each): Event => ({ when: moment, what: each, of }));
    return new Story(this.#day, [...this.#events, ...events], this.#until);
  }

  /** The story is told until a report of its first run is like this; without it, until every run has ended, and every chunk. */
  until(what: Until): Story {
    return new Story(this.#day, this.#events, what);
  }

  /** As data; its events come before those of the day that it began with. */
  get schedule(): Schedule {
    return { ...this.#day, events: [...this.#events, ...this.#day.events] };
  }

  /**
   * Plays it, lets all faults stop, and sees what becomes of the run then. Fails an assertion where a promise breaks, or where
   * the story never ends.
   */
  async play(): Promise<Ending> {
    const { schedule } = this;
    const lines: string[] = [];
    const held = new Map<string, Glimpse>();
    const ends: End[] = [];
    const world: World = new World(schedule, { hit: () => {} }, lines, {
      isHeld: async (temporal, code) => {
        if (ends.length === 0 && temporal === world.runs[0] && !held.has(code))
          held.set(code, await glimpseOf(world, temporal));
      },
      look: async () => {
        if (ends.length > 0 || !(await this.#isThere(world))) return;
        const runs = await Promise.all(world.runs.map((run) => glimpseOf(world, run)));
        const tookMs = world.agenda.nowMs - beginsAtMs;
        ends.push({ runs, moments: world.moments(), missed: missedIn(world), tookMs });
      },
      hasSeenEnough: () => ends.length > 0 || world.agenda.nowMs > beginsAtMs + PATIENCE_MS,
    });
    const beginsAtMs = world.agenda.nowMs;
    const broken = await world.run();
    const told = (what: string): string =>
      [what, '', ...lines, '', JSON.stringify(schedule, null, 1)].join('\n');
    if (broken.length > 0) assert.fail(told(broken.join('\n')));
    const { runs, moments, missed, tookMs } =
      ends[0] ?? assert.fail(told('The story never came to its end.'));
    if (missed.length > 0) saysNothing(told(`It never happened: ${missed.join(', ')}`));
    return {
      ...(runs[0] ?? saysNothing('A story has a run.')),
      runs,
      afterwards: await Promise.all(world.runs.map((run) => glimpseOf(world, run))),
      held: [...held.keys()],
      tookMs,
      heldBy: (code) => held.get(code) ?? assert.fail(told(`The run was never held by ${code}.`)),
      asked: (effect) => moments.get(`before ${effect}`) ?? 0,
    };
  }

  async #isThere(world: World): Promise<boolean> {
    // The chunks of a batch end a moment after its run, and one that was reset goes on by itself.
    if (this.#until === null)
      return world.isOver() && world.workflows.every(({ current }) => current === null);
    const [first] = world.runs;
    return first?.newest() !== undefined && this.#until(await reportOf(first), progressOf(first));
  }
}

/** A story that begins on a plain day, or on this one. */
export function story(day: Schedule = PLAIN_DAY): Story {
  return new Story(day, [], null);
}

/** As whoever asks for it gets it. */
function reportOf(temporal: Temporal): Promise<Report> {
  const { chunks } = temporal;
  const { state } = temporal.newest() ?? saysNothing('The run has not begun.');
  return readReport(
    async (offset) => reportPage(state, offset),
    (number) => async (offset) => {
      const reported = chunks[number - 1]?.telling()?.state;
      return reported === undefined ? null : chunkPage(reported, offset);
    },
  );
}

/** As `operations/batches/open-chunks.ts` puts it together. */
function progressOf(temporal: Temporal): Progress {
  const { run, state } = temporal.newest() ?? saysNothing('The run has not begun.');
  const { progress } = progressPage(state, 0, run?.isAgain ?? saysNothing('It is no run.'));
  const { batch } = progress;
  if (batch === null || state.ended) return progress;
  const states = batch.open.map((number) => {
    const chunk = temporal.chunks[number - 1]?.newest()?.chunk ?? null;
    return chunk === null ? null : chunkStateOf(chunk.standing);
  });
  // Where one of them does not answer, what the run has heard counts.
  const answers = states.flatMap((each) => each ?? []);
  return answers.length < states.length ? progress : withStanding(progress, standingWith(batch, answers));
}

async function glimpseOf(world: World, temporal: Temporal): Promise<Glimpse> {
  // Items of every other run begin with its own prefix.
  const isOurs = ({ item }: Write): boolean =>
    world.runs.findLast(({ ours }) => item.startsWith(ours.prefix)) === temporal;
  const moved = world.service.ledger.filter(({ send }) => isOurs(send.write));
  return {
    report: await reportOf(temporal),
    progress: progressOf(temporal),
    trades: moved.flatMap((each) => (each.kind === 'trade' ? { ...each.record, status: each.status } : [])),
    withdrawals: moved.flatMap((each) =>
      each.kind === 'withdrawal' ? { ...each.record, status: each.status } : [],
    ),
    writes: world.sent
      .filter(({ write }) => write.step !== 'quote' && isOurs(write))
      .map((sent) => ({ ...sent })),
    points: [temporal, ...temporal.chunks].map((each) => each.pointsOfHistory()),
  };
}

/** What a story is given and what never came about. */
function missedIn(world: World): readonly string[] {
  const moments = world.moments();
  const events = world.schedule.events.filter(({ when }) => (moments.get(when.at) ?? 0) < when.nth);
  return [
    ...events.map(({ what, when }) => `${what.kind} at "${when.at}" #${when.nth}`),
    ...world.service.faultsLeft().map((step) => `a fault of ${step}`),
  ];
}

/**
 * The story is not played as it is told, and so it says nothing about the program. This is no assertion: a planted defect is
 * not caught by it (`scripts/bugs.mjs`).
 */
function saysNothing(why: string): never {
  throw new Error(why);
}

/** Everything was converted and paid, and the service has booked each movement exactly once. */
export function assertDoneOnce({ report, trades, withdrawals }: Glimpse): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assert.deepEqual(
    trades.map(({ id }) => id),
    report.legs.map(({ tradeId }) => tradeId),
  );
  assert.equal(withdrawals.length, report.payments.length);
  assert.deepEqual(
    new Set(withdrawals.map(({ id }) => id)),
    new Set(report.payments.map(({ withdrawalId }) => withdrawalId)),
  );
}

/** The service has booked nothing for the run. */
export function assertNothingMoved({ trades, withdrawals }: Glimpse): void {
  assert.deepEqual({ trades, withdrawals }, { trades: [], withdrawals: [] });
}
