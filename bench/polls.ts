/**
 * What two batches cost the service whose payments are accepted and not paid yet: pages of its list, and connections. The
 * sandbox counts both; a worker in this process is its only client.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentsOf, startBatch } from '../test/support/batches.ts';
import { openStage, type Logged, type Stage } from '../test/support/stage.ts';
import { atMost, plain, type Section } from './figures.ts';
import { withTimeLimit } from './time-limit.ts';

/** Of each of two batches, in two chunks. */
const PAYMENTS = 500;
const PER_CHUNK = 250;
const OPEN = 2 * PAYMENTS;
/** The most that a policy may ask for: together they want more connections than there are. */
const POLICY = 'payout: { fund: { mode: none }, parallel: 50 }';
/** As long as a send takes, so that they are under way side by side. */
const SEND_MS = 500;
const WINDOW_MS = 30_000;
const LOOK_EVERY_MS = 200;

/** As `service/client.ts` has it. */
const POOL = 64;
const RECORDS_OF_A_PAGE = 100;

export async function measurePolls(): Promise<Section> {
  const stage = await openStage({
    balances: { USD: '10000000', EUR: '10000000', MXN: '10000000' },
    settings: { withdrawalSteps: [{ status: 'PENDING', forMs: 3_600_000 }] },
  });
  try {
    await stage.startWorker();
    stage.sandbox.addFault({ operation: 'createWithdrawal', effect: { kind: 'delay', ms: SEND_MS } });
    for (const name of ['polls-a', 'polls-b'])
      await startBatch(stage, paymentsOf(PAYMENTS), { perChunk: PER_CHUNK, policy: POLICY, name });
    await withTimeLimit(untilBooked(stage, OPEN), 'Sending two batches');
    const sent = stage.sandbox.requests().at(-1)?.seq ?? 0;
    await sleep(WINDOW_MS);
    const scans = scansOf(stage.sandbox.requests(sent));
    if (scans.length === 0) throw new Error(`Nobody asked for ${OPEN} payments in ${WINDOW_MS / 1_000} s.`);
    return {
      title: `polls for ${OPEN} payments of two batches that are accepted and not paid`,
      figures: [
        atMost('pages of the list, of one poll', Math.max(...scans), OPEN / RECORDS_OF_A_PAGE),
        plain(`  polls in ${WINDOW_MS / 1_000} s`, `${scans.length}`),
        atMost(
          'connections open side by side, also while they were sent',
          stage.sandbox.mostConnections(),
          POOL,
        ),
      ],
    };
  } finally {
    await stage.close();
  }
}

async function untilBooked({ sandbox }: Stage, count: number): Promise<void> {
  while (sandbox.ledger().withdrawals.length < count) await sleep(LOOK_EVERY_MS);
}

/** Pages of each poll: one begins without a cursor, and the next only when it has ended. */
function scansOf(requests: readonly Logged[]): readonly number[] {
  const scans: number[] = [];
  for (const { operation, path } of requests) {
    if (operation !== 'listWithdrawals') continue;
    if (!path.includes('startingAfter=')) scans.push(0);
    if (scans.length > 0) scans.push((scans.pop() ?? 0) + 1);
  }
  return scans;
}
