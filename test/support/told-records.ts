/**
 * Ports whose polls tell only statuses: each status is told with the record that the run was given before, as a poll that asks
 * the service tells it. A record that nobody was given is that of a plain day.
 */
import type {
  LegAnswer,
  LegCall,
  Settlement,
  SettlementCall,
  ShownTrade,
  ShownWithdrawal,
  TradedCall,
  WithdrawalsAnswer,
  WithdrawalsCall,
} from '../../domain/run/calls.ts';
import type { Poll, Ports } from '../../domain/run/ports.ts';
import { TRADE, WITHDRAWAL } from './scripts.ts';

type News = WithdrawalsAnswer['ended'][number];
type ToldNews = News | (Omit<News, 'record'> & { readonly status: string });
export type ToldWithdrawals = Omit<WithdrawalsAnswer, 'ended'> & { readonly ended: readonly ToldNews[] };
export type ToldSettlement =
  | Settlement
  | { readonly kind: 'settled' | 'failed'; readonly status: string }
  | { readonly kind: 'news'; readonly status: string; readonly isUnknown: boolean };
export type ToldPorts = Omit<Ports, 'awaitSettlement' | 'awaitWithdrawals'> & {
  awaitSettlement(call: SettlementCall): Poll<ToldSettlement>;
  awaitWithdrawals(call: WithdrawalsCall): Poll<ToldWithdrawals>;
};

const { createdAt: _traded, settlementWindow: _window, ...PLAIN_TRADE } = TRADE;
const { createdAt: _paid, ...PLAIN_WITHDRAWAL } = WITHDRAWAL;

/** The record of a poll of one payment on a plain day, and of one leg. */
export const withdrawalWith = (status: string): ShownWithdrawal => ({ ...PLAIN_WITHDRAWAL, status });
export const tradeWith = (status: string): ShownTrade => ({ ...PLAIN_TRADE, status });

export function withRecords(ports: ToldPorts): Ports {
  const trades = new Map<string, ShownTrade>();
  const withdrawals = new Map<string, ShownWithdrawal>();
  const noted =
    <Call extends LegCall | TradedCall>(ask: (call: Call) => Promise<LegAnswer>) =>
    async (call: Call): Promise<LegAnswer> => {
      const answer = await ask(call);
      const { step } = answer;
      const { id, sell, buy, reference } = call.leg;
      if (step.kind === 'traded')
        trades.set(id, {
          id: step.traded.tradeId,
          quoteId: step.traded.quoteId,
          sellCurrency: sell,
          buyCurrency: buy,
          sellAmount: step.traded.sellAmount,
          buyAmount: null,
          executedAmount: step.traded.buyAmount,
          status: step.traded.status,
          clientReferenceId: reference,
        });
      return answer;
    };
  const tradeOf = ({ leg, tradeId: id }: SettlementCall, status: string): ShownTrade => ({
    ...(trades.get(leg) ?? PLAIN_TRADE),
    id,
    status,
  });
  const withdrawalOf = ({ items }: WithdrawalsCall, item: string, status: string): ShownWithdrawal => {
    const id = items.find((each) => each.id === item)?.withdrawalId ?? '';
    const plain = { ...PLAIN_WITHDRAWAL, tag: null };
    return { ...(withdrawals.get(id) ?? plain), id, status };
  };
  return {
    ...ports,
    requestQuote: noted((call: LegCall | TradedCall) => ports.requestQuote(call)),
    executeTrade: noted((call: LegCall) => ports.executeTrade(call)),
    createWithdrawals: async (call) => {
      const answer = await ports.createWithdrawals(call);
      for (const { id, step } of answer.items) {
        const payment = call.items.find((item) => item.payment.id === id)?.payment;
        if (step.kind !== 'accepted' || payment === undefined) continue;
        const { withdrawalId, amount, status, reference } = step.accepted;
        withdrawals.set(withdrawalId, {
          id: withdrawalId,
          currency: payment.currency,
          withdrawalAmount: amount,
          status,
          withdrawalAccountId: payment.account,
          tag: reference,
        });
      }
      return answer;
    },
    awaitSettlement: (call) => {
      const { answer, giveUp } = ports.awaitSettlement(call);
      return { answer: answer.then((told) => settlementOf(call, told)), giveUp };
    },
    awaitWithdrawals: (call) => {
      const { answer, giveUp } = ports.awaitWithdrawals(call);
      const whole = answer.then((told): WithdrawalsAnswer => ({
        ...told,
        ended: told.ended.map((news) => {
          if (!('status' in news)) return news;
          const { status, ...rest } = news;
          return { ...rest, record: withdrawalOf(call, news.id, status) };
        }),
      }));
      return { answer: whole, giveUp };
    },
  };

  function settlementOf(call: SettlementCall, told: ToldSettlement): Settlement {
    if (!('status' in told)) return told;
    const { status, ...rest } = told;
    return { ...rest, record: tradeOf(call, status) };
  }
}
