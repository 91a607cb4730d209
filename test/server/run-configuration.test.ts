/** The key and the right time go away and come back: a run is held until then, and sends nothing before. */
import { describe, test } from 'node:test';
import { convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Stage } from '../support/stage.ts';

const plain = { rates: { 'USD/MXN': '17.25' }, balances: { USD: '1000000', MXN: '1000000' } };

// One after the other: what a process knows of the service's clock is for all of its workers.
describe('a fault of configuration holds the run until it is mended, and nothing is sent before', () => {
  const faults: readonly (readonly [string, (stage: Stage) => void, (stage: Stage) => void, string])[] = [
    [
      'a key that is switched off',
      (stage) => stage.setKeyActive(false),
      (stage) => stage.setKeyActive(true),
      'AUTH_API_KEY_INVALID',
    ],
    [
      'a clock that is more than ten seconds off',
      (stage) => stage.sandbox.clock.setOffset(20_000),
      (stage) => stage.sandbox.clock.setOffset(0),
      'CLOCK_SKEW',
    ],
  ];
  for (const [what, break_, mend, code] of faults)
    test(what, async () => {
      const stage = await openStage(plain);
      try {
        break_(stage);
        await stage.startWorker();
        const run = await stage.start(convertPolicy());
        await run.heldBy(code);
        assertNothingMoved(run);
        mend(stage);
        assertDoneOnce(run, await run.report());
      } finally {
        await stage.close();
      }
    });
});
