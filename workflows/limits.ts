/**
 * How long calls may take, milliseconds. In a file of its own because activities and the worker read them too, and must
 * not load workflow code.
 */

/**
 * A write leaves in the first 20 s of an attempt and then takes 15 s at most (the client's limit); the rest is for the
 * looks before and after it. A crash is noticed by the missing heartbeat, not by this limit.
 */
export const WRITE_LIMITS = Object.freeze({ startToCloseMs: 120_000, sendWithinMs: 20_000 });

/** A killed worker is noticed after this long; activities beat several times within it. */
export const HEARTBEAT_TIMEOUT_MS = 5_000;
