/**
 * The parts of the world outside that a command may use: streams, environment, folder, clock, signals. Tests give their own.
 */

/** A stream to write to; `columns` only on a terminal. */
export type Sink = {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
};

export type Io = {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Asks a person at a terminal; null when no person can be asked. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** On Ctrl-C and similar signals, calls `handler` instead of ending the process; returns a function that stops this. */
  readonly onInterrupt: (handler: () => void) => () => void;
};

const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The parts that belong to this process. */
export function processIo(): Io {
  const { stdout, stderr } = process;
  for (const stream of [stdout, stderr]) stream.on('error', goOnUnread);
  return {
    stdout,
    stderr,
    env: process.env,
    cwd: process.cwd(),
    now: () => Date.now(),
    // Node opens its input only when it is used, and most commands ask nothing.
    get ask() {
      return process.stdin.isTTY && stderr.isTTY ? askAtTerminal : null;
    },
    onInterrupt: (handler) => {
      for (const signal of INTERRUPTS) process.on(signal, handler);
      return () => {
        for (const signal of INTERRUPTS) process.removeListener(signal, handler);
      };
    },
  };
}

/**
 * When the reader of a stream has left (`| head`, a terminal that was closed), the text is lost. The command goes on, and
 * ends as it would.
 */
function goOnUnread(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
}

/** The person's answer; empty after Ctrl-C or Ctrl-D. */
async function askAtTerminal(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise((resolve) => {
      lines.once('close', () => resolve(''));
      lines.on('SIGINT', () => lines.close());
      // Closing the prompt rejects the question; then the empty answer above counts.
      lines.question(question).then(resolve, () => resolve(''));
    });
  } finally {
    lines.close();
  }
}
