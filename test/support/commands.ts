/**
 * The command line on a stage, in the stage's folder and with its environment only: `bin/cambist.mjs` as a process, as a
 * user has it, or the same in this process, which takes a fraction of the time; and policies for the runs that it starts.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { main } from '../../cli/main.ts';
import { parseRunName, workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { uniqueName } from './dev-server.ts';
import { ROOT, urlOf } from './root.ts';
import type { Stage } from './stage.ts';

const BIN = join(ROOT, 'bin/cambist.mjs');
const SUPPLIER = urlOf('policies/mxn-supplier.yaml');
const SCHEMA = urlOf('policies/report.schema.json');

/** What a command came to. */
export type Ended = { readonly exitCode: number | null; readonly stdout: string; readonly stderr: string };

/** A command that goes on; `ended` never rejects. */
export type Started = {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when stdout or stderr holds this. */
  says(what: RegExp): Promise<void>;
};

export type CommandOptions = {
  /** What differs from the stage's environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Another Node, and another `cambist` than that of this checkout. */
  readonly program?: Program;
};

/** Whole paths. */
export type Program = { readonly node: string; readonly bin: string };

/** Starts `cambist` without a terminal. */
export function startCommand(
  stage: Pick<Stage, 'env' | 'folder'>,
  argv: readonly string[],
  options: CommandOptions = {},
): Started {
  const { node, bin } = options.program ?? { node: process.execPath, bin: BIN };
  const child = spawn(node, [bin, ...argv], {
    cwd: stage.folder,
    env: { ...stage.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      for (const listener of listeners) listener();
    });
  }
  const closed = once(child, 'close');
  return {
    process: child,
    ended: closed.then(() => ({ exitCode: child.exitCode, ...written })),
    says: (what) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (what.test(written.stdout) || what.test(written.stderr)) resolve();
        };
        listeners.add(look);
        look();
        void closed.then(() =>
          reject(new Error(`${argv.join(' ')} never said ${String(what)}: ${JSON.stringify(written)}`)),
        );
      }),
  };
}

/** Runs `cambist` to its end, as a process. */
export function commandProcess(
  stage: Pick<Stage, 'env' | 'folder'>,
  argv: readonly string[],
  options: CommandOptions = {},
): Promise<Ended> {
  return startCommand(stage, argv, options).ended;
}

/** Runs `cambist` to its end, in this process and by the time of the stage. `ask`: the person at its terminal. */
export async function command(
  stage: Pick<Stage, 'env' | 'folder' | 'time'>,
  argv: readonly string[],
  options: CommandOptions & { readonly ask?: (question: string) => Promise<string> } = {},
): Promise<Ended> {
  const written = { stdout: '', stderr: '' };
  const io = {
    stdout: { write: (text: string) => (written.stdout += text) },
    stderr: { write: (text: string) => (written.stderr += text) },
    env: { ...stage.env, ...options.env },
    cwd: stage.folder,
    now: stage.time.now,
    ask: options.ask ?? null,
    onInterrupt: () => () => {},
  };
  const exitCode = await stage.time.typed(() => main(argv, io));
  return { exitCode, ...written, stderr: withoutBusyness(stage, written.stderr) };
}

/** On a busy machine it waits for Temporal, and says so: no test asks about that where Temporal is there. */
function withoutBusyness({ env }: Pick<Stage, 'env'>, stderr: string): string {
  const isAboutThat = (line: string): boolean =>
    line.startsWith('Waiting up to ') && line.endsWith(` for Temporal at ${env['TEMPORAL_ADDRESS']} …`);
  return stderr
    .split('\n')
    .filter((line) => !isAboutThat(line))
    .join('\n');
}

/** A policy in a file of the stage's folder, and the run of today that it names. */
export type PolicyOnStage = {
  /** As it is named on the command line. */
  readonly file: string;
  readonly name: string;
  readonly run: RunName;
  /** `policy.id`. */
  readonly runText: string;
  readonly workflowId: string;
};

/** An edit of a sample policy; one that fits nothing is a mistake of the test. */
export type Edit = readonly [from: string | RegExp, to: string];

/** policies/mxn-supplier.yaml under a name of its own, with edits. */
export async function putPolicy(stage: Stage, ...edits: readonly Edit[]): Promise<PolicyOnStage> {
  const name = uniqueName('e2e');
  let text = await readFile(SUPPLIER, 'utf8');
  for (const [from, to] of [[/^name: .*$/m, `name: ${name}`] as const, ...edits]) {
    const edited = text.replace(from, to);
    assert.notEqual(edited, text, `"${String(from)}" is not in the sample`);
    text = edited;
  }
  const file = `${name}.yaml`;
  const mode = stage.env['CAMBIST_APP_MODE'] === 'LIVE' ? 'LIVE' : 'SANDBOX';
  await writeFile(join(stage.folder, file), text);
  const zone = /^zone: (\S+)/m.exec(text)?.[1] ?? 'UTC';
  const run = { policy: name, id: todayIn(zone, Date.now()) };
  return { file, name, run, runText: `${name}.${run.id}`, workflowId: workflowIdOf(mode, run) };
}

/** The movements at the service under the references of a run, oldest first. */
export function movedFor(
  stage: Stage,
  { runText }: Pick<PolicyOnStage, 'runText'>,
): { readonly trades: readonly string[]; readonly withdrawals: readonly string[] } {
  const { trades, withdrawals } = stage.sandbox.ledger();
  const ours = (texts: readonly unknown[]): string[] =>
    texts
      .map(String)
      .filter((text) => text.startsWith(`${runText}.`))
      .toReversed();
  return {
    trades: ours(trades.map((trade) => trade['clientReferenceId'])),
    withdrawals: ours(
      withdrawals.map(({ metadata }) => (metadata as Readonly<Record<string, unknown>> | null)?.['cambist']),
    ),
  };
}

const keepsSchema = new Ajv({ strict: false }).compile(
  JSON.parse(await readFile(SCHEMA, 'utf8')) as Record<string, unknown>,
);

/** The report that `--json` printed: one document that keeps the published schema, and nothing else on stdout. */
export function reportOf(ended: Ended): Report {
  const report = documentOf(ended) as Report;
  assert.ok(keepsSchema(report), `${JSON.stringify(keepsSchema.errors)}\n${ended.stdout}`);
  assert.notEqual(parseRunName(report.run), null);
  return report;
}

/** The document of `--json` of anything but a report. */
export function documentOf({ stdout, stderr }: Ended): unknown {
  try {
    return JSON.parse(stdout);
  } catch {
    assert.fail(`stdout is no JSON document: ${stdout}\n${stderr}`);
  }
}

/** A text without its line breaks, which depend on the width and on how long a name is. */
export function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** The exit code, with everything that was said when it is another one. */
export function assertExit(ended: Ended, exitCode: number): void {
  assert.equal(ended.exitCode, exitCode, `${ended.stdout}\n${ended.stderr}`);
}
