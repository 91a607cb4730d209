/**
 * The durable waits of a run: how long each is, how people see it with its reason, and how a person who wakes
 * the run ends it early.
 */
import { forRun, makeProblem, type Problem } from '../problems.ts';
import type { RunName } from '../references.ts';
import { safetyWaitText, waitingOf, type Wait, type Waiting } from '../waits.ts';
import { activityFailed } from './activity-failed.ts';
import { growing } from './growing.ts';
import type { Ports, StepFailed } from './ports.ts';

/** An item, or the run, which may wait. */
type Waiter = { waiting: Waiting | null };

/** How often or how long one waiter has waited in a row. */
type Pace = {
  readonly moneyTimes: number;
  readonly serviceMs: number;
  /** When the waiter began to wait for its turn, epoch milliseconds; null: it does not wait for it. */
  readonly turnSinceMs: number | null;
};

const AT_FIRST: Pace = { moneyTimes: 0, serviceMs: 0, turnSinceMs: null };
const LONGEST_MONEY_WAIT_MS = 300_000;
/** Pauses at the service's own pace are shown once they come to more than this in a row. */
const PATIENT_MS = 60_000;
const LONGEST_POLL_WAIT_MS = 600_000;

/** A waiter that looks, and waits for the same again within this time, has waited all the time. */
const SAME_WAIT_MS = 300_000;

const NEVER = (): boolean => false;

export class Pauses {
  readonly #ports: Pick<Ports, 'waitUntil' | 'nowMs' | 'show'>;
  readonly #run: RunName;
  readonly #paces = new Map<Waiter, Pace>();
  /** The last wait that was shown of each waiter, for each code of a problem. */
  readonly #shown = new Map<Waiter, Map<string, Waiting>>();
  /** Until this moment, a wait that is shown for the first time may have begun in an earlier history. */
  readonly #inheritsUntilMs: number;
  #asked = 0;

  /**
   * @param run whose name the advice of each wait has
   * @param isContinued an earlier history of the same workflow has handed on to this one
   */
  constructor(ports: Pick<Ports, 'waitUntil' | 'nowMs' | 'show'>, run: RunName, isContinued = false) {
    this.#ports = ports;
    this.#run = run;
    this.#inheritsUntilMs = isContinued ? ports.nowMs() + SAME_WAIT_MS : 0;
  }

  /** How often people have woken or cancelled the run. */
  get asked(): number {
    return this.#asked;
  }

  /**
   * A person wants the run to look at everything now. Every wait ends. If a call is under way, the wait that
   * follows its answer ends at once. In a replay, Temporal may give the signal before that answer although it
   * came after it in the first execution, or the other way round. Both orders must lead to the same.
   */
  wake(): void {
    this.#asked += 1;
  }

  /**
   * The wait as the run makes it and shows it. An item that waits for money asks for it ever later, up to 5
   * min, because each question costs a read of the balances, and history. An item that waits for more than a
   * minute altogether, at the service's own pace, for its turn or for a sale, is shown (M8).
   */
  paced(waiter: Waiter, wait: Wait, longestMoneyMs = LONGEST_MONEY_WAIT_MS): Wait {
    const { moneyTimes, serviceMs, turnSinceMs } = this.#paces.get(waiter) ?? AT_FIRST;
    switch (wait.reason) {
      case 'money':
        this.#paces.set(waiter, { ...AT_FIRST, moneyTimes: moneyTimes + 1 });
        return { ...wait, afterMs: growing(wait.afterMs, moneyTimes, longestMoneyMs) };
      case 'service': {
        const totalMs = serviceMs + wait.afterMs;
        this.#paces.set(waiter, { ...AT_FIRST, serviceMs: totalMs });
        return totalMs > PATIENT_MS ? { ...wait, reason: 'outage' } : wait;
      }
      case 'turn':
      case 'sale': {
        // By the clock, because most of the time passes while the call that asks for the turn is open.
        const sinceMs = turnSinceMs ?? this.#ports.nowMs();
        this.#paces.set(waiter, { ...AT_FIRST, turnSinceMs: sinceMs });
        return this.#ports.nowMs() - sinceMs > PATIENT_MS ? wait : { ...wait, reason: 'service' };
      }
      case 'halt':
      case 'approval':
      case 'outage':
      case 'doubt':
      case 'configuration':
      case 'opening':
      case 'settlement':
      case 'person':
        this.#paces.delete(waiter);
        return wait;
    }
  }

  /** The waiter does not wait any more. The caller shows this with what comes next. */
  goesOn(waiter: Waiter): void {
    this.#paces.delete(waiter);
    waiter.waiting = null;
  }

  /** Money has come. More may follow soon, so that the pauses begin short again. */
  allSoon(): void {
    this.#paces.clear();
  }

  /**
   * A durable wait, shown with its reason. A person who wakes the run ends it early. It stays shown while the
   * item looks again: most often the answer is the same, and a held run should not be told as running in
   * between.
   * @param asked the count `asked` as it stood before the call that led to this wait
   */
  async pause(waiter: Waiter, wait: Wait, asked: number, isNews: () => boolean = NEVER): Promise<void> {
    this.show(waiter, wait);
    await this.sleep(wait.afterMs, asked, isNews, whyOf(wait, this.#ports.nowMs()));
  }

  /** The wait stays as it is shown, but for when the waiter looks again. */
  postpone(waiter: Waiter, afterMs: number): void {
    if (waiter.waiting !== null)
      waiter.waiting = { ...waiter.waiting, wakeAtMs: this.#ports.nowMs() + afterMs };
  }

  show(waiter: Waiter, wait: Wait): void {
    this.note(waiter, wait);
    this.#ports.show();
  }

  /** Sets the wait that is shown; a caller with several waits shows them all at once. */
  note(waiter: Waiter, wait: Wait): void {
    const shown = this.#shown.get(waiter) ?? new Map<string, Waiting>();
    const told = { ...wait, problem: forRun(wait.problem, this.#run) };
    waiter.waiting = waitingOf(told, this.#ports.nowMs(), this.#before(waiter, wait, shown));
    this.#shown.set(waiter, shown.set(wait.problem.code, waiter.waiting));
  }

  /** The same wait as it was shown before; null: this wait begins now. */
  #before(waiter: Waiter, wait: Wait, shown: ReadonlyMap<string, Waiting>): Waiting | null {
    const { code } = wait.problem;
    if (waiter.waiting?.problem.code === code) return waiter.waiting;
    const nowMs = this.#ports.nowMs();
    const before = shown.get(code) ?? null;
    if (before !== null) return nowMs - before.wakeAtMs <= SAME_WAIT_MS ? before : null;
    return nowMs < this.#inheritsUntilMs ? { ...wait, wakeAtMs: nowMs } : null;
  }

  /**
   * A durable wait that ends early when a person wakes the run, or when there is news for the waiter. True
   * when it ended early.
   */
  sleep(ms: number, asked: number, isNews: () => boolean = NEVER, why?: string): Promise<boolean> {
    return this.#ports.waitUntil(() => this.#asked !== asked || isNews(), Math.max(ms, 1), why);
  }
}

/** The text beside the timer of a wait. */
function whyOf({ problem: { code, item }, safeAtMs }: Wait, nowMs: number): string {
  if (safeAtMs !== undefined) {
    const text = safetyWaitText(safeAtMs, nowMs);
    return item === null ? text : `${item}: ${text}`;
  }
  return item === null ? `Looks again: ${code}` : `Looks again for ${item}: ${code}`;
}

/** A poll that is stopped again and again is tried ever later, to 10 min: each time costs history. */
export function backedOff(wait: Wait, times: number): Wait {
  return { ...wait, afterMs: growing(wait.afterMs, times - 1, LONGEST_POLL_WAIT_MS) };
}

/** The wait after a call that failed at all its attempts. */
export function itemFailed(item: string, { message }: StepFailed, times: number): Wait {
  const wait = activityFailed(message, times);
  return { ...wait, problem: { ...wait.problem, item } };
}

/** The service gave a record for an item, and then does not show it as planned: a person finds out why. */
export function notAsPlanned(item: string, record: string): Wait {
  const message = `The service gave the id ${record} for "${item}", but does not show a record with this id as it was planned.`;
  return {
    afterMs: LONGEST_POLL_WAIT_MS,
    reason: 'person',
    problem: makeProblem('RECORD_DIFFERS', item, { message }),
  };
}

/** A status that is in no list may mean anything: the run waits until a person says what it means. */
export function statusUnknown(of: {
  readonly item: string;
  readonly subject: string;
  readonly status: string;
  readonly field: string;
  readonly lists: string;
}): Problem {
  return {
    code: 'STATUS_UNKNOWN',
    item: of.item,
    message: `The service says "${of.status}" of ${of.subject}, and Cambist does not know what that status means.`,
    fix: `Write it into \`${of.field}\` (${of.lists}) of the service file (CAMBIST_SERVICE_FILE) and start the workers again; the run then goes on by itself.`,
  };
}
