/**
 * `cambist resolve RUN ITEM`: a person decides what the machine cannot: an item was executed, as this record, or it was
 * not; or a trade that came out worse than planned is accepted. The service is asked first, and stands above what anybody
 * says; the instruction is kept outside the run's history, so that no reset loses it. It moves no money.
 */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { LOOK_BACK_MS } from '../domain/looks.ts';
import type { Plan } from '../domain/plan.ts';
import type { Trade, Withdrawal } from '../domain/records.ts';
import { runName, workflowIdOf } from '../domain/references.ts';
import type { Report } from '../domain/report.ts';
import type { Hold } from '../domain/stepper.ts';
import { instructionsAbout, type Instruction } from '../domain/instructions.ts';
import {
  checkExecuted,
  checkNotExecuted,
  type ExecutedVerdict,
  type NotExecutedVerdict,
  type Subject,
} from '../operations/decisions.ts';
import { ServiceInputError } from '../service/errors.ts';
import { loadSettings, type Settings } from '../worker/config.ts';
import { claimantOf } from './claims.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { EXIT_CODES, type Ending } from './exit-codes.ts';
import { CommandFailure, type Trouble } from './failure.ts';
import { nonEmpty, statement } from './options.ts';
import type { Output } from './output.ts';
import { requireItem, requireOwnPlan, requirePlan } from './pinned-plan.ts';
import { atPlace, type Place } from './place.ts';
import { atService, requireService, serviceFailure } from './preflight.ts';
import { isWorseThanPlanned } from './report-text.ts';
import { requireRun } from './report.ts';
import { parseRun } from './run-names.ts';
import { readRun, type RunView } from './runs.ts';
import { keepInstruction, keptAbout, wakeRun } from './instructions.ts';

type ResolveOptions = JsonOption & {
  readonly executed?: string;
  readonly notExecuted?: true;
  readonly accept?: string;
  readonly evidence?: string;
  readonly by?: string;
};

export function addResolve(program: Command, session: Session): void {
  const command = program
    .command('resolve')
    .summary('decides about an item that needs a person')
    .description(
      'Decides about a leg or payment whose fate the machine cannot tell: it was executed, as the record with this id, ' +
        'or it was not. The service is looked at first: a record that is not there or contradicts the plan is refused, ' +
        'and so is --not-executed when a record of the item agrees with the plan. The decision is kept outside the run’s history, ' +
        'so that no reset loses it; a record that appears later stands above it. --accept releases what waits because a ' +
        'trade came out worse than its guard or above a limit. Moves no money. Ends with 2 when there ' +
        'is no record of this id, with 4 when a record contradicts the decision.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .argument('<item>', 'id of the leg or payment, as the report shows it')
    .option('--executed <id>', 'it was executed: the id of its trade or withdrawal', nonEmpty)
    .option('--not-executed', 'it was not executed, and will not be')
    .option(
      '--accept <id>',
      'the trade of a leg, which came out worse than planned, is accepted as it is',
      nonEmpty,
    )
    .option('--evidence <text>', 'how you know, or why it is accepted; required with these two', statement)
    .option('--by <name>', 'who decides; required', statement)
    .action((name: string, item: string, options: ResolveOptions) =>
      act(session, options, (output) => resolve(output, { name, item, options })),
    );
  teach(command, {
    examples: [
      'cambist resolve mxn-supplier.2026-11-21 supplier --executed wtd_3GVKK9mcGadvqjq8TViDA5 --by ana',
      'cambist resolve mxn-supplier.2026-11-21 supplier --not-executed --by ana \\\n      --evidence "operator’s ticket 4711: never received"',
      'cambist resolve mxn-supplier.2026-11-21 usd-mxn-1 --accept tde_BhQh2Nqoq3ZLr1vFGEXEey --by ana \\\n      --evidence "the supplier is owed today; the operator explained the price"',
    ],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure'],
  });
}

/** What a person said, checked for form only. */
type Said = { readonly by: string } & (
  | { readonly kind: 'executed'; readonly recordId: string }
  | { readonly kind: 'not executed'; readonly evidence: string }
  | { readonly kind: 'accept'; readonly recordId: string; readonly evidence: string }
);

/** One use of the command. */
type Case = {
  readonly place: Place;
  readonly settings: Settings;
  readonly view: RunView;
  readonly plan: Plan;
  readonly item: string;
  readonly said: Said;
};

async function resolve(
  output: Output,
  asked: { readonly name: string; readonly item: string; readonly options: ResolveOptions },
): Promise<Ending> {
  const { io } = output;
  const said = readSaid(asked.options);
  const { run, mode } = parseRun(asked.name);
  const settings = await loadSettings(io.env, io.cwd);
  for (const warning of settings.warnings) output.note(warning);
  return atPlace(io, mode ?? settings.mode, async (place) => {
    const facts = await requireRun(place, run);
    const plan = await requirePlan(place, run);
    requireOwnPlan(settings, plan);
    await requireService(output, settings);
    const view = await readRun(place.client, facts);
    const item = requireItem(plan, asked.item);
    const theCase: Case = { place, settings, view, plan, item, said };
    requireOpenQuestion(theCase);
    const seen = await lookFirst(theCase);
    await keepInstruction(place, run, instructionOf(said, item));
    return show(output, theCase, seen, await wakeRun(place, run));
  });
}

function instructionOf(said: Said, item: string): Instruction {
  const known = { id: randomUUID(), by: said.by, item };
  switch (said.kind) {
    case 'executed':
      return { ...known, kind: said.kind, recordId: said.recordId, why: 'the record is the evidence' };
    case 'not executed':
      return { ...known, kind: said.kind, why: said.evidence };
    case 'accept':
      return { ...known, kind: said.kind, recordId: said.recordId, why: said.evidence };
  }
}

/** @throws CommandFailure with every mistake of the options */
function readSaid(options: ResolveOptions): Said {
  const { executed, notExecuted, accept, evidence, by } = options;
  const problems: Trouble[] = [];
  const mistake = (place: string, message: string, fix: string): void => {
    problems.push({ code: 'DECISION_INCOMPLETE', place, message, fix });
  };
  const given = [executed, notExecuted, accept].filter((option) => option !== undefined).length;
  if (given !== 1) {
    mistake(
      '--executed, --not-executed, --accept',
      given === 0 ? 'none is given' : 'more than one is given',
      'Say one of them: --executed or --accept with the id of the record, or --not-executed.',
    );
  }
  if ((notExecuted === true || accept !== undefined) && evidence === undefined) {
    mistake(
      '--evidence',
      'it is missing',
      'Say how you know that it was not executed, or why it is accepted; the report keeps it.',
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
  if (accept !== undefined) return { kind: 'accept', recordId: accept, evidence: evidence ?? '', by };
  return { kind: 'not executed', evidence: evidence ?? '', by };
}

/** What an item waits for while its fate may be open. Money, settlement and the service's own pace leave nothing open. */
const OPEN_QUESTIONS: readonly Hold[] = ['person', 'doubt', 'outage', 'configuration'];

/** @throws CommandFailure when there is nothing to decide about the item */
function requireOpenQuestion({ view, item, said }: Case): void {
  const { report, progress, facts } = view;
  const name = runName(facts.run);
  const refuse = (code: string, message: string, fix: string): never => {
    throw new CommandFailure('refused by us', [{ code, place: `${name} ${item}`, message, fix }]);
  };
  const leg = report.legs.find(({ id }) => id === item);
  const payment = report.payments.find(({ id }) => id === item);
  if (said.kind === 'accept') {
    const reason = whyNotAccepted(report, item, said.recordId);
    if (reason === null) return;
    return refuse('NOTHING_TO_ACCEPT', reason, `\`cambist status ${name}\` says what the run waits for.`);
  }
  const outcome = leg?.outcome ?? payment?.outcome ?? 'PENDING';
  const recordId = leg?.tradeId ?? payment?.withdrawalId ?? null;
  if (outcome === 'TRADED' || outcome === 'PAID')
    return refuse(
      'ITEM_DONE',
      `it is ${outcome} already, as ${recordId ?? '?'}`,
      'There is nothing to decide.',
    );
  if (recordId !== null) {
    return refuse(
      'ITEM_HAS_RECORD',
      `the service has it as ${recordId} (${payment?.status ?? outcome}), and a record stands above any decision`,
      outcome === 'NOT_PAID'
        ? `If it is still owed: cambist run POLICY --pay-again ${item} --reason TEXT --by NAME.`
        : 'Nothing to do: the run follows it to its end.',
    );
  }
  if (said.kind === 'executed') return;
  if (outcome === 'NOT_PAID' || outcome === 'NOT_TRADED')
    return refuse('ITEM_ENDED', `it has ended as ${outcome} already`, 'There is nothing to decide.');
  if (!facts.isOpen || outcome === 'NEEDS_HUMAN') return;
  const waiting = progress.items.find(({ id }) => id === item)?.waiting ?? null;
  if (waiting !== null && OPEN_QUESTIONS.includes(waiting.hold)) return;
  const what = waiting === null ? 'it is still to be sent, or at work' : `it waits (${waiting.problem.code})`;
  refuse(
    'ITEM_NOT_IN_QUESTION',
    `${what}, and nothing about it is in question`,
    `It goes on by itself. To leave what is not sent unsent: cambist cancel ${name}.`,
  );
}

/** Why the item's trade cannot be accepted by this id; null when it can. Pure. */
export function whyNotAccepted(report: Report, item: string, recordId: string): string | null {
  const leg = report.legs.find(({ id }) => id === item);
  if (leg === undefined) return 'it is a payment; only trades are accepted';
  if (!report.problems.some((problem) => problem.item === item && isWorseThanPlanned(problem)))
    return 'nothing is said against its trade';
  return leg.tradeId === recordId ? null : `its trade is ${leg.tradeId ?? 'not known'}, not ${recordId}`;
}

/** What was seen at the service, for the person. */
type Seen = {
  /** The record that was named; null without one. */
  readonly record: Trade | Withdrawal | null;
  /** A record with the item's name that contradicts the plan, and how; the decision goes over it. */
  readonly over: { readonly record: Trade | Withdrawal; readonly difference: string } | null;
  readonly couldBe: readonly (Trade | Withdrawal)[];
};

/** The look before the word. @throws CommandFailure when the service contradicts it, or cannot be read whole */
async function lookFirst(theCase: Case): Promise<Seen> {
  const { settings, said } = theCase;
  const subject = await subjectOf(theCase);
  return atService(settings, async (service, address) => {
    if (said.kind === 'not executed') {
      return requireAbsent(theCase, await checkNotExecuted(service, subject), address);
    }
    const { recordId } = said;
    const verdict = await wellFormed(() => checkExecuted(service, subject, recordId));
    // What is accepted is what came out, so that it may differ from the plan.
    if (said.kind === 'accept' && verdict.kind === 'differs')
      return { record: verdict.record, over: null, couldBe: [] };
    const record = requireAgreement(theCase, verdict, address);
    if (nameIn(record) === null) await requireUnclaimed(theCase, record);
    return { record, over: null, couldBe: [] };
  });
}

async function wellFormed<T>(look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ServiceInputError)) throw error;
    throw new CommandFailure('bad input', [
      {
        code: 'RECORD_ID',
        place: '--executed',
        message: error.message,
        fix: 'Name the id as the service shows it: of a trade for a leg, of a withdrawal for a payment.',
      },
    ]);
  }
}

/** @throws CommandFailure while the amount of a payment is not known */
async function subjectOf({ view, plan, item, settings, place, said }: Case): Promise<Subject> {
  const { report } = view;
  const { opensAtMs } = plan.fences;
  const kept = await keptAbout(place, plan.run);
  const otherIds = [
    ...report.legs.map(({ id, tradeId }) => ({ id, recordId: tradeId })),
    ...report.payments.map(({ id, withdrawalId }) => ({ id, recordId: withdrawalId })),
    ...kept.instructions.flatMap((one) =>
      one.kind === 'executed' ? [{ id: one.item, recordId: one.recordId }] : [],
    ),
  ].flatMap(({ id, recordId }) => (id === item || recordId === null ? [] : [recordId]));
  const leg = plan.legs.find(({ id }) => id === item);
  if (leg !== undefined) {
    const quoteId = report.legs.find(({ id }) => id === item)?.quoteId ?? null;
    return { kind: 'leg', leg, quoteId, otherIds, opensAtMs };
  }
  const payment = plan.payments.find(({ id }) => id === item);
  const amount = report.payments.find(({ id }) => id === item)?.amount ?? null;
  if (payment === undefined || amount === null) {
    throw new CommandFailure('refused by us', [
      {
        code: 'AMOUNT_NOT_KNOWN',
        place: `${runName(plan.run)} ${item}`,
        message:
          'its amount is what its leg brings and is not known yet, so no record can be compared with it',
        fix: 'Decide about the leg first.',
      },
    ]);
  }
  const { eights } = instructionsAbout(kept, item);
  return {
    kind: 'payment',
    payment: {
      reference: payment.reference,
      account: payment.account,
      currency: payment.currency,
      amount,
      opensAtMs,
      ownIds: said.kind === 'not executed' ? [] : [said.recordId],
      otherIds,
      fromGeneration: eights.at(-1)?.first ?? 1,
      closedIds: eights.flatMap(({ openedBy }) => openedBy.recordId ?? []),
      follows: [],
      failedWords: settings.facts.withdrawalStatuses.failed,
    },
  };
}

/** An id that is not there is a mistake of the line; a record that contradicts the plan is refused by a rule of ours. */
function requireAgreement(
  { plan, item, said }: Case,
  verdict: ExecutedVerdict,
  address: string,
): Trade | Withdrawal {
  const id = said.kind === 'not executed' ? '' : said.recordId;
  switch (verdict.kind) {
    case 'agrees':
      return verdict.record;
    case 'unreadable':
      throw serviceFailure(verdict.reply, address);
    case 'missing':
      throw new CommandFailure('bad input', [
        {
          code: 'RECORD_NOT_FOUND',
          place: `--${said.kind === 'accept' ? 'accept' : 'executed'} ${id}`,
          message: `the service shows no such record, neither by its id nor in its list back to ${lookedBackTo(plan)}; nothing was recorded`,
          fix: 'Name the record that the service shows.',
        },
      ]);
    case 'differs':
      throw new CommandFailure(
        'refused by us',
        verdict.differences.map((difference) => ({
          code: 'RECORD_DIFFERS',
          place: `--${said.kind === 'accept' ? 'accept' : 'executed'} ${id}`,
          message: `the record is there and is not ${item}: ${difference}; nothing was recorded`,
          fix: 'Name the record of this item, or decide otherwise.',
        })),
      );
  }
}

/** A record without a name of its own may be another run's. @throws CommandFailure when it is */
async function requireUnclaimed({ place, plan }: Case, record: Trade | Withdrawal): Promise<void> {
  const currencies = 'quoteId' in record ? [record.sellCurrency, record.buyCurrency] : [record.currency];
  const claimant = await claimantOf(place, {
    run: plan.run,
    organisation: plan.credentials.organisation,
    record: { id: record.id, createdAt: record.createdAt, currencies },
  });
  if (claimant === null) return;
  throw new CommandFailure('refused by us', [
    {
      code: 'RECORD_DIFFERS',
      place: `--executed ${record.id}`,
      message: `it is the record of another run’s item, ${claimant}; nothing was recorded`,
      fix: 'Name the record of this item, or decide otherwise.',
    },
  ]);
}

/** What could be the item, or contradicts the plan, is shown, and judged by the person's evidence. */
function requireAbsent({ plan, item, view }: Case, verdict: NotExecutedVerdict, address: string): Seen {
  switch (verdict.kind) {
    case 'absent':
      return { record: null, over: null, couldBe: verdict.couldBe };
    case 'contradicts': {
      const { record, difference, couldBe } = verdict;
      return { record: null, over: { record, difference }, couldBe };
    }
    case 'unreadable':
      throw serviceFailure(verdict.reply, address);
    case 'found': {
      const goesOn = view.facts.isOpen
        ? 'the run adopts it by itself'
        : 'started again (cambist run … --go-on), the run adopts it by itself';
      throw new CommandFailure('refused by us', [
        {
          code: 'RECORD_FOUND',
          place: `${runName(plan.run)} ${item}`,
          message: `the service has it: ${describe(verdict.record)}; nothing was recorded`,
          fix: `Nothing to decide: ${goesOn}.`,
        },
      ]);
    }
  }
}

function show(output: Output, theCase: Case, seen: Seen, isOpen: boolean): Ending {
  const { plan, item, said } = theCase;
  const name = runName(plan.run);
  const message = `${item} of ${name}: ${said.by} ${decidedText(said)}.`;
  const next = nextOf(theCase, seen.record, isOpen);
  output.document({
    run: name,
    workflowId: workflowIdOf(plan.credentials.mode, plan.run),
    item,
    decision: said.kind,
    by: said.by,
    recordId: said.kind === 'not executed' ? null : said.recordId,
    evidence: said.kind === 'executed' ? null : said.evidence,
    contradicts: seen.over?.record.id ?? null,
    couldBe: seen.couldBe.map(({ id }) => id),
    message,
    next,
    exitCode: EXIT_CODES.done,
  });
  output.say(message);
  if (said.kind === 'not executed') {
    const { over } = seen;
    output.say(
      over === null
        ? `The service was asked first: no record carries its name, in every page back to ${lookedBackTo(plan)}.`
        : `The service was asked first: ${describe(over.record)} carries its name, but ${over.difference}. The decision goes over it: what it moved has moved.`,
    );
    for (const record of seen.couldBe)
      output.say(`Your evidence stands against ${describe(record)}, which carries no name and could be it.`);
    output.say(`Evidence: ${said.evidence}`);
  } else if (seen.record !== null) {
    const isAccepted = said.kind === 'accept';
    output.say(
      `The service was asked first: ${describe(seen.record)}${isAccepted ? '' : ', as the plan says'}.`,
    );
    if (isAccepted) output.say(`Why: ${said.evidence}`);
  }
  output.say(next);
  return 'done';
}

function decidedText(said: Said): string {
  switch (said.kind) {
    case 'executed':
      return `decided that it was executed as ${said.recordId}`;
    case 'not executed':
      return 'decided that it was not executed';
    case 'accept':
      return `accepted trade ${said.recordId} as it came out`;
  }
}

function nextOf(
  { plan, view, item, said, settings }: Case,
  record: Trade | Withdrawal | null,
  isOpen: boolean,
): string {
  const isLeg = plan.legs.some(({ id }) => id === item);
  const { legs, payments } = view.report;
  const hasEnded = [...legs, ...payments].some(
    ({ id, outcome }) => id === item && (outcome === 'NOT_TRADED' || outcome === 'NOT_PAID'),
  );
  const goesOn =
    isOpen && !hasEnded
      ? 'The run is open and looks at once'
      : `The ${hasEnded ? 'item' : 'run'} has ended: \`cambist run … --go-on\` (or a reset) takes the decision up`;
  if (said.kind === 'accept') return `${goesOn}; what waited for ${item} goes on.`;
  if (said.kind === 'not executed') {
    const outcome = isLeg ? 'NOT_TRADED' : 'NOT_PAID';
    return `${goesOn}; ${item} then ends ${outcome}, with the evidence. A record that appears later stands above this decision.`;
  }
  const { tradeStatuses, withdrawalStatuses } = settings.facts;
  const failed = isLeg ? tradeStatuses.failed : withdrawalStatuses.failed;
  const status = record?.status ?? '';
  if (failed.includes(status))
    return `${goesOn}; it adopts the record, of which the service says "${status}": ${isLeg ? 'it will not settle' : `${item} ends NOT_PAID`}.`;
  return `${goesOn}; it adopts the record and follows it to its last word.`;
}

/** The name of ours that a record carries; null when it carries none. */
function nameIn(record: Trade | Withdrawal): string | null {
  return 'quoteId' in record ? record.clientReferenceId : record.tag;
}

function describe(record: Trade | Withdrawal): string {
  if ('quoteId' in record) {
    const sold = record.sellAmount ?? record.executedAmount;
    const bought = record.sellAmount === null ? (record.buyAmount ?? '?') : record.executedAmount;
    return `trade ${record.id} (${sold} ${record.sellCurrency} for ${bought} ${record.buyCurrency}, ${record.status}, created ${record.createdAt})`;
  }
  return `withdrawal ${record.id} (${record.withdrawalAmount} ${record.currency} to ${record.withdrawalAccountId ?? 'an account that is not shown'}, ${record.status}, created ${record.createdAt})`;
}

function lookedBackTo(plan: Plan): string {
  return new Date(plan.fences.opensAtMs - LOOK_BACK_MS).toISOString();
}
