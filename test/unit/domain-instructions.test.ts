/** What people have said, and what they are told of a reply (M6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../domain/writes/step.ts';
import { recordedOf, unionOf } from '../../domain/people/instruction-shape.ts';
import {
  MOST_NUMBER,
  NOTHING_KEPT,
  approvalIn,
  instructionsAbout,
  instructionsAboutLeg,
  isCancelled,
  itemsOfRecordIn,
  keptPage,
  newestSaid,
  spelledOut,
  takeIn,
  wordsOf,
  type Fact,
  type Instruction,
  type Kept,
  type Recorded,
  type Saying,
} from '../../domain/people/instructions.ts';
import { LIST_HASH, kept, recorded, said, type LooseInstruction } from '../support/instructions.ts';
import { NOT_SENT, NO_ANSWER, done, failed } from '../support/scripts.ts';

const CANCEL = recorded({ kind: 'cancel' });
const SECOND_CANCEL = recorded({ kind: 'cancel' });
const GO_ON = recorded({ kind: 'go-on', item: null, takesBack: CANCEL.id });
const CAUSE_GONE = recorded({ kind: 'go-on', item: 'supplier' });
const EXECUTED = recorded({ kind: 'executed', item: 'supplier', recordId: 'wtd_1' });
const NOT_EXECUTED = recorded({ kind: 'not executed', item: 'supplier', why: 'the bank says so' });

const PAY_AGAIN = recorded({ kind: 'pay again', item: 'supplier', follows: 1, recordId: 'wtd_1' });

const about = (...instructions: readonly Recorded[]) =>
  instructionsAbout({ instructions, facts: [] }, 'supplier');

test('a go-on takes back the cancel that it names and those before it; what is said of one item takes none back', () => {
  const rows: readonly (readonly [readonly Recorded[], boolean])[] = [
    [[], false],
    [[CANCEL], true],
    [[CANCEL, GO_ON], false],
    [[CANCEL, GO_ON, SECOND_CANCEL], true],
    // In whatever order they came: its person had not seen the second one.
    [[CANCEL, SECOND_CANCEL, GO_ON], true],
    [[SECOND_CANCEL, CANCEL, GO_ON], false],
    [[GO_ON, CANCEL, EXECUTED], false],
    [[CANCEL, recorded({ kind: 'go-on', item: null, takesBack: null })], true],
    [[CANCEL, recorded({ kind: 'go-on', item: null, takesBack: 'lost' })], true],
    [[CANCEL, CAUSE_GONE], true],
    [[EXECUTED], false],
  ];
  for (const [instructions, cancelled] of rows) {
    assert.equal(isCancelled(instructions), cancelled, instructions.map(({ kind }) => kind).join());
    assert.equal(about(...instructions).cancelled, cancelled);
  }
});

test('of look-alikes the last approval counts, once it has the signatures that it must have, and no earlier one in its place', () => {
  const list = (id: string, item = 'look-alikes-abcdefghijkl'): Recorded =>
    recorded({
      kind: 'go-on',
      id,
      item,
      takesBack: null,
      lookAlikes: { sinceMs: 1, untilMs: id.length, perGroup: 1, groups: ['1.0.abcdefghijkl'] },
    });
  const instructions = [list('first'), list('second')];
  const counts = (...missing: readonly string[]): unknown =>
    approvalIn({
      instructions,
      facts: [],
      unsigned: Object.fromEntries(missing.map((id) => [id, 'ben is missing'])),
    })?.untilMs ?? null;
  assert.equal(counts(), 6);
  assert.equal(counts('first'), 6);
  assert.equal(counts('second'), null);
  const unsigned = { second: 'ben is missing' };
  const { approvedUntilMs, unsignedAlike } = instructionsAbout({ instructions, facts: [], unsigned }, 'rent');
  assert.deepEqual([approvedUntilMs, unsignedAlike], [null, 'ben is missing']);
  // A list that has the name of a payment says nothing of that payment.
  const named = { instructions: [list('one', 'rent')], facts: [], unsigned: { one: 'ben is missing' } };
  const ofRent = instructionsAbout(named, 'rent');
  assert.deepEqual([ofRent.unsigned, ofRent.causeGone], [null, []]);
});

test('a record is named as long as the last decision about an item names it', () => {
  const namedBy = (...words: readonly Recorded[]) =>
    itemsOfRecordIn({ instructions: words, facts: [] }, 'wtd_1');
  const other = recorded({ kind: 'executed', item: 'second', recordId: 'wtd_1' });
  assert.deepEqual(namedBy(EXECUTED, other), ['supplier', 'second']);
  assert.deepEqual(namedBy(EXECUTED, NOT_EXECUTED), []);
  assert.deepEqual(
    namedBy(EXECUTED, recorded({ kind: 'executed', item: 'supplier', recordId: 'wtd_2' })),
    [],
  );
  assert.deepEqual(namedBy(NOT_EXECUTED, PAY_AGAIN), []);
});

test('a record that had failed when the item was paid again is not what was paid since, whatever a person says', () => {
  const later = recorded({ kind: 'executed', item: 'supplier', recordId: 'wtd_2' });
  const decided = (...words: readonly Recorded[]) => about(...words).decision?.id ?? null;
  assert.equal(decided(PAY_AGAIN, EXECUTED), null);
  assert.equal(decided(PAY_AGAIN, later, EXECUTED), later.id);
  assert.equal(decided(EXECUTED), EXECUTED.id);
});

test('what lets something be sent is refused where a person has said something since, and where its person has left', () => {
  const { instructions } = kept({ kind: 'cancel' }, { kind: 'not executed', item: 'supplier' });
  const say = (instruction: LooseInstruction, saying: Partial<Saying>, nowMs = 5) => {
    const accepted = { ...said(instruction), atMs: 5, date: '2026-11-21' };
    const taken = takeIn(instructions, accepted, { seen: 2, untilMs: 10, ...saying }, nowMs);
    return taken.kind === 'kept' ? taken.said.number : taken.kind;
  };
  const SENDS: readonly LooseInstruction[] = [
    { kind: 'go-on', item: null },
    { kind: 'go-on', item: 'supplier' },
    { kind: 'executed', item: 'supplier', recordId: 'wtd_1' },
    { kind: 'not executed', item: 'supplier' },
    { kind: 'accept', item: 'usd-mxn-1', recordId: 'tde_1' },
    { kind: 'pay again', item: 'supplier', follows: 1, recordId: null },
    { kind: 'pay these again', chunks: [[1, 2, LIST_HASH]] },
  ];
  for (const instruction of SENDS) {
    assert.equal(say(instruction, {}), 3, instruction.kind);
    assert.equal(say(instruction, { seen: 1 }), 'said since', instruction.kind);
    assert.equal(say(instruction, {}, 11), 'too late', instruction.kind);
  }
  assert.equal(say({ kind: 'superseded', instead: 'x', id: 'superseded' }, { seen: 0 }), 3);
  assert.equal(say({ kind: 'superseded', instead: 'x', id: 'superseded' }, { seen: 0 }, 11), 'too late');
  // What stops sending is kept, whoever has left and whatever was said since.
  assert.equal(say({ kind: 'cancel' }, { seen: 0 }, 11), 3);
  assert.equal(say({ kind: 'acknowledge', standing: 'HELD', needs: [] }, { seen: 0 }, 11), 3);
  // One that is known is answered as it is kept, whenever it comes again.
  assert.equal(
    say({ kind: 'not executed', item: 'supplier', id: instructions[1]?.id ?? '' }, { seen: 0 }, 11),
    2,
  );
  // Whoever looks after the run has said nothing about its money.
  const looked = kept({ kind: 'cancel' }, { kind: 'acknowledge', standing: 'HELD', needs: [] }).instructions;
  assert.equal(newestSaid(looked), 1);
});

test('a cancel is kept and read after any number of words; everything else that has no number left is refused', () => {
  const forged = { ...recorded({ kind: 'acknowledge', standing: 'x', needs: [] }), number: MOST_NUMBER };
  const taken = (before: readonly Recorded[], instruction: LooseInstruction) =>
    takeIn(
      before,
      { ...said(instruction), atMs: 5, date: '2026-11-21' },
      { seen: MOST_NUMBER, untilMs: 10 },
      5,
    );
  const cancel = taken([forged], { kind: 'cancel' });
  assert.ok(cancel.kind === 'kept' && recordedOf(cancel.said).ok);
  const again = taken([forged, cancel.said], { kind: 'cancel' });
  assert.ok(again.kind === 'kept' && recordedOf(again.said).ok);
  const { instructions } = unionOf([{ instructions: [forged, cancel.said, again.said], facts: [] }]);
  assert.deepEqual(instructions, [forged, cancel.said, again.said]);
  assert.equal(isCancelled(instructions), true);
  for (const other of [
    { kind: 'go-on', item: null },
    { kind: 'not executed', item: 'supplier' },
    { kind: 'acknowledge', standing: 'HELD', needs: [] },
  ] as const)
    assert.equal(taken([forged], other).kind, 'no number left');
  const last = taken([{ ...forged, number: MOST_NUMBER - 1 }], { kind: 'go-on', item: null });
  assert.ok(last.kind === 'kept' && recordedOf(last.said).ok);
});

test('in a batch what people say about the run and about payments of its chunks has one order, and nobody speaks past the other', () => {
  const again = said({ kind: 'pay these again', chunks: [[1, 1, LIST_HASH]] });
  const decision = said({ kind: 'not executed', item: 'a' });
  const taken = (before: readonly Recorded[], instruction: Instruction, seen: number) =>
    takeIn(before, { ...instruction, atMs: 5, date: '2026-11-21' }, { seen, untilMs: 10 }, 5);
  for (const [first, second] of [
    [again, decision],
    [decision, again],
  ] as const) {
    const { instructions } = kept(first);
    assert.equal(taken(instructions, second, 0).kind, 'said since');
    assert.equal(taken(instructions, second, 1).kind, 'kept');
  }
});

test('of decisions about an item the last counts, and paying again makes it history', () => {
  assert.equal(about(EXECUTED, NOT_EXECUTED).decision, NOT_EXECUTED);
  assert.equal(about(NOT_EXECUTED, payAgain(1)).decision, null);
  assert.equal(about(payAgain(1), NOT_EXECUTED).decision, NOT_EXECUTED);
  const other = instructionsAbout({ instructions: [EXECUTED, payAgain(1)], facts: [] }, 'second');
  assert.deepEqual([other.decision, other.eights], [null, []]);
});

function payAgain(follows: number, date = '2026-11-21') {
  const atMs = Date.parse(date) + 1;
  return recorded({ kind: 'pay again', item: 'supplier', follows, recordId: null, atMs });
}

test('each instruction to pay again opens eight generations with a window of its own date', () => {
  const { eights } = about(payAgain(3), payAgain(9, '2026-11-30'));
  assert.deepEqual(
    eights.map(({ first, windowUntilMs }) => [first, new Date(windowUntilMs).toISOString()]),
    [
      [9, '2026-11-26T12:00:00.000Z'],
      [17, '2026-12-05T12:00:00.000Z'],
    ],
  );
});

test('the window of what is paid again goes by the moment that people sign, not by the date beside it', () => {
  const again = { ...payAgain(1), date: '2027-11-21' };
  assert.equal(about(again).eights[0]?.windowUntilMs, Date.parse('2026-11-26T12:00:00.000Z'));
});

test('a second instruction to pay again about the same eight generations changes nothing', () => {
  const first = payAgain(1);
  const { eights } = about(first, payAgain(1), payAgain(8), payAgain(9, '2026-11-22'));
  assert.deepEqual(
    eights.map(({ first: from }) => from),
    [9, 17],
  );
  assert.equal(eights[0]?.openedBy, first);
});

test('a second instruction to pay again about the same eight generations does not void what was decided since', () => {
  const since = recorded({ kind: 'executed', item: 'supplier', recordId: 'wtd_9' });
  assert.equal(about(payAgain(1), since, payAgain(1)).decision, since);
  assert.equal(about(payAgain(1), NOT_EXECUTED, payAgain(1)).decision, NOT_EXECUTED);
  assert.equal(about(payAgain(1), NOT_EXECUTED, payAgain(9)).decision, null);
});

test('facts are told of the item that they are about', () => {
  const facts: readonly Fact[] = [
    { kind: 'api key', keyName: 'k', atMs: 1 },
    { kind: 'opened', item: 'supplier', generation: 2, atMs: 2 },
    { kind: 'opened', item: 'second', generation: 3, atMs: 3 },
  ];
  const told = instructionsAbout(
    { instructions: [CAUSE_GONE, recorded({ kind: 'accept', item: 'supplier', recordId: 'wtd_1' })], facts },
    'supplier',
  );
  assert.deepEqual(told.opened, [facts[1]]);
  assert.deepEqual(told.causeGone, [CAUSE_GONE]);
  assert.deepEqual(told.acceptedIds, ['wtd_1']);
});

test('people are told what the service says in words, with its figures, never the service’s free text, which may name a beneficiary', () => {
  const details = {
    requiredAmount: '17250.00',
    currency: 'MXN',
    beneficiary: 'Ana Ruiz',
    reason: 'paid to <b>Ana Ruiz, Calle 5</b>',
  };
  assert.equal(
    explain(failed('WITHDRAWAL_INSUFFICIENT_BALANCE', { details })),
    'The service says: the balance does not cover the payment (needed 17,250.00, currency MXN).',
  );
  assert.equal(
    explain(failed('QUOTE_EXPIRED', { details: { expiredAt: '2026-11-21T12:00:45.000Z' } })),
    'The service says: the quote has expired (expired at 2026-11-21 12:00 UTC).',
  );
  assert.equal(
    explain(failed('INTERNAL_ERROR', { details })),
    'The service had a fault of its own (needed 17,250.00, currency MXN).',
  );
  assert.equal(
    explain(failed('SOMETHING_NEW', { details })),
    'The service answered SOMETHING_NEW (needed 17,250.00, currency MXN).',
  );
  assert.equal(
    explain(NO_ANSWER),
    'The service gave no answer that can be used: no whole reply within the time limit.',
  );
  assert.equal(
    explain({
      kind: 'UNKNOWN',
      reason: 'status 502 without JSON (content type)',
      error: null,
      facts: { status: 502, traceId: null, replayed: null, retryAfterMs: null, serviceTimeMs: null },
    }),
    'The service is down or behind a broken gateway (502).',
  );
  assert.equal(explain(NOT_SENT), 'Nothing was sent to the service: no connection (ECONNREFUSED).');
  assert.equal(explain(done(null)), 'The service accepted something else than was sent.');
});

test('one instruction about payments of chunks says of each what one about it alone would say, once it is kept', () => {
  const words = kept(
    { kind: 'cancel' },
    { kind: 'pay these again', chunks: [[1, 2, LIST_HASH]], id: 'these', why: 'r' },
  );
  const lists: readonly Fact[] = [
    { kind: 'to pay again', said: 'these', items: [['supplier', 1, 'wtd_1']] },
    { kind: 'to pay again', said: 'these', items: [['rent', 9, null]] },
    // Its person was refused: somebody had said something since.
    { kind: 'to pay again', said: 'refused', items: [['tax', 1, null]] },
  ];
  const together = spelledOut({ ...words, facts: lists });
  const alone = kept({ kind: 'cancel' }, { kind: 'pay again', item: 'rent', follows: 9, recordId: null });
  const openings = (of: Kept, item: string) =>
    instructionsAbout(of, item).eights.map(({ first, openedBy: { follows, recordId, date } }) => [
      first,
      follows,
      recordId,
      date,
    ]);
  assert.deepEqual(openings(together, 'rent'), openings(alone, 'rent'));
  assert.deepEqual(openings(together, 'supplier'), [[9, 1, 'wtd_1', '1970-01-01']]);
  for (const item of ['tax', 'nobody']) assert.deepEqual(openings(together, item), []);
  assert.equal(newestSaid(together.instructions), 2);
  assert.deepEqual(
    wordsOf(together.instructions).map(({ said: { kind }, items }) => [kind, items]),
    [
      ['cancel', []],
      ['pay these again', ['supplier', 'rent']],
    ],
  );
  // Where nothing lists what it means, it is still the newest of what people said.
  assert.deepEqual(spelledOut(words), words);
});

test('what is kept is read in parts that Temporal likes to carry, nothing of it twice and nothing left out', () => {
  const items = Array.from({ length: 400 }, (_, index) => [`inv-${index}`, 1, `wtd_${index}`] as const);
  const { instructions } = kept(
    ...items.map(([item]) => ({ kind: 'not executed', item, why: 'w'.repeat(400) }) as const),
  );
  const facts: readonly Fact[] = [
    ...['a', 'b', 'c'].map((id) => ({ kind: 'to pay again', said: id, items }) as const),
    ...items.flatMap(([item]) =>
      [9, 10, 11].map((generation) => ({ kind: 'opened', item, generation, atMs: 1 }) as const),
    ),
  ];
  const all: Kept = { instructions, facts };
  const pages: Kept[] = [];
  for (let next: number | null = 0; next !== null;) {
    const page = keptPage(all, next);
    assert.ok(Buffer.byteLength(JSON.stringify(page)) < 131_072);
    pages.push(page.kept);
    ({ next } = page);
  }
  assert.ok(pages.length > 1);
  assert.deepEqual(
    {
      instructions: pages.flatMap((page) => page.instructions),
      facts: pages.flatMap((page) => page.facts),
    },
    all,
  );
  assert.deepEqual(keptPage(NOTHING_KEPT, 0), { kept: NOTHING_KEPT, next: null, all: 0 });
});

test('a decision that lacks signatures counts as not said, and is told until an approved one replaces it', () => {
  const { instructions, facts } = kept(
    { kind: 'not executed', item: 'supplier', id: 'first' },
    { kind: 'pay again', item: 'supplier', follows: 1, recordId: null },
    { kind: 'not this', item: 'supplier', recordId: 'wtd_2', id: 'second' },
    { kind: 'accept', item: 'usd-mxn-1', recordId: 'tde_1', id: 'third' },
  );
  const unsigned = { first: 'ana is missing', second: 'ben is missing', third: 'chi is missing' };
  const payment = instructionsAbout({ instructions, facts, unsigned }, 'supplier');
  assert.deepEqual(
    [payment.decision, payment.eights.map(({ closedBy }) => closedBy), payment.notThisIds, payment.unsigned],
    [null, [null], [], 'ben is missing'],
  );
  const leg = instructionsAbout({ instructions, facts, unsigned }, 'usd-mxn-1');
  assert.deepEqual([leg.acceptedIds, leg.unsigned, leg.unsignedAcceptance], [[], null, 'chi is missing']);
  const more = recorded({ kind: 'not executed', item: 'supplier', id: 'fourth' }, instructions);
  const after = instructionsAbout({ instructions: [...instructions, more], facts, unsigned }, 'supplier');
  assert.deepEqual([after.decision?.id, after.unsigned], ['fourth', null]);
});

test('that a payment is paid again takes back "executed" only where it names the same record as failed, and is signed', () => {
  const again = (recordId: string | null, id = 'again') =>
    recorded({ kind: 'pay again', item: 'supplier', follows: 1, recordId, id });
  const told = (words: readonly Recorded[], unsigned: Readonly<Record<string, string>> = {}) => {
    const { decision, eights, awaited } = instructionsAbout(
      { instructions: words, facts: [], unsigned },
      'supplier',
    );
    const opened = eights.map(({ first, openedBy }) => [first, openedBy.id]);
    return [decision?.id ?? null, opened, awaited?.openedBy.id ?? null];
  };
  const missing = { again: 'ana is missing' };
  assert.deepEqual(told([EXECUTED, again('wtd_1')]), [null, [[9, 'again']], null]);
  assert.deepEqual(told([EXECUTED, again(null)]), [EXECUTED.id, [[9, 'again']], null]);
  assert.deepEqual(told([EXECUTED, again('wtd_2')]), [EXECUTED.id, [[9, 'again']], null]);
  assert.deepEqual(told([EXECUTED, again('wtd_1')], missing), [EXECUTED.id, [], 'again']);
  // An approved one takes the place of one that is not, and the other way round nothing changes.
  assert.deepEqual(told([EXECUTED, again(null), again('wtd_1', 'later')], missing), [
    null,
    [[9, 'later']],
    null,
  ]);
  assert.deepEqual(told([again(null, 'first'), again('wtd_1')], missing), [null, [[9, 'first']], null]);
  // What is decided after it overtakes it.
  assert.deepEqual(told([again('wtd_1'), EXECUTED], missing), [EXECUTED.id, [], null]);
});

test('that a payment is paid again takes back "not executed" only once it is signed', () => {
  const again = { kind: 'pay again', item: 'supplier', follows: 1, recordId: null, id: 'again' } as const;
  const { instructions } = kept({ kind: 'not executed', item: 'supplier', id: 'not' }, again);
  const told = (unsigned: Readonly<Record<string, string>>) => {
    const { decision, eights } = instructionsAbout({ instructions, facts: [], unsigned }, 'supplier');
    return [decision?.id ?? null, eights.map(({ closedBy }) => closedBy?.id)];
  };
  assert.deepEqual(told({}), [null, ['not']]);
  assert.deepEqual(told({ again: 'ana is missing' }), ['not', []]);
});

test('an instruction opens the eight after the generation that it follows, whichever others count', () => {
  const follows = (generation: number, id: string) =>
    ({ kind: 'pay again', item: 'supplier', follows: generation, recordId: null, id }) as const;
  const { instructions } = kept(follows(1, 'a'), follows(9, 'b'));
  const opened = (unsigned: Readonly<Record<string, string>>) =>
    instructionsAbout({ instructions, facts: [], unsigned }, 'supplier').eights.map(({ first }) => first);
  assert.deepEqual(opened({}), [9, 17]);
  // The key of the first of them ceases to count: what was sent under ~9 is not sent anew under the second.
  assert.deepEqual(opened({ a: 'ana is missing' }), [17]);
});

test('no leg is paid again: what was decided about it stands', () => {
  const decision = recorded({ kind: 'not executed', item: 'usd-mxn-1' });
  const again = recorded({ kind: 'pay again', item: 'usd-mxn-1', follows: 1, recordId: null });
  const told = instructionsAboutLeg({ instructions: [decision, again], facts: [] }, 'usd-mxn-1');
  assert.deepEqual([told.decision, told.eights], [decision, []]);
});

test('a record stays named for its item while somebody lets the item be paid again', () => {
  assert.deepEqual(itemsOfRecordIn({ instructions: [EXECUTED, PAY_AGAIN], facts: [] }, 'wtd_1'), [
    'supplier',
  ]);
});

test('an approved decision takes the place of what it contradicts and nobody has signed', () => {
  const unsigned = { open: 'ana is missing' };
  const left = (...words: readonly Recorded[]) =>
    instructionsAbout({ instructions: words, facts: [], unsigned }, 'supplier').unsigned;
  const executed = recorded({ kind: 'executed', item: 'supplier', recordId: 'wtd_1', id: 'open' });
  const notThis = (recordId: string) => recorded({ kind: 'not this', item: 'supplier', recordId });
  assert.equal(left(executed), 'ana is missing');
  assert.equal(left(executed, notThis('wtd_2')), 'ana is missing');
  assert.equal(left(executed, notThis('wtd_1')), null);
  assert.equal(left(executed, NOT_EXECUTED), null);
});
