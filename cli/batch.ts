/** `--batch`, which belongs to policies of kind payout: until there are any, naming one is an error that says so. */
import { Option } from 'commander';
import { CommandFailure } from '../operations/failure.ts';

export type BatchOption = { readonly batch?: string };

export function batchOption(): Option {
  return new Option('--batch <file>', 'a file of payments, for policies of kind payout').hideHelp();
}

/** @throws CommandFailure when a batch is named */
export function refuseBatch(options: BatchOption): void {
  if (options.batch === undefined) return;
  throw new CommandFailure('bad input', [
    {
      code: 'BATCH_NOT_AVAILABLE',
      place: '--batch',
      message: 'this version runs no batches: kind payout is not available yet',
      fix: 'Leave --batch out; a convert policy lists its payments under `withdraw`.',
    },
  ]);
}
