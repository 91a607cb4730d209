/** What one reading of the service found before a plan is made. Pure. */
import type { Balances, LenientRecord, Pair, Trade, Withdrawal } from '../service/records.ts';
import { runPrefix, type RunName } from '../references.ts';
import type { OnTheWay } from './on-the-way.ts';
import type { Credentials } from './plan.ts';
import type { Money } from '../policy.ts';
import type { Reserved } from './reserved.ts';

/** A withdrawal account as the service lists it. */
export type RegisteredAccount = LenientRecord & {
  /** True when its status is one that the service facts name as unusable. Any other status proves nothing. */
  readonly isUnusable: boolean;
};

/** What one reading of the service found before the plan is made. */
export type Observation = {
  readonly credentials: Credentials;
  readonly observedAtMs: number;
  /** Only the rows of the policy's currencies, without the total, since it stays in the plan's history. */
  readonly balances: Pick<Balances, 'balances'>;
  /** The listed withdrawal accounts that the policy names, and whether every page of the list was read. */
  readonly accounts: readonly RegisteredAccount[];
  readonly accountsComplete: boolean;
  /** The forms of the ids in that list (`accountIdForm`). An id in another form may still name a listed account. */
  readonly accountIdForms: readonly string[];
  /** Rows of the policy's currencies; null when the pairs could not be read, which proves nothing. */
  readonly pairs: readonly Pair[] | null;
  /** What unsettled trades of the organisation will bring and take; empty where the policy has fixed amounts. */
  readonly onTheWay: readonly OnTheWay[];
  /**
   * The sums that other open runs have planned and the service has not taken yet; empty where the policy has fixed amounts.
   */
  readonly reserved: readonly Reserved[];
  /** The amounts that other runs of the policy have traded on its date; empty where no limit needs them. */
  readonly tradedOnDate: readonly Money[];
  /** Trades and withdrawals found under this run's prefix. */
  readonly trades: readonly Trade[];
  readonly withdrawals: readonly Withdrawal[];
};

/** The form of an account's id: `wac` for `wac_7Hk2mQ9vT4xR`, or `uuid`. A list shows all accounts under ids of one form. */
export function accountIdForm(id: string): string {
  return /^([a-z]{3,5})_/.exec(id)?.[1] ?? 'uuid';
}

/** True when the text, of a trade or withdrawal record, names an item of this run. */
export function isOfRun(run: RunName, text: string | null): boolean {
  return text !== null && text.startsWith(runPrefix(run));
}

/** The other run of the policy, and the id of its item, that the text names; null: it names none. */
export function itemOfOtherRun(
  own: RunName,
  text: string,
): { readonly run: string; readonly item: string } | null {
  const [policy, id, item] = text.split('.');
  if (policy !== own.policy || id === undefined || id === own.id || item === undefined) return null;
  return { run: `${policy}.${id}`, item: item.split('~')[0] ?? item };
}

/** True when the text names an item of any run of the policy on this date, whatever the rest of the run's id. */
export function isOfRunsOn(policy: string, date: string, text: string | null): boolean {
  const id =
    text?.startsWith(`${policy}.`) === true ? text.slice(policy.length + 1).split('.')[0] : undefined;
  return id === date || id?.startsWith(`${date}-`) === true;
}
