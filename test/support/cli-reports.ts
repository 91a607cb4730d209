/** Reports and other records for the tests of the command line. */
import type { Report, ReportStatus } from '../../domain/run/report.ts';
import type { LegOutcome, PaymentOutcome } from '../../domain/run/items.ts';
import type { Evidence } from '../../domain/run/state.ts';
import type { Problem } from '../../domain/problems.ts';

export const ABANDONED: Problem = {
  code: 'ENDED_FROM_OUTSIDE',
  item: null,
  message: 'The run was terminated.',
  fix: 'Start it again.',
};

/** A report of one leg and one payment. */
export function makeReportOf(options: {
  readonly status: ReportStatus;
  readonly leg?: LegOutcome;
  readonly payment?: PaymentOutcome;
  readonly problems?: readonly Problem[];
  /** False: there never was a plan. */
  readonly items?: boolean;
}): Report {
  const { status, leg = 'TRADED', payment = 'PAID', problems = [], items = true } = options;
  const isTraded = leg === 'TRADED';
  return {
    run: 'mxn-supplier.2026-11-21',
    workflowId: 'sandbox/mxn-supplier.2026-11-21',
    zone: 'America/Mexico_City',
    startedBy: 'ana',
    startedAt: '2026-11-21T15:30:00.000Z',
    endedAt: null,
    resets: [],
    policy: {
      name: 'mxn-supplier',
      hash: 'a1fc2689cc04ea576674c1d4cb7d48285df55f125fe65aab807e5ac24dc6341e',
    },
    status,
    positions: [],
    legs: items
      ? [
          {
            id: 'usd-mxn-1',
            reference: 'mxn-supplier.2026-11-21.usd-mxn-1',
            sell: 'USD',
            buy: 'MXN',
            why: 'fixed',
            planned: { side: 'sell', value: '1000.00' },
            guard: null,
            cost: null,
            sellAmount: '1000.00',
            buyAmount: isTraded ? '18500' : null,
            rate: isTraded ? '18.5' : null,
            quoteId: isTraded ? 'qte_3exTB7oUQ4GZo7ka4rrqKZ' : null,
            tradeId: isTraded ? 'tde_BhQh2Nqoq3ZLr1vFGEXEey' : null,
            outcome: leg,
            settled: isTraded ? true : null,
            tradedAt: isTraded ? '2026-11-21T15:30:02.000Z' : null,
          },
        ]
      : [],
    payments: items
      ? [
          {
            id: 'supplier',
            reference: 'mxn-supplier.2026-11-21.supplier',
            account: 'wac_7Hk2mQ9vT4xR',
            currency: 'MXN',
            amount: isTraded ? '18500' : null,
            withdrawalId: payment === 'PAID' ? 'wtd_3GVKK9mcGadvqjq8TViDA5' : null,
            status: payment === 'PAID' ? 'COMPLETED' : null,
            outcome: payment,
            sentAt: payment === 'PAID' ? '2026-11-21T15:31:07.000Z' : null,
            reason: null,
          },
        ]
      : [],
    totals: items ? [{ currency: 'MXN', planned: '18500', paid: '0', notPaid: '0', needsHuman: '0' }] : [],
    problems,
    evidence: [
      ...(isTraded ? [seen('usd-mxn-1', 'settled', '2026-11-21T15:31:05.000Z')] : []),
      ...(payment === 'PAID' ? [seen('supplier', 'paid', '2026-11-21T15:32:10.000Z')] : []),
    ],
  };
}

/** The run saw an item settled or paid. */
function seen(item: string, result: string, at: string): Evidence {
  return { at, item, call: 'seen', result, traceId: null, replayed: null, quote: null };
}
