/**
 * Gone runs: a person has terminated or deleted a run, or Temporal has lost it, while it was in doubt about a trade. Nobody asks
 * for the outcome of that trade any more, and the service may still book it. Until it is known, no other run trades what it may
 * have traded (M4). Pure.
 */
import type { OpenLeg, OthersReserved, Reservation } from '../plan/reserved.ts';
import { makeProblem } from '../problems.ts';
import { runName, type RunName } from '../references.ts';
import type { ServiceFacts } from '../service/facts.ts';
import { minuteText, type Wait } from '../waits.ts';
import { SEND_OUTLIVES_MS } from './doubt.ts';
import { CLOCK_TOLERANCE_MS } from './step.ts';

/** The other runs that may take or bring money. */
export type Others = { readonly open: readonly OthersReserved[]; readonly gone: readonly Gone[] };

/** What a gone run may have traded. */
export type Gone = {
  readonly run: RunName;
  /** The Temporal run that is gone; null: Temporal shows none. */
  readonly runId: string | null;
  /** The legs that it may have traded; null: nothing tells any more which legs it had. */
  readonly legs: readonly OpenLeg[] | null;
};

/** A gone run about which nothing is known yet: since when a worker knows that it is gone, and until when others wait at most. */
export type GoneRun = Gone & { readonly sinceMs: number; readonly untilMs: number };

/**
 * What a run that is gone may have traded; null: nothing is in doubt.
 * @param told what it had planned, and what of it was known; null: nothing tells
 */
export function goneWith(run: RunName, runId: string | null, told: Reservation | null): Gone | null {
  if (told === null) return { run, runId, legs: null };
  const legs = told.legs.filter(({ isTold }) => !isTold);
  return legs.length === 0 ? null : { run, runId, legs };
}

/**
 * When the doubt about its trade ends by time. It lasts as long as the run itself would have been in doubt (`assumeSent`): until an
 * attempt that was at work can send no more, its token has ended, and `settle_doubt` has passed. Another worker may have noted
 * the beginning, so the tolerance is added.
 * @param sinceMs the clock of a worker that has found the run gone
 */
export function doubtEndsMs(
  sinceMs: number,
  { sendWithinMs, settleDoubtMs }: Pick<ServiceFacts, 'settleDoubtMs'> & { readonly sendWithinMs: number },
): number {
  return sinceMs + sendWithinMs + SEND_OUTLIVES_MS + settleDoubtMs.trade + CLOCK_TOLERANCE_MS;
}

/** Since when a run is gone, as a worker has noted it. A moment that is still to come is no worker's: it counts from now. */
export function goneSince(notedMs: number | null, nowMs: number): number {
  return notedMs === null || notedMs > nowMs + 2 * CLOCK_TOLERANCE_MS ? nowMs : notedMs;
}

/**
 * The gone run without the legs that the lists show; null: they show all of them.
 * @param shown references of first generations
 */
export function withoutShown(gone: GoneRun, shown: ReadonlySet<string>): GoneRun | null {
  if (gone.legs === null) return gone;
  const legs = gone.legs.filter(({ reference }) => !shown.has(reference));
  return legs.length === 0 ? null : { ...gone, legs };
}

/** Whether it may have traded one of these currencies. */
export function mayHaveTraded({ legs }: Gone, currencies: readonly string[]): boolean {
  return legs?.some(({ sides }) => sides.some(({ currency }) => currencies.includes(currency))) ?? true;
}

/** The wait of a run that may trade only once this is known. */
export function besideGoneRun({ run, sinceMs, untilMs }: GoneRun): Wait {
  const message = `Run ${runName(run)} is gone from Temporal since ${minuteText(sinceMs)}: somebody has terminated or deleted it, or Temporal has lost it. It may have sent a trade that the service does not show yet.`;
  const fix = `Nothing to do: this run goes on once the lists show that trade, at the latest at ${minuteText(untilMs)}.`;
  return {
    afterMs: 10_000,
    reason: 'doubt',
    problem: makeProblem('RESERVATION_UNKNOWN', null, { message, fix }),
  };
}
