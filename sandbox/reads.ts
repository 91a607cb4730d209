// The read operations: from a caller and a query to the body of the reply.

import type { Caller } from './auth.ts';
import { balancesView, exposuresView } from './balances.ts';
import type { QueryPair } from './canonical.ts';
import { isoOf } from './clock.ts';
import type { Core } from './core.ts';
import type { PageRequest, Pagination } from './lists.ts';
import { readPageRequest } from './lists.ts';
import type { Operation, WriteOperation } from './operations.ts';
import { pairsView, tradeView } from './quotes-and-trades.ts';
import type { Listed, WithdrawalAccountRecord } from './records.ts';
import { Refusal, refuseIssues } from './refusal.ts';
import type { Table } from './store.ts';
import type { ListIndex } from './lists.ts';
import { withdrawalView } from './withdrawals.ts';

type Body = Readonly<Record<string, unknown>>;

export interface ReadRequest {
  readonly operation: Exclude<Operation, WriteOperation>;
  readonly caller: Caller;
  /** The path's id, as it stands in the canonical path. */
  readonly id: string | null;
  readonly query: readonly QueryPair[];
}

export function serveRead(core: Core, request: ReadRequest): Body {
  const { operation, caller, query } = request;
  const { tables } = core.store;
  switch (operation) {
    case 'listBalances':
      refuseQuery(query);
      return { data: balancesView(core, caller.book) };
    case 'getExposures':
      refuseQuery(query);
      return { data: exposuresView(core, caller.book) };
    case 'listPairs':
      refuseQuery(query);
      return { data: pairsView(core) };
    case 'listTrades':
      return listOf(core, request, core.trades, tables.trades, [], tradeView);
    case 'listWithdrawals':
      return listOf(core, request, core.withdrawals, tables.withdrawals, [], (row) =>
        withdrawalView(row, core.settings.metadataInLists),
      );
    case 'listDeposits':
      return listOf(core, request, core.deposits, tables.deposits, [], (deposit) => ({
        object: 'deposit',
        id: deposit.id,
        currency: deposit.currency,
        assetType: deposit.assetType,
        depositAmount: deposit.amount,
        status: deposit.status,
        createdAt: isoOf(deposit.createdAt),
      }));
    case 'listWithdrawalAccounts':
      return listOf(
        core,
        request,
        core.accounts,
        tables.accounts,
        ['assetType', 'network', 'rail'],
        accountView,
        fitsFilters,
      );
    case 'listAccounts':
      return listOf(core, request, core.others.accounts, tables.others, [], (row) =>
        otherView('account', row),
      );
    case 'listPayoutAddresses':
      return listOf(core, request, core.others['payout-addresses'], tables.others, [], (row) =>
        otherView('payout_address', row),
      );
    case 'listPayouts':
      return listOf(core, request, core.others.payouts, tables.others, [], (row) => otherView('payout', row));
    case 'getTrade': {
      refuseQuery(query);
      const tradeId = pathId(request, 'tde');
      const trade = readable(core, request, tables.trades.get(tradeId));
      if (trade === null) throw new Refusal('TRADE_NOT_FOUND', { tradeId });
      return { data: tradeView(trade) };
    }
    case 'getWithdrawal': {
      refuseQuery(query);
      const withdrawal = readable(core, request, tables.withdrawals.get(pathId(request, 'wtd')));
      if (withdrawal === null) throw new Refusal('WITHDRAWAL_NOT_FOUND');
      return { data: withdrawalView(withdrawal, 'always') };
    }
  }
}

/** Another organisation's record is as absent as an unknown one. */
function readable<T extends Listed>(core: Core, request: ReadRequest, row: T | undefined): T | null {
  if (row === undefined || row.book !== request.caller.book) return null;
  return row.readableAt <= core.clock.now() ? row : null;
}

function listOf<T extends Listed>(
  core: Core,
  request: ReadRequest,
  index: ListIndex,
  table: Table<T>,
  filters: readonly string[],
  view: (row: T) => Body,
  fits: (row: T, page: PageRequest) => boolean = () => true,
): { readonly data: readonly Body[]; readonly pagination: Pagination } {
  const page = readPageRequest(request.query, index.name, filters);
  if (filters.length > 0) checkAccountFilters(page);
  const now = core.clock.now();
  const { ids, pagination } = index.page(request.caller.book, page, core.settings, (id) => {
    const row = table.get(id);
    return row !== undefined && row.listedAt <= now && fits(row, page);
  });
  return { data: ids.flatMap((id) => table.get(id) ?? []).map((row) => view(row)), pagination };
}

/** Details of WITHDRAWAL_ACCOUNT_FIAT_INVALID_NETWORK and …_CRYPTO_INVALID_RAIL name these filters. */
function checkAccountFilters({ filters }: PageRequest): void {
  const { assetType, network, rail } = filters as { assetType?: string; network?: string; rail?: string };
  if (assetType !== undefined && assetType !== 'FIAT' && assetType !== 'CRYPTO') {
    refuseIssues('VALIDATION_QUERY_FAILED', [{ path: 'assetType', message: 'must be FIAT or CRYPTO' }]);
  }
  if (assetType === 'FIAT' && network !== undefined) {
    throw new Refusal('WITHDRAWAL_ACCOUNT_FIAT_INVALID_NETWORK', { network });
  }
  if (assetType === 'CRYPTO' && rail !== undefined) {
    throw new Refusal('WITHDRAWAL_ACCOUNT_CRYPTO_INVALID_RAIL', { rail });
  }
}

function fitsFilters(row: WithdrawalAccountRecord, { filters }: PageRequest): boolean {
  return Object.entries(filters).every(
    ([name, value]) => row[name as 'assetType' | 'network' | 'rail'] === value,
  );
}

function accountView(account: WithdrawalAccountRecord): Body {
  return {
    object: 'withdrawal_account',
    id: account.id.slice(account.id.indexOf(' ') + 1),
    currency: account.currency,
    assetType: account.assetType,
    status: account.status,
    network: account.network,
    rail: account.rail,
    destination: account.destination,
    createdAt: isoOf(account.createdAt),
  };
}

function otherView(object: string, row: Listed & { readonly fields: Body }): Body {
  return { object, id: row.id, ...row.fields, createdAt: isoOf(row.createdAt) };
}

function refuseQuery(query: readonly QueryPair[]): void {
  if (query.length === 0) return;
  const issues = query.map(([name]) => ({ path: name, message: 'unknown parameter' }));
  refuseIssues('VALIDATION_QUERY_FAILED', issues);
}

/** The interface shows only the form of ids; one of another form cannot name a record. */
function pathId({ id }: ReadRequest, prefix: string): string {
  if (id !== null && new RegExp(`^${prefix}_[1-9A-HJ-NP-Za-km-z]{1,22}$`).test(id)) return id;
  return refuseIssues('VALIDATION_PATH_FAILED', [
    { path: 'id', message: `must be an id like "${prefix}_…"` },
  ]);
}
