/** `cambist plan POLICY`: what a run of today would do, and why each number is what it is. Reads only. */
import type { Command } from 'commander';
import { decimalsOf } from '../domain/currencies.ts';
import { LOOK_BACK_MS } from '../domain/looks.ts';
import { compilePlan, type CompileInput, type CompileResult } from '../domain/plan.ts';
import { fencesOf, todayIn } from '../language/business-date.ts';
import { observeService } from '../service/observe.ts';
import { createClient, loadSettings } from '../worker/config.ts';
import { batchOption, refuseBatch, type BatchOption } from './batch.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { EXIT_CODES, endingOfCode, firstOf, type Ending } from './exit-codes.ts';
import { CommandFailure, troubleOfItem } from './failure.ts';
import type { Output } from './output.ts';
import { explainPlan, planDocument, shortfallOf } from './plan-text.ts';
import { requirePolicyFile } from './policy-file.ts';
import { checkService, serviceFailure } from './preflight.ts';
import { requireEnvironment } from './run.ts';
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
  const date = todayIn(policy.zone, io.now());
  const run = { policy: policy.name, id: date };
  const fences = fencesOf(date, policy.zone);
  const address = `${settings.address.origin}${settings.address.basePath}`;
  const client = createClient(settings, 'read');
  let input: CompileInput;
  try {
    const remark = await checkService(client, { address, now: io.now });
    if (remark !== null) output.note(remark);
    const observed = await observeService(client, {
      run,
      policy,
      facts: settings.facts,
      sinceMs: fences.opensAtMs - LOOK_BACK_MS,
      nowMs: io.now(),
    });
    if (!observed.ok) throw serviceFailure(observed.reply, address);
    input = {
      run,
      policy,
      policyText: policyFile.text,
      policyHash: policyFile.hash,
      date,
      fences,
      referenceRates: policyFile.referenceRates,
      observation: observed.observation,
      lateAfterMs: settings.facts.lateAfterMs,
      decimalsOf: (currency) => decimalsOf(currency, settings.facts.decimals),
      // Nothing is pinned here.
      pinnedFor: '',
    };
  } finally {
    await client.close();
  }
  return show(output, file, input, compilePlan(input));
}

function show(output: Output, file: string, input: CompileInput, result: CompileResult): Ending {
  if (!result.ok) {
    throw new CommandFailure(
      firstOf(result.problems.map((problem) => endingOfCode(problem.code))),
      result.problems.map(troubleOfItem),
    );
  }
  const shortfall = shortfallOf(result.plan, input.observation);
  // Without a leg no money is waited for.
  const waits = result.plan.shortfall === 'hold' && result.plan.legs.length > 0;
  const ending: Ending = shortfall === null ? 'done' : waits ? 'waiting' : 'refused by us';
  output.document({ ...planDocument(result.plan, input), exitCode: EXIT_CODES[ending] });
  output.show(explainPlan(plain(result.plan), plain(input), output.width, output.paint));
  output.say('', `Nothing was moved. To run it: cambist run ${file}`);
  return ending;
}
