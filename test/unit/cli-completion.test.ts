/** Completion by Tab, as bash carries it out, and the version. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
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

/** What bash offers for a line whose last word is being typed. */
function offered(script: string, ...words: string[]): string[] {
  const line = `COMP_WORDS=(cambist ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
  const text = `${script}\n${line}\n_cambist\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', text], { encoding: 'utf8' });
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
  assert.deepEqual(offered(script, 'run', 'poli'), []);
  assert.deepEqual(offered(script, 'completion', ''), ['bash', 'zsh', 'fish']);
  assert.match(script, /^complete -o default -F _cambist cambist$/m);
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
  assert.ok(fish.includes("-n '__fish_seen_subcommand_from schedule' -f -a next -d '"));
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(urlOf('package.json'), 'utf8'));
  assert.equal(await printed('--version'), `${version}\n`);
});
