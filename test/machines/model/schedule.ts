/**
 * A schedule as data: how the service behaves, what the policy asks, which faults the wire has, and what happens to us
 * and when. Everything that a run of the model depends on is in it; the same schedule gives the same course.
 */

/** The three writes. */
export type WriteStep = 'quote' | 'trade' | 'withdrawal';
/** The reads that faults can hit. */
export type ReadStep = 'trades' | 'withdrawals' | 'balances' | 'by id';

/** What happens to one request of a write; `committed` says whether the service booked it all the same. */
export type WriteFault =
  | { readonly kind: 'none' }
  /** No byte leaves. */
  | { readonly kind: 'not sent' }
  | { readonly kind: 'lost before' }
  | { readonly kind: 'lost after' }
  /** Arrives `ms` later, if its token still lives then. */
  | { readonly kind: 'slow network'; readonly ms: number }
  /** Accepted, and booked `ms` later; what the key answers until then is `key`. */
  | {
      readonly kind: 'late';
      readonly ms: number;
      readonly reply: 'none' | '500';
      readonly resourceId: boolean;
      readonly key: 'in work' | 'free' | 'stored';
    }
  | {
      readonly kind: '5xx';
      readonly committed: boolean;
      readonly stored: boolean;
      readonly resourceId: boolean;
      readonly timeoutMs: number | null;
    }
  | { readonly kind: '429'; readonly retryAfterMs: number | null }
  | { readonly kind: '503' }
  /** An unknown code that carries the reserved strategy RETRY_SAME_KEY. */
  | { readonly kind: 'same key, please' }
  | { readonly kind: 'html'; readonly committed: boolean }
  /** A success that is not about what was asked. */
  | { readonly kind: 'odd success'; readonly committed: boolean }
  | { readonly kind: 'unknown code'; readonly status: 400 | 500; readonly committed: boolean }
  /** A clean refusal by the operation itself, or before it (credentials, limits of the interface). */
  | { readonly kind: 'refusal'; readonly code: string }
  | { readonly kind: 'nonce replay'; readonly committed: boolean }
  /** "You did this already", which nobody did before; `committed`: it is done now, all the same. Absent: it is not. */
  | { readonly kind: 'ours, probably'; readonly code: string; readonly committed?: boolean };

/** How one read goes wrong. */
export type ReadFault = 'none' | 'no answer' | 'html' | '500' | 'second page' | 'key refused';

/** What the interface leaves open about the service. */
export type ServiceSettings = {
  /** What is kept under a key besides successes. */
  readonly stores: 'nothing else' | 'refusals' | 'every error';
  readonly keysBelongTo: 'organisation' | 'api key';
  readonly metadataInLists: 'always' | 'never' | 'mixed';
  readonly refusesDuplicates: boolean;
  readonly deadQuoteSays: 'consumed' | 'expired';
  /** A record shows in lists only after this long; `lagById`: by its id too. */
  readonly lagMs: number;
  readonly lagById: boolean;
  /** Sends `Date`. */
  readonly dates: boolean;
  /** So many answers lose their `Idempotency-Replayed` on the way. */
  readonly headersLost: number;
  readonly quotesExpireAt: 'told' | 'null';
  /** Bought for one sold, quote by quote; the last one from then on. */
  readonly prices: readonly string[];
  readonly settlesAfterMs: number;
  readonly tradeWord: string;
  readonly paysAfterMs: number;
  readonly paymentWord: string;
  /** A paid withdrawal comes back after this long; null: it does not. */
  readonly returnsAfterMs: number | null;
  /** US dollars that are there at first. */
  readonly startsWith: string;
  /** Mexican pesos that are there at first. */
  readonly alsoMxn: string;
  /** Somebody else's records that look like ours, in the same lists. */
  readonly twins: boolean;
  readonly readMs: number;
};

export type PolicySettings = {
  readonly amount: 'sell' | 'buy' | 'sell all';
  /**
   * `twins`: two payments with the same account and amount; `both`: the proceeds and a fixed one; `rest`: a fixed one and
   * what it leaves; `batch`: more than fit one call; `nobody`: the run only converts.
   */
  readonly pays: 'proceeds' | 'fixed' | 'twins' | 'both' | 'rest' | 'batch' | 'nobody';
  readonly shortfall: 'skip' | 'hold';
  readonly validForSeconds: 3 | 30 | 60;
  readonly guard: boolean;
  readonly limit: boolean;
  readonly settle: 'funds' | 'status';
  readonly startsAt: 'before the date' | 'in the day' | 'before midnight' | 'before trades stop';
};

/** A batch of payments, which its chunks pay. */
export type BatchSettings = {
  /** Payments of each chunk. */
  readonly chunks: readonly number[];
  /** Of a second batch of the same policy, which has every other payment of the first; it begins at `secondAfterMs`. */
  readonly otherChunks: readonly number[];
  readonly parallel: number;
  /** Stops after so many refusals; null: never. */
  readonly stopAfter: number | null;
  readonly canary: number | null;
  /** Absent: 30 days. */
  readonly dedupeMs?: number;
  /** The terminal that submits it dies after so many chunks; null: it does not. */
  readonly cutAfter: number | null;
  /** Then somebody submits the same file again. */
  readonly submittedAgainAfterMs: number;
  /** One trade from US dollars buys the pesos that it lacks; else nothing is bought, and its money is there. */
  readonly isFunded: boolean;
};

/**
 * Balances are brought back to their targets, with the US dollar as the base: between 2,250 and 2,750 EUR, at least 400 GBP, at
 * most 1,000 MXN, and never less than 1,000 USD by a purchase.
 */
export type RebalanceSettings = {
  /** What is there at first. */
  readonly startsWith: Readonly<Record<'USD' | 'EUR' | 'GBP' | 'MXN', string>>;
  /** Of US dollars; null: no limit. */
  readonly perTrade: string | null;
  readonly perRun: string | null;
  readonly perDay: string | null;
  readonly maxTrades: number | null;
  /** What begins `secondAfterMs` later: another policy with the same targets, or another run of this one on the same day. */
  readonly other: 'policy' | 'run';
};

/** A moment: the `nth` time that an effect begins or has been answered, or the run's start or end; `plusMs` later. */
export type Moment = {
  readonly at: string;
  readonly nth: number;
  readonly plusMs: number;
};

/** What happens to us. */
export type Misfortune =
  /** Every attempt that is at work dies. */
  | { readonly kind: 'crash' }
  /** Every attempt that is at work stands still, then goes on. */
  | { readonly kind: 'freeze'; readonly ms: number }
  /** The attempts at work go on, but Temporal does not hear of them any more. */
  | { readonly kind: 'mute' }
  /** The next attempts reach their workers this much later. */
  | { readonly kind: 'slow dispatch'; readonly ms: number }
  /** No worker for so long. */
  | { readonly kind: 'away'; readonly ms: number }
  /** Somebody pauses the workflow in Temporal, and unpauses it after so long. */
  | { readonly kind: 'pause'; readonly ms: number }
  /** `back` points of history before the newest, of the newest Temporal run, the one before it, or the first. */
  | { readonly kind: 'reset'; readonly back: number; readonly run: 0 | 1 | 99 }
  /** Two resets at the same moment: the second wins. */
  | { readonly kind: 'two resets'; readonly back: number }
  | { readonly kind: 'terminate'; readonly againAfterMs: number; readonly plan: 'kept' | 'lost' }
  /**
   * Temporal loses all that it has of a run, and nothing else: its histories, its plan and what people said. Then somebody
   * starts it again.
   */
  | { readonly kind: 'vanish'; readonly againAfterMs: number }
  | { readonly kind: 'start'; readonly times: number }
  /** Temporal goes back to a state `back` points of history ago; it takes `takesMs`. */
  | { readonly kind: 'restore'; readonly back: number; readonly takesMs: number }
  | { readonly kind: 'cancel'; readonly how: 'button' | 'command' | 'both' }
  | { readonly kind: 'go on'; readonly promptMs: number }
  /** Another run takes the place of this one, whatever the command would have seen. */
  | { readonly kind: 'superseded' }
  /** `--go-on ITEM`: a person says that its cause is gone. */
  | { readonly kind: 'cause gone'; readonly item: 0 | 1 | 2; readonly promptMs: number }
  /** A person says that an item was executed: as its true record, as a twin of somebody else, or as another item's. */
  | {
      readonly kind: 'executed';
      readonly item: 0 | 1 | 2;
      readonly claim: 'true' | 'twin' | 'other' | 'none';
      /** Between the look of the command and the answer of its person. */
      readonly promptMs: number;
    }
  | { readonly kind: 'not executed'; readonly item: 0 | 1 | 2; readonly promptMs: number }
  /** A person says of somebody else's withdrawal, which carries no tag, that it is not the item's. */
  | { readonly kind: 'not this'; readonly item: 0 | 1 | 2 }
  | {
      readonly kind: 'pay again';
      readonly item: 0 | 1;
      readonly ahead: 0 | 1;
      readonly promptMs: number;
    }
  /** The service refuses whatever it is asked to do, for so long. */
  | { readonly kind: 'refuses'; readonly step: WriteStep; readonly code: string; readonly ms: number }
  /** A little money comes again and again. */
  | { readonly kind: 'deposits'; readonly each: string; readonly everyMs: number; readonly times: number }
  | { readonly kind: 'Temporal’s clock'; readonly byMs: number }
  | { readonly kind: 'our clock'; readonly byMs: number }
  | { readonly kind: 'their clock'; readonly byMs: number }
  | {
      readonly kind: 'credentials';
      readonly use: 'another key' | 'a third key' | 'another organisation' | 'the plan’s';
    }
  | { readonly kind: 'lists unreadable'; readonly ms: number }
  /** For so long each page of a list, and each other answer to a read, takes `takesMs`. */
  | { readonly kind: 'slow reads'; readonly takesMs: number; readonly ms: number }
  /** What keeps people's instructions cannot be read or written for so long. */
  | { readonly kind: 'instructions unreadable'; readonly ms: number }
  | { readonly kind: 'service away'; readonly ms: number }
  /** People halt everything (null, null), a policy, a currency, or a policy in a currency, and resume it after `forMs`. */
  | {
      readonly kind: 'halt';
      readonly policy: 'p' | 'q' | null;
      readonly currency: 'USD' | 'MXN' | 'EUR' | null;
      readonly forMs: number;
    }
  /** Somebody deletes the workflow that keeps the halts, and perhaps starts it again empty. */
  | { readonly kind: 'halt record lost'; readonly isBegunAnew: boolean }
  /** Somebody ends or deletes the workflow that says whose turn it is. */
  | { readonly kind: 'turn lost' }
  /** What people have halted cannot be read for so long. */
  | { readonly kind: 'halts unreadable'; readonly ms: number }
  /** For so long each reading of the halts takes `takesMs`. */
  | { readonly kind: 'slow readings'; readonly takesMs: number; readonly ms: number }
  | { readonly kind: 'money'; readonly currency: 'USD' | 'MXN' | 'EUR'; readonly change: 'comes' | 'goes' }
  /** Somebody completes every pending activity of a workflow in its place, each with an answer of the right shape, or fails it. */
  | {
      readonly kind: 'answered';
      /** Whose record the answer names; `undone`: it says that nothing was traded or paid; `failed`: it says nothing. */
      readonly claim: 'another’s' | 'nobody’s' | 'undone' | 'failed';
    }
  /**
   * A stranger’s worker lets the workflow go on in a new history. It hands on that all was done, as records of nobody, that nothing was
   * done (`undone`), or `nothing` at all.
   */
  | { readonly kind: 'handed on'; readonly what: 'nobody’s' | 'undone' | 'nothing' }
  /** The service has another word for the newest record of an item. */
  | { readonly kind: 'word'; readonly item: 0 | 1 | 2; readonly word: string }
  /** The service says from now on that a withdrawal account is usable or not, and pays it accordingly. */
  | { readonly kind: 'account'; readonly account: string; readonly status: 'VERIFIED' | 'UNVERIFIED' };

/** `of`: what it happens to, where there are several workflows of ours: each run, and of a batch its chunks after it. */
export type Event = { readonly when: Moment; readonly what: Misfortune; readonly of: number };

/** What an operator does when the causes are mended and something is undone: any event of any Temporal run may do. */
export type Remedy =
  { readonly kind: 'reset'; readonly back: number; readonly run: 0 | 1 | 99 } | { readonly kind: 'go on' };

export type Schedule = {
  readonly service: ServiceSettings;
  readonly policy: PolicySettings;
  /** What is paid instead of what the policy pays; null: no batch. */
  readonly batch: BatchSettings | null;
  /** What is traded instead of what the policy converts; null: it converts, or pays a batch. */
  readonly rebalance: RebalanceSettings | null;
  /** What happens to the first, second … request of each write; after the last one nothing more does. */
  readonly faults: { readonly [Step in WriteStep]: readonly WriteFault[] };
  readonly reads: { readonly [Step in ReadStep]: readonly ReadFault[] };
  readonly events: readonly Event[];
  /** Another policy pays the same account the same amount on the same day; it starts so much later. Null: none does. */
  readonly secondAfterMs: number | null;
  readonly remedy: Remedy;
  /** The course of events that chance seldom brings; null: chance. */
  readonly story: string | null;
  /** Points of history after which a run goes on in a new one. */
  readonly longHistory: number;
  /** Faults stop this long after the start. */
  readonly healsAfterMs: number;
  /** The operator's file says since when only this API key has written, as long as that is so. */
  readonly isKeyKnown: boolean;
};

/** Name of a fault in the table of what was hit. */
export function nameOfFault(fault: WriteFault): string {
  if (fault.kind === 'late') {
    const reply = fault.reply === 'none' ? 'no reply' : `500 ${fault.resourceId ? 'with id' : 'without id'}`;
    return `late, key ${fault.key}, ${reply}`;
  }
  if ('code' in fault) return `${fault.kind}: ${fault.code}`;
  if (!('committed' in fault)) return fault.kind;
  const committed = fault.committed ? 'committed' : 'not committed';
  if (fault.kind === 'unknown code')
    return `unknown code ${fault.status === 400 ? '4xx' : '5xx'}, ${committed}`;
  if (fault.kind !== '5xx') return `${fault.kind}, ${committed}`;
  return `5xx ${committed}, ${fault.stored ? 'stored' : 'not stored'}, ${fault.resourceId ? 'with id' : 'without id'}`;
}

/** A day on which nothing goes wrong, and a service that answers as the interface says. */
export const PLAIN_DAY: Schedule = {
  service: {
    stores: 'refusals',
    keysBelongTo: 'organisation',
    metadataInLists: 'always',
    refusesDuplicates: false,
    deadQuoteSays: 'consumed',
    lagMs: 0,
    lagById: false,
    dates: true,
    headersLost: 0,
    quotesExpireAt: 'told',
    prices: ['17.25'],
    settlesAfterMs: 0,
    tradeWord: 'SETTLED',
    paysAfterMs: 1_000,
    paymentWord: 'COMPLETED',
    returnsAfterMs: null,
    startsWith: '5000',
    alsoMxn: '0',
    twins: false,
    readMs: 40,
  },
  policy: {
    amount: 'sell',
    pays: 'proceeds',
    shortfall: 'skip',
    validForSeconds: 30,
    guard: false,
    limit: false,
    settle: 'funds',
    startsAt: 'in the day',
  },
  batch: null,
  rebalance: null,
  faults: { quote: [], trade: [], withdrawal: [] },
  reads: { trades: [], withdrawals: [], balances: [], 'by id': [] },
  events: [],
  secondAfterMs: null,
  remedy: { kind: 'go on' },
  story: null,
  longHistory: 4_000,
  healsAfterMs: 1_200_000,
  isKeyKnown: false,
};

/** A rebalancing of two legs: a sale, and a purchase on its proceeds. */
export const TWO_LEGS: RebalanceSettings = {
  startsWith: { USD: '1200', EUR: '2100', GBP: '400', MXN: '60000' },
  perTrade: null,
  perRun: null,
  perDay: null,
  maxTrades: null,
  other: 'policy',
};
