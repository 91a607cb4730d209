/**
 * The durable waits of a run: how long each is, that people see it with its reason, and that whoever wakes the run ends
 * it early.
 */
import type { Problem } from '../problems.ts';
import { safetyWaitText, waitingOf, type Wait, type Waiting } from '../waits.ts';
import { activityFailed } from './activity-failed.ts';
import { growing } from './growing.ts';
import type { Ports, StepFailed } from './ports.ts';

/** What may wait: an item, or the run. */
type Waiter = { waiting: Waiting | null };

/** What the waits of one waiter in a row have come to. */
type Pace = {
  readonly moneyTimes: number;
  readonly serviceMs: number;
  /** When it first waited for its turn, epoch milliseconds; null: it does not. */
  readonly turnSinceMs: number | null;
};

const AT_FIRST: Pace = { moneyTimes: 0, serviceMs: 0, turnSinceMs: null };
const LONGEST_MONEY_WAIT_MS = 300_000;
/** Pauses at the service's own pace are shown once they have come to more than this in a row. */
const PATIENT_MS = 60_000;
const LONGEST_POLL_WAIT_MS = 600_000;

/** What waits, looks, and waits for the same again so soon has waited all the time. */
const SAME_WAIT_MS = 300_000;

const NEVER = (): boolean => false;

export class Pauses {
  readonly #ports: Pick<Ports, 'waitUntil' | 'nowMs' | 'show'>;
  readonly #paces = new Map<Waiter, Pace>();
  /** What was shown last of each waiter, by the code of its problem. */
  readonly #shown = new Map<Waiter, Map<string, Waiting>>();
  /** Until then, an earlier history may have waited for what is shown for the first time. */
  readonly #inheritsUntilMs: number;
  #asked = 0;

  /** @param isContinued an earlier history of the same workflow has handed on to this one */
  constructor(ports: Pick<Ports, 'waitUntil' | 'nowMs' | 'show'>, isContinued = false) {
    this.#ports = ports;
    this.#inheritsUntilMs = isContinued ? ports.nowMs() + SAME_WAIT_MS : 0;
  }

  /** Counts people's wake-ups and cancels. */
  get asked(): number {
    return this.#asked;
  }

  /**
   * Somebody wants everything looked at now: every wait ends, and so does at once the next one of a call that is under
   * way. In a replay the signal may stand before the answer of that call, which it followed when it happened, or the
   * other way round: the same must come of both.
   */
  wake(): void {
    this.#asked += 1;
  }

  /**
   * A wait as it is made and shown. Whoever waits for money asks for ever later, up to 5 min: each time costs a read of
   * the balances, and history. What waits at the service's own pace, or for its turn, for longer than a minute altogether
   * is shown (M8).
   */
  paced(waiter: Waiter, wait: Wait): Wait {
    const { moneyTimes, serviceMs, turnSinceMs } = this.#paces.get(waiter) ?? AT_FIRST;
    switch (wait.reason) {
      case 'money':
        this.#paces.set(waiter, { ...AT_FIRST, moneyTimes: moneyTimes + 1 });
        return { ...wait, afterMs: growing(wait.afterMs, moneyTimes, LONGEST_MONEY_WAIT_MS) };
      case 'service': {
        const totalMs = serviceMs + wait.afterMs;
        this.#paces.set(waiter, { ...AT_FIRST, serviceMs: totalMs });
        return totalMs > PATIENT_MS ? { ...wait, reason: 'outage' } : wait;
      }
      case 'turn': {
        // Most of the time passes while the question is open.
        const sinceMs = turnSinceMs ?? this.#ports.nowMs();
        this.#paces.set(waiter, { ...AT_FIRST, turnSinceMs: sinceMs });
        return this.#ports.nowMs() - sinceMs > PATIENT_MS ? wait : { ...wait, reason: 'service' };
      }
      case 'halt':
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

  /** The waiter does not wait any more. Whoever says so shows it with what comes next. */
  goesOn(waiter: Waiter): void {
    this.#paces.delete(waiter);
    waiter.waiting = null;
  }

  /** Money has come: more may follow soon. */
  allSoon(): void {
    this.#paces.clear();
  }

  /**
   * A durable wait, shown with its reason; a wake-up ends it early. It stays shown while whoever waits looks again: most
   * often the answer is the same, and a held run should not be told as running in between.
   * @param asked people's wake-ups as they stood before the call that led to this wait
   */
  async pause(waiter: Waiter, wait: Wait, asked: number, isNews: () => boolean = NEVER): Promise<void> {
    this.show(waiter, wait);
    await this.sleep(wait.afterMs, asked, isNews, whyOf(wait, this.#ports.nowMs()));
  }

  show(waiter: Waiter, wait: Wait): void {
    this.note(waiter, wait);
    this.#ports.show();
  }

  /** The same for whoever shows several at once. */
  note(waiter: Waiter, wait: Wait): void {
    const shown = this.#shown.get(waiter) ?? new Map<string, Waiting>();
    waiter.waiting = waitingOf(wait, this.#ports.nowMs(), this.#before(waiter, wait, shown));
    this.#shown.set(waiter, shown.set(wait.problem.code, waiter.waiting));
  }

  /** The same wait as it was shown before; null: it begins now. */
  #before(waiter: Waiter, wait: Wait, shown: ReadonlyMap<string, Waiting>): Waiting | null {
    const { code } = wait.problem;
    if (waiter.waiting?.problem.code === code) return waiter.waiting;
    const nowMs = this.#ports.nowMs();
    const before = shown.get(code) ?? null;
    if (before !== null) return nowMs - before.wakeAtMs <= SAME_WAIT_MS ? before : null;
    return nowMs < this.#inheritsUntilMs ? { ...wait, wakeAtMs: nowMs } : null;
  }

  /** A durable wait that a wake-up, or what is news to the waiter, ends early; true when one did. */
  sleep(ms: number, asked: number, isNews: () => boolean = NEVER, why?: string): Promise<boolean> {
    return this.#ports.waitUntil(() => this.#asked !== asked || isNews(), Math.max(ms, 1), why);
  }
}

/** Beside the timer of a wait. */
function whyOf({ problem: { code, item }, safeAtMs }: Wait, nowMs: number): string {
  if (safeAtMs !== undefined) {
    const text = safetyWaitText(safeAtMs, nowMs);
    return item === null ? text : `${item}: ${text}`;
  }
  return item === null ? `Looks again: ${code}` : `Looks again for ${item}: ${code}`;
}

/** A poll that is stopped again and again is asked for ever later, up to 10 min: each time costs history. */
export function backedOff(wait: Wait, times: number): Wait {
  return { ...wait, afterMs: growing(wait.afterMs, times - 1, LONGEST_POLL_WAIT_MS) };
}

/** The wait after a call that failed at all its attempts. */
export function itemFailed(item: string, { message }: StepFailed, times: number): Wait {
  const wait = activityFailed(message, times);
  return { ...wait, problem: { ...wait.problem, item } };
}

/** A status that is in no list: it may mean anything, so that it is waited out, and somebody has to say what it means. */
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
    message: `The service says "${of.status}" of ${of.subject}; it is not known what that status means.`,
    fix: `Write it into \`${of.field}\` (${of.lists}) of the service file (CAMBIST_SERVICE_FILE) and start the workers again; the run then goes on by itself.`,
  };
}
