/** Reads the ceilings of a folder of policies: how much may be paid and traded on one UTC day. */
import * as z from 'zod';
import type { Ceiling, CeilingsFile } from '../domain/writes/ceilings.ts';
import { checkStructure } from './text/check-structure.ts';
import { frozen } from './text/frozen.ts';
import { hinted, money, policyName, readMoney, wholeNumber } from './text/leaves.ts';
import type { PolicyProblem } from './text/problem.ts';
import { readYaml } from './text/yaml-source.ts';

/** Loaded ceilings, or why there are none. */
export type LoadedCeilings =
  | { readonly ok: true; readonly ceilings: CeilingsFile }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** Loads the text of such a file; `file` is only shown. */
export function loadCeilings(text: string, file: string): LoadedCeilings {
  const source = readYaml({ text, file, subject: 'CEILINGS' });
  const parsed = source.broken ? null : checkStructure(CeilingsSchema, source, {});
  const { unbounded = false, workers } = parsed ?? {};
  if (unbounded && parsed !== null)
    for (const field of Object.keys(parsed).filter((name) => !['ceilings', 'unbounded'].includes(name)))
      source.report(source.keyPlaceAt([field]), {
        mistake: 'CONTRADICTION',
        message: `\`${field}\` stands beside \`unbounded\`, which says that there are no ceilings`,
        fix: `delete \`unbounded\`, or \`${field}\``,
      });
  else if (parsed !== null && workers === undefined)
    source.report(source.keyPlaceAt([]), {
      mistake: 'MISSING_FIELD',
      message: '`workers` is missing in this file',
      fix: 'add it, for example `workers: 2`; or write `unbounded: true` where nothing binds what is moved on one day',
    });
  const problems = source.problems();
  if (parsed === null || problems.length > 0) return { ok: false, problems };
  if (workers === undefined) return { ok: true, ceilings: 'UNBOUNDED' };
  const { paid, traded, policies = {} } = parsed;
  const all = [
    ...ceilingsOf('paid', null, 'day', paid?.per_day),
    ...ceilingsOf('paid', null, 'account', paid?.per_account),
    ...ceilingsOf('traded', null, 'day', traded?.per_day),
    ...Object.entries(policies).flatMap(([policy, its]) => [
      ...ceilingsOf('paid', policy, 'day', its.paid_per_day),
      ...ceilingsOf('traded', policy, 'day', its.traded_per_day),
    ]),
  ];
  return { ok: true, ceilings: frozen({ workers, all }) };
}

function ceilingsOf(
  kind: Ceiling['kind'],
  policy: string | null,
  per: Ceiling['per'],
  texts: readonly string[] = [],
): readonly Ceiling[] {
  return texts.map((text) => ({ kind, policy, per, most: readMoney(text) }));
}

const monies = (description: string): z.ZodType<readonly string[]> =>
  hinted(
    z.array(money({ description: 'An amount with its currency.', example: '"50000.00 EUR"' })).max(100),
    {
      description,
      example: '["50000.00 EUR", "900000.00 MXN"]',
    },
  );

const CeilingsSchema = z.strictObject({
  ceilings: wholeNumber(1, 1, { description: 'The version of this file’s form.', example: '1' }),
  unbounded: hinted(z.literal(true), {
    description: 'Nothing binds what is moved on one day. No other field stands beside it then.',
    example: 'true',
  }).optional(),
  workers: wholeNumber(1, 1_000, {
    description: 'How many workers write by this folder; each takes its share.',
    example: '2',
  }).optional(),
  paid: z
    .strictObject({
      per_day: monies('What may be paid on one UTC day, one for each currency.'),
      per_account: monies('What may be paid to one account on one UTC day.').optional(),
    })
    .optional(),
  traded: z
    .strictObject({
      per_day: monies('What may be sold and bought on one UTC day, each trade on each of its sides.'),
    })
    .optional(),
  policies: z
    .record(
      policyName({ description: 'The name of a policy.' }),
      z.strictObject({
        paid_per_day: monies('What this policy may pay on one UTC day.').optional(),
        traded_per_day: monies('What this policy may sell and buy on one UTC day.').optional(),
      }),
    )
    .optional(),
});
