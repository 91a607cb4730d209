/**
 * Temporal as far as the promise depends on it: one open run at a time, resets, restarts and restores; activities with
 * attempts, heartbeats, time-outs and retries; and what no reset of a run loses: its plan and what people said.
 */
import type { Plan } from '../../../domain/plan/plan.ts';
import type { Go, LegCall, RunTold, SettlementCall } from '../../../domain/run/calls.ts';
import type { PaymentRecord } from '../../../domain/run/items.ts';
import { newRecord, type UndoneItems } from '../../../domain/run/state.ts';
import { firstReference } from '../../../domain/references.ts';
import { SEND_OUTLIVES_MS } from '../../../domain/writes/doubt.ts';
import { paymentOf } from '../../../domain/plan/batch-items.ts';
import type { Carried } from '../../../domain/run/carry.ts';
import type { Problem } from '../../../domain/problems.ts';
import type { Waiting } from '../../../domain/waits.ts';
import { unionOf } from '../../../domain/people/instruction-shape.ts';
import {
  PERSON_WAITS_MS,
  spelledOut,
  takeIn,
  type Fact,
  type Instruction,
  type Recorded,
} from '../../../domain/people/instructions.ts';
import { HEARTBEAT_TIMEOUT_MS, WRITE_LIMITS } from '../../../workflows/limits.ts';
import type { Planned } from './agenda.ts';
import { IS_ANSWER } from './answer-shapes.ts';
import { falselyHandedOn, typedAnswer } from './answers.ts';
import { Attempt } from './attempt.ts';
import { Chores } from './chores.ts';
import type { Ours } from './ours.ts';
import {
  Execution,
  type ActivityName,
  type Command,
  type Input,
  type Point,
  type ExecutionStatus,
  type Told,
} from './execution.ts';
import { comesBackAfter, isTypedTwice } from './outside.ts';
import { People } from './people.ts';
import type { Misfortune } from './schedule.ts';
import type { World } from './world.ts';

/** Attempts of a call that writes (`workflows/activities.ts`). */
const ATTEMPTS = 5;
/** A run goes on in a new history at most so often: in truth thousands of events lie between. */
/** One reset in so many keeps the answer to which run it was. */
const KEEPS_ANSWERS = 3;
const MOST_CONTINUED = 2;

/** An activity that a run has asked for. */
export type Activity = {
  readonly temporal: Temporal;
  readonly execution: Execution;
  readonly number: number;
  readonly name: ActivityName;
  readonly args: unknown;
  attempts: number;
  current: Attempt | null;
  isOver: boolean;
};

/** The plan workflow of a run: made once, for the run that asked first. */
export type PlanRun = {
  readonly forRun: string;
  /** The Temporal run that has started it. */
  readonly askedBy: string;
  readonly startedAtMs: number;
  plan: Plan | null;
  refused: readonly Problem[] | null;
  endedAtMs: number | null;
  /** Why it is not made yet. */
  waiting: Waiting | null;
};

/** An instruction as it is kept, and when Temporal had it. */
export type KeptInstruction = Recorded & { readonly keptAtMs: number };
/** A fact as it is kept, and when Temporal had it. */
type KeptFact = Fact & { readonly keptAtMs: number };

/** What a run is that begins; all but the first two are of a run that goes on from a history, with its id a restored one. */
type Beginning = {
  readonly input: Input;
  readonly originalRunId: string | null;
  /** Absent: this run is the first one. */
  readonly firstRunId?: string;
  readonly startedAtMs: number;
  readonly runId?: string;
  readonly begunAtMs?: number;
  readonly carried?: Carried | null;
  readonly longAfter?: number;
};

export class Temporal {
  kept: { instructions: readonly KeptInstruction[]; facts: readonly KeptFact[] } = {
    instructions: [],
    facts: [],
  };
  /** Until when what keeps the instructions does not answer. */
  unreadableUntilMs = 0;
  /** Instructions that a restore has taken away. */
  lost: KeptInstruction[] = [];
  planRun: PlanRun | null = null;
  /** The one open run; null when none is. */
  current: Execution | null = null;
  /** When a restore, or the loss of everything, has made it forget something. */
  readonly #forgotAtMs: number[] = [];
  /** Workflow tasks that are being carried out at this moment. */
  tasks = 0;
  /** Its plan was lost, and made anew. */
  lostPlan = false;
  /** Temporal shows nothing of it, also not what people said, and nobody has started it again. */
  isUnknown = false;
  /** Somebody has reset it. */
  wasReset = false;
  /** A restore has opened it again, although it had ended. */
  wasReopened = false;
  /** A restore brought back a run that had ended, and took away whatever went on with it: its report is of that time. */
  isReportOld = false;
  readonly ours: Ours;
  /** The run that it belongs to: of a chunk the run of its batch, else itself. */
  readonly home: Temporal;
  /** Of a chunk its number, from 1; else null. */
  readonly number: number | null;
  /** Of the run of a batch. */
  readonly chunks: readonly Temporal[];
  readonly chores: Chores;
  readonly people: People;
  readonly #world: World;
  #executions: Execution[] = [];
  /** Legs of which a person has typed an answer in place of the call. */
  readonly #typedLegs = new Set<string>();
  /** When a person has completed a call that writes in its place, or a new history has begun. */
  readonly #besideAtMs: number[] = [];
  #runIds = 0;
  #continued = 0;
  #resets = 0;
  #upAtMs = 0;
  #workersUpAtMs = 0;
  /** Since when somebody has paused the open run, and until when; null: nobody has. */
  #paused: { readonly sinceMs: number; readonly untilMs: number } | null = null;
  #dispatchMs = 0;
  readonly #attempts = new Set<Attempt>();
  readonly #timers = new Map<Execution, Map<number, Planned>>();
  readonly #activities = new Map<Execution, Map<number, Activity>>();
  /** When each activity's attempts began, to know what a restored Temporal knows of them. */
  readonly #begun = new Map<string, number[]>();

  /** @param chunk of a batch, and which one; null: a run */
  constructor(
    world: World,
    ours: Ours,
    chunk: { readonly home: Temporal; readonly number: number } | null = null,
  ) {
    this.#world = world;
    this.ours = ours;
    this.home = chunk?.home ?? this;
    this.number = chunk?.number ?? null;
    const batch = chunk === null ? (ours.batch ?? []) : [];
    this.chunks = batch.map(
      (_payments, index) => new Temporal(world, ours, { home: this, number: index + 1 }),
    );
    this.chores = new Chores(world, this);
    this.people = new People(world, this);
  }

  /** The name of an item among those of all runs. */
  itemOf(id: string): string {
    return `${this.ours.prefix}${id}`;
  }

  /** Of a Temporal run, for people. */
  nameOf(runId: string): string {
    return `${this.itemOf('')}${this.number === null ? '' : `chunk ${this.number} `}${runId}`;
  }

  newest(): Execution | undefined {
    return this.#executions.at(-1);
  }

  /** By Temporal's clock. */
  firstStartMs(): number {
    return Math.min(...this.#executions.map(({ startedAtMs }) => startedAtMs));
  }

  /** Of all its Temporal runs: one more whenever one of them was told something. */
  pointsOfHistory(): number {
    return this.#executions.reduce((sum, { history }) => sum + history.length, 0);
  }

  /** As `runThatTells` has it for a chunk (`durable/batches/chunks.ts`). */
  telling(): Execution | undefined {
    const newest = this.newest();
    if (newest?.standing !== 'terminated') return newest;
    return (
      this.#executions.findLast(({ chunk }) => chunk !== null && chunk.standing.heard !== null) ?? newest
    );
  }

  standing(): ExecutionStatus | 'none' {
    return this.newest()?.standing ?? 'none';
  }

  isAway(): boolean {
    return this.#world.agenda.nowMs < this.#upAtMs;
  }

  isOpen(activity: Activity): boolean {
    return activity.execution === this.current && activity.execution.standing === 'open';
  }

  hasForgotten(): boolean {
    return this.#forgotAtMs.length > 0;
  }

  /** It may have forgotten something that was sent then, or what came of it. */
  forgotWhatCameOf({ sentAtMs }: { readonly sentAtMs: number }): boolean {
    return this.#forgotAtMs.some((atMs) => atMs > sentAtMs);
  }

  /** Somebody has terminated a run of it. */
  wasTerminated(): boolean {
    return this.#executions.some(({ standing }) => standing === 'terminated');
  }

  /** No run of it has been open since before then. */
  closedBefore(atMs: number): boolean {
    return this.#executions.every(
      ({ standing, closedAtMs }) => standing !== 'open' && (closedAtMs ?? atMs) < atMs,
    );
  }

  /** A Temporal run of this id, or the newest. */
  execution(runId?: string): Execution | undefined {
    return this.#executions.findLast((each) => runId === undefined || each.runId === runId);
  }

  // Batches.

  /** The payments, as they are reported: of a batch by its chunks. */
  payments(): readonly PaymentRecord[] {
    const { chunks, ours } = this;
    if (chunks.length === 0) return this.newest()?.state.payments ?? [];
    return chunks.flatMap((chunk, index) => {
      const planned = ours.batch?.[index] ?? [];
      const reported = chunk.telling()?.state.payments;
      return reported ?? planned.map((row) => newRecord(paymentOf(ours.input.run, row)));
    });
  }

  /** As `durable/batches/chunks.ts` reads it: what the open run says to a chunk; `over`: it has ended. Null: nobody can be asked. */
  goFor(chunk: number): Go | 'over' | null {
    const newest = this.newest();
    if (this.isAway() || newest === undefined || this.pausedForMs() > 0) return null;
    if (newest.standing === 'ended' || newest.standing === 'refused') return 'over';
    if (newest.standing !== 'open' || newest.run === null) return null;
    const go = newest.run.goFor(chunk);
    return go.isOver ? 'over' : go;
  }

  /** Submits the chunks that are missing; false when the terminal dies over it. */
  async #submit(how: 'first' | 'again' | 'go on'): Promise<boolean> {
    const { batch } = this.#world.schedule;
    const cutAfter = how === 'first' ? (batch?.cutAfter ?? null) : null;
    // As `operations/start/run-policy.ts` does: nothing of the run was there before.
    const isFirst = this.newest() === undefined && this.planRun === null;
    for (const [index, chunk] of this.chunks.entries()) {
      if (cutAfter === index) {
        this.#world.coverage.hit('batch', 'a submission is cut');
        this.#world.later(batch?.submittedAgainAfterMs ?? 0, () => this.start('again'));
        return false;
      }
      if (chunk.newest() === undefined) await chunk.startChunk(isFirst);
    }
    return true;
  }

  /** A chunk is started; nothing where it is open. */
  async startChunk(isFirst: boolean): Promise<void> {
    const { input, batch } = this.ours;
    const { number } = this;
    if (this.current !== null || number === null || this.isAway()) return;
    const { run, mode } = input;
    const payments = batch?.[number - 1] ?? [];
    if (!isFirst) this.#world.coverage.hit('batch', 'a chunk is started once more');
    const chunk = { run, mode, number, payments, isFirst };
    await this.#begin({ input: chunk, originalRunId: null, startedAtMs: this.#world.temporalMs() }, null);
  }

  /** Of a batch everything is lost in Temporal. */
  #forgetBatch(): void {
    for (const chunk of this.chunks) {
      if (chunk.current !== null) chunk.#terminateNow(chunk.current);
      chunk.#executions = [];
    }
    if (this.chunks.length > 0) this.#executions = [];
  }

  // Runs.

  async start(how: 'first' | 'again' | 'go on'): Promise<void> {
    if (this.isAway()) return;
    if (this.chunks.length > 0 && !(await this.#submit(how))) return;
    const newest = this.newest();
    // Open: attaches. Ended with a report: shows it, sends nothing.
    if (newest?.standing === 'open') return;
    if (newest?.standing === 'ended' && how === 'again') return;
    const { input } = this.ours;
    await this.#begin({ input, originalRunId: null, startedAtMs: this.#world.temporalMs() }, null);
  }

  /** @param history what it goes on from; null for a run that is new */
  async #begin(beginning: Beginning, history: readonly Point[] | null): Promise<void> {
    const world = this.#world;
    const runId = beginning.runId ?? this.#nextRunId();
    const execution = new Execution(beginning.input, {
      runId,
      originalRunId: beginning.originalRunId ?? runId,
      firstRunId: beginning.firstRunId ?? runId,
      startedAtMs: beginning.startedAtMs,
      begunAtMs: beginning.begunAtMs ?? world.agenda.nowMs,
      carried: beginning.carried ?? null,
      tellOf: (undone) => ({ done: doneOf(world, undone), ...this.#beside() }),
      longAfter:
        beginning.longAfter ?? (this.#continued < MOST_CONTINUED ? world.schedule.longHistory : Infinity),
    });
    world.tell(
      () =>
        `${this.nameOf(runId)} starts${history === null ? '' : ` from ${history.length} points of history`}`,
    );
    this.#executions.push(execution);
    this.current = execution;
    this.isReportOld = false;
    this.home.isUnknown = false;
    if (execution.firstRunId !== execution.originalRunId) this.#besideAtMs.push(world.agenda.nowMs);
    this.#timers.set(execution, new Map());
    this.#activities.set(execution, new Map());
    world.reach(this.number === null ? 'start' : 'start of a chunk');
    if (history === null) {
      await this.tell(execution, { kind: 'started' });
      return;
    }
    const wasReset = beginning.runId === undefined;
    if (wasReset) this.#resets += 1;
    const keepsAnswers = wasReset && this.#resets % KEEPS_ANSWERS === 0;
    const difference = await execution.replay(history, { wasReset, keepsAnswers });
    if (difference !== null) world.oracle.broken('replay', difference);
    this.#noteStanding(execution);
    if (hasContinued(execution)) return this.#continue(execution);
    for (const { asked, atMs } of execution.pending()) this.#carryOut(execution, asked, atMs);
  }

  /** Of a batch no two workflows have an id in common: real activities remember by them what they have seen. */
  #nextRunId(): string {
    const { chunks, number, ours } = this;
    const name = `run-${(this.#runIds += 1)}`;
    if (ours.batch === null) return name;
    const workflow = `${ours.prefix === '' ? 'a' : 'b'}${chunks.length > 0 ? '' : (number ?? '')}`;
    return `${this.#world.nameOfRuns}${workflow}-${name}`;
  }

  /** Goes back to a point of history: the attempts at work go on, their outcomes count no more. */
  async reset(back: number, run: 0 | 1 | 99): Promise<void> {
    if (this.isAway()) return;
    const target = this.#executions.at(-1 - run) ?? this.#executions[0];
    if (target === undefined) return;
    this.wasReset = true;
    const cut = Math.max(1, target.history.length - back);
    const history = target.history.slice(0, cut);
    if (this.current !== null) this.#terminateNow(this.current);
    const { input, originalRunId, firstRunId, startedAtMs, carried, longAfter } = target;
    if (this.ours.batch !== null)
      this.#world.coverage.hit('batch', `reset of ${this.number === null ? 'the run' : 'a chunk'}`);
    await this.#begin({ input, originalRunId, firstRunId, startedAtMs, carried, longAfter }, history);
  }

  terminate(asked: Extract<Misfortune, { kind: 'terminate' }>): void {
    if (this.current === null || this.isAway()) return;
    const isLost = asked.plan === 'lost' && this.number === null;
    if (isLost) this.#forgetWork(this.#world.agenda.nowMs);
    this.#terminateNow(this.current);
    // Whoever coordinates a chunk starts it again.
    if (this.number !== null) {
      this.#world.coverage.hit('batch', 'a chunk is ended');
      return;
    }
    if (isLost && this.chunks.length > 0) this.#world.coverage.hit('batch', 'everything is lost');
    if (isLost) this.#forgetBatch();
    this.#world.later(isLost ? comesBackAfter(asked.againAfterMs, true) : asked.againAfterMs, async () => {
      // Somebody who has started it again meanwhile has a plan of his own.
      if (isLost && this.current === null) this.#losePlan();
      await this.start('again');
    });
  }

  /** Temporal has nothing of it any more. What is at work goes on, and is heard no more. */
  vanish({ againAfterMs }: Extract<Misfortune, { kind: 'vanish' }>): void {
    if (this.newest() === undefined || this.isAway()) return;
    const all = [this, ...this.chunks];
    for (const each of all) {
      each.#forgetWork(this.#world.agenda.nowMs);
      if (each.current !== null) each.#terminateNow(each.current);
      each.#executions = [];
    }
    this.#losePlan();
    this.#upAtMs = this.#world.agenda.nowMs + comesBackAfter(0, true);
    this.isUnknown = true;
    this.lost.push(...this.kept.instructions);
    this.kept = { instructions: [], facts: [] };
    this.#world.later(comesBackAfter(againAfterMs, true), () => this.start('again'));
  }

  /** Whoever finds that out cancels a run whose place it may have taken, as `OTHER_RUNS_LOST` says, and starts it again. */
  async #isFoundLost(): Promise<void> {
    if (!this.isUnknown) return;
    for (const other of this.#world.runs) {
      if (other !== this && other.wasReopened) await other.people.cancel('both');
    }
    await this.start('again');
  }

  /** What is at work may still send until its attempt's deadline, and nobody hears of that either. */
  #forgetWork(atMs: number): void {
    this.#forgotAtMs.push(atMs + WRITE_LIMITS.startToCloseMs);
  }

  #losePlan(): void {
    this.planRun = null;
    this.lostPlan = true;
  }

  /** The moment `back` points of history ago. */
  momentBefore(back: number): number {
    const moments = this.#executions.flatMap(({ history }) => history.map(({ atMs }) => atMs));
    return moments.toSorted((a, b) => a - b).at(-1 - back) ?? moments[0] ?? 0;
  }

  /** Temporal goes back to an earlier state of itself; the service does not. */
  restore(thenMs: number, takesMs: number): void {
    this.#forgotAtMs.push(this.#world.agenda.nowMs);
    this.current = null;
    this.#upAtMs = this.#world.agenda.nowMs + takesMs;
    this.#world.later(takesMs, () => this.#comeBackAsOf(thenMs));
  }

  async #comeBackAsOf(thenMs: number): Promise<void> {
    this.#world.tell(
      () => `${this.nameOf('')}Temporal is back as it was at ${new Date(thenMs).toISOString()}`,
    );
    const { instructions, facts } = this.kept;
    this.lost.push(...instructions.filter(({ keptAtMs }) => keptAtMs > thenMs));
    this.kept = {
      instructions: instructions.filter(({ keptAtMs }) => keptAtMs <= thenMs),
      facts: facts.filter(({ keptAtMs }) => keptAtMs <= thenMs),
    };
    if (this.planRun !== null && this.planRun.startedAtMs > thenMs) this.#losePlan();
    else if (this.planRun !== null && (this.planRun.endedAtMs ?? 0) > thenMs) {
      this.lostPlan = true;
      this.planRun = { ...this.planRun, plan: null, refused: null, endedAtMs: null };
      this.chores.makePlan(this.planRun);
    }
    for (const [key, begun] of this.#begun) {
      this.#begun.set(
        key,
        begun.filter((atMs) => atMs <= thenMs),
      );
    }
    const known = this.#executions.filter(({ begunAtMs }) => begunAtMs <= thenMs);
    this.#executions = known.filter(({ closedAtMs }) => closedAtMs !== null && closedAtMs <= thenMs);
    const open = known.find((execution) => !this.#executions.includes(execution));
    this.isReportOld = open === undefined && known.length > 0;
    if (known.length === 0 && this.planRun === null && this.number === null) {
      this.isUnknown = true;
      this.#world.later(comesBackAfter(0, true), () => this.#isFoundLost());
    }
    if (open === undefined) return;
    this.wasReopened ||= open.closedAtMs !== null;
    const history = open.history.filter(({ atMs }) => atMs <= thenMs);
    const { input, runId, originalRunId, firstRunId, startedAtMs, begunAtMs, carried, longAfter } = open;
    await this.#begin(
      { input, runId, originalRunId, firstRunId, startedAtMs, begunAtMs, carried, longAfter },
      history,
    );
  }

  #terminateNow(execution: Execution): void {
    this.#world.tell(() => `${this.nameOf(execution.runId)} is terminated`);
    if (execution.standing === 'open') execution.standing = 'terminated';
    execution.closedAtMs ??= this.#world.agenda.nowMs;
    if (this.current === execution) this.current = null;
    for (const timer of this.#timers.get(execution)?.values() ?? []) timer.cancel();
  }

  /** Instructions and facts can be read and written now. */
  keeps(): boolean {
    return !this.isAway() && this.#world.agenda.nowMs >= this.unreadableUntilMs;
  }

  /**
   * As the worker that accepts it, by its clock, and as the workflow that keeps it. False: it is refused.
   * @param seen the number of the newest entry that its person had seen
   */
  keep(instruction: Instruction, seen: number): boolean {
    const { instructions, facts } = this.kept;
    if (instructions.some(({ id }) => id === instruction.id)) return true;
    const atMs = this.#world.wallMs();
    const date = new Date(atMs).toISOString().slice(0, 10);
    const nowMs = this.#world.agenda.nowMs;
    const saying = { seen, untilMs: nowMs + PERSON_WAITS_MS };
    const taken = takeIn(instructions, { ...instruction, atMs, date }, saying, nowMs);
    if (taken.kind !== 'kept') return false;
    const added = spelledOut({ instructions: [taken.said], facts }).instructions;
    this.kept = {
      instructions: [...instructions, ...added.map((said) => ({ ...said, keptAtMs: nowMs }))],
      facts,
    };
    return true;
  }

  /** As the workflow `instructions` does: by the union that it makes. */
  note(facts: readonly Fact[]): void {
    const keptAtMs = this.#world.agenda.nowMs;
    const added = facts.map((fact): KeptFact => ({ ...fact, keptAtMs }));
    const union = unionOf([
      { instructions: [], facts: this.kept.facts },
      { instructions: [], facts: added },
    ]);
    this.kept = { ...this.kept, facts: union.facts as readonly KeptFact[] };
  }

  /** The cancel button. */
  async cancel(): Promise<void> {
    if (this.current !== null) await this.tell(this.current, { kind: 'cancel' });
  }

  /** A signal that carries nothing: somebody said something. */
  async wake(): Promise<void> {
    if (this.current !== null) await this.tell(this.current, { kind: 'wake' });
  }

  /** As between a run and its chunks; false: nobody hears it. */
  async hear(chunk: number): Promise<boolean> {
    if (this.current === null || this.isAway()) return false;
    await this.tell(this.current, { kind: 'news', chunk });
    return true;
  }

  async tell(execution: Execution, told: Told): Promise<void> {
    if (execution !== this.current || execution.standing !== 'open') return;
    this.tasks += 1;
    try {
      await this.#carryOutTask(execution, told);
    } finally {
      this.tasks -= 1;
    }
  }

  async #carryOutTask(execution: Execution, told: Told): Promise<void> {
    const { nowMs } = this.#world.agenda;
    const asked = await execution.tell({ atMs: nowMs, clockMs: this.#world.temporalMs(), told });
    this.#noteStanding(execution);
    if (hasContinued(execution)) await this.#continue(execution);
    else for (const command of asked) this.#carryOut(execution, command, nowMs);
  }

  /** The run goes on in a new history, with what it knows carried over. */
  async #continue(execution: Execution): Promise<void> {
    this.#continued += 1;
    this.#world.coverage.hit('event', 'goes on in a new history');
    if (this.number !== null) this.#world.coverage.hit('batch', 'a chunk goes on in a new history');
    const startedAtMs = this.#world.temporalMs();
    const { input, firstRunId } = execution;
    const carried = execution.handOn();
    await this.#begin({ input, originalRunId: null, firstRunId, startedAtMs, carried }, null);
  }

  #noteStanding(execution: Execution): void {
    const { standing, error, runId } = execution;
    if (standing === 'open') return;
    execution.closedAtMs ??= this.#world.agenda.nowMs;
    this.#world.tell(() => `${this.nameOf(runId)} has ${standing}`);
    if (standing === 'ended') this.#world.oracle.endedNow(this, execution);
    if (standing === 'broken')
      this.#world.oracle.broken('model', `the workflow broke: ${String((error as Error).stack)}`);
    if (this.current === execution) this.current = null;
    if (standing !== 'continued') this.#world.reach(this.number === null ? 'end' : 'end of a chunk');
  }

  // Activities.

  #carryOut(execution: Execution, command: Command, askedAtMs: number): void {
    const timers = this.#timers.get(execution);
    const activities = this.#activities.get(execution);
    switch (command.kind) {
      case 'timer': {
        const { number } = command;
        const fire = () => this.tell(execution, { kind: 'fired', timer: number });
        timers?.set(number, this.#world.agenda.at(askedAtMs + command.ms, fire));
        return;
      }
      case 'timer over':
        timers?.get(command.number)?.cancel();
        return;
      case 'give up': {
        const activity = activities?.get(command.activity);
        if (activity !== undefined) activity.isOver = true;
        return;
      }
      case 'activity': {
        const { number, name, args } = command;
        // A run that was restored keeps its id, and knows of the attempts that had begun by then.
        const attempts = this.#begun.get(`${execution.runId} ${number}`)?.length ?? 0;
        const state = { attempts, current: null, isOver: false };
        const activity: Activity = { temporal: this, execution, number, name, args, ...state };
        activities?.set(number, activity);
        if (name === 'requestQuote' || name === 'executeTrade' || name === 'createWithdrawals')
          this.#attempt(activity);
        else this.chores.take(activity);
      }
    }
  }

  #attempt(activity: Activity): void {
    if (activity.isOver || !this.isOpen(activity)) return;
    const { agenda } = this.#world;
    activity.attempts += 1;
    const attempt = new Attempt(this.#world, activity, activity.attempts);
    activity.current = attempt;
    const delayMs = this.#dispatchMs;
    this.#dispatchMs = 0;
    const scheduledAtMs = agenda.nowMs;
    const hasWorker = this.#workersUpAtMs <= scheduledAtMs;
    agenda.at(Math.max(scheduledAtMs + delayMs, this.#workersUpAtMs), () => {
      // Without a worker the task waits at the server, which does not hand it out for a run that has ended.
      if (this.#workersUpAtMs > scheduledAtMs && attempt.isSuperseded()) return;
      this.#attempts.add(attempt);
      const key = `${activity.execution.runId} ${activity.number}`;
      this.#begun.set(key, [...(this.#begun.get(key) ?? []), agenda.nowMs]);
      agenda.after(WRITE_LIMITS.startToCloseMs, () => this.#timeOut(attempt));
      attempt.begin();
    });
    if (delayMs >= HEARTBEAT_TIMEOUT_MS && hasWorker)
      agenda.after(HEARTBEAT_TIMEOUT_MS, () => this.#timeOut(attempt));
  }

  /** The attempt says that it has failed. */
  fail(attempt: Attempt): void {
    attempt.isDead = true;
    this.#attempts.delete(attempt);
    this.#world.agenda.after(5, () => this.#timeOut(attempt));
  }

  /** The attempt is given up and, after a while, another one sent, as often as the run allows. */
  async #timeOut(attempt: Attempt): Promise<void> {
    const { activity } = attempt;
    if (attempt.isSuperseded() || activity.isOver) return;
    this.#world.tell(() => `${attempt.name()} is given up by Temporal`);
    if (activity.attempts >= ATTEMPTS) {
      this.#world.coverage.hit('event', 'a call fails at all its attempts');
      await this.#fail(activity);
      return;
    }
    const backoffMs = Math.min(1_000 * 2 ** (activity.attempts - 1), 60_000);
    this.#world.agenda.after(backoffMs, () => {
      if (activity.current === attempt) this.#attempt(activity);
    });
  }

  /** An attempt has its outcome: it counts, unless Temporal counts on another one or on none. */
  report(attempt: Attempt, answer: unknown): void {
    this.#attempts.delete(attempt);
    this.#world.agenda.after(5, async () => {
      if (attempt.isMute || attempt.isSuperseded() || this.isAway()) return;
      await this.complete(attempt.activity, answer);
    });
  }

  async complete(activity: Activity, result: unknown): Promise<void> {
    if (activity.isOver || !this.isOpen(activity)) return;
    activity.isOver = true;
    const { name, number } = activity;
    if (!IS_ANSWER[name](result))
      this.#world.oracle.broken('answer', `${name} answers what is no answer: ${JSON.stringify(result)}`);
    await this.tell(activity.execution, { kind: 'completed', activity: number, result });
  }

  async #fail(activity: Activity): Promise<void> {
    activity.isOver = true;
    await this.tell(activity.execution, { kind: 'failed', activity: activity.number });
  }

  /** Somebody completes what is pending in its place, or fails it. What is at work goes on, and is heard no more. */
  async answerInstead({ claim }: Extract<Misfortune, { kind: 'answered' }>): Promise<void> {
    if (this.current === null || this.isAway()) return;
    for (const activity of [...(this.#activities.get(this.current)?.values() ?? [])]) {
      // What a chunk tells its run is a signal, which nobody answers.
      if (activity.isOver || !this.isOpen(activity) || activity.name === 'tellCoordinator') continue;
      if (claim === 'failed') {
        this.#world.coverage.hit('event', `${activity.name} is failed in its place`);
        // One answer after the other.
        await this.#fail(activity);
        continue;
      }
      const answer = typedAnswer(this.#world, activity, claim);
      if (answer === null) continue;
      this.#world.coverage.hit('event', `${activity.name} is answered in its place`);
      this.#noteTyped(activity);
      // One answer after the other.
      await this.complete(activity, answer);
    }
  }

  /** A stranger’s worker lets it go on in a new history, and hands on to it what he likes. */
  async goOnFalsely({ what }: Extract<Misfortune, { kind: 'handed on' }>): Promise<void> {
    const { current } = this;
    if (current === null || this.isAway()) return;
    const { input, firstRunId } = current;
    const carried = what === 'nothing' ? null : falselyHandedOn(current.handOn(), current.state, what);
    this.#terminateNow(current);
    const startedAtMs = this.#world.temporalMs();
    await this.#begin({ input, originalRunId: null, firstRunId, startedAtMs, carried }, null);
  }

  /** As `completedBeside` finds it in the history (`durable/attempts.ts`). */
  #beside(): Pick<RunTold, 'beside'> {
    const { agenda, facts } = this.#world;
    const againAfterMs = WRITE_LIMITS.sendWithinMs + SEND_OUTLIVES_MS + facts.listLagMs;
    const last = this.#besideAtMs.at(-1) ?? -Infinity;
    return agenda.nowMs - last <= 2 * againAfterMs
      ? { beside: { eventId: this.#besideAtMs.length, againAfterMs } }
      : {};
  }

  /** Remembers which legs a person has answered for, and those for whose trade the same person vouches. */
  #noteTyped({ name, args }: Activity): void {
    if (name === 'executeTrade' || name === 'createWithdrawals')
      this.#besideAtMs.push(this.#world.agenda.nowMs);
    if (name === 'requestQuote' || name === 'executeTrade') this.#typedLegs.add((args as LegCall).leg.id);
    if (name !== 'awaitSettlement') return;
    const { leg } = args as SettlementCall;
    if (isTypedTwice(this.#world, this.#typedLegs.has(leg))) this.#world.oracle.misled.add(this.itemOf(leg));
  }

  /** Strikes the attempts at work, in the middle of what they do. */
  strike(what: Misfortune): void {
    const { agenda } = this.#world;
    for (const attempt of this.#attempts) {
      if (what.kind === 'crash') {
        attempt.isDead = true;
        this.#attempts.delete(attempt);
      } else if (what.kind === 'mute') attempt.isMute = true;
      else if (what.kind === 'freeze') attempt.frozenUntilMs = agenda.nowMs + what.ms;
      agenda.after(HEARTBEAT_TIMEOUT_MS, () => {
        return attempt.isHeard() ? undefined : this.#timeOut(attempt);
      });
    }
  }

  /** The next attempt comes to its worker this much later. */
  slowDown(ms: number): void {
    this.#dispatchMs = ms;
  }

  hasWorkers(): boolean {
    return this.#workersUpAtMs <= this.#world.agenda.nowMs;
  }

  /** No worker until then. */
  withoutWorkers(untilMs: number): void {
    this.#workersUpAtMs = Math.max(this.#workersUpAtMs, untilMs);
  }

  /** Somebody pauses it: it gets no task any more, and nobody can ask it. What is at work goes on. */
  pause(ms: number): void {
    if (this.current === null || this.isAway()) return;
    const { nowMs } = this.#world.agenda;
    // A millisecond counts as paused.
    this.#paused = { sinceMs: nowMs - 1, untilMs: nowMs + ms };
    this.withoutWorkers(nowMs + ms);
  }

  /** How long its open run has been paused; 0: it is not. */
  pausedForMs(): number {
    const { nowMs } = this.#world.agenda;
    return this.#paused === null || this.#paused.untilMs <= nowMs ? 0 : nowMs - this.#paused.sinceMs;
  }

  /** Whatever held up workers is over. */
  withWorkers(): void {
    this.#paused = null;
    this.#workersUpAtMs = Math.min(this.#workersUpAtMs, this.#world.agenda.nowMs);
    this.#dispatchMs = 0;
  }

  /** What lies ahead of it and no line has told yet. */
  pending(): unknown {
    const leftUntil = (untilMs: number): number => Math.max(0, untilMs - this.#world.agenda.nowMs);
    return [
      [this.#upAtMs, this.#workersUpAtMs, this.unreadableUntilMs].map(leftUntil),
      [this.#dispatchMs, this.pausedForMs() > 0],
      [...this.#attempts].map(({ isMute, frozenUntilMs }) => [isMute, leftUntil(frozenUntilMs)]),
    ];
  }

  /** Does something that takes a worker, after `ms` or as soon as there is one. */
  whenUp(ms: number, act: () => void | Promise<void>): void {
    const { agenda } = this.#world;
    agenda.at(Math.max(agenda.nowMs + ms, this.#workersUpAtMs), () =>
      this.#workersUpAtMs > agenda.nowMs ? this.whenUp(ms, act) : act(),
    );
  }
}

function hasContinued({ standing }: Execution): boolean {
  return standing === 'continued';
}

/** As `tellRun` looks, at what the lists show now. */
function doneOf({ service, facts }: World, { legs, payments }: UndoneItems): readonly string[] {
  const failed = [...facts.tradeStatuses.failed, ...facts.withdrawalStatuses.failed];
  return service.listedNow().flatMap(({ id, name, status }) => {
    if (failed.includes(status)) return [];
    const first = firstReference(name ?? '');
    const own = payments.find(({ reference, withdrawalId }) => reference === first || withdrawalId === id);
    return own?.reference ?? (legs.includes(first) ? first : []);
  });
}
