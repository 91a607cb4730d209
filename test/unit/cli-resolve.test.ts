/** What a decision needs before it becomes a word: the options, and what the service's records say about it. */
import type { Problem } from '../../domain/problems.ts';
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import type { Io } from '../../cli/terminal/io.ts';
import { main } from '../../cli/main.ts';
import { statement } from '../../cli/terminal/options.ts';
import { payAgainRequest } from '../../cli/commands/run.ts';
import { statusSentence } from '../../cli/views/report-text.ts';
import {
  isOnlySaid,
  isOpenQuestion,
  namedRecord,
  standingNames,
  whyNotAccepted,
} from '../../operations/decide/resolve.ts';
import { clockOf } from '../../domain/clock.ts';
import { instructionLines } from '../../cli/views/instruction-text.ts';
import { evidenceOf } from '../../operations/follow/instruction-evidence.ts';
import type { PaymentIdentity } from '../../domain/writes/lookups.ts';
import type { WaitReason } from '../../domain/waits.ts';
import type { Page, Trade, Withdrawal } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import type { ReportPayment } from '../../domain/run/report.ts';
import { NOTHING_KEPT, openUntilMs, type Fact, type Kept } from '../../domain/people/instructions.ts';
import {
  checkExecuted,
  checkNotExecuted,
  youngOnes,
  checkPayAgain,
  legDifferences,
  judgePayAgain,
  readWithdrawals,
  type PayAgainVerdict,
  type PaymentHistory,
  paymentDifferences,
  type LegSubject,
  type Subject,
} from '../../operations/decide/decisions.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { LEG, NO_ANSWER, PAYMENT, RUN, TRADE, WITHDRAWAL, done, failed } from '../support/scripts.ts';
import { kept, type LooseRecorded } from '../support/instructions.ts';

const OPENS_AT_MS = Date.parse('2026-11-21T00:00:00Z');

const IDENTITY: PaymentIdentity = {
  reference: PAYMENT.reference,
  account: PAYMENT.account,
  currency: PAYMENT.currency,
  amount: '17250.00',
  opensAtMs: OPENS_AT_MS,
  namedId: null,
  ownIds: [],
  otherIds: ['wtd_other'],
  fromGeneration: 1,
  closedIds: [],
  follows: [],
  approvedUntilMs: null,
  failedWords: ['FAILED', 'RETURNED'],
};
const A_LEG: LegSubject = {
  kind: 'leg',
  leg: LEG,
  quoteId: 'qte_1',
  otherIds: ['tde_other'],
  opensAtMs: OPENS_AT_MS,
};
const A_PAYMENT: Subject = { kind: 'payment', payment: IDENTITY };

// The options.

/** Runs a command as a process without a terminal would. */
async function cambist(...argv: readonly string[]): Promise<{ exitCode: number; stderr: string }> {
  let stderr = '';
  const io: Io = {
    stdout: { write: () => {} },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    cwd: tmpdir(),
    now: () => Date.parse('2026-11-21T12:00:00Z'),
    ask: null,
    onInterrupt: () => () => {},
  };
  return { exitCode: await main(argv, io), stderr };
}

const INCOMPLETE: readonly (readonly [name: string, argv: readonly string[], places: readonly string[]])[] = [
  ['nothing', [], ['--executed, --not-executed, --not-this, --accept: none is given', '--by: it is missing']],
  [
    'both',
    ['--executed', 'wtd_1', '--not-executed', '--evidence', 'e', '--by', 'ana'],
    [
      '--executed, --not-executed, --not-this, --accept: more than one is given',
      '--evidence: it does not belong to --executed',
    ],
  ],
  ['no evidence', ['--not-executed', '--by', 'ana'], ['--evidence: it is missing']],
  ['an acceptance without a reason', ['--accept', 'tde_1', '--by', 'ana'], ['--evidence: it is missing']],
  [
    'a record and an acceptance',
    ['--executed', 'tde_1', '--accept', 'tde_1', '--by', 'ana'],
    ['--executed, --not-executed, --not-this, --accept: more than one is given', '--evidence: it is missing'],
  ],
  ['nobody', ['--executed', 'wtd_1'], ['--by: it is missing']],
];
for (const [name, argv, places] of INCOMPLETE) {
  test(`a decision with ${name} is refused, with everything that is missing`, async () => {
    const { exitCode, stderr } = await cambist('resolve', 'p.2026-11-21', 'supplier', ...argv);
    assert.equal(exitCode, 2);
    const told = [...stderr.matchAll(/^DECISION_INCOMPLETE ([^.]*)\.\s/gm)].map(([, place = '']) =>
      place.replaceAll(/\s+/g, ' '),
    );
    assert.deepEqual(told, places);
  });
}

test('what a person says is one line, and not a long one', async () => {
  const said = ['--not-executed', '--by', 'ana', '--evidence'];
  for (const [evidence, why] of [
    [' \n', 'It is empty.'],
    ['x'.repeat(501), 'It is longer than 500 characters; name a ticket instead.'],
  ] as const) {
    const { exitCode, stderr } = await cambist('resolve', 'p.2026-11-21', 'i', ...said, evidence);
    assert.equal(exitCode, 2);
    assert.ok(stderr.replaceAll('\n', ' ').includes(why), stderr);
  }
  assert.equal(statement(' two\n  lines '), 'two lines');
});

test('a decision about something that is no run is bad input', async () => {
  const { exitCode, stderr } = await cambist('resolve', 'p', 'i', '--executed', 'wtd_1', '--by', 'ana');
  assert.equal(exitCode, 2);
  assert.match(stderr, /^RUN_NAME RUN: "p" names no run/);
});

const WORSE: Problem = { code: 'EXECUTED_OUTSIDE_GUARD', item: 'usd-mxn-1', message: 'm', fix: 'f' };
const worse = makeReportOf({ status: 'HELD', payment: 'NEEDS_HUMAN', problems: [WORSE] });
const TRADED = worse.legs[0]?.tradeId ?? '';

test('a trade that came out worse than planned is accepted by its own id only', () => {
  assert.equal(whyNotAccepted(worse, 'usd-mxn-1', TRADED), null);
  assert.match(whyNotAccepted(worse, 'usd-mxn-1', 'tde_2') ?? '', /its trade is tde_\w+, not tde_2/);
  assert.match(whyNotAccepted(worse, 'supplier', TRADED) ?? '', /only trades can be accepted/);
  const fine = makeReportOf({ status: 'COMPLETED' });
  assert.match(whyNotAccepted(fine, 'usd-mxn-1', TRADED) ?? '', /nothing is wrong with its trade/);
});

test('a word that waits for signatures may be replaced; an item whose run alone waits for them goes on by itself', () => {
  const executed = kept({ kind: 'executed', item: 'supplier', recordId: 'wtd_1' });
  const may = (reason: WaitReason, item: string, all = executed) =>
    isOpenQuestion({ reason }, { kept: all, item });
  assert.equal(may('approval', 'supplier'), true);
  assert.equal(may('approval', 'another'), false);
  assert.equal(may('doubt', 'another'), true);
  assert.equal(may('money', 'supplier'), false);
  const lookAlikes = { sinceMs: 1, untilMs: 2, perGroup: 1, groups: [] };
  const list = kept({ kind: 'go-on', item: 'look-alikes-abcdefghijkl', takesBack: null, lookAlikes });
  assert.equal(may('approval', 'another', list), true);
});

test('the status of a run that waits for an acceptance says what to type', () => {
  const waiting = { reason: 'person' as const, problem: WORSE, wakeAtMs: 0 };
  const items = [{ id: 'usd-mxn-1', kind: 'leg' as const, step: 'TRADED', waiting }];
  assert.match(
    statusSentence(worse, { status: 'HELD', items, batch: null }, 0),
    new RegExp(
      `npx cambist resolve mxn-supplier\\.2026-11-21 usd-mxn-1 --accept ${TRADED} --evidence TEXT --by NAME\\.$`,
    ),
  );
});

test('paying again needs a reason and a name, and these need a payment', () => {
  assert.equal(payAgainRequest({}), null);
  const whole = { payAgain: ['supplier', 'rent'], reason: 'r', by: 'ana' };
  const said = { reason: 'r', by: 'ana' };
  assert.deepEqual(payAgainRequest(whole), { items: ['supplier', 'rent'], ...said });
  assert.deepEqual(payAgainRequest({ ...whole, payAgain: ['all-failed'] }), { items: 'all-failed', ...said });
  // Whoever starts a run may say who it is, and why it goes on.
  assert.equal(payAgainRequest({ by: 'ana' }), null);
  assert.equal(payAgainRequest({ goOn: 'supplier', reason: 'r' }), null);
  for (const wrong of [
    { payAgain: ['supplier'] },
    { reason: 'r' },
    { payAgain: ['s'], by: 'ana' },
    { ...whole, payAgain: ['s', 'all-failed'] },
    { ...whole, payAgain: [''] },
    { ...whole, goOn: true as const },
  ])
    assert.throws(() => payAgainRequest(wrong), /DECISION_INCOMPLETE/);
});

// Does a record agree with the plan?

const TRADES: readonly (readonly [name: string, record: Partial<Trade>, difference: RegExp | null])[] = [
  ['its own trade', {}, null],
  ['an amount written otherwise', { sellAmount: '1000' }, null],
  ['no reference', { clientReferenceId: null }, null],
  [
    'another reference',
    { clientReferenceId: 'p.2026-11-21.usd-mxn-2' },
    /its reference is "p\.2026-11-21\.usd-mxn-2"/,
  ],
  ['other currencies', { buyCurrency: 'BRL' }, /it sells USD for BRL/],
  ['another amount', { sellAmount: '1000.01' }, /its sell amount is 1000\.01, and the plan says 1000\.00/],
  ['the other side', { sellAmount: null, buyAmount: '17250.00' }, /its sell amount is not given/],
  ['another leg’s trade', { id: 'tde_other' }, /the record of another leg/],
  ['an older trade', { createdAt: '2026-11-20T23:49:00Z' }, /before the run's date began/],
  ['one a little early', { createdAt: '2026-11-20T23:51:00Z' }, null],
];
for (const [name, record, difference] of TRADES) {
  test(`a leg and ${name}: ${difference === null ? 'agree' : 'differ'}`, () => {
    const found = legDifferences(A_LEG, { ...TRADE, ...record });
    assert.equal(found.length, difference === null ? 0 : 1, found.join('; '));
    if (difference !== null) assert.match(found[0] ?? '', difference);
  });
}

test('the amount of a leg that came from balances is in the plan, and counts too', () => {
  const amount = { side: 'sell', value: '1000.00', fixed: false } as const;
  const planned: LegSubject = { ...A_LEG, leg: { ...LEG, amount } };
  assert.match(
    legDifferences(planned, { ...TRADE, sellAmount: '900' })[0] ?? '',
    /and the plan says 1000\.00/,
  );
  const forgotten: LegSubject = { ...A_LEG, leg: { ...LEG, amount: null } };
  assert.deepEqual(legDifferences(forgotten, { ...TRADE, sellAmount: '900' }), []);
});

const WITHDRAWALS: readonly (readonly [
  name: string,
  record: Partial<Withdrawal>,
  difference: RegExp | null,
])[] = [
  ['its own withdrawal', {}, null],
  ['one of a later generation', { tag: `${PAYMENT.reference}~3` }, null],
  ['one without a tag', { tag: null }, null],
  ['one whose account is not shown', { tag: null, withdrawalAccountId: null }, null],
  ['the tag of another item', { tag: 'p.2026-11-21.rent' }, /its reference is "p\.2026-11-21\.rent"/],
  ['a tag that only begins alike', { tag: `${PAYMENT.reference}-2` }, /its reference is/],
  ['another currency', { currency: 'EUR' }, /its currency is EUR/],
  ['another amount', { withdrawalAmount: '17250.01' }, /its amount is 17250\.01/],
  ['another account', { withdrawalAccountId: 'wac_2' }, /its account is wac_2/],
  ['another payment’s withdrawal', { id: 'wtd_other', tag: null }, /the record of another payment/],
  ['an older withdrawal', { tag: null, createdAt: '2026-11-19T12:00:00Z' }, /before the run's date began/],
];
for (const [name, record, difference] of WITHDRAWALS) {
  test(`a payment and ${name}: ${difference === null ? 'agree' : 'differ'}`, () => {
    const found = paymentDifferences(IDENTITY, { ...WITHDRAWAL, ...record });
    assert.equal(found.length, difference === null ? 0 : 1, found.join('; '));
    if (difference !== null) assert.match(found[0] ?? '', difference);
  });
}

test('everything that differs is told at once', () => {
  const record = { ...WITHDRAWAL, tag: 'x', currency: 'EUR', createdAt: '2026-11-01T00:00:00Z' };
  assert.equal(paymentDifferences(IDENTITY, record).length, 3);
});

// Reading.

type Lists = {
  readonly trades?: readonly Trade[];
  readonly withdrawals?: readonly Withdrawal[];
  /** The page after these cannot be read. */
  readonly cut?: true;
  readonly byId?: Reply<{ readonly kind: 'WHOLE'; readonly record: Withdrawal }> | Reply<never>;
};

/** A service of one page, which may say that there is another and then not answer. */
function serviceOf({ trades = [], withdrawals = [], cut, byId = failed('WITHDRAWAL_NOT_FOUND') }: Lists) {
  const list =
    <T>(items: readonly T[]) =>
    (page?: { readonly startingAfter?: string }): Promise<Reply<Page<T>>> =>
      Promise.resolve(
        page?.startingAfter === undefined
          ? done({ items, nextCursor: cut === true ? 'next' : null, prevCursor: null })
          : NO_ANSWER,
      );
  return {
    trade: () => Promise.resolve(failed('TRADE_NOT_FOUND')),
    withdrawal: () => Promise.resolve(byId),
    listTrades: list(trades),
    listWithdrawals: list(withdrawals),
  };
}

test('a record is found by its id, else in the list; not found by its id proves nothing', async () => {
  const whole = done({ kind: 'WHOLE', record: WITHDRAWAL } as const);
  assert.equal((await checkExecuted(serviceOf({ byId: whole }), A_PAYMENT, 'wtd_1')).kind, 'agrees');
  const listed = serviceOf({ withdrawals: [{ ...WITHDRAWAL, id: 'wtd_2' }, WITHDRAWAL] });
  assert.equal((await checkExecuted(listed, A_PAYMENT, 'wtd_1')).kind, 'agrees');
  assert.equal((await checkExecuted(serviceOf({ trades: [TRADE] }), A_LEG, 'tde_1')).kind, 'agrees');
  assert.equal((await checkExecuted(serviceOf({}), A_PAYMENT, 'wtd_1')).kind, 'missing');
  assert.equal((await checkExecuted(serviceOf({ cut: true }), A_PAYMENT, 'wtd_1')).kind, 'unreadable');
  const cut = serviceOf({ withdrawals: [WITHDRAWAL], cut: true });
  assert.equal((await checkExecuted(cut, A_PAYMENT, 'wtd_1')).kind, 'agrees');
});

test('not executed needs one complete look without a record of the item', async () => {
  const absent = await checkNotExecuted(serviceOf({ withdrawals: [{ ...WITHDRAWAL, tag: 'x' }] }), A_PAYMENT);
  assert.deepEqual(absent, { kind: 'absent', couldBe: [] });
  assert.equal((await checkNotExecuted(serviceOf({ cut: true }), A_PAYMENT)).kind, 'unreadable');
  assert.equal((await checkNotExecuted(serviceOf({ cut: true }), A_LEG)).kind, 'unreadable');
});

test('a record that could be the item is too young to be judged until it is ten minutes old', () => {
  const untagged = { ...WITHDRAWAL, tag: null };
  const madeAtMs = Date.parse(untagged.createdAt);
  assert.deepEqual(youngOnes([untagged], madeAtMs + 10 * 60_000 - 1), [untagged]);
  assert.deepEqual(youngOnes([untagged], madeAtMs + 10 * 60_000), []);
});

test('a record that agrees stands above "not executed", however much could be read', async () => {
  const found = await checkNotExecuted(serviceOf({ withdrawals: [WITHDRAWAL], cut: true }), A_PAYMENT);
  assert.deepEqual(found, { kind: 'found', record: WITHDRAWAL });
  // By the quote that the run holds, though the list shows no reference.
  const trade = { ...TRADE, clientReferenceId: null };
  assert.equal((await checkNotExecuted(serviceOf({ trades: [trade] }), A_LEG)).kind, 'found');
});

test('a record with the item’s name that contradicts the plan may be decided over, after a complete look', async () => {
  const other = { ...WITHDRAWAL, withdrawalAmount: '1.00' };
  const seen = await checkNotExecuted(serviceOf({ withdrawals: [other] }), A_PAYMENT);
  assert.deepEqual(seen, {
    kind: 'contradicts',
    record: other,
    difference: 'its amount is 1.00, and the plan says 17250.00',
    couldBe: [],
  });
  const cut = await checkNotExecuted(serviceOf({ withdrawals: [other], cut: true }), A_PAYMENT);
  assert.equal(cut.kind, 'unreadable');
});

test('what carries no name and could be it is shown, and is no obstacle', async () => {
  const twin = { ...WITHDRAWAL, id: 'wtd_2', tag: null };
  const late = { ...twin, id: 'wtd_3', createdAt: '2026-11-20T12:00:00Z' };
  const seen = await checkNotExecuted(serviceOf({ withdrawals: [twin, late] }), A_PAYMENT);
  assert.deepEqual(seen, { kind: 'absent', couldBe: [twin] });
  const trade = { ...TRADE, id: 'tde_2', quoteId: 'qte_2', clientReferenceId: null };
  const trades = [trade, { ...trade, id: 'tde_3', sellAmount: '5.00' }];
  assert.deepEqual(await checkNotExecuted(serviceOf({ trades }), A_LEG), {
    kind: 'absent',
    couldBe: [trade],
  });
});

// Paying again.

const REPORTED: ReportPayment = {
  id: 'supplier',
  reference: PAYMENT.reference,
  account: PAYMENT.account,
  currency: 'MXN',
  amount: '17250.00',
  withdrawalId: 'wtd_1',
  status: 'FAILED',
  outcome: 'NOT_PAID',
  sentAt: '2026-11-21T12:00:00.000Z',
  reason: null,
};
const FAILED: Withdrawal = { ...WITHDRAWAL, status: 'FAILED' };
const again = (follows: number, item = 'supplier', recordId: string | null = FAILED.id) =>
  ({ kind: 'pay again', item, follows, recordId, why: 'r' }) as const;
const signed = (about: string | null, as: 'starter' | 'approver' = 'approver') =>
  ({ kind: 'approve', as, about, expiresAtMs: 2, signature: 'AAAA' }) as const;
/** Nothing that was said at the first moment leaves any more. */
const LATE = openUntilMs(1) + 1;
const opened = (generation: number): Fact => ({ kind: 'opened', item: 'supplier', generation, atMs: 1 });
const history = (more: Partial<PaymentHistory> = {}): PaymentHistory => ({
  identity: { ...IDENTITY, ownIds: ['wtd_1'] },
  reported: REPORTED,
  kept: NOTHING_KEPT,
  nowMs: 1,
  ...more,
});
const tell = (verdict: PayAgainVerdict): string =>
  verdict.kind === 'may' ? `may ~${verdict.generation}` : verdict.kind;
const tagOf = (generation: number): string => `${PAYMENT.reference}~${generation}`;

const AGAIN: readonly (readonly [
  name: string,
  records: readonly Withdrawal[],
  more: Partial<PaymentHistory>,
  verdict: string,
])[] = [
  ['one that failed', [FAILED], {}, 'may ~9'],
  ['one that was never accepted', [], { reported: { ...REPORTED, withdrawalId: null } }, 'may ~9'],
  ['two that failed', [{ ...FAILED, id: 'wtd_2', tag: tagOf(2) }, FAILED], {}, 'may ~9'],
  ['one that failed, whose tag is not shown', [{ ...FAILED, tag: null }], {}, 'may ~9'],
  [
    'a later one that only the report names',
    [],
    { reported: { ...REPORTED, reference: tagOf(4) } },
    'may ~9',
  ],
  ['one that is paid', [{ ...FAILED, status: 'COMPLETED' }], {}, 'stands'],
  ['one under way', [{ ...FAILED, status: 'PENDING' }], {}, 'stands'],
  ['one with a status that nobody knows', [{ ...FAILED, status: 'PONDERED' }], {}, 'stands'],
  ['a later one under way', [{ ...WITHDRAWAL, id: 'wtd_2', tag: tagOf(2) }, FAILED], {}, 'stands'],
  ['one that differs from the plan', [{ ...WITHDRAWAL, withdrawalAmount: '1.00' }], {}, 'stands'],
  ['one without a tag that could be it', [FAILED, { ...WITHDRAWAL, id: 'wtd_2', tag: null }], {}, 'could be'],
  [
    'two without a tag, of which one failed',
    [FAILED, { ...FAILED, id: 'wtd_2', tag: null }, { ...WITHDRAWAL, id: 'wtd_3', tag: null }],
    {},
    'could be',
  ],
  ['the same, failed', [FAILED, { ...FAILED, id: 'wtd_2', tag: null }], {}, 'may ~9'],
  ['one of another payment', [FAILED, { ...WITHDRAWAL, id: 'wtd_other', tag: null }], {}, 'may ~9'],
  ['an instruction that came to nothing yet', [FAILED], { kept: kept(again(1)) }, 'opened before'],
  ['an instruction for another payment', [FAILED], { kept: kept(again(1, 'rent')) }, 'may ~9'],
  [
    'an instruction whose withdrawal failed',
    [{ ...FAILED, id: 'wtd_2', tag: tagOf(9) }, FAILED],
    { kept: kept(again(1)) },
    'may ~17',
  ],
  [
    'one that was opened and refused since, without a record',
    [FAILED],
    { kept: { ...kept(again(1)), facts: [opened(9)] } },
    'may ~17',
  ],
  [
    'an instruction that names another record, and that perhaps nobody signs',
    [FAILED],
    { kept: kept(again(1, 'supplier', 'wtd_nothing')) },
    'may ~9',
  ],
  [
    'an instruction that came to nothing yet, and names no record',
    [FAILED],
    { kept: kept(again(1, 'supplier', null)) },
    'opened before',
  ],
  [
    'an instruction that names a generation that never was, and no record',
    [FAILED],
    { kept: kept(again(100, 'supplier', null)) },
    'may ~9',
  ],
  [
    'an instruction that names a generation that never was, and the true record',
    [FAILED],
    { kept: kept(again(1_000)) },
    'may ~9',
  ],
  [
    'an instruction that came to nothing yet, with one after it that perhaps nobody signs',
    [FAILED],
    { kept: kept(again(1), again(9, 'supplier', 'wtd_nothing')) },
    'opened before',
  ],
  [
    'an instruction that nobody has signed, of a run that people sign',
    [FAILED],
    { kept: kept({ ...again(1), id: 'said' }, signed(null)) },
    'may ~9',
  ],
  [
    'an instruction that its own approver has said, who can sign it for the start alone',
    [FAILED],
    { kept: kept({ ...again(1), id: 'said' }, signed(null), signed('said', 'starter')) },
    'may ~9',
  ],
  [
    'an instruction that fewer people can sign than must, or of which a signature is forged',
    [FAILED],
    { kept: kept({ ...again(1), id: 'said' }, signed('said', 'starter'), signed('said')) },
    'may ~9',
  ],
  [
    'an instruction that was signed, sent, and has failed',
    [{ ...FAILED, id: 'wtd_2', tag: tagOf(9) }, FAILED],
    { kept: kept({ ...again(1), id: 'said' }, signed('said')) },
    'may ~17',
  ],
  [
    'an instruction that was signed, and whose record may still pay',
    [{ ...WITHDRAWAL, id: 'wtd_2', tag: tagOf(9) }, FAILED],
    { kept: kept({ ...again(1), id: 'said' }, signed('said')) },
    'stands',
  ],
  ['an instruction whose window is over', [FAILED], { kept: kept(again(1)), nowMs: LATE }, 'may ~17'],
  [
    'an instruction whose window is over, of a run that people sign',
    [FAILED],
    { kept: kept({ ...again(1), id: 'said' }, signed('said')), nowMs: LATE },
    'may ~17',
  ],
  [
    'two instructions whose windows are over',
    [FAILED],
    { kept: kept(again(1), again(9)), nowMs: LATE },
    'may ~25',
  ],
  [
    'an instruction whose window is over, and one after it that is open',
    [FAILED],
    { kept: kept(again(1), { ...again(9), atMs: LATE }), nowMs: LATE },
    'opened before',
  ],
  [
    'an instruction after which a person has decided that nothing was executed',
    [FAILED],
    { kept: kept(again(1), { kind: 'not executed', item: 'supplier' }) },
    'may ~17',
  ],
  [
    'a second instruction that came to nothing yet',
    [{ ...FAILED, tag: tagOf(9) }],
    { kept: kept(again(1), again(9)) },
    'opened before',
  ],
];
for (const [name, records, more, verdict] of AGAIN) {
  test(`paying again over ${name}: ${verdict}`, () => {
    assert.equal(tell(judgePayAgain(history(more), records)), verdict);
  });
}

test('paying again names the generation that it follows, and the record of that one', () => {
  const follows = (records: readonly Withdrawal[], more: Partial<PaymentHistory> = {}) => {
    const verdict = judgePayAgain(history(more), records);
    assert.ok(verdict.kind === 'may', verdict.kind);
    return [verdict.follows, verdict.recordId];
  };
  assert.deepEqual(follows([FAILED]), [1, 'wtd_1']);
  // The report names it though the list does not show its tag.
  assert.deepEqual(follows([{ ...FAILED, tag: null }]), [1, 'wtd_1']);
  assert.deepEqual(follows([{ ...FAILED, id: 'wtd_2', tag: tagOf(2) }, FAILED]), [2, 'wtd_2']);
  assert.deepEqual(follows([], { reported: { ...REPORTED, withdrawalId: null } }), [1, null]);
  // Sent and refused: it has no record, and what failed before it is not its record.
  const refused = { ...kept(again(1)), facts: [opened(9)] };
  assert.deepEqual(follows([FAILED], { kept: refused }), [9, null]);
  // What a person has named counts until it is named as failed.
  const byHand = kept({ kind: 'executed', item: PAYMENT.id, recordId: 'wtd_9' });
  assert.deepEqual(follows([FAILED], { kept: byHand }), [1, 'wtd_9']);
  // One that was never sent, and never will be, is followed too; the record is that of the last that was sent.
  assert.deepEqual(follows([FAILED], { kept: kept(again(1)), nowMs: LATE }), [9, 'wtd_1']);
});

const EXECUTED = { kind: 'executed', item: 'supplier', recordId: 'wtd_9', id: 'named' } as const;

test('where people sign, a word that names a record keeps a failed payment from being paid again only where the run has taken that record', async () => {
  const record: Withdrawal = { ...WITHDRAWAL, id: 'wtd_9', tag: null, withdrawalAmount: '1.00' };
  const of = async (given: Kept, status: string, withdrawalId = FAILED.id): Promise<unknown> => {
    const service = serviceOf({
      withdrawals: [FAILED],
      byId: done({ kind: 'WHOLE', record: { ...record, status } }),
    });
    const reported = { ...REPORTED, withdrawalId };
    const opensAtMs = history().identity.opensAtMs;
    const book = await readWithdrawals(service, { run: RUN, opensAtMs, payments: [reported] });
    const identity = { ...IDENTITY, ownIds: [withdrawalId] };
    const verdict = await checkPayAgain(service, book, history({ kept: given, reported, identity }));
    return verdict.kind === 'may' ? [verdict.follows, verdict.recordId] : verdict.kind;
  };
  // Nobody has signed it, or somebody who cannot make it count.
  for (const words of [
    kept(EXECUTED, signed(null)),
    kept(EXECUTED, signed(null), signed('named', 'starter')),
    kept(EXECUTED, signed(null), signed('named')),
  ])
    assert.deepEqual(await of(words, 'COMPLETED'), [1, 'wtd_1']);
  // A worker counts it: the report has the record as the payment's. Once that has failed too, it is named as failed.
  const counts = kept(EXECUTED, signed('named'));
  assert.equal(await of(counts, 'COMPLETED', 'wtd_9'), 'stands');
  assert.deepEqual(await of(counts, 'FAILED', 'wtd_9'), [1, 'wtd_9']);
  // So also where a word to pay again, which nobody signs, says that it has failed.
  const forged = kept(EXECUTED, again(1, 'supplier', 'wtd_9'), signed('named'));
  assert.deepEqual(await of(forged, 'FAILED', 'wtd_9'), [1, 'wtd_9']);
  // Where nobody signs, it counts as soon as it is said.
  assert.equal(await of(kept(EXECUTED), 'COMPLETED'), 'stands');
});

test('a record that somebody has named for an item, and that the run has not taken, is said to be another one, also of an item that is paid or has failed', () => {
  const may = (given: Kept, recordId: string) =>
    isOnlySaid(
      { kept: given, item: 'supplier', view: { report: { legs: [], payments: [REPORTED] } } },
      recordId,
    );
  const words = kept(EXECUTED, signed(null));
  assert.equal(may(words, 'wtd_9'), true);
  assert.equal(may(words, 'wtd_8'), false, 'nobody has named it');
  assert.equal(may(kept({ ...EXECUTED, recordId: 'wtd_1' }, signed(null)), 'wtd_1'), false, 'it is its own');
  assert.equal(may(kept(EXECUTED), 'wtd_9'), false, 'it counts');
});

test('what somebody has named is shown as the service has it, and need not be there to be contradicted', async () => {
  const shown = (service: ReturnType<typeof serviceOf>) => namedRecord(service, A_PAYMENT, 'wtd_9');
  const another = { ...WITHDRAWAL, id: 'wtd_9', withdrawalAmount: '1.00' };
  assert.deepEqual(await shown(serviceOf({ withdrawals: [another] })), another);
  assert.equal(await shown(serviceOf({})), null);
  assert.equal(await shown(serviceOf({ cut: true })), null);
});

test('a record is named for another item only as long as nobody has said otherwise', () => {
  const names = (...words: readonly LooseRecorded[]) =>
    standingNames(kept(...words)).map(({ id, recordId }) => [id, recordId]);
  assert.deepEqual(names(EXECUTED), [['supplier', 'wtd_9']]);
  assert.deepEqual(names(EXECUTED, { ...EXECUTED, recordId: 'wtd_8' }), [['supplier', 'wtd_8']]);
  assert.deepEqual(names(EXECUTED, { kind: 'not executed', item: 'supplier' }), []);
  const notThis = { kind: 'not this', item: 'supplier', recordId: 'wtd_9' } as const;
  assert.deepEqual(names(EXECUTED, notThis, signed(null)), []);
  // A word that counts is not ended by it.
  assert.deepEqual(names(EXECUTED, notThis), [['supplier', 'wtd_9']]);
});

/** As the command looks: by one scan, and by the id of a record that it does not show. */
async function check(service: ReturnType<typeof serviceOf>): Promise<PayAgainVerdict> {
  const of = history();
  const { opensAtMs } = of.identity;
  return checkPayAgain(
    service,
    await readWithdrawals(service, { run: RUN, opensAtMs, payments: [REPORTED] }),
    of,
  );
}

test('nothing is paid again on a look that is not complete', async () => {
  const cut = serviceOf({ withdrawals: [FAILED], cut: true });
  assert.equal((await check(cut)).kind, 'unreadable');
});

test('a record that the report names and the list does not show is asked for by its id', async () => {
  const byId = (record: Withdrawal) => serviceOf({ byId: done({ kind: 'WHOLE', record } as const) });
  assert.equal(tell(await check(byId(FAILED))), 'may ~9');
  assert.equal((await check(byId({ ...FAILED, status: 'COMPLETED' }))).kind, 'stands');
  assert.equal((await check(serviceOf({}))).kind, 'unreadable');
});

// Shown.

test('who decided what is among the evidence of every report, and said to people', () => {
  const said = { by: 'ana', atMs: Date.parse('2026-11-21T12:00:00Z') };
  const { instructions } = kept(
    { ...said, kind: 'cancel' },
    { ...said, kind: 'go-on', item: null },
    { ...said, kind: 'go-on', item: 'supplier' },
    { ...said, kind: 'executed', item: 'supplier', recordId: 'wtd_1' },
    { ...said, kind: 'not executed', item: 'supplier', why: 'ticket 4711' },
    { ...said, ...again(1, 'supplier', null) },
    { ...said, kind: 'accept', item: 'eur-usd-1', recordId: 'tde_1', why: 'still cheap' },
  );
  const evidence = instructions.map((one) => evidenceOf(one, RUN));
  assert.deepEqual(
    instructionLines({ ...makeReportOf({ status: 'COMPLETED' }), evidence }, clockOf('Europe/Paris', 0)),
    [
      '2026-11-21 13:00 Europe/Paris p.2026-11-21, "ana": cancel what is not sent: "seen"',
      '2026-11-21 13:00 p.2026-11-21, "ana": go on after the cancel: "seen"',
      '2026-11-21 13:00 supplier, "ana": try it now, its cause is gone: "seen"',
      '2026-11-21 13:00 supplier, "ana": executed as wtd_1',
      '2026-11-21 13:00 supplier, "ana": not executed: "ticket 4711"',
      '2026-11-21 13:00 supplier, "ana": pay again after generation 1: "r"',
      '2026-11-21 13:00 eur-usd-1, "ana": trade tde_1 accepted as it came out: "still cheap"',
    ],
  );
});
