/** What a run was handed on by an earlier history of it counts only as far as the service shows it (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confirmOutcomes } from '../../activities/confirm-outcomes.ts';
import { client, inActivity, page, worker } from '../support/activities.ts';
import { NO_ANSWER, TRADE, WITHDRAWAL, context, done, failed } from '../support/scripts.ts';

const { plan } = context();
const CALL = { plan, tradeIds: [TRADE.id], withdrawalIds: [WITHDRAWAL.id] };
const OTHERS = 'p.2026-11-20.supplier';
const whole = <T>(record: T) => done({ kind: 'WHOLE' as const, record });
/** Lists that show nothing, and answers by id that know nothing. */
const NOTHING = {
  listTrades: async () => page<typeof TRADE>(),
  listWithdrawals: async () => page<typeof WITHDRAWAL>(),
  trade: async () => failed('TRADE_NOT_FOUND'),
  withdrawal: async () => failed('WITHDRAWAL_NOT_FOUND'),
};
type Scripted = Parameters<typeof worker>[0];

const SHOWN: readonly (readonly [what: string, scripted: Scripted, trade: boolean, payment: boolean])[] = [
  [
    'lists that show both',
    { listTrades: async () => page(TRADE), listWithdrawals: async () => page(WITHDRAWAL) },
    true,
    true,
  ],
  ['lists that show neither', {}, false, false],
  [
    'a list of withdrawals without tags',
    { listWithdrawals: async () => page({ ...WITHDRAWAL, tag: null }) },
    false,
    true,
  ],
  [
    'records of another run under these ids',
    {
      listTrades: async () => page({ ...TRADE, clientReferenceId: OTHERS }),
      listWithdrawals: async () => page({ ...WITHDRAWAL, tag: OTHERS }),
    },
    false,
    false,
  ],
  [
    'answers by id alone',
    { trade: async () => whole(TRADE), withdrawal: async () => whole(WITHDRAWAL) },
    true,
    true,
  ],
  [
    'answers by id that are another run’s',
    {
      trade: async () => whole({ ...TRADE, clientReferenceId: OTHERS }),
      withdrawal: async () => whole({ ...WITHDRAWAL, tag: OTHERS }),
    },
    false,
    false,
  ],
  [
    'answers by id of which only a part is known',
    {
      trade: async () =>
        done({ kind: 'PARTIAL' as const, record: { id: TRADE.id, status: 'SETTLED', currency: null } }),
    },
    false,
    false,
  ],
];
for (const [what, scripted, trade, payment] of SHOWN)
  test(`${what}: the trade ${trade ? 'counts' : 'is asked about again'}, the payment ${payment ? 'counts' : 'is asked about again'}`, async () => {
    const { deps } = worker({ ...NOTHING, ...scripted });
    assert.deepEqual(await inActivity({}, () => confirmOutcomes(deps)(CALL)), {
      kind: 'shown',
      tradeIds: trade ? [TRADE.id] : [],
      withdrawalIds: payment ? [WITHDRAWAL.id] : [],
    });
  });

test('a list that cannot be read to its end, or a key of another organisation, proves nothing: it waits, and says so', async () => {
  const unread = worker({ ...NOTHING, listWithdrawals: async () => NO_ANSWER });
  const { deps, requests } = worker(NOTHING);
  const foreign = { ...deps, reader: client(requests, { organisation: 'org-2' }) };
  for (const [of, code] of [
    [unread.deps, 'NO_ANSWER'],
    [foreign, 'CREDENTIALS_DIFFER'],
  ] as const) {
    // One after the other.
    const answer = await inActivity({}, () => confirmOutcomes(of)(CALL));
    assert.equal(answer.kind === 'wait' ? answer.wait.problem.code : answer.kind, code);
  }
  assert.deepEqual(requests, []);
});
