/**
 * `scheduled`: the workflow that a Temporal schedule starts. It starts the run of the date under the run's
 * own id, or finds that it is started, and ends at once. So every way of starting leads to the same run. The
 * date comes from the nominal time that Temporal gives, never from a clock.
 */
import { ApplicationFailure, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Problem } from '../domain/problems.ts';
import { isScheduledAnswer } from '../domain/run/answer-shapes.ts';
import { withoutStack } from '../domain/without-stack.ts';
import { starts } from './activities.ts';
import type { ScheduledResult } from './calls.ts';
import { nominalTimeAttribute, scheduledIdOf, type ScheduledInput } from './names.ts';
import { neverFailTheTask } from './never-fail-the-task.ts';
import { requireOwnId } from './own-id.ts';
import { untilAnswered } from './step-failed.ts';

export async function scheduled(input: ScheduledInput): Promise<ScheduledResult> {
  const { typedSearchAttributes, startTime } = workflowInfo();
  // Without the nominal time, the id that is required has no time in it, so that no workflow of ours has it.
  const nominalMs = typedSearchAttributes.get(nominalTimeAttribute)?.getTime() ?? Number.NaN;
  requireOwnId(() => scheduledIdOf(input.mode, input.policy, nominalMs));
  return neverFailTheTask(async () => {
    const call = { input, nominalMs, startedAtMs: startTime.getTime() };
    const answer = await untilAnswered(
      'startScheduled',
      () => starts.startScheduled(call),
      isScheduledAnswer,
    );
    if (answer.kind === 'refused') throw refusedBy(answer.problems);
    setCurrentDetails(answer.line);
    return answer;
  });
}

function refusedBy(problems: readonly Problem[]): ApplicationFailure {
  const lines = problems.map(({ code, message, fix }) => `${code}: ${message} ${fix}`);
  return withoutStack(
    ApplicationFailure.create({
      type: problems[0]?.code ?? 'SCHEDULE_MISSED',
      message: lines.join('\n'),
      nonRetryable: true,
      details: [{ problems }],
    }),
  );
}
