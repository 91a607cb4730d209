/** A worker whose folder has rules of approvals: who has not signed the plan of a run lets nothing of it leave (M4). Keys and signatures are real. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { approvalGate, heeding } from '../../activities/approval-gate.ts';
import { CeilingTally } from '../../activities/ceiling-tally.ts';
import { createWithdrawals } from '../../activities/create-withdrawals.ts';
import { requestQuote } from '../../activities/request-quote.ts';
import { eachSecond, writeGate } from '../../activities/write-gate.ts';
import { verifySignature } from '../../config/ssh-keygen.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import { paymentOf } from '../../domain/plan/batch-items.ts';
import { spelledOut, type Fact, type PaidAgain, type Recorded } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import type { Signable } from '../../domain/writes/approvals.ts';
import type { Approvals, ApprovalRule } from '../../domain/writes/approval-rules.ts';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { hashOfChunk, hashOfList } from '../../language/batch/chunk-hash.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { loadSigners } from '../../language/ssh-signers.ts';
import { sealerOf } from '../../service/quote-seal.ts';
import {
  GO,
  chunksWith,
  inActivity,
  instructionsOf,
  page,
  worker,
  type Scripted,
} from '../support/activities.ts';
import { sells1000 } from '../support/policies.ts';
import { makeKey } from '../support/service-fixture.ts';
import { LEG, NOW, PAYMENT, WHOLE_PLAN, WITHDRAWAL, done } from '../support/scripts.ts';
import { allowedSigners, forgedBy, signedBy, signersNamed } from '../support/signers.ts';

const { people, close } = await signersNamed('ana', 'ben', 'chi', 'dan', 'other', 'stranger');
after(close);
const { ana, ben, chi, dan, other, stranger } = people;
const KEY = (await makeKey()).key;

const POLICY = sells1000(`{ id: supplier, account: ${PAYMENT.account}, amount: { fixed: "17250.00" } }`);
const PAYOUT = `policy: 1
kind: payout
name: p
environment: sandbox
payout: { fund: { mode: none } }
shortfall: hold
`;

const policyOf = (text: string) => {
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded;
};

const PLAN: Plan = {
  ...WHOLE_PLAN,
  policy: { name: 'p', hash: policyOf(POLICY).hash },
  payments: [{ ...PAYMENT, dependsOn: LEG.id }],
};
const RULE: ApprovalRule = {
  policies: null,
  above: { value: '500.00', currency: 'USD' },
  need: 2,
  of: ['ana', 'ben', 'chi'],
  withinMs: 4 * 3_600_000,
};
const HOUR_MS = 3_600_000;

type Folder = {
  readonly rule?: Partial<ApprovalRule>;
  readonly signers?: string;
  readonly revokedKeys?: string | null;
  readonly policy?: string;
  /** No policy can be used: somebody is just changing the folder. */
  readonly isUnusable?: true;
};

const ALL = allowedSigners(ana, ben, chi, dan);

function approvalsOf({ rule = {}, signers = ALL, revokedKeys = null }: Folder): Approvals {
  const loaded = loadSigners(signers);
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return { rules: [{ ...RULE, ...rule }], signers: loaded.signers, allowedSigners: signers, revokedKeys };
}

type Given = {
  readonly words?: () => readonly Recorded[];
  readonly plan?: () => Plan;
  readonly folder?: () => Folder | null;
  readonly rows?: readonly BatchPayment[];
  /** Temporal does not show the rows. */
  readonly isHidden?: true;
  readonly verify?: typeof verifySignature;
  readonly sentEarlier?: boolean;
  /** The worker acts by the words too, as those that count. */
  readonly isHeard?: true;
  readonly facts?: readonly Fact[];
};

/** A worker whose folder has rules, with what Temporal shows it of the run. */
function gated(given: Given) {
  const { words = () => [], plan = () => PLAN, rows = [], facts = [], sentEarlier = false } = given;
  const folder = given.folder ?? ((): Folder => ({}));
  let ms = 0;
  let reads = 0;
  let verified = 0;
  const clock = { wallMs: () => NOW + ms, monotonicMs: () => ms };
  const empty = { listTrades: async () => page<Trade>(), listWithdrawals: async () => page<Withdrawal>() };
  /** The clock of the service agrees. */
  const doneNow = <T>(value: T) => done(value, { serviceTimeMs: clock.wallMs() });
  const balances = async () =>
    doneNow({
      aggregateUsd: '1',
      balances: ['USD', 'MXN', 'EUR'].map((currency) => {
        return { currency, withdrawable: '99999', total: '99999' };
      }),
    });
  const verify = given.verify ?? verifySignature;
  const read = eachSecond(async () => {
    const { policy, hash } = policyOf(folder()?.policy ?? (rows.length > 0 ? PAYOUT : POLICY));
    const now = folder();
    return {
      policies:
        now?.isUnusable === true
          ? []
          : [{ policy, hash, destinations: null, referenceRates: null, before: null }],
      ceilings: null,
      approvals: now === null || now.isUnusable === true ? null : approvalsOf(now),
      troubles: [],
    };
  }, clock);
  const { whyNot, heard } = approvalGate(
    {
      mode: 'SANDBOX',
      organisation: 'org-1',
      clock,
      readPlan: async () => {
        reads += 1;
        return { kind: 'plan', plan: plan() };
      },
      readWords: async () => spelledOut({ instructions: words(), facts }),
      readRows: async () => (given.isHidden === true ? null : rows),
      verify: (asked) => {
        verified += 1;
        return verify(asked);
      },
    },
    read,
  );
  const gate = writeGate({
    read,
    mode: 'SANDBOX',
    reader: { listTrades: empty.listTrades, balances },
    facts: DEFAULT_SERVICE_FACTS,
    clock,
    seal: sealerOf(KEY),
    tally: new CeilingTally({
      reader: empty,
      facts: DEFAULT_SERVICE_FACTS,
      clock,
      wait: () => new Promise(() => {}),
    }),
    approved: whyNot,
    sentEarlier: async () => sentEarlier,
  });
  const createWithdrawal: Scripted['createWithdrawal'] = async ({ tag, amount, currency }) =>
    doneNow({ ...WITHDRAWAL, tag, currency, withdrawalAmount: amount });
  const chunks = chunksWith({ readGo: async () => GO });
  const said = {
    ...instructionsOf(),
    read: async () => ({ instructions: given.isHeard === true ? words() : [], facts }),
  };
  const instructions = heeding(said, heard);
  const { deps, sent } = worker(
    { balances, createWithdrawal, ...empty },
    { gate, clock, chunks, instructions },
  );
  return {
    deps,
    gate,
    sent: () => [...sent('createWithdrawal'), ...sent('createQuote'), ...sent('createTrade')].length,
    reads: () => reads,
    verified: () => verified,
    passes: (more: number) => (ms += more),
    /** What the worker acts by. */
    heard: () => instructions.read('SANDBOX', PLAN.run),
  };
}

type Worker = ReturnType<typeof gated>;

async function pays({ deps }: Worker, payment = PAYMENT, amount = '17250.00', chunk?: number) {
  const items = [{ payment, wanted: { amount, ahead: '0', unwanted: null }, state: NEW_PAYMENT }];
  const call = {
    plan: PLAN,
    items,
    othersAccepted: false,
    twinIds: [],
    ...(chunk !== undefined && { chunk }),
  };
  const answer = await inActivity({ scheduledAtMs: deps.clock.wallMs() }, () =>
    createWithdrawals(deps)(call),
  );
  return answer.items[0]?.step;
}

/** Holds that the write waits, and that no byte of it has left. */
async function assertHeld(given: Given | Worker, why: RegExp, code = 'AWAITING_APPROVAL'): Promise<void> {
  const one = 'deps' in given ? given : gated(given);
  const step = await pays(one);
  assert.ok(step?.kind === 'wait', JSON.stringify(step));
  assert.equal(step.wait.problem.code, code);
  assert.equal(step.wait.reason, code === 'AWAITING_APPROVAL' ? 'approval' : 'configuration');
  assert.match(step.wait.problem.message, why);
  assert.equal(one.sent(), 0);
}

const START = await signedBy(dan, PLAN, { as: 'starter' });
const BY_ANA = await signedBy(ana, PLAN);
const BY_BEN = await signedBy(ben, PLAN);

test('two people who have not started the run approve it, and it is paid; without them the quote and the payment wait', async () => {
  const said: Recorded[] = [];
  const one = gated({ words: () => said });
  await assertHeld(one, /trades and pays|no reference rate/);
  const call = {
    plan: PLAN,
    leg: LEG,
    state: NEW_LEG,
    othersAccepted: false,
    tradedSoFar: [],
    unwanted: null,
    follows: 'none',
  } as const;
  const { step } = await inActivity({}, () => requestQuote(one.deps)(call));
  assert.ok(step.kind === 'wait' && step.wait.problem.code === 'AWAITING_APPROVAL', JSON.stringify(step));
  assert.equal(one.sent(), 0);
  said.push(START, BY_ANA, BY_BEN);
  one.passes(1_001);
  assert.equal((await pays(one))?.kind, 'accepted');
});

test('a signature that is said a moment after the worker has read counts when its run is woken, not a minute later', async () => {
  const all: Recorded[] = [START, BY_ANA];
  const one = gated({ words: () => [...all] });
  await assertHeld(one, /signature of 1 of ben, chi/);
  all.push(BY_BEN);
  one.passes(10);
  assert.equal((await pays(one))?.kind, 'accepted');
});

test('own approval, the same person twice, by two keys or by two names, an expired one and one of a person who is not named do not count', async () => {
  const byDan = await signedBy(dan, PLAN);
  await assertHeld(
    { words: () => [START, BY_ANA, byDan], folder: () => ({ rule: { of: ['ana', 'ben', 'dan'] } }) },
    /signature of 1 of ben/,
  );
  await assertHeld({ words: () => [START, BY_ANA, saidAgain(BY_ANA)] }, /signature of 1 of ben, chi/);
  const twoKeys = `${ALL}ana ${other.publicKey}\n`;
  const byOther = await signedBy(other, PLAN);
  await assertHeld(
    { words: () => [START, BY_ANA, byOther], folder: () => ({ signers: twoKeys }) },
    /signature of 1 of ben, chi/,
  );
  const twoNames = allowedSigners(ana, chi, dan, { name: 'ben', publicKey: ana.publicKey });
  await assertHeld(
    { words: () => [START, BY_ANA, saidAgain(BY_ANA)], folder: () => ({ signers: twoNames }) },
    /signature of 1 of chi/,
  );
  const expired = await signedBy(ben, PLAN, { expiresAtMs: NOW });
  await assertHeld({ words: () => [START, BY_ANA, expired] }, /signature of 1 of ben, chi/);
  const unnamed = await signedBy(chi, PLAN);
  await assertHeld(
    { words: () => [START, BY_ANA, unnamed], folder: () => ({ rule: { of: ['ana', 'ben'] } }) },
    /signature of 1 of ben/,
  );
  const byStranger = await signedBy(stranger, PLAN);
  await assertHeld({ words: () => [START, BY_ANA, byStranger] }, /signature of 1 of ben, chi/);
});

test('nobody’s start, and a start that has expired, approve nothing; who has signed the start stays its starter for ever', async () => {
  await assertHeld({ words: () => [BY_ANA, BY_BEN] }, /signature of who has started it/);
  const over = await signedBy(ana, PLAN, { as: 'starter', expiresAtMs: NOW });
  await assertHeld(
    { words: () => [over, BY_ANA, BY_BEN] },
    /signature of who has started it and of 1 of chi/,
  );
  // Somebody else signs the start too.
  await assertHeld({ words: () => [over, START, BY_ANA, BY_BEN] }, /signature of 1 of chi/);
});

test('approvals of another plan, of another run, of another policy and for another purpose do not count', async () => {
  const dearer = {
    ...PLAN,
    legs: [{ ...LEG, amount: { side: 'sell', value: '1001.00', fixed: true } as const }],
  };
  const second = { ...PLAN, run: { policy: 'p', id: '2026-11-21-b' } };
  const edited = { ...PLAN, policy: { name: 'p', hash: 'another' } };
  for (const plan of [dearer, second, edited]) {
    // One after the other.
    const foreign = await signedBy(ben, plan);
    await assertHeld({ words: () => [START, BY_ANA, foreign] }, /signature of 1 of ben, chi/);
  }
  // A starter’s signature is no approval, whoever says that it is one.
  const asStarter = await signedBy(ben, PLAN, { as: 'starter' });
  await assertHeld(
    { words: () => [START, BY_ANA, { ...asStarter, as: 'approver' }] },
    /signature of 1 of ben, chi/,
  );
});

test('a rule that nobody need approve asks for the signature of who has started the run, by a key of the folder', async () => {
  const folder = (): Folder => ({ rule: { need: 0, of: [] } });
  await assertHeld({ folder, words: () => [] }, /needs the signature of who has started it/);
  const signers = allowedSigners(ana, ben, chi);
  await assertHeld(
    { folder: () => ({ ...folder(), signers }), words: () => [START] },
    /needs the signature of who has started it/,
  );
  assert.equal((await pays(gated({ folder, words: () => [START] })))?.kind, 'accepted');
});

test('an edit of the policy in the folder, and a key that is revoked or taken out, void what was signed', async () => {
  const said = [START, BY_ANA, BY_BEN];
  const edit = POLICY.replace('settlement: T0', 'settlement: T0, max_quotes: 4');
  await assertHeld(
    { words: () => said, folder: () => ({ policy: edit }) },
    /the policy "p" of the folder or its destinations have changed since its plan was made/,
  );
  const revokedKeys = Buffer.from(`${ben.publicKey}\n`).toString('base64');
  await assertHeld({ words: () => said, folder: () => ({ revokedKeys }) }, /signature of 1 of ben, chi/);
  await assertHeld(
    { words: () => said, folder: () => ({ signers: allowedSigners(ana, chi, dan) }) },
    /signature of 1 of ben, chi/,
  );
  let signers = ALL;
  const one = gated({ words: () => said, folder: () => ({ signers }) });
  assert.equal((await pays(one))?.kind, 'accepted');
  // What counted a moment ago counts no longer. Another payment of the run does not leave; the one that was sent may, by its key.
  signers = allowedSigners(ana, chi, dan);
  one.passes(1_001);
  const more = { ...PAYMENT, id: 'rent', reference: 'p.2026-11-21.rent' };
  assert.equal((await pays(one, more))?.kind, 'wait');
  assert.equal(one.sent(), 1);
});

test('when the time for signing is over, the run is told as late and still waits; late signatures count, and the window ends it unsent', async () => {
  const said: Recorded[] = [START, BY_ANA];
  const one = gated({ words: () => said });
  await assertHeld(one, /until 2026-11-21 18:59 UTC/);
  one.passes(5 * HOUR_MS);
  const late = /it is late, the time for signing is over since 2026-11-21 18:59 UTC.*`cancel` ends it unsent/;
  await assertHeld(one, late);
  const more = { atMs: NOW + 5 * HOUR_MS, expiresAtMs: NOW + 9 * HOUR_MS };
  said.push(
    await signedBy(ben, PLAN, more),
    await signedBy(ana, PLAN, more),
    await signedBy(dan, PLAN, { ...more, as: 'starter' }),
  );
  one.passes(1_001);
  assert.equal((await pays(one))?.kind, 'accepted');
  const forgotten = gated({});
  forgotten.passes(30 * 24 * HOUR_MS);
  const ended = await pays(forgotten);
  assert.ok(ended?.kind === 'not paid' && ended.problem.code === 'WINDOW_PASSED', JSON.stringify(ended));
  assert.equal(forgotten.sent(), 0);
});

test('a plan that may send for longer than the date of its run says is no plan, whoever has signed it (M1)', async () => {
  const withdrawalsUntilMs = NOW + 60 * 24 * HOUR_MS;
  const long = { ...PLAN, sendWindows: { ...PLAN.sendWindows, withdrawalsUntilMs } };
  const said = await Promise.all([
    signedBy(dan, long, { as: 'starter', expiresAtMs: withdrawalsUntilMs }),
    signedBy(ana, long, { expiresAtMs: withdrawalsUntilMs }),
    signedBy(ben, long, { expiresAtMs: withdrawalsUntilMs }),
  ]);
  await assertHeld({ words: () => said, plan: () => long }, /the plan .* is another one’s/, 'NOT_ALLOWED');
});

test('what the plan that the worker has read does not have is not sent, whatever a workflow hands over', async () => {
  const said = [START, BY_ANA, BY_BEN];
  const elsewhere: Plan = {
    ...PLAN,
    payments: [{ ...PAYMENT, account: 'wac_Strangers', dependsOn: LEG.id }],
  };
  await assertHeld(
    { words: () => said, plan: () => elsewhere },
    /has no such payment of "p\.2026-11-21\.supplier"/,
    'NOT_ALLOWED',
  );
  const unnamed: Plan = { ...PLAN, payments: [] };
  await assertHeld({ words: () => [], plan: () => unnamed }, /has no such payment/, 'NOT_ALLOWED');
});

test('a plan that names a payment otherwise than its policy counts as above the rule', async () => {
  const hidden: Plan = {
    ...PLAN,
    payments: [
      {
        ...PAYMENT,
        dependsOn: LEG.id,
        amount: { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 },
      },
    ],
  };
  const rule = { above: { value: '99999999.00', currency: 'USD' } };
  await assertHeld(
    { plan: () => hidden, folder: () => ({ rule }) },
    /says otherwise than the policy of the folder/,
  );
});

const ROWS: readonly BatchPayment[] = [
  ['a-1', PAYMENT.account, 'EUR', '400'],
  ['a-2', PAYMENT.account, 'EUR', '200'],
];
const planOfRows = (rows: readonly BatchPayment[]): Plan => ({
  ...PLAN,
  policy: { name: 'p', hash: policyOf(PAYOUT).hash },
  legs: [],
  payments: [],
  batch: {
    payments: rows.length,
    // What the plan says itself is not believed.
    totals: [{ value: '1', currency: 'EUR' }],
    payable: [],
    heldBy: [],
    chunks: [{ payments: rows.length, hash: hashOfChunk(rows), unpayable: null }],
    rules: { parallel: 1, stopAfter: null, canary: null, dedupeMs: 0 },
  },
});

async function paysRow(one: Worker, row: BatchPayment) {
  return pays(one, paymentOf(PLAN.run, row), row[3], 1);
}

test('the rows of a batch are added up and compared as the worker reads them: above the rule, other rows, negative ones and other currencies wait', async () => {
  const [first = ROWS[0]] = ROWS;
  assert.ok(first !== undefined);
  const rule = { above: { value: '600.00', currency: 'EUR' } };
  const below = gated({ rows: ROWS, plan: () => planOfRows(ROWS), folder: () => ({ rule }) });
  assert.equal((await paysRow(below, first))?.kind, 'accepted');
  const held: readonly (readonly [Given, RegExp])[] = [
    [
      {
        rows: ROWS,
        plan: () => planOfRows(ROWS),
        folder: () => ({ rule: { above: { value: '599.99', currency: 'EUR' } } }),
      },
      /pays 600\.00 EUR in all/,
    ],
    [
      {
        rows: ROWS,
        plan: () => planOfRows(ROWS),
        folder: () => ({ rule: { above: { value: '9999.00', currency: 'USD' } } }),
      },
      /no reference rate between EUR and USD/,
    ],
    [
      {
        rows: [...ROWS, ['a-3', PAYMENT.account, 'EUR', '-500']],
        plan: () => planOfRows([...ROWS, ['a-3', PAYMENT.account, 'EUR', '-500']]),
        folder: () => ({ rule }),
      },
      /"a-3" has no amount above zero/,
    ],
  ];
  for (const [given, why] of held) {
    // One after the other.
    const one = gated(given);
    const step = await paysRow(one, first);
    assert.ok(step?.kind === 'wait', JSON.stringify(step));
    assert.equal(step.wait.problem.code, 'AWAITING_APPROVAL');
    assert.match(step.wait.problem.message, why);
    assert.equal(one.sent(), 0);
  }
  const strange = gated({ rows: ROWS, plan: () => planOfRows(ROWS), folder: () => ({ rule }) });
  const step = await paysRow(strange, ['a-9', PAYMENT.account, 'EUR', '1']);
  assert.ok(step?.kind === 'wait' && step.wait.problem.code === 'NOT_ALLOWED', JSON.stringify(step));
});

test('a run that no rule covers goes on after an edit of its policy; one that a rule covers says what has changed', async () => {
  const [first = ROWS[0]] = ROWS;
  assert.ok(first !== undefined);
  const edit = PAYOUT.replace('shortfall: hold', 'shortfall: skip');
  const of = (value: string) =>
    gated({
      rows: ROWS,
      plan: () => planOfRows(ROWS),
      folder: () => ({ policy: edit, rule: { above: { value, currency: 'EUR' } } }),
    });
  assert.equal((await paysRow(of('600.00'), first))?.kind, 'accepted');
  const covered = of('599.99');
  const step = await paysRow(covered, first);
  assert.ok(step?.kind === 'wait' && step.wait.problem.code === 'AWAITING_APPROVAL', JSON.stringify(step));
  assert.match(step.wait.problem.message, /have changed since its plan was made.*start a new run/);
  assert.equal(covered.sent(), 0);
});

test('a payment that is made again counts once more for each generation before it', async () => {
  const [first = ROWS[0]] = ROWS;
  assert.ok(first !== undefined);
  const of = (value: string) =>
    gated({
      rows: ROWS,
      plan: () => planOfRows(ROWS),
      folder: () => ({ rule: { above: { value, currency: 'EUR' } } }),
    });
  const [id, account, currency, amount] = first;
  const paid = { kind: 'withdrawal', account, currency, amount } as const;
  const again = (one: Worker) =>
    one.gate.send({ ...paid, reference: `p.2026-11-21.${id}~2` }, async () => done(WITHDRAWAL), 1);
  assert.equal((await again(of('1000.00'))).kind, 'DONE');
  const reply = await again(of('999.99'));
  assert.ok(reply.kind === 'NOT_SENT' && reply.notAllowed === 'AWAITING_APPROVAL', JSON.stringify(reply));
  assert.match(reply.reason, /pays 1,000\.00 EUR in all/);
});

test('what cannot be read now is told as that, not as people who must sign', async () => {
  const [first = ROWS[0]] = ROWS;
  assert.ok(first !== undefined);
  const away = (): never => {
    throw new Error('Temporal is away');
  };
  const ofRows = { plan: () => planOfRows(ROWS), folder: () => ({ rule: { above: RULE.above } }) };
  const unread: readonly (readonly [Given, RegExp])[] = [
    [{ plan: away }, /Temporal is away/],
    [{ words: away }, /Temporal is away/],
    [{ ...ofRows, rows: ROWS, isHidden: true }, /does not show chunk 1/],
    [{ ...ofRows, rows: [['a-1', PAYMENT.account, 'EUR', '4']] }, /are not those of its plan/],
  ];
  for (const [given, why] of unread) {
    // One after the other.
    const one = gated(given);
    const step = await (given.rows === undefined ? pays(one) : paysRow(one, first));
    assert.ok(step?.kind === 'wait' && step.wait.problem.code === 'NOT_SENT', JSON.stringify(step));
    assert.match(step.wait.problem.message, /cannot read now what approvals are judged by/);
    assert.match(step.wait.problem.message, why);
    assert.equal(one.sent(), 0);
  }
});

test('payments side by side share each verification, and what was good is asked about again after a minute, what was not after an hour', async () => {
  const second = { ...PLAN, run: { policy: 'p', id: '2026-11-21-b' } };
  const foreign = await signedBy(ben, second);
  const one = gated({ words: () => [START, BY_ANA, foreign] });
  const steps = await Promise.all(Array.from({ length: 36 }, () => pays(one)));
  assert.ok(steps.every((step) => step?.kind === 'wait'));
  assert.equal(one.verified(), 3);
  one.passes(59_000);
  await pays(one);
  assert.equal(one.verified(), 3);
  one.passes(2_000);
  await pays(one);
  assert.equal(one.verified(), 5);
  one.passes(HOUR_MS);
  await pays(one);
  assert.equal(one.verified(), 8);
});

test('a flood of signatures delays what counts and never forges it, and each is verified once', async () => {
  const text = 'A'.repeat(80);
  const forged = Array.from({ length: 20 }, (_, index) => ({
    ...BY_BEN,
    id: `forged-${index}`,
    expiresAtMs: BY_BEN.expiresAtMs + index + 1,
  }));
  const noise = Array.from({ length: 500 }, (_, index) => ({
    ...BY_BEN,
    id: `noise-${index}`,
    signature: text,
  }));
  const said = [START, BY_ANA, ...noise, ...forged];
  const one = gated({ words: () => said });
  await assertHeld(one, /not all signatures are verified yet/);
  assert.equal(one.verified(), 16);
  // Who signs once more stands before the flood.
  const again = gated({ words: () => [...said, BY_BEN] });
  await pays(again);
  assert.equal(again.sent(), 1);
  again.passes(1_001);
  await pays(again);
  const count = again.verified();
  again.passes(1_001);
  await pays(again);
  assert.equal(again.verified(), count);
});

test('a flood about many instructions of a run is verified a few at a time, and so keeps no other run waiting', async () => {
  const words = Array.from({ length: 50 }, (_, index): readonly Recorded[] => {
    const about = { ...AGAIN, id: `again-${index}` };
    const forged = Array.from({ length: 16 }, (__, nth) => ({
      ...BY_BEN,
      about: about.id,
      signature: forgedBy(ana),
      expiresAtMs: NOW + HOUR_MS + nth,
    }));
    return [about, ...forged];
  }).flat();
  const one = gated({ words: () => words, isHeard: true, verify: async () => 'bad' });
  await one.heard();
  assert.equal(one.verified(), 16);
});

test('a flood behind good signatures keeps none of them back, also when they are asked about once more', async () => {
  const forged = Array.from({ length: 70 }, (_, index) => ({
    ...BY_BEN,
    id: `forged-${index}`,
    expiresAtMs: BY_BEN.expiresAtMs + index + 1,
  }));
  const verify: typeof verifySignature = async (asked) =>
    forged.some(({ expiresAtMs }) => asked.text.includes(new Date(expiresAtMs).toISOString()))
      ? 'bad'
      : verifySignature(asked);
  const one = gated({ words: () => [START, BY_ANA, BY_BEN, ...forged], verify });
  await pays(one);
  assert.equal(one.sent(), 1);
  for (let minutes = 1; minutes < 5; minutes += 1) {
    // One after the other.
    one.passes(61_000);
    await pays(one);
    assert.equal(one.sent(), 1 + minutes);
  }
});

test('a worker without an ssh-keygen that can verify says so, and asks again each time', async () => {
  const verify: typeof verifySignature = (asked) => verifySignature(asked, '/nowhere/ssh-keygen');
  const one = gated({ words: () => [START, BY_ANA, BY_BEN], verify });
  await assertHeld(one, /ssh-keygen is missing, cannot verify/);
  const count = one.verified();
  await assertHeld(one, /ssh-keygen is missing, cannot verify/);
  assert.equal(one.verified(), 2 * count);
});

test('without rules, and for policies that no rule names, nothing is read; what was sent before passes under its key', async () => {
  const free = gated({ folder: () => null });
  assert.equal((await pays(free))?.kind, 'accepted');
  const others = gated({ folder: () => ({ rule: { policies: ['q'] } }) });
  assert.equal((await pays(others))?.kind, 'accepted');
  assert.deepEqual([free.reads(), others.reads()], [0, 0]);
  assert.equal((await pays(gated({ sentEarlier: true })))?.kind, 'accepted');
});

const SAID = { id: 'word', by: 'dan', why: 'seen', number: 1, atMs: NOW, date: '2026-11-21' } as const;
const AGAIN: Signable = { ...SAID, kind: 'pay again', item: 'supplier', follows: 1, recordId: 'wtd_1' };
const SECOND: Plan = { ...PLAN, run: { policy: 'p', id: '2026-11-21-b' } };

/** Everything that does not approve an instruction, though people have signed: each with why it waits. */
async function notApproving(about: Signable): Promise<readonly (readonly [Given, RegExp])[]> {
  const start = await signedBy(dan, PLAN, { as: 'starter', said: about });
  const [byAna, byBen, byDan, expired, ofSecond, ofOther, asStarter] = await Promise.all([
    signedBy(ana, PLAN, { said: about }),
    signedBy(ben, PLAN, { said: about }),
    signedBy(dan, PLAN, { said: about }),
    signedBy(ben, PLAN, { said: about, expiresAtMs: NOW }),
    signedBy(ben, SECOND, { said: about }),
    signedBy(ben, PLAN, { said: { ...about, id: 'other' } }),
    signedBy(ben, PLAN, { as: 'starter', said: about }),
  ]);
  const revokedKeys = Buffer.from(`${ben.publicKey}\n`).toString('base64');
  const edit = POLICY.replace('settlement: T0', 'settlement: T0, max_quotes: 4');
  const words = (...signatures: readonly Recorded[]) => ({ words: () => [about, ...signatures] });
  const oneMissing = /signature of 1 of ben, chi/;
  return [
    [words(), /signature of who has said it and of 2 of ana, ben, chi/],
    // The plan and all that it does were approved; this instruction was not.
    [words(START, BY_ANA, BY_BEN), /signature of who has said it and of 2 of ana, ben, chi/],
    [words(byAna, byBen), /signature of who has said it/],
    [
      { ...words(start, byAna, byDan), folder: () => ({ rule: { of: ['ana', 'ben', 'dan'] } }) },
      /signature of 1 of ben/,
    ],
    [words(start, byAna, saidAgain(byAna)), oneMissing],
    [words(start, byAna, expired), oneMissing],
    [words(start, byAna, { ...BY_BEN, about: about.id }), oneMissing],
    [words(start, byAna, ofSecond), oneMissing],
    [words(start, byAna, { ...ofOther, about: about.id }), oneMissing],
    [words(start, byAna, { ...asStarter, as: 'approver' }), oneMissing],
    [{ ...words(start, byAna, byBen), folder: () => ({ revokedKeys }) }, oneMissing],
    [
      { ...words(start, byAna, byBen), folder: () => ({ policy: edit }) },
      /have changed since its plan was made/,
    ],
  ];
}

/** The same, signed by who has said it and by two others. */
async function approved(
  about: Signable,
  plan = PLAN,
  how: Parameters<typeof signedBy>[2] = {},
): Promise<readonly Recorded[]> {
  const signed = [
    signedBy(dan, plan, { ...how, as: 'starter', said: about }),
    signedBy(ana, plan, { ...how, said: about }),
    signedBy(ben, plan, { ...how, said: about }),
  ];
  return [about, ...(await Promise.all(signed))];
}

const paysAgain = ({ gate }: Worker, generation = 9, item = 'supplier', chunk?: number) => {
  const { account, currency } = PAYMENT;
  const reference = `p.2026-11-21.${item}~${generation}`;
  const amount = chunk === undefined ? '17250.00' : '400';
  const paid = { kind: 'withdrawal', reference, account, amount } as const;
  return gate.send(
    { ...paid, currency: chunk === undefined ? currency : 'EUR' },
    async () => done(WITHDRAWAL),
    chunk,
  );
};

async function assertNotPaidAgain(
  reply: ReturnType<typeof paysAgain>,
  why: RegExp,
  code = 'AWAITING_APPROVAL',
) {
  const told = await reply;
  assert.ok(told.kind === 'NOT_SENT' && told.notAllowed === code, JSON.stringify(told));
  assert.match(told.reason, why);
}

test('what a person lets be paid again waits for signatures of its own, whoever has signed the plan', async () => {
  for (const [given, why] of await notApproving(AGAIN))
    // One after the other.
    await assertNotPaidAgain(paysAgain(gated(given)), why);
  // Signatures of that run, put into this one.
  const moved = await approved(AGAIN, SECOND);
  await assertNotPaidAgain(
    paysAgain(gated({ words: () => moved })),
    /of who has said it and of 2 of ana, ben/,
  );
  const one = gated({ words: () => [] });
  await assertNotPaidAgain(paysAgain(one), /no person has said that "supplier" is paid again/, 'NOT_ALLOWED');
});

test('signed by who has said it and by two others, it is paid again, also after the plan’s signatures and window are over', async () => {
  const atMs = NOW + 20 * 24 * HOUR_MS;
  const late = { ...AGAIN, atMs, date: '2026-12-11' };
  const words = await approved(late, PLAN, { expiresAtMs: atMs + HOUR_MS });
  const one = gated({ words: () => words });
  one.passes(atMs - NOW);
  assert.equal((await paysAgain(one)).kind, 'DONE');
  // It opens eight generations and no more.
  await assertNotPaidAgain(paysAgain(one, 17), /no person has said/, 'NOT_ALLOWED');
  // Nobody says anything tomorrow, and so opens no window until then.
  const early = gated({ words: () => words });
  early.passes(atMs - NOW - 2 * HOUR_MS);
  await assertNotPaidAgain(paysAgain(early), /is dated 2026-12-11 .* still to come/);
  // A later date would open a later window.
  const redated = words.map((word) =>
    word.id === late.id ? { ...late, date: '2027-01-11', atMs: atMs + 1 } : word,
  );
  const forged = gated({ words: () => redated });
  forged.passes(atMs - NOW);
  await assertNotPaidAgain(paysAgain(forged), /signature of who has said it and of 2/);
});

test('payments of a batch are paid again as they were listed when people signed; one that is added later is not', async () => {
  const listed = [['a-1', 1, null]] as const;
  const chunks = [[1, 1, hashOfList(listed)]] as const;
  const about: Signable = { ...SAID, kind: 'pay these again', chunks };
  const plan = planOfRows(ROWS);
  const words = await approved(about, plan);
  const of = (items: readonly PaidAgain[], all = words) =>
    gated({
      rows: ROWS,
      plan: () => plan,
      words: () => all,
      facts: [{ kind: 'to pay again', said: about.id, items }],
      folder: () => ({ rule: { above: { value: '599.99', currency: 'EUR' } } }),
    });
  await assertNotPaidAgain(
    paysAgain(of(listed, [about]), 9, 'a-1', 1),
    /of who has said it and of 2 of ana, ben/,
  );
  const more: readonly PaidAgain[] = [...listed, ['a-2', 1, null]];
  await assertNotPaidAgain(
    paysAgain(of(more), 9, 'a-1', 1),
    /are not those that "dan" has named/,
    'NOT_ALLOWED',
  );
  assert.equal((await paysAgain(of(listed), 9, 'a-1', 1)).kind, 'DONE');
});

/** A run of ten payments of 100 EUR, below a rule that asks for signatures above 1,250 EUR. */
function belowRule(words: readonly Recorded[], lists: Readonly<Record<string, readonly PaidAgain[]>>) {
  const rows = Array.from({ length: 10 }, (_, index): BatchPayment => [
    `a-${index}`,
    PAYMENT.account,
    'EUR',
    '100',
  ]);
  const facts = Object.entries(lists).map(([said, items]): Fact => ({ kind: 'to pay again', said, items }));
  const plan = planOfRows(rows);
  const rule = { above: { value: '1250.00', currency: 'EUR' } };
  const one = gated({ rows, plan: () => plan, words: () => words, facts, folder: () => ({ rule }) });
  const again = (item: string, generation = 9) =>
    one.gate.send(
      {
        kind: 'withdrawal',
        account: PAYMENT.account,
        currency: 'EUR',
        amount: '100',
        reference: `p.2026-11-21.${item}~${generation}`,
      },
      async () => done(WITHDRAWAL),
      1,
    );
  return { again, plan };
}

const listOf = (id: string, items: readonly PaidAgain[], count = items.length): Signable => {
  return { ...SAID, id, kind: 'pay these again', chunks: [[1, count, hashOfList(items)]] };
};

test('what people let be paid again is added up over all payments of a run: the word that goes above the rule needs signatures, and so do those after it', async () => {
  const lists = {
    first: [
      ['a-0', 1, null],
      ['a-1', 1, null],
    ],
    second: [['a-2', 1, null]],
    third: [['a-3', 1, null]],
  } as const;
  const [first, second, third] = Object.entries(lists).map(([id, items]) => listOf(id, items));
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const { again, plan } = belowRule([first, second, third], lists);
  for (const item of ['a-0', 'a-1']) assert.equal((await again(item)).kind, 'DONE', item);
  for (const [item, sum] of [
    ['a-2', '1,300'],
    ['a-3', '1,400'],
  ] as const) {
    // One after the other.
    const reply = await again(item);
    assert.ok(reply.kind === 'NOT_SENT' && reply.notAllowed === 'AWAITING_APPROVAL', JSON.stringify(reply));
    assert.ok(reply.reason.includes(`pays ${sum}.00 EUR in all`), reply.reason);
    assert.match(reply.reason, /signature of who has said it and of 2 of ana, ben, chi/);
  }
  const signed = belowRule([first, ...(await approved(second, plan)), third], lists);
  assert.equal((await signed.again('a-0')).kind, 'DONE');
  assert.equal((await signed.again('a-2')).kind, 'DONE');
  const last = await signed.again('a-3');
  assert.ok(last.kind === 'NOT_SENT' && last.notAllowed === 'AWAITING_APPROVAL', JSON.stringify(last));
  assert.match(last.reason, /pays 1,400\.00 EUR in all/);
});

test('generations that open after refusals count beside what people let be paid again', async () => {
  const lists = {
    first: [
      ['a-0', 1, null],
      ['a-1', 1, null],
    ],
  } as const;
  const { again } = belowRule([listOf('first', lists.first)], lists);
  const reply = await again('a-0', 10);
  assert.ok(reply.kind === 'NOT_SENT' && reply.notAllowed === 'AWAITING_APPROVAL', JSON.stringify(reply));
  assert.match(reply.reason, /pays 1,300\.00 EUR in all/);
});

test('nothing is paid again of a list that has more payments than its word says, or one of them twice, or that no person has said', async () => {
  const more = [
    ['a-0', 1, null],
    ['a-1', 1, null],
  ] as const;
  const twice = [
    ['a-0', 1, null],
    ['a-0', 9, null],
  ] as const;
  for (const [list, count] of [
    [more, 1],
    [twice, 2],
  ] as const) {
    const { again } = belowRule([listOf('first', list, count)], { first: list });
    // One after the other.
    const reply = await again('a-0');
    assert.ok(reply.kind === 'NOT_SENT' && reply.notAllowed === 'NOT_ALLOWED', JSON.stringify(reply));
  }
  const unsaid = await belowRule([], {}).again('a-0');
  assert.ok(unsaid.kind === 'NOT_SENT' && unsaid.notAllowed === 'NOT_ALLOWED', JSON.stringify(unsaid));
});

test('a list that has a payment twice, or another count than people were told, pays none of it again though they have signed it', async () => {
  const plan = planOfRows(ROWS);
  const twice: readonly PaidAgain[] = [
    ['a-1', 1, null],
    ['a-1', 9, null],
  ];
  const two: readonly PaidAgain[] = [
    ['a-1', 1, null],
    ['a-2', 1, null],
  ];
  for (const [listed, count] of [
    [twice, 1],
    [twice, 2],
    [two, 1],
    [two, 3],
  ] as const) {
    const chunks = [[1, count, hashOfList(listed)]] as const;
    const about: Signable = { ...SAID, kind: 'pay these again', chunks };
    const words = await approved(about, plan);
    const one = gated({
      rows: ROWS,
      plan: () => plan,
      words: () => words,
      facts: listed.map((each) => ({ kind: 'to pay again', said: about.id, items: [each] })),
      folder: () => ({ rule: { above: { value: '599.99', currency: 'EUR' } } }),
    });
    const why = /are not those that "dan" has named|no person has said that "a-1" is paid again so often/;
    await assertNotPaidAgain(paysAgain(one, 9, 'a-1', 1), why, 'NOT_ALLOWED');
  }
});

/** The record that people have named and signed is the payment's, and nothing is sent. */
async function assertAdopted(given: Given): Promise<void> {
  const one = gated({ ...given, isHeard: true });
  assert.deepEqual([(await pays(one))?.kind, one.sent()], ['accepted', 0]);
}

test('somebody who writes first that a payment is paid again keeps out nobody whom others have approved', async () => {
  const forged = { ...AGAIN, id: 'forged', number: 0, recordId: 'wtd_7' };
  const words = await approved(AGAIN);
  assert.equal((await paysAgain(gated({ words: () => [forged, ...words] }))).kind, 'DONE');
  await assertNotPaidAgain(paysAgain(gated({ words: () => [forged, AGAIN] })), /of who has said it and of 2/);
});

test('who writes that a payment is paid again without signatures takes back no decision that people have signed (M1)', async () => {
  const executed: Signable = { ...SAID, kind: 'executed', item: 'supplier', recordId: 'wtd_9' };
  const signed = [START, BY_ANA, BY_BEN, ...(await approved(executed))];
  for (const recordId of [null, 'wtd_9']) {
    const forged: Recorded = { ...AGAIN, id: 'forged', number: 99, recordId };
    // One after the other.
    await assertAdopted({ words: () => [...signed, forged] });
  }
  const list: Recorded = { ...SAID, id: 'list', kind: 'pay these again', chunks: [[1, 1, hashOfList([])]] };
  const facts: readonly Fact[] = [{ kind: 'to pay again', said: 'list', items: [['supplier', 1, 'wtd_9']] }];
  await assertAdopted({
    words: () => spelledOut({ instructions: [...signed, list], facts }).instructions,
    facts,
  });
});

test('names are added to a list of payments after people have signed it: it takes back no decision', async () => {
  const listed: readonly PaidAgain[] = [['other', 1, null]];
  const chunks = [[1, 1, hashOfList(listed)]] as const;
  const executed: Signable = { ...SAID, id: 'first', kind: 'executed', item: 'supplier', recordId: 'wtd_9' };
  const list: Signable = { ...SAID, kind: 'pay these again', chunks };
  const signed = [START, BY_ANA, BY_BEN, ...(await approved(executed)), ...(await approved(list))];
  const items: readonly PaidAgain[] = [...listed, ['supplier', 1, 'wtd_9']];
  const facts: readonly Fact[] = [{ kind: 'to pay again', said: list.id, items }];
  await assertAdopted({ words: () => spelledOut({ instructions: signed, facts }).instructions, facts });
});

const DECISIONS: readonly Signable[] = [
  { ...SAID, kind: 'executed', item: 'supplier', recordId: 'wtd_9' },
  { ...SAID, kind: 'not executed', item: 'supplier' },
  { ...SAID, kind: 'not this', item: 'supplier', recordId: 'wtd_9' },
];

test('while a decision about a payment lacks signatures, the payment waits and says who is missing; nothing of it is sent', async () => {
  const [first = assert.fail(), ...others] = DECISIONS;
  for (const [given, why] of await notApproving(first))
    // One after the other.
    await assertHeld(gated({ ...given, isHeard: true }), why);
  for (const about of others)
    await assertHeld(
      gated({ words: () => [START, BY_ANA, BY_BEN, about], isHeard: true }),
      /signature of who has said it and of 2 of ana, ben, chi/,
    );
});

test('what a forged decision holds up a cancel ends unsent, without any signature', async () => {
  const forged: Signable = { ...SAID, kind: 'not executed', item: 'supplier' };
  const cancel: Recorded = { ...SAID, id: 'cancel', kind: 'cancel', number: 99 };
  const held = gated({ words: () => [START, BY_ANA, BY_BEN, forged], isHeard: true });
  assert.deepEqual([(await pays(held))?.kind, held.sent()], ['wait', 0]);
  const one = gated({ words: () => [START, BY_ANA, BY_BEN, forged, cancel], isHeard: true });
  const step = await pays(one);
  assert.deepEqual([step?.kind, one.sent()], ['not paid', 0]);
});

test('a decision counts once it is signed, and without a rule for its run at once', async () => {
  const ends: readonly (readonly [string, number])[] = [
    ['accepted', 0],
    ['DECISION_PENDING', 0],
    ['accepted', 1],
  ];
  for (const [index, about] of DECISIONS.entries()) {
    // One after the other.
    const words = [START, BY_ANA, BY_BEN, ...(await approved(about))];
    for (const folder of [(): Folder => ({}), () => null]) {
      const one = gated({ words: () => words, isHeard: true, folder });
      const step = await pays(one);
      assert.deepEqual(
        [step?.kind === 'wait' ? step.wait.problem.code : step?.kind, one.sent()],
        ends[index],
      );
    }
  }
});

test('that look-alikes are none of the payments of a batch counts once people have signed exactly that list, and below a rule at once', async () => {
  const lookAlikes = {
    sinceMs: NOW - HOUR_MS,
    untilMs: NOW - 60_000,
    perGroup: 1,
    groups: ['1.0.abcdefghijkl'],
  };
  const list = {
    ...SAID,
    kind: 'go-on',
    item: 'look-alikes-abcdefghijkl',
    takesBack: null,
    lookAlikes,
  } as const;
  const missing = async (words: readonly Recorded[], more: Partial<Given> = {}): Promise<string> => {
    const { unsigned = {} } = await gated({ words: () => words, isHeard: true, ...more }).heard();
    return Object.values(unsigned).join();
  };
  const alone = await missing([START, BY_ANA, BY_BEN, list]);
  assert.match(alone, /none of the withdrawals until .* UTC that look like payments of the batch/);
  assert.match(alone, /signature of who has said it and of 2 of ana, ben, chi/);
  const words = await approved(list);
  assert.equal(await missing(words), '');
  const later = { ...list, lookAlikes: { ...lookAlikes, untilMs: NOW } };
  const wider = { ...list, lookAlikes: { ...lookAlikes, groups: ['1.1.abcdefghijkl'] } };
  for (const changed of [later, wider])
    // One after the other.
    assert.match(await missing(words.map((one) => (one.id === list.id ? changed : one))), /and of 2/);
  // A later list takes the place of one that people have signed.
  assert.match(await missing([...words, { ...list, id: 'later', number: 99 }]), /and of 2/);
  const above = (value: string) => ({
    rows: ROWS,
    plan: () => planOfRows(ROWS),
    folder: () => ({ rule: { above: { value, currency: 'EUR' } } }),
  });
  assert.match(await missing([list], above('599.99')), /and of 2/);
  assert.equal(await missing([list], above('600.00')), '');
});

test('while it cannot be read what a decision is judged by, its payment waits', async () => {
  const [about = assert.fail()] = DECISIONS;
  const away = (): never => {
    throw new Error('Temporal is away');
  };
  await assertHeld(
    gated({ words: () => [about], isHeard: true, plan: away }),
    /cannot read now.*Temporal is away/,
  );
  const [, accept = assert.fail()] = DECISIONS;
  const unusable = gated({ words: () => [accept], isHeard: true, folder: () => ({ isUnusable: true }) });
  await assertHeld(unusable, /cannot read now.*the folder of policies cannot be used/);
  const gone = POLICY.replace('name: p', 'name: another');
  const without = gated({ words: () => [accept], isHeard: true, folder: () => ({ policy: gone }) });
  await assertHeld(without, /the folder has no policy "p" for it/);
});

test('what a worker cannot judge is marked as that, and a word that only lacks signatures is not', async () => {
  const about: Signable = { ...SAID, kind: 'executed', item: 'supplier', recordId: 'wtd_9' };
  const words = await approved(about);
  const [, ...signatures] = words;
  const forged = Array.from({ length: 24 }, (_, index) => ({
    ...(signatures[0] as Extract<Recorded, { kind: 'approve' }>),
    id: `forged-${index}`,
    expiresAtMs: NOW + HOUR_MS + index + 1,
  }));
  const edit = POLICY.replace('settlement: T0', 'settlement: T0, max_quotes: 4');
  const marks = async (given: Given): Promise<unknown> => {
    const { unsigned = {}, unjudged = [] } = await gated({ ...given, isHeard: true }).heard();
    return [Object.keys(unsigned), unjudged];
  };
  const { id } = about;
  assert.deepEqual(await marks({ words: () => words }), [[], []]);
  assert.deepEqual(await marks({ words: () => [about] }), [[id], []]);
  const like = { ...signatures[0], signature: forgedBy(ana, { hash: 'no such file' }) } as Recorded;
  assert.deepEqual(await marks({ words: () => [about, like] }), [[id], []]);
  const missing: typeof verifySignature = (asked) => verifySignature(asked, '/nowhere/ssh-keygen');
  const flood = [about, ...forged.slice(0, 12), ...signatures, ...forged.slice(12)];
  const unable: readonly Given[] = [
    { words: () => words, verify: missing },
    { words: () => flood },
    { words: () => words, folder: () => ({ isUnusable: true }) },
  ];
  for (const given of unable)
    // One after the other.
    assert.deepEqual(await marks(given), [[id], [id]]);
  // By a folder that has the policy no more, no signature counts, and that is known.
  assert.deepEqual(await marks({ words: () => words, folder: () => ({ policy: edit }) }), [[id], []]);
});

test('a flood of bad signatures is judged to its end, however seldom the words are read (M8)', async () => {
  const about: Signable = { ...SAID, kind: 'executed', item: 'supplier', recordId: 'wtd_9' };
  const [, signature = assert.fail()] = await approved(about);
  const flood = Array.from({ length: 70 }, (_, index): Recorded => {
    assert.ok(signature.kind === 'approve');
    return { ...signature, id: `bad-${index}`, expiresAtMs: NOW + HOUR_MS + index };
  });
  const one = gated({ words: () => [about, ...flood], isHeard: true, verify: async () => 'bad' });
  const left: boolean[] = [];
  for (let times = 0; times < 6; times += 1) {
    // One after the other.
    left.push((await one.heard()).unjudged !== undefined);
    one.passes(2 * HOUR_MS);
  }
  assert.deepEqual(left, [true, true, true, true, false, false]);
  // Each is asked for again in its turn: a key may begin to be valid.
  assert.equal(one.verified(), 96);
});

/** The same once more, as another word. */
function saidAgain(said: Extract<Recorded, { kind: 'approve' }>): Recorded {
  return { ...said, id: `${said.id}-again`, number: said.number + 100 };
}
