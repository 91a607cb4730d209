/** `readPlan`: starts or finds the `plan` of a run and reads its result. One that was cancelled waits for no plan. */
import { isCancelled } from '../domain/instructions.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

/** Long enough for a plan in the good case; a plan that waits for something says so after it. */
const PATIENCE_MS = 4_000;

export const readPlan =
  (deps: Deps): Activities['readPlan'] =>
  (input) =>
    beating(async () => {
      await deps.plans.start(input);
      const state = await deps.plans.read(input.mode, input.run, PATIENCE_MS);
      const isUnwanted =
        state.kind === 'waiting' &&
        isCancelled((await deps.instructions.read(input.mode, input.run)).instructions);
      return isUnwanted ? { kind: 'cancelled' } : state;
    });
