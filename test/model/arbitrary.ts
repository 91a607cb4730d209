/**
 * Schedules for fast-check: everything that can happen, weighted so that most schedules are short and hurt in the middle
 * of something. Shrinking goes towards a plain day: no faults, no events, the first of every choice.
 */
import fc from 'fast-check';
import type {
  Event,
  Misfortune,
  Moment,
  PolicySettings,
  ReadFault,
  Schedule,
  ServiceSettings,
  WriteFault,
  WriteStep,
} from './schedule.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const of = fc.constantFrom;
/** One of these, as often as their weights say. */
const oneOf = <T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
const seconds = (...values: readonly number[]) => of(...values.map((value) => value * SECOND));

const service: fc.Arbitrary<ServiceSettings> = fc.record({
  stores: of('nothing else', 'refusals', 'every error'),
  keysBelongTo: of('organisation', 'api key'),
  metadataInLists: of('always', 'never', 'mixed'),
  refusesDuplicates: of(false, false, true),
  deadQuoteSays: of('consumed', 'expired'),
  lagMs: of(0, 0, 3 * SECOND, MINUTE),
  lagById: fc.boolean(),
  dates: of(true, true, true, false),
  headersLost: of(0, 0, 0, 2),
  quotesExpireAt: of('told', 'null'),
  prices: of(['17.25'], ['17.0000001'], ['16.5', '17.25'], ['17.4', '17.2'], ['17.25', '16.9', '17.01']),
  settlesAfterMs: of(0, 5 * SECOND, 40 * MINUTE, 20 * HOUR),
  tradeWord: of('SETTLED', 'SETTLED', 'SETTLED', 'SETTLED', 'FAILED', 'LOCKED'),
  paysAfterMs: of(SECOND, MINUTE, 3 * HOUR, DAY),
  paymentWord: of('COMPLETED', 'COMPLETED', 'COMPLETED', 'FAILED', 'ON_HOLD'),
  returnsAfterMs: of(null, null, null, 500, 2 * HOUR),
  startsWith: of('5000', '5000', '5000', '900'),
  alsoMxn: of('0', '50000'),
  twins: fc.boolean(),
  readMs: of(40, 40, 40, 2 * SECOND),
});

const policy: fc.Arbitrary<PolicySettings> = fc.record({
  amount: of('sell', 'buy', 'sell all'),
  pays: of('proceeds', 'fixed', 'twins', 'both'),
  shortfall: of('skip', 'hold'),
  validForSeconds: of(30, 60, 3),
  guard: fc.boolean(),
  limit: of(false, false, true),
  settle: of('funds', 'status'),
  startsAt: oneOf<PolicySettings['startsAt']>(
    [6, fc.constant('in the day')],
    [3, of('before the date', 'before midnight', 'before the fence of trades')],
  ),
});

/** Codes of every class, per step; the same class can mean a wait, an end or a pause. */
export const REFUSALS: Readonly<Record<WriteStep, readonly string[]>> = {
  quote: [
    'TRADE_AMOUNT_BELOW_MINIMUM',
    'TRADE_DISABLED',
    'AUTH_INSUFFICIENT_SCOPE',
    'VALIDATION_BODY_FAILED',
  ],
  trade: [
    'TRADE_INSUFFICIENT_BALANCE',
    'TRADE_CREDIT_LIMIT_EXCEEDED',
    'TRADE_AMOUNT_ABOVE_LIMIT',
    'TRADE_DISABLED',
    'AUTH_API_KEY_INVALID',
    'VALIDATION_BODY_FAILED',
    'QUOTE_EXPIRED',
    'QUOTE_NOT_FOUND',
  ],
  withdrawal: [
    'WITHDRAWAL_INSUFFICIENT_BALANCE',
    'WITHDRAWAL_PENDING_DEPOSIT_REQUIRED',
    'WITHDRAWAL_ADDRESS_NOT_VERIFIED',
    'WITHDRAWAL_DISABLED_FOR_ACCOUNT',
    'AUTH_TOKEN_EXPIRED',
    'VALIDATION_BODY_FAILED',
  ],
};
export const PROBABLY_OURS: Readonly<Record<WriteStep, readonly string[]>> = {
  quote: ['IDEMPOTENCY_MISMATCH'],
  trade: ['TRADE_DUPLICATE_CLIENT_REFERENCE', 'QUOTE_ALREADY_CONSUMED', 'IDEMPOTENCY_MISMATCH'],
  withdrawal: ['IDEMPOTENCY_MISMATCH'],
};

function writeFault(step: WriteStep): fc.Arbitrary<WriteFault> {
  const committed = fc.boolean();
  const late = fc.record({
    kind: fc.constant('late' as const),
    ms: of(5 * SECOND, 50 * SECOND, 2 * MINUTE, 4 * MINUTE, 20 * MINUTE, HOUR, 20 * HOUR, 2 * DAY),
    reply: of('none', '500'),
    resourceId: fc.boolean(),
    key: of('in work', 'in work', 'free', 'stored'),
  });
  return oneOf<WriteFault>(
    [2, fc.constant({ kind: 'none' })],
    [3, of<WriteFault[]>({ kind: 'lost after' }, { kind: 'lost before' }, { kind: 'not sent' })],
    [2, fc.record({ kind: fc.constant('slow network' as const), ms: seconds(2, 14, 30, 44.5, 60) })],
    [step === 'quote' ? 0 : 5, late],
    [
      4,
      fc.record({
        kind: fc.constant('5xx' as const),
        committed,
        stored: step === 'quote' ? fc.constant(false) : fc.boolean(),
        resourceId: fc.boolean(),
        timeoutMs: of(null, 3 * SECOND, 30 * SECOND),
      }),
    ],
    [1, fc.record({ kind: fc.constant('429' as const), retryAfterMs: of(null, SECOND, 40 * SECOND) })],
    [1, of<WriteFault[]>({ kind: '503' }, { kind: 'same key, please' })],
    [2, fc.record({ kind: of('html' as const, 'odd success' as const, 'nonce replay' as const), committed })],
    [2, fc.record({ kind: fc.constant('unknown code' as const), status: of(400, 500), committed })],
    [5, fc.record({ kind: fc.constant('refusal' as const), code: of(...REFUSALS[step]) })],
    [1, fc.record({ kind: fc.constant('ours, probably' as const), code: of(...PROBABLY_OURS[step]) })],
  );
}

const writeFaults = (step: WriteStep, most: number) => fc.array(writeFault(step), { maxLength: most });

const readFaults = oneOf<readonly ReadFault[]>(
  [4, fc.constant([])],
  [
    1,
    fc.array(of<ReadFault[]>('none', 'no answer', 'html', '500', 'second page', 'key refused'), {
      maxLength: 6,
    }),
  ],
);

const EFFECTS = [
  ...['read instructions', 'read balances', 'send quote', 'send trade', 'send withdrawal'],
  ...['sweep trades', 'sweep withdrawals', 'fetch trade', 'fetch withdrawal'],
];
/** Wherever an attempt can be struck. */
export const MOMENTS = [
  ...EFFECTS.flatMap((effect) => [`before ${effect}`, `after ${effect}`]),
  'before result',
];

const moment = (plusMs: fc.Arbitrary<number>): fc.Arbitrary<Moment> =>
  fc.record({
    at: oneOf(
      [2, of('before send trade', 'after send trade')],
      [3, of('before send withdrawal', 'after send withdrawal')],
      [4, of(...MOMENTS)],
      [1, of('start', 'end')],
    ),
    nth: of(1, 1, 1, 1, 1, 2, 2, 3),
    plusMs,
  });
/** In the middle of things. */
const atOnce = moment(of(0, 0, 0, 0, 30, 90, 150, SECOND));
const sometime = moment(
  of(
    ...[0, 0, 30, 90, 150, SECOND, 7 * SECOND, 16 * SECOND, 25 * SECOND, MINUTE, 3 * MINUTE, 20 * MINUTE],
    ...[2 * HOUR, 13 * HOUR, 30 * HOUR, 4 * DAY],
  ),
);

const item = of(0, 1, 2);
/** What strikes attempts in the middle of what they do. */
const blow: fc.Arbitrary<Misfortune> = oneOf<Misfortune>(
  [4, fc.constant({ kind: 'crash' })],
  [3, fc.record({ kind: fc.constant('freeze' as const), ms: seconds(2, 7, 15, 21, 60, 3_600) })],
  [3, fc.constant({ kind: 'mute' })],
);
const misfortune: fc.Arbitrary<Misfortune> = oneOf<Misfortune>(
  [1, fc.record({ kind: fc.constant('slow dispatch' as const), ms: seconds(2, 4.9, 30) })],
  [
    2,
    fc.record({
      kind: fc.constant('away' as const),
      ms: of(MINUTE, 3 * HOUR, DAY, 5 * DAY, 7.5 * DAY, 21 * DAY),
    }),
  ],
  [
    9,
    fc.record({
      kind: fc.constant('reset' as const),
      back: of(0, 0, 1, 2, 3, 4, 6, 9, 99),
      run: of(0, 0, 0, 1),
    }),
  ],
  [1, fc.record({ kind: fc.constant('two resets' as const), back: of(0, 1, 3, 5) })],
  [
    5,
    fc.record({
      kind: fc.constant('terminate' as const),
      againAfterMs: of(0, 0, 5 * SECOND, MINUTE, 2 * HOUR, 2 * DAY, 8 * DAY),
      pin: of('kept', 'kept', 'lost'),
    }),
  ],
  [1, fc.record({ kind: fc.constant('start' as const), times: of(1, 10) })],
  [
    4,
    fc.record({
      kind: fc.constant('restore' as const),
      back: of(0, 1, 2, 3, 5, 8, 99),
      takesMs: of(5 * MINUTE, 20 * MINUTE, 6 * HOUR),
    }),
  ],
  [3, fc.record({ kind: fc.constant('cancel' as const), how: of('both', 'command', 'button') })],
  [4, fc.constant({ kind: 'go on' })],
  [
    3,
    fc.record({ kind: fc.constant('executed' as const), item, claim: of('true', 'twin', 'other', 'none') }),
  ],
  [2, fc.record({ kind: fc.constant('not executed' as const), item })],
  [4, fc.record({ kind: fc.constant('pay again' as const), item: of(0, 1), ahead: of(1, 0) })],
  [
    2,
    fc.record({
      kind: fc.constant('our clock' as const),
      byMs: seconds(-8, 8, -60, 60, -7_200, 7_200, -259_200),
    }),
  ],
  [1, fc.record({ kind: fc.constant('their clock' as const), byMs: seconds(-8, 8, -60, 60) })],
  [
    3,
    fc.record({
      kind: fc.constant('credentials' as const),
      use: of('another key', 'another key', 'another organisation', 'the plan’s'),
    }),
  ],
  [2, fc.record({ kind: fc.constant('lists unreadable' as const), ms: seconds(5, 300, 10_800, 172_800) })],
  [1, fc.record({ kind: fc.constant('service away' as const), ms: seconds(5, 600, 10_800) })],
  [
    2,
    fc.record({
      kind: fc.constant('money' as const),
      currency: of('MXN', 'USD'),
      change: of('comes', 'goes'),
    }),
  ],
);

const event: fc.Arbitrary<Event> = oneOf<Event>(
  [3, fc.record({ when: sometime, what: misfortune })],
  [1, fc.record({ when: atOnce, what: blow })],
);

const anything: fc.Arbitrary<Schedule> = fc.record({
  service,
  policy,
  faults: fc.record({
    quote: writeFaults('quote', 2),
    trade: writeFaults('trade', 4),
    withdrawal: writeFaults('withdrawal', 4),
  }),
  reads: fc.record({
    trades: readFaults,
    withdrawals: readFaults,
    balances: readFaults,
    'by id': readFaults,
  }),
  events: fc.array(event, { maxLength: 6, size: 'max' }),
  longHistory: oneOf([4, fc.constant(4_000)], [1, of(6, 13, 40)]),
  healsAfterMs: oneOf([12, of(20 * MINUTE, 3 * HOUR)], [1, of(2 * DAY, 6 * DAY)]),
});

/** Something strikes while a record is read by the id that a failure named: seldom by chance. */
const strikesAFetch = fc
  .record({
    schedule: anything,
    step: of('trade' as const, 'withdrawal' as const),
    side: of('before', 'after'),
    what: blow,
    committed: fc.boolean(),
  })
  .map(({ schedule, step, side, what, committed }): Schedule => {
    const fault: WriteFault = { kind: '5xx', committed, stored: false, resourceId: true, timeoutMs: null };
    const at = `${side} fetch ${step}`;
    return {
      ...schedule,
      faults: { ...schedule.faults, [step]: [fault, ...schedule.faults[step]] },
      events: [{ when: { at, nth: 1, plusMs: 0 }, what }, ...schedule.events],
    };
  });

export const schedules: fc.Arbitrary<Schedule> = oneOf([40, anything], [1, strikesAFetch]);
