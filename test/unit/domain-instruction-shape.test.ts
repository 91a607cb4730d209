/** Whoever sends or reads an instruction or a fact is a stranger until it has passed the closed shape. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  factOf,
  factsOf,
  instructionOf,
  isAcceptanceOf,
  isPageOfKept,
  keptOf,
  recordedOf,
  sayingOf,
  unionOf,
} from '../../domain/people/instruction-shape.ts';
import type { Fact, Instruction } from '../../domain/people/instructions.ts';
import { LIST_HASH, kept, recorded, said } from '../support/instructions.ts';

const EACH: readonly Instruction[] = [
  said({ kind: 'cancel' }),
  said({ kind: 'go-on', item: null }),
  said({ kind: 'go-on', item: 'supplier' }),
  said({ kind: 'executed', item: 'supplier', recordId: 'wtd_1' }),
  said({ kind: 'not executed', item: 'supplier' }),
  said({ kind: 'not this', item: 'supplier', recordId: 'wtd_1' }),
  said({ kind: 'pay again', item: 'supplier', follows: 1, recordId: null }),
  said({
    kind: 'pay these again',
    chunks: [
      [1, 2, LIST_HASH],
      [400, 500, LIST_HASH],
    ],
  }),
  said({ kind: 'accept', item: 'usd-mxn-1', recordId: 'tde_1' }),
];
const FACTS: readonly Fact[] = [
  { kind: 'api key', keyName: 'organizations/o/apiKeys/b', atMs: 1 },
  { kind: 'opened', item: 'supplier', generation: 2, atMs: 1 },
  { kind: 'let go', chunk: 1, places: [0, 499] },
  {
    kind: 'to pay again',
    said: 'a',
    items: [
      ['inv-1', 1, 'wtd_1'],
      ['inv-2', 9, null],
    ],
  },
];

test('every instruction and every fact that Cambist makes passes', () => {
  for (const instruction of EACH)
    assert.deepEqual(instructionOf(instruction), { ok: true, value: instruction });
  for (const fact of FACTS) assert.deepEqual(factOf(fact), { ok: true, value: fact });
});

test('nobody can note which record is an item’s, or is another’s: people say that, and it is signed', () => {
  assert.equal(factOf({ kind: 'record', item: 'supplier', recordId: 'wtd_1' }).ok, false);
});

test('no field is missing, none is of another kind, and there is none besides', () => {
  for (const whole of EACH) {
    for (const name of Object.keys(whole)) {
      const without = Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name));
      assert.equal(instructionOf(without).ok, false, `${whole.kind} without ${name}`);
      for (const wrong of [undefined, 7.5, '', '\u001b[2J', {}, [], 'x'.repeat(5_000)])
        assert.equal(instructionOf({ ...whole, [name]: wrong }).ok, false, `${whole.kind} ${name}`);
    }
    assert.equal(instructionOf({ ...whole, amount: '1.00' }).ok, false);
  }
  for (const value of [null, undefined, 'cancel', [], { kind: '__proto__' }, { kind: 'constructor' }])
    assert.equal(instructionOf(value).ok, false, JSON.stringify(value));
});

test('each of several payments that are paid again has a name, what it follows, and its record', () => {
  const of = (...items: readonly unknown[]) => factOf({ kind: 'to pay again', said: 'a', items }).ok;
  assert.equal(of(['inv-1', 1, null]), true);
  assert.equal(of(), false);
  for (const wrong of [['inv 1', 1, null], ['inv-1', 0, null], ['inv-1', 1, ''], ['inv-1', 1], 'inv-1', null])
    assert.equal(of(['inv-2', 1, null], wrong), false, JSON.stringify(wrong));
  assert.equal(of(...Array.from({ length: 501 }, (_, index) => [`inv-${index}`, 1, null])), false);
});

test('a list of payments that are paid again has no payment twice, and no chunk', () => {
  const items = [
    ['inv-1', 1, null],
    ['inv-1', 9, 'wtd_1'],
  ];
  assert.equal(factOf({ kind: 'to pay again', said: 'a', items }).ok, false);
  const chunks = [
    [1, 2, LIST_HASH],
    [1, 3, LIST_HASH],
  ];
  assert.equal(instructionOf({ ...said({ kind: 'cancel' }), kind: 'pay these again', chunks }).ok, false);
});

test('a command cannot say when an instruction was accepted; what is kept must say it', () => {
  const whole = recorded({ kind: 'cancel' });
  assert.equal(instructionOf(whole).ok, false);
  assert.equal(recordedOf(whole).ok, true);
  assert.equal(recordedOf({ ...whole, date: '2026-13-01' }).ok, false);
  assert.equal(recordedOf({ ...whole, atMs: -1 }).ok, false);
  assert.equal(recordedOf({ ...whole, number: 0 }).ok, false);
});

test('how an instruction is said has a closed shape as well', () => {
  assert.equal(sayingOf({ seen: 0, untilMs: 1 }).ok, true);
  for (const wrong of [
    null,
    {},
    { seen: 0 },
    { seen: -1, untilMs: 1 },
    { seen: 0, untilMs: '1' },
    { seen: 0, untilMs: 1, by: 'x' },
  ])
    assert.equal(sayingOf(wrong).ok, false, JSON.stringify(wrong));
});

test('one wrong fact refuses the whole list, and one wrong entry all that is said to be kept', () => {
  assert.equal(factsOf(FACTS).ok, true);
  assert.equal(factsOf([...FACTS, null]).ok, false);
  assert.equal(factsOf([{ kind: 'opened', item: 'supplier', generation: 1, atMs: 1 }]).ok, false);
  assert.equal(keptOf({ ...kept({ kind: 'cancel' }), facts: FACTS }).ok, true);
  for (const wrong of [null, {}, { instructions: [], facts: [null] }, { ...kept(), plan: {} }])
    assert.equal(keptOf(wrong).ok, false, JSON.stringify(wrong));
});

test('the union has each once as it was kept first, in the order of the numbers, whatever the clocks said', () => {
  const cancel = recorded({ kind: 'cancel', id: 'a', atMs: 5, number: 1 });
  const goOn = recorded({ kind: 'go-on', item: null, id: 'b', atMs: 3, number: 2 });
  const union = unionOf([
    { instructions: [goOn], facts: FACTS },
    { instructions: [cancel], facts: [] },
    {
      instructions: [{ ...cancel, atMs: 9 }],
      facts: [{ kind: 'opened', item: 'supplier', generation: 2, atMs: 9 }],
    },
  ]);
  assert.deepEqual(union, { instructions: [cancel, goOn], facts: FACTS });
});

test('an API key that is named again after another one is named last, each naming once', () => {
  const named = (keyName: string, atMs: number): Fact => ({ kind: 'api key', keyName, atMs });
  const facts = [named('b', 1), named('a', 2), named('b', 3)];
  const twice = unionOf([
    { instructions: [], facts },
    { instructions: [], facts: facts.slice(0, 2) },
  ]);
  assert.deepEqual(twice.facts, facts);
});

test('an answer accepts just the instruction that it was asked about, with its moment and the date of that moment', () => {
  const atMs = Date.parse('2026-11-21T15:00:00Z');
  for (const instruction of EACH) {
    const answer = { ...instruction, atMs, date: '2026-11-21' };
    assert.ok(isAcceptanceOf(instruction, answer), instruction.kind);
    for (const other of [
      null,
      instruction,
      { ...answer, atMs: '2026' },
      { ...answer, date: '2026-11-28' },
      { ...answer, by: 'somebody else' },
      { ...answer, also: 1 },
      { ...said({ kind: 'go-on', item: 'another' }), id: instruction.id, atMs, date: '2026-11-21' },
    ])
      assert.ok(!isAcceptanceOf(instruction, other), JSON.stringify(other));
  }
});

test('a part of what is kept has every field, and each entry its closed shape', () => {
  const page = { kept: kept(), next: null, all: 0, runId: 'run-1' };
  assert.ok(isPageOfKept(page));
  assert.ok(isPageOfKept({ ...page, next: 7 }));
  const { all: _, ...rest } = page;
  for (const other of [
    rest,
    { ...page, kept: [] },
    { ...page, kept: { ...page.kept, facts: [{}] } },
    { ...page, also: 1 },
  ])
    assert.ok(!isPageOfKept(other), JSON.stringify(other));
});
