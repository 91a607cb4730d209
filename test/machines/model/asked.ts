/**
 * What only a person can judge, item by item (M8): by what the service answered to the writes of this item, by its records that
 * could be this item, and by what people said of it. Whoever is asked about any other item is asked in vain. Used by the judge
 * (`oracle.ts`).
 */
import { acceptedOf } from '../../../domain/run/items.ts';
import type { Reply } from '../../../domain/service/reply.ts';
import { isInAnotherBatch, paymentsOf } from './ours.ts';
import { allSaid, saidOfItem } from './said.ts';
import { isFailed, type Movement } from './service.ts';
import type { Temporal } from './temporal.ts';
import { WITHDRAWALS_UNTIL_MS } from './windows.ts';
import type { World } from './world.ts';

/** Why a person is rightly asked about an item. */
type Reason =
  | 'a person has decided about it'
  | 'the service says that it was done before'
  | 'the service keeps a failure under its key'
  | 'the service has several records of it'
  | 'a record without a tag could be it'
  | 'a withdrawal that nobody accounts for pays the same'
  | 'a trade of another plan could be it'
  | 'its amount is forgotten'
  | 'somebody has made up a trade of it';

/** "You did this already." */
const DONE_BEFORE = ['TRADE_DUPLICATE_CLIENT_REFERENCE', 'QUOTE_ALREADY_CONSUMED', 'IDEMPOTENCY_MISMATCH'];

/** Why a person may be asked about an item; null: nothing happened to it that only a person can judge. */
export function whyAPerson(world: World, temporal: Temporal, id: string): Reason | null {
  if (isSpokenOf(world, temporal, id)) return 'a person has decided about it';
  const item = temporal.itemOf(id);
  const moved = world.oracle.movementsOf(item);
  if (moved.length > 1) return 'the service has several records of it';
  const [only] = moved;
  // A record that shows its name settles everything else, as soon as the lists show it.
  if (only !== undefined && showsItsName(only) && !isClosed(temporal, id, only)) return null;
  const replies = repliesTo(world, item);
  if (replies.some(saysDoneBefore)) return 'the service says that it was done before';
  return isLeg(temporal, id) ? whyALeg(world, temporal, id) : whyAPayment(world, temporal, id, replies);
}

function whyALeg(world: World, temporal: Temporal, id: string): Reason | null {
  const { ours } = temporal;
  const legs = temporal.newest()?.state.legs ?? [];
  const prefix = prefixOf(temporal);
  const isStray = world.service.ledger.some(
    ({ kind, record, send }) =>
      kind === 'trade' &&
      (record.clientReferenceId ?? '').startsWith(prefix) &&
      legs.every(({ leg }) => temporal.itemOf(leg.id) !== send.write.item),
  );
  if (isStray) return 'a trade of another plan could be it';
  const isMadeUp = world.schedule.events.some(
    ({ what }) => (what.kind === 'answered' && what.claim !== 'failed') || what.kind === 'handed on',
  );
  if (isMadeUp && world.oracle.movementsOf(temporal.itemOf(id)).length === 0)
    return 'somebody has made up a trade of it';
  // A leg that sells all that is there is not computed once something under the run's name is at the service.
  const isForgotten =
    foundItsName(world, temporal) &&
    ours.batch === null &&
    ours.policy.amount === 'sell all' &&
    legs.some(({ leg }) => leg.id === id && leg.amount === null);
  return isForgotten ? 'its amount is forgotten' : null;
}

function whyAPayment(
  world: World,
  temporal: Temporal,
  id: string,
  replies: readonly Reply<unknown>[],
): Reason | null {
  // For a trade, time ends this doubt.
  if (replies.some(isKeptFailure)) return 'the service keeps a failure under its key';
  const { service, oracle } = world;
  const like = service.untaggedLike(accountOf(temporal, id), oracle.plannedAmount(temporal.ours, id));
  // A batch asks before it pays what somebody may have paid already, and nobody accounts for.
  const isNobodys = like.some((record) => isUnaccounted(world, temporal.itemOf(id), record.id));
  if (temporal.ours.batch !== null && isNobodys) return 'a withdrawal that nobody accounts for pays the same';
  // What could be it forbids the end of a payment that the service refuses.
  const isRefused = replies.at(-1)?.kind === 'REFUSED';
  const isAsked = like.length > 0 && (isRefused || isAskedByNoKey(world, temporal, id));
  return isAsked ? 'a record without a tag could be it' : null;
}

/**
 * A stranger's withdrawal; one of another item whose run somebody has made begin anew, and which may not know it any more; or
 * one of an item whose key keeps a failure, or of which the service only says that it was done, so that its own run never learns of
 * it either.
 */
function isUnaccounted(world: World, item: string, recordId: string): boolean {
  const { service, oracle } = world;
  const owner = service.ledger.find(({ record }) => record.id === recordId)?.send.write.item;
  if (owner === undefined) return true;
  const run = oracle.runOf(owner);
  const begunAnew = [run, ...run.chunks].some((each) => each.wasReset || each.wasTerminated());
  const isKnown = run.payments().some((record) => acceptedOf(record)?.withdrawalId === recordId);
  const isNeverTold =
    !isKnown && repliesTo(world, owner).some((reply) => isKeptFailure(reply) || saysDoneBefore(reply));
  return owner !== item && (begunAnew || run.hasForgotten() || isNeverTold);
}

/** Nobody may ask for the payment by its key, which would settle whether a record without a tag is this payment. */
function isAskedByNoKey(world: World, temporal: Temporal, id: string): boolean {
  const { ours } = temporal;
  const { keysUsed, schedule, agenda, service, runs } = world;
  const said = allSaid(temporal);
  const isCancelled = said.some(({ kind }) => kind === 'cancel' || kind === 'superseded');
  const isPaidAgain = saidOfItem(temporal, id).some(({ kind }) => kind === 'pay again');
  const trades = service.ledger.filter(
    ({ kind, send }) => kind === 'trade' && send.write.item === temporal.itemOf('usd-mxn-1'),
  );
  const hasNoMoney = ours.batch === null && trades.every(({ status }) => isFailed(status));
  const { batch } = schedule;
  const mayStop = batch !== null && (batch.stopAfter !== null || batch.canary !== null);
  const isStopped = mayStop && hasUnpaid(world, temporal);
  const isOthersToo = ours.batch !== null && isInAnotherBatch(id, ours, runs);
  // Nobody knows under which API key others have sent what a plan finds, unless the operator says that there was only one.
  const isKeyKnown = schedule.isKeyKnown && keysUsed.size === 1;
  return (
    keysUsed.size > 1 ||
    (foundItsName(world, temporal) && !isKeyKnown) ||
    isCancelled ||
    temporal.newest()?.state.cancelled === true ||
    isPaidAgain ||
    hasNoMoney ||
    isStopped ||
    isOthersToo ||
    service.onceUnverified.has(accountOf(temporal, id)) ||
    agenda.nowMs > WITHDRAWALS_UNTIL_MS
  );
}

/** The service has refused a payment of the batch, or has not paid one, so that a rule of the batch may have stopped it. */
function hasUnpaid({ sent, service, oracle }: World, temporal: Temporal): boolean {
  return (
    sent.some(({ write, reply }) => reply?.kind === 'REFUSED' && oracle.runOf(write.item) === temporal) ||
    service.ledger.some(({ send, status }) => isFailed(status) && oracle.runOf(send.write.item) === temporal)
  );
}

/** Its plan was made while something under the run's name may have been at the service: of a plan that is lost, or of strangers. */
function foundItsName({ service }: World, temporal: Temporal): boolean {
  return temporal.lostPlan || service.strangersTags.some((tag) => tag.startsWith(prefixOf(temporal)));
}

function prefixOf({ ours }: Temporal): string {
  return `${ours.input.run.policy}.${ours.input.run.id}.`;
}

/**
 * Somebody has decided about it, has named one of its records for another item, or has decided about the leg whose money it pays.
 * Also where that is not so: then it is that person's.
 */
function isSpokenOf(world: World, temporal: Temporal, id: string): boolean {
  const item = temporal.itemOf(id);
  const records = world.oracle.movementsOf(item).map(({ record }) => record.id);
  const isDecided = (about: string): boolean =>
    world.oracle.misled.has(temporal.itemOf(about)) ||
    saidOfItem(temporal, about).some(({ kind }) => kind === 'executed' || kind === 'not executed');
  const isNamed = allSaid(temporal).some(
    (said) => said.kind === 'executed' && records.includes(said.recordId),
  );
  const leg = isLeg(temporal, id) || temporal.ours.batch !== null ? null : 'usd-mxn-1';
  return isDecided(id) || isNamed || (leg !== null && isDecided(leg));
}

function showsItsName(movement: Movement): boolean {
  return movement.kind === 'trade' || movement.record.tag !== null;
}

/** It will never be paid, and somebody has asked to pay the payment again: the record says nothing of what comes after it. */
function isClosed(temporal: Temporal, id: string, { kind, status }: Movement): boolean {
  const isPaidAgain = saidOfItem(temporal, id).some((said) => said.kind === 'pay again');
  return kind === 'withdrawal' && isFailed(status) && isPaidAgain;
}

/** What the service has answered to the writes of an item that move money. */
function repliesTo({ sent }: World, item: string): readonly Reply<unknown>[] {
  return sent.flatMap(({ write, reply }) =>
    write.item === item && write.step !== 'quote' && reply !== null ? [reply] : [],
  );
}

function saysDoneBefore(reply: Reply<unknown>): boolean {
  return 'error' in reply && reply.error !== null && DONE_BEFORE.includes(reply.error.code);
}

/** Not a refusal, and always the same: whether the payment was made, the key will never tell. */
function isKeptFailure(reply: Reply<unknown>): boolean {
  return reply.kind === 'UNKNOWN' && reply.facts.replayed === true;
}

/** No payment of any policy or file is called so. */
function isLeg({ ours }: Temporal, id: string): boolean {
  return ours.rebalance !== null || id === 'usd-mxn-1';
}

function accountOf({ ours }: Temporal, id: string): string {
  const inBatch = (ours.batch ?? []).flat().find(([name]) => name === id)?.[1];
  return inBatch ?? paymentsOf(ours.policy).find((payment) => payment.id === id)?.account ?? '';
}
