/**
 * The wire shapes of replies (interface heading "Resources and their fields") and how they become our records. Unknown fields
 * are tolerated, a missing or ill-formed one is an error. Fields that nothing may depend on are checked and dropped here: they
 * must never go further, some of them are personal.
 */
import * as z from 'zod';
import type {
  Balances,
  Exposure,
  LenientRecord,
  Page,
  Pair,
  Quote,
  Trade,
  Withdrawal,
} from '../domain/service/records.ts';
import { plainId, plainStatus } from './plain.ts';

/** A record read by its id: the whole record, or, since that shape is not shown, the least that must be there. */
export type Fetched<T> =
  | { readonly kind: 'WHOLE'; readonly record: T }
  | { readonly kind: 'PARTIAL'; readonly record: LenientRecord & { readonly status: string } };

const word = z.string().min(1).max(200);
/** Changed where it is no plain word, never refused: a record with an odd one must still be found. */
const status = word.transform(plainStatus);
const foreignId = word.transform(plainId);
const text = z.string().max(1000);
const reference = text.transform(plainId);
const currency = z.string().regex(/^[A-Z0-9]{1,15}$/);
const amount = z
  .string()
  .max(200)
  .regex(/^[0-9]+(\.[0-9]+)?$/);
const signedAmount = z
  .string()
  .max(200)
  .regex(/^-?[0-9]+(\.[0-9]+)?$/);
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$/)
  .refine((value) => !Number.isNaN(Date.parse(value)));
const settlementWindow = z.enum(['IMMEDIATE', 'T0', 'T1', 'T2']);
/** The interface says base58 *style*, so any letter or digit is read. */
const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[A-Za-z0-9]{1,22}$`));

const quote = z
  .object({
    object: z.literal('quote'),
    id: id('qte'),
    buyCurrency: currency,
    sellCurrency: currency,
    buyAmount: amount.nullish(),
    sellAmount: amount.nullish(),
    quoteAmount: amount,
    createdAt: time,
    expiresAt: time.nullable(),
    settlementWindow: settlementWindow.nullish(),
  })
  .refine(hasOneSide, { path: ['buyAmount'] })
  .transform((wire): Quote => ({
    id: wire.id,
    buyCurrency: wire.buyCurrency,
    sellCurrency: wire.sellCurrency,
    buyAmount: wire.buyAmount ?? null,
    sellAmount: wire.sellAmount ?? null,
    quoteAmount: wire.quoteAmount,
    createdAt: wire.createdAt,
    expiresAt: wire.expiresAt,
    settlementWindow: wire.settlementWindow ?? null,
  }));

const trade = z
  .object({
    object: z.literal('trade'),
    id: id('tde'),
    quoteId: foreignId,
    buyCurrency: currency,
    sellCurrency: currency,
    buyAmount: amount.nullish(),
    sellAmount: amount.nullish(),
    executedAmount: amount,
    status,
    clientReferenceId: reference.nullable(),
    createdAt: time,
    settlementWindow: settlementWindow.nullable(),
    settlementStartTime: time.nullable(),
  })
  .refine(hasOneSide, { path: ['buyAmount'] })
  .transform((wire): Trade => ({
    id: wire.id,
    quoteId: wire.quoteId,
    buyCurrency: wire.buyCurrency,
    sellCurrency: wire.sellCurrency,
    buyAmount: wire.buyAmount ?? null,
    sellAmount: wire.sellAmount ?? null,
    executedAmount: wire.executedAmount,
    status: wire.status,
    clientReferenceId: wire.clientReferenceId,
    createdAt: wire.createdAt,
    settlementWindow: wire.settlementWindow,
  }));

const withdrawalCore = z.object({
  object: z.literal('withdrawal'),
  id: id('wtd'),
  currency,
  withdrawalAmount: amount,
  status,
  withdrawalAccountId: foreignId.nullable(),
  createdAt: time,
  // "A common field", but not among those required in a list item.
  metadata: z.record(z.string(), z.unknown()).nullish(),
});
const withdrawalCommon = withdrawalCore.extend({
  assetType: z.enum(['CRYPTO', 'FIAT']),
  network: text.nullable(),
  actorId: text,
  actorEmail: text,
});
const createdWithdrawal = withdrawalCommon
  .extend({ withdrawalAccountId: foreignId, estimatedCompletionAt: time.nullable() })
  .transform(toWithdrawal);
const listedWithdrawal = withdrawalCommon
  .extend({ transactionHash: text.nullable() })
  .transform(toWithdrawal);
const fetchedWithdrawal = withdrawalCore.transform(toWithdrawal);

const lenient = z
  .object({ id: foreignId, status: z.unknown().optional(), currency: z.unknown().optional() })
  .transform((wire): LenientRecord => ({
    id: wire.id,
    status: status.safeParse(wire.status).data ?? null,
    currency: currency.safeParse(wire.currency).data ?? null,
  }));

/** What a by-id reply must have at least; `object`, where shown, must not name another type. */
const partial = (object: 'trade' | 'withdrawal') =>
  z
    .object({
      object: z.literal(object).optional(),
      id: foreignId,
      status,
      currency: z.unknown().optional(),
    })
    .transform((wire): Fetched<never> => ({
      kind: 'PARTIAL',
      record: {
        id: wire.id,
        status: wire.status,
        currency: currency.safeParse(wire.currency).data ?? null,
      },
    }));

const cursor = z
  .string()
  .min(1)
  .max(4096)
  // A lone surrogate cannot be sent back verbatim.
  .refine((value) => !/\p{Surrogate}/u.test(value))
  .nullable();

/** Heading "Pagination envelope": a cursor is null exactly when its boolean is false. */
const pagination = z
  .object({
    limit: z.int(),
    hasNext: z.boolean(),
    nextCursor: cursor,
    hasPrev: z.boolean(),
    prevCursor: cursor,
  })
  .refine((wire) => wire.hasNext === (wire.nextCursor !== null), { path: ['nextCursor'] })
  .refine((wire) => wire.hasPrev === (wire.prevCursor !== null), { path: ['prevCursor'] });

const single = <T>(resource: z.ZodType<T>): z.ZodType<T> =>
  z.object({ data: resource }).transform((wire) => wire.data);

const page = <T>(item: z.ZodType<T>): z.ZodType<Page<T>> =>
  z.object({ data: z.array(item), pagination }).transform((wire) => ({
    items: wire.data,
    nextCursor: wire.pagination.nextCursor,
    prevCursor: wire.pagination.prevCursor,
  }));

/** Heading "POST /fx/quotes". */
export const quoteReply = single(quote);
/** Heading "POST /fx/trades". */
export const tradeReply = single(trade);
/** Heading "POST /fx/withdrawals". */
export const withdrawalReply = single(createdWithdrawal);
/** Heading "GET /fx/trades". */
export const tradePage = page(trade);
/** Heading "GET /fx/withdrawals". */
export const withdrawalPage = page(listedWithdrawal);
/** Lists whose records are not shown (heading "Destination shapes for withdrawal accounts", last sentences). */
export const lenientPage = page(lenient);
/** GET /fx/trades/{id}: shape not shown. */
export const fetchedTradeReply = single(
  z.union([trade.transform((record): Fetched<Trade> => ({ kind: 'WHOLE', record })), partial('trade')]),
);
/** GET /fx/withdrawals/{id}: shape not shown. */
export const fetchedWithdrawalReply = single(
  z.union([
    fetchedWithdrawal.transform((record): Fetched<Withdrawal> => ({ kind: 'WHOLE', record })),
    partial('withdrawal'),
  ]),
);

/** Heading "Balances". */
export const balancesReply = single(
  z
    .object({
      aggregate: z.object({ currency: z.literal('USD'), withdrawableBalance: amount }),
      balances: z.array(
        z.object({ currency, withdrawableBalance: amount, totalBalance: signedAmount }).transform((row) => ({
          currency: row.currency,
          withdrawable: row.withdrawableBalance,
          total: row.totalBalance,
        })),
      ),
    })
    // Two rows of one currency would leave open which of them is true.
    .refine((wire) => new Set(wire.balances.map((row) => row.currency)).size === wire.balances.length, {
      path: ['balances'],
    })
    .transform((wire): Balances => ({
      aggregateUsd: wire.aggregate.withdrawableBalance,
      balances: wire.balances,
    })),
);

const exposureBreakdown = z.object({ amount: signedAmount });

/** Heading "Exposure summary". */
export const exposureReply = single(
  z
    .object({
      aggregate: z.object({
        currency: z.literal('USD'),
        limitAmount: signedAmount,
        usedAmount: signedAmount,
        availableAmount: signedAmount,
        usageBreakdown: z.object({ settlableNow: signedAmount, settlableLater: signedAmount }),
      }),
      currencyExposures: z.array(
        z.object({
          currency,
          exposureAmount: signedAmount,
          usageBreakdown: z.object({ settlableNow: exposureBreakdown, settlableLater: exposureBreakdown }),
        }),
      ),
    })
    .transform(({ aggregate }): Exposure => ({
      limitUsd: aggregate.limitAmount,
      usedUsd: aggregate.usedAmount,
      availableUsd: aggregate.availableAmount,
    })),
);

/** Heading "Currency pair". */
export const pairsReply = single(
  z
    .object({
      pairs: z.array(
        z.object({
          buyCurrency: currency,
          sellCurrency: currency,
          minTradeAmount: amount,
          maxTradeAmount: amount,
        }),
      ),
    })
    .transform((wire): readonly Pair[] => wire.pairs),
);

/** Heading "Envelope": all five fields; `type` and `retryStrategy` are open vocabularies, and details are picked later. */
export const errorEnvelope = z.object({
  error: z.object({
    code: word,
    type: word,
    message: z.string(),
    retryStrategy: word,
    details: z.record(z.string(), z.unknown()),
  }),
});

/** Exactly one of the two amounts is there: the side that was asked for. */
function hasOneSide(wire: {
  buyAmount?: string | null | undefined;
  sellAmount?: string | null | undefined;
}): boolean {
  return (wire.buyAmount ?? null) === null
    ? typeof wire.sellAmount === 'string'
    : (wire.sellAmount ?? null) === null;
}

function toWithdrawal(wire: z.output<typeof withdrawalCore>): Withdrawal {
  const tag = wire.metadata?.['cambist'];
  return {
    id: wire.id,
    currency: wire.currency,
    withdrawalAmount: wire.withdrawalAmount,
    status: wire.status,
    withdrawalAccountId: wire.withdrawalAccountId,
    createdAt: wire.createdAt,
    tag: typeof tag === 'string' ? plainId(tag) : null,
  };
}
