/**
 * Reads a policy file: returns its record, or every mistake in it with place and fix (design: "Fields"). Nothing is guessed:
 * text that is not understood is refused. Called by `check`, `plan`, `run` and by the activity that makes the plan.
 */
import type { Policy } from '../../domain/policy.ts';
import { checkStructure } from '../text/check-structure.ts';
import { frozen } from '../text/frozen.ts';
import { nearest } from '../text/nearest.ts';
import { quoted } from '../text/printable.ts';
import type { PolicyProblem } from '../text/problem.ts';
import { readYaml } from '../text/yaml-source.ts';
import type { YamlSource } from '../text/yaml-source.ts';
import { readConvert } from './load-convert.ts';
import { readPayout } from './load-payout.ts';
import { readRebalance } from './load-rebalance.ts';
import { hashOfDocument } from './policy-hash.ts';
import { HeadSchema, KINDS } from './policy-schema.ts';

/** A loaded policy, or why there is none. Problems and warnings are sorted by place. */
export type LoadedPolicy =
  | {
      readonly ok: true;
      readonly policy: Policy;
      /** The hash of the text, without comments, white space and schedule (`policy-hash.ts`). */
      readonly hash: string;
      readonly warnings: readonly PolicyProblem[];
    }
  | {
      readonly ok: false;
      readonly problems: readonly PolicyProblem[];
      readonly warnings: readonly PolicyProblem[];
    };

/**
 * Loads the text of a policy; `file` is only shown. `decimals` is `ServiceFacts.decimals`; without it, the built-in table
 * tells the decimals of fixed amounts.
 */
export function loadPolicy(
  text: string,
  file: string,
  decimals: Readonly<Record<string, number>> = {},
): LoadedPolicy {
  const source = readYaml({ text, file, subject: 'POLICY' });
  const policy = source.broken ? null : readPolicy(source, decimals);
  const problems = source.problems();
  const warnings = source.warnings();
  if (policy === null || problems.length > 0) return { ok: false, problems, warnings };
  return { ok: true, policy: frozen(policy), hash: hashOfDocument(source), warnings };
}

type Decimals = Readonly<Record<string, number>>;

/** A file without a kind is checked as a `convert` policy. */
const READERS = {
  convert: readConvert,
  rebalance: readRebalance,
  payout: readPayout,
} as const satisfies Readonly<Record<Policy['kind'], unknown>>;

function readPolicy(source: YamlSource, decimals: Decimals): Policy | null {
  const version = source.clean(['policy']);
  if (version !== null && version !== '1') {
    source.report(source.placeAt(['policy']), {
      mistake: 'VERSION',
      message: `${quoted(version)} is not a version of the policy language that this Cambist reads`,
      fix: 'write `policy: 1`, or use the Cambist that the policy was written for',
    });
    return null;
  }
  const written = source.clean(['kind']) ?? 'convert';
  const kind = KINDS.find((known) => known === written);
  if (kind === undefined) {
    reportKind(source, written);
    checkStructure(HeadSchema, source, {});
    return null;
  }
  return READERS[kind](source, decimals);
}

function reportKind(source: YamlSource, kind: string): void {
  const near = nearest(kind, KINDS);
  source.report(source.placeAt(['kind']), {
    mistake: 'KIND',
    message: `${quoted(kind)} is not a kind of policy; the kinds are: ${KINDS.join(', ')}`,
    fix: near === null ? `write \`kind: ${KINDS[0]}\`` : `did you mean \`${near}\`?`,
  });
}
