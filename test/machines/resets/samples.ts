/**
 * The sample policies as copies that do not get in each other's way: each copy has a name of its own and amounts that no
 * other copy has (where lists show no tags, equal payments could be taken for one another), and is edited towards the
 * state that it shall come into. An edit that no longer fits its sample throws.
 */
import { readFile } from 'node:fs/promises';
import { Decimal } from 'decimal.js';
import { urlOf } from '../../support/root.ts';

export type Edit = readonly [from: string | RegExp, to: string];

/** One policy of `policies/`, and the edits that bring about each kind of ending. */
export type Sample = {
  readonly name: string;
  /** Id of its one leg, in copy number `copy`. */
  readonly leg: (copy: number) => string;
  /** Currency of its payments. */
  readonly currency: string;
  /** It sells whatever the balance is above this, in each copy of a currency of its own; null: the policy names the amount. */
  readonly sellsAbove: number | null;
  /** Amounts that only copy number `copy` has, and `shortfall: skip`. */
  readonly amounts: (copy: number) => readonly Edit[];
  /** A guard that the usual rates break and the better ones keep; in the policy or in the file of rates. */
  readonly guard: readonly Edit[];
  /** An amount that no balance covers until it is raised; null: it never sells more than is there. */
  readonly shortfall: readonly Edit[] | null;
  /** Where the first payment goes. */
  readonly account: string;
};

/** The rates that every copy begins with, and those that keep even the guards of copies made to break theirs. */
export const RATES = {
  usual: { 'EUR/USD': '1.08', 'EUR/GBP': '0.8504', 'USDC/USD': '1', 'USD/MXN': '18.50', 'USD/BRL': '5.40' },
  better: {
    'EUR/USD': '1.06',
    'EUR/GBP': '0.8610',
    'USDC/USD': '0.98',
    'USD/MXN': '18.70',
    'USD/BRL': '5.60',
  },
} as const;

const HUGE = '700000000.00';
const NO_LIMIT = '9000000000.00 USD';

export const SAMPLES: readonly Sample[] = [
  {
    name: 'mxn-supplier',
    leg: () => 'usd-mxn-1',
    currency: 'MXN',
    sellsAbove: null,
    amounts: (copy) => [['sell: "1000.00"', `sell: "${cents(1_000, copy)}"`]],
    guard: [['"16.90 MXN per USD"', '"18.60 MXN per USD"']],
    shortfall: [[/sell: "1[0-9.]+"/, `sell: "${HUGE}"`]],
    account: 'wac_7Hk2mQ9vT4xR',
  },
  {
    name: 'eur-invoice',
    leg: () => 'usd-eur-1',
    currency: 'EUR',
    sellsAbove: null,
    amounts: (copy) => [
      ['buy: "12500.00"', `buy: "${cents(12_500, copy)}"`],
      ['fixed: "12500.00"', `fixed: "${cents(12_500, copy)}"`],
      ['shortfall: hold', 'shortfall: skip'],
    ],
    guard: [['"1.0950 USD per EUR"', '"1.0700 USD per EUR"']],
    shortfall: [
      [/buy: "12[0-9.]+"/, `buy: "${HUGE}"`],
      [/fixed: "12[0-9.]+"/, `fixed: "${HUGE}"`],
      ['"15000.00 USD"', `"${NO_LIMIT}"`],
      ['per_payment: ["13000.00 EUR"]', 'per_payment: ["9000000000.00 EUR"]'],
      ['paid_per_run: ["13000.00 EUR"]', 'paid_per_run: ["9000000000.00 EUR"]'],
    ],
    account: 'wac_EuR5epaLive1',
  },
  {
    name: 'gbp-reference-guard',
    leg: () => 'eur-gbp-1',
    currency: 'GBP',
    sellsAbove: null,
    amounts: (copy) => [
      ['fixed: "12000.00"', `fixed: "${cents(12_000, copy)}"`],
      ['amount: { fixed: "4250.00" }', 'amount: rest\n    rounding: down'],
      ['"17000.00 GBP"', '"18000.00 GBP"'],
    ],
    guard: [['0.8504 GBP per EUR', '0.8610 GBP per EUR']],
    shortfall: [
      ['sell: "20000.00"', `sell: "${HUGE}"`],
      ['per_run: "20000.00 EUR"', 'per_run: "9000000000.00 EUR"'],
      ['"12500.00 GBP"', '"9000000000.00 GBP"'],
      ['"18000.00 GBP"', '"9000000000.00 GBP"'],
    ],
    account: 'wac_GbpFaster7Pay',
  },
  {
    name: 'usd-to-usdc-treasury',
    leg: (copy) => `${ownCurrency(copy).toLowerCase()}-usdc-1`,
    currency: 'USDC',
    sellsAbove: 900_000,
    amounts: (copy) => [
      ['sell: USD', `sell: ${ownCurrency(copy)}`],
      ['USDC per USD"', `USDC per ${ownCurrency(copy)}"`],
      ['"250000.00 USD"', `"250000.00 ${ownCurrency(copy)}"`],
    ],
    guard: [['"0.9985 USDC', '"1.0150 USDC']],
    shortfall: null,
    account: 'wac_UsdcWa99et4',
  },
  {
    name: 'live-shaped',
    leg: () => 'usd-brl-1',
    currency: 'BRL',
    sellsAbove: null,
    amounts: (copy) => [
      ['sell: "25000.00"', `sell: "${cents(24_000, copy)}"`],
      ['environment: live', 'environment: sandbox'],
    ],
    guard: [['"5.2500 BRL per USD"', '"5.5000 BRL per USD"']],
    shortfall: [
      [/sell: "24[0-9.]+"/, `sell: "${HUGE}"`],
      ['per_trade: "25000.00 USD"', `per_trade: "${NO_LIMIT}"`],
      ['per_run: "25000.00 USD"', `per_run: "${NO_LIMIT}"`],
      ['per_payment: ["140000.00 BRL"]', 'per_payment: ["9000000000.00 BRL"]'],
      ['paid_per_run: ["140000.00 BRL"]', 'paid_per_run: ["9000000000.00 BRL"]'],
    ],
    account: 'wac_BrLPixLive3',
  },
];

/** A currency that only copy number `copy` has: what is left of it is for no other run to sell. */
export function ownCurrency(copy: number): string {
  return `OWN${String(copy).padStart(3, '0')}`;
}

/** A whole amount, plus one cent for each copy before this one. */
export function cents(amount: number, copy: number): string {
  return new Decimal(copy).div(100).plus(amount).toFixed(2);
}

const POLICIES = urlOf('policies/');
const RATES_FILE = 'rates/daily.yaml';

/** The text of a policy and of the files that it names, as a run is started with them. */
export type Texts = { readonly policy: string; readonly files: Readonly<Record<string, string>> };

/** The sample's own text under another name, with `edits`. @throws when an edit fits neither policy nor rates */
export async function textsOf(sample: Sample, name: string, edits: readonly Edit[]): Promise<Texts> {
  let policy = await readFile(new URL(`${sample.name}.yaml`, POLICIES), 'utf8');
  let rates = await readFile(new URL(RATES_FILE, POLICIES), 'utf8');
  for (const [from, to] of [[/^name: .*$/m, `name: ${name}`] as Edit, ...edits]) {
    const fits = (text: string): boolean =>
      typeof from === 'string' ? text.includes(from) : from.test(text);
    if (fits(policy)) policy = policy.replace(from, to);
    else if (fits(rates)) rates = rates.replace(from, to);
    else throw new Error(`"${String(from)}" is no longer in ${sample.name}.yaml.`);
  }
  return { policy, files: { [RATES_FILE]: rates } };
}
