/**
 * A Temporal that was restored from an older backup: it has lost runs of which the service has records. A new run of their
 * policy sends nothing before a person says so (M1).
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { loseInTemporal } from '../support/batches.ts';
import { assertExit, command, flat, reportOf, type Ended } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { signerWith } from '../support/sandbox-signer.ts';
import { openStage } from '../support/stage.ts';

const EUR = 'wac_EuR5epaLive1';
const DAY_MS = 86_400_000;
const NOW_MS = Date.now();
const TODAY = todayIn('UTC', NOW_MS);
const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', EUR: '1000000', MXN: '0' },
});
await stage.startWorker();
after(() => stage.close());

const type = (...argv: readonly string[]): Promise<Ended> => command(stage, argv);

const signer = await signerWith(stage.sandbox.baseUrl, stage.env['CAMBIST_KEY_FILE'] ?? '');

/** A policy in a file, and what can be done with its runs. */
async function put(text: string) {
  const policy = uniqueName('lost');
  const file = `${policy}.yaml`;
  await writeFile(join(stage.folder, file), text.replace('name: replaced\n', `name: ${policy}\nzone: UTC\n`));
  const nameOf = (id: string): RunName => ({ policy, id });
  const during = <T>(id: string, work: () => Promise<T>): Promise<T> =>
    stage.during(workflowIdOf('SANDBOX', nameOf(id)), work);
  const read = async (id: string): Promise<Report> =>
    reportOf(await type('report', `${policy}.${id}`, '--json'));
  const until = (id: string, what: (report: Report) => boolean): Promise<Report> =>
    during(id, () =>
      eventually(
        `a report of ${id} like this`,
        async () => {
          const report = await read(id);
          return what(report) ? report : null;
        },
        async () => JSON.stringify(await read(id)),
      ),
    );
  const holdOf = ({ problems }: Report) => problems.find(({ code }) => code === 'OTHER_RUNS_LOST');
  return {
    policy,
    file,
    run: (id: string, ...more: readonly string[]): Promise<Ended> =>
      during(id, () => type('run', file, '--id', id, '--json', ...more)),
    /** A trade of a run of which this Temporal has never heard, as one that was lost leaves it. */
    trade: async (id: string): Promise<string> => {
      const quote = await signer.post('/fx/quotes', {
        sellCurrency: 'USD',
        buyCurrency: 'MXN',
        sellAmount: '1000.00',
        quoteForSeconds: 60,
      });
      const trade = await signer.post(
        '/fx/trades',
        { quoteId: quote.textAt('data.id'), clientReferenceId: `${policy}.${id}.usd-mxn-1` },
        createHash('sha256').update(randomUUID()).digest('hex'),
      );
      assert.equal(trade.status, 200, trade.text);
      return trade.textAt('data.id');
    },
    /** Temporal loses everything that it has of these. */
    lose: (...ids: readonly string[]): Promise<unknown> =>
      Promise.all(ids.map((id) => loseInTemporal(stage, nameOf(id)))),
    read,
    ended: (id: string): Promise<Report> =>
      until(id, ({ status }) => status !== 'RUNNING' && status !== 'HELD'),
    /** What it says while it waits; `not`: once it says something else than this. */
    held: async (id: string, not = ''): Promise<{ readonly message: string; readonly fix: string }> => {
      const isNew = (report: Report): boolean => (holdOf(report)?.fix ?? not) !== not;
      const report = await until(id, isNew);
      assert.equal(report.status, 'HELD');
      const hold = holdOf(report);
      assert.ok(hold !== undefined);
      return hold;
    },
    /** Types the command that it shows, as it stands there. */
    goOn: (fix: string, ...more: readonly string[]): Promise<Ended> => {
      const [, words, id] = /`npx cambist ([^`]* --id (\S+) --go-on [^`]*)`/.exec(fix) ?? [];
      assert.ok(words !== undefined && id !== undefined, fix);
      return during(id, () => type(...words.split(' '), '--json', ...more));
    },
    /** The runs under whose names the service has booked something, each as often as it has. */
    moved: (): readonly string[] => {
      const { trades, withdrawals } = stage.sandbox.ledger();
      const texts = [
        ...trades.map((trade) => trade['clientReferenceId']),
        ...withdrawals.map(
          ({ metadata }) => (metadata as Readonly<Record<string, unknown>> | null)?.['cambist'],
        ),
      ].map(String);
      return texts
        .flatMap((found) => (found.startsWith(`${policy}.`) ? [found.split('.')[1] ?? ''] : []))
        .toSorted();
    },
  };
}

const idsOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${TODAY}-${index + 1}`);
/** A trade and a withdrawal of each. */
const twice = (...ids: readonly string[]): readonly string[] => ids.flatMap((id) => [id, id]).toSorted();

/** The same of a policy whose runs of these ids are completed. */
async function putWithRuns(...ids: readonly string[]) {
  const policy = await put(convertPolicy());
  for (const id of ids) assertExit(await policy.run(id, '--again'), 0);
  return policy;
}

describe('Temporal has lost runs', { concurrency: true }, () => {
  test('a new run of the policy is held and says so everywhere, sends nothing, and goes on by the command that it shows', async () => {
    const [one = '', two = ''] = idsOf(2);
    const policy = await putWithRuns(one);
    await policy.lose(one);
    const waits = await policy.run(two);
    assertExit(waits, 6);
    const { message, fix } = await policy.held(two);
    assert.match(message, new RegExp(`records of a run of this policy .*: ${policy.policy}\\.${one}\\. `));
    const name = `${policy.policy}.${two}`;
    for (const argv of [
      ['status', name],
      ['list', '--attention'],
    ])
      // One after the other.
      for (const words of ['OTHER_RUNS_LOST', message.slice(0, -1)])
        assert.ok(flat((await type(...argv)).stdout).includes(words), `${argv.join(' ')}: ${words}`);
    assert.deepEqual(policy.moved(), twice(one));
    const startsAgain = `\`npx cambist run ${policy.file} --id ${one}\``;
    assert.ok(fix.includes(startsAgain), fix);
    const gone = await policy.goOn(fix, '--by', 'ana', '--reason', 'looked at its trade');
    assertExit(gone, 0);
    assert.deepEqual(policy.moved(), twice(one, two));
    const { evidence } = await policy.read(two);
    assert.ok(
      evidence.some(({ result }) => /^"ana": .*looked at its trade"$/.test(result)),
      JSON.stringify(evidence),
    );
  });

  test('lost runs start again beside one another, and once all are there a new one goes on by itself', async () => {
    const [one = '', two = '', three = ''] = idsOf(3);
    const policy = await put(convertPolicy());
    for (const id of [one, two]) await policy.trade(id);
    assertExit(await policy.run(three, '--detach'), 8);
    await policy.held(three);
    for (const id of [one, two]) assertExit(await policy.run(id, '--detach', '--again'), 8);
    for (const id of [one, two, three]) assert.equal((await policy.ended(id)).status, 'COMPLETED');
    assert.deepEqual(policy.moved(), twice(one, two, three));
  });

  test('a run that was lost is started again though its date is over, and adopts what was done', async () => {
    const policy = await put(convertPolicy());
    const id = todayIn('UTC', NOW_MS - DAY_MS);
    const mistyped = await policy.run(id);
    assertExit(mistyped, 2);
    assert.match(mistyped.stdout, /RUN_ID_PAST/);
    const tradeId = await policy.trade(id);
    const again = await policy.run(id, '--wait');
    assertExit(again, 0);
    assert.equal(reportOf(again).legs[0]?.tradeId, tradeId);
    assert.deepEqual(policy.moved(), twice(id));
  });

  test('what a schedule starts is held as well', async () => {
    const [one = ''] = idsOf(1);
    const policy = await put(
      convertPolicy().replace(
        'name: replaced\n',
        'name: replaced\nschedule: { at: "00:00", days: [mon, tue, wed, thu, fri] }\n',
      ),
    );
    await policy.trade(one);
    assertExit(await type('schedule', 'apply', policy.file), 0);
    const triggered = await type('schedule', 'trigger', policy.policy, '--json');
    assertExit(triggered, 6);
    const { fix } = await policy.held(TODAY);
    assert.deepEqual(policy.moved(), [one]);
    assertExit(await policy.goOn(fix), 0);
    assert.deepEqual(policy.moved(), [TODAY, TODAY, one]);
  });

  test('a new batch is held by one that was lost, and a lost one that is submitted again is not', async () => {
    const [one = '', two = '', three = ''] = idsOf(3);
    const payout = await put(
      'policy: 1\nkind: payout\nname: replaced\nenvironment: sandbox\npayout: { fund: { mode: none } }\n',
    );
    const pay = async (id: string, amount: string, ...more: readonly string[]): Promise<Ended> => {
      const file = `${payout.policy}-${id}.csv`;
      const line = `inv-${id},${EUR},EUR,${amount}`;
      await writeFile(join(stage.folder, file), `id,account,currency,amount\n${line}\n`);
      return payout.run(id, '--batch', file, ...more);
    };
    assertExit(await pay(one, '41.00'), 0);
    assertExit(await pay(two, '42.00', '--again'), 0);
    await payout.lose(one, two);
    assertExit(await pay(three, '43.00', '--detach', '--again'), 8);
    const { fix } = await payout.held(three);
    assert.deepEqual(payout.moved(), [one, two].toSorted());
    assertExit(await pay(one, '41.00', '--again', '--wait'), 0);
    assert.deepEqual(payout.moved(), [one, two].toSorted());
    // One of the two is there again: it asks about the other.
    const { fix: later } = await payout.held(three, fix);
    assertExit(await payout.goOn(later), 0);
    assert.deepEqual(payout.moved(), [one, two, three].toSorted());
  });
});
