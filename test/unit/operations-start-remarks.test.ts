/** What a person is told before a start, and what none of it stops: rates that moved or lie far apart, and cut-offs. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { WorkflowNotFoundError } from '@temporalio/client';
import { compilePlan } from '../../domain/plan/compile.ts';
import { keptPlan } from '../../domain/plan/plan.ts';
import type { ReferenceRates } from '../../domain/policy.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { readRate } from '../../language/text/leaves.ts';
import type { Place } from '../../operations/place.ts';
import { NO_PERSON_ASKS, requireStart } from '../../operations/start/run-policy.ts';
import { inputOn } from '../support/plans.ts';
import { settingsAt, serveHttp } from '../support/service-fixture.ts';

/** A Monday. */
const TODAY = '2026-11-23';

const TEXT = `policy: 1
kind: rebalance
name: p
environment: sandbox
rebalance: { base: { currency: USD }, targets: { EUR: { min: "1.00", max: "9.00" } } }
guard: { reference: { file: r.yaml, max_age: 365d }, worst_cost: 25bps, worst_rate: ["0.70 USD per EUR"] }
settle: { cutoff: { EUR: "15:30 Europe/Brussels" } }
`;
const LOADED = loadPolicy(TEXT, 'p.yaml');
assert.ok(LOADED.ok, JSON.stringify(LOADED));

const ratesOf = (rate: string): ReferenceRates => ({
  asOf: '2026-11-17T15:00:00Z',
  rates: [readRate(rate)],
});

/** What the run of a date has planned, at this rate; it sells EUR. */
function planOn(date: string, rate: string): unknown {
  assert.ok(LOADED.ok);
  const made = compilePlan(inputOn(date, LOADED, { EUR: '100.00' }, { referenceRates: ratesOf(rate) }));
  assert.ok(made.ok && made.plan.legs.length === 1, JSON.stringify(made));
  return keptPlan({ ...made.plan, madeFor: 'run-1' });
}

/** A Temporal in which runs of these dates have ended with these plans; null: with none. */
function placeWith(plans: Readonly<Record<string, unknown>>): Place {
  const infos = Object.keys(plans).map((id) => ({
    workflowId: `sandbox/p.${id}`,
    runId: id,
    taskQueue: 'cambist-sandbox',
    status: { name: 'COMPLETED' },
    startTime: new Date(`${id}T09:00:00Z`),
    closeTime: new Date(`${id}T09:01:00Z`),
    typedSearchAttributes: { get: () => 'COMPLETED' },
  }));
  const ofPlan = /p\.([0-9-]+)\/plan/;
  const workflow = {
    async *list({ query }: { readonly query: string }) {
      const id = ofPlan.exec(query)?.[1];
      if (id === undefined) yield* infos;
      else yield* infos.filter(({ runId }) => runId === id && plans[id] !== null);
    },
    getHandle: (workflowId: string) => {
      const id = ofPlan.exec(workflowId)?.[1] ?? '';
      return {
        describe: async () => {
          if (!(id in plans)) throw new WorkflowNotFoundError('None.', workflowId, undefined);
          return { workflowId, runId: id, status: { name: 'COMPLETED' }, type: 'plan' };
        },
        result: async () => plans[id],
      };
    },
  };
  return { client: { workflow }, mode: 'SANDBOX' } as unknown as Place;
}

/** What is told before the run of today is started at `time`, at this reference rate. */
async function toldBefore(
  t: TestContext,
  of: { readonly plans?: Readonly<Record<string, unknown>>; readonly rate: string; readonly time?: string },
): Promise<readonly string[]> {
  assert.ok(LOADED.ok);
  const nowMs = Date.parse(`${TODAY}T${of.time ?? '09:00'}:00Z`);
  const port = await serveHttp(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', date: new Date(nowMs).toUTCString() });
    const aggregate = { currency: 'USD', withdrawableBalance: '0' };
    response.end(JSON.stringify({ data: { aggregate, balances: [] } }));
  });
  const settings = await settingsAt(port);
  const { policy, hash } = LOADED;
  return requireStart(
    {
      ...NO_PERSON_ASKS,
      place: placeWith(of.plans ?? {}),
      settings,
      policyFile: {
        file: 'p.yaml',
        text: TEXT,
        hash,
        policy,
        referenceRates: ratesOf(of.rate),
        destinations: null,
        files: {},
      },
      run: { policy: 'p', id: TODAY },
      today: TODAY,
      isNamed: true,
      batch: null,
      onSubmitted: () => {},
      now: () => nowMs,
    },
    null,
  );
}

test('a start in order is told nothing', async (t) => {
  assert.deepEqual(
    await toldBefore(t, {
      plans: { '2026-11-20': planOn('2026-11-20', '0.80 USD per EUR') },
      rate: '0.80 USD per EUR',
    }),
    [],
  );
});

test('a start is told of a rate that has moved since the newest plan that has rates', async (t) => {
  const plans = {
    '2026-11-18': planOn('2026-11-18', '0.80 USD per EUR'),
    '2026-11-19': planOn('2026-11-19', '0.72 USD per EUR'),
    '2026-11-20': null,
  };
  assert.deepEqual(await toldBefore(t, { plans, rate: '0.80 USD per EUR' }), [
    'By the reference rates 1 EUR is 0.8 USD; it was 0.72 in the plan of p.2026-11-19. That is more than 10 % apart: see that the file is right.',
  ]);
  // A plan that this program cannot read is passed over.
  const unread = { ...plans, '2026-11-20': { version: 0 } };
  assert.equal((await toldBefore(t, { plans: unread, rate: '0.80 USD per EUR' })).length, 1);
});

test('a start is told of a worst rate that is far from the reference rates', async (t) => {
  assert.match(
    (await toldBefore(t, { rate: '1.08 USD per EUR' })).join('\n'),
    /^The worst rate of the guard is 0\.70 USD per EUR\. By the reference rates it is 1\.08 USD per EUR, .*$/,
  );
});

test('a start after a cut-off is told of it', async (t) => {
  assert.deepEqual(await toldBefore(t, { rate: '0.80 USD per EUR', time: '14:30' }), [
    'It is past 15:30 Europe/Brussels, the cut-off of EUR: what is traded in it will settle on 2026-11-24 at the earliest.',
  ]);
});
