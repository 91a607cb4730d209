/**
 * `readPlan`: starts or finds the `plan` of a run and reads its result, which counts only for the policy that it was made
 * from (M4). A run that was cancelled waits for no plan.
 */
import { policyHash } from '../language/policy-hash.ts';
import type { Activities } from '../workflows/calls.ts';
import { isRunCancelled } from './cancelled.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

/** Long enough for a plan in the good case; a plan that waits for something says so after it. */
const PATIENCE_MS = 4_000;

export const readPlan =
  (deps: Deps): Activities['readPlan'] =>
  (input) =>
    beating(async () => {
      // What people say is kept from the start: where a plan is there and they are not, they are missing.
      await deps.instructions.open(input.mode, input.run, await deps.plans.isMade(input.mode, input.run));
      await deps.plans.start(input);
      const state = await deps.plans.read(input.mode, input.run, PATIENCE_MS);
      if (state.kind === 'plan') {
        // What the policies say is compared, comments and white space aside, and never a hash that came with the input.
        const given = policyHash(input.policyText) ?? 'unreadable';
        const planned = state.plan.policy.hash;
        return given === planned ? state : { kind: 'other policy', planned, given };
      }
      const isUnwanted = state.kind === 'waiting' && (await isRunCancelled(deps, input.mode, input.run));
      return isUnwanted ? { kind: 'cancelled' } : state;
    });
