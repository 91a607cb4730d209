/** What a run changes that takes the place of another one, for people. Pure. */
import { runName } from '../../domain/references.ts';
import type { Instead } from '../../operations/start/instead-of.ts';
import type { PolicyFile } from '../../operations/policy-file.ts';
import { difference } from './difference.ts';
import { statusSentence } from './report-text.ts';

/** How the old run ended, and the difference of the two policies. */
export function insteadLines(
  { view: { facts, report, progress }, planned }: Instead,
  { file, text }: Pick<PolicyFile, 'file' | 'text'>,
  nowMs: number,
): readonly string[] {
  const problems = report.problems.map(({ code, item, message }) => `  ${code} ${item ?? 'run'}: ${message}`);
  const isSame = planned === text;
  return [
    `Nothing of ${runName(facts.run)} was executed. ${statusSentence(report, progress, nowMs)}`,
    ...problems,
    ...(planned === null || isSame
      ? [
          isSame
            ? 'The policy is the same.'
            : 'The policy that it was planned with is not in Temporal any more.',
        ]
      : [difference({ label: `the plan of ${runName(facts.run)}`, text: planned }, { label: file, text })]),
  ];
}
