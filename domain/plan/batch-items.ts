/**
 * The payments of a batch when it is planned: their sums, and which of them are known to be impossible. The worker checks
 * each payment here against the limits of the policy once more, since it trusts no command (M4). Pure.
 */
import {
  UNPAYABLE,
  firstHolders,
  nameOfPayment,
  type BatchPayment,
  type ChunkDigest,
  type SeenBatch,
  type Unpayable,
} from '../batch.ts';
import { WITHDRAWAL_CURRENCIES } from '../currencies.ts';
import { whyNoDestination, type Destinations } from '../destinations.ts';
import { add, decimalPlaces } from '../money.ts';
import type { Limits, Money } from '../policy.ts';
import { makeProblem, type Problem, type RunCode } from '../problems.ts';
import { reference, type RunName } from '../references.ts';
import { brokenPaymentLimit } from './limits.ts';
import { accountIdForm, type Observation, type RegisteredAccount } from './observation.ts';
import type { Payment, Plan, PlanHead } from './plan.ts';

/** At most this many problems are told. Once they are mended, the next ones are told. */
const MOST_PROBLEMS = 50;

type Listed = Pick<Observation, 'accounts' | 'accountsComplete' | 'accountIdForms'>;

/** The withdrawal accounts as the service lists them. */
export class AccountBook {
  readonly #accounts: ReadonlyMap<string, RegisteredAccount>;
  readonly #isComplete: boolean;
  readonly #forms: ReadonlySet<string>;

  constructor({ accounts, accountsComplete, accountIdForms }: Listed) {
    this.#accounts = new Map(accounts.map((account) => [account.id, account]));
    this.#isComplete = accountsComplete;
    this.#forms = new Set(accountIdForms);
  }

  /**
   * What the service already says against paying this payment. A missing account counts only if the list is complete and
   * shows ids of that form.
   */
  against([, account, currency]: BatchPayment): Unpayable | null {
    if (!WITHDRAWAL_CURRENCIES.includes(currency)) return 'w';
    const listed = this.#accounts.get(account);
    if (listed === undefined) {
      const usesOtherForms = this.#forms.size > 0 && !this.#forms.has(accountIdForm(account));
      return this.#isComplete && !usesOtherForms ? 'm' : null;
    }
    if (listed.isUnusable) return 'u';
    return listed.currency !== null && listed.currency !== currency ? 'c' : null;
  }
}

/** The payments, by `nameOfPayment`, that another batch of the policy has paid or holds, each with that run. */
export type Held = ReadonlyMap<string, string>;

/** Adds the chunks of a batch up, one after the other. Of each payment it keeps only the name. */
export class BatchTally {
  readonly problems: Problem[] = [];
  readonly #limits: Limits | null;
  readonly #decimalsOf: (currency: string) => number;
  readonly #book: AccountBook;
  readonly #destinations: Destinations | null;
  readonly #held: Held;
  readonly #ids = new Set<string>();
  readonly #totals = new Map<string, string>();
  readonly #payable = new Map<string, string>();
  readonly #chunks: SeenBatch['chunks'][number][] = [];
  #payments = 0;

  constructor(of: {
    readonly limits: Limits | null;
    readonly decimalsOf: (currency: string) => number;
    readonly book: AccountBook;
    /** The only accounts that may be paid; null: any. */
    readonly destinations: Destinations | null;
    readonly held: Held;
  }) {
    this.#limits = of.limits;
    this.#decimalsOf = of.decimalsOf;
    this.#book = of.book;
    this.#destinations = of.destinations;
    this.#held = of.held;
  }

  /** @param alike as in `PlanChunk`; null: absent */
  add(digest: ChunkDigest, payments: readonly BatchPayment[], alike: string | null): void {
    const letters = payments.map((payment) => this.#one(payment) ?? '.').join('');
    const isPayable = !/[^.]/.test(letters);
    this.#chunks.push({
      ...digest,
      unpayable: isPayable ? null : letters,
      ...(alike !== null && { alike }),
    });
  }

  get batch(): SeenBatch {
    return {
      payments: this.#payments,
      totals: byCurrency(this.#totals),
      payable: byCurrency(this.#payable),
      heldBy: firstHolders(this.#held.values()),
      chunks: this.#chunks,
    };
  }

  #one(payment: BatchPayment): Unpayable | null {
    const [id, , currency, value] = payment;
    this.#payments += 1;
    const before = this.#totals.get(currency) ?? '0';
    this.#totals.set(currency, add(before, value));
    this.#checkName(payment);
    if (decimalPlaces(value) > this.#decimalsOf(currency)) this.#tell('PLAN_AMOUNT_DECIMALS', id, value);
    const foreign = whyNoDestination(this.#destinations, payment);
    if (foreign !== null) this.#tell('PLAN_DESTINATION_UNKNOWN', id, foreign);
    // A payment that is impossible now may be made after a reset, so that the limits bind it too.
    const broken = brokenPaymentLimit(this.#limits, { value, currency }, [{ value: before, currency }]);
    if (broken !== null) this.#tell('PLAN_OVER_LIMIT', id, broken);
    const letter = this.#book.against(payment) ?? (this.#held.has(nameOfPayment(payment)) ? 'd' : null);
    if (letter === null) this.#payable.set(currency, add(this.#payable.get(currency) ?? '0', value));
    return letter;
  }

  /** Two payments of one name are refused, since the service would take them for one payment. */
  #checkName(payment: BatchPayment): void {
    const [id] = payment;
    const name = nameOfPayment(payment);
    if (this.#ids.has(name))
      this.#tell(
        'INPUT_INVALID',
        id,
        `Payment "${id}" is in the batch twice; small and capital letters make no difference.`,
      );
    this.#ids.add(name);
  }

  #tell(code: RunCode, item: string, message: string): void {
    if (this.problems.length < MOST_PROBLEMS) this.problems.push(makeProblem(code, item, { message }));
  }
}

/**
 * The problem of a payment that is not sent: the service already says that it is impossible, or another batch pays it.
 * @param heldBy the runs that pay payments of this batch
 */
export function unpayable(
  [id, account, currency]: BatchPayment,
  letter: Unpayable,
  heldBy: readonly string[],
): Problem {
  return makeProblem(UNPAYABLE[letter], id, { message: WORDS[letter]({ account, currency, heldBy }) });
}

type UnpayableFacts = {
  readonly account: string;
  readonly currency: string;
  readonly heldBy: readonly string[];
};

const WORDS: Readonly<Record<Unpayable, (facts: UnpayableFacts) => string>> = {
  m: ({ account }) => `The service does not know withdrawal account "${account}".`,
  u: ({ account }) =>
    `The service pays nothing to withdrawal account "${account}", because of the status of the account.`,
  c: ({ account, currency }) => `Withdrawal account "${account}" does not take ${currency}.`,
  w: ({ currency }) => `The service does not pay out ${currency}.`,
  d: ({ heldBy }) =>
    `Another batch of the policy has paid a payment with this id, or may still pay it: ${heldBy.join(' or ')}.`,
};

/** A payment of a batch as it is planned: it depends on no leg. */
export function paymentOf(run: RunName, [id, account, currency, value]: BatchPayment): Payment {
  return {
    id,
    reference: reference(run, id),
    account,
    currency,
    amount: { kind: 'fixed', value },
    dependsOn: null,
  };
}

/** The part of a batch's plan that belongs to one chunk. */
export function planOfChunk(run: RunName, payments: readonly BatchPayment[], head: PlanHead): Plan {
  return {
    ...head,
    policy: { name: run.policy, hash: '' },
    legs: [],
    positions: [],
    batch: null,
    payments: payments.map((row) => paymentOf(run, row)),
  };
}

function byCurrency(sums: ReadonlyMap<string, string>): readonly Money[] {
  return [...sums]
    .map(([currency, value]) => ({ currency, value }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}
