// The text of docs/messages.md: every code that Cambist prints, as its tables in domain/ have it, and every sentence that
// stands in the sources.

/**
 * @typedef {import('../../domain/endings.ts').Ending} Ending
 * @typedef {import('../../domain/endings.ts').ProblemRow} ProblemRow
 * @typedef {Readonly<Record<string, ProblemRow>>} Problems
 * @typedef {import('./sentences.mjs').Sentence} Sentence
 */

/** Where a sentence without a code is said, by the folder of its source. The first row that fits counts. */
const PLACES = /** @type {const} */ ([
  [/^cli\/views/, 'Plans, reports and lists'],
  [/^(cli|operations)/, 'Commands'],
  [/^workflows/, 'The Temporal UI'],
  [/^language/, 'Mistakes in a file'],
  [/^(domain|activities|durable)/, 'Runs and their items'],
  [/./, 'Addresses, keys, servers and dates'],
]);

/**
 * @param {object} tables
 * @param {Problems} tables.runs PROBLEMS
 * @param {Problems} tables.starts START_PROBLEMS
 * @param {Problems} tables.refusals REFUSALS
 * @param {Problems} tables.service a row for each code of the service that has words
 * @param {Readonly<Record<string, Ending>>} tables.files FILES_AT_FAULT
 * @param {Readonly<Record<string, { sentence: string, advice: string }>>} tables.mistakes FILE_MISTAKES
 * @param {Readonly<Record<string, number>>} exitCodes
 * @param {readonly Sentence[]} sentences
 */
export function messagesPage({ runs, starts, refusals, service, files, mistakes }, exitCodes, sentences) {
  const rowsOf = (/** @type {Problems} */ problems) =>
    Object.entries(problems).map(([code, { ending, sentence, advice }]) =>
      rowOf(`\`${code}\``, `${exitCodes[ending]}`, sentence, advice),
    );
  const kinds = Object.entries(files).map(([file, ending]) => rowOf(`\`${file}_…\``, `${exitCodes[ending]}`));
  const mistakeRows = Object.entries(mistakes).map(([mistake, { sentence, advice }]) =>
    rowOf(`\`${mistake}\``, sentence, advice),
  );
  const coded = sentences.filter(({ code }) => code !== null);
  const closer = coded
    .toSorted((one, other) => ((one.code ?? '') < (other.code ?? '') ? -1 : one.code === other.code ? 0 : 1))
    .map(({ code, message, fix }) => rowOf(`\`${code}\``, message, fix));
  const head = ['code', 'exit', 'meaning', 'what to do'];
  return `<!-- \`npm run docs:messages\` writes this page from the sources. Change a sentence there. -->

# Messages and what to do

Every message that Cambist gives people, with the [exit code](commands.md#exit-codes) of the command that prints it. Your browser's search finds a code fastest.

- [Runs and their items](#runs-and-their-items)
- [What the service says](#what-the-service-says)
- [What keeps a worker or a command from starting](#what-keeps-a-worker-or-a-command-from-starting)
- [What a command does not do](#what-a-command-does-not-do)
- [Mistakes in a file](#mistakes-in-a-file)
- [When a message says more](#when-a-message-says-more)
- [What is said without a code](#what-is-said-without-a-code)

## Runs and their items

A run, a leg or a payment ends with one of these codes, or waits because of it.

${tableOf(head, rowsOf(runs))}
## What the service says

A run, a leg or a payment can also end with a code of the service, or wait because of it. [Replies](replies.md) says what Cambist does after each of them.

${tableOf(head, rowsOf(service))}
## What keeps a worker or a command from starting

A worker or a command prints one of these codes at once and ends. It has sent nothing.

${tableOf(head, rowsOf(starts))}
## What a command does not do

The command refuses, and says why. It has sent nothing and recorded nothing, unless its message says otherwise.

${tableOf(head, rowsOf(refusals))}
## Mistakes in a file

The first part of such a code says which file is wrong, the second part what is wrong in it: \`POLICY_UNKNOWN_FIELD\`. The message names the place in the file and what to write instead.

${tableOf(['code', 'exit'], kinds)}
${tableOf(['second part', 'meaning', 'what to do'], mistakeRows)}
## When a message says more

Where Cambist knows more than the code says, the message says it in place of the row above. An empty cell: the row above is said. \`…\` stands for a value, such as an amount or a name.

${tableOf(['code', 'message', 'what to do'], closer)}
## What is said without a code

Also the parts of which longer sentences are made. Not the help of commands, which \`--help\` shows.

${placesOf(sentences.filter(({ code }) => code === null))}`;
}

/**
 * The codes of the service that have words, as rows.
 *
 * @param {readonly string[]} codes
 * @param {object} words
 * @param {(code: string) => string | null} words.wordsOf
 * @param {(code: string) => string} words.saidBy
 * @param {(code: string) => string} words.adviceOf
 * @param {(code: string) => Ending} words.endingOf
 * @returns {Problems}
 */
export function serviceRows(codes, { wordsOf, saidBy, adviceOf, endingOf }) {
  const spoken = codes.filter((code) => wordsOf(code) !== null);
  return Object.fromEntries(
    spoken.map((code) => [code, { ending: endingOf(code), sentence: saidBy(code), advice: adviceOf(code) }]),
  );
}

function placesOf(/** @type {readonly Sentence[]} */ sentences) {
  return PLACES.map(([, place]) => {
    const said = sentences
      .filter(({ folder }) => PLACES.find(([folders]) => folders.test(folder))?.[1] === place)
      .flatMap(({ message, fix }) => [message, fix].filter((text) => text.trim() !== ''));
    return `### ${place}\n\n${tableOf(
      ['what is said'],
      [...new Set(said)].map((text) => rowOf(text)),
    )}`;
  }).join('\n');
}

/** A table that prettier leaves as it is: a changed row is one changed line. */
function tableOf(/** @type {string[]} */ head, /** @type {string[]} */ rows) {
  const rule = rowOf(...head.map(() => '-'));
  return ['<!-- prettier-ignore -->', rowOf(...head), rule, ...rows, ''].join('\n');
}

function rowOf(/** @type {string[]} */ ...cells) {
  return `| ${cells.map(cellOf).join(' | ')} |`;
}

function cellOf(/** @type {string} */ text) {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim();
}
