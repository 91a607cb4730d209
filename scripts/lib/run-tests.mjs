// Started by scripts/test.mjs with tsx: runs test files, each in a process of its own, in the order given, so many at a
// time. (`node --test` sorts them, and a long one that begins last is waited for by all.)

import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const [filesAtOnce, timeoutMs, ...files] = process.argv.slice(2);

const events = run({ files, concurrency: Number(filesAtOnce), timeout: Number(timeoutMs) });
events.on('test:fail', () => {
  process.exitCode = 1;
});
events.compose(new spec()).pipe(process.stdout);
