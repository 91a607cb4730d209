/** How many rows of a long file are read. It is drawn in one place on a terminal, and not shown elsewhere. */
import { count } from '../terminal/text.ts';
import type { Output } from '../terminal/output.ts';

export type RowCount = { readonly show: (rows: number) => void; readonly close: () => void };

/** Loads the package that draws only where something is drawn. */
export async function rowCount(output: Output, file: string): Promise<RowCount> {
  if (!output.isLive) return { show: () => {}, close: () => {} };
  const { createLogUpdate } = await import('log-update');
  const draw = createLogUpdate(output.isJson ? process.stderr : process.stdout);
  return {
    show: (rows) => draw(output.drawing(`${file}: ${count(rows, 'row')} read …`)),
    close: () => {
      draw.clear();
      draw.done();
    },
  };
}
