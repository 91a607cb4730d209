/**
 * The cells of the kill table: for trade and for withdrawal, each moment of a write, before and after it. How the worker
 * is brought to die exactly there, and what must be true of the world when it has died there.
 */
import assert from 'node:assert/strict';
import type { RunName } from '../../domain/references.ts';
import { todayIn } from '../../calendar/business-date.ts';
import type { Operation } from '../../sandbox/operations.ts';
import type { Sandbox } from '../../sandbox/server.ts';
import type { Run, Stage } from './stage.ts';
import { uniqueName } from './dev-server.ts';
import { eventually } from './patience.ts';
import { convertPolicy } from './policies.ts';
import { openTemporalProxy, openWire, type CallToStopAt } from './proxy.ts';
import { startDoomedWorker, type KillPoint } from './worker-process.ts';

export const MOVEMENTS = ['trade', 'withdrawal'] as const;
type Movement = (typeof MOVEMENTS)[number];

/** In the order in which a write passes them. */
export const MOMENTS = [
  'the reference is in history',
  'it is signed',
  'it is sent',
  'half of its body has left',
  'the service commits',
  'the reply is read',
  'the result is reported',
] as const;
type Moment = (typeof MOMENTS)[number];

export const SIDES = ['before', 'after'] as const;
type Side = (typeof SIDES)[number];

export type Cell = { readonly movement: Movement; readonly moment: Moment; readonly side: Side };

export const CELLS: readonly Cell[] = MOVEMENTS.flatMap((movement) =>
  MOMENTS.flatMap((moment) => SIDES.map((side) => ({ movement, moment, side }))),
);

export function nameOf({ movement, moment, side }: Cell): string {
  return `${movement}, ${side} ${moment}`;
}

/** What is known of the write at the moment of death; null: either may be. */
type MovementStanding = {
  /** Its activity, with the reference in its input, is in the run's history. */
  readonly scheduled: boolean;
  readonly booked: boolean | null;
  /** Its result is in the run's history. */
  readonly reported: boolean;
};

/** How one cell is set up: before the worker starts, and once the run has started. */
type Death = {
  /** Where the worker kills itself; null: `strike` says when it is to be killed. */
  readonly itself: KillPoint | null;
  /** What of its environment leads through something of ours. */
  readonly env: NodeJS.ProcessEnv;
  /** Resolves at the moment to kill it; never rejects. */
  readonly strike: (run: Run) => Promise<void>;
  /** What goes on once it is dead, while a fresh worker works. */
  readonly afterwards: () => Promise<void>;
  readonly standing: MovementStanding;
};

const WRITES = {
  trade: {
    path: '/v3/fx/trades',
    operation: 'createTrade',
    activity: 'executeTrade',
    // What only the result of the activity says.
    result: '"step":{"kind":"traded"',
  },
  withdrawal: {
    path: '/v3/fx/withdrawals',
    operation: 'createWithdrawal',
    activity: 'createWithdrawals',
    result: '"step":{"kind":"accepted"',
  },
} as const satisfies Readonly<Record<Movement, Readonly<Record<string, string>>>>;

const NOT_SCHEDULED: MovementStanding = { scheduled: false, booked: false, reported: false };
const NOT_BOOKED: MovementStanding = { scheduled: true, booked: false, reported: false };
const MAYBE_BOOKED: MovementStanding = { scheduled: true, booked: null, reported: false };
const BOOKED: MovementStanding = { scheduled: true, booked: true, reported: false };
const REPORTED: MovementStanding = { scheduled: true, booked: true, reported: true };

/** Where a cell is set up: its stage, and the run that will be started there. */
type Scene = { readonly stage: Stage; readonly run: RunName };
type SetUp = (movement: Movement, scene: Scene) => Promise<Death>;

/** Every cell has its way to die: a moment without one does not compile. */
const DEATHS: Readonly<Record<Moment, Readonly<Record<Side, SetUp>>>> = {
  'the reference is in history': {
    // The worker has scheduled the activity, and Temporal has not heard of it.
    before: (movement, { stage }) =>
      atTemporal(stage, NOT_SCHEDULED, { ...scheduling(movement), arrives: false }),
    // Temporal has it, and the worker has not heard that there is something to do.
    after: (movement, { stage }) =>
      atTemporal(stage, NOT_BOOKED, { ...scheduling(movement), arrives: true }, (run) =>
        inHistory(run, movement, 'scheduled'),
      ),
  },
  'it is signed': {
    // The client has not been called.
    before: (movement) => itself(`before send ${movement}`, NOT_BOOKED),
    after: (movement) => itself(`signed POST ${WRITES[movement].path}`, NOT_BOOKED),
  },
  'it is sent': {
    // The connection stands, and the next thing is to write.
    before: (movement) => itself(`about to write POST ${WRITES[movement].path}`, NOT_BOOKED),
    after: (movement) => itself(`written POST ${WRITES[movement].path}`, MAYBE_BOOKED),
  },
  'half of its body has left': {
    // The whole head has, and nothing of the body.
    before: (movement, { stage }) => atService(stage, inBody(movement, 0)),
    after: (movement, { stage }) => atService(stage, inBody(movement, 0.5)),
  },
  'the service commits': {
    before: (movement, scene) => heldByService(movement, scene, 'before'),
    after: (movement, scene) => heldByService(movement, scene, 'after'),
  },
  'the reply is read': {
    // Status and headers are, the record is not.
    before: (movement) => itself(`head of the reply read POST ${WRITES[movement].path}`, BOOKED),
    // To its last byte, and nobody has looked at it.
    after: (movement) => itself(`reply read POST ${WRITES[movement].path}`, BOOKED),
  },
  'the result is reported': {
    // The activity has returned, and Temporal does not know.
    before: (movement, { stage }) => atTemporal(stage, BOOKED, { ...reporting(movement), arrives: false }),
    // Temporal knows, and the worker does not know that it does.
    after: (movement, { stage }) =>
      atTemporal(stage, REPORTED, { ...reporting(movement), arrives: true }, (run) =>
        inHistory(run, movement, 'reported'),
      ),
  },
};

/** A run whose worker has just been killed in a cell. */
type Killed = {
  readonly run: Run;
  /** Where the next worker finds the run. */
  readonly taskQueue: string;
  /** What goes on now that the worker is dead: to be awaited while a fresh one works. */
  readonly afterwards: () => Promise<void>;
  /** What is true of the write, and what must be for the worker to have died in this very cell. */
  readonly standing: { readonly found: MovementStanding; readonly wanted: MovementStanding };
};

/** Starts a run on a task queue of its own and kills its worker in the cell. */
export async function killIn(cell: Cell, stage: Stage, policy = uniqueName('p')): Promise<Killed> {
  const scene = { stage, run: { policy, id: todayIn('UTC', Date.now()) } };
  const death = await DEATHS[cell.moment][cell.side](cell.movement, scene);
  const taskQueue = uniqueName('queue');
  const env = { ...stage.env, ...death.env, CAMBIST_TASK_QUEUE: taskQueue };
  const doomed = startDoomedWorker(env, death.itself);
  const run = await stage.start(convertPolicy(), { taskQueue, name: policy });
  // Who outlives the run is killed all the same, and found not to have died where it should.
  await Promise.race([death.strike(run), doomed.gone, run.handle.result()]);
  doomed.kill();
  assert.equal(await doomed.gone, 'SIGKILL');
  const found = await standingOf(run, cell.movement);
  const { standing: wanted, afterwards } = death;
  const known = wanted.booked === null ? { ...found, booked: null } : found;
  return { run, taskQueue, afterwards, standing: { found: known, wanted } };
}

/** What is true of a write of a run at this moment. */
async function standingOf(run: Run, movement: Movement): Promise<MovementStanding> {
  const { events } = await run.handle.fetchHistory();
  const scheduled = (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === WRITES[movement].activity,
  );
  const ids = scheduled.map((event) => String(event.eventId));
  const reported = (events ?? []).some((event) =>
    ids.includes(String(event.activityTaskCompletedEventAttributes?.scheduledEventId)),
  );
  const booked = run.movements()[movement === 'trade' ? 'trades' : 'withdrawals'].length > 0;
  return { scheduled: scheduled.length > 0, booked, reported };
}

async function inHistory(run: Run, movement: Movement, what: 'scheduled' | 'reported'): Promise<void> {
  await eventually(`the ${movement} is ${what}`, async () => (await standingOf(run, movement))[what]);
}

async function itself(point: string, standing: MovementStanding): Promise<Death> {
  return {
    itself: { point, nth: 1 },
    env: {},
    strike: () => new Promise(() => {}),
    afterwards: async () => {},
    standing,
  };
}

async function atTemporal(
  stage: Stage,
  standing: MovementStanding,
  stop: CallToStopAt,
  until: (run: Run) => Promise<void> = async () => {},
): Promise<Death> {
  const proxy = await openTemporalProxy(stage.env['TEMPORAL_ADDRESS'] ?? '', stop);
  return {
    itself: null,
    env: { TEMPORAL_ADDRESS: proxy.address },
    strike: async (run) => {
      await proxy.sprung;
      await until(run);
    },
    afterwards: () => proxy.close(),
    standing,
  };
}

async function atService(stage: Stage, stopAt: (said: string) => number | null): Promise<Death> {
  const service = new URL(stage.sandbox.baseUrl);
  const wire = await openWire(service.host, stopAt);
  return {
    itself: null,
    env: { CAMBIST_BASE_URL: `http://${wire.address}${service.pathname}` },
    strike: () => wire.sprung,
    afterwards: () => wire.close(),
    standing: NOT_BOOKED,
  };
}

/**
 * The service stops on its side of the commit, and goes on when the worker is dead: where it had not committed, only
 * once the fresh worker has asked again and was told that the same is in work.
 */
async function heldByService(movement: Movement, { stage, run }: Scene, when: Side): Promise<Death> {
  const { operation } = WRITES[movement];
  const { sandbox } = stage;
  const reference = `${run.policy}.*`;
  const id = sandbox.addFault({ operation, times: 1, when: { reference }, effect: { kind: 'hold', when } });
  return {
    itself: null,
    env: {},
    strike: async () => {
      await sandbox.faultHit(id);
    },
    afterwards: async () => {
      const code = when === 'before' ? await answerToTheNext(sandbox, operation, `${run.policy}.`) : IN_WORK;
      sandbox.releaseFaults(id);
      assert.equal(code, IN_WORK, 'The same was sent again under another key.');
    },
    standing: when === 'before' ? NOT_BOOKED : BOOKED,
  };
}

const IN_WORK = 'IDEMPOTENCY_IN_FLIGHT';

/** The code of the answer to the next such request of a run. */
async function answerToTheNext(
  sandbox: Sandbox,
  operation: Operation,
  prefix: string,
): Promise<string | null> {
  const { code } = await sandbox.nextRequest(
    (entry) => entry.operation === operation && entry.reference?.startsWith(prefix) === true,
  );
  return code;
}

function scheduling(movement: Movement): Omit<CallToStopAt, 'arrives'> {
  return { call: 'RespondWorkflowTaskCompleted', saying: WRITES[movement].activity };
}

function reporting(movement: Movement): Omit<CallToStopAt, 'arrives'> {
  return { call: 'RespondActivityTaskCompleted', saying: WRITES[movement].result };
}

/** Stops within the body of the movement's request, after this share of it. */
function inBody(movement: Movement, share: number): (said: string) => number | null {
  return (said) => {
    const head = said.indexOf(`POST ${WRITES[movement].path} HTTP/1.1\r\n`);
    const body = head < 0 ? -1 : said.indexOf('\r\n\r\n', head) + '\r\n\r\n'.length;
    if (head < 0 || body < '\r\n\r\n'.length) return null;
    const bytes = Number(/content-length: (\d+)/i.exec(said.slice(head, body))?.[1]);
    return body + Math.floor(bytes * share);
  };
}
