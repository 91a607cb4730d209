/**
 * The judge: knows what the service really did and says which promise (M1 … M8, design: "The promise") was broken. It reads
 * nothing that the steps decided but the final report, and shares no code with them.
 */
import {
  joined,
  makeReport,
  shownWaits,
  statusOf,
  type Report,
  type ReportLeg,
  type ReportPayment,
} from '../../../domain/run/report.ts';
import { RunRefused } from '../../../domain/run/ports.ts';
import type { Attempt } from './attempt.ts';
import type { Movement, Write } from './service.ts';
import { isFailed, isLast } from './service.ts';
import { MOST_BOUGHT, WORST_RATE, paymentsOf, type Ours } from './ours.ts';
import type { Execution } from './execution.ts';
import {
  isBookedBehind,
  isBookedBehindALoss,
  isForgottenBatch,
  isForgottenByOthers,
  isForgottenWork,
} from './outside.ts';
import { whyAPerson } from './asked.ts';
import { currenciesOf, haltIn } from './oracle-of-halts.ts';
import { brokenByFunding } from './oracle-of-funding.ts';
import { brokenByRebalance } from './oracle-of-rebalances.ts';
import { standingOf } from './said.ts';
import type { Temporal } from './temporal.ts';
import { whyUndone } from './undone.ts';
import { isAmount, over, textOf, times, units } from './units.ts';
import {
  CLOCKS_AGREE_MS,
  DATE_MS,
  DAY_MS,
  HOUR_MS,
  TRADES_UNTIL_MS,
  WITHDRAWALS_UNTIL_MS,
} from './windows.ts';
import type { World } from './world.ts';

/** The longest time from an attempt's look at the clock to its first byte, and how far two clocks may differ. */
const WINDOW_SLACK_MS = 45_000;
/** How soon a run must say what it waits for. */
const SAYS_WITHIN_MS = 3 * 60_000;
/** A run notices within ten minutes that somebody has ended one of its chunks. */
const SAYS_OF_CHUNKS_WITHIN_MS = 11 * 60_000;
/** A run looks up an item that waits for a person twice within this. */
const LOOKS_AGAIN_MS = 25 * 60_000;
/** Codes that pause: they never end an item (M7). */
const PAUSES =
  /^(AUTH_|SANDBOX_|INVALID_|MISSING_|ROUTE_|IDEMPOTENCY_KEY|FEATURE_|HALT|CREDENTIALS_|CLOCK_|API_KEY_)|_DISABLED|_NOT_ENABLED/;

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
  | 'answer'
  | 'model';

/** No write leaves longer than this after its attempt has read whether it is wanted. */
const READ_WITHIN_MS = 10_000;

export class Oracle {
  readonly violations: string[] = [];
  readonly #world: World;
  /** Items about which a person has said something false. That person answers for their outcome. */
  readonly misled = new Set<string>();
  /** Of each run the items that wait for a person although only the run itself need judge them, and since when. */
  readonly #askedInVain = new Map<Temporal, ReadonlyMap<string, number>>();

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
    const { prefix, input } = attempt.activity.temporal.ours;
    const id = write.item.slice(prefix.length);
    const halted = haltIn(world, input.run.policy, currenciesOf(write, id));
    if (halted !== null) this.broken('M7', `${write.step} of ${write.item} sent, which is halted: ${halted}`);
    const { temporal } = attempt.activity;
    if (temporal.home !== temporal && temporal.home.pausedForMs() > READ_WITHIN_MS)
      this.broken('M4', `${write.step} of ${write.item} sent, although the run of its batch is paused`);
    if (write.step === 'quote') {
      // Temporal drops the answer of an attempt that does not count any more.
      if (!attempt.isSuperseded()) this.#noNewQuote(write);
      this.#isText(write.request.amount.value);
      return;
    }
    // A step looks at the clocks before its connection is made.
    const { toldSkewMs, apartSinceMs } = world;
    const isApart = Math.abs(toldSkewMs ?? 0) > CLOCKS_AGREE_MS;
    if (isApart && (apartSinceMs ?? 0) < write.wantedAtMs && !attempt.isSuperseded())
      this.broken(
        'clock',
        `${write.step} of ${write.item} sent although the clocks are ${toldSkewMs} ms apart`,
      );
    const isOurClockRight = Math.abs(world.ourSkewMs) <= 10_000;
    if (write.step === 'trade') {
      if (isOurClockRight && (now < DATE_MS - WINDOW_SLACK_MS || now > TRADES_UNTIL_MS + WINDOW_SLACK_MS))
        this.broken('send window', `trade of ${write.item} sent outside its send window`);
      if (write.reference !== `${input.run.policy}.${input.run.id}.${id}`)
        this.broken('M2', `trade of ${write.item} sent as ${write.reference}`);
      return;
    }
    this.#isText(write.request.amount);
    const untilMs = this.#lastFenceOf(write.item, attempt) ?? WITHDRAWALS_UNTIL_MS;
    if (isOurClockRight && (now < DATE_MS - WINDOW_SLACK_MS || now > untilMs + WINDOW_SLACK_MS))
      this.broken('send window', `withdrawal of ${write.item} sent outside its send window`);
    this.#noNewKey(write, attempt);
  }

  /** The end of the send window that the last instruction to pay again has opened for a payment; null: there is none. */
  #lastFenceOf(item: string, { activity }: Attempt): number | null {
    const temporal = activity.temporal.home;
    const { instructions } = temporal.kept;
    const opened = instructions.findLast(
      (said) => said.kind === 'pay again' && temporal.itemOf(said.item) === item,
    );
    return opened === undefined ? null : Date.parse(`${opened.date}T00:00:00Z`) + 5.5 * 86_400_000;
  }

  /** Step 1: an attempt obeys what people said before it began, unless somebody has taken that back meanwhile. */
  #wanted(write: Write, attempt: Attempt): void {
    const { home } = attempt.activity.temporal;
    const { kept, ours } = home;
    // A chunk sends only while its run is open. An attempt reads the go of the run when it begins, and before every write.
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

  /** A person said "not executed" of an item while a worker was sending it. That person answers for it. */
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
    const { policy } = this.runOf(movement.send.write.item).ours;
    const others = this.movementsOf(movement.send.write.item).filter((other) => other !== movement);
    if (others.length > 0)
      this.broken(
        'M1',
        `leg traded twice: ${[...others, movement].map((each) => each.record.id).join(', ')}`,
      );
    const temporal = this.runOf(movement.send.write.item);
    if (temporal.ours.rebalance !== null) {
      for (const what of brokenByRebalance(this.#world, temporal, movement)) this.broken('M4', what);
      return;
    }
    if (temporal.ours.batch !== null) {
      for (const what of brokenByFunding(this.#world, temporal, movement)) this.broken('M4', what);
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
    const temporal = this.runOf(write.item);
    const { ours } = temporal;
    const reference = write.step === 'withdrawal' ? write.request.reference : '';
    for (const other of this.movementsOf(write.item)) {
      if (other === movement || other.kind !== 'withdrawal') continue;
      const otherReference = other.send.write.step === 'withdrawal' ? other.send.write.request.reference : '';
      const opened = [...temporal.kept.instructions, ...temporal.lost].some(
        (said) =>
          said.kind === 'pay again' && temporal.itemOf(said.item) === write.item && other.failedAtMs !== null,
      );
      // The service booked it later than the design assumes, and a worker with another API key sent the other one.
      const isBeyond = movement.send.beyond || other.send.beyond;
      if (isBeyond && other.send.write.keyName !== write.keyName) continue;
      if (isForgottenWork(this.#world, temporal, movement, other)) continue;
      if (!opened || otherReference === reference || other.failedAtMs === null)
        this.broken('M1', `${write.item} paid twice: ${otherReference} (${other.status}) and ${reference}`);
    }
    this.#paidByOneBatch(movement, temporal);
    const amount = units(movement.record.withdrawalAmount);
    const planned = this.plannedAmount(ours, write.item.slice(ours.prefix.length));
    if (planned !== null && amount !== planned)
      this.broken('M4', `${write.item} paid ${textOf(amount)}, planned ${textOf(planned)}`);
  }

  /** Two batches of a policy never pay an item of one id both. */
  #paidByOneBatch(movement: Movement, temporal: Temporal): void {
    const { item } = movement.send.write;
    for (const other of this.#world.runs) {
      if (other === temporal || other.ours.batch === null) continue;
      const theirs = other.itemOf(item.slice(temporal.ours.prefix.length));
      // A person who has said something false answers for it.
      if (this.misled.has(item) || this.misled.has(theirs)) continue;
      for (const { status, record, send, atMs } of this.movementsOf(theirs)) {
        const isLost = temporal.forgotWhatCameOf(movement.send) || other.forgotWhatCameOf(send);
        const isInWork = movement.send.sentAtMs < atMs;
        if (isFailed(status) || isForgottenByOthers(this.#world, { isLost, paidAtMs: atMs, isInWork }))
          continue;
        this.broken('M1', `${item} paid although ${theirs} is, as ${record.id}`);
      }
    }
  }

  /** The run that an item is of. */
  runOf(item: string): Temporal {
    const temporal = this.#world.runs.findLast(({ ours }) => item.startsWith(ours.prefix));
    if (temporal === undefined) throw new RangeError(`Nobody's item: ${item}.`);
    return temporal;
  }

  /** The amount of a payment by its policy and by the trade that the service has booked; null: there is not one such trade. */
  plannedAmount({ policy, prefix, batch }: Ours, id: string): bigint | null {
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
  movementsOf(item: string): readonly Movement[] {
    return this.#world.service.ledger.filter(({ send }) => send.write.item === item);
  }

  /** A run or a chunk has just ended: what it says is paid has been paid by then (M3). */
  endedNow(temporal: Temporal, { state }: Execution): void {
    for (const { payment, stage } of state.payments) {
      const item = temporal.itemOf(payment.id);
      if (stage.kind !== 'paid' || this.misled.has(item)) continue;
      const { withdrawalId: id } = stage.accepted;
      const paid = this.#world.service.ledger.find(({ record }) => record.id === id);
      if (paid?.kind !== 'withdrawal' || !paid.wasPaid)
        this.broken('M3', `${item} has ended as PAID, but ${id} was not paid by then`);
    }
  }

  /** The newest course of a run has ended: its report against the truth (M3, M7), and what could have been done (M8). */
  ended(temporal: Temporal, { state, standing, error }: Execution): void {
    const { ours } = temporal;
    if (standing !== 'ended') {
      const code = error instanceof RunRefused ? error.code : standing;
      const { ledger } = this.#world.service;
      const moved = ledger.some(({ send }) => this.runOf(send.write.item) === temporal);
      if (moved && code !== 'CANCELLED' && !isForgottenBatch(this.#world, temporal))
        this.broken('M3', `the run ended without a plan (${code}), although something was sent`);
      return;
    }
    if (ours.batch !== null) {
      this.#batchEnded(temporal, makeReport(state));
      return;
    }
    // Without a trade there are no proceeds, and so no payment of them.
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
    this.#endsWell(temporal, report);
  }

  /** Judges what is left undone, and counts what was judged. */
  #endsWell(temporal: Temporal, report: Pick<Report, 'legs' | 'payments'>): void {
    for (const item of this.#undone(temporal, true)) this.broken('M8', `${item} could be done, and is not`);
    this.#countAsked(temporal, [...report.legs, ...report.payments]);
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
    for (const leg of report.legs) this.#legReported(temporal, leg, report);
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
    // A chunk has seen at its end what came back after its run had heard of it: people read that from the chunk.
    const hasComeBack = payments.some(
      ({ id, outcome, withdrawalId }) =>
        outcome === 'NOT_PAID' &&
        this.movementsOf(temporal.itemOf(id)).some(
          (each) => each.kind === 'withdrawal' && each.record.id === withdrawalId && each.wasPaid,
        ),
    );
    const read = hasComeBack ? joined([report, whole]) : report;
    const told = read.totals.map(({ currency, ...sums }) => [currency, sums]);
    const due = [
      'MXN',
      { planned, paid: sumOf('PAID'), notPaid: sumOf('NOT_PAID'), needsHuman: sumOf('NEEDS_HUMAN') },
    ];
    if (JSON.stringify(told) !== JSON.stringify([due]))
      this.broken('M3', `the run sums up ${JSON.stringify(told)}, its chunks ${JSON.stringify(due)}`);
    const isDone =
      report.legs.every(({ outcome, settled }) => outcome === 'TRADED' && settled !== false) &&
      payments.every(({ outcome }) => outcome === 'PAID');
    if ((read.status === 'COMPLETED') !== isDone) {
      const outcomes = [...report.legs, ...payments].map(({ outcome }) => outcome);
      this.broken('M3', `the run is ${read.status}: ${outcomes.join()}`);
    }
    this.#endsWell(temporal, whole);
  }

  /** A person named the record of an equal payment, and the record does not show whose it is. That person answers for both payments. */
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
    const moved = this.movementsOf(item);
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
    const moved = this.movementsOf(item).filter((each) => each.kind === 'withdrawal');
    if (outcome === 'PAID') {
      const record = moved.find((each) => each.record.id === withdrawalId);
      if (record?.wasPaid !== true)
        this.broken('M3', `${item} is PAID as ${withdrawalId ?? '?'}, which was not its payment`);
    } else if (outcome !== 'NOT_PAID') this.broken('M3', `the run ended while ${item} is ${outcome}`);
    else {
      // The service booked it later than the design assumes, and the run had waited as long as it must.
      const paid = moved.filter(
        (each) =>
          !isFailed(each.status) &&
          !each.send.beyond &&
          !isBookedBehindALoss(this.#world, temporal, each) &&
          !moved.some((other) => isForgottenWork(this.#world, temporal, each, other)),
      );
      if (paid.length > 0)
        this.broken(
          'M3',
          `${item} is NOT_PAID (${codesOf(report, id)}), but ${paid[0]?.record.id ?? ''} is ${paid[0]?.status ?? ''}`,
        );
    }
  }

  /** The amount of a payment in the report, whether it is paid or not. It is never below zero. */
  #amountReported(temporal: Temporal, { id, amount }: ReportPayment): void {
    const planned = this.plannedAmount(temporal.ours, id);
    if (amount === null || planned === null || this.misled.has(temporal.itemOf('usd-mxn-1'))) return;
    const due = planned > 0n ? planned : 0n;
    if (units(amount) !== due)
      this.broken('M4', `${temporal.itemOf(id)} is reported as ${amount}, which is ${textOf(due)}`);
  }

  // Silence (M8): while a run says only RUNNING, and tells of no wait, a record of the service must show what it waits for.

  /** Nothing happens until then. A run that waits longer than it may in silence breaks M8. */
  quietUntil(nextMs: number): void {
    const { agenda, runs, service } = this.#world;
    if (!service.isReadable()) return;
    for (const temporal of runs) {
      const { current } = temporal;
      if (current === null || !temporal.hasWorkers() || temporal.isAway()) continue;
      const moved = service.ledger.filter(({ send }) => this.runOf(send.write.item) === temporal);
      // Once a run pays, it does not wait for the status of its trade any more.
      const pays = moved.some(({ kind }) => kind === 'withdrawal');
      const pending = moved.filter(({ kind, status }) => !isLast(status) && (kind === 'withdrawal' || !pays));
      const untilMs = Math.min(...(pending.length === 0 ? [agenda.nowMs] : pending.map(mayBeQuietUntil)));
      const saysWithinMs = temporal.chunks.length > 0 ? SAYS_OF_CHUNKS_WITHIN_MS : SAYS_WITHIN_MS;
      if (nextMs <= untilMs + saysWithinMs) continue;
      this.#world.coverage.hit('judged', 'said nothing for too long');
      if (statusOf(current.state) !== 'RUNNING' || shownWaits(current.state).length > 0) continue;
      const what = pending.map(({ record, status }) => `${record.id} is ${status}`).join(', ');
      this.broken(
        'M8',
        `${temporal.itemOf('')}the run says nothing for too long: ${what || 'nothing is sent'}`,
      );
    }
  }

  // What could have been done (M8).

  /**
   * True when an operator who reads the newest report finds something to try again. After a restore of Temporal, the operator goes on
   * with every run that is not COMPLETED: its report may be older than what it did (docs/operations.md).
   */
  isUndone(temporal: Temporal): boolean {
    const state = temporal.newest()?.state;
    const isOld = temporal.isReportOld && (state === undefined || statusOf(state) !== 'COMPLETED');
    const isPart = temporal.ours.rebalance !== null && state !== undefined && statusOf(state) !== 'COMPLETED';
    return isOld || isPart || this.#undone(temporal).length > 0;
  }

  /** Items that are not done although nothing stands against them once the faults have stopped. @param counts in the table */
  #undone(temporal: Temporal, counts = false): readonly string[] {
    const state = temporal.newest()?.state;
    if (state === undefined || this.#world.healedAtMs === null) return [];
    const report = { ...makeReport(state), ...(temporal.chunks.length > 0 && paymentsIn(temporal)) };
    return [...report.legs, ...report.payments].flatMap((item) => {
      const isDone = item.outcome === 'TRADED' || item.outcome === 'PAID';
      const why = isDone ? null : whyUndone(this.#world, temporal, report, item);
      if (counts && why === null) this.#world.coverage.hit('judged', 'undone');
      if (counts && why !== null) this.#world.coverage.hit('not judged', `undone: ${why}`);
      return isDone || why !== null ? [] : [temporal.itemOf(item.id)];
    });
  }

  /**
   * An item that waits for a person although only the run itself need judge it breaks M8. False: such an item has not waited for long,
   * and the next lookup may settle it.
   */
  judgesWhoIsAsked(temporal: Temporal): boolean {
    const { nowMs } = this.#world.agenda;
    const inVain = temporal.people
      .waiting()
      .filter((id) => whyAPerson(this.#world, temporal, id) === null)
      .map((id) => temporal.itemOf(id));
    const before = this.#askedInVain.get(temporal);
    const since = new Map(inVain.map((item) => [item, before?.get(item) ?? nowMs]));
    this.#askedInVain.set(temporal, since);
    if ([...since.values()].some((sinceMs) => nowMs - sinceMs < LOOKS_AGAIN_MS)) return false;
    const { legs = [] } = temporal.current?.state ?? {};
    const waits = [...legs, ...temporal.payments()].flatMap(({ waiting }) => waiting?.problem.code ?? []);
    for (const item of inVain) this.broken('M8', `${item} waits for a person in vain (${waits.join()})`);
    return true;
  }

  /** Counts the items about which nobody may be asked, and why people may be asked about the others. */
  #countAsked(temporal: Temporal, items: readonly { readonly id: string }[]): void {
    for (const { id } of items) {
      const why = whyAPerson(this.#world, temporal, id);
      if (why === null) this.#world.coverage.hit('judged', 'asked in vain');
      else this.#world.coverage.hit('not judged', `asked in vain: ${why}`);
    }
  }
}

/** What the chunks of a batch say. */
function paymentsIn({ chunks }: Pick<Temporal, 'chunks'>): Pick<Report, 'payments'> {
  const states = chunks.flatMap((chunk) => chunk.telling()?.state ?? []);
  return { payments: states.flatMap((state) => makeReport(state).payments) };
}

/** Until when a run may wait for a record in silence: while its status is one that the interface shows, until it is late; else not at all. */
function mayBeQuietUntil({ kind, atMs, status, saidAtMs }: Movement): number {
  if (!['EXECUTED', 'PENDING'].includes(status)) return saidAtMs;
  return atMs + (kind === 'trade' ? HOUR_MS : DAY_MS);
}

export function generationIn(reference: string): number {
  const [, generation] = reference.split('~');
  return generation === undefined ? 1 : Number(generation);
}

/** The codes of an item's problems in a report. */
function codesOf({ problems }: Report, id: string): string {
  return problems.flatMap(({ code, item }) => (item === id ? [code] : [])).join();
}
