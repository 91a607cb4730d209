/** What people said, as lines for people. Pure. */
import type { Report } from '../../domain/run/report.ts';
import type { Clock } from '../../domain/clock.ts';
import { INSTRUCTION_CALL } from '../../operations/follow/instruction-evidence.ts';

/** One line per instruction of a report's evidence. */
export function instructionLines(report: Pick<Report, 'evidence'>, clock: Clock): readonly string[] {
  return report.evidence
    .filter(({ call }) => call === INSTRUCTION_CALL)
    .map(({ at, item, result }) => `${clock.atText(at)} ${item}, ${clock.retold(result)}`);
}
