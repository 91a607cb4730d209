/** What the parts of a run take of it: paying and tracking (`Paying`) take less than carrying out a leg (`Carrying`). */
import type { Plan } from '../plan/plan.ts';
import type { Call, RunInput } from './calls.ts';
import type { Ports, StepFailed } from './ports.ts';
import type { RunState } from './state.ts';
import type { Pauses } from './pauses.ts';

/** What paying and tracking take. */
export type Paying = {
  readonly state: Pick<RunState, 'legs' | 'payments' | 'evidence' | 'waiting'>;
  readonly ports: Pick<
    Ports,
    'createWithdrawals' | 'awaitWithdrawals' | 'waitUntil' | 'nowMs' | 'historyIsLong' | 'show'
  >;
  readonly pauses: Pauses;
  readonly lateAfterMs: Pick<Plan['lateAfterMs'], 'withdrawal'>;
  /** So many payments of one call leave side by side; null: all of them. */
  readonly sideBySide: number | null;
  /** So many payments are one call, where there are many. */
  readonly callSize: number;
  /** Payments are being sent, so that more will soon be accepted. */
  isSending: boolean;
  /** Counts releases of payments. */
  readonly releases: number;
  /** What every call says. */
  call(): Call;
  /** Carries out a call that writes; a cancel is kept before. */
  write<Answer>(call: () => Promise<Answer>): Promise<Answer | StepFailed>;
  /** Goes on in a new history, as soon as no call that writes is under way. */
  leaveLongHistory(): Promise<never>;
  /** An answer has come from this Temporal run: takes up what another one has ended. Null: nothing is taken up. */
  takeUp(runId: string | null): boolean;
  /** Payments are to be sent that were not before: sees to it that they are released. */
  release(): void;
  /**
   * The Temporal run in which an item ends: the one that has answered. For a chunk that has no go at the moment (null), it is
   * the one whose go the chunk had last: when that one gives its go again, the item stays as it has ended.
   */
  endedIn(runId: string | null): string;
  /** Nothing is open but what is tracked. */
  isLast(): boolean;
  /** Whether what keeps people's instructions was told that the run ends. */
  hasToldEnd: boolean;
  /** Nothing is open now. */
  isIdle(): boolean;
  /** Nothing is open any more, so that paying and tracking end. */
  isOver(): boolean;
};

/** What reading the plan takes. */
export type Reading = Pick<Paying, 'pauses' | 'leaveLongHistory'> & {
  readonly input: RunInput;
  readonly state: RunState;
  readonly ports: Ports;
  /** Keeps a cancel as an instruction, where there is one. */
  keepCancel(): Promise<void>;
};

/** What converting and settling take. */
export type Carrying = Omit<Paying, 'state' | 'ports'> &
  Reading & {
    readonly plan: Plan;
    /** Whether the service has accepted any item: tells a wrong item from a fault of ours. */
    othersAccepted(): boolean;
    /** The run was cancelled by an instruction that its history may know nothing of. */
    knowCancelled(): void;
  };
