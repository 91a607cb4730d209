/** What one reading of the service found before a plan is made. Pure. */
import type { Balances, LenientRecord, Pair, Trade, Withdrawal } from '../service/records.ts';
import { runPrefix, type RunName } from '../references.ts';
import type { OnTheWay } from './on-the-way.ts';
import type { Credentials } from './plan.ts';
import type { Money } from '../policy.ts';
import type { Reserved } from './reserved.ts';

/** A withdrawal account as the service lists it. */
export type RegisteredAccount = LenientRecord & {
  /** Its status is one of those that the service facts name as unusable; any other status proves nothing. */
  readonly isUnusable: boolean;
};

/** What one reading of the service found before the plan is made. */
export type Observation = {
  readonly credentials: Credentials;
  readonly observedAtMs: number;
  /** Rows of the policy's currencies only, and no total: it stays in the plan's history. */
  readonly balances: Pick<Balances, 'balances'>;
  /** The withdrawal accounts that the policy names and the list shows; whether every page of it was read. */
  readonly accounts: readonly RegisteredAccount[];
  readonly accountsComplete: boolean;
  /** The forms of the ids in that list (`accountIdForm`): an id in another form may name a listed account all the same. */
  readonly accountIdForms: readonly string[];
  /** Rows of the policy's currencies; null when the pairs could not be read, which proves nothing. */
  readonly pairs: readonly Pair[] | null;
  /** What unsettled trades of the organisation will bring and take; empty where the policy asks for fixed amounts. */
  readonly onTheWay: readonly OnTheWay[];
  /** What other open runs have planned and the service has not taken yet, their sums; empty likewise. */
  readonly reserved: readonly Reserved[];
  /** What other runs of the policy have traded on its date; empty where no limit asks for it. */
  readonly tradedOnDate: readonly Money[];
  /** Trades and withdrawals found under this run's prefix. */
  readonly trades: readonly Trade[];
  readonly withdrawals: readonly Withdrawal[];
};

/** `wac` of `wac_7Hk2mQ9vT4xR`, or `uuid`: lists show each account under an id of one form. */
export function accountIdForm(id: string): string {
  return /^([a-z]{3,5})_/.exec(id)?.[1] ?? 'uuid';
}

/** True when a trade or withdrawal record names something of this run. */
export function isOfRun(run: RunName, text: string | null): boolean {
  return text !== null && text.startsWith(runPrefix(run));
}

/** What it names of another run of the policy than this one: that run, and the id of the item; null: nothing. */
export function itemOfOtherRun(
  own: RunName,
  text: string,
): { readonly run: string; readonly item: string } | null {
  const [policy, id, item] = text.split('.');
  if (policy !== own.policy || id === undefined || id === own.id || item === undefined) return null;
  return { run: `${policy}.${id}`, item: item.split('~')[0] ?? item };
}

/** True when it names something of any run of the policy on this date, whatever the rest of its id. */
export function isOfRunsOn(policy: string, date: string, text: string | null): boolean {
  const id =
    text?.startsWith(`${policy}.`) === true ? text.slice(policy.length + 1).split('.')[0] : undefined;
  return id === date || id?.startsWith(`${date}-`) === true;
}
