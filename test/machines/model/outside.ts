/**
 * What the judge does not hold against the product, each with its reason: what the design assumes, and where its rules end. The model
 * plays everything else at any moment. Each exception is about one item, one run or one currency. The table counts each of them
 * (`outside: …`), so that nobody takes silence for proof.
 */
import { isInAnotherBatch } from './ours.ts';
import type { Movement } from './service.ts';
import type { Temporal } from './temporal.ts';
import type { World } from './world.ts';

/**
 * Nobody restores a backup faster than this. The steps trust what they learned in the last 30 s. Somebody may have set the worker's
 * clock meanwhile from ten seconds ahead to ten seconds behind, and nobody would notice.
 */
const RESTORE_TAKES_MS = 51_000;
/** Nobody loses a plan and starts anew faster than this. Whoever makes the plan again does not know of a send that is still on its way. */
const LOSS_TAKES_MS = 5 * 60_000;
/**
 * The service books no trade later than this after the end of its quote, its token and its attempt's deadline. The steps wait two
 * minutes; two clocks may differ by ten seconds, and nobody would notice.
 */
export const TRADES_SETTLE_MS = 110_000;
/** The steps assume that the service books no withdrawal later than this after it was sent, where only time can end the doubt about it. */
export const WITHDRAWALS_SETTLE_MS = 86_400_000;

/** How long it takes at least until Temporal is back, without the plan or with it. */
export function comesBackAfter(takesMs: number, losesPlan: boolean): number {
  return Math.max(takesMs, losesPlan ? LOSS_TAKES_MS : RESTORE_TAKES_MS);
}

/**
 * A person had a payment paid again, a restore takes that instruction away, and no list shows the tag of the second payment. Then
 * nothing tells of it. The whole world is left out: a restore takes back all of Temporal.
 */
export function forgetsAGeneration(world: World): boolean {
  return noted(
    world,
    world.service.settings.metadataInLists !== 'always' &&
      world.runs.some(({ kept }) => kept.instructions.some(({ kind }) => kind === 'pay again')),
    'a restore that forgets who opened a generation',
  );
}

/**
 * The service keeps a refusal under the key of a trade. When the doubt about the leg ends, the run sends that dead quote once more. The
 * service answers with the old refusal, and the leg ends.
 */
export function answersOfBefore(world: World, item: string): boolean {
  return noted(
    world,
    world.service.tradesRefusedForGood.has(item),
    'a refusal of before a reset that a dead quote brings up again',
  );
}

/**
 * The service's clock and ours are far apart, and the service sends no `Date`. Then the worker cannot notice it. The model sets no
 * clock like this.
 */
export function cannotBeTold(world: World, byMs: number): boolean {
  const apartMs = Math.abs(world.ourSkewMs + byMs - world.service.skewMs);
  return noted(
    world,
    !world.service.settings.dates && apartMs > 10_000,
    'clocks far apart at a service that sends no date',
  );
}

/** By then an attempt has sent what it sends, and its token has ended. If the service books later, it was at work on it all the time. */
const WORK_BEGINS_WITHIN_MS = 75_000;

/**
 * A person says "not executed" of an item while a worker is sending it, and the service books it much later. Nobody can see what the
 * service is at work on. So the person answers for it.
 */
export function isBookedBehind(world: World, saidAtMs: number, send: { readonly sentAtMs: number }): boolean {
  return noted(
    world,
    world.agenda.nowMs > saidAtMs + WORK_BEGINS_WITHIN_MS && send.sentAtMs < saidAtMs + WORK_BEGINS_WITHIN_MS,
    'work of the service behind a person’s "not executed"',
  );
}

/**
 * A run sends a payment, and a restore makes it forget that. The next worker has another API key. It waits until the lists would show the
 * payment, and then pays. But the service is still at work on the first send, which no list and no key shows.
 */
export function isForgottenWork(
  world: World,
  temporal: Temporal,
  { send: late, atMs: bookedAtMs }: Pick<Movement, 'send' | 'atMs'>,
  { send: other }: Pick<Movement, 'send'>,
): boolean {
  const isOthers = late.write.keyName !== other.write.keyName;
  return noted(
    world,
    [late, other].some((send) => temporal.forgotWhatCameOf(send)) &&
      isOthers &&
      bookedAtMs > late.sentAtMs + WORK_BEGINS_WITHIN_MS,
    'work of the service under an API key that a restore forgets',
  );
}

/** Temporal comes back from a backup that does not know a halt of people. Nothing tells of it until they say it again. */
export function isHaltForgotten(world: World, isForgotten: boolean): boolean {
  return noted(world, isForgotten, 'a halt that a restore takes away');
}

/**
 * Temporal forgets a batch, its send window is over, and the lists show no tags. Then nothing tells that the batch was ever paid. The
 * run makes no plan and sends nothing.
 */
export function isForgottenBatch(world: World, temporal: Temporal): boolean {
  return noted(
    world,
    temporal.ours.batch !== null &&
      temporal.hasForgotten() &&
      world.service.settings.metadataInLists !== 'always',
    'a batch that nothing tells of any more',
  );
}

/**
 * Two batches of a policy have a payment in common. Each learns from Temporal and from the lists what the other one has sent. When
 * Temporal has lost a send, only the lists can tell of it. They cannot before they show it, or when they show no tag, or while
 * the service is still at work on it.
 */
export function isForgottenByOthers(
  world: World,
  lost: { readonly isLost: boolean; readonly paidAtMs: number; readonly isInWork: boolean },
): boolean {
  const isListed =
    world.service.settings.metadataInLists === 'always' &&
    world.agenda.nowMs > lost.paidAtMs + LOSS_TAKES_MS &&
    !lost.isInWork;
  return noted(world, lost.isLost && !isListed, 'a payment of a lost batch that no list shows');
}

/**
 * Temporal loses a batch while the service is at work on one of its payments. The same file is submitted again, and the run ends without
 * that payment, because another batch has paid it or a person has cancelled it. Only then does the service book it. Or its new plan has
 * left the payment to another batch, the run is still open when the service books it, and no list shows its tag.
 */
export function isBookedBehindALoss(
  world: World,
  temporal: Temporal,
  { send, atMs, kind, record }: Movement,
): boolean {
  const { ours, planRun } = temporal;
  const id = send.write.item.slice(ours.prefix.length);
  const isUnseen =
    kind === 'withdrawal' &&
    record.tag === null &&
    isInAnotherBatch(id, ours, world.runs) &&
    atMs > (planRun?.endedAtMs ?? Infinity);
  const isBehind = isUnseen || atMs > (temporal.newest()?.closedAtMs ?? Infinity);
  return noted(
    world,
    temporal.ours.batch !== null && temporal.forgotWhatCameOf(send) && isBehind,
    'work of the service for a batch that Temporal has lost',
  );
}

/**
 * A run has traded, and a restore makes it forget that. Until it looks at the service, it still reserves what the trade takes, and the
 * balances show the trade already. Another run that plans then counts these currencies twice.
 */
export function isReservedTwice(world: World, currency: string): boolean {
  const { runs, service } = world;
  const isForgotten = service.ledger.some(
    ({ kind, record, send }) =>
      kind === 'trade' &&
      [record.sellCurrency, record.buyCurrency].includes(currency) &&
      world.oracle.runOf(send.write.item).forgotWhatCameOf(send),
  );
  return noted(world, runs.length > 1 && isForgotten, 'reservations of a restored run');
}

/**
 * A person types a trade in place of the call of a leg, and types once more, in place of the poll, that the service shows this
 * trade. Then no worker has said anything about it, and nothing in Temporal tells so.
 */
export function isTypedTwice(world: World, isTyped: boolean): boolean {
  return noted(world, isTyped, 'a trade that a person types, and vouches for');
}

function noted(world: World, isOutside: boolean, what: string): boolean {
  if (isOutside) world.coverage.hit('outside', what);
  return isOutside;
}
