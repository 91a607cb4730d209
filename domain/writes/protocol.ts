/**
 * The six steps before every write, the same for trades and withdrawals and always in this order (design: "Before every
 * write"). A `Subject` gives them what differs: what a lookup finds, until when the item may be sent, how it ends.
 * `beforeWrite` does steps 1 to 4. `mayStillLeave` checks once more at the moment of step 5. What follows from a reply (step
 * 6) is in `writes/trade.ts` and `writes/withdrawal.ts`.
 */
import { makeProblem, type Problem } from '../problems.ts';
import { SENT_SOONER, safetyWaitSentence, type WaitReason, type Wait } from '../waits.ts';
import { isKeyKnownSince } from '../service/facts.ts';
import { backoffMs } from '../service/reply-rules.ts';
import {
  instructionsAbout,
  type Decision,
  type InstructionsAbout,
  type Kept,
  type RecordedOf,
  instructionsAboutLeg,
} from '../people/instructions.ts';
import { cancelledItem } from '../replacement.ts';
import { CREATED_SLACK_MS, type Look } from './lookups.ts';
import type { Trade, Withdrawal } from '../service/records.ts';
import {
  SLOW_LOOKUP_MS,
  ask,
  checkClock,
  configurationWait,
  foreignCredentials,
  serviceWait,
  unreadable,
  type Context,
  type Steps,
} from './step.ts';
import {
  asForgotten,
  asKnownNow,
  assumeSent,
  isNewStart,
  isOthersDoubt,
  othersSendMs,
  recall,
  settleByTime,
  triedAgain,
  whyHidden,
  type SendState,
} from './doubt.ts';
import { forPerson } from './phase.ts';

/** A result that only says that the item waits; every kind of item has it. */
export type Waits<State> = { readonly kind: 'wait'; readonly state: State; readonly wait: Wait };

/** Every result of a step has a kind. */
type AnyStep = { readonly kind: string };

/** A lookup, and when it began. */
export type Looked<Found> = { readonly look: Look<Found>; readonly atMs: number };

/** What the steps need to know of a leg or a payment. `Step` is the result of one call, if it is not a wait. */
export type Subject<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep> = {
  readonly context: Context;
  readonly call: 'quote' | 'trade' | 'withdrawal';
  /** Id of the leg or payment. */
  readonly item: string;
  /** The currencies that it moves. */
  readonly currencies: readonly string[];
  /** Its name in messages: `leg "usd-mxn-1"`. */
  readonly name: string;
  /** Why the run does not want the item any more; null when it does. */
  readonly unwanted: Problem | null;
  /** As in `Wanted`; always false for a leg. */
  readonly isNeverSent: boolean;
  /** Until when it may be sent, in epoch milliseconds. What people have said may change it. */
  readonly windowUntilMs: (said: InstructionsAbout) => number;
  readonly windowPassed: (untilMs: number) => Problem;
  /**
   * True when the same key again does not count as a lookup. Then the lists are read even when this history shows everything
   * about the item.
   */
  readonly looksAlways: boolean;
  readonly lookUp: (said: InstructionsAbout, state: State) => Steps<Look<Found>>;
  /** Takes this record of the service as the item's own. */
  readonly adopt: (said: InstructionsAbout, state: State, record: Found) => Step | Waits<State>;
  /** Ends the item, after a proof that it has no record. */
  readonly end: (said: InstructionsAbout, state: State, problem: Problem) => Step | Waits<State>;
  /**
   * Reads a record that a person has named and that no lookup found. Null: no record with this id agrees with the plan. `another’s`: an
   * item of another run has it.
   */
  readonly readNamed: (
    said: InstructionsAbout,
    id: string,
  ) => Steps<Found | 'unreadable' | 'another’s' | null>;
  /** How long doubt about the item lasts when only time ends it. */
  readonly settleDoubtMs: number;
  /** The longest time between two calls while the item is in doubt. */
  readonly doubtPollMs: number;
};

/** Steps 1 to 4 allow the item to be sent. */
export type Ready<State, Found> = {
  readonly kind: 'ready';
  readonly state: State;
  readonly said: InstructionsAbout;
  /** When the instructions were read. No write leaves much later without reading them again. */
  readonly saidAtMs: number;
  /** The lookup of step 4; null where none was needed. */
  readonly looked: Looked<Found> | null;
  /** True when another API key than this worker's may have sent for this run. */
  readonly otherKeys: boolean;
  /** True when the state was confirmed so long ago that an operator may have restored a backup since. */
  readonly isStale: boolean;
};

/** Steps 1 to 4: wanted, ours to send, inside the send window, looked up unless fresh. */
export function* beforeWrite<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  before: State,
): Steps<Ready<State, Found> | Step | Waits<State>> {
  const { context, item } = subject;
  const { sendWindows } = context.plan;
  // 1. Is it still wanted?
  const saidAtMs = context.nowMs();
  const kept = yield* ask<'read instructions'>({ kind: 'read instructions' });
  const said = saidAbout(subject, kept);
  const { decision } = said;

  // 2. Is it ours to send?
  const foreign = foreignCredentials(context);
  if (foreign !== null) return yet(subject, before, foreign);
  const otherKeys = otherKeysOf(context, kept);

  // 3. Inside the send window?
  const untilMs = subject.windowUntilMs(said);
  const isEarly = context.nowMs() < sendWindows.opensAtMs;
  const isLate = context.nowMs() > untilMs;

  // 4. Unless it is fresh, look up.
  const recalled = recalledBy(subject, before);
  const isPlain =
    otherKeys.length === 0 &&
    decision === null &&
    said.unsigned === null &&
    said.unjudged === null &&
    !said.isTakenBack &&
    before.doubt === null;
  const keyIsLookup = recalled === 'known' && !subject.looksAlways;
  const looked =
    isPlain && (recalled === 'fresh' || keyIsLookup) ? null : yield* lookUp(subject, said, before);
  // What cannot be judged may contradict what people have said, but no record under the item's own name, and no cancel.
  const waitsFor = said.cancelled ? null : said.unjudged;
  if (looked?.look.kind === 'found' && (waitsFor === null || isNamedAsOurs(looked.look.record)))
    return subject.adopt(said, asKnownNow(context, before), looked.look.record);
  if (waitsFor !== null) return untilJudged(subject, before, waitsFor);

  // A wrong clock must neither end an item nor begin a doubt.
  if (looked !== null || isEarly || isLate) {
    const apart = yield* checkClock(context);
    if (apart !== null) return yet(subject, before, apart);
  }
  const now = asKnownNow(context, before);
  // A restored backup may have lost a send of this run. This begins a doubt only when the call acts, not when it only waits.
  const end = said.cancelled ? cancelledItem(context.plan.run, subject, said) : subject.unwanted;
  const isStale = recalled === 'stale' && forPerson(before.phase) === null;
  const acts = subject.call === 'trade' || end !== null || isLate || before.doubt !== null;
  const hides = recalled === 'forgotten' || (isStale && acts) ? recalled : null;
  // While no doubt begins, the state keeps the time at which it was confirmed.
  const asOld = isStale ? { ...now, knownAtMs: before.knownAtMs } : now;
  const state = hides === null ? asOld : assumeSent(context, now, whyHidden(context, before, hides));

  if (looked !== null && decision !== null) return yield* asDecided(subject, said, state, looked, decision);
  if (looked?.look.kind === 'differs') return differs(subject, state, looked.look);
  if (end !== null) return yield* endUnsent(subject, said, state, end, looked);
  if (isEarly) return waits(state, 'opening', sendWindows.opensAtMs - context.nowMs(), notYetOpen(subject));
  if (isLate) return yield* endUnsent(subject, said, state, subject.windowPassed(untilMs), looked);

  // Without a decision that waits for signatures more might leave than with it.
  if (said.unsigned !== null) return awaitsApproval(state, item, said.unsigned);

  // When the same key again counts as a lookup, it takes the place of this one.
  if (subject.looksAlways && looked !== null) {
    const seen = conclude(subject, said, state, looked.look);
    if (seen !== null) return seen;
  }
  const ready = {
    kind: 'ready',
    state,
    said,
    saidAtMs,
    looked,
    otherKeys: otherKeys.length > 0,
    isStale,
  } as const;
  if (looked === null || otherKeys.length === 0) return ready;
  const proven = yield* provenForThisKey(subject, state, looked, { kept, otherKeys });
  return proven.kind === 'wait' ? proven : { ...ready, state: proven.state };
}

/** What people have said about the item. */
function saidAbout({ call, item }: Pick<Subject<never, never, never>, 'call' | 'item'>, kept: Kept) {
  return call === 'withdrawal' ? instructionsAbout(kept, item) : instructionsAboutLeg(kept, item);
}

/** What this call may have forgotten. A doubt that this history already has stays, whatever is proven. */
function recalledBy<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  before: State,
): ReturnType<typeof recall> {
  return subject.isNeverSent ? 'fresh' : recall(subject.context, before, subject);
}

/**
 * Follows a person's decision about the item. A record that differs from the plan counts more than a record that the person
 * has named.
 */
function* asDecided<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  state: State,
  looked: Looked<Found>,
  decision: Decision,
): Steps<Step | Waits<State>> {
  switch (decision.kind) {
    case 'not executed':
      return endAsNotExecuted(subject, said, state, looked, decision);
    case 'executed':
      return looked.look.kind === 'differs'
        ? differs(subject, state, looked.look)
        : yield* adoptNamed(subject, said, state, decision);
  }
}

/**
 * Waits until a person has mended the configuration. When this call may have forgotten a send, the state says so until then.
 */
function yet<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  before: State,
  problem: Problem,
): Waits<State> {
  const { item } = subject;
  return waitLonger(untold(subject, before), configurationWait({ ...problem, item }, before.tries));
}

function untold<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  before: State,
): State {
  return recalledBy(subject, before) === 'forgotten' ? asForgotten(before) : before;
}

/** True for a record that was found by what the service shows of it, and not because people say that it is the item's. */
function isNamedAsOurs(record: Trade | Withdrawal): boolean {
  return !('tag' in record) || record.tag !== null;
}

/** Waits until the worker can tell which words about the item people have approved. What it sends, and how it ends, depends on that. */
function untilJudged<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  before: State,
  message: string,
): Waits<State> {
  const afterMs = Math.min(backoffMs(before.tries), ASK_AGAIN_MS);
  const wait = { afterMs, reason: 'approval', problem: awaitingApproval(subject.item, message) } as const;
  return waitLonger(untold(subject, before), wait);
}

/** Reads the lists for the item. */
export function* lookUp<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  state: State,
): Steps<Looked<Found>> {
  const atMs = subject.context.nowMs();
  return { look: yield* subject.lookUp(said, state), atMs };
}

/**
 * When a write leaves later than this after the instructions were read, it reads them again. A reading that several writes
 * share is at most half as old.
 */
const SAID_AGE_MS = 5_000;

/** So long an item waits before it is asked again whether people have signed. Each signature wakes the run as well. */
const ASK_AGAIN_MS = 60_000;

/**
 * While it is not known whether the item is halted, each wait is at most this long. So the item goes on soon after it is
 * known.
 */
const UNREAD_MS = 60_000;

/**
 * The wait while the item is halted, or while it is not known whether it is. Nothing is sent then. A halt ends no item and
 * no doubt.
 */
export function haltedNow<State extends SendState>(
  { context, item, currencies }: Pick<Subject<State, never, never>, 'context' | 'item' | 'currencies'>,
  state: State,
): Waits<State> | null {
  const closed = context.whyHalted(currencies);
  if (closed === null) return null;
  const problem = { ...closed.problem, item };
  switch (closed.kind) {
    case 'halted':
      return waitLonger(state, { ...configurationWait(problem, state.tries), reason: 'halt' });
    case 'unreadable':
      return waitLonger(state, serviceWait(problem, Math.min(backoffMs(state.tries), UNREAD_MS)));
  }
}

/** Step 5, at the moment of sending. Null: nothing is halted, the clock still agrees, and people have said nothing new. */
export function* mayStillLeave<
  State extends SendState,
  Found extends Trade | Withdrawal,
  Step extends AnyStep,
>(
  subject: Subject<State, Found, Step>,
  { said, saidAtMs, otherKeys }: Pick<Ready<State, Found>, 'said' | 'saidAtMs' | 'otherKeys'>,
  state: State,
): Steps<Waits<State> | null> {
  const { context, item } = subject;
  const halted = haltedNow(subject, state);
  if (halted !== null) return halted;
  const apart = yield* checkClock(context);
  if (apart !== null) return waitLonger(state, configurationWait({ ...apart, item }, state.tries));
  if (context.nowMs() - saidAtMs <= SAID_AGE_MS) return null;
  const kept = yield* ask<'read instructions'>({ kind: 'read instructions' });
  const now = saidAbout(subject, kept);
  const isSame =
    now.cancelled === said.cancelled &&
    now.decision?.id === said.decision?.id &&
    now.unsigned === said.unsigned &&
    now.unjudged === null &&
    now.approvedUntilMs === said.approvedUntilMs &&
    now.eights.length === said.eights.length &&
    otherKeysOf(context, kept).length > 0 === otherKeys;
  return isSame ? null : waits(state, 'service', 1_000, newlySaid(item));
}

/** A run that does not answer is asked again after this time. */
const SILENT_RUN_MS = 60_000;

/**
 * Before a new start or a reset sends an item for the first time, another run of the policy may have done that item. Then
 * nothing is sent, and the problem names that run.
 */
export function* heldElsewhere<
  State extends SendState,
  Found extends Trade | Withdrawal,
  Step extends AnyStep,
>(
  { context, item, name }: Subject<State, Found, Step>,
  state: State,
): Steps<{ readonly state: State } | { readonly problem: Problem } | { readonly wait: Waits<State> }> {
  const { attempt } = context;
  if (!isNewStart(context) || state.askedIn === attempt.runId) return { state };
  const { rival, silent } = yield* ask<'read rival'>({ kind: 'read rival', item });
  if (silent !== null) return { wait: waits(state, 'outage', SILENT_RUN_MS, silentRun(item, name, silent)) };
  if (rival === null) return { state: { ...state, askedIn: attempt.runId } };
  return {
    problem: {
      code: 'DONE_ELSEWHERE',
      item,
      message: `Run ${rival} of the same policy and date has done ${name}, or may still do it. It is not done a second time.`,
      fix: `See \`npx cambist status ${rival}\`. If it is to be done twice, start a new run whose items have other names.`,
    },
  };
}

function silentRun(item: string, name: string, run: string): Problem {
  return {
    code: 'OTHER_RUN_SILENT',
    item,
    message: `It is not known whether run ${run} of the same policy and date has done ${name}: that run does not answer, or has ended without reading its plan again.`,
    fix: `See that a worker serves it: \`npx cambist status ${run}\`. If it has ended, start it again with --go-on. This run asks again by itself, and sends nothing before that.`,
  };
}

// Step 2: other API keys.

/**
 * Other API keys than this worker's that may have sent for this run: the plan's key, and the keys that the instructions
 * name.
 */
function otherKeysOf({ plan, credentials, facts }: Context, kept: Kept): readonly string[] {
  const named = kept.facts.flatMap((fact) => (fact.kind === 'api key' ? [fact.keyName] : []));
  const others = [plan.credentials.keyName, ...named].filter((name) => name !== credentials.keyName);
  // The plan was made again from records that were found. It is not known which API key sent them, unless the operator
  // states it.
  const isKnown = isKeyKnownSince(facts, plan.sendWindows.opensAtMs);
  const forgotten = plan.foundRecords && !isKnown ? ['an API key that is not known any more'] : [];
  return [...new Set([...others, ...forgotten])];
}

/** When this worker's API key was recorded as the newest one; null when it is not the newest. */
function namedAtMs({ credentials }: Context, kept: Kept): number | null {
  const named = kept.facts.findLast((fact) => fact.kind === 'api key');
  return named?.kind === 'api key' && named.keyName === credentials.keyName ? named.atMs : null;
}

/**
 * The service may keep idempotency keys per API key, and a send under another API key may be forgotten. So this worker's API
 * key is recorded first. Nothing is sent before the lists have shown that no worker has sent the item.
 */
function* provenForThisKey<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  state: State,
  { look, atMs }: Looked<Found>,
  { kept, otherKeys }: { readonly kept: Kept; readonly otherKeys: readonly string[] },
): Steps<{ readonly kind: 'proven'; readonly state: State } | Waits<State>> {
  const { context, doubtPollMs } = subject;
  const problem = otherKey(subject, otherKeys);
  const provesAfterMs = othersSendMs(context) + context.facts.listLagMs;
  const later = (ms: number) => waits(state, 'doubt', Math.min(ms, doubtPollMs), problem);
  const named = namedAtMs(context, kept);
  if (named === null) {
    const { keyName } = context.credentials;
    const facts = [{ kind: 'api key', keyName, atMs: context.nowMs() }] as const;
    const isKept = yield* ask<'note facts'>({ kind: 'note facts', facts });
    return isKept ? later(provesAfterMs) : waitLonger(state, serviceWait(problem, backoffMs(state.tries)));
  }
  switch (look.kind) {
    case 'differs':
    case 'unproven':
      return unsettled(subject, state, look);
    // A record that was found has been adopted already.
    case 'found':
    case 'absent':
      break;
  }
  if (atMs < named + provesAfterMs) return later(named + provesAfterMs - atMs + 1_000);
  if (!isOthersDoubt(context, state)) return { kind: 'proven', state };
  const settled = settleByTime(state, atMs, subject.settleDoubtMs);
  if (settled.over) return { kind: 'proven', state: settled.state };
  return waits(settled.state, 'doubt', Math.min(settled.nextLookupMs, doubtPollMs), problem);
}

// The end of an item, and doubt that only lookups end.

/** The wait after a lookup that did not settle the item. */
function unsettled<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  state: State,
  look: Exclude<Look<Found>, { kind: 'found' | 'absent' }>,
): Waits<State> {
  switch (look.kind) {
    case 'differs':
      return differs(subject, state, look);
    case 'unproven': {
      if (look.complete) return waits(state, 'person', SLOW_LOOKUP_MS, couldBeIt(subject, look.reason));
      const pause = serviceWait(unreadable(subject.item, look.reason), backoffMs(state.tries));
      return waitLonger(state, state.doubt === null ? pause : { ...pause, reason: 'doubt' });
    }
  }
}

/** What a lookup settles; null when it found the item absent. */
export function conclude<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  state: State,
  look: Look<Found>,
): Step | Waits<State> | null {
  switch (look.kind) {
    case 'absent':
      return null;
    case 'found':
      return subject.adopt(said, state, look.record);
    case 'differs':
    case 'unproven':
      return unsettled(subject, state, look);
  }
}

/** The doubt is over. `over` is the new state. */
type Over<State> = { readonly over: State };
/** The doubt is not over. `step` is the result of the call. */
type Ends<Step> = { readonly step: Step };

/** Handles a doubt that only lookups and time end: it is over, or the item waits for the next lookup. */
export function* settleDoubt<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  state: State,
  given: { readonly problem: Problem; readonly looked: Looked<Found> | null },
): Steps<Over<State> | Ends<Step | Waits<State>>> {
  const { look, atMs } = given.looked ?? (yield* lookUp(subject, said, state));
  const seen = conclude(subject, said, state, look);
  if (seen !== null) return { step: seen };
  // A wrong clock does not prove that time has passed.
  const apart = yield* checkClock(subject.context);
  if (apart !== null)
    return { step: waitLonger(state, configurationWait({ ...apart, item: subject.item }, state.tries)) };
  const settled = settleByTime(state, atMs, subject.settleDoubtMs);
  if (settled.over) return { over: settled.state };
  const afterMs = Math.min(settled.nextLookupMs, subject.doubtPollMs);
  const { problem } = given;
  // A person must decide afterwards, so this is no safety wait.
  if (problem.code !== 'IN_DOUBT') return { step: waits(settled.state, 'doubt', afterMs, problem) };
  const { safeAtMs } = settled;
  return { step: waitsSafely(subject, settled.state, { afterMs, safeAtMs, problem }) };
}

/** Ends an item once it is proven that it was not sent. While it is in doubt, it waits until time has ended the doubt. */
export function* endUnsent<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  state: State,
  problem: Problem,
  looked: Looked<Found> | null = null,
): Steps<Step | Waits<State>> {
  // The service said that a record is ours. A person must decide that, even when the run does not want the item any more.
  const decides = forPerson(state.phase);
  const given = { problem: decides ?? inDoubt(subject, state, problem), looked };
  const settled = yield* settleDoubt(subject, said, state, given);
  if ('step' in settled) return settled.step;
  if (decides !== null) return waits(settled.over, 'person', SLOW_LOOKUP_MS, decides);
  return subject.end(said, settled.over, problem);
}

/** True when the result is of this kind. It distinguishes a result of the protocol from a step of the item. */
export function isOf<Kind extends string, Own extends { readonly kind: string }>(
  kind: Kind,
  step: Own,
): step is Extract<Own, { readonly kind: Kind }> {
  return step.kind === kind;
}

/**
 * A person's "not executed" does not count at once. This Temporal run must have known it for as long as an older attempt
 * could still send, and for as long as the lists may lag. Then a complete lookup must show nothing of the item. After a
 * reset this time begins again.
 */
function endAsNotExecuted<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  before: State,
  looked: Looked<Found>,
  decision: RecordedOf<'not executed'>,
): Step | Waits<State> {
  const counted = countNotExecuted(subject, said, before, looked, decision);
  return 'step' in counted
    ? counted.step
    : subject.end(said, counted.over, decidedAgainst(subject, decision));
}

/** Tells, after a lookup, whether a "not executed" counts by now. */
export function countNotExecuted<
  State extends SendState,
  Found extends Trade | Withdrawal,
  Step extends AnyStep,
>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  before: State,
  { look, atMs }: Looked<Found>,
  decision: RecordedOf<'not executed'>,
): Over<State> | Ends<Step | Waits<State>> {
  const { context } = subject;
  const now = context.nowMs();
  const known = before.heard?.id === decision.id && before.heard.sinceMs <= now ? before.heard : null;
  const heard = known ?? { id: decision.id, sinceMs: now };
  const state: State = { ...before, heard };
  const countsAtMs = heard.sinceMs + othersSendMs(context) + context.facts.listLagMs;
  switch (look.kind) {
    case 'found':
      return { step: subject.adopt(said, state, look.record) };
    case 'unproven': {
      if (!look.complete) return { step: unsettled(subject, state, look) };
      // The service's clock may have been wrong when it made the record.
      if ((look.newestAtMs ?? 0) > decision.atMs - CREATED_SLACK_MS)
        return { step: waits(state, 'person', SLOW_LOOKUP_MS, tooYoung(subject, look.reason, decision)) };
      break;
    }
    // The record contradicts the plan, or it could be the item and is older than the decision. The person has judged it.
    case 'differs':
    case 'absent':
      break;
  }
  if (atMs >= countsAtMs) return { over: { ...state, doubt: null } };
  const afterMs = Math.min(countsAtMs - now + 1_000, subject.doubtPollMs);
  return { step: waits(state, 'doubt', afterMs, soonDecided(subject, decision)) };
}

/** Checks a record that a person has named against the service, then adopts it. */
function* adoptNamed<State extends SendState, Found extends Trade | Withdrawal, Step extends AnyStep>(
  subject: Subject<State, Found, Step>,
  said: InstructionsAbout,
  state: State,
  { recordId }: RecordedOf<'executed'>,
): Steps<Step | Waits<State>> {
  const record = yield* subject.readNamed(said, recordId);
  if (record === 'unreadable')
    return waitLonger(
      state,
      serviceWait(unreadable(subject.item, `record ${recordId}`), backoffMs(state.tries)),
    );
  if (record === null) return waits(state, 'person', SLOW_LOOKUP_MS, decisionUnproven(subject, recordId));
  if (typeof record !== 'string') return subject.adopt(said, state, record);
  return waits(state, 'person', SLOW_LOOKUP_MS, {
    ...decisionUnproven(subject, recordId),
    message: `A person has named record ${recordId} for ${subject.name}, but another item has this record as its own, or a person has named it for that item too.`,
  });
}

/** A record without a name of ours that no other item has, or is said to have. @param isNamed only a person says that it is the item's */
export function* asNoOthers<Found extends Trade | Withdrawal>(
  item: string,
  record: Found,
  isNamed: boolean,
): Steps<Found | 'another’s' | 'unreadable'> {
  const { claimed } = yield* ask<'read claims'>({ kind: 'read claims', records: [record] });
  if (claimed.includes(record.id)) return 'another’s';
  if (!isNamed) return record;
  const isFree = yield* isNamedHereOnly(item, record);
  return isFree === null ? 'unreadable' : isFree ? record : 'another’s';
}

/**
 * Two people may name one record for two items at the same moment, before either run has taken it. What each has said was kept
 * before its worker asks, so the worker that asks last finds both. Whoever finds the word of the other leaves the record to
 * people. Null: that is not known now.
 */
export function* isNamedHereOnly(item: string, record: Trade | Withdrawal): Steps<boolean | null> {
  const { named } = yield* ask<'read words'>({ kind: 'read words', item, record });
  return named === null ? null : !named;
}

// Waits and problems that legs and payments share.

export function waits<State>(
  state: State,
  reason: WaitReason,
  afterMs: number,
  problem: Problem,
): Waits<State> {
  return { kind: 'wait', state, wait: { afterMs, reason, problem } };
}

/** The wait for people who must approve what was said about the item. @param waitsFor as a sentence */
export function awaitsApproval<State>(state: State, item: string, waitsFor: string): Waits<State> {
  return waits(state, 'approval', ASK_AGAIN_MS, awaitingApproval(item, waitsFor));
}

function awaitingApproval(item: string, waitsFor: string): Problem {
  return makeProblem('AWAITING_APPROVAL', item, { message: waitsFor });
}

/** The wait of a doubt that only time ends. It tells when that is, and that there is nothing to do. */
export function waitsSafely<State>(
  { context }: { readonly context: Pick<Context, 'nowMs'> },
  state: State,
  { afterMs, safeAtMs, problem }: Pick<Wait, 'afterMs' | 'problem'> & { readonly safeAtMs: number },
): Waits<State> {
  const fix = `It looks again by itself: ${safetyWaitSentence(problem, safeAtMs, context.nowMs())}`;
  return {
    kind: 'wait',
    state,
    wait: { afterMs, reason: 'doubt', problem: { ...problem, fix }, safeAtMs },
  };
}

/** Waits once more. The next wait in a row is longer. */
export function waitLonger<State extends SendState>(state: State, wait: Wait): Waits<State> {
  return { kind: 'wait', state: triedAgain(state), wait };
}

type Named = { readonly item: string; readonly name: string };

function differs<State extends SendState>(
  subject: Named,
  state: State,
  { record, difference }: Extract<Look<Trade | Withdrawal>, { kind: 'differs' }>,
): Waits<State> {
  return waits(state, 'person', SLOW_LOOKUP_MS, {
    code: 'RECORD_DIFFERS',
    item: subject.item,
    message: `Record ${record.id} of the service belongs to ${subject.name}, but ${difference}. Nothing is sent for this item.`,
    fix: 'Compare the record with the plan, then decide with `npx cambist resolve`.',
  });
}

function couldBeIt({ item, name }: Named, reason: string): Problem {
  return {
    code: 'RECORD_COULD_BE_IT',
    item,
    message: `It cannot be proven whether the service accepted ${name}: ${reason}.`,
    fix: 'Decide with `npx cambist resolve`: --executed with its id if the record is this one, --not-this with its id if it is another one, or --not-executed.',
  };
}

/** The record that could be the item may have come about after the person had looked. */
function tooYoung(named: Named, reason: string, { by }: RecordedOf<'not executed'>): Problem {
  const problem = couldBeIt(named, reason);
  return {
    ...problem,
    message: `${problem.message} ${by} has said that it was not executed. This does not count, since the record was made later, or in the 10 minutes before.`,
    fix: 'Decide once the record is 10 minutes old: name it if it is this one, or say again that it was not executed.',
  };
}

export function inDoubt(
  { item, name, context }: Named & { readonly context: Context },
  state: SendState,
  meanwhile: Problem | null,
): Problem {
  const { doubt } = state;
  const why = doubt?.why ?? whyHidden(context, state, 'stale');
  return {
    code: 'IN_DOUBT',
    item,
    message: `It is not known yet whether ${name} was executed (${why}${meanwhile === null ? '' : `; meanwhile: ${meanwhile.message}`}). Nothing new is sent before it is known.`,
    fix: `Nothing to do: the run looks again by itself, and goes on when the records of the service show it.${meanwhile === null ? '' : ` ${SENT_SOONER}`}`,
  };
}

function notYetOpen({ item, context }: Named & { readonly context: Context }): Problem {
  const { date, zone } = context.plan;
  return {
    code: 'NOT_YET_OPEN',
    item,
    message: `The date of the run, ${date}, has not begun yet in ${zone}.`,
    fix: 'Nothing to do: the run goes on when its date begins.',
  };
}

function newlySaid(item: string): Problem {
  return {
    code: 'NEWLY_SAID',
    item,
    message: 'A person has just said something new about the run.',
    fix: 'Nothing to do: the run follows it in a second.',
  };
}

function otherKey(
  { item, name, context }: Named & { readonly context: Context },
  others: readonly string[],
): Problem {
  return {
    code: 'API_KEY_CHANGED',
    item,
    message: `The worker uses the API key ${context.credentials.keyName}, but ${name} may have been sent under ${others.join(', ')}.`,
    fix: 'Nothing to do: the run looks at the lists of the service until it is sure what was sent under the old key, and then goes on under the new one. It asks a person only about a record that carries no reference and could be the item.',
  };
}

function decidedAgainst({ item, name }: Named, { by, why }: RecordedOf<'not executed'>): Problem {
  return {
    code: 'DECIDED_NOT_EXECUTED',
    item,
    message: `${by} has said that ${name} was not executed: ${why}`,
    fix: 'If it is still wanted, pay it again with --pay-again, or trade it in a new run.',
  };
}

function soonDecided({ item, name }: Named, { by }: RecordedOf<'not executed'>): Problem {
  return {
    code: 'DECISION_PENDING',
    item,
    message: `${by} has said that ${name} was not executed. The run waits until nothing that was sent before can still appear.`,
    fix: 'Nothing to do: the run looks once more, in two to three minutes, and then follows the decision.',
  };
}

function decisionUnproven({ item, name }: Named, recordId: string): Problem {
  return {
    code: 'DECISION_UNPROVEN',
    item,
    message: `A person has named record ${recordId} for ${name}, but the service shows no record with this id that agrees with the plan.`,
    fix: 'Name the right record, or decide again.',
  };
}
