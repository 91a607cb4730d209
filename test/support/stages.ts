/** Stages of legs and payments by what they come to, for tests that begin in the middle of a run. */
import { NOW } from './scripts.ts';
import {
  newLeg,
  newPayment,
  type Accepted,
  type LegOutcome,
  type LegStage,
  type PaymentOutcome,
  type PaymentStage,
  type TradedLeg,
} from '../../domain/run/items.ts';
import type { Problem } from '../../domain/problems.ts';

export const TRADED_LEG: TradedLeg = {
  kind: 'traded',
  atMs: NOW,
  traded: {
    tradeId: 'tde_1',
    createdAtMs: NOW,
    quoted: null,
    quoteId: 'qte_1',
    sellAmount: '1000.00',
    buyAmount: '17250.00',
    status: 'SETTLED',
  },
  worse: null,
  settled: null,
};

const ACCEPTED: Accepted = {
  withdrawalId: 'wtd_1',
  createdAtMs: NOW,
  reference: 'p.2026-11-21.supplier',
  atMs: 0,
  status: 'COMPLETED',
};

/** @param problem what a leg that was not traded ended with */
export function legAt(outcome: LegOutcome, problem: Problem): LegStage {
  switch (outcome) {
    case 'PENDING':
      return newLeg();
    case 'NEEDS_HUMAN':
      return { ...newLeg(), needsHuman: true };
    case 'TRADED':
      return TRADED_LEG;
    case 'NOT_TRADED':
      return { kind: 'not traded', quoteId: null, problem, endedIn: 'run-1' };
  }
}

/** @param problem what a payment that was not paid ended with */
export function paymentAt(outcome: PaymentOutcome, problem: Problem): PaymentStage {
  switch (outcome) {
    case 'PENDING':
      return newPayment();
    case 'NEEDS_HUMAN':
      return { ...newPayment(), needsHuman: true };
    case 'PAID':
      return { kind: 'paid', accepted: ACCEPTED };
    case 'NOT_PAID':
      return { kind: 'not paid', problem, endedIn: 'run-1' };
  }
}
