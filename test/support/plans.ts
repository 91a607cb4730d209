/** Plans for tests: what every policy and every observation of the service has, so that a test names only what it is about. */
import { sendWindowsOf } from '../../calendar/business-date.ts';
import { decimalsOf } from '../../domain/currencies.ts';
import type { MadeFrom } from '../../domain/plan/agrees.ts';
import type { CompileInput } from '../../domain/plan/compile-input.ts';
import { compilePlan, type CompileResult } from '../../domain/plan/compile.ts';
import type { Observation } from '../../domain/plan/observation.ts';
import type { Policy, PolicyHead } from '../../domain/policy.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { LoadedPolicy } from '../../language/policy/load-policy.ts';
import { NOW, RUN } from './scripts.ts';

export const POLICY_HEAD: PolicyHead = {
  name: 'p',
  environment: 'sandbox',
  zone: 'UTC',
  schedule: null,
  cutoffs: [],
  guard: null,
  rules: {
    quote: { validForSeconds: 30, settlement: 'T0', maxQuotes: 5 },
    settle: { until: 'funds', lateAfterMs: null },
    shortfall: 'skip',
    limits: null,
    unusualGuard: null,
  },
};

export const NOTHING_THERE: Observation = {
  credentials: { mode: 'SANDBOX', organisation: 'org-1', keyName: 'key' },
  observedAtMs: NOW,
  balances: { balances: [] },
  accounts: [],
  accountsComplete: true,
  accountIdForms: [],
  pairs: null,
  onTheWay: [],
  reserved: [],
  tradedOnDate: [],
  trades: [],
  withdrawals: [],
};

/** What differs from the policy and the observation that a file of tests is about. */
export type More<P extends Policy> = {
  readonly policy?: Partial<P>;
  readonly observation?: Partial<Observation>;
  readonly referenceRates?: CompileInput['referenceRates'];
};

/** What a plan of this date is made from: a policy as it was read, and what is withdrawable by currency. */
export function inputOn(
  date: string,
  { policy, hash }: Pick<Extract<LoadedPolicy, { ok: true }>, 'policy' | 'hash'>,
  there: Readonly<Record<string, string>>,
  more: Partial<Pick<CompileInput, 'referenceRates' | 'batch'>>,
): CompileInput {
  const balances = Object.entries(there).map(([currency, withdrawable]) => ({
    currency,
    withdrawable,
    total: withdrawable,
  }));
  return {
    run: { policy: policy.name, id: date },
    policy,
    policyHash: hash,
    date,
    sendWindows: sendWindowsOf(date, policy.zone),
    referenceRates: null,
    observation: {
      ...NOTHING_THERE,
      observedAtMs: Date.parse(`${date}T09:00:00Z`),
      balances: { balances },
    },
    decimalsOf: (currency) => decimalsOf(currency, {}),
    lateAfterMs: DEFAULT_SERVICE_FACTS.lateAfterMs,
    batch: null,
    madeFor: '',
    ...more,
  };
}

/** Compiles the plan of `RUN` from a policy and what is there. */
export function compileAt(
  policy: Policy,
  there: Partial<Observation>,
  referenceRates: CompileInput['referenceRates'],
): CompileResult {
  return compilePlan({
    run: RUN,
    policy,
    policyHash: 'hash',
    date: RUN.id,
    sendWindows: sendWindowsOf(RUN.id, 'UTC'),
    referenceRates,
    observation: { ...NOTHING_THERE, ...there },
    lateAfterMs: { settlement: 6 * 3_600_000, withdrawal: 86_400_000 },
    decimalsOf: (currency) => decimalsOf(currency, {}),
    batch: null,
    madeFor: 'run-1',
  });
}

/** What a plan of `RUN` is held against, besides its policy. */
export function madeFrom(referenceRates: CompileInput['referenceRates'], date: string = RUN.id): MadeFrom {
  return {
    referenceRates,
    date,
    sendWindows: sendWindowsOf(date, 'UTC'),
    decimalsOf: (currency) => decimalsOf(currency, {}),
  };
}
