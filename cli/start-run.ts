/**
 * Starts the workflow of a run. One that is open under the same id is never disturbed: then nothing is started, and the
 * caller looks again.
 */
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { Policy } from '../domain/policy.ts';
import type { Mode } from '../domain/records.ts';
import { workflowIdOf, type RunName } from '../domain/references.ts';
import {
  RUN_TYPE,
  modeAttribute,
  policyAttribute,
  stateAttribute,
  type RunInput,
} from '../workflows/names.ts';
import type { PolicyFile } from './policy-file.ts';
import { count } from './text.ts';

export type StartOptions = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly mode: Mode;
  readonly run: RunName;
  readonly policyFile: PolicyFile;
  /** What a person has said yes to; null: nobody was asked. */
  readonly shown: readonly string[] | null;
  /** Who starts it, as the report tells. */
  readonly startedBy: string;
  /** Whether a closed run of the same id may be followed by another one. */
  readonly again: boolean;
};

/** True when a run was started; false when one of this id is there already. */
export async function startRun(options: StartOptions): Promise<boolean> {
  const { client, mode, run, policyFile } = options;
  const input: RunInput = {
    run,
    mode,
    policyText: policyFile.text,
    policyHash: policyFile.hash,
    policyFile: policyFile.file,
    files: policyFile.files,
    ...(options.shown !== null && { shown: options.shown }),
    startedBy: options.startedBy,
  };
  try {
    await client.workflow.start(RUN_TYPE, {
      workflowId: workflowIdOf(mode, run),
      taskQueue: options.taskQueue,
      args: [input],
      workflowIdReusePolicy: options.again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      // Not USE_EXISTING: whoever attaches compares the policy first.
      workflowIdConflictPolicy: 'FAIL',
      staticSummary: summaryOf(policyFile.policy),
      typedSearchAttributes: [
        { key: policyAttribute, value: run.policy },
        { key: modeAttribute, value: mode },
        { key: stateAttribute, value: 'RUNNING' },
      ],
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/** What a policy does, in one line: `sell 1000.00 USD for MXN, then 1 payment`. */
function summaryOf(policy: Policy): string {
  const { sell, buy, amount } = policy.convert;
  const conversion =
    amount.kind === 'sell'
      ? `sell ${amount.value} ${sell} for ${buy}`
      : amount.kind === 'buy'
        ? `buy ${amount.value} ${buy} for ${sell}`
        : `sell all ${sell} above ${amount.keep} for ${buy}`;
  const payments = policy.withdraw.length;
  return payments === 0 ? conversion : `${conversion}, then ${count(payments, 'payment')}`;
}
