/**
 * Hundreds of resets on a real server: every sample policy in every state that it can come into, rewound and started
 * again (see `test/machines/resets/resets.ts`). Thousands, at every event on every kind of service: `npm run resets`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resetRuns } from './resets/resets.ts';
import { SOME_SERVICES } from './resets/services.ts';
import { sum, tableOf } from './resets/table.ts';

/** Fixed, so that a change is what breaks the test; other seeds are for `npm run resets`. */
const SEED = 20_261_121;
const AT_LEAST = 300;

test(`at least ${AT_LEAST} resets move no money twice, and do what was missing`, async (t) => {
  const { rows, failures } = await resetRuns({
    seed: SEED,
    services: SOME_SERVICES,
    extent: 'some',
    tell: (line) => t.diagnostic(line),
  });
  t.diagnostic(`\n${tableOf(rows)}`);
  assert.equal(failures.length, 0, `${failures.length} failed:\n\n${failures.join('\n\n')}`);
  const { resets, signalsAgain, signalsLeftOut } = sum(rows);
  assert.ok(resets >= AT_LEAST, `Only ${resets} resets.`);
  assert.ok(signalsAgain > 0 && signalsLeftOut > 0, 'No signal was there to be applied again or left out.');
});
