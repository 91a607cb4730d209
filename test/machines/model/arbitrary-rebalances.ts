/** Schedules of rebalancings: the same faults and misfortunes, several legs, and two runs that want the same money. */
import fc from 'fast-check';
import { anything } from './arbitrary.ts';
import type { Event, RebalanceSettings, Schedule } from './schedule.ts';

const MINUTE_MS = 60_000;
const of = fc.constantFrom;

const rebalance: fc.Arbitrary<RebalanceSettings> = fc.record({
  startsWith: fc.record({
    USD: of('5000', '1200', '900', '100000'),
    EUR: of('2500', '1000', '2100', '9000'),
    GBP: of('0', '400', '250'),
    MXN: of('60000', '1000', '0', '900000'),
  }),
  perTrade: of(null, null, '5000', '1000'),
  perRun: of(null, null, '6000', '1500'),
  perDay: of(null, null, '7000', '2000'),
  maxTrades: of(null, null, 1, 2),
  other: of('policy', 'run'),
});

/** Of two runs. */
const place = of(0, 0, 1);

const anyRebalance: fc.Arbitrary<Schedule> = fc
  .record({
    schedule: anything,
    rebalance,
    places: fc.array(place, { minLength: 6, maxLength: 6 }),
    secondAfterMs: of(null, 0, 30, 2_000, 20_000, MINUTE_MS, 3 * MINUTE_MS, 120 * MINUTE_MS),
    isPlain: of(true, true, false),
    moneyMoves: of(false, false, true),
  })
  .map(({ schedule, rebalance: settings, places, secondAfterMs, isPlain, moneyMoves }): Schedule => ({
    ...schedule,
    rebalance: settings,
    policy: { ...schedule.policy, amount: 'sell', pays: 'fixed', guard: false, limit: false },
    // Most trades settle, so that what was planned together is judged together.
    service: { ...schedule.service, ...(isPlain && { tradeWord: 'SETTLED' }) },
    faults: { ...schedule.faults, withdrawal: [] },
    events: schedule.events
      .filter(({ what }) => moneyMoves || (what.kind !== 'money' && what.kind !== 'deposits'))
      .map((event, index): Event => ({ ...event, of: places[index] ?? 0 })),
    secondAfterMs,
  }));

export const rebalances: fc.Arbitrary<Schedule> = anyRebalance;
