/**
 * The hash of a policy's content that decides what a run does. Two texts have the same hash if they differ only in comments,
 * white space, quotes, the order of their fields or their schedule. The plan keeps the hash. A command and a worker each
 * compute it themselves, and compare.
 */
import { createHash } from 'node:crypto';
import { readYaml } from '../text/yaml-source.ts';
import type { YamlSource } from '../text/yaml-source.ts';

/** Hex SHA-256 of the content of `text`; null when `text` cannot be read. */
export function policyHash(text: string): string | null {
  const source = readYaml({ text, file: '', subject: 'POLICY' });
  return source.problems().length === 0 ? hashOfDocument(source) : null;
}

/**
 * The hash of what a run is started with: what its policy says, and the destinations beside it, as the text of
 * `domain/destinations.ts`; null: any account may be paid.
 */
export function hashWith(policy: string, destinations: string | null): string {
  if (destinations === null) return policy;
  return createHash('sha256')
    .update(`cambist-destinations-1\n${policy}\n${destinations}`, 'utf8')
    .digest('hex');
}

/** The same for an input of a run; null where its policy cannot be read. */
export function hashOfInput({
  policyText,
  destinations,
}: {
  readonly policyText: string;
  readonly destinations?: string;
}): string | null {
  const policy = policyHash(policyText);
  return policy === null ? null : hashWith(policy, destinations ?? null);
}

/**
 * The schedule says when a run starts, not what it does. Another time of day must not turn the policy of an existing
 * run into a changed one.
 */
const NOT_EXECUTED = 'schedule';

/** The same for a document without problems. */
export function hashOfDocument(source: YamlSource): string {
  return createHash('sha256')
    .update(`cambist-policy-1\n${source.canonicalWithout(NOT_EXECUTED)}`, 'utf8')
    .digest('hex');
}
