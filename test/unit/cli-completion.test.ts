/** Completion by Tab, as bash and fish carry it out and zsh reads it, and the version. */
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

/** The programs of the folder before those of the system, and no others. */
const environment = { ...process.env, PATH: `${folder}:/usr/bin:/bin` };

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
    env: environment,
  });
  assert.deepEqual([status, stderr], [0, '']);
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

/** Why a test is skipped that needs the shell; false: it is here. */
function without(shell: string): string | false {
  return spawnSync(shell, ['-c', 'true'], { env: environment }).status === 0
    ? false
    : `${shell} is not installed here`;
}

test('fish completes them', { skip: without('fish') }, async () => {
  const script = await printed('completion', 'fish');
  const file = join(folder, 'cambist.fish');
  writeFileSync(file, script);
  const completed = (line: string): string[] => {
    const { stdout, stderr } = spawnSync(
      'fish',
      ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', file, line],
      {
        encoding: 'utf8',
        cwd: folder,
        env: environment,
      },
    );
    assert.equal(stderr, '');
    return stdout.split('\n').flatMap((text) => text.split('\t')[0] || []);
  };
  assert.deepEqual(completed('cambist bal'), ['balances']);
  assert.deepEqual(completed('cambist schedule pau'), ['pause']);
  assert.deepEqual(completed('cambist halt --curr'), ['--currency']);
  assert.deepEqual(completed('cambist status '), ['one.2026-11-21', 'two.2026-11-20']);
  assert.deepEqual(completed('cambist run policies/t'), ['policies/two.yaml']);
  assert.deepEqual(completed('cambist halt --policy '), ['one']);
  assert.deepEqual(completed('npx cambist bal'), ['balances']);
});

test('zsh reads its script, and completes by it', { skip: without('zsh') }, async () => {
  const file = join(folder, 'cambist.zsh');
  writeFileSync(file, await printed('completion', 'zsh'));
  const { stdout, stderr, status } = spawnSync(
    'zsh',
    ['-f', '-c', 'zsh -f -n $1 && source $1 && print $_comps[cambist] / $_comps[npx]', '-', file],
    { encoding: 'utf8', cwd: folder, env: { ...environment, HOME: folder } },
  );
  assert.equal(status, 0, stderr);
  assert.equal(stdout, '_bash_complete -o default -F _cambist / _bash_complete -o default -F _cambist_npx\n');
});

test('no shell waits long for runs, nor says anything, where Temporal does not answer', async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    assert.match(await printed('completion', shell), /timeout 3\b/, shell);
  const script = await printed('completion', 'bash');
  const broken = join(folder, 'cambist');
  writeFileSync(broken, '#!/bin/sh\necho TEMPORAL_AWAY >&2\nexit 7\n', { mode: 0o755 });
  try {
    assert.deepEqual(offered(script, 'status', ''), []);
  } finally {
    rmSync(broken);
  }
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(urlOf('package.json'), 'utf8'));
  assert.equal(await printed('--version'), `${version}\n`);
});
