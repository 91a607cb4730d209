/**
 * How a poll goes on. Short waits are slept inside one attempt, and its heartbeat tells what it waits for.
 * Once the waits add up to a minute, the attempt ends with a retryable failure "not yet", and waits for its
 * `nextRetryDelay` without using a slot of the worker. The failure is benign, so that Temporal counts and logs no error. When
 * the service cannot be asked, or this program has a fault, the poll ends with a wait that people see.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { Wait } from '../domain/waits.ts';
import { activityFailed } from '../domain/run/activity-failed.ts';
import { followUp, waitMs } from '../domain/service/reply-rules.ts';
import type { Reply } from '../domain/service/reply.ts';
import { ADVICE, configurationWait, foreignCredentials, problemOf } from '../domain/writes/step.ts';
import { withoutStack } from '../domain/without-stack.ts';
import type { PlanHead } from '../domain/plan/plan.ts';
import { clockSkew } from './clock-skew.ts';
import type { Deps } from './deps.ts';
import { whatFailed } from './failures.ts';
import { beating } from './heartbeats.ts';

/**
 * So long a poll sleeps inside its attempts. After that, each wait is the delay of a failure. Half of what an
 * attempt may take.
 */
const INLINE_MS = 60_000;
/** The pause between two polls. Short at first, because most money moves within seconds. */
const PAUSE_MS = { shortest: 1_000, longestInline: 8_000, longest: 30_000 };
/** After more failed polls in a row than this, people are told. */
const PATIENT_POLLS = 5;
/** Once people are told, the workflow asks again after this long, and later each time in a row. */
const OUTAGE_MS = 60_000;
/** How often a poll that sleeps looks whether its worker is to end. */
const SLEEP_STEP_MS = 500;

/** The result of one poll. */
export type Polled<T> =
  /** There is something to tell the workflow. */
  | { readonly kind: 'answer'; readonly answer: T }
  /** The poll asks again a little later. */
  | { readonly kind: 'not yet'; readonly what: string }
  /** The service could not be asked. The poll asks again for a while, then people are told. */
  | { readonly kind: 'unanswered'; readonly what: string; readonly reply: Reply<unknown> };

/** What an attempt tells the next one, and people who look at the UI. */
type Progress = { readonly waits: string; readonly waitedMs: number };

/** The result of one poll, with what people are told when polls have failed too often. */
type Outcome<T> =
  | Extract<Polled<T>, { kind: 'answer' | 'not yet' }>
  | {
      readonly kind: 'failed';
      readonly what: string;
      /** How long the service asked to wait. */
      readonly pauseMs: number;
      /** False: it cannot help to ask again soon. */
      readonly isPatient: boolean;
      readonly wait: Wait;
    };

/**
 * Polls until there is something to tell the workflow.
 * @param once asks the service; it is told how long the poll has waited, all attempts together
 * @param waiting makes the answer from a wait that people see
 * @throws ApplicationFailure `NOT_YET`: the next attempt goes on
 */
export function poll<T>(
  deps: Deps,
  once: (waitedMs: number) => Promise<Polled<T>>,
  waiting: (wait: Wait) => T,
): Promise<T> {
  return beating(async (tell) => {
    const untilMs = deps.clock.monotonicMs() + INLINE_MS;
    let waitedMs = earlierWaitsMs();
    let failures = 0;
    for (;;) {
      const outcome = await outcomeOf(() => once(waitedMs));
      if (outcome.kind === 'answer') return outcome.answer;
      const failed = outcome.kind === 'failed' ? outcome : null;
      failures = failed === null ? 0 : failures + 1;
      if (failed !== null && (!failed.isPatient || failures > PATIENT_POLLS)) return waiting(failed.wait);
      const pauseMs = Math.max(pauseAfter(waitedMs), failed?.pauseMs ?? 0);
      waitedMs += pauseMs;
      tell({ waits: outcome.what, waitedMs } satisfies Progress);
      const isInline = waitedMs <= INLINE_MS && deps.clock.monotonicMs() < untilMs;
      if (isInline && (await slept(deps, pauseMs))) continue;
      // Failures in a row are counted only inside an attempt. So an attempt that ends after a failed poll
      // tells people at once.
      if (failed !== null && !deps.isStopping()) return waiting(failed.wait);
      throw notYet(outcome.what, pauseMs);
    }
  });
}

async function outcomeOf<T>(once: () => Promise<Polled<T>>): Promise<Outcome<T>> {
  try {
    const polled = await once();
    if (polled.kind !== 'unanswered') return polled;
    ActivityContext.current().cancellationSignal.throwIfAborted();
    return unanswered(polled);
  } catch (error) {
    // The attempt was given up: nothing waits for its answer.
    if (ActivityContext.current().cancellationSignal.aborted) throw error;
    const wait = activityFailed(whatFailed(error), 1);
    return { kind: 'failed', what: wait.problem.message, pauseMs: 0, isPatient: true, wait };
  }
}

/** For a while, the poll asks again when the service wants it to. Then people see the wait. */
function unanswered(polled: Extract<Polled<never>, { kind: 'unanswered' }>): Outcome<never> {
  const { what, reply } = polled;
  const follow = followUp(reply);
  const problem = problemOf(reply, '', ADVICE[follow.class]);
  const shown = { ...problem, item: null, message: `${what}. ${problem.message}` };
  const isPatient = follow.read === 'use it' || follow.read === 'ask again';
  const pauseMs = waitMs(reply, 0);
  const wait: Wait = isPatient
    ? { afterMs: Math.max(OUTAGE_MS, pauseMs), reason: 'outage', problem: shown }
    : configurationWait(shown, 3);
  return { kind: 'failed', what: shown.message, pauseMs, isPatient, wait };
}

/** How long the poll has waited already, as the attempt before this one has told. */
function earlierWaitsMs(): number {
  const progress: unknown = ActivityContext.current().info.heartbeatDetails;
  const isProgress = typeof progress === 'object' && progress !== null && 'waitedMs' in progress;
  return isProgress && typeof progress.waitedMs === 'number' ? progress.waitedMs : 0;
}

/** A quarter of the time that the poll has waited until now, within bounds. */
function pauseAfter(waitedMs: number): number {
  if (waitedMs >= INLINE_MS) return PAUSE_MS.longest;
  return Math.min(Math.max(Math.round(waitedMs / 4), PAUSE_MS.shortest), PAUSE_MS.longestInline);
}

/** Sleeps. False when the worker is asked to end meanwhile. */
export async function slept(deps: Deps, pauseMs: number): Promise<boolean> {
  for (let leftMs = pauseMs; leftMs > 0; leftMs -= SLEEP_STEP_MS) {
    if (deps.isStopping()) return false;
    await ActivityContext.current().sleep(Math.min(leftMs, SLEEP_STEP_MS));
  }
  return true;
}

/** True when the service says that it has no record with the id that it was asked for. */
export function isNotFound(reply: Reply<unknown>): boolean {
  const code = 'error' in reply ? reply.error?.code : null;
  return code === 'TRADE_NOT_FOUND' || code === 'WITHDRAWAL_NOT_FOUND';
}

/** True when a record that was there before the poll began must be in the lists by now. */
export function mustBeListed({ facts }: Pick<Deps, 'facts'>, waitedMs: number): boolean {
  return waitedMs > 2 * facts.listLagMs;
}

/** A benign failure, which Temporal does not count as an error: it calls the activity again after so long. */
export function notYet(what: string, nextRetryDelayMs: number): ApplicationFailure {
  return withoutStack(
    ApplicationFailure.create({
      type: 'NOT_YET',
      message: `${what}.`,
      nextRetryDelay: nextRetryDelayMs,
      category: ApplicationFailureCategory.BENIGN,
    }),
  );
}

/**
 * The wait when a key of this worker is not of the plan's organisation and mode; null: the keys are. Such a
 * key sees nothing, which proves nothing.
 */
export function foreignReader(deps: Deps, plan: PlanHead): Wait | null {
  const { reader, service } = deps;
  const problem = foreignCredentials({ plan, credentials: service, reader });
  return problem === null ? null : configurationWait(problem, 3);
}

/** Notes what a reply tells of the service's clock. */
export function told<T>(deps: Deps, reply: Reply<T>): Reply<T> {
  clockSkew.note(deps.clock, reply);
  return reply;
}
