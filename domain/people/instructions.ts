/**
 * What people said about a run (*instructions*), and the facts that no reset may lose. Temporal keeps both outside the
 * history of the run. They are read before every write, and never override a record of the service. Pure.
 */
import { isReplaced, successorIn } from '../replacement.ts';
import { BYTES_OF_A_PAGE, jsonBytes } from '../json-bytes.ts';

/** What a person said. The command makes `id`, a uuid; two instructions with the same id are one. */
type SaidByPerson = { readonly id: string; readonly by: string; readonly why: string };

export type Instruction =
  /** Unsent items of the run stay unsent. */
  | (SaidByPerson & { readonly kind: 'cancel' })
  /**
   * `item` null: takes back the cancel whose id is `takesBack`, and all before it, but none after it. An item: the cause of
   * its wait is gone, try it now; `takesBack` is null then, and also where the person has seen no cancel. Or the item is the
   * name of a list of what was found (`domain/run/claims.ts`), which the run goes on in spite of.
   */
  | (SaidByPerson & {
      readonly kind: 'go-on';
      readonly item: string | null;
      readonly takesBack: string | null;
      /** For a list of look-alikes: exactly these look like payments of the batch, and none is one. So they stop no payment. */
      readonly lookAlikes?: LookAlikeApproval;
    })
  /**
   * The item was executed, and this record of the service is its record. The run adopts the record if it exists and agrees
   * with the plan.
   */
  | (SaidByPerson & { readonly kind: 'executed'; readonly item: string; readonly recordId: string })
  /** The item was not executed; `why` is the evidence. It replaces the rest of the time that doubt takes. */
  | (SaidByPerson & { readonly kind: 'not executed'; readonly item: string })
  /** This record of the service, which carries no name and could be the payment, is not the payment. `why` is the evidence. */
  | (SaidByPerson & { readonly kind: 'not this'; readonly item: string; readonly recordId: string })
  /**
   * Opens later generations of a payment. `follows`: the generation before them; `recordId`: the record of that generation.
   */
  | (SaidByPerson & {
      readonly kind: 'pay again';
      readonly item: string;
      readonly follows: number;
      readonly recordId: string | null;
    })
  /**
   * The same for payments of a batch, of these chunks. They may be too many for one instruction, so the workflows of the chunks
   * keep them as facts `to pay again`. `spelledOut` joins both.
   */
  | (SaidByPerson & { readonly kind: 'pay these again'; readonly chunks: readonly PaidAgainOfChunk[] })
  /** A person accepts a trade that came out worse than planned. */
  | (SaidByPerson & { readonly kind: 'accept'; readonly item: string; readonly recordId: string })
  /**
   * A person has signed the plan of the run, as who has started it or as one of those who approve it; or, with `about`, the
   * instruction with this id, as who has said it or as one of those who approve it. `signature` is one of `ssh-keygen -Y sign`,
   * base64. It counts only where the worker that sends verifies it (`domain/writes/approvals.ts`).
   */
  | (SaidByPerson & {
      readonly kind: 'approve';
      readonly as: 'starter' | 'approver';
      readonly about: string | null;
      readonly expiresAtMs: number;
      readonly signature: string;
    })
  /**
   * Nothing of the run was executed, and the run of the same policy with the id `instead` takes its place. From then on
   * nothing of it is sent, and no person can take that back. A run has at most one of these: its id is always `SUPERSEDED`.
   */
  | (SaidByPerson & { readonly kind: 'superseded'; readonly instead: string })
  /**
   * A person looks after the run. This changes nothing of the run, covers `needs` and nothing else, and no longer counts once
   * the run's state is not `standing` any more.
   */
  | (SaidByPerson & {
      readonly kind: 'acknowledge';
      readonly standing: string;
      readonly needs: readonly Need[];
    });

/**
 * One thing that needs a person. `item`: the leg or payment; null: the run as a whole, or its batch. `count`: how many payments
 * of a batch it is about; otherwise 1.
 */
export type Need = readonly [code: string, item: string | null, count: number];

/** An acknowledgement has at most this many. What is beyond it is not covered. */
export const MOST_NEEDS = 1_000;

/** One of several payments: the `item`, `follows` and `recordId` of an instruction about one payment. */
export type PaidAgain = readonly [item: string, follows: number, recordId: string | null];

/** How many payments of which chunk, and the hash of their list (`language/batch/chunk-hash.ts`), so that nobody adds to it later. */
export type PaidAgainOfChunk = readonly [chunk: number, payments: number, hash: string];

/**
 * Which look-alikes of a batch are approved: exactly those that were created between the two moments, epoch milliseconds.
 */
export type LookAlikeApproval = {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** A group has this many payments of a chunk, one after the other. */
  readonly perGroup: number;
  /** `chunk.group.hash` for each group with look-alikes. The hash is of the ids of all its look-alikes. */
  readonly groups: readonly string[];
};

/** An instruction with the moment of its acceptance and the UTC date, by a clock that agrees with the service's. */
export type Accepted = Instruction & { readonly atMs: number; readonly date: string };

/**
 * An instruction as it is kept. Its `number` gives its place among those that the same workflow keeps. The moment only
 * informs, since a history that is opened again may be on a server with another clock.
 */
export type Recorded = Accepted & { readonly number: number };

/** How a command says an instruction. */
export type Saying = {
  /** The number of the newest entry of people that the command had read, and its person had seen; 0: there was none. */
  readonly seen: number;
  /** The person waits for the answer until then, epoch milliseconds. */
  readonly untilMs: number;
};

/** A person waits this long for an instruction to be kept. */
export const PERSON_WAITS_MS = 5 * 60_000;

/** Facts that no reset may lose. */
export type Fact =
  /** A worker with this API key, not the plan's, is about to send for this run. */
  | { readonly kind: 'api key'; readonly keyName: string; readonly atMs: number }
  /** A generation above the first is about to be sent. */
  | {
      readonly kind: 'opened';
      readonly item: string;
      readonly generation: number;
      readonly atMs: number;
    }
  /**
   * Payments of a chunk that the plan has ended, by their places in it, can be paid now, and the chunk is about to hear so. A
   * payment that the plan has ended and that no such fact names was never sent.
   */
  | { readonly kind: 'let go'; readonly chunk: number; readonly places: readonly number[] }
  /**
   * Payments of the chunk that a person names to be paid again. It is there before the person's instruction, which has the id
   * `said`, and counts by that instruction alone.
   */
  | { readonly kind: 'to pay again'; readonly said: string; readonly items: readonly PaidAgain[] };

/** The answer of the workflow `instructions`; both lists oldest first. */
export type Kept = {
  readonly instructions: readonly Recorded[];
  readonly facts: readonly Fact[];
  /**
   * Instructions that people must approve and have not, by their ids, and what they wait for, as a sentence. Only a worker that
   * acts by the instructions knows this: its folder says so. Absent: there are none.
   */
  readonly unsigned?: Readonly<Record<string, string>>;
  /** Those of them of which the worker cannot tell now whether people have approved them. Absent: there are none. */
  readonly unjudged?: readonly string[];
};

/**
 * One part of what is kept, so that no answer grows. `next`: where the next part begins; null: this is the last part. `all`:
 * how many entries there are.
 */
export type KeptPage = { readonly kept: Kept; readonly next: number | null; readonly all: number };

/** The part that begins with entry `offset` of all instructions and facts. */
export function keptPage({ instructions, facts }: Kept, offset: number): KeptPage {
  const all = instructions.length + facts.length;
  const at = (index: number): Recorded | Fact | undefined =>
    instructions[index] ?? facts[index - instructions.length];
  let end = offset;
  for (let bytes = 0; end < all; end += 1) {
    bytes += jsonBytes(at(end));
    if (bytes > BYTES_OF_A_PAGE && end > offset) break;
  }
  const kept = {
    instructions: instructions.slice(offset, end),
    facts: facts.slice(Math.max(offset - instructions.length, 0), Math.max(end - instructions.length, 0)),
  };
  return { kept, next: end < all ? end : null, all };
}

/**
 * What people said, with one more `pay again` behind each `pay these again` for each payment that the facts list for it. People say
 * everything about the run, so that all of it has one order. A list counts for nothing where its instruction is not kept.
 */
export function spelledOut({ instructions, facts }: Kept): Kept {
  const lists = facts.flatMap((fact) => (fact.kind === 'to pay again' ? [fact] : []));
  if (lists.length === 0) return { instructions, facts };
  const each = instructions.flatMap((said): readonly Recorded[] => {
    if (said.kind !== 'pay these again') return [said];
    const { chunks: _chunks, ...rest } = said;
    const items = lists.flatMap((list) => (list.said === said.id ? list.items : []));
    const alone = items.map(([item, follows, recordId]): Recorded => {
      return { ...rest, kind: 'pay again', item, follows, recordId };
    });
    return [said, ...alone];
  });
  return { instructions: each, facts };
}

export const NOTHING_KEPT: Kept = Object.freeze({ instructions: [], facts: [] });

/** The payments of a chunk that the plan has ended and that were let go since, by their places. */
export function letGoOf({ facts }: Kept, chunk: number): ReadonlySet<number> {
  return new Set(
    facts.flatMap((fact) => (fact.kind === 'let go' && fact.chunk === chunk ? fact.places : [])),
  );
}

/** An instruction of one kind, as accepted. */
export type RecordedOf<Kind extends Instruction['kind']> = Extract<Instruction, { readonly kind: Kind }> & {
  readonly atMs: number;
  readonly date: string;
};

export type Decision = RecordedOf<'executed' | 'not executed'>;

/** The generations `first` to `first + 7` of a payment, of which a person has said that they may be sent. */
type Opening = {
  readonly first: number;
  /** From this moment on no key of these generations is sent, epoch milliseconds. */
  readonly windowUntilMs: number;
  readonly openedBy: RecordedOf<'pay again'>;
};

/** Generations that a person has opened. They have a send window of their own. */
export type Eight = Opening & {
  /**
   * The "not executed" that was the last decision when these were opened. Once it counts, it closes the generations below.
   * Null: there was none.
   */
  readonly closedBy: RecordedOf<'not executed'> | null;
};

/** What all instructions and facts say about one item. */
export type InstructionsAbout = {
  readonly cancelled: boolean;
  /** Id of the run that has taken the place of this one, for messages; null: no run has. */
  readonly successor: string | null;
  /**
   * The last decision about the item. A later `pay again` replaces it, but "executed" only where it names the same record as failed
   * and is approved: otherwise that record may have paid the item.
   */
  readonly decision: Decision | null;
  /**
   * A `pay again` has taken back that a record had paid the item. Whether that record has failed is looked up before anything is sent.
   */
  readonly isTakenBack: boolean;
  /**
   * What a decision about the item waits for that people must approve. It counts as not said yet, and nothing of the item is sent
   * before it is approved, or an approved one replaces it. Null: there is none.
   */
  readonly unsigned: string | null;
  /** The records that such a decision names. People may have approved it by the folder of another worker. */
  readonly unsignedIds: readonly string[];
  /**
   * Why it cannot be told now whether people have approved what was said of the item. Until it can, nothing of the item is sent, and no
   * record is its own but one under its name. A cancel, and a later decision that counts, end it all the same. Null: it can be told.
   */
  readonly unjudged: string | null;
  /** The same as `unsigned`, for the acceptance of a trade. */
  readonly unsignedAcceptance: string | null;
  /** The generations that people opened above the plan's own eight, in order, by instructions that need no approval or have it. */
  readonly eights: readonly Eight[];
  /**
   * The last `pay again` that people must approve and have not, and that no decision or approved `pay again` has overtaken. It
   * opens nothing and closes nothing. `waitsFor`: as `unsigned` says it. Null: there is none.
   */
  readonly awaited: (Opening & { readonly waitsFor: string }) | null;
  /** Every `go-on` that says that this item's cause is gone. */
  readonly causeGone: readonly RecordedOf<'go-on'>[];
  /** Records of this item that a person accepted as they are. */
  readonly acceptedIds: readonly string[];
  /** Records that a person says are not this item's. */
  readonly notThisIds: readonly string[];
  /**
   * A person has looked through the records that look like payments of the batch up to this moment, and approved them; null:
   * no person has.
   */
  readonly approvedUntilMs: number | null;
  /** What such an approval waits for that people must sign. It counts as not said before that. Null: nothing. */
  readonly unsignedAlike: string | null;
  /** Generations above the first that a worker was about to send, in the order in which they were noted. */
  readonly opened: readonly Extract<Fact, { kind: 'opened' }>[];
};

/** A plan has this many generations of its own, and each `pay again` opens as many. */
export const GENERATIONS_AT_ONCE = 8;

/** The number of the eight to which a generation belongs; 0 is the plan's own. */
export function eightOf(generation: number): number {
  return Math.floor((generation - 1) / GENERATIONS_AT_ONCE);
}

/** The first generation of an eight. */
export function firstOf(eight: number): number {
  return eight * GENERATIONS_AT_ONCE + 1;
}

/** The first generation of the eight that a `pay again` opens which follows this one. */
function firstAfter(follows: number): number {
  return firstOf(eightOf(follows) + 1);
}

/** The end of the send window of what a person opens at this moment: 00:00 UTC of its date plus 5 days 12 h. */
export function openUntilMs(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS + WINDOW_MS;
}

const DAY_MS = 24 * 3_600_000;
const WINDOW_MS = 5 * DAY_MS + DAY_MS / 2;

/**
 * True when unsent items stay unsent. `instructions` are in the order in which people said them. A `go-on` takes back the
 * cancel that it names and those before it, and no later one. When another run has taken the place of this one, no `go-on`
 * takes that back.
 */
export function isCancelled(instructions: readonly Instruction[]): boolean {
  if (isReplaced(instructions)) return true;
  const cancels = instructions.flatMap((said) => (said.kind === 'cancel' ? [said.id] : []));
  const takenBack = instructions.flatMap((said) =>
    said.kind === 'go-on' && said.takesBack !== null ? [cancels.indexOf(said.takesBack)] : [],
  );
  return Math.max(-1, ...takenBack) < cancels.length - 1;
}

/** The id of the newest cancel; null: there is none. */
export function newestCancel(instructions: readonly Instruction[]): string | null {
  return instructions.findLast(({ kind }) => kind === 'cancel')?.id ?? null;
}

/**
 * The number of the newest entry of people; 0: there is none. An `acknowledge` changes nothing of the run, and an `approve`
 * nothing of what people have said, so they are left out.
 */
export function newestSaid(instructions: readonly Recorded[]): number {
  return instructions.reduce(
    (newest, { kind, number }) =>
      kind === 'acknowledge' || kind === 'approve' ? newest : Math.max(newest, number),
    0,
  );
}

/** Even eight generations a day, or a hundred instructions, would never reach it. Numbers above it cannot be read. */
export const MOST_NUMBER = 100_000;

/** What becomes of an instruction that a person says. */
export type TakenIn =
  | { readonly kind: 'kept'; readonly said: Recorded }
  /** A person has said something that this one had not seen. */
  | { readonly kind: 'said since' }
  /** The person who said it does not wait for it any more. */
  | { readonly kind: 'too late' }
  /** There is no number left for it. Somebody has said far too much, or has written a number that no worker gives. */
  | { readonly kind: 'no number left' };

/**
 * Decides whether an instruction is kept, and under which number. One that is known already is answered as it is kept.
 * `instructions`: all that the same workflow keeps.
 */
export function takeIn(
  instructions: readonly Recorded[],
  accepted: Accepted,
  { seen, untilMs }: Saying,
  nowMs: number,
): TakenIn {
  const known = instructions.find(({ id }) => id === accepted.id);
  if (known !== undefined) return { kind: 'kept', said: known };
  if (!isAlwaysKept(accepted)) {
    if (nowMs > untilMs) return { kind: 'too late' };
    if (needsToHaveSeen(accepted) && newestSaid(instructions) > seen) return { kind: 'said since' };
  }
  const number = 1 + instructions.reduce((most, said) => Math.max(most, said.number), 0);
  if (number <= MOST_NUMBER) return { kind: 'kept', said: { ...accepted, number } };
  // A cancel is always heard. It comes after all that was said before, under the last number too.
  return accepted.kind === 'cancel'
    ? { kind: 'kept', said: { ...accepted, number: MOST_NUMBER } }
    : { kind: 'no number left' };
}

/** What stops sending, or changes nothing of the run, is never refused. */
function isAlwaysKept({ kind }: Instruction): boolean {
  return kind === 'cancel' || kind === 'acknowledge';
}

/** False for instructions that stop or start sending: the last one that was said counts, at any time. */
export function needsTheTime({ kind }: Instruction): boolean {
  return kind !== 'cancel' && kind !== 'go-on' && kind !== 'superseded';
}

/** True for what lets something be sent or ended: it holds only for what its person has seen. */
function needsToHaveSeen({ kind }: Instruction): boolean {
  switch (kind) {
    case 'go-on':
    case 'executed':
    case 'not executed':
    case 'not this':
    case 'pay again':
    case 'pay these again':
    case 'accept':
      return true;
    // The first two are always kept. The others name all that they are about.
    case 'cancel':
    case 'acknowledge':
    case 'superseded':
    case 'approve':
      return false;
  }
}

/** Instructions that people may also give for a run of which nothing was executed. */
const SAID_OF_NOTHING: readonly Instruction['kind'][] = [
  'cancel',
  'go-on',
  'not executed',
  'not this',
  'superseded',
  'acknowledge',
  'approve',
];

/** What is kept that shows that something of the run was executed or sent, in a few words; null: nothing shows it. */
export function saidOfExecuted({ instructions, facts }: Kept): string | null {
  const said = instructions.find(({ kind }) => !SAID_OF_NOTHING.includes(kind));
  if (said !== undefined) return `${said.by} has said "${said.kind}" of it`;
  const [sent] = facts.flatMap((fact) => ('item' in fact ? fact.item : []));
  return sent === undefined ? null : `something of "${sent}" was sent`;
}

/** A person has said of a list of look-alikes that none of them is a payment of the batch. */
export type AlikeList = Extract<Recorded, { readonly kind: 'go-on' }> & {
  readonly lookAlikes: LookAlikeApproval;
};

export function isAlikeList(said: Recorded): said is AlikeList {
  return said.kind === 'go-on' && said.lookAlikes !== undefined;
}

/** The last list that a person has approved, which covers all records that were there at that time. An earlier one counts no longer. */
export function lastAlikeList({ instructions }: Pick<Kept, 'instructions'>): AlikeList | null {
  return instructions.findLast(isAlikeList) ?? null;
}

/** The approval of look-alikes that counts. Null: there is none, or people must sign it and have not. */
export function approvalIn(kept: Kept): LookAlikeApproval | null {
  const last = lastAlikeList(kept);
  return last === null || alikeWaitsFor(kept) !== null ? null : last.lookAlikes;
}

/** What the last approval of look-alikes waits for that people must sign; null: nothing. */
function alikeWaitsFor(kept: Kept): string | null {
  return kept.unsigned?.[lastAlikeList(kept)?.id ?? ''] ?? null;
}

/**
 * The items for which a person has named this record, where no person has decided otherwise about the item since. To pay an item again
 * leaves the record with it. A word that lacks its signatures counts here too: they may be there by the folder of another worker, which
 * then takes the record for that item.
 */
export function itemsOfRecordIn(kept: Kept, recordId: string): readonly string[] {
  return kept.instructions.flatMap((said) => {
    if (said.kind !== 'executed' || said.recordId !== recordId) return [];
    const { decision, unsignedIds } = instructionsAboutLeg(kept, said.item);
    return decision?.id === said.id || unsignedIds.includes(recordId) ? [said.item] : [];
  });
}

/** The records that had failed when a person let the item be paid again, as that person says. */
export function closedIdsOf(eights: readonly Pick<Eight, 'openedBy'>[]): readonly string[] {
  return eights.flatMap(({ openedBy }) => openedBy.recordId ?? []);
}

/** The same of a leg. No leg is paid again, whatever somebody has written past the commands. */
export function instructionsAboutLeg(kept: Kept, item: string): InstructionsAbout {
  const instructions = kept.instructions.filter(({ kind }) => kind !== 'pay again');
  return instructionsAbout({ ...kept, instructions }, item);
}

/** Combines everything that is kept into what it says about one item. */
export function instructionsAbout(kept: Kept, item: string): InstructionsAbout {
  let decision: Decision | null = null;
  const eights: Eight[] = [];
  const causeGone: RecordedOf<'go-on'>[] = [];
  const acceptedIds: string[] = [];
  const notThisIds: string[] = [];
  let waiting: readonly Waiting[] = [];
  let unjudged: readonly Waiting[] = [];
  let unsignedAcceptance: string | null = null;
  let isTakenBack = false;
  let awaited: InstructionsAbout['awaited'] = null;
  for (const each of kept.instructions) {
    const said = saidOf(each, item);
    if (said === null) continue;
    const waitsFor = kept.unsigned?.[said.id] ?? null;
    if (waitsFor !== null && kept.unjudged?.includes(said.id) === true)
      unjudged = [...unjudged, { said, waitsFor }];
    if (waitsFor !== null && said.kind !== 'pay again') {
      if (said.kind === 'accept') unsignedAcceptance = waitsFor;
      else waiting = [...waiting, { said, waitsFor }];
      continue;
    }
    switch (said.kind) {
      case 'go-on':
        causeGone.push(said);
        break;
      case 'executed':
        // That record had failed when a person let the item be paid again, so it can be no later payment of it.
        if (!closedIdsOf(eights).includes(said.recordId)) decision = said;
        waiting = [];
        unjudged = [];
        awaited = null;
        break;
      case 'not executed':
        decision = said;
        waiting = [];
        unjudged = [];
        awaited = null;
        break;
      case 'accept':
        acceptedIds.push(said.recordId);
        break;
      case 'not this':
        notThisIds.push(said.recordId);
        // It contradicts that the record is the item's, and says once more what was said of this record before.
        waiting = waiting.filter((one) => !isOfRecord(one, said.recordId));
        unjudged = unjudged.filter((one) => one.said.kind === 'pay again' || !isOfRecord(one, said.recordId));
        break;
      case 'pay again': {
        const opening = {
          first: firstAfter(said.follows),
          windowUntilMs: openUntilMs(said.atMs),
          openedBy: said,
        };
        // A second instruction about the same generations changes nothing, not even what was decided since.
        if (opening.first <= (eights.at(-1)?.first ?? 1)) break;
        if (waitsFor !== null) {
          awaited = { ...opening, waitsFor };
          break;
        }
        const last: Decision | null = decision;
        const closedBy = last?.kind === 'not executed' ? last : null;
        const isOver = last?.kind === 'executed' && last.recordId === said.recordId;
        if (closedBy !== null || isOver) decision = null;
        isTakenBack ||= isOver;
        awaited = null;
        // It says of the same record that it has failed. So it would take that back, and no more leaves than if people had signed it.
        const isOpenToo = (one: Waiting): boolean => !isOfRecord(one, said.recordId);
        isTakenBack ||= !waiting.every(isOpenToo);
        waiting = waiting.filter(isOpenToo);
        eights.push({ ...opening, closedBy });
      }
    }
  }
  return {
    cancelled: isCancelled(kept.instructions),
    successor: successorIn(kept.instructions),
    decision,
    isTakenBack,
    unsigned: waiting.at(-1)?.waitsFor ?? null,
    unsignedIds: waiting.flatMap(({ said }) => (said.kind === 'executed' ? [said.recordId] : [])),
    unjudged: unjudged[0]?.waitsFor ?? null,
    unsignedAcceptance,
    eights,
    awaited,
    causeGone,
    acceptedIds,
    notThisIds,
    approvedUntilMs: approvalIn(kept)?.untilMs ?? null,
    unsignedAlike: alikeWaitsFor(kept),
    opened: kept.facts.flatMap((fact) => (fact.kind === 'opened' && fact.item === item ? [fact] : [])),
  };
}

type SaidOfItem = Exclude<
  Recorded,
  { readonly kind: 'cancel' | 'superseded' | 'acknowledge' | 'approve' | 'pay these again' }
>;

/** What was said of an item and waits for people who must approve it. `waitsFor`: as a sentence. */
type Waiting = { readonly said: SaidOfItem; readonly waitsFor: string };

function isOfRecord({ said }: Waiting, recordId: string | null): boolean {
  return 'recordId' in said && said.recordId === recordId;
}

/** What an instruction says about one item; null: it says nothing about it. */
function saidOf(said: Recorded, item: string): SaidOfItem | null {
  switch (said.kind) {
    case 'cancel':
    case 'superseded':
    case 'acknowledge':
    case 'approve':
    case 'pay these again':
      return null;
    case 'go-on':
      return said.item === item && !isAlikeList(said) ? said : null;
    case 'executed':
    case 'not executed':
    case 'not this':
    case 'pay again':
    case 'accept':
      return said.item === item ? said : null;
  }
}

/** The item that an instruction names; none where it is about the run as a whole. */
export function itemsNamedIn(said: Instruction): readonly string[] {
  return 'item' in said && said.item !== null ? [said.item] : [];
}

/** Each instruction once, with all items that it names, also those that were spelled out. */
export function wordsOf(
  instructions: readonly Recorded[],
): readonly { readonly said: Recorded; readonly items: readonly string[] }[] {
  const words = new Map<string, { readonly said: Recorded; readonly items: string[] }>();
  for (const said of instructions) {
    const word = words.get(said.id) ?? { said, items: [] };
    word.items.push(...itemsNamedIn(said));
    words.set(said.id, word);
  }
  return [...words.values()];
}

/** What one more `pay again` would do. */
export type NextOpening =
  /** It opens this generation, where it says that it follows the other one. */
  | { readonly kind: 'opens'; readonly follows: number; readonly generation: number }
  /** It changes nothing, because the generation that this person opened before is still open. */
  | { readonly kind: 'opened before'; readonly by: string; readonly generation: number };

/**
 * What one more `pay again` about an item would do, if generation `follows` is the last that is known. What was opened before and never
 * leaves is followed too: its window is over, or a person has decided since that the item was not executed.
 * @param keepsOut whether one that is still open keeps another from being said
 */
export function nextOpening(
  { eights, decision }: InstructionsAbout,
  { follows, nowMs, keepsOut }: NextOpeningAsked,
): NextOpening {
  let last = follows;
  let before: Eight | null = null;
  for (const eight of eights) {
    // What follows a generation that never was is no true word.
    if (eight.first <= follows || eightOf(eight.openedBy.follows) > eightOf(last)) continue;
    const isOver = nowMs > eight.windowUntilMs || decision?.kind === 'not executed';
    if (isOver) last = eight.first;
    else if (keepsOut(eight)) before = eight;
  }
  return before === null
    ? { kind: 'opens', follows: last, generation: firstAfter(last) }
    : { kind: 'opened before', by: before.openedBy.by, generation: before.first };
}

type NextOpeningAsked = {
  readonly follows: number;
  readonly nowMs: number;
  readonly keepsOut: (eight: Eight) => boolean;
};
