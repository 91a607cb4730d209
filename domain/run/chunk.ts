/**
 * One chunk of a batch. It waits for the go of its coordinator (the run of the batch), pays, follows what was accepted,
 * and stays open until the run has ended. So a reset of the run or of the chunk finds it there. It pays and follows as
 * every run does (`pay`, `track`). Nothing leaves without the go, which is asked for again before every write.
 *
 *               a go          nothing is left to send
 *     waiting ───────▶ paying ◀──────────────────────▶ following
 *        │                │    payments are to be sent     │
 *        └────────────────┴──── its run has ended ─────────┴──▶ over
 *
 * It asks its run for the go in each phase, and once more after `over`: when there is news, or when it was reset.
 */
import { holdsOf, type Holds } from './claims.ts';
import { headOf, type Plan, type PlanHead } from '../plan/plan.ts';
import { paymentOf, planOfChunk } from '../plan/batch-items.ts';
import { isShown, type Wait } from '../waits.ts';
import { activityFailed } from './activity-failed.ts';
import type { Beside, Call, ChunkInput, GoAnswer, GoCall, GoOf } from './calls.ts';
import { carry, takeOver, type Carried } from './carry.ts';
import type { ChunkStanding } from './chunk-state.ts';
import { NO_RUN, acceptedOf, isOpenPayment, paymentProblem } from './items.ts';
import type { Paying } from './parts.ts';
import { pay } from './pay.ts';
import { coordinatorOf, hasGoFrom, isPayerOfChunk, payerOf } from './payer.ts';
import { Pauses } from './pauses.ts';
import {
  RunRefused,
  StepFailed,
  Writes,
  failed,
  runThatGoesOn,
  type Ports,
  type SharedPorts,
} from './ports.ts';
import { hasRoomFor, releaseByGo } from './release.ts';
import { refusalsIn, stopOf } from './stop-rule.ts';
import { adoptPlan, followAnew, newRecord, takeUp, type RunState } from './state.ts';
import { takeOverShown } from './take-over-shown.ts';
import { track } from './track.ts';
import { UndoneEnds } from './undone-ends.ts';

/** What a chunk awaits or asks of the world. */
export type ChunkPorts = SharedPorts &
  Pick<Ports, 'createWithdrawals' | 'show'> & {
    readGo(call: GoCall): Promise<GoAnswer>;
    /** Tells the coordinator to read this chunk again. This decides nothing. */
    tellCoordinator(): Promise<void>;
  };

/** A chunk asks its run so long after it has asked last, because it may have missed news. */
const LONGEST_SILENCE_MS = 600_000;

type Phase =
  /** Its run has given no go yet. */
  | { readonly kind: 'waiting'; readonly go: null }
  /** It sends one slice after the other. */
  | { readonly kind: 'paying'; readonly go: GoOf }
  /** Nothing is to be sent now. It follows what was accepted, or rests when all payments have ended. */
  | { readonly kind: 'following'; readonly go: GoOf }
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
  readonly #writes: Writes;
  #phase: Phase = { kind: 'waiting', go: null };
  /** The `runId` of the last answer that told of the run; null: no answer has told of it yet. */
  #heard: string | null = null;
  /** True when the coordinator has sent news since the chunk last asked for its go. */
  #hasNews = false;
  /** How often in a row the question for the go has brought no answer to it. */
  #timesUnanswered = 0;
  /** The go under which nothing was left to send now, and how many payments were accepted then. Null: not yet. */
  #rested: { readonly runId: string; readonly accepted: number } | null = null;
  /** What was worth telling when the chunk last told the coordinator. */
  #told = '';
  readonly #ends = new UndoneEnds(this);
  /** What had ended undone when it was last held against the service. */
  #sureOf = '';
  /** As its run ended, the service showed a payment as done that a call had told as not paid. */
  #hasFound = false;

  /** @param carried what an earlier history of the same chunk knew; null at its start */
  constructor(input: ChunkInput, state: RunState, ports: ChunkPorts, carried: Carried | null) {
    this.input = input;
    this.state = state;
    this.ports = ports;
    this.pauses = new Pauses(ports, input.run, carried !== null);
    this.#writes = new Writes(ports);
    this.#carried = carried;
    state.payments = input.payments.map((row) => newRecord(paymentOf(input.run, row)));
    // Before its first go, the chunk reports what the history before it knew. With the go, the service confirms this.
    if (carried?.head === undefined) return;
    adoptPlan(state, planOfChunk(input.run, input.payments, carried.head));
    takeOver(state, carried, ports);
  }

  async complete(): Promise<void> {
    do {
      const go = this.#phase.go;
      this.#phase = go === null ? { kind: 'waiting', go } : { kind: 'following', go };
      await Promise.all([this.#listen(), this.#payAndFollow(), this.#makeSure(), this.#tellNews()]);
      // Two things let a chunk go on whose run has ended:
      // - News. The run was reset meanwhile, and has told its chunks. This is checked first, because in a replay the signal may
      //   come later than the answer of `runThatGoesOn`.
      // - A reset of the chunk. The chunk learns of it by asking, last of all, which Temporal run it is. If no answer about the
      //   go has named that one yet, it asks its run again.
      // So does a payment that the service shows as done, and that a call, or an earlier history, has told as not paid.
    } while (this.#hasNews || (await this.#goesOn()) || this.#hasNews);
    this.state.ended = true;
    this.pauses.goesOn(this.state);
    this.ports.show();
  }

  /** Asks for the go, and again when the coordinator has news, until the run has ended. */
  async #listen(): Promise<void> {
    while (!this.isOver()) {
      const afterMs = await this.#askForGo();
      const isNews = (): boolean => this.#hasNews || this.isOver();
      await this.ports.waitUntil(isNews, afterMs, 'Waits for news of its run; then it asks the run');
    }
  }

  async #goesOn(): Promise<boolean> {
    const goesOn = (runId: string, done: readonly string[]): boolean => {
      const isFound = this.#ends.takeUp(done);
      this.#hasFound ||= isFound;
      return isFound || !this.#hasHeard(runId);
    };
    const ends = {
      items: () => this.#ends.items(),
      waitFor: (beside: Beside | undefined) => this.#ends.waitFor(beside, () => this.#hasNews),
    };
    return (await runThatGoesOn(this.ports, goesOn, ends)) !== null;
  }

  /** Holds what has ended undone against the service, before the run of the batch concludes from it. */
  async #makeSure(): Promise<void> {
    for (;;) {
      await this.ports.waitUntil(() => this.isOver() || this.#isUnsure);
      if (this.isOver()) return;
      const undone = this.#undone;
      if (await this.#ends.areContradicted(() => this.isOver())) this.release();
      else this.#sureOf = undone;
      this.ports.show();
    }
  }

  /**
   * Nothing is open, and something has ended undone that was not held against the service yet. Before its first go, a chunk only tells
   * what the history before it knew.
   */
  get #isUnsure(): boolean {
    if (this.#phase.kind === 'waiting' || !this.isIdle()) return false;
    const undone = this.#undone;
    return undone !== '' && undone !== this.#sureOf;
  }

  /** What has ended undone, and under whom; empty: nothing has. */
  get #undone(): string {
    return this.state.payments
      .flatMap(({ payment, stage }) => ('endedIn' in stage ? `${payment.id} ${stage.endedIn}` : []))
      .join();
  }

  async #payAndFollow(): Promise<void> {
    await this.ports.waitUntil(() => this.#phase.kind !== 'waiting');
    if (!this.isOver()) await Promise.all([pay(this), track(this)]);
  }

  /** Tells the coordinator how the chunk stands, whenever that has changed. */
  async #tellNews(): Promise<void> {
    const isToBeTold = (): boolean => this.#phase.go !== null && this.#worthTelling !== this.#told;
    for (;;) {
      await this.ports.waitUntil(() => this.isOver() || isToBeTold());
      if (this.isOver()) return;
      this.#told = this.#worthTelling;
      await this.ports.tellCoordinator();
    }
  }

  /** Asks for the go once. Returns after how many milliseconds the chunk asks again, unless it hears news before. */
  async #askForGo(): Promise<number> {
    const { ports, pauses, state, input } = this;
    if (ports.historyIsLong()) await this.leaveLongHistory();
    // News that comes during the question may be missing in the answer.
    this.#hasNews = false;
    const heard = this.#heard;
    // If its run was started again for this chunk, the go that the chunk still has is of the run that had ended. A new history
    // may go on from one that had a go.
    const hasGo = heard === null ? this.#isContinued : heard === this.#phase.go?.runId;
    const isOpen = (hasGo || this.#hasFound) && !this.isIdle();
    const { mode, run, number } = input;
    const isContinued = this.#isContinued;
    const originalRunId = this.#originalRunId;
    const answer = await ports
      .readGo({ mode, run, number, originalRunId, ...this.#wasReset, isContinued, heard, isOpen })
      .catch(failed);
    if (answer instanceof StepFailed || answer.kind === 'wait') return this.#waitForAnswer(answer);
    switch (answer.kind) {
      case 'over':
        // Where this history had no go, it ends with what the one before it knew, as the service shows it now. A stranger may
        // have handed on something else. Then its run must look for these payments once more.
        if (this.#phase.go === null && this.#carried?.head !== undefined)
          await this.#adopt(this.#carried.head, null);
        if (heard === null && isContinued && !isOpen && !this.isIdle()) {
          this.noteNews();
          break;
        }
        this.#heard = answer.runId;
        this.#phase = { kind: 'over', go: this.#phase.go };
        break;
      case 'reopened':
        this.#heard = answer.runId;
        this.noteNews();
        break;
      case 'refused':
        throw new RunRefused(answer.problem.code, 'The chunk cannot go on.', [answer.problem]);
      case 'go':
        // Another wait, such as of the payments that it follows, still holds.
        if (this.#timesUnanswered > 0) pauses.goesOn(state);
        this.#timesUnanswered = 0;
        if (this.#phase.go === null) await this.#adopt(answer.plan, answer.runId);
        this.#take(answer);
    }
    return LONGEST_SILENCE_MS;
  }

  /** @param payer who the chunk is by its go; null: it has none */
  async #adopt(head: PlanHead, payer: string | null): Promise<void> {
    const plan = planOfChunk(this.input.run, this.input.payments, head);
    adoptPlan(this.state, plan);
    if (this.#carried === null) return;
    // What comes back under one coordinator ends in it, in whichever history of the chunk. Another coordinator takes it up.
    const coordinator = this.#carried.coordinator ?? null;
    const isSame = payer === payerOf({ coordinator, chunk: this.ports.originalRunId });
    await takeOverShown(this, plan, this.#carried, isSame ? payer : NO_RUN);
  }

  /** It is not known whether the chunk has a go. People are told why, and payments on their way are followed all the same. */
  #waitForAnswer(answer: StepFailed | { readonly wait: Wait }): number {
    const times = (this.#timesUnanswered += 1);
    const wait =
      answer instanceof StepFailed ? activityFailed(answer.message, times) : later(answer.wait, times);
    this.pauses.show(this.state, wait);
    return wait.afterMs;
  }

  #take(go: GoOf): void {
    const { state, ports, input } = this;
    const before = this.#phase.go;
    // The coordinator or the chunk is another Temporal run now. A paid payment may have come back meanwhile. At the first go of
    // a history, the service has just shown what the history before it handed on.
    if (before !== null && before.runId !== go.runId) followAnew(state, ports.nowMs());
    this.#phase = { kind: this.#phase.kind === 'following' ? 'following' : 'paying', go };
    this.#heard = go.runId;
    takeUp(state, go.runId);
    const isReleased = releaseByGo(state.payments, input.payments, go);
    // Payments that wait are checked again.
    if (isReleased || JSON.stringify(go) !== JSON.stringify(before)) this.releases += 1;
    // Its run, which has just let it begin, need not be told that it does.
    if (before === null && go.isFresh) this.#told = this.#worthTelling;
    ports.show();
  }

  /** The coordinator has told that there is news. The chunk asks for its go again. */
  noteNews(): void {
    this.#hasNews = true;
  }

  /** A person or a command wants everything to be checked now. */
  wake(): void {
    this.pauses.wake();
    this.noteNews();
  }

  get standing(): ChunkStanding {
    const { payments, waiting } = this.state;
    return {
      number: this.input.number,
      heard: this.#phase.go?.runId ?? null,
      isSending: this.#isFirstSending,
      payments,
      waiting,
      isAgain: this.#isAgain,
      isUnsure: this.#isUnsure,
    };
  }

  /** The chunk was started or reset once more, or its run was. */
  get #isAgain(): boolean {
    const go = this.#phase.go;
    const isOfAnother = go !== null && (!hasGoFrom(go.runId, go.plan.madeFor) || go.plan.foundRecords);
    const isReset = this.#originalRunId !== this.ports.runId || this.#wasReset.wasReset === true;
    return !this.input.isFirst || isReset || isOfAnother;
  }

  /**
   * True for a history that goes on from another one. Temporal says so, and not what was handed on: a stranger’s worker can let the
   * chunk go on without any of it.
   */
  get #isContinued(): boolean {
    return this.ports.firstRunId !== this.ports.originalRunId;
  }

  /** The answer to other runs, as in `holdsOf`. */
  holds(names: readonly string[] | null): Holds {
    const { runId } = this.ports;
    const isReset = this.#originalRunId !== runId;
    const isFirst = this.input.isFirst && !this.#isContinued && !isReset;
    const holds = holdsOf(this.state, { runId, heard: this.#phase.go?.runId ?? null, isFirst }, names);
    // Before its first go, a chunk that was reset knows only what came before the reset.
    return { ...holds, hasPlan: holds.hasPlan && (this.#phase.go !== null || !isReset) };
  }

  /** What the coordinator must hear at once, as one text. It need not hear each time a payment is accepted or paid. */
  get #worthTelling(): string {
    const { payments, waiting } = this.state;
    const ended = payments.flatMap((record) => paymentProblem(record)?.code ?? []);
    const waits = [waiting, ...payments.map((record) => record.waiting)].filter(isShown);
    const codes = new Set(waits.map(({ problem }) => problem.code));
    const { runId } = this.#phase.go ?? {};
    return [
      runId,
      this.#isFirstSending,
      this.#rested?.accepted,
      this.isIdle(),
      this.#isUnsure,
      ended.length,
      ...codes,
    ].join();
  }

  /**
   * True until the chunk has once sent all that it can under this go. When it then tries again what waits, every few minutes,
   * the coordinator need not hear of it: the next chunks have had their turn.
   */
  get #isFirstSending(): boolean {
    return this.isSending && this.#rested?.runId !== this.#phase.go?.runId;
  }

  get isSending(): boolean {
    return this.#phase.kind === 'paying';
  }

  set isSending(isSending: boolean) {
    const { kind, go } = this.#phase;
    if (go === null || kind === 'over' || isSending === this.isSending) return;
    this.#phase = { kind: isSending ? 'paying' : 'following', go };
    const accepted = this.state.payments.filter((record) => acceptedOf(record) !== null).length;
    if (!isSending) this.#rested = { runId: go.runId, accepted };
    this.ports.show();
  }

  /** If no activity has been told of a reset yet, the next history must still know of it. */
  get #originalRunId(): string {
    return this.#carried?.resetOf ?? this.ports.originalRunId;
  }

  /**
   * That an earlier history was reset, or that its run has ended without a payment which the service shows: what stood against its payments when the plan was made may have changed since. Of a
   * reset of this history, the activity that gives the go tells.
   */
  get #wasReset(): Pick<Carried, 'wasReset'> {
    return this.#carried?.wasReset === true || this.#hasFound ? { wasReset: true } : {};
  }

  #hasHeard(runId: string): boolean {
    return this.#heard !== null && isPayerOfChunk(this.#heard, runId);
  }

  /** What the next history of the chunk begins with. */
  handOn(): Carried {
    const { runId } = this.ports;
    const { plan } = this.state;
    const resetOf = this.#originalRunId;
    const { go } = this.#phase;
    const coordinator = go === null ? this.#carried?.coordinator : coordinatorOf(go.runId);
    return {
      ...carry(this.state, { runId, knownAs: runId }),
      ...(plan !== null && { head: headOf(plan) }),
      ...(coordinator !== undefined && { coordinator }),
      ...(resetOf !== runId && !this.#hasHeard(runId) && { resetOf }),
      ...(resetOf !== runId ? { wasReset: true } : this.#wasReset),
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
    return { plan: head, chunk: this.input.number };
  }

  async write<Answer>(call: () => Promise<Answer>): Promise<Answer | StepFailed> {
    await this.#untilMaySend();
    return this.#writes.make(call);
  }

  leaveLongHistory(): Promise<never> {
    return this.#writes.leaveLongHistory();
  }

  /**
   * If this chunk alone has reached a rule that stops the batch, it first waits until its run says whether the batch
   * stops.
   */
  async #untilMaySend(): Promise<void> {
    const isReached = (): boolean => {
      const go = this.#phase.go;
      if (go === null || go.stopped !== null || this.isOver()) return false;
      const rules = { ...go.rules, isTested: go.most === null };
      return stopOf(rules, [refusalsIn(this.state.payments, go.runId)]) !== null;
    };
    if (!isReached()) return;
    const why = 'Its run says whether the batch stops';
    await this.ports.waitUntil(() => !isReached(), LONGEST_SILENCE_MS, why);
  }

  get slices(): GoOf {
    return this.#requireGo();
  }

  release = (): void => this.noteNews();

  takeUp(runId: string | null): boolean {
    const isTaken = runId !== null && takeUp(this.state, runId);
    // The chunk asks again for the release of these payments. It also asks again for its go when the coordinator is
    // another one or cannot be asked.
    const hasRoom = this.#phase.go !== null && hasRoomFor(this.state.payments, this.#phase.go);
    if (isTaken || runId !== this.#phase.go?.runId || hasRoom) this.noteNews();
    return isTaken;
  }

  endedIn(runId: string | null): string {
    return runId ?? this.#phase.go?.runId ?? NO_RUN;
  }

  /** The run ends, never a chunk of it. */
  isLast = (): boolean => false;

  isIdle(): boolean {
    return !this.state.payments.some(isOpenPayment);
  }

  isOver(): boolean {
    return this.#phase.kind === 'over';
  }

  #requireGo(): GoOf {
    if (this.#phase.go === null) throw new RangeError('The run has not let this part of the batch pay yet.');
    return this.#phase.go;
  }
}

function later(wait: Wait, times: number): Wait {
  return { ...wait, afterMs: Math.min(times * wait.afterMs, LONGEST_SILENCE_MS) };
}
