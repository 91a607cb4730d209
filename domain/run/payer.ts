/**
 * A payer: who sends the payments of a chunk, named by the Temporal run of the batch's run (its coordinator) and the Temporal
 * run of the chunk, as `<coordinator>/<chunk>`. A reset of either makes another payer, which takes up again what the one
 * before it has ended undone. A run that goes on in a new history stays the same coordinator (`OpenRun.knownAs`). A payer
 * identifies no money. Pure.
 */

/** @param coordinator null: the run of the batch gives no go */
export function payerOf({
  coordinator,
  chunk,
}: {
  readonly coordinator: string | null;
  readonly chunk: string;
}): string {
  return `${coordinator ?? ''}/${chunk}`;
}

/** The Temporal run of the batch's run that the payer has its go from. */
export function coordinatorOf(payer: string): string {
  return payer.slice(0, payer.lastIndexOf('/'));
}

/** Whether the payer has its go from this Temporal run of the batch's run. */
export function hasGoFrom(payer: string, coordinator: string): boolean {
  return payer.startsWith(`${coordinator}/`);
}

/** Whether the payer is this Temporal run of the chunk, with whichever go. */
export function isPayerOfChunk(payer: string, chunk: string): boolean {
  return payer.endsWith(`/${chunk}`);
}
