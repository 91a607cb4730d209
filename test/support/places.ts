/**
 * Places for tests of bad luck with people and machines: a service with its own way of keeping errors and showing tags,
 * workers for it, and what such tests ask of a run.
 */
import assert from 'node:assert/strict';
import type { Report } from '../../domain/run/report.ts';
import { SOME_SERVICES, type Service } from '../machines/resets/services.ts';
import { disagreements, movedTwice } from './agreement.ts';
import { startBuiltWorker, type BuiltWorker, type BuiltWorkerOptions } from './built-worker.ts';
import { MXN_ACCOUNT, convertPolicy, type PolicyParts } from './policies.ts';
import { resetPoints, resetTo } from './resets.ts';
import { openStage, type Held, type HoldOptions, type Run, type Stage, type Write } from './stage.ts';

/** Nearly all of the time is waiting: for a lost worker to be missed, for a freeze to last, for doubt to end. */
export const AT_ONCE = { concurrency: 10 };

/** A service with its own way of keeping errors and showing tags, and workers of this process for it. */
export type Place = {
  readonly service: Service;
  readonly stage: Stage;
  /** Workers as processes, which end with the place. */
  readonly processes: BuiltWorker[];
  startWorker(queue?: string): Promise<void>;
};

export const nameOf = (service: Service): string =>
  `where ${service.storeErrors} errors are kept and tags are shown ${service.metadataInLists}`;

async function openPlace(service: Service, timePasses: boolean): Promise<Place> {
  const stage = await openStage({
    rates: { 'USD/MXN': '17.25' },
    balances: { USD: '1000000', MXN: '1000000' },
    // Our own guards are tried, not the service's second one.
    settings: { ...service, duplicateReferenceRefused: false },
    timePasses,
  });
  return {
    service,
    stage,
    processes: [],
    startWorker: async (queue) => {
      await stage.startWorker(queue === undefined ? {} : { env: { CAMBIST_TASK_QUEUE: queue } });
    },
  };
}

/** A place of its own for one test, in which time passes. */
export async function withPlace(service: Service, work: (place: Place) => Promise<void>): Promise<void> {
  const place = await openPlace(service, true);
  try {
    await work(place);
  } finally {
    await closePlace(place);
  }
}

export async function closePlace({ stage, processes }: Place): Promise<void> {
  await Promise.all(processes.map((worker) => worker.kill()));
  const twice = movedTwice(stage.sandbox.ledger());
  await stage.close();
  assert.deepEqual(twice, []);
}

/** One place for each of some services, with a worker each, for tests in which no time need pass. */
export async function openPlaces(): Promise<readonly Place[]> {
  const places = await Promise.all(SOME_SERVICES.map((service) => openPlace(service, false)));
  await Promise.all(places.map((place) => place.startWorker()));
  return places;
}

let policies = 0;

/** Two payments whose amounts no other run has: where no tags are shown, equal ones could be taken for one another. */
export function twoPayments(parts: PolicyParts = {}): string {
  policies += 1;
  const cents = String(policies).padStart(2, '0');
  return convertPolicy({
    withdraw: [
      { id: 'first', account: MXN_ACCOUNT, fixed: `1${cents}.00` },
      { id: 'second', account: MXN_ACCOUNT, fixed: `5${cents}.00` },
    ],
    ...parts,
  });
}

/** A run of two payments whose first write of this kind is held at the service. */
export function startHeld({ stage }: Place, operation: Write, how: HoldOptions): Promise<Held> {
  return stage.startHeld(twoPayments(), operation, how);
}

/** A worker of this build, as a process, on a queue of its own. */
export function startProcess(
  { stage, processes }: Place,
  queue: string,
  options: Omit<BuiltWorkerOptions, 'env'> = {},
): BuiltWorker {
  const worker = startBuiltWorker({ env: { ...stage.env, CAMBIST_TASK_QUEUE: queue }, ...options });
  processes.push(worker);
  return worker;
}

export async function baseOf(run: Run): Promise<{ readonly workflowId: string; readonly runId: string }> {
  const { workflowId, runId } = await run.handle.describe();
  return { workflowId, runId };
}

export async function resetToStart({ stage }: Place, run: Run, options = { signals: true }): Promise<void> {
  const [first] = await resetPoints(run.handle);
  assert.ok(first !== undefined);
  await resetTo(stage.temporal, await baseOf(run), first, options);
}

export function operationsOf(run: Run): readonly string[] {
  return run.writes().map(({ operation }) => String(operation));
}

export function assertAgreed({ stage }: Place, report: Report): void {
  assert.deepEqual(disagreements(report, stage.sandbox.ledger()), [], JSON.stringify(report, null, 2));
}

/** Everything is done, once. */
export function assertAllDone(place: Place, run: Run, report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assertAgreed(place, report);
  const { trades, withdrawals } = run.movements();
  assert.deepEqual([trades.length, withdrawals.length], [1, 2]);
}

/** However often it was sent: a trade under one name, and two payments, each under one key. */
export function assertOneKeyEach(run: Run): void {
  const of = (operation: Write): ReturnType<Run['writes']> =>
    run.writes().filter((entry) => entry.operation === operation);
  // On a slow machine a quote dies, and the next one has a key of its own.
  assert.equal(new Set(of('createTrade').map(({ reference }) => reference)).size, 1);
  assert.equal(new Set(of('createWithdrawal').map(({ idempotencyKey }) => idempotencyKey)).size, 2);
}
