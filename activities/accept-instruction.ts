/**
 * `acceptInstruction`: adds to an instruction the moment and the UTC date at which it was accepted. Windows,
 * and what counts as older than a send, go by these, so that the worker's clock must agree with the
 * service's. A cancel does not wait for that.
 */
import { ApplicationFailure } from '@temporalio/common';
import type { Problem } from '../domain/problems.ts';
import { needsTheTime } from '../domain/people/instructions.ts';
import { problemOf, skewOf } from '../domain/writes/step.ts';
import { withoutStack } from '../domain/without-stack.ts';
import type { Activities } from '../workflows/calls.ts';
import { clockSkew } from './clock-skew.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { told } from './polling.ts';

export const acceptInstruction =
  (deps: Deps): Activities['acceptInstruction'] =>
  ({ instruction }) =>
    beating(async () => {
      const problem = needsTheTime(instruction) ? await untrustedClock(deps) : null;
      if (problem !== null)
        throw withoutStack(
          ApplicationFailure.create({
            type: problem.code,
            message: `${problem.message} Nothing is kept. ${problem.fix}`,
            nonRetryable: true,
          }),
        );
      const atMs = deps.clock.wallMs();
      return { ...instruction, atMs, date: new Date(atMs).toISOString().slice(0, 10) };
    });

/** Null when this worker's clock agrees with the service's, which it has just asked. */
async function untrustedClock(deps: Deps): Promise<Problem | null> {
  const reply = told(deps, await deps.reader.balances());
  // A reply that refuses tells the time as well.
  const isTold = reply.kind !== 'NOT_SENT' && reply.facts.serviceTimeMs !== null;
  if (reply.kind === 'DONE' || isTold) return skewOf(clockSkew.latestMs());
  const fix = 'Say it again when the service answers. Until then it is not known whether the clocks agree.';
  return problemOf(reply, '', fix);
}
