/**
 * Records what a person decides where the machine cannot: an item was executed, as this record; it was not executed; or a
 * trade that came out worse than planned is accepted. The service is asked first, and its records stand above what a person
 * says. The instruction is kept outside the run's history, so that no reset loses it. Nothing here moves money.
 */
import type { ProblemCode } from '../../domain/problems.ts';
import { randomUUID } from 'node:crypto';
import { moneyText } from '../../domain/currencies.ts';
import { CREATED_SLACK_MS, LOOK_BACK_MS } from '../../domain/writes/lookups.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { LegOutcome, PaymentOutcome } from '../../domain/run/items.ts';
import { isWorseThanPlanned, type Report } from '../../domain/run/report.ts';
import { isSignable } from '../../domain/writes/approvals.ts';
import { minuteText, type Waiting, type WaitReason } from '../../domain/waits.ts';
import {
  closedIdsOf,
  instructionsAbout,
  isAlikeList,
  itemsNamedIn,
  newestSaid,
  type Instruction,
  type Kept,
} from '../../domain/people/instructions.ts';
import type { Settings } from '../../config/config.ts';
import { ServiceInputError } from '../../service/errors.ts';
import { claimantOf } from './claims.ts';
import {
  checkExecuted,
  checkNotExecuted,
  isSigned,
  recordsNamedFor,
  youngOnes,
  type ExecutedVerdict,
  type NotExecutedVerdict,
  type Subject,
} from './decisions.ts';
import { CommandFailure } from '../failure.ts';
import { keepInstruction, keptAbout, wakeRun } from './keep-instruction.ts';
import type { Place } from '../place.ts';
import { requireItem, requireOwnPlan, requirePlan, type Planned } from './plan-made.ts';
import { atService, requireService, serviceFailure } from '../preflight.ts';
import { readRun, readWaitingInBatch, type RunView } from '../follow/read-run.ts';
import { requireRun } from '../follow/runs.ts';

/** What a person says about an item. */
export type Decision = { readonly by: string } & (
  | { readonly kind: 'executed'; readonly recordId: string }
  | { readonly kind: 'not executed'; readonly evidence: string }
  | { readonly kind: 'not this'; readonly recordId: string; readonly evidence: string }
  | { readonly kind: 'accept'; readonly recordId: string; readonly evidence: string }
);

/** What the service showed, for the person. */
export type Seen = {
  /** The record that the person named; null: none was named. */
  readonly record: Trade | Withdrawal | null;
  /** A record with the item's name that contradicts the plan, and how. The decision overrides it. */
  readonly over: { readonly record: Trade | Withdrawal; readonly difference: string } | null;
  readonly couldBe: readonly (Trade | Withdrawal)[];
};

/** A decision that is kept. */
export type Decided = {
  readonly plan: Plan;
  readonly item: string;
  readonly decision: Decision;
  readonly seen: Seen;
  /** How far back the lists were read, epoch milliseconds. */
  readonly lookedBackToMs: number;
  readonly isLeg: boolean;
  /** Who acts on the decision: the open run at once, or a new start of a run or item that has ended. */
  readonly takenUp: 'at once' | 'when the run is started' | 'when the item is started';
  /** The service's status of the record, where the status says that the record will not pay or trade. */
  readonly failedStatus: string | null;
};

/** What the command has read before it judges anything. */
type Case = {
  readonly place: Place;
  readonly settings: Settings;
  readonly view: RunView;
  readonly plan: Plan;
  readonly item: string;
  /** Null when it is a leg. */
  readonly planned: Planned | null;
  /** What people had said when the command looked. */
  readonly kept: Kept;
  readonly decision: Decision;
  /** When the command looked, epoch milliseconds. */
  readonly nowMs: number;
};

/**
 * Looks at the service, then keeps the decision.
 * @returns also a remark about the service. @throws CommandFailure when the service contradicts it, or cannot be read whole
 */
export async function decide(asked: {
  readonly place: Place;
  readonly settings: Settings;
  readonly run: RunName;
  readonly item: string;
  readonly decision: Decision;
  readonly now: () => number;
}): Promise<{ readonly decided: Decided; readonly remark: string | null }> {
  const { place, settings, run, item, decision } = asked;
  const facts = await requireRun(place, run);
  const plan = await requirePlan(place, run);
  requireOwnPlan(settings, plan);
  const remark = await requireService(settings, asked.now);
  const planned = await requireItem(place, plan, item);
  const kept = await keptAbout(place, run, planned?.inBatch?.chunk ?? null);
  const view = await readRun(place, facts);
  const theCase: Case = { place, settings, view, plan, item, planned, kept, decision, nowMs: asked.now() };
  await requireOpenQuestion(theCase);
  const seen = await lookFirst(theCase);
  const newest = newestSaid(kept.instructions);
  await keepInstruction(place, run, instructionOf(decision, item), { seen: newest });
  return { decided: decidedOf(theCase, seen, await wakeRun(place, run)), remark };
}

function instructionOf(decision: Decision, item: string): Instruction {
  const known = { id: randomUUID(), by: decision.by, item };
  switch (decision.kind) {
    case 'executed':
      return {
        ...known,
        kind: decision.kind,
        recordId: decision.recordId,
        why: 'the record is the evidence',
      };
    case 'not executed':
      return { ...known, kind: decision.kind, why: decision.evidence };
    case 'accept':
    case 'not this':
      return { ...known, kind: decision.kind, recordId: decision.recordId, why: decision.evidence };
  }
}

function decidedOf({ plan, item, decision, view, settings }: Case, seen: Seen, isOpen: boolean): Decided {
  const isLeg = plan.legs.some(({ id }) => id === item);
  const hasEnded = [...view.report.legs, ...view.report.payments].some(
    ({ id, outcome }) => id === item && (outcome === 'NOT_TRADED' || outcome === 'NOT_PAID'),
  );
  const { tradeStatuses, withdrawalStatuses } = settings.facts;
  const failed = isLeg ? tradeStatuses.failed : withdrawalStatuses.failed;
  const status = seen.record?.status ?? '';
  return {
    plan,
    item,
    decision,
    seen,
    lookedBackToMs: lookedBackToMs(plan),
    isLeg,
    takenUp: hasEnded ? 'when the item is started' : isOpen ? 'at once' : 'when the run is started',
    failedStatus: failed.includes(status) ? status : null,
  };
}

/**
 * The wait reasons of an item that may or may not have been executed. A wait for money, for settlement or for the service's
 * rate limit leaves no doubt.
 */
const OPEN_QUESTIONS: readonly WaitReason[] = ['person', 'doubt', 'outage', 'configuration'];

/** @throws CommandFailure when there is nothing to decide about the item */
async function requireOpenQuestion(theCase: Case): Promise<void> {
  const { view, item, decision } = theCase;
  switch (decision.kind) {
    case 'accept': {
      const reason = whyNotAccepted(view.report, item, decision.recordId);
      if (reason === null) return;
      const status = `npx cambist status ${runName(view.facts.run)}`;
      return refuse(theCase, 'NOTHING_TO_ACCEPT', reason, `\`${status}\` says what the run waits for.`);
    }
    case 'executed':
      requireNoRecord(theCase);
      return;
    case 'not this':
      if (isOnlySaid(theCase, decision.recordId)) return;
      await requireInQuestion(theCase, requireNoRecord(theCase));
      return;
    case 'not executed':
      await requireInQuestion(theCase, requireNoRecord(theCase));
  }
}

/**
 * Whether somebody has named this record for the item, perhaps without the signatures that this needs, and the run has not taken it as
 * the item's. What that holds up, people end by saying that it is another one, whatever has become of the item. Pure.
 */
export function isOnlySaid(
  { kept, item, view }: Pick<Case, 'kept' | 'item'> & { readonly view: { readonly report: ItemsOfReport } },
  recordId: string,
): boolean {
  return (
    isSigned(kept) && recordsNamedFor(kept, item).includes(recordId) && ownRecordId(view, item) !== recordId
  );
}

type ItemsOfReport = Pick<Report, 'legs' | 'payments'>;

/** The record that the run has taken as the item's; null: none. */
function ownRecordId({ report }: { readonly report: ItemsOfReport }, item: string): string | null {
  const { legs, payments } = report;
  return (
    legs.find(({ id }) => id === item)?.tradeId ??
    payments.find(({ id }) => id === item)?.withdrawalId ??
    null
  );
}

/**
 * Refuses a decision about an item that has a record, since a record of the service stands above it. Returns the item's
 * outcome.
 */
function requireNoRecord(theCase: Case): LegOutcome | PaymentOutcome {
  const { view, item } = theCase;
  const leg = view.report.legs.find(({ id }) => id === item);
  const payment = view.report.payments.find(({ id }) => id === item);
  const outcome = leg?.outcome ?? payment?.outcome ?? 'PENDING';
  const recordId = ownRecordId(view, item);
  if (outcome === 'TRADED' || outcome === 'PAID')
    return refuse(
      theCase,
      'ITEM_DONE',
      `it is ${outcome} already, as ${recordId ?? '?'}`,
      'There is nothing to decide.',
    );
  if (recordId === null) return outcome;
  return refuse(
    theCase,
    'ITEM_HAS_RECORD',
    `the service has a record of it, ${recordId} (${payment?.status ?? outcome}), and a record counts more than a decision`,
    outcome === 'NOT_PAID'
      ? `If it is still owed: npx cambist run POLICY --pay-again ${item} --reason TEXT --by NAME.`
      : 'Nothing to do: the run follows it to its end.',
  );
}

/** A person can say that an item was not executed, or is not a record, only while it is in doubt or needs a human. */
async function requireInQuestion(theCase: Case, outcome: LegOutcome | PaymentOutcome): Promise<void> {
  const { facts } = theCase.view;
  if (outcome === 'NOT_PAID' || outcome === 'NOT_TRADED')
    return refuse(theCase, 'ITEM_ENDED', `it has ended as ${outcome} already`, 'There is nothing to decide.');
  if (!facts.isOpen || outcome === 'NEEDS_HUMAN') return;
  const waiting = await readWaiting(theCase);
  if (waiting !== null && isOpenQuestion(waiting, theCase)) return;
  const what =
    waiting === null ? 'it is still to be sent, or is being sent now' : `it waits (${waiting.problem.code})`;
  refuse(
    theCase,
    'ITEM_NOT_IN_QUESTION',
    `${what}, and there is nothing to decide about it`,
    `It goes on by itself. To stop what is not sent yet: npx cambist cancel ${runName(facts.run)}.`,
  );
}

/**
 * Whether a person may decide about an item that waits. What people have said of it and others must approve may be replaced; the plan of
 * the run may not. Pure.
 */
export function isOpenQuestion(
  { reason }: Pick<Waiting, 'reason'>,
  { kept, item }: Pick<Case, 'kept' | 'item'>,
): boolean {
  if (OPEN_QUESTIONS.includes(reason)) return true;
  if (reason === 'approval')
    // A list of look-alikes names no payment, and may be about any of a batch.
    return kept.instructions.some(
      (said) => isSignable(said) && (isAlikeList(said) || itemsNamedIn(said).includes(item)),
    );
  return false;
}

/** What the item waits for now. For a payment of a batch, only its chunk knows this. */
function readWaiting({ place, view, item, planned }: Case): Promise<Waiting | null> {
  const inBatch = planned?.inBatch ?? null;
  if (inBatch !== null) return readWaitingInBatch(place, view.facts, inBatch);
  return Promise.resolve(view.progress.items.find(({ id }) => id === item)?.waiting ?? null);
}

function refuse({ view, item }: Case, code: ProblemCode, message: string, fix: string): never {
  const place = `${runName(view.facts.run)} ${item}`;
  throw new CommandFailure('refused by us', [{ code, place, message, fix }]);
}

/** Why the item's trade cannot be accepted by this id; null when it can be accepted. Pure. */
export function whyNotAccepted(report: Report, item: string, recordId: string): string | null {
  const leg = report.legs.find(({ id }) => id === item);
  if (leg === undefined) return 'it is a payment, and only trades can be accepted';
  if (!report.problems.some((problem) => problem.item === item && isWorseThanPlanned(problem)))
    return 'nothing is wrong with its trade';
  return leg.tradeId === recordId ? null : `its trade is ${leg.tradeId ?? 'not known'}, not ${recordId}`;
}

/**
 * Looks at the service before the decision is kept. @throws CommandFailure when the service contradicts it, or cannot be
 * read whole
 */
async function lookFirst(theCase: Case): Promise<Seen> {
  const { settings, decision } = theCase;
  const subject = await subjectOf(theCase);
  return atService(settings, async (service, address) => {
    switch (decision.kind) {
      case 'not executed': {
        const absent = requireAbsent(theCase, await checkNotExecuted(service, subject), address);
        await requireNoneYoung(theCase, absent.couldBe);
        return absent;
      }
      case 'not this': {
        if (isOnlySaid(theCase, decision.recordId)) {
          const record = await namedRecord(service, subject, decision.recordId);
          return { record, over: null, couldBe: [] };
        }
        const seen = requireAbsent(theCase, await checkNotExecuted(service, subject), address);
        return { ...seen, record: requireCandidate(theCase, seen, decision.recordId) };
      }
      case 'executed':
      case 'accept': {
        const verdict = await wellFormed(() => checkExecuted(service, subject, decision.recordId));
        // The person accepts this trade as it was executed, so that it may differ from the plan.
        if (decision.kind === 'accept' && verdict.kind === 'differs')
          return { record: verdict.record, over: null, couldBe: [] };
        const record = requireAgreement(theCase, decision, verdict, address);
        if (nameIn(record) === null) await requireUnclaimed(theCase, record);
        return { record, over: null, couldBe: [] };
      }
    }
  });
}

/** A record that somebody has named, as far as the service shows it: there may be none, and none is needed to say that it is not the item's. */
export async function namedRecord(
  service: Parameters<typeof checkExecuted>[0],
  subject: Subject,
  recordId: string,
): Promise<Trade | Withdrawal | null> {
  try {
    const verdict = await checkExecuted(service, subject, recordId);
    return 'record' in verdict ? verdict.record : null;
  } catch (error) {
    if (error instanceof ServiceInputError) return null;
    throw error;
  }
}

/** The record that could be the item, by the id that a person has named. */
function requireCandidate(theCase: Case, { couldBe }: Seen, recordId: string): Trade | Withdrawal {
  const record = couldBe.find(({ id }) => id === recordId);
  if (record !== undefined && !('quoteId' in record)) return record;
  const candidates = couldBe.map(({ id }) => id).join(', ');
  return refuse(
    theCase,
    'RECORD_DIFFERS',
    `${recordId} is no withdrawal without a reference that could be this payment${candidates === '' ? '' : `; these are: ${candidates}`}; your decision is not kept`,
    'Name a withdrawal that could be the payment, as `npx cambist status` shows it.',
  );
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
async function subjectOf({ view, plan, item, planned, kept, settings, decision }: Case): Promise<Subject> {
  const { report } = view;
  const { opensAtMs } = plan.sendWindows;
  const otherIds = [
    ...report.legs.map(({ id, tradeId }) => ({ id, recordId: tradeId })),
    ...report.payments.map(({ id, withdrawalId }) => ({ id, recordId: withdrawalId })),
    ...standingNames(kept),
  ].flatMap(({ id, recordId }) => (id === item || recordId === null ? [] : [recordId]));
  const leg = plan.legs.find(({ id }) => id === item);
  if (leg !== undefined) {
    const quoteId = report.legs.find(({ id }) => id === item)?.quoteId ?? null;
    return { kind: 'leg', leg, quoteId, otherIds, opensAtMs };
  }
  const amount = report.payments.find(({ id }) => id === item)?.amount ?? null;
  if (planned === null || amount === null) {
    throw new CommandFailure('refused by us', [
      {
        code: 'AMOUNT_NOT_KNOWN',
        place: `${runName(plan.run)} ${item}`,
        message:
          'its amount is what its leg brings, and is not known yet, so no record can be compared with it',
        fix: 'Decide about the leg first.',
      },
    ]);
  }
  const { payment } = planned;
  const { eights, notThisIds } = instructionsAbout(kept, item);
  const named = recordIdOf(decision);
  const closedIds = closedIdsOf(eights);
  // Where people sign, somebody may have said so whom nobody signs for.
  if (named !== null && closedIds.includes(named) && !isSigned(kept))
    throw new CommandFailure('refused by us', [
      {
        code: 'RECORD_DIFFERS',
        place: `--${decision.kind} ${named}`,
        message: `the record had failed already when a person let ${item} be paid again, so it is not what was paid since; your decision is not kept`,
        fix: 'Name the record that was made since, or decide otherwise.',
      },
    ]);
  return {
    kind: 'payment',
    payment: {
      reference: payment.reference,
      account: payment.account,
      currency: payment.currency,
      amount,
      opensAtMs,
      namedId: null,
      ownIds: named === null ? [] : [named],
      otherIds: [...otherIds, ...notThisIds.filter((id) => id !== named)],
      fromGeneration: eights.at(-1)?.first ?? 1,
      closedIds,
      follows: [],
      approvedUntilMs: null,
      failedWords: settings.facts.withdrawalStatuses.failed,
    },
  };
}

/** The records that people have named for items, where nobody has said otherwise since. The worker judges that again. Pure. */
export function standingNames(kept: Kept): readonly { readonly id: string; readonly recordId: string }[] {
  const names = new Map<string, string>();
  for (const said of kept.instructions) {
    if (said.kind === 'executed') names.set(said.item, said.recordId);
    else if (said.kind === 'not executed') names.delete(said.item);
    // It ends a word that nobody has signed, and no other.
    else if (said.kind === 'not this' && isSigned(kept) && names.get(said.item) === said.recordId)
      names.delete(said.item);
  }
  return [...names].map(([id, recordId]) => ({ id, recordId }));
}

/** The record that a person named; null: the decision names none. */
function recordIdOf(decision: Decision): string | null {
  switch (decision.kind) {
    case 'executed':
    case 'accept':
      return decision.recordId;
    case 'not executed':
    case 'not this':
      return null;
  }
}

/**
 * Refuses a record that cannot be the item's. An id that the service does not have is bad input. A record that contradicts
 * the plan is refused by a rule of ours.
 */
function requireAgreement(
  { plan, item }: Case,
  { kind, recordId }: Extract<Decision, { readonly kind: 'executed' | 'accept' }>,
  verdict: ExecutedVerdict,
  address: string,
): Trade | Withdrawal {
  const place = `--${kind} ${recordId}`;
  switch (verdict.kind) {
    case 'agrees':
      return verdict.record;
    case 'unreadable':
      throw serviceFailure(verdict.reply, address);
    case 'missing':
      throw new CommandFailure('bad input', [
        {
          code: 'RECORD_NOT_FOUND',
          place,
          message: `the service shows no record with this id, also not in its list back to ${minuteText(lookedBackToMs(plan))}; your decision is not kept`,
          fix: 'Name the record that the service shows.',
        },
      ]);
    case 'differs':
      throw new CommandFailure(
        'refused by us',
        verdict.differences.map((difference) => ({
          code: 'RECORD_DIFFERS',
          place,
          message: `the service has this record, but it is not ${item}: ${difference}; your decision is not kept`,
          fix: 'Name the record of this item, or decide otherwise.',
        })),
      );
  }
}

/** A record without a name of ours may be another item's. @throws CommandFailure when it is */
async function requireUnclaimed(theCase: Case, record: Trade | Withdrawal): Promise<void> {
  const claimant = await claimantOf(theCase.place, theCase, record);
  if (claimant === null) return;
  throw new CommandFailure('refused by us', [
    {
      code: 'RECORD_DIFFERS',
      place: `--executed ${record.id}`,
      message: `the record belongs to another item, ${claimant}; your decision is not kept`,
      fix: 'Name the record of this item, or decide otherwise.',
    },
  ]);
}

/**
 * Returns the records that could be the item's or that contradict the plan, for the person. The person judges them by the
 * evidence that he or she has.
 */
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
        : 'started again (npx cambist run … --go-on), the run adopts it by itself';
      throw new CommandFailure('refused by us', [
        {
          code: 'RECORD_FOUND',
          place: `${runName(plan.run)} ${item}`,
          message: `the service has a record of it: ${describeRecord(verdict.record)}; your decision is not kept`,
          fix: `Nothing to decide: ${goesOn}.`,
        },
      ]);
    }
  }
}

/** A worker does not let a decision judge a record that was made shortly before it, unless another item counts it as its own. */
async function requireNoneYoung(theCase: Case, couldBe: Seen['couldBe']): Promise<void> {
  for (const record of youngOnes(couldBe, theCase.nowMs)) {
    // One after the other: there is mostly none, and seldom more than one.
    if ((await claimantOf(theCase.place, theCase, record)) !== null) continue;
    const untilMs = Date.parse(record.createdAt) + CREATED_SLACK_MS;
    refuse(
      theCase,
      'RECORD_COULD_BE_IT',
      `${describeRecord(record)} could be ${theCase.item}, and is less than 10 minutes old; your decision is not kept`,
      `If it is this one: --executed ${record.id}. If not, say the same again after ${minuteText(untilMs + 60_000)}.`,
    );
  }
}

/** The reference that a record carries; null when it carries none. */
export function nameIn(record: Trade | Withdrawal): string | null {
  return 'quoteId' in record ? record.clientReferenceId : record.tag;
}

function lookedBackToMs(plan: Plan): number {
  return plan.sendWindows.opensAtMs - LOOK_BACK_MS;
}

/** One record in one line. */
export function describeRecord(record: Trade | Withdrawal): string {
  if ('quoteId' in record) {
    const sold = record.sellAmount ?? record.executedAmount;
    const bought = record.sellAmount === null ? (record.buyAmount ?? '?') : record.executedAmount;
    return `trade ${record.id} (${moneyText(sold, record.sellCurrency)} for ${moneyText(bought, record.buyCurrency)}, ${record.status}, created ${minuteText(Date.parse(record.createdAt))})`;
  }
  return `withdrawal ${record.id} (${moneyText(record.withdrawalAmount, record.currency)} to ${record.withdrawalAccountId ?? 'an account that is not shown'}, ${record.status}, created ${minuteText(Date.parse(record.createdAt))})`;
}
