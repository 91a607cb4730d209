/** Completion by Tab, as bash carries it out, and the version. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Io } from '../../cli/terminal/io.ts';
import { main } from '../../cli/main.ts';
import { commandsOf, silentProgram } from '../support/program.ts';
import { urlOf } from '../support/root.ts';

async function printed(...argv: string[]): Promise<string> {
  let text = '';
  const sink = { write: (more: string) => (text += more) };
  const io: Io = {
    stdout: sink,
    stderr: sink,
    env: {},
    cwd: tmpdir(),
    now: () => 0,
    ask: null,
    onInterrupt: () => () => {},
  };
  assert.equal(await main(argv, io), 0, text);
  return text;
}

/** A folder with policies, a file that is none, and a program `npx` that knows two runs of `cambist`. */
const folder = mkdtempSync(join(tmpdir(), 'cambist-completion-'));
after(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'policies'));
writeFileSync(join(folder, 'policies/one day.yaml'), 'policy: 1\nname: one\nschedule: { at: "09:30" }\n');
writeFileSync(join(folder, 'policies/two.yaml'), '# of two\npolicy: 1\nname: two # not by a schedule\n');
writeFileSync(join(folder, 'service.yaml'), 'list_lag: 1m\n');
const LISTED = { runs: [{ run: 'one.2026-11-21', state: 'HELD' }, { run: 'two.2026-11-20' }], exitCode: 0 };
writeFileSync(
  join(folder, 'npx'),
  `#!/bin/sh\n[ "$*" = '--no-install cambist list --json' ] && cat <<'END'\n${JSON.stringify(LISTED, null, 2)}\nEND\n`,
  { mode: 0o755 },
);

/** What bash offers for a line whose last word is being typed. */
function offered(script: string, ...words: string[]): string[] {
  return offeredAfter(['cambist'], script, ...words);
}

function offeredAfter(program: readonly string[], script: string, ...typed: string[]): string[] {
  const words = [...program, ...typed];
  const line = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
  const by = `$(complete -p ${words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/')`;
  const text = `${script}\n${line}\n${by}\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', text], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, PATH: `${folder}:/usr/bin:/bin` },
  });
  assert.equal(status, 0, stderr);
  return stdout.split('\n').filter((word) => word !== '');
}

const program = await silentProgram();

test('bash completes every command, each with its own options, and leaves files to itself', async () => {
  const script = await printed('completion', 'bash');
  assert.deepEqual(
    offered(script, ''),
    program.commands.map((command) => command.name()),
  );
  assert.deepEqual(offered(script, 'bal'), ['balances']);
  assert.deepEqual(offered(script, '--v'), ['--version']);
  for (const { name, command } of commandsOf(program)) {
    const flags = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long);
    assert.deepEqual(offered(script, ...name.split(' '), '--'), [...flags, '--help']);
  }
  const behindSchedule = program.commands.find((command) => command.name() === 'schedule')?.commands;
  assert.deepEqual(
    offered(script, 'schedule', ''),
    behindSchedule?.map((command) => command.name()),
  );
  assert.deepEqual(offered(script, 'schedule', '--'), ['--help']);
  assert.deepEqual(offered(script, 'run', 'nothing'), []);
  assert.deepEqual(offered(script, 'completion', ''), ['bash', 'zsh', 'fish']);
  for (const each of ['cambist cambist', 'cambist_npx npx'])
    assert.ok(script.includes(`\ncomplete -o default -F _${each}\n`), each);
});

test('where a run, a policy or the name of a schedule belongs, those that are there are offered', async () => {
  const script = await printed('completion', 'bash');
  const runs = ['one.2026-11-21', 'two.2026-11-20'];
  const policies = ['policies/one day.yaml', 'policies/two.yaml'];
  assert.deepEqual(offered(script, 'status', ''), runs);
  assert.deepEqual(offered(script, 'report', 'two'), ['two.2026-11-20']);
  assert.deepEqual(offered(script, 'run', ''), policies);
  assert.deepEqual(offered(script, 'check', 'policies/t'), ['policies/two.yaml']);
  assert.deepEqual(offered(script, 'schedule', 'apply', ''), policies);
  assert.deepEqual(offered(script, 'schedule', 'pause', ''), ['one']);
  assert.deepEqual(offered(script, 'halt', '--policy', 'o'), ['one']);
  assert.deepEqual(offered(script, 'run', policies[1] ?? '', '--instead-of', ''), runs);
  assert.deepEqual(offered(script, 'run', policies[1] ?? '', '--batch', ''), []);
  assert.deepEqual(offered(script, 'balances', ''), []);
});

test('what is typed behind npx is completed in the same way', async () => {
  const script = await printed('completion', 'bash');
  const npx = (...words: string[]): string[] => offeredAfter(['npx'], script, ...words);
  assert.deepEqual(npx('cam'), ['cambist']);
  assert.deepEqual(npx('cambist', 'bal'), ['balances']);
  assert.deepEqual(npx('cambist', 'status', ''), ['one.2026-11-21', 'two.2026-11-20']);
  assert.deepEqual(npx('prettier', '--'), []);
});

test('zsh takes the same by its emulation of bash, fish has a line for each command and option', async () => {
  assert.ok((await printed('completion', 'zsh')).endsWith(await printed('completion', 'bash')));
  const fish = await printed('completion', 'fish');
  for (const command of program.commands)
    assert.ok(fish.includes(`__fish_use_subcommand -f -a ${command.name()} -d '`), command.name());
  for (const { command } of commandsOf(program))
    for (const { long, hidden } of command.options)
      if (!hidden)
        assert.ok(fish.includes(`from ${command.name()}' -l ${(long ?? '').slice(2)} -d '`), long ?? '');
  assert.match(
    fish,
    /-n '__fish_seen_subcommand_from schedule; and not __fish_seen_subcommand_from next apply [^']*' -f -a next -d '/,
  );
  assert.match(fish, /^complete -c npx .* = cambist' -f -a "\(complete -C /m);
  assert.match(fish, /-n '__fish_seen_subcommand_from status' -f -a '\(__cambist_runs\)'$/m);
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(urlOf('package.json'), 'utf8'));
  assert.equal(await printed('--version'), `${version}\n`);
});
