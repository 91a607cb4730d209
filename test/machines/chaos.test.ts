/**
 * A short chaos run (see `test/machines/chaos/chaos.ts`): two workers, a server and the wires between them are harmed while people
 * start, reset, cancel and terminate runs. A longer one, by another seed: `npm run chaos`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './chaos/chaos.ts';

/** Fixed, so that a change is what breaks the test. */
const SEED = 1;
const STORM_MS = 25_000;

/** A storm without these proves nothing. How much else it meets depends on how fast the machine is. */
const MUST_HAPPEN = [
  'worker kills',
  'worker freezes',
  'server kills',
  'cut wires',
  'bad wires',
  'trades',
  'withdrawals',
];

test('in a storm everything moves at most once, and after it every run ends as its report says', async (t) => {
  const { figures, failures, folder } = await chaos({
    seed: SEED,
    stormMs: STORM_MS,
    tell: (line) => t.diagnostic(line),
  });
  t.diagnostic(JSON.stringify(figures));
  const again = `Logs: ${folder ?? ''}\nAgain: npm run chaos -- --minutes ${(STORM_MS / 60_000).toFixed(2)} --seed ${SEED}`;
  assert.equal(failures.length, 0, `${failures.length} failed:\n\n${failures.join('\n')}\n${again}`);
  for (const what of MUST_HAPPEN)
    assert.ok((figures[what] ?? 0) > 0, `no ${what}: ${JSON.stringify(figures)}`);
});
