/** `cambist plan POLICY`: what a run of today would do, and why each number is what it is. Reads only. */
import type { Command } from 'commander';
import type { CompileInput, CompileResult } from '../domain/plan.ts';
import { todayIn } from '../language/business-date.ts';
import { loadSettings } from '../worker/config.ts';
import { batchOption, refuseBatch, type BatchOption } from './batch.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { compileNow, requireCompiled } from './compile-now.ts';
import { EXIT_CODES, type Ending } from './exit-codes.ts';
import type { Output } from './output.ts';
import { explainPlan, planDocument, shortfallOf } from './plan-text.ts';
import { requireEnvironment, requirePolicyFile } from './policy-file.ts';
import { plain } from './safe.ts';

export function addPlan(program: Command, session: Session): void {
  const command = program
    .command('plan')
    .summary('shows what a run would do, and why; moves nothing')
    .description(
      'Shows what a run of today would do and why each number is what it is. Moves nothing and asks no quote; needs the ' +
        'service and a key (read scope is enough), not Temporal.',
    )
    .argument('<policy>', 'policy file')
    .addOption(batchOption())
    .action((file: string, options: JsonOption & BatchOption) =>
      act(session, options, async (output) => {
        refuseBatch(options);
        return plan(output, file);
      }),
    );
  teach(command, {
    examples: ['cambist plan policies/mxn-supplier.yaml', 'cambist plan policies/mxn-supplier.yaml --json'],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure', 'waiting'],
  });
}

async function plan(output: Output, file: string): Promise<Ending> {
  const { io } = output;
  const policyFile = await requirePolicyFile(output, file);
  const settings = await loadSettings(io.env, io.cwd);
  for (const warning of settings.warnings) output.note(warning);
  requireEnvironment(policyFile, settings);
  const { policy } = policyFile;
  const run = { policy: policy.name, id: todayIn(policy.zone, io.now()) };
  const { input, result } = await compileNow(output, { policyFile, settings, run });
  return show(output, file, input, result);
}

function show(output: Output, file: string, input: CompileInput, result: CompileResult): Ending {
  const made = requireCompiled(result);
  const shortfall = shortfallOf(made, input.observation);
  // Without a leg no money is waited for.
  const waits = made.shortfall === 'hold' && made.legs.length > 0;
  const ending: Ending = shortfall === null ? 'done' : waits ? 'waiting' : 'refused by us';
  output.document({ ...planDocument(made, input), exitCode: EXIT_CODES[ending] });
  output.show(explainPlan(plain(made), plain(input), output.width, output.paint));
  output.say('', `Nothing was moved. To run it: cambist run ${file}`);
  return ending;
}
