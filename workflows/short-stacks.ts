/**
 * Keeps the stacks of errors in workflows to one line, the place at which the error arose. The SDK takes a
 * stack for each promise of a workflow, to answer Temporal's query `__stack_trace`. With the usual ten lines,
 * each looked up in the source map, this was a fifth or more of what workflows cost a worker. This file is
 * loaded once before any workflow (`scripts/build.mjs`), because the sandbox then freezes `Error`. It holds
 * only in the sandbox, and no command depends on it.
 */
Object.assign(Error, { stackTraceLimit: 1 });
