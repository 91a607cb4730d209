/**
 * A run that only waits for money for 100 payments: what it costs the service and Temporal while nothing happens. The
 * sandbox's request log and the run's history are the witnesses; a real worker process does the work.
 */
import type { Report } from '../domain/run/report.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { convertPolicy } from '../test/support/policies.ts';
import { openStage, type Run } from '../test/support/stage.ts';
import { counted, number, plain, type Section } from './figures.ts';
import { withTimeLimit } from './time-limit.ts';

const PAYMENTS = 100;
const WINDOW_MS = 60_000;
/** Calls that it takes to ask for all of them once, 25 payments a call. */
const CALLS = 4;
/** Within the window it asks twice: 15 s after the refusals, and 30 s after that. */
const ROUNDS = 2;

/** The money of one dollar is there; each payment wants more. */
const POLICY = convertPolicy({
  amount: '{ sell: "1.00" }',
  shortfall: 'hold',
  withdraw: Array.from({ length: PAYMENTS }, (_, index) => ({
    id: `payment-${index + 1}`,
    account: 'wac_7Hk2mQ9vT4xR',
    fixed: '1000.00',
  })),
});

export async function measureHeld(): Promise<Section> {
  const stage = await openStage({
    rates: { 'USD/MXN': '17.25' },
    settings: { settlementMs: { IMMEDIATE: 0, T0: 0, T1: 0, T2: 0 } },
  });
  try {
    await stage.startWorker();
    const run = await stage.start(POLICY, { name: 'held' });
    await withTimeLimit(run.until(isHeldThroughout), 'The run that is held');
    const before = await countsOf(run, stage.sandbox.requests().length);
    await sleep(WINDOW_MS);
    const after = await countsOf(run, stage.sandbox.requests().length);
    const requests = stage.sandbox.requests().slice(before.requests);
    const count = (asked: string) => requests.filter(({ operation }) => operation === asked).length;
    return {
      title: `a run that waits for money for ${PAYMENTS} payments, in the first minute`,
      figures: [
        counted('reads of the balances', [count('listBalances')], CALLS * ROUNDS),
        counted('payments sent in vain', [count('createWithdrawal')], 0),
        plain('all requests', number(requests.length)),
        plain('history events', number(after.events - before.events)),
        plain('history, KiB', number((after.bytes - before.bytes) / 1_024)),
        plain(
          'the same, ten minutes later (it asks every 5 min): reads of the balances an hour',
          number(CALLS * 12),
        ),
        plain('  history, MiB a day', number(((after.bytes - before.bytes) / ROUNDS / 1_048_576) * 288)),
      ],
    };
  } finally {
    await stage.close();
  }
}

function isHeldThroughout({ payments, problems }: Report): boolean {
  return payments.length === PAYMENTS && problems.filter(({ item }) => item !== null).length >= PAYMENTS;
}

async function countsOf(run: Run, requests: number) {
  const { raw } = await run.handle.describe();
  const { historyLength, historySizeBytes } = raw.workflowExecutionInfo ?? {};
  return { requests, events: Number(historyLength ?? 0), bytes: Number(historySizeBytes ?? 0) };
}
