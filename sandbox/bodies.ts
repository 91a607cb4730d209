// "Request body rules": closed bodies, as used by every write.

import type { Issue } from './refusal.ts';
import { refuseIssues } from './refusal.ts';
import type { JsonValue } from './strict-json.ts';
import { StrictJsonError, parseStrictJson } from './strict-json.ts';

export type Fields = Readonly<Record<string, JsonValue | undefined>>;

export function parseBody(body: Uint8Array): JsonValue {
  try {
    return parseStrictJson(body);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    return refuseIssues('VALIDATION_BODY_FAILED', [{ path: error.path, message: error.message }]);
  }
}

/** The body as an object; unknown fields become issues. */
export function closedBody(body: JsonValue, known: readonly string[], issues: Issue[]): Fields {
  if (!isObject(body)) {
    return refuseIssues('VALIDATION_BODY_FAILED', [{ path: '', message: 'the body must be a JSON object' }]);
  }
  for (const name of Object.keys(body)) {
    if (!known.includes(name)) issues.push({ path: name, message: 'unknown field' });
  }
  return body;
}

/** A required string of at least one character; null after an issue. */
export function textField(fields: Fields, name: string, issues: Issue[]): string | null {
  const value = fields[name];
  if (typeof value === 'string' && value !== '') return value;
  issues.push({
    path: name,
    message: value === undefined ? 'required' : 'must be a string that is not empty',
  });
  return null;
}

export function isObject(value: JsonValue | undefined): value is { readonly [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
