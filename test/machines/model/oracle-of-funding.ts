/**
 * What the trade that funds a batch may be (M4), and what a batch that is not paid may be excused by (M8), by the ledger, the
 * file and the balances alone: US dollars buy what the batches lack of pesos and no more, at no worse price than the guard
 * lets pass, within the limit of the run. Used by the judge (`oracle.ts`, `undone.ts`).
 */
import type { Quote } from '../../../domain/service/records.ts';
import { MOST_SPENT } from './ours.ts';
import {
  TOLERANCE,
  dollarsAsked,
  isAtWorsePrice,
  isMovedByOthers,
  outsideGuard,
  projectedOf,
  soldOf,
  tradesOf,
} from './oracle-of-rebalances.ts';
import { isFailed, type Movement } from './service.ts';
import type { Temporal } from './temporal.ts';
import { textOf, units } from './units.ts';
import type { World } from './world.ts';

type TradeMovement = Extract<Movement, { kind: 'trade' }>;

/** What this trade, which has just been booked, breaks. */
export function brokenByFunding(
  world: World,
  temporal: Temporal,
  movement: TradeMovement,
): readonly string[] {
  const { record, send } = movement;
  const { item } = send.write;
  world.coverage.hit('batch', 'a trade funds it');
  const { sellCurrency: sell, buyCurrency: buy } = record;
  if (sell !== 'USD' || buy !== 'MXN') return [`${item} sells ${sell} for ${buy}`];
  return [
    ...outsideGuard(movement),
    ...overLimit(world, temporal),
    ...(isMovedByOthers(world, 'MXN') ? [] : beyondWhatIsOwed(world)),
  ].map((what) => `${item} ${what}`);
}

function overLimit(world: World, temporal: Temporal): readonly string[] {
  if (!temporal.ours.policy.limit) return [];
  const spent = tradesOf(world)
    .filter(({ send }) => world.oracle.runOf(send.write.item) === temporal)
    .reduce((sum, { record }) => sum + soldOf(record), 0n);
  return spent > units(MOST_SPENT)
    ? [`spends ${textOf(spent)} USD, ${MOST_SPENT} is the limit of a run`]
    : [];
}

/** No more is bought than all batches together still have to pay. */
function beyondWhatIsOwed(world: World): readonly string[] {
  const owed = world.runs.reduce((sum, run) => sum + owedBy(world, run), 0n);
  const there = projectedOf(world, 'MXN');
  return there > owed + TOLERANCE ? [`brings MXN to ${textOf(there)}, ${textOf(owed)} are owed`] : [];
}

/** What the payments of a batch come to that no withdrawal has made; up to this payment, or all. */
function owedBy({ oracle }: World, temporal: Temporal, upTo: string | null = null): bigint {
  const file = (temporal.ours.batch ?? []).flat();
  const last = file.findIndex(([id]) => id === upTo);
  const asked = last < 0 ? file : file.slice(0, last + 1);
  return asked.reduce((sum, [id, , , amount]) => {
    const isMade = oracle.movementsOf(temporal.itemOf(id)).some(({ status }) => !isFailed(status));
    return isMade ? sum : sum + units(amount);
  }, 0n);
}

/** There is money for a payment, and for those before it in the file. A batch that buys nothing has its money. */
export function isThereFor(world: World, temporal: Temporal, id: string): boolean {
  if (world.schedule.batch?.isFunded !== true) return true;
  return world.service.balanceOf('MXN') >= owedBy(world, temporal, id) && !hadNoMoney(world, temporal, id);
}

/**
 * The faults had stopped, and the service itself refused it for lack of money when it was sent last. A policy that waits for no
 * money leaves it then, also where the payments of others come back a moment later.
 */
function hadNoMoney({ sent, healedAtMs }: World, temporal: Temporal, id: string): boolean {
  const item = temporal.itemOf(id);
  const last = sent.findLast(({ write }) => write.item === item);
  const reply = last?.reply ?? null;
  return (
    temporal.ours.policy.shortfall === 'skip' &&
    last !== undefined &&
    last.sentAtMs > (healedAtMs ?? Infinity) &&
    reply?.kind === 'REFUSED' &&
    reply.error.code === 'WITHDRAWAL_INSUFFICIENT_BALANCE' &&
    reply.facts.replayed !== true
  );
}

/** What stands against a leg that funds a batch: by the balances of now, at the price of its last quote. */
export function whyNotFunded(
  world: World,
  temporal: Temporal,
  { id, quote }: { readonly id: string; readonly quote: Quote | null },
): string | null {
  const { legs = [] } = temporal.newest()?.state ?? {};
  const leg = legs.find((record) => record.leg.id === id)?.leg;
  if (leg === undefined || leg.amount === null) return 'its amount is forgotten';
  const value = units(leg.amount.value);
  if (quote !== null && isAtWorsePrice(quote)) return 'its price';
  // After a reset or a new start, a leg is left to a later run of the policy and date that has traded one of its name.
  const isDoneElsewhere = world.runs.some(
    (other) => other !== temporal && world.oracle.movementsOf(other.itemOf(id)).length > 0,
  );
  if (isDoneElsewhere) return 'another batch has traded a leg of this name';
  const asked = owedBy(world, temporal) - projectedOf(world, 'MXN');
  if (asked < value) return 'the balances do not ask for it any more';
  const dollars = dollarsAsked({ sell: 'USD', buy: 'MXN', value }, null);
  return world.service.balanceOf('USD') < dollars ? 'there is no money for it' : null;
}
