/** Two texts as a unified difference, for people. Pure. */
import { structuredPatch } from 'diff';
import { plain } from '../terminal/safe.ts';

const CONTEXT_LINES = 3;
/**
 * The comparison may take this long. Longer, the two texts have hardly a line in common, and then all lines of both are
 * shown.
 */
const PATIENCE_MS = 1_000;

/** Lines only in `before` begin with `-`, and lines only in `after` with `+`; three lines around them are shown. */
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
