/** Other runs of ours are asked which records are theirs: those that cannot answer must not hold up a write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { LegOutcome, PaymentOutcome } from '../../domain/run/items.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import type { Holds } from '../../domain/run/claims.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';

const RUN = { policy: 'p', id: '2026-11-21' };
const RECORD: Withdrawal = {
  id: 'wtd_1',
  currency: 'MXN',
  withdrawalAmount: '17250',
  status: 'PENDING',
  withdrawalAccountId: 'wac_1',
  createdAt: '2026-11-21T09:00:00.000Z',
  tag: null,
};

/** A Temporal that shows `count` other open runs; `answer` is what a question to the one with this number comes to. */
function temporalWith(count: number, answer: (index: number) => Promise<Holds>): Client {
  const infos = Array.from({ length: count }, (_, index) => ({
    workflowId: `sandbox/q${index}.2026-11-21`,
    runId: `open-${count}-${index}`,
    type: 'run',
    status: { name: 'RUNNING' },
    startTime: new Date('2026-11-21T08:00:00Z'),
  }));
  const client = {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: {
      async *list() {
        yield* infos;
      },
      getHandle: (_id: string, runId: string) => ({
        query: () => answer(infos.findIndex((info) => info.runId === runId)),
      }),
    },
  };
  return client as unknown as Client;
}

/** Whose the record is. */
const ask = async (client: Client) =>
  (await claimsOf(client).whose({ mode: 'SANDBOX', run: RUN }, [RECORD], 5_000))[0]?.by;

const holds = (...items: Holds['items']): Holds => ({
  runId: 'r',
  heard: null,
  isFirst: false,
  hasPlan: true,
  items,
});

/** Begun before all tests, so that they are waited for side by side with others. */
const slow = askSlowRuns();

async function askSlowRuns() {
  let asked = 0;
  const client = temporalWith(200, async () => {
    asked += 1;
    await delay(2_600);
    throw new Error('nobody answers');
  });
  return { found: await ask(client), asked };
}

test('a run among many that have no worker still accounts for its record', async () => {
  const client = temporalWith(15, async (index) => {
    if (index !== 12) throw new Error('nobody answers');
    return holds(['supplier', 'PAID', RECORD.id]);
  });
  assert.deepEqual(await ask(client), { kind: 'item', run: 'q12.2026-11-21', item: 'supplier' });
});

test('a run that answers in another form counts as one that does not answer', async () => {
  for (const answer of [null, { ...holds(), items: [['supplier', 'PAID']] }, { ...holds(), more: true }]) {
    const by = await ask(temporalWith(1, async () => answer as Holds));
    assert.deepEqual(by, { kind: 'silent', runs: [{ policy: 'q0', id: '2026-11-21' }] });
  }
});

test('runs that take their time are not all waited for', async () => {
  const { found, asked } = await slow;
  assert.equal(found?.kind === 'silent' ? found.runs.length : found?.kind, 200);
  assert.ok(asked < 100, `${asked} were asked, one batch after the other.`);
});

/** Another run: what it tells, and when it was started; null where it does not answer. */
type Other = {
  readonly payments?: readonly { readonly outcome: PaymentOutcome; readonly withdrawalId: string | null }[];
  readonly legs?: readonly { readonly outcome: LegOutcome }[];
  readonly answers?: boolean;
  readonly hasPlan?: boolean;
  readonly id?: string;
  readonly startsAt?: string;
  /** By Temporal. */
  readonly status?: string;
  /** It was started again, or reset, and Temporal shows its first Temporal run too. */
  readonly isAgain?: boolean;
};

let temporals = 0;

/** A Temporal that shows this run, started at eight, and another one of its policy. */
function temporalBeside(other: Other): Client {
  const { payments = [], legs = [], answers = true, hasPlan = true, isAgain = false } = other;
  const { id = '2026-11-21-second', status = 'COMPLETED', startsAt = '2026-11-21T09:00:00Z' } = other;
  temporals += 1;
  const infos = [
    {
      workflowId: `sandbox/p.${id}`,
      type: 'run',
      runId: `other-${temporals}`,
      startTime: new Date(startsAt),
      status: { name: status },
    },
    ...(isAgain
      ? [
          {
            workflowId: `sandbox/p.${id}`,
            runId: 'before',
            startTime: new Date('2026-11-21T08:30:00Z'),
            status: { name: 'TERMINATED' },
          },
        ]
      : []),
    // The one that asks, reset since.
    { workflowId: 'sandbox/p.2026-11-21', runId: 'reset', startTime: new Date('2026-11-21T12:00:00Z') },
    { workflowId: 'sandbox/p.2026-11-21', runId: 'first', startTime: new Date('2026-11-21T08:00:00Z') },
  ];
  const items: Holds['items'] = [
    ...payments.map(({ outcome, withdrawalId }) => ['supplier', outcome, withdrawalId] as const),
    ...legs.map(({ outcome }) => ['usd-mxn-1', outcome, null] as const),
  ];
  const client = {
    withDeadline: (_deadline: number, question: () => Promise<unknown>) => question(),
    workflow: {
      async *list() {
        yield* infos;
      },
      getHandle: (workflowId: string) => ({
        describe: async () => {
          if (!hasPlan) throw new WorkflowNotFoundError('unknown', workflowId, undefined);
          return { runId: 'plan', status: { name: 'COMPLETED' }, type: 'plan' };
        },
        query: async () => {
          if (!answers) throw new Error('nobody answers');
          return { ...holds(...items), hasPlan: items.length > 0 };
        },
      }),
    },
  };
  return client as unknown as Client;
}

const SECOND = 'p.2026-11-21-second';
const OTHERS: readonly (readonly [
  what: string,
  other: Other,
  rival: string | null,
  silent: string | null,
])[] = [
  ['has paid it', { payments: [{ outcome: 'PAID', withdrawalId: 'wtd_1' }] }, SECOND, null],
  ['follows it', { payments: [{ outcome: 'PENDING', withdrawalId: 'wtd_1' }] }, SECOND, null],
  [
    'has it in a person’s hands',
    { payments: [{ outcome: 'NEEDS_HUMAN', withdrawalId: null }] },
    SECOND,
    null,
  ],
  ['has traded it', { legs: [{ outcome: 'TRADED' }] }, SECOND, null],
  ['has ended it unpaid', { payments: [{ outcome: 'NOT_PAID', withdrawalId: null }] }, null, null],
  ['has not sent it', { payments: [{ outcome: 'PENDING', withdrawalId: null }] }, null, null],
  ['has nothing to do', {}, null, null],
  ['has read no plan yet, and may go on with an earlier one', { status: 'RUNNING' }, null, SECOND],
  ['has ended without having read a plan', { status: 'FAILED' }, null, null],
  [
    'has ended without having read its plan again, and may have done it before',
    { status: 'FAILED', isAgain: true },
    null,
    SECOND,
  ],
  ['has read no plan yet, and never had one', { status: 'RUNNING', hasPlan: false }, null, null],
  [
    'has paid it on another date',
    { id: '2026-11-22', payments: [{ outcome: 'PAID', withdrawalId: 'wtd_1' }] },
    null,
    null,
  ],
  [
    'had paid it before this one was started',
    { startsAt: '2026-11-21T07:00:00Z', payments: [{ outcome: 'PAID', withdrawalId: 'wtd_1' }] },
    null,
    null,
  ],
  ['does not answer', { answers: false }, null, SECOND],
  ['does not answer, and never had a plan', { answers: false, hasPlan: false }, null, null],
  [
    'does not answer, and was started before this one',
    { answers: false, startsAt: '2026-11-21T07:00:00Z' },
    null,
    null,
  ],
];
for (const [what, other, rival, silent] of OTHERS)
  test(`another run of the policy ${what}: ${rival === null && silent === null ? 'it may be sent here' : 'it is not sent here'}`, async () => {
    const item = (other.legs ?? []).length > 0 ? 'usd-mxn-1' : 'supplier';
    assert.deepEqual(await claimsOf(temporalBeside(other)).rival({ mode: 'SANDBOX', run: RUN }, item), {
      rival,
      silent,
    });
  });
