/**
 * What the activities are given by the composition root. Tests give their own clock and kill points; product code has
 * no switch for either.
 */
import type { Info } from '@temporalio/activity';
import type { Plan } from '../domain/plan.ts';
import type { Mode } from '../domain/records.ts';
import type { RunName } from '../domain/references.ts';
import type { ServiceFacts } from '../domain/service-facts.ts';
import type { Word } from '../domain/words.ts';
import type { ServiceClient } from '../service/client.ts';
import type { PinInput, PinState } from '../workflows/names.ts';

export type Deps = {
  /** Signs writes, with the worker's key. */
  readonly service: ServiceClient;
  /** Signs looks: the read key where there is one, else the same as `service`. */
  readonly reader: ServiceClient;
  readonly facts: ServiceFacts;
  /** People's words, kept in Temporal. */
  readonly words: {
    read(mode: Mode, run: RunName): Promise<readonly Word[]>;
    record(mode: Mode, run: RunName, word: Word): Promise<void>;
  };
  /** The pins of runs, kept in Temporal. */
  readonly pins: {
    start(input: PinInput): Promise<void>;
    read(mode: Mode, run: RunName, patienceMs: number): Promise<PinState>;
    /** The plan of an earlier completed pin of the same id; `runId` is a Temporal run that may be it. */
    readEarlier(mode: Mode, run: RunName, runId: string): Promise<Plan | null>;
  };
  readonly clock: Clock;
  /** Whether Temporal still counts on this attempt of an activity: neither timed out nor taken over by a reset. */
  readonly isCurrentAttempt: (info: Info) => Promise<boolean>;
  /** Named moments before and after every effect, poll and result; a no-op but in tests that kill the process there. */
  readonly reached: (point: string) => void;
};

/** Wall time for lives and fences, monotonic time for what a frozen machine must not outlive. Milliseconds. */
export type Clock = { readonly wallMs: () => number; readonly monotonicMs: () => number };

export const machineClock: Clock = Object.freeze({
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
});
