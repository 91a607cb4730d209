/** Every workflow that a worker of Cambist runs. */
export { instructions } from './instructions.ts';
export { chunk } from './chunk.ts';
export { plan } from './plan.ts';
export { run } from './run.ts';
export { scheduled } from './scheduled.ts';
export { trial } from './trial.ts';
export { turn } from './turn.ts';
