/**
 * The judge: knows what the service really did and says which promise (M1 … M8, design section 2) was broken. It reads
 * nothing that the steppers decided but the final report, and shares no code with them.
 */
import { makeReport, type PaymentRecord, type LegRecord } from '../../domain/report.ts';
import type { Attempt } from './attempt.ts';
import type { Movement, Write } from './service.ts';
import { isFailed } from './service.ts';
import { RunRefused } from '../../workflows/course.ts';
import type { Execution } from './execution.ts';
import type { KeptInstruction } from './temporal.ts';
import { isAmount, over, textOf, times, units } from './units.ts';
import type { World } from './world.ts';

const DAY_MS = 86_400_000;
export const DATE_MS = Date.parse('2026-11-21T00:00:00Z');
/** The fences of that date in UTC, counted here once more. */
const TRADES_UNTIL_MS = DATE_MS + DAY_MS + 2 * 3_600_000;
const WITHDRAWALS_UNTIL_MS = DATE_MS + 5.5 * DAY_MS;
/** From the look at the clock to the byte on the wire, and what the clocks may differ. */
const FENCE_SLACK_MS = 45_000;
const WORST_RATE = '17';
const MOST_BOUGHT = '17300';
/** Codes that pause: they never end an item (M7). */
const PAUSES =
  /^(AUTH_|SANDBOX_|INVALID_|MISSING_|ROUTE_|IDEMPOTENCY_KEY|FEATURE_|CREDENTIALS_|CLOCK_|API_KEY_)|_DISABLED|_NOT_ENABLED/;

type Rule =
  'M1' | 'M2' | 'M3' | 'M4' | 'M5' | 'M7' | 'M8' | 'replay' | 'instructions' | 'fence' | 'clock' | 'model';

export class Oracle {
  readonly violations: string[] = [];
  readonly #world: World;
  /** Items of which a person has claimed what is not so: their outcome is that person's. */
  readonly misled = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  broken(rule: Rule, what: string): void {
    this.#world.tell(() => `*** ${rule}: ${what}`);
    this.violations.push(`${rule}: ${what}`);
  }

  /** Called when the first byte of a write leaves. */
  sending(write: Write, attempt: Attempt): void {
    const world = this.#world;
    const now = world.agenda.nowMs;
    this.#wanted(write, attempt);
    if (write.step === 'quote') {
      // Asked for by an attempt that counts no more, it goes nowhere.
      if (!attempt.isSuperseded()) this.#noNewQuote(write);
      this.#isText(write.request.amount.value);
      return;
    }
    const { toldSkewMs } = world;
    if (toldSkewMs !== null && Math.abs(toldSkewMs) > 11_000 && !attempt.isSuperseded())
      this.broken(
        'clock',
        `${write.step} of ${write.item} sent although the clocks are ${toldSkewMs} ms apart`,
      );
    const isOurClockRight = Math.abs(world.ourSkewMs) <= 10_000;
    if (write.step === 'trade') {
      if (isOurClockRight && (now < DATE_MS - FENCE_SLACK_MS || now > TRADES_UNTIL_MS + FENCE_SLACK_MS))
        this.broken('fence', `trade of ${write.item} sent outside its fence`);
      if (write.reference !== `p.2026-11-21.${write.item}`)
        this.broken('M2', `trade of ${write.item} sent as ${write.reference}`);
      return;
    }
    this.#isText(write.request.amount);
    const untilMs = this.#lastFenceOf(write.item) ?? WITHDRAWALS_UNTIL_MS;
    if (isOurClockRight && (now < DATE_MS - FENCE_SLACK_MS || now > untilMs + FENCE_SLACK_MS))
      this.broken('fence', `withdrawal of ${write.item} sent outside its fence`);
    this.#noNewKey(write, attempt);
  }

  /** The window that the last instruction to pay again gave to a payment; null when nobody gave one. */
  #lastFenceOf(item: string): number | null {
    const { instructions } = this.#world.temporal.kept;
    const opened = instructions.findLast((said) => said.kind === 'pay again' && said.item === item);
    return opened === undefined ? null : Date.parse(`${opened.date}T00:00:00Z`) + 5.5 * 86_400_000;
  }

  /** Step 1: an attempt heeds the instructions that were said before it began, unless they were taken back meanwhile. */
  #wanted(write: Write, attempt: Attempt): void {
    const { instructions } = this.#world.temporal.kept;
    const then = standingOf(instructions, write.item, attempt.beganAtMs);
    const now = standingOf(instructions, write.item, Infinity);
    if (then.cancelled && now.cancelled)
      this.broken('instructions', `${write.step} of ${write.item} sent although the run was cancelled`);
    if (then.decided && now.decided)
      this.broken('instructions', `${write.step} of ${write.item} sent although a person has decided it`);
  }

  #isText(amount: unknown): void {
    if (!isAmount(amount)) this.broken('M5', `${String(amount)} was sent as an amount`);
  }

  #noNewQuote({ item }: Write): void {
    const { service } = this.#world;
    if (service.alive().some((send) => send.write.item === item))
      this.broken('M2', `new quote for ${item} while an earlier trade may still be booked`);
    if (service.ledger.some((movement) => movement.send.write.item === item))
      this.broken('M2', `new quote for ${item} although it is traded`);
  }

  #noNewKey({ item, request }: Extract<Write, { step: 'withdrawal' }>, attempt: Attempt): void {
    if (attempt.isSuperseded()) return;
    const { service } = this.#world;
    const mayPay = [
      ...service.alive(),
      ...service.ledger.flatMap(({ send, status }) => (isFailed(status) ? [] : [send])),
    ];
    for (const { write } of mayPay) {
      if (write.step !== 'withdrawal' || write.item !== item) continue;
      if (generationIn(write.request.reference) < generationIn(request.reference))
        this.broken('M2', `new key ${request.reference} while ${write.request.reference} may pay`);
    }
  }

  /** Called when money moves. */
  booked(movement: Movement): void {
    if (movement.kind === 'trade') this.#tradeBooked(movement);
    else this.#withdrawalBooked(movement);
  }

  #tradeBooked(movement: Extract<Movement, { kind: 'trade' }>): void {
    const { record } = movement;
    const { policy } = this.#world.schedule;
    const others = this.#movementsOf(movement.send.write.item).filter((other) => other !== movement);
    if (others.length > 0)
      this.broken(
        'M1',
        `leg traded twice: ${[...others, movement].map((each) => each.record.id).join(', ')}`,
      );
    const sold = units(record.sellAmount ?? record.executedAmount);
    const bought = units(record.buyAmount ?? record.executedAmount);
    if (policy.amount === 'sell' && sold !== units('1000')) this.broken('M4', `sold ${textOf(sold)}`);
    if (policy.amount === 'buy' && bought !== units('17000')) this.broken('M4', `bought ${textOf(bought)}`);
    if (policy.guard && times(sold, units(WORST_RATE)) > bought + 20_000n)
      this.broken('M4', `traded at ${textOf(over(bought, sold))}, worse than ${WORST_RATE}`);
    if (policy.limit && bought > units(MOST_BOUGHT)) this.broken('M4', `bought ${textOf(bought)}`);
  }

  #withdrawalBooked(movement: Extract<Movement, { kind: 'withdrawal' }>): void {
    const { write } = movement.send;
    const { schedule, temporal } = this.#world;
    const reference = write.step === 'withdrawal' ? write.request.reference : '';
    for (const other of this.#movementsOf(write.item)) {
      if (other === movement || other.kind !== 'withdrawal') continue;
      const otherReference = other.send.write.step === 'withdrawal' ? other.send.write.request.reference : '';
      const opened = [...temporal.kept.instructions, ...temporal.lost].some(
        (said) =>
          said.kind === 'pay again' &&
          said.item === write.item &&
          said.follows < generationIn(reference) &&
          other.failedAtMs !== null &&
          said.keptAtMs >= other.failedAtMs,
      );
      // Two API keys and a booking later than the design assumes: outside the rules.
      const isBeyond = movement.send.beyond || other.send.beyond;
      if (isBeyond && other.send.write.keyName !== write.keyName) continue;
      if (!opened || otherReference === reference)
        this.broken('M1', `${write.item} paid twice: ${otherReference} (${other.status}) and ${reference}`);
    }
    const amount = units(movement.record.withdrawalAmount);
    const planned = this.#plannedAmounts(schedule.policy.pays, write.item);
    if (planned !== null && amount !== planned)
      this.broken('M4', `${write.item} paid ${textOf(amount)}, planned ${textOf(planned)}`);
  }

  #plannedAmounts(pays: string, item: string): bigint | null {
    if (pays === 'fixed' || pays === 'twins' || item === 'second') return units('17000');
    const traded = this.#world.service.ledger.filter(({ kind }) => kind === 'trade');
    const [trade] = traded;
    if (traded.length !== 1 || trade?.kind !== 'trade') return null;
    const bought = units(trade.record.buyAmount ?? trade.record.executedAmount);
    return bought - (bought % units('0.01'));
  }

  /** What really moved for an item of our run. */
  #movementsOf(item: string): readonly Movement[] {
    return this.#world.service.ledger.filter(({ send }) => send.write.item === item);
  }

  /** The last course of the run has ended: its report against the truth (M3, M7). */
  ended({ state, standing, error }: Execution): void {
    if (standing !== 'ended') {
      const code = error instanceof RunRefused ? error.code : standing;
      if (this.#world.service.ledger.length > 0 && code !== 'CANCELLED')
        this.broken('M3', `the run ended without a plan (${code}), although something was sent`);
      return;
    }
    for (const record of state.payments) this.#noteSwapped(record);
    for (const record of state.legs) this.#legReported(record);
    for (const record of state.payments) this.#paymentReported(record);
    const named = state.payments.flatMap(({ accepted }) => accepted?.withdrawalId ?? []);
    if (new Set(named).size < named.length)
      this.broken('M3', `one withdrawal counts for two payments: ${named.join()}`);
    const report = makeReport(state);
    for (const total of report.totals) {
      const parts = [total.paid, total.notPaid, total.needsHuman].map(units);
      if (parts.reduce((a, b) => a + b, 0n) !== units(total.planned))
        this.broken('M3', `totals of ${total.currency} do not add up: ${JSON.stringify(total)}`);
    }
    for (const { code } of report.problems)
      if (PAUSES.test(code)) this.broken('M7', `an item ended by ${code}, which only pauses`);
  }

  /** Somebody named an equal payment's record, which nothing on it tells: whoever did answers for both payments. */
  #noteSwapped({ payment, accepted }: PaymentRecord): void {
    const { temporal, service } = this.#world;
    const owner = service.ledger.find(({ record }) => record.id === accepted?.withdrawalId)?.send.write.item;
    const isNamed = [...temporal.kept.instructions, ...temporal.lost].some(
      (said) =>
        said.kind === 'executed' && said.item === payment.id && said.recordId === accepted?.withdrawalId,
    );
    if (owner === undefined || owner === payment.id || !isNamed) return;
    this.misled.add(payment.id);
    this.misled.add(owner);
  }

  #legReported({ leg, outcome, traded, problem }: LegRecord): void {
    if (this.misled.has(leg.id)) return;
    const moved = this.#movementsOf(leg.id);
    if (outcome === 'TRADED') {
      if (!moved.some(({ record }) => record.id === traded?.tradeId))
        this.broken('M3', `${leg.id} is TRADED as ${traded?.tradeId ?? '?'}, which is not its trade`);
    } else if (outcome !== 'NOT_TRADED') this.broken('M3', `the run ended while ${leg.id} is ${outcome}`);
    else if (moved.length > 0)
      this.broken('M3', `${leg.id} is NOT_TRADED (${problem?.code ?? ''}), but it is`);
  }

  #paymentReported({ payment, outcome, accepted, problem }: PaymentRecord): void {
    if (this.misled.has(payment.id)) return;
    const moved = this.#movementsOf(payment.id).filter((each) => each.kind === 'withdrawal');
    if (outcome === 'PAID') {
      const record = moved.find((each) => each.record.id === accepted?.withdrawalId);
      if (record?.wasPaid !== true)
        this.broken(
          'M3',
          `${payment.id} is PAID as ${accepted?.withdrawalId ?? '?'}, which was not its payment`,
        );
    } else if (outcome !== 'NOT_PAID') this.broken('M3', `the run ended while ${payment.id} is ${outcome}`);
    else {
      // Booked later than the design assumes, after time had ended what no key could: outside the rules.
      const paid = moved.filter((each) => !isFailed(each.status) && !each.send.beyond);
      if (paid.length > 0)
        this.broken(
          'M3',
          `${payment.id} is NOT_PAID (${problem?.code ?? ''}), but ${paid[0]?.record.id ?? ''} is ${paid[0]?.status ?? ''}`,
        );
    }
  }
}

/** What people have said of one item, counted here once more. */
function standingOf(
  instructions: readonly KeptInstruction[],
  item: string,
  beforeMs: number,
): { cancelled: boolean; decided: boolean } {
  let cancelled = false;
  let decided = false;
  for (const said of instructions) {
    if (said.keptAtMs >= beforeMs) continue;
    if (said.kind === 'cancel') cancelled = true;
    if (said.kind === 'go-on' && said.item === null) cancelled = false;
    if ((said.kind === 'executed' || said.kind === 'not executed') && said.item === item) decided = true;
    if (said.kind === 'pay again' && said.item === item) decided = false;
  }
  return { cancelled, decided };
}

export function generationIn(reference: string): number {
  const [, generation] = reference.split('~');
  return generation === undefined ? 1 : Number(generation);
}
