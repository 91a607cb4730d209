// A lock file held by one process at a time, so that two set-ups of the same folder take turns.
// Holds across crashes: a lock whose holder is gone, or has not touched it for 30 s, is taken over.

import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from './steps.mjs';

const POLL_MS = 200;
const HEARTBEAT_MS = 2_000;
const STALE_AFTER_MS = 30_000;

/**
 * Runs `work` while holding the lock file at `path`.
 *
 * @template T
 * @param {string} path
 * @param {string} doing what is done under the lock, for those who wait: 'building'
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, doing, work) {
  mkdirSync(dirname(path), { recursive: true });
  for (let told = false; !tryTake(path);) {
    const holder = readHolder(path);
    if (holder === 'stale') {
      rmSync(path, { force: true });
      continue;
    }
    if (!told) say(`Another process (${holder}) is ${doing}; waiting for it …`);
    told = true;
    await sleep(POLL_MS);
  }
  const heartbeat = setInterval(() => touch(path), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if (readHolder(path) === process.pid) rmSync(path, { force: true });
  }
}

/** @param {string} path */
function tryTake(path) {
  try {
    writeFileSync(path, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {number | 'stale'}
 */
function readHolder(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    const untouchedMs = Date.now() - statSync(path).mtimeMs;
    if (untouchedMs > STALE_AFTER_MS) return 'stale';
    // Created but not yet written: its holder is alive and about to write.
    if (pid === 0) return pid;
    return isAlive(pid) ? pid : 'stale';
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'stale';
    throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** @param {string} path */
function touch(path) {
  try {
    utimesSync(path, new Date(), new Date());
  } catch {
    // The lock was taken over while this machine slept; the work goes on, it is safe to do twice.
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
