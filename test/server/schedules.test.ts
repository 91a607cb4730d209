/**
 * Schedules on a real Temporal: made like the files, and whatever they start meets in the run that the command would start.
 * Nothing of it moves money twice.
 */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { DateTime } from 'luxon';
import { ScheduleNotFoundError, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { machineClock } from '../../activities/deps.ts';
import { todayIn } from '../../calendar/business-date.ts';
import type { ScheduledResult } from '../../workflows/calls.ts';
import {
  SCHEDULED_TYPE,
  nominalTimeAttribute,
  scheduleIdOf,
  scheduledIdOf,
  type ScheduledInput,
} from '../../workflows/names.ts';
import { CarefulScheduleClient } from '../../operations/schedules/client.ts';
import { readKnownDates } from '../../operations/schedules/known-dates.ts';
import { assertExit, command, documentOf, flat, reportOf, type Ended } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { openStage } from '../support/stage.ts';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000' },
});
after(() => stage.close());
const rates = join(stage.folder, 'rates');
await mkdir(rates);
await stage.startWorker({ env: { CAMBIST_FILES: stage.folder } });
const { client } = stage.temporal;

/** A zone in which it is late enough for a time of today to be over, and early enough for its date to last. */
const ZONE = ['UTC', 'Asia/Tokyo', 'America/New_York'].find((zone) => {
  const { hour } = DateTime.now().setZone(zone);
  return hour >= 2 && hour < 23;
});
assert.ok(ZONE !== undefined);
const zone = ZONE;
const now = DateTime.now().setZone(zone);
/** Over for more than an hour, so that nothing starts by itself while the test runs. */
const PAST = now.minus({ hours: 1 }).toFormat('HH:00');
const today = todayIn(zone, Date.now());
const daysAgo = (days: number): string => now.minus({ days }).toFormat('yyyy-MM-dd');

type Parts = {
  readonly name?: string;
  readonly schedule?: string;
  readonly guard?: string;
  /** Pays a fixed amount to a payment of this name. */
  readonly pays?: string;
};
type Written = { readonly name: string; readonly file: string; readonly text: string };

/** A policy in a folder of the stage. */
async function put(folder: string, parts: Parts = {}): Promise<Written> {
  const name = parts.name ?? uniqueName('s');
  const own = parts.schedule ?? `{ at: "${PAST}", days: daily }`;
  const { guard, pays } = parts;
  const plain = convertPolicy({
    ...(guard !== undefined && { guard }),
    ...(pays !== undefined && { withdraw: [{ id: pays, account: 'wac_7Hk2mQ9vT4xR', fixed: '12.34' }] }),
  });
  const text = plain.replace(
    'name: replaced\n',
    `name: ${name}\nzone: ${zone}\n${own === '' ? '' : `schedule: ${own}\n`}`,
  );
  await mkdir(join(stage.folder, folder), { recursive: true });
  await writeFile(join(stage.folder, folder, `${name}.yaml`), text);
  return { name, file: `${folder}/${name}.yaml`, text };
}

const schedule = (...argv: readonly string[]): Promise<Ended> => command(stage, ['schedule', ...argv]);
const handleOf = ({ name }: Written) => client.schedule.getHandle(scheduleIdOf('SANDBOX', name));

async function applied(parts: Parts = {}): Promise<Written> {
  const policy = await put(uniqueName('f'), parts);
  assertExit(await schedule('apply', policy.file), 0);
  return policy;
}

function movedFor({ name }: Written): number {
  return stage.sandbox
    .ledger()
    .trades.filter(({ clientReferenceId }) => String(clientReferenceId).startsWith(`${name}.`)).length;
}

/** What `scheduled` comes to when it is started as Temporal would, with what differs. */
async function startedBy(
  policy: Written,
  nominalMs: number,
  { input = {}, workflowId, taskQueue }: { input?: object; workflowId?: string; taskQueue?: string } = {},
): Promise<ScheduledResult | ApplicationFailure> {
  const { name, text } = policy;
  const own: ScheduledInput = { mode: 'SANDBOX', policy: name, policyText: text, policyFile: 'p.yaml' };
  const handle = await client.workflow.start(SCHEDULED_TYPE, {
    workflowId: workflowId ?? scheduledIdOf('SANDBOX', name, nominalMs),
    taskQueue: taskQueue ?? stage.env['CAMBIST_TASK_QUEUE'] ?? '',
    args: [{ ...own, ...input }],
    typedSearchAttributes: [{ key: nominalTimeAttribute, value: new Date(nominalMs) }],
  });
  try {
    return (await handle.result()) as ScheduledResult;
  } catch (error) {
    assert.ok(error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure);
    return error.cause;
  }
}

function lineOf(came: ScheduledResult | ApplicationFailure): string {
  return came instanceof ApplicationFailure ? (came.type ?? '') : came.kind;
}

describe('apply', () => {
  test('makes a schedule of a policy, starts nothing, and typed again has nothing to do', async () => {
    const folder = uniqueName('f');
    const off = now.plus({ days: 3 }).toFormat('yyyy-MM-dd');
    const policy = await put(folder, { schedule: `{ at: "${PAST}", days: daily, holidays: [${off}] }` });
    await put(folder, { schedule: '' });
    await writeFile(join(stage.folder, folder, 'rates.yaml'), 'as_of: 2026-11-20T16:00:00Z\nrates: []\n');
    const first = await schedule('apply', folder);
    assertExit(first, 0);
    assert.match(flat(first.stdout), new RegExp(`\\+ ${policy.name}: new, ${PAST} ${zone} every day`));
    assert.match(flat(first.stderr), /Left out, no policy: \S+rates\.yaml Left out, no schedule: /);
    const { info, policies } = await handleOf(policy).describe();
    assert.deepEqual([info.recentActions, info.runningActions, info.numActionsTaken], [[], [], 0]);
    assert.deepEqual([policies.overlap, policies.catchupWindow], ['SKIP', 600_000]);
    const next = info.nextActionTimes.slice(0, 4).map((time) => DateTime.fromJSDate(time, { zone }));
    assert.deepEqual(
      next.map((time) => time.toFormat('yyyy-MM-dd HH:mm')),
      [1, 2, 4, 5].map((days) => `${now.plus({ days }).toFormat('yyyy-MM-dd')} ${PAST}`),
    );
    const again = await schedule('apply', folder);
    assertExit(again, 0);
    assert.equal(flat(again.stdout).trim(), 'Nothing to do: 1 as it was.');
  });

  test('an update says what differs, and keeps what is paused paused, with its note', async () => {
    const policy = await applied();
    assertExit(await schedule('pause', policy.name, '--note', 'ask ana'), 0);
    const text = policy.text.replace('days: daily', 'days: [mon, sun]').replace('"1000.00"', '"900.00"');
    await writeFile(join(stage.folder, policy.file), text);
    const dry = await schedule('apply', policy.file, '--dry-run');
    assertExit(dry, 0);
    assert.match(dry.stdout, /Dry run, nothing was changed\. It would be: 1 changed\./);
    const updated = await schedule('apply', policy.file);
    assertExit(updated, 0);
    assert.match(updated.stdout, /~ .*: changed \(it is paused, and stays so\)/);
    assert.match(updated.stdout, /days: every day, now on Mon, Sun/);
    assert.match(updated.stdout, /\n-convert: .*1000\.00.*\n\+convert: .*900\.00/);
    const { state, info, action } = await handleOf(policy).describe();
    assert.deepEqual([state.paused, state.note, info.numActionsTaken], [true, 'ask ana', 0]);
    assert.equal((action.args as readonly ScheduledInput[] | undefined)?.[0]?.policyText, text);
    assert.match(flat((await schedule('apply', policy.file)).stdout), /Nothing to do/);
    assertExit(await schedule('resume', policy.name), 0);
    assert.equal((await handleOf(policy).describe()).state.paused, false);
  });

  test('a change of a schedule that somebody pauses in the same moment does not count: it stays paused', async () => {
    const policy = await applied();
    class InterruptedClient extends CarefulScheduleClient {
      protected override async _describeSchedule(scheduleId: string) {
        // oxlint-disable-next-line no-underscore-dangle -- the SDK calls it so
        const described = await super._describeSchedule(scheduleId);
        await handleOf(policy).pause('in between');
        return described;
      }
    }
    const careful = new InterruptedClient(client).getHandle(scheduleIdOf('SANDBOX', policy.name));
    await careful.update((description) => ({ ...description, state: { paused: false, note: 'changed' } }));
    const { state } = await handleOf(policy).describe();
    assert.deepEqual([state.paused, state.note], [true, 'in between']);
  });

  test('a dry run makes nothing; a file that cannot be used changes nothing at all', async () => {
    const folder = uniqueName('f');
    const policy = await put(folder);
    assertExit(await schedule('apply', folder, '--dry-run'), 0);
    await assert.rejects(handleOf(policy).describe());
    await writeFile(join(stage.folder, folder, 'z.yaml'), policy.text.replace('sell: USD', 'sel: USD'));
    assertExit(await schedule('apply', folder), 2);
    await assert.rejects(handleOf(policy).describe());
  });

  test('two files with a policy of the same name, a named file without a schedule, and an empty folder are refused', async () => {
    const one = await put(uniqueName('f'));
    const two = await put(uniqueName('f'), { name: one.name });
    const twice = await schedule('apply', one.file, two.file);
    assertExit(twice, 2);
    assert.match(twice.stderr, /SCHEDULE_NAME_TWICE/);
    const none = await put(uniqueName('f'), { schedule: '' });
    const without = await schedule('apply', none.file);
    assertExit(without, 2);
    assert.match(without.stderr, /SCHEDULE_MISSING/);
    await mkdir(join(stage.folder, 'empty'));
    const empty = await schedule('apply', 'empty');
    assertExit(empty, 2);
    assert.match(empty.stderr, /NO_POLICIES/);
  });

  test('prune deletes what no file has any more, and nothing that is not of this mode and task queue', async () => {
    const kept = await applied();
    const gone = await applied();
    const others = await put(uniqueName('f'));
    assertExit(
      await command(stage, ['schedule', 'apply', others.file], {
        env: { CAMBIST_TASK_QUEUE: uniqueName('queue') },
      }),
      0,
    );
    const foreignId = `sandbox/schedule/${uniqueName('foreign')}`;
    await client.schedule.create({
      scheduleId: foreignId,
      spec: { calendars: [{ hour: 0 }] },
      state: { paused: true },
      action: { type: 'startWorkflow', workflowType: 'somebodyElses', taskQueue: 'theirs' },
    });
    // Temporal's list of schedules is a moment behind.
    const listed = async (): Promise<boolean> => {
      const names = new Set<string>();
      for await (const { scheduleId } of client.schedule.list()) names.add(scheduleId);
      return [gone, others].every(({ name }) => names.has(scheduleIdOf('SANDBOX', name)));
    };
    await eventually('both schedules in the list', listed);
    const without = await schedule('apply', kept.file);
    assertExit(without, 0);
    assert.ok((await handleOf(gone).describe()).scheduleId);
    const pruned = await schedule('apply', kept.file, '--prune');
    assertExit(pruned, 0);
    assert.match(flat(pruned.stdout), new RegExp(`- ${gone.name}: no file has it any more; it is deleted`));
    await assert.rejects(handleOf(gone).describe());
    for (const handle of [handleOf(kept), handleOf(others), client.schedule.getHandle(foreignId)]) {
      assert.ok((await handle.describe()).scheduleId);
      await handle.delete();
    }
  });
});

describe('trigger and backfill', () => {
  test('a start says of a payment that another run has made under another name that it was made before', async () => {
    const other = await put(uniqueName('f'), { schedule: '', pays: 'rent' });
    assertExit(await command(stage, ['run', other.file]), 0);
    const policy = await applied({ pays: 'supplier' });
    const triggered = await schedule('trigger', policy.name);
    assertExit(triggered, 0);
    assert.match(
      flat(triggered.stderr),
      new RegExp(
        `is started\\. 1 payment of this run was made before .*supplier: 12\\.34 MXN .*; rent of ${other.name}`,
      ),
    );
  });

  test('a trigger runs the policy of today; a second one, and a backfill of today, show its report and send nothing', async () => {
    const policy = await applied();
    const first = await schedule('trigger', policy.name, '--json');
    assertExit(first, 0);
    const report = reportOf(first);
    assert.deepEqual([report.run, report.status], [`${policy.name}.${today}`, 'COMPLETED']);
    assert.equal(report.startedBy, 'its schedule, triggered by hand');
    assert.equal(movedFor(policy), 1);
    // For the time after Temporal has forgotten the run.
    const { closed } = await readKnownDates({ client, mode: 'SANDBOX', policy: policy.name });
    assert.deepEqual([...closed], [today]);
    const second = await schedule('trigger', policy.name);
    assertExit(second, 0);
    assert.match(flat(second.stderr), /has ended already \(COMPLETED\); nothing was sent\./);
    assert.match(second.stdout, /COMPLETED/);
    const backfilled = await schedule('backfill', policy.name, '--from', today, '--to', today, '--json');
    assertExit(backfilled, 0);
    assert.equal(reportOf(backfilled).status, 'COMPLETED');
    const typed = await command(stage, ['run', policy.file]);
    assertExit(typed, 0);
    assert.match(typed.stderr, /is completed; there is nothing to do/);
    assert.equal(movedFor(policy), 1);
    const listed = documentOf(await schedule('list', '--json')) as {
      schedules: {
        policy: string;
        paused: boolean;
        last: { outcome: string; state: string }[];
        missed: [];
      }[];
    };
    const own = listed.schedules.find((each) => each.policy === policy.name);
    assert.deepEqual(
      own?.last.map(({ outcome, state }) => [outcome, state]),
      [
        ['ended', 'COMPLETED'],
        ['ended', 'COMPLETED'],
        ['started', 'COMPLETED'],
      ],
    );
    assert.deepEqual(own?.missed, []);
  });

  test('a backfill of today runs what was missed; one of a date that is over starts nothing', async () => {
    const policy = await applied();
    const backfilled = await schedule('backfill', policy.name, '--from', today, '--to', today);
    assertExit(backfilled, 0);
    assert.equal(movedFor(policy), 1);
    const late = await schedule('backfill', policy.name, '--from', daysAgo(1), '--to', today, '--json');
    assertExit(late, 2);
    const { backfilled: starts } = documentOf(late) as {
      backfilled: { outcome: string; problems: { code: string }[] }[];
    };
    assert.deepEqual(
      starts.map(({ outcome, problems }) => [outcome, problems[0]?.code ?? null]),
      [
        ['refused', 'RUN_ID_PAST'],
        ['ended', null],
      ],
    );
    assert.equal(movedFor(policy), 1);
  });

  test('dates that make no sense, and schedules that are not there, are refused before anything starts', async () => {
    const policy = await applied({ schedule: `{ at: "${PAST}", days: daily, skip: [${daysAgo(1)}] }` });
    const tomorrow = now.plus({ days: 1 }).toFormat('yyyy-MM-dd');
    for (const [from, to] of [
      [today, tomorrow],
      [today, daysAgo(1)],
      ['2026-02-30', today],
      [daysAgo(40), today],
      [daysAgo(1), daysAgo(1)],
    ] as const) {
      const refused = await schedule('backfill', policy.name, '--from', from, '--to', to);
      assertExit(refused, 2);
      assert.match(refused.stderr, /SCHEDULE_DATES/);
    }
    for (const verb of ['trigger', 'pause', 'resume']) {
      const unknown = await schedule(verb, 'nobody');
      assertExit(unknown, 2);
      assert.match(unknown.stderr, /SCHEDULE_NOT_FOUND/);
    }
    assert.equal(movedFor(policy), 0);
  });
});

describe('what Temporal starts', () => {
  const minute = (ms: number): number => Math.floor(ms / 60_000) * 60_000;
  /** A policy whose time is the minute in which this is asked. */
  const dueNow = async (more = ''): Promise<readonly [Written, number]> => {
    const nominalMs = minute(Date.now());
    const at = DateTime.fromMillis(nominalMs, { zone }).toFormat('HH:mm');
    return [await put(uniqueName('f'), { schedule: `{ at: "${at}", days: daily${more} }` }), nominalMs];
  };

  test('a start at its time starts the run of its date once, however often it comes', async () => {
    const [policy, nominalMs] = await dueNow();
    assert.equal(lineOf(await startedBy(policy, nominalMs)), 'started');
    assert.match(lineOf(await startedBy(policy, nominalMs)), /open|ended/);
    const run = client.workflow.getHandle(`sandbox/${policy.name}.${today}`);
    await run.result();
    assert.equal(lineOf(await startedBy(policy, nominalMs)), 'ended');
    assert.equal(movedFor(policy), 1);
  });

  test('nothing runs on a holiday, whatever Temporal has of the days', async () => {
    const [policy, nominalMs] = await dueNow(`, holidays: [${today}]`);
    const came = await startedBy(policy, nominalMs);
    assert.ok(!(came instanceof ApplicationFailure));
    assert.deepEqual([came.kind, came.date], ['day off', today]);
    assert.equal(movedFor(policy), 0);
  });

  test('a date to come starts nothing', async () => {
    const [policy, nominalMs] = await dueNow();
    assert.equal(lineOf(await startedBy(policy, nominalMs + 86_400_000)), 'RUN_ID_FUTURE');
    assert.equal(movedFor(policy), 0);
  });

  test('an input that is not of our making ends the start, and so does another id or a policy of another name', async () => {
    const [policy, nominalMs] = await dueNow();
    const starts = [
      [{ input: { amount: '1.00' } }, 'INPUT_INVALID'],
      [{ input: { policyText: 'policy: 1\n' } }, /^POLICY_/],
      [{ input: { policyText: policy.text.replace(policy.name, 'another') } }, 'POLICY_NAME_DIFFERS'],
      [{ workflowId: `sandbox/schedule/${policy.name}-now` }, 'WORKFLOW_ID_DIFFERS'],
    ] as const;
    for (const [how, code] of starts) {
      const told = lineOf(await startedBy(policy, nominalMs, how));
      if (typeof code === 'string') assert.equal(told, code);
      else assert.match(told, code);
    }
    assert.equal(movedFor(policy), 0);
  });

  test('a run of an earlier date with something undone is in the way; list --attention tells, until there is a run', async () => {
    const policy = await applied();
    const taskQueue = uniqueName('nobody');
    const earlier = await stage.start(policy.text, { name: policy.name, id: daysAgo(2), taskQueue });
    const refused = await schedule('trigger', policy.name);
    assertExit(refused, 4);
    assert.match(refused.stderr, /EARLIER_RUN_OPEN/);
    assert.equal(movedFor(policy), 0);
    type Attention = { missed: { run: string; code: string }[] };
    const missed = async (): Promise<readonly string[]> =>
      (documentOf(await command(stage, ['list', '--attention', '--json'])) as Attention).missed
        .filter(({ run }) => run === `${policy.name}.${today}`)
        .map(({ code }) => code);
    await eventually('what was missed in the list', async () => (await missed()).length);
    assert.deepEqual(await missed(), ['EARLIER_RUN_OPEN']);
    assertExit(await command(stage, ['run', policy.file, '--id', today]), 0);
    assert.deepEqual(await missed(), []);
    await earlier.handle.terminate('the test is over');
  });

  test('a trigger that no worker takes is said within seconds; once it has ended, the run is told as missed', async () => {
    const policy = await put(uniqueName('f'));
    const env = { CAMBIST_TASK_QUEUE: uniqueName('nobody') };
    assertExit(await command(stage, ['schedule', 'apply', policy.file], { env }), 0);
    const untaken = await command(stage, ['schedule', 'trigger', policy.name], { env });
    assertExit(untaken, 7);
    assert.match(untaken.stderr, /NO_WORKER/);
    const { info } = await handleOf(policy).describe();
    const started = info.recentActions[0]?.action.workflow;
    assert.ok(started !== undefined);
    // As Temporal ends it after fifteen minutes.
    await client.workflow.getHandle(started.workflowId).terminate('nobody takes it');
    const attention = await command(stage, ['list', '--attention']);
    assertExit(attention, 6);
    assert.match(
      flat(attention.stdout),
      new RegExp(`${policy.name}\\.${today} was to start at .* SCHEDULE_MISSED: No worker took the start`),
    );
    const acknowledge = ['list', '--acknowledge', `${policy.name}.${today}`, '--by', 'ana'];
    const acknowledged = await command(stage, acknowledge);
    assertExit(acknowledged, 0);
    assert.match(flat(acknowledged.stdout), /was missed \(SCHEDULE_MISSED\), acknowledged by ana/);
    assert.ok(!(await command(stage, ['list', '--attention'])).stdout.includes(policy.name));
    await handleOf(policy).delete();
  });

  test('what a worker comes to ten minutes late is missed', async () => {
    const [policy, nominalMs] = await dueNow();
    const taskQueue = uniqueName('late');
    await stage.startWorker({
      env: { CAMBIST_TASK_QUEUE: taskQueue },
      clock: { ...machineClock, wallMs: () => Date.now() + 601_000 },
    });
    assert.equal(lineOf(await startedBy(policy, nominalMs, { taskQueue })), 'SCHEDULE_MISSED');
    assert.equal(movedFor(policy), 0);
  });
});

describe('the files of a scheduled policy', () => {
  const guard = (file: string): string =>
    `{ reference: { file: ${file}, max_age: 30h }, worst_cost: 500bps }`;
  const putRates = (): Promise<void> =>
    writeFile(
      join(rates, 'daily.yaml'),
      `as_of: ${new Date().toISOString()}\nrates: ["17.25 MXN per USD"]\n`,
    );

  test('are read by the worker from its own folder, at each start', async () => {
    await putRates();
    const policy = await put('.', { guard: guard('rates/daily.yaml') });
    assertExit(await schedule('apply', policy.file), 0);
    const triggered = await schedule('trigger', policy.name);
    assertExit(triggered, 0);
    assert.equal(movedFor(policy), 1);
  });

  test('that are missing, outside the folder, or have no folder, are said, and nothing starts', async () => {
    await putRates();
    const lost = await put(uniqueName('f'), { guard: guard('lost.yaml') });
    const outside = await put(uniqueName('f'), { guard: guard('../service.yaml') });
    const nowhere = await put(uniqueName('f'), { guard: guard('rates/daily.yaml') });
    const taskQueue = uniqueName('nofiles');
    await stage.startWorker({ env: { CAMBIST_TASK_QUEUE: taskQueue } });
    const nominalMs = Math.floor(Date.now() / 1_000) * 1_000;
    assert.equal(lineOf(await startedBy(lost, nominalMs)), 'FILE_NOT_FOUND');
    const refused = lineOf(await startedBy(outside, nominalMs));
    assert.ok(['FILE_OUTSIDE_FOLDER', 'POLICY_FILE'].includes(refused), refused);
    assert.equal(lineOf(await startedBy(nowhere, nominalMs, { taskQueue })), 'FILES_FOLDER_MISSING');
    for (const policy of [lost, outside, nowhere]) assert.equal(movedFor(policy), 0);
  });

  test('that a worker does not have are told when the schedule is applied, and what it can never read is refused', async () => {
    await putRates();
    // The file is here beside the policy, and not in the folder of the worker.
    const folder = uniqueName('f');
    const lost = await put(folder, { guard: guard('lost.yaml') });
    const ratesHere = `as_of: ${new Date().toISOString()}\nrates: ["17.25 MXN per USD"]\n`;
    await writeFile(join(stage.folder, folder, 'lost.yaml'), ratesHere);
    const told = await schedule('apply', lost.file);
    assertExit(told, 0);
    assert.match(flat(told.stderr), /warning FILE_NOT_FOUND \S+: The file "lost\.yaml"/);
    const nowhere = await put('.', { guard: guard('rates/daily.yaml') });
    const apply = ['schedule', 'apply', nowhere.file];
    const CAMBIST_TASK_QUEUE = uniqueName('nofiles');
    const nobody = await command(stage, [...apply, '--dry-run'], { env: { CAMBIST_TASK_QUEUE } });
    assertExit(nobody, 0);
    assert.match(flat(nobody.stderr), /warning NO_WORKER \S+: no worker of task queue "\S+" answered/);
    await stage.startWorker({ env: { CAMBIST_TASK_QUEUE } });
    const refused = await command(stage, apply, { env: { CAMBIST_TASK_QUEUE } });
    assertExit(refused, 3);
    assert.match(flat(refused.stderr), /FILES_FOLDER_MISSING/);
    await assert.rejects(handleOf(nowhere).describe(), ScheduleNotFoundError);
  });
});
