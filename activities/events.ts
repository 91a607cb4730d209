/**
 * What a worker tells of its work, to one sink that does nothing by default: the moments that it reaches, its requests to the
 * service, and what came of items. Metrics count them (`worker/metrics.ts`), and tests end the process at a moment.
 */
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { LegStep } from '../domain/writes/leg-state.ts';
import type { PaymentStep } from '../domain/writes/withdrawal.ts';
import type { Requested } from '../service/client.ts';

export type WorkerEvent =
  /** A named moment, before or after an effect, a poll or a result. */
  | { readonly kind: 'reached'; readonly point: string }
  /** A request to the service has come to its end. `key`: which of the two API keys has signed it. */
  | { readonly kind: 'requested'; readonly key: 'write' | 'read'; readonly request: Requested }
  /** The steps of one call about an item have come to this. The same item may come to more than one end, as after a reset. */
  | { readonly kind: 'stepped'; readonly step: LegStep | PaymentStep }
  /** A poll has seen what became of a record of ours. */
  | {
      readonly kind: 'followed';
      readonly to: 'SETTLED' | 'NOT_SETTLED' | 'PAID' | 'FAILED' | 'CAME_BACK';
      readonly record: Pick<Trade | Withdrawal, 'createdAt'>;
    };

export type Tell = (event: WorkerEvent) => void;

/** Tells of the requests that one of the two API keys signs. */
export function requestsOf(key: 'write' | 'read', tell: Tell): (request: Requested) => void {
  return (request) => tell({ kind: 'requested', key, request });
}
