// Replies as text: successes, refusals, and what faults put in their place.

import type { CatalogueEntry } from './catalogue.ts';
import { entryOf, isCode } from './catalogue.ts';
import type { FaultEffect } from './fault-kinds.ts';
import type { Reply } from './records.ts';
import type { Operation } from './operations.ts';
import type { Refusal } from './refusal.ts';
import { envelopeOf } from './refusal.ts';

const json = { 'Content-Type': 'application/json' } as const;

export function successReply(body: Readonly<Record<string, unknown>>): Reply {
  return { status: 200, body: JSON.stringify(body), headers: json };
}

export function refusalReply(refusal: Refusal): Reply {
  return { status: refusal.status, body: envelopeOf(refusal), headers: { ...json, ...refusal.headers } };
}

export function htmlReply(status = 502): Reply {
  return {
    status,
    body: `<!doctype html><html><head><title>${status}</title></head><body><h1>Bad gateway</h1></body></html>\n`,
    headers: { 'Content-Type': 'text/html' },
  };
}

type ErrorEffect = Extract<FaultEffect, { kind: 'error' }>;

/** The reply of an `error` fault. Details the catalogue requires and the fault does not give are made up. */
export function errorReply(effect: ErrorEffect, resourceId: string): Reply {
  const headers = { ...json, ...effect.headers };
  if (effect.body !== undefined) {
    const body = typeof effect.body === 'string' ? effect.body : JSON.stringify(effect.body);
    return { status: effect.status ?? statusOf(effect.code), body, headers };
  }
  const status = effect.status ?? statusOf(effect.code);
  const code = effect.code ?? (status >= 500 ? 'INTERNAL_ERROR' : 'VALIDATION_BODY_FAILED');
  const entry = entryFor(code, status);
  const waits = entry.retryStrategy === 'WAIT_THEN_RETRY_SAME_KEY' && status !== 503;
  const body = {
    error: {
      code,
      type: entry.type,
      message: `A fault of the sandbox: ${code}.`,
      retryStrategy: entry.retryStrategy,
      details: { ...madeUpDetails(entry, resourceId), ...effect.details },
    },
  };
  return {
    status,
    body: JSON.stringify(body),
    headers: { ...(waits ? { 'Retry-After': '1' } : {}), ...headers },
  };
}

/** The 500 a write of this kind fails with. */
export function failureCodeOf(
  operation: Operation,
): 'TRADE_EXECUTION_FAILED' | 'WITHDRAWAL_INITIATION_FAILED' | 'INTERNAL_ERROR' {
  if (operation === 'createTrade') return 'TRADE_EXECUTION_FAILED';
  return operation === 'createWithdrawal' ? 'WITHDRAWAL_INITIATION_FAILED' : 'INTERNAL_ERROR';
}

/** Whether a refusal with this code comes from the operation itself, not from the doors before it. */
export function reachesOperation(code: string): boolean {
  return (
    !/^(?:AUTH_|VALIDATION_|IDEMPOTENCY_|INVALID_)/.test(code) &&
    ![
      'SANDBOX_MODE_REQUIRED',
      'MISSING_REQUEST_CONTEXT',
      'METHOD_NOT_ALLOWED',
      'UNSUPPORTED_MEDIA_TYPE',
      'ROUTE_NOT_FOUND',
      'RATE_LIMIT_EXCEEDED',
      'FEATURE_NOT_ENABLED',
      'ENDPOINT_SUNSET',
    ].includes(code)
  );
}

function statusOf(code: string | undefined): number {
  return code !== undefined && isCode(code) ? entryOf(code).status : 500;
}

/** An unknown code gets what its status suggests. */
function entryFor(code: string, status: number): CatalogueEntry {
  if (isCode(code)) return entryOf(code);
  if (status >= 500) {
    return { status, type: 'INTERNAL_ERROR', retryStrategy: 'CHECK_STATE_THEN_RETRY', details: [] };
  }
  if (status === 404) return { status, type: 'NOT_FOUND', retryStrategy: 'TERMINAL', details: [] };
  if (status === 409) return { status, type: 'CONFLICT', retryStrategy: 'FIX_AND_RESUBMIT', details: [] };
  return { status, type: 'VALIDATION_ERROR', retryStrategy: 'FIX_AND_RESUBMIT', details: [] };
}

function madeUpDetails(entry: CatalogueEntry, resourceId: string): Record<string, unknown> {
  const known: Record<string, unknown> = {
    resourceId,
    currency: 'USD',
    pair: 'USD/EUR',
    side: 'SELL',
    issues: [],
    firstIssuePath: '',
    reason: 'fault',
    maxDecimals: 2,
    originalRequestHash: '0'.repeat(64),
    expiredAt: '2026-01-01T00:00:00.000Z',
    consumedAt: '2026-01-01T00:00:00.000Z',
  };
  const required = entry.details.filter((field) => !field.endsWith('?'));
  return Object.fromEntries(
    required.map((field) => [field, known[field] ?? (field.endsWith('Amount') ? '0' : 'fault')]),
  );
}
