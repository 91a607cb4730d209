/**
 * What the composition root gives to the activities. Tests give their own clock and kill points; product code
 * has no switch for either.
 */
import type { Info } from '@temporalio/activity';
import type { Plan } from '../domain/plan/plan.ts';
import type { Mode, Withdrawal } from '../domain/service/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Closed, HaltedWrite } from '../domain/halt.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { Fact, Instruction, Kept } from '../domain/people/instructions.ts';
import type { ServiceReader, ServiceWriter } from '../service/client.ts';
import type { Question, Scanned } from '../service/list-scan.ts';
import type { PaceClock } from '../service/rate-limiter.ts';
import type { ChunkInput, Go, PlanInput, PlanState } from '../domain/run/calls.ts';
import type { ChunkState } from '../domain/run/chunk-state.ts';
import type { GoneNoted, TurnAnswer } from '../domain/turn.ts';
import type { KeptRefusals } from '../domain/writes/kept-refusals.ts';
import type { Others } from '../domain/writes/gone-runs.ts';
import type { Claims } from '../durable/other-runs/claims.ts';
import type { FoundPlan } from '../durable/plans.ts';
import type { Tell } from './events.ts';
import type { WriteGate } from './write-gate.ts';
import type { NotNow, ScheduledAnswer, ScheduledCall, TrialAnswer } from '../workflows/calls.ts';
import type { TrialInput } from '../workflows/names.ts';

/**
 * How a poll uses a scan that began at most a second before it, and that cannot show what is newer. `never`:
 * not at all, since the poll may be about something newer. `ends with it`: that scan alone answers the poll.
 * `goes on after it`: the poll takes what that scan finds, and asks the next scan only for the rest.
 */
export type Joins = 'never' | 'ends with it' | 'goes on after it';

type OwnFile =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

export type Deps = {
  /** Signs writes, with the worker's key. No activity reads with it. */
  readonly service: ServiceWriter;
  /** Signs reads: with the read key where there is one, else with the same key. */
  readonly reader: ServiceReader;
  /**
   * Looks into the withdrawal list, with `reader`. One scan serves all calls of the worker that ask at about
   * the same moment.
   */
  readonly scans: {
    /** Uses only a scan that begins after this call. `signal` ends the wait for the answer, not the scan. */
    lookUp(question: Question<Withdrawal>, signal: AbortSignal): Promise<Scanned<Withdrawal>>;
    /** Asks what has become of records that are known. */
    poll(
      question: Question<Withdrawal>,
      signal: AbortSignal,
      how: { readonly joins: Joins },
    ): Promise<Scanned<Withdrawal>>;
  };
  readonly facts: ServiceFacts;
  /**
   * What people said, and facts that no reset may lose, as Temporal keeps them. With `chunk`, `read` adds
   * what is kept about the payments of that chunk, and the other calls are about these payments alone.
   * Without it, they are about the run.
   */
  readonly instructions: {
    /**
     * @throws InstructionsMissing when Temporal has no workflow for the instructions of the run; InstructionsPaused when a
     * person has paused it; InstructionsFewer when this worker has read more before
     */
    read(mode: Mode, run: RunName, chunk?: number): Promise<Kept>;
    /** What all Temporal runs of the workflow `instructions` before `runId` hold. */
    readEarlier(mode: Mode, run: RunName, runId: string, chunk?: number): Promise<Kept>;
    /**
     * Opens the workflow that keeps them. With `onlyIfKnown` they must have been kept before: if they are
     * missing, nothing is opened.
     */
    open(mode: Mode, run: RunName, onlyIfKnown: boolean): Promise<void>;
    record(mode: Mode, run: RunName, instruction: Instruction): Promise<void>;
    /** Returns when the facts are kept durably. */
    note(mode: Mode, run: RunName, facts: readonly Fact[], chunk?: number): Promise<void>;
    /** The run ends, so that the workflow that keeps them may end as well. */
    end(mode: Mode, run: RunName, chunk?: number): Promise<void>;
  };
  /** The plans of runs, kept in Temporal. */
  readonly plans: {
    /** Null: Temporal has no workflow `plan` of the run. */
    find(mode: Mode, run: RunName): Promise<FoundPlan | null>;
    /** The Temporal run of `plan` that this start has begun; null: it has begun none. */
    start(input: PlanInput, found: FoundPlan | null): Promise<string | null>;
    /** @param startedRunId what `start` has just said */
    read(mode: Mode, run: RunName, patienceMs: number, startedRunId?: string | null): Promise<PlanState>;
    /**
     * The plan that an earlier `plan` of the same id has made, perhaps in the Temporal run `runId`. Null for `runId`: not
     * there.
     */
    readEarlier(mode: Mode, run: RunName, runId: string | null): Promise<Plan | null>;
  };
  /** The chunks of batches, and the runs that coordinate them, as Temporal shows them. */
  readonly chunks: {
    /**
     * The input with which a Temporal run of a chunk was started, by any program. Without `runId`, that
     * of the newest one.
     */
    readInput(workflowId: string, runId?: string): Promise<ChunkInput | null>;
    /** What the run of a batch says to a chunk. `over`: it has ended by itself. Null: it cannot be asked. */
    readGo(mode: Mode, run: RunName, number: number): Promise<Go | 'over' | null>;
    readState(
      mode: Mode,
      run: RunName,
      number: number,
    ): Promise<{ readonly state: ChunkState; readonly isClosed: boolean } | null>;
    /** Tells a chunk that there is news. False: the chunk has ended, or there is none. */
    tell(mode: Mode, run: RunName, number: number): Promise<boolean>;
    /** Starts a chunk again with the payments that it had. Does nothing where Temporal has no such chunk. */
    startAgain(mode: Mode, run: RunName, number: number): Promise<void>;
    /** Starts the ended run of a batch again, with the input that it had. False: a run is still open. */
    reopenRun(mode: Mode, run: RunName): Promise<boolean>;
  };
  /** One spender at a time: turns of the runs of one organisation. */
  readonly turn: {
    /** Waits for the turn a few seconds at most. */
    take(run: RunName, isPlanning: boolean): Promise<TurnAnswer>;
    /** When this fails, the turn lapses by itself. */
    giveBack(run: RunName, tradedAtMs: number | null): Promise<void>;
    /** Tells the others that a run may take money which takes no turn, or goes on after a reset. */
    reopen(run: RunName): Promise<void>;
    /** What these runs have planned to take, and the service has not taken yet; of those that are gone, what they may have traded. */
    readReserved(others: readonly string[]): Promise<Others>;
    /** Tells the others since when a run is gone. */
    noteGone(gone: GoneNoted): Promise<void>;
    /** These runs take no money any more. */
    forget(runs: readonly RunName[]): Promise<void>;
  };
  /** Whose a record or an item is, by all other runs of ours that Temporal shows. */
  readonly claims: Claims;
  /** What people have halted, in memory (`halt-gate.ts`). */
  readonly halts: {
    /** Null: such a write may leave in this very moment. */
    whyNot(write: HaltedWrite): Closed | null;
    /** When the last reading is too old, waits a little for the next one. */
    settled(write: HaltedWrite): Promise<void>;
  };
  /** What this worker itself has learned of refused generations. Another API key needs another worker. */
  readonly keptRefusals: KeptRefusals;
  /** What the worker's own folder of policies allows. */
  readonly gate: WriteGate;
  /** Starts the run for a schedule's date as the command would, or finds that it is started. */
  readonly startScheduled: (call: ScheduledCall) => Promise<ScheduledAnswer | NotNow>;
  /** Whether it could do that, as this worker is set up. */
  readonly tryScheduled: (input: TrialInput) => Promise<TrialAnswer>;
  /** A file of the worker's own folder (CAMBIST_FILES), by the name that a policy gives it; null: it has no folder. */
  readonly readOwnFile: (name: string, mostBytes: number) => Promise<OwnFile | null>;
  readonly clock: Clock;
  /** Whether Temporal still counts on this attempt of an activity: neither timed out nor taken over by a reset. */
  readonly isCurrentAttempt: (info: Info) => Promise<boolean>;
  /**
   * The newest event of this history behind which a worker may still be at a call that writes, since somebody has completed that call in
   * its place, or has ended the history before; null: there was none for so long.
   */
  readonly completedBeside: (
    of: { readonly workflowId: string; readonly runId: string },
    withinMs: number,
  ) => Promise<number | null>;
  /** Whether this worker is asked to end. An activity that only waits then leaves it to another worker. */
  readonly isStopping: () => boolean;
  /** Told of the moments that the worker reaches, and of what comes of its work. */
  readonly tell: Tell;
};

export type OfBatch = { readonly mode: Mode; readonly run: RunName };

/**
 * The instructions of a run are missing although they were kept once, so that something may look allowed that
 * people have forbidden.
 */
export class InstructionsMissing extends Error {
  override readonly name = 'InstructionsMissing';
}

/** Of what people said, and of facts, this worker has read more before than there is now. `kept`: what there is now. */
export class InstructionsFewer extends Error {
  override readonly name = 'InstructionsFewer';
  /** How many words are missing; 0: only facts are. */
  readonly missing: number;
  readonly kept: Kept;

  constructor(missing: number, kept: Kept) {
    super('Temporal keeps fewer words than before.');
    this.missing = missing;
    this.kept = kept;
  }
}

/**
 * Wall time for how long quotes and windows last, and monotonic time for what a machine that froze must not
 * outlive. Milliseconds.
 */
export type Clock = { readonly wallMs: () => number; readonly monotonicMs: () => number };

/**
 * `wake` calls `callback` once after so long, and returns a function that takes this back. It keeps no
 * process alive. Milliseconds.
 */
export type TimedClock = Clock & Pick<PaceClock, 'wake'>;

export const machineClock: TimedClock = Object.freeze({
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  wake: (afterMs: number, callback: () => void) => {
    const timer = setTimeout(callback, Math.max(afterMs, 0)).unref();
    return () => clearTimeout(timer);
  },
});
