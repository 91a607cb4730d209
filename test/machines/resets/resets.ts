/**
 * Resets: runs of every sample policy, brought into every state, are rewound by Temporal's own *Reset* to every
 * event that it takes, and started again, and their plans are rewound too. While the cause lasts, none of this may move
 * money or change a report; once it is gone, what was missing is done, once (M1, M3, M8).
 *
 * Each stage has a service of its own that keeps errors and shows tags in its own way. All copies of a stage are rewound
 * side by side; while nothing but time helps any of them, time passes (see `test/support/passing-time.ts`).
 */
import { inspect, isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Plan } from '../../../domain/plan/plan.ts';
import type { Report } from '../../../domain/run/report.ts';
import type { LedgerView } from '../../../sandbox/server.ts';
import { PLAN_TYPE, planIdOf } from '../../../workflows/names.ts';
import type { PlanInput } from '../../../domain/run/calls.ts';
import { uniqueName } from '../../support/dev-server.ts';
import { diceOf, type Dice } from '../../support/dice.ts';
import { againstPlan, disagreements, isRecordOf, movedTwice, recordsOf } from '../../support/agreement.ts';
import { wakeable } from '../../support/passing-time.ts';
import { openStage, type Stage } from '../../support/stage.ts';
import { lasting } from '../../support/lasting.ts';
import {
  draftCopy,
  planOf,
  reportOf,
  standingOf,
  start,
  terminate,
  untilEnded,
  type Copy,
} from './copies.ts';
import { legalEvents, legalPlaces, rewind, type Place } from './rewind.ts';
import { RATES, SAMPLES, cents, ownCurrency, textsOf, type Sample } from './samples.ts';
import {
  STATES,
  easeAll,
  failedBy,
  faultOf,
  sayOf,
  spentIn,
  troubledAccounts,
  wake,
  type State,
} from './states.ts';
import type { Service } from './services.ts';
import { isInSlice, WHOLE, type Slice } from '../../../scripts/lib/slice.mjs';

export type ResetsOptions = {
  readonly seed: number;
  readonly services: readonly Service[];
  /**
   * `some`: each state of each sample on one of the services, at every moment where rewinds are quick, at two where they
   * wait in doubt. `all`: at every event, with signals and without, on each service.
   */
  readonly extent: 'some' | 'all';
  /** Only the copies of this slice. */
  readonly slice?: Slice;
  /** Only states and samples whose names contain this, and only the services of these numbers in `services`. */
  readonly only?: {
    readonly state?: string | undefined;
    readonly sample?: string | undefined;
    readonly services?: readonly number[] | undefined;
  };
  readonly tell?: (line: string) => void;
};

/** What was done to the copies of one sample in one state, and what came of it. */
export type Row = {
  readonly state: string;
  readonly sample: string;
  /** Why there is none of it; null where there is. */
  readonly leftOut: string | null;
  /** Copies that there should be. */
  wanted: number;
  copies: number;
  /** Calls of Temporal's reset, of runs and of plan workflows. */
  resets: number;
  /** Resets of a run to a place before a signal, which came again, and those where it was left out. */
  signalsAgain: number;
  signalsLeftOut: number;
  /** Events that look like a place to go back to, and are none to Temporal. */
  refused: number;
  /** New starts of runs and of plan workflows. */
  starts: number;
  /** Rewinds and starts after which the ledger had not changed by anything. */
  unchanged: number;
  /** Copies in which, once the cause was gone, exactly what was missing was done. */
  completed: number;
};

export type ResetsResult = { readonly rows: readonly Row[]; readonly failures: readonly string[] };

export async function resetRuns(options: ResetsOptions): Promise<ResetsResult> {
  const { services, only = {} } = options;
  const rows: Row[] = STATES.flatMap((state) =>
    SAMPLES.map((sample) => ({
      state: state.name,
      sample: sample.name,
      leftOut: state.leftOut(sample),
      wanted: 0,
      copies: 0,
      resets: 0,
      signalsAgain: 0,
      signalsLeftOut: 0,
      refused: 0,
      starts: 0,
      unchanged: 0,
      completed: 0,
    })),
  ).filter((row) => isChosen(STATES, row.state, only.state) && isChosen(SAMPLES, row.sample, only.sample));
  const failures: string[] = [];
  const waiting = services
    .map((service, index) => ({ service, index }))
    .filter(({ index }) => only.services === undefined || only.services.includes(index));
  const resetInTurn = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const part = new ServiceResets(options, next.service, next.index, rows);
      await part.carryOutAll();
      failures.push(...part.failures);
    }
  };
  await Promise.all(Array.from({ length: SERVICES_AT_ONCE }, resetInTurn));
  return { rows, failures: [...failures, ...(failures.length === 0 ? undone(rows) : [])] };
}

/** By its whole name where one is called so, else by a part of it. */
function isChosen(all: readonly { readonly name: string }[], name: string, part = ''): boolean {
  return all.some((one) => one.name === part) ? name === part : name.includes(part);
}

/** What was to be done and was not, though nothing failed: one that does nothing must not look like a good one. */
function undone(rows: readonly Row[]): readonly string[] {
  if (rows.every(({ wanted }) => wanted === 0)) return ['No state of any sample was chosen.'];
  return rows.flatMap((row) => {
    const goesOn = STATES.some(({ name, goesOnBy }) => name === row.state && goesOnBy !== null);
    const isDone =
      row.copies === row.wanted &&
      (row.wanted === 0 || row.resets + row.starts > 0) &&
      row.completed === (goesOn ? row.wanted : 0);
    return isDone ? [] : [`Not all was done, though nothing failed: ${JSON.stringify(row)}`];
  });
}

/** One for each core, and one more, because most copies wait. */
const SERVICES_AT_ONCE = 3;
const LOOKS_AT_LEAST_EVERY_MS = 3_000;
/** Whether a run that does not end is lost is asked so often. */
const ENDED_WITHIN_MS = 15_000;
/** Runs that are begun or rewound at one moment on one service: more of them only make each other late. */
const BUSY_AT_ONCE = 6;
/** A rewound run that has not come to rest by then waits for time to pass, and no longer keeps others back. */
const BUSY_FOR_MS = 2_500;
/** Against hanging alone: it takes seconds to come into a state, and a doubt is over within seconds, as time passes. */
const LOST_AFTER_MS = 20 * 60_000;
/** Of every currency more than a run sells or pays: where a second payment lacked money, nobody would see that it was sent. */
const PLENTY = Object.fromEntries(
  ['USD', 'EUR', 'GBP', 'MXN', 'BRL', 'USDC'].map((currency) => [currency, '50000000']),
) as Record<string, string>;

/** What is done to one copy, one after the other. */
type Rewinding =
  | { readonly kind: 'reset'; readonly place: Place; readonly withSignals: boolean }
  | { readonly kind: 'reset of a reset' }
  | { readonly kind: 'two resets at once' }
  | { readonly kind: 'start again' }
  | { readonly kind: 'reset of the plan' }
  | { readonly kind: 'plan started again' };

type Special = Exclude<Rewinding, { readonly kind: 'reset' }>;

const SPECIAL: readonly Special[] = [
  { kind: 'reset of a reset' },
  { kind: 'two resets at once' },
  { kind: 'start again' },
  { kind: 'reset of the plan' },
  { kind: 'plan started again' },
];

/** What one copy is for. */
type Share =
  /** Each event but those that other copies take: `nth` of every `of`; `both` with and without signals. */
  | { readonly kind: 'events'; readonly nth: number; readonly of: number; readonly both: boolean }
  /** Some event of the earlier or the later half. */
  | { readonly kind: 'an event'; readonly half: 'earlier' | 'later' }
  | { readonly kind: 'special'; readonly list: readonly Special[] };

/** A copy that there shall be. */
type Ordered = {
  readonly state: State;
  readonly sample: Sample;
  readonly row: Row;
  readonly share: Share;
  /** Its own, so that it makes the same choices alone and among all. */
  readonly dice: Dice;
};

/** A copy in its state, as it was before anything was rewound. */
type Subject = Ordered & { readonly copy: Copy; readonly report: Report };

class ServiceResets {
  readonly failures: string[] = [];
  readonly #options: ResetsOptions;
  readonly #service: Service;
  readonly #index: number;
  readonly #rows: readonly Row[];
  readonly #busy = new Gate(BUSY_AT_ONCE);
  readonly #startedAt = performance.now();
  #copies = 0;
  readonly #names: string[] = [];

  constructor(options: ResetsOptions, service: Service, index: number, rows: readonly Row[]) {
    this.#options = options;
    this.#service = service;
    this.#index = index;
    this.#rows = rows;
  }

  async carryOutAll(): Promise<void> {
    const stage = await openStage({
      settings: {
        ...this.#service,
        // Nobody waits for money that another copy has taken.
        boughtMoneyWithdrawable: 'at_trade',
        settlementMs: { IMMEDIATE: 0, T0: 100, T1: 200, T2: 300 },
        maxTradeUsd: '1000000000000',
      },
      balances: PLENTY,
      rates: RATES.usual,
    });
    try {
      stage.sandbox.putAccounts(troubledAccounts('refuse'));
      await stage.startWorker();
      const subjects = await this.#bringAll(stage);
      this.#tell(`${subjects.length} copies stand${aheadOf(stage)}`);
      await this.#rewindAll(stage, subjects);
      this.#tell(`rewound${aheadOf(stage)}`);
      easeAll(stage);
      await Promise.all(
        subjects.map((subject) => this.#judge(subject, 'afterwards', () => this.#goOn(subject))),
      );
      this.#tell(`what was missing is done${aheadOf(stage)}`);
      this.#judgeLedger(stage);
      await Promise.all(subjects.map(({ copy }) => terminate(copy, 'the test is over')));
    } finally {
      await stage.close();
    }
  }

  /** Nothing is there twice, and nothing that no copy has a name for. */
  #judgeLedger(stage: Stage): void {
    const ledger = stage.sandbox.ledger();
    const twice = movedTwice(ledger);
    if (twice.length > 0) this.#fail(null, 'at the end', `Moved twice: ${twice.join(', ')}`);
    const known = this.#names.map((name) => recordsOf(name, ledger));
    const count = known.reduce((sum, { trades, withdrawals }) => sum + trades.length + withdrawals.length, 0);
    const all = idsIn(stage).length;
    if (all !== count)
      this.#fail(null, 'at the end', `The ledger has ${all} movements, the copies have ${count}.`);
  }

  /** The newest run's report, once it has come to rest and `isRight`. */
  async #untilAtRest(
    copy: Copy,
    state: { readonly isOpen: boolean | null },
    isRight: (report: Report) => boolean,
  ): Promise<Report> {
    const handle = copy.stage.temporal.client.workflow.getHandle(copy.workflowId);
    return copy.stage.time.during(wakeable(handle), () => untilAtRest(copy, state, isRight));
  }

  /** Copies whose reports name a balance come into their states last, when no other moves money. */
  async #bringAll(stage: Stage): Promise<readonly Subject[]> {
    const ordered = this.#order();
    const subjects: Subject[] = [];
    const bring = (one: Ordered): Promise<void> =>
      this.#judge(one, 'coming into the state', async () => {
        subjects.push(await this.#bring(stage, one));
      });
    await Promise.all(ordered.filter(({ state }) => !state.namesBalances).map(bring));
    stage.sandbox.setBalances(PLENTY);
    await Promise.all(ordered.filter(({ state }) => state.namesBalances).map(bring));
    return subjects;
  }

  /** Which copies there shall be, and what is to be done to each. */
  #order(): readonly Ordered[] {
    const { extent, services, seed, slice = WHOLE } = this.#options;
    const cells = STATES.flatMap((state) => SAMPLES.map((sample) => ({ state, sample }))).filter(
      ({ state, sample }) => state.leftOut(sample) === null,
    );
    const ours = cells.filter((_cell, index) => extent === 'all' || index % services.length === this.#index);
    return ours.flatMap(({ state, sample }, index): Ordered[] => {
      const row = this.#rows.find((one) => one.state === state.name && one.sample === sample.name);
      if (row === undefined) return [];
      return this.#shares(state, index).flatMap((share, nth) => {
        const name = [this.#index, state.name, sample.name, nth].join();
        if (!isInSlice(name, slice)) return [];
        row.wanted += 1;
        return [{ state, sample, row, share, dice: diceOf(seed, name) }];
      });
    });
  }

  /** One share for each copy. Where a rewind waits in doubt, several copies share the events. */
  #shares(state: State, index: number): readonly Share[] {
    const both = this.#options.extent === 'all';
    const special = (...list: Special[]): Share => ({ kind: 'special', list });
    // A task's start and its end lead back to the same moment: `some` takes one of the two.
    const events: Share = both
      ? { kind: 'events', nth: 0, of: 1, both }
      : { kind: 'events', nth: index % 2, of: 2, both };
    if (state.isRewoundOnTheWay && !both) return [events];
    if (!state.waitsAfterRewind) return [events, special(...SPECIAL)];
    if (!both) {
      const one = SPECIAL[(index + this.#index) % SPECIAL.length] ?? { kind: 'start again' };
      return [{ kind: 'an event', half: 'earlier' }, { kind: 'an event', half: 'later' }, special(one)];
    }
    const shares = Array.from({ length: COPIES_FOR_EVENTS }, (_, nth): Share => ({
      kind: 'events',
      nth,
      of: COPIES_FOR_EVENTS,
      both,
    }));
    return [...shares, ...SPECIAL.map((one) => special(one))];
  }

  async #bring(stage: Stage, ordered: Ordered): Promise<Subject> {
    const { state, row } = ordered;
    const started = await this.#busy.run(async () => {
      const copy = await this.#start(stage, ordered);
      if (state.isRewoundOnTheWay) await this.#rewindOnTheWay(ordered, copy);
      await state.bring(copy);
      if (!state.isRewoundOnTheWay) await untilAtRest(copy, state, state.isReached);
      return copy;
    });
    const report = state.isRewoundOnTheWay
      ? await this.#untilComplete(started, row)
      : await this.#untilAtRest(started, state, state.isReached);
    const copy: Copy = { ...started, baseRunId: (await standingOf(started)).runId };
    await this.#judgeStart(state, copy, report);
    row.copies += 1;
    return { ...ordered, copy, report };
  }

  async #start(stage: Stage, { state, sample }: Ordered): Promise<Copy> {
    const number = (this.#copies += 1);
    const policyName = uniqueName(sample.name);
    const edits = [...sample.amounts(number), ...state.edits(sample)];
    const texts = await textsOf(sample, policyName, edits);
    const draft = draftCopy({ sample, number, policyName, texts });
    this.#names.push(draft.name);
    await state.before(stage, draft);
    if (sample.sellsAbove !== null) {
      const currency = ownCurrency(number);
      stage.sandbox.setRates({ [`${currency}/USD`]: '1' });
      stage.sandbox.setBalances({ [currency]: cents(sample.sellsAbove + 1_000, number) });
    }
    if (state.fault !== null)
      stage.sandbox.addFault({ ...state.fault, id: faultOf(draft), when: { reference: `${draft.name}.*` } });
    return { ...draft, stage, baseRunId: await start(stage, draft) };
  }

  /** In the middle of whatever it is doing, be it a write, the run is rewound or ended and started again. */
  async #rewindOnTheWay({ row, dice }: Ordered, copy: Copy): Promise<void> {
    for (let times = 0; times < REWINDS_ON_THE_WAY; times += 1) {
      await sleep(dice.below(ON_THE_WAY_MS));
      if (dice.isHit(0.7)) await this.#rewindSomewhere({ copy, row, dice });
      else {
        await terminate(copy, 'to start it again');
        row.starts += 1;
        await start(copy.stage, copy);
      }
    }
  }

  /** The state is what it is named for: report and ledger agree, and the ledger shows what must not be done twice. */
  async #judgeStart(state: State, copy: Copy, report: Report): Promise<void> {
    const ledger = copy.stage.sandbox.ledger();
    const { trades, withdrawals } = recordsOf(copy.name, ledger);
    const plan = await planOf(copy);
    const planned = 'refused' in plan ? { legs: 0, payments: 0 } : countsOf(plan);
    if (!isDeepStrictEqual(countsOf(report), planned))
      throw new Error('The report has other items than the plan.');
    const payments = { none: 0, all: planned.payments, 'all but the first': planned.payments - 1 };
    const expected = {
      trades: state.moved.trades === 'all' ? planned.legs : 0,
      withdrawals: payments[state.moved.payments],
    };
    const shown = { trades: trades.length, withdrawals: withdrawals.length };
    if (!isDeepStrictEqual(shown, expected))
      throw new Error(`The ledger shows ${JSON.stringify(shown)}, should be ${JSON.stringify(expected)}.`);
    throwAll(disagreements(report, ledger, { foreignRecords: state.name === 'held: person' }));
  }

  /** While every cause lasts: whatever is rewound, nothing moves, and every report says the same again. */
  async #rewindAll(stage: Stage, subjects: readonly Subject[]): Promise<void> {
    const before = idsIn(stage);
    await Promise.all(
      subjects.map((subject) =>
        this.#judge(subject, 'listing its events', async () => {
          for (const rewinding of await this.#listOf(subject))
            await this.#judge(subject, nameOf(rewinding), () => this.#rewindOnce(subject, rewinding));
        }),
      ),
    );
    const after = idsIn(stage);
    if (!isDeepStrictEqual(before, after))
      this.#fail(
        null,
        'after all rewinds',
        `The ledger has changed: ${after.filter((id) => !before.includes(id)).join(', ')}`,
      );
  }

  async #listOf({ share, copy, dice }: Subject): Promise<readonly Rewinding[]> {
    if (share.kind === 'special') return share.list;
    const places = await legalPlaces(copy.stage.temporal.client, copy.workflowId, copy.baseRunId);
    if (share.kind === 'an event') {
      const half = Math.ceil(places.length / 2);
      const place = dice.pick(share.half === 'earlier' ? places.slice(0, half) : places.slice(half));
      return [{ kind: 'reset', place, withSignals: dice.isHit(0.5) }];
    }
    const mine = places.map((place, nth): Rewinding & { readonly kind: 'reset' } => ({
      kind: 'reset',
      place,
      withSignals: (Math.floor(nth / 2) + this.#index) % 2 === 0,
    }));
    return mine
      .filter((_rewinding, nth) => nth % share.of === share.nth)
      .flatMap((one) => (share.both ? [one, { ...one, withSignals: !one.withSignals }] : [one]));
  }

  async #rewindOnce(subject: Subject, rewinding: Rewinding): Promise<void> {
    const { copy, row } = subject;
    const isDone = await this.#leavesLedger(copy, () => this.#comesToTheSame(subject, rewinding));
    if (isDone) row.unchanged += 1;
  }

  /** False when Temporal does not take the event. @throws when the report is not the same again */
  async #comesToTheSame(subject: Subject, rewinding: Rewinding): Promise<boolean> {
    const { state, copy, report } = subject;
    const rewound = await this.#busy.run(async () => {
      const runIds = await this.#carryOut(subject, rewinding);
      if (runIds === null) return null;
      const rest = this.#untilAtRest(copy, state, (now) => difference(state, report, now) === null);
      await Promise.race([rest.catch(() => undefined), sleep(BUSY_FOR_MS, undefined, { ref: false })]);
      return { runIds, rest };
    });
    if (rewound === null) return false;
    const now = await rewound.rest;
    const { runId } = await standingOf(copy);
    if (!rewound.runIds.includes(runId))
      throw new Error(`${runId} is not the run that was made; that is ${rewound.runIds.join()}.`);
    const foreignRecords = state.name === 'held: person';
    throwAll(disagreements(now, copy.stage.sandbox.ledger(), { foreignRecords }));
    return true;
  }

  /** The new Temporal runs, one of which is now the newest; null when Temporal does not take the event. */
  async #carryOut(subject: Subject, rewinding: Rewinding): Promise<readonly string[] | null> {
    const { copy, row, dice } = subject;
    const { client } = copy.stage.temporal;
    const base = { workflowId: copy.workflowId, runId: copy.baseRunId };
    switch (rewinding.kind) {
      case 'reset': {
        const { place, withSignals } = rewinding;
        const runId = await rewind(client, base, place.eventId, { withSignals });
        if (runId === null) {
          row.refused += 1;
          return null;
        }
        row.resets += 1;
        if (place.beforeSignal && withSignals) row.signalsAgain += 1;
        if (place.beforeSignal && !withSignals) row.signalsLeftOut += 1;
        return [runId];
      }
      case 'reset of a reset': {
        const runId = await this.#rewindSomewhere(subject, base.runId);
        await sleep(dice.below(400));
        return [await this.#rewindSomewhere(subject, runId)];
      }
      case 'two resets at once': {
        const both = await Promise.allSettled([
          this.#rewindSomewhere(subject, base.runId),
          this.#rewindSomewhere(subject, base.runId),
        ]);
        const made = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
        if (made.length === 0) throw new Error('Temporal took neither of two resets.');
        return made;
      }
      case 'start again':
        await terminate(copy, 'to start it again');
        row.starts += 1;
        return [await start(copy.stage, copy)];
      case 'reset of the plan':
      case 'plan started again':
        return [await this.#remake(subject, rewinding.kind)];
    }
  }

  /** Rewinds or restarts the plan workflow: it must come to the first plan again, and so must a run that reads it. Returns the run. */
  async #remake(subject: Subject, kind: 'reset of the plan' | 'plan started again'): Promise<string> {
    const { copy, row, dice } = subject;
    const { stage, input, run, baseRunId } = copy;
    const { client } = stage.temporal;
    const workflowId = planIdOf('SANDBOX', run);
    const first = await planOf(copy);
    let planRunId: string;
    if (kind === 'reset of the plan') {
      const { runId } = await client.workflow.getHandle(workflowId).describe();
      planRunId = await this.#rewindAny({ client, workflowId, runId, row, dice, from: dice.share() });
    } else {
      const planInput: PlanInput = { ...input, forRun: baseRunId, askedBy: baseRunId };
      row.starts += 1;
      const handle = await client.workflow.start(PLAN_TYPE, {
        workflowId,
        taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
        args: [planInput],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      });
      planRunId = handle.firstExecutionRunId;
    }
    const again = await planOf(copy, planRunId);
    if (!isDeepStrictEqual(again, first)) throw new Error('The plan was made otherwise.');
    return this.#rewindToStart(subject);
  }

  /** The cause is gone: what was missing is done, once, and is then as safe as everything else. */
  async #goOn(subject: Subject): Promise<void> {
    const { state, copy, row, report } = subject;
    const { sandbox } = copy.stage;
    if (state.goesOnBy === null) return;
    const { goesOnBy } = state;
    if (state.name === 'failed: payment returned') await this.#staysUnpaid(subject);
    await this.#busy.run(async () => {
      await state.ease(copy);
      if (goesOnBy === 'word') await this.#sayTheWord(subject);
      // So much time may have passed that an open run has given up.
      else if (goesOnBy === 'wake' && (await standingOf(copy)).isOpen) await wake(copy);
      else await this.#rewindToStart(subject);
      await sleep(BUSY_FOR_MS / 2);
    });
    const paidAgain = state.name === 'failed: payment returned';
    const complete = await this.#untilComplete(copy, row);
    const plan = await planOf(copy);
    if ('refused' in plan) throw new Error(`It is complete without a plan: ${plan.refused}`);
    const ledger = sandbox.ledger();
    throwAll([
      ...disagreements(complete, ledger, { paidAgain }),
      ...againstPlan(plan, ledger),
      ...notExecuted(plan, ledger),
    ]);
    lessThanBefore(report, complete);
    row.completed += 1;

    await this.#leavesLedger(copy, async () => {
      await this.#busy.run(() => this.#rewindSomewhere(subject));
      await this.#untilSameAgain(copy, complete);
    });
    row.unchanged += 1;
  }

  /**
   * Complete. Where the jumps of the clocks have used up its quotes, or rewinds have used up the generations of a payment
   * that open by themselves, it is started again by a word, as its report says.
   */
  async #untilComplete(copy: Copy, row: Row): Promise<Report> {
    for (let tries = 1; ; tries += 1) {
      const spent = await spentIn(copy);
      const mayGoOn = (report: Report): boolean =>
        tries < 4 && (failedBy('QUOTES_USED_UP')(report) || unpaidOf(report, spent).length > 0);
      const isRight = (report: Report): boolean => report.status === 'COMPLETED' || mayGoOn(report);
      const report = await this.#untilAtRest(copy, { isOpen: false }, isRight);
      if (report.status === 'COMPLETED') return report;
      const unpaid = unpaidOf(report, spent);
      for (const item of unpaid.length > 0 ? unpaid : [null]) await sayOf(copy, { kind: 'go-on', item });
      row.starts += 1;
      await start(copy.stage, copy);
    }
  }

  /** @throws when the ledger shows anything else of the run than before `work` */
  async #leavesLedger<T>(copy: Copy, work: () => Promise<T>): Promise<T> {
    const { sandbox } = copy.stage;
    const before = recordsOf(copy.name, sandbox.ledger());
    // Money first: whatever else was wrong is said with it.
    const [result] = await Promise.allSettled([work()]);
    const after = recordsOf(copy.name, sandbox.ledger());
    const cause = result.status === 'rejected' ? result.reason : undefined;
    if (!isDeepStrictEqual(after, before)) {
      const both = `${JSON.stringify(before)}\n${JSON.stringify(after)}`;
      throw new Error(`The ledger has changed:\n${both}`, { cause });
    }
    if (result.status === 'rejected') throw cause;
    return result.value;
  }

  /**
   * A complete run that was rewound says the same again. Only where a later generation was paid, the service keeps
   * refusals and its lists show no tag, a person may be asked about the record: nothing else proves that it is ours.
   */
  async #untilSameAgain(copy: Copy, complete: Report): Promise<void> {
    const isSame = (now: Report): boolean => isDeepStrictEqual(lasting(now), lasting(complete));
    const later = complete.payments.filter(({ reference }) => reference.includes('~'));
    if (this.#service.metadataInLists === 'always' || later.length === 0) {
      await this.#untilAtRest(copy, { isOpen: false }, isSame);
      return;
    }
    const asksAbout = ({ problems }: Report): boolean =>
      later.some(({ withdrawalId }) =>
        problems.some(
          ({ code, message }) => code === 'RECORD_COULD_BE_IT' && message.includes(withdrawalId ?? '?'),
        ),
      );
    const known = await this.#untilAtRest(copy, { isOpen: null }, (now) => isSame(now) || asksAbout(now));
    if (isSame(known)) return;
    for (const { id: item, withdrawalId } of later) {
      await sayOf(copy, { kind: 'executed', item, recordId: withdrawalId ?? '' });
    }
    await wake(copy);
    await this.#untilAtRest(copy, { isOpen: false }, ({ status }) => status === 'COMPLETED');
  }

  /** What failed after it was accepted, and what was cancelled, is never sent again by itself: only by a word. */
  async #sayTheWord({ state, copy, row, report }: Subject): Promise<void> {
    if (state.name === 'cancelled') await sayOf(copy, { kind: 'go-on', item: null });
    else {
      for (const { id: item } of report.payments.filter(({ outcome }) => outcome === 'NOT_PAID')) {
        await sayOf(copy, { kind: 'pay again', item, follows: 1, recordId: null });
      }
    }
    row.starts += 1;
    await start(copy.stage, copy);
  }

  /** Though the account would take the money by now, no rewind sends it again: nobody has said so. */
  async #staysUnpaid(subject: Subject): Promise<void> {
    const { state, copy, row, report } = subject;
    await this.#leavesLedger(copy, async () => {
      await this.#busy.run(() => this.#rewindSomewhere(subject));
      await this.#untilAtRest(copy, state, (now) => difference(state, report, now) === null);
    });
    row.unchanged += 1;
  }

  /** Back to where the run had not read its plan yet, so that everything is decided again. */
  #rewindToStart({ copy, row, dice }: Subject): Promise<string> {
    const { client } = copy.stage.temporal;
    const { workflowId, baseRunId } = copy;
    return this.#rewindAny({ client, workflowId, runId: baseRunId, row, dice, from: 0 });
  }

  async #rewindSomewhere(
    { copy, row, dice }: Pick<Subject, 'copy' | 'row' | 'dice'>,
    of?: string,
  ): Promise<string> {
    const { client } = copy.stage.temporal;
    const { workflowId } = copy;
    const runId = of ?? (await standingOf(copy)).runId;
    return this.#rewindAny({ client, workflowId, runId, row, dice, from: dice.share() });
  }

  /** To the first event that Temporal takes, going round from a share of them. A new run may have none at first. */
  async #rewindAny(what: {
    readonly client: Client;
    readonly workflowId: string;
    readonly runId: string;
    readonly row: Row;
    readonly dice: Dice;
    readonly from: number;
  }): Promise<string> {
    const { client, workflowId, runId, row, dice, from } = what;
    const withSignals = dice.isHit(0.5);
    for (let tries = 0; tries < 50; tries += 1) {
      const events = await legalEvents(client, workflowId, runId);
      const first = Math.floor(from * events.length);
      for (const event of [...events.slice(first), ...events.slice(0, first)]) {
        const rewound = await rewind(client, { workflowId, runId }, event, { withSignals });
        if (rewound === null) continue;
        row.resets += 1;
        return rewound;
      }
      await sleep(100);
    }
    throw new Error(`Temporal takes no event of ${workflowId} to go back to.`);
  }

  async #judge(of: Ordered | Subject, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#fail(of, what, inspect(error));
    }
  }

  /** @param of null: the ledger of all copies */
  #fail(of: Ordered | Subject | null, what: string, why: string): void {
    const { storeErrors, metadataInLists } = this.#service;
    const { extent, seed } = this.#options;
    const run = of !== null && 'copy' in of ? ` (${of.copy.name})` : '';
    const whose = of === null ? 'all copies' : `"${of.state.name}" of ${of.sample.name}${run}`;
    const again = [
      'npm run resets --',
      ...(extent === 'some' ? ['--some'] : []),
      `--seed ${seed} --service ${this.#index}`,
      ...(of === null ? [] : [`--state '${of.state.name}' --sample ${of.sample.name}`]),
    ].join(' ');
    const service = `keeps ${storeErrors}, tags ${metadataInLists}`;
    this.failures.push(`${whose}, ${what} [${service}]: ${why}\nAgain: ${again}`);
    this.#tell(`FAILED: ${this.failures.at(-1) ?? ''}`);
  }

  #tell(line: string): void {
    const { storeErrors, metadataInLists } = this.#service;
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(0).padStart(4);
    this.#options.tell?.(`${seconds} s  [keeps ${storeErrors}, tags ${metadataInLists}] ${line}`);
  }
}

function aheadOf({ time }: Stage): string {
  const minutes = Math.round((time.now() - Date.now()) / 60_000);
  return minutes === 0 ? '' : `; the clocks went forward by ${minutes} min`;
}

/** A run that nobody disturbs takes about a second. */
const ON_THE_WAY_MS = 400;
const REWINDS_ON_THE_WAY = 3;
/** Of a state whose rewinds wait in doubt: its events are shared by so many, which wait side by side. */
const COPIES_FOR_EVENTS = 5;

/** Lets so many works go on at a time. */
class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#free = width;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#letIn();
    });
    try {
      return await work();
    } finally {
      this.#free += 1;
      this.#letIn();
    }
  }

  #letIn(): void {
    while (this.#free > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#free -= 1;
      next();
    }
  }
}

/** The newest run's report, once it has come to rest and `isRight`. @throws when it hangs */
async function untilAtRest(
  copy: Copy,
  state: { readonly isOpen: boolean | null },
  isRight: (report: Report) => boolean,
): Promise<Report> {
  const lostAtMs = performance.now() + LOST_AFTER_MS;
  for (let tries = 0; ; tries += 1) {
    const { isOpen } = await standingOf(copy);
    if (state.isOpen === null || isOpen === state.isOpen) {
      const report = await reportOf(copy);
      if (isRight(report)) return report;
      if (!isOpen) throw new Error(`It ended otherwise:\n${JSON.stringify(lasting(report))}`);
    }
    if (performance.now() > lostAtMs)
      throw new Error(`It did not come to rest:\n${JSON.stringify(await reportOf(copy))}`);
    // Temporal tells by itself when a run ends; all else must be asked.
    if (isOpen && state.isOpen === false) await untilEnded(copy, ENDED_WITHIN_MS);
    else await sleep(Math.min(200 * 1.5 ** tries, LOOKS_AT_LEAST_EVERY_MS));
  }
}

/** In what two reports of the same money differ; null when they do not. */
function difference(state: State, before: Report, now: Report): string | null {
  const view = state.same === 'report' ? lasting : outcomesOf;
  return isDeepStrictEqual(view(before), view(now)) ? null : JSON.stringify(view(now));
}

/** Those of these payments that are not paid. */
function unpaidOf({ payments }: Report, ids: readonly string[]): readonly string[] {
  return payments.flatMap(({ id, outcome }) => (outcome === 'NOT_PAID' && ids.includes(id) ? [id] : []));
}

function outcomesOf({ status, legs, payments, totals }: Report): unknown {
  return {
    status,
    legs: legs.map(({ id, outcome, tradeId }) => ({ id, outcome, tradeId })),
    payments: payments.map(({ id, outcome, withdrawalId }) => ({ id, outcome, withdrawalId })),
    totals,
  };
}

/** What the plan wants and the ledger does not show: a report that leaves items out would agree with anything. */
function notExecuted(plan: Plan, { trades, withdrawals }: LedgerView): readonly string[] {
  return [
    ...plan.legs.filter(({ reference }) => !trades.some((row) => isRecordOf(reference, row))),
    ...plan.payments.filter(({ reference }) => !withdrawals.some((row) => isRecordOf(reference, row))),
  ].map(({ id }) => `The ledger shows nothing of "${id}".`);
}

/** What was done before stands as it was. @throws when a complete report contradicts the earlier one */
function lessThanBefore(before: Report, complete: Report): void {
  const lost = [
    ...before.legs.filter(
      (leg) => leg.outcome === 'TRADED' && !complete.legs.some(({ tradeId }) => tradeId === leg.tradeId),
    ),
    ...before.payments.filter(
      (payment) =>
        payment.outcome === 'PAID' &&
        !complete.payments.some(({ withdrawalId }) => withdrawalId === payment.withdrawalId),
    ),
  ];
  if (lost.length > 0) throw new Error(`Done before, and now otherwise: ${JSON.stringify(lost)}`);
}

function countsOf({ legs, payments }: Pick<Plan | Report, 'legs' | 'payments'>): {
  readonly legs: number;
  readonly payments: number;
} {
  return { legs: legs.length, payments: payments.length };
}

function throwAll(wrong: readonly string[]): void {
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

function idsIn(stage: Stage): readonly string[] {
  const { trades, withdrawals } = stage.sandbox.ledger();
  return [...trades, ...withdrawals].map((row) => String(row['id']));
}

function nameOf(rewinding: Rewinding): string {
  if (rewinding.kind !== 'reset') return rewinding.kind;
  return `reset to event ${String(rewinding.place.eventId)}${rewinding.withSignals ? '' : ' without signals'}`;
}
