/** What people said, where the money leaves: it is read before every write, and nothing leaves without it (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptInstruction } from '../../activities/accept-instruction.ts';
import { clockSkew } from '../../activities/clock-skew.ts';
import { createWithdrawals } from '../../activities/create-withdrawals.ts';
import { InstructionsFewer, InstructionsMissing, type Deps } from '../../activities/deps.ts';
import { executeTrade } from '../../activities/execute-trade.ts';
import { recordInstruction } from '../../activities/record-instruction.ts';
import { requestQuote } from '../../activities/request-quote.ts';
import type { Instruction } from '../../domain/people/instructions.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { InstructionsPaused, InstructionsUnreadable } from '../../durable/instructions/read.ts';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { inActivity, instructionsOf, page, worker } from '../support/activities.ts';
import { kept, said } from '../support/instructions.ts';
import { IN_HAND, LEG, NOT_SENT, NOW, PAYMENT, RUN, context, done, failed } from '../support/scripts.ts';

const HEAD = { plan: context().plan };
const QUOTED = {
  ...NEW_LEG,
  knownIn: 'run-1',
  knownAtMs: NOW,
  quote: IN_HAND,
};
const LEG_CALL = {
  ...HEAD,
  leg: LEG,
  state: QUOTED,
  othersAccepted: false,
  tradedSoFar: [],
  unwanted: null,
  follows: 'none' as const,
};
const WANTED = { amount: '17250.00', ahead: '0', unwanted: null };
const PAYMENTS = {
  ...HEAD,
  items: [{ payment: PAYMENT, wanted: WANTED, state: NEW_PAYMENT }],
  othersAccepted: false,
  tradedSoFar: [],
  unwanted: null,
  follows: 'none' as const,
  twinIds: [],
};

for (const [what, error, code] of [
  ['missing', new InstructionsMissing(), 'INSTRUCTIONS_MISSING'],
  ['less than before', new InstructionsFewer(1, kept()), 'INSTRUCTIONS_FEWER'],
  ['paused', new InstructionsPaused('sandbox/p.2026-11-21/instructions', kept()), 'INSTRUCTIONS_PAUSED'],
  [
    'not readable',
    new InstructionsUnreadable('sandbox/p.2026-11-21/instructions', kept()),
    'INSTRUCTIONS_UNREADABLE',
  ],
] as const)
  test(`where what people said is ${what} nothing is asked of the service, and a person is told`, async () => {
    const read = () => Promise.reject(error);
    const { deps, requests } = worker({}, { instructions: { ...instructionsOf(), read } });
    const steps = await inActivity({}, async () => [
      (await requestQuote(deps)({ ...LEG_CALL, state: NEW_LEG })).step,
      (await executeTrade(deps)(LEG_CALL)).step,
      (await createWithdrawals(deps)(PAYMENTS)).items[0]?.step,
    ]);
    for (const step of steps) {
      assert.ok(step?.kind === 'wait' || step?.kind === 'stopped');
      assert.equal(step.wait.reason, 'person');
      assert.equal(step.wait.problem.code, code);
    }
    assert.deepEqual(requests, []);
  });

test('a second attempt that may send nothing tells that the first one may have sent', async () => {
  const read = () => Promise.reject(new InstructionsMissing());
  const { deps } = worker({}, { instructions: { ...instructionsOf(), read } });
  const known = { ...NEW_PAYMENT, knownIn: 'run-1' };
  const calls = { ...PAYMENTS, items: [{ payment: PAYMENT, wanted: WANTED, state: known }] };
  for (const [attempt, mayHaveSent] of [
    [1, false],
    [2, true],
  ] as const) {
    const [leg, payment] = await inActivity({ attempt }, async () => [
      (await executeTrade(deps)(LEG_CALL)).step,
      (await createWithdrawals(deps)(calls)).items[0]?.step,
    ]);
    assert.ok(leg?.kind === 'stopped' && payment?.kind === 'wait');
    assert.equal(leg.mayHaveSent, mayHaveSent);
    assert.equal(payment.state.knownIn, mayHaveSent ? null : 'run-1');
    assert.equal(payment.state.sent, mayHaveSent);
  }
});

test('where what people said cannot be read the call says so, and sends nothing', async () => {
  const read = () => Promise.reject(new Error('Temporal is away.'));
  const { deps, requests } = worker({}, { instructions: { ...instructionsOf(), read } });
  const { items } = await inActivity({}, () => createWithdrawals(deps)(PAYMENTS));
  const leg = await inActivity({}, () => executeTrade(deps)(LEG_CALL));
  assert.ok(items[0]?.step.kind === 'wait' && leg.step.kind === 'stopped', 'neither waits');
  for (const { wait } of [items[0].step, leg.step]) assert.equal(wait.problem.code, 'ACTIVITY_FAILED');
  assert.equal(items[0].step.state.doubt, null);
  assert.equal(leg.step.mayHaveSent, false);
  assert.deepEqual(requests, []);
});

/** A worker whose lookup takes `lookupMs`, in which somebody may cancel. */
function slowly(lookupMs: number, isCancelled: boolean) {
  let monotonicMs = 0;
  const look = async () => {
    monotonicMs += lookupMs;
    return page<Withdrawal>();
  };
  const read: Deps['instructions']['read'] = async () =>
    monotonicMs > 0 && isCancelled ? kept({ kind: 'cancel' }) : kept();
  return worker(
    { listWithdrawals: look },
    {
      clock: { wallMs: () => NOW, monotonicMs: () => monotonicMs },
      instructions: { ...instructionsOf(), read },
    },
  );
}

test('no write leaves more than ten seconds after what people said was read, unless they have said nothing since', async () => {
  for (const [lookupMs, isCancelled, sends] of [
    [0, false, 1],
    [11_000, false, 1],
    [11_000, true, 0],
  ] as const) {
    const { deps, sent } = slowly(lookupMs, isCancelled);
    const { items } = await inActivity({ attempt: 2 }, () => createWithdrawals(deps)(PAYMENTS));
    assert.equal(sent('createWithdrawal').length, sends, `${lookupMs} ${isCancelled}`);
    assert.equal(items[0]?.step.kind, sends === 1 ? 'accepted' : 'wait');
  }
});

test('what people said counts from when it began to be read, however late Temporal answers', async () => {
  for (const [answerMs, step] of [
    [6_000, 'accepted'],
    [8_000, 'wait'],
  ] as const) {
    let monotonicMs = 0;
    let reads = 0;
    const read = async () => {
      reads += 1;
      // The first answer is there at once; it is too old once the lookup has taken its time.
      if (reads > 1) monotonicMs += answerMs;
      return kept();
    };
    const listWithdrawals = async () => {
      monotonicMs += 8_000;
      return page<Withdrawal>();
    };
    const clock = { wallMs: () => NOW, monotonicMs: () => monotonicMs };
    const { deps } = worker({ listWithdrawals }, { clock, instructions: { ...instructionsOf(), read } });
    const { items } = await inActivity({ attempt: 2 }, () => createWithdrawals(deps)(PAYMENTS));
    assert.deepEqual([items[0]?.step.kind, reads], [step, 2], String(answerMs));
  }
});

const PAY_AGAIN = said({ kind: 'pay again', item: 'supplier', follows: 1, recordId: null });
const CANCEL = said({ kind: 'cancel' });

test('an instruction gets the moment and the UTC date of a worker whose clock agrees with the service’s', async () => {
  clockSkew.tell(0);
  const { deps } = worker();
  const recorded = await inActivity({}, () => acceptInstruction(deps)({ instruction: PAY_AGAIN }));
  assert.deepEqual(recorded, {
    ...PAY_AGAIN,
    atMs: NOW,
    date: new Date(NOW).toISOString().slice(0, 10),
  });
});

test('with a clock that is wrong, or that nobody can compare, only what stops or starts sending is accepted', async () => {
  const apart = done({ aggregateUsd: '1', balances: [] }, { serviceTimeMs: NOW + 60_000 });
  const apartToo = failed('AUTH_TOKEN_INVALID', { facts: { serviceTimeMs: NOW + 60_000 } });
  for (const [answer, code] of [
    [apart, 'CLOCK_SKEW'],
    [apartToo, 'CLOCK_SKEW'],
    [NOT_SENT, 'NOT_SENT'],
  ] as const) {
    const { deps } = worker({ balances: async () => answer });
    await assert.rejects(
      inActivity({}, () => acceptInstruction(deps)({ instruction: PAY_AGAIN })),
      { type: code, nonRetryable: true },
    );
    const recorded = await inActivity({}, () => acceptInstruction(deps)({ instruction: CANCEL }));
    assert.equal(recorded.id, CANCEL.id);
  }
  clockSkew.tell(0);
});

test('a cancel that comes by Temporal’s button is kept, unless somebody has said it already', async () => {
  const press = { kind: 'cancel', by: 'Temporal', why: 'Cancel was pressed' } as const;
  const goOn = { kind: 'go-on', item: null } as const;
  const missing = () => Promise.reject(new InstructionsMissing());
  for (const [read, isKept] of [
    [async () => kept(), true],
    [async () => kept({ kind: 'cancel' }), false],
    [async () => kept({ kind: 'cancel' }, goOn), true],
    [async () => kept({ kind: 'cancel' }, goOn, { kind: 'cancel' }), false],
    [missing, true],
  ] as const) {
    const recorded: Instruction[] = [];
    const record: Deps['instructions']['record'] = async (_mode, _run, instruction) =>
      void recorded.push(instruction);
    const { deps } = worker({}, { instructions: { ...instructionsOf(), read, record } });
    await inActivity({}, () => recordInstruction(deps)({ mode: 'SANDBOX', run: RUN, instruction: press }));
    assert.deepEqual(recorded, isKept ? [{ ...press, id: 'cancel-run-1' }] : []);
  }
});

test('where it cannot be told whether a cancel was said, it is asked again', async () => {
  const read = () => Promise.reject(new Error('Temporal is away.'));
  const { deps } = worker({}, { instructions: { ...instructionsOf(), read } });
  const instruction = { kind: 'cancel', by: 'Temporal', why: 'Cancel was pressed' } as const;
  await assert.rejects(
    inActivity({}, () => recordInstruction(deps)({ mode: 'SANDBOX', run: RUN, instruction })),
    /Temporal is away/,
  );
});
