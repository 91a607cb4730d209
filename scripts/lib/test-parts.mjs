// What `npm test` runs, as data: which files share a process, by what they are about. From a table in test/machines it plays the
// cells alone (test/support/sliced.ts). What stands in no part takes long, and is for `npm run proof`.

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {number} filesAtOnce most tests of a server wait, and so several files share the time of their process
 * @property {string[]} files how their names begin; of several that fit a file the longest counts
 * @property {boolean} [startsNothing] it needs no server and no build of the program; default: false
 * @property {boolean} [mostlyWaits] for processes that it starts, and so it takes little of the others' time; default: false
 */

/** In this order, what takes longest first. @type {Part[]} */
const PARTS = [
  {
    name: 'payouts',
    filesAtOnce: 4,
    files: ['server/batch-', 'server/run-batch', 'server/run-many', 'machines/run-batch'],
  },
  {
    name: 'commands',
    filesAtOnce: 3,
    files: ['server/cli-', 'server/docs-tutorial', 'server/run-ui', 'machines/run-replays', 'machines/ui-'],
  },
  {
    name: 'conversions',
    filesAtOnce: 4,
    files: [
      'server/',
      'machines/buttons.test',
      'machines/run-workers',
      'machines/run-again',
      'machines/run-instead',
      'machines/strangers',
    ],
  },
  {
    name: 'rebalancing and watching',
    filesAtOnce: 4,
    files: [
      'server/run-rebalance',
      'server/docs-rebalancing',
      'server/run-turn',
      'server/schedules',
      'server/watch',
      'server/audit',
      'server/metrics',
      'server/traces',
      'server/worker-log',
    ],
  },
  // The logger of their process is their own.
  { name: 'logs', filesAtOnce: 1, files: ['server/run-secrets'] },
  // The SDK's runtime ends with the last connection of a process, also where another file is about to replay a history by it.
  {
    name: 'replays',
    filesAtOnce: 1,
    files: ['server/run-questions', 'machines/run-replay.', 'machines/planted-defects'],
  },
  // Two that take the same time, so that they can share two cores.
  {
    name: 'units A to L',
    filesAtOnce: 1,
    files: Array.from('abcdefghijkl', (letter) => `unit/${letter}`),
    startsNothing: true,
  },
  { name: 'units M to Z', filesAtOnce: 1, files: ['unit/'], startsNothing: true },
  { name: 'stories', filesAtOnce: 1, files: ['story/'], startsNothing: true },
  { name: 'model', filesAtOnce: 1, files: ['machines/fuzz-schedules'], startsNothing: true },
  // They change the environment or the clock of their process, or measure what is loaded into it.
  {
    name: 'set-up',
    filesAtOnce: 1,
    files: ['server/setup-', 'server/doctor', 'server/run-configuration', 'machines/worker-builds'],
    mostlyWaits: true,
  },
];

/**
 * The parts of some test files, each with its own of them.
 *
 * @param {string[]} files as `unit/money.test.ts`
 * @returns {{ parts: Part[], others: string[] }} others: files of no part
 */
export function partsOf(files) {
  const fitOf = (/** @type {Part} */ part, /** @type {string} */ file) =>
    Math.max(0, ...part.files.filter((beginning) => file.startsWith(beginning)).map(({ length }) => length));
  const partOf = (/** @type {string} */ file) => {
    const fits = PARTS.map((part) => ({ part, fit: fitOf(part, file) })).filter(({ fit }) => fit > 0);
    return fits.toSorted((one, other) => other.fit - one.fit)[0]?.part;
  };
  return {
    parts: PARTS.map((part) => ({ ...part, files: files.filter((file) => partOf(file) === part) })).filter(
      (part) => part.files.length > 0,
    ),
    others: files.filter((file) => partOf(file) === undefined),
  };
}
