/**
 * One run of a workflow: the real run, or the real chunk of a batch (`domain/run/`), driven by a history of what it was told.
 * Replayed whenever it is reset or restored; a replay that asks for other things than the history shows is a fault of
 * the workflow code.
 */
import { Run } from '../../../domain/run/run.ts';
import { Chunk, type ChunkPorts } from '../../../domain/run/chunk.ts';
import { HistoryIsLong, RunRefused, StepFailed, type Ports } from '../../../domain/run/ports.ts';
import { newRunState, type RunState, type UndoneItems } from '../../../domain/run/state.ts';
import type { Carried } from '../../../domain/run/carry.ts';
import type {
  ChunkInput,
  GoAnswer,
  Settlement,
  WithdrawalsAnswer,
  RunInput,
  RunTold,
} from '../../../domain/run/calls.ts';

/** What a run is told. */
export type Told =
  | { readonly kind: 'started' }
  | { readonly kind: 'completed'; readonly activity: number; readonly result: unknown }
  /** At all its attempts. */
  | { readonly kind: 'failed'; readonly activity: number }
  | { readonly kind: 'fired'; readonly timer: number }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'wake' }
  /** Of a batch: the chunk of this number has news; or, told to a chunk, its run has. */
  | { readonly kind: 'news'; readonly chunk: number };

/** What a run asks for. */
export type Command =
  | {
      readonly kind: 'activity';
      readonly number: number;
      readonly name: ActivityName;
      readonly args: unknown;
    }
  | { readonly kind: 'timer'; readonly number: number; readonly ms: number }
  | { readonly kind: 'timer over'; readonly number: number }
  | { readonly kind: 'give up'; readonly activity: number };

/** One point of history: what the run was told, and what it asked for then. */
export type Point = News & {
  readonly asked: readonly Command[];
  /** What the task asked and was answered before it was over. */
  readonly answers: readonly RunTold[];
};
/** `clockMs`: what Temporal's clock said then, which need not be the true time. */
export type News = { readonly atMs: number; readonly clockMs: number; readonly told: Told };

export type ActivityName =
  | 'readPlan'
  | 'requestQuote'
  | 'executeTrade'
  | 'createWithdrawals'
  | 'awaitSettlement'
  | 'awaitWithdrawals'
  | 'recordInstruction'
  | 'confirmOutcomes'
  | 'readChunks'
  | 'readGo'
  | 'tellCoordinator';

/** How a run stands in Temporal. */
export type ExecutionStatus = 'open' | 'ended' | 'refused' | 'broken' | 'terminated' | 'continued';

type Condition = {
  readonly holds: () => boolean;
  readonly timer: number | null;
  readonly resolve: (held: boolean) => void;
};

type Identity = {
  readonly runId: string;
  readonly originalRunId: string;
  readonly firstRunId: string;
  readonly startedAtMs: number;
  readonly begunAtMs: number;
  /** What an earlier history of the same run handed on; null at its start. */
  readonly carried: Carried | null;
  /** Points of history after which the run should go on in a new one. */
  readonly longAfter: number;
  /** What the last question of a run with something undone is answered. */
  readonly tellOf: (undone: UndoneItems) => Omit<RunTold, 'runId'>;
};

/** What a workflow is started with. */
export type Input = RunInput | ChunkInput;

/** A Temporal run of a workflow: the real `Run` or `Chunk`, driven by its history. */
export class Execution {
  readonly input: Input;
  readonly runId: string;
  readonly originalRunId: string;
  /** Of the histories that follow one another. */
  readonly firstRunId: string;
  /** As Temporal says it: a reset keeps the start of the run that it was made from. */
  readonly startedAtMs: number;
  readonly begunAtMs: number;
  readonly carried: Carried | null;
  closedAtMs: number | null = null;
  readonly state: RunState;
  readonly history: Point[] = [];
  standing: ExecutionStatus = 'open';
  /** Why the workflow broke or was refused; null while it did neither. */
  error: unknown = null;
  /** Of the workflow `run`; else null. */
  readonly run: Run | null;
  /** Of the workflow `chunk`; else null. */
  readonly chunk: Chunk | null;
  /** As `Identity` has it: a replay must find it long where it was. */
  readonly longAfter: number;
  readonly #results = new Map<number, (result: unknown) => void>();
  readonly #failures = new Map<number, () => void>();
  #conditions: Condition[] = [];
  #asked: Command[] = [];
  #count = 0;
  #nowMs = 0;
  /** Answers of the task that is being replayed; null: it is carried out for the first time. */
  #replayed: readonly RunTold[] | null = null;
  #answers: RunTold[] = [];
  readonly #tellOf: Identity['tellOf'];

  constructor(input: Input, identity: Identity) {
    this.input = input;
    this.runId = identity.runId;
    this.originalRunId = identity.originalRunId;
    this.firstRunId = identity.firstRunId;
    this.startedAtMs = identity.startedAtMs;
    this.begunAtMs = identity.begunAtMs;
    this.carried = identity.carried;
    this.longAfter = identity.longAfter;
    this.#tellOf = identity.tellOf;
    const { policy: name, id } = input.run;
    const hash = 'policyHash' in input ? input.policyHash : '';
    this.state = newRunState(input.run, `sandbox/${name}.${id}`, { name, hash });
    const { carried } = identity;
    this.run = 'policyHash' in input ? new Run(input, this.state, this.#ports(), carried) : null;
    this.chunk = 'policyHash' in input ? null : new Chunk(input, this.state, this.#chunkPorts(), carried);
  }

  /** Tells the run one thing; resolves with what it asks for once it has nothing more to do by itself. */
  /** @param replayed what the task was answered, where it is replayed */
  async tell(news: News, replayed: readonly RunTold[] | null = null): Promise<readonly Command[]> {
    const { told, clockMs } = news;
    this.#replayed = replayed;
    this.#answers = [];
    this.#nowMs = clockMs;
    this.#asked = [];
    switch (told.kind) {
      case 'started':
        void this.#complete();
        break;
      case 'completed':
        this.#results.get(told.activity)?.(told.result);
        this.#results.delete(told.activity);
        break;
      case 'failed':
        this.#failures.get(told.activity)?.();
        this.#failures.delete(told.activity);
        break;
      case 'fired':
        this.#release((condition) => condition.timer === told.timer, false);
        break;
      case 'cancel':
        this.run?.cancel();
        break;
      case 'wake':
        (this.run ?? this.chunk)?.wake();
        break;
      case 'news':
        if (this.run === null) this.chunk?.noteNews();
        else this.run.noteNews(told.chunk);
    }
    do await microtasks();
    while (this.#release((condition) => condition.holds(), true));
    const point: Point = { ...news, asked: this.#asked, answers: this.#answers };
    this.history.push(point);
    return point.asked;
  }

  /**
   * Tells the run an earlier history; what it asks for must be the same. Returns the first difference. A reset that keeps the
   * answers is one of a worker that stood still: which run it was had been recorded before its last task was over.
   */
  async replay(
    points: readonly Point[],
    { wasReset, keepsAnswers }: { readonly wasReset: boolean; readonly keepsAnswers: boolean },
  ): Promise<string | null> {
    for (const point of points) {
      // A reset carries out the last task anew: what it asks for may differ.
      const isAnew = wasReset && point === points.at(-1);
      // History is in order.
      const asked = await this.tell(point, isAnew && !keepsAnswers ? null : point.answers);
      if (isAnew) return null;
      const difference = differenceOf(point.asked, asked);
      if (difference !== null) return difference;
    }
    return null;
  }

  /** Activities and timers of the history that have not come back. */
  pending(): readonly { readonly asked: Command; readonly atMs: number }[] {
    const over = new Set<string>();
    for (const { told, asked } of this.history) {
      if (told.kind === 'completed' || told.kind === 'failed') over.add(`activity ${told.activity}`);
      if (told.kind === 'fired') over.add(`timer ${told.timer}`);
      for (const command of asked) {
        if (command.kind === 'timer over') over.add(`timer ${command.number}`);
        if (command.kind === 'give up') over.add(`activity ${command.activity}`);
      }
    }
    return this.history.flatMap(({ atMs, asked }) =>
      asked
        .filter(
          (command) =>
            (command.kind === 'activity' || command.kind === 'timer') &&
            !over.has(`${command.kind} ${command.number}`),
        )
        .map((command) => ({ asked: command, atMs })),
    );
  }

  async #complete(): Promise<void> {
    try {
      await (this.run ?? this.chunk)?.complete();
      this.standing = 'ended';
    } catch (error) {
      this.error = error;
      this.standing =
        error instanceof HistoryIsLong ? 'continued' : error instanceof RunRefused ? 'refused' : 'broken';
    }
  }

  /** What the next history of the run begins with. */
  handOn(): Carried {
    const open = this.run ?? this.chunk;
    if (open === null) throw new RangeError('It is neither a run nor a chunk.');
    return open.handOn();
  }

  /** Lets every chosen wait go on; true when there was one. */
  #release(chosen: (condition: Condition) => boolean, held: boolean): boolean {
    const released = this.#conditions.filter(chosen);
    if (released.length === 0) return false;
    this.#conditions = this.#conditions.filter((condition) => !released.includes(condition));
    for (const { resolve, timer } of released) {
      if (held && timer !== null) this.#asked.push({ kind: 'timer over', number: timer });
      resolve(held);
    }
    return true;
  }

  #ports(): Ports {
    const activity =
      <Result>(name: ActivityName) =>
      (args: unknown): Promise<Result> =>
        this.#ask<Result>(name, args).result;
    return {
      readPlan: activity('readPlan'),
      requestQuote: activity('requestQuote'),
      executeTrade: activity('executeTrade'),
      createWithdrawals: activity('createWithdrawals'),
      recordInstruction: activity('recordInstruction'),
      tellRun: async (undone) => {
        const now = { runId: this.runId, ...(undone !== null && this.#tellOf(undone)) };
        const told = this.#replayed?.[this.#answers.length] ?? now;
        this.#answers.push(told);
        return told;
      },
      tellEnd: async () => {},
      confirmOutcomes: activity('confirmOutcomes'),
      readChunks: activity('readChunks'),
      awaitWithdrawals: (call) => {
        const { result, giveUp } = this.#ask<WithdrawalsAnswer>('awaitWithdrawals', call);
        return { answer: result, giveUp };
      },
      awaitSettlement: (call) => {
        const { result, giveUp } = this.#ask<Settlement>('awaitSettlement', call);
        return { answer: result, giveUp };
      },
      waitUntil: (holds, timeoutMs) =>
        new Promise((resolve) => {
          if (holds()) {
            resolve(true);
            return;
          }
          const timer = timeoutMs === undefined ? null : (this.#count += 1);
          if (timer !== null) this.#asked.push({ kind: 'timer', number: timer, ms: timeoutMs ?? 0 });
          this.#conditions.push({ holds, timer, resolve });
        }),
      nowMs: () => this.#nowMs,
      historyIsLong: () => this.history.length >= this.longAfter,
      runId: this.runId,
      originalRunId: this.originalRunId,
      firstRunId: this.firstRunId,
      show: () => {},
    };
  }

  /** A signal to the coordinator is answered like a call: it is there, or nobody hears it. */
  #chunkPorts(): ChunkPorts {
    return {
      ...this.#ports(),
      readGo: (call) => this.#ask<GoAnswer>('readGo', call).result,
      tellCoordinator: () => this.#ask<void>('tellCoordinator', null).result,
    };
  }

  #ask<Result>(name: ActivityName, args: unknown): { result: Promise<Result>; giveUp: () => void } {
    const number = (this.#count += 1);
    this.#asked.push({ kind: 'activity', number, name, args });
    let reject: (error: Error) => void = () => {};
    const result = new Promise<Result>((resolve, refuse) => {
      reject = refuse;
      this.#results.set(number, (value) => resolve(value as Result));
      this.#failures.set(number, () => refuse(new StepFailed('it failed at all its attempts')));
    });
    const giveUp = (): void => {
      this.#asked.push({ kind: 'give up', activity: number });
      reject(new Error('given up'));
    };
    return { result, giveUp };
  }
}

/** Lets everything that is ready run. */
function microtasks(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Histories are compared as they are kept: as text. Ids of instructions count as little as in Temporal, which compares no arguments. */
function differenceOf(before: readonly Command[], now: readonly Command[]): string | null {
  for (let index = 0; index < Math.max(before.length, now.length); index += 1) {
    const [a, b] = [textOf(before[index]), textOf(now[index])];
    if (a !== b) return `history has ${a ?? 'nothing'}, the replay asks for ${b ?? 'nothing'}`;
  }
  return null;
}

function textOf(asked: Command | undefined): string | undefined {
  return JSON.stringify(asked)?.replace(/"cancel-run-\d+"/, '');
}
