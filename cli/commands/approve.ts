/** `cambist approve RUN`: a person signs what a run will do, so that the workers let it. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName, workflowIdOf } from '../../domain/references.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { refused, type ToApprove } from '../../operations/approve/approval.ts';
import { requireWritable } from '../../operations/new-file.ts';
import { differenceOf, readContent, writeContent } from '../../operations/approve/plan-content.ts';
import { parseRun } from '../../operations/named-run.ts';
import { atPlace } from '../../operations/place.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { aboutText, askAndSign } from '../sign.ts';
import { NO_REASON, loginName } from '../terminal/login-name.ts';
import { nonEmpty, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';

type ApproveOptions = JsonOption & {
  readonly key: string;
  readonly starter?: true;
  readonly plan?: string;
  readonly out?: string;
  readonly reason?: string;
  readonly by?: string;
};

export function addApprove(command: Command, session: Session): void {
  command
    .description(
      'Shows what a run will trade and pay, asks, and signs its plan with a key of OpenSSH. Then does the same with each thing ' +
        'that people have said about the run and that must be signed: paying again, decisions of `resolve`, and that look-alikes are none of its payments. Where ' +
        '`approvals.yaml` of the workers’ folder of policies asks for signatures, the run goes on once enough people have signed; ' +
        'who has started it, or said it, signs as that and is none of them. What this key has signed already is left out. Moves ' +
        'no money itself.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .requiredOption(
      '--key <file>',
      'your private key of OpenSSH, or its public part where an agent or a hardware key has the rest',
      nonEmpty,
    )
    .option('--starter', 'sign as who has started the run, or has said what is to be signed')
    .option(
      '--plan <file>',
      'what `plan --out` wrote: sign nothing where the plan of the run does otherwise',
      nonEmpty,
    )
    .option(
      '--out <file>',
      'write all that the plan will do, and which payments of a batch are paid again, into this file, each row too, before you are asked',
      nonEmpty,
    )
    .option('--reason <text>', 'why; the report keeps it', statement)
    .option('--by <name>', 'who says so; default: the login. The key says who it is', statement)
    .action((name: string, options: ApproveOptions) =>
      act(session, options, (output) => approve(output, name, options)),
    );
  teach(command, {
    examples: [
      'npx cambist approve contractors.2026-11-21-weekly --key ~/.ssh/id_ed25519',
      'npx cambist approve contractors.2026-11-21-weekly --key ~/.ssh/id_ed25519 --plan agreed.txt',
    ],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure'],
  });
}

async function approve(output: Output, name: string, options: ApproveOptions): Promise<Ending> {
  const { cwd } = output.caller;
  const { run, mode } = parseRun(name);
  const { key: keyFile, by = loginName(), reason: why = NO_REASON, out, plan: agreed } = options;
  const as = options.starter === true ? 'starter' : 'approver';
  if (out !== undefined) await requireWritable({ cwd, read: [agreed ?? [], keyFile].flat() }, out);
  const written = agreed === undefined ? null : await readContent({ cwd, file: agreed });
  const look = async ({ content, asked }: ToApprove): Promise<void> => {
    const all = [...content, ...asked.flatMap((one) => one.all)];
    if (out !== undefined) await writeContent({ cwd }, out, all);
    const difference = written === null ? null : differenceOf(written, content);
    if (difference !== null) throw refused(run, 'PLAN_DIFFERS', difference);
  };
  return atPlace(output.caller, mode, async (place): Promise<Ending> => {
    const { of, signed } = await askAndSign(output, place, run, { as, keyFile, by, why, look });
    const message =
      signed.length === 0
        ? `There is nothing about ${runName(run)} that this key has not signed.`
        : `Signed about ${runName(run)}: ${signed.map(aboutText).join('; ')}. It goes on once everybody has signed who must.`;
    output.document({
      run: runName(run),
      workflowId: workflowIdOf(place.mode, run),
      plan: of.planHash,
      signed: signed.map((one) => ({
        instruction: one.said?.id ?? null,
        what: aboutText(one),
        expiresAt: new Date(one.expiresAtMs).toISOString(),
      })),
      message,
      exitCode: EXIT_CODES.done,
    });
    output.say(message);
    return 'done';
  });
}
