/** How fast a batch goes, by what was seen of it in the last minutes. */
import type { BatchStanding } from '../../domain/run/progress.ts';
import { span } from '../terminal/text.ts';

/** Payments that the service has accepted, and those that have an end, at a moment. */
type Seen = { readonly atMs: number; readonly accepted: number; readonly ended: number };

const WINDOW_MS = 120_000;
/** A rate of less is a guess. */
const SHORTEST_MS = 3_000;

export class Pace {
  #seen: readonly Seen[] = [];
  #counts: BatchStanding['counts'] | null = null;

  take({ counts }: BatchStanding, nowMs: number): void {
    this.#counts = counts;
    const now = { atMs: nowMs, accepted: counts.accepted, ended: counts.planned - counts.open };
    this.#seen = [...this.#seen.filter(({ atMs }) => nowMs - atMs <= WINDOW_MS), now];
  }

  /** `420 a minute, about 3 min until all are sent`; empty where nothing moves, or it is too soon to tell. */
  get text(): string {
    const [first] = this.#seen;
    const last = this.#seen.at(-1);
    if (first === undefined || last === undefined || this.#counts === null) return '';
    const { accepted, paid, open } = this.#counts;
    const tookMs = last.atMs - first.atMs;
    if (tookMs < SHORTEST_MS || open === 0) return '';
    // Of those that are open, the service has so many already.
    const unsent = open - Math.max(0, accepted - paid);
    const [moved, left, end] =
      unsent > 0
        ? ([last.accepted - first.accepted, unsent, 'sent'] as const)
        : ([last.ended - first.ended, open, 'paid'] as const);
    if (moved <= 0) return '';
    const perMinute = Math.max(1, Math.round((moved * 60_000) / tookMs));
    return `${perMinute} a minute, about ${span((left * tookMs) / moved)} until all are ${end}`;
  }
}
