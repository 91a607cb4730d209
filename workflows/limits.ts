/**
 * How long calls may take, milliseconds. In a file of its own because activities and the worker read them too, and must
 * not load workflow code.
 */

/**
 * A write leaves in the first 20 s of an attempt; with the client's limit of 15 s per request and some slack for the way
 * to the worker it has ended before the attempt has.
 */
export const WRITE_LIMITS = Object.freeze({ startToCloseMs: 40_000, sendWithinMs: 20_000 });

/** A killed worker is noticed after this long; activities beat several times within it. */
export const HEARTBEAT_TIMEOUT_MS = 5_000;
