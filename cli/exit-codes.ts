/**
 * How a command ends. The one table of exit codes, and the one function that says which of them a report means
 * (design: "Commands"). Pure.
 */
import { DECISIONS, classOf, type ReplyClass } from '../domain/decisions.ts';
import type { Report } from '../domain/report.ts';
import type { Hold } from '../domain/stepper.ts';

export type Ending =
  | 'done'
  | 'bad input'
  | 'configuration'
  | 'refused by us'
  | 'refused by the service'
  | 'needs a human'
  | 'infrastructure'
  | 'waiting'
  | 'detached';

/** A public surface: never changed, only added to. */
export const EXIT_CODES: Readonly<Record<Ending, number>> = {
  done: 0,
  'bad input': 2,
  configuration: 3,
  'refused by us': 4,
  'refused by the service': 5,
  'needs a human': 6,
  infrastructure: 7,
  waiting: 8,
  detached: 130,
};

/** The same in words, for --help. */
export const EXIT_MEANINGS: Readonly<Record<Ending, string>> = {
  done: 'done, or nothing to do',
  'bad input': 'bad input',
  configuration: 'configuration or key (also a run held by it)',
  'refused by us':
    'refused by a rule of ours (guard, limit, window, shortfall, cancel, duplicate, changed policy)',
  'refused by the service': 'refused by the service (some item NOT_PAID)',
  'needs a human': 'needs a human',
  infrastructure: 'infrastructure (no worker took the run within 10 s; Temporal or the service is away)',
  waiting: 'still going or waiting, no person needed',
  detached: 'Ctrl-C, which only detaches',
};

/** Where several apply, the first of these counts. */
const PRECEDENCE: readonly Ending[] = [
  'detached',
  'infrastructure',
  'needs a human',
  'configuration',
  'bad input',
  'refused by the service',
  'refused by us',
  'waiting',
];

/** The one of several endings that counts; none: done. */
export function firstOf(endings: Iterable<Ending>): Ending {
  const all = new Set(endings);
  return PRECEDENCE.find((ending) => all.has(ending)) ?? 'done';
}

/** What our own codes mean when an item or a run *ended* with them. */
const OWN_CODES = {
  // The plan: before anything is sent.
  PLAN_ACCOUNT_MISSING: 'bad input',
  PLAN_ACCOUNT_CURRENCY: 'bad input',
  PLAN_ACCOUNT_UNUSABLE: 'refused by the service',
  PLAN_CURRENCY_NOT_WITHDRAWABLE: 'refused by the service',
  PLAN_PAIR_NOT_OFFERED: 'refused by the service',
  PLAN_AMOUNT_OUTSIDE_PAIR: 'refused by the service',
  PLAN_AMOUNT_DECIMALS: 'bad input',
  PLAN_ENVIRONMENT: 'configuration',
  PLAN_REFERENCE_MISSING: 'refused by us',
  PLAN_REFERENCE_TOO_OLD: 'refused by us',
  PLAN_REFERENCE_FROM_THE_FUTURE: 'refused by us',
  PLAN_OVER_LIMIT: 'refused by us',
  PLAN_FENCE_PASSED: 'refused by us',
  PLAN_NOT_AS_SHOWN: 'refused by us',
  POLICY_CHANGED: 'refused by us',
  POLICY_NAME_DIFFERS: 'bad input',
  RUN_ID_WITHOUT_DATE: 'bad input',
  // What Temporal carries is not what Cambist put there.
  INPUT_INVALID: 'bad input',
  PLAN_CONTRADICTS_POLICY: 'needs a human',
  PLAN_UNREADABLE: 'needs a human',
  WORKFLOW_ID_DIFFERS: 'refused by us',
  CARRIED_STATE_REFUSED: 'refused by us',
  INSTRUCTION_INVALID: 'bad input',
  // Rules of ours.
  CANCELLED: 'refused by us',
  FENCE_PASSED: 'refused by us',
  NOT_YET_OPEN: 'waiting',
  SHORTFALL: 'refused by us',
  OVER_LIMIT: 'refused by us',
  OUTSIDE_GUARD: 'refused by us',
  REFERENCE_TOO_OLD: 'refused by us',
  QUOTE_DIFFERS: 'refused by us',
  QUOTES_USED_UP: 'refused by us',
  NOTHING_TO_PAY: 'refused by us',
  // Says no more than its leg does, which has a code of its own.
  LEG_NOT_TRADED: 'refused by us',
  // A person's own word.
  DECIDED_NOT_EXECUTED: 'refused by us',
  // The service said no after it had said yes.
  SETTLEMENT_FAILED: 'refused by the service',
  WITHDRAWAL_FAILED: 'refused by the service',
  // A person.
  RECORD_DIFFERS: 'needs a human',
  RECORD_COULD_BE_IT: 'needs a human',
  RECORD_TAKEN: 'needs a human',
  AMOUNT_FORGOTTEN: 'needs a human',
  DECISION_UNPROVEN: 'needs a human',
  INSTRUCTIONS_MISSING: 'needs a human',
  EXECUTED_OUTSIDE_GUARD: 'needs a human',
  EXECUTED_OVER_LIMIT: 'needs a human',
  BROKEN_INVARIANT: 'needs a human',
  ANSWER_INCOMPLETE: 'needs a human',
  ENDED_FROM_OUTSIDE: 'needs a human',
  // What a refreshed report finds.
  RECORD_APPEARED: 'needs a human',
  RECORD_NOT_SHOWN: 'needs a human',
  STATUS_DIFFERS: 'needs a human',
  // Configuration.
  CREDENTIALS_DIFFER: 'configuration',
  MODE_DIFFERS: 'configuration',
  API_KEY_CHANGED: 'configuration',
  CLOCK_SKEW: 'configuration',
  STATUS_UNKNOWN: 'configuration',
  READ_KEY_FOREIGN: 'configuration',
  // Goes on by itself.
  PLANNING: 'waiting',
  IN_DOUBT: 'waiting',
  DECISION_PENDING: 'waiting',
  DONE_ELSEWHERE: 'refused by us',
  NEWLY_SAID: 'waiting',
  INSTRUCTIONS_AWAY: 'waiting',
  LOOK_INCOMPLETE: 'waiting',
  AWAITING_SETTLEMENT: 'waiting',
  SETTLEMENT_LATE: 'waiting',
  WITHDRAWAL_LATE: 'waiting',
  ACTIVITY_FAILED: 'infrastructure',
  NOT_SENT: 'waiting',
  NO_ANSWER: 'waiting',
} as const satisfies Record<string, Ending>;

/** What the service's codes mean when an item ended with them. */
const CLASSES: Readonly<Record<ReplyClass, Ending>> = {
  done: 'done',
  'wait, same key': 'waiting',
  'check state, then retry': 'waiting',
  'look, then a new quote': 'refused by us',
  'ours, probably': 'needs a human',
  'wait for money': 'refused by us',
  'the item is wrong': 'refused by the service',
  'pause the policy': 'configuration',
  'pause everything': 'configuration',
  unknown: 'refused by the service',
};

/** What a hold means while it lasts. */
const HOLDS: Readonly<Record<Hold, Ending>> = {
  service: 'waiting',
  outage: 'infrastructure',
  money: 'waiting',
  doubt: 'waiting',
  configuration: 'configuration',
  opening: 'waiting',
  settlement: 'waiting',
  person: 'needs a human',
};

/** True for a code of ours or of the service: a test holds the sources against it. */
export function isKnownCode(code: string): boolean {
  return Object.hasOwn(OWN_CODES, code) || Object.hasOwn(DECISIONS, code);
}

/** What it means that something ended with this code. */
export function endingOfCode(code: string): Ending {
  if (Object.hasOwn(OWN_CODES, code)) return OWN_CODES[code as keyof typeof OWN_CODES];
  // A worker may find mistakes in a policy that an older command did not.
  if (/^(POLICY|RATES)_/.test(code)) return 'bad input';
  return CLASSES[classOf({ code, details: {} })];
}

/** What a report and the holds of its run mean. `holds` is empty for a run that has ended. */
export function endingOf(report: Report, holds: readonly Hold[]): Ending {
  const endings: Ending[] = holds.map((hold) => HOLDS[hold]);
  const items = [...report.legs, ...report.payments];
  const open = new Set(
    items
      .filter((item) => item.outcome === 'PENDING' || item.outcome === 'NEEDS_HUMAN')
      .map((item) => item.id),
  );
  if (items.some((item) => item.outcome === 'NEEDS_HUMAN')) endings.push('needs a human');
  const goesOn = report.status === 'RUNNING' || report.status === 'HELD';
  if (goesOn) endings.push('waiting');
  for (const problem of report.problems) {
    const ending = endingOfCode(problem.code);
    const isHold = goesOn && (problem.item === null || open.has(problem.item));
    // What holds an open item is no refusal yet.
    if (!isHold || ending === 'configuration') endings.push(ending);
  }
  if (!goesOn && report.status !== 'COMPLETED' && report.problems.length === 0) endings.push('needs a human');
  return firstOf(endings.filter((ending) => goesOn || ending !== 'waiting'));
}
