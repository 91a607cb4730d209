/** `cambist check FILE…`: every mistake of policies and of the files that they name, offline. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { batchOption, refuseBatch, type BatchOption } from '../batch.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Output } from '../terminal/output.ts';
import { checkPolicyFile, readDecimals } from '../../operations/policy-file.ts';
import { plain } from '../terminal/safe.ts';
import { count, paragraphOf } from '../terminal/text.ts';

export function addCheck(command: Command, session: Session): void {
  command
    .description(
      'Checks policy files, offline: every mistake at once, with its place, and what to write instead.',
    )
    .argument('<file...>', 'policy files')
    .addOption(batchOption())
    .action((files: string[], options: JsonOption & BatchOption) =>
      act(session, options, async (output) => {
        refuseBatch(options);
        return checkFiles(output, files);
      }),
    );
  teach(command, {
    examples: ['npx cambist check policies/mxn-supplier.yaml', 'npx cambist check policies/*.yaml --json'],
    endings: ['done', 'bad input', 'configuration'],
  });
}

async function checkFiles(output: Output, files: readonly string[]): Promise<Ending> {
  const { io, paint } = output;
  const decimals = await readDecimals(io);
  const problems: Trouble[] = [];
  const warnings: Trouble[] = [];
  const checked: {
    file: string;
    ok: boolean;
    policy: { name: string; kind: string; environment: string; hash: string } | null;
  }[] = [];
  for (const file of files) {
    const read = await checkPolicyFile(file, { cwd: io.cwd, decimals, nowMs: io.now() });
    const policy = read.policyFile?.policy;
    problems.push(...read.problems);
    warnings.push(...read.warnings);
    checked.push({
      file,
      ok: read.policyFile !== null,
      policy:
        policy === undefined
          ? null
          : {
              name: policy.name,
              kind: policy.kind,
              environment: policy.environment,
              hash: read.policyFile?.hash ?? '',
            },
    });
    for (const problem of read.problems) output.show(`${paragraphOf(problem, output.width)}\n`);
    for (const warning of read.warnings)
      output.show(`${paint.warn('warning')} ${paragraphOf(warning, output.width)}\n`);
    const verdict =
      policy === undefined
        ? paint.bad(count(read.problems.length, 'mistake'))
        : `${paint.good('ok')} (${policy.kind}, ${policy.environment})`;
    output.show(`${plain(file)}: ${verdict}`);
  }
  const ending: Ending = problems.length === 0 ? 'done' : 'bad input';
  output.document({ files: checked, problems, warnings, exitCode: EXIT_CODES[ending] });
  return ending;
}
