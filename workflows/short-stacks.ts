/**
 * Keeps the stacks of errors in workflows to one line, the place at which the error arose. The SDK takes a stack for each
 * promise of a workflow, to answer Temporal's question `__stack_trace`: with its usual ten lines, each looked up in the source
 * map, that was a fifth of what workflows cost a worker and more. Loaded once before any workflow (`scripts/build.mjs`), because
 * the sandbox then freezes `Error`; it holds in the sandbox alone, and no command depends on it.
 */
Object.assign(Error, { stackTraceLimit: 1 });
