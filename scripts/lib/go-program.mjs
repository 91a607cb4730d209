// Builds a program from the Go module proxy with the Go toolchain. Called where an executable of Temporal cannot be had
// otherwise.

import { run, say, step } from './steps.mjs';

/**
 * Builds a program by `go install` and shows how far it is.
 *
 * @param {object} program
 * @param {string} program.into the folder that gets the executable
 * @param {string} program.target the package with its version, as `go install` takes it
 * @param {string} program.what its name for people
 * @param {string} program.cost how long it takes and what it leaves behind, for people
 * @throws when there is no Go toolchain, or the build fails
 */
export async function installWithGo({ into, target, what, cost }) {
  const hasGo = await run('go', ['version']).then(
    () => true,
    () => false,
  );
  if (!hasGo) throw new Error('no Go toolchain on the PATH');
  say(`Building ${what} from source, once: ${cost}.`);
  await step(`Building ${what}`, async (phase) => {
    let modules = 0;
    let packages = 0;
    const onLine = (/** @type {string} */ line) => {
      if (line.startsWith('go: downloading')) modules += 1;
      else if (!line.startsWith('go:')) packages += 1;
      phase(`${modules} modules downloaded, ${packages} of about 1,300 packages compiled`);
    };
    const env = { ...process.env, GOBIN: into, GOWORK: 'off', CGO_ENABLED: '0' };
    await run('go', ['install', '-v', '-ldflags=-s -w', target], { cwd: into, env, onLine });
  });
}
