/** A start by a schedule, before it reaches the service: on which dates there is one, and what is in its way. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Settings } from '../../config/config.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Place } from '../../operations/place.ts';
import { startScheduled, tryScheduled } from '../../operations/start/by-schedule.ts';
import { convertPolicy } from '../support/policies.ts';

/** A Monday; 09:30 in Paris is half past eight. */
const NOMINAL = '2026-11-23T08:30:00Z';
const HOUR_MS = 3_600_000;

function policyOf(schedule = '{ at: "09:30", days: weekdays, skip: [2026-11-24] }'): string {
  return convertPolicy().replace(
    'name: replaced\n',
    `name: p\nzone: Europe/Paris\n${schedule === '' ? '' : `schedule: ${schedule}\n`}`,
  );
}

/** A Temporal that knows these open runs of the policy, none of which anybody has planned yet. */
function placeWith(openRuns: readonly string[]): Place {
  const infos = openRuns.map((id) => ({
    workflowId: `sandbox/p.${id}`,
    runId: id,
    taskQueue: 'cambist-sandbox',
    status: { name: 'RUNNING' },
    startTime: new Date(NOMINAL),
    typedSearchAttributes: { get: () => 'RUNNING' },
  }));
  const workflow = {
    async *list({ query }: { readonly query: string }) {
      if (query.includes("WorkflowType IN ('run')")) yield* infos;
    },
    getHandle: (workflowId: string) => ({
      describe: async (): Promise<never> => {
        throw new WorkflowNotFoundError('None.', workflowId, undefined);
      },
    }),
  };
  return { client: { workflow }, mode: 'SANDBOX' } as unknown as Place;
}

/** There is no service here: whatever asks for it would start the run. */
class ReachesTheService extends Error {}

/** What a start for `nominal` comes to that Temporal made `lateMs` after it. */
async function start(
  nominal: string,
  options: {
    readonly lateMs?: number;
    readonly openRuns?: readonly string[];
    readonly text?: string;
    readonly nowMs?: number;
  } = {},
): Promise<string> {
  const nominalMs = Date.parse(nominal);
  const startedAtMs = nominalMs + (options.lateMs ?? 0);
  const settings = {
    facts: DEFAULT_SERVICE_FACTS,
    filesFolder: null,
    build: null,
    mode: 'SANDBOX',
    get address(): never {
      throw new ReachesTheService();
    },
  } as unknown as Settings;
  const answer = await startScheduled(
    { place: placeWith(options.openRuns ?? []), settings, now: () => options.nowMs ?? startedAtMs },
    {
      input: {
        mode: 'SANDBOX',
        policy: 'p',
        policyText: options.text ?? policyOf(),
        policyFile: 'p.yaml',
      },
      nominalMs,
      startedAtMs,
    },
  ).catch((error: unknown) => {
    if (error instanceof ReachesTheService) return null;
    throw error;
  });
  if (answer === null) return 'goes on';
  if (answer.kind !== 'refused' && answer.kind !== 'not now') return `${answer.kind} ${answer.date}`;
  return `${answer.kind}: ${answer.problems.map(({ code }) => code).join(' ')}`;
}

test('the clock starts nothing on a day off, whatever Temporal has of the days; nor does a backfill', async () => {
  assert.equal(await start('2026-11-24T08:30:00Z'), 'day off 2026-11-24');
  assert.equal(await start('2026-11-22T08:30:00Z'), 'day off 2026-11-22');
  assert.equal(await start('2026-11-24T08:30:00Z', { lateMs: 2 * HOUR_MS }), 'day off 2026-11-24');
});

test('the clock and a trigger send nothing past an earlier date’s run that may still send; a backfill names its date', async () => {
  const openRuns = ['2026-11-20'];
  assert.equal(await start(NOMINAL, { openRuns }), 'refused: EARLIER_RUN_OPEN');
  assert.equal(await start('2026-11-23T10:00:00Z', { openRuns }), 'refused: EARLIER_RUN_OPEN');
  // A trigger on a day off is a person's word, and goes by the same rule.
  assert.equal(await start('2026-11-24T10:00:00Z', { openRuns }), 'refused: EARLIER_RUN_OPEN');
  assert.equal(await start(NOMINAL, { openRuns, lateMs: 2 * HOUR_MS }), 'goes on');
});

test('a start at its time, a trigger on any day and a backfill of today go on', async () => {
  assert.equal(await start(NOMINAL), 'goes on');
  assert.equal(await start('2026-11-24T10:00:00Z'), 'goes on');
  assert.equal(await start(NOMINAL, { lateMs: 2 * HOUR_MS }), 'goes on');
});

test('a backfill of a date that is long over, and any start of a date to come, are refused', async () => {
  assert.equal(await start(NOMINAL, { lateMs: 10 * 24 * HOUR_MS }), 'refused: RUN_ID_PAST');
  // Of one of the last days the service is asked first: Temporal may have lost its run.
  assert.equal(await start(NOMINAL, { lateMs: 24 * HOUR_MS }), 'goes on');
  assert.equal(await start(NOMINAL, { nowMs: Date.parse(NOMINAL) - 24 * HOUR_MS }), 'refused: RUN_ID_FUTURE');
});

test('a start at its time is of its date, though midnight has passed since', async () => {
  const text = policyOf('{ at: "23:58", days: daily }');
  const openRuns = ['2026-11-20'];
  const nominal = '2026-11-23T22:58:00Z';
  // Four minutes later it is the 24th; what stands in the way is told as for the 23rd, and not as a date that is over.
  const nowMs = Date.parse(nominal) + 240_000;
  assert.equal(await start(nominal, { text, openRuns, nowMs }), 'refused: EARLIER_RUN_OPEN');
});

test('a policy that is not what the schedule is of starts nothing', async () => {
  assert.equal(await start(NOMINAL, { text: policyOf('') }), 'refused: SCHEDULE_MISSING');
  const other = policyOf().replace('name: p\n', 'name: q\n');
  assert.equal(await start(NOMINAL, { text: other }), 'refused: POLICY_NAME_DIFFERS');
  assert.match(await start(NOMINAL, { text: 'policy: 2\n' }), /^refused: POLICY_/);
});

test('a calendar of holidays that this worker does not know starts nothing by the clock', async () => {
  const text = policyOf('{ at: "09:30", days: daily, holidays: QQ }');
  assert.equal(await start(NOMINAL, { text }), 'refused: POLICY_CALENDAR');
});

test('whether a worker could start a policy is told by the policy and by its folder alone', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'cambist-'));
  t.after(() => rm(folder, { recursive: true }));
  const withRates = (file: string): string =>
    `${policyOf()}guard: { reference: { file: ${file}, max_age: 30h }, worst_cost: 25bps }\n`;
  const tried = async (policyText: string, filesFolder: string | null = folder, policy = 'p') => {
    const input = { mode: 'SANDBOX', policy, policyText, policyFile: 'p.yaml' } as const;
    const answer = await tryScheduled({ facts: DEFAULT_SERVICE_FACTS, filesFolder }, input);
    return answer.kind === 'able'
      ? 'able'
      : `${answer.kind}: ${answer.problems.map(({ code }) => code).join()}`;
  };
  assert.equal(await tried(policyOf()), 'able');
  assert.equal(await tried(policyOf(), null), 'able');
  assert.equal(await tried(policyOf(), null, 'q'), 'refused: POLICY_NAME_DIFFERS');
  assert.equal(await tried('policy: 9'), 'refused: POLICY_VERSION');
  assert.equal(await tried(withRates('rates.yaml'), null), 'refused: FILES_FOLDER_MISSING');
  await symlink(import.meta.filename, join(folder, 'link.yaml'));
  assert.equal(await tried(withRates('link.yaml')), 'refused: FILE_OUTSIDE_FOLDER');
  // A file of today may still come.
  assert.equal(await tried(withRates('rates.yaml')), 'not yet: FILE_NOT_FOUND');
  await writeFile(join(folder, 'rates.yaml'), 'as_of: 2026-11-20T16:00:00Z\nrates: ["17.25 MXN per USD"]\n');
  assert.equal(await tried(withRates('rates.yaml')), 'able');
});
