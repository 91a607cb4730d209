/**
 * The write gate: whether the worker's own folder of policies allows a write (design: "What a worker believes"). It judges the
 * very request that is about to be signed. Nothing that Temporal says can widen it: the policy comes from files that only the
 * operator of the worker can change, and account, currency, amount and price are held against it anew. Pure.
 */
import { compare, isDecimal, isPositive } from '../money.ts';
import type { Destinations } from '../destinations.ts';
import {
  currenciesOf,
  type ConvertPolicy,
  type Limits,
  type Policy,
  type ReferenceRates,
} from '../policy.ts';
import { amountOf, bringerOf, legIdOf } from '../plan/amounts.ts';
import { paymentsOfConvert } from '../plan/convert-items.ts';
import { holdingOf, type Held } from '../plan/holding.ts';
import { guardOf } from '../plan/leg-guard.ts';
import { whyPastTarget } from '../plan/past-target.ts';
import { ratesOf } from '../plan/rebalance-items.ts';
import { brokenPaymentLimit, brokenTradeLimit, type Gross } from '../plan/limits.ts';
import { keepsGuard, worthOf } from '../plan/price-bounds.ts';
import { moneyText } from '../currencies.ts';
import { firstReference, generationOf, reference, runOf } from '../references.ts';
import { eightOf } from '../people/instructions.ts';
import type { SendWindows } from '../plan/plan.ts';
import { minuteText } from '../waits.ts';
import type { Approvals } from './approval-rules.ts';
import type { CeilingsFile } from './ceilings.ts';
import type { Mode, SettlementWindow, Trade } from '../service/records.ts';
import { sidesOf } from './lookups.ts';

/** A policy of the folder. */
export type AllowedPolicy = {
  readonly policy: Policy;
  /** The hash that a plan made by it has: of what it says, and of its destinations. */
  readonly hash: string;
  /** The accounts that it may pay; null: it names no file of destinations. */
  readonly destinations: Destinations | null;
  /** The rates of its reference guard; null: it has none, or the folder does not have the file. */
  readonly referenceRates: ReferenceRates | null;
  /** For a policy that was replaced: only runs of earlier dates than this one (`2026-11-28`) still go by it. Null: it holds. */
  readonly before: string | null;
};

/** What a folder of policies says, and what of it cannot be used. */
export type PoliciesRead = {
  readonly policies: readonly AllowedPolicy[];
  /** Null: the folder has no `ceilings.yaml`, and nothing binds a day. */
  readonly ceilings: CeilingsFile | null;
  /** Null: the folder has no `approvals.yaml`, and nobody needs to sign anything. */
  readonly approvals: Approvals | null;
  /** Parts of a sentence that each name a file. */
  readonly troubles: readonly string[];
};

/** What is about to leave. Amounts are decimal strings, `reference` is that of the leg or payment, with its generation. */
export type GatedWrite = { readonly reference: string } & (
  | {
      readonly kind: 'quote';
      readonly sell: string;
      readonly buy: string;
      readonly amount: { readonly side: 'sell' | 'buy'; readonly value: string };
      readonly validForSeconds: number;
      readonly settlement: SettlementWindow;
    }
  | {
      readonly kind: 'trade';
      readonly sell: string;
      readonly buy: string;
      readonly sellAmount: string;
      readonly buyAmount: string;
    }
  | {
      readonly kind: 'withdrawal';
      readonly account: string;
      readonly currency: string;
      readonly amount: string;
    }
);

type Quoted = Extract<GatedWrite, { kind: 'quote' }>;
type Traded = Extract<GatedWrite, { kind: 'trade' }>;
type Withdrawn = Extract<GatedWrite, { kind: 'withdrawal' }>;

/** What the gate judges by. */
export type Gate = {
  readonly policies: readonly AllowedPolicy[];
  readonly mode: Mode;
  readonly nowMs: number;
  readonly decimalsOf: (currency: string) => number;
  /** The business date with which the id of a run begins; null: it begins with none. */
  readonly dateOf: (runId: string) => string | null;
  /** When a run of this date may send, in the zone of its policy. */
  readonly sendWindowsOf: (date: string, zone: string) => SendWindows;
  /** The trades of the legs that bring what a payment pays (`bringingLegsOf`). */
  readonly brought: readonly Trade[];
  /** What is there and on its way (`needsBalances`); null: it cannot be read, or the write does not depend on it. */
  readonly held: Held | null;
};

/** True when balances bind the write: it is a quote or trade of a rebalancing. */
export function needsBalances(policies: readonly AllowedPolicy[], write: GatedWrite): boolean {
  if (write.kind === 'withdrawal') return false;
  const name = runOf(write.reference)?.policy;
  return policies.some(({ policy }) => policy.name === name && policy.kind === 'rebalance');
}

/**
 * The legs whose trades say how much this payment pays, by their references, one for each version of the policy; none: its amount
 * is fixed, or it is none of a conversion.
 */
export function bringingLegsOf(policies: readonly AllowedPolicy[], write: GatedWrite): readonly string[] {
  const run = runOf(write.reference);
  if (run === null || write.kind !== 'withdrawal') return [];
  return policies.flatMap(({ policy }) => {
    if (policy.name !== run.policy || policy.kind !== 'convert') return [];
    const spec = policy.withdraw.find(({ id }) => id === itemOf(write.reference));
    return spec === undefined || spec.amount.kind === 'fixed'
      ? []
      : [reference(run, legIdOf(policy.convert))];
  });
}

/**
 * Why the folder does not allow the write, as a part of a sentence that begins with what it is about; null: it allows it. Of the
 * versions of a policy that a run may go by, one is enough.
 */
export function whyNotAllowed(gate: Gate, write: GatedWrite): string | null {
  const name = write.reference;
  const run = runOf(name);
  // Under a form that no run makes, no lookup of ours would find the record.
  if (run === null || generationOf(firstReference(name), name) === null)
    return `"${name}" is no reference of a run`;
  const odd = movedBy(write).find(({ value }) => !isDecimal(value) || !isPositive(value))?.value;
  if (odd !== undefined) return `"${odd}" is no amount`;
  const named = gate.policies.filter(({ policy }) => policy.name === run.policy);
  if (named.length === 0) return `the folder has no policy "${run.policy}"`;
  const date = gate.dateOf(run.id);
  if (date === null) return `the id of run "${run.id}" begins with no date`;
  const versions = versionsFor(named, run.policy, date);
  if (versions.length === 0)
    return `the folder has no policy "${run.policy}" for runs of ${date}, only a replaced one for earlier dates`;
  const reasons = versions.map(
    (version) => whyNotNow(gate, version, { write, date }) ?? whyNotBy(gate, version, write),
  );
  return reasons.includes(null) ? null : (reasons[0] ?? null);
}

/** The versions of a policy that hold for runs of this date; null: of none. */
export function versionsFor(
  policies: readonly AllowedPolicy[],
  name: string,
  date: string | null,
): readonly AllowedPolicy[] {
  return policies.filter(
    ({ policy, before }) => policy.name === name && (before === null || (date !== null && date < before)),
  );
}

/** What a write sells, buys or pays. Of a quote only the side that was asked for is known. */
export function movedBy(write: GatedWrite): Gross {
  switch (write.kind) {
    case 'quote':
      return [{ value: write.amount.value, currency: write[write.amount.side] }];
    case 'trade':
      return [
        { value: write.sellAmount, currency: write.sell },
        { value: write.buyAmount, currency: write.buy },
      ];
    case 'withdrawal':
      return [{ value: write.amount, currency: write.currency }];
  }
}

/**
 * Why nothing of the plan leaves at this time, by the date in its reference: what the plan or Temporal says of that date does not
 * count. The service forgets the key of a payment after seven days, and would make the same payment once more. What people have said
 * to pay again has a window of its own, from when it was said.
 */
function whyNotNow(
  { nowMs, sendWindowsOf }: Gate,
  { policy }: AllowedPolicy,
  { write, date }: { readonly write: GatedWrite; readonly date: string },
): string | null {
  const generation = generationOf(firstReference(write.reference), write.reference) ?? 1;
  if (write.kind === 'withdrawal' && eightOf(generation) > 0) return null;
  const { opensAtMs, tradesUntilMs, withdrawalsUntilMs } = sendWindowsOf(date, policy.zone);
  const untilMs = write.kind === 'withdrawal' ? withdrawalsUntilMs : tradesUntilMs;
  const does = write.kind === 'withdrawal' ? 'pays' : 'trades';
  if (nowMs < opensAtMs) return `a run of ${date} ${does} nothing before ${minuteText(opensAtMs)}`;
  return nowMs > untilMs ? `a run of ${date} ${does} nothing after ${minuteText(untilMs)}` : null;
}

function whyNotBy(gate: Gate, version: AllowedPolicy, write: GatedWrite): string | null {
  const { policy } = version;
  const name = `policy "${policy.name}"`;
  if (policy.environment !== gate.mode.toLowerCase())
    return `${name} of the folder is for ${policy.environment}`;
  const why =
    write.kind === 'withdrawal' ? whyNotPaid(gate, version, write) : whyNotTraded(gate, version, write);
  return why === null ? null : `${name} of the folder ${why}`;
}

function whyNotPaid(gate: Gate, { policy, destinations }: AllowedPolicy, write: Withdrawn): string | null {
  const { account, currency, amount } = write;
  const limit = brokenPaymentLimit(policy.rules.limits, { value: amount, currency }, []);
  if (limit !== null) return `does not allow the amount: ${limit}`;
  switch (policy.kind) {
    case 'rebalance':
      return 'pays nothing';
    case 'payout': {
      if (destinations === null) return policy.payout.destinations === null ? null : NO_DESTINATIONS;
      const taken = destinations.get(account);
      return taken === currency ? null : `does not pay ${currency} to account "${account}"`;
    }
    case 'convert': {
      const item = itemOf(write.reference);
      const spec = policy.withdraw.find(({ id }) => id === item);
      if (spec === undefined) return `has no payment "${item}"`;
      if (spec.account !== account) return `pays "${item}" to another account than "${account}"`;
      if (currency !== policy.convert.buy)
        return `pays "${item}" in ${policy.convert.buy}, not in ${currency}`;
      return whyNotAmountOf(gate, policy, write);
    }
  }
}

/** What a trade has brought is counted anew from the service's own record of it. */
function whyNotAmountOf(gate: Gate, policy: ConvertPolicy, write: Withdrawn): string | null {
  const run = runOf(write.reference);
  if (run === null) return 'has no such payment';
  const { decimalsOf } = gate;
  const item = itemOf(write.reference);
  const payments = paymentsOfConvert({ policy, run, decimalsOf }, true);
  const payment = payments.find(({ id }) => id === item);
  if (payment === undefined) return `has no payment "${item}"`;
  const { sell, buy } = policy.convert;
  const leg = bringerOf(payment);
  const bought = leg === null ? ['0'] : boughtBy(gate, { sell, buy, leg: reference(run, leg) });
  const asked = bought.map((value) => amountOf(payment, payments, value));
  if (asked.some((value) => compare(value, write.amount) === 0)) return null;
  const [planned] = asked;
  const what =
    planned === undefined
      ? `what trade "${leg ?? ''}" has brought, and the service shows no such trade under its reference`
      : `${moneyText(planned, write.currency)}, not ${moneyText(write.amount, write.currency)}`;
  return `pays "${item}" ${what}`;
}

/** What each trade of the leg has bought, by any of its generations. */
function boughtBy(
  { brought }: Gate,
  { sell, buy, leg }: { readonly sell: string; readonly buy: string; readonly leg: string },
): readonly string[] {
  const own = brought.filter(
    ({ clientReferenceId, sellCurrency, buyCurrency }) =>
      generationOf(leg, clientReferenceId ?? '') !== null && sellCurrency === sell && buyCurrency === buy,
  );
  return own.map((trade) => sidesOf(trade).buyAmount);
}

const NO_DESTINATIONS = 'names a file of destinations that is not in the folder, or cannot be read';

function whyNotTraded(gate: Gate, version: AllowedPolicy, write: Quoted | Traded): string | null {
  const { policy } = version;
  return (
    whyNotPair(version, write) ??
    whyNotAmount(policy, write) ??
    (write.kind === 'quote' ? whyNotTerms(policy, write) : null) ??
    brokenLimit(policy.rules.limits, write) ??
    whyNotOfTarget(gate, version, write) ??
    whyNotPrice(gate, version, write)
  );
}

function whyNotPair({ policy, destinations }: AllowedPolicy, { sell, buy }: Quoted | Traded): string | null {
  const no = `does not sell ${sell} for ${buy}`;
  switch (policy.kind) {
    case 'convert':
      return policy.convert.sell === sell && policy.convert.buy === buy ? null : no;
    case 'rebalance': {
      const { base, neverSell } = policy.rebalance;
      const isOfBase = (sell === base.currency) !== (buy === base.currency);
      const isOurs = [sell, buy].every((currency) => currenciesOf(policy.rebalance).includes(currency));
      return isOfBase && isOurs && !neverSell.includes(sell) ? null : no;
    }
    case 'payout': {
      const { fund } = policy.payout;
      if (fund.kind !== 'net' || fund.from !== sell || sell === buy) return no;
      if (destinations === null) return policy.payout.destinations === null ? null : NO_DESTINATIONS;
      return [...destinations.values()].includes(buy) ? null : `pays no ${buy}`;
    }
  }
}

/** A trade is only made of a quote that the gate has let through, so that it has these terms too. */
function whyNotTerms(policy: Policy, { validForSeconds, settlement }: Quoted): string | null {
  const { quote } = policy.rules;
  if (quote.settlement !== settlement)
    return `takes quotes that settle ${quote.settlement}, not ${settlement}`;
  return quote.validForSeconds === validForSeconds
    ? null
    : `takes quotes that are valid for ${quote.validForSeconds}s, not ${validForSeconds}s`;
}

/** Amounts that come from balances are bound by limits, and by what is there. */
function whyNotAmount(policy: Policy, write: Quoted | Traded): string | null {
  if (policy.kind !== 'convert') return null;
  const { amount, sell, buy } = policy.convert;
  if (amount.kind === 'sell-all')
    return write.kind === 'quote' && write.amount.side === 'buy' ? 'fixes the sold amount' : null;
  const asked = write.kind === 'quote' ? write.amount : sideOf(write, amount.kind);
  const planned = moneyText(amount.value, amount.kind === 'sell' ? sell : buy);
  return asked.side === amount.kind && compare(asked.value, amount.value) === 0
    ? null
    : `${amount.kind}s ${planned}, not what was asked for`;
}

/** The legs of a rebalancing come from balances of another moment. They never lead past their target as balances stand now. */
function whyNotOfTarget(gate: Gate, version: AllowedPolicy, write: Quoted | Traded): string | null {
  const { policy } = version;
  if (policy.kind !== 'rebalance') return null;
  const { held, decimalsOf } = gate;
  if (held === null) return 'trades by balances, and these cannot be read';
  const base = policy.rebalance.base.currency;
  const rates = ratesOf(version);
  const side = write.buy === base ? 'sell' : 'buy';
  const { value, side: asked } = write.kind === 'quote' ? write.amount : sideOf(write, side);
  if (asked !== side) return `fixes the amount of ${write[side]}, not of ${base}`;
  const input = {
    rebalance: policy.rebalance,
    holdingOf: (currency: string) => holdingOf(held, currency),
    decimalsOf,
    worthOf: (currency: string) => worthOf(rates, currency, base),
  };
  return whyPastTarget(input, { sell: write.sell, buy: write.buy, amount: value });
}

function sideOf({ sellAmount, buyAmount }: Traded, side: 'sell' | 'buy'): Quoted['amount'] {
  return { side, value: side === 'sell' ? sellAmount : buyAmount };
}

function brokenLimit(limits: Limits | null, write: Quoted | Traded): string | null {
  const broken = brokenTradeLimit(limits, movedBy(write), { inRun: [], onDate: [] });
  return broken === null ? null : `does not allow the amount: ${broken}`;
}

/** The price of a quote is asked about when it is traded. Where no price could be taken, no quote is asked for that would only die. */
function whyNotPrice(
  gate: Gate,
  { policy, referenceRates }: AllowedPolicy,
  write: Quoted | Traded,
): string | null {
  const { nowMs: observedAtMs, decimalsOf } = gate;
  const guard = guardOf({ policy, referenceRates, decimalsOf, observation: { observedAtMs } }, write);
  if (guard === null) return null;
  if (guard.bound === null) return `takes no price: it is bound ${guard.text}`;
  if (guard.staleAtMs !== null && guard.staleAtMs < observedAtMs)
    return 'takes no price: the reference rates of the folder are too old';
  return write.kind === 'quote' || keepsGuard(guard.bound, write.sellAmount, write.buyAmount)
    ? null
    : `does not allow the price (it must be ${guard.text})`;
}

/** The leg or payment that a reference names. */
export function itemOf(name: string): string {
  return firstReference(name).split('.')[2] ?? '';
}
