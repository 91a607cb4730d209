/**
 * A workflow whose id is not the one that its input makes ends at once and sends nothing (design:
 * "Identity"). Under a second id, the same run would trade and pay a second time.
 */
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { withoutStack } from '../domain/without-stack.ts';

/** @throws ApplicationFailure unless this workflow's id is the one that `idOf` makes from the input */
export function requireOwnId(idOf: () => string): void {
  const { workflowId, workflowType } = workflowInfo();
  const expected = madeBy(idOf);
  if (expected === workflowId) return;
  const reason =
    expected === null
      ? `The input of this workflow "${workflowType}" is not one that Cambist makes.`
      : `The input belongs to workflow id "${expected}", but this workflow "${workflowType}" has another one.`;
  throw withoutStack(
    ApplicationFailure.create({
      type: expected === null ? 'INPUT_INVALID' : 'WORKFLOW_ID_DIFFERS',
      message: `${reason} Nothing was sent. Start runs by \`npx cambist run\`; to try a run again, reset it or use \`npx cambist run … --go-on\`.`,
      nonRetryable: true,
    }),
  );
}

/** The id that the input makes; null when it makes none. */
function madeBy(idOf: () => string): string | null {
  try {
    return idOf();
  } catch {
    return null;
  }
}
