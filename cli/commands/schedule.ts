/**
 * `cambist schedule …`: the schedules by which policies run by themselves. Each of its commands is a file in `schedule/`.
 */
import type { Command } from 'commander';

export function addSchedule(command: Command): void {
  command
    .description(
      'A policy with a `schedule` runs by itself once it is applied: at one time of day in its zone, on its days of the ' +
        'week but for its holidays. Each of these commands has a `--help` of its own.',
    )
    .addHelpText('after', ['', 'Examples:', ...EXAMPLES.map((example) => `  ${example}`)].join('\n'));
}

const EXAMPLES = [
  'npx cambist schedule next policies/daily-treasury.yaml',
  'npx cambist schedule apply policies --dry-run',
  'npx cambist schedule list',
];
