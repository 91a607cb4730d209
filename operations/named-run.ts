/** Finds the run that the text RUN of a command line means. Pure. */
import type { Mode } from '../domain/service/records.ts';
import { parseRunName, type RunName } from '../domain/references.ts';
import { quoted } from '../language/text/printable.ts';
import { CommandFailure } from './failure.ts';

/** A run as named on the command line: `policy.id`, or the workflow id `sandbox/policy.id` with its mode. */
export type NamedRun = { readonly run: RunName; readonly mode: Mode | null };

/** @throws CommandFailure when the text is no name of a run */
export function parseRun(text: string): NamedRun {
  const [, prefix, name] = /^(sandbox\/|live\/)?(.*)$/s.exec(text) ?? [];
  const run = parseRunName(name ?? '');
  if (run !== null) return { run, mode: MODES[prefix ?? ''] ?? null };
  throw new CommandFailure('bad input', [
    {
      code: 'RUN_NAME',
      place: 'RUN',
      message: `${quoted(text)} names no run`,
      fix: 'Write policy and id with a dot, as `npx cambist list` shows them: mxn-supplier.2026-11-21.',
    },
  ]);
}

const MODES: Readonly<Record<string, Mode | undefined>> = { 'sandbox/': 'SANDBOX', 'live/': 'LIVE' };
