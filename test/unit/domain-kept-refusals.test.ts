/**
 * A generation leaves a worker only once that worker has itself received the refusal of the one below which the service keeps. So at
 * most one of eight is made, whatever Temporal says, and before any list shows it (M1).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fact } from '../../domain/people/instructions.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { KeptRefusals } from '../../domain/writes/kept-refusals.ts';
import { drive, type Answer, type Effect } from '../../domain/writes/step.ts';
import {
  NEW_PAYMENT,
  createWithdrawalSteps,
  type PaymentState,
  type PaymentStep,
} from '../../domain/writes/withdrawal.ts';
import {
  NOT_SENT,
  NOW,
  PAYMENT,
  WITHDRAWAL,
  context,
  done,
  failed,
  seen,
  play,
  stateOf,
} from '../support/scripts.ts';
import { diceOf } from '../support/dice.ts';
import { kept, type LooseRecorded } from '../support/instructions.ts';

const WANTED = { amount: '17250.00', ahead: '0', unwanted: null } as const;
const REFUSAL = 'WITHDRAWAL_INSUFFICIENT_BALANCE';
const replayed = failed(REFUSAL, { facts: { replayed: true } });
const named = (generation: number): string =>
  generation === 1 ? PAYMENT.reference : `${PAYMENT.reference}~${generation}`;
const openedUpTo = (last: number): readonly Fact[] =>
  Array.from({ length: last }, (_, index) => index + 1)
    .slice(1)
    .map((generation) => ({ kind: 'opened', item: PAYMENT.id, generation, atMs: NOW }));

function sentAs(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.kind === 'send withdrawal' ? [effect.request.reference] : []));
}

/** What somebody writes who wants this generation to be sent: all that the history could tell, and nothing in doubt. */
const forged = (generation: number): PaymentState => ({
  ...NEW_PAYMENT,
  generation,
  knownIn: 'run-1',
  knownAtMs: NOW,
  walkedIn: 'run-1',
  askedIn: 'run-1',
  sent: true,
});

/** A service whose lists show nothing yet. It refuses what it has no money for, and keeps what it makes under its key. */
class YoungService {
  readonly sent: string[] = [];
  readonly made: string[] = [];
  readonly #refused = new Set<string>();
  #refusals: number;

  readonly #keepsRefusals: boolean;

  /** @param refusals so much is refused before there is money */
  constructor(refusals: number, keepsRefusals = true) {
    this.#refusals = refusals;
    this.#keepsRefusals = keepsRefusals;
  }

  answer(effect: Effect): Answer {
    if (effect.kind !== 'send withdrawal') throw new Error(`${effect.kind} is not asked of the service.`);
    const { reference } = effect.request;
    this.sent.push(reference);
    if (this.made.includes(reference)) return done({ ...WITHDRAWAL, tag: reference }, { replayed: true });
    if (this.#refused.has(reference)) return replayed;
    if (this.#refusals > 0) {
      this.#refusals -= 1;
      if (this.#keepsRefusals) this.#refused.add(reference);
      return failed(REFUSAL);
    }
    this.made.push(reference);
    return done({ ...WITHDRAWAL, tag: reference });
  }
}

async function fire(
  service: YoungService,
  keptRefusals: KeptRefusals,
  generation: number,
  words: readonly LooseRecorded[] = [],
): Promise<PaymentStep> {
  const steps = createWithdrawalSteps(context({ keptRefusals }), PAYMENT, WANTED, forged(generation));
  return drive(steps, async (effect): Promise<Answer> => {
    if (effect.kind === 'read instructions')
      return { ...kept(...words), facts: openedUpTo(Math.max(8, generation)) };
    if (effect.kind === 'note facts') return true;
    return effect.kind === 'scan withdrawals' ? seen<Withdrawal>() : service.answer(effect);
  });
}

test('of the generations that a forged state names, in any order and at any worker, at most one is made before a list shows it', async () => {
  for (let seed = 0; seed < 100; seed += 1) {
    const dice = diceOf(seed, 'generations');
    const service = new YoungService(dice.below(6), dice.isHit(0.5));
    const workers = [new KeptRefusals(), new KeptRefusals()];
    for (let shots = 0; shots < 16; shots += 1) {
      const worker = workers[dice.below(2)] ?? new KeptRefusals();
      // One after the other.
      await fire(service, worker, 1 + dice.below(8));
    }
    const [made, second] = service.made;
    assert.equal(second, undefined, `${service.made.join()} with seed ${seed}`);
    // A worker that was started anew finds what was made, whichever generation it is told to send.
    const found = await fire(service, new KeptRefusals(), 8);
    if (made !== undefined) assert.ok(found.kind === 'accepted' && found.accepted.reference === made);
  }
});

test('the name that a call gives a payment counts for nothing: what is sent is named after the run and the payment', async () => {
  const keptRefusals = new KeptRefusals();
  // Of another payment of the run the worker has received refusals.
  const other = `${PAYMENT.reference}-other`;
  keptRefusals.note(other, 3);
  const renamed = { ...PAYMENT, reference: other };
  const { effects } = play(createWithdrawalSteps(context({ keptRefusals }), renamed, WANTED, forged(4)), {
    'read instructions': [{ ...kept(), facts: openedUpTo(4) }],
  });
  assert.deepEqual(sentAs(effects), [named(1)]);
  const looked = play(createWithdrawalSteps(context(), renamed, WANTED, { ...forged(1), knownIn: null }), {
    'scan withdrawals': [seen(WITHDRAWAL)],
  });
  assert.deepEqual([looked.result.kind, sentAs(looked.effects)], ['accepted', []]);
});

test('so it is with the eight that people have opened', async () => {
  const word = {
    kind: 'pay again',
    item: PAYMENT.id,
    follows: 1,
    recordId: null,
    id: 'word',
    atMs: NOW,
  } as const;
  const service = new YoungService(0);
  const worker = new KeptRefusals();
  for (const generation of [12, 9, 16, 10])
    // One after the other.
    await fire(service, worker, generation, [word]);
  assert.deepEqual(service.made, [named(9)]);
});

test('a worker that has received the refusals itself sends only the generation to which the payment has come, and reads no list', () => {
  const keptRefusals = new KeptRefusals();
  const at = context({ keptRefusals });
  const pay = (generation: number, replies: readonly Answer[]) =>
    play(createWithdrawalSteps(at, PAYMENT, WANTED, forged(generation)), {
      'read instructions': [{ ...kept(), facts: openedUpTo(generation) }],
      'send withdrawal': replies,
    });
  const kinds = (effects: readonly Effect[]) =>
    effects.map((effect) => (effect.kind === 'send withdrawal' ? effect.request.reference : effect.kind));
  // Another worker had received them.
  const anew = pay(3, [replayed, replayed, NOT_SENT]);
  assert.deepEqual(kinds(anew.effects), ['read instructions', named(1), named(2), named(3)]);
  assert.deepEqual(kinds(pay(3, [NOT_SENT]).effects), ['read instructions', named(3)]);
});

test('the refusals below say nothing of a later generation that is in doubt, and change nothing of when the next one opens', () => {
  const doubt = {
    lastSendMs: NOW - 1,
    absentAtMs: null,
    under: context().credentials.keyName,
    why: 'no answer',
  };
  const before: PaymentState = { ...forged(3), refusedAtMs: NOW - 1_000, tries: 4, doubt };
  const { result } = play(createWithdrawalSteps(context(), PAYMENT, WANTED, before), {
    'read instructions': [{ ...kept(), facts: openedUpTo(3) }],
    'send withdrawal': [replayed, replayed, NOT_SENT],
  });
  const { generation, refusedAtMs, doubt: after } = stateOf(result);
  assert.deepEqual([generation, refusedAtMs, after], [3, before.refusedAtMs, doubt]);
  // Nor where a reset goes through them, and stops on the way.
  const reset = context({ attempt: { runId: 'run-2' } });
  const stopped = play(createWithdrawalSteps(reset, PAYMENT, WANTED, { ...before, knownIn: 'run-2' }), {
    'read instructions': [{ ...kept(), facts: openedUpTo(3) }],
    'send withdrawal': [replayed, NOT_SENT],
  });
  assert.deepEqual(stateOf(stopped.result).doubt, doubt);
});

test('a generation whose record has failed lets none of its own eight leave', () => {
  const word = {
    kind: 'pay again',
    item: PAYMENT.id,
    follows: 1,
    recordId: WITHDRAWAL.id,
    id: 'w',
    atMs: NOW,
  } as const;
  const failedOne = { ...WITHDRAWAL, tag: null, status: 'FAILED' };
  const { effects } = play(createWithdrawalSteps(context(), PAYMENT, WANTED, forged(2)), {
    'read instructions': [{ ...kept(word), facts: openedUpTo(2) }],
    'send withdrawal': [done(failedOne, { replayed: true }), done({ ...WITHDRAWAL, tag: named(9) })],
    'fetch withdrawal': [done(failedOne)],
  });
  assert.deepEqual(sentAs(effects), [named(1), named(9)]);
});

test('what is remembered is bounded, and what is forgotten is asked once more', () => {
  const refusals = new KeptRefusals(2);
  for (const payment of ['a', 'b', 'c']) refusals.note(payment, 1);
  assert.deepEqual(
    ['a', 'b', 'c'].map((payment) => refusals.next(payment, 2)),
    [1, 2, 2],
  );
  // An older answer takes nothing back, and one eight tells nothing of another.
  refusals.note('c', 3);
  refusals.note('c', 2);
  assert.deepEqual(
    [2, 4, 5, 8, 9, 12].map((generation) => refusals.next('c', generation)),
    [2, 4, 4, 4, 9, 9],
  );
  refusals.note('c', 10);
  assert.equal(refusals.next('c', 5), 1);
});

test('one reset opens one generation before its time, also where workers that know nothing meet an outage as they ask the lower keys', () => {
  let state: PaymentState = { ...forged(1), knownIn: 'run-2', walkedIn: 'run-2', askedIn: 'run-2' };
  let last = 1;
  const go = (keptRefusals: KeptRefusals, ...replies: readonly Answer[]): void => {
    const { effects, result } = play(
      createWithdrawalSteps(context({ keptRefusals, attempt: { runId: 'run-2' } }), PAYMENT, WANTED, state),
      {
        'read instructions': [{ ...kept(), facts: openedUpTo(last) }],
        'note facts': [true, true],
        'send withdrawal': replies,
      },
    );
    const opened = effects.flatMap((effect) => (effect.kind === 'note facts' ? effect.facts : []));
    last += opened.length;
    if (result.kind !== 'accepted') state = stateOf(result);
  };
  const first = new KeptRefusals();
  go(first, replayed, failed(REFUSAL));
  assert.equal(last, 2);
  for (let restarts = 0; restarts < 4; restarts += 1) {
    const anew = new KeptRefusals();
    go(anew, NOT_SENT);
    go(anew, replayed, replayed, failed(REFUSAL));
  }
  assert.equal(last, 2);
});
