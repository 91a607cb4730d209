/**
 * What the activities are given by the composition root. Tests give their own clock and kill points; product code has
 * no switch for either.
 */
import type { Info } from '@temporalio/activity';
import type { Plan } from '../domain/plan/plan.ts';
import type { Mode, Withdrawal } from '../domain/service/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Closed, HaltedWrite } from '../domain/halt.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { Fact, Instruction, Kept } from '../domain/people/instructions.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Question, Scanned } from '../service/list-scan.ts';
import type { PaceClock } from '../service/rate-limiter.ts';
import type { ChunkInput, Go, PlanInput, PlanState } from '../domain/run/calls.ts';
import type { ChunkState } from '../domain/run/chunk-state.ts';
import type { OthersReserved } from '../domain/plan/reserved.ts';
import type { TurnAnswer } from '../domain/turn.ts';
import type { Rival } from '../domain/writes/step.ts';
import type { NotNow, ScheduledAnswer, ScheduledCall } from '../workflows/calls.ts';

/**
 * What a poll takes of a scan that began at most a second before, which lacks what is newer. `never`: nothing, since what it wants
 * to know may be newer. `ends with it`: that is all it wants. `goes on after it`: the next scan reads what is missing, and no more.
 */
export type Joins = 'never' | 'ends with it' | 'goes on after it';

export type Deps = {
  /** Signs writes, with the worker's key. */
  readonly service: ServiceClient;
  /** Signs looks: the read key where there is one, else the same as `service`. */
  readonly reader: ServiceClient;
  /** Looks into the withdrawal list, by `reader`: one scan for all calls of the worker that ask at about the same moment. */
  readonly scans: {
    /** By a scan that begins after this. `signal` ends the wait for the answer, not the scan. */
    lookUp(question: Question<Withdrawal>, signal: AbortSignal): Promise<Scanned<Withdrawal>>;
    /** For what a record that is known has come to. */
    poll(
      question: Question<Withdrawal>,
      signal: AbortSignal,
      how: { readonly joins: Joins },
    ): Promise<Scanned<Withdrawal>>;
  };
  readonly facts: ServiceFacts;
  /**
   * What people said, and facts that no reset may lose, kept in Temporal. `chunk`: with what is kept about its payments, where
   * it is read, or about those alone; absent: what is kept about the run.
   */
  readonly instructions: {
    /** @throws InstructionsMissing where Temporal knows of nothing that would keep what is said about the run */
    read(mode: Mode, run: RunName, chunk?: number): Promise<Kept>;
    /** What every Temporal run of the workflow `instructions` before this one holds. */
    readEarlier(mode: Mode, run: RunName, runId: string, chunk?: number): Promise<Kept>;
    /** Opens what keeps them. Where they must have been kept before (`onlyIfKnown`) and are not, nothing is opened. */
    open(mode: Mode, run: RunName, onlyIfKnown: boolean): Promise<void>;
    record(mode: Mode, run: RunName, instruction: Instruction): Promise<void>;
    /** Returns when the facts are kept durably. */
    note(mode: Mode, run: RunName, facts: readonly Fact[], chunk?: number): Promise<void>;
    /** The run ends: what keeps them may end as well. */
    end(mode: Mode, run: RunName, chunk?: number): Promise<void>;
  };
  /** The plans of runs, kept in Temporal. */
  readonly plans: {
    start(input: PlanInput): Promise<void>;
    read(mode: Mode, run: RunName, patienceMs: number): Promise<PlanState>;
    /** Whether a plan was made, whatever became of what was said since. */
    isMade(mode: Mode, run: RunName): Promise<boolean>;
    /** What the newest workflow `plan` was started with, by whoever started it; null where there is none. */
    readInput(mode: Mode, run: RunName): Promise<PlanInput | null>;
    /** The plan of an earlier completed `plan` of the same id; `runId` is a Temporal run that may be it. */
    readEarlier(mode: Mode, run: RunName, runId: string): Promise<Plan | null>;
  };
  /** The chunks of batches and who coordinates them, as Temporal shows them. */
  readonly chunks: {
    /** What a Temporal run of a chunk was started with, by whoever started it; the newest where none is named. */
    readInput(workflowId: string, runId?: string): Promise<ChunkInput | null>;
    /** What the run of a batch says to one of its chunks; `over`: it has ended by itself. Null: nobody can be asked. */
    readGo(mode: Mode, run: RunName, number: number): Promise<Go | 'over' | null>;
    readState(
      mode: Mode,
      run: RunName,
      number: number,
    ): Promise<{ readonly state: ChunkState; readonly isClosed: boolean } | null>;
    /** False: it has ended, or there is none. */
    tell(mode: Mode, run: RunName, number: number): Promise<boolean>;
    /** With the payments that it had; nothing where Temporal has none. */
    startAgain(mode: Mode, run: RunName, number: number): Promise<void>;
    /** Starts the run of a batch again that has ended, with what it was started with. False: one is open. */
    reopenRun(mode: Mode, run: RunName): Promise<boolean>;
  };
  /** One spender at a time: turns of the runs of one organisation. */
  readonly turn: {
    /** Waits for the turn a few seconds at most. */
    take(run: RunName, isPlanning: boolean): Promise<TurnAnswer>;
    /** What cannot be given back lapses by itself. */
    giveBack(run: RunName, mayHaveTraded: boolean): Promise<void>;
    /** A run that takes no turn, or goes on after a reset, may take money. */
    reopen(run: RunName): Promise<void>;
    /** What these open runs have planned and the service has not taken yet. */
    readReserved(others: readonly string[]): Promise<readonly OthersReserved[]>;
  };
  /** Other runs of ours, as Temporal shows them. */
  readonly otherRuns: {
    /** Ids of those records that another run, or another item of this one's batch, counts as its own. */
    recordsOf(
      mode: Mode,
      run: RunName,
      records: readonly Withdrawal[],
      withinMs: number,
    ): Promise<readonly string[]>;
    /** Which other run of the same policy and date has done the item of this name, holds it, or may have done it. */
    doneElsewhere(mode: Mode, run: RunName, item: string): Promise<Rival>;
    /** Those of which Temporal knows nothing at all: neither the run, nor its plan, nor what people said about it. */
    unknown(mode: Mode, runs: readonly RunName[]): Promise<readonly RunName[]>;
    /** For so long Temporal keeps what has ended. */
    keptForMs(): Promise<number>;
  };
  /** Other batches of the same policy, as Temporal shows them: nobody is paid by two. Names are as of `nameOfPayment`. */
  readonly otherBatches: {
    /** Chunks that were open since then, and may have some of these payments too. */
    suspects(of: OfBatch, names: readonly string[], sinceMs: number): Promise<readonly Suspect[]>;
    /** Which of them they have paid or hold, and which run that is; `silent`: one that does not answer. */
    holders(
      mode: Mode,
      suspects: readonly Suspect[],
    ): Promise<{ readonly held: ReadonlyMap<string, Holder>; readonly silent: string | null }>;
    /** Those planned before this one that it may not have seen when it was planned at `madeAtMs`. */
    plannedBeside(of: OfBatch, madeAtMs: number): Promise<readonly RunName[]>;
  };
  /** What people have halted, in memory (`halt-gate.ts`). */
  readonly halts: {
    /** Null: such a write may leave in this very moment. */
    whyNot(write: HaltedWrite): Closed | null;
    /** Waits a little for a reading that is late. */
    settled(write: HaltedWrite): Promise<void>;
  };
  /** Starts the run of a schedule's date as the command would, or finds it there. */
  readonly startScheduled: (call: ScheduledCall) => Promise<ScheduledAnswer | NotNow>;
  readonly clock: Clock;
  /** Whether Temporal still counts on this attempt of an activity: neither timed out nor taken over by a reset. */
  readonly isCurrentAttempt: (info: Info) => Promise<boolean>;
  /** Whether this worker has been asked to end: what only waits leaves its place to another worker. */
  readonly isStopping: () => boolean;
  /** Named moments before and after every effect, poll and result; a no-op but in tests that kill the process there. */
  readonly reached: (point: string) => void;
};

/** `withdrawalId`: of the record by which it has paid; null: it may still pay. */
export type Holder = { readonly run: string; readonly withdrawalId: string | null };
export type OfBatch = { readonly mode: Mode; readonly run: RunName };
export type Suspect = { readonly run: RunName; readonly number: number; readonly names: readonly string[] };

/** What people said about a run is not there, although it was kept once: what was forbidden may look allowed. */
export class InstructionsMissing extends Error {
  override readonly name = 'InstructionsMissing';
}

/** Wall time for lives and send windows, monotonic time for what a frozen machine must not outlive. Milliseconds. */
export type Clock = { readonly wallMs: () => number; readonly monotonicMs: () => number };

/** `wake` calls once after so long; what it returns takes the call back. No process lives on for it. Milliseconds. */
export type TimedClock = Clock & Pick<PaceClock, 'wake'>;

export const machineClock: TimedClock = Object.freeze({
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  wake: (afterMs: number, callback: () => void) => {
    const timer = setTimeout(callback, Math.max(afterMs, 0)).unref();
    return () => clearTimeout(timer);
  },
});
