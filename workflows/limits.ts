/**
 * How long calls and starts may take, milliseconds, and how large their inputs may be. This file stands alone
 * because activities and the worker read it too, and must not load workflow code.
 */

/**
 * A write is sent in the first 20 s of an attempt and then takes 15 s at most (the client's limit). The rest is for the
 * reads before and after it. A crash is noticed by the missing heartbeat, not by this limit.
 */
export const WRITE_LIMITS = Object.freeze({ startToCloseMs: 120_000, sendWithinMs: 20_000 });

/**
 * How late a scheduled run may start, by Temporal and then by a worker. It is long enough for a deployment or a restart of
 * either. A run that would be later is missed and told, because a price of 09:30 is not that of noon.
 */
export const SCHEDULED_START = Object.freeze({ catchUpMs: 600_000, startWithinMs: 600_000 });

/** A killed worker is noticed after this long. Activities send several heartbeats in this time. */
export const HEARTBEAT_TIMEOUT_MS = 5_000;

/**
 * The most bytes of a policy, and of each file that it names, in the input of a run. Both are far smaller,
 * and their own readers say so. An input that is larger is not even read.
 */
export const INPUT_BYTES = Object.freeze({ policy: 1_048_576, file: 262_144 });
