// `npm run replays`: proves that replay notices what would break a run under way. Each edit of
// test/machines/incompatible-edits.yaml is made in a copy of the workflows, which is bundled; of the histories in test/machines/histories/
// and of those that releases have kept, at least one must then be refused as not deterministic. `-- NAME …` makes only these.
// `npm run proof` calls `replays()`.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plant } from './lib/defects.mjs';
import { historiesIn, historyFolders, HISTORIES } from './lib/kept-histories.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

/** @typedef {import('./lib/defects.mjs').Change & { what: string }} Edit */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const AT_ONCE = 2;
/** What a bundle is made of. */
const COPIED = ['domain', 'workflows', 'package.json'];

await runIfMain(import.meta.url, async () => {
  await setup({ upTo: 'dependencies' });
  const startedAt = performance.now();
  const names = process.argv.slice(2);
  const all = await readEdits();
  const unknown = names.find((name) => !all.some((edit) => edit.name === name));
  if (unknown !== undefined) throw new ScriptFailed(`No edit is called '${unknown}'.`);
  const wanted = names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
  const { edits, detected, failures } = await replays({ edits: wanted });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  say(`Incompatible edits detected by replay: ${detected} of ${edits}, in ${seconds} s.`);
  if (failures.length > 0) throw new ScriptFailed(failures.join('\n'));
  return 0;
});

/**
 * Makes these edits (default: all of them), one at a time, and replays every history with each.
 *
 * @param {{ edits?: Edit[], histories?: string }} [options] histories: the folder of the newest and of the releases
 * @returns {Promise<{ edits: number, detected: number, failures: string[] }>} failures: a line for each that was not
 */
export async function replays(options = {}) {
  const edits = options.edits ?? (await readEdits());
  const histories = options.histories ?? HISTORIES;
  await quieten();
  const unedited = await inCopy((copy) => refusedBy(copy, histories));
  if (unedited.length > 0)
    return {
      edits: edits.length,
      detected: 0,
      failures: unedited.map(({ name }) => `${name} does not replay without any edit.`),
    };
  /** @type {string[]} */
  const failures = [];
  const waiting = [...edits];
  const takeTurns = async () => {
    for (let edit = waiting.shift(); edit !== undefined; edit = waiting.shift()) {
      // As many at a time as there are turns.
      const failure = await missed(edit, histories);
      if (failure !== null) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
  return { edits: edits.length, detected: edits.length - failures.length, failures };
}

/** @returns {Promise<Edit[]>} every edit of test/machines/incompatible-edits.yaml */
export async function readEdits() {
  const { parse } = await import('yaml');
  return parse(readFileSync(join(ROOT, 'test', 'machines', 'incompatible-edits.yaml'), 'utf8'));
}

/**
 * Why an edit was not detected; null when it was.
 *
 * @param {Edit} edit
 * @param {string} histories
 * @returns {Promise<string | null>}
 */
async function missed(edit, histories) {
  try {
    const refused = await inCopy((copy) => {
      plant(edit, copy);
      return refusedBy(copy, histories);
    });
    const { DeterminismViolationError } = await import('@temporalio/workflow');
    const noticed = refused.filter(({ error }) => error instanceof DeterminismViolationError);
    if (noticed.length > 0) {
      say(`${edit.name}: noticed by ${noticed.map(({ name }) => name).join(', ')}`);
      return null;
    }
    const [other] = refused;
    return `${edit.name} is NOT NOTICED${other === undefined ? '' : ` (${other.name}: ${String(other.error)})`}: ${edit.what}`;
  } catch (error) {
    if (error instanceof ScriptFailed) return error.message;
    return `${edit.name} cannot be judged: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * The histories that the workflows of a copy do not replay.
 *
 * @param {string} copy
 * @param {string} folder
 * @returns {Promise<{ name: string, error: unknown }[]>}
 */
async function refusedBy(copy, folder) {
  const { bundleWorkflowCode, DefaultLogger, Worker } = await import('@temporalio/worker');
  /** @type {string[]} */
  const complaints = [];
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(copy, 'workflows', 'index.ts'),
    logger: new DefaultLogger('ERROR', ({ message }) => complaints.push(message)),
  }).catch((/** @type {unknown} */ error) => {
    throw new Error(`it does not bundle: ${String(error)} ${complaints.join(' ')}`);
  });
  /** @type {{ name: string, error: unknown }[]} */
  const refused = [];
  for (const { version, folder: of } of historyFolders(folder))
    for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, historiesIn(of)))
      if (error !== undefined)
        refused.push({ name: version === null ? workflowId : `${workflowId} of release ${version}`, error });
  return refused;
}

/**
 * Works on a copy of the workflows in a folder of its own, with the dependencies linked.
 *
 * @template T
 * @param {(copy: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function inCopy(work) {
  const copy = mkdtempSync(join(tmpdir(), 'cambist-replays-'));
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir');
    return await work(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** What is replayed in vain is logged as an error: expected here. */
async function quieten() {
  const { DefaultLogger, Runtime, makeTelemetryFilterString } = await import('@temporalio/worker');
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => {}),
      telemetryOptions: {
        logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) },
      },
    });
  } catch {
    // A process has one runtime: the program that called us has installed its own.
  }
}
