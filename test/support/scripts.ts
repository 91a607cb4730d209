/**
 * Plays the steps of a leg or a payment against scripted answers: what the service, the clock and people say is data,
 * what the steps asked for and came to is the result.
 */
import type { QuoteInHand } from '../../domain/writes/leg-state.ts';
import assert from 'node:assert/strict';
import { isDefinitive } from '../../domain/service/reply-rules.ts';
import { KeptRefusals } from '../../domain/writes/kept-refusals.ts';
import type { ListScan } from '../../domain/writes/lookups.ts';
import type { Leg, Payment, Plan } from '../../domain/plan/plan.ts';
import type { Quote, Trade, Withdrawal } from '../../domain/service/records.ts';
import type { Reply, ReplyFacts } from '../../domain/service/reply.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Answer, Context, Effect, Steps } from '../../domain/writes/step.ts';
import { sendWindowsOf } from '../../calendar/business-date.ts';
import { NOTHING_KEPT } from '../../domain/people/instructions.ts';

export const NOW = Date.parse('2026-11-21T15:00:00.000Z');
export const RUN = { policy: 'p', id: '2026-11-21' };

export const LEG: Leg = {
  id: 'usd-mxn-1',
  reference: 'p.2026-11-21.usd-mxn-1',
  sell: 'USD',
  buy: 'MXN',
  amount: { side: 'sell', value: '1000.00', fixed: true },
  why: { kind: 'fixed' },
  guard: null,
  needsFromSales: '0',
};

export const PAYMENT: Payment = {
  id: 'supplier',
  reference: 'p.2026-11-21.supplier',
  account: 'wac_7Hk2mQ9vT4xR',
  currency: 'MXN',
  amount: { kind: 'fixed', value: '17250.00' },
  dependsOn: null,
};

export const QUOTE: Quote = {
  id: 'qte_1',
  sellCurrency: 'USD',
  buyCurrency: 'MXN',
  sellAmount: '1000.00',
  buyAmount: null,
  quoteAmount: '17250.00',
  createdAt: '2026-11-21T15:00:00.000Z',
  expiresAt: '2026-11-21T15:00:30.000Z',
  settlementWindow: 'T0',
};

/** The quote as a leg has it in hand, with half a minute to live. */
export const IN_HAND: QuoteInHand = {
  id: 'qte_1',
  sellAmount: '1000.00',
  buyAmount: '17250.00',
  usableUntilMs: NOW + 30_000,
  probed: false,
};

export const TRADE: Trade = {
  id: 'tde_1',
  quoteId: QUOTE.id,
  sellCurrency: 'USD',
  buyCurrency: 'MXN',
  sellAmount: '1000.00',
  buyAmount: null,
  executedAmount: '17250.00',
  status: 'EXECUTED',
  clientReferenceId: LEG.reference,
  createdAt: '2026-11-21T15:00:01.000Z',
  settlementWindow: 'T0',
};

export const WITHDRAWAL: Withdrawal = {
  id: 'wtd_1',
  currency: 'MXN',
  withdrawalAmount: '17250.00',
  status: 'PENDING',
  withdrawalAccountId: PAYMENT.account,
  createdAt: '2026-11-21T15:00:01.000Z',
  tag: PAYMENT.reference,
};

export const FACTS: ReplyFacts = {
  status: 200,
  traceId: 'trace',
  replayed: false,
  retryAfterMs: null,
  serviceTimeMs: NOW,
};

export function done<T>(value: T, facts: Partial<ReplyFacts> = {}): Reply<T> {
  return { kind: 'DONE', value, facts: { ...FACTS, ...facts } };
}

/** A whole error envelope, as the client gives it: refused where the code is definitive, else unknown. */
export function failed(
  code: string,
  { facts = {}, details = {} }: { facts?: Partial<ReplyFacts>; details?: Record<string, unknown> } = {},
): Reply<never> {
  const error = { code, type: 'CONFLICT', message: 'because', retryStrategy: 'TERMINAL', details };
  const definitive = isDefinitive(code) && details['reason'] !== 'nonce_replay';
  return definitive
    ? { kind: 'REFUSED', error, facts: { ...FACTS, ...facts } }
    : { kind: 'UNKNOWN', reason: code, error, facts: { ...FACTS, ...facts } };
}

export const NO_ANSWER: Reply<never> = {
  kind: 'UNKNOWN',
  reason: 'no whole reply within the time limit',
  error: null,
  facts: { ...FACTS, status: null },
};
export const NOT_SENT: Reply<never> = { kind: 'NOT_SENT', reason: 'no connection (ECONNREFUSED)' };

/** A whole look that found these. */
export function seen<T>(...records: readonly T[]): ListScan<T> {
  return { records, complete: true, reason: null };
}
export const UNREADABLE: ListScan<never> = { records: [], complete: false, reason: 'NO_ANSWER' };

/** What is known of the writes of an item after a step; of one that is done nothing is. */
export function stateOf<Step extends { readonly kind: string }>(
  step: Step,
): Extract<Step, { readonly state: unknown }>['state'] {
  assert.ok('state' in step, `The item is ${step.kind}.`);
  return step.state;
}

/** A run that this very Temporal run planned a second ago, on its business date, with the plan's own key. */
export function context({
  plan,
  rules,
  attempt,
  ...more
}: Partial<Omit<Context, 'plan' | 'attempt'>> & {
  readonly plan?: Partial<Omit<Context['plan'], 'rules'>>;
  readonly rules?: Partial<Context['plan']['rules']>;
  readonly attempt?: Partial<Context['attempt']>;
} = {}): Context {
  const credentials = { mode: 'SANDBOX', organisation: 'org-1', keyName: 'org/org-1/apiKey/1' } as const;
  return {
    facts: DEFAULT_SERVICE_FACTS,
    credentials,
    reader: credentials,
    othersAccepted: true,
    tradedSoFar: [],
    unwanted: null,
    otherWithdrawalIds: [],
    keptRefusals: new KeptRefusals(),
    take: () => true,
    nowMs: () => NOW,
    skewMs: () => 0,
    whyHalted: () => null,
    ...more,
    plan: {
      version: 1,
      bodyLayout: 1,
      run: RUN,
      credentials,
      zone: 'UTC',
      date: '2026-11-21',
      sendWindows: sendWindowsOf('2026-11-21', 'UTC'),
      rules: {
        quote: { validForSeconds: 30, settlement: 'T0', maxQuotes: 3 },
        settle: { until: 'funds', lateAfterMs: null },
        shortfall: 'skip',
        limits: null,
        unusualGuard: null,
        ...rules,
      },
      lateAfterMs: DEFAULT_SERVICE_FACTS.lateAfterMs,
      notNeeded: [],
      totals: [],
      madeAtMs: NOW - 1_000,
      foundRecords: false,
      madeFor: 'run-1',
      ...plan,
    },
    attempt: {
      runId: 'run-1',
      number: 1,
      startedAtMs: NOW,
      sendWithinMs: 20_000,
      ...attempt,
    },
  };
}

/** The whole plan of a run with this leg and this payment. */
export const WHOLE_PLAN: Plan = {
  ...context().plan,
  positions: [],
  batch: null,
  policy: { name: 'p', hash: 'hash' },
  legs: [LEG],
  payments: [PAYMENT],
};

/** Answers per kind of effect, in order; the last one counts from then on. What is not scripted is plain sailing. */
export type Script = { readonly [Kind in Effect['kind']]?: readonly Answer[] };

const PLAIN: { readonly [Kind in Effect['kind']]: readonly Answer[] } = {
  'read instructions': [NOTHING_KEPT],
  'note facts': [true],
  'read claims': [{ claimed: [] }],
  'read words': [{ named: false }],
  'take turn': [
    { turn: 'ours', hasLapsed: false, others: [], gone: [], tradedAgoMs: null, tradedAtMs: null },
  ],
  'read demand': [{ demand: '1000000', takenBy: [], lacks: null }],
  'read day': [{ onDate: [] }],
  'read free money': [{ free: { USD: '1000000', MXN: '0' } }],
  'read lost runs': [{ lostRuns: null }],
  'read rival': [{ rival: null, silent: null }],
  'read balances': [
    done({
      aggregateUsd: '1000000',
      balances: ['USD', 'MXN'].map((currency) => ({ currency, withdrawable: '1000000', total: '1000000' })),
    }),
  ],
  'fetch trade': [failed('TRADE_NOT_FOUND')],
  'fetch withdrawal': [failed('WITHDRAWAL_NOT_FOUND')],
  'scan trades': [seen<Trade>()],
  'scan withdrawals': [seen<Withdrawal>()],
  'send quote': [done(QUOTE)],
  'send trade': [done(TRADE)],
  'send withdrawal': [done(WITHDRAWAL)],
};

/** What the steps came to, and what they asked for on the way. */
export function play<Result>(
  steps: Steps<Result>,
  script: Script = {},
): { readonly result: Result; readonly effects: readonly Effect[] } {
  const effects: Effect[] = [];
  let next = steps.next();
  while (next.done !== true) {
    const { kind } = next.value;
    const answers = script[kind] ?? PLAIN[kind];
    const asked = effects.filter((effect) => effect.kind === kind).length;
    effects.push(next.value);
    const answer = answers[Math.min(asked, answers.length - 1)] as Answer;
    // As a scan does, which asks about each record of a page.
    if (next.value.kind === 'scan trades' && typeof answer === 'object' && 'records' in answer)
      for (const record of answer.records) next.value.wanted(record as Trade);
    next = steps.next(answer);
  }
  return { result: next.value, effects };
}

/** The kinds of what was asked for, in order. */
export function kindsOf(effects: readonly Effect[]): readonly Effect['kind'][] {
  return effects.map((effect) => effect.kind);
}
