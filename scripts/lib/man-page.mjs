// The text of the man page, in the language of `man`: everything that the help of the program and of each command says.
// `npm run package` puts it into the tarball, and npm to the other man pages where the package is installed for all.

/**
 * @typedef {import('commander').Command} Command
 * @typedef {{ stdout: { write: (text: string) => unknown } }} Out
 */

/** Narrower than a terminal, since `man` indents it. */
const COLUMNS = 72;

/**
 * @param {(session: any) => Promise<Command>} buildProgram of cli/main.ts
 * @returns {Promise<string>}
 */
export async function manPage(buildProgram) {
  let said = '';
  const out = { columns: COLUMNS, write: (/** @type {string} */ text) => (said += text) };
  const program = await buildProgram({
    io: { stdout: out, stderr: out, env: {} },
    argv: [],
    ending: 'done',
  });
  /** What the help of a command says below its options: examples and exit codes. @param {Command} command */
  const endOf = (command) => {
    said = '';
    command.outputHelp();
    return said.slice(Math.max(0, said.search(/^(?:Examples|Exit codes)/m))).trimEnd();
  };
  return [
    `.TH CAMBIST 1 "" "Cambist ${program.version() ?? ''}" "Cambist"`,
    '.SH NAME',
    'cambist \\- durable FX and payout runs on Temporal: money never moves twice',
    '.SH SYNOPSIS',
    '.B cambist',
    '.I command',
    '[\\fIargument\\fR ...] [\\fIoption\\fR ...]',
    '.SH DESCRIPTION',
    paragraph(program.description()),
    '.SH COMMANDS',
    ...commandsOf(program, []).flatMap(({ words, command }) => [
      `.SS ${quoted(['cambist', ...words, ...argumentsOf(command)].join(' '))}`,
      paragraph(command.description()),
      ...command.options
        .filter(({ hidden }) => !hidden)
        .flatMap(({ flags, description }) => ['.TP', `.B ${quoted(flags)}`, paragraph(description)]),
      '.PP',
      '.nf',
      plain(endOf(command)),
      '.fi',
    ]),
    '.SH EXIT STATUS AND ENVIRONMENT',
    '.nf',
    plain(endOf(program)),
    '.fi',
    '',
  ].join('\n');
}

/**
 * What can be carried out, with the words that are typed: `schedule next`.
 *
 * @param {Command} parent
 * @param {readonly string[]} before
 * @returns {{ words: readonly string[], command: Command }[]}
 */
function commandsOf(parent, before) {
  return parent.commands.flatMap((command) => {
    const words = [...before, command.name()];
    return command.commands.length > 0 ? commandsOf(command, words) : [{ words, command }];
  });
}

/** @param {Command} command */
function argumentsOf(command) {
  return command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
}

/** A text that `man` fills; what stands in backticks is bold. @param {string} text */
function paragraph(text) {
  return plain(text).replaceAll(/`([^`]*)`/g, '\\fB$1\\fR');
}

/** A text as it stands: none of it is taken for an order. @param {string} text */
function plain(text) {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1')
    .replaceAll(/^$/gm, '.sp');
}

/** One argument of an order. @param {string} text */
function quoted(text) {
  return `"${plain(text).replaceAll('"', '\\(dq')}"`;
}
