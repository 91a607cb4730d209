// Long steps that say what they do: a title, the elapsed time and the phase, on stderr only.
// Used by the set-up scripts; stdout stays free for what a command answers. `bin/cambist.mjs` loads this at every start, and so
// what starts processes is loaded only where one is started.

const TICK_MS = 1_000;
const QUIET_TICK_MS = 15_000;
/** The beginning of a long output tells the reason, and its end how it went. */
const HEAD_LINES = 30;
const TAIL_LINES = 30;

/** A command that did not end well; `output` is what it printed, without its middle when that is long. */
export class CommandFailed extends Error {
  /**
   * @param {string} message
   * @param {string} output
   * @param {number | null} exitCode
   */
  constructor(message, output, exitCode) {
    super(message);
    this.name = 'CommandFailed';
    this.output = output;
    this.exitCode = exitCode;
  }
}

/** @param {string} line */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Runs a step and shows that it is alive: one line that is rewritten on a terminal, a line every 15 s elsewhere.
 *
 * @template T
 * @param {string} title
 * @param {(phase: (text: string) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const startedAt = performance.now();
  const isTerminal = process.stderr.isTTY;
  let phase = '';
  const line = () => `${title}${phase && `: ${phase}`} (${elapsed(startedAt)})`;
  const show = () => process.stderr.write(isTerminal ? `\r\x1b[K${line()}` : `  ${line()}\n`);
  if (!isTerminal) say(`${title} …`);
  const ticker = setInterval(show, isTerminal ? TICK_MS : QUIET_TICK_MS);
  try {
    const result = await work((text) => {
      phase = text;
    });
    end('done');
    return result;
  } catch (error) {
    end('failed');
    throw error;
  } finally {
    clearInterval(ticker);
  }

  /** @param {string} word */
  function end(word) {
    process.stderr.write(`${isTerminal ? '\r\x1b[K' : ''}${title}: ${word} in ${elapsed(startedAt)}\n`);
  }
}

/** @param {number} startedAt */
function elapsed(startedAt) {
  const seconds = (performance.now() - startedAt) / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${seconds.toFixed(0)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/**
 * Runs a command to its end. Resolves with what it printed; throws `CommandFailed` otherwise.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, onLine?: (line: string) => void, shell?: boolean }} [options]
 * @returns {Promise<string>}
 */
export async function run(command, args, { cwd, env, onLine, shell = false } = {}) {
  const { spawn } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, shell, stdio: ['ignore', 'pipe', 'pipe'] });
    endWithUs(child);
    /** @type {string[]} */
    const printed = [];
    for (const stream of [child.stdout, child.stderr]) {
      let rest = '';
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          printed.push(line);
          onLine?.(line);
        }
      });
      stream.on('end', () => {
        if (rest) printed.push(rest);
      });
    }
    child.on('error', (error) => reject(new CommandFailed(error.message, '', null)));
    child.on('close', (exitCode, signal) => {
      if (exitCode === 0) return resolve(printed.join('\n'));
      const how = signal ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
      const name = [command, ...args].join(' ');
      reject(new CommandFailed(`'${name}' ${how}`, shorten(printed), exitCode));
    });
  });
}

/** @param {string[]} lines */
function shorten(lines) {
  if (lines.length <= HEAD_LINES + TAIL_LINES) return lines.join('\n');
  const left = lines.length - HEAD_LINES - TAIL_LINES;
  return [...lines.slice(0, HEAD_LINES), `… (${left} lines)`, ...lines.slice(-TAIL_LINES)].join('\n');
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();
/** @type {NodeJS.Signals[]} */
const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Ends the child when this process is told to end, so that no half an install goes on behind it.
 *
 * @param {import('node:child_process').ChildProcess} child
 */
function endWithUs(child) {
  if (children.size === 0) for (const signal of ENDINGS) process.once(signal, endAll);
  children.add(child);
  child.once('close', () => {
    children.delete(child);
    if (children.size === 0) for (const signal of ENDINGS) process.removeListener(signal, endAll);
  });
}

/** @param {NodeJS.Signals} signal */
function endAll(signal) {
  for (const child of children) child.kill('SIGTERM');
  for (const ending of ENDINGS) process.removeListener(ending, endAll);
  process.kill(process.pid, signal);
}
