/**
 * How a poll goes on. "Not yet" is a retryable failure, benign, so that nobody is alarmed; the wait between two polls is
 * its `nextRetryDelay`, which costs no event. A service that cannot be asked ends the poll with a wait that people see.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { backoffMs, followUp, waitMs } from '../domain/decisions.ts';
import type { Reply } from '../domain/reply.ts';
import {
  ADVICE,
  configurationWait,
  explain,
  foreignCredentials,
  problemOf,
  type Wait,
} from '../domain/stepper.ts';
import { withoutStack } from '../domain/without-stack.ts';
import type { PlanHead } from '../workflows/calls.ts';
import { clockSkew } from './clock-skew.ts';
import type { Deps } from './deps.ts';

const MAX_POLL_MS = 30_000;
/** Polls at each pace before the next slower one: quick at first, because most money moves within seconds. */
const POLLS_PER_PACE = 5;
/** Failed polls in a row after which an outage is shown. */
const PATIENT_POLLS = 5;
/** Once an outage is shown, the workflow asks again after this long. */
const OUTAGE_MS = 60_000;

function attemptOfPoll(): number {
  return ActivityContext.current().info.attempt;
}

/** The failure of a poll that has to come again. */
export function notYet(what: string, reply: Reply<unknown> | null = null): ApplicationFailure {
  const pace = Math.floor((attemptOfPoll() - 1) / POLLS_PER_PACE);
  const pollMs = Math.min(backoffMs(pace), MAX_POLL_MS);
  return withoutStack(
    ApplicationFailure.create({
      type: 'NOT_YET',
      message: reply === null ? `${what}.` : `${what}. ${explain(reply)}`,
      nextRetryDelay: reply === null ? pollMs : Math.max(pollMs, waitMs(reply, pace)),
      category: ApplicationFailureCategory.BENIGN,
    }),
  );
}

/** The service could not be asked: at its own pace at first, then a wait that people see. */
export function unanswered(what: string, reply: Reply<unknown>): Wait {
  const follow = followUp(reply);
  const problem = problemOf(reply, '', ADVICE[follow.class]);
  const shown = { ...problem, item: null, message: `${what}. ${problem.message}` };
  if (follow.read === 'ask again slowly' || follow.read === 'give up') return configurationWait(shown, 3);
  if (attemptOfPoll() <= PATIENT_POLLS) throw notYet(what, reply);
  return { afterMs: OUTAGE_MS, hold: 'outage', problem: shown };
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
