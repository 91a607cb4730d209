/** One process of the walk: walks the slice that it is sent and answers what came of it. */
import type { Slice } from '../../../scripts/lib/slice.mjs';
import { walkHere, type WorldName } from './walk.ts';

// Whoever asked is gone: nobody wants the answer any more.
process.once('disconnect', () => process.exit());
process.once('message', (asked: { readonly world: WorldName; readonly slice: Slice }) => {
  void walkHere(asked).then((outcome) => process.send?.(outcome, () => process.disconnect()));
});
