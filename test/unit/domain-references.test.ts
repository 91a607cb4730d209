/** Business identity: the same text and the same key for ever, whatever Temporal does (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  generationOf,
  isPart,
  keyMaterial,
  parseRunName,
  reference,
  runName,
  runPrefix,
  workflowIdOf,
} from '../../domain/references.ts';
import { hashKey } from '../../service/idempotency-key.ts';

const RUN = { policy: 'contractors', id: '2026-11-21-weekly' };
const TRADE = {
  mode: 'SANDBOX',
  organisation: 'org-1',
  endpoint: 'trades',
  reference: 'contractors.2026-11-21-weekly.usd-mxn-1',
  quoteId: 'qte_4Kd8',
} as const;
const WITHDRAWAL = {
  mode: 'LIVE',
  organisation: 'org-1',
  endpoint: 'withdrawals',
  reference: 'contractors.2026-11-21-weekly.inv-1042~2',
  quoteId: null,
} as const;

test('a reference is policy, run and item; a later generation says so behind a tilde', () => {
  assert.equal(runName(RUN), 'contractors.2026-11-21-weekly');
  assert.equal(runPrefix(RUN), 'contractors.2026-11-21-weekly.');
  assert.equal(reference(RUN, 'inv-1042'), 'contractors.2026-11-21-weekly.inv-1042');
  assert.equal(reference(RUN, 'inv-1042', 1), 'contractors.2026-11-21-weekly.inv-1042');
  assert.equal(reference(RUN, 'inv-1042', 12), 'contractors.2026-11-21-weekly.inv-1042~12');
  assert.equal(workflowIdOf('LIVE', RUN), 'live/contractors.2026-11-21-weekly');
  for (const generation of [0, -1, 1.5, Number.NaN])
    assert.throws(() => reference(RUN, 'inv-1042', generation), RangeError);
});

test('a part that could be read in two ways is refused, never rewritten', () => {
  for (const part of ['a', 'A1', '0-_', 'x'.repeat(64)]) assert.equal(isPart(part), true, part);
  for (const part of ['', '-a', '_a', 'a.b', 'a~2', 'a b', 'a\n', 'ä', 'x'.repeat(65)]) {
    assert.equal(isPart(part), false, part);
    assert.throws(() => reference(RUN, part), RangeError, part);
    assert.throws(() => runName({ ...RUN, id: part }), RangeError, part);
  }
});

test('a run is named in lower case; an item may have capitals', () => {
  for (const run of [
    { ...RUN, id: '2026-11-21-Weekly' },
    { ...RUN, policy: 'Contractors' },
  ]) {
    assert.throws(() => runName(run), RangeError);
    assert.throws(() => reference(run, 'inv-1042'), RangeError);
    assert.throws(() => workflowIdOf('LIVE', run), RangeError);
    assert.equal(parseRunName(`${run.policy}.${run.id}`), null);
  }
  assert.equal(reference(RUN, 'INV-1042'), 'contractors.2026-11-21-weekly.INV-1042');
});

test('a run name is read back as it was written, and nothing else is one', () => {
  assert.deepEqual(parseRunName(runName(RUN)), RUN);
  for (const text of ['', 'contractors', 'a.b.c', '.b', 'a.', 'a.b ', 'a~1.b'])
    assert.equal(parseRunName(text), null, text);
});

test('a generation is told from its text, and a longer name is another item', () => {
  const base = reference(RUN, 'inv-1');
  const rows: readonly (readonly [string, number | null])[] = [
    [base, 1],
    [`${base}~2`, 2],
    [`${base}~10`, 10],
    [`${base}~1`, null],
    [`${base}~0`, null],
    [`${base}~02`, null],
    [`${base}~`, null],
    [`${base}~2x`, null],
    [`${base}0`, null],
    [` ${base}`, null],
    [base.toUpperCase(), null],
    ['', null],
  ];
  for (const [text, generation] of rows) assert.equal(generationOf(base, text), generation, text);
});

test('the material of a key and its hash are these texts', () => {
  assert.equal(
    keyMaterial(TRADE),
    '9:cambist-17:SANDBOX5:org-16:trades39:contractors.2026-11-21-weekly.usd-mxn-18:qte_4Kd8',
  );
  assert.equal(
    keyMaterial(WITHDRAWAL),
    '9:cambist-14:LIVE5:org-111:withdrawals40:contractors.2026-11-21-weekly.inv-1042~2',
  );
  assert.equal(
    hashKey(keyMaterial(TRADE)),
    '16f840498d8f587726a7999047924f3b1c9f98ff7ec885df6267000ed16db140',
  );
  assert.equal(
    hashKey(keyMaterial(WITHDRAWAL)),
    'd21afc42e8c7ec4dd0e65b2525d6706332d33d93f89f5ed2637d9a86459a0c1b',
  );
});

test('whatever tells two writes apart tells their keys apart', () => {
  const keys = [
    TRADE,
    { ...TRADE, mode: 'LIVE' as const },
    { ...TRADE, organisation: 'org-2' },
    { ...TRADE, endpoint: 'withdrawals' as const },
    { ...TRADE, reference: `${TRADE.reference}~2` },
    { ...TRADE, quoteId: 'qte_other' },
    { ...TRADE, quoteId: null },
    // The same characters, cut at another place.
    { ...TRADE, organisation: 'org-16', endpoint: 'trades' as const },
  ].map((identity) => keyMaterial(identity));
  assert.equal(new Set(keys).size, keys.length);
});
