/**
 * `cambist completion SHELL`: a script that completes commands and options in a shell. The program writes it from its own
 * commands, so that it fits this version. The script calls nothing when a person presses Tab.
 */
import { Argument, type Command } from 'commander';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function addCompletion(command: Command, session: Session): void {
  command
    .description(
      'Prints a script by which a shell completes commands and options when Tab is pressed. It is for `cambist` itself, ' +
        'as `npm link` makes it; what is typed after `npx` is not completed.',
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
      'source <(cambist completion bash)      (in ~/.bashrc)',
      'source <(cambist completion zsh)       (in ~/.zshrc)',
      'cambist completion fish | source       (in ~/.config/fish/config.fish)',
    ],
    endings: ['done', 'bad input'],
  });
}

/** What a person can type after one command. */
type Known = {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly { readonly flag: string; readonly description: string }[];
  /** Values of its arguments, where there are only some; otherwise the shell offers files. */
  readonly choices: readonly string[];
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
      return fishScript(known);
  }
}

function knownOf(command: Command): Known {
  return {
    name: command.name(),
    summary: command.summary(),
    flags: command.options.flatMap(({ long, description, hidden }) =>
      typeof long === 'string' && !hidden ? [{ flag: long, description }] : [],
    ),
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    commands: command.commands.map(knownOf),
  };
}

/** After `schedule` the script offers its commands, and after `schedule next` the options of that command. */
function bashScript(known: readonly Known[]): string {
  const offer = ({ flags, choices, commands }: Known): string => {
    const words = [...choices, ...commands.map(({ name }) => name)];
    return `flags='${[...flags.map(({ flag }) => flag), '--help'].join(' ')}' words='${words.join(' ')}'`;
  };
  const cases = known.flatMap((command) => [
    ...command.commands.map((inner) => `    '${command.name} ${inner.name}') ${offer(inner)} ;;`),
    `    ${command.name}' '*) ${offer(command)} ;;`,
  ]);
  return [
    '_cambist() {',
    "  local current=\"${COMP_WORDS[COMP_CWORD]}\" flags='--help --version' words=''",
    '  case "${COMP_WORDS[1]} $([ "$COMP_CWORD" -gt 2 ] && echo "${COMP_WORDS[2]}")" in',
    ...cases,
    '  esac',
    `  if [ "$COMP_CWORD" -eq 1 ]; then flags='--help --version'; words='${known.map(({ name }) => name).join(' ')}'; fi`,
    '  case "$current" in -*) words="$flags" ;; esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    // When no command or option fits, the shell offers files.
    'complete -o default -F _cambist cambist',
  ].join('\n');
}

function fishScript(known: readonly Known[], behind = '__fish_use_subcommand'): string {
  const lines = known.flatMap(({ name, summary, flags, choices, commands }) => {
    const within = `${behind === '__fish_use_subcommand' ? '' : `${behind}; and `}__fish_seen_subcommand_from ${name}`;
    return [
      `complete -c cambist -n ${conditionOf(behind)} -f -a ${name} -d ${quoted(summary)}`,
      ...flags.map(
        ({ flag, description }) =>
          `complete -c cambist -n ${conditionOf(within)} -l ${flag.slice(2)} -d ${quoted(description)}`,
      ),
      ...(choices.length === 0
        ? []
        : [`complete -c cambist -n ${conditionOf(within)} -f -a ${quoted(choices.join(' '))}`]),
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
