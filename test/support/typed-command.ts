/** A command typed in this process: what it prints, and how it exits. Nobody sits at its terminal. */
import { main } from '../../cli/main.ts';
import type { Io } from '../../cli/terminal/io.ts';

export type Typed = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** @param given `columns` of the terminal; absent: there is none */
export async function typeCommand(
  argv: readonly string[],
  given: {
    readonly cwd: string;
    readonly env?: NodeJS.ProcessEnv;
    readonly columns?: number;
    readonly now?: () => number;
  },
): Promise<Typed> {
  const { cwd, env = {}, columns, now = () => Date.parse('2026-11-21T12:00:00Z') } = given;
  const written = { stdout: '', stderr: '' };
  const width = columns === undefined ? {} : { columns };
  const io: Io = {
    stdout: { write: (text) => (written.stdout += text), ...width },
    stderr: { write: (text) => (written.stderr += text), ...width },
    env,
    cwd,
    now,
    ask: null,
    onInterrupt: () => () => {},
  };
  const exitCode = await main(argv, io);
  return { exitCode, ...written };
}
