/**
 * Waits for steps that an activity carries out side by side until each of them has ended, also when one fails. So no
 * step outlives its activity: nothing is sent by a call that Temporal counts as failed.
 * @throws what the first of them in order that failed has thrown
 */
export async function allEnded<T>(steps: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(steps);
  return Promise.all(steps);
}
