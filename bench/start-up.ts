/**
 * How long a person waits for a command that needs nothing but this machine, against `npx` with a script that does
 * nothing in a package with the same dependencies: what npx itself takes is nobody's to save. All take turns, so that whatever disturbs the machine disturbs all.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, number, plain, timed, type Section } from './figures.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TURNS = 7;

/** Goals, as multiples of the empty script's time. */
const CHECK_GOAL = 2;
const HELP_GOAL = 1.5;

export async function measureStartUp(): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), 'cambist-bench-'));
  try {
    await writeEmptyPackage(folder);
    const uses = {
      empty: { cwd: folder, argv: ['does-nothing'] },
      help: { cwd: ROOT, argv: ['cambist', '--help'] },
      check: { cwd: ROOT, argv: ['cambist', 'check', 'policies/mxn-supplier.yaml'] },
    };
    const taken = { empty: [] as number[], help: [] as number[], check: [] as number[] };
    const names = ['empty', 'help', 'check'] as const;
    // The first turn fills the caches of the machine.
    for (let turn = 0; turn <= TURNS; turn += 1)
      for (const name of names) {
        // One after the other, or they would slow each other down.
        const ms = await timeOf(uses[name]);
        if (turn > 0) taken[name].push(ms);
      }
    const emptyMs = median(taken.empty);
    const times = (ms: number): string => `${(ms / emptyMs).toFixed(2)} times (${number(ms)} ms)`;
    const figureOf = (name: string, ms: number, goal: number) =>
      timed(name, times(ms), `at most ${goal} times`, ms / emptyMs <= goal);
    return {
      title: 'Start-up, the median of several',
      figures: [
        plain('`npx` with an empty script', `${number(emptyMs)} ms`),
        figureOf('`npx cambist --help`', median(taken.help), HELP_GOAL),
        figureOf('`npx cambist check FILE`', median(taken.check), CHECK_GOAL),
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** With the same dependencies as Cambist, as far as npx reads them before it starts a command of the folder it is in. */
async function writeEmptyPackage(folder: string): Promise<void> {
  const packages = 'node_modules/.package-lock.json';
  const installed: { packages: Record<string, unknown> } = JSON.parse(
    await readFile(join(ROOT, packages), 'utf8'),
  );
  for (const name of Object.keys(installed.packages)) {
    const file = join(name, 'package.json');
    // One for another machine is named there, and is not installed.
    if (!existsSync(join(ROOT, file))) continue;
    await mkdir(join(folder, name), { recursive: true });
    await copyFile(join(ROOT, file), join(folder, file));
  }
  await copyFile(join(ROOT, packages), join(folder, packages));
  const own: Record<string, unknown> = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const facts = { ...own, name: 'does-nothing', bin: 'does-nothing.mjs' };
  await writeFile(join(folder, 'package.json'), JSON.stringify(facts));
  const script = join(folder, 'does-nothing.mjs');
  await writeFile(script, '#!/usr/bin/env node\n');
  await chmod(script, 0o755);
}

async function timeOf(use: { readonly cwd: string; readonly argv: readonly string[] }): Promise<number> {
  const startedMs = performance.now();
  const child = spawn('npx', use.argv, { cwd: use.cwd, stdio: 'ignore' });
  const [exitCode]: unknown[] = await once(child, 'exit');
  if (exitCode !== 0) throw new Error(`npx ${use.argv.join(' ')} ended with ${String(exitCode)}.`);
  return performance.now() - startedMs;
}
