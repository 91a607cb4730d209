/**
 * The states that a run is rewound from: how a copy of a sample comes into each, what its report then says, and what
 * ends the cause, so that a later rewind does what was missing, once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Report } from '../../../domain/run/report.ts';
import type { SandboxAccount, SandboxFault } from '../../../sandbox/server.ts';
import { hashKey } from '../../../service/idempotency-key.ts';
import { createClient, loadSettings } from '../../../config/config.ts';
import { wakeSignal } from '../../../workflows/names.ts';
import { recordsOf } from '../../support/agreement.ts';
import type { Stage } from '../../support/stage.ts';
import { reportOf, standingOf, type Copy, type Draft } from './copies.ts';
import { RATES, SAMPLES, type Edit, type Sample } from './samples.ts';
import type { LooseInstruction } from '../../support/instructions.ts';
import { say } from '../../support/say.ts';
import { readInstructions, type InstructionsOf } from '../../../durable/instructions/read.ts';

export type State = {
  readonly name: string;
  /** Why a sample does not come into it; null when it does. */
  readonly leftOut: (sample: Sample) => string | null;
  readonly edits: (sample: Sample) => readonly Edit[];
  /** A fault at the service that strikes this run alone. */
  readonly fault: Pick<SandboxFault, 'operation' | 'effect'> | null;
  /** What others do under the run's name before it is started. */
  readonly before: (stage: Stage, draft: Draft) => Promise<void>;
  /** Brings a started copy there. */
  readonly bring: (copy: Copy) => Promise<void>;
  readonly isReached: (report: Report) => boolean;
  /** What the ledger shows of the run by then: where it shows nothing, nothing can be done twice. */
  readonly moved: {
    readonly trades: 'none' | 'all';
    readonly payments: 'none' | 'all' | 'all but the first';
  };
  readonly isOpen: boolean;
  /** Rewound several times before it comes into the state, whatever it is doing just then. */
  readonly isRewoundOnTheWay: boolean;
  /** A rewind forgets that nothing was sent: such runs wait a minute in doubt before they say the same again. */
  readonly waitsAfterRewind: boolean;
  /** Its report names a balance: brought about when no other copy moves money any more. */
  readonly namesBalances: boolean;
  /** What must be the same again: all of the report, or, where time alone changes its sentences, what it decided. */
  readonly same: 'report' | 'outcomes';
  /** What ends the cause, besides `easeAll`. */
  readonly ease: (copy: Copy) => Promise<void>;
  /** What does what was missing: a rewind, a wake-up, a person's word and a new start; null: nothing is missing. */
  readonly goesOnBy: 'rewind' | 'wake' | 'word' | null;
};

/** Signals at different moments of a run, for resets to apply again or to leave out. */
const WAKES_AFTER_MS = [0, 60, 150];

const closed = async (copy: Copy): Promise<void> => {
  for (const pauseMs of WAKES_AFTER_MS) {
    await sleep(pauseMs);
    await wake(copy);
  }
  await copy.stage.temporal.client.workflow
    .getHandle(copy.workflowId)
    .result()
    .catch(() => undefined);
};
const nothing = async (): Promise<void> => {};

const usual: Omit<State, 'name' | 'isReached'> = {
  leftOut: () => null,
  edits: () => [],
  fault: null,
  before: nothing,
  bring: closed,
  moved: { trades: 'all', payments: 'none' },
  isOpen: false,
  isRewoundOnTheWay: false,
  waitsAfterRewind: true,
  namesBalances: false,
  same: 'report',
  ease: nothing,
  goesOnBy: 'rewind',
};

const NEVER_SETTLES: State['fault'] = {
  operation: 'createTrade',
  effect: { kind: 'word', word: 'LOCKED', money: 'kept' },
};
const BY_STATUS: readonly Edit[] = [[/until: (funds|status)/, 'until: status']];

export const STATES: readonly State[] = [
  {
    ...usual,
    name: 'completed',
    isReached: ({ status }) => status === 'COMPLETED',
    moved: { trades: 'all', payments: 'all' },
    waitsAfterRewind: false,
    goesOnBy: null,
  },
  {
    ...usual,
    name: 'completed, rewound on the way',
    bring: nothing,
    isReached: ({ status }) => status === 'COMPLETED',
    moved: { trades: 'all', payments: 'all' },
    isRewoundOnTheWay: true,
    waitsAfterRewind: false,
    goesOnBy: null,
  },
  {
    ...usual,
    name: 'failed: plan',
    edits: (sample) => [[sample.account, `wac_Missing${sample.currency}`]],
    isReached: failedBy('PLAN_ACCOUNT_MISSING'),
    moved: { trades: 'none', payments: 'none' },
    waitsAfterRewind: false,
  },
  {
    ...usual,
    name: 'failed: guard',
    edits: (sample) => sample.guard,
    isReached: failedBy('OUTSIDE_GUARD'),
    moved: { trades: 'none', payments: 'none' },
  },
  {
    ...usual,
    name: 'failed: shortfall',
    leftOut: neverShort,
    edits: (sample) => sample.shortfall ?? [],
    namesBalances: true,
    isReached: (report) => failedBy('SHORTFALL')(report) || failedBy('TRADE_INSUFFICIENT_BALANCE')(report),
    moved: { trades: 'none', payments: 'none' },
  },
  {
    ...usual,
    name: 'failed: payment refused',
    edits: (sample) => [[sample.account, `wac_Refused${sample.currency}`]],
    isReached: failedBy('WITHDRAWAL_ACCOUNT_NOT_LIVE'),
    moved: { trades: 'all', payments: 'all but the first' },
  },
  {
    ...usual,
    name: 'failed: payment returned',
    edits: (sample) => [[sample.account, `wac_Returns${sample.currency}`]],
    isReached: failedBy('WITHDRAWAL_FAILED'),
    moved: { trades: 'all', payments: 'all' },
    waitsAfterRewind: false,
    goesOnBy: 'word',
  },
  {
    ...usual,
    name: 'held: money',
    leftOut: neverShort,
    edits: (sample) => [...(sample.shortfall ?? []), ['shortfall: skip', 'shortfall: hold']],
    bring: holding,
    isReached: ({ status, problems }) =>
      status === 'HELD' &&
      problems.some(({ code }) => code === 'SHORTFALL' || code === 'TRADE_INSUFFICIENT_BALANCE'),
    moved: { trades: 'none', payments: 'none' },
    isOpen: true,
    namesBalances: true,
    goesOnBy: 'wake',
  },
  {
    ...usual,
    name: 'held: person',
    before: tradeUnderItsName,
    bring: holding,
    isReached: ({ status, problems }) =>
      status === 'HELD' && problems.some(({ code }) => code === 'RECORD_DIFFERS'),
    isOpen: true,
    waitsAfterRewind: false,
    goesOnBy: null,
  },
  {
    ...usual,
    name: 'held: doubt about a trade',
    fault: { operation: 'createTrade', effect: { kind: 'close-before' } },
    bring: holding,
    isReached: inDoubt,
    moved: { trades: 'none', payments: 'none' },
    isOpen: true,
    waitsAfterRewind: false,
    same: 'outcomes',
    ease: withoutFault,
    goesOnBy: 'wake',
  },
  {
    ...usual,
    name: 'held: doubt about a payment',
    fault: { operation: 'createWithdrawal', effect: { kind: 'close-before' } },
    bring: holding,
    isReached: inDoubt,
    isOpen: true,
    waitsAfterRewind: false,
    same: 'outcomes',
    ease: withoutFault,
    goesOnBy: 'wake',
  },
  {
    ...usual,
    name: 'cancelled',
    edits: () => BY_STATUS,
    fault: NEVER_SETTLES,
    bring: async (copy) => {
      await holding(copy, awaitsSettlement);
      await copy.stage.temporal.client.workflow.getHandle(copy.workflowId).cancel();
      await closed(copy);
    },
    isReached: ({ status }) => status === 'CANCELLED',
    ease: settle,
    goesOnBy: 'word',
  },
  {
    ...usual,
    name: 'open: settling',
    edits: () => BY_STATUS,
    fault: NEVER_SETTLES,
    bring: (copy) => holding(copy, awaitsSettlement),
    isReached: awaitsSettlement,
    isOpen: true,
    waitsAfterRewind: false,
    ease: settle,
    goesOnBy: 'wake',
  },
  {
    ...usual,
    name: 'open: paying',
    fault: { operation: 'createWithdrawal', effect: { kind: 'outcome', outcome: 'stuck' } },
    bring: (copy) => holding(copy, awaitsPayment),
    isReached: awaitsPayment,
    moved: { trades: 'all', payments: 'all' },
    isOpen: true,
    waitsAfterRewind: false,
    ease: settle,
    goesOnBy: 'wake',
  },
];

/** Accounts that are not there, that refuse payments, and whose payments come back: one of each per currency of the samples. */
export function troubledAccounts(now: 'refuse' | 'accept'): readonly SandboxAccount[] {
  const currencies = [...new Set(SAMPLES.map(({ currency }) => currency))];
  return currencies.flatMap((currency): SandboxAccount[] => {
    const assetType = currency === 'USDC' ? 'CRYPTO' : 'FIAT';
    const network = assetType === 'CRYPTO' ? 'ETHEREUM' : null;
    const missing = { id: `wac_Missing${currency}`, currency, assetType, network, status: 'LIVE' } as const;
    return [
      ...(now === 'refuse' ? [] : [missing]),
      {
        id: `wac_Refused${currency}`,
        currency,
        assetType,
        network,
        status: now === 'refuse' ? 'SUSPENDED' : 'LIVE',
      },
      {
        id: `wac_Returns${currency}`,
        currency,
        assetType,
        network,
        status: 'LIVE',
        outcome: now === 'refuse' ? 'failed' : 'completed',
      },
    ];
  });
}

/** Ends the causes that all copies of a stage share. */
export function easeAll(stage: Stage): void {
  stage.sandbox.setRates(RATES.better);
  stage.sandbox.putAccounts(troubledAccounts('accept'));
  const plenty = ['USD', 'EUR', 'GBP', 'MXN', 'BRL', 'USDC'].map((currency) => [currency, '100000000000']);
  stage.sandbox.setBalances(Object.fromEntries(plenty) as Record<string, string>);
}

export async function wake(copy: Copy): Promise<void> {
  // A run that has ended in the meantime needs no wake-up.
  await copy.stage.temporal.client.workflow
    .getHandle(copy.workflowId)
    .signal(wakeSignal)
    .catch(() => undefined);
}

/** A person says something about a run, and has seen what was said before. */
export function sayOf(copy: Copy, instruction: LooseInstruction): Promise<void> {
  return say(instructionsOf(copy), instruction);
}

/** Payments of which every generation has been refused that opens by itself: only a person's word opens the eighth. */
export async function spentIn(copy: Copy): Promise<readonly string[]> {
  const facts = (await readInstructions(instructionsOf(copy)))?.facts ?? [];
  return facts.flatMap((fact) => (fact.kind === 'opened' && fact.generation === 7 ? [fact.item] : []));
}

function instructionsOf({ stage: { temporal, env }, run }: Copy): InstructionsOf {
  return {
    client: temporal.client,
    taskQueue: env['CAMBIST_TASK_QUEUE'] ?? '',
    mode: 'SANDBOX',
    run,
  };
}

export function faultOf(draft: Draft): string {
  return `of ${draft.name}`;
}

/** A run that has ended so, with a problem of this code. */
export function failedBy(code: string): State['isReached'] {
  return ({ status, problems }) =>
    (status === 'FAILED' || status === 'PARTIAL') && problems.some((problem) => problem.code === code);
}

/** Before anything is sent: such a run is held as well, and in no doubt. */
const WAITS_FOR_OTHERS: readonly string[] = ['TURN_OF_ANOTHER', 'LISTS_MAY_LAG', 'RESERVATION_UNKNOWN'];

function inDoubt({ status, legs, payments, problems }: Report): boolean {
  return (
    status === 'HELD' &&
    !problems.some(({ code }) => WAITS_FOR_OTHERS.includes(code)) &&
    [...legs, ...payments].some(({ outcome }) => outcome === 'PENDING')
  );
}

function neverShort({ shortfall }: Sample): string | null {
  return shortfall === null ? 'it never sells more than is there' : null;
}

function awaitsPayment({ status, payments }: Report): boolean {
  return (
    status === 'RUNNING' &&
    payments.length > 0 &&
    payments.every((payment) => payment.withdrawalId !== null && payment.outcome === 'PENDING')
  );
}

function awaitsSettlement({ problems }: Report): boolean {
  return problems.some(({ code }) => code === 'AWAITING_SETTLEMENT');
}

const LOOKS_EVERY_MS = 300;
/** Against hanging alone. */
const BROUGHT_WITHIN_MS = 20 * 60_000;

/** Waits for a hold, and wakes it once, so that its history has a signal. */
async function holding(
  copy: Copy,
  reached: State['isReached'] = ({ status }) => status === 'HELD',
): Promise<void> {
  const until = Date.now() + BROUGHT_WITHIN_MS;
  let report = await reportOf(copy);
  while (!reached(report)) {
    if (Date.now() > until || !(await standingOf(copy)).isOpen)
      throw new Error(`${copy.name} is not held: ${JSON.stringify(report)}`);
    await sleep(LOOKS_EVERY_MS);
    report = await reportOf(copy);
  }
  await wake(copy);
}

/** Somebody else's trade under the name of the run's leg, which does not agree with its plan. */
async function tradeUnderItsName(stage: Stage, { sample, number, name }: Draft): Promise<void> {
  const client = createClient(await loadSettings(stage.env, stage.folder), 'write');
  try {
    const quote = await client.createQuote({
      sellCurrency: 'USD',
      buyCurrency: 'EUR',
      amount: { side: 'sell', value: '10.00' },
      validForSeconds: 30,
      settlement: 'IMMEDIATE',
      idempotencyKey: hashKey(`quote for ${name}`),
    });
    if (quote.kind !== 'DONE') throw new Error(`no quote: ${JSON.stringify(quote)}`);
    const reference = `${name}.${sample.leg(number)}`;
    const trade = await client.createTrade({
      quoteId: quote.value.id,
      reference,
      idempotencyKey: hashKey(`trade for ${name}`),
    });
    if (trade.kind !== 'DONE') throw new Error(`no trade: ${JSON.stringify(trade)}`);
  } finally {
    await client.close();
  }
}

async function withoutFault(copy: Copy): Promise<void> {
  copy.stage.sandbox.clearFaults(faultOf(copy));
}

async function settle(copy: Copy): Promise<void> {
  const { sandbox } = copy.stage;
  sandbox.clearFaults(faultOf(copy));
  const { trades, withdrawals } = recordsOf(copy.name, sandbox.ledger());
  for (const { id } of trades) sandbox.setStatus({ id: String(id), status: 'SETTLED' });
  for (const { id } of withdrawals) sandbox.setStatus({ id: String(id), status: 'COMPLETED' });
}
