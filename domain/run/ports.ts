/**
 * What a run awaits or asks from outside: the activities, durable waits, and facts about itself.
 * `workflows/run.ts` gives it.
 */
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
  RunTold,
} from './calls.ts';
import type { UndoneItems } from './state.ts';

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
    /**
     * The activity makes its id from the Temporal run. If the button is pressed again in another Temporal
     * run, that is another instruction.
     */
    readonly instruction: Omit<Extract<Instruction, { kind: 'cancel' }>, 'id'>;
  }): Promise<void>;
  /**
   * Which Temporal run this is, asked in the task that may end it, so that after a reset to any event it is
   * asked anew (but see `runThatGoesOn`). Workflow code that decided by its own id would break replay. An
   * answer of an activity is in the history. `undone`: items about which the service is asked too; null: none. No person
   * can give this answer in its place.
   */
  tellRun(undone: UndoneItems | null): Promise<RunTold>;
  /** Tells the workflow that keeps people's instructions that the run ends. */
  tellEnd(): Promise<void>;
  /**
   * Pauses until `condition` holds, at most `timeoutMs`; false when the time was up.
   * @param why what people read beside the timer
   */
  waitUntil(condition: () => boolean, timeoutMs?: number, why?: string): Promise<boolean>;
  nowMs(): number;
  /** True when the history is so long that the run should go on in a new one. */
  historyIsLong(): boolean;
  /** The id of the Temporal run, and its `originalExecutionRunId`, which differs after a reset. */
  readonly runId: string;
  readonly originalRunId: string;
  /** The Temporal run with which the histories that follow one another began. Temporal says it, and no history hands it on. */
  readonly firstRunId: string;
  /** Shows the state to people. The run calls this whenever the state has changed. */
  show(): void;
};

/** What a run and its chunks ask of Temporal in the same way. */
export type SharedPorts = Pick<
  Ports,
  | 'confirmOutcomes'
  | 'awaitWithdrawals'
  | 'waitUntil'
  | 'nowMs'
  | 'tellRun'
  | 'historyIsLong'
  | 'runId'
  | 'originalRunId'
  | 'firstRunId'
>;

/**
 * Asks, last of all, which Temporal run this is. Returns that run if `goesOn` finds something to do in it;
 * null: the run may end. When a worker stands still for seconds, Temporal may record the answer before the
 * task that asked is over. A reset then keeps the answer that an earlier Temporal run got. Such an answer
 * ends nothing: the run asks once more. Without a reset, there is no other Temporal run.
 */
export async function runThatGoesOn(
  { tellRun, runId: own, originalRunId }: Pick<Ports, 'tellRun' | 'runId' | 'originalRunId'>,
  goesOn: (runId: string, done: readonly string[]) => boolean,
  ends: Ends = NO_ENDS,
): Promise<string | null> {
  for (;;) {
    const { runId, done = [], beside } = await tellRun(ends.items());
    if (goesOn(runId, done)) return runId;
    // One after the other.
    if (await ends.waitFor(beside)) continue;
    const isKept = own !== originalRunId && runId !== own;
    if (!isKept) return null;
  }
}

/** As `UndoneEnds` has them. */
type Ends = {
  readonly items: () => UndoneItems | null;
  readonly waitFor: (beside: RunTold['beside']) => Promise<boolean>;
};
const NO_ENDS: Ends = { items: () => null, waitFor: async () => false };

/**
 * The run cannot go on: it has no plan, a plan for another policy, or a broken invariant. Carries what a
 * person must know.
 */
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

/**
 * A call that has ended without an answer of its own: it failed at all its attempts, or a person ended it. People are
 * told, and it is tried again later. If it may write, what it has sent is in doubt.
 */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

/** The failure of a step, as an answer. Any other error is thrown on. */
export function failed(error: unknown): StepFailed {
  if (error instanceof StepFailed) return error;
  throw error;
}

/** A poll that is under way, until it has answered or is given up. */
export class OpenPoll<Answer> {
  isOpen = true;
  readonly #poll: Poll<Answer>;

  constructor(poll: Poll<Answer>) {
    this.#poll = poll;
    const close = (): void => {
      this.isOpen = false;
    };
    poll.answer.then(close, close);
  }

  /** Its answer; null: it had none yet, and is given up. */
  async end(): Promise<Answer | StepFailed | null> {
    const { answer, giveUp } = this.#poll;
    if (!this.isOpen) return answer.catch(failed);
    giveUp();
    await answer.catch(() => undefined);
    return null;
  }
}

/** Not a failure: the run must go on in a new history, with what it knows carried over. */
export class HistoryIsLong extends Error {
  override readonly name = 'HistoryIsLong';
}

/** Carries out calls that write. No new history begins during such a call, because what it learns would be lost. */
export class Writes {
  readonly #ports: Pick<Ports, 'historyIsLong' | 'waitUntil'>;
  #underWay = 0;

  constructor(ports: Pick<Ports, 'historyIsLong' | 'waitUntil'>) {
    this.#ports = ports;
  }

  async make<Answer>(call: () => Promise<Answer>): Promise<Answer | StepFailed> {
    if (this.#ports.historyIsLong()) await this.leaveLongHistory();
    this.#underWay += 1;
    try {
      return await call().catch(failed);
    } finally {
      this.#underWay -= 1;
    }
  }

  async leaveLongHistory(): Promise<never> {
    await this.#ports.waitUntil(() => this.#underWay === 0);
    throw new HistoryIsLong();
  }
}
