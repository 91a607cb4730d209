/**
 * The same payment again under another name: withdrawals that other runs of ours have made, of the same amount in the same currency to
 * the same account as a payment that is about to start. A person decides, since both may be meant. Pure.
 */
import { nameOfPayment, type BatchPayment } from '../batch.ts';
import { normalise } from '../money.ts';
import { firstReference, runName, runOf, runPrefix, type RunName } from '../references.ts';
import type { Withdrawal } from '../service/records.ts';

/** A withdrawal that a run of ours has made. `run`: the name of the run; `item`: its payment. */
export type Made = { readonly record: Withdrawal; readonly run: string; readonly item: string };

/** `isNear`: the two names differ only in capitals, zeros in front, or signs. `others`: how many more withdrawals there are. */
export type MadeBefore = {
  readonly payment: BatchPayment;
  readonly made: Made;
  readonly isNear: boolean;
  readonly others: number;
};

/** Which run has made a withdrawal, by its tag; null: no tag says so. */
export function madeByTag(record: Withdrawal): Made | null {
  const run = record.tag === null ? null : runOf(record.tag);
  if (run === null) return null;
  return {
    record,
    run: runName(run),
    item: firstReference(record.tag ?? '').slice(runPrefix(run).length),
  };
}

/** Compares payments of a run with what other runs have made. */
export class Repeats {
  readonly #own: RunName;
  readonly #byKey = new Map<string, Made[]>();

  /** @param own the run of the payments: what it has made itself does not count */
  constructor(own: RunName, made: readonly Made[]) {
    this.#own = own;
    for (const one of made) {
      const { currency, withdrawalAmount, withdrawalAccountId } = one.record;
      if (one.run === runName(own) || withdrawalAccountId === null) continue;
      const key = keyOf(withdrawalAccountId, currency, withdrawalAmount);
      const known = this.#byKey.get(key);
      if (known === undefined) this.#byKey.set(key, [one]);
      else known.push(one);
    }
  }

  /** Null: no other payment of ours is the same. */
  of(payment: BatchPayment): MadeBefore | null {
    const [id, account, currency, amount] = payment;
    // A payment of the same name in another run of the policy is no other name: `dedupe` refuses it in a batch, and a
    // policy that pays the same each day means it.
    const isSame = ({ run, item }: Made): boolean =>
      run.startsWith(`${this.#own.policy}.`) && item.toLowerCase() === nameOfPayment(payment);
    const known = this.#byKey.get(keyOf(account, currency, amount)) ?? [];
    // A run of the policy that made this payment under its own name too has meant both.
    const meant = new Set(known.filter(isSame).map(({ run }) => run));
    const all = known.filter(({ run }) => !meant.has(run));
    const near = all.find(({ item }) => bareName(item) === bareName(id));
    const made = near ?? all[0];
    if (made === undefined) return null;
    return { payment, made, isNear: near !== undefined, others: all.length - 1 };
  }
}

function keyOf(account: string, currency: string, amount: string): string {
  return `${currency} ${normalise(amount)} ${account}`;
}

/** A name without capitals, zeros in front of a number, and signs: `INV-0042` and `inv42` are one. */
export function bareName(id: string): string {
  return id
    .toLowerCase()
    .replaceAll(/(?<![0-9])0+(?=[0-9])/g, '')
    .replaceAll(/[^a-z0-9]/g, '');
}
