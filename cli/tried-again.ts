/**
 * Tells, before a run that has ended is started again, what that tries again. This is only told, so a start does not fail when it
 * cannot be read.
 */
import { failureOf } from '../operations/failure-of.ts';
import { nextOf, paidAgainNext } from '../operations/decide/next-start.ts';
import { readRun } from '../operations/follow/read-run.ts';
import type { RunFacts } from '../operations/follow/runs.ts';
import type { AskedStart } from '../operations/start/run-policy.ts';
import type { Output } from './terminal/output.ts';
import { triedAgainDocument, triedAgainLines } from './views/next-start-text.ts';
import { openAgainLine } from './views/report-text.ts';

export async function tellTriedAgain(output: Output, asked: AskedStart, facts: RunFacts): Promise<void> {
  const { policyFile, goOn } = asked;
  try {
    if (policyFile.policy.kind === 'payout' && goOn !== null) await tellBatch(output, asked, facts);
    await tellPaidAgain(output, asked, facts);
  } catch (error) {
    output.note(`What is tried again cannot be listed: ${failureOf(error).problems[0]?.message ?? ''}`);
  }
}

async function tellBatch(output: Output, { place, now }: AskedStart, facts: RunFacts): Promise<void> {
  const view = await readRun(place, facts);
  // A run without payments in its report has no plan: all of it is planned first.
  if (view.report.payments.length === 0) return;
  const next = nextOf(view, { takesCancelBack: true, nowMs: now() });
  if (output.isJson) output.log('', triedAgainDocument(next));
  else output.note(...triedAgainLines(next));
}

/** Names what is paid again because a person has said so, though perhaps not the person who starts the run now. */
async function tellPaidAgain(
  output: Output,
  { place, goOn, now }: AskedStart,
  facts: RunFacts,
): Promise<void> {
  const again = await paidAgainNext(place, facts, { takesCancelBack: goOn?.item === null, nowMs: now() });
  if (again.length === 0) return;
  const paidAgain = again.map(({ id, amount, currency }) => ({ id, amount, currency }));
  output.log(openAgainLine(again), { paidAgain });
}
