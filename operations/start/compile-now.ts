/**
 * The plan of a run by the service's state now. `plan` explains it, and a person sees it before live money moves. The run
 * makes its own plan, and compares it with the one that the person saw.
 */
import { decimalsOf } from '../../domain/currencies.ts';
import { LOOK_BACK_MS } from '../../domain/writes/lookups.ts';
import type { CompileInput } from '../../domain/plan/compile-input.ts';
import { compilePlan, type CompileResult } from '../../domain/plan/compile.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { forRun } from '../../domain/problems.ts';
import type { RunName } from '../../domain/references.ts';
import { dateOfRunId, settledAtTheLatestMs, sendWindowsOf, todayIn } from '../../calendar/business-date.ts';
import { observeService } from '../../service/observe.ts';
import { createClient, type Settings } from '../../config/config.ts';
import type { BatchFile } from '../batches/file.ts';
import { tallyBatch } from '../batches/tally.ts';
import { endingOfCode, firstOf } from '../exit-codes.ts';
import { CommandFailure, troubleOfItem } from '../failure.ts';
import type { PolicyFile } from '../policy-file.ts';
import { paidByOthers } from '../batches/paid-by-others.ts';
import { checkService, serviceFailure } from '../preflight.ts';

/** `remark`: a fault at the service that may pass, null when all is well. */
export type Compiled = {
  readonly input: CompileInput;
  readonly result: CompileResult;
  readonly remark: string | null;
};

/**
 * The plan that a run would make by the service's state now. Moves nothing, and decides nothing for the run.
 * @throws CommandFailure when the service cannot be read
 */
export async function compileNow(of: {
  readonly policyFile: PolicyFile;
  readonly settings: Settings;
  readonly run: RunName;
  /** The file of a payout; null for other kinds. */
  readonly batch: BatchFile | null;
  readonly now: () => number;
}): Promise<Compiled> {
  const { policyFile, settings, run, batch, now } = of;
  const { policy } = policyFile;
  const date = dateOfRunId(run.id) ?? todayIn(policy.zone, now());
  const sendWindows = sendWindowsOf(date, policy.zone);
  const address = `${settings.address.origin}${settings.address.basePath}`;
  const client = createClient(settings, 'read');
  try {
    const remark = await checkService(client, { address, now });
    const tally =
      batch === null
        ? null
        : await tallyBatch(client, batch, settings.facts, (names) =>
            paidByOthers(client, {
              run,
              names,
              sinceMs: now() - batch.policyFile.policy.payout.rules.dedupeMs,
              facts: settings.facts,
              address,
            }),
          );
    const observed = await observeService(client, {
      run,
      policy,
      paid: (tally?.batch.payable ?? []).map(({ currency }) => currency),
      date,
      facts: settings.facts,
      sinceMs: sendWindows.opensAtMs - LOOK_BACK_MS,
      nowMs: now(),
      settledBy: settledAtTheLatestMs,
    });
    if (!observed.ok) throw serviceFailure(observed.reply, address);
    const input = {
      run,
      policy,
      policyHash: policyFile.hash,
      date,
      sendWindows,
      referenceRates: policyFile.referenceRates,
      observation: observed.observation,
      lateAfterMs: settings.facts.lateAfterMs,
      decimalsOf: (currency: string) => decimalsOf(currency, settings.facts.decimals),
      batch: tally?.batch ?? null,
      // This plan is only shown, and belongs to no Temporal run.
      madeFor: '',
    };
    const problems = tally?.problems ?? [];
    return { input, result: problems.length > 0 ? { ok: false, problems } : compilePlan(input), remark };
  } finally {
    await client.close();
  }
}

/** @throws CommandFailure with every reason why there is no plan */
export function requireCompiled({ input, result }: Pick<Compiled, 'input' | 'result'>): Plan {
  if (result.ok) return result.plan;
  throw new CommandFailure(
    firstOf(result.problems.map((problem) => endingOfCode(problem.code))),
    result.problems.map((problem) => troubleOfItem(forRun(problem, input.run))),
  );
}
