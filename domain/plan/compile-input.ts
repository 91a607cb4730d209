/** What a plan is made from: a policy, one reading of the service, and the facts that the operator knows. */
import type { SeenBatch } from '../batch.ts';
import type { InPlace } from '../replacement.ts';
import type { Policy, ReferenceRates } from '../policy.ts';
import type { RunName } from '../references.ts';
import type { ServiceFacts } from '../service/facts.ts';
import type { Observation } from './observation.ts';
import type { SendWindows } from './plan.ts';

export type CompileInput<P extends Policy = Policy> = InPlace & {
  readonly run: RunName;
  readonly policy: P;
  readonly policyHash: string;
  readonly date: string;
  readonly sendWindows: SendWindows;
  readonly referenceRates: ReferenceRates | null;
  readonly observation: Observation;
  /** What the chunks of a payout hold; null for other kinds. */
  readonly batch: SeenBatch | null;
  /** By the operator's service file. For settlement the policy may state its own time. */
  readonly lateAfterMs: ServiceFacts['lateAfterMs'];
  /** Decimals of a currency, by the table and the operator's service file. */
  readonly decimalsOf: (currency: string) => number;
  readonly madeFor: string;
};
