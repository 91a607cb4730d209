/**
 * The report's shape as a schema: the document that `run --json` and `report --json` print. `policies/report.schema.json` is
 * written from it; a test fails when that file is out of date.
 */
import type { Problem } from '../../domain/problems.ts';
import * as z from 'zod';
import { RESTRAINTS } from '../../domain/plan/restraints.ts';
import type { Report } from '../../domain/run/report.ts';

const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ description: 'A moment in UTC.' });

const decimal = z
  .string()
  .regex(/^-?[0-9]+(\.[0-9]+)?$/)
  .meta({ description: 'A decimal number as text, never a JSON number.' });

const problem = z
  .strictObject({
    code: z.string().meta({ description: 'A stable code: of ours, or of the service.' }),
    item: z.string().nullable().meta({ description: 'The leg or payment; null: the run as a whole.' }),
    message: z.string(),
    fix: z.string().meta({ description: 'What to do.' }),
  })
  .meta({ description: 'Why something ended or waits.' });

const position = z.strictObject({
  currency: z.string(),
  withdrawable: decimal.meta({ description: 'What could be sold when the run was planned.' }),
  projected: decimal.nullable().meta({
    description: 'The same with what unsettled trades bring and take; null: that could not be told.',
  }),
  target: decimal.nullable().meta({
    description: 'What is kept of it; null: only a minimum or a maximum, or it cannot be told.',
  }),
  low: decimal.nullable().meta({ description: 'Nothing is traded from here …' }),
  high: decimal.nullable().meta({ description: '… to here; null: no bound on that side.' }),
  wanted: z
    .strictObject({ side: z.enum(['buy', 'sell']), value: decimal })
    .nullable()
    .meta({ description: 'What the target asks for; null: nothing.' }),
  traded: decimal.meta({ description: 'How much of it was planned, all its legs together.' }),
  restraint: z
    .enum(RESTRAINTS)
    .nullable()
    .meta({ description: 'Why less than that was planned, or nothing; null: nothing held it back.' }),
  after: z.strictObject({ withdrawable: decimal, projected: decimal.nullable() }).meta({
    description:
      'What is expected of it by the trades of this run: withdrawable when what was sold has gone, projected once all has settled.',
  }),
});

const cost = z
  .strictObject({
    amount: decimal.meta({ description: 'Rounded half to even to the decimals of the currency.' }),
    currency: z.string(),
    bps: decimal.meta({ description: 'Of what was sold; rounded half to even to two decimals.' }),
  })
  .meta({ description: 'Above nothing: worse than the reference rates of the plan; below: better.' });

const leg = z.strictObject({
  id: z.string(),
  reference: z.string().meta({ description: 'clientReferenceId of the trade.' }),
  sell: z.string(),
  buy: z.string(),
  why: z.enum(['fixed', 'all above', 'target', 'found', 'forgotten']).meta({
    description:
      'fixed: the policy names the amount. all above: all that was withdrawable above what is kept. target: it brings a currency back to its target, see positions. found: it was traded before the plan was made. forgotten: its amount is not known any more.',
  }),
  planned: z
    .strictObject({ side: z.enum(['buy', 'sell']), value: decimal })
    .nullable()
    .meta({ description: 'What was to be sold or bought; null: not known any more.' }),
  guard: z.string().nullable().meta({ description: 'The price guard in words; null: any price was taken.' }),
  sellAmount: decimal.nullable(),
  buyAmount: decimal.nullable(),
  rate: decimal.nullable().meta({ description: 'Bought ÷ sold, 12 significant digits.' }),
  cost: cost.nullable().meta({ description: 'Null: no trade, or no reference rates.' }),
  quoteId: z.string().nullable(),
  tradeId: z.string().nullable(),
  outcome: z.enum(['TRADED', 'NOT_TRADED', 'NEEDS_HUMAN', 'PENDING']),
  settled: z.boolean().nullable().meta({ description: 'Null: not asked for, or not known yet.' }),
  tradedAt: time
    .nullable()
    .meta({ description: 'When the service made the trade, by its own record; null: no trade.' }),
});

const payment = z.strictObject({
  id: z.string(),
  reference: z.string().meta({ description: 'metadata.cambist of the withdrawal.' }),
  account: z.string(),
  currency: z.string(),
  amount: decimal.nullable().meta({ description: 'Null: proceeds that are not known yet.' }),
  withdrawalId: z.string().nullable(),
  status: z.string().nullable().meta({ description: 'The service’s word for the withdrawal.' }),
  outcome: z.enum(['PAID', 'NOT_PAID', 'NEEDS_HUMAN', 'PENDING']),
  sentAt: time.nullable().meta({
    description: 'When the service made the withdrawal, by its own record; null: no withdrawal is known.',
  }),
  reason: z.string().nullable(),
});

const total = z.strictObject({
  currency: z.string(),
  planned: decimal,
  paid: decimal,
  notPaid: decimal,
  needsHuman: decimal,
});

const evidence = z.strictObject({
  at: z.string(),
  item: z.string(),
  call: z.string().meta({
    description:
      'What was asked of the service; `instruction`: what a person said; `seen`: the run saw the item settled or paid, at this time by our clock. The service does not tell when, and what was so when the run found it has no such line.',
  }),
  result: z.string(),
  traceId: z.string().nullable(),
  replayed: z.boolean().nullable(),
  quote: z
    .strictObject({ id: z.string(), sellAmount: decimal, buyAmount: decimal })
    .nullable()
    .meta({ description: 'Both sides of a quote; the one with the quoteId of a leg was traded.' }),
});

const reset = z.strictObject({
  at: time,
  eventId: z.number().int().meta({ description: 'The event to which it was reset, as Temporal numbers it.' }),
  why: z.string().nullable().meta({ description: 'The reason that Temporal keeps; null: none was given.' }),
  before: z.string().nullable().meta({
    description: 'How the run stood before; RUNNING and HELD: it was open. Null: Temporal has forgotten it.',
  }),
});

export const ReportSchema = z.strictObject({
  run: z.string().meta({ description: 'policy.id' }),
  workflowId: z.string(),
  policy: z.strictObject({ name: z.string(), hash: z.string() }),
  zone: z.string().nullable().meta({
    description: 'The zone of the policy, in which people are told times; null: there is no plan.',
  }),
  startedBy: z.string().nullable().meta({ description: 'Who started the run; null: it is not known.' }),
  startedAt: time.nullable().meta({
    description: 'When Temporal started the run. A reset keeps it, a new start does not. Null: not known.',
  }),
  endedAt: time.nullable().meta({
    description: 'When the run ended in Temporal; after a reset, the newest end. Null: it is open.',
  }),
  resets: z.array(reset).meta({ description: 'Each reset of the run in Temporal, the first one first.' }),
  status: z
    .enum(['COMPLETED', 'PARTIAL', 'FAILED', 'CANCELLED', 'HELD', 'RUNNING', 'TERMINATED', 'TIMED_OUT'])
    .meta({
      description:
        'COMPLETED: all paid or traded, or nothing to do. PARTIAL: some not. FAILED: nothing moved. CANCELLED, HELD, RUNNING. TERMINATED, TIMED_OUT: Temporal ended it from outside.',
    }),
  positions: z.array(position).meta({
    description: 'Where each currency of a rebalancing stood; empty for other kinds.',
  }),
  legs: z.array(leg),
  payments: z.array(payment),
  totals: z.array(total),
  problems: z.array(problem),
  evidence: z.array(evidence).meta({
    description:
      'Looks and calls, with times and trace ids, and what people said. Only this, and the times that are not the service’s, may differ in a repeat.',
  }),
});

/** Does not compile when the schema and the type differ. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Mutable<T> = T extends Problem
  ? { -readonly [K in keyof Problem]: K extends 'code' ? string : Problem[K] }
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T;
true satisfies Same<z.output<typeof ReportSchema>, Mutable<Report>>;

/** The JSON Schema that is committed as `policies/report.schema.json`. */
export function reportJsonSchema(): Readonly<Record<string, unknown>> {
  return { ...z.toJSONSchema(ReportSchema, { target: 'draft-7' }), title: 'Cambist report' };
}
