/**
 * How long a person waits for a command that needs nothing but this machine. In a checkout, against `npx` with a script that
 * does nothing in a package with the same dependencies: what npx itself takes is nobody's to save. Installed, against a Node
 * with a script that does nothing. All take turns, so that whatever disturbs the machine disturbs all.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packedFiles } from '../scripts/package.mjs';
import { median, number, plain, timed, type Section } from './figures.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TURNS = 7;
const SAMPLE = 'policies/mxn-supplier.yaml';

/** Goals, as multiples of the empty script's time. */
const CHECK_GOAL = 2;
const HELP_GOAL = 1.5;
const INSTALLED_GOAL = 1.3;

type Use = { readonly program: string; readonly cwd: string; readonly argv: readonly string[] };

export async function measureStartUp(): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), 'cambist-bench-'));
  try {
    await writeEmptyPackage(folder);
    const installed = join(folder, 'installed');
    await writeInstalled(installed);
    const npx = (cwd: string, ...argv: readonly string[]): Use => ({ program: 'npx', cwd, argv });
    const node = (...argv: readonly string[]): Use => ({ program: process.execPath, cwd: installed, argv });
    const command = join(installed, 'bin/cambist.mjs');
    const taken = await timesOf({
      npx: npx(folder, 'does-nothing'),
      npxHelp: npx(ROOT, 'cambist', '--help'),
      npxCheck: npx(ROOT, 'cambist', 'check', SAMPLE),
      node: node(join(folder, 'does-nothing.mjs')),
      version: node(command, '--version'),
      help: node(command, '--help'),
      check: node(command, 'check', SAMPLE),
    });
    const against = (baseMs: number) => (name: string, ms: number, goal: number) =>
      timed(
        name,
        `${(ms / baseMs).toFixed(2)} times (${number(ms)} ms)`,
        `at most ${goal} times`,
        ms / baseMs <= goal,
      );
    const againstNpx = against(taken.npx);
    const againstNode = against(taken.node);
    return {
      title: `Start-up on Node ${process.versions.node}, the median of several`,
      figures: [
        plain('`npx` with an empty script', `${number(taken.npx)} ms`),
        againstNpx('`npx cambist --help`', taken.npxHelp, HELP_GOAL),
        againstNpx('`npx cambist check FILE`', taken.npxCheck, CHECK_GOAL),
        plain('`node` with an empty script', `${number(taken.node)} ms`),
        againstNode('installed: `cambist --version`', taken.version, INSTALLED_GOAL),
        againstNode('installed: `cambist --help`', taken.help, INSTALLED_GOAL),
        againstNode('installed: `cambist check FILE`', taken.check, INSTALLED_GOAL),
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The median of each use, which take turns. */
async function timesOf<Name extends string>(
  uses: Readonly<Record<Name, Use>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(uses) as Name[];
  const taken = new Map(names.map((name) => [name, [] as number[]]));
  // The first turn fills the caches of the machine.
  for (let turn = 0; turn <= TURNS; turn += 1)
    for (const name of names) {
      // One after the other, or they would slow each other down.
      const ms = await timeOf(uses[name]);
      if (turn > 0) taken.get(name)?.push(ms);
    }
  return Object.fromEntries([...taken].map(([name, ms]) => [name, median(ms)])) as Record<Name, number>;
}

/** What npm would install from the tarball, with the dependencies of this checkout. */
async function writeInstalled(folder: string): Promise<void> {
  for (const file of await packedFiles()) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(folder, file));
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
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

async function timeOf({ program, cwd, argv }: Use): Promise<number> {
  const startedMs = performance.now();
  const child = spawn(program, argv, { cwd, stdio: 'ignore' });
  const [exitCode]: unknown[] = await once(child, 'exit');
  if (exitCode !== 0) throw new Error(`${program} ${argv.join(' ')} ended with ${String(exitCode)}.`);
  return performance.now() - startedMs;
}
