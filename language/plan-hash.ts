/** The hash of a plan, which people sign and workers make anew: any other plan has another one. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { Plan } from '../domain/plan/plan.ts';

/** SHA-256 of all that the plan says, hex. */
export function planHash(plan: Plan): string {
  return createHash('sha256')
    .update(`cambist-plan-hash-1\n${canonicalJson(plan)}`, 'utf8')
    .digest('hex');
}
