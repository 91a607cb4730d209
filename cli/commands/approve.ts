/** `cambist approve RUN`: a person signs what a run will do, so that the workers let it. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName, workflowIdOf } from '../../domain/references.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { parseRun } from '../../operations/named-run.ts';
import { atPlace } from '../../operations/place.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { askAndSign } from '../sign.ts';
import { NO_REASON, loginName } from '../terminal/login-name.ts';
import { nonEmpty, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';

type ApproveOptions = JsonOption & {
  readonly key: string;
  readonly reason?: string;
  readonly by?: string;
};

export function addApprove(command: Command, session: Session): void {
  command
    .description(
      'Shows what a run will trade and pay, asks, and signs its plan with a key of OpenSSH. Where `approvals.yaml` of the ' +
        'workers’ folder of policies asks for signatures, the run goes on once enough people have signed; who has started it ' +
        'signs by `npx cambist run … --sign FILE` and is none of them. A signature is for this plan of this run alone. Moves no ' +
        'money itself.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .requiredOption(
      '--key <file>',
      'your private key of OpenSSH, or its public part where an agent or a hardware key has the rest',
      nonEmpty,
    )
    .option('--reason <text>', 'why; the report keeps it', statement)
    .option('--by <name>', 'who says so; default: the login. The key says who it is', statement)
    .action((name: string, options: ApproveOptions) =>
      act(session, options, (output) => approve(output, name, options)),
    );
  teach(command, {
    examples: ['npx cambist approve contractors.2026-11-21-weekly --key ~/.ssh/id_ed25519'],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure'],
  });
}

async function approve(output: Output, name: string, options: ApproveOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  const { key: keyFile, by = loginName(), reason: why = NO_REASON } = options;
  return atPlace(output.caller, mode, async (place): Promise<Ending> => {
    const signed = await askAndSign(output, place, run, { as: 'approver', keyFile, by, why });
    const message = `The plan of ${runName(run)} is signed. The run goes on once everybody has signed who must.`;
    output.document({
      run: runName(run),
      workflowId: workflowIdOf(place.mode, run),
      plan: signed.planHash,
      expiresAt: new Date(signed.expiresAtMs).toISOString(),
      message,
      exitCode: EXIT_CODES.done,
    });
    output.say(message);
    return 'done';
  });
}
