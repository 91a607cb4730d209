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
    sentence: 'The service does not know a withdrawal account of the policy.',
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
      'The service pays nothing to a withdrawal account of the policy, because of the status of the account (not verified, archived).',
    advice:
      'Have the account verified at the service, then type `npx cambist replay RUN`, or reset the run. Or name another account in the policy.',
  },
  PLAN_CURRENCY_NOT_WITHDRAWABLE: {
    ending: 'refused by the service',
    sentence: 'The service does not pay out the currency of a payment.',
    advice: 'Pay in another currency, or leave `withdraw` out to only convert.',
  },
  ACCOUNT_MISSING: {
    ending: 'refused by the service',
    sentence: 'The service does not know the withdrawal account of a payment.',
    advice: 'Register the account at the service, then type `npx cambist replay RUN`, or reset the run.',
  },
  ACCOUNT_UNUSABLE: {
    ending: 'refused by the service',
    sentence:
      'The service pays nothing to the withdrawal account of a payment, because of the status of the account (not verified, archived).',
    advice: 'Have the account verified at the service, then type `npx cambist replay RUN`, or reset the run.',
  },
  ACCOUNT_CURRENCY: {
    ending: 'refused by the service',
    sentence: 'The withdrawal account of a payment takes another currency.',
    advice: 'Pay it in another batch, to an account that takes its currency.',
  },
  CURRENCY_NOT_WITHDRAWABLE: {
    ending: 'refused by the service',
    sentence: 'The service does not pay out the currency of a payment.',
    advice: 'Pay it in another batch, in another currency.',
  },
  PAID_BY_ANOTHER_BATCH: {
    ending: 'refused by us',
    sentence:
      'Another batch of the policy has paid a payment with this id in the last days (`dedupe`), or may still pay it.',
    advice:
      'See the report of the other run. If both are to be paid, give this payment another id. If the other run does not pay it in the end, start this run again with --go-on.',
  },
  PLAN_PAIR_NOT_OFFERED: {
    ending: 'refused by the service',
    sentence: 'The service does not convert between the two currencies.',
    advice:
      'Ask the operator of the service to offer the pair, or convert through another currency by two policies.',
  },
  PLAN_AMOUNT_OUTSIDE_PAIR: {
    ending: 'refused by the service',
    sentence: 'The service does not take the sold amount in one trade: it is too small or too large.',
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
    sentence: 'The policy is for sandbox and the worker is for live, or the other way round.',
    advice:
      'Run it with a worker of that environment (CAMBIST_APP_MODE), or change `environment:` in the policy if you mean it.',
  },
  PLAN_REFERENCE_MISSING: {
    ending: 'refused by us',
    sentence: 'The reference rates have no rate between the two currencies.',
    advice: 'Add a rate to the reference file.',
  },
  PLAN_REFERENCE_TOO_OLD: {
    ending: 'refused by us',
    sentence: 'The reference rates are older than `max_age`.',
    advice: 'Bring the file up to date.',
  },
  PLAN_REFERENCE_FROM_THE_FUTURE: {
    ending: 'refused by us',
    sentence: 'The time of the reference rates is in the future.',
    advice: 'Correct `as_of` to the moment at which the rates were fixed.',
  },
  PLAN_OVER_LIMIT: {
    ending: 'refused by us',
    sentence: 'An amount, or the sum of the run, is above a limit of the policy.',
    advice: 'Lower the amount, or raise the limit if you mean it.',
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
    sentence: 'A worker cannot read the file of destinations of the policy in its folder of files.',
    advice:
      'Put the file there under the name that the policy gives it (CAMBIST_FILES of the worker); the run then goes on by itself.',
  },
  PLAN_WINDOW_PASSED: {
    ending: 'refused by us',
    sentence: 'The date of the run is over, and a run trades only on its own date.',
    advice: 'Start a run with today’s date as its id.',
  },
  PLAN_NOT_AS_SHOWN: {
    ending: 'refused by us',
    sentence: 'In live: the plan is not the one that a person has seen and said yes to. Nothing was sent.',
    advice: 'Start it again with --go-on: it shows this plan, and asks.',
  },
  PLAN_REFUSED: {
    ending: 'refused by us',
    sentence: 'Not started: no plan could be made. Nothing was sent.',
    advice:
      'Mend the problems that the run names: they say why. Where you change the policy or a file that it names, start the run again with --go-on: a reset plans by the old text. A corrected file of payments needs another --id.',
  },
  PLAN_FAILED: {
    ending: 'needs a human',
    sentence: 'Not started: the workflow that makes the plan has failed. Nothing was sent.',
    advice: 'See why it failed: it is the workflow `<run>/plan` in the Temporal UI.',
  },
  POLICY_CHANGED: {
    ending: 'refused by us',
    sentence: 'The policy is not the one from which the run was planned (comments and blanks do not count).',
    advice: 'Start it with the policy that the plan was made from. Another --id would pay everything again.',
  },
  BATCH_CHANGED: {
    ending: 'refused by us',
    sentence: 'The run was planned with other payments.',
    advice:
      'Use the file with which the run was started. Put new payments into a file of their own, with an --id of its own.',
  },
  BATCH_STOPPED: {
    ending: 'refused by us',
    sentence: 'A rule of the policy has stopped the batch (`stop_after`, `canary`).',
    advice:
      'See why payments were refused, and mend it. Then type `npx cambist replay RUN`, or reset the run.',
  },
  CHUNK_MISSING: {
    ending: 'needs a human',
    sentence: 'A part of the batch is not in Temporal: it was not submitted, or it was deleted.',
    advice: 'Type the same `npx cambist run` with the same file and --id: it submits what is missing.',
  },
  CHUNK_DIFFERS: {
    ending: 'refused by us',
    sentence: 'A part of the batch (a chunk) has other payments than the plan. Nothing of this part is sent.',
    advice:
      'A person has started this part by hand. Delete its workflow in Temporal, then submit the same file again.',
  },
  CHUNK_WAITS: {
    ending: 'waiting',
    sentence: 'A part of the batch (a chunk) waits until its run lets it pay.',
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
    sentence: 'The run was started with an input that Cambist cannot use. Nothing was sent.',
    advice: 'Start the run by `npx cambist run`.',
  },
  INSTRUCTION_INVALID: {
    ending: 'bad input',
    sentence: 'The run was told something that Cambist does not know. It is not kept.',
    advice: 'Use a command of Cambist, such as `npx cambist cancel`.',
  },
  WORKFLOW_ID_DIFFERS: {
    ending: 'refused by us',
    sentence: 'A workflow in Temporal has another id than its input says. Nothing was sent.',
    advice: 'Start runs by `npx cambist run`.',
  },
  CARRIED_STATE_REFUSED: {
    ending: 'refused by us',
    sentence:
      'Somebody has started a workflow with a saved state, which only Temporal may hand over. Nothing was sent.',
    advice: 'Start runs by `npx cambist run`.',
  },
  PLAN_CONTRADICTS_POLICY: {
    ending: 'needs a human',
    sentence: 'The plan in Temporal contradicts the policy that it was made from.',
    advice:
      'Find out who changed the plan in Temporal. Nothing was sent. Start another run with --id once you know.',
  },
  PLAN_UNREADABLE: {
    ending: 'needs a human',
    sentence: 'This version of Cambist cannot read the plan that is in Temporal.',
    advice: 'Let a worker of the version that made the plan carry it out. Nothing was sent.',
  },
  INSTEAD_WAITS: {
    ending: 'waiting',
    sentence:
      'This run takes the place of another one. Its plan is made once it is sure that nothing of the other one is still under way.',
    advice: 'Nothing to do: the run goes on by itself after the safety wait.',
  },
  INSTEAD_FOUND: {
    ending: 'needs a human',
    sentence:
      'This run was to take the place of another one, but something of the other one was executed, or may have been. Nothing was sent.',
    advice:
      'Look at what was found at the service. For what is still to be done, start a new run under another --id, without --instead-of.',
  },
  INSTEAD_REFUSED: {
    ending: 'refused by us',
    sentence: 'This run cannot take the place of the other one. Nothing was sent.',
    advice:
      'Type `npx cambist run POLICY --id NEW --instead-of OLD` once more: it says what stands in the way.',
  },
  // Rules of ours.
  CANCELLED: {
    ending: 'refused by us',
    sentence: 'The run was cancelled before this was sent.',
    advice: 'If it is to be done after all, start the run with --go-on.',
  },
  WINDOW_PASSED: {
    ending: 'refused by us',
    sentence: 'It is too late to send this: its send window is over.',
    advice: 'Do it in a new run.',
  },
  NOT_YET_OPEN: {
    ending: 'waiting',
    sentence: 'The date of the run has not begun yet in the zone of the policy.',
    advice: 'Nothing to do: the run goes on when its date begins.',
  },
  SHORTFALL: {
    ending: 'refused by us',
    sentence: 'The balance does not cover what the leg sells.',
    advice:
      'Bring the money in. With `shortfall: hold` the run then goes on by itself; else type `npx cambist replay RUN`.',
  },
  OVER_LIMIT: {
    ending: 'refused by us',
    sentence:
      'A quote is above a limit of the policy, or a payment of which the amount was not known before.',
    advice:
      'Lower the amount, or raise the limit if you mean it, and start a new run: this one keeps the limits of its plan.',
  },
  OUTSIDE_GUARD: {
    ending: 'refused by us',
    sentence: 'The price of the quote is worse than the guard allows. The quote was not traded.',
    advice:
      'Wait for a better price, then type `npx cambist replay RUN`. Or allow a worse price in the policy, and start a new run. While nothing of this run is done, the new one takes its place: `npx cambist run POLICY --id NEW --instead-of OLD`.',
  },
  GUARD_UNUSUAL: {
    ending: 'refused by us',
    sentence:
      'The guard would allow a price that is ten times worse than the price now. Most likely its rate is wrong. Nothing was traded.',
    advice:
      'Correct the rate of the guard, and start a new run. While nothing of this run is done, the new one takes its place: `npx cambist run POLICY --id NEW --instead-of OLD`. If the rate is meant so, write why into the policy: `guard: { unusual: REASON }`.',
  },
  REFERENCE_TOO_OLD: {
    ending: 'refused by us',
    sentence: 'The reference rates of the plan are older than `max_age` allows by now.',
    advice: 'Bring the reference file up to date and start a new run.',
  },
  QUOTE_DIFFERS: {
    ending: 'refused by us',
    sentence: 'The service gave another quote than the run had asked for. Nothing was traded.',
    advice: 'Ask the operator of the service.',
  },
  QUOTES_USED_UP: {
    ending: 'refused by us',
    sentence: 'The run has asked for as many quotes as `max_quotes` allows, and could trade none of them.',
    advice:
      'The evidence in the report says why no quote was traded. Then type `npx cambist replay RUN`, or raise `quote.max_quotes` for a new run.',
  },
  NOTHING_TO_PAY: {
    ending: 'refused by us',
    sentence: 'The amount of a payment is zero after rounding.',
    advice: 'Convert more in a new run, so that something is left after rounding.',
  },
  LEG_NOT_TRADED: {
    ending: 'refused by us',
    sentence:
      'A payment or a purchase needs the money of a leg, and that leg was not traded or had nothing to sell.',
    advice: 'See in the report why that leg was not traded, and what to do.',
  },
  BALANCES_CHANGED: {
    ending: 'refused by us',
    sentence:
      'The amount of the leg came from earlier balances. With the balances now, the policy asks for less.',
    advice:
      'Nothing to do if that is right. A new run under another id computes from the balances at that time.',
  },
  TARGET_NOT_REACHED: {
    ending: 'refused by us',
    sentence:
      'After the rebalancing a currency may still be outside its target, and the policy is not the reason: the service offers no trade, there is no rate for the currency, or it is not known how much is still on its way.',
    advice:
      'Mend the cause that the message names. Then a new run under another id computes from the balances at that time.',
  },
  TURN_OF_ANOTHER: {
    ending: 'waiting',
    sentence: 'Another run of the organisation trades now; runs take turns.',
    advice:
      'Nothing to do: the run goes on by itself, at the latest two minutes after the other run has stopped.',
  },
  LISTS_MAY_LAG: {
    ending: 'waiting',
    sentence: 'Another run has just traded, and the lists of the service may not show that yet.',
    advice: 'Nothing to do: the run is planned once `list_lag` of the service file has passed.',
  },
  RESERVATION_UNKNOWN: {
    ending: 'waiting',
    sentence: 'Another run will still take some of this currency, and it is not known yet how much.',
    advice:
      'Nothing to do here: this run goes on once the other one is settled. The report of the other one says what it waits for.',
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
    advice: 'Nothing to do: the run goes on once that sale has brought it, or has ended.',
  },
  COMPLETED_BESIDE: {
    ending: 'waiting',
    sentence: 'A person has completed a call in its place, whose worker may still have sent something.',
    advice: 'Nothing to do: it looks at the service once more, in two to three minutes, before it ends.',
  },
  AFTER_WORSE_TRADE: {
    ending: 'needs a human',
    sentence:
      'Another trade of the run came out worse than planned. Nothing more is traded before a person has looked at it.',
    advice: 'Accept that trade by its id, or cancel the run; see `npx cambist resolve --help`.',
  },
  DONE_ELSEWHERE: {
    ending: 'refused by us',
    sentence: 'Another run of the same policy and date has done this already, or may still do it.',
    advice: 'See that run. If it is to be done twice, start a new run whose items have other names.',
  },
  DECIDED_NOT_EXECUTED: {
    ending: 'refused by us',
    sentence: 'A person has said that this was not executed.',
    advice: 'If it is still wanted, pay it again with --pay-again, or trade it in a new run.',
  },
  // The service said no after it had said yes.
  SETTLEMENT_FAILED: {
    ending: 'refused by the service',
    sentence: 'The service says that the trade will never settle.',
    advice: 'Ask the operator of the service; no payment of its money was sent.',
  },
  WITHDRAWAL_FAILED: {
    ending: 'refused by the service',
    sentence: 'The service accepted the withdrawal, but later it failed or its money came back.',
    advice:
      'Find out why at the service. Cambist never pays it again by itself. If it is still owed, type the same `run` with --pay-again.',
  },
  // A person.
  RECORD_DIFFERS: {
    ending: 'needs a human',
    sentence:
      'The service has a record of this item that does not agree with the plan. Nothing is sent for the item.',
    advice: 'Compare the record with the plan, then decide with `npx cambist resolve`.',
  },
  RECORD_COULD_BE_IT: {
    ending: 'needs a human',
    sentence:
      'The service has a withdrawal that carries no reference. Its currency, amount and account are those of this payment, so it could be this payment.',
    advice:
      'Decide with `npx cambist resolve`: --executed with its id if it is this payment, --not-this with its id if it is another one, or --not-executed.',
  },
  LOOKS_PAID: {
    ending: 'needs a human',
    sentence:
      'The service has a withdrawal of the same amount to the same account as this payment, and no run of Cambist has made it.',
    advice:
      'If it is another payment, and this one is to be paid too: `npx cambist run … --go-on look-alikes`. Else decide with `npx cambist resolve`.',
  },
  RECORD_TAKEN: {
    ending: 'needs a human',
    sentence:
      'The service says that a record is this payment, but a person has said that it is another payment.',
    advice: 'Find out which of the two was made, then say so with `npx cambist resolve`.',
  },
  AMOUNT_FORGOTTEN: {
    ending: 'needs a human',
    sentence:
      'The amount of the leg came from a balance, and that balance has changed since then. The service shows no trade of the leg.',
    advice: 'Decide with `npx cambist resolve`. Cambist does not compute the amount a second time.',
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
      'Look at the service for what was paid. Then say again what people had said: `npx cambist cancel` or `npx cambist resolve`. If they had said nothing: `npx cambist run … --go-on`.',
  },
  INSTRUCTIONS_FEWER: {
    ending: 'needs a human',
    sentence:
      'Temporal keeps less of what people said about the run than a worker has read before: somebody has taken it away.',
    advice:
      'Find out who has, and look at the service for what was paid. `npx cambist audit` and the journals of the workers show what is missing. If the run may go on without it, say what still holds, and start each worker anew: one that keeps a journal, with another folder for it (CAMBIST_AUDIT).',
  },
  INSTRUCTIONS_UNREADABLE: {
    ending: 'needs a human',
    sentence:
      'Temporal keeps something that was said about the run, perhaps a cancel, that this worker cannot read.',
    advice:
      'Where a newer version has kept it, start workers of that version. Else somebody has answered in the place of a worker: find out who. Then delete, in Temporal, the workflow `<run>/instructions` that has the answer, and say again what holds.',
  },
  PLAN_PAUSED: {
    ending: 'needs a human',
    sentence:
      'A person has paused, in Temporal, the workflow that makes the plan of the run. Nothing is sent without a plan.',
    advice:
      'Press _Unpause_ at the workflow `<run>/plan` in the Temporal UI; the run then goes on by itself.',
  },
  INSTRUCTIONS_PAUSED: {
    ending: 'needs a human',
    sentence:
      'A person has paused, in Temporal, the workflow that keeps what people say about the run. Nothing is sent meanwhile.',
    advice:
      'Press _Unpause_ at the workflow `<run>/instructions` in the Temporal UI; the run then goes on by itself.',
  },
  EXECUTED_OUTSIDE_GUARD: {
    ending: 'needs a human',
    sentence:
      'The trade gave less than its quote, and less than the guard allows. The payments that need its money wait.',
    advice:
      'Ask the operator of the service why the trade differs from its quote. A person may accept the trade by its id.',
  },
  EXECUTED_BELOW_QUOTE: {
    ending: 'needs a human',
    sentence:
      'The trade gave less than its quote. Its guard allows that, but the payments that need its money wait.',
    advice:
      'Ask the operator of the service why the trade differs from its quote. A person may accept the trade by its id.',
  },
  EXECUTED_OVER_LIMIT: {
    ending: 'needs a human',
    sentence: 'The trade moved more than a limit allows. The payments that need its money wait.',
    advice:
      'Ask the operator of the service why the trade differs from its quote. A person may accept the trade by its id.',
  },
  BROKEN_INVARIANT: {
    ending: 'needs a human',
    sentence: 'A fault of this program stopped the run.',
    advice: 'Report it. A reset is safe: nothing is paid or traded twice.',
  },
  RUN_FAILED: {
    ending: 'needs a human',
    sentence: 'The run failed in Temporal without a report.',
    advice: 'See the run in the Temporal UI.',
  },
  ENDED_FROM_OUTSIDE: {
    ending: 'needs a human',
    sentence:
      'The run was ended in Temporal before it was finished: a person terminated it, or it timed out.',
    advice:
      'Type `npx cambist replay RUN`, or start it again with the same policy and --id: it looks at the service and adopts what it finds.',
  },
  // What a refreshed report finds.
  RECORD_APPEARED: {
    ending: 'needs a human',
    sentence: 'The service shows a record that the report does not have (`report --refresh`).',
    advice: 'Start the run with --go-on: it takes the record into its report.',
  },
  RECORD_NOT_SHOWN: {
    ending: 'needs a human',
    sentence: 'The service does not show a record that the report names (`report --refresh`).',
    advice:
      'This does not prove that the record is gone. Look again later, then ask the operator of the service.',
  },
  STATUS_DIFFERS: {
    ending: 'needs a human',
    sentence: 'The report and the service say different things about a record (`report --refresh`).',
    advice: 'Do not pay it again. Start the run with --go-on: its report then says what the service says.',
  },
  // The kill switch.
  HALTED: {
    ending: 'needs a human',
    sentence: 'A person has halted this. Cambist sends nothing of it, but goes on reading.',
    advice: 'When it may go on, type `npx cambist resume`. The run then goes on by itself.',
  },
  HALT_FILE: {
    ending: 'needs a human',
    sentence:
      'A file on the machine of the worker halts it (CAMBIST_HALT_FILE). It sends nothing, but goes on reading.',
    advice: 'When it may go on, delete the file on that machine. The run then goes on by itself.',
  },
  HALT_UNREADABLE: {
    ending: 'infrastructure',
    sentence: 'The worker cannot read from Temporal whether a person has halted it, so it sends nothing.',
    advice: 'See that Temporal answers the worker within a second. The run then goes on by itself.',
  },
  // Configuration.
  NOT_ALLOWED: {
    ending: 'configuration',
    sentence:
      'The folder of policies of the worker (CAMBIST_POLICIES) does not allow this quote, trade or payment. It is not sent.',
    advice:
      'If it is meant, change the folder of each worker; the run then goes on by itself within a minute. If it is not, cancel the run.',
  },
  OVER_CEILING: {
    ending: 'configuration',
    sentence:
      'With this trade or payment more would be moved on this day than a ceiling allows, in the folder of policies of the worker. It is not sent.',
    advice:
      'If it is meant, raise the ceiling in `ceilings.yaml` of each worker, or wait for the next day in UTC; the run then goes on by itself within a minute. If it is not, cancel the run.',
  },
  CEILING_UNKNOWN: {
    ending: 'configuration',
    sentence:
      'The folder of policies of the worker has ceilings for each day, and the worker does not know yet how much was moved on this day. It sends nothing.',
    advice:
      'Nothing to do for two minutes after a worker has started: the run then goes on by itself. If this stays so, see that the worker can read the lists of the service.',
  },
  TRADES_UNREAD: {
    ending: 'infrastructure',
    sentence:
      'The worker has not read the list of trades to its end yet, by which its folder of policies judges the write. It sends nothing.',
    advice:
      'Nothing to do: the run goes on by itself. If this stays so, see that the worker can read the lists of the service.',
  },
  AWAITING_APPROVAL: {
    ending: 'waiting',
    sentence:
      'A rule of `approvals.yaml` covers the run, and people who must sign its plan, or what a person has said about it, have not done so yet. Nothing is sent.',
    advice:
      'Those who are missing type `npx cambist approve RUN --key FILE`; who has started it, or has said what is to be signed, types the same with --starter. The run then goes on by itself. `npx cambist cancel RUN` ends it unsent.',
  },
  MODE_DIFFERS: {
    ending: 'configuration',
    sentence: 'A worker of the other mode (sandbox or live) takes the work of the run. Nothing is sent.',
    advice:
      'Give workers of each mode a task queue of their own (CAMBIST_TASK_QUEUE); the run goes on by itself.',
  },
  CREDENTIALS_DIFFER: {
    ending: 'configuration',
    sentence: 'The worker is set for another organisation or mode than the plan.',
    advice: 'Start a worker with the key files and mode of the plan; the run then goes on by itself.',
  },
  API_KEY_CHANGED: {
    ending: 'configuration',
    sentence: 'The worker has another API key, and the item may have been sent under the old one.',
    advice:
      'Nothing to do: the run looks at the lists of the service until it is sure what was sent under the old key, and then goes on under the new one. It asks a person only about a record that carries no reference and could be the item.',
  },
  CLOCK_SKEW: {
    ending: 'configuration',
    sentence: 'This machine’s clock and the service’s are too far apart.',
    advice: 'Set the clock (NTP); the run goes on by itself.',
  },
  STATUS_UNKNOWN: {
    ending: 'configuration',
    sentence: 'The service gives a trade or a withdrawal a status that Cambist does not know.',
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
    advice:
      'Nothing to do. If this stays so, see that a worker of this mode serves the task queue of the run.',
  },
  IN_DOUBT: {
    ending: 'waiting',
    sentence: 'It is not known yet whether this was executed.',
    advice:
      'Nothing to do: the run looks again by itself, and goes on when the records of the service show it.',
  },
  DECISION_PENDING: {
    ending: 'waiting',
    sentence:
      'A person has said that this was not executed. The run waits until nothing that was sent earlier can appear any more.',
    advice: 'Nothing to do: the run looks once more, in two to three minutes, and then follows the decision.',
  },
  NEWLY_SAID: {
    ending: 'waiting',
    sentence: 'A person has just said something new about the run.',
    advice: 'Nothing to do: the run follows it in a second.',
  },
  INSTRUCTIONS_AWAY: {
    ending: 'waiting',
    sentence: 'A payment is to be tried again, and Temporal could not record that.',
    advice: 'Nothing to do: the run tries again by itself, and sends nothing before that.',
  },
  LOOKUP_INCOMPLETE: {
    ending: 'waiting',
    sentence: 'The lists of the service could not be read to their end.',
    advice: 'Nothing to do: the run looks again by itself, and sends nothing before it has seen everything.',
  },
  AWAITING_SETTLEMENT: {
    ending: 'waiting',
    sentence: 'The trade has not settled yet.',
    advice: 'Nothing to do: the run looks again by itself.',
  },
  SETTLEMENT_LATE: {
    ending: 'waiting',
    sentence: 'The trade has not settled within `late_after`.',
    advice: 'Ask the operator of the service. The run goes on waiting.',
  },
  WITHDRAWAL_LATE: {
    ending: 'waiting',
    sentence:
      'The service has accepted a payment, but after the usual time (`late_after` of the service file) it is neither paid nor failed.',
    advice:
      'Ask the operator of the service. The run looks again by itself, and never pays it again meanwhile.',
  },
  OTHER_RUNS_LOST: {
    ending: 'needs a human',
    sentence:
      'The service has records of other runs of the policy that Temporal does not know. Most likely Temporal was restored from an older backup, or another namespace uses the same key.',
    advice:
      'Start those runs again under their ids; then this one goes on by itself. Or let this one go on by the command that the message shows.',
  },
  OTHER_RUN_SILENT: {
    ending: 'infrastructure',
    sentence:
      'Another run of the same policy and date may have done this, and it cannot be asked: it does not answer, or it ended before it had read its plan again.',
    advice:
      'See that a worker serves that run, or start it again with --go-on where it has ended. This run asks again by itself, and sends nothing before that.',
  },
  ACTIVITY_FAILED: {
    ending: 'infrastructure',
    sentence: 'A worker has failed at the same step several times.',
    advice:
      'See that disk, memory, network and Temporal of the worker are well. The run tries again by itself. If this stays so, report it with this line.',
  },
  NOT_SENT: {
    ending: 'waiting',
    sentence: 'The service cannot be reached.',
    advice: 'See that the network is there. The run tries again by itself.',
  },
  NO_ANSWER: {
    ending: 'waiting',
    sentence: 'The service gave no answer that can be used.',
    advice:
      'Nothing to do: the run looks at the service. What it does not find, it sends again by itself under the same key, which pays nothing twice.',
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
  CEILINGS: 'configuration',
  APPROVALS: 'configuration',
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

/**
 * With these codes a run ends in the same way whenever it is reset or started again: the cause is in its plan, or in what a person has
 * said. (`LEG_NOT_TRADED` only follows from the end of a leg.)
 */
const REFUSED_AGAIN: ReadonlySet<ProblemCode> = new Set([
  'WINDOW_PASSED',
  'OVER_LIMIT',
  'GUARD_UNUSUAL',
  'REFERENCE_TOO_OLD',
  'NOTHING_TO_PAY',
  'DONE_ELSEWHERE',
  'DECIDED_NOT_EXECUTED',
  'ACCOUNT_CURRENCY',
  'CURRENCY_NOT_WITHDRAWABLE',
]);

/** Whether no reset and no new start of the same run would do anything about its problems. */
export function isRefusedAgain(problems: readonly Pick<Problem, 'code'>[]): boolean {
  const own = problems.filter(({ code }) => code !== 'LEG_NOT_TRADED');
  return own.length > 0 && own.every(({ code }) => REFUSED_AGAIN.has(code));
}

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
