/** The kinds of service that runs are reset and buttons pressed on. */
import type { SettingsPatch } from '../../../sandbox/server.ts';

/** What a service keeps under a key besides successes, and whether its lists show our tags. */
export type Service = {
  readonly storeErrors: NonNullable<SettingsPatch['storeErrors']>;
  readonly metadataInLists: NonNullable<SettingsPatch['metadataInLists']>;
};

/** Each way of keeping errors with each way of showing tags. */
export const SERVICES: readonly Service[] = (['refusals', 'all', 'none'] as const).flatMap((storeErrors) =>
  (['always', 'mixed', 'never'] as const).map((metadataInLists) => ({ storeErrors, metadataInLists })),
);

/** Each of the ways once: what the tests have time for. */
export const SOME_SERVICES: readonly Service[] = [
  { storeErrors: 'refusals', metadataInLists: 'always' },
  { storeErrors: 'all', metadataInLists: 'never' },
  { storeErrors: 'none', metadataInLists: 'mixed' },
];

/** The number of one of `SERVICES`: another one by another seed. */
export function oneService(seed: number): number {
  return seed % SERVICES.length;
}

/** The one that helps least: no error is kept, and no list shows a tag. */
export const WORST_SERVICE: Service = { storeErrors: 'none', metadataInLists: 'never' };
