/**
 * The structure of policies, version 1 (design: "Fields"), which the loader checks first and which editors show. Rules that
 * join several fields are in `load-policy.ts`. The head is common to every kind, so that a new kind adds a schema with its
 * own group to `policyJsonSchema` and one arm to the loader.
 */
import * as z from 'zod';
import { BATCH_ENCODINGS } from '../../domain/policy.ts';
import {
  account,
  amount,
  amountOrAll,
  amountOrPercent,
  amountOrZero,
  basisPoints,
  calendarDate,
  calendarName,
  columnName,
  currency,
  DAYS_OF_WEEK,
  daysOfWeek,
  duration,
  fileBeside,
  hinted,
  itemId,
  label,
  money,
  percent,
  policyName,
  rate,
  timeInZone,
  timeOfDay,
  wholeNumber,
  zone,
} from '../text/leaves.ts';

/** The kinds of policy. */
export const KINDS = ['convert', 'rebalance', 'payout'] as const;

const quote = hinted(
  z.strictObject({
    valid_for: hinted(z.enum(['3s', '15s', '30s', '45s', '60s']).default('30s'), {
      description: 'How long a quote can be traded. Default 30s.',
      example: '30s',
    }),
    settlement: hinted(z.enum(['IMMEDIATE', 'T0', 'T1', 'T2']).default('T0'), {
      description: 'When the bought money arrives. Default T0; must be written in live.',
      example: 'T0',
    }),
    max_quotes: wholeNumber(1, 20, {
      description: 'How many quotes one leg may take before it ends as not traded. Default 5.',
      example: '5',
    }).default(5),
  }),
  { description: 'What kind of quote is asked for.', example: '{ settlement: T0 }' },
);

const byReference = {
  reference: hinted(
    z.strictObject({
      file: fileBeside({
        what: 'a reference file',
        description: 'The file of reference rates, beside this policy.',
        example: 'rates/daily.yaml',
      }),
      max_age: duration({ description: 'No trade when the rates are older than this.', example: '30h' }),
    }),
    { description: 'Reference rates from a file.', example: '{ file: rates/daily.yaml, max_age: 30h }' },
  ).optional(),
  worst_cost: basisPoints({
    description: 'No trade that costs more than this against the reference; equal passes. 25bps is 0.25 %.',
  }).optional(),
  unusual: label({
    description:
      'Why the guard may lie ten times and more below the price. Without it such a guard trades nothing, since its rate is most likely inverted.',
    example: 'a floor against errors only',
  }).optional(),
};

const WORST_RATE =
  'No trade at a worse rate than this; equal passes. Either direction may be written. Of a rebalancing a list, in which what stands after `per` is sold: "1.05 USD per EUR" bounds sales of EUR, "0.90 EUR per USD" purchases.';
const GUARD =
  'The price guard: either `worst_rate`, or `reference` with `worst_cost`; of a rebalancing also both, and the stricter one counts.';

const guard = hinted(
  z.strictObject({
    worst_rate: rate({
      description: WORST_RATE,
      example: '"16.90 MXN per USD"',
    }).optional(),
    ...byReference,
  }),
  {
    description: GUARD,
    example: '{ worst_rate: "16.90 MXN per USD" }',
    oneOf: [{ required: ['worst_rate'] }, { required: ['reference', 'worst_cost'] }],
  },
);

/** The guard of a rebalancing, where each trade has its own pair and direction. */
const guardOfPairs = hinted(
  z.strictObject({
    worst_rate: hinted(
      z
        .array(
          rate({
            description: 'What one unit of the sold currency, named after `per`, must bring at least.',
            example: '"1.05 USD per EUR"',
          }),
        )
        .min(1)
        .max(200),
      {
        description: WORST_RATE,
        example: '["1.05 USD per EUR"]',
      },
    ).optional(),
    ...byReference,
  }),
  {
    description: GUARD,
    example: '{ reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 25bps }',
    anyOf: [{ required: ['worst_rate'] }, { required: ['reference', 'worst_cost'] }],
  },
);

const settle = hinted(
  z.strictObject({
    until: hinted(z.enum(['funds', 'status']).default('funds'), {
      description:
        'funds: until the withdrawable balance covers what this run still has to pay. status: until the trade says settled. Default funds; must be written in live.',
      example: 'funds',
    }),
    late_after: duration({
      description:
        'After this long the run says that it is late, and goes on waiting. Default: `late_after` of the service file, 6h.',
      example: '6h',
    }).optional(),
    cutoff: hinted(
      z.record(
        currency({ description: 'A currency.', example: 'EUR' }),
        timeInZone({ description: 'A time of day in a time zone, in quotes.' }),
      ),
      {
        description:
          'Until when money in a currency moves on the same day: plan, and run before it starts, say that it is later. Stops nothing.',
        example: '{ EUR: "15:30 Europe/Brussels" }',
      },
    ).optional(),
  }),
  { description: 'What the run waits for between trade and withdrawals.', example: '{ until: funds }' },
);

function dates(description: string) {
  const one = calendarDate({ description: 'A date.', example: '2026-12-25' });
  return hinted(z.array(one).min(1).max(1000), { description, example: '[2026-12-25]' });
}

/** When a schedule starts a policy. */
export const ScheduleSchema = hinted(
  z.strictObject({
    at: timeOfDay({
      description: 'The time of day in `zone`, in quotes. One that clocks skip or pass twice is refused.',
    }),
    days: hinted(
      z.union([
        daysOfWeek({ description: 'Monday to Friday, or every day.' }),
        hinted(
          z
            .array(hinted(z.enum(DAYS_OF_WEEK), { description: 'A day of the week.', example: 'mon' }))
            .min(1)
            .max(7),
          { description: 'These days of the week.', example: '[mon, wed, fri]' },
        ),
      ]),
      {
        description:
          'On which days of the week: weekdays (Monday to Friday), daily, or a list of mon to sun.',
        example: 'weekdays',
      },
    ),
    holidays: hinted(
      z.union([
        calendarName({ description: 'A calendar: a country, or a part of one, by ISO codes.' }),
        dates('These dates.'),
      ]),
      {
        description:
          'Not on these dates, or on the holidays of this country, part of one, or payment system: FR, US-NY, T2.',
        example: 'FR',
      },
    ).optional(),
    skip: dates('Nor on these dates.').optional(),
    start: calendarDate({ description: 'Not before this date.', example: '2026-12-01' }).optional(),
    end: calendarDate({ description: 'Not after this date.', example: '2027-06-30' }).optional(),
  }),
  {
    description: 'When the policy is started by itself, in `zone`, which must then be written out.',
    example: '{ at: "09:30", days: weekdays }',
  },
);

const limits = {
  per_trade: money({ description: 'No single trade above this.', example: '"400000.00 USD"' }).optional(),
  per_run: money({
    description: 'No run above this: this side, sold or bought, of all its trades together.',
    example: '"1000000.00 USD"',
  }).optional(),
  per_payment: paidLimits('No single payment above this; one amount per currency that is paid.'),
  paid_per_run: paidLimits(
    'No run pays more than this, all its payments together; one amount per currency that is paid.',
  ),
};

const perDay = money({
  description: 'The same of all trades of this policy on one business date, whatever the ids of its runs.',
  example: '"2000000.00 USD"',
}).optional();

function paidLimits(description: string) {
  const one = money({ description: 'The most, in one currency.', example: '"30000.00 MXN"' });
  return hinted(z.array(one).min(1).max(100), { description, example: '["30000.00 MXN"]' }).optional();
}

const limitsHint = {
  description: 'Size limits; must be written in live, for what is traded and for what is paid.',
  example: '{ per_trade: "1000.00 USD" }',
};

const version = wholeNumber(1, 1, { description: 'The version of this language: 1.', example: '1' });

const head = {
  name: policyName({ description: 'Part of every reference at the service: 1 to 40 of a-z, 0-9 and "-".' }),
  environment: hinted(z.enum(['sandbox', 'live']), {
    description: 'Where it runs; must equal the mode of the worker.',
    example: 'sandbox',
  }),
  zone: zone({ description: 'The IANA zone in which business dates are counted. Default UTC.' }).default(
    'UTC',
  ),
  schedule: ScheduleSchema.optional(),
  quote: quote.prefault({}),
  guard: guard.optional(),
  settle: settle.prefault({}),
  shortfall: hinted(z.enum(['skip', 'hold']).default('skip'), {
    description:
      'When money is lacking: skip ends the item as not paid, hold waits for money. Default skip; must be written in live.',
    example: 'skip',
  }),
};

/** The head of a policy of an unknown kind, so that the mistakes in its head are reported too. */
export const HeadSchema = z.looseObject({
  policy: version,
  ...head,
  limits: hinted(
    z.strictObject({
      ...limits,
      per_day: money({ description: '', example: '"2000000.00 USD"' }).optional(),
    }),
    limitsHint,
  ).optional(),
});

const withdrawal = hinted(
  z.strictObject({
    id: itemId({
      description: "Names the payment; part of its reference. Never change it once the run's date has begun.",
    }),
    account: account({ description: 'The id of a verified withdrawal account.' }),
    amount: hinted(
      z.union([
        z.literal('proceeds').describe('The whole bought amount, once it is known.'),
        z.literal('rest').describe('What the fixed payments leave of the bought amount, once it is known.'),
        z.strictObject({
          fixed: amount({
            description: 'This amount of the bought currency, in quotes.',
            example: '"16500.00"',
          }),
        }),
      ]),
      {
        description:
          'proceeds: the whole bought amount; { fixed: "…" }: this amount of it; rest: what the fixed ones leave of it, at most once.',
        example: '{ fixed: "16500.00" }',
      },
    ),
    rounding: hinted(z.enum(['down', 'half-even']), {
      description:
        "How the proceeds, or the rest, are brought to the currency's decimals; required with them.",
      example: 'down',
    }).optional(),
  }),
  {
    description: 'One withdrawal of the bought currency.',
    example: '{ id: supplier, account: wac_7Hk2mQ9vT4xR, amount: { fixed: "16500.00" } }',
  },
);

function kindOf<Kind extends (typeof KINDS)[number]>(kind: Kind) {
  return hinted(z.enum([kind]), {
    description: `What the policy does: ${KINDS.join(', ')}.`,
    example: kind,
  });
}

/** `kind: convert`: one conversion, then withdrawals in the bought currency. */
export const ConvertSchema = z
  .strictObject({
    policy: version,
    kind: kindOf('convert'),
    ...head,
    convert: hinted(
      z.strictObject({
        sell: currency({ description: 'The currency that is sold.', example: 'USD' }),
        buy: currency({ description: 'The currency that is bought.', example: 'MXN' }),
        amount: hinted(
          z.strictObject({
            sell: amountOrAll({
              description: 'This much of the sold currency, in quotes; or all, above `keep`.',
            }).optional(),
            buy: amount({
              description: 'This much of the bought currency, in quotes.',
              example: '"17000.00"',
            }).optional(),
            keep: amountOrZero({
              description: 'With `sell: all`: what stays behind, in quotes.',
              example: '"500.00"',
            }).optional(),
          }),
          {
            description: 'How much: one of sell, buy, or sell: all with keep.',
            example: '{ sell: "1000.00" }',
            oneOf: [{ required: ['sell'] }, { required: ['buy'] }],
          },
        ),
      }),
      { description: 'The conversion.', example: '{ sell: USD, buy: MXN, amount: { sell: "1000.00" } }' },
    ),
    limits: hinted(z.strictObject(limits), limitsHint).optional(),
    withdraw: hinted(z.array(withdrawal).max(500), {
      description: 'What is paid out of the bought currency; leave it out to only convert.',
      example: '[{ id: supplier, account: wac_7Hk2mQ9vT4xR, amount: { fixed: "16500.00" } }]',
    }).optional(),
  })
  .describe('A Cambist policy, version 1, that converts.');

const target = hinted(
  z.strictObject({
    keep: amountOrZero({
      description: 'Back to this amount when it is further from it than `band`.',
      example: '"250000.00"',
    }).optional(),
    share: percent({
      description:
        'The same, in percent of the total of all currencies of the policy, valued in the base by the reference rates.',
      example: '10%',
    }).optional(),
    band: amountOrPercent({
      description:
        'How far it may be from `keep` (an amount) or from `share` (a percentage of the total) before anything is traded.',
      example: '"25000.00"',
    }).optional(),
    min: amountOrZero({
      description: 'Bought up to this when it is below.',
      example: '"40000.00"',
    }).optional(),
    max: amountOrZero({ description: 'Sold down to this when it is above.', example: '"0.00"' }).optional(),
  }),
  {
    description: 'What is kept of one currency: `keep` with `band`, `share` with `band`, or `min` and `max`.',
    example: '{ keep: "250000.00", band: "25000.00" }',
  },
);

/** `kind: rebalance`: balances back to their targets, by trades against one base currency. */
export const RebalanceSchema = z
  .strictObject({
    policy: version,
    kind: kindOf('rebalance'),
    ...head,
    guard: guardOfPairs.optional(),
    rebalance: hinted(
      z.strictObject({
        base: hinted(
          z.strictObject({
            currency: currency({
              description:
                'What is too much of a currency is sold for it, what is missing is bought with it.',
              example: 'USD',
            }),
            min: amountOrZero({
              description: 'Purchases leave at least this much of it. Default 0.',
              example: '"100000.00"',
            }).optional(),
          }),
          {
            description: 'The currency against which all is traded.',
            example: '{ currency: USD, min: "100000.00" }',
          },
        ),
        targets: hinted(z.record(currency({ description: 'A currency.', example: 'EUR' }), target), {
          description: 'One entry for each currency; the first ones get the base’s money first.',
          example: '{ EUR: { keep: "250000.00", band: "25000.00" } }',
        }),
        never_sell: hinted(
          z
            .array(currency({ description: 'Never sold.', example: 'EURC' }))
            .min(1)
            .max(100),
          {
            description: 'Currencies that are not sold: what is too much of them stays.',
            example: '[EURC]',
          },
        ).optional(),
        min_trade: money({
          description: 'No trade that is worth less than this, in the base.',
          example: '"100.00 USD"',
        }).optional(),
        max_trades: wholeNumber(1, 50, {
          description: 'No more trades than this in one run: the largest ones.',
          example: '6',
        }).optional(),
      }),
      {
        description: 'Which balances are brought back to what.',
        example: '{ base: { currency: USD }, targets: { EUR: { min: "40000.00" } } }',
      },
    ),
    limits: hinted(
      z.strictObject({ per_trade: limits.per_trade, per_run: limits.per_run, per_day: perDay }),
      limitsHint,
    ).optional(),
  })
  .describe('A Cambist policy, version 1, that rebalances.');

function column(what: string, usual: string) {
  return columnName({ description: `The column of ${what}. Default ${usual}.`, example: usual }).default(
    usual,
  );
}

function ignored(what: string) {
  return label({
    description: `The text in the column of the ${what}.`,
    example: 'Summe',
  }).optional();
}

const payout = hinted(
  z.strictObject({
    fund: hinted(
      z.strictObject({
        mode: hinted(z.enum(['net', 'none']), {
          description:
            'net: what is missing of a currency is bought in one trade; none: nothing is traded, only what is there is paid.',
          example: 'net',
        }),
        from: currency({
          description: 'With `mode: net`: the currency with which the others are bought.',
          example: 'USD',
        }).optional(),
      }),
      { description: 'Where the money comes from.', example: '{ from: USD, mode: net }' },
    ),
    columns: hinted(
      z.strictObject({
        id: hinted(
          z.union([
            columnName({ description: 'The column of the ids of the payments.', example: 'id' }),
            z.strictObject({
              column: column('the ids of the payments', 'id'),
              as: hinted(z.literal('slug'), {
                description:
                  'slug: letters lose their accents, and what no id can contain becomes "-": R-2026/0001 is paid as R-2026-0001.',
                example: 'slug',
              }),
            }),
          ]),
          {
            description:
              'The column of the ids of the payments, and how its texts become ids. Default: id, as they are.',
            example: '{ column: Beleg-Nr, as: slug }',
          },
        ).default('id'),
        account: column('the withdrawal accounts', 'account'),
        currency: column('the currencies', 'currency'),
        amount: column('the amounts', 'amount'),
      }),
      {
        description:
          'What the columns of the batch file are called. Other columns are kept for the results, and never sent.',
        example: '{ id: ref, currency: ccy }',
      },
    ).prefault({}),
    numbers: hinted(
      z.strictObject({
        decimal: hinted(z.enum(['.', ',']), {
          description: 'What separates the decimals of an amount.',
          example: '","',
        }),
        group: hinted(z.enum(['.', ',', "'", 'space']), {
          description: 'What may separate the thousands of an amount; space: any blank. Default: nothing.',
          example: '"."',
        }).optional(),
      }),
      {
        description: 'How the amounts of the batch file are written. Default: digits with a point, 1857.05.',
        example: '{ decimal: ",", group: "." }',
      },
    ).optional(),
    encoding: hinted(z.enum(BATCH_ENCODINGS), {
      description: 'The encoding of the batch file. Default utf-8.',
      example: 'windows-1252',
    }).default('utf-8'),
    ignore: hinted(
      z.strictObject({
        id: ignored('id'),
        account: ignored('account'),
        currency: ignored('currency'),
        amount: ignored('amount'),
      }),
      {
        description: 'A row with each of these texts in its column is no payment, such as a row of totals.',
        example: '{ id: Summe }',
      },
    ).optional(),
    parallel: wholeNumber(1, 50, {
      description: 'How many payments are sent side by side at most. Default 8.',
      example: '8',
    }).default(8),
    stop_after: hinted(
      z.strictObject({
        failed: wholeNumber(1, 100_000, {
          description: 'The batch stops after so many payments that the service refused.',
          example: '5',
        }).optional(),
        ratio: percent({
          description: 'The batch stops when so many percent of the payments sent so far were refused.',
          example: '10%',
        }).optional(),
        same_code: wholeNumber(1, 100_000, {
          description: 'The batch stops after so many refusals in a row with the same code.',
          example: '3',
        }).optional(),
      }),
      {
        description:
          'When a batch stops by itself: nothing more is sent. The first rule that is reached counts; must be written in live.',
        example: '{ failed: 5 }',
      },
    ).optional(),
    canary: wholeNumber(1, 100, {
      description: 'So many payments, the first of the file, must be accepted before the others are sent.',
      example: '1',
    }).optional(),
    dedupe: duration({
      description:
        'An id that another batch of this policy has paid, or may still pay, within this time is refused. Default 30d.',
      example: '30d',
    }).default('30d'),
    destinations: fileBeside({
      what: 'a file of destinations',
      description:
        'The file, beside this policy, of the only accounts that may be paid, each with its currency; must be written in live.',
      example: 'destinations/contractors.yaml',
    }).optional(),
  }),
  {
    description: 'How the payments of a batch file are made.',
    example: '{ fund: { from: USD, mode: net } }',
  },
);

/** A person with a file starts a payout. It has no schedule. */
const { schedule: _, ...headOfPayout } = head;

/** `kind: payout`: the payments of a batch file. */
export const PayoutSchema = z
  .strictObject({
    policy: version,
    kind: kindOf('payout'),
    ...headOfPayout,
    guard: guardOfPairs.optional(),
    payout,
    limits: hinted(z.strictObject(limits), limitsHint).optional(),
  })
  .describe('A Cambist policy, version 1, that pays a batch file.');

/** The JSON Schema for editors, committed as `policies/policy.schema.json`. */
export function policyJsonSchema(): Readonly<Record<string, unknown>> {
  const anyKind = z.union([ConvertSchema, RebalanceSchema, PayoutSchema]);
  return { ...z.toJSONSchema(anyKind, { target: 'draft-7', io: 'input' }), title: 'Cambist policy' };
}

/** The text of `policies/policy.schema.json`, with short lists on one line, as this repository's formatter writes them. */
export function policyJsonSchemaText(): string {
  const text = JSON.stringify(policyJsonSchema(), null, 2);
  const lists = /^(\s*(?:"[^"]*": )?)\[\n\s*((?:"[^"]*"(?:,\n\s*)?)+)\n\s*\](,?)$/gm;
  const short = text.replaceAll(lists, (all: string, start: string, items: string, comma: string) => {
    const line = `${start}[${items.replaceAll(/,\n\s*/g, ', ')}]${comma}`;
    return line.length <= 110 ? line : all;
  });
  return `${short}\n`;
}
