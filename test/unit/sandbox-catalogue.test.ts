// The error catalogue as data, and the rules that hold over all of it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { adminRoutes } from '../../sandbox/admin.ts';
import { catalogue } from '../../sandbox/catalogue.ts';
import type { CatalogueEntry } from '../../sandbox/catalogue.ts';
import { defaultAccounts } from '../../sandbox/default-accounts.ts';
import { effectKinds } from '../../sandbox/faults.ts';
import { Refusal, envelopeOf } from '../../sandbox/refusal.ts';
import { defaultSettings } from '../../sandbox/settings.ts';
import { readCatalogue } from '../support/interface-catalogue.ts';
import { urlOf } from '../support/root.ts';

const entries = Object.entries(catalogue) as [string, CatalogueEntry][];

test('every status goes with its type', () => {
  const typesOf: Readonly<Record<number, readonly string[]>> = {
    400: ['VALIDATION_ERROR'],
    401: ['AUTHENTICATION_ERROR'],
    403: ['AUTHORIZATION_ERROR'],
    404: ['NOT_FOUND'],
    405: ['VALIDATION_ERROR'],
    409: ['CONFLICT'],
    410: ['NOT_FOUND'],
    413: ['VALIDATION_ERROR'],
    415: ['VALIDATION_ERROR'],
    422: ['VALIDATION_ERROR', 'CONFLICT'],
    428: ['VALIDATION_ERROR'],
    429: ['RATE_LIMITED'],
    500: ['INTERNAL_ERROR'],
    503: ['INTERNAL_ERROR'],
  };
  for (const [code, { status, type }] of entries) assert.ok(typesOf[status]?.includes(type), code);
  const conflicts = entries.filter(([, entry]) => entry.status === 422 && entry.type === 'CONFLICT');
  assert.deepEqual(
    conflicts.map(([code]) => code),
    ['IDEMPOTENCY_MISMATCH'],
  );
});

test('every type goes with its retry strategy, three codes wait, and none asks for the same key at once', () => {
  const waiting = ['IDEMPOTENCY_IN_FLIGHT', 'IDEMPOTENCY_UNAVAILABLE', 'RATE_LIMIT_EXCEEDED'];
  const strategies: Readonly<Record<string, string>> = {
    VALIDATION_ERROR: 'FIX_AND_RESUBMIT',
    CONFLICT: 'FIX_AND_RESUBMIT',
    AUTHENTICATION_ERROR: 'TERMINAL',
    AUTHORIZATION_ERROR: 'TERMINAL',
    NOT_FOUND: 'TERMINAL',
    INTERNAL_ERROR: 'CHECK_STATE_THEN_RETRY',
  };
  for (const [code, { type, retryStrategy }] of entries) {
    const expected = waiting.includes(code) ? 'WAIT_THEN_RETRY_SAME_KEY' : strategies[type];
    assert.equal(retryStrategy, expected, code);
  }
});

test('the catalogue holds the codes that the interface shows, and one of ours for what is gone', () => {
  const shown = readCatalogue();
  const codes = [...new Set(shown.map(({ code }) => code)), 'ENDPOINT_SUNSET'];
  assert.deepEqual(Object.keys(catalogue).toSorted(), codes.toSorted());
  const held = new Map(entries);
  for (const { code, status, type } of shown) {
    assert.equal(held.get(code)?.type, type, code);
    if (status !== null) assert.equal(held.get(code)?.status, status, code);
  }
});

test('an envelope has five fields, and details are a closed object', () => {
  const envelope = JSON.parse(envelopeOf(new Refusal('QUOTE_NOT_FOUND', { quoteId: 'q' }))) as object;
  assert.deepEqual(envelope, {
    error: {
      code: 'QUOTE_NOT_FOUND',
      type: 'NOT_FOUND',
      message: 'Quote not found.',
      retryStrategy: 'TERMINAL',
      details: { quoteId: 'q' },
    },
  });
  assert.throws(() => new Refusal('QUOTE_NOT_FOUND'), /lack "quoteId"/);
  assert.throws(() => new Refusal('TRADE_DISABLED', { more: 1 }), /no field "more"/);
});

test('the tables of the README are those of the code', () => {
  const readme = readFileSync(urlOf('sandbox/README.md'), 'utf8');
  const namesUnder = (heading: string): string[] => {
    const section = readme.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
    return [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name ?? '');
  };
  assert.deepEqual(namesUnder('Faults'), effectKinds);
  assert.deepEqual(namesUnder('Admin interface'), Object.keys(adminRoutes));
  assert.deepEqual(namesUnder('Settings'), Object.keys(defaultSettings));
  for (const { id } of defaultAccounts) assert.ok(readme.includes(`\`${id}\``), id);
});
