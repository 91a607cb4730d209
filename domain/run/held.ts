/**
 * Whether a batch holds a payment that another batch of the policy has as well, as its chunk and its run
 * tell. When they cannot tell, it counts as held: no payee is paid by two batches (M1). Pure.
 */
import type { PaymentRecord } from './items.ts';

/**
 * What has become of some payments of a chunk, by the ids with which they were asked for. A payment that the
 * chunk has not taken up yet is in no list.
 */
export type ItemsOfChunk = {
  /** The Temporal run of the chunk. */
  readonly runId: string;
  /** The Temporal run whose go the chunk has heard last; null: none yet. */
  readonly heard: string | null;
  /** True when no other Temporal run of the chunk can have sent anything. */
  readonly isFirst: boolean;
  /** Payments to be sent, or in doubt. */
  readonly unsent: readonly string[];
  /** Payments that are accepted or paid, with the ids of the service's records. */
  readonly accepted: readonly (readonly [name: string, withdrawalId: string])[];
  /** Payments of which the service has no record, or one that has failed. */
  readonly unpaid: readonly string[];
};

/** @param names ids in small letters */
export function itemsOfChunk(
  chunk: Pick<ItemsOfChunk, 'runId' | 'heard' | 'isFirst'> & { readonly payments: readonly PaymentRecord[] },
  names: readonly string[],
): ItemsOfChunk {
  const { payments, ...standing } = chunk;
  const asked = new Set(names);
  const unsent: string[] = [];
  const accepted: [string, string][] = [];
  const unpaid: string[] = [];
  for (const { payment, stage } of payments) {
    const name = payment.id.toLowerCase();
    if (!asked.has(name)) continue;
    switch (stage.kind) {
      case 'unsent':
        unsent.push(name);
        break;
      case 'accepted':
      case 'paid':
        accepted.push([name, stage.accepted.withdrawalId]);
        break;
      case 'failed':
      case 'not paid':
        unpaid.push(name);
    }
  }
  return { ...standing, unsent, accepted, unpaid };
}

/** The run of a batch. */
export type Coordinator =
  | { readonly kind: 'open'; readonly runId: string }
  /** It has ended by itself: nothing of the batch is sent any more, unless a person starts it again. */
  | { readonly kind: 'ended' }
  /** A person has ended it, or Temporal has no such run: the batch may go on from where it stands. */
  | { readonly kind: 'cut off' };

/**
 * A payment of the other batch. `isWanted`: false when the plan of that batch knows it to be unpayable.
 * `madeFor`: as in that plan.
 */
export type Asked = { readonly name: string; readonly isWanted: boolean; readonly madeFor: string };

/**
 * A batch without a plan holds nothing, because it will see this batch when it makes its plan. A payment that
 * ended unpaid is held once more as soon as the run of that batch takes it up again, even before the chunk
 * has heard of it.
 */
export function isHeld(chunk: ItemsOfChunk, coordinator: Coordinator, asked: Asked): boolean {
  const isOpen = coordinator.kind === 'open';
  if (chunk.unsent.includes(asked.name) || recordOf(chunk, asked) !== null) return true;
  if (chunk.unpaid.includes(asked.name))
    return isOpen && chunk.heard !== `${coordinator.runId}/${chunk.runId}`;
  const isAsPlanned = chunk.isFirst && (!isOpen || coordinator.runId === asked.madeFor);
  if (!asked.isWanted) return isOpen && !isAsPlanned;
  return coordinator.kind !== 'ended' || !chunk.isFirst;
}

/** The service's record of a payment of a chunk, as far as the chunk knows; null: none, or one that has failed. */
export function recordOf({ accepted }: ItemsOfChunk, { name }: Pick<Asked, 'name'>): string | null {
  return accepted.find(([of]) => of === name)?.[1] ?? null;
}
