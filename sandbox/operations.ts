// The operations of the service as data: method, path, the access each needs, and how long its keys are kept.

export type Operation =
  | 'listBalances'
  | 'getExposures'
  | 'listPairs'
  | 'createQuote'
  | 'listTrades'
  | 'createTrade'
  | 'getTrade'
  | 'createWithdrawal'
  | 'listWithdrawals'
  | 'getWithdrawal'
  | 'listDeposits'
  | 'listWithdrawalAccounts'
  | 'listAccounts'
  | 'listPayoutAddresses'
  | 'listPayouts';

export type WriteOperation = 'createQuote' | 'createTrade' | 'createWithdrawal';

export interface Route {
  readonly operation: Operation;
  readonly method: 'GET' | 'POST';
  /** Below the base path; `{id}` stands for one segment. */
  readonly path: string;
  readonly access: 'read' | 'write';
}

export const basePath = '/v3';

export const routes: readonly Route[] = [
  { operation: 'listBalances', method: 'GET', path: '/fx/balances', access: 'read' },
  { operation: 'getExposures', method: 'GET', path: '/fx/exposures', access: 'read' },
  { operation: 'listPairs', method: 'GET', path: '/fx/pairs', access: 'read' },
  { operation: 'createQuote', method: 'POST', path: '/fx/quotes', access: 'read' },
  { operation: 'listTrades', method: 'GET', path: '/fx/trades', access: 'read' },
  { operation: 'createTrade', method: 'POST', path: '/fx/trades', access: 'write' },
  { operation: 'getTrade', method: 'GET', path: '/fx/trades/{id}', access: 'read' },
  { operation: 'createWithdrawal', method: 'POST', path: '/fx/withdrawals', access: 'write' },
  { operation: 'listWithdrawals', method: 'GET', path: '/fx/withdrawals', access: 'read' },
  { operation: 'getWithdrawal', method: 'GET', path: '/fx/withdrawals/{id}', access: 'read' },
  { operation: 'listDeposits', method: 'GET', path: '/fx/deposits', access: 'read' },
  { operation: 'listWithdrawalAccounts', method: 'GET', path: '/fx/withdrawal-accounts', access: 'read' },
  { operation: 'listAccounts', method: 'GET', path: '/common/accounts', access: 'read' },
  { operation: 'listPayoutAddresses', method: 'GET', path: '/payments/payout-addresses', access: 'read' },
  { operation: 'listPayouts', method: 'GET', path: '/payments/payouts', access: 'read' },
];

/** "Idempotency retention: quotes 30 minutes; trades 24 hours; withdrawals 7 days". */
export const keyRetentionMs: Readonly<Record<WriteOperation, number>> = {
  createQuote: 30 * 60_000,
  createTrade: 24 * 3_600_000,
  createWithdrawal: 7 * 24 * 3_600_000,
};

export function isWrite(operation: Operation): operation is WriteOperation {
  return Object.hasOwn(keyRetentionMs, operation);
}

export function isOperation(name: string): name is Operation {
  return routes.some((route) => route.operation === name);
}

export type Match =
  | { readonly kind: 'route'; readonly route: Route; readonly id: string | null }
  /** The path exists, the method does not. */
  | { readonly kind: 'wrong-method'; readonly allowed: readonly string[] }
  | { readonly kind: 'none' };

/** Finds the route of a canonical path. A trailing slash is another path. */
export function matchRoute(method: string, canonicalPath: string): Match {
  const found = routes
    .map((route) => ({ route, match: patternOf(route).exec(canonicalPath) }))
    .filter(({ match }) => match !== null);
  if (found.length === 0) return { kind: 'none' };
  const fit = found.find(({ route }) => route.method === method);
  if (fit === undefined) return { kind: 'wrong-method', allowed: found.map(({ route }) => route.method) };
  return { kind: 'route', route: fit.route, id: fit.match?.[1] ?? null };
}

const patterns = new Map<Route, RegExp>();

function patternOf(route: Route): RegExp {
  const known = patterns.get(route);
  if (known !== undefined) return known;
  const pattern = new RegExp(`^${basePath}${route.path.replace('{id}', '([^/]+)')}$`);
  patterns.set(route, pattern);
  return pattern;
}
