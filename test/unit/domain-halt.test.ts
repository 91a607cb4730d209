/** What stands after people have halted and resumed, which writes that stops, and what a leg and a payment make of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  holding,
  NO_RECORD,
  beginsWith,
  drillOf,
  drillScope,
  haltOf,
  halted,
  carriedFrom,
  endsToSign,
  haltsAfter,
  heldAfter,
  replacedBy,
  resumesIn,
  scopeOptions,
  type HaltRecord,
  type HaltScope,
  type HaltWord,
  type HaltsHeld,
} from '../../domain/halt.ts';
import { jsonBytes } from '../../domain/json-bytes.ts';
import { makeProblem } from '../../domain/problems.ts';
import { NEW_LEG, type LegState } from '../../domain/writes/leg-state.ts';
import { executeTradeSteps, requestQuoteSteps } from '../../domain/writes/trade.ts';
import { NEW_PAYMENT, createWithdrawalSteps } from '../../domain/writes/withdrawal.ts';
import { IN_HAND, LEG, NOW, PAYMENT, context, failed, kindsOf, play, stateOf } from '../support/scripts.ts';

const ALL: HaltScope = { policy: null, currency: null };
const OF_P: HaltScope = { policy: 'p', currency: null };
const IN_MXN: HaltScope = { policy: null, currency: 'MXN' };
const P_IN_MXN: HaltScope = { policy: 'p', currency: 'MXN' };

/** A resume names the halt that Temporal took at `atMs`. */
const said = (word: 'halt' | 'resume', scope: HaltScope, atMs = NOW): HaltWord => ({
  word,
  said: { scope, by: 'ana', why: 'wrong accounts', ...(word === 'resume' && { haltAtMs: atMs }) },
  atMs,
});
const scopesAfter = (...words: readonly HaltWord[]) => haltsAfter(words).map(({ scope }) => scope);

test('each halt stands until its own scope is resumed', () => {
  assert.deepEqual(scopesAfter(), []);
  assert.deepEqual(scopesAfter(said('halt', ALL), said('halt', OF_P)), [ALL, OF_P]);
  assert.deepEqual(scopesAfter(said('halt', ALL), said('halt', OF_P), said('resume', ALL)), [OF_P]);
  assert.deepEqual(scopesAfter(said('halt', OF_P), said('resume', P_IN_MXN), said('resume', IN_MXN)), [OF_P]);
  assert.deepEqual(scopesAfter(said('halt', ALL), said('resume', ALL), said('halt', ALL)), [ALL]);
});

test('a halt that came after the one that a person resumes stands', () => {
  const words = [said('halt', ALL, 1_000), said('halt', ALL, 2_000), said('resume', ALL, 1_000)];
  assert.deepEqual(scopesAfter(...words), [ALL]);
  assert.deepEqual(scopesAfter(...words, said('resume', ALL, 2_000)), []);
  // Also where it names none.
  const { said: unnamed } = said('halt', ALL);
  assert.deepEqual(scopesAfter(said('halt', ALL), { word: 'resume', said: unnamed, atMs: NOW }), [ALL]);
});

test('a halt that is said again is the newer one', () => {
  const halts = haltsAfter([said('halt', ALL, 1_000), said('halt', ALL, 2_000)]);
  assert.deepEqual(
    halts.map(({ atMs }) => atMs),
    [2_000],
  );
});

test('a record that begins with what stood before it goes on with that', () => {
  const before = haltsAfter([said('halt', OF_P)]);
  const words = [...beginsWith(before, NOW), said('halt', IN_MXN)];
  assert.deepEqual(scopesAfter(...words), [OF_P, IN_MXN]);
  assert.deepEqual(scopesAfter(...words, said('resume', OF_P)), [IN_MXN]);
});

test('a halt that is put back stands once, and not when it was taken back or said anew', () => {
  const [halt, again, resume] = [
    said('halt', OF_P, 1_000),
    said('halt', OF_P, 2_000),
    said('resume', OF_P, 1_000),
  ];
  const stands = beginsWith(haltsAfter([halt]), 3_000);
  assert.deepEqual(scopesAfter(...stands, ...stands), [OF_P]);
  assert.deepEqual(scopesAfter(halt, ...stands), [OF_P]);
  assert.deepEqual(scopesAfter(halt, resume, ...stands), []);
  assert.deepEqual(scopesAfter(resume, ...stands), []);
  assert.deepEqual(
    haltsAfter([halt, again, ...stands]).map(({ atMs }) => atMs),
    [2_000],
  );
});

test('a record that a command begins anew keeps what somebody has resumed with the resume and its signatures, for workers to judge', () => {
  const resume = said('resume', OF_P);
  const signed = { by: 'ben', why: 'w', as: 'approver', expiresAtMs: NOW + 9, signature: 'QUJD' };
  const approve: HaltWord = {
    word: 'approve',
    said: { scope: OF_P, haltAtMs: NOW, ...signed },
    atMs: NOW + 7,
  };
  const drill = drillScope('4f2a');
  const before = [
    said('halt', OF_P),
    resume,
    approve,
    said('halt', drill),
    said('resume', drill),
    said('halt', ALL),
  ];
  const anew = beginsWith(JSON.parse(JSON.stringify(carriedFrom(before))), NOW + 9_000);
  assert.deepEqual(scopesAfter(...anew), [ALL]);
  assert.deepEqual(
    anew.filter(({ word }) => word !== 'stands'),
    [resume, approve],
  );
  // As a worker reads it for which the signatures do not suffice.
  const judged = anew.map((word) =>
    word.word === 'resume' ? { ...word, unsigned: 'ben is missing' } : word,
  );
  assert.deepEqual(scopesAfter(...judged), [OF_P, ALL]);
  assert.deepEqual(scopesAfter(...beginsWith([{ ...resume, unsigned: '' }], NOW)), [ALL], 'no word of ours');
});

const signedFor = (scope: HaltScope, signature: string, haltAtMs = NOW): HaltWord => ({
  word: 'approve',
  said: { scope, haltAtMs, by: 'ben', why: 'w', as: 'approver', expiresAtMs: NOW + 9, signature },
  atMs: NOW + 7,
});
const times = <One>(count: number, make: (index: number) => One): readonly One[] =>
  Array.from({ length: count }, (_, index) => make(index));
const begunAnew = (words: readonly HaltWord[]) =>
  beginsWith(JSON.parse(JSON.stringify(carriedFrom(words))), NOW + 9_000);

test('what somebody says again 4,000 times a new record has once, and a halt that is said after that is in force', () => {
  const copies = [
    ...times(2_000, () => signedFor(OF_P, 'QUJD')),
    ...times(2_000, () => said('resume', OF_P)),
  ];
  const words = [said('halt', OF_P), ...copies];
  const anew = begunAnew(words);
  assert.deepEqual(
    anew.map(({ word }) => word),
    ['stands', 'resume', 'approve'],
  );
  assert.ok(jsonBytes(carriedFrom(words)) < 2_000);
  assert.deepEqual(scopesAfter(...anew, said('halt', ALL)), [ALL]);
});

test('of a flood of forged signatures a new record has the oldest and the newest, and of halts that another took the place of none', () => {
  const forged = times(350, (index) => signedFor(OF_P, `${index}`.padStart(6_000, 'A')));
  const over = times(350, (index) => signedFor(OF_P, `${index}`.padStart(6_000, 'B'), NOW - 1));
  const words = [
    said('halt', OF_P, NOW - 1),
    ...over,
    said('halt', OF_P),
    signedFor(OF_P, 'QUJD'),
    ...forged,
    signedFor(OF_P, 'REVG'),
    said('resume', OF_P),
  ];
  const anew = begunAnew(words);
  assert.ok(jsonBytes(carriedFrom(words)) < 150_000);
  const [resumed] = resumesIn(anew);
  const signatures = resumed?.signed.map(({ signature }) => signature) ?? [];
  assert.deepEqual([signatures.length, signatures[0], signatures.at(-1)], [16, 'QUJD', 'REVG']);
});

test('a signature that was left out of a new record lifts nothing, and one that is given again does', () => {
  const halts = times(40, (index): HaltScope => ({ policy: `p-${index}`, currency: null }));
  const words = halts.flatMap((scope) => [
    said('halt', scope),
    said('resume', scope),
    ...times(16, (index) => signedFor(scope, `${index}`.padStart(1_000, 'A'))),
  ]);
  const anew = begunAnew(words);
  assert.equal(anew.filter(({ word }) => word === 'stands').length, 40);
  assert.equal(resumesIn(anew).length, 40);
  const signedOf = (some: readonly HaltWord[]) =>
    resumesIn(some).filter((one) => one.said.scope.policy === 'p-0')[0]?.signed.length;
  assert.equal(signedOf(words), 16);
  assert.equal(signedOf(anew), 0);
  assert.equal(signedOf([...anew, signedFor({ policy: 'p-0', currency: null }, 'QUJD')]), 1);
});

test('where more is halted than a new record can hold, everything is, and no resume of another halt lifts that', () => {
  const many = times(4_000, (index) => said('halt', { policy: `p-${index}`, currency: null }));
  const last = [said('halt', ALL, NOW + 1), said('resume', ALL, NOW + 1)];
  for (const words of [many, [...many, ...last]]) {
    const anew = begunAnew(words);
    assert.ok(jsonBytes(carriedFrom(words)) < 400_000);
    const halts = haltsAfter(anew);
    assert.deepEqual(halts.at(-1)?.scope, ALL);
    assert.match(halts.at(-1)?.why ?? '', /so much was halted that a new record cannot hold it/);
    assert.notEqual(haltOf(halts, { policy: 'p-3999', currencies: ['MXN'] }), null);
    assert.deepEqual(scopesAfter(...anew, said('resume', ALL, halts.at(-1)?.atMs)).at(-1)?.currency, null);
    assert.ok(
      !scopesAfter(...anew, said('resume', ALL, halts.at(-1)?.atMs)).some(({ policy }) => policy === null),
    );
  }
});

test('drills, which stop nothing, are in no new record', () => {
  const drills = times(4_000, (index) => said('halt', drillScope(`${index}`)));
  assert.deepEqual(carriedFrom([...drills, said('halt', OF_P)]), haltsAfter([said('halt', OF_P)]));
});

test('each word of a record is looked at a few times, however long the record is', () => {
  let looks = 0;
  const counted = (word: HaltWord): HaltWord => ({
    ...word,
    get said() {
      looks += 1;
      return word.said;
    },
  });
  const words = times(1_000, (index) => [
    said('halt', { policy: `p-${index}`, currency: null }),
    said('resume', { policy: `p-${index}`, currency: null }),
    signedFor({ policy: `p-${index}`, currency: null }, 'QUJD'),
    { word: 'stands', said: { scope: OF_P, by: 'ana', why: 'w', atMs: NOW + index }, atMs: NOW },
  ]).flat();
  for (const read of [
    haltsAfter,
    resumesIn,
    carriedFrom,
    (all: readonly HaltWord[]) => endsToSign(all, OF_P),
  ]) {
    looks = 0;
    read(words.map(counted));
    // Each word that a record does not copy is read by a few functions, and by each of them a few times.
    assert.ok(
      looks > 0 && looks <= 20 * words.length,
      `${read.name}: ${looks} looks at ${words.length} words`,
    );
  }
});

test('a halt tells which one of its scope it takes the place of', () => {
  const [first, other] = [said('halt', OF_P, 1_000), said('halt', IN_MXN, 1_500)];
  const own = { ...said('halt', OF_P, 2_000), said: { scope: OF_P, by: 'ben', why: 'seen' } };
  const of = { scope: OF_P, by: 'ben', why: 'seen' };
  assert.equal(replacedBy([first, other, own], of)?.atMs, 1_000);
  assert.equal(replacedBy([other, own], of), null);
  assert.equal(replacedBy([first, said('resume', OF_P, 1_000), own], of), null);
  assert.equal(replacedBy([first], of), null);
});

test('people sign for the end of every halt of the scope that somebody has resumed, also of those that workers have put back', () => {
  const putBack = (atMs: number): HaltWord => ({
    word: 'stands',
    said: { scope: OF_P, by: 'ana', why: 'w', atMs },
    atMs: NOW,
  });
  const [first, gone] = [putBack(2_000), putBack(1_000)];
  const [resume, ofGone] = [said('resume', OF_P, 2_000), said('resume', OF_P, 1_000)];
  const momentsOf = (...words: readonly HaltWord[]) => endsToSign(words, OF_P).map(({ halt: of }) => of.atMs);
  assert.deepEqual(momentsOf(first, gone, resume, ofGone), [2_000, 1_000]);
  assert.deepEqual(momentsOf(first, gone, resume), [2_000], 'nobody has resumed the other one');
  assert.deepEqual(momentsOf(first, gone), [1_000]);
  assert.deepEqual(
    momentsOf(first, resume, said('halt', OF_P, 3_000)),
    [3_000],
    'it takes the place of the first',
  );
  assert.deepEqual(momentsOf(first, resume, said('halt', ALL, 3_000)), [2_000]);
});

/** A record of one workflow for each list of words, as Temporal has it; all but the last have been ended. */
function recordOf(...workflows: readonly (readonly HaltWord[])[]): HaltRecord {
  return {
    words: workflows.flat(),
    runIds: workflows.map((_words, index) => `run-${index + 1}`),
    sinceMs: NOW - 1_000 + workflows.length,
    isOpen: workflows.length > 0,
    ended: null,
  };
}
const heldBy = (...records: readonly HaltRecord[]): HaltsHeld => records.reduce(heldAfter, holding([]));
const namesOf = ({ halts, lost }: HaltsHeld) => [halts, lost].map((some) => some.map(({ scope }) => scope));

test('a halt that was seen holds until a resume that names it, whatever becomes of its record', () => {
  const seen = recordOf([said('halt', OF_P)]);
  assert.deepEqual(namesOf(heldBy(seen)), [[OF_P], []]);
  // Its workflow was ended, and is started again empty.
  assert.deepEqual(namesOf(heldBy(seen, recordOf([said('halt', OF_P)], []))), [[OF_P], []]);
  // Temporal forgets it: it has an older state, or the workflow that had ended is gone.
  assert.deepEqual(namesOf(heldBy(seen, recordOf([]))), [[OF_P], [OF_P]]);
  assert.deepEqual(namesOf(heldBy({ ...seen, isOpen: false }, NO_RECORD)), [[OF_P], [OF_P]]);
  const [, ...later] = [1, 2].map((atMs) => said('resume', OF_P, NOW + atMs));
  assert.deepEqual(namesOf(heldBy(seen, recordOf(later))), [[OF_P], [OF_P]]);
  assert.deepEqual(namesOf(heldBy(seen, recordOf([said('resume', OF_P)]))), [[], []]);
  assert.deepEqual(namesOf(heldBy(seen, recordOf([]), recordOf([said('resume', OF_P)]))), [[], []]);
});

test('a record that was there, open, and is gone is a halt of everything, the same for every worker', () => {
  const nothing = recordOf([]);
  for (const then of [NO_RECORD, { ...nothing, runIds: ['run-9'] }]) {
    const held = heldBy(nothing, then);
    assert.deepEqual(namesOf(held), [[ALL], [ALL]]);
    assert.deepEqual(held, heldBy(recordOf([]), then));
    const [gone] = held.lost;
    const back = { ...nothing, runIds: ['run-9'], words: beginsWith(held.halts, NOW) };
    assert.deepEqual(namesOf(heldAfter(held, back)), [[ALL], []]);
    const resumed = { ...back, words: [...back.words, said('resume', ALL, gone?.atMs)] };
    assert.deepEqual(namesOf(heldAfter(heldAfter(held, back), resumed)), [[], []]);
  }
  // Nobody has halted anything, or the worker had seen that it had ended.
  assert.deepEqual(namesOf(heldBy(NO_RECORD, NO_RECORD)), [[], []]);
  assert.deepEqual(namesOf(heldBy({ ...nothing, isOpen: false }, NO_RECORD)), [[], []]);
});

test('a halt whose moment no calendar has is one of everything, and can be told', () => {
  const never = { scope: OF_P, by: 'ana', why: 'wrong accounts', atMs: Number.MAX_SAFE_INTEGER };
  const [halt] = haltsAfter(beginsWith([never], NOW));
  assert.ok(halt !== undefined);
  assert.deepEqual(halt.scope, ALL);
  assert.match(halted(halt).problem.message, /has halted everything/);
});

test('a drill is over when its record is', () => {
  assert.deepEqual(namesOf(heldBy(recordOf([said('halt', drillScope('a'))]), recordOf([]))), [[], []]);
});

test('what cannot be read is a halt of everything, and a resume that cannot be read lets nothing go', () => {
  const odd = { atMs: NOW, said: { scope: 'all' } };
  assert.deepEqual(scopesAfter({ ...odd, word: 'halt' }), [ALL]);
  assert.deepEqual(scopesAfter({ ...odd, word: 'stop' }), [ALL]);
  assert.deepEqual(scopesAfter(said('halt', OF_P), { ...odd, word: 'resume' }), [OF_P]);
  assert.deepEqual(
    beginsWith('odd', NOW).map(({ said: odds }) => odds),
    ['odd'],
  );
  const carried = beginsWith(['odd', { scope: OF_P }], NOW);
  assert.deepEqual(scopesAfter(...carried), [ALL]);
  assert.deepEqual(scopesAfter(...carried, said('resume', ALL)), []);
  assert.deepEqual(scopesAfter({ ...odd, word: 'halt' }, said('resume', ALL)), []);
});

for (const [scope, stops] of [
  [ALL, [true, true, true, true]],
  [OF_P, [true, true, false, false]],
  [IN_MXN, [true, false, true, false]],
  [P_IN_MXN, [true, false, false, false]],
] as const)
  test(`a halt${scopeOptions(scope)} stops what is of its policy and currency, and nothing else`, () => {
    const halts = haltsAfter([said('halt', scope)]);
    const writes = [
      { policy: 'p', currencies: ['USD', 'MXN'] },
      { policy: 'p', currencies: ['USD', 'EUR'] },
      { policy: 'q', currencies: ['MXN'] },
      { policy: 'q', currencies: ['EUR'] },
    ];
    assert.deepEqual(
      writes.map((write) => haltOf(halts, write) !== null),
      stops,
    );
  });

const QUOTED: LegState = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quotes: 1, quote: IN_HAND };
const WANTED = { amount: '17250.00', ahead: '0', unwanted: null } as const;
const [halt] = haltsAfter([said('halt', ALL)]);
assert.ok(halt);
const HALTED = context({ whyHalted: () => halted(halt) });
const UNREAD = context({
  whyHalted: () => ({ kind: 'unreadable', problem: makeProblem('HALT_UNREADABLE', null) }),
});

const WRITES = {
  'a quote': (ctx: typeof HALTED) => play(requestQuoteSteps(ctx, LEG, NEW_LEG), {}),
  'a trade': (ctx: typeof HALTED) => play(executeTradeSteps(ctx, LEG, QUOTED), {}),
  'a payment': (ctx: typeof HALTED) => play(createWithdrawalSteps(ctx, PAYMENT, WANTED, NEW_PAYMENT), {}),
};
for (const [what, write] of Object.entries(WRITES)) {
  test(`${what} that is halted waits with who, when and why, and nothing is sent`, () => {
    const { result, effects } = write(HALTED);
    assert.ok(result.kind === 'wait');
    const { reason, problem, afterMs } = result.wait;
    assert.deepEqual([reason, problem.code, problem.item === null], ['halt', 'HALTED', false]);
    assert.match(problem.message, /^ana has halted everything since 2026-11-21 .* UTC: "wrong accounts"\./);
    assert.match(problem.fix, /`npx cambist resume`/);
    assert.ok(afterMs >= 1_000);
    assert.ok(!kindsOf(effects).some((kind) => kind.startsWith('send')));
  });

  test(`${what} waits where nobody can tell whether it is halted`, () => {
    const { result, effects } = write(UNREAD);
    assert.ok(result.kind === 'wait');
    assert.deepEqual([result.wait.reason, result.wait.problem.code], ['service', 'HALT_UNREADABLE']);
    assert.ok(!kindsOf(effects).some((kind) => kind.startsWith('send')));
  });
}

test('a halt is about both currencies of a leg, and about the one of a payment', () => {
  const asked: (readonly string[])[] = [];
  const ctx = context({
    whyHalted: (currencies) => {
      asked.push(currencies);
      return null;
    },
  });
  for (const write of Object.values(WRITES)) write(ctx);
  assert.deepEqual(asked, [['USD', 'MXN'], ['USD', 'MXN'], ['MXN']]);
});

test('a quote that dies while its trade is halted does not count', () => {
  const { result } = WRITES['a trade'](HALTED);
  const state = stateOf(result);
  assert.equal('held' in state && state.held, true);
});

test('what is halted and in doubt is looked for, and neither ends nor is sent', () => {
  const doubt = { lastSendMs: NOW - 1, absentAtMs: null, under: 'org/org-1/apiKey/1', why: 'no answer' };
  const state = { ...NEW_PAYMENT, knownIn: 'run-1', walkedIn: 'run-1', sent: true, tries: 1, doubt };
  const { result, effects } = play(createWithdrawalSteps(HALTED, PAYMENT, WANTED, state), {
    'send withdrawal': [failed('WITHDRAWAL_ACCOUNT_NOT_LIVE')],
  });
  assert.ok(result.kind === 'wait');
  assert.equal(result.wait.reason, 'halt');
  assert.deepEqual(result.state.doubt, doubt);
  assert.ok(kindsOf(effects).includes('scan withdrawals'));
});

test('a drill halts no write of any policy, and is no halt that people mean', () => {
  const [drill] = haltsAfter([said('halt', drillScope('4f2a'))]);
  assert.ok(drill !== undefined);
  assert.equal(drillOf(drill.scope), '4f2a');
  for (const policy of ['p', 'halt-drill', 'halt-drill-4f2a', '4f2a', ''])
    assert.equal(haltOf([drill], { policy, currencies: ['MXN', 'USD'] }), null, policy);
  for (const scope of [ALL, OF_P, IN_MXN, P_IN_MXN]) assert.equal(drillOf(scope), null);
  assert.deepEqual(haltsAfter([said('halt', drillScope('4f2a')), said('resume', ALL)]), [drill]);
});
