/** People's words as reports show them: in `evidence`, and as lines for people. Pure. */
import { runName, type RunName } from '../domain/references.ts';
import type { Evidence, Report } from '../domain/report.ts';
import type { Word } from '../domain/words.ts';

/** What tells a word from a call of the service among the evidence. */
const WORD_CALL = 'word';

/** A word as evidence, so that every report shows who decided what. */
export function evidenceOf(word: Word, run: RunName): Evidence {
  return {
    at: new Date(word.atMs).toISOString(),
    item: 'item' in word ? word.item : runName(run),
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

function tell(word: Word): string {
  switch (word.kind) {
    case 'cancel':
      return 'cancel what is not sent';
    case 'go-on':
      return 'go on after the cancel';
    case 'executed':
      return `executed as ${word.recordId}`;
    case 'not executed':
      return `not executed: ${word.evidence}`;
    case 'pay again':
      return `pay again as ~${word.generation}: ${word.reason}`;
  }
}
