/** Two texts as a unified difference, for people. Pure. */
import { structuredPatch } from 'diff';
import { plain } from '../terminal/safe.ts';

const CONTEXT_LINES = 3;
/** Two texts that take longer to compare have hardly a line in common; then all lines of both are shown. */
const PATIENCE_MS = 1_000;

/** Lines only in `before` are marked `-`, lines only in `after` `+`; three lines around them are shown. */
export function difference(
  before: { readonly label: string; readonly text: string },
  after: { readonly label: string; readonly text: string },
): string {
  const patch = structuredPatch('', '', before.text, after.text, undefined, undefined, {
    context: CONTEXT_LINES,
    timeout: PATIENCE_MS,
  });
  const lines =
    patch === undefined
      ? [...marked('-', before.text), ...marked('+', after.text)]
      : patch.hunks.flatMap((hunk) => [
          `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
          ...hunk.lines,
        ]);
  return [`--- ${before.label}`, `+++ ${after.label}`, ...plain(lines)].join('\n');
}

function marked(mark: '-' | '+', text: string): string[] {
  return text.split('\n').map((line) => `${mark}${line}`);
}
