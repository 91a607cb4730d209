/**
 * Temporal as far as the promise depends on it: one open run at a time, resets, restarts and restores; activities with
 * attempts, heartbeats, time-outs and retries; and what no reset of a run loses: its plan and what people said.
 */
import type { Plan } from '../../../domain/plan/plan.ts';
import type { Carried } from '../../../domain/run/carry.ts';
import type { Problem } from '../../../domain/problems.ts';
import { unionOf } from '../../../domain/people/instruction-shape.ts';
import type { Fact, Instruction, Recorded } from '../../../domain/people/instructions.ts';
import { HEARTBEAT_TIMEOUT_MS, WRITE_LIMITS } from '../../../workflows/limits.ts';
import type { Planned } from './agenda.ts';
import { Attempt } from './attempt.ts';
import { Chores, type Ours } from './chores.ts';
import {
  Execution,
  type ActivityName,
  type Asked,
  type Point,
  type Standing,
  type Told,
} from './execution.ts';
import { comesBackAfter } from './outside.ts';
import { People } from './people.ts';
import type { Misfortune } from './schedule.ts';
import type { World } from './world.ts';

/** Attempts of a call that writes (`workflows/activities.ts`). */
const ATTEMPTS = 5;
/** A run goes on in a new history at most so often: in truth thousands of events lie between. */
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
  readonly startedAtMs: number;
  plan: Plan | null;
  refused: readonly Problem[] | null;
  endedAtMs: number | null;
};

/** An instruction as it is kept, and when Temporal had it. */
export type KeptInstruction = Recorded & { readonly keptAtMs: number };
/** A fact as it is kept, and when Temporal had it. */
type KeptFact = Fact & { readonly keptAtMs: number };

/** What a run is that begins; all but the first two are of a run that goes on from a history, with its id a restored one. */
type Beginning = {
  readonly originalRunId: string | null;
  readonly startedAtMs: number;
  readonly runId?: string;
  readonly begunAtMs?: number;
  readonly carried?: Carried | null;
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
  /** A restore or a lost plan has made a run forget. */
  hasForgotten = false;
  /** A restore brought back a run that had ended, and took away whatever went on with it: its report is of that time. */
  isReportOld = false;
  readonly ours: Ours;
  readonly chores: Chores;
  readonly people: People;
  readonly #world: World;
  #executions: Execution[] = [];
  #runIds = 0;
  #continued = 0;
  #upAtMs = 0;
  #workersUpAtMs = 0;
  #dispatchMs = 0;
  readonly #attempts = new Set<Attempt>();
  readonly #timers = new Map<Execution, Map<number, Planned>>();
  readonly #activities = new Map<Execution, Map<number, Activity>>();
  /** When each activity's attempts began, to know what a restored Temporal knows of them. */
  readonly #begun = new Map<string, number[]>();

  constructor(world: World, ours: Ours) {
    this.#world = world;
    this.ours = ours;
    this.chores = new Chores(world, this);
    this.people = new People(world, this);
  }

  /** The name of an item among those of all runs. */
  itemOf(id: string): string {
    return `${this.ours.prefix}${id}`;
  }

  newest(): Execution | undefined {
    return this.#executions.at(-1);
  }

  standing(): Standing | 'none' {
    return this.newest()?.standing ?? 'none';
  }

  isAway(): boolean {
    return this.#world.agenda.nowMs < this.#upAtMs;
  }

  isOpen(activity: Activity): boolean {
    return activity.execution === this.current && activity.execution.standing === 'open';
  }

  // Runs.

  async start(how: 'first' | 'again' | 'go on'): Promise<void> {
    if (this.isAway()) return;
    const newest = this.newest();
    // Open: attaches. Ended with a report: shows it, sends nothing.
    if (newest?.standing === 'open') return;
    if (newest?.standing === 'ended' && how === 'again') return;
    await this.#begin({ originalRunId: null, startedAtMs: this.#world.temporalMs() }, null);
  }

  /** @param history what it goes on from; null for a run that is new */
  async #begin(beginning: Beginning, history: readonly Point[] | null): Promise<void> {
    const world = this.#world;
    const runId = beginning.runId ?? `run-${(this.#runIds += 1)}`;
    const execution = new Execution(this.ours.input, {
      runId,
      originalRunId: beginning.originalRunId ?? runId,
      startedAtMs: beginning.startedAtMs,
      begunAtMs: beginning.begunAtMs ?? world.agenda.nowMs,
      carried: beginning.carried ?? null,
      longAfter: this.#continued < MOST_CONTINUED ? world.schedule.longHistory : Infinity,
    });
    world.tell(
      () =>
        `${this.itemOf(runId)} starts${history === null ? '' : ` from ${history.length} points of history`}`,
    );
    this.#executions.push(execution);
    this.current = execution;
    this.isReportOld = false;
    this.#timers.set(execution, new Map());
    this.#activities.set(execution, new Map());
    world.reach('start');
    if (history === null) {
      await this.tell(execution, { kind: 'started' });
      return;
    }
    const difference = await execution.replay(history, beginning.runId === undefined);
    if (difference !== null) world.oracle.broken('replay', difference);
    this.#noteStanding(execution);
    if (hasContinued(execution)) return this.#continue(execution);
    for (const { asked, atMs } of execution.pending()) this.#carryOut(execution, asked, atMs);
  }

  /** Goes back to a point of history: the attempts at work go on, their outcomes count no more. */
  async reset(back: number, run: 0 | 1 | 99): Promise<void> {
    if (this.isAway()) return;
    const target = this.#executions.at(-1 - run) ?? this.#executions[0];
    if (target === undefined) return;
    const cut = Math.max(1, target.history.length - back);
    const history = target.history.slice(0, cut);
    if (this.current !== null) this.#terminateNow(this.current);
    const { originalRunId, startedAtMs, carried } = target;
    await this.#begin({ originalRunId, startedAtMs, carried }, history);
  }

  terminate(asked: Extract<Misfortune, { kind: 'terminate' }>): void {
    if (this.current === null || this.isAway()) return;
    const isLost = asked.plan === 'lost';
    if (isLost) this.hasForgotten = true;
    this.#terminateNow(this.current);
    this.#world.later(isLost ? comesBackAfter(asked.againAfterMs, true) : asked.againAfterMs, async () => {
      if (isLost) this.planRun = null;
      await this.start('again');
    });
  }

  /** The moment `back` points of history ago. */
  momentBefore(back: number): number {
    const moments = this.#executions.flatMap(({ history }) => history.map(({ atMs }) => atMs));
    return moments.toSorted((a, b) => a - b).at(-1 - back) ?? moments[0] ?? 0;
  }

  /** Temporal goes back to an earlier state of itself; the service does not. */
  restore(thenMs: number, takesMs: number): void {
    this.hasForgotten = true;
    this.current = null;
    this.#upAtMs = this.#world.agenda.nowMs + takesMs;
    this.#world.later(takesMs, () => this.#comeBackAsOf(thenMs));
  }

  async #comeBackAsOf(thenMs: number): Promise<void> {
    this.#world.tell(
      () => `${this.itemOf('')}Temporal is back as it was at ${new Date(thenMs).toISOString()}`,
    );
    const { instructions, facts } = this.kept;
    this.lost.push(...instructions.filter(({ keptAtMs }) => keptAtMs > thenMs));
    this.kept = {
      instructions: instructions.filter(({ keptAtMs }) => keptAtMs <= thenMs),
      facts: facts.filter(({ keptAtMs }) => keptAtMs <= thenMs),
    };
    if (this.planRun !== null && this.planRun.startedAtMs > thenMs) this.planRun = null;
    else if (this.planRun !== null && (this.planRun.endedAtMs ?? 0) > thenMs) {
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
    if (open === undefined) return;
    const history = open.history.filter(({ atMs }) => atMs <= thenMs);
    const { runId, originalRunId, startedAtMs, begunAtMs, carried } = open;
    await this.#begin({ runId, originalRunId, startedAtMs, begunAtMs, carried }, history);
  }

  #terminateNow(execution: Execution): void {
    this.#world.tell(() => `${this.itemOf(execution.runId)} is terminated`);
    if (execution.standing === 'open') execution.standing = 'terminated';
    execution.closedAtMs ??= this.#world.agenda.nowMs;
    if (this.current === execution) this.current = null;
    for (const timer of this.#timers.get(execution)?.values() ?? []) timer.cancel();
  }

  /** Instructions and facts can be read and written now. */
  keeps(): boolean {
    return !this.isAway() && this.#world.agenda.nowMs >= this.unreadableUntilMs;
  }

  /** As the worker that accepts it: by its clock. */
  keep(instruction: Instruction): void {
    const { instructions, facts } = this.kept;
    if (instructions.some(({ id }) => id === instruction.id)) return;
    const atMs = this.#world.wallMs();
    const date = new Date(atMs).toISOString().slice(0, 10);
    const recorded: KeptInstruction = { ...instruction, atMs, date, keptAtMs: this.#world.agenda.nowMs };
    this.kept = { instructions: [...instructions, recorded], facts };
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

  async tell(execution: Execution, told: Told): Promise<void> {
    if (execution !== this.current || execution.standing !== 'open') return;
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
    const startedAtMs = this.#world.temporalMs();
    await this.#begin({ originalRunId: null, startedAtMs, carried: execution.handOn() }, null);
  }

  #noteStanding(execution: Execution): void {
    const { standing, error, runId } = execution;
    if (standing === 'open') return;
    execution.closedAtMs ??= this.#world.agenda.nowMs;
    this.#world.tell(() => `${this.itemOf(runId)} has ${standing}`);
    if (standing === 'broken')
      this.#world.oracle.broken('model', `the workflow broke: ${String((error as Error).stack)}`);
    if (this.current === execution) this.current = null;
    if (standing !== 'continued') this.#world.reach('end');
  }

  // Activities.

  #carryOut(execution: Execution, command: Asked, askedAtMs: number): void {
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
      activity.isOver = true;
      await this.tell(activity.execution, { kind: 'failed', activity: activity.number });
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
    await this.tell(activity.execution, { kind: 'completed', activity: activity.number, result });
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

  /** Whatever held up workers is over. */
  withWorkers(): void {
    this.#workersUpAtMs = Math.min(this.#workersUpAtMs, this.#world.agenda.nowMs);
    this.#dispatchMs = 0;
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
