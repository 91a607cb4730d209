/**
 * A workflow whose id is not the one that its input makes ends at once and sends nothing (design:
 * "Identity"). Under a second id, the same run would trade and pay a second time.
 */
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import type { RunCode } from '../domain/problems.ts';
import { withoutStack } from '../domain/without-stack.ts';

/** @throws ApplicationFailure unless this workflow's id is the one that `idOf` makes from the input */
export function requireOwnId(idOf: () => string): void {
  const { workflowId, workflowType } = workflowInfo();
  const expected = requireMade(idOf);
  if (expected === workflowId) return;
  throw refused(
    'WORKFLOW_ID_DIFFERS',
    `The input belongs to workflow id "${expected}", but this workflow "${workflowType}" has another id.`,
  );
}

/** What `make` makes of the input of this workflow. @throws ApplicationFailure where it can make nothing of it */
export function requireMade<Made>(make: () => Made): Made {
  try {
    return make();
  } catch {
    const { workflowType } = workflowInfo();
    throw refused(
      'INPUT_INVALID',
      `The input of this workflow "${workflowType}" is not one that Cambist makes.`,
    );
  }
}

function refused(type: RunCode, reason: string): ApplicationFailure {
  return withoutStack(
    ApplicationFailure.create({
      type,
      message: `${reason} Nothing was sent. Start runs by \`npx cambist run\`; to try a run again, reset it or use \`npx cambist run … --go-on\`.`,
      nonRetryable: true,
    }),
  );
}
