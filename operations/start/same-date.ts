/**
 * A second run of a policy on one date: the money that the policy's other runs of that date have moved, or may still move,
 * and that this run would move again (design: the command `run`). The person may mean it, so the command tells it before the
 * start, and does not stop it.
 */
import type { Policy } from '../../domain/policy.ts';
import type { Mode } from '../../domain/service/records.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { hasMoved } from '../../domain/run/claims.ts';
import type { LegOutcome, PaymentOutcome } from '../../domain/run/items.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import { moneyText } from '../../domain/currencies.ts';
import { equal } from '../../domain/money.ts';
import { dateOfRunId } from '../../calendar/business-date.ts';
import { CommandFailure } from '../failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Place } from '../place.ts';
import { readRun } from '../follow/read-run.ts';
import { listRuns, type RunFacts } from '../follow/runs.ts';

/** At most this many movements are named, one line each. */
const SHOWN = 50;

/**
 * One line for each movement of the policy's other runs of the date that `run` would repeat; none when it is the first run.
 */
export async function movedOnDate(place: Place, run: RunName, policy: Policy): Promise<readonly string[]> {
  const date = dateOfRunId(run.id);
  const all = await listRuns(place.client, place.mode, { policy: run.policy, onlyOpen: false, limit: null });
  const others = all.filter((other) => other.run.id !== run.id && dateOfRunId(other.run.id) === date);
  const lines: string[] = [];
  for (const facts of others) lines.push(...(await linesOf(place, facts, policy)));
  return lines;
}

async function linesOf(place: Place, facts: RunFacts, policy: Policy): Promise<readonly string[]> {
  try {
    return repeated((await readRun(place, facts)).report, policy);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return [`${runName(facts.run)}: it is not known what it has moved, since no worker answers for it`];
  }
}

/** What a new run of the policy would repeat of the things that this other run has done, or may still do. Pure. */
export function repeated(report: Report, policy: Policy): readonly string[] {
  const mayMove = report.status === 'RUNNING' || report.status === 'HELD';
  const counts = (outcome: LegOutcome | PaymentOutcome, recordId: string | null): boolean =>
    hasMoved(outcome, recordId) || (mayMove && outcome === 'PENDING');
  const legs = report.legs
    .filter(({ outcome, tradeId }) => counts(outcome, tradeId))
    .map(
      (leg) =>
        `${report.run} ${leg.outcome === 'TRADED' ? 'traded' : `may trade (${leg.outcome})`} ${moneyText(leg.sellAmount ?? '?', leg.sell)} for ${moneyText(leg.buyAmount ?? '?', leg.buy)}${named('trade', leg.tradeId)}`,
    );
  const payments = report.payments
    .filter((payment) => counts(payment.outcome, payment.withdrawalId) && isAgain(payment, policy))
    .map(
      (payment) =>
        `${report.run} ${payment.outcome === 'PAID' ? 'paid' : `may pay (${payment.outcome})`} ${payment.id}: ${moneyText(payment.amount ?? 'the proceeds in', payment.currency)} to ${payment.account}${named('withdrawal', payment.withdrawalId)}`,
    );
  return [...legs, ...payments];
}

/** True when the policy pays an item of the same name, or the same amount and currency to the same account. */
function isAgain(paid: ReportPayment, policy: Policy): boolean {
  switch (policy.kind) {
    case 'convert':
      return policy.withdraw.some(
        ({ id, account, amount }) =>
          id === paid.id ||
          (account === paid.account &&
            policy.convert.buy === paid.currency &&
            paid.amount !== null &&
            amount.kind === 'fixed' &&
            equal(amount.value, paid.amount)),
      );
    case 'rebalance':
      return false;
    case 'payout':
      // The plan of a batch looks up every item in other batches, one by one.
      return false;
  }
}

function named(what: string, id: string | null): string {
  return id === null ? '' : ` (${what} ${id})`;
}

/**
 * What the command tells before a second start on a date; nothing for the first. In live, a person must ask for it with
 * `--again`.
 * @throws CommandFailure in live, without `--again`
 */
export function sayAgain(
  lines: readonly string[],
  options: {
    readonly run: RunName;
    readonly kind: Policy['kind'];
    readonly mode: Mode;
    readonly again: boolean;
  },
): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length > SHOWN ? [`… and ${lines.length - SHOWN} more`] : [];
  const shown = [...lines.slice(0, SHOWN), ...more];
  const name = runName(options.run);
  if (options.mode === 'SANDBOX' || options.again)
    return [
      options.kind === 'payout'
        ? `${name} is one more batch of this date. A payment id that was paid is not paid again. The other batches have traded:`
        : `${name} is one more run of this date. It would do again what is done already:`,
      ...shown.map((line) => `  ${line}`),
    ];
  throw new CommandFailure('refused by us', [
    {
      code: 'DATE_TRADED',
      place: name,
      message: `the policy has moved money on this date already; nothing was sent`,
      fix: 'If money is to move once more, type the same with --again (--yes is not enough). If not, `npx cambist list` shows the runs that there are.',
    },
    ...shown.map((line): Trouble => ({ code: 'DONE_ALREADY', place: null, message: line, fix: '' })),
  ]);
}
