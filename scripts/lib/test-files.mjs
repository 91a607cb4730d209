// Which test files there are, which of them start nothing, and the environment that all of them get.

import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Tests that start a server, other processes or a build, or take minutes by themselves: not for `npm run quick`. */
const SLOW = [
  /^run-/,
  /^cli-e2e-/,
  /^setup-/,
  /^(chaos|fuzz-schedules|planted-defects|replays|reset-sweep)\.test\.ts$/,
];

/** Names of all files in test/ that hold tests. */
export function listTestFiles() {
  const names = readdirSync(join(ROOT, 'test')).filter((name) => name.endsWith('.test.ts'));
  return names.toSorted();
}

/** Names of those that need nothing but this process. */
export function listUnitTests() {
  return listTestFiles().filter((name) => !SLOW.some((pattern) => pattern.test(name)));
}

/**
 * Tests state what they need: the addresses, keys and profiles of whoever runs them are none of their business.
 *
 * @param {NodeJS.ProcessEnv} environment
 */
export function testEnvironment(environment) {
  const kept = Object.entries(environment).filter(([name]) => !/^(CAMBIST|TEMPORAL)_/.test(name));
  const profile = join(ROOT, '.cambist', 'no-profile.toml');
  return { ...Object.fromEntries(kept), TEMPORAL_CONFIG_FILE: profile, TZ: 'UTC' };
}
