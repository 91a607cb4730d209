/**
 * The schedules that Temporal keeps for policies. They are made as the files say, listed with what their starts led to,
 * paused and resumed. A schedule is ours when its id and the workflow that it starts are of this mode. Of these, only those
 * of this task queue are ever deleted.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ScheduleAlreadyRunning,
  ScheduleClient,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client';
import { PLAIN_CODEC } from '../../config/seal/codec.ts';
import { isRunPart } from '../../domain/references.ts';
import { keyNeededFor } from '../../domain/unreadable.ts';
import { SCHEDULED_TYPE, modeAttribute, scheduleIdOf } from '../../workflows/names.ts';
import { quoted } from '../../language/text/printable.ts';
import { CommandFailure } from '../failure.ts';
import { keyMissing } from '../key-missing.ts';
import type { Place } from '../place.ts';
import { CarefulScheduleClient } from './client.ts';
import type { ScheduledPolicy } from './files.ts';
import { forgetDates } from './known-dates.ts';
import { keepMissed } from './missed.ts';
import {
  definitionOf,
  factsIn,
  factsOf,
  type KeptSchedule,
  type ScheduleFacts,
  type Wanted,
} from './spec.ts';

/** What `apply` would do about one policy. */
export type ScheduleChange =
  | { readonly kind: 'create'; readonly name: string; readonly after: ScheduleFacts; readonly wanted: Wanted }
  | {
      readonly kind: 'update';
      readonly name: string;
      readonly before: ScheduleFacts;
      readonly after: ScheduleFacts;
      readonly isPaused: boolean;
      readonly wanted: Wanted;
    }
  | { readonly kind: 'delete'; readonly name: string; readonly before: ScheduleFacts }
  | { readonly kind: 'same'; readonly name: string };

/** The changes that make Temporal match the policies. Makes none of them. */
export async function judgeApply(
  place: Place,
  policies: readonly ScheduledPolicy[],
  { prune, nowMs }: { readonly prune: boolean; readonly nowMs: number },
): Promise<readonly ScheduleChange[]> {
  const { mode, taskQueue } = place;
  const changes: ScheduleChange[] = [];
  for (const { policy, schedule, daysOff, text, file } of policies) {
    const wanted = { mode, taskQueue, policy, schedule, daysOff, policyText: text, policyFile: file, nowMs };
    changes.push(changeOf(await findSchedule(place, policy.name), wanted));
  }
  if (!prune) return changes;
  const names = new Set(policies.map(({ policy }) => policy.name));
  for (const { name, facts } of await listSchedules(place))
    if (!names.has(name) && facts.taskQueue === taskQueue)
      changes.push({ kind: 'delete', name, before: facts });
  return changes;
}

function changeOf(kept: KeptSchedule | null, wanted: Wanted): ScheduleChange {
  const { name } = wanted.policy;
  const after = factsOf(wanted);
  if (kept === null) return { kind: 'create', name, after, wanted };
  if (isSame(kept.facts, after)) return { kind: 'same', name };
  return { kind: 'update', name, before: kept.facts, after, isPaused: kept.isPaused, wanted };
}

function isSame(one: ScheduleFacts, other: ScheduleFacts): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Makes one change. It starts nothing, and a paused schedule stays paused, with its note. */
export async function applyChange(place: Place, change: ScheduleChange): Promise<void> {
  const scheduleId = scheduleIdOf(place.mode, change.name);
  switch (change.kind) {
    case 'same':
      return;
    case 'create':
      try {
        await place.client.schedule.create({ scheduleId, ...definitionOf(change.wanted) });
        return;
      } catch (error) {
        if (error instanceof ScheduleAlreadyRunning) throw contested(change.name);
        throw error;
      }
    case 'update': {
      const definition = definitionOf(change.wanted);
      await keepMissed(place, await requireSchedule(place, change.name), change.wanted.nowMs);
      await update(place, change.name, {
        edit: ({ state }) => ({ ...definition, state }),
        isDone: ({ facts }) => isSame(facts, change.after),
      });
      return;
    }
    case 'delete':
      try {
        await place.client.schedule.getHandle(scheduleId).delete();
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }
      await forgetDates({ ...place, policy: change.name });
  }
}

/** Pauses a schedule: it starts nothing until it is resumed. A person can still trigger it. */
export async function pauseSchedule(
  place: Place,
  name: string,
  { note, nowMs }: { readonly note: string; readonly nowMs: number },
): Promise<KeptSchedule> {
  await keepMissed(place, await requireSchedule(place, name), nowMs);
  await place.client.schedule.getHandle(scheduleIdOf(place.mode, name)).pause(note);
  return requireSchedule(place, name);
}

/** Resumes a schedule. The starts that the pause prevented are not made later. */
export async function resumeSchedule(place: Place, name: string, note: string): Promise<KeptSchedule> {
  await requireSchedule(place, name);
  // An update leaves its time in the schedule. So a run that the pause prevented does not count as missed.
  await update(place, name, {
    edit: (description) => ({ ...description, state: { ...description.state, paused: false, note } }),
    isDone: (kept) => !kept.isPaused,
  });
  return requireSchedule(place, name);
}

type Update = Parameters<ReturnType<CarefulScheduleClient['getHandle']>['update']>[0];

const LOOK_EVERY_MS = 200;
const LOOKS = 15;

/** Changes a schedule as it is now. When another command has changed it in the meantime, the server drops the change. */
async function update(
  place: Place,
  name: string,
  { edit, isDone }: { readonly edit: Update; readonly isDone: (kept: KeptSchedule) => boolean },
): Promise<void> {
  await new CarefulScheduleClient(place.client).getHandle(scheduleIdOf(place.mode, name)).update(edit);
  for (let looks = 1; looks <= LOOKS; looks += 1) {
    if (isDone(await requireSchedule(place, name))) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw contested(name);
}

/** Every schedule of ours in this mode, by name. */
export async function listSchedules(place: Place): Promise<readonly KeptSchedule[]> {
  const { client, mode } = place;
  const prefix = scheduleIdOf(mode, '');
  const names: string[] = [];
  for await (const { scheduleId, action } of client.schedule.list({
    query: `${modeAttribute.name} = '${mode}'`,
  })) {
    const name = scheduleId.slice(prefix.length);
    if (scheduleId.startsWith(prefix) && isRunPart(name) && action?.workflowType === SCHEDULED_TYPE)
      names.push(name);
  }
  const kept = await Promise.all(names.toSorted().map((name) => findSchedule(place, name)));
  return kept.filter((each) => each !== null);
}

/** @throws CommandFailure when there is no such schedule of ours */
export async function requireSchedule(place: Place, name: string): Promise<KeptSchedule> {
  const kept = isRunPart(name) ? await findSchedule(place, name) : null;
  if (kept !== null) return kept;
  throw new CommandFailure('bad input', [
    {
      code: 'SCHEDULE_NOT_FOUND',
      place: 'NAME',
      message: `Temporal has no schedule of a policy ${quoted(name)} in mode ${place.mode}`,
      fix: 'See `npx cambist schedule list`; make it with `npx cambist schedule apply`.',
    },
  ]);
}

async function findSchedule({ client, mode }: Place, name: string): Promise<KeptSchedule | null> {
  try {
    const description = await describe(client, scheduleIdOf(mode, name));
    return description.action.workflowType === SCHEDULED_TYPE ? keptOf(name, description) : null;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** One whose key is missing is read without what is sealed. */
async function describe(client: Client, scheduleId: string): Promise<ScheduleDescription> {
  try {
    return await client.schedule.getHandle(scheduleId).describe();
  } catch (error) {
    if (keyMissing(error) === null) throw error;
    const { connection, options } = client;
    const { namespace } = options;
    const dataConverter = { payloadCodecs: [PLAIN_CODEC] };
    const schedule = new ScheduleClient({ connection, namespace, dataConverter });
    return schedule.getHandle(scheduleId).describe();
  }
}

function keptOf(name: string, description: ScheduleDescription): KeptSchedule {
  const { scheduleId, state, info } = description;
  return {
    name,
    scheduleId,
    facts: factsIn(description),
    missingKey: (description.action.args ?? []).map(keyNeededFor).find((key) => key !== null) ?? null,
    isPaused: state.paused,
    note: state.note === undefined || state.note === '' ? null : state.note,
    changedAtMs: (info.lastUpdatedAt ?? info.createdAt).getTime(),
    nextMs: info.nextActionTimes.map((time) => time.getTime()),
    actions: info.recentActions.map(({ scheduledAt, action: { workflow } }) => ({
      nominalMs: scheduledAt.getTime(),
      workflowId: workflow.workflowId,
      temporalRunId: workflow.firstExecutionRunId,
    })),
  };
}

function contested(name: string): CommandFailure {
  return new CommandFailure('infrastructure', [
    {
      code: 'SCHEDULE_CONTESTED',
      place: name,
      message: 'another person changes this schedule at the same time',
      fix: 'See `npx cambist schedule list`, then type it again.',
    },
  ]);
}
