/**
 * Schedules for fast-check: everything that can happen, weighted so that most schedules are short and hurt in the middle
 * of something. Shrinking goes towards a plain day: no faults, no events, the first of every choice.
 */
import fc from 'fast-check';
import type {
  BatchSettings,
  Event,
  Misfortune,
  Moment,
  PolicySettings,
  ReadFault,
  Remedy,
  Schedule,
  ServiceSettings,
  WriteFault,
  WriteStep,
} from './schedule.ts';
import { GO_ON, LOST_REPLY, START, after, at, before, failed, refused, story, type Story } from './story.ts';

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
  startsWith: of('5000', '5000', '5000', '900', '400'),
  alsoMxn: of('0', '50000'),
  twins: fc.boolean(),
  readMs: of(40, 40, 40, 2 * SECOND),
});

const policy: fc.Arbitrary<PolicySettings> = fc.record({
  amount: of('sell', 'buy', 'sell all'),
  pays: oneOf<PolicySettings['pays']>(
    [400, of('proceeds', 'fixed', 'twins', 'both', 'rest')],
    [20, fc.constant('nobody' as const)],
    [1, fc.constant('batch')],
  ),
  shortfall: of('skip', 'hold'),
  validForSeconds: of(30, 60, 3),
  guard: fc.boolean(),
  limit: of(false, false, true),
  settle: of('funds', 'status'),
  startsAt: oneOf<PolicySettings['startsAt']>(
    [6, fc.constant('in the day')],
    [3, of('before the date', 'before midnight', 'before trades stop')],
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
  ...['scan trades', 'scan withdrawals', 'fetch trade', 'fetch withdrawal'],
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
/** A person may take a lunch break before saying yes. */
const promptMs = of(0, 0, 20 * SECOND, 2 * MINUTE, HOUR, 20 * HOUR);
const refuses = (step: WriteStep) =>
  fc.record({
    kind: fc.constant('refuses' as const),
    step: fc.constant(step),
    code: of(...REFUSALS[step]),
    // A leg that is refused is quoted again and again: longer is only more of the same.
    ms: step === 'withdrawal' ? of(5 * MINUTE, 3 * HOUR, 20 * HOUR, 2 * DAY, 3 * DAY) : of(5 * MINUTE, HOUR),
  });
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
      run: of(0, 0, 0, 1, 99),
    }),
  ],
  [1, fc.record({ kind: fc.constant('two resets' as const), back: of(0, 1, 3, 5) })],
  [
    5,
    fc.record({
      kind: fc.constant('terminate' as const),
      againAfterMs: of(0, 0, 5 * SECOND, MINUTE, 2 * HOUR, 2 * DAY, 8 * DAY),
      plan: of('kept', 'kept', 'lost'),
    }),
  ],
  [2, fc.record({ kind: fc.constant('vanish' as const), againAfterMs: of(5 * MINUTE, HOUR, 2 * DAY) })],
  [1, fc.record({ kind: fc.constant('start' as const), times: of(1, 10) })],
  [
    4,
    fc.record({
      kind: fc.constant('restore' as const),
      back: of(0, 1, 2, 3, 5, 8, 99),
      takesMs: of(51 * SECOND, 5 * MINUTE, 20 * MINUTE, 6 * HOUR, 2 * DAY),
    }),
  ],
  // What is typed in the place of a call is played in stories and by the walk: the judge cannot tell it from a call's answer.
  [1, fc.constant({ kind: 'answered', claim: 'failed' } as const)],
  [3, fc.record({ kind: fc.constant('cancel' as const), how: of('both', 'command', 'button') })],
  [4, fc.record({ kind: fc.constant('go on' as const), promptMs })],
  [1, fc.record({ kind: fc.constant('cause gone' as const), item, promptMs })],
  [4, oneOf<Misfortune>([1, refuses('quote')], [1, refuses('trade')], [2, refuses('withdrawal')])],
  [
    1,
    fc.record({
      kind: fc.constant('deposits' as const),
      each: of('250', '17000'),
      everyMs: of(MINUTE, 10 * MINUTE),
      times: of(5, 60),
    }),
  ],
  [
    2,
    fc.record({
      kind: fc.constant('Temporal’s clock' as const),
      byMs: seconds(-8, 8, -180, 180, -7_200, 7_200),
    }),
  ],
  [
    3,
    fc.record({
      kind: fc.constant('executed' as const),
      item,
      claim: of('true', 'twin', 'other', 'none'),
      promptMs,
    }),
  ],
  [2, fc.record({ kind: fc.constant('not executed' as const), item, promptMs })],
  [4, fc.record({ kind: fc.constant('pay again' as const), item: of(0, 1), ahead: of(1, 0), promptMs })],
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
      use: of('another key', 'a third key', 'another organisation', 'the plan’s'),
    }),
  ],
  [2, fc.record({ kind: fc.constant('lists unreadable' as const), ms: seconds(5, 300, 10_800, 172_800) })],
  [
    1,
    fc.record({
      kind: fc.constant('slow reads' as const),
      takesMs: seconds(1, 6, 12),
      ms: seconds(60, 600, 10_800),
    }),
  ],
  [
    1,
    fc.record({
      kind: fc.constant('instructions unreadable' as const),
      ms: seconds(5, 300, 10_800, 172_800),
    }),
  ],
  [1, fc.record({ kind: fc.constant('pause' as const), ms: seconds(5, 300, 10_800, 172_800) })],
  [1, fc.record({ kind: fc.constant('service away' as const), ms: seconds(5, 600, 10_800) })],
  [
    2,
    fc.record({
      kind: fc.constant('money' as const),
      currency: of('MXN', 'USD', 'EUR'),
      change: of('comes', 'goes'),
    }),
  ],
);

const event: fc.Arbitrary<Event> = oneOf<Event>(
  [3, fc.record({ when: sometime, what: misfortune, of: of(0, 0, 1) })],
  [1, fc.record({ when: atOnce, what: blow, of: fc.constant(0) })],
);

/** What people halt, and how workers read of it. */
const haltOrReading: fc.Arbitrary<Misfortune> = oneOf<Misfortune>(
  [
    4,
    fc.record({
      kind: fc.constant('halt' as const),
      policy: of(null, null, 'p', 'q'),
      currency: of(null, 'MXN', null, 'USD', 'EUR'),
      // A day later trades have stopped, and a week later payments have.
      forMs: of(SECOND / 2, 3 * SECOND, 20 * SECOND, 5 * MINUTE, 3 * HOUR, 30 * HOUR, 7 * DAY),
    }),
  ],
  [1, fc.record({ kind: fc.constant('halt record lost' as const), isBegunAnew: fc.boolean() })],
  [1, fc.record({ kind: fc.constant('halts unreadable' as const), ms: seconds(2, 30, 600, 10_800) })],
  [
    1,
    fc.record({
      kind: fc.constant('slow readings' as const),
      takesMs: of(300, 700, 950),
      ms: seconds(5, 60, 600),
    }),
  ],
);
const halts: fc.Arbitrary<readonly Event[]> = oneOf<readonly Event[]>(
  [7, fc.constant([])],
  [
    1,
    fc.array(
      fc.record({
        when: oneOf<Moment>([1, sometime], [1, atOnce]),
        what: haltOrReading,
        of: fc.constant(0),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  ],
);

const anythingWith = {
  service,
  policy,
  batch: fc.constant(null),
  rebalance: fc.constant(null),
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
  secondAfterMs: oneOf([24, fc.constant(null)], [1, of(0, 20 * SECOND, 2 * HOUR)]),
  remedy: oneOf<Remedy>(
    [
      3,
      fc.record({
        kind: fc.constant('reset' as const),
        back: of(0, 0, 1, 2, 5, 99),
        run: of(0, 0, 1, 99),
      }),
    ],
    [1, fc.record({ kind: fc.constant('go on' as const), promptMs })],
  ),
  story: fc.constant(null),
  longHistory: oneOf([4, fc.constant(4_000)], [1, of(6, 13, 40)]),
  healsAfterMs: oneOf([12, of(20 * MINUTE, 3 * HOUR)], [1, of(2 * DAY, 6 * DAY)]),
  isKeyKnown: fc.boolean(),
};
/** The halts come last, so that what a seed brings besides them stays as it is. */
export const anything: fc.Arbitrary<Schedule> = fc
  .record({ ...anythingWith, halts })
  .map(({ events, halts: halted, ...rest }): Schedule => ({ ...rest, events: [...events, ...halted] }));

/** A story that begins with a schedule, of whose faults and events only so many happen as well. */
function amid(schedule: Schedule, most: number): Story {
  const { quote, trade, withdrawal } = schedule.faults;
  return story({
    ...schedule,
    faults: {
      quote: quote.slice(0, most),
      trade: trade.slice(0, most),
      withdrawal: withdrawal.slice(0, most),
    },
    events: schedule.events.slice(0, most),
  });
}

const noise = of(0, 0, 0, 1, 2);
/** The account is not good yet: the payment ends, and somebody mends it. */
const REFUSED = refused('WITHDRAWAL_ADDRESS_NOT_VERIFIED');
const onceMore: fc.Arbitrary<Misfortune> = oneOf<Misfortune>(
  [2, fc.record({ kind: fc.constant('reset' as const), back: of(0, 1, 2, 3, 99), run: of(0, 1) })],
  [1, fc.record({ kind: fc.constant('go on' as const), promptMs })],
);

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
    return amid(schedule, 9)
      .given({ [step]: [failed({ committed })] })
      .when(at(`${side} fetch ${step}`), what).schedule;
  });

/** Somebody ends a run that waits. Before it is started again, somebody else has a payment paid again that was refused, or came back. */
const paidAgainAfterAnEnd = (schedules: fc.Arbitrary<Schedule>): fc.Arbitrary<Schedule> =>
  fc
    .record({
      schedule: schedules,
      isRefused: fc.boolean(),
      lost: writeFault('withdrawal'),
      endsAfterMs: of(100, 10 * SECOND, 5 * MINUTE, 2 * HOUR),
      againAfterMs: of(MINUTE, 2 * HOUR, 2 * DAY),
      saidAfterMs: of(SECOND, 20 * SECOND, 10 * MINUTE),
      promptMs: of(0, 20 * SECOND, HOUR),
      noise,
    })
    .map(({ schedule, isRefused, lost, endsAfterMs, againAfterMs, saidAfterMs, ...rest }): Schedule => {
      const later = (plusMs: number): Moment =>
        before('send withdrawal', { nth: 2, plusMs: endsAfterMs + plusMs });
      const { promptMs: waitsMs } = rest;
      return amid(schedule, rest.noise)
        .given({
          policy: { pays: 'twins', startsAt: 'in the day' },
          service: { startsWith: '5000', tradeWord: 'SETTLED', settlesAfterMs: 0 },
          withdrawal: [isRefused ? REFUSED : { kind: 'none' }, lost],
        })
        .when(later(0), { kind: 'terminate', againAfterMs, plan: 'kept' })
        .when(later(saidAfterMs / 2), isRefused ? [] : [{ kind: 'word', item: 1, word: 'RETURNED' }])
        .when(later(saidAfterMs), { kind: 'pay again', item: 0, ahead: 0, promptMs: waitsMs }).schedule;
    });

/** Somebody stands at the prompt of `--pay-again` while somebody else sends the first generation once more. */
const overtakes = fc
  .record({
    schedule: anything,
    lost: writeFault('withdrawal'),
    again: onceMore,
    blow: of(null, blow),
    blowAt: of('before send withdrawal', 'after send withdrawal'),
    blowNth: of(2, 3),
    againAfterMs: of(SECOND, 20 * SECOND, HOUR),
    promptMs: of(2 * SECOND, 25 * SECOND, 2 * MINUTE, 2 * HOUR),
    terminates: of(null, 100, 30 * SECOND),
    noise,
  })
  .chain(({ blow: strikes, ...rest }) =>
    (strikes ?? fc.constant(null)).map((what): Schedule => {
      const { schedule, lost, again, againAfterMs, promptMs: waitsMs, terminates } = rest;
      const payAgain = { kind: 'pay again', item: 0, ahead: 1, promptMs: waitsMs } as const;
      const told = amid(schedule, rest.noise)
        .given({ withdrawal: [REFUSED, lost] })
        .when(at('end', { plusMs: SECOND / 2 }), payAgain)
        .when(at('end', { plusMs: againAfterMs }), again)
        .when(at(rest.blowAt, { nth: rest.blowNth }), what === null ? [] : [what]);
      const ends: Misfortune = { kind: 'terminate', againAfterMs: 0, plan: 'kept' };
      return terminates === null
        ? told.schedule
        : told.when(before('send withdrawal', { nth: 2, plusMs: terminates }), ends).schedule;
    }),
  );

/** A run ends in the middle of a send, and Temporal's clock, by which starts are dated, is minutes behind. */
const endsByAnotherClock = fc
  .record({
    schedule: anything,
    step: of('trade' as const, 'withdrawal' as const),
    lateMs: of(0, 50 * SECOND, 4 * MINUTE),
    byMs: seconds(-180, -600, 180),
    plusMs: of(0, 30, 90, SECOND),
    noise,
  })
  .map(({ schedule, step, lateMs, byMs, plusMs, noise: rest }): Schedule => {
    const late: WriteFault = { kind: 'late', ms: lateMs, reply: 'none', resourceId: false, key: 'in work' };
    return amid(schedule, rest)
      .given({ [step]: [lateMs === 0 ? LOST_REPLY : late] })
      .when(START, { kind: 'Temporal’s clock', byMs })
      .when(before(`send ${step}`, { plusMs }), { kind: 'terminate', againAfterMs: 0, plan: 'kept' })
      .schedule;
  });

/** A person says "not executed" while an attempt is sending, and the worker dies. */
const decidesDuringASend = fc
  .record({
    schedule: anything,
    step: of('trade' as const, 'withdrawal' as const),
    fault: of<WriteFault[]>(
      { kind: 'lost after' },
      { kind: 'slow network', ms: 30 * SECOND },
      { kind: 'slow network', ms: 44_500 },
    ),
    saidMs: of(0, 30, 90),
    diesMs: of(0, 20, 90, 150),
    again: of(null, onceMore),
    noise,
  })
  .chain(({ again: more, ...rest }) =>
    (more ?? fc.constant(null)).map((again): Schedule => {
      const { schedule, step, fault, saidMs, diesMs } = rest;
      const sent = (plusMs: number): Moment => before(`send ${step}`, { plusMs });
      const decided: 0 | 1 = step === 'trade' ? 0 : 1;
      return amid(schedule, rest.noise)
        .given({ [step]: [fault] })
        .when(sent(saidMs), { kind: 'not executed', item: decided, promptMs: 0 })
        .when(sent(diesMs), { kind: 'crash' })
        .when(sent(10 * SECOND), again === null ? [] : [again]).schedule;
    }),
  );

/** Temporal comes back from a backup while the API key is another one, or the plan's once more. */
const forgetsUnderAnotherKey = fc
  .record({
    schedule: anything,
    step: of('trade' as const, 'withdrawal' as const),
    isFirst: fc.boolean(),
    back: of(0, 1, 2, 3, 5),
    takesMs: of(51 * SECOND, 5 * MINUTE, 6 * HOUR),
    keyAfterMs: of(0, 30 * SECOND),
    noise,
  })
  .map(({ schedule, step, isFirst, back, takesMs, keyAfterMs, noise: rest }): Schedule => {
    const another = { kind: 'credentials', use: 'another key' } as const;
    const plans = { kind: 'credentials', use: 'the plan’s' } as const;
    return amid(schedule, rest)
      .when(START, isFirst ? [another] : [])
      .when(after(`send ${step}`), { kind: 'restore', back, takesMs })
      .when(after(`send ${step}`, { plusMs: keyAfterMs }), isFirst ? plans : another).schedule;
  });

/** Refused, mended, reset, and reset again, whatever the lists show. */
const resetAgainAndAgain = fc
  .record({
    schedule: anything,
    refusals: fc.array(of(REFUSED), { minLength: 1, maxLength: 3 }),
    again: fc.array(onceMore, { minLength: 2, maxLength: 4 }),
    everyMs: of(MINUTE, 20 * MINUTE, 2 * HOUR, 20 * HOUR),
    noise,
  })
  .map(
    ({ schedule, refusals, again, everyMs, noise: rest }): Schedule =>
      again.reduce(
        (told, what, index) => told.when(at('end', { plusMs: (index + 1) * everyMs }), what),
        amid(schedule, rest).given({ withdrawal: refusals }),
      ).schedule,
  );

/** Two runs of one day pay the same, and one of them is refused or goes missing on the way. */
const twinRuns = fc
  .record({
    schedule: anything,
    faults: fc.array(oneOf([1, fc.constant(REFUSED)], [1, writeFault('withdrawal')]), { maxLength: 3 }),
    secondAfterMs: of(0, 20 * SECOND, 2 * HOUR),
    again: onceMore,
    which: of<(0 | 1)[]>(0, 1),
    noise,
  })
  .map(
    ({ schedule, faults, secondAfterMs, again, which, noise: rest }): Schedule =>
      amid(schedule, rest)
        .given({
          policy: { pays: 'fixed' },
          service: { startsWith: '5000' },
          withdrawal: faults,
          secondAfterMs,
        })
        .when(at('end', { plusMs: MINUTE }), again, which).schedule,
  );

/** A refusal that lasts for days, or money that comes by drops. */
const lastingRefusal = fc
  .record({
    schedule: anything,
    code: of(
      'WITHDRAWAL_DISABLED_FOR_ACCOUNT',
      'WITHDRAWAL_PENDING_DEPOSIT_REQUIRED',
      'WITHDRAWAL_INSUFFICIENT_BALANCE',
      'AUTH_API_KEY_INVALID',
    ),
    ms: of(HOUR, 20 * HOUR, 2 * DAY, 3 * DAY),
    drops: fc.boolean(),
    noise,
  })
  .map(
    ({ schedule, code, ms, drops, noise: rest }): Schedule =>
      amid(schedule, rest)
        .given({ policy: { shortfall: 'hold', startsAt: 'in the day' } })
        .when(START, { kind: 'refuses', step: 'withdrawal', code, ms })
        .when(START, drops ? [{ kind: 'deposits', each: '17000', everyMs: 10 * MINUTE, times: 8 }] : [])
        .schedule,
  );

/** Courses of events that chance seldom brings, with how often they are played in a thousand schedules. */
export const STORIES = {
  'strikes a fetch': [20, strikesAFetch],
  'pay again overtakes': [40, overtakes],
  'pay again after an end': [20, paidAgainAfterAnEnd(anything)],
  'Temporal’s clock is off': [20, endsByAnotherClock],
  'decides during a send': [20, decidesDuringASend],
  'forgets under another key': [20, forgetsUnderAnotherKey],
  'reset again and again': [30, resetAgainAndAgain],
  'twins of two runs': [20, twinRuns],
  'a refusal that lasts': [10, lastingRefusal],
} as const satisfies Readonly<Record<string, readonly [number, fc.Arbitrary<Schedule>]>>;

export const schedules: fc.Arbitrary<Schedule> = oneOf(
  [800, anything],
  ...Object.entries(STORIES).map(
    ([name, [weight, arbitrary]]) =>
      [weight, arbitrary.map((schedule): Schedule => ({ ...schedule, story: name }))] as const,
  ),
);

const batch: fc.Arbitrary<BatchSettings> = fc.record({
  chunks: fc.array(of(1, 2, 3, 4), { minLength: 2, maxLength: 4 }),
  otherChunks: fc.array(of(1, 2, 3), { minLength: 1, maxLength: 2 }),
  parallel: of(1, 2, 3, 8),
  stopAfter: of(null, null, null, 1, 2),
  canary: of(null, null, null, 1),
  cutAfter: of(null, null, null, 0, 1),
  submittedAgainAfterMs: of(5 * SECOND, MINUTE, 2 * HOUR),
  isFunded: of(false, false, true),
});

/** Of chunks and runs. */
const placeInBatch = of(0, 0, 1, 1, 2, 3, 4);
const BATCH_MOMENTS = ['start of a chunk', 'end of a chunk', 'start', 'end'];
const eventOfBatch: fc.Arbitrary<Event> = oneOf<Event>(
  [3, fc.record({ when: sometime, what: misfortune, of: placeInBatch })],
  [1, fc.record({ when: atOnce, what: blow, of: fc.constant(0) })],
  [
    1,
    fc.record({
      when: fc.record({
        at: of(...BATCH_MOMENTS),
        nth: of(1, 1, 2, 3),
        plusMs: of(0, 30, 150, SECOND, 20 * SECOND),
      }),
      what: misfortune,
      of: placeInBatch,
    }),
  ],
);

const NO_TRADES = { quote: [], trade: [] } as const;

/** Batches: the same faults and misfortunes, and those of a coordinator and its chunks. */
const anyBatch: fc.Arbitrary<Schedule> = fc
  .record({
    schedule: anything,
    batch,
    events: fc.array(eventOfBatch, { maxLength: 6, size: 'max' }),
    alsoMxn: of('50000', '50000', '50000', '300'),
    /** Of a batch that funds itself. */
    there: fc.record({ startsWith: of('5000', '5000', '5000', '40'), alsoMxn: of('0', '300', '500') }),
    // Strangers' records take the freshness of a plan away.
    twins: of(false, false, false, true),
    withdrawals: writeFaults('withdrawal', 8),
    longHistory: oneOf([2, fc.constant(4_000)], [1, of(4, 8, 13, 25)]),
    secondAfterMs: of(null, null, 0, 30, 20 * SECOND, 2 * HOUR),
    halts,
  })
  .map(
    ({ schedule, batch: settings, events, halts: halted, alsoMxn, there, twins, withdrawals, ...rest }) => ({
      ...schedule,
      ...rest,
      service: { ...schedule.service, alsoMxn, twins, ...(settings.isFunded && there) },
      batch: settings,
      events: [...events, ...halted],
      faults: { ...(settings.isFunded ? schedule.faults : NO_TRADES), withdrawal: withdrawals },
    }),
  );

/** Everything is lost in Temporal while payments are made, and the same file is submitted again under another API key. */
const lostUnderAnotherKey = fc
  .record({ schedule: anyBatch, nth: of(1, 2, 3), againAfterMs: of(5 * MINUTE, 2 * HOUR) })
  .map(({ schedule, nth, againAfterMs }): Schedule => {
    return amid(schedule, 0)
      .given({
        service: {
          keysBelongTo: 'api key',
          metadataInLists: 'always',
          twins: false,
          paymentWord: 'COMPLETED',
          returnsAfterMs: null,
          lagMs: 0,
        },
        secondAfterMs: null,
      })
      .when(after('send withdrawal', { nth }), { kind: 'terminate', againAfterMs, plan: 'lost' })
      .when(after('send withdrawal', { nth, plusMs: SECOND }), {
        kind: 'credentials',
        use: 'another key',
      }).schedule;
  });

/** Nobody could be paid by either of two batches; then both go on at the same moment. */
const bothGoOn = fc
  .record({ schedule: anyBatch, apartMs: of(0, 0, 30, 90, 400) })
  .map(({ schedule, apartMs }): Schedule => {
    const code = 'WITHDRAWAL_ADDRESS_NOT_VERIFIED';
    const other = 1 + (schedule.batch?.chunks.length ?? 0);
    return amid(schedule, 0)
      .given({
        service: { stores: 'nothing else', twins: false },
        policy: { startsAt: 'in the day' },
        secondAfterMs: 30,
        longHistory: 4_000,
      })
      .when(START, { kind: 'refuses', step: 'withdrawal', code, ms: 5 * MINUTE })
      .when(at('end', { nth: 2, plusMs: 10 * MINUTE }), GO_ON)
      .when(at('end', { nth: 2, plusMs: 10 * MINUTE + apartMs }), GO_ON, other).schedule;
  });

/** A batch does not get its trade at first. Then some of the money that it lacks comes by itself, and somebody tries again. */
const itsMoneyComes = fc
  .record({
    schedule: anyBatch,
    alsoMxn: of('0', '300'),
    comes: of<Misfortune[]>(
      { kind: 'money', currency: 'MXN', change: 'comes' },
      { kind: 'deposits', each: '250', everyMs: 10 * SECOND, times: 5 },
    ),
    again: onceMore,
    noise,
  })
  .map(
    ({ schedule, alsoMxn, comes, again, noise: rest }): Schedule =>
      amid(schedule, rest)
        .given({
          batch: { isFunded: true },
          policy: { startsAt: 'in the day' },
          service: { prices: ['16', '17.25'], startsWith: '5000', alsoMxn },
          secondAfterMs: null,
        })
        .when(at('end', { plusMs: MINUTE }), comes)
        .when(at('end', { plusMs: 3 * MINUTE }), again).schedule,
  );

/**
 * The account of a payment is not good when its batch is planned. Somebody mends it, or does not, and tries again. Then it is
 * not good any more, perhaps while the service is at work on the payment, and somebody tries once more.
 */
const accountIsMended = fc
  .record({
    schedule: anyBatch,
    account: of('wac_supplier', 'wac_2', 'wac_3'),
    isMended: of(true, true, false),
    again: fc.tuple(onceMore, onceMore),
    places: fc.tuple(placeInBatch, placeInBatch),
    afterMs: of(100, SECOND, 5 * SECOND, MINUTE, 2 * HOUR),
    noise,
  })
  .map(({ schedule, account, isMended, again: [first, second], places, afterMs, ...rest }): Schedule => {
    const is = (status: 'VERIFIED' | 'UNVERIFIED'): Misfortune => ({ kind: 'account', account, status });
    const later = (plusMs: number): Moment => at('end', { plusMs: MINUTE + plusMs });
    return amid(schedule, rest.noise)
      .given({ policy: { startsAt: 'in the day' } })
      .when(START, is('UNVERIFIED'))
      .when(later(0), isMended ? is('VERIFIED') : [])
      .when(later(SECOND), first, places[0])
      .when(later(SECOND + afterMs), is('UNVERIFIED'))
      .when(later(SECOND + 2 * afterMs), second, places[1]).schedule;
  });

/** Courses of events of batches that chance seldom brings, with how often they are played in a hundred schedules of batches. */
export const STORIES_OF_BATCHES = {
  'lost under another key': [6, lostUnderAnotherKey],
  'both batches go on': [6, bothGoOn],
  'the money of a batch comes': [4, itsMoneyComes],
  'a batch pays again after an end': [4, paidAgainAfterAnEnd(anyBatch)],
  'an account is mended': [8, accountIsMended],
} as const satisfies Readonly<Record<string, readonly [number, fc.Arbitrary<Schedule>]>>;

export const batches: fc.Arbitrary<Schedule> = oneOf(
  [80, anyBatch],
  ...Object.entries(STORIES_OF_BATCHES).map(
    ([name, [weight, arbitrary]]) =>
      [weight, arbitrary.map((schedule): Schedule => ({ ...schedule, story: name }))] as const,
  ),
);
