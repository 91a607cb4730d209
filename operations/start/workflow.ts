/**
 * Starts the workflow of a run. A run that is open under the same id is left alone: nothing is started, and the caller looks
 * again.
 */
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import type { Manifest } from '../../domain/batch.ts';
import { accountsOf, destinationsText } from '../../domain/destinations.ts';
import type { ConvertPolicy, Policy } from '../../domain/policy.ts';
import type { Mode } from '../../domain/service/records.ts';
import { moneyText } from '../../domain/currencies.ts';
import { inPlace, placeText, type InPlace } from '../../domain/replacement.ts';
import { runName, workflowIdOf, type RunName } from '../../domain/references.ts';
import { makeReport, type Report } from '../../domain/run/report.ts';
import { newRunState } from '../../domain/run/state.ts';
import type { RunInput } from '../../domain/run/calls.ts';
import {
  RUN_TYPE,
  dateAttribute,
  modeAttribute,
  policyAttribute,
  stateAttribute,
} from '../../workflows/names.ts';
import type { PolicyFile } from '../policy-file.ts';
import { noteDate } from '../schedules/known-dates.ts';

export type StartOptions = InPlace & {
  readonly client: Client;
  readonly taskQueue: string;
  readonly mode: Mode;
  readonly run: RunName;
  readonly policyFile: PolicyFile;
  /** The batch of a payout, whose chunks are all submitted. Null for other kinds. */
  readonly batch: Manifest | null;
  /** What a person has said yes to; null: no person was asked. */
  readonly shown: readonly string[] | null;
  /** Who starts it, as the report shows. */
  readonly startedBy: string;
  /** Whether a new run may follow a closed one of the same id. */
  readonly again: boolean;
};

/** True when a run was started; false when one with this id is there already. */
export async function startRun(options: StartOptions): Promise<boolean> {
  const { client, mode, run, policyFile } = options;
  const input: RunInput = {
    run,
    mode,
    policyText: policyFile.text,
    policyHash: policyFile.hash,
    policyFile: policyFile.file,
    files: policyFile.files,
    ...(policyFile.destinations !== null && {
      destinations: destinationsText(accountsOf(policyFile.destinations)),
    }),
    ...(options.shown !== null && { shown: options.shown }),
    startedBy: options.startedBy,
    ...(options.batch !== null && { batch: options.batch }),
    ...inPlace(options),
  };
  try {
    await client.workflow.start(RUN_TYPE, {
      workflowId: workflowIdOf(mode, run),
      taskQueue: options.taskQueue,
      args: [input],
      workflowIdReusePolicy: options.again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      // Not USE_EXISTING: a caller that attaches compares the policy first.
      workflowIdConflictPolicy: 'FAIL',
      staticSummary: summaryOf(policyFile.policy),
      staticDetails: detailsOf(options),
      memo: {
        policy: run.policy,
        policyHash: policyFile.hash,
        todo: summaryOf(policyFile.policy),
        ...(options.batch !== null && {
          payments: options.batch.payments,
          totals: totalsOf(options.batch).slice(0, MOST_TOTALS),
        }),
        report: reportCommand(run),
      },
      typedSearchAttributes: [
        { key: policyAttribute, value: run.policy },
        { key: dateAttribute, value: run.id.slice(0, DATE_LENGTH) },
        { key: modeAttribute, value: mode },
        { key: stateAttribute, value: 'RUNNING' },
      ],
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
  // Where Temporal does not take the note, the date is told as missed once Temporal has forgotten the run.
  if (policyFile.policy.schedule !== null)
    await noteDate({ client, mode, policy: run.policy }, { kind: 'started', id: run.id }).catch(() => {});
  return true;
}

/** The report of a run while no worker answers for it. `startedBy`: null where another command has started it. */
export function startedReport(
  of: Pick<StartOptions, 'mode' | 'run'> & { readonly policyHash: string; readonly startedBy: string | null },
  problems: Report['problems'],
): Report {
  const { mode, run, policyHash, startedBy } = of;
  const policy = { name: run.policy, hash: policyHash };
  return { ...makeReport(newRunState(run, workflowIdOf(mode, run), policy)), startedBy, problems };
}

/** `2026-11-21`. */
const DATE_LENGTH = 10;

/** A memo is small, so it names at most this many sums of a batch; the details name all of them. */
const MOST_TOTALS = 20;

function totalsOf({ totals }: Manifest): readonly string[] {
  return totals.map(({ value, currency }) => moneyText(value, currency));
}

/** The text that the Temporal UI shows of the run, in Markdown: who started it, what it does, and how to see its report. */
function detailsOf({ run, mode, policyFile, batch, shown, startedBy, ...options }: StartOptions): string {
  const { policy, hash } = policyFile;
  const place = placeText(options);
  const ofBatch =
    batch === null ? [] : [`The batch has ${batch.payments} payments: ${totalsOf(batch).join(', ')}.`];
  // The report has the full list of payments.
  const moves = (shown ?? []).slice(0, MOST_MOVES).map((line) => `- ${line}`);
  return [
    `Policy **${policy.name}** (${policy.kind}, hash \`${hash.slice(0, 12)}\`), date ${run.id.slice(0, DATE_LENGTH)}, ${mode.toLowerCase()}. Started by ${startedBy}.`,
    `It is to ${summaryOf(policy)}.`,
    ...(place === null ? [] : [place]),
    ...ofBatch,
    ...(moves.length === 0 ? [] : ['What was agreed to:', moves.join('\n')]),
    'What became of it:',
    ['```sh', reportCommand(run), '```'].join('\n'),
    `If it failed: mend the cause, then type \`npx cambist replay ${runName(run)}\`, or press Reset and choose any event. Nothing is paid or traded twice.`,
  ].join('\n\n');
}

const MOST_MOVES = 20;

function reportCommand(run: RunName): string {
  return `npx cambist report ${runName(run)}`;
}

/** What a policy does, in one line: `sell 1,000.00 USD for MXN, then 1 payment`. */
function summaryOf(policy: Policy): string {
  switch (policy.kind) {
    case 'convert': {
      const conversion = conversionOf(policy.convert);
      const payments = policy.withdraw.length;
      return payments === 0
        ? conversion
        : `${conversion}, then ${payments} payment${payments === 1 ? '' : 's'}`;
    }
    case 'rebalance': {
      const { base, targets } = policy.rebalance;
      return `bring ${targets.map(({ currency }) => currency).join(', ')} back to target, against ${base.currency}`;
    }
    case 'payout': {
      const { fund } = policy.payout;
      return fund.kind === 'none' ? 'pay a batch' : `pay a batch, funded with ${fund.from}`;
    }
  }
}

function conversionOf({ sell, buy, amount }: ConvertPolicy['convert']): string {
  switch (amount.kind) {
    case 'sell':
      return `sell ${moneyText(amount.value, sell)} for ${buy}`;
    case 'buy':
      return `buy ${moneyText(amount.value, buy)} for ${sell}`;
    case 'sell-all':
      return `sell all ${sell} above ${moneyText(amount.keep, sell)} for ${buy}`;
  }
}
