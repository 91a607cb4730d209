/**
 * The judge: knows what the service really did and says which promise (M1 … M8, design: "The promise") was broken. It reads
 * nothing that the steps decided but the final report, and shares no code with them.
 */
import {
  makeReport,
  statusOf,
  type Report,
  type ReportLeg,
  type ReportPayment,
} from '../../../domain/run/report.ts';
import { RunRefused } from '../../../domain/run/ports.ts';
import type { Attempt } from './attempt.ts';
import type { Movement, Write } from './service.ts';
import { isFailed, isLast } from './service.ts';
import { paymentsOf, type Ours } from './ours.ts';
import type { Execution } from './execution.ts';
import {
  answersOfBefore,
  isBookedBehind,
  isCountedWhole,
  isForgottenBatch,
  isForgottenByOthers,
  isForgottenWork,
} from './outside.ts';
import { brokenByRebalance } from './oracle-of-rebalances.ts';
import type { KeptInstruction, Temporal } from './temporal.ts';
import { isAmount, over, textOf, times, units } from './units.ts';
import type { World } from './world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const DATE_MS = Date.parse('2026-11-21T00:00:00Z');
/** The send windows of that date in UTC, counted here once more. */
const TRADES_UNTIL_MS = DATE_MS + DAY_MS + 2 * 3_600_000;
const WITHDRAWALS_UNTIL_MS = DATE_MS + 5.5 * DAY_MS;
/** From the look at the clock to the byte on the wire, and what the clocks may differ. */
const WINDOW_SLACK_MS = 45_000;
/** From when something is known to the sentence about it. */
const SAYS_WITHIN_MS = 3 * 60_000;
/** A chunk that somebody has ended is missed by its run within ten minutes. */
const SAYS_OF_CHUNKS_WITHIN_MS = 11 * 60_000;
const WORST_RATE = '17';
const MOST_BOUGHT = '17300';
/** Codes that pause: they never end an item (M7). */
const PAUSES =
  /^(AUTH_|SANDBOX_|INVALID_|MISSING_|ROUTE_|IDEMPOTENCY_KEY|FEATURE_|CREDENTIALS_|CLOCK_|API_KEY_)|_DISABLED|_NOT_ENABLED/;

type Rule =
  | 'M1'
  | 'M2'
  | 'M3'
  | 'M4'
  | 'M5'
  | 'M7'
  | 'M8'
  | 'replay'
  | 'instructions'
  | 'go'
  | 'send window'
  | 'clock'
  | 'model';

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
      if (isOurClockRight && (now < DATE_MS - WINDOW_SLACK_MS || now > TRADES_UNTIL_MS + WINDOW_SLACK_MS))
        this.broken('send window', `trade of ${write.item} sent outside its send window`);
      const { prefix, input } = attempt.activity.temporal.ours;
      if (write.reference !== `${input.run.policy}.${input.run.id}.${write.item.slice(prefix.length)}`)
        this.broken('M2', `trade of ${write.item} sent as ${write.reference}`);
      return;
    }
    this.#isText(write.request.amount);
    const untilMs = this.#lastFenceOf(write.item, attempt) ?? WITHDRAWALS_UNTIL_MS;
    if (isOurClockRight && (now < DATE_MS - WINDOW_SLACK_MS || now > untilMs + WINDOW_SLACK_MS))
      this.broken('send window', `withdrawal of ${write.item} sent outside its send window`);
    this.#noNewKey(write, attempt);
  }

  /** The window that the last instruction to pay again gave to a payment; null when nobody gave one. */
  #lastFenceOf(item: string, { activity }: Attempt): number | null {
    const temporal = activity.temporal.home;
    const { instructions } = temporal.kept;
    const opened = instructions.findLast(
      (said) => said.kind === 'pay again' && temporal.itemOf(said.item) === item,
    );
    return opened === undefined ? null : Date.parse(`${opened.date}T00:00:00Z`) + 5.5 * 86_400_000;
  }

  /** Step 1: an attempt heeds the instructions that were said before it began, unless they were taken back meanwhile. */
  #wanted(write: Write, attempt: Attempt): void {
    const { home } = attempt.activity.temporal;
    const { kept, ours } = home;
    // A chunk sends by the go of a run that is open: it is read once the attempt has begun, and before every write.
    if (home.chunks.length > 0 && !attempt.isSuperseded() && home.closedBefore(attempt.beganAtMs))
      this.broken('go', `${write.step} of ${write.item} sent although its run was not open`);
    const item = write.item.slice(ours.prefix.length);
    const then = standingOf(kept.instructions, item, attempt.beganAtMs);
    const now = standingOf(kept.instructions, item, Infinity);
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

  /** The item is that person's who has said "not executed" of it while it was being sent. */
  #noteBehind({ send }: Movement): void {
    const { item } = send.write;
    for (const temporal of this.#world.runs)
      for (const said of [...temporal.kept.instructions, ...temporal.lost])
        if (
          said.kind === 'not executed' &&
          temporal.itemOf(said.item) === item &&
          isBookedBehind(this.#world, said.keptAtMs, send)
        )
          this.misled.add(item);
  }

  /** Called when money moves. */
  booked(movement: Movement): void {
    this.#noteBehind(movement);
    if (movement.kind === 'trade') this.#tradeBooked(movement);
    else this.#withdrawalBooked(movement);
  }

  #tradeBooked(movement: Extract<Movement, { kind: 'trade' }>): void {
    const { record } = movement;
    const { policy } = this.#oursOf(movement.send.write.item).ours;
    const others = this.#movementsOf(movement.send.write.item).filter((other) => other !== movement);
    if (others.length > 0)
      this.broken(
        'M1',
        `leg traded twice: ${[...others, movement].map((each) => each.record.id).join(', ')}`,
      );
    const temporal = this.#oursOf(movement.send.write.item);
    if (temporal.ours.rebalance !== null) {
      for (const what of brokenByRebalance(this.#world, temporal, movement)) this.broken('M4', what);
      return;
    }
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
    const temporal = this.#oursOf(write.item);
    const { ours } = temporal;
    const reference = write.step === 'withdrawal' ? write.request.reference : '';
    for (const other of this.#movementsOf(write.item)) {
      if (other === movement || other.kind !== 'withdrawal') continue;
      const otherReference = other.send.write.step === 'withdrawal' ? other.send.write.request.reference : '';
      const opened = [...temporal.kept.instructions, ...temporal.lost].some(
        (said) =>
          said.kind === 'pay again' && temporal.itemOf(said.item) === write.item && other.failedAtMs !== null,
      );
      // Two API keys and a booking later than the design assumes: outside the rules.
      const isBeyond = movement.send.beyond || other.send.beyond;
      if (isBeyond && other.send.write.keyName !== write.keyName) continue;
      if (isForgottenWork(this.#world, temporal.hasForgotten, movement.send, other.send)) continue;
      if (!opened || otherReference === reference || other.failedAtMs === null)
        this.broken('M1', `${write.item} paid twice: ${otherReference} (${other.status}) and ${reference}`);
    }
    this.#paidByOneBatch(movement, temporal);
    const amount = units(movement.record.withdrawalAmount);
    const planned = this.#plannedAmount(ours, write.item.slice(ours.prefix.length));
    if (planned !== null && amount !== planned)
      this.broken('M4', `${write.item} paid ${textOf(amount)}, planned ${textOf(planned)}`);
  }

  /** Two batches of a policy never pay an item of one id both. */
  #paidByOneBatch(movement: Movement, temporal: Temporal): void {
    const { item } = movement.send.write;
    for (const other of this.#world.runs) {
      if (other === temporal || other.ours.batch === null) continue;
      const theirs = other.itemOf(item.slice(temporal.ours.prefix.length));
      // Whoever has said what is not so answers for it.
      if (this.misled.has(item) || this.misled.has(theirs)) continue;
      for (const { status, record, atMs } of this.#movementsOf(theirs)) {
        const hasForgotten = temporal.hasForgotten || other.hasForgotten;
        const isInWork = movement.send.sentAtMs < atMs;
        if (isFailed(status) || isForgottenByOthers(this.#world, { hasForgotten, paidAtMs: atMs, isInWork }))
          continue;
        this.broken('M1', `${item} paid although ${theirs} is, as ${record.id}`);
      }
    }
  }

  /** The run that an item is of. */
  #oursOf(item: string): Temporal {
    const temporal = this.#world.runs.findLast(({ ours }) => item.startsWith(ours.prefix));
    if (temporal === undefined) throw new RangeError(`Nobody's item: ${item}.`);
    return temporal;
  }

  /** What a payment comes to by its policy and what was really bought; null: that cannot be told. */
  #plannedAmount({ policy, prefix, batch }: Ours, id: string): bigint | null {
    if (batch !== null) return units(batch.flat().find(([name]) => name === id)?.[3] ?? '0');
    const payments = paymentsOf(policy);
    const amount = payments.find((payment) => payment.id === id)?.amount;
    if (amount === undefined) return -1n;
    if (amount.kind === 'fixed') return units(amount.value);
    const traded = this.#world.service.ledger.filter(
      ({ kind, send }) => kind === 'trade' && send.write.item === `${prefix}usd-mxn-1`,
    );
    const [trade] = traded;
    if (traded.length !== 1 || trade?.kind !== 'trade') return null;
    const bought = units(trade.record.buyAmount ?? trade.record.executedAmount);
    // Fixed payments count as planned, paid or not.
    const others = payments.map((other) => (other.amount.kind === 'fixed' ? units(other.amount.value) : 0n));
    const left = amount.kind === 'rest' ? others.reduce((rest, other) => rest - other, bought) : bought;
    return left - (left % units('0.01'));
  }

  /** What really moved for an item of our run. */
  #movementsOf(item: string): readonly Movement[] {
    return this.#world.service.ledger.filter(({ send }) => send.write.item === item);
  }

  /** The newest course of a run has ended: its report against the truth (M3, M7), and what could have been done (M8). */
  ended(temporal: Temporal, { state, standing, error }: Execution): void {
    const { ours } = temporal;
    if (standing !== 'ended') {
      const code = error instanceof RunRefused ? error.code : standing;
      const { ledger } = this.#world.service;
      const moved = ledger.some(({ send }) => this.#oursOf(send.write.item) === temporal);
      if (moved && code !== 'CANCELLED' && !isForgottenBatch(this.#world, temporal))
        this.broken('M3', `the run ended without a plan (${code}), although something was sent`);
      return;
    }
    if (ours.batch !== null) {
      this.#batchEnded(temporal, makeReport(state));
      return;
    }
    // Proceeds of nothing are no payment.
    for (const { id, amount } of ours.rebalance === null ? paymentsOf(ours.policy) : [])
      if (amount.kind === 'fixed' && !state.payments.some(({ payment }) => payment.id === id))
        this.broken('M3', `${temporal.itemOf(id)}, which the policy names, is not in the report`);
    const report = makeReport(state);
    for (const payment of report.payments) this.#noteSwapped(temporal, payment);
    for (const leg of report.legs) this.#legReported(temporal, leg, report);
    for (const payment of report.payments) this.#paymentReported(temporal, payment, report);
    const named = report.payments.flatMap(({ withdrawalId }) => withdrawalId ?? []);
    if (new Set(named).size < named.length)
      this.broken('M3', `one withdrawal counts for two payments: ${named.join()}`);
    for (const total of report.totals) {
      const parts = [total.paid, total.notPaid, total.needsHuman].map(units);
      if (parts.reduce((a, b) => a + b, 0n) !== units(total.planned))
        this.broken('M3', `totals of ${total.currency} do not add up: ${JSON.stringify(total)}`);
    }
    for (const { code } of report.problems)
      if (PAUSES.test(code)) this.broken('M7', `an item ended by ${code}, which only pauses`);
    for (const item of this.#undone(temporal)) this.broken('M8', `${item} could be done, and is not`);
  }

  /** The report of a batch: what its chunks say of every payment, and what its run makes of it, are the file and the ledger. */
  #batchEnded(temporal: Temporal, report: Report): void {
    const file = (temporal.ours.batch ?? []).flat();
    const { payments } = paymentsIn(temporal);
    const named = payments.map(({ id }) => id);
    if (named.join() !== file.map(([id]) => id).join())
      this.broken('M3', `the report has ${named.join()}, the file ${file.map(([id]) => id).join()}`);
    const whole: Report = { ...report, payments };
    for (const payment of payments) this.#noteSwapped(temporal, payment);
    for (const payment of payments) this.#paymentReported(temporal, payment, whole);
    const ids = payments.flatMap(({ withdrawalId }) => withdrawalId ?? []);
    if (new Set(ids).size < ids.length)
      this.broken('M3', `one withdrawal counts for two payments: ${ids.join()}`);
    const sumOf = (outcome: string | null): string => {
      const amounts = payments.flatMap((each) =>
        outcome === null || each.outcome === outcome ? [units(each.amount ?? '0')] : [],
      );
      return textOf(amounts.reduce((a, b) => a + b, 0n));
    };
    const planned = textOf(file.reduce((all, [, , , amount]) => all + units(amount), 0n));
    const told = report.totals.map(({ currency, ...sums }) => [currency, sums]);
    const due = [
      'MXN',
      { planned, paid: sumOf('PAID'), notPaid: sumOf('NOT_PAID'), needsHuman: sumOf('NEEDS_HUMAN') },
    ];
    if (JSON.stringify(told) !== JSON.stringify([due]))
      this.broken('M3', `the run sums up ${JSON.stringify(told)}, its chunks ${JSON.stringify(due)}`);
    if ((report.status === 'COMPLETED') !== payments.every(({ outcome }) => outcome === 'PAID'))
      this.broken('M3', `the run is ${report.status}: ${payments.map(({ outcome }) => outcome).join()}`);
    for (const item of this.#undone(temporal)) this.broken('M8', `${item} could be done, and is not`);
  }

  /** Somebody named an equal payment's record, which nothing on it tells: whoever did answers for both payments. */
  #noteSwapped(temporal: Temporal, { id, withdrawalId }: ReportPayment): void {
    const { service } = this.#world;
    const item = temporal.itemOf(id);
    const owner = service.ledger.find(({ record }) => record.id === withdrawalId)?.send.write.item;
    const isNamed = [...temporal.kept.instructions, ...temporal.lost].some(
      (said) => said.kind === 'executed' && said.item === id && said.recordId === withdrawalId,
    );
    if (owner === undefined || owner === item || !isNamed) return;
    this.misled.add(item);
    this.misled.add(owner);
  }

  #legReported(temporal: Temporal, { id, outcome, tradeId }: ReportLeg, report: Report): void {
    const item = temporal.itemOf(id);
    if (this.misled.has(item)) return;
    const moved = this.#movementsOf(item);
    if (outcome === 'TRADED') {
      if (!moved.some(({ record }) => record.id === tradeId))
        this.broken('M3', `${item} is TRADED as ${tradeId ?? '?'}, which is not its trade`);
    } else if (outcome !== 'NOT_TRADED') this.broken('M3', `the run ended while ${item} is ${outcome}`);
    else if (moved.length > 0) this.broken('M3', `${item} is NOT_TRADED (${codesOf(report, id)}), but it is`);
  }

  #paymentReported(temporal: Temporal, payment: ReportPayment, report: Report): void {
    const { id, outcome, withdrawalId } = payment;
    const item = temporal.itemOf(id);
    if (this.misled.has(item)) return;
    this.#amountReported(temporal, payment);
    const moved = this.#movementsOf(item).filter((each) => each.kind === 'withdrawal');
    if (outcome === 'PAID') {
      const record = moved.find((each) => each.record.id === withdrawalId);
      if (record?.wasPaid !== true)
        this.broken('M3', `${item} is PAID as ${withdrawalId ?? '?'}, which was not its payment`);
    } else if (outcome !== 'NOT_PAID') this.broken('M3', `the run ended while ${item} is ${outcome}`);
    else {
      // Booked later than the design assumes, after time had ended what no key could: outside the rules.
      const paid = moved.filter((each) => !isFailed(each.status) && !each.send.beyond);
      if (paid.length > 0)
        this.broken(
          'M3',
          `${item} is NOT_PAID (${codesOf(report, id)}), but ${paid[0]?.record.id ?? ''} is ${paid[0]?.status ?? ''}`,
        );
    }
  }

  /** What a payment is said to come to, paid or not: nothing less than nothing. */
  #amountReported(temporal: Temporal, { id, amount }: ReportPayment): void {
    const planned = this.#plannedAmount(temporal.ours, id);
    if (amount === null || planned === null || this.misled.has(temporal.itemOf('usd-mxn-1'))) return;
    const due = planned > 0n ? planned : 0n;
    if (units(amount) !== due)
      this.broken('M4', `${temporal.itemOf(id)} is reported as ${amount}, which is ${textOf(due)}`);
  }

  // Silence (M8): a run that says nothing but RUNNING must have a reason that the service shows.

  /** Nothing will happen until then: whoever waits longer than its time says so. */
  quietUntil(nextMs: number): void {
    const { agenda, runs, service } = this.#world;
    if (!service.isReadable()) return;
    for (const temporal of runs) {
      const { current } = temporal;
      if (current === null || !temporal.hasWorkers() || temporal.isAway()) continue;
      const moved = service.ledger.filter(({ send }) => this.#oursOf(send.write.item) === temporal);
      // Where the money is there, nobody waits for the status of the trade.
      const pays = moved.some(({ kind }) => kind === 'withdrawal');
      const pending = moved.filter(({ kind, status }) => !isLast(status) && (kind === 'withdrawal' || !pays));
      const untilMs = Math.min(...(pending.length === 0 ? [agenda.nowMs] : pending.map(mayBeQuietUntil)));
      const saysWithinMs = temporal.chunks.length > 0 ? SAYS_OF_CHUNKS_WITHIN_MS : SAYS_WITHIN_MS;
      if (nextMs <= untilMs + saysWithinMs || statusOf(current.state) !== 'RUNNING') continue;
      const what = pending.map(({ record, status }) => `${record.id} is ${status}`).join(', ');
      this.broken(
        'M8',
        `${temporal.itemOf('')}the run says nothing for too long: ${what || 'nothing is sent'}`,
      );
    }
  }

  // What could have been done: by what the service, the clocks and people did, never by what the run says of itself.

  /**
   * Whether an operator who looks at the newest report finds something to try again. Whoever has restored Temporal goes on
   * with every run that is not COMPLETED, since its report may be older than what was done (docs/operations.md).
   */
  isUndone(temporal: Temporal): boolean {
    const state = temporal.newest()?.state;
    const isOld = temporal.isReportOld && (state === undefined || statusOf(state) !== 'COMPLETED');
    const isPart = temporal.ours.rebalance !== null && state !== undefined && statusOf(state) !== 'COMPLETED';
    return isOld || isPart || this.#undone(temporal).length > 0;
  }

  /** Items that nothing stands against, once the faults have stopped, and that are not done all the same. */
  #undone(temporal: Temporal): readonly string[] {
    const state = temporal.newest()?.state;
    const { agenda, schedule, healedAtMs } = this.#world;
    if (state === undefined || healedAtMs === null) return [];
    // What balances ask for changes with them.
    if (temporal.ours.rebalance !== null) return [];
    // A refusal that does not say that it is an old one may be taken for a new one.
    if (schedule.service.headersLost > 0) return [];
    const said = [...temporal.kept.instructions, ...temporal.lost];
    if (said.some(({ kind }) => kind === 'cancel' || kind === 'superseded') || state.cancelled) return [];
    const { policy } = temporal.ours;
    const isDecided = (id: string): boolean =>
      this.misled.has(temporal.itemOf(id)) || said.some((each) => 'item' in each && each.item === id);
    // A trade needs its day, and prices inside guard and limit.
    const isBad = schedule.service.prices
      .map(units)
      .some(
        (price) =>
          (policy.guard && price < units(WORST_RATE)) ||
          (policy.limit && (policy.amount === 'sell all' || price > units('17.3'))),
      );
    // Two runs that each sell everything: the first one leaves nothing.
    const isSold = policy.amount === 'sell all' && this.#world.runs.length > 1;
    const tradesEnd = TRADES_UNTIL_MS - HOUR_MS;
    const report = { ...makeReport(state), ...(temporal.chunks.length > 0 && paymentsIn(temporal)) };
    const legs = report.legs.flatMap(({ id, outcome }) =>
      outcome === 'NOT_TRADED' &&
      !isDecided(id) &&
      !isBad &&
      !isSold &&
      !answersOfBefore(this.#world) &&
      healedAtMs < tradesEnd &&
      agenda.nowMs < tradesEnd
        ? [temporal.itemOf(id)]
        : [],
    );
    const isBrought =
      (report.legs.length > 0 || temporal.chunks.length > 0) &&
      report.legs.every(
        ({ id, outcome }) =>
          outcome === 'TRADED' &&
          !isDecided(id) &&
          this.#movementsOf(temporal.itemOf(id)).every(({ status }) => !isFailed(status)),
      );
    // Doubt takes a day, and the next generation up to 60 h.
    const paymentsEnd = WITHDRAWALS_UNTIL_MS - 61 * HOUR_MS;
    const payments = report.payments.flatMap(({ id, outcome }) => {
      const item = temporal.itemOf(id);
      const planned = this.#plannedAmount(temporal.ours, id);
      const isNothing = planned !== null && planned <= 0n;
      // Each of two batches that are taken up at one moment leaves it to the other; a person goes on with one of them.
      const isBoth = this.#world.runs.some(
        (other) => other !== temporal && (other.ours.batch ?? []).flat().some(([name]) => name === id),
      );
      // Among the strangers' records is one of another batch of the policy.
      const isStrangers = temporal.ours.batch !== null && schedule.service.twins && id === 'supplier';
      const isOthers = isBoth || isStrangers;
      const isFree =
        !isDecided(id) && isBrought && !isNothing && !isOthers && this.#movementsOf(item).length === 0;
      return outcome === 'NOT_PAID' && isFree && healedAtMs < paymentsEnd && agenda.nowMs < paymentsEnd
        ? [item]
        : [];
    });
    return [...legs, ...payments];
  }

  /** Items wait for a person although nothing happened that only a person can judge. */
  askedInVain(temporal: Temporal): void {
    if (this.needsAPerson(temporal) || isCountedWhole(this.#world, temporal)) return;
    const { legs = [] } = temporal.current?.state ?? {};
    const payments = temporal.payments();
    const waits = [...legs, ...payments].flatMap(({ waiting }) => waiting?.problem.code ?? []);
    for (const id of temporal.people.waiting())
      this.broken('M8', `${temporal.itemOf(id)} waits for a person in vain (${waits.join()})`);
  }

  /** What no lookup and no key can settle, whatever the item: then people are rightly asked. */
  needsAPerson({ kept, lost }: Temporal): boolean {
    const { schedule, keysUsed, healedAtMs, runs } = this.#world;
    // What another run has forgotten, nobody accounts for.
    const hasForgotten = runs.some((run) => run.hasForgotten);
    // No key may ask for a payment that was sent and then was not wanted any more: the batch stopped, or another one has it.
    const { batch } = schedule;
    const isUnwanted =
      batch !== null && (batch.stopAfter !== null || batch.canary !== null || runs.length > 1);
    const { service, faults, events } = schedule;
    const showsTags = service.metadataInLists === 'always';
    const isOdd = [...faults.trade, ...faults.withdrawal].some(
      (fault) =>
        fault.kind === 'ours, probably' ||
        fault.kind === 'late' ||
        (fault.kind === '5xx' && (fault.stored || service.stores === 'every error')),
    );
    return (
      isOdd ||
      service.twins ||
      // A payment that was made and is not wanted any more: no key may ask for it.
      service.tradeWord === 'FAILED' ||
      (keysUsed.size > 1 && (!showsTags || service.keysBelongTo === 'api key')) ||
      (hasForgotten && !showsTags) ||
      (isUnwanted && !showsTags) ||
      kept.instructions.length + lost.length > 0 ||
      events.some(({ what }) => what.kind === 'our clock' || what.kind === 'credentials') ||
      healedAtMs === null ||
      healedAtMs > WITHDRAWALS_UNTIL_MS - DAY_MS
    );
  }
}

/** What the chunks of a batch say. */
function paymentsIn({ chunks }: Pick<Temporal, 'chunks'>): Pick<Report, 'payments'> {
  const courses = chunks.flatMap((chunk) => chunk.newest()?.chunk ?? []);
  return { payments: courses.flatMap((chunk) => makeReport(chunk.reported).payments) };
}

/** How long a record may wait in silence: a status that the interface shows until it is late, another one not at all. */
function mayBeQuietUntil({ kind, atMs, status, saidAtMs }: Movement): number {
  if (!['EXECUTED', 'PENDING'].includes(status)) return saidAtMs;
  return atMs + (kind === 'trade' ? HOUR_MS : DAY_MS);
}

/** What people have said of one item, counted here once more. */
function standingOf(
  instructions: readonly KeptInstruction[],
  item: string,
  beforeMs: number,
): { cancelled: boolean; decided: boolean } {
  let cancelled = false;
  let decided = false;
  let isGone = false;
  for (const said of instructions) {
    if (said.keptAtMs >= beforeMs) continue;
    if (said.kind === 'superseded') isGone = true;
    if (said.kind === 'cancel') cancelled = true;
    if (said.kind === 'go-on' && said.item === null) cancelled = false;
    if ((said.kind === 'executed' || said.kind === 'not executed') && said.item === item) decided = true;
    if (said.kind === 'pay again' && said.item === item) decided = false;
  }
  return { cancelled: cancelled || isGone, decided };
}

export function generationIn(reference: string): number {
  const [, generation] = reference.split('~');
  return generation === undefined ? 1 : Number(generation);
}

/** What a report says is wrong with an item. */
function codesOf({ problems }: Report, id: string): string {
  return problems.flatMap(({ code, item }) => (item === id ? [code] : [])).join();
}
