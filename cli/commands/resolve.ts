/**
 * `cambist resolve RUN ITEM`: a person decides what the machine cannot. The command reads the service before it keeps the
 * decision.
 */
import { clockOf } from '../../domain/clock.ts';
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName, workflowIdOf } from '../../domain/references.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Signable } from '../../domain/writes/approvals.ts';
import { atPlace } from '../../operations/place.ts';
import { decide, type Decided, type Decision } from '../../operations/decide/resolve.ts';
import { parseRun } from '../../operations/named-run.ts';
import { readSettings } from '../arguments.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { askAndSign, requireTerminal } from '../sign.ts';
import { NO_REASON, loginName } from '../terminal/login-name.ts';
import { nonEmpty, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { decidedLines, decidedText, nextText } from '../views/decided-text.ts';

type ResolveOptions = JsonOption & {
  readonly executed?: string;
  readonly notExecuted?: true;
  readonly notThis?: string;
  readonly accept?: string;
  readonly evidence?: string;
  readonly by?: string;
  readonly sign?: string;
};

export function addResolve(command: Command, session: Session): void {
  command
    .description(
      'Decides about a leg or payment whose fate the machine cannot tell: it was executed, as the record with this id, ' +
        'or it was not. The service is looked at first: a record that is not there or contradicts the plan is refused, ' +
        'and so is --not-executed when a record of the item agrees with the plan. The decision is kept outside the run’s history, ' +
        'so that no reset loses it; a record that appears later stands above it. --accept releases what waits because a ' +
        'trade came out worse than its guard or above a limit. --not-this says of a withdrawal that could be the payment that it is not; it is judged again before anything is sent. Moves no money. Ends with 2 when there ' +
        'is no record of this id, with 4 when a record contradicts the decision.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .argument('<item>', 'id of the leg or payment, as the report shows it')
    .option('--executed <id>', 'it was executed: the id of its trade or withdrawal', nonEmpty)
    .option('--not-executed', 'it was not executed, and will not be')
    .option(
      '--not-this <id>',
      'the withdrawal with this id carries no name and could be the payment, but is not',
      nonEmpty,
    )
    .option(
      '--accept <id>',
      'the trade of a leg, which came out worse than planned, is accepted as it is',
      nonEmpty,
    )
    .option('--evidence <text>', 'how you know, or why it is accepted; required with these three', statement)
    .option('--by <name>', 'who decides; required', statement)
    .option(
      '--sign <file>',
      'sign the decision as who has said it, with this key of OpenSSH, where the workers ask for signatures: shows it, and asks',
      nonEmpty,
    )
    .action((name: string, item: string, options: ResolveOptions) =>
      act(session, options, (output) => resolve(output, { name, item, options })),
    );
  teach(command, {
    examples: [
      'npx cambist resolve mxn-supplier.2026-11-21 supplier --executed wtd_3GVKK9mcGadvqjq8TViDA5 --by ana',
      'npx cambist resolve mxn-supplier.2026-11-21 supplier --not-executed --by ana \\\n      --evidence "operator’s ticket 4711: never received"',
      'npx cambist resolve mxn-supplier.2026-11-21 usd-mxn-1 --accept tde_BhQh2Nqoq3ZLr1vFGEXEey --by ana \\\n      --evidence "the supplier is owed today; the operator explained the price"',
    ],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure'],
  });
}

async function resolve(
  output: Output,
  asked: { readonly name: string; readonly item: string; readonly options: ResolveOptions },
): Promise<Ending> {
  const { now } = output.io;
  const decision = readDecision(asked.options);
  const { run, mode } = parseRun(asked.name);
  if (asked.options.sign !== undefined) requireTerminal(output, run);
  const settings = await readSettings(output);
  return atPlace(output.caller, mode ?? settings.mode, async (place) => {
    const { item } = asked;
    const { decided, remark } = await decide({ place, settings, run, item, decision, now });
    output.remark(remark);
    const { sign, by = loginName() } = asked.options;
    if (sign !== undefined)
      await askAndSign(output, place, run, {
        as: 'starter',
        keyFile: sign,
        by,
        why: NO_REASON,
        isAsked: (said) => said !== null && isSaying(said, decided),
      });
    return show(output, decided);
  });
}

/** True for what this very command has said. Who decides about an item has not started the run, and may have approved its plan. */
export function isSaying(said: Signable, { item, decision }: Pick<Decided, 'item' | 'decision'>): boolean {
  if (said.kind === 'pay these again' || said.kind !== decision.kind) return false;
  const recordOf = (of: object): unknown => ('recordId' in of ? of.recordId : null);
  return said.item === item && said.by === decision.by && recordOf(said) === recordOf(decision);
}

/** @throws CommandFailure with every mistake of the options */
function readDecision(options: ResolveOptions): Decision {
  const { executed, notExecuted, notThis, accept, evidence, by } = options;
  const problems: Trouble[] = [];
  const mistake = (place: string, message: string, fix: string): void => {
    problems.push({ code: 'DECISION_INCOMPLETE', place, message, fix });
  };
  const given = [executed, notExecuted, notThis, accept].filter((option) => option !== undefined).length;
  if (given !== 1) {
    mistake(
      '--executed, --not-executed, --not-this, --accept',
      given === 0 ? 'none is given' : 'more than one is given',
      'Say one of them: --executed, --not-this or --accept with the id of the record, or --not-executed.',
    );
  }
  const needsEvidence = notExecuted === true || notThis !== undefined || accept !== undefined;
  if (needsEvidence && evidence === undefined) {
    mistake(
      '--evidence',
      'it is missing',
      'Say how you know that it was not executed or is another record, or why it is accepted; the report keeps it.',
    );
  }
  if (executed !== undefined && evidence !== undefined) {
    mistake('--evidence', 'it does not belong to --executed', 'Leave it out: the record is the evidence.');
  }
  if (by === undefined) {
    mistake('--by', 'it is missing', 'Name who decides, as in --by ana; the report keeps it.');
  }
  if (problems.length > 0 || by === undefined) throw new CommandFailure('bad input', problems);
  if (executed !== undefined) return { kind: 'executed', recordId: executed, by };
  if (notThis !== undefined) return { kind: 'not this', recordId: notThis, evidence: evidence ?? '', by };
  if (accept !== undefined) return { kind: 'accept', recordId: accept, evidence: evidence ?? '', by };
  return { kind: 'not executed', evidence: evidence ?? '', by };
}

function show(output: Output, decided: Decided): Ending {
  const { plan, item, decision, seen } = decided;
  const message = decidedText(decided);
  const next = nextText(decided);
  output.document({
    run: runName(plan.run),
    workflowId: workflowIdOf(plan.credentials.mode, plan.run),
    item,
    decision: decision.kind,
    by: decision.by,
    recordId: decision.kind === 'not executed' ? null : decision.recordId,
    evidence: decision.kind === 'executed' ? null : decision.evidence,
    contradicts: seen.over?.record.id ?? null,
    couldBe: seen.couldBe.map(({ id }) => id),
    message,
    next,
    exitCode: EXIT_CODES.done,
  });
  const { retold } = clockOf(plan.zone, output.io.now());
  output.say(message, ...decidedLines(decided).map(retold), retold(next));
  return 'done';
}
