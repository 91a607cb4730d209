/** Every workflow that a worker of Cambist runs. */
export { pin } from './pin.ts';
export { run } from './run.ts';
export { words } from './words.ts';
