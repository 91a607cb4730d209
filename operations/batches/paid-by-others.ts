/**
 * Which payments of a batch another batch of its policy has paid, by the tags in the service's list. `plan` asks, and
 * `run` before a start. The run looks again itself, also for what other batches may still pay, which only Temporal knows. Reads only.
 */
import type { Held } from '../../domain/plan/batch-items.ts';
import { paidElsewhere } from '../../domain/run/claims.ts';
import type { RunName } from '../../domain/references.ts';
import type { ServiceFacts } from '../../domain/service/facts.ts';
import type { ServiceClient } from '../../service/client.ts';
import { scanList } from '../../service/list-scan.ts';
import { serviceFailure } from '../preflight.ts';

type PaidByOthersQuestion = {
  readonly run: RunName;
  /** The names of the payments, as `nameOfPayment` gives them. */
  readonly names: ReadonlySet<string>;
  readonly sinceMs: number;
  readonly facts: Pick<ServiceFacts, 'withdrawalStatuses'>;
  /** The service's address, for messages. */
  readonly address: string;
};

/** @throws CommandFailure when the list cannot be read whole */
export async function paidByOthers(
  client: Pick<ServiceClient, 'listWithdrawals'>,
  { run, names, sinceMs, facts, address }: PaidByOthersQuestion,
): Promise<Held> {
  const { failed } = facts.withdrawalStatuses;
  const held = new Map<string, string>();
  const { stopped } = await scanList(client.listWithdrawals, {
    sinceMs,
    wanted: (record) => {
      const paid = paidElsewhere(run, names, record);
      if (paid !== null && Date.parse(record.createdAt) >= sinceMs && !failed.includes(record.status))
        held.set(...paid);
      return false;
    },
  });
  if (stopped !== null) throw serviceFailure(stopped, address);
  return held;
}
