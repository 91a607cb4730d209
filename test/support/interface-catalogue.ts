/** The interface's own catalogue of codes, read from a copy of its tables: what our tables are compared with. */
import { readFileSync } from 'node:fs';
import { urlOf } from './root.ts';

/** `status` is null where the table does not show one. */
export type CatalogueRow = { readonly code: string; readonly status: number | null; readonly type: string };

/** The rows of every table; one without a column `Type` holds validation errors, as the text below it says. */
export function readCatalogue(): readonly CatalogueRow[] {
  const text = readFileSync(urlOf('test/support/fixtures/interface-catalogue.md'), 'utf8');
  let columns: readonly string[] = [];
  const rows = text.split('\n').flatMap((line): CatalogueRow[] => {
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells.includes('Code')) columns = cells;
    const of = (title: string): string | undefined => cells[columns.indexOf(title)];
    const code = /^[A-Z_]+/.exec(of('Code') ?? '')?.[0];
    if (code === undefined || cells.length < 4 || cells.includes('Code')) return [];
    const status = Number(of('Status') ?? NaN);
    return [{ code, status: Number.isNaN(status) ? null : status, type: of('Type') ?? 'VALIDATION_ERROR' }];
  });
  if (rows.length === 0) throw new Error('The copy of the interface’s tables has no rows.');
  return rows;
}
