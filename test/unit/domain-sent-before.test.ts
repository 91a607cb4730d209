/** What was sent before, and may therefore leave once more under its key (M1, M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY_LIVES_MS, SentBefore, type CameOfIt } from '../../domain/writes/sent-before.ts';
import { NOW } from '../support/scripts.ts';

const REFUSED = (code: string): CameOfIt => ({ result: 'REFUSED', code });
const UNKNOWN: CameOfIt = { result: 'UNKNOWN', code: null };
const DONE: CameOfIt = { result: 'DONE', code: null };
const SHORT = REFUSED('WITHDRAWAL_INSUFFICIENT_BALANCE');

/** Sends, each with the seconds after which it left, and what came of it a second later. */
type Course = readonly (readonly [atSeconds: number, came: CameOfIt | null])[];

function hasAfter(course: Course, nowMs = NOW + 1_000_000): boolean {
  const before = new SentBefore();
  for (const [seconds, came] of course) {
    const sentAtMs = NOW + seconds * 1_000;
    before.note('a', came, { sentAtMs, atMs: sentAtMs + 1_000 });
  }
  assert.ok(!before.has('b', nowMs));
  return before.has('a', nowMs);
}

for (const [what, course, passes] of [
  ['a success', [[0, DONE]], true],
  ['no answer', [[0, UNKNOWN]], true],
  ['a send of a worker that was killed', [[0, null]], true],
  ['what never left', [[0, { result: 'NOT_SENT', code: null }]], false],
  ['a rate limit', [[0, { result: 'UNKNOWN', code: 'RATE_LIMIT_EXCEEDED' }]], false],
  ['a refusal', [[0, SHORT]], false],
  [
    'a refusal while an earlier send may still be accepted',
    [
      [0, UNKNOWN],
      [30, SHORT],
    ],
    true,
  ],
  [
    'a refusal once no earlier send can be accepted any more',
    [
      [0, UNKNOWN],
      [90, SHORT],
    ],
    false,
  ],
  [
    'the same after the send of a worker that was killed',
    [
      [0, null],
      [90, SHORT],
    ],
    true,
  ],
  [
    'the same, later',
    [
      [0, null],
      [300, SHORT],
    ],
    false,
  ],
  [
    'a refusal that says nothing about the payment',
    [
      [0, UNKNOWN],
      [90, REFUSED('AUTH_API_KEY_INVALID')],
    ],
    true,
  ],
  [
    'a refusal of the request alone',
    [
      [0, UNKNOWN],
      [90, REFUSED('VALIDATION_BODY_FAILED')],
    ],
    true,
  ],
  [
    'a refusal of what has its record',
    [
      [0, DONE],
      [90, SHORT],
    ],
    true,
  ],
  [
    'no answer about what has its record, then a refusal',
    [
      [0, DONE],
      [5, UNKNOWN],
      [900, SHORT],
    ],
    true,
  ],
] as const satisfies readonly (readonly [string, Course, boolean])[])
  test(`after ${what}, the same ${passes ? 'passes' : 'does not pass'}`, () => {
    assert.equal(hasAfter(course), passes);
  });

test('what was sent passes for as long as the service keeps its key since the first send, and not longer', () => {
  const course: Course = [
    [0, UNKNOWN],
    [86_400, UNKNOWN],
  ];
  assert.ok(hasAfter(course, NOW + KEY_LIVES_MS - 1));
  assert.ok(!hasAfter(course, NOW + KEY_LIVES_MS));
});
