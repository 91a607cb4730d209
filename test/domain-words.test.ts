/** What people have said, and what they are told of a reply (M6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../domain/stepper.ts';
import { isCancelled, wordsAbout, type Word } from '../domain/words.ts';
import { NOT_SENT, NO_ANSWER, done, failed } from './support/scripts.ts';

const said = { by: 'ana', atMs: 1 };
const CANCEL: Word = { ...said, kind: 'cancel' };
const GO_ON: Word = { ...said, kind: 'go-on' };
const EXECUTED: Word = { ...said, kind: 'executed', item: 'supplier', recordId: 'wtd_1' };
const NOT_EXECUTED: Word = { ...said, kind: 'not executed', item: 'supplier', evidence: 'the bank says so' };
const PAY_AGAIN: Word = {
  ...said,
  kind: 'pay again',
  item: 'supplier',
  generation: 2,
  reason: 'returned',
  fenceUntilMs: 2,
};

test('the last of cancel and go-on counts', () => {
  const rows: readonly (readonly [readonly Word[], boolean])[] = [
    [[], false],
    [[CANCEL], true],
    [[CANCEL, GO_ON], false],
    [[CANCEL, GO_ON, CANCEL], true],
    [[GO_ON, CANCEL, EXECUTED], true],
    [[EXECUTED], false],
  ];
  for (const [words, cancelled] of rows) {
    assert.equal(isCancelled(words), cancelled, words.map(({ kind }) => kind).join());
    assert.equal(wordsAbout(words, 'supplier').cancelled, cancelled);
  }
});

test('of decisions about an item the last counts, and paying again makes it history', () => {
  const decisionOf = (...words: readonly Word[]) => wordsAbout(words, 'supplier').decision;
  assert.equal(decisionOf(EXECUTED, NOT_EXECUTED), NOT_EXECUTED);
  assert.equal(decisionOf(NOT_EXECUTED, PAY_AGAIN), null);
  assert.equal(decisionOf(PAY_AGAIN, NOT_EXECUTED), NOT_EXECUTED);
  assert.equal(wordsAbout([PAY_AGAIN, { ...PAY_AGAIN, generation: 3 }], 'supplier').payAgain?.generation, 3);
  assert.deepEqual(wordsAbout([EXECUTED, PAY_AGAIN], 'second'), {
    cancelled: false,
    decision: null,
    payAgain: null,
  });
});

test('people are told the code and its figures, never the service’s free text, which may name a beneficiary', () => {
  const details = {
    requiredAmount: '17250.00',
    currency: 'MXN',
    beneficiary: 'Ana Ruiz',
    reason: 'paid to <b>Ana Ruiz, Calle 5</b>',
  };
  assert.equal(
    explain(failed('WITHDRAWAL_INSUFFICIENT_BALANCE', { details })),
    'The service answered WITHDRAWAL_INSUFFICIENT_BALANCE (requiredAmount 17250.00, currency MXN).',
  );
  assert.equal(
    explain(failed('INTERNAL_ERROR', { details })),
    'The service answered INTERNAL_ERROR (requiredAmount 17250.00, currency MXN).',
  );
  assert.equal(explain(NO_ANSWER), 'No usable answer: no whole reply within the time limit');
  assert.equal(explain(NOT_SENT), 'The service was not reached: no connection (ECONNREFUSED)');
  assert.equal(explain(done(null)), 'The service accepted it.');
});
