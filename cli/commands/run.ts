/**
 * `cambist run POLICY`: starts the run of a policy, or finds it there and attaches; shows how it goes; says how it ended
 * or what it waits for. It decides nothing about money: leaving it changes nothing.
 */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName } from '../../domain/references.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { goOnOpen, type GoOn } from '../../operations/go-on.ts';
import { judgeOpening, openGenerations, type PayAgainRequest } from '../../operations/pay-again.ts';
import { atPlace } from '../../operations/place.ts';
import { requireEnvironment } from '../../operations/policy-file.ts';
import { idOfRun } from '../../operations/run-names.ts';
import { begin, judgeStart, movesToShow, requireStart, type AskedStart } from '../../operations/start.ts';
import { startedReport } from '../../operations/start-run.ts';
import { readPolicy, readSettings } from '../arguments.ts';
import { batchOption, refuseBatch, type BatchOption } from '../batch.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../command.ts';
import { confirmLive } from '../confirm-live.ts';
import { follow } from '../follow.ts';
import { nonEmpty, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { NO_REASON, userName } from '../terminal/user-name.ts';
import { showReport } from './report.ts';

type PayAgainOptions = {
  readonly payAgain?: string;
  readonly goOn?: string | true;
  readonly reason?: string;
  readonly by?: string;
};

type RunOptions = JsonOption &
  BatchOption &
  PayAgainOptions & {
    readonly id?: string;
    readonly detach?: true;
    readonly wait?: true;
    readonly again?: true;
    readonly yes?: true;
  };

export function addRun(command: Command, session: Session): void {
  command
    .description(
      'Runs a policy. The run is named by policy and date: started once, however often this is typed. Open: attaches. ' +
        'Terminated or timed out: starts it again, and it adopts what the service has. Ended: shows its report, sends ' +
        'nothing. Ctrl-C only leaves; the run goes on. Returns when the run ends or has been held for 15 s.',
    )
    .argument('<policy>', 'policy file')
    .option(
      '--id <id>',
      'id of the run, beginning with its date; default: today in the policy’s zone',
      nonEmpty,
    )
    .option('--detach', 'start it and return at once')
    .option('--wait', 'stay while the run is held, until it ends')
    .option(
      '--go-on [item]',
      'start an ended run again with what is not paid or traded; takes a cancel back. With an item, which stands ' +
        'behind it: its cause is gone, try it now',
      nonEmpty,
    )
    .option('--pay-again <payment>', 'pay a payment that ended unpaid once more, in an ended run', nonEmpty)
    .option('--reason <text>', 'why it is paid again, or goes on; required with --pay-again', statement)
    .option(
      '--by <name>',
      'who starts it or says so; default: the login, but required with --pay-again',
      statement,
    )
    .option('--again', 'yes, one more run of a date on which the policy has moved money already')
    .option('--yes', 'do not ask before live money moves')
    .addOption(batchOption().hideHelp())
    .action((file: string, options: RunOptions) =>
      act(session, options, (output) => run(output, file, options)),
    );
  teach(command, {
    examples: [
      'npx cambist run policies/mxn-supplier.yaml',
      'npx cambist run policies/mxn-supplier.yaml --id 2026-11-21-second',
      'npx cambist run policies/mxn-supplier.yaml --json | jq .totals',
      'npx cambist run policies/mxn-supplier.yaml --pay-again supplier --by ana \\\n      --reason "account was closed, is open again"',
    ],
    endings: [...RUN_ENDINGS, 'detached'],
  });
}

/** One use of the command: everything that its steps share. */
type Use = { readonly output: Output; readonly options: RunOptions; readonly asked: AskedStart };

async function run(output: Output, file: string, options: RunOptions): Promise<Ending> {
  const { caller } = output;
  const request = payAgainRequest(options);
  const policyFile = await readPolicy(output, file);
  refuseBatch(options, policyFile.policy);
  const settings = await readSettings(output);
  requireEnvironment(policyFile, settings);
  const { policy } = policyFile;
  const today = todayIn(policy.zone, caller.now());
  const asked = {
    settings,
    policyFile,
    run: { policy: policy.name, id: idOfRun(options.id, today) },
    today,
    isNamed: options.id !== undefined,
    goOn: goOnOf(options),
    again: options.again === true,
    now: caller.now,
  };
  return atPlace(caller, settings.mode, (place) => {
    const use: Use = { output, options, asked: { ...asked, place } };
    return request === null ? bringAbout(use) : payOnceMore(use, request);
  });
}

function goOnOf({ goOn, by = userName(), reason: why = NO_REASON }: RunOptions): GoOn | null {
  return goOn === undefined ? null : { item: goOn === true ? null : goOn, by, why };
}

/** Finds the run or starts it, and shows what comes of it. Again when somebody else was quicker. */
async function bringAbout(use: Use): Promise<Ending> {
  const { output, options, asked } = use;
  const { place, run: name, settings, now, goOn } = asked;
  for (;;) {
    const verdict = await judgeStart(asked);
    switch (verdict.kind) {
      case 'open': {
        if (goOn !== null) {
          output.remark(await goOnOpen(place, name, { goOn, settings, now }));
          sayTried(use);
        }
        output.note(`${runName(name)} is open already; attaching.`);
        return showStarted(use, verdict.facts.startedAtMs);
      }
      case 'ended': {
        const ending = showReport(output, place, verdict.view);
        const text =
          verdict.left === null
            ? `${runName(name)} is completed; there is nothing to do.`
            : `${runName(name)} has ended; nothing was sent. With --go-on this would go on: ${verdict.left.join(', ')}.`;
        output.note('', text);
        return ending;
      }
      case 'start': {
        const { facts } = verdict;
        const remarks = await requireStart(asked, facts);
        if (remarks.length > 0) output.note(...remarks);
        const shown = place.mode === 'LIVE' ? await confirm(use, () => tellMoves(use)) : null;
        const isStarted = await begin(asked, { facts, shown, startedBy: options.by ?? userName() });
        if (facts !== null) sayTried(use);
        if (isStarted) return showStarted(use, now());
      }
    }
  }
}

function sayTried({ output, asked: { run: name, goOn } }: Use): void {
  if (goOn !== null && goOn.item !== null)
    output.note(`${runName(name)} ${goOn.item}: ${goOn.by} says that its cause is gone; it is tried now.`);
}

async function tellMoves({ output, asked }: Use): Promise<readonly string[]> {
  const { moves, remark } = await movesToShow(asked);
  output.remark(remark);
  return moves;
}

/** A payment is paid once more, in a run that has ended. */
async function payOnceMore(use: Use, request: PayAgainRequest): Promise<Ending> {
  const { output, asked } = use;
  const again = { ...asked, request };
  const { opening, remark } = await judgeOpening(again);
  output.remark(remark);
  const { payment, windowUntilMs, others } = opening;
  const what = `${payment.amount ?? '?'} ${payment.currency} to ${payment.account}, as ${opening.reference}`;
  output.note(`Pays again: ${what}, until ${new Date(windowUntilMs).toISOString()}.`);
  if (others.length > 0) output.note(`The run is started again, and goes on with: ${others.join(', ')}.`);
  if (asked.place.mode === 'LIVE') await confirm(use, () => Promise.resolve([`pay AGAIN ${what}`]));
  await openGenerations(again, opening);
  return showStarted(use, asked.now());
}

/** Null when nothing is to be paid again. @throws CommandFailure with every mistake of the options */
export function payAgainRequest({ payAgain, goOn, reason, by }: PayAgainOptions): PayAgainRequest | null {
  const problems: Trouble[] = [];
  const mistake = (place: string, message: string, fix: string): void => {
    problems.push({ code: 'DECISION_INCOMPLETE', place, message, fix });
  };
  if (payAgain === undefined) {
    if (reason !== undefined && goOn === undefined)
      mistake(
        '--reason',
        'it belongs to --pay-again or --go-on, and neither is given',
        'Name the payment by --pay-again, or leave it out.',
      );
  } else {
    if (goOn !== undefined)
      mistake(
        '--pay-again, --go-on',
        'both are given',
        'Say one of the two: paying again goes on by itself.',
      );
    if (reason === undefined)
      mistake('--reason', 'it is missing', 'Say why it is paid again; the report keeps it.');
    if (by === undefined)
      mistake('--by', 'it is missing', 'Name who decides, as in --by ana; the report keeps it.');
  }
  if (problems.length > 0) throw new CommandFailure('bad input', problems);
  if (payAgain === undefined || reason === undefined || by === undefined) return null;
  return { item: payAgain, reason, by };
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

/** Follows a run that is under way; with `--detach` only says that it is. */
async function showStarted(use: Use, startedAtMs: number): Promise<Ending> {
  const { output, options, asked } = use;
  const { run: name, place, policyFile } = asked;
  const of = { output, place, run: name, policyHash: policyFile.hash, stay: options.wait === true };
  if (options.detach !== true) return follow(of, startedAtMs);
  output.document(startedReport({ mode: place.mode, run: name, policyHash: policyFile.hash }, []));
  output.say(`${runName(name)} goes on; see \`npx cambist status ${runName(name)}\`.`);
  return 'waiting';
}
