/**
 * What the policy language costs: a large plan from text to legs, and many policies against what the YAML parser and zod
 * alone need for the same texts. In this process, in turns, each after a warm-up; CPU time.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { sendWindowsOf } from '../calendar/business-date.ts';
import { KNOWN_CURRENCIES, decimalsOf } from '../domain/currencies.ts';
import { compilePlan } from '../domain/plan/compile.ts';
import { DEFAULT_SERVICE_FACTS } from '../domain/service/facts.ts';
import type { Pair } from '../domain/service/records.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { ConvertSchema, PayoutSchema, RebalanceSchema } from '../language/policy/policy-schema.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { counted, median, plain, timed, type Section } from './figures.ts';

const TURNS = 60;
const CURRENCIES = 40;
const PAIRS = 200;
const MOST_PLAN_MS = 20;

const FILES = 1_000;
const ROUNDS = 7;
const MOST_TIMES = 1.15;

export function measurePolicies(): Section {
  const texts = largeTexts();
  const legs: number[] = [];
  const planMs: number[] = [];
  for (let turn = 0; turn <= TURNS; turn += 1) {
    planMs.push(timeOf(() => legs.push(legsOf(texts))));
  }
  const [firstMs = 0, ...laterMs] = planMs;
  const { loaded, ours, theirs } = measureFiles();
  const times = ours / theirs;
  return {
    title: 'policies (CPU time, the median of several)',
    figures: [
      counted(`legs of a plan of ${CURRENCIES} currencies and ${PAIRS} pairs`, legs, CURRENCIES - 1),
      timed(
        '  from the text of policy and rates to legs',
        `${median(laterMs).toFixed(1)} ms`,
        `under ${MOST_PLAN_MS} ms`,
        median(laterMs) < MOST_PLAN_MS,
      ),
      plain('  the first one, before anything is warm', `${firstMs.toFixed(1)} ms`),
      counted('policies loaded and validated', loaded, FILES),
      plain('  by the YAML parser and zod alone', `${theirs.toFixed(0)} ms`),
      timed(
        '  by Cambist, against that',
        `${times.toFixed(2)} times`,
        `at most ${MOST_TIMES}`,
        times <= MOST_TIMES,
      ),
    ],
  };
}

type LargeTexts = { readonly policy: string; readonly rates: string; readonly pairs: readonly Pair[] };

/** Every currency but the base is out of its band; each has a rate and both its pairs, and there are pairs besides. */
function largeTexts(): LargeTexts {
  const others = KNOWN_CURRENCIES.filter((currency) => currency !== 'USD').slice(0, CURRENCIES - 1);
  const targets = others.map((currency, index) => {
    const goals = [
      '{ keep: "2500", band: "25" }',
      '{ share: 1%, band: 0.1% }',
      '{ max: "0" }',
      '{ min: "4000" }',
    ];
    return `    ${currency}: ${goals[index % goals.length] ?? ''}`;
  });
  const policy = `policy: 1
kind: rebalance
name: large
environment: sandbox
rebalance:
  base: { currency: USD, min: "100.00" }
  targets:
${targets.join('\n')}
  min_trade: "1.00 USD"
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 25bps }
limits: { per_trade: "400000.00 USD", per_run: "90000000.00 USD" }
`;
  const crosses = others.flatMap((one, index) => others.slice(index + 1).map((other) => [one, other]));
  const rates = [...others.map((currency) => ['USD', currency]), ...crosses]
    .slice(0, PAIRS)
    .map(([unit = '', per = ''], index) => `  - "1.${1000 + index} ${unit} per ${per}"`);
  const pairs = [
    ...others.flatMap((one) => [
      ['USD', one],
      [one, 'USD'],
    ]),
    ...crosses,
  ]
    .slice(0, PAIRS)
    .map(([sellCurrency = '', buyCurrency = '']) => ({
      sellCurrency,
      buyCurrency,
      minTradeAmount: '1.00',
      maxTradeAmount: '1000000.00',
    }));
  return { policy, rates: `as_of: ${AS_OF}\nrates:\n${rates.join('\n')}\n`, pairs };
}

const DATE = '2026-11-23';
const AS_OF = `${DATE}T08:00:00Z`;

/** How many legs come of it. */
function legsOf({ policy: policyText, rates: ratesText, pairs }: LargeTexts): number {
  const loaded = loadPolicy(policyText, 'large.yaml');
  const rates = loadReferenceRates(ratesText, 'rates.yaml');
  if (!loaded.ok || !rates.ok || loaded.policy.kind !== 'rebalance')
    throw new Error(`The policy of the bench does not load: ${JSON.stringify([loaded, rates])}`);
  const held = [loaded.policy.rebalance.base, ...loaded.policy.rebalance.targets];
  const result = compilePlan({
    run: { policy: 'large', id: DATE },
    policy: loaded.policy,
    policyHash: loaded.hash,
    date: DATE,
    sendWindows: sendWindowsOf(DATE, 'UTC'),
    referenceRates: rates.rates,
    observation: {
      credentials: { mode: 'SANDBOX', organisation: 'org-1', keyName: 'key' },
      observedAtMs: Date.parse(AS_OF) + 3_600_000,
      balances: {
        balances: held.map(({ currency }) => {
          const withdrawable = currency === 'USD' ? '1000000.00' : '3000.00';
          return { currency, withdrawable, total: withdrawable };
        }),
      },
      accounts: [],
      accountsComplete: true,
      accountIdForms: [],
      pairs,
      onTheWay: [],
      reserved: [],
      tradedOnDate: [],
      trades: [],
      withdrawals: [],
    },
    lateAfterMs: DEFAULT_SERVICE_FACTS.lateAfterMs,
    decimalsOf: (currency) => decimalsOf(currency, {}),
    batch: null,
    madeFor: '',
  });
  if (!result.ok) throw new Error(`There is no plan: ${JSON.stringify(result.problems)}`);
  return result.plan.legs.length;
}

/** The samples again and again, each under a name of its own. */
function manyTexts(): readonly string[] {
  const folder = new URL('../policies/', import.meta.url);
  const samples = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .filter((text) => /^policy:/m.test(text));
  return Array.from({ length: FILES }, (_, index) =>
    (samples[index % samples.length] ?? '').replace(/^name: (.*)$/m, `name: policy-${index}`),
  );
}

/** Milliseconds for all of them, ours and theirs in turns. */
function measureFiles(): {
  readonly loaded: readonly number[];
  readonly ours: number;
  readonly theirs: number;
} {
  const texts = manyTexts();
  const loaded: number[] = [];
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const theirsMs = timeOf(() => loaded.push(texts.filter(isValid).length));
    const oursMs = timeOf(() => loaded.push(texts.filter((text) => loadPolicy(text, 'p.yaml').ok).length));
    if (round === 0) continue;
    theirs.push(theirsMs);
    ours.push(oursMs);
  }
  return { loaded, ours: median(ours), theirs: median(theirs) };
}

const SCHEMAS = { convert: ConvertSchema, rebalance: RebalanceSchema, payout: PayoutSchema };

function isValid(text: string): boolean {
  const value: { readonly kind: keyof typeof SCHEMAS } = parse(text);
  return SCHEMAS[value.kind].safeParse(value).success;
}

/** CPU time in milliseconds: whatever else runs on the machine does not count. */
function timeOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
