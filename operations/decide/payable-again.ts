/**
 * Which payments may be paid again, by everything that a command can read: the report, what people said, the service's list,
 * and other runs that may own a record. Reads only.
 */
import type { Plan } from '../../domain/plan/plan.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { reference, runName } from '../../domain/references.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import { isCancelled, type Kept, type PaidAgain } from '../../domain/people/instructions.ts';
import {
  checkPayAgain,
  judgePayAgain,
  readWithdrawals,
  type PayAgainVerdict,
  type PaymentHistory,
  type WithdrawalBook,
} from './decisions.ts';
import type { Settings } from '../../config/config.ts';
import { claimantOf } from './claims.ts';
import type { Ending } from '../../domain/endings.ts';
import { CommandFailure } from '../failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { keptAbout } from './keep-instruction.ts';
import type { Place } from '../place.ts';
import { atService, serviceFailure } from '../preflight.ts';
import type { ServiceClient } from '../../service/client.ts';
import { SubmittedBatch } from '../batches/submitted.ts';

/** Stands in place of items for every payment of the run that has failed, as the service says when the command asks. */
export const ALL_FAILED = 'all-failed';

type May = Extract<PayAgainVerdict, { kind: 'may' }>;

/** A generation that may be opened. */
export type Opening = {
  readonly payment: ReportPayment;
  /** The payment's reference in the new generation. */
  readonly reference: string;
  /** Number of the payment's chunk; null when the run is no batch. */
  readonly chunk: number | null;
  readonly paidAgain: PaidAgain;
  /** What people had said about the run, and about the chunk, when the command looked. */
  readonly kept: Kept;
};

/** Everything that the checks read. Each thing is read only once. */
export class Known {
  readonly place: Place;
  readonly settings: Settings;
  readonly plan: Plan;
  readonly report: Report;
  /** When the command looked, epoch milliseconds. */
  readonly nowMs: number;
  /** Number of the chunk of each payment of a batch. */
  readonly #chunks: ReadonlyMap<string, number>;
  readonly #codes: ReadonlyMap<string, string>;
  readonly #kept = new Map<number | null, Promise<Kept>>();

  private constructor(
    of: Pick<Known, 'place' | 'settings' | 'plan' | 'report' | 'nowMs'>,
    chunks: ReadonlyMap<string, number>,
  ) {
    this.place = of.place;
    this.settings = of.settings;
    this.plan = of.plan;
    this.report = of.report;
    this.nowMs = of.nowMs;
    this.#chunks = chunks;
    this.#codes = new Map(
      of.report.problems.flatMap(({ item, code }) => (item === null ? [] : [[item, code] as const])),
    );
  }

  static async read(of: Pick<Known, 'place' | 'settings' | 'plan' | 'report' | 'nowMs'>): Promise<Known> {
    const { place, plan } = of;
    const chunks = new Map<string, number>();
    if (plan.batch !== null) {
      const submitted = new SubmittedBatch(place, plan.run, plan.batch.chunks.length);
      for await (const { number, payments } of submitted.chunks())
        for (const [id] of payments) chunks.set(id, number);
    }
    return new Known(of, chunks);
  }

  /** What people said about a payment, with all that is kept about its chunk. */
  keptOf(item: string): Promise<Kept> {
    const chunk = this.chunkOf(item);
    const kept = this.#kept.get(chunk) ?? keptAbout(this.place, this.plan.run, chunk);
    this.#kept.set(chunk, kept);
    return kept;
  }

  chunkOf(item: string): number | null {
    return this.#chunks.get(item) ?? null;
  }

  /** Why the payment was not paid, as the report says; empty when the report says nothing. */
  codeOf(item: string): string {
    return this.#codes.get(item) ?? '';
  }

  /** Scans the service's list once. */
  withdrawals(service: Pick<ServiceClient, 'listWithdrawals'>): Promise<WithdrawalBook> {
    const { plan, report } = this;
    const { opensAtMs } = plan.sendWindows;
    return readWithdrawals(service, { run: plan.run, opensAtMs, payments: report.payments });
  }

  identityOf({ id, account, currency, amount, withdrawalId }: ReportPayment): PaymentHistory['identity'] {
    const { plan, settings } = this;
    return {
      reference: reference(plan.run, id),
      account,
      currency,
      amount: amount ?? '0',
      opensAtMs: plan.sendWindows.opensAtMs,
      namedId: null,
      ownIds: withdrawalId === null ? [] : [withdrawalId],
      // A record that the report names for another payment is not one of this payment's records.
      otherIds: [],
      fromGeneration: 1,
      closedIds: [],
      follows: [],
      approvedUntilMs: null,
      failedWords: settings.facts.withdrawalStatuses.failed,
    };
  }

  async historyOf(payment: ReportPayment): Promise<PaymentHistory> {
    return {
      identity: this.identityOf(payment),
      reported: payment,
      kept: await this.keptOf(payment.id),
      nowMs: this.nowMs,
    };
  }
}

/**
 * The payments that the person named.
 * @throws CommandFailure that names every payment that may not be paid again, or when the service cannot be read whole
 */
export async function named(known: Known, items: readonly string[]): Promise<readonly Opening[]> {
  const payments = new Map(known.report.payments.map((payment) => [payment.id, payment]));
  const wanted = await whole(items, async (item) => {
    const payment = requirePayment(known.plan, payments, item);
    await requireEnded(known, payment);
    return payment;
  });
  return atService(known.settings, async (service, address) => {
    const book = await known.withdrawals(service);
    return whole(wanted, async (payment) => {
      const history = await known.historyOf(payment);
      const verdict = await checkPayAgain(service, book, history);
      if (verdict.kind !== 'could be')
        return openingOf(known, history, requireMay(known, payment, verdict, address));
      // A record that belongs to another item leaves no doubt about this payment.
      const claimant = await claimantOf(known.place, { plan: known.plan, item: payment.id }, verdict.record);
      const settled =
        claimant === null ? verdict : await checkPayAgain(service, book, without(history, verdict.record));
      return openingOf(known, history, requireMay(known, payment, settled, address));
    });
  });
}

/**
 * The command searches other runs for the owners of this many records without a name. Payments with further such records are
 * left out.
 */
const MOST_TWINS = 20;

/**
 * Every payment whose records have all failed, or that the service did not accept before its window closed. A payment that
 * may have been paid is never among them.
 */
export async function allFailed(known: Known): Promise<readonly Opening[]> {
  const { report, settings } = known;
  if (report.payments.some(({ id }) => id === ALL_FAILED)) {
    throw refusal('bad input', {
      code: 'BAD_COMMAND_LINE',
      place: '--pay-again',
      message: `the batch has a payment with the id "${ALL_FAILED}", so the word could mean that payment, or all that have failed`,
      fix: 'Name the payments one by one. That one can be paid in a new run.',
    });
  }
  const failedWords = settings.facts.withdrawalStatuses.failed;
  return atService(settings, async (service, address) => {
    const book = await known.withdrawals(service);
    if (book.stopped !== null) throw serviceFailure(book.stopped, address);
    const list: Opening[] = [];
    let twins = 0;
    for (const payment of report.payments) {
      if (!mayBeAskedAgain(payment)) continue;
      const records = book.of(payment.id, known.identityOf(payment));
      const why = whyAgain(payment, { records, failedWords, code: known.codeOf(payment.id) });
      if (why === null) continue;
      let history = await known.historyOf(payment);
      let verdict = judgePayAgain(history, records);
      if (verdict.kind === 'could be' && twins < MOST_TWINS) {
        twins += 1;
        if (
          (await claimantOf(known.place, { plan: known.plan, item: payment.id }, verdict.record)) !== null
        ) {
          history = without(history, verdict.record);
          verdict = judgePayAgain(history, book.of(payment.id, history.identity));
        }
      }
      // A record that merely could be the payment's says nothing about the payment.
      if (verdict.kind !== 'may' || (why === 'failed' && verdict.failed.length === 0)) continue;
      await requireNotCancelled(known, payment);
      list.push(openingOf(known, history, verdict));
    }
    return list;
  });
}

/** False for a payment that may have been paid: such a payment is never paid again. */
export function mayBeAskedAgain({ outcome }: Pick<ReportPayment, 'outcome'>): boolean {
  return outcome !== 'PENDING' && outcome !== 'NEEDS_HUMAN';
}

/** Why `all-failed` includes a payment, by the records that are or could be its own; null when it does not. */
export function whyAgain(
  { withdrawalId }: Pick<ReportPayment, 'withdrawalId'>,
  seen: {
    readonly records: readonly Pick<Withdrawal, 'id' | 'status'>[];
    readonly failedWords: readonly string[];
    /** Why the payment was not paid, as the report says. */
    readonly code: string;
  },
): 'failed' | 'late' | null {
  // When the report names a record that the list does not show, its state is not known.
  const isShown = withdrawalId === null || seen.records.some(({ id }) => id === withdrawalId);
  if (!isShown) return null;
  if (seen.records.some(({ status }) => seen.failedWords.includes(status))) return 'failed';
  return seen.code === 'WINDOW_PASSED' ? 'late' : null;
}

function openingOf(known: Known, { reported: payment, kept }: PaymentHistory, may: May): Opening {
  return {
    payment,
    reference: reference(known.plan.run, payment.id, may.generation),
    chunk: known.chunkOf(payment.id),
    paidAgain: [payment.id, may.follows, may.recordId],
    kept,
  };
}

/** Returns all results. Where some are refused, throws one refusal with the problems of all of them. */
async function whole<One, Result>(
  all: readonly One[],
  judge: (one: One) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const refusals: CommandFailure[] = [];
  for (const one of all) {
    try {
      results.push(await judge(one));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      refusals.push(error);
    }
  }
  const [first] = refusals;
  if (first === undefined) return results;
  throw new CommandFailure(
    first.ending,
    refusals.flatMap(({ problems }) => problems),
  );
}

function requirePayment(
  plan: Plan,
  payments: ReadonlyMap<string, ReportPayment>,
  item: string,
): ReportPayment {
  const payment = payments.get(item);
  if (payment !== undefined) return payment;
  const isLeg = plan.legs.some(({ id }) => id === item);
  const ids =
    plan.batch === null
      ? plan.payments.map(({ id }) => id).join(', ') || 'none'
      : `the ${plan.batch.payments} payments of its batch`;
  throw refusal('bad input', {
    code: 'ITEM_NOT_FOUND',
    place: `${runName(plan.run)} ${item}`,
    message: isLeg ? `"${item}" is a leg; only payments are paid again` : `the plan has no payment "${item}"`,
    fix: isLeg ? 'Trade it in a new run, if it is still wanted.' : `It has: ${ids}.`,
  });
}

/** Problems of payments for which nothing was ever sent. Such a payment needs no later generation. */
const NEVER_SENT: readonly string[] = ['LEG_NOT_TRADED', 'CANCELLED', 'NOTHING_TO_PAY'];

/** Checks the report: the payment has ended unpaid, after something may have been sent. */
async function requireEnded(known: Known, payment: ReportPayment): Promise<void> {
  const place = `${runName(known.plan.run)} ${payment.id}`;
  if (!mayBeAskedAgain(payment)) {
    throw refusal('refused by us', {
      code: 'PAYMENT_OPEN',
      place,
      message: `it is not known whether it is paid (${payment.outcome}), so it cannot be paid again yet`,
      fix: 'Start the run again with --go-on: it finds out at the service what became of the payment. If that ends as not paid, type this again.',
    });
  }
  const code = known.codeOf(payment.id);
  if (payment.amount === null || NEVER_SENT.includes(code)) {
    throw refusal('refused by us', {
      code: 'PAYMENT_NEVER_SENT',
      place,
      message: `nothing was ever sent for this payment (${code || 'its amount is not known'}), so there is nothing to pay again`,
      fix: 'Start the run again with --go-on: that pays it under its first reference.',
    });
  }
  await requireNotCancelled(known, payment);
}

/**
 * To pay a payment again takes a cancel back, and then everything that the cancel stopped goes on. So this is refused where
 * a cancel has stopped something.
 */
async function requireNotCancelled(known: Known, payment: ReportPayment): Promise<void> {
  const { plan, report } = known;
  if (!isCancelled((await known.keptOf(payment.id)).instructions)) return;
  const unsent = report.problems.flatMap(({ code, item }) => (code === 'CANCELLED' ? [item ?? 'all'] : []));
  if (unsent.length === 0) return;
  const more = unsent.length - SHOWN_UNSENT;
  const names = `${unsent.slice(0, SHOWN_UNSENT).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
  throw refusal('refused by us', {
    code: 'RUN_CANCELLED',
    place: `${runName(plan.run)} ${payment.id}`,
    message: `the run is cancelled. To pay this again would take the cancel back, and send the rest too: ${names}`,
    fix: 'Take the cancel back first with --go-on, or pay this one in a new run.',
  });
}

/** At most this many of the payments that a cancel stopped are named. */
const SHOWN_UNSENT = 20;

/** The history without a record of which it is known that it is no payment of this run. */
function without(history: PaymentHistory, { id }: Withdrawal): PaymentHistory {
  const { identity } = history;
  return { ...history, identity: { ...identity, otherIds: [...identity.otherIds, id] } };
}

/** What may be opened. @throws CommandFailure */
function requireMay({ plan }: Known, { id }: ReportPayment, verdict: PayAgainVerdict, address: string): May {
  const place = `${runName(plan.run)} ${id}`;
  switch (verdict.kind) {
    case 'may':
      return verdict;
    case 'unreadable':
      throw serviceFailure(verdict.reply, address);
    case 'stands':
      throw refusal('refused by us', {
        code: 'PAYMENT_STANDS',
        place,
        message: `the service has withdrawal ${verdict.id} of this payment, which has not failed ("${verdict.status}"); to pay it again would pay it twice`,
        fix: 'Nothing to do as long as it has not failed. Start the run with --go-on to bring its report up to date.',
      });
    case 'could be':
      throw refusal('refused by us', {
        code: 'PAYMENT_COULD_STAND',
        place,
        message: `withdrawal ${verdict.record.id} ("${verdict.record.status}") carries no reference; its currency, amount and account are those of this payment, so it could be this payment`,
        fix: 'Find out whose it is. If it is another one, pay this one in a new run.',
      });
    case 'opened before':
      throw refusal('refused by us', {
        code: 'PAY_AGAIN_OPEN',
        place,
        message: `${verdict.by} has said already that it is paid again, as ~${verdict.generation}, and this is not done yet; it is not paid once more`,
        fix: `Start the run with --go-on: that pays it. If it then waits for signatures: \`npx cambist approve ${runName(plan.run)} --key FILE\`, as status says.`,
      });
  }
}

export function refusal(ending: Ending, trouble: Trouble): CommandFailure {
  return new CommandFailure(ending, [{ ...trouble, message: `${trouble.message}; nothing was sent` }]);
}
