/** How fast a batch is sent, measured over the last minutes. */
import type { BatchStanding } from '../../domain/run/progress.ts';
import { count, span } from '../terminal/text.ts';

/** How many payments the service had accepted in a reply at this moment. */
type Seen = { readonly atMs: number; readonly sent: number };

const WINDOW_MS = 120_000;
/** A rate measured over a shorter time would be a guess. */
const SHORTEST_MS = 3_000;
/** A shorter rest is shown as this, since a person could not read it in time. */
const LEAST_LEFT_MS = 1_000;

export class Pace {
  #seen: readonly Seen[] = [];
  #counts: BatchStanding['counts'] | null = null;

  take({ counts }: BatchStanding, nowMs: number): void {
    this.#counts = counts;
    // A payment that was only found again took no time, so it does not count.
    const now = { atMs: nowMs, sent: counts.sent };
    this.#seen = [...this.#seen.filter(({ atMs }) => nowMs - atMs <= WINDOW_MS), now];
  }

  /**
   * `420 a minute, about 3 min until all are sent`, without the payments that wait. Empty when nothing is sent, or when it
   * is too soon to tell. It says nothing of when they are paid, which only the service knows.
   */
  get text(): string {
    const [first] = this.#seen;
    const last = this.#seen.at(-1);
    if (first === undefined || last === undefined || this.#counts === null) return '';
    const { accepted, paid, open, waiting } = this.#counts;
    const tookMs = last.atMs - first.atMs;
    const sent = last.sent - first.sent;
    // The service has accepted some of the open payments already: these are not left to be sent.
    const left = open - Math.max(0, accepted - paid) - waiting;
    if (tookMs < SHORTEST_MS || sent <= 0 || left <= 0) return '';
    const perMinute = Math.max(1, Math.round((sent * 60_000) / tookMs));
    const leftMs = Math.max(LEAST_LEFT_MS, (left * tookMs) / sent);
    const but =
      waiting === 0 ? '' : ` but the ${count(waiting, 'payment')} that wait${waiting === 1 ? 's' : ''}`;
    return `${perMinute} a minute, about ${span(leftMs)} until all${but} are sent`;
  }
}
