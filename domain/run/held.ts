/**
 * Whether a batch holds a payment that another batch of the policy has as well, as its chunk and its run tell it. What cannot
 * be told is held: nobody is paid by two batches (M1). Pure.
 */
import type { PaymentRecord } from './items.ts';

/** What has become of some payments of a chunk, by their ids as they were asked for. Those it has not taken up yet are in no list. */
export type ItemsOfChunk = {
  /** Temporal run of the chunk. */
  readonly runId: string;
  /** Whose go it has heard last. */
  readonly heard: string | null;
  /** No other Temporal run of it can have sent anything. */
  readonly isFirst: boolean;
  /** To be sent, or in doubt. */
  readonly unsent: readonly string[];
  /** Accepted or paid, with the service's record. */
  readonly accepted: readonly (readonly [name: string, withdrawalId: string])[];
  /** The service has no record of it, or one that has failed. */
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
  /** By itself: nothing of it is sent any more, unless somebody starts it again. */
  | { readonly kind: 'ended' }
  /** Somebody has ended it, or Temporal has none: it may be gone on with as it stands. */
  | { readonly kind: 'cut off' };

/** A payment that the plan of its batch wants (`isWanted`) or knows to be unpayable. `madeFor`: of that plan. */
export type Asked = { readonly name: string; readonly isWanted: boolean; readonly madeFor: string };

/**
 * A batch without a plan holds nothing: it will see this one when it makes its own. What has ended unpaid is held once more
 * as soon as its run takes up what is not paid, before the chunk has heard of it.
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
