/**
 * A cancel in the middle of a write, and a reset or a new start after it: what was sent is reported truly, nothing else is
 * sent, and nothing moves twice.
 */
import assert from 'node:assert/strict';
import type { Report } from '../../domain/run/report.ts';
import { isCancelled } from '../../domain/people/instructions.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import type { Service } from '../machines/resets/services.ts';
import { lasting } from './lasting.ts';
import { wakeIfOpen } from './passing-time.ts';
import { eventually } from './patience.ts';
import { assertAgreed, resetToStart, startHeld, withPlace, type Place } from './places.ts';
import type { HoldOptions, Run, Write } from './stage.ts';
import { say } from './say.ts';

/** The end of a cancelled run; where lists show no tags, a person says which record is the payment. */
async function endOfCancelled(place: Place, run: Run): Promise<Report> {
  const needsPerson = ({ payments }: Report): string | undefined =>
    payments.find(({ outcome }) => outcome === 'NEEDS_HUMAN')?.id;
  const report = await run.until(
    (now) => (now.status !== 'RUNNING' && now.status !== 'HELD') || needsPerson(now) !== undefined,
  );
  const item = needsPerson(report);
  if (report.status !== 'HELD' || item === undefined) return run.report();
  await nameRecord(place, run, item);
  await wakeIfOpen(run);
  return run.report();
}

/** The write is held until then: the word does not wait for it. */
async function untilCancelIsKept({ stage }: Place, run: Run): Promise<void> {
  const { client } = stage.temporal;
  await eventually('the cancel is kept elsewhere than in the history of the run', async () => {
    const kept = await readInstructions({ client, mode: 'SANDBOX', run: run.name });
    return isCancelled(kept?.instructions ?? []);
  });
}

/** A person names the one record there is. */
async function nameRecord({ stage, service }: Place, run: Run, item: string): Promise<void> {
  assert.notEqual(service.metadataInLists, 'always');
  const [record, ...others] = run.movements().withdrawals;
  assert.ok(record !== undefined && others.length === 0);
  const { client } = stage.temporal;
  const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  await say(
    { client, taskQueue, mode: 'SANDBOX', run: run.name },
    { kind: 'executed', item, recordId: String(record['id']) },
  );
}

/** Of a cancelled run: what was under way is told as the ledger has it, and nothing else was sent. */
function assertOnlyUnderWay(place: Place, run: Run, report: Report, operation: Write): void {
  assert.equal(report.status, 'CANCELLED', JSON.stringify(report, null, 2));
  assertAgreed(place, report);
  const { trades, withdrawals } = run.movements();
  const isTrade = operation === 'createTrade';
  const [first, second] = report.payments;
  assert.equal(report.legs[0]?.outcome, trades.length === 1 ? 'TRADED' : 'NOT_TRADED');
  const told = JSON.stringify({ report, withdrawals, writes: run.writes() }, null, 2);
  assert.equal(first?.outcome, withdrawals.length === 1 ? 'PAID' : 'NOT_PAID', told);
  assert.equal(second?.outcome, 'NOT_PAID');
  assert.match(second.reason ?? '', /cancelled/i);
  const keys = new Set(run.writes().map(({ idempotencyKey }) => idempotencyKey));
  assert.equal(keys.size, isTrade ? 1 : 2);
  assert.equal(trades.length + withdrawals.length <= keys.size, true);
}

type Again = 'reset' | 'reset without signals' | 'started again';
export const AGAIN: readonly Again[] = ['reset', 'reset without signals', 'started again'];

/** What was cancelled stays unsent, however it is begun again. */
async function assertStaysSo(place: Place, run: Run, first: Report, again: Again): Promise<void> {
  const before = run.writes().length;
  await (again === 'started again'
    ? run.startAgain()
    : resetToStart(place, run, { signals: again === 'reset' }));
  assert.deepEqual(essence(await endOfCancelled(place, run)), essence(first));
  assert.equal(run.writes().length, before);
}

/**
 * Without what the service has said since (a trade settles although nobody waits for it any more), and without a quote
 * that was never traded: a reset need not know it.
 */
function essence(report: Report): unknown {
  const legs = report.legs.map((leg) => ({
    ...leg,
    settled: null,
    quoteId: leg.tradeId === null ? null : leg.quoteId,
  }));
  return lasting({ ...report, legs });
}

/** What can become of a write that is under way when the run is cancelled. */
type Fate = Pick<HoldOptions, 'when' | 'reply'>;
export const FATES: readonly (Fate & { readonly what: string })[] = [
  { what: 'is held back and comes', when: 'after' },
  { what: 'is held back and lost', when: 'after', reply: { kind: 'lose-reply' } },
  { what: 'never comes because nothing was done', when: 'before', reply: { kind: 'close-before' } },
];

/** A write of this kind is under way when the run is cancelled; this becomes of it, and the run is begun again like this. */
export async function cancelInWrite(
  service: Service,
  { operation, fate, again }: { readonly operation: Write; readonly fate: Fate; readonly again: Again },
): Promise<void> {
  await withPlace(service, async (place) => {
    await place.startWorker();
    const { run, release } = await startHeld(place, operation, fate);
    await run.handle.cancel();
    await untilCancelIsKept(place, run);
    release();
    const report = await endOfCancelled(place, run);
    assertOnlyUnderWay(place, run, report, operation);
    await assertStaysSo(place, run, report, again);
  });
}

/** The run is reset while the write is still under way. */
export async function resetInCancelledWrite(service: Service, operation: Write): Promise<void> {
  await withPlace(service, async (place) => {
    await place.startWorker();
    const { run, release } = await startHeld(place, operation, { when: 'after' });
    await run.handle.cancel();
    await untilCancelIsKept(place, run);
    await resetToStart(place, run);
    release();
    const report = await endOfCancelled(place, run);
    assertOnlyUnderWay(place, run, report, operation);
  });
}
