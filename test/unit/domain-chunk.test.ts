/** One chunk of a batch, driven without Temporal: what it sends under which go, when it asks, and what it tells. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchPayment } from '../../domain/batch.ts';
import { makeProblem, type Problem } from '../../domain/problems.ts';
import type {
  ConfirmCall,
  GoAnswer,
  GoCall,
  PaymentsCall,
  WithdrawalsAnswer,
} from '../../domain/run/calls.ts';
import type { Carried } from '../../domain/run/carry.ts';
import { chunkStateOf, countsIn } from '../../domain/run/chunk-state.ts';
import { Chunk, type ChunkPorts } from '../../domain/run/chunk.ts';
import { HistoryIsLong, StepFailed } from '../../domain/run/ports.ts';
import { reportPage } from '../../domain/run/report.ts';
import { newRunState } from '../../domain/run/state.ts';
import { reference as referenceOf } from '../../domain/references.ts';
import type { Wait } from '../../domain/waits.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { RUN, context } from '../support/scripts.ts';
import { ScriptTime } from '../support/script-time.ts';

const MINUTE_MS = 60_000;
const PAYMENTS: readonly BatchPayment[] = [
  ['inv-1', 'wac_1', 'EUR', '10'],
  ['inv-2', 'wac_2', 'EUR', '20'],
  ['inv-3', 'wac_3', 'EUR', '30'],
  ['inv-4', 'wac_4', 'MXN', '40'],
];
const ALL = PAYMENTS.map(([id]) => id);
const EUR = ['inv-1', 'inv-2', 'inv-3'];

type GoOf = Extract<GoAnswer, { kind: 'go' }>;
const GO: GoOf = {
  kind: 'go',
  plan: context().plan,
  isFresh: false,
  unpayable: null,
  heldBy: [],
  released: ['EUR', 'MXN'],
  most: null,
  stopped: null,
  wakes: 0,
  rules: { parallel: 8, stopAfter: null, canary: null, dedupeMs: 0 },
  sideBySide: 2,
  callSize: 25,
  runId: 'r1/c1',
};
const WAIT = {
  kind: 'wait',
  wait: { afterMs: MINUTE_MS, reason: 'service', problem: makeProblem('CHUNK_WAITS', null) },
} as const satisfies GoAnswer;
const OVER: GoAnswer = { kind: 'over', runId: '/c1' };
const STOPPED: GoOf = { ...GO, stopped: makeProblem('BATCH_STOPPED', null) };
const FAILED_2 = {
  ...GO.rules,
  parallel: 8,
  canary: null,
  stopAfter: { failed: 2, ratioPercent: null, sameCode: null },
} as const;

/** A coordinator and a service that say what the test has them say. */
class World {
  readonly time = new ScriptTime();
  go: GoAnswer | (() => Promise<GoAnswer>) = GO;
  /** What the service refuses. */
  refuses: readonly string[] = [];
  /** What waits a minute when it is sent. */
  delays: readonly string[] = [];
  /** What people have cancelled. */
  cancels: readonly string[] = [];
  /** What has come back from whoever was paid. */
  returned: readonly string[] = [];
  /** Those of the last poll that may have come back before it. */
  followedAnew: readonly string[] = [];
  /** What was asked about the accepted ones, and whether each was known as paid. */
  readonly polls: (readonly (readonly [id: string, paid: boolean])[])[] = [];
  /** Of these it gives no answer yet. */
  holds: readonly string[] = [];
  /** Why the accepted ones cannot be followed; null: they can. */
  followWait: Wait | null = null;
  /** What the service shows of records that were handed on; of the others it shows that they are pending. */
  shows: Readonly<Record<string, 'COMPLETED' | 'RETURNED' | 'nothing'>>;
  /** Its calls are given no go, and so nobody is named who looks. */
  isWithoutGo = false;
  historyIsLong = false;
  newestRunId = 'c1';
  /** As which run it is told of once it has been told; null: the same. */
  tellsThen: string | null = null;
  readonly asked: GoCall[] = [];
  readonly calls: PaymentsCall[] = [];
  readonly confirmed: ConfirmCall['payments'][number][] = [];
  tellRuns = 0;
  told = 0;
  isEnded = false;
  readonly chunk: Chunk;
  readonly end: Promise<unknown>;
  #isPaid = false;
  readonly #payments: readonly BatchPayment[];

  constructor(
    more: {
      readonly go?: World['go'];
      readonly runId?: string;
      readonly originalRunId?: string;
      readonly carried?: Carried;
      /** With which the histories before it began; absent: there are none, unless one has handed something on. */
      readonly firstRunId?: string;
      readonly payments?: readonly BatchPayment[];
      readonly isFirst?: boolean;
      readonly shows?: World['shows'];
    } = {},
  ) {
    const { go = GO, runId = 'c1', originalRunId = runId, carried = null } = more;
    const { payments = PAYMENTS, isFirst = true } = more;
    const { firstRunId = carried === null ? originalRunId : 'c1' } = more;
    this.go = go;
    this.shows = more.shows ?? {};
    this.newestRunId = runId;
    const input = { run: RUN, mode: 'SANDBOX', number: 1, payments, isFirst } as const;
    this.#payments = payments;
    const state = newRunState(RUN, 'sandbox/p.2026-11-21/chunk-0001', { name: 'p', hash: '' });
    this.chunk = new Chunk(input, state, this.#ports({ runId, originalRunId, firstRunId }), carried);
    this.end = this.chunk.complete().then(
      () => (this.isEnded = true),
      (error: unknown) => error,
    );
  }

  #ports(of: Pick<ChunkPorts, 'runId' | 'originalRunId' | 'firstRunId'>): ChunkPorts {
    return {
      readGo: async (call) => {
        this.asked.push(call);
        return typeof this.go === 'function' ? this.go() : this.go;
      },
      tellCoordinator: async () => {
        this.told += 1;
      },
      createWithdrawals: async (call) => {
        this.calls.push(call);
        await this.time.waitUntil(() => !call.items.some(({ payment }) => this.holds.includes(payment.id)));
        return { items: call.items.map((item) => this.#send(item)), evidence: [], runId: this.#name };
      },
      awaitWithdrawals: ({ items }) => {
        this.polls.push(items.map(({ id, paid }) => [id, paid] as const));
        this.followedAnew = items.flatMap(({ id, isAnew }) => (isAnew === true ? [id] : []));
        const newsNow = (): WithdrawalsAnswer['ended'] =>
          items.flatMap(({ id, withdrawalId, paid }): WithdrawalsAnswer['ended'] => {
            const [, account = '', currency = '', amount = ''] =
              this.#payments.find((row) => row[0] === id) ?? [];
            const record = {
              id: withdrawalId,
              currency,
              withdrawalAmount: amount,
              withdrawalAccountId: account,
              tag: referenceOf(RUN, id),
            };
            if (this.returned.includes(id))
              return [{ id, record: { ...record, status: 'RETURNED' }, paid: false, isUnknown: false }];
            return paid || !this.#isPaid
              ? []
              : [{ id, record: { ...record, status: 'COMPLETED' }, paid: true, isUnknown: false }];
          });
        let giveUp = (): void => {};
        const answer = new Promise<WithdrawalsAnswer>((resolve, reject) => {
          giveUp = () => reject(new Error('It was given up.'));
          const paid = async (): Promise<void> => {
            await this.time.waitUntil(() => newsNow().length > 0 || this.followWait !== null);
            resolve({ ended: newsNow(), wait: this.followWait, runId: this.#name, hasToldEnd: false });
          };
          void paid();
        });
        return { answer, giveUp };
      },
      confirmOutcomes: async (call) => {
        this.confirmed.push(...call.payments);
        const withdrawals = call.payments.flatMap(({ id, withdrawalId, amount }) => {
          const status = this.shows[id] ?? 'PENDING';
          const isPaid = status === 'COMPLETED';
          const shown = {
            withdrawalId,
            createdAtMs: 0,
            reference: null,
            status,
            amount: amount ?? '0',
            isPaid,
          };
          if (status === 'nothing') return [];
          return [{ ...shown, ...(status === 'RETURNED' && { hasFailed: true as const }) }];
        });
        return { kind: 'shown', trades: [], withdrawals };
      },
      waitUntil: this.time.waitUntil,
      nowMs: this.time.nowMs,
      historyIsLong: () => this.historyIsLong,
      show: () => {},
      tellRun: async () => {
        this.tellRuns += 1;
        const told = this.newestRunId;
        this.newestRunId = this.tellsThen ?? told;
        return { runId: told };
      },
      ...of,
    };
  }

  /** As whom the activities of the chunk look. */
  get #name(): string | null {
    if (this.isWithoutGo) return null;
    return typeof this.go !== 'function' && this.go.kind === 'go' ? this.go.runId : GO.runId;
  }

  #send({ payment: { id, reference: name }, wanted: { unwanted, amount } }: PaymentsCall['items'][number]) {
    const refusal = { code: 'ACCOUNT_CLOSED', item: id, message: 'No.', fix: 'Mend it.' } as Problem;
    const cancelled = this.cancels.includes(id) ? makeProblem('CANCELLED', id) : null;
    const problem = unwanted ?? cancelled ?? (this.refuses.includes(id) ? refusal : null);
    if (problem !== null) return { id, step: { kind: 'not paid', state: NEW_PAYMENT, problem } } as const;
    if (this.delays.includes(id))
      return { id, step: { kind: 'wait', state: NEW_PAYMENT, wait: WAIT.wait } } as const;
    const accepted = {
      withdrawalId: `wtd_${id}`,
      createdAtMs: 0,
      reference: name,
      status: 'PENDING',
      amount: amount ?? '0',
    };
    return { id, step: { kind: 'accepted', accepted }, traceId: `trace-${id}` } as const;
  }

  /** What left, in order. */
  get sent(): readonly string[] {
    return this.calls.flatMap(({ items }) =>
      items.flatMap(({ payment, wanted: { unwanted } }) => (unwanted === null ? [payment.id] : [])),
    );
  }

  /** What was not to be sent any more, and was looked up. */
  get unwanted(): readonly (readonly [id: string, code: string])[] {
    return this.calls.flatMap(({ items }) =>
      items.flatMap(({ payment, wanted: { unwanted } }) =>
        unwanted === null ? [] : [[payment.id, unwanted.code] as const],
      ),
    );
  }

  get stages(): readonly string[] {
    return this.chunk.state.payments.map(({ stage }) => stage.kind);
  }

  /** Every payment that was accepted is paid. */
  async pay(): Promise<void> {
    this.#isPaid = true;
    await this.time.quiet();
  }

  /** The coordinator says another thing, and that it has news. */
  async tell(go: World['go']): Promise<void> {
    this.go = go;
    this.chunk.noteNews();
    await this.time.quiet();
  }
}

async function worldOf(more: ConstructorParameters<typeof World>[0] = {}): Promise<World> {
  const world = new World(more);
  await world.time.quiet();
  return world;
}

test('without a go nothing is sent; it asks again by itself, each time later, at most every 10 minutes', async () => {
  const world = await worldOf({ go: WAIT });
  const pauses: number[] = [];
  for (let minutes = 0, before = 0; pauses.length < 12;) {
    const { length } = world.asked;
    await world.time.pass(MINUTE_MS);
    minutes += 1;
    if (world.asked.length === length) continue;
    pauses.push(minutes - before);
    before = minutes;
  }
  assert.deepEqual(pauses, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]);
  assert.deepEqual(world.calls, []);
  assert.equal(world.chunk.state.waiting?.problem.code, 'CHUNK_WAITS');
});

test('a chunk that waits for its go asks at once when it is told that there is news', async () => {
  const world = await worldOf({ go: WAIT });
  await world.tell(GO);
  assert.equal(world.asked.length, 2);
  assert.deepEqual(world.sent, ALL);
  assert.equal(world.chunk.state.waiting, null);
});

test('before its go it reports every payment as pending, and none to another batch as sent', async () => {
  const { chunk } = await worldOf({ go: WAIT });
  assert.deepEqual(
    chunk.state.payments.map(({ payment, amount, stage }) => [payment.id, amount, stage.kind]),
    PAYMENTS.map(([id, , , amount]) => [id, amount, 'unsent']),
  );
  assert.deepEqual(chunkStateOf(chunk.standing).counts, {
    planned: 4,
    accepted: 0,
    paid: 0,
    notPaid: 0,
    needsHuman: 0,
    open: 4,
    sent: 0,
    waiting: 0,
  });
  assert.deepEqual(
    [chunkStateOf(chunk.standing).unseen, chunkStateOf(chunk.standing).held],
    [undefined, undefined],
  );
  const { isFirst, heard } = chunk.holds(ALL);
  assert.deepEqual({ isFirst, heard }, { isFirst: true, heard: null });
});

/** A go of the run that the plan was made for, under which nothing was sent before. */
const FRESH: GoOf = { ...GO, plan: { ...GO.plan, madeFor: 'r1', foundRecords: false }, isFresh: true };

test('what an earlier history may have paid counts as to be looked up, until it is', async () => {
  const unseen = ({ chunk }: World): number | undefined => chunkStateOf(chunk.standing).unseen;
  const held: Partial<World> = { holds: ALL };
  const begin = async (more: ConstructorParameters<typeof World>[0]): Promise<World> => {
    const world = Object.assign(new World(more), held);
    await world.time.quiet();
    return world;
  };
  for (const [what, more] of [
    ['the chunk was reset', { go: { ...FRESH, runId: 'r1/c2' }, runId: 'c2', originalRunId: 'c1' }],
    ['it was started again', { go: FRESH, isFirst: false }],
    ['its run was', { go: { ...FRESH, runId: 'r2/c1' } }],
    ['records were there', { go: { ...FRESH, plan: { ...FRESH.plan, foundRecords: true } } }],
    ['the chunk was reset, and has no go', { go: WAIT, runId: 'c2', originalRunId: 'c1' }],
  ] as const)
    assert.equal(unseen(await begin(more)), 4, what);
  assert.equal(unseen(await begin({ go: FRESH })), undefined, 'nothing was sent before');
  const seen = await worldOf({ go: { ...FRESH, runId: 'r2/c1' } });
  assert.deepEqual([unseen(seen), chunkStateOf(seen.chunk.standing).counts.accepted], [undefined, 4]);
});

test('what payments wait for is told by code and currency, with its sum and with what is there', async () => {
  const world = await worldOf();
  const [first = assert.fail('The chunk has no payment.')] = world.chunk.standing.payments;
  const poor = (amount: string, reason: 'money' | 'service', there?: string) => ({
    ...first,
    amount,
    stage: { kind: 'unsent' as const, state: NEW_PAYMENT, release: null, needsHuman: false },
    waiting: {
      reason,
      problem: makeProblem('SHORTFALL', null),
      wakeAtMs: 0,
      ...(there !== undefined && { short: { currency: 'EUR', needed: amount, there } }),
    },
  });
  const payments = [poor('10', 'money'), poor('20.5', 'money', '3'), poor('40', 'service')];
  assert.deepEqual(chunkStateOf({ ...world.chunk.standing, payments }).held, [
    { code: 'SHORTFALL', reason: 'money', currency: 'EUR', payments: 2, value: '30.5', there: '3' },
  ]);
});

test('only currencies that are released are paid; the others once they are', async () => {
  const world = await worldOf({ go: { ...GO, released: ['EUR'] } });
  assert.deepEqual(world.sent, EUR);
  await world.tell(GO);
  assert.deepEqual(world.sent, ALL);
});

test('so many payments leave side by side as the go says, for the plan that it names', async () => {
  const world = await worldOf();
  const { sideBySide, chunk, plan } = world.calls[0] ?? assert.fail('Nothing was sent.');
  assert.deepEqual([sideBySide, chunk, plan.madeFor], [2, 1, GO.plan.madeFor]);
});

test('what has waited is no first try any more, also where somebody has woken it', async () => {
  const world = new World();
  world.delays = ['inv-2'];
  await world.time.quiet();
  world.delays = [];
  world.chunk.wake();
  await world.time.quiet();
  const tries = world.calls.flatMap(({ items, isFirstTry }) =>
    items.map(({ payment }) => [payment.id, isFirstTry === true] as const),
  );
  assert.deepEqual(tries, [...ALL.map((id) => [id, true] as const), ['inv-2', false]]);
});

test('a fresh go makes the payments the chunk’s own: nobody need look whether they were sent before', async () => {
  for (const [isFresh, madeFor] of [
    [true, 'c7'],
    [false, 'run-1'],
  ] as const) {
    const world = await worldOf({ go: { ...GO, isFresh }, runId: 'c7' });
    assert.equal(world.calls[0]?.plan.madeFor, madeFor);
  }
});

test('of the first payments no more are sent than the go allows, until it allows the others', async () => {
  const world = await worldOf({ go: { ...GO, most: 2 } });
  assert.deepEqual(world.sent, ['inv-1', 'inv-2']);
  await world.tell({ ...GO, most: 2, wakes: 1 });
  assert.deepEqual(world.sent, ['inv-1', 'inv-2']);
  await world.tell(GO);
  assert.deepEqual(world.sent, ALL);
});

test('a first payment that was refused has been one of the first', async () => {
  const world = new World({ go: { ...GO, most: 2 } });
  world.refuses = ['inv-1'];
  await world.time.quiet();
  await world.tell({ ...GO, most: 2, wakes: 1 });
  assert.deepEqual(world.sent, ['inv-1', 'inv-2']);
});

test('first payments that end without being sent, as in a batch that is cancelled, let others take their place', async () => {
  const world = new World({ go: { ...GO, most: 2 } });
  world.cancels = ['inv-1', 'inv-2', 'inv-3'];
  await world.time.quiet();
  assert.deepEqual(world.sent, ALL);
  assert.deepEqual(world.stages, ['not paid', 'not paid', 'not paid', 'accepted']);
});

test('what is known to be unpayable is not sent, is looked up with its reason, and is none of the first payments', async () => {
  const world = await worldOf({ go: { ...GO, unpayable: 'md..', heldBy: ['p.old'], most: 1 } });
  assert.deepEqual(world.unwanted, [
    ['inv-1', 'ACCOUNT_MISSING'],
    ['inv-2', 'PAID_BY_ANOTHER_BATCH'],
  ]);
  assert.deepEqual(world.sent, ['inv-3']);
});

test('a new run that is heard of while the last payment becomes paid has all of them followed once more', async () => {
  const world = await worldOf();
  const other = { ...GO, runId: 'r2/c1' };
  let isAnswered = false;
  await world.tell(() => world.time.waitUntil(() => isAnswered).then(() => other));
  await world.pay();
  assert.deepEqual(new Set(world.stages), new Set(['paid']));
  const before = world.polls.length;
  world.go = other;
  isAnswered = true;
  await world.time.quiet();
  assert.ok(world.polls.length > before);
  assert.deepEqual(new Set(world.stages), new Set(['paid']));
});

test('what looks like a payment by others holds that payment alone, and is none of the first payments', async () => {
  const go: GoOf = { ...GO, alike: 'l.a.', alikeIds: { 0: 'wtd_9' }, most: 2 };
  const world = await worldOf({ go });
  const told = world.calls.flatMap(({ items }) =>
    items.map(({ payment, wanted }) => [payment.id, wanted.alike ?? null] as const),
  );
  assert.deepEqual(told, [
    ['inv-1', { kind: 'held', recordId: 'wtd_9' }],
    ['inv-2', null],
    ['inv-3', { kind: 'approved' }],
  ]);
});

test('of a batch that is stopped nothing more leaves: what is unsent is looked up, each under its own name', async () => {
  const world = await worldOf({ go: { ...GO, released: ['EUR'] } });
  await world.tell({ ...STOPPED, released: ['EUR'] });
  assert.deepEqual(world.sent, EUR);
  assert.deepEqual(world.unwanted, [['inv-4', 'BATCH_STOPPED']]);
  const [item] = world.calls.at(-1)?.items ?? [];
  assert.equal(item?.wanted.unwanted?.item, 'inv-4');
  assert.deepEqual(world.stages, ['accepted', 'accepted', 'accepted', 'not paid']);
});

test('a stop that is told while a payment is under way is heard before the next one leaves', async () => {
  const world = new World();
  world.holds = ['inv-1'];
  await world.time.quiet();
  await world.tell(STOPPED);
  assert.deepEqual(world.sent, ['inv-1']);
  world.holds = [];
  await world.time.quiet();
  assert.deepEqual(world.sent, ['inv-1']);
  assert.deepEqual(world.stages, ['accepted', 'not paid', 'not paid', 'not paid']);
});

test('what is told while the go is being read may be missing in the answer: it is asked for again', async () => {
  for (const answer of [{ ...GO, released: ['EUR'] }, WAIT]) {
    const world = await worldOf({ go: WAIT });
    let isAnswered = false;
    await world.tell(() => world.time.waitUntil(() => isAnswered).then(() => answer));
    world.chunk.noteNews();
    world.go = GO;
    isAnswered = true;
    await world.time.quiet();
    assert.equal(world.asked.length, 3);
    assert.deepEqual(world.sent, ALL);
  }
});

test('a coordinator that says nothing for 10 minutes is asked', async () => {
  const world = await worldOf();
  assert.equal(world.asked.length, 1);
  await world.time.pass(10 * MINUTE_MS - 1);
  assert.equal(world.asked.length, 1);
  await world.time.pass(1);
  assert.equal(world.asked.length, 2);
});

test('a payment that is tried again each minute is no news for the coordinator, which is asked after 10 minutes', async () => {
  const world = new World();
  world.delays = ['inv-1'];
  await world.time.quiet();
  const tryAgain = async (): Promise<number> => {
    world.holds = ['inv-1'];
    await world.time.pass(MINUTE_MS);
    world.holds = [];
    await world.time.quiet();
    return world.told;
  };
  // After more than a minute, people see that it waits.
  const told = [await tryAgain(), await tryAgain()].at(-1);
  for (let minute = 3; minute < 10; minute += 1) await tryAgain();
  assert.deepEqual([world.sent.length, world.told, world.asked.length], [4 + 9, told, 1]);
  await world.time.pass(MINUTE_MS);
  assert.equal(world.asked.length, 2);
});

test('that a payment is accepted at a later try is news', async () => {
  const world = new World();
  world.delays = ['inv-1', 'inv-2'];
  await world.time.quiet();
  const { told } = world;
  world.delays = ['inv-1'];
  await world.time.pass(MINUTE_MS);
  assert.equal(world.told, told + 1);
  world.delays = [];
  await world.time.pass(MINUTE_MS);
  assert.ok(world.told > told + 1);
});

test('that the accepted payments cannot be followed is told, also after the run has given its go once more', async () => {
  const world = new World();
  world.followWait = {
    afterMs: 60 * MINUTE_MS,
    reason: 'configuration',
    problem: makeProblem('API_KEY_CHANGED', null),
  };
  await world.time.quiet();
  const codes = () => chunkStateOf(world.chunk.standing).waits.map(({ problem }) => problem.code);
  assert.deepEqual(codes(), ['API_KEY_CHANGED']);
  await world.tell(GO);
  assert.equal(world.asked.length, 2);
  assert.deepEqual(codes(), ['API_KEY_CHANGED']);
});

test('when everything is paid the chunk stays open until its run has ended', async () => {
  const world = await worldOf();
  await world.pay();
  await world.time.pass(60 * MINUTE_MS);
  assert.deepEqual(world.stages, ['paid', 'paid', 'paid', 'paid']);
  assert.equal(world.isEnded, false);
  await world.tell(OVER);
  assert.equal(world.isEnded, true);
  assert.equal(world.chunk.state.ended, true);
});

const HEARD_BY_ANOTHER: GoOf = { ...GO, runId: 'r2/c1' };

test('another run of the batch looks at what was paid once more, by one question, and sends nothing', async () => {
  const world = await worldOf();
  await world.pay();
  const before = [world.calls.length, world.polls.length];
  await world.tell(HEARD_BY_ANOTHER);
  assert.deepEqual(world.polls.slice(before[1]), [ALL.map((id) => [id, false])]);
  assert.equal(world.calls.length, before[0]);
  assert.deepEqual(world.stages, ['paid', 'paid', 'paid', 'paid']);
  await world.tell({ ...HEARD_BY_ANOTHER, wakes: 1 });
  assert.equal(world.polls.length, (before[1] ?? 0) + 1);
});

test('what has come back since it was paid is taken up by another run: people may want it paid again', async () => {
  const world = await worldOf();
  await world.pay();
  const before = world.calls.length;
  world.returned = ['inv-2'];
  world.holds = ['inv-2'];
  await world.tell(HEARD_BY_ANOTHER);
  assert.deepEqual(
    world.calls.slice(before).map(({ items }) => items.map(({ payment }) => payment.id)),
    [['inv-2']],
  );
  assert.deepEqual(world.stages, ['paid', 'unsent', 'paid', 'paid']);
});

test('a poll is told which payments were paid before and may have come back, and of no others', async () => {
  const world = await worldOf();
  await world.pay();
  assert.deepEqual(world.followedAnew, []);
  await world.tell(HEARD_BY_ANOTHER);
  assert.deepEqual(world.followedAnew, ['inv-1', 'inv-2', 'inv-3', 'inv-4']);
});

test('while its run can give no go, what has ended unpaid stays so, whatever else is asked', async () => {
  const world = new World();
  world.refuses = ['inv-2'];
  world.delays = ['inv-3'];
  await world.time.quiet();
  world.isWithoutGo = true;
  world.refuses = [];
  await world.tell(WAIT);
  await world.time.pass(10 * MINUTE_MS);
  assert.deepEqual(world.stages, ['accepted', 'not paid', 'unsent', 'accepted']);
  assert.deepEqual(
    world.sent.filter((id) => id === 'inv-2'),
    ['inv-2'],
  );
});

/** A payment has come back while the run of the chunk can give no go. */
async function cameBackWithoutAGo(): Promise<World> {
  const world = await worldOf({ go: { ...GO, released: ['EUR'] } });
  await world.pay();
  world.isWithoutGo = true;
  world.returned = ['inv-2'];
  await world.tell(WAIT);
  await world.time.pass(MINUTE_MS);
  return world;
}

test('what comes back while its run can give no go is taken up by the run that gives the next one', async () => {
  const world = await cameBackWithoutAGo();
  assert.deepEqual(world.stages, ['paid', 'failed', 'paid', 'unsent']);
  const before = world.sent.length;
  world.isWithoutGo = false;
  await world.tell(HEARD_BY_ANOTHER);
  assert.deepEqual(world.sent.slice(before).toSorted(), ['inv-2', 'inv-4']);
});

test('what comes back while its run cannot be asked is not paid again when that same run gives its go once more', async () => {
  const world = await cameBackWithoutAGo();
  world.isWithoutGo = false;
  const before = world.sent.length;
  await world.tell(GO);
  assert.deepEqual(world.sent.slice(before), ['inv-4']);
  assert.deepEqual(world.stages.slice(0, 3), ['paid', 'failed', 'paid']);
});

test('what is found to have come back in the run that looks for it ends there', async () => {
  const world = await worldOf();
  await world.pay();
  world.returned = ['inv-2'];
  await world.tell(HEARD_BY_ANOTHER);
  assert.deepEqual(world.stages, ['paid', 'failed', 'paid', 'paid']);
  const { length } = world.calls;
  await world.tell({ ...HEARD_BY_ANOTHER, wakes: 1 });
  assert.equal(world.calls.length, length);
});

test('what is paid is followed anew also while others are still followed', async () => {
  const world = await worldOf({ go: { ...GO, released: ['EUR'] } });
  await world.pay();
  world.returned = ['inv-1'];
  await world.tell({ ...HEARD_BY_ANOTHER, released: ['EUR'] });
  assert.deepEqual(world.stages, ['failed', 'paid', 'paid', 'unsent']);
});

test('a run that ends before it has given its go ends its chunk, and nothing was sent', async () => {
  const world = await worldOf({ go: WAIT });
  await world.tell(OVER);
  assert.equal(world.isEnded, true);
  assert.deepEqual(world.calls, []);
});

test('a chunk says whether its run has given a go and payments are open, of a run that was started again not before its go', async () => {
  const world = await worldOf({ go: { ...GO, released: ['EUR'] } });
  let answers: readonly GoAnswer[] = [{ kind: 'reopened', runId: 'r2/c1' }, OVER];
  await world.tell(async () => {
    const [answer = OVER] = answers;
    answers = answers.slice(1);
    return answer;
  });
  assert.deepEqual(
    world.asked.map(({ isOpen }) => isOpen),
    [false, true, false],
  );
  assert.equal(world.isEnded, true);
});

test('a run that has ended ends its chunk also while payments of it are open', async () => {
  const world = await worldOf({ go: { ...GO, released: ['EUR'] } });
  await world.tell(OVER);
  assert.equal(world.isEnded, true);
  assert.deepEqual(world.sent, EUR);
});

test('a chunk that is reset once its run has ended asks again, and goes on as the run that is started again says', async () => {
  const world = new World();
  world.refuses = ['inv-2'];
  await world.time.quiet();
  await world.pay();
  world.newestRunId = 'c2';
  world.refuses = [];
  const answers: GoAnswer[] = [OVER, { kind: 'reopened', runId: '/c2' }, { ...GO, runId: 'r2/c2' }];
  await world.tell(async () => {
    const next = answers.shift();
    if (next?.kind === 'go') world.go = next;
    return next ?? OVER;
  });
  assert.deepEqual(
    world.asked.map(({ heard }) => heard),
    [null, 'r1/c1', '/c1', '/c2'],
  );
  assert.deepEqual(world.sent, [...ALL, 'inv-2']);
  assert.deepEqual(world.stages, ['paid', 'paid', 'paid', 'paid']);
  assert.equal(world.isEnded, false);
});

test('a chunk whose reset has kept the answer which run it is asks once more', async () => {
  const world = new World({ runId: 'c2', originalRunId: 'c1' });
  world.newestRunId = 'c1';
  world.refuses = ['inv-2'];
  await world.time.quiet();
  await world.pay();
  world.refuses = [];
  const answers: GoAnswer[] = [
    { kind: 'over', runId: '/c1' },
    { kind: 'reopened', runId: '/c2' },
    { ...GO, runId: 'r2/c2' },
  ];
  await world.tell(async () => {
    const next = answers.shift();
    if (next?.kind === 'go') world.go = next;
    // What follows was asked after the reset.
    if (answers.length === 2) world.tellsThen = 'c2';
    return next ?? OVER;
  });
  assert.deepEqual(world.stages, ['paid', 'paid', 'paid', 'paid']);
  // Once before its run hears what has ended undone, and then twice.
  assert.deepEqual([world.tellRuns, world.isEnded], [3, false]);
});

test('what a chunk is told in the moment in which it ends is asked for: its run goes on, and counts on it', async () => {
  const world = await worldOf({ go: { ...GO, released: ['EUR'] } });
  // The run says that it is over, and is reset before that is heard: it goes on, and tells so.
  await world.tell(async () => {
    world.go = { ...GO, runId: 'r2/c1' };
    world.chunk.noteNews();
    return OVER;
  });
  assert.deepEqual([world.isEnded, world.tellRuns], [false, 0]);
  assert.deepEqual(world.sent, ALL);
});

test('a chunk that ends undone and was not reset stays ended', async () => {
  const world = new World();
  world.refuses = ['inv-2'];
  await world.time.quiet();
  await world.pay();
  await world.tell(OVER);
  assert.deepEqual([world.tellRuns, world.isEnded], [2, true]);
  assert.equal(world.sent.length, 4);
});

test('a chunk of which the plan knows other payments is refused, and nothing of it is sent', async () => {
  const world = await worldOf({ go: { kind: 'refused', problem: makeProblem('CHUNK_DIFFERS', null) } });
  const error = await world.end;
  assert.equal((error as { readonly code?: string }).code, 'CHUNK_DIFFERS');
  assert.deepEqual(world.calls, []);
});

test('a go that cannot be read is asked for again, ever later, and people see why', async () => {
  const world = await worldOf({ go: () => Promise.reject(new StepFailed('no memory')) });
  assert.equal(world.chunk.state.waiting?.problem.code, 'ACTIVITY_FAILED');
  await world.time.pass(MINUTE_MS);
  assert.equal(world.asked.length, 2);
  await world.time.pass(MINUTE_MS);
  assert.equal(world.asked.length, 2);
  world.go = GO;
  await world.time.pass(MINUTE_MS);
  assert.equal(world.chunk.state.waiting, null);
  assert.deepEqual(world.sent, ALL);
});

test('while nobody can say whether it has a go, what is on its way is followed, and people see why', async () => {
  const world = await worldOf();
  await world.tell(WAIT);
  assert.equal(world.chunk.state.waiting?.problem.code, 'CHUNK_WAITS');
  await world.pay();
  assert.deepEqual(world.stages, ['paid', 'paid', 'paid', 'paid']);
});

test('a chunk that was given no go for a moment asks again by itself soon, ever later, also when everything is paid', async () => {
  const world = await worldOf();
  await world.pay();
  await world.tell(WAIT);
  const before = world.asked.length;
  await world.time.pass(MINUTE_MS);
  assert.equal(world.asked.length, before + 1);
  await world.time.pass(2 * MINUTE_MS - 1);
  assert.equal(world.asked.length, before + 1);
  world.go = HEARD_BY_ANOTHER;
  await world.time.pass(1);
  assert.equal(world.asked.length, before + 2);
  assert.deepEqual(world.chunk.standing.heard, 'r2/c1');
  await world.time.pass(10 * MINUTE_MS - 1);
  assert.equal(world.asked.length, before + 2);
});

test('the coordinator hears that the chunk sends, that it has sent all, and that all is paid: not each payment', async () => {
  const world = await worldOf({ go: WAIT });
  assert.equal(world.told, 0);
  world.holds = ['inv-4'];
  await world.tell(GO);
  assert.deepEqual([world.sent.length, world.told], [4, 1]);
  world.holds = [];
  await world.time.pass(5 * MINUTE_MS);
  assert.equal(world.told, 2);
  await world.pay();
  assert.equal(world.told, 3);
  await world.time.pass(60 * MINUTE_MS);
  assert.equal(world.told, 3);
});

test('that a fresh chunk begins is no news; that it has sent all, and that all is paid, is', async () => {
  const world = await worldOf({ go: WAIT });
  world.holds = ['inv-4'];
  await world.tell({ ...GO, isFresh: true });
  assert.deepEqual([world.sent.length, world.told], [4, 0]);
  world.holds = [];
  await world.time.pass(5 * MINUTE_MS);
  assert.equal(world.told, 1);
  await world.pay();
  assert.equal(world.told, 2);
});

test('a fresh chunk tells at once that nothing of it can be sent, or that a payment waits', async () => {
  const idle = await worldOf({ go: { ...GO, isFresh: true, released: [] } });
  assert.equal(idle.told, 1);
  const waiting = new World({ go: { ...GO, isFresh: true } });
  waiting.refuses = ['inv-2'];
  waiting.holds = ['inv-3'];
  await waiting.time.quiet();
  assert.deepEqual([waiting.sent.length, waiting.told], [3, 1]);
});

test('another run that is heard of is told also by a fresh chunk', async () => {
  const world = await worldOf({ go: { ...GO, isFresh: true } });
  await world.pay();
  const before = world.told;
  await world.tell({ ...GO, isFresh: true, runId: 'r2/c1' });
  assert.equal(world.told, before + 2, 'that it has heard of it, and that all of it is paid still');
});

test('its go says how many payments are one call', async () => {
  const payments = Array.from({ length: 120 }, (_, index): BatchPayment => [
    `p-${index}`,
    'wac_1',
    'EUR',
    '1',
  ]);
  for (const [callSize, sizes] of [
    [25, [25, 25, 25, 25, 20]],
    [36, [36, 36, 36, 12]],
  ] as const) {
    const world = await worldOf({ payments, go: { ...GO, callSize } });
    assert.deepEqual(
      world.calls.map(({ items }) => items.length),
      sizes,
    );
  }
});

test('the coordinator hears of a refusal while the next payments are still being sent', async () => {
  const world = new World();
  world.refuses = ['inv-2'];
  world.holds = ['inv-3'];
  await world.time.quiet();
  assert.deepEqual([world.sent.length, world.told], [3, 2]);
});

test('a chunk that reaches a rule of the batch by itself sends nothing more before it has heard of the batch', async () => {
  const world = new World({ go: { ...GO, rules: FAILED_2 } });
  world.refuses = ['inv-1', 'inv-2'];
  await world.time.quiet();
  assert.deepEqual(world.sent, ['inv-1', 'inv-2']);
  const { told } = world;
  assert.ok(told > 0, 'The coordinator was not told.');
  await world.tell({ ...STOPPED, rules: FAILED_2 });
  assert.deepEqual(world.sent, ['inv-1', 'inv-2']);
  assert.deepEqual(world.unwanted, [
    ['inv-3', 'BATCH_STOPPED'],
    ['inv-4', 'BATCH_STOPPED'],
  ]);
});

test('a chunk at a rule that hears of another run, which releases nothing yet, sends nothing until it does', async () => {
  const world = new World({ go: { ...GO, rules: FAILED_2 } });
  world.refuses = ['inv-1', 'inv-2'];
  await world.time.quiet();
  world.refuses = [];
  const other = { ...GO, runId: 'r2/c1', rules: FAILED_2 };
  await world.tell({ ...other, released: [] });
  assert.deepEqual(world.sent, ['inv-1', 'inv-2']);
  assert.equal(world.isEnded, false);
  await world.tell(other);
  assert.deepEqual(world.sent, ['inv-1', 'inv-2', ...ALL]);
  assert.deepEqual(world.stages, ['accepted', 'accepted', 'accepted', 'accepted']);
});

test('under another run of the batch what was not paid is tried again, and nothing that was accepted', async () => {
  const world = new World({ go: { ...GO, released: ['EUR'] } });
  world.refuses = ['inv-2'];
  await world.time.quiet();
  await world.tell({ ...STOPPED, released: ['EUR'] });
  world.refuses = [];
  await world.tell({ ...GO, runId: 'r2/c1' });
  assert.deepEqual(world.sent, [...EUR, 'inv-2', 'inv-4']);
  assert.deepEqual(world.stages, ['accepted', 'accepted', 'accepted', 'accepted']);
});

/** A chunk that has sent what is released, one of which was refused, and ends its history, which has grown long. */
async function grownLong(): Promise<World> {
  const world = new World({ go: { ...GO, released: ['EUR'] } });
  world.refuses = ['inv-2'];
  await world.time.quiet();
  world.historyIsLong = true;
  await world.tell({ ...GO, released: ['EUR'], wakes: 1 });
  return world;
}

test('a chunk whose history has grown long goes on in a new one, and tries nothing again that was refused', async () => {
  const first = await grownLong();
  assert.ok((await first.end) instanceof HistoryIsLong);
  const next = await worldOf({
    go: { ...GO, runId: 'r1/c2' },
    runId: 'c2',
    carried: first.chunk.handOn(),
  });
  assert.equal(next.asked[0]?.isContinued, true);
  assert.deepEqual(next.sent, ['inv-4']);
  assert.deepEqual(next.stages, ['accepted', 'not paid', 'accepted', 'accepted']);
  const { refusals, unpaid } = chunkStateOf(next.chunk.standing);
  assert.deepEqual(refusals, { refused: 1, sent: 4, inARow: null });
  assert.deepEqual(unpaid, [{ code: 'ACCOUNT_CLOSED', payments: 1 }]);
  assert.equal(next.chunk.holds(ALL).isFirst, false);
});

test('a chunk that goes on in a new history tells the trace ids of what the one before has sent', async () => {
  const first = await grownLong();
  const next = await worldOf({ go: { ...OVER, runId: '/c2' }, runId: 'c2', carried: first.chunk.handOn() });
  assert.deepEqual(reportPage(next.chunk.state, 0).traceIds, ['trace-inv-1', null, 'trace-inv-3', null]);
});

for (const [what, shows, kinds] of [
  ['it shows all as paid', {}, ['paid', 'paid', 'paid', 'failed']],
  [
    'it shows one as returned, and another one not at all',
    { 'inv-1': 'RETURNED', 'inv-2': 'nothing' },
    ['failed', 'unsent', 'paid', 'failed'],
  ],
] as const)
  test(`a chunk that goes on in a new history as its run ends reports what the one before knew, where the service shows it: ${what}`, async () => {
    const first = await worldOf();
    first.returned = ['inv-4'];
    await first.pay();
    first.historyIsLong = true;
    await first.tell(OVER);
    assert.ok((await first.end) instanceof HistoryIsLong);
    const next = await worldOf({
      go: { ...OVER, runId: '/c2' },
      runId: 'c2',
      carried: first.chunk.handOn(),
      shows: {
        'inv-1': 'COMPLETED',
        'inv-2': 'COMPLETED',
        'inv-3': 'COMPLETED',
        'inv-4': 'RETURNED',
        ...shows,
      },
    });
    assert.equal(next.isEnded, true);
    assert.deepEqual(
      next.chunk.state.payments.map(({ stage }) => stage.kind),
      kinds,
    );
    const { paid, notPaid } = chunkStateOf(next.chunk.standing).counts;
    const countOf = (kind: string): number => kinds.filter((each) => each === kind).length;
    assert.deepEqual([paid, notPaid], [countOf('paid'), countOf('failed')]);
    assert.deepEqual(next.calls, []);
    // What is not there after all is open: it asks whether its run starts again, once.
    assert.deepEqual(
      next.asked.map(({ isOpen }) => isOpen),
      countOf('unsent') > 0 ? [false, true] : [false],
    );
  });

test('a chunk that goes on from a history which has handed nothing on is no first one: all of it is open, and its run starts again', async () => {
  const waits = await worldOf({ go: WAIT, runId: 'c2', firstRunId: 'c1' });
  assert.deepEqual([waits.asked[0]?.isContinued, waits.asked[0]?.isOpen], [true, true]);
  assert.equal(waits.chunk.holds(null).isFirst, false);
  const reopened = { kind: 'reopened', runId: '/c2' } as const;
  let asked = 0;
  const next = await worldOf({
    go: async () => ((asked += 1) === 1 ? reopened : { ...GO, runId: 'r2/c2' }),
    runId: 'c2',
    firstRunId: 'c1',
  });
  assert.deepEqual(next.sent, ALL);
});

/** Everybody was paid. The chunk goes on in a new history, and `inv-1` has come back. */
async function wentOnPaid(go: GoOf): Promise<World> {
  const first = await worldOf();
  await first.pay();
  first.historyIsLong = true;
  await first.tell({ ...GO, wakes: 1 });
  const shows = { 'inv-2': 'COMPLETED', 'inv-3': 'COMPLETED', 'inv-4': 'COMPLETED' } as const;
  const more = {
    runId: 'c2',
    carried: first.chunk.handOn(),
    shows: { 'inv-1': 'RETURNED', ...shows },
  } as const;
  return worldOf({ go, ...more });
}

test('a new history is no other run: what is paid stays so, and what has come back ends and is not taken up', async () => {
  const next = await wentOnPaid({ ...GO, runId: 'r1/c2' });
  assert.deepEqual(next.stages, ['failed', 'paid', 'paid', 'paid']);
  assert.deepEqual([next.polls, next.calls], [[], []]);
});

test('what has come back by the first go of a new history is taken up where another run gives that go', async () => {
  const next = await wentOnPaid({ ...GO, runId: 'r2/c2' });
  assert.deepEqual(next.sent, ['inv-1']);
});

test('a chunk that goes on in a new history says in its first question whether anything is open', async () => {
  const first = await grownLong();
  const next = await worldOf({ go: WAIT, runId: 'c2', carried: first.chunk.handOn() });
  assert.equal(next.asked[0]?.isOpen, true);
  const done = await worldOf();
  await done.pay();
  done.historyIsLong = true;
  await done.tell(OVER);
  const other = await worldOf({ go: WAIT, runId: 'c2', carried: done.chunk.handOn() });
  assert.equal(other.asked[0]?.isOpen, false);
});

test('opened again after such an end it pays by the new go, and nothing that the one before knew as paid', async () => {
  const first = new World({ go: { ...GO, released: ['EUR'] } });
  first.refuses = ['inv-2'];
  await first.time.quiet();
  first.historyIsLong = true;
  await first.tell(OVER);
  // It was reset since: it hears of the end as the one before.
  let asked = 0;
  const next = await worldOf({
    go: async () => ((asked += 1) === 1 ? { ...OVER, runId: '/c2' } : { ...GO, runId: 'r2/c3' }),
    runId: 'c3',
    carried: first.chunk.handOn(),
  });
  assert.deepEqual(next.sent, ['inv-2', 'inv-4']);
});

test('a chunk that goes on once more before it has a go forgets nothing', async () => {
  const first = await worldOf({ go: { ...GO, released: ['EUR'] } });
  first.historyIsLong = true;
  await first.tell({ ...GO, released: ['EUR'], wakes: 1 });
  const second = new World({ go: WAIT, runId: 'c2', carried: first.chunk.handOn() });
  await second.time.quiet();
  second.historyIsLong = true;
  await second.tell(WAIT);
  assert.ok((await second.end) instanceof HistoryIsLong);
  const third = await worldOf({
    go: { ...GO, runId: 'r1/c3' },
    runId: 'c3',
    carried: second.chunk.handOn(),
  });
  assert.deepEqual(third.sent, ['inv-4']);
});

test('a chunk that goes on in a new history reports before its go, and tells other runs, what the one before knew', async () => {
  const first = await grownLong();
  const next = new World({ go: WAIT, runId: 'c2', carried: first.chunk.handOn() });
  await next.time.quiet();
  const known = [
    ['inv-1', 'PENDING', 'wtd_inv-1'],
    ['inv-3', 'PENDING', 'wtd_inv-3'],
  ];
  const { hasPlan, isFirst, items } = next.chunk.holds(null);
  assert.deepEqual({ hasPlan, isFirst, items }, { hasPlan: true, isFirst: false, items: known });
  assert.deepEqual(
    next.chunk.state.payments.map(({ stage }) => stage.kind),
    ['accepted', 'not paid', 'accepted', 'unsent'],
  );
  next.historyIsLong = true;
  await next.tell(WAIT);
  const third = await worldOf({ go: WAIT, runId: 'c3', carried: next.chunk.handOn() });
  assert.deepEqual(third.chunk.holds(null).items, known);
});

test('before its go, a chunk that was reset or started again may hold more than it tells', async () => {
  const first = await grownLong();
  const carried = first.chunk.handOn();
  const reset = new World({ go: WAIT, runId: 'c3', originalRunId: 'c2', carried });
  await reset.time.quiet();
  assert.equal(reset.chunk.holds(null).hasPlan, false);
  reset.historyIsLong = true;
  await reset.tell(WAIT);
  const next = await worldOf({ go: WAIT, runId: 'c4', carried: reset.chunk.handOn() });
  const { hasPlan, items } = next.chunk.holds(null);
  assert.deepEqual([hasPlan, items.length], [false, 2]);
  await next.tell({ ...GO, runId: 'r1/c4' });
  assert.equal(next.chunk.holds(null).hasPlan, true);
  const again = await worldOf({ go: WAIT, isFirst: false });
  const told = again.chunk.holds(null);
  assert.deepEqual([told.hasPlan, told.isFirst], [false, false]);
});

test('a chunk that was reset and goes on before it asks for its go asks as one that was reset', async () => {
  const reset = await worldOf({ runId: 'c2', originalRunId: 'c1', go: { ...GO, runId: 'r1/c1' } });
  reset.historyIsLong = true;
  await reset.tell(GO);
  const next = await worldOf({ go: WAIT, runId: 'c3', carried: reset.chunk.handOn() });
  assert.equal(next.asked[0]?.originalRunId, 'c1');
  assert.equal(next.asked[0].wasReset, true);

  const heard = await worldOf({ runId: 'c2', originalRunId: 'c1', go: { ...GO, runId: 'r1/c2' } });
  heard.historyIsLong = true;
  await heard.tell(GO);
  const other = await worldOf({ go: WAIT, runId: 'c3', carried: heard.chunk.handOn() });
  assert.equal(other.asked[0]?.originalRunId, 'c3');
  // What stood against its payments when the plan was made may have changed: this holds in every later history.
  assert.equal(other.asked[0].wasReset, true);
  const last = await worldOf({ runId: 'c4', go: { ...GO, runId: 'r1/c4' }, carried: other.chunk.handOn() });
  assert.equal(last.asked[0]?.wasReset, true);
});

test('counts tell what was sent from what was only found, and what waits from what goes on', async () => {
  const { chunk } = await worldOf();
  const [accepted = assert.fail('The chunk has no payment.')] = chunk.standing.payments;
  const unsent = (reason: 'money' | 'service') => ({
    ...accepted,
    stage: { kind: 'unsent' as const, state: NEW_PAYMENT, release: null, needsHuman: false },
    waiting: { reason, problem: makeProblem('CHUNK_WAITS', null), wakeAtMs: 0 },
  });
  const payments = [
    { ...accepted, traceId: 'trace-1' },
    { ...accepted, traceId: null },
    unsent('money'),
    unsent('service'),
  ];
  const counts = { planned: 4, accepted: 2, paid: 0, notPaid: 0, needsHuman: 0, open: 4, sent: 1 };
  assert.deepEqual(countsIn({ payments, waiting: null }), { ...counts, waiting: 1 });
  const { waiting } = unsent('money');
  assert.deepEqual(countsIn({ payments, waiting }), { ...counts, waiting: 2 });
});
