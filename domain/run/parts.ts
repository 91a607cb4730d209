/**
 * What the parts of a run need of it. Paying and tracking (`Paying`) need less than carrying out a leg (`Carrying`), so that a
 * chunk can pay and track as well.
 */
import type { Plan } from '../plan/plan.ts';
import type { Call, RunInput } from './calls.ts';
import type { Ports, StepFailed } from './ports.ts';
import type { RunState } from './state.ts';
import type { Pauses } from './pauses.ts';

/** What paying and tracking need. */
export type Paying = {
  readonly state: Pick<RunState, 'legs' | 'payments' | 'evidence' | 'waiting'>;
  readonly ports: Pick<
    Ports,
    'createWithdrawals' | 'awaitWithdrawals' | 'waitUntil' | 'nowMs' | 'historyIsLong' | 'show'
  >;
  readonly pauses: Pauses;
  readonly lateAfterMs: Pick<Plan['lateAfterMs'], 'withdrawal'>;
  /** So many payments are one call, where there are many; so many of them leave side by side, or all of them (null). */
  readonly slices: { readonly callSize: number; readonly sideBySide: number | null };
  /** Payments are being sent, so that more will soon be accepted. */
  isSending: boolean;
  /** How often payments were released. */
  readonly releases: number;
  /** What every call to an activity says of the run or the chunk. */
  call(): Call;
  /** Carries out a call that writes. A cancel is recorded before it. */
  write<Answer>(call: () => Promise<Answer>): Promise<Answer | StepFailed>;
  /** Goes on in a new history, as soon as no call that writes is under way. */
  leaveLongHistory(): Promise<never>;
  /**
   * Takes up again what another Temporal run has ended. True when there was something.
   * @param runId the Temporal run from which an answer has come; null: nothing is taken up
   */
  takeUp(runId: string | null): boolean;
  /** Sees to it that payments are released that are to be sent again. */
  release(): void;
  /**
   * The Temporal run in which an item ends.
   * @param runId the one that has answered. Null: a chunk has no go at the moment. Then it is the one whose go the chunk had
   * last, so that the item stays as it has ended when that one gives its go again.
   */
  endedIn(runId: string | null): string;
  /** True when only accepted payments are open. */
  isLast(): boolean;
  /** True when the workflow `instructions` was told that the run ends. */
  hasToldEnd: boolean;
  /** Nothing is open now. */
  isIdle(): boolean;
  /** Nothing is open any more, so that paying and tracking end. */
  isOver(): boolean;
};

/** What reading the plan needs. */
export type Reading = Pick<Paying, 'pauses' | 'leaveLongHistory'> & {
  readonly input: RunInput;
  readonly state: RunState;
  readonly ports: Ports;
  /** Keeps a cancel as an instruction, where there is one. */
  keepCancel(): Promise<void>;
};

/** What converting and settling need. */
export type Carrying = Omit<Paying, 'state' | 'ports'> &
  Reading & {
    readonly plan: Plan;
    /** True when the service has accepted an item of the run. Then an item that it refuses as malformed is wrong itself. */
    othersAccepted(): boolean;
    /** Notes that an instruction has cancelled the run. The run's own history may not know of it. */
    knowCancelled(): void;
  };

/** What conducting the chunks of a batch needs. */
export type Conducting = Pick<Reading, 'state' | 'pauses' | 'leaveLongHistory'> & {
  readonly input: Pick<RunInput, 'mode' | 'run'>;
  readonly ports: Pick<Ports, 'readChunks' | 'waitUntil' | 'nowMs' | 'historyIsLong' | 'show'>;
  /** Counts what the run has to tell its chunks. When it is raised, all of them are told. */
  releases: number;
  /** Numbers of chunks that have said that there is news. */
  readonly news: Set<number>;
  takeUp(runId: string): boolean;
  /** The name by which the run's chunks know this Temporal run. */
  knownAs(runId: string): string;
  isOver(): boolean;
  /** What payments wait for, as one text; empty: none waits for anything that people should know of. */
  heldBy: string;
  /** True while the chunks are still read and told. */
  isConducting: boolean;
};
