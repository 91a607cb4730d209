/**
 * The command line: `bin/cambist.mjs` calls `main`. One file per command; each reads, prints and exits, and decides nothing
 * about money.
 */
import { Command, CommanderError } from 'commander';
import type { Session } from './command.ts';
import { COMMANDS, nameOf, type CommandEntry } from './commands.ts';
import { EXIT_CODES, EXIT_MEANINGS } from '../operations/exit-codes.ts';
import type { Trouble } from '../language/text/problem.ts';
import { CommandFailure } from '../operations/failure.ts';
import { openTraces } from '../config/traces.ts';
import { unsentText, type Unsent } from '../config/traces/unsent.ts';
import { addSections, exitCodeLines, wrapHelp, writeHelp } from './terminal/help.ts';
import { processIo, type Io } from './terminal/io.ts';
import { packageVersion } from './commands/version.ts';

/** Runs one command. Resolves with its exit code and never rejects. */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<number> {
  const session: Session = { io, argv, ending: 'done' };
  const program = await buildProgram(session, wantedBy(argv));
  try {
    await traced(session, () => program.parseAsync([...argv], { from: 'user' }));
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // The parser throws for help and version too. Everything else that it throws is a mistake in the line.
    if (error.exitCode === 0) return EXIT_CODES.done;
    if (error.code === 'commander.help') return EXIT_CODES['bad input'];
    const { Output } = await import('./terminal/output.ts');
    const { inLine } = await import('./line.ts');
    const failure = new CommandFailure('bad input', [inLine(troubleOfLine(error.message, argv), argv)]);
    new Output(io, argv.includes('--json')).fail(failure);
    return EXIT_CODES['bad input'];
  }
  return EXIT_CODES[session.ending];
}

/** One sending takes so long at most: it has failed, and is told, before a command has waited a second for the collector. */
const COLLECTOR_MS = 800;

/** Carries out a command in the span with which the trace of what it starts begins, where the environment asks for traces. */
async function traced(session: Session, work: () => Promise<unknown>): Promise<void> {
  const { io, argv } = session;
  const [name = ''] = wantedBy(argv) ?? [];
  const beginsTrace = COMMANDS.some((entry) => entry.beginsTrace === true && nameOf(entry) === name);
  if (!beginsTrace) return void (await work());
  const { Output } = await import('./terminal/output.ts');
  const output = new Output(io, argv.includes('--json'));
  const say = (trouble: Unsent) => output.note(`warning: ${unsentText(trouble)}`);
  const traces = await openTraces(io.env, { say, timeoutMs: COLLECTOR_MS });
  if (traces === null) return void (await work());
  try {
    await traces.inSpan(`cambist ${name}`, async (span) => {
      await work();
      span.setAttribute('cambist.exit_code', EXIT_CODES[session.ending]);
    });
  } finally {
    await traces.close();
  }
}

/**
 * The parser's message as a problem: `error: unknown option '--wiat'`, and perhaps a second line with the option that the
 * person may mean.
 */
function troubleOfLine(said: string, argv: readonly string[]): Trouble {
  const [message = '', meant = ''] = said.replace(/^error: /, '').split('\n');
  const [, named = ''] = /'([^' ]+)/.exec(message) ?? [];
  const isTyped = argv.some((text) => text === named || text.startsWith(`${named}=`));
  const help = 'See `npx cambist --help`, or `--help` after a command.';
  return {
    code: 'BAD_COMMAND_LINE',
    place: named !== '' && isTyped ? named : null,
    message,
    fix: meant === '' ? help : `${meant.replace(/^\((.*)\)$/, '$1')} ${help}`,
  };
}

/** The words with which the line names a command, or asks for its help; null: all commands are needed. */
function wantedBy(argv: readonly string[]): readonly string[] | null {
  const words = argv.filter((text) => !text.startsWith('-'));
  const named = words[0] === 'help' ? words.slice(1) : words;
  return COMMANDS.some((entry) => entry.needsAll === true && nameOf(entry) === named[0]) ? null : named;
}

/** The program with the command that is needed, or with all commands. Of the others it has only what the overview shows. */
export async function buildProgram(
  session: Session,
  wanted: readonly string[] | null = null,
): Promise<Command> {
  const terms = new Map<Command, string>();
  const program = new Command('cambist')
    .description(
      'Runs FX and payout policies as durable Temporal workflows: money never moves twice.\n' +
        'A first look round: `npx cambist up`, which says what to type in a second terminal.',
    )
    .version(packageVersion(), '-V, --version', 'show the version')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp({ subcommandTerm: (command) => terms.get(command) ?? command.name(), boxWrap: wrapHelp })
    .configureOutput({
      writeOut: (text) => writeHelp(session.io.stdout, text),
      writeErr: (text) => writeHelp(session.io.stderr, text),
      // `main` prints the message in our own form.
      outputError: () => {},
      getOutHelpWidth: () => session.io.stdout.columns ?? 80,
      getErrHelpWidth: () => session.io.stderr.columns ?? 80,
    });
  const codes = Object.entries(EXIT_MEANINGS).map(
    ([ending, meaning]) => [EXIT_CODES[ending as keyof typeof EXIT_CODES], meaning] as const,
  );
  addSections(program, (width) => [
    '',
    'Exit codes, the same for every command:',
    exitCodeLines(codes, width),
    '',
    wrapHelp(CONFIGURATION, width),
  ]);
  await addCommands(program, COMMANDS, { session, wanted, terms });
  return program;
}

const CONFIGURATION =
  'Configuration is by variables: CAMBIST_BASE_URL, CAMBIST_KEY_FILE, CAMBIST_READ_KEY_FILE, CAMBIST_APP_MODE, ' +
  'CAMBIST_ISSUER, CAMBIST_SERVICE_FILE, CAMBIST_FILES, CAMBIST_POLICIES, CAMBIST_HALT_FILE, CAMBIST_AUDIT, CAMBIST_SEAL_KEYS, CAMBIST_TASK_QUEUE, CAMBIST_BUILD_ID, CAMBIST_METRICS, TEMPORAL_*, and for traces OTEL_EXPORTER_OTLP_ENDPOINT. Where no ' +
  'service is configured, a running `npx cambist up` in this folder is used.';

async function addCommands(
  parent: Command,
  entries: readonly CommandEntry[],
  {
    session,
    wanted,
    terms,
  }: {
    readonly session: Session;
    readonly wanted: readonly string[] | null;
    /** The text that the help shows for each command. */
    readonly terms: Map<Command, string>;
  },
): Promise<void> {
  for (const entry of entries) {
    const command = parent.command(nameOf(entry)).summary(entry.summary);
    terms.set(command, entry.term);
    if (wanted !== null && wanted[0] !== nameOf(entry)) continue;
    (await entry.load())(command, session);
    const inner = { session, wanted: wanted?.slice(1) ?? null, terms };
    await addCommands(command, entry.commands ?? [], inner);
  }
}
