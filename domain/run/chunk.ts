/**
 * One chunk of a batch. It waits for the go of its coordinator (the run of the batch), pays, follows what was accepted,
 * and stays open until the run has ended. So a reset of the run or of the chunk finds it there. It pays and follows as
 * every run does (`pay`, `track`). Nothing leaves without the go, which is asked for again before every write.
 *
 *               a go            payments are open
 *     waiting ───────▶ resting ◀─────────────────▶ paying
 *        │                │      nothing is open     │
 *        └────────────────┴──── its run has ended ───┴──▶ over
 *
 * It asks its run for the go in each phase, and once more after `over`: when there is news, or when it was reset.
 */
import { isUnpayable } from '../batch.ts';
import { holdsOf, type Holds } from './claims.ts';
import { headOf, type Plan, type PlanHead } from '../plan/plan.ts';
import { paymentOf, unpayable } from '../plan/batch-items.ts';
import { LOOK_ALIKE } from '../writes/look-alikes.ts';
import { isShown } from '../waits.ts';
import type { Alike } from '../writes/withdrawal.ts';
import { activityFailed } from './activity-failed.ts';
import type { Call, ChunkInput, GoAnswer, GoCall } from './calls.ts';
import { takeOverShown } from './again.ts';
import { carry, takeOver, type Carried } from './carry.ts';
import type { ChunkStanding } from './chunk-state.ts';
import { NOBODY, isOpenPayment, isUnsent, paymentProblem, type PaymentRecord } from './items.ts';
import type { Paying } from './parts.ts';
import { pay } from './pay.ts';
import { Pauses } from './pauses.ts';
import { HistoryIsLong, RunRefused, StepFailed, failed, runThatGoesOn, type Ports } from './ports.ts';
import { refusalsIn, stopOf } from './stop-rule.ts';
import {
  adoptPlan,
  doubtWithdrawal,
  followAnew,
  newRecord,
  takeUp,
  undoneIn,
  type RunState,
} from './state.ts';
import { track } from './track.ts';

/** What a chunk awaits or asks of the world. */
export type ChunkPorts = Pick<
  Ports,
  | 'createWithdrawals'
  | 'awaitWithdrawals'
  | 'confirmOutcomes'
  | 'waitUntil'
  | 'nowMs'
  | 'historyIsLong'
  | 'show'
  | 'originalRunId'
  | 'firstRunId'
  | 'runId'
  | 'tellRun'
> & {
  readGo(call: GoCall): Promise<GoAnswer>;
  /** Tells the coordinator to read this chunk again. This decides nothing. */
  tellCoordinator(): Promise<void>;
};

type GoOf = Extract<GoAnswer, { kind: 'go' }>;

/** A chunk asks its run so long after it has asked last, because it may have missed news. */
const LONGEST_SILENCE_MS = 600_000;

type Phase =
  /** Its run has given no go yet. */
  | { readonly kind: 'waiting' }
  /** It has a go, and nothing of it is sent or followed now. */
  | { readonly kind: 'resting'; readonly go: GoOf }
  /** Payments are open: it sends them one slice after the other (`isSending`), and follows them. */
  | { readonly kind: 'paying'; readonly go: GoOf; readonly isSending: boolean }
  /** Its run has ended. Null: it has given no go. */
  | { readonly kind: 'over'; readonly go: GoOf | null };

export class Chunk implements Paying {
  readonly input: ChunkInput;
  readonly state: RunState;
  readonly ports: ChunkPorts;
  readonly pauses: Pauses;
  releases = 0;
  hasToldEnd = false;
  readonly #carried: Carried | null;
  #phase: Phase = { kind: 'waiting' };
  /** Who asked when the coordinator was heard last; null: it was not heard yet. */
  #heard: string | null = null;
  /** True when the coordinator has sent news since the chunk last asked for its go. */
  #hasNews = false;
  /** It was not known whether the chunk has a go, so that it asks again after this time; null: it was known. */
  #patienceMs: number | null = null;
  /** How the chunk stood when it last told the coordinator. */
  #told = '';
  /** How many calls that write are under way. */
  #writes = 0;

  /** @param carried what an earlier history of the same chunk knew; null at its start */
  constructor(input: ChunkInput, state: RunState, ports: ChunkPorts, carried: Carried | null) {
    this.input = input;
    this.state = state;
    this.ports = {
      ...ports,
      show: () => {
        this.#restIfDone();
        ports.show();
      },
    };
    this.pauses = new Pauses(this.ports, carried !== null);
    this.#carried = carried;
    state.payments = input.payments.map((row) => newRecord(paymentOf(input.run, row)));
    // Before its first go, the chunk reports what the history before it knew. With the go, the service confirms this.
    if (carried?.head === undefined) return;
    adoptPlan(state, planOf(input, carried.head));
    takeOver(state, carried, ports);
  }

  async complete(): Promise<void> {
    do {
      if (this.#go !== null) this.#phase = { kind: 'resting', go: this.#go };
      await this.#askForGo();
      await this.#untilOver();
      // Its run may have been started again or reset while it asked, and counts on whom it has told: the answer of
      // `#wasReset` may come earlier in a replay than that signal did.
    } while (this.#hasNews || (await this.#wasReset()));
    this.state.ended = true;
    this.pauses.goesOn(this.state);
    this.ports.show();
  }

  async #untilOver(): Promise<void> {
    while (this.#phase.kind !== 'over') {
      if (this.state.payments.some(isOpenPayment)) {
        this.#phase = { kind: 'paying', go: this.#requireGo(), isSending: true };
        this.ports.show();
        await Promise.all([pay(this), track(this), this.#listen()]);
        await this.#tellNews();
      } else {
        await this.#untilNews();
        await this.#askForGo();
      }
    }
  }

  /**
   * True after a reset. A reset means: try again what is not done, and check what was paid. As in the run, this is
   * asked last of all. The run goes on with what is undone.
   */
  async #wasReset(): Promise<boolean> {
    return (await runThatGoesOn(this.ports, (runId) => !this.#hasHeard(runId))) !== null;
  }

  /**
   * While payments are open, the answer of the coordinator may change: the money of a currency comes, or another run
   * goes on.
   */
  async #listen(): Promise<void> {
    while (!this.isOver()) {
      await this.#untilNews();
      if (!this.isOver()) await this.#askForGo();
    }
  }

  /**
   * Waits until the coordinator has news, or until it is time to ask. Meanwhile the chunk tells the coordinator its own
   * news, which does not put off the question.
   */
  async #untilNews(): Promise<void> {
    const { kind } = this.#phase;
    let isToAsk = false;
    const untilToAsk = async (): Promise<void> => {
      const isNews = (): boolean => this.#hasNews || this.#phase.kind !== kind;
      await this.ports.waitUntil(
        isNews,
        this.#patienceMs ?? LONGEST_SILENCE_MS,
        'Waits for news of its run; then it asks the run',
      );
      isToAsk = true;
    };
    const tell = async (): Promise<void> => {
      for (;;) {
        await this.ports.waitUntil(() => isToAsk || this.#isToBeTold);
        await this.#tellNews();
        if (isToAsk) return;
      }
    };
    await Promise.all([untilToAsk(), tell()]);
  }

  /** Asks until there is a go, or until the run is over. */
  async #askForGo(): Promise<void> {
    const { ports, pauses, state, input } = this;
    let hasFailed = false;
    for (let failures = 0; ;) {
      if (ports.historyIsLong()) await this.leaveLongHistory();
      const { asked } = pauses;
      // News that comes during the question may be missing in the answer.
      this.#hasNews = false;
      const heard = this.#heard;
      const isContinued = this.#carried !== null;
      // A run that was started again for this chunk has given no go yet.
      const hasGo = heard !== null && heard === this.#go?.runId;
      const isOpen = hasGo && state.payments.some(isOpenPayment);
      const { mode, run, number } = input;
      const originalRunId = this.#originalRunId;
      const answer = await ports
        .readGo({ mode, run, number, originalRunId, isContinued, heard, isOpen })
        .catch(failed);
      const isNews = (): boolean => this.#hasNews;
      if (answer instanceof StepFailed) {
        failures += 1;
        hasFailed = true;
        await pauses.pause(state, activityFailed(answer.message, failures), asked, isNews);
        continue;
      }
      failures = 0;
      switch (answer.kind) {
        case 'over':
          this.#heard = answer.runId;
          this.#phase = { kind: 'over', go: this.#go };
          // Where this history had no go, it ends with what the one before it knew, as the service shows it now.
          if (this.#go === null && this.#carried?.head !== undefined) await this.#adopt(this.#carried.head);
          return;
        case 'reopened':
          this.#heard = answer.runId;
          continue;
        case 'refused':
          throw new RunRefused(answer.problem.code, 'The chunk cannot go on.', [answer.problem]);
        case 'wait': {
          // Each time later.
          const afterMs = Math.min((this.#patienceMs ?? 0) + answer.wait.afterMs, LONGEST_SILENCE_MS);
          this.#patienceMs = afterMs;
          const wait = { ...answer.wait, afterMs };
          // Payments that are on their way are followed without a go, too.
          if (this.#go !== null) return pauses.show(state, wait);
          await pauses.pause(state, wait, asked, isNews);
          continue;
        }
        case 'go':
          // Another wait, such as of the payments that it follows, still holds.
          if (hasFailed || this.#patienceMs !== null) pauses.goesOn(state);
          this.#patienceMs = null;
          if (this.#go === null) await this.#adopt(answer.plan);
          return this.#take(answer);
      }
    }
  }

  /** If no activity has been told of a reset yet, the next history must still know of it. */
  get #originalRunId(): string {
    return this.#carried?.resetOf ?? this.ports.originalRunId;
  }

  #hasHeard(runId: string): boolean {
    return this.#heard?.endsWith(`/${runId}`) === true;
  }

  async #adopt(head: PlanHead): Promise<void> {
    const plan = planOf(this.input, head);
    adoptPlan(this.state, plan);
    if (this.#carried !== null) await takeOverShown(this, plan, this.#carried);
  }

  #take(go: GoOf): void {
    const { state, ports, input } = this;
    const before = this.#go;
    let isOther = JSON.stringify(go) !== JSON.stringify(before);
    // The coordinator or the chunk is another Temporal run now. A paid payment may have come back meanwhile.
    if (before?.runId !== go.runId) followAnew(state, ports.nowMs());
    // A chunk that rests does so until paying, following and listening have all ended. Then it pays anew.
    this.#phase = this.#phase.kind === 'paying' ? { ...this.#phase, go } : { kind: 'resting', go };
    this.#heard = go.runId;
    takeUp(state, go.runId);
    let left = this.#leftOf(go);
    for (const [index, record] of state.payments.entries()) {
      const { stage, payment } = record;
      if (stage.kind !== 'unsent') continue;
      const letter = go.unpayable?.[index];
      const row = input.payments[index];
      const impossible = row !== undefined && isUnpayable(letter) ? unpayable(row, letter, go.heldBy) : null;
      const unwanted = impossible ?? (go.stopped === null ? null : { ...go.stopped, item: payment.id });
      const alike = alikeOf(go, index);
      // A payment that waits for a person takes no place among the first payments. Another one goes instead.
      const hasPlace = left > 0 || alike?.kind === 'held';
      const isReleased = unwanted !== null || (hasPlace && go.released.includes(payment.currency));
      isOther ||= isReleased && stage.release === null;
      stage.release = isReleased ? { unwanted, ...(alike !== null && { alike }) } : null;
      if (isReleased && unwanted === null && alike?.kind !== 'held') left -= 1;
    }
    // Payments that wait are checked again.
    if (isOther) this.releases += 1;
    if (before === null && go.beginsQuietly) this.#told = this.#standing({ isSending: true });
    ports.show();
  }

  /**
   * How many more of the first payments may leave. A payment that was refused has used a place; one that never left has
   * not.
   */
  #leftOf({ most, runId }: Pick<GoOf, 'most' | 'runId'>): number {
    return (most ?? Number.POSITIVE_INFINITY) - refusalsIn(this.state.payments, runId).sent;
  }

  /** True when first payments have ended without being sent, so that others may take their places. */
  #hasRoom(): boolean {
    const go = this.#go;
    if (go === null || go.most === null) return false;
    const unsent = this.state.payments.filter(({ stage }) => stage.kind === 'unsent');
    const waiting = unsent.filter((record) => !isUnsent(record));
    const isWaiting = waiting.some(({ payment }) => go.released.includes(payment.currency));
    return isWaiting && unsent.length - waiting.length < this.#leftOf(go);
  }

  /** The coordinator has news. The chunk asks for its go again. */
  hear(): void {
    this.#hasNews = true;
  }

  /** A person or a command wants everything to be checked now. */
  wake(): void {
    this.pauses.wake();
    this.hear();
  }

  get standing(): ChunkStanding {
    const { payments, waiting } = this.state;
    return {
      number: this.input.number,
      heard: this.#go?.runId ?? null,
      isSending: this.isSending,
      payments,
      waiting,
    };
  }

  /** The answer to other runs, as in `holdsOf`. */
  holds(names: readonly string[] | null): Holds {
    const { runId } = this.ports;
    const isReset = this.#originalRunId !== runId;
    const isFirst = this.input.isFirst && this.#carried === null && !isReset;
    const holds = holdsOf(this.state, { runId, heard: this.#go?.runId ?? null, isFirst }, names);
    // Before its first go, a chunk that was reset knows only what came before the reset.
    return { ...holds, hasPlan: holds.hasPlan && (this.#go !== null || !isReset) };
  }

  /** What the coordinator must hear at once. It need not hear each time a payment is accepted or paid. */
  #standing({ isSending }: { readonly isSending: boolean } = this): string {
    const { payments, waiting } = this.state;
    const ended = payments.flatMap((record) => paymentProblem(record)?.code ?? []);
    const waits = [waiting, ...payments.map((record) => record.waiting)].filter(isShown);
    const codes = new Set(waits.map(({ problem }) => problem.code));
    const isOpen = payments.some(isOpenPayment);
    return [this.#go?.runId, isSending, isOpen, ended.length, ...codes].join();
  }

  get #isToBeTold(): boolean {
    return this.#go !== null && this.#standing() !== this.#told;
  }

  async #tellNews(): Promise<void> {
    if (!this.#isToBeTold) return;
    this.#told = this.#standing();
    await this.ports.tellCoordinator();
  }

  get isSending(): boolean {
    return this.#phase.kind === 'paying' && this.#phase.isSending;
  }

  set isSending(isSending: boolean) {
    if (this.#phase.kind !== 'paying' || this.#phase.isSending === isSending) return;
    this.#phase = { ...this.#phase, isSending };
    this.ports.show();
  }

  /** What the next history of the chunk begins with. */
  handOn(): Carried {
    const { runId } = this.ports;
    const { plan } = this.state;
    const resetOf = this.#originalRunId;
    return {
      ...carry(this.state, { runId, knownAs: runId }),
      ...(plan !== null && { head: headOf(plan) }),
      ...(resetOf !== runId && !this.#hasHeard(runId) && { resetOf }),
    };
  }

  // What paying and tracking need of the chunk.

  get lateAfterMs(): Pick<Plan['lateAfterMs'], 'withdrawal'> {
    return this.#requireGo().plan.lateAfterMs;
  }

  call(): Call {
    const { originalRunId } = this.ports;
    const { plan, isFresh } = this.#requireGo();
    const head = isFresh ? { ...plan, madeFor: originalRunId } : plan;
    return { plan: head, originalRunId, chunk: this.input.number };
  }

  async write<Answer>(call: () => Promise<Answer>): Promise<Answer | StepFailed> {
    if (this.ports.historyIsLong()) await this.leaveLongHistory();
    await this.#untilMaySend();
    this.#writes += 1;
    try {
      return await call().catch(failed);
    } finally {
      this.#writes -= 1;
    }
  }

  /**
   * If this chunk alone has reached a rule that stops the batch, it first waits until its run says whether the batch
   * stops.
   */
  async #untilMaySend(): Promise<void> {
    const isReached = (): boolean => {
      const go = this.#go;
      if (go === null || go.stopped !== null || this.isOver()) return false;
      return stopOf(go.rules, [refusalsIn(this.state.payments, go.runId)]) !== null;
    };
    if (!isReached()) return;
    await this.#tellNews();
    await this.ports.waitUntil(
      () => !isReached(),
      LONGEST_SILENCE_MS,
      'Its run says whether the batch stops',
    );
  }

  async leaveLongHistory(): Promise<never> {
    await this.ports.waitUntil(() => this.#writes === 0);
    throw new HistoryIsLong();
  }

  get sideBySide(): number {
    return this.#go?.sideBySide ?? 1;
  }

  get callSize(): number {
    return this.#go?.callSize ?? 1;
  }

  undoneIn(): readonly string[] {
    return undoneIn(this.state);
  }

  takeUp(runId: string | null): boolean {
    const isTaken = runId !== null && takeUp(this.state, runId);
    // The chunk asks again for the release of these payments. It also asks again for its go when the coordinator is
    // another one or cannot be asked.
    if (isTaken || runId !== this.#go?.runId || this.#hasRoom()) this.hear();
    return isTaken;
  }

  doubt(records: readonly PaymentRecord[]): void {
    for (const record of records) doubtWithdrawal(record);
    // As in `takeUp`: its run releases them.
    this.hear();
  }

  endedIn(runId: string | null): string {
    return runId ?? this.#go?.runId ?? NOBODY;
  }

  /** Always false: the run ends, never a chunk of it. */
  isLast(): boolean {
    return false;
  }

  /** Paying, tracking and listening all end once nothing is open. */
  isOver(): boolean {
    return this.#phase.kind !== 'paying';
  }

  /**
   * In the moment in which nothing is open any more, news of another run may open payments again. All the same the chunk
   * rests, so that paying, tracking and listening end. Then all three begin again.
   */
  #restIfDone(): void {
    if (this.#phase.kind !== 'paying' || this.state.payments.some(isOpenPayment)) return;
    this.#phase = { kind: 'resting', go: this.#phase.go };
  }

  /** The newest go; null: there was none. */
  get #go(): GoOf | null {
    return this.#phase.kind === 'waiting' ? null : this.#phase.go;
  }

  #requireGo(): GoOf {
    if (this.#go === null) throw new RangeError('There is no go yet.');
    return this.#go;
  }
}

/** What the go says about withdrawals that look like this payment; null: there is none. */
function alikeOf({ alike, alikeIds = {} }: GoOf, index: number): Alike | null {
  const letter = alike?.[index];
  if (letter === LOOK_ALIKE.held) return { kind: 'held', recordId: alikeIds[index] ?? null };
  return letter === LOOK_ALIKE.approved ? { kind: 'approved' } : null;
}

/** The part of the plan that belongs to this chunk. */
function planOf({ run, payments }: ChunkInput, head: PlanHead): Plan {
  return {
    ...head,
    policy: { name: run.policy, hash: '' },
    legs: [],
    positions: [],
    batch: null,
    payments: payments.map((row) => paymentOf(run, row)),
  };
}
