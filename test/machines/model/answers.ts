/**
 * What somebody types as the result of a pending activity, in its place: an answer of the right shape that names the record of
 * another item, or one that the service does not have.
 */
import type {
  LegCall,
  PaymentsCall,
  SettlementCall,
  ShownTrade,
  ShownWithdrawal,
  TradedCall,
  WithdrawalsCall,
} from '../../../domain/run/calls.ts';
import type { Carried } from '../../../domain/run/carry.ts';
import type { RunState } from '../../../domain/run/state.ts';
import { makeProblem } from '../../../domain/problems.ts';
import { NEW_LEG } from '../../../domain/writes/leg-state.ts';
import { sidesOf } from '../../../domain/writes/lookups.ts';
import { NEW_PAYMENT } from '../../../domain/writes/withdrawal.ts';
import type { Misfortune } from './schedule.ts';
import type { Movement } from './service.ts';
import type { Activity } from './temporal.ts';
import type { World } from './world.ts';

type Claim = Extract<Misfortune, { kind: 'answered' }>['claim'];

/** Null: there is no such answer, and nobody types one. */
export function typedAnswer(world: World, activity: Activity, claim: Claim): unknown {
  const { name, args, temporal, execution } = activity;
  const { runId } = execution;
  const home = temporal.home.newest()?.runId ?? '';
  const payer = temporal.number === null ? runId : `${home}/${runId}`;
  switch (name) {
    case 'requestQuote':
    case 'executeTrade': {
      const { leg } = args as LegCall | TradedCall;
      const problem = makeProblem('OUTSIDE_GUARD', leg.id);
      if (claim === 'undone')
        return { step: { kind: 'not traded', state: NEW_LEG, problem }, evidence: [], runId };
      const { id, quoteId, ...trade } = tradeBeside(world, temporal.itemOf(leg.id), claim);
      const { status } = trade;
      const createdAtMs = world.clock.wallMs();
      const traded = { tradeId: id, createdAtMs, quoteId, ...sidesOf(trade), quoted: null, status };
      return { step: { kind: 'traded', traded, worse: null, isHeld: false }, evidence: [], runId };
    }
    case 'createWithdrawals': {
      const items = (args as PaymentsCall).items.map(({ payment, wanted }) => {
        const problem = makeProblem('ACCOUNT_MISSING', payment.id);
        if (claim === 'undone')
          return { id: payment.id, step: { kind: 'not paid', state: NEW_PAYMENT, problem } };
        const { id, ...record } = withdrawalBeside(world, temporal.itemOf(payment.id), claim);
        const { reference } = payment;
        const amount = wanted.amount ?? record.withdrawalAmount;
        const { status } = record;
        const createdAtMs = world.clock.wallMs();
        const accepted = { withdrawalId: id, createdAtMs, reference, status, amount };
        return { id: payment.id, step: { kind: 'accepted', accepted } };
      });
      return { items, evidence: [], runId: payer };
    }
    case 'awaitSettlement': {
      if (claim === 'undone') return null;
      const record = tradeBeside(world, temporal.itemOf((args as SettlementCall).leg), claim);
      return { kind: 'settled', record: { ...record, status: 'SETTLED' } };
    }
    case 'awaitWithdrawals': {
      if (claim === 'undone') return null;
      const ended = (args as WithdrawalsCall).items.map(({ id }) => {
        const record = withdrawalBeside(world, temporal.itemOf(id), claim);
        return { id, record: { ...record, status: 'COMPLETED' }, paid: true, isUnknown: false };
      });
      return { ended, wait: null, runId: payer, hasToldEnd: false };
    }
    case 'readPlan':
    case 'recordInstruction':
    case 'confirmOutcomes':
    case 'readChunks':
    case 'readGo':
    case 'tellCoordinator':
      return null;
  }
}

/** What a stranger hands on to the next history of a run or a chunk: all was traded or paid, as records of nobody, or nothing was. */
export function falselyHandedOn(
  carried: Carried,
  { legs, payments }: RunState,
  what: 'nobody’s' | 'undone',
): Carried {
  const atMs = 0;
  if (what === 'undone') {
    const endedIn = carried.runId;
    return {
      ...carried,
      legs: legs.map(({ leg: { id } }) => {
        const problem = makeProblem('OUTSIDE_GUARD', id);
        return { id, kind: 'not traded', quoteId: null, problem, endedIn };
      }),
      payments: payments.map(({ payment: { id } }) => {
        return { id, kind: 'not paid', problem: makeProblem('ACCOUNT_MISSING', id), endedIn };
      }),
    };
  }
  return {
    ...carried,
    legs: legs.map(({ leg: { id } }) => ({
      id,
      kind: 'traded',
      atMs,
      worse: null,
      tradeId: NOBODYS_TRADE.id,
      quoted: null,
    })),
    payments: payments.map(({ payment: { id } }) => ({
      id,
      kind: 'accepted',
      withdrawalId: NOBODYS_WITHDRAWAL.id,
      atMs,
      status: 'PENDING',
    })),
  };
}

const NOBODYS_TRADE: ShownTrade = {
  id: 'tde_nobodys',
  quoteId: 'qte_nobodys',
  sellCurrency: 'USD',
  buyCurrency: 'MXN',
  sellAmount: '1000.00',
  buyAmount: null,
  executedAmount: '99999.00',
  status: 'SETTLED',
  clientReferenceId: null,
};
const NOBODYS_WITHDRAWAL: ShownWithdrawal = {
  id: 'wtd_nobodys',
  currency: 'MXN',
  withdrawalAmount: '17000.00',
  status: 'COMPLETED',
  withdrawalAccountId: null,
  tag: null,
};

/** The newest record of another item. */
function beside(world: World, kind: Movement['kind'], item: string): Movement | undefined {
  return world.service.ledger.findLast((each) => each.kind === kind && each.send.write.item !== item);
}

function tradeBeside(world: World, item: string, claim: Claim): ShownTrade {
  const other = claim === 'another’s' ? beside(world, 'trade', item) : undefined;
  return (other && shownTrade(world, other.record.id)) ?? NOBODYS_TRADE;
}

function withdrawalBeside(world: World, item: string, claim: Claim): ShownWithdrawal {
  const other = claim === 'another’s' ? beside(world, 'withdrawal', item) : undefined;
  return (other && shownWithdrawal(world, other.record.id)) ?? NOBODYS_WITHDRAWAL;
}

function shownTrade({ service }: World, id: string): ShownTrade | null {
  const found = service.ledger.find(({ record }) => record.id === id);
  if (found?.kind !== 'trade') return null;
  const { createdAt: _, settlementWindow: _window, ...record } = found.record;
  return { ...record, status: found.status };
}

function shownWithdrawal({ service }: World, id: string): ShownWithdrawal | null {
  const found = service.ledger.find(({ record }) => record.id === id);
  if (found?.kind !== 'withdrawal') return null;
  const { createdAt: _, ...record } = found.record;
  return { ...record, status: found.status };
}
