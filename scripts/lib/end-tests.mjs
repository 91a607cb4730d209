// Loaded into a process of tests, which it ends without its native parts: what is native of a Temporal worker, taken down
// with the rest of the process, can hold it for ever. Whoever has listened for the exit until then has been heard.

process.once('beforeExit', () => process.once('exit', () => process.exit()));
