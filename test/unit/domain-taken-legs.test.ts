/** Which quote of a leg may be traded here, before the list of trades shows what has become of it (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TakenLegs } from '../../domain/writes/taken-legs.ts';

const AT = { nowMs: 0, untilMs: 240_000 };

test('a leg is taken for one quote while it is under way, and that one may go again', () => {
  const legs = new TakenLegs();
  assert.equal(legs.take('leg', 'qte_1', AT), null);
  assert.equal(legs.take('leg', 'qte_2', AT), 'qte_1');
  assert.equal(legs.take('leg', 'qte_1', AT), null);
  assert.equal(legs.take('other', 'qte_2', AT), null);
});

test('of two sends of a quote, the end of one that traded nothing leaves the leg to the other', () => {
  const legs = new TakenLegs();
  legs.take('leg', 'qte_1', AT);
  legs.take('leg', 'qte_1', AT);
  legs.told('leg', 'qte_1', false);
  assert.equal(legs.take('leg', 'qte_2', AT), 'qte_1');
  legs.told('leg', 'qte_1', false);
  assert.equal(legs.take('leg', 'qte_2', AT), null);
});

test('what may be traded keeps its leg whatever is told later, until the list must show it', () => {
  const legs = new TakenLegs();
  legs.take('leg', 'qte_1', AT);
  legs.told('leg', 'qte_1', true);
  legs.take('leg', 'qte_1', { nowMs: 10_000, untilMs: 250_000 });
  legs.told('leg', 'qte_1', false);
  assert.equal(legs.take('leg', 'qte_2', { nowMs: 249_999, untilMs: 500_000 }), 'qte_1');
  assert.equal(legs.take('leg', 'qte_2', { nowMs: 250_000, untilMs: 500_000 }), null);
});
