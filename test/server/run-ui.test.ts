/** What the Temporal UI has to show of a run, as Temporal itself keeps it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeOptionalSinglePayload } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { todayIn } from '../../calendar/business-date.ts';
import { runName } from '../../domain/references.ts';
import { wakeSignal } from '../../workflows/names.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { resetPoints } from '../support/resets.ts';
import { openStage, type Run, type Stage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage({ rates: { 'USD/MXN': '17.25' }, balances: { USD: '0', MXN: '0' } });
  // Its workflows in a thread of their own, as users have them: what they are traced with belongs to that.
  await stage.startWorker({ temporal: {} });
});
after(() => stage.close());

test('a run tells its story beside its events, in its details, and in the list', async () => {
  const name = uniqueName('p');
  const policy = convertPolicy({ quote: '{ settlement: IMMEDIATE }', shortfall: 'hold' });
  await writeFile(
    join(stage.folder, `${name}.yaml`),
    policy.replace(/^name: .*$/m, `name: ${name}\nzone: Asia/Tokyo`),
  );
  const { client } = stage.temporal;
  const today = todayIn('Asia/Tokyo', Date.now());
  const run = `${name}.${today}`;
  assertExit(await command(stage, ['run', `${name}.yaml`, '--by', 'ana']), 8);

  const handle = client.workflow.getHandle(`sandbox/${run}`);
  const described = await handle.describe();
  assert.match((await described.staticSummary()) ?? '', /^sell 1,000\.00 USD for MXN/);
  const details = (await described.staticDetails()) ?? '';
  for (const told of [
    `Policy **${name}**`,
    today,
    'Started by ana',
    `npx cambist report ${run}`,
    'press Reset',
  ])
    assert.ok(details.includes(told), details);
  assert.equal(described.memo?.['policy'], name);
  assert.equal(described.memo?.['report'], `npx cambist report ${run}`);
  const held = `WorkflowType = 'run' AND CambistDate = '${today}' AND CambistState = 'HELD' AND CambistPolicy = '${name}'`;
  await eventually('the run in the list', async () => (await client.workflow.count(held)).count === 1);

  const { currentDetails } = await handle.query<{ readonly currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  assert.match(currentDetails, /^\*\*HELD\*\*\n- `SHORTFALL` /);
  assert.match(
    currentDetails,
    /Since \d{4}-\d\d-\d\d \d\d:\d\d Asia\/Tokyo\. Looks again at \d{4}-\d\d-\d\d \d\d:\d\d\./,
  );
  assert.ok(currentDetails.includes(`npx cambist status ${run}`), currentDetails);

  stage.sandbox.deposit({ currency: 'USD', amount: '1000' });
  await handle.signal(wakeSignal);
  assertExit(await command(stage, ['run', `${name}.yaml`, '--wait']), 0);
  const { events } = await handle.fetchHistory();
  const summaries = await Promise.all(
    (events ?? []).map(({ userMetadata }) => textOf(userMetadata?.summary)),
  );
  for (const told of [
    /^HELD: usd-mxn-1 waits for money \(SHORTFALL\)\. Looks again for usd-mxn-1: SHORTFALL$/,
    /^Price for 1,000\.00 USD → MXN$/,
    /^Trade 1,000\.00 USD → MXN$/,
    /^Until the MXN of usd-mxn-1 have come$/,
    /^usd-mxn-1 settles late from \d{4}-\d\d-\d\d \d\d:\d\d Asia\/Tokyo on$/,
    /^Pay supplier 17,250\.00 MXN to wac_7Hk2mQ9vT4xR$/,
    /^Until supplier is paid$/,
  ])
    assert.ok(
      summaries.some((summary) => told.test(summary)),
      `${String(told)} is not among ${summaries.join('; ')}`,
    );
  const unsaid = (events ?? []).filter(
    ({ activityTaskScheduledEventAttributes, timerStartedEventAttributes, userMetadata }) =>
      (activityTaskScheduledEventAttributes ?? timerStartedEventAttributes) && !userMetadata?.summary,
  );
  assert.deepEqual(
    unsaid.map(({ eventId }) => String(eventId)),
    [],
    'the timeline names each call and timer in words',
  );
});

test('a run that failed opens with what is done of it and what to do, also in its details', async () => {
  const guard = '{ worst_rate: "18 MXN per USD" }';
  stage.sandbox.deposit({ currency: 'USD', amount: '1000' });
  const run = await stage.start(convertPolicy({ quote: '{ settlement: IMMEDIATE }', guard }));
  await run.report();
  const failure = await run.handle.result().then(
    () => assert.fail('It was done.'),
    (error: { readonly cause?: Error }) => error.cause?.message ?? '',
  );
  assert.match(
    failure,
    /^Ended: nothing was traded or paid of 2 items\. Mend the cause, then type `npx cambist replay \S+`, or press Reset/,
  );
  assert.match(failure, /\nOUTSIDE_GUARD: /);
  const { currentDetails } = await run.handle.query<{ readonly currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  assert.match(currentDetails, /^\*\*FAILED\*\*\n\nEnded: nothing was traded or paid/);
  assert.match(currentDetails, /\n- `OUTSIDE_GUARD` usd-mxn-1: /);
});

test('what a run waits for is not traced line by line: that would cost its worker more than it tells', async () => {
  const run = await stage.start(convertPolicy({ sell: 'EUR', shortfall: 'hold' }));
  await run.heldBy('SHORTFALL');
  const stack = await run.handle.query<string>('__stack_trace');
  assert.equal(stack.match(/^\s+at /gm)?.length, 1, stack);
});

test('the details of a run name the events of the reset dialog with their steps, while it is held and once it has failed', async () => {
  const guard = '{ worst_rate: "18 MXN per USD" }';
  const run = await stage.start(
    convertPolicy({
      amount: '{ sell: "7000.00" }',
      quote: '{ settlement: IMMEDIATE }',
      guard,
      shortfall: 'hold',
    }),
  );
  await run.heldBy('SHORTFALL');
  const held = await eventsInDetails(run.handle);
  stage.sandbox.deposit({ currency: 'USD', amount: '7000' });
  await run.wake();
  assert.equal((await run.report()).status, 'FAILED');
  const failed = await eventsInDetails(run.handle);

  const { events } = await run.handle.fetchHistory();
  const summaries = new Map<string, string>();
  for (const event of events ?? []) {
    const { workflowTaskCompletedEventId: task } =
      event.activityTaskScheduledEventAttributes ?? event.timerStartedEventAttributes ?? {};
    const summary = await textOf(event.userMetadata?.summary);
    if (event.activityTaskScheduledEventAttributes || !summaries.has(String(task)))
      summaries.set(String(task), summary);
  }
  const dialog = (await resetPoints(run.handle)).map(String);
  for (const [event, step] of [...held, ...failed]) {
    assert.ok(dialog.includes(event), `The dialog does not list ${event}: ${step}`);
    assert.ok(step.includes(summaries.get(event) ?? ''), `${event} is ${summaries.get(event)}, not ${step}`);
  }
  assert.deepEqual(failed[0], [dialog.at(-1), 'The workflow ends']);
  assert.equal(
    held[0]?.[1],
    'HELD: usd-mxn-1 waits for money (SHORTFALL). Looks again for usd-mxn-1: SHORTFALL',
  );
  assert.ok(failed.some(([, step]) => step === 'Price for 7,000.00 USD → MXN'));
  // The same words as in the whole table, and none left out that names a step.
  const explained = await command(stage, ['explain-reset', runName(run.name), '--json']);
  assertExit(explained, 0);
  const { events: listed } = JSON.parse(explained.stdout) as {
    readonly events: readonly { readonly eventId: number; readonly step: string }[];
  };
  const oldest = Number(failed.at(-1)?.[0]);
  const named = listed.filter(({ eventId, step }) => eventId >= oldest && step !== 'Goes on waiting');
  assert.deepEqual(failed, named.map(({ eventId, step }) => [String(eventId), step]).toReversed());
});

type Payload = Parameters<typeof decodeOptionalSinglePayload>[1];

async function textOf(payload: Payload): Promise<string> {
  const { loadedDataConverter } = stage.temporal.client.options;
  return (await decodeOptionalSinglePayload<string>(loadedDataConverter, payload)) ?? '';
}

/** The table at the end of the current details, as Temporal tells them. */
async function eventsInDetails(handle: Run['handle']): Promise<readonly (readonly [string, string])[]> {
  const { currentDetails } = await handle.query<{ readonly currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  const [, table = ''] = currentDetails.split('| event | step |');
  return [...table.matchAll(/^\| (\d+) \| (.+) \|$/gm)].map(([, event = '', step = '']) => [event, step]);
}
