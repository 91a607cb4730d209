/** What `--instead-of` must come with, and how the two runs are named. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insteadOfAsked } from '../../cli/instead-of.ts';
import { CommandFailure } from '../../operations/failure.ts';

const RUN = { policy: 'p', id: '2026-11-21-b' };
const OLD = { policy: 'p', id: '2026-11-21' };

test('the run whose place is taken is named by its id, or as everywhere else, and is of the same policy', () => {
  const asked = (insteadOf: string) =>
    insteadOfAsked({ insteadOf, id: RUN.id }, { run: RUN, kind: 'convert' });
  assert.deepEqual([asked('2026-11-21'), asked('p.2026-11-21')], [OLD, OLD]);
  assert.equal(insteadOfAsked({ id: RUN.id }, { run: RUN, kind: 'convert' }), null);
  for (const other of ['q.2026-11-21', 'sandbox/p.2026-11-21', ''])
    assert.throws(() => asked(other), CommandFailure);
});

for (const [what, options, kind, why] of [
  ['a payout', {}, 'payout', /a batch cannot take the place/],
  ['a run without an id of its own', { id: undefined }, 'convert', /no id of its own/],
  ['the run itself', { insteadOf: RUN.id }, 'convert', /its own place/],
  ['a run that goes on', { goOn: true }, 'rebalance', /cannot go on with anything/],
  ['a payment that is paid again', { payAgain: ['supplier'] }, 'convert', /cannot go on with anything/],
] as const)
  test(`no place is taken by ${what}`, () => {
    const asked = { insteadOf: OLD.id, id: RUN.id, ...options };
    assert.throws(
      () => insteadOfAsked(asked as Parameters<typeof insteadOfAsked>[0], { run: RUN, kind }),
      (error) => error instanceof CommandFailure && why.test(error.problems[0]?.message ?? ''),
    );
  });
