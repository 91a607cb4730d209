// Loaded into the process of each test file by scripts/test.mjs: ends it when it goes on for too long, and at its end.
// The runner's own time limit is a SIGTERM, which a Temporal worker takes for a request to finish what it does.

/** Later than the runner's limit, whose report is the better one. */
const LIMIT_MS = 31 * 60_000;

if (process.env['NODE_TEST_CONTEXT']) {
  setTimeout(() => {
    console.error(`Ended: the file was still at work after ${LIMIT_MS / 60_000} minutes.`);
    process.exit(1);
  }, LIMIT_MS).unref();
  // See `runMain`. Whoever has listened for the exit until then has been heard.
  process.once('beforeExit', () => process.once('exit', () => process.exit()));
}
