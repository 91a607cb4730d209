/**
 * `replay`: what a run has not done is tried again by one reset, from the command line. Whatever state the run is in, and
 * whatever becomes of the request, each movement is booked once.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { runName } from '../../domain/references.ts';
import type { Change } from '../../operations/replay/verdict.ts';
import { assertPaidOnce, paymentsOf, resetBatch, startBatch, untilAllEnded } from '../support/batches.ts';
import {
  assertExit,
  command,
  documentOf,
  flat,
  movedFor,
  putPolicy,
  reportOf,
  type Ended,
  type PolicyOnStage,
} from '../support/commands.ts';
import { openTemporalProxy } from '../support/proxy.ts';
import { RATES_FILES, REBALANCING_RATES, rebalancingPolicy, traded } from '../support/rebalancing.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { startDevServer } from '../../worker/dev-server.ts';

let stage: Stage;
before(async () => {
  stage = await openStage({ balances: { USD: '10000000', EUR: '10000000', MXN: '10000000' } });
  await stage.startWorker();
});
after(() => stage.close());

/** They wait for most of their time. */
const DAY_MS = 86_400_000;
const AT_ONCE = { concurrency: 8 };

/** An account of its own, which the service does not pay to until it is verified. */
function newAccount(
  status: string,
  on: Stage = stage,
): { readonly id: string; readonly put: (status: string) => void } {
  const id = `wac_Late${[...randomBytes(8)].map((byte) => String.fromCodePoint(97 + (byte % 8))).join('')}`;
  const put = (now: string): void => {
    on.sandbox.putAccounts([{ id, currency: 'MXN', assetType: 'FIAT', status: now }]);
  };
  put(status);
  return { id, put };
}

const TO_SUPPLIER = /wac_7Hk2mQ9vT4xR/;

/** A run that failed because its account was not verified; `mend`: now it is. */
async function failed(
  on: Stage = stage,
): Promise<{ readonly policy: PolicyOnStage; readonly mend: () => void }> {
  const account = newAccount('UNVERIFIED', on);
  const policy = await putPolicy(on, [TO_SUPPLIER, account.id]);
  const ended = await command(on, ['run', policy.file, '--json']);
  assert.equal(reportOf(ended).status, 'FAILED');
  return { policy, mend: () => account.put('LIVE') };
}

type Document = {
  readonly eventId: number | null;
  readonly changed: readonly Change[];
  readonly report: { readonly status: string };
};

const replayOf = (ended: Ended): Document => documentOf(ended) as Document;

/** Time passes until it has ended. */
function replay(policy: PolicyOnStage, ...options: readonly string[]): Promise<Ended> {
  return stage.during(policy.workflowId, () => replayOn(stage, policy, options));
}

function replayOn(
  on: Stage,
  policy: Pick<PolicyOnStage, 'runText'>,
  options: readonly string[],
): Promise<Ended> {
  return command(on, ['replay', policy.runText, ...options]);
}

function assertMovedOnce(policy: PolicyOnStage, on: Stage = stage): void {
  assert.deepEqual(movedFor(on, policy), {
    trades: [`${policy.runText}.usd-mxn-1`],
    withdrawals: [`${policy.runText}.supplier`],
  });
}

/** How many Temporal runs there are of it. */
async function runsOf({ workflowId }: PolicyOnStage): Promise<number> {
  let runs = 0;
  for await (const _ of stage.temporal.client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
    runs += 1;
  return runs;
}

describe('a run that has ended', AT_ONCE, () => {
  describe('replay', AT_ONCE, () => {
    test('of a run without a plan, once its account is verified, pays and says what has changed', async () => {
      const { policy, mend } = await failed();
      mend();
      const ended = await replay(policy);
      assertExit(ended, 0);
      assert.match(flat(ended.stdout), /COMPLETED/);
      assert.match(
        flat(ended.stdout),
        /What changed: usd-mxn-1: not planned -> TRADED, [\d,]+\.\d\d MXN supplier: not planned -> PAID, [\d,]+\.\d\d MXN/,
      );
      assertMovedOnce(policy);
      assert.equal(await runsOf(policy), 2);
    });

    test('of a run without a plan pays, whatever event is chosen', async () => {
      const { policy: one } = await failed();
      const { events: some } = await explained(one);
      await Promise.all(
        some.map(async (_, place) => {
          const { policy, mend } = await failed();
          // Each its own: on a slow machine a run may have an event more than another.
          const { events } = await explained(policy);
          const event = events[place] ?? events.at(-1);
          assert.ok(event !== undefined);
          mend();
          assertExit(await replay(policy, '--event', String(event.eventId)), 0);
          assertMovedOnce(policy);
        }),
      );
    });

    test('before the cause is mended says that nothing changed', async () => {
      const { policy } = await failed();
      const ended = await replay(policy, '--json');
      assertExit(ended, 5);
      const { changed, report } = replayOf(ended);
      assert.deepEqual(changed, []);
      assert.equal(report.status, 'FAILED');
      assert.match(flat((await replay(policy)).stdout), /Nothing changed\./);
      assert.deepEqual(movedFor(stage, policy), { trades: [], withdrawals: [] });
    });

    cell('of a run that traded and did not pay, keeps the trade and pays', async () => {
      const { policy, account } = await tradedAndNotPaid();
      account.put('LIVE');
      const ended = await replay(policy, '--json');
      assertExit(ended, 0);
      const { changed } = replayOf(ended);
      assert.deepEqual(
        changed.map(({ item, before: was, after: is, currency }) => [item, was, is, currency]),
        [['supplier', 'NOT_PAID', 'PAID', 'MXN']],
      );
      // The service keeps its refusal under the first key; what an earlier run may have sent under it was waited out.
      assert.match(
        flat(ended.stderr),
        /Safety wait until \d\d:\d\d:\d\d(?: UTC)?, to be sure that nothing was sent before; nothing for you to do/,
      );
      assert.deepEqual(movedFor(stage, policy), {
        trades: [`${policy.runText}.usd-mxn-1`],
        withdrawals: [`${policy.runText}.supplier~2`],
      });
    });

    test('of a run that is completed does nothing', async () => {
      const policy = await putPolicy(stage);
      assertExit(await command(stage, ['run', policy.file]), 0);
      const ended = await replay(policy);
      assertExit(ended, 0);
      assert.match(flat(ended.stdout), /is completed; there is nothing to do\./);
      assert.equal(await runsOf(policy), 1);
      // A person may look once more all the same.
      const again = await replay(policy, '--event', '4', '--json');
      assertExit(again, 0);
      assert.deepEqual(replayOf(again).changed, []);
      assert.equal(replayOf(again).eventId, 4);
      assertMovedOnce(policy);
    });

    test('of a run that was cancelled is refused, and names what takes the cancel back', async () => {
      const { policy, account } = await tradedAndNotPaid({ cancel: true });
      account.put('LIVE');
      const ended = await replay(policy);
      assertExit(ended, 4);
      assert.match(flat(ended.stderr), /RUN_CANCELLED .*nothing was reset.* --go-on/);
      assert.equal(await runsOf(policy), 1);
    });

    test('of an event to which Temporal resets nothing names where they are listed', async () => {
      const { policy } = await failed();
      const ended = await replay(policy, '--event', '5');
      assertExit(ended, 2);
      assert.match(flat(ended.stderr), /NO_SUCH_EVENT .*cannot reset \S+ to event 5.*explain-reset/);
      assert.equal(await runsOf(policy), 1);
    });

    test('of a run that is held does not reset it: it looks at once', async () => {
      const policy = await putPolicy(
        stage,
        ['shortfall: skip', 'shortfall: hold'],
        ['sell: USD', 'sell: GBP'],
        ['worst_rate: "16.90 MXN per USD"', 'worst_rate: "16.90 MXN per GBP"'],
      );
      assertExit(await command(stage, ['run', policy.file]), 8);
      stage.sandbox.setBalances({ GBP: '100000' });
      const ended = await replay(policy, '--wait', '--json');
      assertExit(ended, 0);
      assert.equal(replayOf(ended).eventId, null);
      assert.match(flat(ended.stderr), /is held .* It was told to look now; nothing was reset/);
      assert.equal(await runsOf(policy), 1);
      assert.deepEqual(movedFor(stage, policy).withdrawals, [`${policy.runText}.supplier`]);
    });

    cell('of a batch lets its run and its chunks pay what is left', async () => {
      const account = newAccount('UNVERIFIED');
      const rows = paymentsOf(120).map((row, index) =>
        index === 70 ? ([row[0], account.id, 'MXN', row[3]] as const) : row,
      );
      const batch = await startBatch(stage, rows, { perChunk: 60 });
      assertPaidOnce(batch, await untilAllEnded(stage, batch), ['inv-71']);
      account.put('LIVE');
      const ended = await command(stage, ['replay', `${batch.name.policy}.${batch.name.id}`, '--json']);
      assertExit(ended, 0);
      assert.deepEqual(
        replayOf(ended).changed.map(({ item, after: is, amount }) => [item, is, amount]),
        [['inv-71', 'PAID', '80.5']],
      );
      assertPaidOnce(batch, await untilAllEnded(stage, batch));
    });

    cell('whose answer is lost looks first, and resets once', async (t) => {
      const { policy, mend } = await failed();
      mend();
      const proxy = await openTemporalProxy(stage.env['TEMPORAL_ADDRESS'] ?? '', {
        call: 'ResetWorkflowExecution',
        saying: '',
        arrives: true,
        goesOn: true,
      });
      t.after(() => proxy.close());
      const env = { TEMPORAL_ADDRESS: proxy.address };
      const ended = await stage.during(policy.workflowId, () =>
        command(stage, ['replay', policy.runText], { env }),
      );
      assertExit(ended, 0);
      assert.equal(proxy.calls(), 1);
      assertMovedOnce(policy);
      assert.equal(await runsOf(policy), 2);
    });

    test('by two people at the same time moves nothing twice', async () => {
      const { policy, mend } = await failed();
      mend();
      for (const ended of await Promise.all([replay(policy), replay(policy)])) assertExit(ended, 0);
      assertMovedOnce(policy);
    });
  });

  type Rows = {
    readonly replayed: readonly {
      readonly run: string;
      readonly before: string;
      readonly after: string;
      readonly changed: readonly Change[];
    }[];
  };

  test('replay --attention replays what failed or was terminated, and nothing else', async (t) => {
    // It is about every run that there is.
    const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
    const own = await openStage({ temporalAddress: server.address, balances: { USD: '1000000' } });
    t.after(async () => {
      await own.close();
      await server.stop();
    });
    await own.startWorker();
    const [mended, unmended] = [await failed(own), await failed(own)];
    mended.mend();
    const done = await putPolicy(own);
    assertExit(await command(own, ['run', done.file]), 0);
    const held = await putPolicy(
      own,
      ['shortfall: skip', 'shortfall: hold'],
      ['sell: "1000.00"', 'sell: "90000000.00"'],
    );
    assertExit(await command(own, ['run', held.file, '--detach']), 8);
    const cut = await putPolicy(own);
    const hold = own.sandbox.addFault({
      operation: 'createTrade',
      times: 1,
      when: { reference: `${cut.runText}.*` },
      effect: { kind: 'hold', when: 'after' },
    });
    assertExit(await command(own, ['run', cut.file, '--detach']), 8);
    await own.sandbox.faultHit(hold);
    await own.temporal.client.workflow.getHandle(cut.workflowId).terminate('a mistake');
    own.sandbox.releaseFaults(hold);

    const ended = await command(own, ['replay', '--attention', '--json']);
    assertExit(ended, 5);
    const rows = (documentOf(ended) as Rows).replayed;
    assert.deepEqual(
      new Map(rows.map(({ run, before: was, after: is, changed }) => [run, [was, is, changed.length]])),
      new Map([
        [cut.runText, ['TERMINATED', 'COMPLETED', 2]],
        [unmended.policy.runText, ['FAILED', 'FAILED', 0]],
        [mended.policy.runText, ['FAILED', 'COMPLETED', 2]],
      ]),
    );
    for (const policy of [cut, mended.policy, done]) assertMovedOnce(policy, own);
    unmended.mend();
    const again = await command(own, ['replay', '--attention']);
    assertExit(again, 0);
    assert.match(again.stdout, /^RUN +WAS +IS +CHANGED\n\S+ +FAILED +COMPLETED +2 items$/m);
    const nothing = await command(own, ['replay', '--attention']);
    assertExit(nothing, 0);
    assert.match(nothing.stdout, /No run has failed or was terminated; there is nothing to do\./);
  });

  test('live, a person is asked before anything is reset', async (t) => {
    const live = await openStage({ mode: 'LIVE', settings: { executedDecimals: 'currency' } });
    t.after(() => live.close());
    await live.startWorker();
    const policy = await putPolicy(
      live,
      ['environment: sandbox', 'environment: live'],
      [
        /^withdraw:/m,
        'limits: { per_run: "1500.00 USD", per_payment: ["30000.00 MXN"], paid_per_run: ["30000.00 MXN"] }\n\nwithdraw:',
      ],
    );
    live.sandbox.setRates({ 'USD/MXN': '16.00' });
    assertExit(await command(live, ['run', policy.file, '--yes']), 4);
    live.sandbox.setRates({ 'USD/MXN': '18.50' });
    const asked: string[] = [];
    const answering = (answer: string) => ({
      ask: async (question: string) => {
        asked.push(question);
        return answer;
      },
    });
    for (const person of [{}, answering('no')]) {
      const refused = await command(live, ['replay', policy.runText], person);
      assertExit(refused, 4);
      assert.match(flat(refused.stderr), /NOT_CONFIRMED .*nothing was reset/);
    }
    assert.deepEqual(movedFor(live, policy), { trades: [], withdrawals: [] });
    const ended = await command(live, ['replay', policy.runText], answering('yes'));
    assertExit(ended, 0);
    assert.equal(asked.length, 2);
    assert.match(flat(ended.stderr), /LIVE: usd-mxn-1: NOT_TRADED, .* supplier: NOT_PAID, /);
    assertMovedOnce(policy, live);
  });

  type Explained = {
    readonly event: { readonly eventId: number; readonly step: string };
    readonly recommended: { readonly eventId: number };
    readonly events: readonly { readonly eventId: number; readonly step: string }[];
    readonly items: readonly { readonly item: string; readonly fate: string }[];
    readonly isUnplanned: boolean;
    readonly safetyWait: { readonly items: readonly string[]; readonly lastsMs: number } | null;
    readonly said: readonly { readonly result: string }[];
  };

  async function explained(
    policy: Pick<PolicyOnStage, 'runText'>,
    options: readonly string[] = [],
    on: Stage = stage,
  ): Promise<Explained> {
    const ended = await command(on, ['explain-reset', policy.runText, '--json', ...options]);
    assertExit(ended, 0);
    return documentOf(ended) as Explained;
  }

  const fatesOf = ({ items }: Explained): readonly (readonly [string, string])[] =>
    items.map(({ item, fate }) => [item, fate]);

  const DONE = 'stays done';
  const AGAIN = 'is tried again';

  /** What the service was asked since: trades and withdrawals sent, and lists read. */
  function askedSince({ sandbox }: Stage, mark: number) {
    const asked = sandbox.requests(mark).map(({ operation }) => String(operation));
    return {
      sends: asked.filter((operation) => ['createTrade', 'createWithdrawal'].includes(operation)),
      looks: asked.filter((operation) => ['listTrades', 'listWithdrawals'].includes(operation)),
    };
  }

  describe('explain-reset', AT_ONCE, () => {
    cell('says of a completed run what a reset to each event that it lists then does', async (t) => {
      // Every request is of this run.
      const own = await openStage({ balances: { USD: '1000000' } });
      t.after(() => own.close());
      await own.startWorker();
      const policy = await putPolicy(own);
      assertExit(await command(own, ['run', policy.file]), 0);
      const { events } = await explained(policy, [], own);
      // On a busy machine the worker's reading of halts, or the plan, is late: then the run waits, and takes the same step
      // again.
      const isLate = ({ step }: { readonly step: string } = { step: '' }): boolean =>
        /: (HALT_UNREADABLE|PLANNING)$/.test(step);
      const inTime = events.filter((event, index) => !isLate(event) && !isLate(events[index + 1]));
      assert.deepEqual(
        inTime.map(({ step }) => step.replace(/(?<=Price for|Trade|Pay supplier).*/, '')),
        [
          'Read the plan',
          'Price for',
          'Trade',
          'Until the MXN of usd-mxn-1 have come',
          'Pay supplier',
          'Until supplier is paid',
          'The workflow ends',
        ],
      );
      // One after the other: each resets what the one before has made, whose history begins with the same events.
      for (const { eventId, step } of inTime.toReversed()) {
        const said = await explained(policy, ['--event', String(eventId)], own);
        assert.equal(said.event.eventId, eventId);
        const isTraded = !/^(Read|Price|Trade)/.test(step);
        const isAccepted = /^(Until supplier|The workflow ends)/.test(step);
        assert.deepEqual(
          fatesOf(said),
          [
            ['usd-mxn-1', DONE],
            ['supplier', DONE],
          ],
          step,
        );
        assert.equal(said.safetyWait, null);
        const mark = own.sandbox.requests().at(-1)?.seq ?? 0;
        const ended = await replayOn(own, policy, ['--event', String(eventId), '--json']);
        assertExit(ended, 0);
        assert.deepEqual(replayOf(ended).changed, []);
        assert.doesNotMatch(ended.stderr, /safety wait/i);
        const { sends, looks } = askedSince(own, mark);
        assert.deepEqual(sends, [], step);
        assert.equal(looks.includes('listTrades'), !isTraded, step);
        // Who waits until it is paid reads the list as well.
        if (!isAccepted) assert.ok(looks.includes('listWithdrawals'), step);
        if (step === 'The workflow ends') assert.deepEqual(looks, []);
        assertMovedOnce(policy, own);
      }
    });

    test('says of a batch what a reset of its run then does, at the first event and the last, and of a chunk', async (t) => {
      const own = await openStage({ balances: { USD: '1000000', EUR: '1000000', MXN: '1000000' } });
      t.after(() => own.close());
      await own.startWorker();
      const account = newAccount('UNVERIFIED', own);
      const rows = paymentsOf(4).map((row, index) =>
        index === 2 ? ([row[0], account.id, 'MXN', row[3]] as const) : row,
      );
      const batch = await startBatch(own, rows, { perChunk: 2 });
      assertPaidOnce(batch, await untilAllEnded(own, batch), ['inv-3']);
      const run = { runText: runName(batch.name) };
      const explainedAt = async (place: 0 | -1) => {
        const { events } = await explained(run, [], own);
        const event = ['--event', String(events.at(place)?.eventId)];
        const said = await explained(run, event, own);
        assert.equal(said.safetyWait, null);
        return { event, fates: said.items.map(({ fate }) => fate) };
      };
      const resetNow = async (place: 0 | -1) => {
        const { event, fates } = await explainedAt(place);
        const mark = own.sandbox.requests().at(-1)?.seq ?? 0;
        const ended = await replayOn(own, run, [...event, '--json']);
        assertExit(ended, 0);
        assertPaidOnce(batch, await untilAllEnded(own, batch));
        const changed = replayOf(ended).changed.map(({ item, after: is }) => [item, is]);
        return { fates, changed, ...askedSince(own, mark) };
      };
      account.put('LIVE');
      const tried = await resetNow(0);
      assert.deepEqual(tried.fates, [DONE, DONE, AGAIN, DONE]);
      assert.deepEqual(tried.changed, [['inv-3', 'PAID']]);
      assert.equal(tried.sends.length, 1);
      assert.ok(tried.looks.includes('listWithdrawals'));
      const quiet = await resetNow(-1);
      assert.deepEqual(quiet.fates, [DONE, DONE, DONE, DONE]);
      assert.deepEqual([quiet.changed, quiet.sends], [[], []]);
      assert.ok(quiet.looks.includes('listWithdrawals'));

      assert.deepEqual((await explainedAt(-1)).fates, [DONE, DONE, DONE, DONE]);
      const mark = own.sandbox.requests().at(-1)?.seq ?? 0;
      await resetBatch(own, batch, 2, 0);
      assertPaidOnce(batch, await untilAllEnded(own, batch));
      assert.deepEqual(askedSince(own, mark).sends, []);
    });

    test('says of a rebalancing which leg is tried again while the balances ask for it, and what a reset adopts', async (t) => {
      const own = await openStage({
        rates: { ...REBALANCING_RATES, 'GBP/USD': '1.40' },
        balances: { USD: '300000', EUR: '300000', GBP: '10000', MXN: '18500' },
      });
      t.after(() => own.close());
      await own.startWorker();
      const run = await own.start(rebalancingPolicy('20000.00'), { files: RATES_FILES });
      assert.equal((await run.report()).status, 'PARTIAL');
      const named = { runText: runName(run.name) };
      const resetAt = async (place: 0 | -1) => {
        const { events } = await explained(named, [], own);
        const event = ['--event', String(events.at(place)?.eventId)];
        const said = await explained(named, event, own);
        const mark = own.sandbox.requests().at(-1)?.seq ?? 0;
        const ended = await own.during(run.handle.workflowId, () =>
          replayOn(own, named, [...event, '--wait', '--json']),
        );
        assertExit(ended, 0);
        const changed = replayOf(ended).changed.map(({ item, after: is }) => [item, is]);
        return { said, changed, ...askedSince(own, mark) };
      };
      // Too dear until now.
      own.sandbox.setRates(REBALANCING_RATES);
      const tried = await resetAt(-1);
      assert.deepEqual(fatesOf(tried.said), [
        ['eur-usd-1', DONE],
        ['usd-gbp-1', 'is tried again while the balances still ask for it'],
      ]);
      assert.deepEqual(tried.said.safetyWait?.items, ['usd-gbp-1']);
      assert.deepEqual(tried.changed, [['usd-gbp-1', 'TRADED']]);
      assert.deepEqual(tried.sends, ['createTrade']);
      assert.deepEqual(traded(run), ['buy 30000 GBP', 'sell 50000 EUR']);

      for (const place of [0, -1] as const) {
        const { said, changed, sends, looks } = await resetAt(place);
        assert.deepEqual(fatesOf(said), [
          ['eur-usd-1', DONE],
          ['usd-gbp-1', DONE],
        ]);
        assert.equal(said.safetyWait, null);
        assert.deepEqual([changed, sends], [[], []]);
        assert.equal(looks.includes('listTrades'), place === 0);
      }
    });

    test('says of a run that was too dear that it waits safely, and it does, at the first event and the last', async (t) => {
      // Its time is that of the machine: it is compared with what was said.
      const own = await openStage({ balances: { USD: '1000000' } });
      t.after(() => own.close());
      await own.startWorker();
      const tooDear = async (which: number) => {
        const policy = await putPolicy(own, [/worst_rate: ".*"/, 'worst_rate: "18.40 MXN per USD"']);
        assertExit(await command(own, ['run', policy.file]), 4);
        const { events } = await explained(policy, [], own);
        return { policy, eventId: String(events.at(which)?.eventId) };
      };
      own.sandbox.setRates({ 'USD/MXN': '18.10' });
      const all = await Promise.all([0, -1].map(tooDear));
      own.sandbox.setRates({ 'USD/MXN': '18.50' });
      await Promise.all(
        all.map(async ({ policy, eventId }) => {
          const said = await explained(policy, ['--event', eventId], own);
          assert.deepEqual(fatesOf(said), [
            ['usd-mxn-1', AGAIN],
            ['supplier', AGAIN],
          ]);
          assert.deepEqual(said.safetyWait?.items, ['usd-mxn-1']);
          const beganAtMs = own.time.now();
          const ended = await replayOn(own, policy, ['--event', eventId, '--json']);
          assertExit(ended, 0);
          const [, end = ''] =
            /Safety wait until ([\d:]+)(?: \S+)?, to be sure that nothing was sent before; nothing for you to do/.exec(
              flat(ended.stderr),
            ) ?? [];
          const [day = ''] = new Date(beganAtMs).toISOString().split('T');
          // Times are told in the zone of the policy.
          const saidMs = Date.parse(`${day}T${end}-06:00`) - beganAtMs;
          // It begins a moment after the reset, and may end on the next day.
          const laterMs = ((saidMs + DAY_MS) % DAY_MS) - said.safetyWait.lastsMs;
          assert.ok(laterMs >= 0 && laterMs < 30_000, `${laterMs} ms later than said`);
          assertMovedOnce(policy, own);
        }),
      );
    });

    test('says of a run that is cancelled that nothing goes on, and who said so', async () => {
      const { policy } = await tradedAndNotPaid({ cancel: true });
      const said = await explained(policy);
      assert.deepEqual(fatesOf(said), [
        ['usd-mxn-1', DONE],
        ['supplier', 'stays undone: the run is cancelled'],
      ]);
      assert.equal(said.said.length, 1);
      const text = await command(stage, ['explain-reset', policy.runText]);
      for (const line of text.stdout.split('\n')) assert.ok(line.length <= 80, line);
      assert.match(
        flat(text.stdout),
        /EVENT AT STEP .*\d+ \S+ Read the plan \d+ \S+ Price for 1,000\.00 USD → MXN/,
      );
    });

    test('of a run whose plan was refused says that it waits for nothing, and names its first event', async () => {
      const { policy } = await failed();
      const said = await explained(policy);
      assert.ok(said.isUnplanned);
      assert.equal(said.safetyWait, null);
      const { stdout } = await command(stage, ['explain-reset', policy.runText]);
      assert.match(flat(stdout), /Safety wait: none\./);
      assert.equal(said.recommended.eventId, 4);
    });
  });
});

/** Its account was verified when it was planned, and is not any more when it pays. */
async function tradedAndNotPaid({ cancel = false } = {}): Promise<{
  readonly policy: PolicyOnStage;
  readonly account: ReturnType<typeof newAccount>;
}> {
  const account = newAccount('LIVE');
  const policy = await putPolicy(stage, [TO_SUPPLIER, account.id]);
  const hold = stage.sandbox.addFault({
    operation: 'createTrade',
    times: 1,
    when: { reference: `${policy.runText}.*` },
    effect: { kind: 'hold', when: 'after' },
  });
  assertExit(await command(stage, ['run', policy.file, '--detach']), 8);
  await stage.sandbox.faultHit(hold);
  account.put('UNVERIFIED');
  if (cancel) assertExit(await command(stage, ['cancel', policy.runText]), 0);
  stage.sandbox.releaseFaults(hold);
  await assert.rejects(stage.temporal.client.workflow.getHandle(policy.workflowId).result());
  return { policy, account };
}
