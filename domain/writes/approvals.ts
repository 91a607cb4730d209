/**
 * Approvals: which rules of a folder of policies cover a run, and whether enough people have signed its plan. The worker that sends
 * calls it with what it has read itself: the folder, the plan, the rows of the batch, and signatures that it has verified. Pure.
 */
import { moneyText } from '../currencies.ts';
import { compare, equal, isDecimal, isPositive, multiply, quotient, round, sum } from '../money.ts';
import { legIdOf } from '../plan/amounts.ts';
import type { Leg, Payment, Plan } from '../plan/plan.ts';
import { worthOf } from '../plan/price-bounds.ts';
import type { Money, Policy, Rate } from '../policy.ts';
import type { BatchPayment } from '../batch.ts';
import { canonicalJson } from '../canonical-json.ts';
import {
  GENERATIONS_AT_ONCE,
  isAlikeList,
  openUntilMs,
  type AlikeList,
  type Recorded,
} from '../people/instructions.ts';
import { firstReference, generationOf, reference, runName } from '../references.ts';
import { minuteText } from '../waits.ts';
import type { ApprovalRule, Approvals, Signer } from './approval-rules.ts';
import type { AllowedPolicy, GatedWrite } from './write-gate.ts';

/** For what a person signs. The person who has started a run signs for that, and is none of those who approve it. */
export type SignedAs = 'starter' | 'approver';

/** A signature that was verified: by whom, for what, and until when it counts. Epoch milliseconds. */
export type Signed = {
  readonly as: SignedAs;
  readonly name: string;
  readonly saidAtMs: number;
  readonly expiresAtMs: number;
};

/** What is to be verified: that `name` has signed `text`. `signature` is base64. */
export type ToVerify = Pick<Approvals, 'allowedSigners' | 'revokedKeys'> & {
  readonly text: string;
  readonly signature: string;
  readonly name: string;
};

/** `unable`: the machine has no program that can verify, or that was killed or did not end in time. */
export type Verified = 'good' | 'bad' | 'unable';

/**
 * Instructions that people must approve where a rule covers their run: each moves money that its plan does not move, or ends what keeps
 * an item from being sent.
 */
export type Signable =
  | Extract<
      Recorded,
      { readonly kind: 'pay again' | 'pay these again' | 'executed' | 'not executed' | 'not this' | 'accept' }
    >
  | AlikeList;

export function isSignable(said: Recorded): said is Signable {
  return said.kind === 'pay again' || said.kind === 'pay these again' || isSignedDecision(said);
}

/** Lets payments be paid once more than the plan does. */
export function paysAgain(said: Signable): said is Extract<Signable, { readonly kind: `pay ${string}` }> {
  return said.kind === 'pay again' || said.kind === 'pay these again';
}

/** Without its signatures such an instruction counts as not said. One that pays again stops where its payment leaves. */
function isSignedDecision(
  said: Recorded,
): said is Exclude<Signable, { readonly kind: 'pay again' | 'pay these again' }> {
  return ['executed', 'not executed', 'not this', 'accept'].includes(said.kind) || isAlikeList(said);
}

/** So long a signature for a decision counts, from when the decision was kept. */
const DECISION_MS = 90 * 86_400_000;

/** Until when a signature for an instruction is of use. What is paid again has a send window of its own. */
export function signedUntilMs(said: Signable): number {
  return isSignedDecision(said) ? said.atMs + DECISION_MS : openUntilMs(said.atMs);
}

/** What one signature is about. `planHash` is of the whole plan (`language/plan-hash.ts`). */
export type ToSign = {
  readonly as: SignedAs;
  readonly plan: Pick<Plan, 'run' | 'credentials' | 'policy' | 'batch' | 'insteadOf'>;
  readonly planHash: string;
  /** The instruction that is signed, as it is kept; null: the plan is. */
  readonly said: Signable | null;
  readonly expiresAtMs: number;
};

/** The text that a person signs. The worker makes it anew from what it has read, so that a signature is good for nothing else. */
export function textToSign({ as, plan, planHash, said, expiresAtMs }: ToSign): string {
  const { run, credentials, policy, batch, insteadOf } = plan;
  const about =
    said === null
      ? { instead_of: insteadOf ?? null, chunks: (batch?.chunks ?? []).map(({ hash }) => hash) }
      : { instruction: contentOf(said) };
  const signed = {
    form: said === null ? 'cambist-plan-1' : 'cambist-instruction-1',
    as,
    mode: credentials.mode,
    organisation: credentials.organisation,
    run: runName(run),
    plan: planHash,
    policy: policy.hash,
    ...about,
    expires: new Date(expiresAtMs).toISOString(),
  };
  return `${JSON.stringify(signed, null, 2)}\n`;
}

/** All that an instruction says, who said it, and when it was kept. Its number may change where Temporal has lost others. */
function contentOf({ number: _number, date: _date, atMs, ...said }: Signable): unknown {
  const content: unknown = JSON.parse(canonicalJson(said));
  return { ...(content as object), kept: new Date(atMs).toISOString() };
}

/** What somebody has typed, so that nobody takes it for what the program says. */
export function quoted(typed: string): string {
  return JSON.stringify(typed);
}

/** `pay again "supplier", as ana has said`, for people who sign it or wait for those who must. */
export function signableText(said: Signable): string {
  const by = quoted(said.by);
  const why = quoted(said.why);
  switch (said.kind) {
    case 'pay again': {
      const record = said.recordId === null ? '' : `, whose record ${said.recordId} has failed`;
      return `pay "${said.item}" again after generation ${said.follows}${record}, as ${by} has said: ${why}`;
    }
    case 'pay these again': {
      const count = said.chunks.reduce((sum_, [, payments]) => sum_ + payments, 0);
      return `pay ${count} payment${count === 1 ? '' : 's'} of the batch again, as ${by} has said: ${why}`;
    }
    case 'executed':
      return `"${said.item}" was executed as ${said.recordId}, as ${by} has said`;
    case 'not executed':
      return `"${said.item}" was not executed, as ${by} has said: ${why}`;
    case 'not this':
      return `${said.recordId} is not the record of "${said.item}", as ${by} has said: ${why}`;
    case 'accept':
      return `trade ${said.recordId} of "${said.item}" is accepted as it came out, as ${by} has said: ${why}`;
    case 'go-on':
      return `none of the withdrawals until ${minuteText(said.lookAlikes.untilMs)} that look like payments of the batch (${quoted(said.item ?? '')}) is one of them, as ${by} has said: ${why}`;
  }
}

/** Sums by currency. `odd`: what of them cannot be judged, as a part of a sentence; null: nothing. */
export type Moved = { readonly sums: readonly Money[]; readonly odd: string | null };

export const NOTHING_MOVED: Moved = { sums: [], odd: null };

/** What rows of a batch pay. */
export function movedByRows(rows: readonly BatchPayment[]): Moved {
  return summed(rows.map(([id, , currency, value]) => ({ id, value, currency })));
}

/**
 * Everything that a plan trades and pays: of each leg the side that is asked for, of each payment its amount, of what depends on a
 * trade what that trade moves. Money that is converted and then paid counts twice.
 * @param more what the rows of its batch pay, as the worker has read them, and what may be paid besides (`movedBefore`, `movedAgain`)
 */
export function movedByPlan(plan: Plan, policy: Policy, more: readonly Moved[]): Moved {
  const legs = plan.legs.map((leg) => ({ id: leg.id, ...askedOf(leg) }));
  const payments = plan.payments.flatMap((payment) => paidBy(plan, payment));
  return together([
    summed([...legs, ...payments]),
    { sums: [], odd: isBound(plan, policy) ? null : 'the plan says otherwise than the policy of the folder' },
    ...more,
  ]);
}

/** What the generations of the same eight before this one may have paid: each the same amount once more. */
export function movedBefore(write: GatedWrite): Moved {
  const generation = generationOf(firstReference(write.reference), write.reference) ?? 1;
  const before = (generation - 1) % GENERATIONS_AT_ONCE;
  if (write.kind !== 'withdrawal' || before === 0) return NOTHING_MOVED;
  const { amount, currency } = write;
  return { sums: [{ value: multiply(amount, String(before)), currency }], odd: null };
}

/** What a payment of the plan pays once more; of one that the plan does not name, what all `rows` of its batch pay. */
export function movedAgain(plan: Plan, item: string, rows: readonly Moved[]): readonly Moved[] {
  const payment = plan.payments.find(({ id }) => id === item);
  return payment === undefined ? rows : [summed(paidBy(plan, payment))];
}

/** The most that so many of these rows pay, whichever they are. Each currency counts by itself. */
export function movedByMost(rows: readonly BatchPayment[], count: number): Moved {
  const byCurrency = new Map<string, readonly BatchPayment[]>();
  for (const row of rows) byCurrency.set(row[2], [...(byCurrency.get(row[2]) ?? []), row]);
  const most = [...byCurrency.values()].flatMap((each) =>
    each.toSorted(([, , , one], [, , , other]) => compare(other, one)).slice(0, count),
  );
  return movedByRows(most);
}

/** Sums of several parts as one. */
export function together(parts: readonly Moved[]): Moved {
  const all = parts.flatMap(({ sums }) => sums);
  const odd = parts.find((part) => part.odd !== null)?.odd ?? null;
  return { sums: summed(all.map((money) => ({ id: '', ...money }))).sums, odd };
}

type Asked = { readonly value: string | null; readonly currency: string };

function askedOf({ amount, sell, buy }: Leg): Asked {
  return amount === null
    ? { value: null, currency: sell }
    : { value: amount.value, currency: amount.side === 'sell' ? sell : buy };
}

function paidBy(
  { legs }: Plan,
  { id, currency, amount }: Payment,
): readonly (Asked & { readonly id: string })[] {
  if (amount.kind === 'fixed') return [{ id, value: amount.value, currency }];
  const leg = legs.find((one) => one.id === amount.leg);
  // Without that leg there was nothing to sell, and nothing is paid.
  return leg === undefined ? [] : [{ id, ...askedOf(leg) }];
}

function summed(all: readonly (Asked & { readonly id: string })[]): Moved {
  const sums = new Map<string, string>();
  let odd: string | null = null;
  for (const { id, value, currency } of all) {
    if (value === null || !isDecimal(value) || !isPositive(value)) odd ??= `"${id}" has no amount above zero`;
    else sums.set(currency, sum([sums.get(currency) ?? '0', value]));
  }
  return { sums: [...sums].map(([currency, value]) => ({ value, currency })), odd };
}

/**
 * True when no write of the plan can be of more than what was counted. Fixed amounts are compared with the plan. What a trade brings
 * only the policy tells, so that a plan must name such a payment, and its trade, as the policy does.
 */
function isBound({ run, legs, payments }: Plan, policy: Policy): boolean {
  const [leg, ...moreLegs] = legs;
  return payments.every(({ amount, reference: name }) => {
    if (amount.kind === 'fixed') return true;
    if (policy.kind !== 'convert' || moreLegs.length > 0) return false;
    const id = legIdOf(policy.convert);
    const spec = policy.withdraw.find((one) => reference(run, one.id) === name);
    const isOfLeg = amount.leg === id && leg?.id === id && leg.reference === reference(run, id);
    return isOfLeg && spec !== undefined && spec.amount.kind !== 'fixed';
  });
}

/** Why a rule covers a run, as a part of a sentence; null: it does not. What cannot be judged counts as above the rule. */
export function whyCovered(
  { above }: ApprovalRule,
  { sums, odd }: Moved,
  version: Pick<AllowedPolicy, 'policy' | 'referenceRates'>,
  { madeAtMs }: Pick<Plan, 'madeAtMs'>,
): string | null {
  const line = moneyText(above.value, above.currency);
  if (odd !== null) return `${odd}, so that it counts as above ${line}`;
  const rates = ratesAt(version, madeAtMs);
  const worths: string[] = [];
  for (const { value, currency } of sums) {
    const worth = worthOf(rates, currency, above.currency);
    if (worth === null)
      return `the folder has no reference rate between ${currency} and ${above.currency} for it, so that it counts as above ${line}`;
    worths.push(quotient(multiply(value, worth.times), worth.over, 30, 'up'));
  }
  const total = sum(worths);
  return compare(total, above.value) > 0
    ? `it trades and pays ${moneyText(round(total, 2, 'up'), above.currency)} in all, which is above ${line}`
    : null;
}

/** The rates of the policy's guard, unless they were too old when the plan was made. */
function ratesAt(
  { policy, referenceRates }: Pick<AllowedPolicy, 'policy' | 'referenceRates'>,
  madeAtMs: number,
): readonly Rate[] {
  const guard = policy.guard?.reference ?? null;
  if (guard === null || referenceRates === null) return [];
  return Date.parse(referenceRates.asOf) + guard.maxAgeMs >= madeAtMs ? referenceRates.rates : [];
}

/**
 * Why the write is none of the plan, as a part of a sentence; null: it is. Only what the plan has was counted, and signed.
 * @param rows the rows of the chunk to which the payment belongs; none for a write of no batch
 */
export function whyNotOfPlan(plan: Plan, rows: readonly BatchPayment[], write: GatedWrite): string | null {
  const name = firstReference(write.reference);
  const no = `the plan of ${runName(plan.run)} that the worker has read has no such`;
  if (write.kind !== 'withdrawal') {
    const leg = plan.legs.find((one) => one.reference === name);
    const asked = leg?.amount ?? null;
    const isSame = leg !== undefined && asked !== null && leg.sell === write.sell && leg.buy === write.buy;
    return isSame && isAmountOf(asked, write) ? null : `${no} ${write.kind} of "${name}"`;
  }
  const { account, currency, amount } = write;
  const row = rows.find(([id]) => reference(plan.run, id) === name);
  const payment = plan.payments.find((one) => one.reference === name);
  const isRow = row !== undefined && row[1] === account && row[2] === currency && equal(row[3], amount);
  const isPayment =
    payment !== undefined &&
    payment.account === account &&
    payment.currency === currency &&
    (payment.amount.kind !== 'fixed' || equal(payment.amount.value, amount));
  return isRow || isPayment ? null : `${no} payment of "${name}"`;
}

function isAmountOf(
  asked: NonNullable<Leg['amount']>,
  write: Exclude<GatedWrite, { kind: 'withdrawal' }>,
): boolean {
  if (write.kind === 'quote')
    return write.amount.side === asked.side && equal(write.amount.value, asked.value);
  return equal(asked.side === 'sell' ? write.sellAmount : write.buyAmount, asked.value);
}

/** Names of one person: they share a key. A person with two keys or two names counts once. */
export function personsOf(signers: readonly Signer[]): (name: string) => string {
  const first = new Map<string, string>();
  const found = (name: string): string => {
    const parent = first.get(name) ?? name;
    return parent === name ? name : found(parent);
  };
  const byKey = new Map<string, string>();
  for (const { name, key } of signers) {
    const other = byKey.get(key);
    if (other === undefined) byKey.set(key, name);
    else if (found(other) !== found(name)) first.set(found(name), found(other));
  }
  return found;
}

/** Where the approvals of a run stand by one rule. */
export type Standing =
  | { readonly kind: 'approved'; readonly by: readonly Signed[] }
  /** `missing`: those who may still sign. `late`: the time for signing is over. Signatures still count. */
  | {
      readonly kind: 'awaiting' | 'late';
      readonly by: readonly Signed[];
      readonly isStarted: boolean;
      readonly missing: readonly string[];
      readonly untilMs: number;
    };

/**
 * Where the approvals stand. Counts signatures of different people who have not started the run, as long as they have not expired. Who has
 * started it has signed for that, and is never an approver, even when that signature has expired.
 * @param signed signatures for exactly this plan, each of a name in `allowed_signers`
 */
export function standingBy(
  rule: ApprovalRule,
  signed: readonly Signed[],
  { signers }: Pick<Approvals, 'signers'>,
  { madeAtMs, nowMs }: { readonly madeAtMs: number; readonly nowMs: number },
): Standing {
  const personOf = personsOf(signers);
  const untilMs = madeAtMs + rule.withinMs;
  const starters = new Set(signed.flatMap(({ as, name }) => (as === 'starter' ? [personOf(name)] : [])));
  const counting = signed.filter(({ expiresAtMs }) => nowMs < expiresAtMs);
  const start = counting.find(({ as }) => as === 'starter');
  const approvals = new Map<string, Signed>();
  for (const one of counting) {
    const person = personOf(one.name);
    const isApproval = one.as === 'approver' && rule.of.includes(one.name) && !starters.has(person);
    if (isApproval && !approvals.has(person)) approvals.set(person, one);
  }
  const by = [...(start === undefined ? [] : [start]), ...approvals.values()];
  if (start !== undefined && approvals.size >= rule.need) return { kind: 'approved', by };
  const missing = rule.of.filter((name) => !approvals.has(personOf(name)) && !starters.has(personOf(name)));
  return {
    kind: nowMs > untilMs ? 'late' : 'awaiting',
    by,
    isStarted: start !== undefined,
    missing,
    untilMs,
  };
}

/**
 * The same as a part of a sentence: who has signed, who is missing, and until when.
 * @param of what they sign for
 */
export function standingText(
  { need }: ApprovalRule,
  standing: Exclude<Standing, { kind: 'approved' }>,
  of: keyof typeof STARTERS,
): string {
  const { by, isStarted, missing, untilMs, kind } = standing;
  const signed = by.map(
    ({ name, as, saidAtMs }) =>
      `${name}${as === 'starter' ? ` as ${STARTERS[of].as}` : ''} at ${minuteText(saidAtMs)}`,
  );
  const left = need - by.filter(({ as }) => as === 'approver').length;
  const lacks = [
    ...(isStarted ? [] : [`of ${STARTERS[of].who}`]),
    ...(left > 0 ? [`of ${left} of ${missing.join(', ') || 'nobody who is left'}`] : []),
  ];
  const until = minuteText(untilMs);
  const time =
    kind === 'late'
      ? `it is late, the time for signing is over since ${until}; signatures still count${of === 'plan' ? ', and `cancel` ends it unsent' : ''}`
      : `until ${until}`;
  const told = signed.length === 0 ? 'nobody has signed it' : `signed by ${signed.join(', ')}`;
  const wayOut = left > missing.length ? `; so many are not left to sign it: ${STARTERS[of].instead}` : '';
  return `it needs the signature ${lacks.join(' and ')}, ${time}; ${told}${wayOut}`;
}

/** How the person is called who has signed for the start, whose signature else is missing, and what to do where that person was needed. */
const STARTERS = {
  plan: {
    who: 'who has started it',
    as: 'its starter',
    instead: '`cancel` it, and let somebody else start another run',
  },
  'pay again': {
    who: 'who has said it',
    as: 'who has said it',
    instead: '`cancel` the run, and let somebody else type --pay-again',
  },
  decision: {
    who: 'who has said it',
    as: 'who has said it',
    instead: 'let somebody else say the same again',
  },
  resume: {
    who: 'who has resumed it',
    as: 'who has resumed it',
    instead: '`halt` it again, and let somebody else resume it',
  },
} as const;

/** How `standingText` calls what is signed; null: the plan. */
export function signedKind(said: Signable | null): keyof typeof STARTERS {
  if (said === null) return 'plan';
  return paysAgain(said) ? 'pay again' : 'decision';
}
