/**
 * One chunk of a batch. It waits for the go of its coordinator (the run of the batch), pays, follows what was accepted,
 * and stays open until the run has ended. So a reset of the run or of the chunk finds it there. It pays and follows as
 * every run does (`pay`, `track`). Nothing leaves without the go, which is asked for again before every write.
 */
import { isUnpayable } from '../batch.ts';
import { headOf, type Plan, type PlanHead } from '../plan/plan.ts';
import { paymentOf, unpayable } from '../plan/batch-items.ts';
import { LOOK_ALIKE } from '../writes/look-alikes.ts';
import { isShown } from '../waits.ts';
import type { Alike } from '../writes/withdrawal.ts';
import { activityFailed } from './activity-failed.ts';
import type { Call, ChunkInput, GoAnswer, GoCall } from './calls.ts';
import { carry, takeOver, type Carried } from './carry.ts';
import type { Standing } from './chunk-state.ts';
import { itemsOfChunk, type ItemsOfChunk } from './held.ts';
import { NOBODY, acceptedOf, isOpenPayment, isUnsent, paymentProblem } from './items.ts';
import type { Paying } from './parts.ts';
import { pay } from './pay.ts';
import { Pauses } from './pauses.ts';
import { HistoryIsLong, RunRefused, StepFailed, failed, runThatGoesOn, type Ports } from './ports.ts';
import { refusalsIn, stopOf } from './stop-rule.ts';
import { adoptPlan, followAnew, newRecord, takeUp, undoneIn, type RunState } from './state.ts';
import { track } from './track.ts';

/** What a chunk awaits or asks of the world. */
export type ChunkPorts = Pick<
  Ports,
  | 'createWithdrawals'
  | 'awaitWithdrawals'
  | 'waitUntil'
  | 'nowMs'
  | 'historyIsLong'
  | 'show'
  | 'originalRunId'
  | 'runId'
  | 'tellRun'
> & {
  readGo(call: GoCall): Promise<GoAnswer>;
  /** Tells the coordinator to read this chunk again. This decides nothing. */
  tellCoordinator(): Promise<void>;
};

type GoOf = Extract<GoAnswer, { kind: 'go' }>;

/** A chunk that has missed news from its run asks by itself after this time. */
const LONGEST_SILENCE_MS = 600_000;

export class Chunk implements Paying {
  readonly input: ChunkInput;
  readonly state: RunState;
  readonly ports: ChunkPorts;
  readonly pauses: Pauses;
  releases = 0;
  hasToldEnd = false;
  #isSending = false;
  readonly #carried: Carried | null;
  #head: PlanHead | null = null;
  #go: GoOf | null = null;
  /**
   * True when the run as it is now has given its go. A run that was started again for this chunk has given none yet.
   */
  #hasGo = false;
  #isOver = false;
  /** True once paying, tracking or listening has seen that nothing is open. */
  #wasOver = false;
  /** Who asked the coordinator last; null: nobody has heard from it yet. */
  #heard: string | null = null;
  /** How often the coordinator has sent news. */
  #news = 0;
  /** How much of that news had come when the chunk asked for its go last. */
  #answered = 0;
  /** How often in a row nobody could say whether the chunk has a go, and how soon it asks again by itself. */
  #waits = 0;
  #asksAgainMs = LONGEST_SILENCE_MS;
  /** How the chunk stood when it last told the coordinator, and whether that has changed. */
  #told = '';
  #isToBeTold = false;
  /** True when the coordinator need not be told that the chunk begins to send. */
  #beginsQuietly = false;
  #writes = 0;

  /** @param carried what an earlier history of the same chunk knew; null at its start */
  constructor(input: ChunkInput, state: RunState, ports: ChunkPorts, carried: Carried | null) {
    this.input = input;
    this.state = state;
    this.ports = { ...ports, show: () => this.#show(ports) };
    this.pauses = new Pauses(this.ports, carried !== null);
    this.#carried = carried;
  }

  async complete(): Promise<void> {
    do {
      this.#isOver = false;
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
    while (!this.#isOver) {
      if (this.state.payments.some(isOpenPayment)) {
        this.isSending = true;
        this.#wasOver = false;
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
    const hasHeard = (runId: string): boolean => this.#heard?.endsWith(`/${runId}`) === true;
    return (await runThatGoesOn(this.ports, (runId) => !hasHeard(runId))) !== null;
  }

  /** True when news has come from the coordinator since the chunk last asked for its go. */
  get #hasNews(): boolean {
    return this.#news !== this.#answered;
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
   * news.
   */
  async #untilNews(): Promise<void> {
    const wasOver = this.isOver();
    const isNews = (): boolean => this.#hasNews || this.isOver() !== wasOver;
    for (;;) {
      const isToGoOn = (): boolean => isNews() || this.#isToBeTold;
      const isEarly = await this.ports.waitUntil(
        isToGoOn,
        this.#asksAgainMs,
        'Waits for news of its run; then it asks the run',
      );
      await this.#tellNews();
      if (!isEarly || isNews()) return;
    }
  }

  /** Asks until there is a go, or until the run is over. */
  async #askForGo(): Promise<void> {
    const { ports, pauses, state, input } = this;
    for (let failures = 0; ;) {
      if (ports.historyIsLong()) await this.leaveLongHistory();
      const { asked } = pauses;
      // News that comes during the question may be missing in the answer.
      this.#answered = this.#news;
      const heard = this.#heard;
      const isContinued = this.#carried !== null;
      const isOpen = this.#hasGo && this.state.payments.some(isOpenPayment);
      const { mode, run, number } = input;
      // If nobody has heard of a reset yet, the next history must still know of it.
      const originalRunId = this.#carried?.resetOf ?? ports.originalRunId;
      const answer = await ports
        .readGo({ mode, run, number, originalRunId, isContinued, heard, isOpen })
        .catch(failed);
      const isNews = (): boolean => this.#hasNews;
      if (answer instanceof StepFailed) {
        failures += 1;
        await pauses.pause(state, activityFailed(answer.message, failures), asked, isNews);
        continue;
      }
      failures = 0;
      switch (answer.kind) {
        case 'over':
          this.#heard = answer.runId;
          this.#isOver = true;
          return this.#endAsHandedOn();
        case 'reopened':
          this.#heard = answer.runId;
          this.#hasGo = false;
          continue;
        case 'refused':
          throw new RunRefused(answer.problem.code, 'The chunk cannot go on.', [answer.problem]);
        case 'wait': {
          this.#waits += 1;
          const afterMs = Math.min(answer.wait.afterMs * this.#waits, LONGEST_SILENCE_MS);
          this.#asksAgainMs = afterMs;
          const wait = { ...answer.wait, afterMs };
          // Payments that are on their way are followed without a go, too.
          if (this.#head !== null) return pauses.show(state, wait);
          await pauses.pause(state, wait, asked, isNews);
          continue;
        }
        case 'go':
          this.#waits = 0;
          this.#asksAgainMs = LONGEST_SILENCE_MS;
          pauses.goesOn(state);
          return this.#take(answer);
      }
    }
  }

  /** The run has ended before this history had a go. So it reports what the history before it knew. */
  #endAsHandedOn(): void {
    const head = this.#carried?.head;
    if (this.state.plan === null && head !== undefined) this.#adopt(head);
  }

  #adopt(head: PlanHead): void {
    const { state, ports, input } = this;
    adoptPlan(state, planOf(input, head));
    if (this.#carried !== null) takeOver(state, this.#carried, ports.originalRunId);
  }

  #take(go: GoOf): void {
    const { state, ports, input } = this;
    if (this.#go === null) this.#adopt(go.plan);
    this.#beginsQuietly = this.#go === null && go.beginsQuietly;
    this.#head = { ...go.plan, madeFor: go.isFresh ? ports.originalRunId : go.plan.madeFor };
    let isOther = JSON.stringify(go) !== JSON.stringify(this.#go);
    // The coordinator or the chunk is another Temporal run now. A paid payment may have come back meanwhile.
    if (this.#go?.runId !== go.runId) followAnew(state, ports.nowMs());
    this.#go = go;
    this.#hasGo = true;
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
    this.#news += 1;
  }

  /** Somebody wants everything to be checked now. */
  wake(): void {
    this.pauses.wake();
    this.hear();
  }

  get standing(): Standing {
    const { payments, waiting } = this.state;
    return {
      number: this.input.number,
      heard: this.#go?.runId ?? null,
      isSending: this.isSending,
      planned: this.input.payments.length,
      payments,
      waiting,
    };
  }

  /** What the chunk reports. Before its first go, its payments are pending. */
  get reported(): RunState {
    const { state, input } = this;
    if (state.plan !== null) return state;
    return { ...state, payments: input.payments.map((row) => newRecord(paymentOf(input.run, row))) };
  }

  /** The answer to another batch that has payments with the same ids. */
  items(names: readonly string[]): ItemsOfChunk {
    const { runId, originalRunId } = this.ports;
    const isFirst = this.input.isFirst && this.#carried === null && originalRunId === runId;
    return itemsOfChunk(
      { runId, heard: this.#go?.runId ?? null, isFirst, payments: this.state.payments },
      names,
    );
  }

  /** The answer to a run that has found a record without a tag at the service, and asks whose it is. */
  records(): readonly (readonly [item: string, withdrawalId: string])[] {
    return this.state.payments.flatMap((record) => {
      const accepted = acceptedOf(record);
      return accepted === null ? [] : [[record.payment.id, accepted.withdrawalId] as const];
    });
  }

  /** What the coordinator must hear at once. It need not hear each time a payment is accepted or paid. */
  #standing(): string {
    const { payments, waiting } = this.state;
    const ended = payments.flatMap((record) => paymentProblem(record)?.code ?? []);
    const waits = [waiting, ...payments.map((record) => record.waiting)].filter(isShown);
    const codes = new Set(waits.map(({ problem }) => problem.code));
    const isOpen = payments.some(isOpenPayment);
    return [this.#go?.runId, this.#isSending, isOpen, ended.length, ...codes].join();
  }

  #show(ports: Pick<ChunkPorts, 'show'>): void {
    const standing = this.#standing();
    if (this.#beginsQuietly && this.#isSending) {
      this.#beginsQuietly = false;
      this.#told = standing;
    }
    this.#isToBeTold = this.#head !== null && standing !== this.#told;
    ports.show();
  }

  async #tellNews(): Promise<void> {
    if (!this.#isToBeTold) return;
    this.#told = this.#standing();
    this.#isToBeTold = false;
    await this.ports.tellCoordinator();
  }

  /** True while payments are being sent. */
  get isSending(): boolean {
    return this.#isSending;
  }

  set isSending(isSending: boolean) {
    if (this.#isSending === isSending) return;
    this.#isSending = isSending;
    this.ports.show();
  }

  /** What the next history of the chunk begins with. A history that had no go hands on just what it was given. */
  handOn(): Carried {
    const { runId, originalRunId } = this.ports;
    const { plan } = this.state;
    // After a reset, another history may have had a go. Then what was known before does not count any more.
    if (plan === null && this.#carried !== null && runId === originalRunId) return this.#carried;
    const isUnheard = runId !== originalRunId && this.#heard?.endsWith(`/${runId}`) !== true;
    return {
      ...carry(this.state, { runId, knownAs: runId }),
      ...(plan !== null && { head: headOf(plan) }),
      ...(isUnheard && { resetOf: originalRunId }),
    };
  }

  // What paying and tracking need of the chunk.

  get lateAfterMs(): Pick<Plan['lateAfterMs'], 'withdrawal'> {
    return this.#requireHead().lateAfterMs;
  }

  call(): Call {
    const { originalRunId } = this.ports;
    return { plan: this.#requireHead(), originalRunId, chunk: this.input.number };
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

  endedIn(runId: string | null): string {
    return runId ?? this.#go?.runId ?? NOBODY;
  }

  /** Always false: the run ends, never a chunk of it. */
  isLast(): boolean {
    return false;
  }

  /**
   * True when nothing is open. Paying, tracking and listening all end once one of them has seen this. In that moment
   * news of another run may open payments again; then all three begin again.
   */
  isOver(): boolean {
    this.#wasOver ||= this.#isOver || !this.state.payments.some(isOpenPayment);
    return this.#wasOver;
  }

  #requireHead(): PlanHead {
    if (this.#head === null) throw new RangeError('There is no go yet.');
    return this.#head;
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
