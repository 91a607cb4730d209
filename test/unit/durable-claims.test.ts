/** Who has named a record, as a worker judges it that knows who has signed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsNaming } from '../../durable/other-runs/claims.ts';
import type { Kept } from '../../domain/people/instructions.ts';
import { RUN } from '../support/scripts.ts';
import { kept, type LooseRecorded } from '../support/instructions.ts';

test('an item keeps the record that a word names for it, signed or not: another worker may have found the signatures', async () => {
  const words = kept({ kind: 'executed', item: 'supplier', recordId: 'wtd_1', id: 'word' });
  const asked = { run: RUN, kept: words, recordId: 'wtd_1' };
  const unsigned = { word: 'ben has not signed.' };
  assert.deepEqual(await itemsNaming(asked, async (_run, as) => as), ['supplier']);
  assert.deepEqual(await itemsNaming(asked, async (_run, as) => ({ ...as, unsigned })), ['supplier']);
  const unjudged = async (_run: unknown, as: Kept): Promise<Kept> => ({
    ...as,
    unsigned,
    unjudged: ['word'],
  });
  assert.deepEqual(await itemsNaming(asked, unjudged), ['supplier']);
  // Runs that do not name it are not judged.
  const away = async (): Promise<never> => {
    throw new Error('Temporal is away');
  };
  assert.deepEqual(await itemsNaming({ ...asked, recordId: 'wtd_2' }, away), []);
});

test('an unsigned word keeps a record no longer once people have signed what contradicts it', async () => {
  const named = (...more: readonly LooseRecorded[]) =>
    itemsNaming(
      {
        run: RUN,
        kept: kept({ kind: 'executed', item: 'supplier', recordId: 'wtd_1', id: 'word' }, ...more),
        recordId: 'wtd_1',
      },
      async (_run, as) => ({ ...as, unsigned: { word: 'ben has not signed.', later: 'nor has chi.' } }),
    );
  const notThis: LooseRecorded = { kind: 'not this', item: 'supplier', recordId: 'wtd_1' };
  assert.deepEqual(await named(notThis), []);
  assert.deepEqual(await named({ ...notThis, recordId: 'wtd_2' }), ['supplier']);
  assert.deepEqual(await named({ kind: 'not executed', item: 'supplier' }), []);
  assert.deepEqual(await named({ ...notThis, id: 'later' }), ['supplier']);
});

test('what nobody has signed takes no record from the item for which people have signed it', async () => {
  const words = kept(
    { kind: 'executed', item: 'supplier', recordId: 'wtd_1' },
    { kind: 'not executed', item: 'supplier', id: 'word' },
    { kind: 'pay again', item: 'supplier', follows: 1, recordId: 'wtd_1', id: 'again' },
  );
  const unsigned = { word: 'ben has not signed.', again: 'ben has not signed.' };
  const told = await itemsNaming({ run: RUN, kept: words, recordId: 'wtd_1' }, async (_run, as) => ({
    ...as,
    unsigned,
  }));
  assert.deepEqual(told, ['supplier']);
});
