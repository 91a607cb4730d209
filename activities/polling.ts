/**
 * How a poll goes on. Short waits are slept inside one attempt, whose heartbeat tells what it waits for; once they have
 * come to a minute, "not yet" is a retryable failure, benign, so that nobody is alarmed, and its `nextRetryDelay` holds no
 * slot. A service that cannot be asked, or a fault of this program, ends the poll with a wait that people see.
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

/** Waits inside attempts come to so much, then each wait is a failure's: half of what an attempt may take. */
const INLINE_MS = 60_000;
/** Between two polls: quick at first, because most money moves within seconds. */
const PAUSE_MS = { shortest: 1_000, longestInline: 8_000, longest: 30_000 };
/** Failed polls in a row after which people are told. */
const PATIENT_POLLS = 5;
/** Once people are told, the workflow asks again after this long; each time in a row later. */
const OUTAGE_MS = 60_000;
/** How often a poll that sleeps looks whether its worker ends. */
const SLEEP_STEP_MS = 500;

/** What one poll came to. */
export type Polled<T> =
  /** There is something to tell the workflow. */
  | { readonly kind: 'answer'; readonly answer: T }
  /** Asked again a little later. */
  | { readonly kind: 'not yet'; readonly what: string }
  /** The service could not be asked: asked again for a while, then people are told. */
  | { readonly kind: 'unanswered'; readonly what: string; readonly reply: Reply<unknown> };

/** What an attempt leaves for the next one, and for whoever looks at the UI. */
type Progress = { readonly waits: string; readonly waitedMs: number };

/** A poll, and what people are told when it has failed too often. */
type Outcome<T> =
  | Extract<Polled<T>, { kind: 'answer' | 'not yet' }>
  | {
      readonly kind: 'failed';
      readonly what: string;
      /** The service asked for so long. */
      readonly pauseMs: number;
      /** False: asking again soon cannot help. */
      readonly isPatient: boolean;
      readonly wait: Wait;
    };

/**
 * Polls until there is something to tell.
 * @param waiting the answer that carries a wait which people see
 * @throws ApplicationFailure `NOT_YET`: the next attempt goes on
 */
export function poll<T>(deps: Deps, once: () => Promise<Polled<T>>, waiting: (wait: Wait) => T): Promise<T> {
  return beating(async (tell) => {
    const untilMs = deps.clock.monotonicMs() + INLINE_MS;
    let waitedMs = earlierWaitsMs();
    let failures = 0;
    for (;;) {
      const outcome = await outcomeOf(once);
      if (outcome.kind === 'answer') return outcome.answer;
      const failed = outcome.kind === 'failed' ? outcome : null;
      failures = failed === null ? 0 : failures + 1;
      if (failed !== null && (!failed.isPatient || failures > PATIENT_POLLS)) return waiting(failed.wait);
      const pauseMs = Math.max(pauseAfter(waitedMs), failed?.pauseMs ?? 0);
      waitedMs += pauseMs;
      tell({ waits: outcome.what, waitedMs } satisfies Progress);
      const isInline = waitedMs <= INLINE_MS && deps.clock.monotonicMs() < untilMs;
      if (isInline && (await slept(deps, pauseMs))) continue;
      // Failures in a row are counted inside an attempt: one that ends with a failure tells it.
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
    // Given up: nobody waits for the answer.
    if (ActivityContext.current().cancellationSignal.aborted) throw error;
    const wait = activityFailed(whatFailed(error), 1);
    return { kind: 'failed', what: wait.problem.message, pauseMs: 0, isPatient: true, wait };
  }
}

/** The service could not be asked: at its own pace at first, then a wait that people see. */
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

/** What the attempt before this one left: how long the poll has waited. */
function earlierWaitsMs(): number {
  const progress: unknown = ActivityContext.current().info.heartbeatDetails;
  const isProgress = typeof progress === 'object' && progress !== null && 'waitedMs' in progress;
  return isProgress && typeof progress.waitedMs === 'number' ? progress.waitedMs : 0;
}

/** A quarter of what was waited until now, within bounds. */
function pauseAfter(waitedMs: number): number {
  if (waitedMs >= INLINE_MS) return PAUSE_MS.longest;
  return Math.min(Math.max(Math.round(waitedMs / 4), PAUSE_MS.shortest), PAUSE_MS.longestInline);
}

/** False when its worker ends meanwhile. */
export async function slept(deps: Deps, pauseMs: number): Promise<boolean> {
  for (let leftMs = pauseMs; leftMs > 0; leftMs -= SLEEP_STEP_MS) {
    if (deps.isStopping()) return false;
    await ActivityContext.current().sleep(Math.min(leftMs, SLEEP_STEP_MS));
  }
  return true;
}

/** A failure that alarms nobody: the activity is asked again after so long. */
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

/** What a poll asks for must be the plan's: a key of another organisation sees nothing, which proves nothing. */
export function foreignReader(deps: Deps, plan: PlanHead): Wait | null {
  const { reader, service } = deps;
  const problem = foreignCredentials({ plan, credentials: service, reader });
  return problem === null ? null : configurationWait(problem, 3);
}

/** Teaches the clock what a reply tells. */
export function told<T>(deps: Deps, reply: Reply<T>): Reply<T> {
  clockSkew.note(deps.clock, reply);
  return reply;
}
