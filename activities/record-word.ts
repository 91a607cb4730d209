/** `recordWord`: keeps a word that came by way of Temporal (its Cancel button) as if a person had typed it. */
import type { Activities } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

export const recordWord =
  (deps: Deps): Activities['recordWord'] =>
  ({ mode, run, word }) =>
    beating(() => deps.words.record(mode, run, word));
