/**
 * Which faults were hit at which step, and how often. A cell that stays empty means that the schedules do not reach what
 * they claim to reach: the test fails then.
 */
import { MOMENTS, PROBABLY_OURS, REFUSALS, STORIES, STORIES_OF_BATCHES } from './arbitrary.ts';
import type { WriteStep } from './schedule.ts';

export type Counts = readonly (readonly [cell: string, times: number])[];

export class Coverage {
  readonly #cells = new Map<string, number>();

  hit(step: string, what: string, times = 1): void {
    const cell = cellOf(step, what);
    this.#cells.set(cell, (this.#cells.get(cell) ?? 0) + times);
  }

  /** Cells and their counts, sorted by name. */
  counts(): Counts {
    return [...this.#cells].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  add(counts: Counts): void {
    for (const [cell, times] of counts) this.#cells.set(cell, (this.#cells.get(cell) ?? 0) + times);
  }
}

function cellOf(step: string, what: string): string {
  return `${step}: ${what}`;
}

const YES_NO = [true, false];
const committed = (what: string) => YES_NO.map((is) => `${what}, ${is ? 'committed' : 'not committed'}`);
const STEPS: readonly WriteStep[] = ['quote', 'trade', 'withdrawal'];

/** Faults that any write can have. */
const OF_EVERY_WRITE = [
  ...['not sent', 'lost before', 'lost after', 'slow network', '429', '503', 'same key, please'],
  ...['html', 'odd success', 'nonce replay', 'unknown code 4xx', 'unknown code 5xx'].flatMap(committed),
];
/** Those that need a key which is kept, or a booking that may come late. */
const OF_WRITES_THAT_MOVE_MONEY = [
  ...YES_NO.flatMap((is) =>
    ['stored', 'not stored'].flatMap((stored) =>
      ['with id', 'without id'].map((id) => `5xx ${is ? 'committed' : 'not committed'}, ${stored}, ${id}`),
    ),
  ),
  ...['in work', 'free', 'stored'].flatMap((key) =>
    ['no reply', '500 with id', '500 without id'].map((reply) => `late, key ${key}, ${reply}`),
  ),
  ...['in flight', 'success replayed', 'error replayed', 'not sent after the deadline'],
];
const EVENTS = [
  ...[
    'crash',
    'freeze',
    'mute',
    'slow dispatch',
    'away',
    'reset',
    'two resets',
    'terminate',
    'vanish',
    'start',
    'restore',
  ],
  ...[
    'cancel',
    'go on',
    'executed',
    'not executed',
    'cause gone',
    'pay again',
    'pay again of a run that was ended',
    'our clock',
    'their clock',
    'credentials',
  ],
  ...[
    'lists unreadable',
    'slow reads',
    'instructions unreadable',
    'service away',
    'money',
    'goes on in a new history',
    'a call fails at all its attempts',
    'answered',
    'a prompt stands open',
    'somebody has said something since',
    'a remedy: reset',
    'a remedy: go on',
    'refuses',
    'deposits',
    'Temporal’s clock',
    'a person decides what is left',
  ],
  ...['pause', 'halt', 'halt record lost', 'halts unreadable', 'slow readings'],
];

const OF_HALTS = [
  ...['everything', 'a policy', 'a currency', 'a policy in a currency', 'resumed'],
  ...['waits for a reading', 'the gate is closed: halted', 'the gate is closed: unreadable'],
  ...['stopped at the last moment', 'put back by a worker'],
];

const OF_BATCHES = [
  ...['a slice without a go', 'a submission is cut', 'everything is lost', 'another batch holds a payment'],
  ...['reset of the run', 'reset of a chunk', 'a chunk is ended', 'a chunk is started once more'],
  ...['a chunk opens its run again', 'a chunk goes on in a new history'],
  ...['a trade funds it', 'free money is asked for', 'asked for by new balances', 'not asked for any more'],
];

const OF_REBALANCES = [
  ...['a sale', 'a purchase', 'a purchase on the proceeds'],
  ...['asked for by new balances', 'not asked for any more', 'the day is read'],
  ...['per_trade', 'per_run', 'per_day', 'base', 'max_trades'].map(
    (restraint) => `held back by ${restraint}`,
  ),
];
/** Items and waits that the judge could judge: what nothing excuses. */
const JUDGED = ['asked in vain', 'undone', 'said nothing for too long'];
const OF_TURNS = ['of another run', 'reserved by a plan', 'reserved by a run'];

/** Every cell that a run of the test must have hit. */
export function expectedCells(): readonly string[] {
  const writes = STEPS.flatMap((step) => [
    ...OF_EVERY_WRITE.map((what) => cellOf(step, what)),
    ...(step === 'quote' ? [] : OF_WRITES_THAT_MOVE_MONEY.map((what) => cellOf(step, what))),
    ...REFUSALS[step].map((code) => cellOf(step, `refusal: ${code}`)),
    ...PROBABLY_OURS[step].map((code) => cellOf(step, `ours, probably: ${code}`)),
  ]);
  const reads = ['trades', 'withdrawals', 'balances', 'by id'].flatMap((step) =>
    ['no answer', 'html', '500', 'second page', 'key refused'].map((what) => cellOf(step, what)),
  );
  const blows = ['crash', 'freeze', 'mute'].flatMap((blow) => MOMENTS.map((moment) => cellOf(blow, moment)));
  const stories = Object.entries({ ...STORIES, ...STORIES_OF_BATCHES }).filter(([, [weight]]) => weight > 0);
  return [
    ...writes,
    ...reads,
    ...blows,
    ...EVENTS.map((what) => cellOf('event', what)),
    ...OF_HALTS.map((what) => cellOf('halt', what)),
    ...OF_BATCHES.map((what) => cellOf('batch', what)),
    ...JUDGED.map((what) => cellOf('judged', what)),
    ...OF_TURNS.map((what) => cellOf('turn', what)),
    ...OF_REBALANCES.map((what) => cellOf('rebalance', what)),
    ...stories.map(([name]) => cellOf('story', name)),
  ];
}

/** What was hit, for people: one line per cell, most telling first within each step. */
export function tableOf(counts: Counts): string {
  return counts.map(([cell, times]) => `${String(times).padStart(9)}  ${cell}`).join('\n');
}
