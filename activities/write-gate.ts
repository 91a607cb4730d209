/**
 * The write gate of a worker with a folder of policies: before each quote, trade and withdrawal it asks what the folder says at
 * that time (`domain/writes/write-gate.ts`). What the folder does not allow is not sent. It is asked about again each minute.
 */
import { decimalsOf } from '../domain/currencies.ts';
import type { Mode, Quote } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { whyNotAllowed, type GatedWrite, type PoliciesRead } from '../domain/writes/write-gate.ts';
import type { TradedQuote } from '../domain/writes/step.ts';
import { quotedSides } from '../domain/writes/trade-price.ts';
import { dateOfRunId } from '../calendar/business-date.ts';

type NotSent = Extract<Reply<never>, { kind: 'NOT_SENT' }>;
type Quoted = Extract<GatedWrite, { kind: 'quote' }>;

/** A trade is asked about with the quote that it takes. */
export type AskedWrite =
  | Exclude<GatedWrite, { kind: 'trade' }>
  | {
      readonly kind: 'trade';
      readonly reference: string;
      readonly sell: string;
      readonly buy: string;
      readonly quote: TradedQuote;
    };

export type WriteGate = {
  /** Null: the write may leave. */
  readonly whyNot: (write: AskedWrite) => Promise<NotSent | null>;
  /** The quote, with the seal that a trade of it needs. */
  readonly sealed: (quote: Quote, asked: Quoted) => Quote;
};

/** The gate of a worker without a folder of policies. */
export const OPEN_GATE: WriteGate = { whyNot: async () => null, sealed: (quote) => quote };

/** So long a reading of the folder counts. */
const READ_AGAIN_MS = 1_000;
/** So long a write waits that is not allowed. */
const ASK_AGAIN_MS = 60_000;

type Options = {
  /** Reads the folder (`config/policies-folder.ts`). */
  readonly read: () => Promise<PoliciesRead>;
  readonly mode: Mode;
  readonly decimals: Readonly<Record<string, number>>;
  /** Milliseconds. */
  readonly clock: { readonly wallMs: () => number; readonly monotonicMs: () => number };
  /** Seals the facts of a quote with the API key of the worker, so that Temporal cannot change or invent them. */
  readonly seal: (facts: readonly string[]) => string;
};

export function writeGate({ read, mode, decimals, clock, seal }: Options): WriteGate {
  let last: { readonly atMs: number; readonly folder: Promise<PoliciesRead> } | null = null;
  const folder = (): Promise<PoliciesRead> => {
    const nowMs = clock.monotonicMs();
    if (last === null || nowMs - last.atMs > READ_AGAIN_MS) last = { atMs: nowMs, folder: read() };
    return last.folder;
  };
  const whyNot = async (write: GatedWrite): Promise<NotSent | null> => {
    const { policies, troubles } = await folder();
    const gate = {
      policies,
      mode,
      nowMs: clock.wallMs(),
      decimalsOf: (currency: string) => decimalsOf(currency, decimals),
      dateOf: dateOfRunId,
    };
    const why = whyNotAllowed(gate, write);
    return why === null ? null : notAllowed(why, troubles);
  };
  const sealOf = (quoteId: string, { reference, sell, buy }: GatedTrade, sides: Sides): string =>
    seal([quoteId, reference, sell, buy, sides.sellAmount, sides.buyAmount]);
  return {
    sealed: (quote, asked) => ({ ...quote, seal: sealOf(quote.id, asked, quotedSides(quote)) }),
    whyNot: async (write) => {
      if (write.kind !== 'trade') return whyNot(write);
      const { quote, ...rest } = write;
      const { sellAmount, buyAmount } = quote;
      if (quote.seal !== sealOf(quote.id, write, quote))
        return notAllowed(
          `quote ${quote.id} was not asked for with this worker’s API key, or was changed`,
          [],
        );
      return whyNot({ ...rest, sellAmount, buyAmount });
    },
  };
}

type GatedTrade = Pick<Quoted, 'reference' | 'sell' | 'buy'>;
type Sides = Pick<TradedQuote, 'sellAmount' | 'buyAmount'>;

function notAllowed(why: string, troubles: readonly string[]): NotSent {
  const more =
    troubles.length === 0 ? '' : `; of the folder, this cannot be used: ${troubles.slice(0, 3).join('; ')}`;
  const reason = `the worker’s folder of policies (CAMBIST_POLICIES) does not allow it: ${why}${more}`;
  return { kind: 'NOT_SENT', reason, afterMs: ASK_AGAIN_MS, isNotAllowed: true };
}
