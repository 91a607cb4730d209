/** A rebalancing for tests on a stage: rates, a policy, and what came of it at the service. */
import type { Run } from './stage.ts';

export const REBALANCING_RATES = { 'EUR/USD': '1.08', 'GBP/USD': '1.27', 'USD/MXN': '18.50' };

export const RATES_FILES = {
  'rates.yaml': `as_of: ${new Date().toISOString().slice(0, 19)}Z
rates: ["1.0800 USD per EUR", "1.2700 USD per GBP", "18.50 MXN per USD"]
`,
};

/** Keeps 250000 EUR, at least 40000 GBP and 100000 USD, and at most so many pesos. */
export function rebalancingPolicy(mostMxn: string): string {
  return `policy: 1
kind: rebalance
name: replaced
environment: sandbox
rebalance:
  base: { currency: USD, min: "100000.00" }
  targets:
    EUR: { keep: "250000.00", band: "25000.00" }
    GBP: { min: "40000.00" }
    MXN: { max: "${mostMxn}" }
quote: { valid_for: 45s, settlement: T0 }
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 100bps }
settle: { until: status }
limits: { per_run: "1000000.00 USD" }
`;
}

/** What the service has of the run: what was asked for in each trade. */
export function traded(run: Run): readonly string[] {
  const lines = run.movements().trades.map((trade) => {
    const { sellAmount, buyAmount, sellCurrency, buyCurrency } = trade;
    return typeof sellAmount === 'string'
      ? `sell ${sellAmount} ${String(sellCurrency)}`
      : `buy ${String(buyAmount)} ${String(buyCurrency)}`;
  });
  return lines.toSorted();
}
