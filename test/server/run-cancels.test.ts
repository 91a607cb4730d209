/**
 * A cancel in the middle of a write, and a reset or a new start after it. Under each way in which a service keeps errors
 * and shows tags: what was sent is reported truly, nothing else is sent, and nothing moves twice.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Report } from '../../domain/run/report.ts';
import { isCancelled } from '../../domain/people/instructions.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import { recordInstruction } from '../../durable/instructions/keep.ts';
import type { FaultEffect } from '../../sandbox/server.ts';
import { SOME_SERVICES } from '../machines/resets/services.ts';
import { withoutEvidence } from '../support/agreement.ts';
import { said } from '../support/instructions.ts';
import { wakeIfOpen } from '../support/passing-time.ts';
import {
  AT_ONCE,
  assertAgreed,
  nameOf,
  resetToStart,
  startHeld,
  withPlace,
  type Place,
} from '../support/places.ts';
import { WRITES, type Run, type Write } from '../support/stage.ts';

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

/** Shorter than the service can keep a write waiting: the word must not wait for the write. */
const KEPT_WITHIN_MS = 18_000;

async function untilCancelIsKept({ stage }: Place, run: Run): Promise<void> {
  const { client } = stage.temporal;
  for (const giveUpAtMs = Date.now() + KEPT_WITHIN_MS; Date.now() < giveUpAtMs;) {
    // One look after the other.
    const kept = await readInstructions({ client, mode: 'SANDBOX', run: run.name });
    if (isCancelled(kept?.instructions ?? [])) return;
    // Temporal tells nobody.
    await delay(150);
  }
  assert.fail('The cancel is kept nowhere but in the history of the run.');
}

/** A person names the one record there is. */
async function nameRecord({ stage, service }: Place, run: Run, item: string): Promise<void> {
  assert.notEqual(service.metadataInLists, 'always');
  const [record, ...others] = run.movements().withdrawals;
  assert.ok(record !== undefined && others.length === 0);
  const { client } = stage.temporal;
  const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  await recordInstruction(
    { client, taskQueue, mode: 'SANDBOX', run: run.name },
    said({ kind: 'executed', item, recordId: String(record['id']) }),
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
const AGAIN: readonly Again[] = ['reset', 'reset without signals', 'started again'];

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
  return { ...withoutEvidence(report), legs };
}

/** What can become of a write that is under way when the run is cancelled. */
const FATES: readonly {
  readonly what: string;
  readonly when: 'before' | 'after';
  readonly reply?: FaultEffect;
}[] = [
  { what: 'is held back and comes', when: 'after' },
  { what: 'is held back and lost', when: 'after', reply: { kind: 'lose-reply' } },
  { what: 'never comes because nothing was done', when: 'before', reply: { kind: 'close-before' } },
];
describe('a cancel in the middle of a write', AT_ONCE, () => {
  for (const [turn, service] of SOME_SERVICES.entries())
    for (const operation of WRITES) {
      for (const [index, { what, when, reply }] of FATES.entries()) {
        // Each way to begin again meets each fate.
        const again = AGAIN[(turn + index) % AGAIN.length] ?? 'reset';
        test(`the reply to ${operation} ${what}, ${nameOf(service)}: it is told truly, nothing else is sent; nor when it is ${again}`, () =>
          withPlace(service, async (place) => {
            await place.startWorker();
            const more = reply === undefined ? {} : { reply };
            const { run, release } = await startHeld(place, operation, { when, ...more });
            await run.handle.cancel();
            await untilCancelIsKept(place, run);
            release();
            const report = await endOfCancelled(place, run);
            assertOnlyUnderWay(place, run, report, operation);
            await assertStaysSo(place, run, report, again);
          }));
      }

      test(`followed by a reset while ${operation} is under way, ${nameOf(service)}: what was cancelled stays unsent`, () =>
        withPlace(service, async (place) => {
          await place.startWorker();
          const { run, release } = await startHeld(place, operation, { when: 'after' });
          await run.handle.cancel();
          await untilCancelIsKept(place, run);
          await resetToStart(place, run);
          release();
          const report = await endOfCancelled(place, run);
          assertOnlyUnderWay(place, run, report, operation);
        }));
    }
});
