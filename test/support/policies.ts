/** Texts of policies for tests: what a test does not name is plain, and quick on the stage's sandbox. */

export type PolicyParts = {
  readonly sell?: string;
  readonly buy?: string;
  /** Side and value, as YAML. */
  readonly amount?: string;
  readonly quote?: string;
  readonly guard?: string;
  readonly settle?: string;
  readonly shortfall?: 'skip' | 'hold';
  readonly limits?: string;
  readonly withdraw?: readonly WithdrawParts[];
};

export type WithdrawParts = {
  readonly id: string;
  readonly account: string;
  /** Absent: the proceeds. */
  readonly fixed?: string;
};

/** An account of the sandbox that takes pesos. */
export const MXN_ACCOUNT = 'wac_7Hk2mQ9vT4xR';

/** Sells 1000 dollars for pesos and pays all of them to one supplier, unless `parts` say otherwise. */
export function convertPolicy(parts: PolicyParts = {}): string {
  const { guard, limits } = parts;
  const withdraw = parts.withdraw ?? [{ id: 'supplier', account: MXN_ACCOUNT }];
  return [
    'policy: 1',
    'kind: convert',
    'name: replaced',
    'environment: sandbox',
    `convert: { sell: ${parts.sell ?? 'USD'}, buy: ${parts.buy ?? 'MXN'}, amount: ${parts.amount ?? '{ sell: "1000.00" }'} }`,
    `quote: ${parts.quote ?? '{ valid_for: 45s, settlement: T0 }'}`,
    ...(guard === undefined ? [] : [`guard: ${guard}`]),
    `settle: ${parts.settle ?? '{ until: status }'}`,
    `shortfall: ${parts.shortfall ?? 'skip'}`,
    ...(limits === undefined ? [] : [`limits: ${limits}`]),
    withdraw.length === 0 ? 'withdraw: []' : 'withdraw:',
    ...withdraw.map(({ id, account, fixed }) =>
      fixed === undefined
        ? `  - { id: ${id}, account: ${account}, amount: proceeds, rounding: down }`
        : `  - { id: ${id}, account: ${account}, amount: { fixed: "${fixed}" } }`,
    ),
    '',
  ].join('\n');
}

/** Sells all dollars above 500, and so takes the turn. */
export const SELLS_ALL = `policy: 1
kind: convert
name: replaced
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { sell: all, keep: "500.00" } }
quote: { settlement: T0 }
guard: { worst_rate: "16.50 MXN per USD" }
`;

/** Waits for money that is not there, and has reserved what there is. */
export const RESERVES = `policy: 1
kind: convert
name: replaced
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { sell: "160000.00" } }
quote: { settlement: T0 }
shortfall: hold
`;

/** Sells 1,000 USD for at least 17,250 MXN. @param withdraw the payments, a line each */
export function sells1000(...withdraw: readonly string[]): string {
  return `policy: 1
kind: convert
name: p
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { sell: "1000.00" } }
quote: { settlement: T0 }
guard: { worst_rate: "17.25 MXN per USD" }
withdraw:${withdraw.length === 0 ? ' []' : ''}
${withdraw.map((line) => `  - ${line}\n`).join('')}`;
}

/** Whether a file of `policies/` is a sample of a policy. */
export function isSample(name: string): boolean {
  return name.endsWith('.yaml') && !['approvals.yaml', 'ceilings.yaml'].includes(name);
}
