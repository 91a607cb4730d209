/**
 * The identity of what a policy makes a run do: two texts that differ only in comments, white space, quotes, the order of
 * their fields or their schedule have the same hash. The plan keeps it; a command and a worker compare it, each computing
 * it for itself.
 */
import { createHash } from 'node:crypto';
import { readYaml } from '../text/yaml-source.ts';
import type { YamlSource } from '../text/yaml-source.ts';

/** Hex SHA-256 of what `text` says; null when it cannot be read, so that it says nothing. */
export function policyHash(text: string): string | null {
  const source = readYaml({ text, file: '', subject: 'POLICY' });
  return source.problems().length === 0 ? hashOfDocument(source) : null;
}

/** When a run is started is no part of what it does: another time must not make a changed policy of one that is there. */
const NOT_EXECUTED = 'schedule';

/** The same of a document without problems. */
export function hashOfDocument(source: YamlSource): string {
  return createHash('sha256')
    .update(`cambist-policy-1\n${source.canonicalWithout(NOT_EXECUTED)}`, 'utf8')
    .digest('hex');
}
