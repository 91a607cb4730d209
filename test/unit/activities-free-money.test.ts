/** What is there for a run to spend: the balances, less what other runs have reserved, but for what those wait for themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFreeMoney } from '../../activities/free-money.ts';
import type { Reserved } from '../../domain/plan/reserved.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { FreeMoney } from '../../domain/writes/step.ts';
import type { OwnTurn } from '../../domain/turn.ts';
import { OUR_TURN, inActivity, page, worker } from '../support/activities.ts';
import { NO_ANSWER, TRADE, done } from '../support/scripts.ts';

const OURS: OwnTurn = { ...OUR_TURN, others: ['q.2026-11-21'] };
const TAKES: Reserved = { currency: 'USD', takes: '300', changes: '-300', isTold: true };

type More = {
  readonly turn?: OwnTurn | null;
  readonly answers?: boolean;
  readonly atSettlement?: boolean;
};

/** Of 1000 USD; `true`: what is sold leaves the balance at settlement only. */
async function asked(
  reserved: readonly Reserved[],
  { turn = OURS, answers = true, atSettlement = false }: More = {},
): Promise<FreeMoney> {
  const balances = [{ currency: 'USD', withdrawable: '1000', total: '1000' }];
  const unsettled = { ...TRADE, status: 'PENDING', sellAmount: '250' };
  const { deps } = worker(
    {
      balances: async () => (answers ? done({ aggregateUsd: '1000', balances }) : NO_ANSWER),
      listTrades: async () => page(unsettled),
    },
    {
      facts: {
        ...DEFAULT_SERVICE_FACTS,
        saleLeavesWithdrawable: atSettlement ? 'at_settlement' : 'at_trade',
      },
      turn: {
        ...worker().deps.turn,
        readReserved: async () => ({
          open: [{ run: { policy: 'q', id: '2026-11-21' }, reserved, legs: [] }],
          gone: [],
        }),
      },
    },
  );
  const of = { currencies: ['USD', 'EUR'], turn, onReply: () => {} };
  return inActivity({}, () => readFreeMoney(deps, of));
}

const usdOf = (told: FreeMoney): string =>
  'free' in told ? (told.free['USD'] ?? '') : told.wait.problem.code;

test('what other runs have reserved is not free, but for what they wait for themselves', async () => {
  assert.deepEqual(await asked([]), { free: { USD: '1000', EUR: '0' } });
  assert.equal(usdOf(await asked([TAKES])), '700');
  assert.equal(usdOf(await asked([{ ...TAKES, short: '200' }])), '900');
  // It buys more of it itself than it waits for.
  assert.equal(usdOf(await asked([{ ...TAKES, short: '500' }])), '1000');
  assert.equal(usdOf(await asked([{ ...TAKES, takes: '5000' }])), '0');
});

test('what an earlier sale has yet to take is not free', async () => {
  assert.equal(usdOf(await asked([], { atSettlement: true })), '750');
  assert.equal(
    usdOf(await asked([], { atSettlement: true, turn: { ...OURS, tradedAgoMs: 0, tradedAtMs: null } })),
    'LISTS_MAY_LAG',
  );
});

test('where it cannot be told, nothing is free', async () => {
  assert.equal(usdOf(await asked([{ ...TAKES, isTold: false }])), 'RESERVATION_UNKNOWN');
  assert.equal(usdOf(await asked([{ ...TAKES, currency: 'MXN', isTold: false }])), '1000');
  assert.equal(usdOf(await asked([], { turn: null })), 'LOOKUP_INCOMPLETE');
  assert.ok('wait' in (await asked([], { answers: false })), 'it waits for the service');
});
