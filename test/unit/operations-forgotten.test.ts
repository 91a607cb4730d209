/** A run of which Temporal has neither the plan nor what people said: no command lets it go on, or pays anything of it again (M1). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { WorkflowNotFoundError } from '@temporalio/client';
import { NOTHING_KEPT, type Kept } from '../../domain/people/instructions.ts';
import { requireRemembered } from '../../operations/decide/forgotten.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { RunFacts } from '../../operations/follow/runs.ts';
import type { Place } from '../../operations/place.ts';
import {
  LAST_PAGE,
  WIRE_LISTED_WITHDRAWAL,
  WIRE_TRADE,
  answer,
  settingsAt,
  serveHttp,
} from '../support/service-fixture.ts';

const RUN = { policy: 'mxn-supplier', id: '2026-11-21' };
const PLAN_ID = 'sandbox/mxn-supplier.2026-11-21/plan';

const COMPLETED = { isOpen: false, temporalStatus: 'COMPLETED' } as RunFacts;
const TERMINATED = { isOpen: false, temporalStatus: 'TERMINATED' } as RunFacts;

type Known = {
  readonly facts: RunFacts | null;
  readonly kept?: Kept;
  readonly hasPlan?: true;
  /** What the service lists; null: it does not answer. */
  readonly lists?: { readonly trades: readonly object[]; readonly withdrawals: readonly object[] } | null;
};

const NOTHING = { trades: [], withdrawals: [] };
const ITS_TRADE = { trades: [WIRE_TRADE], withdrawals: [WIRE_LISTED_WITHDRAWAL] };

/** A Temporal that has a plan of the run, or none. */
function placeWith(hasPlan: boolean): Place {
  const getHandle = (workflowId: string) => ({
    describe: async () => {
      if (!hasPlan || workflowId !== PLAN_ID) throw new WorkflowNotFoundError('none', workflowId, undefined);
      return { workflowId, runId: 'p', status: { name: 'COMPLETED' }, raw: {} };
    },
  });
  const gone = () => Promise.reject(new WorkflowNotFoundError('none', PLAN_ID, undefined));
  const workflowService = { getWorkflowExecutionHistory: gone };
  const workflow = { getHandle, list: async function* list() {} };
  return { client: { workflow, workflowService, options: {} }, mode: 'SANDBOX' } as unknown as Place;
}

/** Why the run may not go on; null: it may. */
async function whyNot(t: TestContext, of: Known): Promise<string | null> {
  const { facts, kept = null, hasPlan = false, lists = NOTHING } = of;
  const port = await serveHttp(t, (request, response) => {
    if (lists === null) return answer(request, response, 503, {});
    const data = request.url?.includes('/trades') === true ? lists.trades : lists.withdrawals;
    answer(request, response, 200, { data, pagination: LAST_PAGE });
  });
  const settings = await settingsAt(port);
  try {
    await requireRemembered(placeWith(hasPlan), settings, { run: RUN, zone: 'UTC', facts, kept });
    return null;
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    assert.equal(error.ending, 'refused by us');
    return `${error.problems[0]?.code}: ${error.problems[0]?.message}`;
  }
}

test('a run whose plan and instructions are past their retention does not go on, and people are told what the service shows', async (t) => {
  assert.match(
    (await whyNot(t, { facts: COMPLETED })) ?? '',
    /^NO_PLAN: .*the service shows nothing of it; nothing was sent$/,
  );
  const shown = await whyNot(t, { facts: COMPLETED, lists: ITS_TRADE });
  assert.match(
    shown ?? '',
    /the service shows trade tde_9Lm2 \(mxn-supplier\.2026-11-21\.usd-mxn-1\); nothing/,
  );
  // What cannot be read proves nothing.
  assert.match(
    (await whyNot(t, { facts: COMPLETED, lists: null })) ?? '',
    /as far as its lists could be read/,
  );
});

test('a run of which Temporal knows nothing, or that was ended from outside, is forgotten where the service shows something of it', async (t) => {
  for (const facts of [null, TERMINATED]) {
    assert.match((await whyNot(t, { facts, lists: ITS_TRADE })) ?? '', /^NO_PLAN/);
    assert.equal(await whyNot(t, { facts }), null);
  }
});

test('a run whose plan or instructions Temporal still has goes on', async (t) => {
  assert.equal(await whyNot(t, { facts: COMPLETED, kept: NOTHING_KEPT, lists: ITS_TRADE }), null);
  assert.equal(await whyNot(t, { facts: COMPLETED, hasPlan: true, lists: ITS_TRADE }), null);
});
