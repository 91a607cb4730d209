/**
 * Every problem that Cambist tells, whichever program finds it: its code, and the facts that the code fixes: how a command
 * ends, what the code means, and what to do. A code that is in no table does not compile. Pure.
 */
import { DECISIONS, type Code } from './service/reply-rules.ts';
import type { CommandCode } from './command-problems.ts';
import { runName, type RunName } from './references.ts';
import type { Ending, ProblemRow } from './endings.ts';
import type { FileMistake } from './file-mistakes.ts';

/**
 * The codes with which items and runs end, or for which they wait. A public surface: codes are only added, never changed.
 */
export const PROBLEMS = {
  // The plan: before anything is sent.
  PLAN_ACCOUNT_MISSING: {
    ending: 'bad input',
    sentence: 'A withdrawal account of the policy is not registered at the service.',
    advice: 'Register the account at the service, or correct `account:` in the policy.',
  },
  PLAN_ACCOUNT_CURRENCY: {
    ending: 'bad input',
    sentence: 'A withdrawal account takes another currency than its payment.',
    advice: 'Name an account that takes the payment’s currency.',
  },
  PLAN_ACCOUNT_UNUSABLE: {
    ending: 'refused by the service',
    sentence:
      'A withdrawal account is in a status to which the service pays nothing (not verified, archived).',
    advice:
      'Have the account verified at the service, then type `npx cambist replay RUN`, or reset the run; or name another account in the policy.',
  },
  PLAN_CURRENCY_NOT_WITHDRAWABLE: {
    ending: 'refused by the service',
    sentence: 'The service does not pay out the currency of a payment.',
    advice: 'Pay in another currency, or leave `withdraw` out to only convert.',
  },
  ACCOUNT_MISSING: {
    ending: 'refused by the service',
    sentence: 'The withdrawal account of a payment of a batch is not in the service’s list.',
    advice: 'Register the account at the service, then type `npx cambist replay RUN`, or reset the run.',
  },
  ACCOUNT_UNUSABLE: {
    ending: 'refused by the service',
    sentence:
      'The withdrawal account of a payment of a batch is in a status to which the service pays nothing.',
    advice: 'Have the account verified at the service, then type `npx cambist replay RUN`, or reset the run.',
  },
  ACCOUNT_CURRENCY: {
    ending: 'refused by the service',
    sentence: 'The withdrawal account of a payment of a batch takes another currency.',
    advice: 'Pay it by another batch, to an account that takes its currency.',
  },
  CURRENCY_NOT_WITHDRAWABLE: {
    ending: 'refused by the service',
    sentence: 'The service does not pay out the currency of a payment of a batch.',
    advice: 'Pay it by another batch, in another currency.',
  },
  PAID_BY_ANOTHER_BATCH: {
    ending: 'refused by us',
    sentence:
      'Another batch of the policy has paid a payment of this id within `dedupe`, or may still pay it.',
    advice:
      'See the other run’s report. If it is to be paid twice, give it another id; if the other run does not pay it in the end, use --go-on.',
  },
  PLAN_PAIR_NOT_OFFERED: {
    ending: 'refused by the service',
    sentence: 'The service does not offer the conversion.',
    advice:
      'Ask the operator of the service to offer the pair, or convert through another currency by two policies.',
  },
  PLAN_AMOUNT_OUTSIDE_PAIR: {
    ending: 'refused by the service',
    sentence: 'The sold amount is below or above what the service takes in one trade.',
    advice: 'Sell more or less in one run, or ask the operator of the service.',
  },
  PLAN_AMOUNT_DECIMALS: {
    ending: 'bad input',
    sentence: 'An amount has more decimals than its currency.',
    advice:
      'Write the amount with fewer decimals, or set `decimals` in the service file if the service takes more.',
  },
  PLAN_ENVIRONMENT: {
    ending: 'configuration',
    sentence: 'The policy is for the other environment.',
    advice:
      'Run it with a worker of that environment (CAMBIST_APP_MODE), or change `environment:` in the policy on purpose.',
  },
  PLAN_REFERENCE_MISSING: {
    ending: 'refused by us',
    sentence: 'The reference rates do not connect the two currencies.',
    advice: 'Add a rate to the reference file.',
  },
  PLAN_REFERENCE_TOO_OLD: {
    ending: 'refused by us',
    sentence: 'The reference rates are older than `max_age`.',
    advice: 'Bring the file up to date, then run again.',
  },
  PLAN_REFERENCE_FROM_THE_FUTURE: {
    ending: 'refused by us',
    sentence: 'The time of the reference rates is in the future.',
    advice: 'Correct `as_of` to the moment at which the rates were fixed, then run again.',
  },
  PLAN_OVER_LIMIT: {
    ending: 'refused by us',
    sentence: 'An amount, or the sum of the run, is above a limit of the policy.',
    advice: 'Lower the amount, or raise the limit on purpose.',
  },
  PLAN_DESTINATION_UNKNOWN: {
    ending: 'refused by us',
    sentence:
      'A payment of a batch goes to an account that is not among the destinations of its policy, or is in another currency.',
    advice:
      'Correct the payment. Or have the account added to the file of destinations, where the command is typed and in the folder of each worker (CAMBIST_FILES).',
  },
  DESTINATIONS_UNREADABLE: {
    ending: 'configuration',
    sentence: 'A worker has a folder of files, and cannot read the destinations of the policy in it.',
    advice:
      'Put the file there under the name that the policy gives it (CAMBIST_FILES of the worker); the run then goes on by itself.',
  },
  PLAN_WINDOW_PASSED: {
    ending: 'refused by us',
    sentence: 'The run’s date is over.',
    advice: 'Start a run with today’s date as its id.',
  },
  PLAN_NOT_AS_SHOWN: {
    ending: 'refused by us',
    sentence: 'In live: the plan is not what a person was shown and said yes to.',
    advice: 'Start it again with --go-on: it shows this plan, and asks.',
  },
  PLAN_REFUSED: {
    ending: 'refused by us',
    sentence: 'No plan can be made; nothing was sent.',
    advice: 'See the problems beside it.',
  },
  PLAN_FAILED: {
    ending: 'needs a human',
    sentence: 'The plan could not be made; nothing was sent.',
    advice: 'See the run’s `/plan` workflow in the Temporal UI; nothing was sent.',
  },
  POLICY_CHANGED: {
    ending: 'refused by us',
    sentence: 'The run was planned with another policy (comments and white space aside).',
    advice: 'Start it with the policy that the plan was made from. Another --id would pay everything again.',
  },
  BATCH_CHANGED: {
    ending: 'refused by us',
    sentence: 'The run was planned with other payments.',
    advice:
      'Submit the file that the run was started with. What is new in it needs an id of its own, in a batch of its own.',
  },
  BATCH_STOPPED: {
    ending: 'refused by us',
    sentence: 'The batch was stopped by a rule of its policy (`stop_after`, `canary`).',
    advice: 'See why payments were refused, mend it, then type `npx cambist replay RUN`, or reset the run.',
  },
  CHUNK_MISSING: {
    ending: 'needs a human',
    sentence: 'A part of the batch is not in Temporal: its submission is not complete, or it was deleted.',
    advice: 'Type the same `npx cambist run` with the same file and --id: it submits what is missing.',
  },
  CHUNK_DIFFERS: {
    ending: 'refused by us',
    sentence: 'A chunk of the batch holds other payments than the plan says; nothing of it is sent.',
    advice:
      'A person has put it there by hand: delete that workflow in Temporal, then submit the same file again.',
  },
  CHUNK_WAITS: {
    ending: 'waiting',
    sentence: 'The run that this chunk belongs to has not given it its go.',
    advice: 'Nothing to do while the run is open. If there is no run, submit the batch again.',
  },
  POLICY_NAME_DIFFERS: {
    ending: 'bad input',
    sentence: 'The policy has another name than the run.',
    advice: 'Start the run by `npx cambist run` with the policy’s own name.',
  },
  RUN_ID_WITHOUT_DATE: {
    ending: 'bad input',
    sentence: 'The id of the run does not begin with a date.',
    advice: 'Use an id such as 2026-11-21 or 2026-11-21-weekly.',
  },
  // What Temporal carries is not what Cambist put there.
  INPUT_INVALID: {
    ending: 'bad input',
    sentence: 'The run was started with an input that Cambist does not make.',
    advice: 'Start the run by `npx cambist run`; nothing was sent.',
  },
  INSTRUCTION_INVALID: {
    ending: 'bad input',
    sentence: 'A person wanted to record something about the run that is no instruction of Cambist.',
    advice: 'Use a command of Cambist.',
  },
  WORKFLOW_ID_DIFFERS: {
    ending: 'refused by us',
    sentence: 'A workflow was started under another id than its input makes.',
    advice: 'Start runs by `npx cambist run`.',
  },
  CARRIED_STATE_REFUSED: {
    ending: 'refused by us',
    sentence: 'A workflow was started with a state that only Temporal may hand on.',
    advice: 'Start runs by `npx cambist run`.',
  },
  PLAN_CONTRADICTS_POLICY: {
    ending: 'needs a human',
    sentence: 'The plan in Temporal contradicts the policy that it was made from.',
    advice:
      'Find out who changed the plan in Temporal. Nothing was sent; start another run with --id once that is known.',
  },
  PLAN_UNREADABLE: {
    ending: 'needs a human',
    sentence: 'This version of Cambist cannot read the plan that is in Temporal.',
    advice: 'Let a worker of the version that made the plan carry it out. Nothing was sent.',
  },
  INSTEAD_WAITS: {
    ending: 'waiting',
    sentence:
      'A run that takes the place of another one is planned once nothing of that one can be under way any more.',
    advice: 'Nothing to do: it goes on by itself after the safety wait.',
  },
  INSTEAD_FOUND: {
    ending: 'needs a human',
    sentence:
      'Something of the run whose place this one takes was executed, or may have been; nothing was sent.',
    advice:
      'Look at what was found at the service. For what is still to be done, start a new run under another --id, without --instead-of.',
  },
  INSTEAD_REFUSED: {
    ending: 'refused by us',
    sentence: 'The run cannot take the place of the other one; nothing was sent.',
    advice:
      'Type `npx cambist run POLICY --id NEW --instead-of OLD` once more: it says what stands in the way.',
  },
  // Rules of ours.
  CANCELLED: {
    ending: 'refused by us',
    sentence: 'The run was cancelled before it was sent.',
    advice: 'Start the run with --go-on to carry it out after all.',
  },
  WINDOW_PASSED: {
    ending: 'refused by us',
    sentence: 'It is too late to send it.',
    advice: 'Do it in a new run.',
  },
  NOT_YET_OPEN: {
    ending: 'waiting',
    sentence: 'The run’s date has not begun in its zone.',
    advice: 'Nothing to do: it goes on then.',
  },
  SHORTFALL: {
    ending: 'refused by us',
    sentence: 'The money that the leg sells is not there.',
    advice:
      'Bring it in; with `shortfall: hold` the run goes on by itself, else type `npx cambist replay RUN`.',
  },
  OVER_LIMIT: {
    ending: 'refused by us',
    sentence: 'A quote, or a payment whose amount was not known before, is above a limit of the policy.',
    advice: 'Lower the amount, or raise the limit on purpose.',
  },
  OUTSIDE_GUARD: {
    ending: 'refused by us',
    sentence: 'The quote’s price is worse than the guard allows.',
    advice:
      'Wait for a better price, then type `npx cambist replay RUN`. Or widen the guard on purpose: while nothing of the run is done, `npx cambist run POLICY --id NEW --instead-of OLD`.',
  },
  GUARD_UNUSUAL: {
    ending: 'refused by us',
    sentence: 'The guard lies ten times and more below the price, and would take any price.',
    advice:
      'Correct the rate of the guard; while nothing of the run is done, `npx cambist run POLICY --id NEW --instead-of OLD`. If it is meant so, write why into the policy: `guard: { unusual: REASON }`.',
  },
  REFERENCE_TOO_OLD: {
    ending: 'refused by us',
    sentence: 'The reference rates of the plan have become too old.',
    advice: 'Bring the reference file up to date and start a new run.',
  },
  QUOTE_DIFFERS: {
    ending: 'refused by us',
    sentence: 'The quote is not what was asked for.',
    advice: 'Ask the operator of the service; nothing was traded.',
  },
  QUOTES_USED_UP: {
    ending: 'refused by us',
    sentence: '`max_quotes` quotes came and none could be traded.',
    advice: 'See the evidence of the report; type `npx cambist replay RUN`, or raise `quote.max_quotes`.',
  },
  NOTHING_TO_PAY: {
    ending: 'refused by us',
    sentence: 'The amount of a payment comes to nothing.',
    advice: 'Convert more, so that something is left after rounding.',
  },
  LEG_NOT_TRADED: {
    ending: 'refused by us',
    sentence: 'A payment or a purchase depends on a leg that was not traded, or that had nothing to sell.',
    advice: 'See the leg.',
  },
  BALANCES_CHANGED: {
    ending: 'refused by us',
    sentence: 'The leg was computed from earlier balances. By those of now the policy asks for less.',
    advice: 'Nothing to do if that is right; a new run under another id computes from what is there now.',
  },
  TARGET_NOT_REACHED: {
    ending: 'refused by us',
    sentence:
      'A rebalancing has left a currency that may be outside its target, for a reason that is not the policy’s own: the service offers no trade, the rates do not value it, or it is not known what is still on its way.',
    advice:
      'Mend the cause that the sentence names; then a new run under another id computes from what is there.',
  },
  TURN_OF_ANOTHER: {
    ending: 'waiting',
    sentence: 'Another run of the organisation trades now; runs take turns.',
    advice: 'Nothing to do: it goes on by itself, at the latest two minutes after that run has stopped.',
  },
  LISTS_MAY_LAG: {
    ending: 'waiting',
    sentence: 'Another run has just traded, which the lists of the service may not show yet.',
    advice: 'Nothing to do: it plans once `list_lag` of the service file has passed.',
  },
  RESERVATION_UNKNOWN: {
    ending: 'waiting',
    sentence: 'It is not known yet how much of the currency another run will still take.',
    advice: 'Nothing to do here: it goes on once that run is settled; its report says what it waits for.',
  },
  TURN_SILENT: {
    ending: 'infrastructure',
    sentence: 'The workflow that says whose turn it is to trade does not answer.',
    advice:
      'Have a worker run on the task queue of the workflow `<mode>/<organisation>/turn`, or terminate that workflow; the run then goes on by itself.',
  },
  AFTER_SALES: {
    ending: 'waiting',
    sentence: 'A purchase waits for the sale that brings its money.',
    advice: 'Nothing to do: it goes on once that sale is traded or has ended.',
  },
  AFTER_WORSE_TRADE: {
    ending: 'needs a human',
    sentence: 'Another trade of the run came out worse than planned, so that no more is traded.',
    advice: 'Accept that trade by its id, or cancel the run; see `npx cambist resolve --help`.',
  },
  DONE_ELSEWHERE: {
    ending: 'refused by us',
    sentence: 'Another run of the policy and date has done the item, or may still do it.',
    advice: 'See that run. If it is to be done twice, use a new run with other names.',
  },
  DECIDED_NOT_EXECUTED: {
    ending: 'refused by us',
    sentence: 'A person decided that it was not executed.',
    advice: 'Pay it again with --pay-again, or trade it in a new run, if it is still wanted.',
  },
  // The service said no after it had said yes.
  SETTLEMENT_FAILED: {
    ending: 'refused by the service',
    sentence: 'The service says that the trade will never settle.',
    advice: 'Ask the operator of the service; no payment of its money was sent.',
  },
  WITHDRAWAL_FAILED: {
    ending: 'refused by the service',
    sentence: 'The service accepted the withdrawal and then failed or returned it.',
    advice:
      'Find out why at the service; it is never paid again by itself. If it is still owed, `run` the same with --pay-again.',
  },
  // A person.
  RECORD_DIFFERS: {
    ending: 'needs a human',
    sentence: 'A record under our reference contradicts the plan.',
    advice: 'A person compares the record with the plan; nothing is sent for this item.',
  },
  RECORD_COULD_BE_IT: {
    ending: 'needs a human',
    sentence: 'A record without a tag agrees in currency, amount and account: it could be this payment.',
    advice:
      'A person decides: name the record if it is this one, say that it is another one (`--not-this`), or that it was not executed.',
  },
  LOOKS_PAID: {
    ending: 'needs a human',
    sentence:
      'A withdrawal pays what a payment of a batch would pay, to the same account, and no run of ours accounts for it.',
    advice:
      'Approve it with `npx cambist run … --go-on look-alikes` to pay it as well, or use `npx cambist resolve`.',
  },
  RECORD_TAKEN: {
    ending: 'needs a human',
    sentence:
      'The service says that a record is this payment, but a person has named it for another payment.',
    advice: 'A person finds out which of the two was made, then says so with `npx cambist resolve`.',
  },
  AMOUNT_FORGOTTEN: {
    ending: 'needs a human',
    sentence: 'The amount came from a balance that has changed since, and its trade is not found.',
    advice: 'A person decides: the amount is not computed a second time.',
  },
  DECISION_UNPROVEN: {
    ending: 'needs a human',
    sentence: 'A person named a record that the service does not show.',
    advice: 'Name the right record, or decide again.',
  },
  INSTRUCTIONS_MISSING: {
    ending: 'needs a human',
    sentence: 'What people said about the run is not in Temporal any more.',
    advice:
      'Look at the service for what was paid. Then say again what holds: `npx cambist cancel`, `npx cambist resolve`, or `npx cambist run … --go-on` when nothing was said.',
  },
  PLAN_PAUSED: {
    ending: 'needs a human',
    sentence: 'A person has paused in Temporal what makes the plan of the run; nothing is sent without one.',
    advice:
      'Press _Unpause_ at the workflow `<run>/plan` in the Temporal UI; the run then goes on by itself.',
  },
  INSTRUCTIONS_PAUSED: {
    ending: 'needs a human',
    sentence: 'A person has paused in Temporal what keeps the instructions of people about the run.',
    advice:
      'Press _Unpause_ at the workflow `<run>/instructions` in the Temporal UI; the run then goes on by itself.',
  },
  EXECUTED_OUTSIDE_GUARD: {
    ending: 'needs a human',
    sentence: 'The trade gave less than its quote and than the guard allows; its payments wait.',
    advice:
      'Ask the operator of the service why it differs from its quote; a person may accept it by its id.',
  },
  EXECUTED_BELOW_QUOTE: {
    ending: 'needs a human',
    sentence: 'The trade gave less than its quote, though its guard allows it; its payments wait.',
    advice:
      'Ask the operator of the service why it differs from its quote; a person may accept it by its id.',
  },
  EXECUTED_OVER_LIMIT: {
    ending: 'needs a human',
    sentence: 'The trade moved more than a limit allows; its payments wait.',
    advice:
      'Ask the operator of the service why it differs from its quote; a person may accept it by its id.',
  },
  BROKEN_INVARIANT: {
    ending: 'needs a human',
    sentence: 'A fault of this program stopped the run.',
    advice: 'Report it; a reset is safe.',
  },
  RUN_FAILED: {
    ending: 'needs a human',
    sentence: 'The run failed in Temporal without a report.',
    advice: 'See the run in the Temporal UI.',
  },
  ENDED_FROM_OUTSIDE: {
    ending: 'needs a human',
    sentence: 'The run was terminated or timed out in Temporal before it was finished.',
    advice:
      'Type `npx cambist replay RUN`, or start it again with the same policy and --id: it looks at the service and adopts what it finds.',
  },
  // What a refreshed report finds.
  RECORD_APPEARED: {
    ending: 'needs a human',
    sentence: 'The service shows a record that the report does not have (`report --refresh`).',
    advice: 'A record stands above the report: start the run with --go-on, and it adopts it.',
  },
  RECORD_NOT_SHOWN: {
    ending: 'needs a human',
    sentence: 'The service does not show a record that the report names (`report --refresh`).',
    advice: 'That proves nothing: look again later, then ask the operator of the service.',
  },
  STATUS_DIFFERS: {
    ending: 'needs a human',
    sentence: 'The service now says something else of a record than the report (`report --refresh`).',
    advice: 'Do not pay it again. Start the run with --go-on: it takes the service’s word.',
  },
  // The kill switch.
  HALTED: {
    ending: 'needs a human',
    sentence: 'A person has halted it: nothing is sent, reads go on.',
    advice: 'When it may go on: `npx cambist resume`; the run then goes on by itself.',
  },
  HALT_UNREADABLE: {
    ending: 'infrastructure',
    sentence: 'The worker cannot read from Temporal whether a person has halted it, so it sends nothing.',
    advice: 'Nothing to do once Temporal answers the worker within a second: it goes on by itself.',
  },
  // Configuration.
  MODE_DIFFERS: {
    ending: 'configuration',
    sentence: 'A worker of the other mode serves the run’s task queue.',
    advice:
      'Give workers of each mode a task queue of their own (CAMBIST_TASK_QUEUE); the run goes on by itself.',
  },
  CREDENTIALS_DIFFER: {
    ending: 'configuration',
    sentence: 'The worker has another organisation or mode than the plan.',
    advice: 'Start a worker with the key files and mode of the plan; the run then goes on by itself.',
  },
  API_KEY_CHANGED: {
    ending: 'configuration',
    sentence: 'The worker has another API key, and the item may have been sent under the old one.',
    advice:
      'Nothing to do when the lists show tags: it looks until they have settled it, and goes on under the new key.',
  },
  CLOCK_SKEW: {
    ending: 'configuration',
    sentence: 'This machine’s clock and the service’s are too far apart.',
    advice: 'Set the clock (NTP); the run goes on by itself.',
  },
  STATUS_UNKNOWN: {
    ending: 'configuration',
    sentence: 'The service gives a trade or a withdrawal a status that is in no list of the service file.',
    advice:
      'Write it into one of the lists of the service file (CAMBIST_SERVICE_FILE) and start the workers again; the run then goes on by itself.',
  },
  READ_KEY_FOREIGN: {
    ending: 'configuration',
    sentence: 'The read key is of another organisation.',
    advice: 'Use a read key of the same organisation, or none.',
  },
  // Goes on by itself.
  PLANNING: {
    ending: 'waiting',
    sentence: 'The plan is being made.',
    advice: 'Nothing to do. If it stays, see that a worker of this mode serves the task queue of the run.',
  },
  IN_DOUBT: {
    ending: 'waiting',
    sentence: 'Whether it was executed is not known yet.',
    advice:
      'Nothing to do: it looks again by itself, and goes on when the service’s records have settled it.',
  },
  DECISION_PENDING: {
    ending: 'waiting',
    sentence: 'A person said "not executed"; it counts once no earlier send can appear any more.',
    advice: 'Nothing to do: it looks once more, in two to three minutes, and then goes by the decision.',
  },
  NEWLY_SAID: {
    ending: 'waiting',
    sentence: 'People have said something new about the run in this moment.',
    advice: 'Nothing to do: it goes on with that in a second.',
  },
  INSTRUCTIONS_AWAY: {
    ending: 'waiting',
    sentence:
      'Temporal could not record that a payment goes on, under its next reference or although the plan had ended it.',
    advice: 'Nothing to do: it tries again by itself, and sends nothing before.',
  },
  LOOKUP_INCOMPLETE: {
    ending: 'waiting',
    sentence: 'The service’s lists could not be read whole.',
    advice: 'Nothing to do: it looks again by itself, and sends nothing before it has seen everything.',
  },
  AWAITING_SETTLEMENT: {
    ending: 'waiting',
    sentence: 'The trade has not settled yet.',
    advice: 'Nothing to do: it looks again by itself.',
  },
  SETTLEMENT_LATE: {
    ending: 'waiting',
    sentence: 'The trade has not settled within `late_after`.',
    advice: 'Ask the operator of the service; it goes on waiting.',
  },
  WITHDRAWAL_LATE: {
    ending: 'waiting',
    sentence: 'A payment was accepted and has no terminal status after `late_after` of the service file.',
    advice: 'Ask the operator of the service; it looks again by itself and is never paid again meanwhile.',
  },
  OTHER_RUNS_LOST: {
    ending: 'needs a human',
    sentence:
      'The service has records of other runs of the policy that Temporal does not know: it was likely restored from an older backup, or another namespace uses the same key.',
    advice:
      'Start those runs again under their ids, then this one goes on by itself; or let it go by the command that it shows.',
  },
  OTHER_RUN_SILENT: {
    ending: 'infrastructure',
    sentence:
      'Another run of the policy and date, which may have done the item, does not answer, or has ended without reading its plan again.',
    advice:
      'See that a worker serves that run, or start it again with --go-on where it has ended; it asks again by itself, and sends nothing before.',
  },
  ACTIVITY_FAILED: {
    ending: 'infrastructure',
    sentence: 'A worker failed at the same step again and again.',
    advice:
      'See that disk, memory, network and Temporal of the worker are well; it tries again by itself. If it stays, report it with this line.',
  },
  NOT_SENT: {
    ending: 'waiting',
    sentence: 'The service cannot be reached.',
    advice: 'Nothing to do, or mend the network: it tries again by itself.',
  },
  NO_ANSWER: {
    ending: 'waiting',
    sentence: 'No usable answer came.',
    advice: 'Nothing to do: it looks, and sends again by itself under the same key.',
  },
} as const satisfies Readonly<Record<string, ProblemRow>>;

/**
 * The kinds of files, which are the first part of the codes of their mistakes, and how a command that reads such a file
 * ends.
 */
export const FILES_AT_FAULT = {
  POLICY: 'bad input',
  RATES: 'bad input',
  BATCH: 'bad input',
  DESTINATIONS: 'bad input',
  SERVICE_FILE: 'configuration',
} as const satisfies Readonly<Record<string, Ending>>;

export type FileAtFault = keyof typeof FILES_AT_FAULT;

/** The code of a mistake in a user's file: `POLICY_UNKNOWN_FIELD`. */
export type FileCode = `${FileAtFault}_${FileMistake}`;

/** A code of ours that an item or a run can have. */
export type RunCode = keyof typeof PROBLEMS;

/** A code of the service, whether its catalogue has the code or not. */
type ServiceCode = Code | (string & { readonly of: 'the service' });

/** Every code that a problem can have. */
export type ProblemCode = RunCode | CommandCode | FileCode | ServiceCode;

/** A problem in words: what, where, and what to do. */
export type Problem = {
  readonly code: ProblemCode;
  /** The leg or payment; null: the run as a whole. */
  readonly item: string | null;
  readonly message: string;
  readonly fix: string;
};

/** A problem of ours. The sentence and the advice that its code fixes need not be given. */
export function makeProblem(
  code: RunCode,
  item: string | null,
  more: { readonly message?: string; readonly fix?: string } = {},
): Problem {
  const { sentence, advice } = PROBLEMS[code];
  return { code, item, message: more.message ?? sentence, fix: more.fix ?? advice };
}

/** The advice of a problem of this run: the commands in it have the names of the run and of the item, and can be typed. */
export function forRun(problem: Problem, run: RunName): Problem {
  return { ...problem, fix: withNames(problem.fix, run, problem.item) };
}

/** @param item absent or null: not known, so that the advice says ITEM */
export function withNames(advice: string, run: RunName, item: string | null = null): string {
  return advice.replaceAll(/`npx cambist [^`]*`/g, (command) =>
    command
      .replaceAll(/\bRUN\b/g, runName(run))
      .replaceAll(/\bOLD\b/g, run.id)
      .replaceAll(/\bITEM\b/g, item ?? 'ITEM'),
  );
}

/**
 * A code as the service gave it. When it reads like a code of ours, it is marked, so that no person or program takes it for
 * one.
 */
export function serviceCode(code: string): ServiceCode {
  if (Object.hasOwn(DECISIONS, code)) return code as Code;
  const isOurs = isRunCode(code) || Object.keys(FILES_AT_FAULT).some((file) => code.startsWith(`${file}_`));
  return (isOurs ? `SERVICE_${code}` : code) as ServiceCode;
}

/** Whether the text is a code of ours that items and runs can have. A text that comes from Temporal may be anything. */
export function isRunCode(text: string | null | undefined): text is RunCode {
  return typeof text === 'string' && Object.hasOwn(PROBLEMS, text);
}
