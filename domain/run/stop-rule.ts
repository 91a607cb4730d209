/**
 * When a batch stops by itself, by two rules of its policy: `stop_after`, counted over all of its chunks
 * since the run took it up, and `canary`, its first payments, which must be accepted before the others leave.
 * Pure.
 */
import { compare } from '../money.ts';
import type { PayoutRules } from '../policy.ts';
import { isRunCode, makeProblem, type Problem } from '../problems.ts';
import { acceptedOf, type PaymentRecord } from './items.ts';

/** How often the service has accepted and refused payments of one chunk. */
export type Refusals = {
  readonly refused: number;
  /** Payments that were accepted or refused. */
  readonly sent: number;
  /** The newest refusals in a row with the same code; null: the last payment was not refused. */
  readonly inARow: { readonly code: string; readonly times: number } | null;
};

/** @param runId the Temporal run whose refusals count; what another one has ended is tried again */
export function refusalsIn(payments: readonly PaymentRecord[], runId: string | null): Refusals {
  let refused = 0;
  let accepted = 0;
  let inARow: { code: string; times: number } | null = null;
  for (const record of payments) {
    const { stage } = record;
    if (acceptedOf(record) !== null) {
      accepted += 1;
      inARow = null;
    } else if (stage.kind === 'not paid' && stage.endedIn === runId && !isRunCode(stage.problem.code)) {
      refused += 1;
      const { code } = stage.problem;
      const before: number = inARow?.code === code ? inARow.times : 0;
      inARow = { code, times: before + 1 };
    }
  }
  return { refused, sent: refused + accepted, inARow };
}

/**
 * Why nothing more of a batch is sent; null: nothing stands against it.
 * @param rules `isTested`: its first payments are accepted, or none of them can be, so that `canary` stops nothing any more
 */
export function stopOf(
  rules: Pick<PayoutRules, 'stopAfter' | 'canary'> & { readonly isTested: boolean },
  all: readonly Refusals[],
): Problem | null {
  const { stopAfter, canary, isTested } = rules;
  const total = (name: 'refused' | 'sent'): number => all.reduce((sum, one) => sum + one[name], 0);
  const [refused, sent] = [total('refused'), total('sent')];
  if (canary !== null && !isTested && refused > 0 && sent <= canary)
    return stopped(
      canary === 1 ? 'its first payment was refused' : `one of its first ${canary} payments was refused`,
    );
  if (stopAfter === null) return null;
  const { failed, ratioPercent, sameCode } = stopAfter;
  if (failed !== null && refused >= failed) return stopped(`${refused} payments were refused`);
  // A few payments say nothing about the share that would be refused of many.
  if (ratioPercent !== null && sent >= RATIO_AFTER && compare(percent(refused, sent), ratioPercent) >= 0)
    return stopped(`${refused} of ${sent} payments were refused`);
  const row = all.find(({ inARow }) => sameCode !== null && inARow !== null && inARow.times >= sameCode);
  if (row?.inARow !== undefined && row.inARow !== null)
    return stopped(`${row.inARow.times} payments in a row were refused with ${row.inARow.code}`);
  return null;
}

const RATIO_AFTER = 20;

/** A share in percent, cut to two decimals. */
function percent(part: number, whole: number): string {
  return (Math.floor((part * 10_000) / whole) / 100).toFixed(2);
}

function stopped(why: string): Problem {
  return makeProblem('BATCH_STOPPED', null, { message: `The batch was stopped: ${why}.` });
}
