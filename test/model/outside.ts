/**
 * What the model leaves out, each with its reason: assumptions that the design makes, and places where its rules reach
 * no further. Everything else that can happen may happen at any moment. Each is counted (`outside: …` in the table), so
 * that nobody takes silence for proof.
 */
import type { Execution } from './execution.ts';
import type { World } from './world.ts';

/** No backup is restored quicker than this: what is younger is known to be whole. */
const RESTORE_TAKES_MS = 31_000;
/** No plan is lost quicker than this: who makes it anew knows nothing of a send that is still on its way. */
const LOSS_TAKES_MS = 5 * 60_000;
/**
 * A trade is not booked later than this past its quote, its token and its attempt's deadline: two minutes, less the ten
 * seconds that two clocks may differ without anybody noticing.
 */
export const TRADES_SETTLE_MS = 110_000;
/** A withdrawal is not booked later than this after it was sent, where only time can end the doubt about it. */
export const WITHDRAWALS_SETTLE_MS = 86_400_000;

// What the code does not hold yet: each becomes true with its mend, and goes then.
const RESETS_ANY_RUN = on('resets');
const TAKES_ANY_KEY = on('keys');
export const TRIES_AGAIN = on('tries');
export const CARRIES_RESETS = on('carries');
export const TELLS_TWINS_OF_RUNS = on('twins');
export const OUTLASTS_REFUSALS = on('refusals');
export const QUICK_RESTORES = on('restores');

/** How long it takes at least until Temporal is back, without the plan or with it. */
export function comesBackAfter(takesMs: number, losesPlan: boolean): number {
  return Math.max(takesMs, losesPlan ? LOSS_TAKES_MS : RESTORE_TAKES_MS);
}

function on(seam: string): boolean {
  return (process.env['MODEL_SEAMS'] ?? '').split(',').includes(seam);
}

/**
 * What a run had decided before the point that it is reset to, it does not ask again; of what a later run did after it,
 * its report knows nothing.
 */
export function isOverruled(world: World, target: Execution): boolean {
  if (RESETS_ANY_RUN || world.runs.some((temporal) => temporal.newest() === target)) return false;
  const closedAtMs = target.closedAtMs ?? Infinity;
  const { ledger } = world.service;
  return noted(
    world,
    ledger.some(({ atMs }) => atMs > closedAtMs) || world.service.alive().length > 0,
    'a reset of a run after which a later one moved money',
  );
}

/** A restore takes an instruction away under which a payment was made, and no list shows the payment's tag. */
export function forgetsAGeneration(world: World): boolean {
  return noted(
    world,
    world.service.settings.metadataInLists !== 'always' &&
      world.runs.some(({ kept }) => kept.instructions.some(({ kind }) => kind === 'pay again')),
    'a restore that forgets who opened a generation',
  );
}

/**
 * An API key is replaced while a restore or a lost plan makes the run forget what it sent under the old one, at a service
 * that takes the same request under another key for a new one.
 */
export function forgetsTheKey(world: World): boolean {
  return noted(
    world,
    !TAKES_ANY_KEY && belongToApiKeys(world) && world.keysUsed.size > 1,
    'a restore or a lost plan with a replaced API key',
  );
}

/** As `forgetsTheKey`, the other way round. */
export function cannotReplaceKey(world: World): boolean {
  return noted(
    world,
    !TAKES_ANY_KEY && belongToApiKeys(world) && world.runs.some(({ hasForgotten }) => hasForgotten),
    'a restore or a lost plan with a replaced API key',
  );
}

/** A key that was replaced is revoked: nobody goes back to it at such a service. */
export function isRevoked(world: World, keyName: string): boolean {
  return !TAKES_ANY_KEY && belongToApiKeys(world) && world.credentials.keyName !== keyName;
}

/** Without `Date` in its answers nothing tells that the service's clock and ours are far apart. */
export function cannotBeTold(world: World, byMs: number): boolean {
  const apartMs = Math.abs(world.ourSkewMs + byMs - world.service.skewMs);
  return noted(
    world,
    !world.service.settings.dates && apartMs > 10_000,
    'clocks far apart at a service that sends no date',
  );
}

function belongToApiKeys(world: World): boolean {
  return world.service.settings.keysBelongTo === 'api key';
}

function noted(world: World, isOutside: boolean, what: string): boolean {
  if (isOutside) world.coverage.hit('outside', what);
  return isOutside;
}
