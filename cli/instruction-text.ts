/** What people said, as reports show it: in `evidence`, and as lines for people. Pure. */
import { runName, type RunName } from '../domain/references.ts';
import type { Evidence, Report } from '../domain/report.ts';
import type { Recorded } from '../domain/instructions.ts';

/** What tells an instruction from a call of the service among the evidence. */
const CALL = 'instruction';

/** An instruction as evidence, so that every report shows who decided what. */
export function evidenceOf(said: Recorded, run: RunName): Evidence {
  return {
    at: new Date(said.atMs).toISOString(),
    item: 'item' in said && said.item !== null ? said.item : runName(run),
    call: CALL,
    result: `${said.by}: ${tell(said)}`,
    traceId: null,
    replayed: null,
  };
}

/** One line per instruction of a report's evidence. */
export function instructionLines(report: Report): readonly string[] {
  return report.evidence
    .filter(({ call }) => call === CALL)
    .map(({ at, item, result }) => `${at.slice(0, 19)}Z ${item}, ${result}`);
}

function tell(said: Recorded): string {
  switch (said.kind) {
    case 'cancel':
      return `cancel what is not sent: ${said.why}`;
    case 'go-on':
      return `${said.item === null ? 'go on after the cancel' : 'try it now, its cause is gone'}: ${said.why}`;
    case 'executed':
      return `executed as ${said.recordId}`;
    case 'not executed':
      return `not executed: ${said.why}`;
    case 'pay again':
      return `pay again after generation ${said.follows}${said.recordId === null ? '' : ` (${said.recordId})`}: ${said.why}`;
    case 'accept':
      return `trade ${said.recordId} accepted as it came out: ${said.why}`;
  }
}
