// Loaded into a process of tests, which it ends without its native parts: what is native of a Temporal worker, taken down
// with the rest of the process, can hold it for ever. All that listened for the exit until then have been called.

process.once('beforeExit', () => process.once('exit', () => process.exit()));
