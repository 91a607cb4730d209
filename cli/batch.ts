/** `--batch`, which belongs to policies of kind payout. */
import { Option } from 'commander';
import type { CheckedPolicy } from '../domain/policy.ts';
import { CommandFailure } from '../operations/failure.ts';

export type BatchOption = { readonly batch?: string };

export function batchOption(): Option {
  return new Option('--batch <file>', 'a file of payments (CSV or JSON Lines), for a policy of kind payout');
}

/** @throws CommandFailure when a batch is named for a policy that has its payments, if any, in itself */
export function refuseBatch(options: BatchOption, { kind }: CheckedPolicy): void {
  if (options.batch === undefined || kind === 'payout') return;
  throw new CommandFailure('bad input', [
    {
      code: 'BATCH_OF_OTHER_KIND',
      place: '--batch',
      message: `a batch belongs to a policy of kind payout, and this one is of kind ${kind}`,
      fix: 'Leave --batch out; a convert policy lists its payments under `withdraw`.',
    },
  ]);
}
