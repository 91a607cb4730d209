/** The withdrawal accounts that the service knows. Reads only. */
import type { LenientRecord } from '../../domain/service/records.ts';
import type { ServiceClient } from '../../service/client.ts';
import { pages } from '../../service/pages.ts';
import { serviceFailure } from '../preflight.ts';

/**
 * Every account once, newest first. When the list cannot be read to its end, nothing is shown: an account that is missing
 * from it would look as if it were not registered.
 * @throws CommandFailure
 */
export async function readAccounts(
  service: Pick<ServiceClient, 'listWithdrawalAccounts'>,
  address: string,
): Promise<readonly LenientRecord[]> {
  const found = new Map<string, LenientRecord>();
  for await (const reply of pages(service.listWithdrawalAccounts, { direction: 'older' })) {
    if (reply.kind !== 'DONE') throw serviceFailure(reply, address);
    for (const record of reply.value.items) found.set(record.id, record);
  }
  return [...found.values()];
}
