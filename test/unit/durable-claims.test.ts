/** Who has named a record, as a worker judges it that knows who has signed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsNaming } from '../../durable/other-runs/claims.ts';
import { RUN } from '../support/scripts.ts';
import { kept } from '../support/instructions.ts';

test('an item has a record by a word once that is signed, and not before; where that cannot be told, nothing is', async () => {
  const words = kept({ kind: 'executed', item: 'supplier', recordId: 'wtd_1', id: 'word' });
  const asked = { run: RUN, kept: words, recordId: 'wtd_1' };
  const away = async (): Promise<never> => {
    throw new Error('Temporal is away');
  };
  assert.deepEqual(await itemsNaming(asked, async (_run, as) => as), ['supplier']);
  const unsigned = { word: 'ben has not signed.' };
  assert.deepEqual(await itemsNaming(asked, async (_run, as) => ({ ...as, unsigned })), []);
  await assert.rejects(itemsNaming(asked, away), /away/);
  // Runs that do not name it are not judged.
  assert.deepEqual(await itemsNaming({ ...asked, recordId: 'wtd_2' }, away), []);
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
