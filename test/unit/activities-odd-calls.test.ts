/**
 * Whoever may write to the namespace can call an activity with anything. Whatever that is, the call fails or waits, sends nothing,
 * and leaves no promise behind whose rejection would end the process of the worker.
 */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { createActivities } from '../../activities/index.ts';
import type { Deps } from '../../activities/deps.ts';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { inActivity, instructionsOf, worker } from '../support/activities.ts';
import { LEG, PAYMENT, RUN, context } from '../support/scripts.ts';

/** As the real ones read what they are asked with. */
const reads = (mode: string, { policy, id }: typeof RUN): string => `${mode.toLowerCase()}/${policy}.${id}`;
const INSTRUCTIONS: Deps['instructions'] = {
  ...instructionsOf(),
  read: async (mode, run) => {
    reads(mode, run);
    return instructionsOf().read(mode, run);
  },
};

const PROTO: unknown = JSON.parse('{"__proto__":{"mode":"SANDBOX"},"constructor":{"prototype":{}}}');
const { plan } = context();
const WHOLE = {
  plan,
  mode: 'SANDBOX',
  run: RUN,
  leg: LEG,
  state: NEW_LEG,
  items: [{ payment: PAYMENT, wanted: { amount: '1.00', ahead: '0', unwanted: null }, state: NEW_PAYMENT }],
  number: 1,
  othersAccepted: false,
  tradedSoFar: [],
  unwanted: null,
  twinIds: [],
  follows: 'none',
};

const ODD: readonly unknown[] = [
  undefined,
  null,
  -1,
  Number.NaN,
  '',
  '__proto__',
  '9'.repeat(100_000),
  [null],
  {},
  PROTO,
  { length: 1e9 },
];

/** The same with each of its fields, and each of theirs, replaced by something odd. */
function* oddOf(value: unknown, depth = 4): Generator {
  yield* ODD;
  if (typeof value !== 'object' || value === null || depth === 0) return;
  for (const [field, inner] of Object.entries(value))
    for (const odd of oddOf(inner, depth - 1))
      yield Array.isArray(value) ? value.with(Number(field), odd) : { ...value, [field]: odd };
}

const SENDS = ['createQuote', 'createTrade', 'createWithdrawal'] as const;

/** What rejections nobody awaits while `work` goes on, each of which ends a process. */
async function leftBehind(work: () => Promise<void>): Promise<readonly unknown[]> {
  const left: unknown[] = [];
  const note = (error: unknown): void => void left.push(error);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  try {
    await work();
    await setImmediate();
  } finally {
    process.off('unhandledRejection', note);
    for (const other of others) process.on('unhandledRejection', other);
  }
  return left;
}

for (const name of Object.keys(createActivities(worker().deps)))
  test(`\`${name}\`, called with anything, ends by itself and leaves nothing behind`, async () => {
    const { deps, sent } = worker(
      {},
      {
        instructions: INSTRUCTIONS,
        // Nobody's folder allows what a stranger makes up.
        gate: {
          quote: async () => ({ kind: 'NOT_SENT', reason: 'not allowed', notAllowed: 'NOT_ALLOWED' }),
          send: async () => ({ kind: 'NOT_SENT', reason: 'not allowed', notAllowed: 'NOT_ALLOWED' }),
          ceilingsUsed: async () => [],
        },
      },
    );
    const activities: Readonly<Record<string, (call: never) => Promise<unknown>>> = {
      ...createActivities(deps),
    };
    const activity = activities[name];
    assert.ok(activity !== undefined);
    const left = await leftBehind(async () => {
      for (const call of oddOf(WHOLE))
        // One after the other.
        await inActivity({}, () => activity(call as never)).catch((error: unknown) => {
          assert.ok(error instanceof Error, String(error));
        });
    });
    assert.deepEqual(left, []);
    for (const operation of SENDS) assert.equal(sent(operation).length, 0);
    assert.equal(({} as { mode?: unknown }).mode, undefined);
  });
