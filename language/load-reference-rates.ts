/** Reads a file of reference rates: `as_of`, the moment of fixing, and `rates`, one text per pair. */
import { z } from 'zod';
import type { ReferenceRates } from '../domain/policy.ts';
import { checkStructure } from './text/check-structure.ts';
import { frozen } from './text/frozen.ts';
import { hinted, instant, rate, readRate, unquotedComplaint } from './text/leaves.ts';
import type { PolicyProblem } from './text/problem.ts';
import { readYaml } from './text/yaml-source.ts';
import type { Path, YamlSource } from './text/yaml-source.ts';

/** Loaded rates, or why there are none. */
export type LoadedReferenceRates =
  | { readonly ok: true; readonly rates: ReferenceRates }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** Loads the text of a reference file; `file` is only shown. The age of the rates is checked where they are used. */
export function loadReferenceRates(text: string, file: string): LoadedReferenceRates {
  const source = readYaml({ text, file, subject: 'RATES' });
  const parsed = source.broken ? null : checkStructure(ReferenceFileSchema, source, {});
  if (!source.broken) checkRates(source);
  const problems = source.problems();
  if (parsed === null || problems.length > 0) return { ok: false, problems };
  return { ok: true, rates: frozen({ asOf: parsed.as_of, rates: parsed.rates.map(readRate) }) };
}

const ReferenceFileSchema = z.strictObject({
  as_of: instant({
    description: 'The moment at which the rates were fixed, with its offset from UTC.',
    example: '2026-11-20T16:00:00+01:00',
  }),
  rates: hinted(
    z
      .array(rate({ description: 'One pair, in either direction.', example: '"1.0832 USD per EUR"' }))
      .min(1)
      .max(1000),
    { description: 'One rate per pair.', example: '["1.0832 USD per EUR"]' },
  ),
});

/**
 * Each pair may be there once, in one direction, and its rate in quotes. With two rates of a pair it would be open which one
 * guards the price.
 */
function checkRates(source: YamlSource): void {
  const seen = new Map<string, Path>();
  for (let index = 0; index < source.lengthAt(['rates']); index += 1) {
    const path: Path = ['rates', index];
    const text = source.clean(path);
    if (text === null) continue;
    if (source.written(path)?.quoted === false) source.report(source.placeAt(path), unquotedComplaint(text));
    const { currency, per } = readRate(text);
    if (currency === per) {
      const message = `a rate is between two currencies, not from ${currency} to itself`;
      source.report(source.placeAt(path), { mistake: 'SAME_CURRENCY', message, fix: 'delete it' });
    }
    const pair = [currency, per].toSorted().join(' ');
    const earlier = seen.get(pair);
    if (earlier !== undefined) {
      const line = source.lineOf(source.placeAt(earlier));
      const message = `the pair of ${currency} and ${per} is already on line ${line}`;
      source.report(source.placeAt(path), { mistake: 'RATE_TWICE', message, fix: 'keep one rate per pair' });
    }
    seen.set(pair, earlier ?? path);
  }
}
