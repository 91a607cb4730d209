/**
 * The identity of what a policy says: two texts that differ only in comments, white space, quotes or the order of their
 * fields have the same hash. The plan keeps it; a command and a worker compare it, each computing it for itself.
 */
import { createHash } from 'node:crypto';
import { readYaml } from '../text/yaml-source.ts';
import type { YamlSource } from '../text/yaml-source.ts';

/** Hex SHA-256 of what `text` says; null when it cannot be read, so that it says nothing. */
export function policyHash(text: string): string | null {
  const source = readYaml({ text, file: '', subject: 'POLICY' });
  return source.problems().length === 0 ? hashOfDocument(source) : null;
}

/** The same of a document without problems. */
export function hashOfDocument(source: YamlSource): string {
  return createHash('sha256').update(`cambist-policy-1\n${source.canonical()}`, 'utf8').digest('hex');
}
