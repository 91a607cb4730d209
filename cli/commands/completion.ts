/**
 * `cambist completion SHELL`: a script that completes commands, options, policies and runs in a shell, behind `cambist` and
 * behind `npx cambist`. The program writes it from its own commands, so that it fits this version. When a person presses Tab
 * where a run belongs, the script asks `cambist list`; it finds policies by itself.
 */
import { Argument, type Command } from 'commander';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function addCompletion(command: Command, session: Session): void {
  command
    .description(
      'Prints a script by which a shell completes commands, options, policies and the names of runs when Tab is pressed, behind ' +
        '`npx cambist` and, where it is installed for all, behind `cambist`. Keep it in a file, which your shell reads when it starts.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell, options: JsonOption) =>
      act(session, options, async (output) => {
        const script = completionScript(command.parent ?? command, shell);
        output.document({ shell, script, exitCode: EXIT_CODES.done });
        output.show(script);
        return 'done';
      }),
    );
  teach(command, {
    examples: [
      'npx cambist completion bash > ~/.cambist.bash      (and in ~/.bashrc: source ~/.cambist.bash)',
      'npx cambist completion zsh > ~/.cambist.zsh        (and in ~/.zshrc: source ~/.cambist.zsh)',
      'npx cambist completion fish > ~/.config/fish/conf.d/cambist.fish',
    ],
    endings: ['done', 'bad input'],
  });
}

/** What the script offers for an argument or for the value of an option; for anything else the shell offers files. */
const SOURCES = ['runs', 'policies', 'names'] as const;
type Source = (typeof SOURCES)[number];

/** By the name of the argument, as the help shows it. `names`: those of the policies that have a schedule. */
const ARGUMENTS: Readonly<Record<string, Source>> = {
  run: 'runs',
  policy: 'policies',
  file: 'policies',
  path: 'policies',
  name: 'names',
};

/** What a person can type after one command. */
type Known = {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly {
    readonly flag: string;
    readonly description: string;
    readonly takesValue: boolean;
    readonly source: Source | null;
  }[];
  /** Values of its arguments, where there are only some. */
  readonly choices: readonly string[];
  readonly source: Source | null;
  /** The commands whose first word this is. */
  readonly commands: readonly Known[];
};

function completionScript(program: Command, shell: Shell): string {
  const known = program.commands.map(knownOf);
  switch (shell) {
    case 'bash':
      return bashScript(known);
    case 'zsh':
      return [
        'autoload -U +X compinit && compinit',
        'autoload -U +X bashcompinit && bashcompinit',
        bashScript(known),
      ].join('\n');
    case 'fish':
      return [FISH_SOURCES, fishScript(known), FISH_NPX].join('\n');
  }
}

function knownOf(command: Command): Known {
  const [first] = command.registeredArguments;
  return {
    name: command.name(),
    summary: command.summary(),
    flags: command.options.flatMap(({ long, flags, description, hidden, required }) =>
      typeof long === 'string' && !hidden
        ? [{ flag: long, description, takesValue: required, source: sourceOfValue(flags) }]
        : [],
    ),
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    source: ARGUMENTS[first?.name() ?? ''] ?? null,
    commands: command.commands.map(knownOf),
  };
}

function sourceOfValue(flags: string): Source | null {
  if (flags.includes('<run>')) return 'runs';
  return flags === '--policy <name>' ? 'names' : null;
}

/** Where the system has the program `timeout`, a person who presses Tab waits no longer for the names of runs. */
const LIMIT = 'timeout 3';

/** Runs are asked for at most once in ten seconds. `--no-install` keeps npx from getting a package of that name from elsewhere. */
const BASH_SOURCES = `_cambist_call() {
  local IFS=' ' limit; limit=$(command -v timeout >/dev/null && echo '${LIMIT}')
  if command -v cambist >/dev/null; then $limit cambist "$@"; else $limit npx --no-install cambist "$@"; fi
}
_cambist_runs() {
  if [ "$_cambist_place" != "$PWD" ] || [ $((SECONDS - _cambist_asked)) -gt 10 ]; then
    _cambist_place=$PWD _cambist_asked=$SECONDS
    _cambist_found=$(_cambist_call list --json 2>/dev/null </dev/null | sed -n 's/^ *"run": "\\(.*\\)",*$/\\1/p')
  fi
  words=$_cambist_found
}
_cambist_policies() {
  case "$current" in
    */*) words=$(grep -ls '^policy:' "\${current%/*}"/*.yaml "\${current%/*}"/*.yml) ;;
    *) words=$(grep -ls '^policy:' *.yaml *.yml policies/*.yaml policies/*.yml) ;;
  esac
}
_cambist_names() {
  local current=''
  _cambist_policies
  words=$(grep -ls '^schedule:' $words /dev/null | while read -r file; do sed -n 's/^name: *\\([a-z0-9-]*\\).*/\\1/p' "$file"; done)
}`;

/** After `schedule` the script offers its commands, and after `schedule next` the options of that command. */
function bashScript(known: readonly Known[]): string {
  const offer = ({ flags, choices, commands, source }: Known): string => {
    const words = [...choices, ...commands.map(({ name }) => name)];
    return `flags='${[...flags.map(({ flag }) => flag), '--help'].join(' ')}' words='${words.join(' ')}' from='${source ?? ''}'`;
  };
  const cases = known.flatMap((command) => [
    ...command.commands.map((inner) => `    '${command.name} ${inner.name}') ${offer(inner)} ;;`),
    `    ${command.name}' '*) ${offer(command)} ;;`,
  ]);
  return [
    BASH_SOURCES,
    '_cambist() {',
    "  local IFS=$' \\n' current=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" flags='--help --version' words='' from=''",
    '  case "${COMP_WORDS[1]} $([ "$COMP_CWORD" -gt 2 ] && echo "${COMP_WORDS[2]}")" in',
    ...cases,
    '  esac',
    `  if [ "$COMP_CWORD" -eq 1 ]; then from='' flags='--help --version'; words='${known.map(({ name }) => name).join(' ')}'; fi`,
    '  case "$before" in',
    ...valueCases(known),
    '  esac',
    '  case "$current" in -*) words="$flags" from=\'\' ;; esac',
    '  if [ -n "$from" ]; then IFS=$\'\\n\'; "_cambist_$from"; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    '_cambist_npx() {',
    '  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W cambist -- "${COMP_WORDS[1]}"))',
    '  elif [ "${COMP_WORDS[1]}" = cambist ]; then COMP_WORDS=("${COMP_WORDS[@]:1}"); COMP_CWORD=$((COMP_CWORD-1)); _cambist; fi',
    '}',
    // When nothing of these fits, the shell offers files.
    'complete -o default -F _cambist cambist',
    'complete -o default -F _cambist_npx npx',
  ].join('\n');
}

/** What follows an option that takes a value is that value. */
function valueCases(known: readonly Known[]): readonly string[] {
  const flags = known
    .flatMap((command) => [command, ...command.commands])
    .flatMap((command) => command.flags);
  return [...SOURCES, null].flatMap((source) => {
    const named = flags.filter((flag) => flag.takesValue && flag.source === source).map(({ flag }) => flag);
    if (named.length === 0) return [];
    return [`    ${[...new Set(named)].join('|')}) words='' from='${source ?? ''}' ;;`];
  });
}

const FISH_SOURCES = `function __cambist_runs
  set -l limit
  command -q timeout; and set limit ${LIMIT}
  if command -q cambist
    env $limit cambist list --json 2>/dev/null </dev/null
  else
    env $limit npx --no-install cambist list --json 2>/dev/null </dev/null
  end | string replace -rf '^ *"run": "(.*)",*$' '$1'
end
function __cambist_policies
  set -l folder (string replace -rf '[^/]*$' '' -- (commandline -ct))
  set -l files $folder*.yaml $folder*.yml
  test -n "$folder"; or set -a files policies/*.yaml policies/*.yml
  test (count $files) -gt 0; and grep -ls '^policy:' $files
end
function __cambist_names
  set -l files *.yaml *.yml policies/*.yaml policies/*.yml
  test (count $files) -gt 0; and grep -ls '^schedule:' $files | while read -l file
    string replace -rf '^name: *([a-z0-9-]+).*' '$1' < $file
  end
end`;

/** What is typed behind `npx cambist` is completed as behind `cambist`. */
const FISH_NPX = `complete -c npx -n 'test (count (commandline -opc)) -eq 1' -f -a cambist
complete -c npx -n 'test (count (commandline -opc)) -gt 1; and test (commandline -opc)[2] = cambist' -f -a "(complete -C (string replace -r '^ *npx +' '' -- (commandline -cp)))"`;

function fishScript(known: readonly Known[], behind = '__fish_use_subcommand'): string {
  // A word of the line is the command already, unless none of these stands there.
  const names = known.map(({ name }) => name).join(' ');
  const before =
    behind === '__fish_use_subcommand' ? behind : `${behind}; and not __fish_seen_subcommand_from ${names}`;
  const lines = known.flatMap(({ name, summary, flags, choices, source, commands }) => {
    const within = `${behind === '__fish_use_subcommand' ? '' : `${behind}; and `}__fish_seen_subcommand_from ${name}`;
    const offered = [...choices, ...(source === null ? [] : [`(__cambist_${source})`])];
    return [
      `complete -c cambist -n ${conditionOf(before)} -f -a ${name} -d ${quoted(summary)}`,
      ...flags.map(
        ({ flag, description, takesValue, source: values }) =>
          `complete -c cambist -n ${conditionOf(within)} -l ${flag.slice(2)} -d ${quoted(description)}` +
          `${takesValue ? ' -r' : ''}${values === null ? '' : ` -f -a '(__cambist_${values})'`}`,
      ),
      ...(offered.length === 0
        ? []
        : [`complete -c cambist -n ${conditionOf(within)} -f -a ${quoted(offered.join(' '))}`]),
      ...(commands.length === 0 ? [] : [fishScript(commands, within)]),
    ];
  });
  return lines.join('\n');
}

function conditionOf(condition: string): string {
  return condition.includes(' ') ? quoted(condition) : condition;
}

/** A text in the form that the shell takes unchanged. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
