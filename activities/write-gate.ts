/**
 * The write gate of a worker with a folder of policies: before each quote, trade and withdrawal it asks what the folder says at
 * that time (`domain/writes/write-gate.ts`). What the folder does not allow is not sent. It is asked about again each minute.
 * What was sent before, when the folder allowed it, may leave once more under its key, because that is a lookup.
 */
import { decimalsOf } from '../domain/currencies.ts';
import { firstReference, runOf } from '../domain/references.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { Mode, Quote, Trade } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import {
  bringingLegsOf,
  movedBy,
  needsBalances,
  versionsFor,
  whyNotAllowed,
  type AllowedPolicy,
  type GatedWrite,
  type PoliciesRead,
} from '../domain/writes/write-gate.ts';
import type { Approvals } from '../domain/writes/approval-rules.ts';
import { leavesInDoubt, type TradedQuote } from '../domain/writes/step.ts';
import { TakenLegs } from '../domain/writes/taken-legs.ts';
import type { CeilingUse, Ceilings, CeilingsFile, Spending } from '../domain/writes/ceilings.ts';
import { SEND_OUTLIVES_MS } from '../domain/writes/doubt.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { quotedSides } from '../domain/writes/trade-price.ts';
import { SentBefore, keyOf, type CameOfIt, type Send } from '../domain/writes/sent-before.ts';
import type { CeilingTally } from './ceiling-tally.ts';
import { TradesRead } from './trades-read.ts';
import { dateOfRunId, sendWindowsOf, settledAtTheLatestMs } from '../calendar/business-date.ts';
import type { Held } from '../domain/plan/holding.ts';
import { onTheWay } from '../domain/plan/on-the-way.ts';
import { UNSETTLED_LOOK_BACK_MS } from '../service/observe.ts';
import type { ServiceReader } from '../service/client.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';

type NotSent = Extract<Reply<never>, { kind: 'NOT_SENT' }>;
type Quoted = Extract<GatedWrite, { kind: 'quote' }>;
type Withdrawn = Extract<GatedWrite, { kind: 'withdrawal' }>;

/** A trade is asked about with the quote that it takes. */
type AskedTrade = {
  readonly kind: 'trade';
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  readonly quote: TradedQuote;
};
type AskedWrite = Withdrawn | AskedTrade;

export type WriteGate = {
  /** Asks for the quote if the folder allows it. The quote has the seal that a trade of it needs. */
  readonly quote: (asked: Quoted, send: () => Promise<Reply<Quote>>) => Promise<Reply<Quote>>;
  /** Sends the write if the folder allows it. */
  readonly send: <Value extends Made>(
    write: AskedWrite,
    send: () => Promise<Reply<Value>>,
    /** The chunk of a batch of which the payment is said to be; absent: it is of none. */
    chunk?: number,
  ) => Promise<Reply<Value>>;
  /** How much of the ceilings of the day is used, as far as is known. */
  readonly ceilingsUsed: () => Promise<readonly CeilingUse[]>;
};

type Made = { readonly id: string };

/** Why the write does not leave. `reason`: a part of a sentence. */
export type NotApproved = {
  /** `NOT_SENT`: what it is judged by cannot be read now. */
  readonly code: 'AWAITING_APPROVAL' | 'NOT_ALLOWED' | 'NOT_SENT';
  readonly reason: string;
  readonly afterMs: number;
};

/** Null: the write may leave. @param chunk the chunk of a batch of which the write is said to be; null: none */
export type ApprovalGate = (
  write: GatedWrite,
  approvals: Approvals,
  versions: readonly AllowedPolicy[],
  chunk: number | null,
) => Promise<NotApproved | null>;

/** The gate of a worker without a folder of policies. */
export const OPEN_GATE: WriteGate = {
  quote: (_, send) => send(),
  send: (_, send) => send(),
  ceilingsUsed: async () => [],
};

/** So long a reading of the folder counts. */
const READ_AGAIN_MS = 1_000;
/** So long a write waits that is not allowed. */
const ASK_AGAIN_MS = 60_000;

/**
 * What the list shows of the trades by which a write is judged. `ofLegs`: those of its leg, or of the legs that bring what it
 * pays, failed ones left out. `unsettled`: all that will still bring or take something; null: the write does not depend on it.
 */
type Trades = { readonly ofLegs: readonly Trade[]; readonly unsettled: readonly Trade[] | null };

type Options = {
  /** What the folder says now (`eachSecond`). */
  readonly read: () => Promise<PoliciesRead>;
  readonly mode: Mode;
  readonly reader: Pick<ServiceReader, 'balances' | 'listTrades'>;
  readonly facts: Pick<ServiceFacts, 'decimals' | 'tradeStatuses' | 'saleLeavesWithdrawable' | 'listLagMs'>;
  /** Milliseconds. */
  readonly clock: { readonly wallMs: () => number; readonly monotonicMs: () => number };
  /** Seals the facts of a quote with the API key of the worker, so that Temporal cannot change or invent them. */
  readonly seal: (facts: readonly string[]) => string;
  /** What was moved today. */
  readonly tally: CeilingTally;
  /** Whether people have approved it, where the folder asks for that. */
  readonly approved: ApprovalGate;
  /** Whether the same was sent by a worker of this key before this one was started, as its journal shows. */
  readonly sentEarlier: (key: string) => Promise<boolean>;
};

/** Reads the folder (`config/policies-folder.ts`), once for all that ask within a second. */
export function eachSecond(
  read: () => Promise<PoliciesRead>,
  clock: Pick<Options['clock'], 'monotonicMs'>,
): () => Promise<PoliciesRead> {
  let last: { readonly atMs: number; readonly folder: Promise<PoliciesRead> } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (last === null || nowMs - last.atMs > READ_AGAIN_MS) last = { atMs: nowMs, folder: read() };
    return last.folder;
  };
}

export function writeGate(options: Options): WriteGate {
  const { read: folder, mode, facts, clock, seal, tally, approved, sentEarlier } = options;
  const sentHere = new SentBefore();
  const list = new TradesRead(options);
  /** The trades by which the write is judged, read once for all that is asked of them; null: they are not known yet. */
  const tradesFor = async (write: GatedWrite): Promise<Trades | null> => {
    const { policies } = await folder();
    const isOnBalances = needsBalances(policies, write);
    const legs = write.kind === 'trade' ? [firstReference(write.reference)] : bringingLegsOf(policies, write);
    const nowMs = clock.wallMs();
    const since = [
      ...legs.slice(0, 1).map((leg) => madeSinceMs(leg, nowMs)),
      ...(isOnBalances ? [nowMs - UNSETTLED_LOOK_BACK_MS] : []),
    ];
    if (since.length === 0) return { ofLegs: [], unsettled: null };
    const trades = await list.since(Math.min(...since));
    if (trades === null) return null;
    const { settled, failed } = facts.tradeStatuses;
    const isFailed = ({ status }: Trade): boolean => failed.includes(status);
    return {
      ofLegs: trades.filter(
        (trade) => legs.includes(firstReference(trade.clientReferenceId ?? '')) && !isFailed(trade),
      ),
      unsettled: isOnBalances
        ? trades.filter((trade) => !settled.includes(trade.status) && !isFailed(trade))
        : null,
    };
  };
  /** What does not allow the write; null: the folder allows it. Counts it against the ceilings, unless it is a quote. */
  const whyNot = async (
    write: GatedWrite,
    trades: Trades | null,
    send: Send,
    chunk: number | null,
  ): Promise<NotSent | null> => {
    if (trades === null) return TRADES_UNREAD;
    const { policies, ceilings, approvals, troubles } = await folder();
    const gate = {
      policies,
      mode,
      nowMs: clock.wallMs(),
      decimalsOf: (currency: string) => decimalsOf(currency, facts.decimals),
      dateOf: dateOfRunId,
      sendWindowsOf,
      brought: trades.ofLegs,
      held: trades.unsettled === null ? null : await heldNow(options, trades.unsettled),
    };
    const why = whyNotAllowed(gate, write);
    if (why !== null) return notAllowed('NOT_ALLOWED', `${why}${restOf(troubles)}`);
    if (approvals !== null) {
      const run = runOf(write.reference);
      const versions = run === null ? [] : versionsFor(policies, run.policy, dateOfRunId(run.id));
      const unapproved = await approved(write, approvals, versions, chunk);
      if (unapproved !== null) return notApproved(unapproved);
    }
    const counts = write.kind !== 'quote';
    if (!bindsDay(ceilings)) {
      if (counts) tally.leftUncounted();
      return null;
    }
    const over = await tally.take(ceilings, send, counts);
    return over === null ? null : notAllowed(over.code, over.why);
  };
  /** Why the leg is not traded by this quote: each quote has a key of its own, so the service would make a second trade (M1). */
  const whyTraded = ({ reference, quote }: AskedTrade, trades: Trades | null): NotSent | null => {
    if (trades === null) return TRADES_UNREAD;
    const other = trades.ofLegs.find(({ quoteId }) => quoteId !== quote.id);
    if (other === undefined) return null;
    return notAllowed('NOT_ALLOWED', `${firstReference(reference)} was traded already, as ${other.id}`);
  };
  const takenLegs = new TakenLegs();
  /** Takes the leg for this quote, as the last thing before it leaves; else says why not. */
  const takeLeg = ({ reference, quote }: AskedTrade): string | null => {
    const nowMs = clock.monotonicMs();
    const untilMs = nowMs + WRITE_LIMITS.startToCloseMs + facts.listLagMs + SEND_OUTLIVES_MS;
    const leg = firstReference(reference);
    const other = takenLegs.take(leg, quote.id, { nowMs, untilMs });
    return other === null ? null : `${leg} may just have been traded by quote ${other}`;
  };
  const sealOf = (quoteId: string, { reference, sell, buy }: GatedTrade, sides: Sides): string =>
    seal([quoteId, reference, sell, buy, sides.sellAmount, sides.buyAmount]);
  return {
    ceilingsUsed: async () => {
      const { ceilings } = await folder();
      return bindsDay(ceilings) ? tally.used(ceilings) : [];
    },
    quote: async (asked, send) => {
      const refusal = await whyNot(asked, await tradesFor(asked), sendOf(asked, null), null);
      if (refusal !== null) return refusal;
      const reply = await send();
      if (reply.kind !== 'DONE') return reply;
      const { value } = reply;
      return { ...reply, value: { ...value, seal: sealOf(value.id, asked, quotedSides(value)) } };
    },
    send: async (write, send, chunk) => {
      if (write.kind === 'trade' && write.quote.seal !== sealOf(write.quote.id, write, write.quote))
        return notAllowed(
          'NOT_ALLOWED',
          `quote ${write.quote.id} was not asked for with this worker’s API key, or was changed`,
        );
      const gated = gatedOf(write);
      const trades = await tradesFor(gated);
      const traded = write.kind === 'trade' ? whyTraded(write, trades) : null;
      if (traded !== null) return traded;
      const leaving = sendOf(gated, write.kind === 'trade' ? write.quote.id : null);
      const key = keyOf(leaving);
      const refusal = await whyNot(gated, trades, leaving, chunk ?? null);
      if (refusal !== null) {
        if (!sentHere.has(key, clock.wallMs()) && !(await sentEarlier(key))) return refusal;
        tally.again(leaving);
      }
      const sentAtMs = clock.wallMs();
      const taken = write.kind === 'trade' ? takeLeg(write) : null;
      const reply = taken === null ? await send() : notAllowed('NOT_ALLOWED', taken);
      if (write.kind === 'trade' && taken === null)
        takenLegs.told(
          firstReference(write.reference),
          write.quote.id,
          reply.kind === 'DONE' || leavesInDoubt(reply),
        );
      sentHere.note(key, cameOf(reply), { sentAtMs, atMs: clock.wallMs() });
      tally.told(leaving, reply);
      return reply;
    },
  };
}

function bindsDay(ceilings: CeilingsFile | null): ceilings is Ceilings {
  return ceilings !== null && ceilings !== 'UNBOUNDED';
}

const DAY_MS = 86_400_000;
/** No payment is sent so long after the date of its run. */
const WINDOW_MS = 8 * DAY_MS;

/** Since when the trades of a leg may have been made. In some zone the date of its run begins a day earlier. */
function madeSinceMs(leg: string, nowMs: number): number {
  const date = dateOfRunId(runOf(leg)?.id ?? '');
  return date === null ? nowMs - WINDOW_MS : Date.parse(date) - DAY_MS - LOOK_BACK_MS;
}

/** What is withdrawable, and what trades of the last days will still bring and take; null: it cannot be read. */
async function heldNow({ reader, facts, clock }: Options, unsettled: readonly Trade[]): Promise<Held | null> {
  const balances = await reader.balances();
  if (balances.kind !== 'DONE') return null;
  const underWay = onTheWay(unsettled, facts, clock.wallMs(), settledAtTheLatestMs);
  return { balances: balances.value, onTheWay: underWay, reserved: [] };
}

function cameOf(reply: Reply<unknown>): CameOfIt {
  switch (reply.kind) {
    case 'REFUSED':
    case 'UNKNOWN':
      return { result: reply.kind, code: reply.error?.code ?? null };
    case 'DONE':
    case 'NOT_SENT':
      return { result: reply.kind, code: null };
  }
}

function gatedOf(write: AskedWrite): GatedWrite {
  if (write.kind === 'withdrawal') return write;
  const { quote, ...rest } = write;
  return { ...rest, sellAmount: quote.sellAmount, buyAmount: quote.buyAmount };
}

function sendOf(write: GatedWrite, quoteId: string | null): Send {
  return { reference: write.reference, quoteId, spending: spendingOf(write) };
}

function spendingOf(write: GatedWrite): Spending {
  const policy = runOf(write.reference)?.policy ?? null;
  const amounts = movedBy(write);
  switch (write.kind) {
    case 'withdrawal':
      return { kind: 'paid', policy, account: write.account, amounts };
    case 'quote': {
      // A ceiling of the other side binds it as well, though the amount is not known yet.
      const currency = write[write.amount.side === 'sell' ? 'buy' : 'sell'];
      return { kind: 'traded', policy, account: null, amounts: [...amounts, { value: '0', currency }] };
    }
    case 'trade':
      return { kind: 'traded', policy, account: null, amounts };
  }
}

type GatedTrade = Pick<Quoted, 'reference' | 'sell' | 'buy'>;
type Sides = Pick<TradedQuote, 'sellAmount' | 'buyAmount'>;

function restOf(troubles: readonly string[]): string {
  return troubles.length === 0
    ? ''
    : `; of the folder, this cannot be used: ${troubles.slice(0, 3).join('; ')}`;
}

/** So long a write waits before the list of trades is read on. */
const READ_ON_MS = 20_000;

const TRADES_UNREAD: NotSent = {
  kind: 'NOT_SENT',
  reason:
    'the list of trades, by which the worker’s folder of policies (CAMBIST_POLICIES) judges it, is not read to its end yet',
  afterMs: READ_ON_MS,
  notAllowed: 'TRADES_UNREAD',
};

function notAllowed(code: NonNullable<NotSent['notAllowed']>, why: string): NotSent {
  const reason = `the worker’s folder of policies (CAMBIST_POLICIES) does not allow it: ${why}`;
  return { kind: 'NOT_SENT', reason, afterMs: ASK_AGAIN_MS, notAllowed: code };
}

function notApproved({ code, reason, afterMs }: NotApproved): NotSent {
  switch (code) {
    case 'NOT_ALLOWED':
      return notAllowed(code, reason);
    case 'AWAITING_APPROVAL':
      return { kind: 'NOT_SENT', reason, afterMs, notAllowed: code };
    case 'NOT_SENT':
      return { kind: 'NOT_SENT', reason, afterMs };
  }
}
