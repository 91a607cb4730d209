/** How a batch file is written whose policy declares nothing of it. */
import type { BatchColumns, BatchFormat } from '../../domain/policy.ts';

export function formatOf(columns: Partial<BatchColumns> = {}, more: Partial<BatchFormat> = {}): BatchFormat {
  return {
    columns: { id: 'id', account: 'account', currency: 'currency', amount: 'amount', ...columns },
    slugs: false,
    numbers: { decimal: '.', group: null },
    encoding: 'utf-8',
    ignore: null,
    ...more,
  };
}
