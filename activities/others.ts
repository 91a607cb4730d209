/**
 * What other runs may still take or bring, asked in the turn of a run before it reads balances and lists. Beside a run that is gone
 * in the middle of a trade, it waits until the lists show that trade, or until it cannot be booked any more (M4).
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { OthersReserved } from '../domain/plan/reserved.ts';
import { firstReference, runName } from '../domain/references.ts';
import type { Trade } from '../domain/service/records.ts';
import type { OwnTurn } from '../domain/turn.ts';
import type { Wait } from '../domain/waits.ts';
import {
  besideGoneRun,
  doubtEndsMs,
  goneSince,
  mayHaveTraded,
  withoutShown,
  type Gone,
  type GoneRun,
} from '../domain/writes/gone-runs.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { configurationWait, skewOf } from '../domain/writes/step.ts';
import { scanList } from '../service/list-scan.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';
import { clockSkew } from './clock-skew.ts';
import type { Deps } from './deps.ts';
import { isOfDay, type OfDay } from './observing.ts';

type OthersQuestion = {
  readonly turn: OwnTurn;
  /** Whoever may have traded one of these is waited for. */
  readonly currencies: readonly string[];
  /** So is whoever may have traded anything on this date of this policy; null: the policy has no limit of a day. */
  readonly day: OfDay | null;
};

/** The open runs, or the wait beside one that is gone. */
export async function readOthers(
  deps: Deps,
  { turn, currencies, day }: OthersQuestion,
): Promise<{ readonly others: readonly OthersReserved[] } | { readonly wait: Wait }> {
  const { open, gone } = await deps.turn.readReserved(turn.others);
  const inTheWay = gone.filter(
    (one) => mayHaveTraded(one, currencies) || (day !== null && isOfDay(day, one)),
  );
  if (inTheWay.length === 0) return { others: open };
  const shown = await shownTrades(deps, inTheWay);
  // A wrong clock does not prove that time has passed.
  const skewed = skewOf(clockSkew.latestMs());
  if (skewed !== null) return { wait: configurationWait(skewed, 0) };
  const left: GoneRun[] = [];
  for (const one of inTheWay) {
    // One after the other: there is hardly ever more than one.
    const still = await stillGone(deps, turn, one, shown);
    if (still !== null) left.push(still);
  }
  const [first] = left;
  return first === undefined ? { others: open } : { wait: besideGoneRun(first) };
}

/** The run with what is still in doubt; null: nothing is, and it is forgotten. */
async function stillGone(
  { turn: turns, clock, facts }: Deps,
  turn: OwnTurn,
  gone: Gone,
  shown: ReadonlySet<string>,
): Promise<GoneRun | null> {
  const { run, runId } = gone;
  const noted = turn.gone.find((one) => one.run === runName(run) && one.runId === runId)?.sinceMs ?? null;
  const nowMs = clock.wallMs();
  const sinceMs = goneSince(noted, nowMs);
  const untilMs = doubtEndsMs(sinceMs, { ...facts, sendWithinMs: WRITE_LIMITS.sendWithinMs });
  const still = nowMs < untilMs ? withoutShown({ ...gone, sinceMs, untilMs }, shown) : null;
  if (still === null) await turns.forget([run]);
  else if (sinceMs !== noted) await turns.noteGone({ run: runName(run), runId, sinceMs });
  return still;
}

/** First references of the trades of these runs that the list shows. One that cannot be read shows fewer, or none. */
async function shownTrades({ reader, clock }: Deps, gone: readonly Gone[]): Promise<ReadonlySet<string>> {
  const wanted = new Set(gone.flatMap(({ legs }) => legs?.map(({ reference }) => reference) ?? []));
  const { records } = await scanList(reader.listTrades, {
    sinceMs: clock.wallMs() - LOOK_BACK_MS,
    wanted: ({ clientReferenceId }: Trade): boolean => wanted.has(firstReference(clientReferenceId ?? '')),
    onReply: (reply) => clockSkew.note(clock, reply),
    signal: ActivityContext.current().cancellationSignal,
  });
  return new Set(records.map(({ clientReferenceId }) => firstReference(clientReferenceId ?? '')));
}
