// A refusal: the one error the sandbox throws to answer a request with the error envelope.

import type { Code } from './catalogue.ts';
import { entryOf } from './catalogue.ts';

export type Details = Readonly<Record<string, unknown>>;

export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Thrown anywhere below the HTTP layer; carries all that the envelope and the headers need. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: Code;
  readonly status: number;
  readonly details: Details;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: Code,
    details: Details = {},
    more: { status?: number; message?: string; headers?: Record<string, string> } = {},
  ) {
    super(more.message ?? sentenceOf(code));
    this.code = code;
    this.status = more.status ?? entryOf(code).status;
    this.details = details;
    this.headers = more.headers ?? {};
    assertDetails(code, details);
  }
}

/** "Envelope": all five fields are always present and there is no other. */
export function envelopeOf(refusal: Refusal): string {
  const entry = entryOf(refusal.code);
  return JSON.stringify({
    error: {
      code: refusal.code,
      // A conflict that is answered as 400 is typed as the status mapping has it for 400.
      type: refusal.status === 400 && entry.status === 409 ? 'VALIDATION_ERROR' : entry.type,
      message: refusal.message,
      retryStrategy: entry.retryStrategy,
      details: refusal.details,
    },
  });
}

export function refuseIssues(
  code:
    | 'VALIDATION_QUERY_FAILED'
    | 'VALIDATION_PATH_FAILED'
    | 'VALIDATION_BODY_FAILED'
    | 'VALIDATION_HEADER_FAILED',
  issues: readonly Issue[],
): never {
  const first = issues[0] ?? { path: '', message: 'invalid' };
  throw new Refusal(
    code,
    { issues, firstIssuePath: first.path },
    { message: `${first.path}: ${first.message}` },
  );
}

function sentenceOf(code: Code): string {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** `details` is a closed object per code; a slip of ours must fail in our own tests, not mislead a client. */
function assertDetails(code: Code, details: Details): void {
  const known = entryOf(code).details;
  for (const field of Object.keys(details)) {
    if (!known.includes(field) && !known.includes(`${field}?`)) {
      throw new TypeError(`Details of ${code} have no field "${field}".`);
    }
  }
  for (const field of known) {
    if (!field.endsWith('?') && !Object.hasOwn(details, field)) {
      throw new TypeError(`Details of ${code} lack "${field}".`);
    }
  }
}
