/** Open means running or paused: what a workflow that somebody has paused in Temporal still holds, forbids and says. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { QueryRejectedError, ServiceError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { defaultDataConverter } from '@temporalio/common';
import { keptOrNothing } from '../../activities/kept-or-nothing.ts';
import { keptPlan } from '../../domain/plan/plan.ts';
import { NOTHING_RESERVED, openLeg } from '../../domain/plan/reserved.ts';
import { NOTHING_KEPT } from '../../domain/people/instructions.ts';
import { describe, pausedOf } from '../../durable/described.ts';
import {
  InstructionsPaused,
  readInstructionsToActBy,
  readInstructions,
} from '../../durable/instructions/read.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { turnsOf } from '../../durable/other-runs/turn.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { keptAbout } from '../../operations/decide/keep-instruction.ts';
import { pausedIn } from '../../operations/follow/paused.ts';
import { readRun } from '../../operations/follow/read-run.ts';
import { followRun } from '../../operations/follow/until-it-ends.ts';
import { describeRun } from '../../operations/follow/runs.ts';
import { standingOf } from '../../operations/follow/standing.ts';
import type { Place } from '../../operations/place.ts';
import { listAll, listAttention } from '../../operations/watch/attention.ts';
import { listText } from '../../cli/commands/list.ts';
import { holdsQuery, reservationQuery } from '../../workflows/names.ts';
import { instructionsOf, worker } from '../support/activities.ts';
import { kept } from '../support/instructions.ts';
import { RUN, WHOLE_PLAN } from '../support/scripts.ts';

const ID = 'sandbox/p.2026-11-21';
const PLAN = keptPlan(WHOLE_PLAN);
const PAUSED = 8;
const SINCE = '2026-11-23T06:12:03Z';
const PAUSE_INFO = {
  identity: 'ana@laptop',
  reason: 'a look',
  pausedTime: { seconds: Date.parse(SINCE) / 1_000, nanos: 0 },
};

type Known = {
  readonly status: string;
  readonly type?: string;
  readonly input?: unknown;
  readonly result?: unknown;
  readonly answer?: unknown;
};

/** A Temporal with these workflows, by their ids. Nobody can ask one that is paused. */
class Told {
  readonly known: Readonly<Record<string, Known>>;
  readonly signals: string[] = [];
  asked = 0;
  refusal: Error | null = null;

  constructor(known: Readonly<Record<string, Known>>) {
    this.known = known;
  }

  #of(workflowId: string): Known {
    const known = this.known[workflowId];
    if (known === undefined) throw new WorkflowNotFoundError('none', workflowId, undefined);
    return known;
  }

  #shown(workflowId: string) {
    const { status, type = 'run' } = this.#of(workflowId);
    return {
      workflowId,
      runId: `of ${workflowId}`,
      type,
      taskQueue: 'queue',
      status: { name: status },
      startTime: new Date(SINCE),
      historyLength: 9,
      typedSearchAttributes: { get: () => 'RUNNING' },
      raw: { workflowExtendedInfo: status === 'PAUSED' ? { pauseInfo: PAUSE_INFO } : {} },
    };
  }

  get client(): Client {
    const getHandle = (workflowId: string) => ({
      workflowId,
      describe: async () => this.#shown(workflowId),
      query: async ({ name }: { readonly name: string }) => {
        this.asked += 1;
        const { status, answer } = this.#of(workflowId);
        if (status === 'PAUSED') throw new QueryRejectedError(PAUSED);
        return [holdsQuery.name, reservationQuery.name].includes(name) ? answer : assert.fail(name);
      },
      result: async () => this.#of(workflowId).result ?? new Promise(() => {}),
      fetchHistory: async () => ({
        events: [
          { workflowExecutionStartedEventAttributes: { workflowType: { name: this.#of(workflowId).type } } },
        ],
      }),
      signal: async ({ name }: { readonly name: string }) => void this.signals.push(name),
    });
    const list = ({ query }: { readonly query: string }) => {
      const { refusal } = this;
      const isOfPauses = query.startsWith('TemporalPauseInfo IS NOT NULL');
      const ids = Object.keys(this.known).filter((id) => isOfPauses || this.#of(id).type === undefined);
      const infos = query.startsWith('WorkflowId') ? [] : ids.map((id) => this.#shown(id));
      return (async function* () {
        if (refusal !== null) throw refusal;
        yield* infos;
      })();
    };
    return {
      workflow: { getHandle, list },
      withDeadline: (_deadline: number, work: () => unknown) => work(),
      withAbortSignal: (signal: AbortSignal, work: () => Promise<unknown>) =>
        Promise.race([work(), once(signal, 'abort').then(() => Promise.reject(new Error('aborted')))]),
      workflowService: {
        getWorkflowExecutionHistory: async ({
          execution,
        }: {
          readonly execution: { readonly workflowId: string };
        }) => {
          const { type = 'run', input } = this.#of(execution.workflowId);
          const payloads = [defaultDataConverter.payloadConverter.toPayload(input)];
          const started = { workflowType: { name: type }, input: { payloads } };
          return { history: { events: [{ workflowExecutionStartedEventAttributes: started }] } };
        },
      },
      options: {
        namespace: 'default',
        loadedDataConverter: { payloadCodecs: [], payloadConverter: defaultDataConverter.payloadConverter },
      },
    } as unknown as Client;
  }

  get place(): Place {
    return {
      client: this.client,
      connection: null as never,
      namespace: 'default',
      address: '127.0.0.1:7233',
      mode: 'SANDBOX',
      taskQueue: 'queue',
      uiUrl: null,
      say: () => {},
    };
  }
}

const PAUSED_RUN = new Told({ [ID]: { status: 'PAUSED' } });
const MESSAGE =
  'paused in Temporal since 2026-11-23 06:12:03 UTC, by ana@laptop ("a look"): it does nothing, and answers no question';

test('Temporal tells who has paused a workflow, why, and since when, as far as it knows', async () => {
  const shown = await describe(PAUSED_RUN.client, ID);
  assert.ok(shown !== null);
  assert.deepEqual(pausedOf(shown), { by: 'ana@laptop', why: 'a look', sinceMs: Date.parse(SINCE) });
  const more = { raw: {} } as Pick<typeof shown, 'raw'>;
  assert.deepEqual(pausedOf({ ...shown, ...more }), { by: null, why: null, sinceMs: null });
  assert.equal(pausedOf({ ...shown, status: { name: 'RUNNING' } }), null);
});

test('whoever asks a paused run is told so at once, who has paused it, and what to press', async () => {
  const facts = (await describeRun(PAUSED_RUN.client, 'SANDBOX', RUN)) ?? assert.fail('There is a run.');
  assert.deepEqual([facts.isOpen, facts.state], [true, 'RUNNING']);
  PAUSED_RUN.asked = 0;
  const standing = await standingOf(PAUSED_RUN.place, facts, () => Date.parse(SINCE));
  assert.equal(standing.ending, 'needs a human');
  assert.deepEqual(standing.kind === 'untold' && standing.problem, {
    code: 'WORKFLOW_PAUSED',
    place: ID,
    message: MESSAGE,
    fix: 'Press _Unpause_ at it in the Temporal UI; it then goes on by itself.',
  });
  await assert.rejects(
    readRun(PAUSED_RUN.place, facts),
    (error) => error instanceof CommandFailure && error.problems[0]?.code === 'WORKFLOW_PAUSED',
  );
  assert.equal(PAUSED_RUN.asked, 2);
});

test('whoever follows a run that is paused is told so, unless they stay', async () => {
  const silences: (string | null)[] = [];
  const left = new AbortController();
  const follow = (stay: boolean) =>
    followRun({
      client: PAUSED_RUN.client,
      mode: 'SANDBOX',
      run: RUN,
      stay,
      left: left.signal,
      isUntaken: () => assert.fail('It was taken.'),
      onProgress: () => assert.fail('It tells nothing.'),
      onSilence: (reason) => {
        silences.push(reason);
        left.abort();
      },
    });
  assert.deepEqual(await follow(false), { kind: 'paused' });
  assert.deepEqual(silences, []);
  assert.deepEqual(await follow(true), { kind: 'detached' });
  assert.deepEqual(silences, ['a person has paused it in Temporal']);
});

test('whoever would decide by what people said is told that it is paused, not that no worker is there', async () => {
  const told = new Told({
    [ID]: { status: 'RUNNING' },
    [`${ID}/instructions`]: { status: 'PAUSED', type: 'instructions' },
  });
  await assert.rejects(
    keptAbout(told.place, RUN),
    (error) =>
      error instanceof CommandFailure &&
      error.ending === 'needs a human' &&
      error.problems[0]?.place === `${ID}/instructions`,
  );
});

test('a paused run needs attention, and so does whatever is paused beside a run', async () => {
  const told = new Told({
    [ID]: { status: 'PAUSED' },
    [`${ID}/instructions`]: { status: 'PAUSED', type: 'instructions' },
    'sandbox/halt': { status: 'PAUSED', type: 'halt' },
    // Somebody has paused an activity of it.
    'sandbox/org/turn': { status: 'RUNNING', type: 'turn' },
    'live/halt': { status: 'PAUSED', type: 'halt' },
  });
  const { listed } = await listAttention(told.place, Date.parse(SINCE), null);
  assert.deepEqual(
    listed.map(({ facts, why }) => [facts.workflowId, why?.code]),
    [[ID, 'WORKFLOW_PAUSED']],
  );
  const { runs, besideRuns } = await pausedIn(told.place);
  const named = (paused: typeof runs) => paused.map(({ place, message }) => [place, message]);
  assert.deepEqual(named(runs), [[ID, MESSAGE]]);
  assert.deepEqual(named(besideRuns), [
    [`${ID}/instructions`, MESSAGE],
    ['sandbox/halt', MESSAGE],
  ]);
  const times = { nowMs: Date.parse(SINCE), zone: 'UTC', width: 100 };
  const all = await listAll(told.place, null);
  assert.match(listText(all, { ...times, pausedIds: new Set(runs.map(({ place }) => place)) }), /PAUSED/);
  assert.doesNotMatch(listText(all, { ...times, pausedIds: new Set() }), /PAUSED/);
});

test('a server that is too old to pause a workflow has paused none; any other trouble is no answer', async () => {
  const refused = (code: number): Error => Object.assign(new Error('no'), { code });
  PAUSED_RUN.refusal = new ServiceError('Failed to list', { cause: refused(3) });
  assert.deepEqual(await pausedIn(PAUSED_RUN.place), { runs: [], besideRuns: [] });
  PAUSED_RUN.refusal = new ServiceError('Failed to list', { cause: refused(14) });
  await assert.rejects(pausedIn(PAUSED_RUN.place), ServiceError);
  PAUSED_RUN.refusal = null;
});

test('what people said, of the run or of a chunk, lets nothing be sent while what keeps it is paused; it can be shown', async () => {
  for (const chunk of [null, 1]) {
    const other = { status: chunk === null ? 'RUNNING' : 'PAUSED', type: 'instructions' };
    const { client } = new Told({
      [`${ID}/instructions`]: { status: chunk === null ? 'PAUSED' : 'RUNNING', type: 'instructions' },
      [`${ID}/instructions-0001`]: other,
    });
    const of = { client, mode: 'SANDBOX', run: RUN } as const;
    await assert.rejects(readInstructionsToActBy({ ...of, chunk: 1 }), InstructionsPaused);
    assert.deepEqual(await readInstructions(of), NOTHING_KEPT);
  }
  // What sends nothing goes by what was said before.
  const said = kept({ kind: 'cancel', by: 'ana', why: 'wrong' });
  const read = () => Promise.reject(new InstructionsPaused(`${ID}/instructions`, said));
  const { deps } = worker({}, { instructions: { ...instructionsOf(), read } });
  assert.deepEqual(await keptOrNothing(deps, { mode: 'SANDBOX', run: RUN }), said);
});

/** What the run beside this Temporal is asked about has reserved, or may have traded; and what the turn is told. */
async function reservedIn(known: Readonly<Record<string, Known>>): Promise<readonly unknown[]> {
  const told = new Told(known);
  const turns = turnsOf({ client: told.client, taskQueue: 'queue', mode: 'SANDBOX', organisation: 'org' });
  const { open, gone } = await turns.readReserved(['p.2026-11-21']);
  return [
    open,
    gone.map(({ runId, legs }) => [runId, legs?.map(({ reference }) => reference) ?? null]),
    told.signals,
  ];
}

test('a paused run keeps what it has reserved, and its place', async () => {
  for (const status of ['PAUSED', 'RUNNING'])
    assert.deepEqual(await reservedIn({ [ID]: { status } }), [[{ run: RUN, ...NOTHING_RESERVED }], [], []]);
  for (const status of ['COMPLETED', 'FAILED'])
    assert.deepEqual(await reservedIn({ [ID]: { status } }), [[], [], ['forget']]);
});

test('a run that somebody has ended, or that Temporal has lost, may have traded what it was in doubt about', async () => {
  const made = { [`${ID}/plan`]: { status: 'COMPLETED', type: 'plan', result: PLAN } };
  const making = { [`${ID}/plan`]: { status: 'RUNNING', type: 'plan' } };
  const leg = PLAN.legs.map(({ reference }) => reference);
  const told = (isTold: boolean) => ({
    reserved: [],
    legs: WHOLE_PLAN.legs.map((one) => openLeg(one, isTold)),
  });
  for (const status of ['TERMINATED', 'TIMED_OUT']) {
    const ended = (answer?: unknown) => ({ [ID]: { status, answer } });
    const runId = `of ${ID}`;
    assert.deepEqual(await reservedIn({ ...ended(told(false)), ...made }), [[], [[runId, leg]], []]);
    assert.deepEqual(await reservedIn({ ...ended(told(true)), ...made }), [[], [], ['forget']]);
    // It had no plan yet.
    assert.deepEqual(await reservedIn({ ...ended(null), ...made }), [[], [], ['forget']]);
    // It does not answer: its plan tells what it may have done, or nothing does.
    assert.deepEqual(await reservedIn({ ...ended(), ...made }), [[], [[runId, leg]], []]);
    assert.deepEqual(await reservedIn({ ...ended(), ...making }), [[], [], ['forget']]);
    assert.deepEqual(await reservedIn(ended()), [[], [[runId, null]], []]);
  }
  assert.deepEqual(await reservedIn(made), [[], [[null, leg]], []]);
  assert.deepEqual(await reservedIn(making), [[], [], ['forget']]);
  assert.deepEqual(await reservedIn({}), [[], [[null, null]], []]);
});

test('a batch whose run is paused holds what it has taken up again, as one does that runs', async () => {
  const holds = { runId: 'chunk-1', heard: 'older/chunk-1', isFirst: true, hasPlan: true };
  for (const [status, isHeld] of [
    ['PAUSED', true],
    ['RUNNING', true],
    ['TERMINATED', false],
  ] as const) {
    const { client } = new Told({
      [ID]: { status },
      [`${ID}/plan`]: { status: 'COMPLETED', type: 'plan', result: PLAN },
      [`${ID}/chunk-0001`]: {
        status: 'RUNNING',
        type: 'chunk',
        input: { run: RUN, mode: 'SANDBOX', number: 1, payments: [['inv-1', 'wac_1', 'MXN', '5']] },
        answer: { ...holds, items: [['inv-1', 'NOT_PAID', null]] },
      },
    });
    const suspect = { run: RUN, number: 1, names: ['inv-1'] };
    const { held, silent } = await claimsOf(client).holders('SANDBOX', [suspect]);
    assert.deepEqual([held.has('inv-1'), silent], [isHeld, null], status);
  }
});

test('a batch whose chunk is paused may hold its payments: whoever asks waits', async () => {
  const told = new Told({
    [ID]: { status: 'RUNNING' },
    [`${ID}/plan`]: {
      status: 'COMPLETED',
      type: 'plan',
      result: PLAN,
    },
    [`${ID}/chunk-0001`]: {
      status: 'PAUSED',
      type: 'chunk',
      input: { run: RUN, mode: 'SANDBOX', number: 1, payments: [['inv-1', 'wac_1', 'MXN', '5']] },
    },
  });
  const suspect = { run: RUN, number: 1, names: ['inv-1'] };
  assert.equal((await claimsOf(told.client).holders('SANDBOX', [suspect])).silent, 'p.2026-11-21');
});
