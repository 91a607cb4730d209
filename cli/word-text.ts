/** People's words as reports show them: in `evidence`, and as lines for people. Pure. */
import { runName, type RunName } from '../domain/references.ts';
import type { Evidence, Report } from '../domain/report.ts';
import type { Recorded } from '../domain/instructions.ts';

/** What tells a word from a call of the service among the evidence. */
const WORD_CALL = 'word';

/** A word as evidence, so that every report shows who decided what. */
export function evidenceOf(word: Recorded, run: RunName): Evidence {
  return {
    at: new Date(word.atMs).toISOString(),
    item: 'item' in word && word.item !== null ? word.item : runName(run),
    call: WORD_CALL,
    result: `${word.by}: ${tell(word)}`,
    traceId: null,
    replayed: null,
  };
}

/** One line per word of a report's evidence. */
export function wordLines(report: Report): readonly string[] {
  return report.evidence
    .filter(({ call }) => call === WORD_CALL)
    .map(({ at, item, result }) => `${at.slice(0, 19)}Z ${item}, ${result}`);
}

function tell(word: Recorded): string {
  switch (word.kind) {
    case 'cancel':
      return 'cancel what is not sent';
    case 'go-on':
      return word.item === null ? 'go on after the cancel' : 'try it now: its cause is gone';
    case 'executed':
      return `executed as ${word.recordId}`;
    case 'not executed':
      return `not executed: ${word.why}`;
    case 'pay again':
      return `pay again after generation ${word.follows}: ${word.why}`;
    case 'accept':
      return `accepted as ${word.recordId}: ${word.why}`;
  }
}
