/**
 * What an item that is not done is excused by, item by item (M8): by what the service, the clocks and people did, never by what the run
 * says of itself. Whatever nothing stands against is done once the faults have stopped and an operator has pressed one button. Used by
 * the judge (`oracle.ts`).
 */
import type { Quote } from '../../../domain/service/records.ts';
import type { Reply } from '../../../domain/service/reply.ts';
import type { Report, ReportLeg, ReportPayment } from '../../../domain/run/report.ts';
import { isThereFor, whyNotFunded } from './oracle-of-funding.ts';
import { dollarsAsked, isAtWorsePrice, overLimits, stillAsked } from './oracle-of-rebalances.ts';
import { KEPT, MOST_BOUGHT, WORST_RATE, isInAnotherBatch } from './ours.ts';
import { answersOfBefore } from './outside.ts';
import { standingOf } from './said.ts';
import { isFailed } from './service.ts';
import type { Temporal } from './temporal.ts';
import { times, units } from './units.ts';
import { HOUR_MS, TRADES_UNTIL_MS, WITHDRAWALS_UNTIL_MS } from './windows.ts';
import type { World } from './world.ts';

/** An hour before trades stop, an operator has time to try again. */
const TRADES_END_MS = TRADES_UNTIL_MS - HOUR_MS;
/** Doubt takes a day, and the next generation up to 60 h. */
const PAYMENTS_END_MS = WITHDRAWALS_UNTIL_MS - 61 * HOUR_MS;

/** Why nobody can expect an item that is not done to be done; null: nothing stands against it. */
export function whyUndone(
  world: World,
  temporal: Temporal,
  report: Pick<Report, 'legs'>,
  item: ReportLeg | ReportPayment,
): string | null {
  const { id } = item;
  const state = temporal.newest()?.state;
  const { cancelled } = standingOf(temporal.kept.instructions, id, Infinity);
  if (cancelled || state?.cancelled === true) return 'the run is cancelled';
  if (isDecided(world, temporal, id)) return 'a person has decided about it';
  if (hasLostAHeader(world, temporal.itemOf(id))) return 'an old refusal may be taken for a new one';
  if (isStoppedByAnOldRefusal(world, temporal)) return 'an old refusal of another payment stops its batch';
  return 'tradeId' in item ? whyNotTraded(world, temporal, id) : whyUnpaid(world, temporal, report, id);
}

function whyNotTraded(world: World, temporal: Temporal, id: string): string | null {
  const item = temporal.itemOf(id);
  if (isTooLate(world, TRADES_END_MS)) return 'its send window';
  if (answersOfBefore(world, item)) return 'a refusal that the service keeps';
  const quote = lastQuoteOf(world, item);
  if (temporal.ours.rebalance !== null) return whyNotRebalanced(world, temporal, { id, quote });
  if (temporal.ours.batch !== null) return whyNotFunded(world, temporal, { id, quote });
  const { policy } = temporal.ours;
  const state = temporal.newest()?.state;
  const amount = state?.legs.find(({ leg }) => leg.id === id)?.leg.amount ?? null;
  const kept = policy.amount === 'sell all' ? units(KEPT) : 0n;
  const there = world.service.balanceOf('USD') - kept;
  if (amount?.side === 'sell' && there < units(amount.value)) return 'there is no money for it';
  if (quote === null) return null;
  const sold = units(quote.sellAmount ?? quote.quoteAmount);
  const bought = units(quote.buyAmount ?? quote.quoteAmount);
  if (policy.guard && bought < times(sold, units(WORST_RATE))) return 'its price';
  return policy.limit && bought > units(MOST_BOUGHT) ? 'its limit' : null;
}

/** A payment is sent once its leg has brought the money, as long as nobody else may have paid it. */
function whyUnpaid(
  world: World,
  temporal: Temporal,
  { legs }: Pick<Report, 'legs'>,
  id: string,
): string | null {
  const { ours, chunks } = temporal;
  const planned = world.oracle.plannedAmount(ours, id);
  if (isTooLate(world, PAYMENTS_END_MS)) return 'its send window';
  if (planned !== null && planned <= 0n) return 'there is nothing to pay';
  if (world.oracle.movementsOf(temporal.itemOf(id)).length > 0) return 'a record of it has failed';
  const isBrought =
    chunks.length > 0
      ? isThereFor(world, temporal, id)
      : legs.length > 0 &&
        legs.every(
          (leg) =>
            leg.outcome === 'TRADED' &&
            !isDecided(world, temporal, leg.id) &&
            world.oracle.movementsOf(temporal.itemOf(leg.id)).every(({ status }) => !isFailed(status)),
        );
  if (!isBrought) return chunks.length > 0 ? 'there is no money for it' : 'its leg has brought nothing';
  // Each of two batches that are taken up at one moment leaves it to the other; a person goes on with one of them.
  if (isInAnotherBatch(id, ours, world.runs)) return 'another batch has it too';
  // A stranger's record may be that of another batch of the policy.
  const { policy } = ours.input.run;
  const isStrangers = world.service.strangersTags.some(
    (tag) => tag.startsWith(`${policy}.`) && tag.endsWith(`.${id}`),
  );
  return ours.batch !== null && isStrangers ? 'a stranger has paid it' : null;
}

/** A leg of a rebalancing is traded while the balances still ask for it. */
function whyNotRebalanced(
  world: World,
  temporal: Temporal,
  { id, quote }: { readonly id: string; readonly quote: Quote | null },
): string | null {
  const { legs = [] } = temporal.newest()?.state ?? {};
  const leg = legs.find((record) => record.leg.id === id)?.leg;
  if (leg === undefined || leg.amount === null) return 'its amount is forgotten';
  const { sell, buy, needsFromSales } = leg;
  const value = units(leg.amount.value);
  if (quote !== null && isAtWorsePrice(quote)) return 'its price';
  // A purchase that needs the proceeds of sales is not traded without them, and says so.
  const isSale = buy === 'USD';
  const sales = legs.filter((other) => other.leg.buy === 'USD');
  const areSold = sales.every((other) =>
    world.oracle.movementsOf(temporal.itemOf(other.leg.id)).some(({ status }) => !isFailed(status)),
  );
  if (!isSale && needsFromSales !== '0' && !areSold) return 'a sale that it needs';
  if (isTakenByOthers(world, temporal, { id, sell, buy, isSale })) return 'another run wants the same';
  const dollars = dollarsAsked({ sell, buy, value }, quote);
  if (overLimits(world, temporal, { dollars, isBooked: false }).length > 0) return 'its limit';
  return stillAsked(world, temporal, { currency: isSale ? sell : buy, isSale, value, dollars });
}

/**
 * Another run has traded it, or wanted a leg for the same money and has nothing of it: two runs that begin anew at one moment may each
 * leave it to the other, and a trade that fails later had its claim until then.
 */
function isTakenByOthers(
  world: World,
  temporal: Temporal,
  {
    id,
    sell,
    buy,
    isSale,
  }: { readonly id: string; readonly sell: string; readonly buy: string; readonly isSale: boolean },
): boolean {
  const others = world.runs.filter((run) => run !== temporal);
  return others.some((other) => {
    const { legs = [] } = other.newest()?.state ?? {};
    const isSamePolicy = other.ours.input.run.policy === temporal.ours.input.run.policy;
    if (isSamePolicy && world.oracle.movementsOf(other.itemOf(id)).length > 0) return true;
    return legs.some(({ leg, stage }) => {
      const moved = world.oracle.movementsOf(other.itemOf(leg.id));
      if (stage.kind === 'traded' && moved.every(({ status }) => !isFailed(status))) return false;
      return isSale ? leg.sell === sell : leg.sell === 'USD' || leg.buy === buy;
    });
  });
}

/** Once the faults have stopped, somebody has time to try it again. */
function isTooLate({ healedAtMs, agenda }: World, untilMs: number): boolean {
  return healedAtMs === null || healedAtMs >= untilMs || agenda.nowMs >= untilMs;
}

/** A person has decided what became of it, rightly or wrongly, and nobody has said since that it is to be paid again. */
function isDecided({ oracle }: World, temporal: Temporal, id: string): boolean {
  const { kept, lost } = temporal;
  return (
    oracle.misled.has(temporal.itemOf(id)) ||
    [kept.instructions, lost].some((said) => standingOf(said, id, Infinity).decided)
  );
}

/** The service refused a write of the item without `Idempotency-Replayed`, so that the refusal may be an old one. */
function hasLostAHeader({ sent }: World, item: string): boolean {
  return sent.some(({ write, reply }) => write.item === item && isPerhapsOld(reply));
}

function isPerhapsOld(reply: Reply<unknown> | null): boolean {
  return reply?.kind === 'REFUSED' && reply.facts.replayed === null;
}

/** A rule of the batch counts the newest refusal of one of its payments as a new one, which it need not be. */
function isStoppedByAnOldRefusal({ sent, oracle, schedule }: World, temporal: Temporal): boolean {
  const { batch } = schedule;
  if (batch === null || (batch.stopAfter === null && batch.canary === null)) return false;
  const newest = new Map(
    sent.flatMap(({ write: { item, step }, reply }) =>
      step === 'withdrawal' && oracle.runOf(item) === temporal ? [[item, reply] as const] : [],
    ),
  );
  return [...newest.values()].some(isPerhapsOld);
}

/** The last quote that came for a leg. */
function lastQuoteOf({ sent }: World, item: string): Quote | null {
  const quotes = sent.flatMap(({ write, reply }) =>
    write.item === item && write.step === 'quote' && reply?.kind === 'DONE' ? [reply.value as Quote] : [],
  );
  return quotes.at(-1) ?? null;
}
