/**
 * `startScheduled`: starts the run for a schedule's date, or finds that it is started. A fault that may pass
 * (the service or Temporal is away, a key is wrong) is tried again until it is too late to start. Then the
 * run is missed, and the answer says why. Moves nothing.
 */
import { minuteText } from '../domain/waits.ts';
import { ApplicationFailure } from '@temporalio/common';
import { REFUSALS } from '../domain/command-problems.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import { isPart } from '../domain/references.ts';
import {
  isMoment,
  lineOf,
  misshapen,
  oneOf,
  recordOf,
  textOf,
  type Field,
  type Fields,
} from '../domain/shape.ts';
import { withoutStack } from '../domain/without-stack.ts';
import type { Activities, NotNow, ScheduledAnswer, ScheduledCall } from '../workflows/calls.ts';
import { INPUT_BYTES, SCHEDULED_START } from '../workflows/limits.ts';
import type { ScheduledInput } from '../workflows/names.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { foreignMode } from './own-mode.ts';

const RETRY_MS = 15_000;

export const SCHEDULED_INPUT: Fields = {
  mode: oneOf('SANDBOX', 'LIVE'),
  policy: (value) => typeof value === 'string' && isPart(value),
  policyText: textOf(INPUT_BYTES.policy),
  policyFile: lineOf(300),
} satisfies Readonly<Record<keyof ScheduledInput, Field>>;

const CALL: Fields = { input: recordOf(SCHEDULED_INPUT), nominalMs: isMoment, startedAtMs: isMoment };

export const startScheduled =
  (deps: Deps): Activities['startScheduled'] =>
  (call) =>
    beating(async () => {
      const why = misshapen(call, CALL);
      if (why !== null) return { kind: 'refused', problems: [invalid(why)] };
      const endsAtMs = call.startedAtMs + SCHEDULED_START.startWithinMs;
      if (deps.clock.wallMs() >= endsAtMs) return { kind: 'refused', problems: [missed(call)] };
      const answer = await startOf(deps, call);
      if (answer.kind !== 'not now') return answer;
      const { problems } = answer;
      if (deps.clock.wallMs() + RETRY_MS >= endsAtMs)
        return { kind: 'refused', problems: [missed(call), ...problems] };
      throw withoutStack(
        ApplicationFailure.create({
          type: problems[0]?.code ?? 'NOT_NOW',
          message: problems.map(({ code, message, fix }) => `${code}: ${message} ${fix}`).join('\n'),
          nextRetryDelay: RETRY_MS,
        }),
      );
    });

async function startOf(deps: Deps, call: ScheduledCall): Promise<ScheduledAnswer | NotNow> {
  const foreign = foreignMode(deps, call.input.mode);
  if (foreign !== null) return { kind: 'not now', problems: [foreign.problem] };
  return deps.startScheduled(call);
}

function invalid(why: string): Problem {
  return makeProblem('INPUT_INVALID', null, {
    message: `The input of this start is not one that Cambist makes. ${why}`,
  });
}

function missed({ nominalMs, startedAtMs }: ScheduledCall): Problem {
  const minutes = SCHEDULED_START.startWithinMs / 60_000;
  return {
    code: 'SCHEDULE_MISSED',
    item: null,
    message: `The run of ${minuteText(nominalMs)} could not be started within ${minutes} min of ${minuteText(startedAtMs)}; nothing was started.`,
    fix: REFUSALS.SCHEDULE_MISSED.advice,
  };
}
