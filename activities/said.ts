/**
 * What people have said about the run of a call and, for a chunk of a batch, the go of the run. Together they decide
 * whether anything may leave. The driver reads them before it sends for an item, and checks them again when a write leaves.
 */
import { isDeepStrictEqual } from 'node:util';
import { makeProblem, type Problem } from '../domain/problems.ts';
import { runName, type RunName } from '../domain/references.ts';
import type { Fact, Kept } from '../domain/people/instructions.ts';
import type { Call, Go } from '../domain/run/calls.ts';
import { payerOf } from '../domain/run/payer.ts';
import type { Wait } from '../domain/waits.ts';
import { isNewStart } from '../domain/writes/doubt.ts';
import { SLOW_LOOKUP_MS, type Attempt } from '../domain/writes/step.ts';
import { InstructionsPaused, InstructionsUnreadable } from '../durable/instructions/read.ts';
import { InstructionsFewer, InstructionsMissing, type Deps } from './deps.ts';
import { ageMs, type Moment } from './moment.ts';
import { SHARED_READ_MS, SharedRead, type SharedReads } from './shared-read.ts';

/**
 * A call may begin with what other calls have read, if that is no older than this. The calls of a chunk follow each
 * other quickly.
 */
const ACROSS_CALLS_MS = 1_000;

/**
 * A write that is found to be wanted must leave within this time, or it does not leave at all. It is signed in this
 * time, and may need a connection.
 */
export const LEAVES_WITHIN_MS = 3_000;

/**
 * A write may leave the driver so long after the read of the instructions began. So it leaves the machine within 10 s
 * of that.
 */
const HEEDED_MS = 10_000 - LEAVES_WITHIN_MS;

/** How soon a run looks whether its instructions go on, and whether all of them are there again. */
const LOOK_AGAIN_MS = 60_000;

const NEWLY_SAID = 'a person has said something meanwhile; it is left to the next attempt';
export const TOO_LATE = 'this attempt took too long; it is left to the next one';

/**
 * What decides whether anything may leave, read together. `go`: null where the call belongs to no chunk, or no run
 * gives a go.
 */
export type Said = { readonly kept: Kept; readonly go: Go | 'over' | null };

/** The instructions that the steps of an item used, and when their read began. */
export type Heeded = { readonly kept: Kept; readonly at: Moment };

/** What is said, as one call reads it. */
export class SaidForCall {
  readonly #deps: Deps;
  readonly #call: Call;
  readonly #runId: string;
  readonly #said: SharedRead<Said>;
  /** What other calls have read, by their Temporal run; null: this kind of call shares nothing. */
  readonly #saidToOthers: SharedReads<Said> | null;
  /** True once this call has read the instructions. */
  #hasRead = false;
  /** The Temporal run of the coordinator whose go was read last; null: the call belongs to no chunk. */
  #coordinator: string | null = null;
  #stopped: Problem | null = null;

  constructor(deps: Deps, call: Call, attempt: Attempt, saidToOthers: SharedReads<Said> | null) {
    this.#deps = deps;
    this.#call = call;
    this.#runId = attempt.runId;
    this.#saidToOthers = saidToOthers;
    const ask = (): Promise<Said> => readSaid(deps, call);
    const isShared = saidToOthers !== null && isUndisturbed(call, attempt);
    this.#said = isShared ? saidToOthers.get(attempt.runId, ask) : new SharedRead(deps.clock, ask);
  }

  /** Who pays: the Temporal run, or the payer that a chunk is. Null: a chunk that has no go. */
  get payer(): string | null {
    if (this.#call.chunk === undefined) return this.#runId;
    return this.#coordinator === null
      ? null
      : payerOf({ coordinator: this.#coordinator, chunk: this.#runId });
  }

  /** Why nothing more of the batch may be sent, as its run said last; null: it may. */
  get stopped(): Problem | null {
    return this.#stopped;
  }

  /**
   * Reads the instructions. A chunk may send only while its run is open and gives it a go, so that the go is read with
   * them. @throws WithoutGo
   */
  async read(): Promise<Heeded> {
    const { at, value } = this.#said.read(this.#hasRead ? SHARED_READ_MS : ACROSS_CALLS_MS);
    this.#hasRead = true;
    const { kept, go } = await value;
    if (this.#call.chunk !== undefined) {
      if (go === null || go === 'over' || !go.mayGo) {
        this.#said.forget();
        throw new WithoutGo();
      }
      this.#coordinator = go.runId;
      this.#stopped = go.stopped;
    }
    return { kept, at };
  }

  /** The wait that follows when `read` has thrown this; null: the error says nothing about instructions or go. */
  waitAfter(error: unknown): Wait | null {
    return error instanceof WithoutGo ? error.wait : withoutInstructions(error, this.#call.plan.run);
  }

  /**
   * Says why the instructions do not allow the write any more; null: they do. If the shared read is too old, it reads
   * them again. They must still be the same.
   */
  async whyNotHeeded(heeded: Heeded | null): Promise<string | null> {
    const { clock } = this.#deps;
    if (heeded === null || ageMs(clock, heeded.at) <= SHARED_READ_MS) return null;
    const again = await this.read();
    if (!isDeepStrictEqual(again.kept, heeded.kept)) return NEWLY_SAID;
    return ageMs(clock, again.at) <= HEEDED_MS ? null : TOO_LATE;
  }

  /** Records facts in Temporal. False: Temporal did not take them, so that what follows from them must wait. */
  async note(facts: readonly Fact[]): Promise<boolean> {
    const { chunk, plan } = this.#call;
    const { run, credentials } = plan;
    // An API key is recorded with the run. A fact about a payment is recorded with its chunk.
    const isOfRun = facts.some(({ kind }) => kind === 'api key');
    try {
      await this.#deps.instructions.note(credentials.mode, run, facts, isOfRun ? undefined : chunk);
      return true;
    } catch {
      return false;
    } finally {
      // The next question must see these facts.
      this.#said.forget();
      this.#saidToOthers?.forget(this.#runId);
    }
  }
}

/**
 * True for payments that no call has had before, in a chunk that is fresh. Any other call must read the instructions itself,
 * after its own beginning: perhaps a new instruction has woken a payment that waited, or another worker has sent one before.
 */
function isUndisturbed(call: Call & { readonly isFirstTry?: true }, attempt: Attempt): boolean {
  const { chunk, isFirstTry = false } = call;
  return chunk !== undefined && isFirstTry && attempt.number === 1 && !isNewStart({ ...call, attempt });
}

async function readSaid(deps: Deps, { plan, chunk }: Call): Promise<Said> {
  const { run, credentials } = plan;
  const [kept, go] = await Promise.all([
    deps.instructions.read(credentials.mode, run, chunk),
    chunk === undefined ? null : deps.chunks.readGo(credentials.mode, run, chunk),
  ]);
  return { kept, go };
}

/** The coordinator of the chunk has given no go, or has ended. */
class WithoutGo extends Error {
  override readonly name = 'WithoutGo';
  readonly wait: Wait = { afterMs: 60_000, reason: 'service', problem: makeProblem('CHUNK_WAITS', null) };
}

/** The wait where the instructions of a run are paused, missing or unreadable, or some of them are; null: the error says something else. */
export function withoutInstructions(error: unknown, run: RunName): Wait | null {
  if (error instanceof InstructionsPaused)
    return { afterMs: LOOK_AGAIN_MS, reason: 'person', problem: instructionsPaused(error) };
  if (error instanceof InstructionsFewer)
    return { afterMs: LOOK_AGAIN_MS, reason: 'person', problem: instructionsFewer(run, error) };
  if (error instanceof InstructionsUnreadable)
    return { afterMs: LOOK_AGAIN_MS, reason: 'person', problem: instructionsUnreadable(error) };
  if (!(error instanceof InstructionsMissing)) return null;
  return { afterMs: SLOW_LOOKUP_MS, reason: 'person', problem: instructionsMissing(run) };
}

function instructionsPaused({ workflowId }: InstructionsPaused): Problem {
  return makeProblem('INSTRUCTIONS_PAUSED', null, {
    message: `A person has paused the workflow ${workflowId} in Temporal. Until it goes on, Cambist keeps nothing that people say about the run, not even a cancel, and nothing is sent.`,
  });
}

function instructionsUnreadable({ workflowId }: InstructionsUnreadable): Problem {
  return makeProblem('INSTRUCTIONS_UNREADABLE', null, {
    message: `The workflow ${workflowId} keeps something that was said about the run, perhaps a cancel, and this worker cannot read it. Nothing is sent without it.`,
  });
}

function instructionsFewer(run: RunName, { missing }: InstructionsFewer): Problem {
  const what =
    missing === 0
      ? 'Facts about its sends'
      : `${missing} ${missing === 1 ? 'thing that somebody' : 'things that people'} said`;
  return makeProblem('INSTRUCTIONS_FEWER', null, {
    message: `${what} about run ${runName(run)}, which this worker or one before it has read, ${missing === 1 ? 'is' : 'are'} not in Temporal any more. Nothing is sent without it.`,
  });
}

function instructionsMissing(run: RunName): Problem {
  return makeProblem('INSTRUCTIONS_MISSING', null, {
    message: `What people said about run ${runName(run)} (a cancel, a decision, paying again) is not in Temporal any more. Nothing is sent without it.`,
  });
}
