/** Reads a file of reference rates: `as_of`, the moment of fixing, and `rates`, one text per pair. */
import * as z from 'zod';
import { compare, multiply } from '../domain/money.ts';
import { worthOf, type Worth } from '../domain/plan/price-bounds.ts';
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
  if (!source.broken) {
    checkRates(source);
    if (source.problems().length === 0) checkTriangles(source);
  }
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
    const pair = pairOf(currency, per);
    const earlier = seen.get(pair);
    if (earlier !== undefined) {
      const line = source.lineOf(source.placeAt(earlier));
      const message = `the pair of ${currency} and ${per} is already on line ${line}`;
      source.report(source.placeAt(path), { mistake: 'RATE_TWICE', message, fix: 'keep one rate per pair' });
    }
    seen.set(pair, earlier ?? path);
  }
}

/**
 * Three rates that go round in a triangle must agree within 3 %: one of them is mistyped otherwise, and would guard prices. Each
 * triangle is told once, at the last of its lines.
 */
function checkTriangles(source: YamlSource): void {
  const lines = Array.from({ length: source.lengthAt(['rates']) }, (_, index) => {
    const path: Path = ['rates', index];
    const text = source.clean(path) ?? '';
    return { path, index, text, ...readRate(text) };
  });
  const between = new Map(lines.map((line) => [pairOf(line.currency, line.per), line]));
  const currencies = [...new Set(lines.flatMap(({ currency, per }) => [currency, per]))];
  for (const last of lines) {
    for (const third of currencies) {
      const [first, second] = [
        between.get(pairOf(last.per, third)),
        between.get(pairOf(third, last.currency)),
      ];
      if (first === undefined || second === undefined) continue;
      if (first.index > last.index || second.index > last.index) continue;
      const rates = [first, second].toSorted((a, b) => a.index - b.index);
      if (isRound(last, worthOf(rates, last.per, last.currency))) continue;
      source.report(source.placeAt(last.path), {
        mistake: 'RATES_DISAGREE',
        message: `this rate and two others disagree by more than 3 %: ${rates.map(({ text }) => text).join(' and ')} give another one than ${last.text}`,
        fix: 'correct the one that is wrong',
      });
    }
  }
}

function pairOf(one: string, other: string): string {
  return [one, other].toSorted().join(' ');
}

/** Whether a rate is within 3 % of the worth of its `per` by the two others. */
function isRound({ value }: { readonly value: string }, worth: Worth | null): boolean {
  if (worth === null) return true;
  const [direct, round] = [multiply(value, worth.over), worth.times];
  return compare(multiply(direct, '0.97'), round) <= 0 && compare(multiply(round, '0.97'), direct) <= 0;
}
