/** Numbers that stand in two places because the folders may not know each other must agree. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOKEN_LIFE_MS } from '../../domain/writes/step.ts';
import { TOKEN_LIFE_SECONDS } from '../../service/token.ts';
import { HEARTBEAT_TIMEOUT_MS, WRITE_LIMITS } from '../../workflows/limits.ts';

test('doubt counts on the very life that the client’s tokens have', () => {
  assert.equal(TOKEN_LIFE_MS, TOKEN_LIFE_SECONDS * 1000);
});

test('a write that leaves at its last moment, and the looks around it, end before its attempt does', () => {
  const requestMs = 15_000;
  assert.ok(WRITE_LIMITS.sendWithinMs + 3 * requestMs < WRITE_LIMITS.startToCloseMs);
  assert.ok(HEARTBEAT_TIMEOUT_MS < WRITE_LIMITS.sendWithinMs);
});
