/** What goes wrong at the service itself while the storm lasts, drawn from everything that the sandbox can do. */
import type { FaultEffect, SandboxFault } from '../../../sandbox/server.ts';
import type { Dice } from '../../support/dice.ts';

type Chance = readonly [operation: SandboxFault['operation'], probability: number, effect: FaultEffect];

/** Shorter than any doubt, as an operator promises with `settle_doubt`. */
const LAG_MS = 800;
const LATE_MS = 4_000;

/** Each with a chance of its own; a request meets at most one that decides its reply. */
export function stormFaults(dice: Dice): readonly SandboxFault[] {
  const chances: readonly Chance[] = [
    ...(['createTrade', 'createWithdrawal'] as const).flatMap((operation): Chance[] => [
      [operation, 0.06, { kind: 'lose-reply' }],
      [operation, 0.03, { kind: 'close-before' }],
      [operation, 0.04, { kind: 'cut-body' }],
      [operation, 0.03, { kind: 'error', code: 'INTERNAL_ERROR' }],
      [operation, 0.03, { kind: 'error', code: 'INTERNAL_ERROR', committed: true }],
      [operation, 0.02, { kind: 'error', status: 418, code: 'SOMETHING_NEW', committed: dice.isHit(0.5) }],
      [operation, 0.02, { kind: 'error', code: 'AUTH_TOKEN_INVALID', details: { reason: 'nonce_replay' } }],
      [operation, 0.01, { kind: 'stored-failure', committed: true }],
      [operation, 0.01, { kind: 'stored-failure', timeoutMs: 1_000 }],
      [operation, 0.02, { kind: 'html', status: 502, committed: true }],
      [operation, 0.02, { kind: 'html', status: 504 }],
      [operation, 0.02, { kind: 'status', status: 202 }],
      [operation, 0.03, { kind: 'late-commit', ms: dice.below(LATE_MS), reply: 'lost', key: 'in-flight' }],
      [operation, 0.02, { kind: 'late-commit', ms: dice.below(LATE_MS), reply: '500', key: 'free' }],
      [operation, 0.01, { kind: 'late-commit', ms: dice.below(LATE_MS), reply: '500', key: 'stored' }],
      [operation, 0.1, { kind: 'delay', ms: dice.below(2_000), when: 'before' }],
      [operation, 0.1, { kind: 'delay', ms: dice.below(2_000), when: 'after' }],
      [operation, 0.1, { kind: 'list-lag', ms: dice.below(LAG_MS), byId: dice.isHit(0.5) }],
    ]),
    ['createTrade', 0.01, { kind: 'word', word: 'FAILED', money: 'returned' }],
    ['createTrade', 0.02, { kind: 'error', code: 'QUOTE_EXPIRED' }],
    ['createWithdrawal', 0.02, { kind: 'outcome', outcome: 'failed' }],
    ['createWithdrawal', 0.02, { kind: 'error', code: 'WITHDRAWAL_DISABLED_FOR_ACCOUNT', stored: false }],
    ['createQuote', 0.05, { kind: 'lose-reply' }],
    ['createQuote', 0.03, { kind: 'html', status: 502 }],
    ['*', 0.03, { kind: 'rate-limit', retryAfter: 1 }],
    ['*', 0.02, { kind: 'close-before' }],
    ['*', 0.02, { kind: 'cut-body' }],
    ['listTrades', 0.05, { kind: 'error', code: 'INTERNAL_ERROR' }],
    ['listWithdrawals', 0.05, { kind: 'error', code: 'INTERNAL_ERROR' }],
    ['listWithdrawals', 0.03, { kind: 'html', status: 502 }],
    ['*', 0.005, { kind: 'error', code: 'AUTH_FORBIDDEN_IP', stored: false }],
  ];
  return chances.map(([operation, probability, effect], index) => ({
    id: `storm ${index} ${operation} ${effect.kind}`,
    operation,
    probability,
    effect,
  }));
}
