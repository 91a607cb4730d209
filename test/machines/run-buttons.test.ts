/** The buttons beside every write that is pending, under each way in which a service keeps errors and shows tags. */
import { after, describe } from 'node:test';
import { pressInWrite, resetLostWrite } from '../support/buttons.ts';
import { AT_ONCE, closePlace, nameOf, openPlaces } from '../support/places.ts';
import { test } from '../support/sliced.ts';
import { WRITES } from '../support/stage.ts';

const places = await openPlaces();
after(() => Promise.all(places.map(closePlace)));

describe('the buttons beside a pending activity', AT_ONCE, () => {
  for (const place of places)
    for (const operation of WRITES) {
      for (const buttons of [['pause', 'unpause'], ['reset'], ['pause', 'reset']] as const)
        test(`${buttons.join(' and ')} while the reply to ${operation} is on its way, ${nameOf(place.service)}: once`, () =>
          pressInWrite(place, operation, buttons));

      test(`reset when the worker of ${operation} was lost, ${nameOf(place.service)}: it looks, and knows that it may have been sent`, () =>
        resetLostWrite(place.service, operation));
    }
});
