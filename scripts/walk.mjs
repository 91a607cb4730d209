// `npm run walk`: all schedules of a small world with at most two faults, where `npm run fuzz` plays some of many: `-- --world NAME
// --slice K/N`. Without them: every world, all of it. A schedule that breaks a promise is printed as data, with its story.

import { parseArgs } from 'node:util';
import { numberOf, runIfMain, ScriptFailed } from './lib/main.mjs';
import { readSlice } from './lib/slice.mjs';
import { say } from './lib/steps.mjs';
import { importTest } from './lib/test-build.mjs';
import { setup } from './setup.mjs';

/** Says of each world, once it was walked, what came of it: the whole walk takes most of an hour. */
export function sayWorlds() {
  let startedAt = performance.now();
  /**
   * @param {string} name
   * @param {{ schedules: number, states: number, failure: object | null }} walked
   */
  return (name, { schedules, states, failure }) => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    startedAt = performance.now();
    const end = failure === null ? '' : '; one broke a promise';
    say(`  ${name}: ${schedules} schedules from ${states} courses in ${seconds} s${end}`);
  };
}

await runIfMain(import.meta.url, async () => {
  const { values } = parseArgs({
    options: {
      world: { type: 'string', default: 'all' },
      slice: { type: 'string' },
      processes: { type: 'string', default: '2' },
    },
  });
  const slice = readSlice(values.slice);
  const processes = numberOf(values.processes, '--processes');
  await setup({ upTo: 'dependencies' });
  const { WORLD_NAMES, textOfWalk, walk } = await importTest('machines/model/walk.ts');
  if (values.world !== 'all' && !WORLD_NAMES.includes(values.world))
    throw new ScriptFailed(`--world is one of: all, ${WORLD_NAMES.join(', ')}.`);
  const startedAt = performance.now();
  const { schedules, states, failure } = await walk({
    world: values.world,
    slice,
    processes,
    onWorld: sayWorlds(),
  });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  say(`${schedules} schedules from ${states} courses with one fault in ${seconds} s.`);
  if (failure === null) return 0;
  throw new ScriptFailed(textOfWalk(failure));
});
