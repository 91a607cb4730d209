/** `readPlan`: starts or finds the pin of a run and reads its plan. One that was cancelled waits for no plan. */
import { isCancelled } from '../domain/words.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

/** Long enough for a plan in the good case; a pin that waits for something says so after it. */
const PATIENCE_MS = 4_000;

export const readPlan =
  (deps: Deps): Activities['readPlan'] =>
  (input) =>
    beating(async () => {
      await deps.pins.start(input);
      const state = await deps.pins.read(input.mode, input.run, PATIENCE_MS);
      const isUnwanted =
        state.kind === 'waiting' && isCancelled(await deps.words.read(input.mode, input.run));
      return isUnwanted ? { kind: 'cancelled' } : state;
    });
