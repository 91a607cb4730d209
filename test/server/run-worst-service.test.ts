/**
 * One cell of each table that `test/machines` plays whole, where the service helps least: it keeps no error, and shows no
 * tag.
 */
import { describe, test } from 'node:test';
import { WORST_SERVICE } from '../machines/resets/services.ts';
import { pressInWrite, resetLostWrite } from '../support/buttons.ts';
import { cancelInWrite } from '../support/cancels.ts';
import { AT_ONCE, withPlace } from '../support/places.ts';

describe('where no error is kept and no tag is shown', AT_ONCE, () => {
  test('a cancel while the reply to a payment is held back and lost: it is told truly, and nothing is sent after a reset', () =>
    cancelInWrite(WORST_SERVICE, {
      operation: 'createWithdrawal',
      fate: { when: 'after', reply: { kind: 'lose-reply' } },
      again: 'reset without signals',
    }));

  test('an activity is paused and reset while the reply to its payment is on its way: once', () =>
    withPlace(WORST_SERVICE, async (place) => {
      await place.startWorker();
      await pressInWrite(place, 'createWithdrawal', ['pause', 'reset']);
    }));

  test('an activity is reset when the worker of its payment was lost: it looks, and knows that it may have been sent', () =>
    resetLostWrite(WORST_SERVICE, 'createWithdrawal'));
});
