/** When a later generation of a payment may leave: only signed words open one, and whatever the service shows below it counts (M1, M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openUntilMs, type Fact, type Kept } from '../../domain/people/instructions.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { othersSendMs } from '../../domain/writes/doubt.ts';
import { KeptRefusals } from '../../domain/writes/kept-refusals.ts';
import type { Context, Effect } from '../../domain/writes/step.ts';
import {
  NEW_PAYMENT,
  createWithdrawalSteps,
  type PaymentState,
  type PaymentStep,
} from '../../domain/writes/withdrawal.ts';
import {
  NO_ANSWER,
  NOW,
  PAYMENT,
  UNREADABLE,
  WITHDRAWAL,
  context,
  done,
  failed,
  play,
  seen,
  type Script,
} from '../support/scripts.ts';
import { kept, type LooseRecorded } from '../support/instructions.ts';

const WANTED = { amount: '17250.00', ahead: '0', unwanted: null } as const;
const UNSIGNED = { word: 'ben has not signed.' };
const FAILED: Withdrawal = { ...WITHDRAWAL, status: 'FAILED' };
const [NAME, SECOND, NINTH] = [PAYMENT.reference, `${PAYMENT.reference}~2`, `${PAYMENT.reference}~9`];
const KEPT_REFUSAL = failed('WITHDRAWAL_ADDRESS_NOT_VERIFIED', { facts: { replayed: true } });
const NEW_KEY = { mode: 'SANDBOX', organisation: 'org-1', keyName: 'org/org-1/apiKey/2' } as const;
/** Said before 00:00 UTC of the run's date, so that its window closes a day before the plan's. */
const EARLIER = Date.parse('2026-11-20T20:00:00Z');
const BETWEEN = Date.parse('2026-11-26T00:00:00Z');

const wordAt = (atMs: number, recordId: string | null = WITHDRAWAL.id): LooseRecorded => ({
  kind: 'pay again',
  item: PAYMENT.id,
  follows: 1,
  recordId,
  id: 'word',
  atMs,
});
const opened = (generation: number): Fact => ({ kind: 'opened', item: PAYMENT.id, generation, atMs: NOW });

/** The payment in a run that was started again. */
function pay(words: Kept, script: Script, more: Parameters<typeof context>[0] = {}, state = NEW_PAYMENT) {
  const at: Context = context({ attempt: { runId: 'run-2' }, ...more });
  const { result, effects } = play(createWithdrawalSteps(at, PAYMENT, WANTED, state), {
    'read instructions': [words],
    ...script,
  });
  return { came: cameTo(result), sent: sentAs(effects), effects, result };
}

function cameTo(step: PaymentStep): string {
  switch (step.kind) {
    case 'accepted':
      return `accepted ${step.accepted.withdrawalId}`;
    case 'not paid':
      return step.problem.code;
    case 'wait':
      return step.wait.problem.code;
  }
}

function sentAs(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.kind === 'send withdrawal' ? [effect.request.reference] : []));
}

const shows = (...records: readonly Withdrawal[]): Script => ({
  'scan withdrawals': [seen(...records)],
  'fetch withdrawal': records.map((record) => done(record)),
});

test('a word to pay again that nobody has signed opens no generation of a payment whose record has failed, and the payment waits for signatures', () => {
  for (const tag of [NAME, null])
    for (const nowMs of [() => NOW, () => BETWEEN]) {
      const script = {
        ...shows({ ...FAILED, tag }),
        'send withdrawal': [done({ ...FAILED, tag, status: 'PENDING' }, { replayed: true })],
      };
      const unsigned = { ...kept(wordAt(NOW)), unsigned: UNSIGNED };
      const waits = pay(unsigned, script, { nowMs });
      assert.deepEqual(
        [waits.came, waits.sent.filter((name) => name !== NAME)],
        ['AWAITING_APPROVAL', []],
        `${tag} ${nowMs()}`,
      );
      assert.ok(waits.result.kind === 'wait' && waits.result.wait.problem.message === UNSIGNED.word);
      // Once it is signed, the payment is paid again.
      const more = { ...script, 'send withdrawal': [done({ ...WITHDRAWAL, id: 'wtd_2', tag: null })] };
      if (tag !== null) assert.deepEqual(pay(kept(wordAt(NOW)), more, { nowMs }).sent, [NINTH]);
    }
});

test('once the window of such a word is over, the failed record counts, and nothing more is sent', () => {
  const unsigned = { ...kept(wordAt(EARLIER)), unsigned: UNSIGNED };
  const { came, sent } = pay(unsigned, shows(FAILED), { nowMs: () => BETWEEN });
  assert.deepEqual([came, sent], ['accepted wtd_1', []]);
});

test('a word that nobody has signed keeps no cancelled payment waiting, and none that a person has decided about since', () => {
  for (const since of [
    { kind: 'cancel' },
    { kind: 'executed', item: PAYMENT.id, recordId: 'wtd_1' },
  ] as const) {
    const unsigned = { ...kept(wordAt(NOW), since), unsigned: UNSIGNED };
    assert.equal(pay(unsigned, shows(FAILED)).came, 'accepted wtd_1', since.kind);
  }
});

test('when the window of a signed word is over, none of the plan’s generations leaves in its place, under no API key', () => {
  const named: Fact = { kind: 'api key', keyName: NEW_KEY.keyName, atMs: NOW };
  const facts = { ...context().facts, settleDoubtMs: { trade: 2_000, withdrawal: 4_000 } };
  for (const [noted, more] of [
    [[], {}],
    [[named], { credentials: NEW_KEY, reader: NEW_KEY }],
  ] as const) {
    const words = { ...kept(wordAt(EARLIER)), facts: noted };
    let state: PaymentState = NEW_PAYMENT;
    const ends: string[] = [];
    for (const laterMs of [0, 1, 2, 3, 4, 5].map((times) => times * 600_000)) {
      const nowMs = (): number => BETWEEN + laterMs;
      const script = { ...shows(FAILED), 'send withdrawal': [KEPT_REFUSAL] };
      const { came, sent, result } = pay(words, script, { ...more, facts, nowMs }, state);
      assert.deepEqual(sent, []);
      ends.push(came);
      if (result.kind !== 'wait') break;
      ({ state } = result);
    }
    assert.equal(ends.at(-1), 'WINDOW_PASSED', ends.join());
  }
});

test('while a generation above the plan’s was opened, none of the plan’s opens after a refusal', () => {
  const state: PaymentState = { ...NEW_PAYMENT, knownIn: 'run-2', walkedIn: 'run-2', sent: true };
  const refused = { 'send withdrawal': [KEPT_REFUSAL, done({ ...WITHDRAWAL, tag: null })] };
  assert.deepEqual(pay(kept(), refused, {}, state).sent, [NAME, SECOND]);
  // It was signed when ~9 was sent, and counts no longer.
  const unsigned = { ...kept(wordAt(NOW, null)), facts: [opened(9)], unsigned: UNSIGNED };
  const { came, sent } = pay(unsigned, refused, {}, state);
  assert.deepEqual([came, sent], ['AWAITING_APPROVAL', [NAME]]);
});

test('a later generation that the service shows as paid is the payment, also after the signatures have expired that opened it', () => {
  const paid = { ...WITHDRAWAL, id: 'wtd_2', tag: NINTH, status: 'COMPLETED' };
  for (const unsigned of [UNSIGNED, {}]) {
    const words = { ...kept(wordAt(NOW)), facts: [opened(9)], unsigned };
    const { came, sent } = pay(words, shows(FAILED, paid));
    assert.deepEqual([came, sent], ['accepted wtd_2', []]);
  }
  // One that may still be paid is no failed one: a person decides.
  assert.equal(pay(kept(), shows(WITHDRAWAL, paid)).came, 'RECORD_DIFFERS');
});

test('where people have opened more generations, none leaves while the service shows another one that has not failed, whatever Temporal keeps of its opening', () => {
  for (const [generation, name] of [
    [1, NAME],
    [2, SECOND],
    [9, NINTH],
  ] as const) {
    const words = kept(wordAt(NOW, null));
    const keptRefusals = new KeptRefusals();
    keptRefusals.note(NAME, 1);
    const state: PaymentState = {
      ...NEW_PAYMENT,
      generation,
      knownIn: 'run-2',
      walkedIn: 'run-2',
      askedIn: 'run-2',
      sent: true,
    };
    const forged = { ...words, facts: [opened(generation)] };
    const shown = pay(forged, shows(WITHDRAWAL), { keptRefusals }, state);
    assert.deepEqual([shown.came, shown.sent], ['accepted wtd_1', []]);
    const unread = pay(forged, { 'scan withdrawals': [UNREADABLE] }, { keptRefusals }, state);
    assert.deepEqual([unread.came, unread.sent], ['LOOKUP_INCOMPLETE', []]);
    // Where it shows nothing, or only what could be the payment, the same key again is a lookup itself.
    for (const list of [seen<Withdrawal>(), seen({ ...WITHDRAWAL, tag: null })])
      assert.deepEqual(pay(forged, { 'scan withdrawals': [list] }, { keptRefusals }, state).sent, [name]);
  }
});

const EXECUTED = { kind: 'executed', item: PAYMENT.id, recordId: 'wtd_9' } as const;
const UNKNOWN_ID = failed('WITHDRAWAL_NOT_FOUND', { facts: { status: 404 } });
const UNLISTED: Withdrawal = { ...WITHDRAWAL, id: 'wtd_9', tag: null };

/** The payment until nothing is in doubt, by a list that never shows the record. */
function payUnlisted(words: Kept, fetched: Script['fetch withdrawal'] = [done(UNLISTED)]) {
  let state: PaymentState = NEW_PAYMENT;
  const sent: string[] = [];
  let came = '';
  // The window of the plan is over, that of the word is open.
  for (const hours of [140, 141, 153, 165, 166, 167]) {
    const one = pay(
      words,
      { 'fetch withdrawal': fetched, 'send withdrawal': [done({ ...WITHDRAWAL, tag: null })] },
      { nowMs: () => NOW + hours * 3_600_000 },
      state,
    );
    sent.push(...one.sent);
    ({ came } = one);
    if (one.result.kind !== 'wait') break;
    ({ state } = one.result);
  }
  return [came, sent];
}

test('a record that people have named as failed is read by its id before the payment is paid again: it pays the payment where it has not failed', () => {
  const again = wordAt(NOW + 140 * 3_600_000, 'wtd_9');
  for (const facts of [[], [opened(9)]]) {
    const words = { ...kept(EXECUTED, again), facts };
    assert.deepEqual(payUnlisted(words), ['accepted wtd_9', []]);
    assert.deepEqual(payUnlisted(words, [done({ ...UNLISTED, status: 'COMPLETED' })]), [
      'accepted wtd_9',
      [],
    ]);
    assert.deepEqual(payUnlisted(words, [done({ ...UNLISTED, status: 'FAILED' })]), [
      'accepted wtd_1',
      [NINTH],
    ]);
    // One that cannot be read, or is another’s, and has not failed, lets nothing leave.
    assert.deepEqual(payUnlisted(words, [NO_ANSWER]), ['LOOKUP_INCOMPLETE', []]);
    // Nor does one of which the service knows nothing: a person must find out.
    assert.deepEqual(payUnlisted(words, [UNKNOWN_ID]), ['DECISION_UNPROVEN', []]);
    const another = { ...UNLISTED, withdrawalAmount: '1.00' };
    assert.deepEqual(payUnlisted(words, [done(another)]), ['DECISION_UNPROVEN', []]);
    assert.deepEqual(payUnlisted(words, [done({ ...another, status: 'FAILED' })]), [
      'accepted wtd_1',
      [NINTH],
    ]);
  }
});

test('that a payment is paid again, once it is signed, does not wait for a word about the record that it names as failed', () => {
  const script = {
    ...shows(FAILED),
    'send withdrawal': [done({ ...WITHDRAWAL, id: 'wtd_2', tag: null })],
  };
  const executed = (recordId: string) => ({ ...EXECUTED, recordId, id: 'executed' });
  const missing = { executed: 'ben has not signed.' };
  const told = (...words: readonly LooseRecorded[]) => {
    const { came, sent } = pay({ ...kept(...words), unsigned: missing }, script);
    return [came, sent];
  };
  assert.deepEqual(told(executed(WITHDRAWAL.id), wordAt(NOW)), ['accepted wtd_2', [NINTH]]);
  // A word about another record says that this one has paid it. Nothing leaves before people have said that it has not (M1).
  assert.deepEqual(told(executed('wtd_9'), wordAt(NOW)), ['AWAITING_APPROVAL', []]);
  assert.deepEqual(told(wordAt(NOW), executed('wtd_9')), ['AWAITING_APPROVAL', []]);
  const notThis = { kind: 'not this', item: PAYMENT.id, recordId: 'wtd_9' } as const;
  assert.deepEqual(told(executed('wtd_9'), wordAt(NOW), notThis), ['accepted wtd_2', [NINTH]]);
});

test('a record that people have named, with or without signatures, is looked up before anything leaves, whoever says that it has failed', () => {
  const words = kept({ ...EXECUTED, id: 'executed' }, wordAt(NOW, 'wtd_9'));
  for (const unsigned of [{}, { executed: 'ben has not signed.' }]) {
    // Nothing was sent yet, and it has not failed.
    const first = pay({ ...words, unsigned }, shows(UNLISTED), { attempt: {} });
    assert.deepEqual([first.came, first.sent], ['accepted wtd_9', []]);
  }
});

test('a word that follows one whose window is over opens the next eight, whether or not that one counted', () => {
  const second = { ...wordAt(BETWEEN), follows: 9, id: 'second' };
  for (const unsigned of [{}, UNSIGNED]) {
    const script = { ...shows(FAILED), 'send withdrawal': [done({ ...WITHDRAWAL, id: 'wtd_2', tag: null })] };
    const words = { ...kept(wordAt(EARLIER), second), unsigned };
    const { came, sent } = pay(words, script, { nowMs: () => NOW + 140 * 3_600_000 });
    assert.deepEqual([came, sent], ['accepted wtd_2', [`${NAME}~17`]]);
  }
});

test('a payment waits for a person, who is told so, where the service knows nothing of the record that is said to have failed', () => {
  const words = kept(EXECUTED, wordAt(NOW + 140 * 3_600_000, 'wtd_9'));
  const nowMs = (): number => NOW + 140 * 3_600_000;
  const { result, sent } = pay(words, { 'fetch withdrawal': [UNKNOWN_ID] }, { nowMs });
  assert.ok(result.kind === 'wait');
  assert.deepEqual([result.wait.reason, sent], ['person', []]);
  assert.match(result.wait.problem.message, /has no withdrawal with this id/);
  // A list that was not read to its end may still show it.
  const unread = { 'fetch withdrawal': [UNKNOWN_ID], 'scan withdrawals': [seen<Withdrawal>(), UNREADABLE] };
  assert.equal(pay(words, unread, { nowMs }).came, 'LOOKUP_INCOMPLETE');
});

test('of several words to pay again, each record that one of them names must have failed', () => {
  // The window of the first word is over.
  const second = {
    kind: 'pay again',
    item: PAYMENT.id,
    follows: 9,
    recordId: null,
    atMs: NOW + 140 * 3_600_000,
  } as const;
  const words = kept(wordAt(NOW, 'wtd_9'), second);
  assert.deepEqual(payUnlisted(words), ['accepted wtd_9', []]);
  const failedOne = [done({ ...UNLISTED, status: 'FAILED' })];
  assert.deepEqual(payUnlisted(words, failedOne), ['accepted wtd_1', [`${NAME}~17`]]);
});

test('a payment that was sent again by approvals stays in doubt once its window is over, and ends when that doubt does (M8)', () => {
  const untilMs = openUntilMs(NOW);
  const doubtMs = othersSendMs(context()) + context().facts.settleDoubtMs.withdrawal;
  const unsigned = { ...kept(wordAt(NOW)), facts: [opened(9)], unsigned: UNSIGNED };
  // The record that has failed is not taken while the one after it may still appear.
  let state: PaymentState = NEW_PAYMENT;
  const came = [-1, 1, doubtMs, doubtMs + 1].map((laterMs) => {
    const one = pay(unsigned, shows(FAILED), { nowMs: () => untilMs + laterMs }, state);
    assert.deepEqual(one.sent, []);
    if (one.result.kind === 'wait') ({ state } = one.result);
    return one.came;
  });
  assert.deepEqual(came, ['AWAITING_APPROVAL', 'IN_DOUBT', 'IN_DOUBT', 'accepted wtd_1']);
  assert.equal(state.doubt?.lastSendMs, untilMs + othersSendMs(context()));

  // One that the service has never accepted ends by its window.
  const ends: string[] = [];
  for (const laterMs of [1, doubtMs / 2, doubtMs, doubtMs + 1_000, 2 * doubtMs, 2 * doubtMs + 1_000]) {
    const one = pay(unsigned, shows(), { nowMs: () => untilMs + laterMs }, state);
    assert.deepEqual(one.sent, []);
    ends.push(one.came);
    if (one.result.kind !== 'wait') break;
    ({ state } = one.result);
  }
  assert.equal(ends.pop(), 'WINDOW_PASSED');
  assert.deepEqual(new Set(ends), new Set(['IN_DOUBT']));

  // A moment far ahead, written past the commands, keeps no payment waiting.
  const ahead = { ...kept(wordAt(8e15)), unsigned: UNSIGNED };
  assert.equal(pay(ahead, shows(FAILED)).came, 'accepted wtd_1');
});
