/**
 * Reads the policies that `schedule apply` is given, as files and folders. Each policy is read as `check` reads it, and all
 * mistakes are told at once.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import type { Policy, Schedule } from '../../domain/policy.ts';
import type { Mode } from '../../domain/service/records.ts';
import { daysOffOf, type DaysOff } from '../../calendar/holidays.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { readTextFile } from '../../config/read-text-file.ts';
import { CommandFailure } from '../failure.ts';
import type { Caller } from '../place.ts';
import { readPolicyFile, readDecimals } from '../policy-file.ts';

/** A policy that has a schedule. */
export type ScheduledPolicy = {
  readonly policy: Policy;
  readonly schedule: Schedule;
  readonly daysOff: DaysOff;
  readonly text: string;
  /** The file's name without its folder, so that it is the same wherever a person applies the schedule. */
  readonly file: string;
};

/** A file that was left out, and why. */
export type LeftOut = {
  readonly file: string;
  readonly why: 'no policy' | 'no schedule' | 'for the other mode';
};

/** What the files contain. `warnings` are the warnings of the policies. */
export type ScheduleFiles = {
  readonly policies: readonly ScheduledPolicy[];
  readonly left: readonly LeftOut[];
  readonly warnings: readonly Trouble[];
};

/** @throws CommandFailure with every mistake of every file */
export async function readScheduleFiles(
  caller: Caller,
  paths: readonly string[],
  mode: Mode,
): Promise<ScheduleFiles> {
  const decimals = await readDecimals(caller);
  const problems: Trouble[] = [];
  const warnings: Trouble[] = [];
  const left: LeftOut[] = [];
  const found: (ScheduledPolicy & { readonly path: string })[] = [];
  for (const { path, isNamed } of await filesOf(paths, caller.cwd, problems)) {
    const leave = (why: LeftOut['why']): void => void left.push({ file: path, why });
    // A folder may also have files that are no policies. Only a file that the person named must be one.
    if (!isNamed && !(await looksLikePolicy(path, caller.cwd))) {
      leave('no policy');
      continue;
    }
    const read = await readPolicyFile(path, { cwd: caller.cwd, decimals, nowMs: caller.now() });
    problems.push(...read.problems);
    warnings.push(...read.warnings);
    if (read.policyFile === null) continue;
    const { policy, text } = read.policyFile;
    if (policy.environment !== mode.toLowerCase()) {
      if (isNamed) problems.push(otherEnvironment(path, policy, mode));
      else leave('for the other mode');
    } else if (policy.schedule === null) {
      if (isNamed) problems.push(noSchedule(path, policy));
      else leave('no schedule');
    } else {
      const daysOff = await daysOffOf(policy.schedule.holidays);
      found.push({ policy, schedule: policy.schedule, daysOff, text, file: basename(path), path });
    }
  }
  problems.push(...namedTwice(found));
  if (problems.length > 0) throw new CommandFailure('bad input', problems);
  return { policies: found.map(({ path: _path, ...rest }) => rest), left, warnings };
}

type Found = { readonly path: string; readonly isNamed: boolean };

async function filesOf(
  paths: readonly string[],
  cwd: string,
  problems: Trouble[],
): Promise<readonly Found[]> {
  const files: Found[] = [];
  for (const path of paths) {
    const whole = isAbsolute(path) ? path : join(cwd, path);
    const facts = await stat(whole).catch(() => null);
    if (facts?.isDirectory() !== true) {
      files.push({ path, isNamed: true });
      continue;
    }
    const names = (await readdir(whole)).filter((name) => /\.ya?ml$/i.test(name)).toSorted();
    if (names.length === 0) problems.push(noPolicies(path));
    files.push(...names.map((name) => ({ path: join(path, name), isNamed: false })));
  }
  return files;
}

async function looksLikePolicy(path: string, cwd: string): Promise<boolean> {
  const read = await readTextFile(isAbsolute(path) ? path : join(cwd, path));
  // A file that cannot be read counts as a policy here, so that the mistake is told.
  return !read.ok || /^["']?policy["']?\s*:/m.test(read.text);
}

function namedTwice(
  found: readonly { readonly path: string; readonly policy: Policy }[],
): readonly Trouble[] {
  const first = new Map<string, string>();
  return found.flatMap(({ path, policy: { name } }): readonly Trouble[] => {
    const other = first.get(name);
    first.set(name, other ?? path);
    if (other === undefined) return [];
    return [
      {
        code: 'SCHEDULE_NAME_TWICE',
        place: path,
        message: `its policy is called "${name}", and the policy of ${other} too`,
        fix: 'Give one of them another name, or leave it out.',
      },
    ];
  });
}

function noPolicies(folder: string): Trouble {
  return {
    code: 'NO_POLICIES',
    place: folder,
    message: 'the folder holds no YAML file',
    fix: 'Name the folder in which the policies are; folders inside it are not read.',
  };
}

function noSchedule(path: string, { kind }: Policy): Trouble {
  return {
    code: 'SCHEDULE_MISSING',
    place: path,
    message: 'the policy has no `schedule`',
    fix:
      kind === 'payout'
        ? 'Leave it out: a person starts a payout, with the batch file.'
        : 'Write one into it: `schedule: { at: "09:30", days: weekdays }`, and `zone` beside it.',
  };
}

function otherEnvironment(path: string, policy: Policy, mode: Mode): Trouble {
  return {
    code: 'PLAN_ENVIRONMENT',
    place: `${path}, environment`,
    message: `the policy says "${policy.environment}", the mode is ${mode}; nothing was changed`,
    fix: 'Use the mode that the policy is for, or change `environment:` in it on purpose.',
  };
}
