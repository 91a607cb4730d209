/** A worker without keys gives a sealed call back to Temporal, and carries out every other one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApplicationFailure } from '@temporalio/common';
import { UNREADABLE, sealedUnread } from '../../domain/unreadable.ts';
import { inActivity } from '../support/activities.ts';
import { withKeysAskedFor } from '../../worker/sealed-failures.ts';
import { Context } from '@temporalio/activity';

test('a call with a sealed argument fails so that Temporal gives it again, and says which key is missing', () =>
  inActivity({}, async () => {
    const [asking] = withKeysAskedFor({}).activity ?? [];
    const inbound = asking?.(Context.current()).inbound;
    const call = (...args: unknown[]) => inbound?.execute?.({ args, headers: {} }, async () => 'carried out');
    await assert.rejects(
      async () => call(sealedUnread('its-id')),
      (error: unknown) =>
        error instanceof ApplicationFailure &&
        error.type === 'SEAL_KEY_MISSING' &&
        error.nonRetryable !== true &&
        error.message.includes('its-id'),
    );
    for (const other of [[], [UNREADABLE], [{ plan: {} }]])
      // One after the other.
      assert.equal(await call(...other), 'carried out');
  }));
