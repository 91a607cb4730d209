/**
 * The signed client of the FX and payments service v3, which activities call. Every method is one signed request and
 * one `Reply`. A request may wait for its turn (`rate-limiter.ts`), and is signed after that. The client must never
 * retry, follow a redirect or reuse a token. No secret may be reachable from it or its replies.
 */
import { randomUUID } from 'node:crypto';
import type * as z from 'zod';
import type {
  Balances,
  Exposure,
  LenientRecord,
  Mode,
  Page,
  Pair,
  Quote,
  Trade,
  Withdrawal,
} from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { ServiceAddress } from './address.ts';
import { readAnswer } from './answer.ts';
import {
  checkId,
  quoteBody,
  type QuoteRequest,
  tradeBody,
  type TradeRequest,
  withdrawalBody,
  type WithdrawalRequest,
} from './bodies.ts';
import { canonicalPath, canonicalQuery, type QueryParameter } from './canonical.ts';
import { ServiceInputError } from './errors.ts';
import { checkIdempotencyKey } from './idempotency-key.ts';
import { type ApiKey, signingKeys } from './key.ts';
import type { PageRequest } from './pages.ts';
import { RateLimiter, type PaceClock } from './rate-limiter.ts';
import {
  balancesReply,
  exposureReply,
  type Fetched,
  fetchedTradeReply,
  fetchedWithdrawalReply,
  lenientPage,
  pairsReply,
  quoteReply,
  tradePage,
  tradeReply,
  withdrawalPage,
  withdrawalReply,
} from './schemas.ts';
import { type Credentials, signRequest } from './signature.ts';
import { TOKEN_LIFE_SECONDS } from './token.ts';
import { createTransport } from './transport.ts';

/** How to reach the service, and as whom. */
export type ServiceClientConfig = {
  readonly baseUrl: ServiceAddress;
  readonly key: ApiKey;
  readonly mode: Mode;
  /** The service operator's name in lower case; not empty. */
  readonly issuer: string;
  /**
   * Limit for one request from signing to the last byte of its reply, 20 s when absent; below the token's 45 s. Before
   * that, the request waits for its turn, at most as long again.
   */
  readonly timeoutMs?: number;
  /** How many connections and requests there may be at a time, 64 when absent. Further requests wait for their turn. */
  readonly connections?: number;
  /** True when an error with this code proves that the send which it answers executed nothing. */
  readonly isDefinitive: (code: string) => boolean;
  /** Wall clock, epoch milliseconds; the machine's when absent. */
  readonly clock?: { now(): number };
  /** The clock by which requests wait for their turn; the machine's when absent. */
  readonly paceClock?: PaceClock;
  /** Called with each request once it has come to its end. Must not throw. */
  readonly onRequest?: (request: Requested) => void;
};

/** One request, and what came of it. The reply holds amounts and ids: whoever counts requests shows none of these. */
export type Requested = {
  readonly operation: Operation;
  readonly reply: Reply<unknown>;
  /** `X-Request-Id`, of this attempt alone. */
  readonly requestId: string;
  /** Null: of a read. */
  readonly idempotencyKey: string | null;
  /** How long it waited for its turn, and how long it took from then on, in milliseconds. */
  readonly waitedMs: number;
  readonly tookMs: number;
};

/** A write's idempotency key, `^[a-zA-Z0-9_-]{1,255}$`: the same for every resend of the same body. */
export type Keyed = { readonly idempotencyKey: string };

/** What a write checks after it has waited for its turn. */
export type Leaving = {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** A payment of a batch lets what else waits go before it. Default: false. */
  readonly isOfBatch?: boolean;
  /** After the wait, just before the request is signed: null, or why it is not to be sent any more. */
  readonly whyNot: () => Promise<string | null>;
  /** Just before its first byte leaves: null, or why it must not leave. */
  readonly whyNotNow: () => string | null;
  /**
   * How long that answer holds, in milliseconds. What has not left by then (a connection may take a while) is not sent.
   */
  readonly withinMs: number;
};

/**
 * One method per operation. All reject only with `ServiceInputError`, for a mistake of the caller, before anything is signed, or
 * with what `whyNot` rejects with; whatever happens afterwards is a `Reply`. A request whose turn does not come in time is
 * `NOT_SENT`.
 */
export type ServiceClient = {
  /** Organisation id of the API key. */
  readonly organisation: string;
  /** Name of the API key. */
  readonly keyName: string;
  readonly mode: Mode;

  /** Heading "GET /fx/balances". */
  readonly balances: () => Promise<Reply<Balances>>;
  /** Heading "GET /fx/exposures"; code `EXPOSURE_NOT_ENABLED`: no credit line is known. */
  readonly exposure: () => Promise<Reply<Exposure>>;
  /** Heading "GET /fx/pairs". */
  readonly pairs: () => Promise<Reply<readonly Pair[]>>;

  /** Heading "POST /fx/quotes". Moves no money; read scope is enough. */
  readonly createQuote: (request: QuoteRequest & Keyed, leaving?: Leaving) => Promise<Reply<Quote>>;
  /** Heading "POST /fx/trades". */
  readonly createTrade: (request: TradeRequest & Keyed, leaving?: Leaving) => Promise<Reply<Trade>>;
  /** Heading "POST /fx/withdrawals". */
  readonly createWithdrawal: (
    request: WithdrawalRequest & Keyed,
    leaving?: Leaving,
  ) => Promise<Reply<Withdrawal>>;

  /** GET /fx/trades/{id}; its shape is not shown. @param id `tde_…` */
  readonly trade: (id: string) => Promise<Reply<Fetched<Trade>>>;
  /** GET /fx/withdrawals/{id}; its shape is not shown. @param id `wtd_…` */
  readonly withdrawal: (id: string) => Promise<Reply<Fetched<Withdrawal>>>;

  /** Heading "GET /fx/trades". */
  readonly listTrades: (page?: PageRequest) => Promise<Reply<Page<Trade>>>;
  /** Heading "GET /fx/withdrawals". */
  readonly listWithdrawals: (page?: PageRequest) => Promise<Reply<Page<Withdrawal>>>;
  readonly listDeposits: (page?: PageRequest) => Promise<Reply<Page<LenientRecord>>>;
  readonly listWithdrawalAccounts: (page?: PageRequest) => Promise<Reply<Page<LenientRecord>>>;
  readonly listAccounts: (page?: PageRequest) => Promise<Reply<Page<LenientRecord>>>;
  readonly listPayoutAddresses: (page?: PageRequest) => Promise<Reply<Page<LenientRecord>>>;
  readonly listPayouts: (page?: PageRequest) => Promise<Reply<Page<LenientRecord>>>;

  /** Waits for requests under way; later ones are `NOT_SENT`. */
  readonly close: () => Promise<void>;
};

/** The operations of the service, by the names of the methods that call them. */
export type Operation = Exclude<keyof ServiceClient, 'organisation' | 'keyName' | 'mode' | 'close'>;

type Write = 'createQuote' | 'createTrade' | 'createWithdrawal';

/** What a key with read scope is enough for; a quote alone would be too. */
export type ServiceReader = Omit<ServiceClient, Write | 'close'>;

/** What sends, and in whose name. */
export type ServiceWriter = Pick<ServiceClient, Write | 'mode' | 'organisation' | 'keyName'>;

/**
 * @throws ServiceInputError `BAD_TIME_LIMIT` when a token could outlive its request's limit, `BAD_KEY` for a key that was not
 * read by `readKeyFile` or `parseKey` or an empty issuer
 */
export function createServiceClient(config: ServiceClientConfig): ServiceClient {
  const { baseUrl, key, mode, issuer, isDefinitive } = config;
  const timeoutMs = config.timeoutMs ?? 20_000;
  const clock = config.clock ?? { now: () => Date.now() };
  if (!(timeoutMs >= 1 && timeoutMs < TOKEN_LIFE_SECONDS * 1000))
    throw new ServiceInputError(
      'BAD_TIME_LIMIT',
      `a time limit of ${timeoutMs} ms is not between 1 ms and the ${TOKEN_LIFE_SECONDS} s that a token lives.`,
    );
  if (issuer === '')
    throw new ServiceInputError('BAD_KEY', 'the issuer is empty; name the service operator.');
  signingKeys(key);
  const connections = config.connections ?? 64;
  const transport = createTransport({ address: baseUrl, connections, connectTimeoutMs: timeoutMs, clock });
  const limiter = new RateLimiter({
    sideBySide: connections,
    waitAtMostMs: timeoutMs,
    ...(config.paceClock !== undefined && { clock: config.paceClock }),
  });

  /** One attempt to send, in its turn, unless it is not wanted any more by then. */
  async function call<T>(request: Call<T>): Promise<Reply<T>> {
    const { operation, leaving, idempotencyKey = null } = request;
    const requestId = randomUUID();
    const askedAtMs = performance.now();
    let turnAtMs: number | null = null;
    const reply = await limiter.run<T>(async () => {
      turnAtMs = performance.now();
      const reason = leaving === undefined ? null : await leaving.whyNot();
      return reason === null ? attempt(request, requestId) : { kind: 'NOT_SENT', reason };
    }, leaving);
    const endedAtMs = performance.now();
    const startedAtMs = turnAtMs ?? endedAtMs;
    config.onRequest?.({
      operation,
      reply,
      requestId,
      idempotencyKey,
      waitedMs: startedAtMs - askedAtMs,
      tookMs: endedAtMs - startedAtMs,
    });
    return reply;
  }

  /** One attempt to send: signed once, sent at most once, read once. */
  async function attempt<T>(request: Call<T>, requestId: string): Promise<Reply<T>> {
    const nowMs = clock.now();
    // The time counts from before signing. So a machine that sleeps at any point after this sends nothing when it
    // wakes.
    const monotonicMs = performance.now();
    const leavesWithinMs = Math.min(request.leaving?.withinMs ?? timeoutMs, timeoutMs);
    const method = request.body === undefined ? 'GET' : 'POST';
    const path = canonicalPath(`${baseUrl.basePath}${request.path}`);
    const query = canonicalQuery(request.query ?? []);
    const body = request.body ?? null;
    let credentials: Credentials;
    try {
      credentials = await signRequest({ key, issuer, method, path, query, body, nowMs });
    } catch {
      // The error is not shown, because it comes from code that holds the key.
      return { kind: 'NOT_SENT', reason: 'the request could not be signed' };
    }
    const { token, signature } = credentials;
    const result = await transport.send({
      method,
      target: query === '' ? path : `${path}?${query}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'cambist',
        authorization: `Bearer ${token}`,
        'x-request-signature': signature,
        'x-app-mode': mode,
        'x-request-id': requestId,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
      },
      body,
      leavesUntil: { monotonicMs: monotonicMs + leavesWithinMs, wallMs: nowMs + leavesWithinMs },
      endsAtMs: monotonicMs + timeoutMs,
      whyNotNow: request.leaving?.whyNotNow ?? (() => null),
    });
    return readAnswer(result, {
      schema: request.schema,
      requestId,
      secrets: [token, ...token.split('.'), signature],
      isDefinitive,
      nowMs: clock.now(),
    });
  }

  /** A record by its id; a reply with another id is not the record that was asked for. */
  async function fetchById<T extends { readonly id: string }>(
    operation: Operation,
    path: string,
    id: string,
    schema: z.ZodType<Fetched<T>>,
  ): Promise<Reply<Fetched<T>>> {
    const reply = await call({ operation, path: `${path}/${id}`, schema });
    if (reply.kind !== 'DONE' || reply.value.record.id === id) return reply;
    return {
      kind: 'UNKNOWN',
      reason: 'the reply is a record with another id',
      error: null,
      facts: reply.facts,
    };
  }

  const list =
    <T>(operation: Operation, path: string, schema: z.ZodType<Page<T>>) =>
    async (page: PageRequest = {}): Promise<Reply<Page<T>>> =>
      call({ operation, path, query: pageQuery(page), schema });

  return Object.freeze<ServiceClient>({
    organisation: key.organisation,
    keyName: key.name,
    mode,
    balances: () => call({ operation: 'balances', path: '/fx/balances', schema: balancesReply }),
    exposure: () => call({ operation: 'exposure', path: '/fx/exposures', schema: exposureReply }),
    pairs: () => call({ operation: 'pairs', path: '/fx/pairs', schema: pairsReply }),
    createQuote: async (request, leaving) =>
      call({
        operation: 'createQuote',
        path: '/fx/quotes',
        body: quoteBody(request),
        idempotencyKey: checkIdempotencyKey(request.idempotencyKey),
        schema: quoteReply,
        leaving,
      }),
    createTrade: async (request, leaving) =>
      call({
        operation: 'createTrade',
        path: '/fx/trades',
        body: tradeBody(request),
        idempotencyKey: checkIdempotencyKey(request.idempotencyKey),
        schema: tradeReply,
        leaving,
      }),
    createWithdrawal: async (request, leaving) =>
      call({
        operation: 'createWithdrawal',
        path: '/fx/withdrawals',
        body: withdrawalBody(request),
        idempotencyKey: checkIdempotencyKey(request.idempotencyKey),
        schema: withdrawalReply,
        leaving,
      }),
    trade: async (id) =>
      fetchById(
        'trade',
        '/fx/trades',
        checkId(id, /^tde_[A-Za-z0-9]{1,22}$/, 'a trade id like "tde_…"'),
        fetchedTradeReply,
      ),
    withdrawal: async (id) =>
      fetchById(
        'withdrawal',
        '/fx/withdrawals',
        checkId(id, /^wtd_[A-Za-z0-9]{1,22}$/, 'a withdrawal id like "wtd_…"'),
        fetchedWithdrawalReply,
      ),
    listTrades: list('listTrades', '/fx/trades', tradePage),
    listWithdrawals: list('listWithdrawals', '/fx/withdrawals', withdrawalPage),
    listDeposits: list('listDeposits', '/fx/deposits', lenientPage),
    listWithdrawalAccounts: list('listWithdrawalAccounts', '/fx/withdrawal-accounts', lenientPage),
    listAccounts: list('listAccounts', '/common/accounts', lenientPage),
    listPayoutAddresses: list('listPayoutAddresses', '/payments/payout-addresses', lenientPage),
    listPayouts: list('listPayouts', '/payments/payouts', lenientPage),
    close: () => transport.close(),
  });
}

/** One operation; with a body it is a POST. */
type Call<T> = {
  readonly operation: Operation;
  readonly path: string;
  readonly query?: readonly QueryParameter[];
  readonly body?: Uint8Array;
  readonly idempotencyKey?: string;
  readonly schema: z.ZodType<T>;
  readonly leaving?: Leaving | undefined;
};

/** @throws ServiceInputError `BAD_PAGE` */
function pageQuery({ limit, startingAfter, endingBefore }: PageRequest): readonly QueryParameter[] {
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= 100))
    throw new ServiceInputError('BAD_PAGE', `a page of ${limit} records is not between 1 and 100.`);
  if (startingAfter !== undefined && endingBefore !== undefined)
    throw new ServiceInputError('BAD_PAGE', 'a page has one cursor: startingAfter or endingBefore.');
  const cursor = startingAfter ?? endingBefore;
  if (cursor === '' || /\p{Surrogate}/u.test(cursor ?? ''))
    throw new ServiceInputError(
      'BAD_PAGE',
      'a cursor is empty or not well-formed text; pass it on as it came.',
    );
  const query: QueryParameter[] = [];
  if (limit !== undefined) query.push(['limit', String(limit)]);
  if (startingAfter !== undefined) query.push(['startingAfter', startingAfter]);
  if (endingBefore !== undefined) query.push(['endingBefore', endingBefore]);
  return query;
}
