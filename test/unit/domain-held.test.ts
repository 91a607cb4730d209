/** Two batches with a payment of the same id: what the other one's chunk and run say decides whether it holds it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHeld, type Coordinator, type ItemsOfChunk } from '../../domain/run/held.ts';

const NOTHING: ItemsOfChunk = {
  runId: 'c1',
  heard: 'r1/c1',
  isFirst: true,
  unsent: [],
  accepted: [],
  unpaid: [],
};
const OPEN: Coordinator = { kind: 'open', runId: 'r1' };
const RESET: Coordinator = { kind: 'open', runId: 'r2' };
const ENDED: Coordinator = { kind: 'ended' };
const CUT_OFF: Coordinator = { kind: 'cut off' };
const UNPAID = { ...NOTHING, unpaid: ['a'] };

const CASES: readonly (readonly [
  title: string,
  chunk: ItemsOfChunk,
  coordinator: Coordinator,
  isWanted: boolean,
  isHeld: boolean,
])[] = [
  ['one that is still to be sent', { ...NOTHING, unsent: ['a'] }, OPEN, true, true],
  ['one that is unsent in a run that was terminated', { ...NOTHING, unsent: ['a'] }, CUT_OFF, true, true],
  [
    'one that was accepted, also once its run has ended',
    { ...NOTHING, accepted: [['a', 'w']] },
    ENDED,
    true,
    true,
  ],
  ['one that ended unpaid', UNPAID, OPEN, true, false],
  ['one that ended unpaid, in a run that has ended', UNPAID, ENDED, true, false],
  ['one that ended unpaid, of which a reset run takes up what is undone', UNPAID, RESET, true, true],
  ['the same, of which the chunk was reset', { ...UNPAID, runId: 'c2' }, OPEN, true, true],
  ['one that is planned and waits for its go', NOTHING, OPEN, true, true],
  ['one whose run ended before it got its go', NOTHING, ENDED, true, false],
  ['the same, of a chunk that was started once more', { ...NOTHING, isFirst: false }, ENDED, true, true],
  ['one that is planned in a run that was terminated', NOTHING, CUT_OFF, true, true],
  ['one that its own plan knows to be unpayable', NOTHING, OPEN, false, false],
  ['the same, in a run that was reset and looks again', NOTHING, RESET, false, true],
];

for (const [title, chunk, coordinator, isWanted, expected] of CASES) {
  test(`${title} ${expected ? 'is held' : 'is not held'}`, () => {
    assert.equal(isHeld(chunk, coordinator, { name: 'a', isWanted, madeFor: 'r1' }), expected);
  });
}
