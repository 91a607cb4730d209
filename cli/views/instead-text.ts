/** What changes when a run takes the place of another one, for people. Pure. */
import { runName } from '../../domain/references.ts';
import type { Instead } from '../../operations/start/instead-of.ts';
import type { PolicyFile } from '../../operations/policy-file.ts';
import { difference } from './difference.ts';
import { statusSentence } from './report-text.ts';

/** How the old run ended, and how the two policies differ. */
export function insteadLines(
  { view: { facts, report, progress }, planned }: Instead,
  { file, text }: Pick<PolicyFile, 'file' | 'text'>,
  nowMs: number,
): readonly string[] {
  const problems = report.problems.map(({ code, item, message }) => `  ${code} ${item ?? 'run'}: ${message}`);
  return [
    `Nothing of ${runName(facts.run)} was executed. ${statusSentence(report, progress, nowMs)}`,
    ...problems,
    changeOf(planned, { file, text, of: runName(facts.run) }),
  ];
}

function changeOf(
  planned: string | null,
  { file, text, of }: Pick<PolicyFile, 'file' | 'text'> & { readonly of: string },
): string {
  if (planned === null) return 'The policy that it was planned with is not in Temporal any more.';
  if (planned === text) return 'The policy is the same.';
  return difference({ label: `the plan of ${of}`, text: planned }, { label: file, text });
}
