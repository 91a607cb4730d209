/**
 * The command line: `bin/cambist.mjs` calls `main`. One file per command; each reads, prints and exits, and decides
 * nothing about money.
 */
import { Command, CommanderError } from 'commander';
import { addAccounts } from './accounts.ts';
import { addBalances } from './balances.ts';
import { addCancel } from './cancel.ts';
import { addCheck } from './check.ts';
import type { Session } from './command.ts';
import { addCompletion } from './completion.ts';
import { EXIT_CODES, EXIT_MEANINGS } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import { processIo, type Io } from './io.ts';
import { addLedger } from './ledger.ts';
import { addList } from './list.ts';
import { Output } from './output.ts';
import { addPlan } from './plan.ts';
import { addReport } from './report.ts';
import { addResolve } from './resolve.ts';
import { addRun } from './run.ts';
import { addSandbox } from './sandbox.ts';
import { addStatus } from './status.ts';
import { addTemporal } from './temporal.ts';
import { addUp } from './up.ts';
import { packageVersion } from './version.ts';
import { addWorker } from './worker.ts';

/** Runs one command; resolves with its exit code and never rejects. */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<number> {
  const session: Session = { io, ending: 'done' };
  const program = buildProgram(session);
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version are answers; everything else that the parser throws is a mistake of the line.
    if (error.exitCode === 0) return EXIT_CODES.done;
    if (error.code === 'commander.help') return EXIT_CODES['bad input'];
    const failure = new CommandFailure('bad input', [
      {
        code: 'BAD_COMMAND_LINE',
        place: null,
        message: error.message.replace(/^error: /, ''),
        fix: 'See `cambist --help`, or `--help` after a command.',
      },
    ]);
    new Output(io, argv.includes('--json')).fail(failure);
    return EXIT_CODES['bad input'];
  }
  return EXIT_CODES[session.ending];
}

/** The whole program; tests read its help. */
export function buildProgram(session: Session): Command {
  const program = new Command('cambist')
    .description(
      'Runs FX and payout policies as durable Temporal workflows: money never moves twice.\n' +
        'A first look round: `cambist up`, then in a second terminal `cambist run policies/mxn-supplier.yaml`.',
    )
    .version(packageVersion(), '-V, --version', 'show the version')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: (text) => new Output(session.io, false).help(session.io.stdout, text),
      writeErr: (text) => new Output(session.io, false).help(session.io.stderr, text),
      // `main` shows it in our own form.
      outputError: () => {},
      getOutHelpWidth: () => session.io.stdout.columns ?? 80,
      getErrHelpWidth: () => session.io.stderr.columns ?? 80,
    })
    .addHelpText(
      'after',
      [
        '',
        'Exit codes, the same for every command:',
        ...Object.entries(EXIT_MEANINGS).map(
          ([ending, meaning]) =>
            `  ${String(EXIT_CODES[ending as keyof typeof EXIT_CODES]).padStart(3)}  ${meaning}`,
        ),
        '',
        'Configuration is by variables: CAMBIST_BASE_URL, CAMBIST_KEY_FILE, CAMBIST_READ_KEY_FILE,',
        'CAMBIST_APP_MODE, CAMBIST_ISSUER, CAMBIST_SERVICE_FILE, CAMBIST_FILES, CAMBIST_TASK_QUEUE and',
        'TEMPORAL_*. Where no service is configured, a running `cambist up` in this folder is used.',
      ].join('\n'),
    );
  for (const add of [
    addUp,
    addCheck,
    addPlan,
    addRun,
    addStatus,
    addReport,
    addList,
    addCancel,
    addResolve,
    addBalances,
    addAccounts,
    addLedger,
    addWorker,
    addSandbox,
    addTemporal,
    addCompletion,
  ]) {
    add(program, session);
  }
  return program;
}
