/**
 * Ceilings: how much may be paid and traded on one UTC day, whatever runs are started (M4). The operator of a worker writes them
 * into the folder of policies. Each of the workers that write by the folder takes its share, so that together they keep a ceiling
 * without asking one another. Pure.
 */
import { moneyText } from '../currencies.ts';
import { compare, divide, isPositive, multiply, notNegative, subtract, sum } from '../money.ts';
import type { Money } from '../policy.ts';

export type Ceiling = {
  readonly kind: 'paid' | 'traded';
  /** Null: it binds all policies together. */
  readonly policy: string | null;
  /** `account`: it binds what is paid to each one account. */
  readonly per: 'day' | 'account';
  readonly most: Money;
};

export type Ceilings = {
  /** How many workers write by this folder. */
  readonly workers: number;
  readonly all: readonly Ceiling[];
};

/** What `ceilings.yaml` says. `UNBOUNDED`: that nothing binds a day, which in live must be said. */
export type CeilingsFile = Ceilings | 'UNBOUNDED';

/** What a payment or a trade moves: a payment one amount, a trade what it sells and what it buys. A quote has `0` for what it does not know. */
export type Spending = {
  readonly kind: 'paid' | 'traded';
  /** Null: of no policy of ours. */
  readonly policy: string | null;
  /** Null for a trade, and where a record does not say. */
  readonly account: string | null;
  readonly amounts: readonly Money[];
};

/** The sums of what was moved, by what ceilings ask for. One more spending costs the same however many there are. */
export class Totals {
  readonly #sums = new Map<string, string>();
  readonly #accounts = new Set<string>();

  /** The accounts to which something was paid. */
  get accounts(): ReadonlySet<string> {
    return this.#accounts;
  }

  /** @param times -1 takes back what was added */
  add({ kind, policy, account, amounts }: Spending, times: 1 | -1 = 1): void {
    if (account !== null) this.#accounts.add(account);
    for (const { value, currency } of amounts)
      for (const scope of ['', `policy ${policy ?? ''}`, `account ${account ?? ''}`]) {
        const name = `${kind} ${currency} ${scope}`;
        this.#sums.set(name, sum([this.#sums.get(name) ?? '0', times === 1 ? value : subtract('0', value)]));
      }
  }

  /** What counts against a ceiling to which a spending to this account is held. */
  of({ kind, policy, per, most: { currency } }: Ceiling, account: string | null): string {
    const named = (scope: string): string => this.#sums.get(`${kind} ${currency} ${scope}`) ?? '0';
    if (policy !== null) return named(`policy ${policy}`);
    if (per === 'day') return named('');
    // A record that names no account may have gone to any.
    return account === null ? named('') : sum([named(`account ${account}`), named('account ')]);
  }
}

/** How much of a ceiling is used, 1 when all of it is. A part, never an amount: it is for a dashboard, and decides nothing. */
export type CeilingUse = Omit<Ceiling, 'most'> & { readonly currency: string; readonly part: number };

/** How much of each ceiling is used. Of ceilings for each account, the account with the most counts. */
export function usedOf({ workers, all }: Ceilings, { own, foreign }: Spent): readonly CeilingUse[] {
  return all.map((ceiling) => {
    const { kind, policy, per, most } = ceiling;
    const accounts = [...new Set([...own.accounts, ...foreign.accounts])];
    const partOf = (account: string | null): number => {
      const used = sum([multiply(own.of(ceiling, account), String(workers)), foreign.of(ceiling, account)]);
      return isPositive(most.value) ? Number(divide(used, most.value, 6)) : 1;
    };
    const parts = per === 'account' ? accounts.map(partOf) : [partOf(null)];
    return { kind, policy, per, currency: most.currency, part: Math.max(0, ...parts) };
  });
}

/** What was moved on the UTC day so far. `own`: by this worker, also what is in doubt. `foreign`: by other tools or people. */
export type Spent = { readonly own: Totals; readonly foreign: Totals };

/**
 * Why the spending would exceed a ceiling, or has none; null: it exceeds none.
 * What is foreign takes from the whole; what remains is shared.
 */
export function whyOverCeiling(
  { workers, all }: Ceilings,
  { own, foreign }: Spent,
  spending: Spending,
): string | null {
  const { kind, policy, account } = spending;
  const bound = all.filter((one) => one.kind === kind && [null, policy].includes(one.policy));
  const isBound = spending.amounts.some(({ currency }) =>
    bound.some((one) => one.policy === null && one.per === 'day' && one.most.currency === currency),
  );
  if (!isBound) return `no ceiling says how much ${currenciesOf(spending)} may be ${kind} on one day`;
  for (const ceiling of bound) {
    const asked = amountIn(spending, ceiling);
    if (!isPositive(asked)) continue;
    const ours = own.of(ceiling, account);
    const left = subtract(ceiling.most.value, foreign.of(ceiling, account));
    if (compare(multiply(sum([ours, asked]), String(workers)), left) > 0)
      return sentence(ceiling, { workers, asked, ours, left, account });
  }
  return null;
}

function amountIn({ amounts }: Spending, { most: { currency } }: Ceiling): string {
  return sum(amounts.filter((money) => money.currency === currency).map(({ value }) => value));
}

function currenciesOf({ amounts }: Spending): string {
  return amounts.map(({ currency }) => currency).join(' or ');
}

type Figures = {
  readonly workers: number;
  readonly asked: string;
  readonly ours: string;
  readonly left: string;
  readonly account: string | null;
};

function sentence(
  { kind, policy, per, most }: Ceiling,
  { workers, asked, ours, left, account }: Figures,
): string {
  const { value, currency } = most;
  const of = `${kind}${policy === null ? '' : ` by policy "${policy}"`}${per === 'account' ? ` to account "${account ?? ''}"` : ''}`;
  const share = divide(notNegative(left), String(workers), 20);
  const others = workers === 1 ? '' : ` (each of ${workers} workers takes its share)`;
  return `${moneyText(asked, currency)} is above what is left of the ceiling of ${moneyText(value, currency)} ${of} on one UTC day: ${moneyText(notNegative(subtract(share, ours)), currency)}${others}`;
}
