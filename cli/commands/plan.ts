/** `cambist plan POLICY`: what a run of today would do, and why each number is what it is. Reads only. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import type { CompileInput } from '../../domain/plan/compile-input.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { batchOption, refuseBatch, type BatchOption } from '../batch.ts';
import { readPolicy, readSettings } from '../arguments.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { indicativePrices, type IndicativePrice } from '../../operations/indicative-price.ts';
import { compileNow, requireCompiled } from '../../operations/compile-now.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { explainPlan, planDocument, shortfallOf } from '../views/plan-text.ts';
import { requireEnvironment } from '../../operations/policy-file.ts';
import { plain } from '../terminal/safe.ts';

type PlanOptions = JsonOption & BatchOption & { readonly quote?: true };

export function addPlan(command: Command, session: Session): void {
  command
    .description(
      'Shows what a run of today would do and why each number is what it is, and of a rebalancing what would be left. ' +
        'Moves nothing. Needs the service and a key (read scope is enough), not Temporal.',
    )
    .argument('<policy>', 'policy file')
    .addOption(batchOption().hideHelp())
    .option('--quote', 'ask the price of each leg by a quote of 3 s, which is never traded')
    .action((file: string, options: PlanOptions) =>
      act(session, options, (output) => plan(output, file, options)),
    );
  teach(command, {
    examples: [
      'npx cambist plan policies/mxn-supplier.yaml',
      'npx cambist plan policies/daily-treasury.yaml --quote',
      'npx cambist plan policies/mxn-supplier.yaml --json',
    ],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure', 'waiting'],
  });
}

async function plan(output: Output, file: string, options: PlanOptions): Promise<Ending> {
  const { io } = output;
  const policyFile = await readPolicy(output, file);
  refuseBatch(options, policyFile.policy);
  const settings = await readSettings(output);
  requireEnvironment(policyFile, settings);
  const { policy } = policyFile;
  const run = { policy: policy.name, id: todayIn(policy.zone, io.now()) };
  const { input, result, remark } = await compileNow({ policyFile, settings, run, now: io.now });
  output.remark(remark);
  const made = requireCompiled(result);
  const prices = options.quote === true ? await indicativePrices(settings, made, input.observation) : [];
  return show(output, file, made, input, prices);
}

function show(
  output: Output,
  file: string,
  made: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
): Ending {
  const shortfall = shortfallOf(made, input.observation);
  // Without a leg no money is waited for.
  const waits = made.shortfall === 'hold' && made.legs.length > 0;
  const ending: Ending = shortfall === null ? 'done' : waits ? 'waiting' : 'refused by us';
  output.document({ ...planDocument(made, input, prices), exitCode: EXIT_CODES[ending] });
  output.show(explainPlan(plain(made), plain(input), plain(prices), output));
  const isTraded = input.observation.trades.length > 0;
  const next = isTraded ? 'It has traded already; how it stands:' : 'To run it:';
  output.say('', `Nothing was moved. ${next} npx cambist run ${file}`);
  return ending;
}
