/**
 * "Not yet": the retryable failure with which a poll ends that has to come again. Benign, so that nobody is alarmed; its
 * delay is the service's `Retry-After`, or grows with the attempts from 1 s to 30 s.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { waitMs } from '../domain/decisions.ts';
import type { Reply } from '../domain/reply.ts';
import { explain } from '../domain/stepper.ts';

const MAX_POLL_MS = 30_000;
/** Polls at each pace before the next slower one: quick at first, because most money moves within seconds. */
const POLLS_PER_PACE = 5;

export function notYet(reply: Reply<unknown> | null, what: string): ApplicationFailure {
  const pace = Math.floor((ActivityContext.current().info.attempt - 1) / POLLS_PER_PACE);
  const pollMs = Math.min(1_000 * 2 ** Math.min(pace, 10), MAX_POLL_MS);
  return ApplicationFailure.create({
    type: 'NOT_YET',
    message: reply === null ? `${what}.` : `${what}. ${explain(reply)}`,
    nextRetryDelay: reply === null ? pollMs : Math.max(pollMs, waitMs(reply, pace)),
    category: ApplicationFailureCategory.BENIGN,
  });
}
