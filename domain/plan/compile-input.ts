/** What a plan is made from: a policy, one observation of the service, and what the operator knows. */
import type { SeenBatch } from '../batch.ts';
import type { Policy, ReferenceRates } from '../policy.ts';
import type { RunName } from '../references.ts';
import type { ServiceFacts } from '../service/facts.ts';
import type { Observation } from './observation.ts';
import type { SendWindows } from './plan.ts';

export type CompileInput<P extends Policy = Policy> = {
  readonly run: RunName;
  readonly policy: P;
  readonly policyHash: string;
  readonly date: string;
  readonly sendWindows: SendWindows;
  readonly referenceRates: ReferenceRates | null;
  readonly observation: Observation;
  /** Of a payout: what its chunks hold. Null for other kinds. */
  readonly batch: SeenBatch | null;
  /** By the operator's service file; the policy may have its own for settlement. */
  readonly lateAfterMs: ServiceFacts['lateAfterMs'];
  /** Decimals of a currency, by the table and the operator's service file. */
  readonly decimalsOf: (currency: string) => number;
  readonly madeFor: string;
  /** As of the plan. */
  readonly insteadOf?: string;
};
