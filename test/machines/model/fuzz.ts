/**
 * Runs many schedules by seed, in one process or several, and tells what was hit and what was broken. Called by
 * `test/machines/fuzz-schedules.test.ts` and `scripts/fuzz.mjs`. A failing schedule is shrunk, and printed as data with its story.
 */
import { fork, type Serializable } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { batches, schedules } from './arbitrary.ts';
import { rebalances } from './arbitrary-rebalances.ts';
import { Coverage, type Counts } from './coverage.ts';

import type { Schedule } from './schedule.ts';
import { World } from './world.ts';

export type Share = {
  /** What is played: runs that pay by themselves, batches that are paid by their chunks, or rebalancings. */
  readonly of: keyof typeof PLAYED;
  readonly schedules: number;
  readonly seed: number;
  /** Where fast-check stopped shrinking; null for a run from the start. */
  readonly path: string | null;
  /** Whether a failing schedule is made as short as it can be: better to read, but slow to find. */
  readonly shrinks: boolean;
};

const PLAYED = { runs: schedules, batches, rebalances };

export type Outcome = {
  /** Those of batches and rebalancings included. */
  readonly schedules: number;
  readonly counts: Counts;
  readonly failure: Failure | null;
};

export type Failure = {
  readonly of: Share['of'];
  readonly seed: number;
  readonly path: string;
  readonly schedule: Schedule;
  readonly broken: readonly string[];
  /** What happened, line by line. */
  readonly story: readonly string[];
};

/** Runs a share in this process; stops at the first schedule that breaks a promise. */
export async function runShare({ of, schedules: numRuns, seed, path, shrinks }: Share): Promise<Outcome> {
  const coverage = new Coverage();
  let ran = 0;
  const property = fc.asyncProperty(PLAYED[of], async (schedule) => {
    ran += 1;
    return (await new World(schedule, coverage).run()).length === 0;
  });
  const from = path === null ? {} : { path };
  const result = await fc.check(property, { numRuns, seed, ...from, endOnFailure: !shrinks });
  const [schedule] = result.counterexample ?? [];
  const failure = schedule === undefined ? null : { of, ...(await describe(schedule, result)) };
  return { schedules: ran, counts: coverage.counts(), failure };
}

/** Runs `schedules`, `rebalances` of rebalancings and `batches` of batches, in `processes` processes, each with a seed of its own: `seed`, `seed + 1`, … */
export async function fuzz(asked: {
  readonly schedules: number;
  readonly rebalances: number;
  readonly batches: number;
  readonly seed: number;
  readonly processes: number;
}): Promise<Outcome> {
  const shareOf = (of: Share['of'], all: number, process: number): Share => ({
    of,
    schedules: Math.ceil(all / asked.processes),
    seed: asked.seed + process,
    path: null,
    shrinks: true,
  });
  const outcomes = (
    await Promise.all(
      Array.from({ length: asked.processes }, async (_, process) => [
        await inProcess<Outcome>('fuzz-process', shareOf('batches', asked.batches, process)),
        await inProcess<Outcome>('fuzz-process', shareOf('rebalances', asked.rebalances, process)),
        await inProcess<Outcome>('fuzz-process', shareOf('runs', asked.schedules, process)),
      ]),
    )
  ).flat();
  const coverage = new Coverage();
  for (const { counts } of outcomes) coverage.add(counts);
  return {
    schedules: outcomes.reduce((sum, outcome) => sum + outcome.schedules, 0),
    counts: coverage.counts(),
    failure: outcomes.find(({ failure }) => failure !== null)?.failure ?? null,
  };
}

/** Sends a process of its own what it is asked, and resolves with its answer. @param name of its file in this folder */
export async function inProcess<Answer>(name: string, asked: Serializable): Promise<Answer> {
  // Beside this file, in the sources and in a build of them.
  const program = fileURLToPath(import.meta.url).replace(/fuzz\.(ts|js)$/, `${name}.$1`);
  const loader = program.endsWith('.ts') ? ['--import', 'tsx'] : [];
  const child = fork(program, {
    // Much is made and soon forgotten: with more room for it, a tenth of the time is saved.
    execArgv: [...loader, '--max-semi-space-size=64'],
  });
  // It waits for nothing: the tests beside it that wait for something go first.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  child.send(asked);
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(answer as Answer));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The process ${name} ended with ${code ?? 'a signal'}.`)));
  });
}

async function describe(
  schedule: Schedule,
  { seed, counterexamplePath }: { readonly seed: number; readonly counterexamplePath: string | null },
): Promise<Omit<Failure, 'of'>> {
  const story: string[] = [];
  const broken = await new World(schedule, new Coverage(), story).run();
  return { seed, path: counterexamplePath ?? '', schedule, broken, story };
}

/** A failure for a person: what was broken, the schedule as data, its last events, and how to see it again. */
export function textOfFailure({ of, seed, path, schedule, broken, story }: Failure): string {
  return [
    ...broken,
    '',
    'The schedule, as short as it could be made:',
    JSON.stringify(schedule, null, 1),
    '',
    'What happened:',
    ...story.slice(-200),
    '',
    `Again: npm run fuzz -- --of ${of} --seed ${seed} --path ${path}`,
  ].join('\n');
}
