/** Cancels in the middle of every write, under each way in which a service keeps errors and shows tags. */
import { describe } from 'node:test';
import { AGAIN, FATES, cancelInWrite, resetInCancelledWrite } from '../support/cancels.ts';
import { AT_ONCE, nameOf } from '../support/places.ts';
import { test } from '../support/sliced.ts';
import { WRITES } from '../support/stage.ts';
import { SOME_SERVICES } from './resets/services.ts';

describe('a cancel in the middle of a write', AT_ONCE, () => {
  for (const [turn, service] of SOME_SERVICES.entries())
    for (const operation of WRITES) {
      for (const [index, { what, ...fate }] of FATES.entries()) {
        // Each way to begin again meets each fate.
        const again = AGAIN[(turn + index) % AGAIN.length] ?? 'reset';
        test(`the reply to ${operation} ${what}, ${nameOf(service)}: it is told truly, nothing else is sent; nor when it is ${again}`, () =>
          cancelInWrite(service, { operation, fate, again }));
      }

      test(`followed by a reset while ${operation} is under way, ${nameOf(service)}: what was cancelled stays unsent`, () =>
        resetInCancelledWrite(service, operation));
    }
});
