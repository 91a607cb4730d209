// Started by scripts/quick.mjs with tsx: every test that starts nothing, in this one process. Most of the time of a small
// file is the start of a process, and the same modules once more.

import { listUnitTests } from './test-files.mjs';

for (const name of listUnitTests()) {
  try {
    await import(`../../test/${name}`);
  } catch (error) {
    // The others still say what they find.
    console.error(`\n✖ test/${name} cannot be loaded:`, error);
    process.exitCode = 1;
  }
}
