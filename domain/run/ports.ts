/** What a run awaits or asks of the world: the activities, durable waits, and its own facts. `workflows/run.ts` gives it. */
import type { Instruction } from '../people/instructions.ts';
import type { RunName } from '../references.ts';
import type { Mode } from '../service/records.ts';
import type { Problem } from '../problems.ts';
import type {
  ChunksAnswer,
  ChunksCall,
  ConfirmCall,
  Confirmed,
  LegAnswer,
  LegCall,
  PaymentsAnswer,
  PaymentsCall,
  PlanAnswer,
  PlanInput,
  Settlement,
  SettlementCall,
  TradedCall,
  WithdrawalsAnswer,
  WithdrawalsCall,
} from './calls.ts';

/** A poll that may be given up. */
export type Poll<Answer> = { readonly answer: Promise<Answer>; readonly giveUp: () => void };

export type Ports = {
  readPlan(input: Omit<PlanInput, 'askedBy'>): Promise<PlanAnswer>;
  requestQuote(call: LegCall | TradedCall): Promise<LegAnswer>;
  executeTrade(call: LegCall): Promise<LegAnswer>;
  awaitSettlement(call: SettlementCall): Poll<Settlement>;
  createWithdrawals(call: PaymentsCall): Promise<PaymentsAnswer>;
  awaitWithdrawals(call: WithdrawalsCall): Poll<WithdrawalsAnswer>;
  confirmOutcomes(call: ConfirmCall): Promise<Confirmed>;
  readChunks(call: ChunksCall): Promise<ChunksAnswer>;
  recordInstruction(call: {
    readonly mode: Mode;
    readonly run: RunName;
    /** Its id is the Temporal run's: pressed again in another one, it is said again. */
    readonly instruction: Omit<Extract<Instruction, { kind: 'cancel' }>, 'id'>;
  }): Promise<void>;
  /**
   * Which Temporal run this is, asked in the task that may end it: a reset to any event asks anew (but see `runThatGoesOn`).
   * Workflow code that branched on its own id would break replay; what was answered is history.
   */
  tellRun(): Promise<{ readonly runId: string }>;
  /** Tells what keeps people's instructions that the run ends. */
  tellEnd(): Promise<void>;
  /**
   * Pauses until `condition` holds, at most `timeoutMs`; false when the time was up.
   * @param why what people read beside the timer
   */
  waitUntil(condition: () => boolean, timeoutMs?: number, why?: string): Promise<boolean>;
  nowMs(): number;
  /** The history has grown so long that the run should go on in a new one. */
  historyIsLong(): boolean;
  /** Id and `originalExecutionRunId` (another one after a reset) of the Temporal run. */
  readonly runId: string;
  readonly originalRunId: string;
  /** Called whenever the state has changed: shows it to people. */
  show(): void;
};

/**
 * Asks, last of all, which Temporal run this is. Returns it where `goesOn` finds something to do for it; null: it may end. A
 * worker that stands still for seconds lets Temporal record an answer before the task that asked is over, so that a reset keeps
 * what an earlier run was told: nothing ends by such an answer, and it is asked once more. Where nothing was reset there is no
 * other run.
 */
export async function runThatGoesOn(
  { tellRun, runId: own, originalRunId }: Pick<Ports, 'tellRun' | 'runId' | 'originalRunId'>,
  goesOn: (runId: string) => boolean,
): Promise<string | null> {
  for (;;) {
    const { runId } = await tellRun();
    if (goesOn(runId)) return runId;
    const isKept = own !== originalRunId && runId !== own;
    if (!isKept) return null;
  }
}

/** The run cannot go on: no plan, another policy, a broken invariant. Carries what a person must know. */
export class RunRefused extends Error {
  override readonly name = 'RunRefused';
  readonly code: string;
  readonly problems: readonly Problem[];

  constructor(code: string, message: string, problems: readonly Problem[]) {
    super(message);
    this.code = code;
    this.problems = problems;
  }
}

/** A call that failed at all its attempts: people are told, and it is tried again later. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

/** The failure of a step as an answer; everything else is thrown on. */
export function failed(error: unknown): StepFailed {
  if (error instanceof StepFailed) return error;
  throw error;
}

/** Not a failure: the run must go on in a new history, with what it knows carried over. */
export class HistoryIsLong extends Error {
  override readonly name = 'HistoryIsLong';
}
