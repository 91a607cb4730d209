/** Many payments of a chunk that a worker does not send by its folder, its ceilings or its approvals: how few of them ask, and when all go on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchPayment } from '../../domain/batch.ts';
import { makeProblem } from '../../domain/problems.ts';
import type { GoAnswer, PaymentsCall } from '../../domain/run/calls.ts';
import { Chunk, type ChunkPorts } from '../../domain/run/chunk.ts';
import { StepFailed } from '../../domain/run/ports.ts';
import { newRunState } from '../../domain/run/state.ts';
import type { Wait } from '../../domain/waits.ts';
import { NEW_PAYMENT, type PaymentState } from '../../domain/writes/withdrawal.ts';
import { RUN, context } from '../support/scripts.ts';
import { ScriptTime } from '../support/script-time.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SLICE = 25;
const GO: GoAnswer = {
  kind: 'go',
  plan: context().plan,
  isFresh: false,
  unpayable: null,
  heldBy: [],
  released: ['EUR'],
  most: null,
  stopped: null,
  wakes: 0,
  rules: { parallel: 8, stopAfter: null, canary: null, dedupeMs: 0 },
  sideBySide: 2,
  callSize: SLICE,
  runId: 'r1/c1',
};

/** Why a payment does not leave; null: it does. */
type Gate = (payment: { readonly id: string }) => Wait | null;

type HeldBy = 'AWAITING_APPROVAL' | 'NOT_ALLOWED' | 'OVER_CEILING' | 'CEILING_UNKNOWN';

/** The wait of a payment that a worker does not send. */
function held(code: HeldBy, message: string, afterMs = MINUTE_MS): Wait {
  const reason = code === 'AWAITING_APPROVAL' ? 'approval' : 'configuration';
  return { afterMs, reason, problem: makeProblem(code, null, { message }) };
}

const UNSIGNED: Gate = () => held('AWAITING_APPROVAL', 'It needs the signature of ana.');

/** A chunk of 500 payments, whose worker has this gate. */
class World {
  readonly time = new ScriptTime();
  gate: Gate;
  /** The calls of these payments come to no answer. */
  fails: readonly string[] = [];
  /** Of these a worker may have sent something before. */
  inDoubt: readonly string[] = [];
  calls: PaymentsCall[] = [];
  readonly chunk: Chunk;
  #wakes = 0;

  constructor(gate: Gate, payments = 500) {
    this.gate = gate;
    const rows = Array.from({ length: payments }, (_, n): BatchPayment => [
      `inv-${n}`,
      `wac_${n}`,
      'EUR',
      `${n + 1}`,
    ]);
    const input = { run: RUN, mode: 'SANDBOX', number: 1, payments: rows, isFirst: true } as const;
    const state = newRunState(RUN, 'sandbox/p.2026-11-21/chunk-0001', { name: 'p', hash: '' });
    this.chunk = new Chunk(input, state, this.#ports(), null);
    this.chunk.complete().catch(() => {});
  }

  #ports(): ChunkPorts {
    return {
      readGo: async () => ({ ...GO, wakes: this.#wakes }),
      tellCoordinator: async () => {},
      createWithdrawals: async (call) => {
        this.calls.push(call);
        if (call.items.some(({ payment }) => this.fails.includes(payment.id))) throw new StepFailed('away');
        return { items: call.items.map((item) => this.#send(item)), evidence: [], runId: 'r1/c1' };
      },
      awaitWithdrawals: () => ({ answer: new Promise(() => {}), giveUp: () => {} }),
      confirmOutcomes: async () => ({ kind: 'shown', trades: [], withdrawals: [] }),
      waitUntil: this.time.waitUntil,
      nowMs: this.time.nowMs,
      historyIsLong: () => false,
      show: () => {},
      tellRun: async () => ({ runId: 'c1' }),
      runId: 'c1',
      originalRunId: 'c1',
      firstRunId: 'c1',
    };
  }

  #send({ payment: { id, reference }, wanted: { amount } }: PaymentsCall['items'][number]) {
    const wait = this.gate({ id });
    const doubt = { lastSendMs: 0, absentAtMs: null, under: null, why: 'a worker may have sent it' };
    const state: PaymentState = this.inDoubt.includes(id)
      ? { ...NEW_PAYMENT, sent: true, doubt }
      : NEW_PAYMENT;
    if (wait !== null)
      return {
        id,
        step: { kind: 'wait', state, wait: { ...wait, problem: { ...wait.problem, item: id } } },
      } as const;
    const accepted = {
      withdrawalId: `wtd_${id}`,
      createdAtMs: 0,
      reference,
      status: 'PENDING',
      amount: amount ?? '0',
    };
    return { id, step: { kind: 'accepted', accepted } } as const;
  }

  /** How many calls there were since this was asked last, and how many payments have asked by them. */
  counted(): readonly [calls: number, payments: number] {
    const counts = [this.calls.length, this.asked.length] as const;
    this.calls = [];
    return counts;
  }

  /** Which payments have asked since the calls were counted last. */
  get asked(): readonly string[] {
    return this.calls.flatMap(({ items }) => items.map(({ payment }) => payment.id));
  }

  get accepted(): number {
    return this.chunk.state.payments.filter(({ stage }) => stage.kind === 'accepted').length;
  }

  /** A person wakes the run, which tells its chunks. */
  async wakes(): Promise<void> {
    this.#wakes += 1;
    this.chunk.noteNews();
    await this.time.quiet();
  }
}

/** Each payment has asked once. */
async function worldOf(gate: Gate, payments?: number): Promise<World> {
  const world = new World(gate, payments);
  await world.time.quiet();
  return world;
}

test('while people have not signed, one payment of 500 asks for all, ever later up to five minutes', async () => {
  const world = await worldOf(UNSIGNED);
  assert.deepEqual(world.counted(), [20, 500]);
  const atMinutes: number[] = [];
  for (let minute = 1; minute <= 60; minute += 1) {
    // One after the other.
    await world.time.pass(MINUTE_MS);
    if (world.counted()[0] > 0) atMinutes.push(minute);
  }
  assert.deepEqual(atMinutes, [1, 3, 7, 12, 17, 22, 27, 32, 37, 42, 47, 52, 57]);
  await world.time.pass(HOUR_MS);
  assert.deepEqual(world.counted(), [12, 12]);
});

test('each of them is told as waiting until it really looks again', async () => {
  const world = await worldOf(UNSIGNED);
  for (let minutes = 0; minutes < 60; minutes += 1) {
    // One after the other.
    await world.time.pass(MINUTE_MS);
    const { payments } = world.chunk.state;
    const wakes = new Set(payments.map(({ waiting }) => waiting?.wakeAtMs));
    assert.equal(wakes.size, 1);
    for (const { waiting } of payments)
      assert.ok(waiting?.problem.code === 'AWAITING_APPROVAL' && waiting.wakeAtMs >= world.time.nowMs());
  }
});

test('a signature wakes the run, and all of them leave at once', async () => {
  const world = await worldOf(UNSIGNED);
  await world.time.pass(HOUR_MS);
  world.counted();
  world.gate = () => null;
  await world.wakes();
  assert.deepEqual([world.accepted, world.counted()], [500, [20, 500]]);
});

test('a run that nobody wakes goes on by itself: the payment that asks for all leaves, and the others follow it at once', async () => {
  const world = await worldOf(UNSIGNED);
  await world.time.pass(HOUR_MS);
  world.counted();
  world.gate = () => null;
  await world.time.pass(5 * MINUTE_MS);
  assert.deepEqual([world.accepted, world.counted()], [500, [21, 500]]);
});

test('signatures that are still to be verified are asked about as soon as before', async () => {
  const gate: Gate = () => held('AWAITING_APPROVAL', 'Not all signatures are verified yet.', 5_000);
  const world = await worldOf(gate);
  world.counted();
  await world.time.pass(MINUTE_MS);
  assert.deepEqual(world.counted(), [12, 12]);
});

test('what the folder does not allow is asked about each minute, by one payment for all, and all leave within a minute once it does', async () => {
  for (const code of ['NOT_ALLOWED', 'OVER_CEILING', 'CEILING_UNKNOWN'] as const) {
    // One after the other.
    const world = await worldOf(() => held(code, 'The folder has no policy "p".'));
    world.counted();
    await world.time.pass(HOUR_MS);
    assert.deepEqual(world.counted(), [60, 60]);
    world.gate = () => null;
    await world.time.pass(MINUTE_MS);
    assert.equal(world.accepted, 500);
  }
});

test('payments that are held for causes of their own ask in turn, a call each minute, so that each asks every 20 minutes', async () => {
  const world = await worldOf(({ id }) =>
    held('NOT_ALLOWED', `The folder does not pay to the account of ${id}.`),
  );
  world.counted();
  await world.time.pass(20 * MINUTE_MS);
  assert.deepEqual([new Set(world.asked).size, world.counted()], [500, [20, 500]]);
  // One of them is allowed, and then all.
  const { gate } = world;
  world.gate = (payment) => (payment.id === 'inv-321' ? null : gate(payment));
  await world.time.pass(20 * MINUTE_MS);
  assert.equal(world.accepted, 1);
  world.gate = () => null;
  await world.time.pass(MINUTE_MS);
  assert.equal(world.accepted, 500);
});

test('few payments, each held for its own cause, ask each minute all in one call', async () => {
  const world = await worldOf(({ id }) => held('NOT_ALLOWED', `The folder does not pay ${id}.`), SLICE);
  world.counted();
  await world.time.pass(10 * MINUTE_MS);
  assert.deepEqual(world.counted(), [10, 10 * SLICE]);
});

test('on the next day what fits below the ceiling leaves, though the payments that ask first do not fit', async () => {
  let most = 0;
  const world = await worldOf(({ id }) => {
    const amount = Number(id.slice('inv-'.length)) + 1;
    const message = `${amount} EUR is above what is left of the ceiling: ${most} EUR.`;
    return 501 - amount <= most ? null : held('OVER_CEILING', message);
  });
  await world.time.pass(HOUR_MS);
  assert.equal(world.accepted, 0);
  most = 20;
  await world.time.pass(20 * MINUTE_MS);
  assert.equal(world.accepted, 20);
});

test('where the payment that asks for all is held in other words, the others ask at once', async () => {
  const world = await worldOf(() => held('NOT_ALLOWED', 'The folder has no policy "p".'));
  await world.time.pass(10 * MINUTE_MS);
  // The policy is there now, and pays only the last account.
  world.gate = ({ id }) =>
    id === 'inv-499' ? null : held('NOT_ALLOWED', `The folder does not pay to the account of ${id}.`);
  await world.time.pass(MINUTE_MS);
  assert.equal(world.accepted, 1);
});

test('what may have been sent before has its turn too, since only a lookup of its own finds its record', async () => {
  const world = new World(UNSIGNED);
  world.inDoubt = ['inv-7', 'inv-300'];
  await world.time.quiet();
  world.counted();
  await world.time.pass(20 * MINUTE_MS);
  const { asked } = world;
  assert.deepEqual([asked.includes('inv-7'), asked.includes('inv-300')], [true, true]);
  // The service shows one of them.
  world.gate = (payment) => (payment.id === 'inv-300' ? null : UNSIGNED(payment));
  await world.time.pass(20 * MINUTE_MS);
  assert.equal(world.accepted, 1);
});

test('a call that comes to no answer says nothing about the others: they ask for themselves', async () => {
  const world = await worldOf(UNSIGNED);
  world.counted();
  world.fails = ['inv-0'];
  await world.time.pass(MINUTE_MS);
  assert.deepEqual([new Set(world.asked).size, world.counted()[0]], [500, 21]);
  // They are held together again, and the one that failed asks for itself until it is among them once more.
  world.fails = [];
  await world.time.pass(20 * MINUTE_MS);
  const [calls, payments] = world.counted();
  assert.ok(calls < 15 && payments < 15, `${calls} calls, ${payments} payments`);
});

test('halts are heard of by all of them: the payment that asks is halted, and so are the others', async () => {
  const world = await worldOf(UNSIGNED);
  const halted: Wait = { afterMs: MINUTE_MS, reason: 'halt', problem: makeProblem('HALTED', null) };
  world.gate = () => halted;
  await world.time.pass(MINUTE_MS);
  const codes = new Set(world.chunk.state.payments.map(({ waiting }) => waiting?.problem.code));
  assert.deepEqual([...codes], ['HALTED']);
});
