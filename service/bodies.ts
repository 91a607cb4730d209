/**
 * The request bodies, one pure function per write (interface headings "POST /fx/quotes", "POST /fx/trades", "POST
 * /fx/withdrawals"). A resend must be the same bytes, or the service answers with a mismatch: the order of fields here is
 * body layout 1, which plans name, and must never change; another order is another layout.
 */
import type { SettlementWindow } from '../domain/service/records.ts';
import { ServiceInputError } from './errors.ts';

/** What a quote is asked for. `amount.value` is a decimal string in the currency of its side. */
export type QuoteRequest = {
  readonly buyCurrency: string;
  readonly sellCurrency: string;
  readonly amount: { readonly side: 'buy' | 'sell'; readonly value: string };
  readonly validForSeconds: 3 | 15 | 30 | 45 | 60;
  readonly settlement: SettlementWindow;
};

/** A trade against a quote. `reference` becomes `clientReferenceId`. */
export type TradeRequest = { readonly quoteId: string; readonly reference: string };

/** A withdrawal to a registered account. `tag` becomes `metadata.cambist`. */
export type WithdrawalRequest = {
  readonly account: string;
  readonly currency: string;
  readonly amount: string;
  readonly tag: string;
};

/** Heading "POST /fx/quotes". @throws ServiceInputError when a field has a form that the service refuses */
export function quoteBody(request: QuoteRequest): Buffer {
  const { buyCurrency, sellCurrency, amount } = request;
  checkCurrency(buyCurrency);
  checkCurrency(sellCurrency);
  if (buyCurrency === sellCurrency)
    throw new ServiceInputError(
      'BAD_CURRENCY',
      `"${buyCurrency}" is both bought and sold; a quote has two currencies.`,
    );
  checkAmount(amount.value, 18);
  return bytes({
    buyCurrency,
    sellCurrency,
    ...(amount.side === 'buy' ? { buyAmount: amount.value } : { sellAmount: amount.value }),
    quoteForSeconds: request.validForSeconds,
    settlementWindow: request.settlement,
  });
}

/** Heading "POST /fx/trades". @throws ServiceInputError */
export function tradeBody(request: TradeRequest): Buffer {
  checkId(request.quoteId, /^qte_[A-Za-z0-9]{1,22}$/, 'a quote id like "qte_…"');
  checkReference(request.reference);
  return bytes({ quoteId: request.quoteId, clientReferenceId: request.reference });
}

/** Heading "POST /fx/withdrawals". @throws ServiceInputError */
export function withdrawalBody(request: WithdrawalRequest): Buffer {
  checkCurrency(request.currency);
  checkAmount(request.amount, 8);
  checkId(
    request.account,
    /^(?:[a-z]{3,5}_[A-Za-z0-9]{1,22}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/,
    'a withdrawal account id (prefix and identifier, or a lower-case UUID)',
  );
  checkReference(request.tag);
  return bytes({
    currency: request.currency,
    withdrawalAmount: request.amount,
    withdrawalAccountId: request.account,
    metadata: { cambist: request.tag },
  });
}

/** Returns `id` when it has `pattern`, so that it can stand in a path. @throws ServiceInputError `BAD_ID` */
export function checkId(id: string, pattern: RegExp, expected: string): string {
  if (pattern.test(id)) return id;
  throw new ServiceInputError('BAD_ID', `"${id.slice(0, 80)}" is not ${expected}.`);
}

function checkCurrency(currency: string): void {
  if (/^[A-Z0-9]{2,15}$/.test(currency)) return;
  throw new ServiceInputError(
    'BAD_CURRENCY',
    `"${currency.slice(0, 40)}" is not a currency: 2 to 15 of A-Z and 0-9.`,
  );
}

/**
 * Positive, plain notation, no needless leading zero. The stated patterns for withdrawals differ (any, 16 or 8 decimals), so
 * the narrowest counts there.
 */
function checkAmount(amount: string, maxDecimals: number): void {
  const decimals = /^(?=.*[1-9])(?:0|[1-9][0-9]{0,39})(?:\.([0-9]+))?$/.exec(amount);
  if (decimals !== null && (decimals[1] ?? '').length <= maxDecimals) return;
  throw new ServiceInputError(
    'BAD_AMOUNT',
    `"${amount.slice(0, 80)}" is not a positive amount like "1250.00" with at most ${maxDecimals} decimals.`,
  );
}

/** Printable ASCII without spaces: nothing that trimming, case folding or another encoding could change on the way. */
function checkReference(reference: string): void {
  if (/^[\x21-\x7e]{1,255}$/.test(reference)) return;
  throw new ServiceInputError(
    'BAD_REFERENCE',
    `"${reference.slice(0, 80)}" is not a reference: 1 to 255 printable ASCII characters without spaces.`,
  );
}

function bytes(body: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(JSON.stringify(body), 'utf8');
}
