/**
 * What the model leaves out, each with its reason: assumptions that the design makes, and places where its rules reach
 * no further. Everything else that can happen may happen at any moment. Each is counted (`outside: …` in the table), so
 * that nobody takes silence for proof.
 */
import { DEFAULT_SERVICE_FACTS } from '../../../domain/service/facts.ts';
import type { Movement } from './service.ts';
import type { Temporal } from './temporal.ts';
import type { World } from './world.ts';

/**
 * No backup is restored quicker than this: what is younger is known to be whole. The steps count 30 s, by a clock that
 * may have been set meanwhile from ten seconds ahead to ten seconds behind without anybody noticing.
 */
const RESTORE_TAKES_MS = 51_000;
/** No plan is lost quicker than this: who makes it anew knows nothing of a send that is still on its way. */
const LOSS_TAKES_MS = 5 * 60_000;
/**
 * A trade is not booked later than this past its quote, its token and its attempt's deadline: two minutes, less the ten
 * seconds that two clocks may differ without anybody noticing.
 */
export const TRADES_SETTLE_MS = 110_000;
/** A withdrawal is not booked later than this after it was sent, where only time can end the doubt about it. */
export const WITHDRAWALS_SETTLE_MS = 86_400_000;

/** How long it takes at least until Temporal is back, without the plan or with it. */
export function comesBackAfter(takesMs: number, losesPlan: boolean): number {
  return Math.max(takesMs, losesPlan ? LOSS_TAKES_MS : RESTORE_TAKES_MS);
}

/** A restore takes an instruction away under which a payment was made, and no list shows the payment's tag. */
export function forgetsAGeneration(world: World): boolean {
  return noted(
    world,
    world.service.settings.metadataInLists !== 'always' &&
      world.runs.some(({ kept }) => kept.instructions.some(({ kind }) => kind === 'pay again')),
    'a restore that forgets who opened a generation',
  );
}

/**
 * At the end of doubt a dead quote is sent once more, and a service that keeps refusals answers what it answered before a
 * reset: the leg ends by it.
 */
export function answersOfBefore(world: World): boolean {
  return noted(
    world,
    world.service.keepsATradeRefused,
    'a refusal of before a reset that a dead quote brings up again',
  );
}

/** Without `Date` in its answers nothing tells that the service's clock and ours are far apart. */
export function cannotBeTold(world: World, byMs: number): boolean {
  const apartMs = Math.abs(world.ourSkewMs + byMs - world.service.skewMs);
  return noted(
    world,
    !world.service.settings.dates && apartMs > 10_000,
    'clocks far apart at a service that sends no date',
  );
}

/** An attempt has sent by then, and its token has ended: what is booked later, the service has been at work on. */
const WORK_BEGINS_WITHIN_MS = 75_000;

/**
 * Who says "not executed" of what is just being sent answers for what the service is at work on afterwards, as of what it
 * was at work on before: nobody can see that.
 */
export function isBookedBehind(world: World, saidAtMs: number, send: { readonly sentAtMs: number }): boolean {
  return noted(
    world,
    world.agenda.nowMs > saidAtMs + WORK_BEGINS_WITHIN_MS && send.sentAtMs < saidAtMs + WORK_BEGINS_WITHIN_MS,
    'work of the service behind a person’s "not executed"',
  );
}

/**
 * A restore makes a run forget a send, and the next worker has another API key: it waits until lists would show what was
 * sent before, and goes on. What the service is still at work on then, no list and no key shows.
 */
export function isForgottenWork(world: World, hasForgotten: boolean, late: Work, other: Work): boolean {
  const isOthers = late.write.keyName !== other.write.keyName;
  return noted(
    world,
    hasForgotten && isOthers && world.agenda.nowMs > late.sentAtMs + WORK_BEGINS_WITHIN_MS,
    'work of the service under an API key that a restore forgets',
  );
}

/**
 * A batch that Temporal has forgotten after its window, at a service whose lists show no tags: nothing tells that it was ever
 * paid. No plan is made for it, and nothing is sent.
 */
export function isForgottenBatch(world: World, { ours, hasForgotten }: Temporal): boolean {
  return noted(
    world,
    ours.batch !== null && hasForgotten && world.service.settings.metadataInLists !== 'always',
    'a batch that nothing tells of any more',
  );
}

/**
 * Another batch of the policy knows what this one has paid by Temporal and by the lists. Once Temporal has lost it, the lists
 * alone tell: not before they show it, nor without its tag, nor while the service is still at work on it.
 */
export function isForgottenByOthers(
  world: World,
  lost: { readonly hasForgotten: boolean; readonly paidAtMs: number; readonly isInWork: boolean },
): boolean {
  const isListed =
    world.service.settings.metadataInLists === 'always' &&
    world.agenda.nowMs > lost.paidAtMs + LOSS_TAKES_MS &&
    !lost.isInWork;
  return noted(world, lost.hasForgotten && !isListed, 'a payment of a lost batch that no list shows');
}

/**
 * What a run will still sell is reserved at the least that its guard lets it bring. It brings more, and so do two runs of a day
 * together: the limit of the day is passed by what the prices were better.
 */
export function isBetterThanReserved(world: World, isOver: boolean): boolean {
  return noted(world, isOver, 'a sale that brings more than was reserved for the limit of a day');
}

/**
 * A run that a restore has made forget a trade still reserves what it takes, which the balances show already: whoever plans before
 * it has looked counts it twice.
 */
export function isReservedTwice(world: World): boolean {
  const { runs } = world;
  return noted(
    world,
    runs.length > 1 && runs.some((run) => run.hasForgotten),
    'reservations of a restored run',
  );
}

/**
 * A run that somebody terminates in doubt about its trade reserves nothing any more: another one sells the same money once no list
 * shows the trade within the time that lists may lag. Then the service books it.
 */
export function isBookedAfterItsRun(world: World, temporal: Temporal, { send, atMs }: Movement): boolean {
  const isLate = atMs - send.sentAtMs > DEFAULT_SERVICE_FACTS.listLagMs;
  return noted(
    world,
    isLate && world.runs.length > 1 && temporal.wasTerminated(),
    'a trade that is booked late, of a run that somebody has terminated',
  );
}

/**
 * A plan that is made again counts the whole limit of a day for another run that cannot tell yet what it may still trade. A trade
 * that was booked before is then above the limit, and a person accepts it.
 */
export function isCountedWhole(world: World, { ours, hasForgotten, people }: Temporal): boolean {
  const isOfDay = world.runs.some(
    (run) => run.ours !== ours && run.ours.input.run.policy === ours.input.run.policy,
  );
  const hasLimit = (ours.rebalance?.perDay ?? null) !== null;
  return noted(
    world,
    hasForgotten && isOfDay && hasLimit && people.holdsATrade(),
    'a limit of a day that counts a run which cannot tell',
  );
}

type Work = { readonly sentAtMs: number; readonly write: { readonly keyName: string } };

function noted(world: World, isOutside: boolean, what: string): boolean {
  if (isOutside) world.coverage.hit('outside', what);
  return isOutside;
}
