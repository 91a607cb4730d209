/**
 * `cambist run POLICY`: starts the run of a policy, or finds it open and attaches; shows its progress; tells how it ended or
 * what it waits for. The command decides nothing about money: when a person leaves it, this changes nothing.
 */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import type { Policy } from '../../domain/policy.ts';
import { isRefusedAgain } from '../../domain/problems.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { Signable } from '../../domain/writes/approvals.ts';
import { foundListOf } from '../../domain/run/claims.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { CommandFailure, troubleOfItem } from '../../operations/failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { goOnOpen, type GoOn } from '../../operations/decide/go-on.ts';
import { wakeRun } from '../../operations/decide/keep-instruction.ts';
import { judgeOpenings, openGenerations, type PayAgainRequest } from '../../operations/decide/pay-again.ts';
import { ALL_FAILED } from '../../operations/decide/payable-again.ts';
import { firstUnpayable } from '../../operations/batches/tally.ts';
import { atPlace } from '../../operations/place.ts';
import type { Compiled } from '../../operations/start/compile-now.ts';
import { filesOf, requireEnvironment } from '../../operations/policy-file.ts';
import { idOfBatch, idOfRun } from '../../operations/start/run-ids.ts';
import {
  begin,
  foresee,
  judgeStart,
  movesToShow,
  requireStart,
  submitMissing,
  type AskedStart,
  type StartVerdict,
} from '../../operations/start/run-policy.ts';
import { untilPlanned } from '../../operations/approve/approval.ts';
import { readRun } from '../../operations/follow/read-run.ts';
import { readInput, requireRun, type RunFacts } from '../../operations/follow/runs.ts';
import { startedReport } from '../../operations/start/workflow.ts';
import { readPolicy, readSettings } from '../arguments.ts';
import {
  batchOption,
  expectCountOption,
  expectTotalOption,
  readBatchToRun,
  refuseBatch,
  requireBatchOfTotals,
  submissionCount,
  type BatchOptions,
} from '../batch.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../command.ts';
import { confirmLive } from '../confirm-live.ts';
import { viewWithCameBack } from '../came-back.ts';
import { follow } from '../follow.ts';
import { insteadOfAsked, takePlaceOf, tellInstead } from '../instead-of.ts';
import { heedLookAlikes } from '../look-alikes.ts';
import { requireOut, type OutOption } from '../out.ts';
import { aboutText, askAndSign, requireTerminal } from '../sign.ts';
import { tellTriedAgain } from '../tried-again.ts';
import { outOption, saveResults } from '../results.ts';
import { clockOf } from '../../domain/clock.ts';
import { nonEmpty, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { NO_REASON, loginName } from '../terminal/login-name.ts';
import { payAgainLines } from '../views/pay-again-text.ts';
import { shortfallOf } from '../views/shortfall-text.ts';
import { unpayableDocument, unpayableLines } from '../views/unpayable-text.ts';
import { showReport } from './report.ts';

type PayAgainOptions = {
  readonly payAgain?: readonly string[];
  readonly goOn?: string | true;
  readonly insteadOf?: string;
  readonly reason?: string;
  readonly by?: string;
};

type RunOptions = JsonOption &
  BatchOptions &
  OutOption &
  PayAgainOptions & {
    readonly id?: string;
    readonly detach?: true;
    readonly wait?: true;
    readonly again?: string | true;
    readonly sign?: string;
    readonly yes?: true;
  };

export function addRun(command: Command, session: Session): void {
  command
    .description(
      'Runs a policy. The run is named by policy and date: started once, however often this is typed. Open: attaches. ' +
        'Terminated or timed out: starts it again, and it adopts what the service has. Ended: shows its report, sends ' +
        'nothing. Ctrl-C only leaves; the run goes on. Returns when the run ends or has been held for 15 s. A payout ' +
        'pays the file that --batch names: it is checked to its last row, and submitted whole, before anything moves; ' +
        'after a crash type the same again.',
    )
    .argument('<policy>', 'policy file')
    .option(
      '--id <id>',
      'id of the run, beginning with its date; default: today in the policy’s zone. Of a payout it is required, and ' +
        'the same file always gets the same one',
      nonEmpty,
    )
    .option(
      '--instead-of <run>',
      'the run that --id names takes the place of this one, by a corrected policy: only while nothing of it was traded or ' +
        'paid. Shows what changes; from then on nothing of the old run is sent, and that cannot be taken back',
      nonEmpty,
    )
    .addOption(batchOption())
    .addOption(expectCountOption())
    .addOption(expectTotalOption())
    .addOption(outOption())
    .option('--detach', 'start it and return at once')
    .option('--wait', 'stay while the run is held, until it ends')
    .option(
      '--go-on [item]',
      'start an ended run again with what is not paid or traded; takes a cancel back. With an item, which stands ' +
        'behind it: its cause is gone, try it now; with the name of a list of lost runs: it goes on beside these; of ' +
        'look-alikes: none of these withdrawals is a payment of the batch',
      nonEmpty,
    )
    .option(
      '--pay-again <payments...>',
      `pay payments that ended unpaid once more, in an ended run; \`${ALL_FAILED}\`: all that the service accepted and that ` +
        'have failed since, or were returned, and what lies behind its window',
    )
    .option(
      '--reason <text>',
      'why it is paid again, goes on, or takes a place; required with --pay-again and with look-alikes',
      statement,
    )
    .option(
      '--by <name>',
      'who starts it or says so; default: the login, but required with --pay-again and with look-alikes',
      statement,
    )
    .option(
      '--again [list]',
      'yes, one more run of a date on which the policy has moved money already; with the name of a list: these payments, ' +
        'which other runs have made under other names, are to be made all the same',
      nonEmpty,
    )
    .option(
      '--sign <file>',
      'sign the plan as who starts it, or what is paid again as who says so, with this key of OpenSSH, where the workers ask for ' +
        'signatures: shows it, and asks',
      nonEmpty,
    )
    .option('--yes', 'do not ask before live money moves')
    .action((file: string, options: RunOptions) =>
      act(session, options, (output) => run(output, file, options)),
    );
  teach(command, {
    examples: [
      'npx cambist run policies/mxn-supplier.yaml',
      'npx cambist run policies/mxn-supplier.yaml --id 2026-11-21-second',
      'npx cambist run policies/mxn-supplier.yaml --json | jq .totals',
      'npx cambist run policies/contractors.yaml --batch november.csv --id 2026-11-21-weekly --out results.csv',
      'npx cambist run policies/mxn-supplier.yaml --id 2026-11-21-b --instead-of 2026-11-21',
      'npx cambist run policies/mxn-supplier.yaml --pay-again supplier --by ana \\\n      --reason "account was closed, is open again"',
    ],
    endings: [...RUN_ENDINGS, 'detached'],
  });
}

/** One use of the command, with everything that its steps share. */
type Use = {
  readonly output: Output;
  readonly options: RunOptions;
  /** Who approves the look-alikes of the batch; null: no person yet. */
  readonly approver: GoOn | null;
  readonly asked: AskedStart;
};

async function run(output: Output, file: string, options: RunOptions): Promise<Ending> {
  const { caller } = output;
  const request = payAgainRequest(options);
  const policyFile = await readPolicy(output, file);
  refuseBatch(options, policyFile.policy);
  requireBatchOfTotals(options);
  requireStay(options);
  await requireOut(output, options, filesOf(policyFile));
  const { policy } = policyFile;
  const today = todayIn(policy.zone, caller.now());
  const id = policy.kind === 'payout' ? idOfBatch(options.id, today) : idOfRun(options.id, today);
  if (options.sign !== undefined) requireTerminal(output, { policy: policy.name, id });
  const settings = await readSettings(output);
  requireEnvironment(policyFile, settings);
  const goOn = goOnOf(options);
  const approver = approverOf(goOn, policy, options);
  const batch = await readBatchToRun(output, policyFile, options);
  const asked = {
    settings,
    policyFile,
    run: { policy: policy.name, id },
    today,
    isNamed: options.id !== undefined,
    goOn: approver === null ? goOn : null,
    insteadOf: insteadOfAsked(options, { run: { policy: policy.name, id }, kind: policy.kind }),
    again: options.again !== undefined,
    batch,
    onSubmitted: submissionCount(output, batch),
    now: caller.now,
  };
  return atPlace(caller, settings.mode, async (place) => {
    const use: Use = { output, options, approver, asked: { ...asked, place } };
    const ending = await (request === null ? bringAbout(use) : payOnceMore(use, request));
    if (batch !== null && ending !== 'detached')
      await saveResults(output, place, { run: asked.run, batch: batch.file, out: options.out });
    return ending;
  });
}

/** @throws CommandFailure when the command is to write results and to return before there are any */
function requireStay({ detach, out }: RunOptions): void {
  if (detach === undefined || out === undefined) return;
  throw new CommandFailure('bad input', [
    {
      code: 'BAD_COMMAND_LINE',
      place: '--detach, --out',
      message: 'with --detach the command returns before there are results',
      fix: 'Leave one of the two out; `npx cambist report RUN --batch FILE --out FILE` writes the results later.',
    },
  ]);
}

function goOnOf({ goOn, by = loginName(), reason: why = NO_REASON }: RunOptions): GoOn | null {
  return goOn === undefined ? null : { item: goOn === true ? null : goOn, by, why };
}

/**
 * Starts the run, or finds it, and shows it. Begins again when another command has started or ended the run in the meantime.
 */
async function bringAbout(use: Use): Promise<Ending> {
  const { output, options, approver, asked } = use;
  const { place, run: name, settings, now, goOn } = asked;
  for (;;) {
    const verdict = await judgeStart(asked);
    switch (verdict.kind) {
      case 'open': {
        await submitMissing(asked);
        const alike =
          approver === null
            ? null
            : await heedLookAlikes(output, asked, { approver, by: approver.by, again: null });
        if (approver !== null) await wakeRun(place, name);
        if (goOn !== null) {
          output.remark(await goOnOpen(place, name, { goOn, settings, now }));
          sayTried(use);
        }
        output.note(`${runName(name)} is open already; attaching.`);
        return showStarted(use, {
          startedAtMs: verdict.facts.startedAtMs,
          startedBy: await startedByOf(place, verdict.facts),
          said: [null, ...(alike === null ? [] : [alike])],
        });
      }
      case 'ended': {
        const ending = showReport(output, place, await viewWithCameBack(output, place, verdict.view));
        output.note('', endedLine(name, verdict));
        return ending;
      }
      case 'start': {
        const { facts, kept } = verdict;
        const remarks = await requireStart(asked, facts);
        if (remarks.length > 0) output.note(...remarks);
        if (facts !== null) await tellTriedAgain(output, asked, facts);
        const instead = await tellInstead(output, asked);
        const alike = await heedLookAlikes(output, asked, {
          approver,
          by: options.by ?? loginName(),
          again: typeof options.again === 'string' ? options.again : null,
        });
        const foreseen = await foresee(asked);
        if (foreseen !== null) await tellForeseen(use, foreseen);
        const shown = place.mode === 'LIVE' ? await confirm(use, () => tellMoves(use, foreseen)) : null;
        const startedBy = options.by ?? loginName();
        if (instead !== null)
          await takePlaceOf(output, instead, { by: startedBy, why: options.reason ?? NO_REASON });
        const isStarted = await begin(asked, { facts, kept, shown, startedBy });
        if (facts !== null) sayTried(use);
        if (isStarted) {
          const said = [null, ...(alike === null ? [] : [alike])];
          return showStarted(use, { startedAtMs: now(), startedBy, said });
        }
      }
    }
  }
}

function endedLine(of: RunName, { view, left, successor }: Extract<StartVerdict, { kind: 'ended' }>): string {
  const name = runName(of);
  if (successor !== null)
    return `${name} has ended, and run ${successor} has taken its place; nothing was sent.`;
  if (left === null) return `${name} is completed; there is nothing to do.`;
  if (left.length === 0 && view.report.positions.length > 0)
    return `${name} has ended; nothing was sent. --go-on would send nothing either: all that it planned is done. A run under another id computes from the balances of now.`;
  if (left.length === 0)
    return `${name} has ended; nothing was sent. --go-on would send nothing either: only --pay-again pays what is left.`;
  if (view.report.problems.length > 0 && left[0] === 'the plan')
    return `${name} has ended without a plan; nothing was sent. Mend what its report names, then type the same with --go-on: it plans by the policy as it is then.`;
  if (isRefusedAgain(view.report.problems))
    return `${name} has ended; nothing was sent. --go-on would end it in the same way: its report says beside each problem what helps.`;
  return `${name} has ended; nothing was sent. With --go-on this would go on: ${namesOf(left)}.`;
}

/** Who started the run; null where this cannot be read. Nothing depends on it. */
async function startedByOf({ client }: AskedStart['place'], facts: RunFacts): Promise<string | null> {
  return (await readInput(client, facts).catch(() => null))?.startedBy ?? null;
}

/** At most this many items are named. */
const NAMED = 20;

function namesOf(items: readonly string[]): string {
  const more = items.length - NAMED;
  return `${items.slice(0, NAMED).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

function sayTried({ output, asked: { run: name, goOn } }: Use): void {
  if (goOn !== null && goOn.item !== null)
    output.note(
      `${runName(name)} ${goOn.item}: ${goOn.by} says that the cause of its failure is gone. It is tried now.`,
    );
}

/**
 * Tells, before anything of a batch is submitted, which of its rows cannot be paid, and what money is missing, as far as
 * this can be known.
 */
async function tellForeseen({ output, asked }: Use, { result, input }: Compiled): Promise<void> {
  if (!result.ok) return;
  const { batch } = result.plan;
  const file = asked.batch?.file ?? null;
  const rows = file === null || batch === null ? [] : await firstUnpayable(file, batch, NAMED);
  if (file !== null && batch !== null && rows.length > 0) {
    if (output.isJson) output.log('', unpayableDocument({ run: input.run, batch }, rows));
    else output.note(...unpayableLines(file.file, { run: input.run, batch }, rows));
  }
  const problem = shortfallOf(result.plan, input.observation);
  if (problem !== null) output.warn({ ...troubleOfItem(problem), place: runName(asked.run) });
}

async function tellMoves({ output, asked }: Use, foreseen: Compiled | null): Promise<readonly string[]> {
  const { moves, remark } = await movesToShow(asked, foreseen);
  output.remark(remark);
  return moves;
}

/** Pays payments again, in a run that has ended. */
async function payOnceMore(use: Use, request: PayAgainRequest): Promise<Ending> {
  const { output, asked } = use;
  const again = { ...asked, request };
  const { openings, remark } = await judgeOpenings(again);
  output.remark(remark);
  const { list, windowUntilMs, others } = openings;
  if (list.length === 0) {
    output.note('No payment has failed that could be paid again; nothing was sent.');
    return showNow(use);
  }
  const [first, ...lines] = payAgainLines(list);
  const until = clockOf(asked.policyFile.policy.zone, asked.now()).at(windowUntilMs);
  output.note(`Pays again: ${first}, until ${until}.`, ...lines);
  if (others.length > 0) output.note(`The run is started again, and goes on with: ${namesOf(others)}.`);
  if (asked.place.mode === 'LIVE')
    await confirm(use, () => Promise.resolve([`pay AGAIN ${first}`, ...lines]));
  const said = await openGenerations(again, openings);
  return showStarted(use, { startedAtMs: asked.now(), startedBy: request.by, said });
}

/** Shows the run's state now. */
async function showNow({ output, asked: { place, run: name } }: Use): Promise<Ending> {
  return showReport(output, place, await readRun(place, await requireRun(place, name)));
}

/** What a person wants to be paid again; null: nothing. @throws CommandFailure with every mistake of the options */
export function payAgainRequest({
  payAgain,
  goOn,
  insteadOf,
  reason,
  by,
}: PayAgainOptions): PayAgainRequest | null {
  const problems: Trouble[] = [];
  const mistake = (place: string, message: string, fix: string): void => {
    problems.push({ code: 'DECISION_INCOMPLETE', place, message, fix });
  };
  if (payAgain === undefined) {
    if (reason !== undefined && goOn === undefined && insteadOf === undefined)
      mistake(
        '--reason',
        'it belongs to --pay-again, --go-on or --instead-of, and none of them is given',
        'Name the payment by --pay-again, or leave it out.',
      );
  } else {
    if (payAgain.includes(''))
      mistake('--pay-again', 'one of the payments has no name', 'Name each as in the report.');
    if (payAgain.includes(ALL_FAILED) && payAgain.length > 1)
      mistake(
        '--pay-again',
        `"${ALL_FAILED}" is given together with payments`,
        `Name the payments, or say ${ALL_FAILED} alone.`,
      );
    if (goOn !== undefined)
      mistake(
        '--pay-again, --go-on',
        'both are given',
        'Leave --go-on out: --pay-again goes on with the run too.',
      );
    if (reason === undefined)
      mistake('--reason', 'it is missing', 'Say why it is paid again; the report keeps it.');
    if (by === undefined)
      mistake('--by', 'it is missing', 'Name who decides, as in --by ana; the report keeps it.');
  }
  if (problems.length > 0) throw new CommandFailure('bad input', problems);
  if (payAgain === undefined || reason === undefined || by === undefined) return null;
  return { items: payAgain.includes(ALL_FAILED) ? ALL_FAILED : payAgain, reason, by };
}

/**
 * Who approves look-alikes by the name of their list; null: no person does. The word `look-alikes` stands for a name that the
 * person has yet to see. @throws CommandFailure where one of the options that this needs is missing
 */
function approverOf(goOn: GoOn | null, { kind }: Policy, { batch, reason, by }: RunOptions): GoOn | null {
  const item = goOn?.item ?? '';
  if (kind !== 'payout' || (item !== 'look-alikes' && foundListOf(item) !== 'look-alikes')) return null;
  if (reason !== undefined && by !== undefined && batch !== undefined) return goOn;
  const missing = Object.entries({ '--batch': batch, '--reason': reason, '--by': by });
  throw new CommandFailure(
    'bad input',
    missing
      .filter(([, value]) => value === undefined)
      .map(([place]) => ({
        code: 'DECISION_INCOMPLETE' as const,
        place,
        message: `this is missing, and --go-on ${item} needs it`,
        fix: 'Name the file, say why its look-alikes are approved, and who decides: the report keeps it.',
      })),
  );
}

function confirm(
  { output, options, asked: { run: name } }: Use,
  tell: () => Promise<readonly string[]>,
): Promise<readonly string[] | null> {
  return confirmLive(output, {
    isAnswered: options.yes === true,
    place: runName(name),
    consequence: 'this moves live money',
    otherwise: 'nothing was sent',
    question: 'Go ahead with live money? Type yes: ',
    tell,
  });
}

type Started = {
  readonly startedAtMs: number;
  readonly startedBy: string | null;
  /** What its person signs for: the ids of what this command has said; null: the start of the run. */
  readonly said: readonly (string | null)[];
};

/** Follows a run that is under way. With `--detach` it only tells that the run goes on. */
async function showStarted(use: Use, { startedAtMs, startedBy, said }: Started): Promise<Ending> {
  const { output, options, asked } = use;
  const { run: name, place, policyFile } = asked;
  const policyHash = policyFile.hash;
  if (options.sign !== undefined) await signAsStarter(use, options.sign, said);
  const { zone } = policyFile.policy;
  const of = { output, place, run: name, policyHash, startedBy, zone, stay: options.wait === true };
  if (options.detach !== true) return follow(of, startedAtMs);
  output.document(startedReport({ mode: place.mode, run: name, policyHash, startedBy }, []));
  output.say(`${runName(name)} goes on; see \`npx cambist status ${runName(name)}\`.`);
  return 'waiting';
}

/** @param own what the person who types it signs for */
export function isOfCommand(own: Started['said']): (said: Signable | null) => boolean {
  return (said) => own.includes(said?.id ?? null);
}

/** Signs the plan once it is made, or what this command has said. What others have said stays with them. */
async function signAsStarter(
  { output, options, asked }: Use,
  keyFile: string,
  own: Started['said'],
): Promise<void> {
  const { place, run: name } = asked;
  const { by = loginName(), reason: why = NO_REASON } = options;
  await untilPlanned(place, name);
  const { signed } = await askAndSign(output, place, name, {
    as: 'starter',
    keyFile,
    by,
    why,
    isAsked: isOfCommand(own),
  });
  for (const one of signed) output.note(`Signed, as who has started or said it: ${aboutText(one)}.`);
}
