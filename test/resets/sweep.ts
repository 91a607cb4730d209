/**
 * The reset sweep: runs of every sample policy, brought into every state, are rewound by Temporal's own *Reset* to every
 * event that it takes, and started again, and their plans are rewound too. While the cause lasts, none of this may move
 * money or change a report; once it is gone, what was missing is done, once (M1, M3, M8).
 *
 * Each stage has a service of its own that keeps errors and shows tags in its own way. All copies of a stage are rewound
 * side by side; when nothing but time helps any of them, the clocks of worker and service go forward together.
 */
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Plan } from '../../domain/plan.ts';
import type { Report } from '../../domain/report.ts';
import type { LedgerView, SettingsPatch } from '../../sandbox/server.ts';
import { PIN_TYPE, pinIdOf, type PinInput } from '../../workflows/names.ts';
import { uniqueName } from '../support/dev-server.ts';
import { diceOf, type Dice } from '../support/dice.ts';
import {
  againstPlan,
  disagreements,
  isRecordOf,
  movedTwice,
  recordsOf,
  withoutEvidence,
} from '../support/agreement.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { draftCopy, planOf, reportOf, standingOf, start, terminate, type Copy } from './copies.ts';
import { legalEvents, rewind } from './rewind.ts';
import { RATES, SAMPLES, textsOf, type Sample } from './samples.ts';
import { STATES, easeAll, faultOf, say, troubledAccounts, wake, type State } from './states.ts';

/** What a service keeps under a key besides successes, and whether its lists show our tags. */
export type Service = {
  readonly storeErrors: NonNullable<SettingsPatch['storeErrors']>;
  readonly metadataInLists: NonNullable<SettingsPatch['metadataInLists']>;
};

/** Each way of keeping errors with each way of showing tags. */
export const SERVICES: readonly Service[] = (['refusals', 'all', 'none'] as const).flatMap((storeErrors) =>
  (['always', 'mixed', 'never'] as const).map((metadataInLists) => ({ storeErrors, metadataInLists })),
);

/** Each of the ways once: what the tests have time for. */
export const SOME_SERVICES: readonly Service[] = [
  { storeErrors: 'refusals', metadataInLists: 'always' },
  { storeErrors: 'all', metadataInLists: 'never' },
  { storeErrors: 'none', metadataInLists: 'mixed' },
];

export type SweepOptions = {
  readonly seed: number;
  readonly services: readonly Service[];
  /**
   * `some`: each state of each sample on one of the services, all events where rewinds are quick. `all`: everything
   * on each service.
   */
  readonly extent: 'some' | 'all';
  /** Only states and samples whose names contain this. */
  readonly only?: { readonly state?: string | undefined; readonly sample?: string | undefined };
  readonly tell?: (line: string) => void;
};

/** What was done to the copies of one sample in one state, and what came of it. */
export type Row = {
  readonly state: string;
  readonly sample: string;
  copies: number;
  /** Calls of Temporal's reset, of runs and of pins. */
  resets: number;
  /** Events that look like a place to go back to, and are none to Temporal. */
  refused: number;
  /** New starts of runs and of pins. */
  starts: number;
  /** Rewinds and starts after which the ledger had not changed by anything. */
  unchanged: number;
  /** Copies in which, once the cause was gone, exactly what was missing was done. */
  completed: number;
};

export type SweepResult = { readonly rows: readonly Row[]; readonly failures: readonly string[] };

export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const rows: Row[] = STATES.flatMap((state) =>
    SAMPLES.filter((sample) => state.fits(sample)).map((sample) => ({
      state: state.name,
      sample: sample.name,
      copies: 0,
      resets: 0,
      refused: 0,
      starts: 0,
      unchanged: 0,
      completed: 0,
    })),
  );
  const failures: string[] = [];
  const waiting = options.services.map((service, index) => ({ service, index }));
  const sweepInTurn = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { service, index } = next;
      const part = new ServiceSweep(options, service, index, rows);
      await part.sweep();
      failures.push(...part.failures);
    }
  };
  await Promise.all(Array.from({ length: SERVICES_AT_ONCE }, sweepInTurn));
  return { rows: rows.filter(({ copies }) => copies > 0), failures };
}

/** One for each core, and one more, because most copies wait. */
const SERVICES_AT_ONCE = 3;
/** Runs that are begun or rewound at one moment on one service: more of them only make each other late. */
const BUSY_AT_ONCE = 6;
/** A rewound run that has not come to rest by then waits for time to pass, and no longer keeps others back. */
const BUSY_FOR_MS = 2_500;
/** Twice a doubt, should the clocks not have gone forward; the rest is for a slow machine. */
const AT_REST_WITHIN_MS = 200_000;
/** Doubt of a trade or a payment is over by then: an attempt, a token's life, and `settle_doubt` of the stage. */
const DOUBT_MS = 70_000;
const PACE_MS = 500;
const IDLE_PACES = 4;

const PLENTY = { USD: '50000000', EUR: '50000000' } as const;
const BOUGHT = { MXN: '0', GBP: '0', USDC: '0', BRL: '0' } as const;

/** What is done to one copy, one after the other. `at` is a share of its events, oldest first. */
type Rewinding =
  | { readonly kind: 'reset'; readonly at: number; readonly withSignals: boolean }
  | { readonly kind: 'reset of a reset' }
  | { readonly kind: 'two resets at once' }
  | { readonly kind: 'start again' }
  | { readonly kind: 'reset of the pin' }
  | { readonly kind: 'pin started again' };

const SPECIAL: readonly Rewinding[] = [
  { kind: 'reset of a reset' },
  { kind: 'two resets at once' },
  { kind: 'start again' },
  { kind: 'reset of the pin' },
  { kind: 'pin started again' },
];

/** A copy in its state, as it was before anything was rewound. */
type Subject = {
  readonly state: State;
  readonly copy: Copy;
  readonly row: Row;
  readonly rewindings: readonly Rewinding[] | 'every event';
  readonly report: Report;
};

type Ordered = Pick<Subject, 'state' | 'rewindings' | 'row'> & { readonly sample: Sample };

class ServiceSweep {
  readonly failures: string[] = [];
  readonly #options: SweepOptions;
  readonly #service: Service;
  readonly #index: number;
  readonly #rows: readonly Row[];
  readonly #dice: Dice;
  readonly #busy = new Gate(BUSY_AT_ONCE);
  readonly #startedAt = performance.now();
  #copies = 0;
  /** How far the clocks of this stage are ahead. */
  #movedMs = 0;
  /** Copies that are not busy and not at rest. */
  readonly #waiting = new Set<Copy>();
  #idlePaces = 0;

  constructor(options: SweepOptions, service: Service, index: number, rows: readonly Row[]) {
    this.#options = options;
    this.#service = service;
    this.#index = index;
    this.#rows = rows;
    this.#dice = diceOf(options.seed, `resets ${index}`);
  }

  async sweep(): Promise<void> {
    const stage = await openStage({
      settings: {
        ...this.#service,
        // What a copy has bought is there for it at once: nobody waits for money that another copy has taken.
        boughtMoneyWithdrawable: 'at_trade',
        settlementMs: { IMMEDIATE: 0, T0: 100, T1: 200, T2: 300 },
        maxTradeUsd: '1000000000000',
      },
      balances: { ...PLENTY, ...BOUGHT },
      rates: RATES.usual,
    });
    let pacer: NodeJS.Timeout | undefined;
    try {
      stage.sandbox.putAccounts(troubledAccounts('refuse'));
      await stage.startWorker({
        clock: { wallMs: () => Date.now() + this.#movedMs, monotonicMs: () => performance.now() },
      });
      pacer = setInterval(() => this.#passTimeWhenIdle(stage), PACE_MS);
      const subjects = await this.#bringAll(stage);
      this.#tell(`${subjects.length} copies stand`);
      await this.#rewindAll(stage, subjects);
      this.#tell('rewound');
      easeAll(stage);
      await Promise.all(
        subjects.map((subject) => this.#judge(subject, 'afterwards', () => this.#goOn(subject))),
      );
      this.#tell('what was missing is done');
      const twice = movedTwice(stage.sandbox.ledger());
      if (twice.length > 0) this.#fail('all copies', 'the ledger', `moved twice: ${twice.join(', ')}`);
      await Promise.all(subjects.map(({ copy }) => terminate(copy, 'the sweep is over')));
    } finally {
      clearInterval(pacer);
      await stage.close();
    }
  }

  /** Some copies wait in doubt, and nobody else is at work: the doubt need not be waited for. */
  #passTimeWhenIdle(stage: Stage): void {
    this.#idlePaces = this.#busy.isIdle() && this.#waiting.size > 0 ? this.#idlePaces + 1 : 0;
    if (this.#idlePaces < IDLE_PACES) return;
    // What did not help soon needs something else: it is left alone for longer.
    this.#idlePaces = -IDLE_PACES;
    this.#movedMs += DOUBT_MS;
    stage.sandbox.clock.advance(DOUBT_MS);
    for (const copy of this.#waiting) void wake(copy);
  }

  /** The newest run's report, once it has come to rest and `isRight`. */
  async #untilAtRest(
    copy: Copy,
    state: { readonly isOpen: boolean | null },
    isRight: (report: Report) => boolean,
  ): Promise<Report> {
    this.#waiting.add(copy);
    try {
      return await untilAtRest(copy, state, isRight);
    } finally {
      this.#waiting.delete(copy);
    }
  }

  /** Copies come into their states in the order in which they do not disturb each other's balances. */
  async #bringAll(stage: Stage): Promise<readonly Subject[]> {
    const ordered = this.#order();
    const subjects: Subject[] = [];
    const bring = (one: Ordered): Promise<void> =>
      this.#judge(one, 'coming into the state', async () => {
        subjects.push(await this.#bring(stage, one));
      });
    for (const one of ordered.filter(({ sample }) => sample.sweepsAbove !== null)) await bring(one);
    stage.sandbox.setBalances(PLENTY);
    const others = ordered.filter(({ sample }) => sample.sweepsAbove === null);
    await Promise.all(
      others.filter(({ state }) => !state.namesBalances).map((one) => this.#busy.run(() => bring(one))),
    );
    stage.sandbox.setBalances({ ...PLENTY, ...BOUGHT });
    await Promise.all(
      others.filter(({ state }) => state.namesBalances).map((one) => this.#busy.run(() => bring(one))),
    );
    return subjects;
  }

  /** Which copies there shall be, and what is to be done to each. */
  #order(): readonly Ordered[] {
    const { extent, only = {}, services } = this.#options;
    const pairs = STATES.flatMap((state) =>
      SAMPLES.filter((sample) => state.fits(sample)).map((sample) => ({ state, sample })),
    ).filter(
      ({ state, sample }) => state.name.includes(only.state ?? '') && sample.name.includes(only.sample ?? ''),
    );
    const ours = pairs.filter((_pair, index) => extent === 'all' || index % services.length === this.#index);
    return ours.flatMap(({ state, sample }, index): Ordered[] => {
      const row = this.#rows.find((one) => one.state === state.name && one.sample === sample.name);
      if (row === undefined) throw new RangeError(`There is no row for ${state.name}.`);
      return this.#lists(state, index).map((rewindings) => ({ state, sample, row, rewindings }));
    });
  }

  /** One list for each copy. Where a rewind takes a minute, each copy takes few of them. */
  #lists(state: State, index: number): readonly Ordered['rewindings'][] {
    const { extent } = this.#options;
    const reset = (at: number, withSignals: boolean): Rewinding => ({ kind: 'reset', at, withSignals });
    if (!state.waitsAfterRewind) return ['every event', SPECIAL];
    const oneEach = (from: readonly Rewinding[]): Rewinding[][] => from.map((one) => [one]);
    if (extent === 'some') {
      const special = SPECIAL[(index + this.#index) % SPECIAL.length] ?? { kind: 'start again' };
      const early = reset(this.#dice.share() / 2, this.#dice.isHit(0.5));
      const late = reset(0.5 + this.#dice.share() / 2, this.#dice.isHit(0.5));
      return oneEach([early, late, special]);
    }
    const shares = Array.from({ length: EVENTS_OF_SLOW_ONES }, (_, at) => (at + 0.5) / EVENTS_OF_SLOW_ONES);
    return oneEach([...shares.map((at, nth) => reset(at, (nth + this.#index) % 2 === 0)), ...SPECIAL]);
  }

  async #bring(stage: Stage, { state, sample, row, rewindings }: Ordered): Promise<Subject> {
    const number = (this.#copies += 1);
    const policyName = uniqueName(sample.name);
    const edits = [...sample.amounts(number), ...state.edits(sample)];
    const texts = await textsOf(sample, policyName, edits);
    const draft = draftCopy({ sample, number, policyName, texts });
    await state.before(stage, draft);
    if (sample.sweepsAbove !== null) {
      const amount = `${sample.sweepsAbove + 1_000}.${String(number).padStart(2, '0')}`;
      stage.sandbox.setBalances({ USD: amount });
    }
    if (state.fault !== null)
      stage.sandbox.addFault({ ...state.fault, id: faultOf(draft), when: { reference: `${draft.name}.*` } });
    const copy: Copy = { ...draft, stage, baseRunId: await start(stage, draft) };
    await state.bring(copy);
    const report = await untilAtRest(copy, state, state.isReached);
    row.copies += 1;
    return { state, copy, row, rewindings, report };
  }

  /** While every cause lasts: whatever is rewound, nothing moves, and every report says the same again. */
  async #rewindAll(stage: Stage, subjects: readonly Subject[]): Promise<void> {
    const before = idsIn(stage);
    await Promise.all(
      subjects.map(async (subject) => {
        for (const rewinding of await this.#listOf(subject))
          await this.#judge(subject, nameOf(rewinding), () => this.#rewindOnce(subject, rewinding));
      }),
    );
    const after = idsIn(stage);
    if (!isDeepStrictEqual(before, after))
      this.#fail(
        'all copies',
        'the ledger',
        `changed: ${after.filter((id) => !before.includes(id)).join(', ')}`,
      );
  }

  async #listOf({ rewindings, copy }: Subject): Promise<readonly Rewinding[]> {
    if (rewindings !== 'every event') return rewindings;
    const events = await legalEvents(copy.stage.temporal.client, copy.workflowId, copy.baseRunId);
    return events.flatMap((_event, nth): Rewinding[] => {
      const at = (nth + 0.5) / events.length;
      const both = this.#options.extent === 'all';
      const withSignals = (nth + this.#index) % 2 === 0;
      const one: Rewinding = { kind: 'reset', at, withSignals };
      return both ? [one, { ...one, withSignals: !withSignals }] : [one];
    });
  }

  async #rewindOnce(subject: Subject, rewinding: Rewinding): Promise<void> {
    const { state, copy, row, report } = subject;
    const { sandbox } = copy.stage;
    const before = recordsOf(copy.name, sandbox.ledger());
    const isCarriedOut = await this.#busy.run(async () => {
      if (!(await this.#carryOut(subject, rewinding))) return false;
      const rest = untilAtRest(copy, state, (now) => difference(state, report, now) === null);
      rest.catch(() => undefined);
      await Promise.race([rest, sleep(BUSY_FOR_MS, undefined, { ref: false })]);
      return true;
    });
    if (!isCarriedOut) return;
    const now = await this.#untilAtRest(copy, state, (next) => difference(state, report, next) === null);
    const wrong = disagreements(now, sandbox.ledger(), { foreignRecords: state.name === 'held: person' });
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    const after = recordsOf(copy.name, sandbox.ledger());
    if (!isDeepStrictEqual(after, before))
      throw new Error(`The ledger has changed:\n${JSON.stringify(before)}\n${JSON.stringify(after)}`);
    row.unchanged += 1;
  }

  /** False when Temporal does not take the event. */
  async #carryOut(subject: Subject, rewinding: Rewinding): Promise<boolean> {
    const { copy, row } = subject;
    const { client } = copy.stage.temporal;
    const base = { workflowId: copy.workflowId, runId: copy.baseRunId };
    switch (rewinding.kind) {
      case 'reset': {
        const events = await legalEvents(client, base.workflowId, base.runId);
        const runId = await rewind(client, base, pickAt(events, rewinding.at), rewinding);
        if (runId === null) row.refused += 1;
        else row.resets += 1;
        return runId !== null;
      }
      case 'reset of a reset': {
        const runId = await this.#rewindSomewhere(subject, base.runId);
        await sleep(this.#dice.below(400));
        await this.#rewindSomewhere(subject, runId);
        return true;
      }
      case 'two resets at once': {
        const both = await Promise.allSettled([
          this.#rewindSomewhere(subject, base.runId),
          this.#rewindSomewhere(subject, base.runId),
        ]);
        if (both.every(({ status }) => status === 'rejected'))
          throw new Error('Temporal took neither of two resets.');
        return true;
      }
      case 'start again':
        await terminate(copy, 'to start it again');
        row.starts += 1;
        await start(copy.stage, copy);
        return true;
      case 'reset of the pin':
      case 'pin started again':
        await this.#remake(subject, rewinding.kind);
        return true;
    }
  }

  /** Rewinds or restarts the pin: it must come to the first plan again, and so must a run that reads it. */
  async #remake(subject: Subject, kind: 'reset of the pin' | 'pin started again'): Promise<void> {
    const { copy, row } = subject;
    const { stage, input, run, baseRunId } = copy;
    const { client } = stage.temporal;
    const workflowId = pinIdOf('SANDBOX', run);
    const first = await planOf(copy);
    let pinRunId: string;
    if (kind === 'reset of the pin') {
      const { runId } = await client.workflow.getHandle(workflowId).describe();
      pinRunId = await this.#rewindAny({ client, workflowId, runId, row, from: this.#dice.share() });
    } else {
      const pinInput: PinInput = { ...input, forRun: baseRunId };
      row.starts += 1;
      const handle = await client.workflow.start(PIN_TYPE, {
        workflowId,
        taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
        args: [pinInput],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      });
      pinRunId = handle.firstExecutionRunId;
    }
    const again = await planOf(copy, pinRunId);
    if (!isDeepStrictEqual(again, first)) throw new Error('The pin has made another plan.');
    await this.#rewindToStart(subject);
  }

  /** The cause is gone: what was missing is done, once, and is then as safe as everything else. */
  async #goOn(subject: Subject): Promise<void> {
    const { state, copy, row, report } = subject;
    const { sandbox } = copy.stage;
    if (state.goesOnBy === null) return;
    const { goesOnBy } = state;
    await this.#busy.run(async () => {
      await state.ease(copy);
      if (goesOnBy === 'word') await this.#sayTheWord(subject);
      // So much time may have passed that an open run has given up.
      else if (goesOnBy === 'wake' && (await standingOf(copy)).isOpen) await wake(copy);
      else await this.#rewindToStart(subject);
      await sleep(BUSY_FOR_MS / 2);
    });
    const isDone = ({ status }: Report): boolean => status === 'COMPLETED';
    const paidAgain = state.name === 'failed: payment returned';
    const complete = await this.#untilAtRest(copy, { isOpen: false }, isDone);
    const plan = await planOf(copy);
    const ledger = sandbox.ledger();
    const wrong = [
      ...disagreements(complete, ledger, { paidAgain }),
      ...againstPlan(plan, ledger),
      ...notExecuted(plan, ledger),
    ];
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    lessThanBefore(report, complete);
    row.completed += 1;

    const before = recordsOf(copy.name, sandbox.ledger());
    await this.#busy.run(() => this.#rewindSomewhere(subject));
    await this.#untilSameAgain(copy, complete);
    if (!isDeepStrictEqual(recordsOf(copy.name, sandbox.ledger()), before))
      throw new Error('What was complete was rewound, and the ledger has changed.');
    row.unchanged += 1;
  }

  /**
   * A complete run that was rewound says the same again. Only where a later generation was paid, the service keeps
   * refusals and its lists show no tag, a person may be asked about the record: nothing else proves that it is ours.
   */
  async #untilSameAgain(copy: Copy, complete: Report): Promise<void> {
    const isSame = (now: Report): boolean =>
      isDeepStrictEqual(withoutEvidence(now), withoutEvidence(complete));
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
      const word = { by: 'sweep', atMs: Date.now(), item, recordId: withdrawalId ?? '' };
      await say(copy, { ...word, kind: 'executed' });
    }
    await wake(copy);
    await this.#untilAtRest(copy, { isOpen: false }, ({ status }) => status === 'COMPLETED');
  }

  /** What failed after it was accepted, and what was cancelled, is never sent again by itself: only by a word. */
  async #sayTheWord(subject: Subject): Promise<void> {
    const { state, copy, row, report } = subject;
    const said = { by: 'sweep', atMs: Date.now() };
    if (state.name === 'cancelled') await say(copy, { ...said, kind: 'go-on' });
    else {
      await this.#rewindSomewhere(subject);
      await this.#untilAtRest(copy, state, (now) => difference(state, report, now) === null);
      row.unchanged += 1;
      for (const payment of report.payments.filter(({ outcome }) => outcome === 'NOT_PAID')) {
        const fenceUntilMs = Date.now() + 86_400_000;
        const { id: item } = payment;
        await say(copy, { ...said, kind: 'pay again', item, generation: 2, reason: 'sweep', fenceUntilMs });
      }
    }
    row.starts += 1;
    await start(copy.stage, copy);
  }

  /** Back to where the run had not read its plan yet, so that everything is decided again. */
  async #rewindToStart({ copy, row }: Subject): Promise<void> {
    const { client } = copy.stage.temporal;
    const { workflowId, baseRunId } = copy;
    await this.#rewindAny({ client, workflowId, runId: baseRunId, row, from: 0 });
  }

  async #rewindSomewhere({ copy, row }: Subject, of?: string): Promise<string> {
    const { client } = copy.stage.temporal;
    const runId = of ?? (await standingOf(copy)).runId;
    return this.#rewindAny({
      client,
      workflowId: copy.workflowId,
      runId,
      row,
      from: this.#dice.share(),
    });
  }

  /** To the first event that Temporal takes, going round from a share of them. A new run may have none at first. */
  async #rewindAny(what: {
    readonly client: Client;
    readonly workflowId: string;
    readonly runId: string;
    readonly row: Row;
    readonly from: number;
  }): Promise<string> {
    const { client, workflowId, runId, row, from } = what;
    const withSignals = this.#dice.isHit(0.5);
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

  async #judge(
    of: { readonly state: State } & ({ readonly copy: Copy } | { readonly sample: Sample }),
    what: string,
    work: () => Promise<void>,
  ): Promise<void> {
    const name = 'copy' in of ? `${of.copy.sample.name} (${of.copy.name})` : of.sample.name;
    try {
      await work();
    } catch (error) {
      this.#fail(
        `${of.state.name}, ${name}`,
        what,
        error instanceof Error ? (error.stack ?? error.message) : String(error),
      );
    }
  }

  #fail(whose: string, what: string, why: string): void {
    const { storeErrors, metadataInLists } = this.#service;
    this.failures.push(`[keeps ${storeErrors}, tags ${metadataInLists}] ${whose}, ${what}: ${why}`);
    this.#tell(`FAILED: ${this.failures.at(-1) ?? ''}`);
  }

  #tell(line: string): void {
    const { storeErrors, metadataInLists } = this.#service;
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(0).padStart(4);
    this.#options.tell?.(`${seconds} s  [keeps ${storeErrors}, tags ${metadataInLists}] ${line}`);
  }
}

/** Slow states have few events: so many resets meet each of them. */
const EVENTS_OF_SLOW_ONES = 8;

/** Lets so many works go on at a time. */
class Gate {
  readonly #width: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#width = width;
    this.#free = width;
  }

  isIdle(): boolean {
    return this.#free === this.#width;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** The newest run's report, once it has come to rest and `isRight`. @throws when it has not in good time */
async function untilAtRest(
  copy: Copy,
  state: { readonly isOpen: boolean | null },
  isRight: (report: Report) => boolean,
): Promise<Report> {
  const until = Date.now() + AT_REST_WITHIN_MS;
  for (let tries = 0; ; tries += 1) {
    const { isOpen, runId } = await standingOf(copy);
    if (state.isOpen === null || isOpen === state.isOpen) {
      const report = await reportOf(copy);
      if (isRight(report)) return report;
      if (!isOpen) throw new Error(`It ended otherwise:\n${JSON.stringify(withoutEvidence(report))}`);
    }
    if (Date.now() > until)
      throw new Error(`It did not come to rest:\n${JSON.stringify(await reportOf(copy))}`);
    const pauseMs = Math.min(200 * 1.5 ** tries, 5_000);
    if (state.isOpen !== false) await sleep(pauseMs);
    else await Promise.race([ended(copy, runId), sleep(30_000, undefined, { ref: false })]);
  }
}

async function ended(copy: Copy, runId: string): Promise<void> {
  const handle = copy.stage.temporal.client.workflow.getHandle(copy.workflowId, runId);
  await handle.result().catch(() => undefined);
}

/** In what two reports of the same money differ; null when they do not. */
function difference(state: State, before: Report, now: Report): string | null {
  const view = state.same === 'report' ? withoutEvidence : outcomesOf;
  return isDeepStrictEqual(view(before), view(now)) ? null : JSON.stringify(view(now));
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

function pickAt<T>(list: readonly T[], share: number): T {
  const found = list[Math.min(Math.floor(share * list.length), list.length - 1)];
  if (found === undefined) throw new RangeError('The run has no event to go back to.');
  return found;
}

function idsIn(stage: Stage): readonly string[] {
  const { trades, withdrawals } = stage.sandbox.ledger();
  return [...trades, ...withdrawals].map((row) => String(row['id']));
}

function nameOf(rewinding: Rewinding): string {
  if (rewinding.kind !== 'reset') return rewinding.kind;
  return `reset at ${(rewinding.at * 100).toFixed(0)} % of its events${rewinding.withSignals ? '' : ' without signals'}`;
}
