// The text of docs/codes.md: every code that Cambist prints, as its tables in domain/ have it.

/**
 * @typedef {import('../../domain/endings.ts').ProblemRow} ProblemRow
 * @typedef {Readonly<Record<string, ProblemRow>>} Problems
 */

/**
 * @param {object} tables
 * @param {Problems} tables.runs PROBLEMS
 * @param {Problems} tables.starts START_PROBLEMS
 * @param {Problems} tables.refusals REFUSALS
 * @param {Readonly<Record<string, import('../../domain/endings.ts').Ending>>} tables.files FILES_AT_FAULT
 * @param {Readonly<Record<string, number>>} exitCodes
 */
export function codesPage({ runs, starts, refusals, files }, exitCodes) {
  const rowsOf = (/** @type {Problems} */ problems) =>
    Object.entries(problems).map(([code, { ending, sentence, advice }]) =>
      rowOf(`\`${code}\``, `${exitCodes[ending]}`, sentence, advice),
    );
  const fileRows = Object.entries(files).map(([file, ending]) =>
    rowOf(`\`${file}_…\``, `${exitCodes[ending]}`),
  );
  return `<!-- \`npm run docs:codes\` writes this page from the tables of domain/. Change a row there. -->

# Codes and what to do

Every code that Cambist prints of its own, with the [exit code](commands.md#exit-codes) of the command that prints it. Your browser's search finds a code fastest. Codes of the service are in [replies](replies.md).

- [Runs and their items](#runs-and-their-items)
- [What keeps a worker or a command from starting](#what-keeps-a-worker-or-a-command-from-starting)
- [What a command does not do](#what-a-command-does-not-do)
- [Mistakes in a file](#mistakes-in-a-file)

## Runs and their items

A run, a leg or a payment ends with one of these codes, or waits because of it.

${tableOf(['code', 'exit', 'meaning', 'what to do'], rowsOf(runs))}
## What keeps a worker or a command from starting

A worker or a command prints one of these codes at once and ends. It has sent nothing.

${tableOf(['code', 'exit', 'meaning', 'what to do'], rowsOf(starts))}
## What a command does not do

The command refuses, and says why. It has sent nothing and recorded nothing, unless its message says otherwise.

${tableOf(['code', 'exit', 'meaning', 'what to do'], rowsOf(refusals))}
## Mistakes in a file

A code such as \`POLICY_UNKNOWN_FIELD\` says which file is wrong, and how. The message names the place in the file and what to write instead.

${tableOf(['code', 'exit'], fileRows)}`;
}

/** A table that prettier leaves as it is: a changed row is one changed line. */
function tableOf(/** @type {string[]} */ head, /** @type {string[]} */ rows) {
  const rule = rowOf(...head.map(() => '-'));
  return ['<!-- prettier-ignore -->', rowOf(...head), rule, ...rows, ''].join('\n');
}

function rowOf(/** @type {string[]} */ ...cells) {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
