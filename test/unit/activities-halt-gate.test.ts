/** The gate before every write: how old a reading may be, that it is closed when nobody can read, and that it is asked last. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWithdrawals } from '../../activities/create-withdrawals.ts';
import { executeTrade } from '../../activities/execute-trade.ts';
import { HaltGate } from '../../activities/halt-gate.ts';
import { requestQuote } from '../../activities/request-quote.ts';
import {
  NO_RECORD,
  type Closed,
  type Halt,
  type HaltRecord,
  type HaltScope,
  type HaltWord,
  type HaltsHeld,
} from '../../domain/halt.ts';
import { makeProblem } from '../../domain/problems.ts';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { kept } from '../support/instructions.ts';
import { NEVER_WAKES, inActivity, instructionsOf, worker } from '../support/activities.ts';
import { IN_HAND, LEG, NOW, PAYMENT, context, done } from '../support/scripts.ts';

const WRITE = { policy: 'p', currencies: ['MXN'] };

/** A gate whose readings come when the test lets them, and whose time passes when the test says so. */
function gateAt({ remembered = [] }: { readonly remembered?: readonly Halt[] } = {}) {
  const now = { monotonicMs: 50_000, wallMs: NOW };
  const answers: { readonly resolve: (record: HaltRecord) => void; readonly reject: () => void }[] = [];
  const putBack: HaltsHeld[] = [];
  const onMachine: { closed: Closed | null } = { closed: null };
  const gate = new HaltGate({
    read: () =>
      new Promise((resolve, reject) => {
        answers.push({ resolve, reject: () => reject(new Error('no answer')) });
      }),
    remembered,
    putBack: (held) => putBack.push(held),
    onMachine: () => onMachine.closed,
    clock: { ...NEVER_WAKES, monotonicMs: () => now.monotonicMs, wallMs: () => now.wallMs },
  });
  const pass = (ms: number): void => {
    now.monotonicMs += ms;
    now.wallMs += ms;
  };
  const why = (): string => gate.whyNot(WRITE)?.kind ?? 'open';
  return { gate, now, answers, pass, why, putBack, onMachine };
}

const ALL: HaltScope = { policy: null, currency: null };
const word = (scope: HaltScope, haltAtMs?: number): HaltWord => ({
  word: haltAtMs === undefined ? 'halt' : 'resume',
  said: { scope, by: 'ana', why: 'wrong accounts', ...(haltAtMs !== undefined && { haltAtMs }) },
  atMs: NOW,
});
/** The record of halts, with these words in it. */
const recordOf = (...words: readonly HaltWord[]): HaltRecord => ({
  ...NO_RECORD,
  runIds: ['run-1'],
  sinceMs: NOW - 1_000,
  isOpen: true,
  words,
});
const halts = (...scopes: readonly HaltScope[]): HaltRecord =>
  recordOf(...(scopes.length === 0 ? [ALL] : scopes).map((scope) => word(scope)));
const resumed = recordOf(word(ALL), word(ALL, NOW));

test('what halts the machine closes the gate whatever Temporal says, and opens it again in the same moment', async () => {
  const { gate, answers, why, onMachine } = gateAt();
  const looking = gate.look();
  answers[0]?.resolve(NO_RECORD);
  await looking;
  const seen = [why()];
  onMachine.closed = { kind: 'halted', problem: makeProblem('HALT_FILE', null) };
  seen.push(why());
  onMachine.closed = null;
  assert.deepEqual([...seen, why()], ['open', 'halted', 'open']);
});

test('whoever is told of a change finds the gate closed for it, and is told of each change once', async () => {
  const told: string[] = [];
  let standing = NO_RECORD;
  const gate: HaltGate = new HaltGate({
    read: () => Promise.resolve(standing),
    remembered: [],
    putBack: () => {},
    onMachine: () => null,
    clock: { ...NEVER_WAKES, monotonicMs: () => 0, wallMs: () => NOW },
    onChange: () => told.push(gate.whyNot(WRITE)?.kind ?? 'open'),
  });
  for (const next of [standing, halts(), resumed]) {
    standing = next;
    await gate.look();
    await gate.look();
  }
  // Whoever begins knows of nothing that stands.
  assert.deepEqual(told, ['open', 'halted', 'open']);
});

test('a gate is closed until it has been read', async () => {
  const { gate, answers, why } = gateAt();
  assert.equal(why(), 'unreadable');
  const look = gate.look();
  assert.equal(why(), 'unreadable');
  answers[0]?.resolve(NO_RECORD);
  await look;
  assert.equal(why(), 'open');
});

test('a reading counts from before it was asked for, and for less than a second', async () => {
  const { gate, answers, pass, why } = gateAt();
  const look = gate.look();
  pass(700);
  answers[0]?.resolve(NO_RECORD);
  await look;
  assert.equal(why(), 'open');
  pass(299);
  assert.equal(why(), 'open');
  pass(1);
  assert.equal(why(), 'unreadable');
});

for (const clock of ['monotonicMs', 'wallMs'] as const)
  test(`a reading is too old when a second has passed on one clock only (${clock}), as after a sleep`, async () => {
    const { gate, answers, now, why } = gateAt();
    const look = gate.look();
    answers[0]?.resolve(NO_RECORD);
    await look;
    now[clock] += 1_000;
    assert.equal(why(), 'unreadable');
  });

test('a reading that fails neither opens the gate nor lets an old one live longer', async () => {
  const { gate, answers, pass, why } = gateAt();
  const first = gate.look();
  answers[0]?.resolve(NO_RECORD);
  await first;
  pass(600);
  const second = gate.look();
  answers[1]?.reject();
  await second;
  assert.equal(why(), 'open');
  pass(400);
  assert.equal(why(), 'unreadable');
});

test('what was halted stays so, however long nobody can read', async () => {
  const { gate, answers, pass, why } = gateAt();
  const first = gate.look();
  answers[0]?.resolve(halts());
  await first;
  assert.equal(why(), 'halted');
  pass(60_000);
  const second = gate.look();
  answers[1]?.reject();
  await second;
  assert.equal(why(), 'halted');
  const third = gate.look();
  answers[2]?.resolve(resumed);
  await third;
  assert.equal(why(), 'open');
});

test('what was halted stays so when its record is gone or is begun anew, and is put back until it is there again', async () => {
  const { gate, answers, why, putBack } = gateAt();
  const lost = { ...recordOf(), runIds: ['run-2'] };
  // The record of `halts()` began a second before.
  const named = { ...lost, words: [word(ALL, NOW), word(ALL, NOW - 1_000)] };
  const reads = [halts(), lost, named];
  for (const [nth, record] of reads.entries()) {
    // One reading after the other.
    for (const times of [1, 2]) {
      const look = gate.look();
      answers[2 * nth + times - 1]?.resolve(record);
      await look;
    }
    assert.equal(why(), record === named ? 'open' : 'halted');
    assert.equal(putBack.length, nth === 0 ? 0 : 2);
  }
  assert.ok(putBack.every((held) => held.lost.some(({ by, atMs }) => by === 'ana' && atMs === NOW)));
});

test('what workers before it have seen halted is so before the first reading and after it, and is put back, until a resume names it', async () => {
  const seen: Halt = { scope: ALL, by: 'ana', why: 'wrong accounts', atMs: NOW };
  const { gate, answers, why, putBack } = gateAt({ remembered: [seen] });
  const told = [why()];
  // Nothing is left of the record; it is begun anew, with a resume of another halt; and with one of this.
  const anew = { ...recordOf(word(ALL, NOW - 5)), runIds: ['run-2'] };
  const named = { ...anew, words: [...anew.words, word(ALL, NOW)] };
  for (const [nth, record] of [NO_RECORD, anew, named].entries()) {
    const look = gate.look();
    answers[nth]?.resolve(record);
    // One reading after the other.
    await look;
    told.push(why());
  }
  assert.deepEqual(told, ['halted', 'halted', 'halted', 'open']);
  assert.deepEqual(
    putBack.map(({ lost }) => lost),
    [[seen], [seen]],
  );
});

test('a record that somebody has ended is put back, and one that was never there is not', async () => {
  const { gate, answers, putBack } = gateAt();
  for (const [nth, record] of [NO_RECORD, { ...recordOf(), isOpen: false }].entries()) {
    const look = gate.look();
    answers[nth]?.resolve(record);
    await look;
    assert.equal(putBack.length, nth);
  }
});

test('a halt of another policy or currency leaves the gate open', async () => {
  const { gate, answers, why } = gateAt();
  const look = gate.look();
  answers[0]?.resolve(
    halts(
      { policy: 'q', currency: null },
      { policy: null, currency: 'EUR' },
      { policy: 'p', currency: 'EUR' },
    ),
  );
  await look;
  assert.equal(why(), 'open');
});

test('whoever is about to write waits for a reading that is late, and not for a halt to end', async () => {
  const { gate, answers, why } = gateAt();
  const settled = gate.settled(WRITE);
  const look = gate.look();
  answers[0]?.resolve(halts());
  await Promise.all([look, settled]);
  assert.equal(why(), 'halted');
  await gate.settled(WRITE);
});

test('what people say while a write waits for a reading is heard', async () => {
  let [nowMs, isWaiting] = [0, false];
  const { deps, sent } = worker(
    {},
    {
      clock: { wallMs: () => NOW + nowMs, monotonicMs: () => nowMs },
      instructions: {
        ...instructionsOf(),
        read: async () => (nowMs === 0 ? kept() : kept({ kind: 'cancel', by: 'ana', why: 'wrong' })),
      },
      halts: {
        whyNot: () => {
          isWaiting = true;
          return null;
        },
        settled: async () => {
          if (isWaiting) nowMs = 6_000;
        },
      },
    },
  );
  await inActivity({}, () => executeTrade(deps)(LEG_CALL));
  assert.equal(sent('createTrade').length, 0);
});

const HEAD = { plan: context().plan, othersAccepted: false };
const LEG_CALL = {
  ...HEAD,
  leg: LEG,
  state: { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quote: IN_HAND },
  tradedSoFar: [],
  unwanted: null,
  follows: 'none' as const,
};
const WANTED = { amount: '17250.00', ahead: '0', unwanted: null };
const RICH = done({
  aggregateUsd: '5000',
  balances: [{ currency: 'USD', withdrawable: '5000', total: '5000' }],
});

/** What each write of a worker is asked about, and whether it left when it was halted in its last moment. */
for (const [operation, currencies, call] of [
  ['createQuote', ['USD', 'MXN'], (deps) => requestQuote(deps)({ ...LEG_CALL, state: NEW_LEG })],
  ['createTrade', ['USD', 'MXN'], (deps) => executeTrade(deps)(LEG_CALL)],
  [
    'createWithdrawal',
    ['MXN'],
    (deps) =>
      createWithdrawals(deps)({
        ...HEAD,
        items: [{ payment: PAYMENT, wanted: WANTED, state: NEW_PAYMENT }],
        twinIds: [],
      }),
  ],
] as readonly (readonly [
  string,
  readonly string[],
  (deps: ReturnType<typeof worker>['deps']) => Promise<unknown>,
])[])
  test(`${operation} asks the gate last, in the moment in which it leaves`, async () => {
    for (const isHalted of [false, true]) {
      const asked: unknown[] = [];
      const gate = new HaltGate({
        read: async () => (isHalted ? halts() : NO_RECORD),
        remembered: [],
        putBack: () => {},
        onMachine: () => null,
        clock: { ...NEVER_WAKES, monotonicMs: () => 0, wallMs: () => NOW },
      });
      const { deps, sent } = worker(
        { balances: async () => RICH },
        {
          halts: {
            whyNot: (write) => {
              asked.push(write);
              // It is halted after the steps have looked.
              return asked.length === 1 ? null : gate.whyNot(write);
            },
            settled: () => gate.look(),
          },
        },
      );
      await inActivity({}, () => call(deps));
      assert.deepEqual(asked, [
        { policy: 'p', currencies },
        { policy: 'p', currencies },
      ]);
      assert.equal(sent(operation).length, isHalted ? 0 : 1);
    }
  });
