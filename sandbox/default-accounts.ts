// The withdrawal accounts, balances and other records an organisation starts with unless told otherwise.

import type { Check } from './checks.ts';
import { BadInput, anything, currency, filledText, flag, mapOf, oneOf, orNull, shape } from './checks.ts';
import type { AssetType, WithdrawalAccountRecord, WithdrawalOutcome } from './records.ts';

export interface SandboxAccount {
  /** `wac_` and a base58 identifier, or a lower-case UUID. */
  readonly id: string;
  /** Null, for crypto only: any currency of that kind. */
  readonly currency: string | null;
  readonly assetType: AssetType;
  /** `LIVE`, `UNVERIFIED`, or any other word for an account that is not live. */
  readonly status: string;
  readonly network?: string | null;
  readonly rail?: string | null;
  /** Withdrawals are refused with WITHDRAWAL_ADDRESS_CHECKSUM_FAILED. */
  readonly checksumFails?: boolean;
  /** How withdrawals to it end. */
  readonly outcome?: WithdrawalOutcome;
  readonly destination?: Readonly<Record<string, unknown>>;
}

export const defaultBalances: Readonly<Record<string, string>> = {
  USD: '1000000',
  EUR: '250000',
  GBP: '100000',
  USDC: '50000',
  MXN: '0',
};

const bank = (accountNumber: string, bankName: string, more: Record<string, string> = {}) => ({
  accountName: 'Sandbox Beneficiary',
  accountNumber,
  bankName,
  ...more,
});

export const defaultAccounts: readonly SandboxAccount[] = [
  {
    id: 'wac_7Hk2mQ9vT4xR',
    currency: 'MXN',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'SPEI',
    destination: bank('032180000118359719', 'Banco de Prueba'),
  },
  {
    id: 'wac_EuR5epaLive1',
    currency: 'EUR',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'SEPA',
    destination: bank('DE89370400440532013000', 'Probebank'),
  },
  {
    id: 'wac_U5DFedw1re9',
    currency: 'USD',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'FEDWIRE',
    destination: bank('000123456789', 'Test Bank', { routingNumber: '021000021' }),
  },
  {
    id: 'wac_GbpFaster7Pay',
    currency: 'GBP',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'UK_FASTER_PAYMENTS',
    destination: bank('31926819', 'Trial Bank', { ukSortCode: '601613' }),
  },
  {
    id: 'wac_SgdFast8Live',
    currency: 'SGD',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'FAST',
    destination: bank('1234567890', 'Sample Bank'),
  },
  {
    id: 'wac_BrLPixLive3',
    currency: 'BRL',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'PIX',
    destination: bank('12345-6', 'Banco de Teste'),
  },
  {
    id: 'wac_UsdcWa99et4',
    currency: 'USDC',
    assetType: 'CRYPTO',
    status: 'LIVE',
    network: 'ETHEREUM',
    destination: { address: '0x52908400098527886E0F7030069857D2E4169EE7' },
  },
  {
    id: 'wac_Unver1fied22',
    currency: 'MXN',
    assetType: 'FIAT',
    status: 'UNVERIFIED',
    rail: 'SPEI',
    destination: bank('646180157000000004', 'Banco de Prueba'),
  },
  {
    id: 'wac_Suspended33',
    currency: 'EUR',
    assetType: 'FIAT',
    status: 'SUSPENDED',
    rail: 'SEPA',
    destination: bank('FR1420041010050500013M02606', 'Banque d’Essai'),
  },
  {
    id: 'wac_Fai1edPayout6',
    currency: 'MXN',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'SPEI',
    outcome: 'failed',
    destination: bank('014027000005555558', 'Banco de Prueba'),
  },
  {
    id: 'wac_Returns5Later',
    currency: 'EUR',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'SEPA',
    outcome: 'returned-after-completed',
    destination: bank('NL91ABNA0417164300', 'Proefbank'),
  },
];

/** Prefix and base58 identifier, or a lower-case UUID. */
export const accountIdPattern =
  /^(?:[a-z]{3,5}_[1-9A-HJ-NP-Za-km-z]{1,22}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

const accountId: Check<string> = (value, at) => {
  const id = filledText(value, at);
  if (!accountIdPattern.test(id)) {
    throw new BadInput(`${at} is "${id}"; it must be like "wac_7Hk2mQ9vT4xR" or a lower-case UUID.`);
  }
  return id;
};

export const accountCheck: Check<SandboxAccount> = shape(
  {
    id: accountId,
    currency: orNull(currency),
    assetType: oneOf('CRYPTO', 'FIAT'),
    status: filledText,
  },
  {
    network: orNull(filledText),
    rail: orNull(filledText),
    checksumFails: flag,
    outcome: oneOf('completed', 'failed', 'returned', 'returned-after-completed', 'stuck'),
    destination: mapOf(anything),
  },
);

export function accountFields(
  account: SandboxAccount,
): Omit<WithdrawalAccountRecord, 'book' | 'seq' | 'createdAt' | 'listedAt' | 'readableAt'> {
  return {
    id: account.id,
    currency: account.currency,
    assetType: account.assetType,
    status: account.status,
    network: account.network ?? null,
    rail: account.rail ?? null,
    checksumFails: account.checksumFails ?? false,
    outcome: account.outcome ?? 'completed',
    destination: account.destination ?? {},
  };
}
