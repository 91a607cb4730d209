/**
 * The world of one schedule: Temporal, workers, clocks, people and the service, in virtual time. It plays the real run
 * (`domain/run/run.ts`) and the real steps (`domain/`), lets the schedule's misfortunes happen to them, then stops all
 * faults and sees whether every run ends (M8). Deterministic: the same schedule gives the same events, one by one.
 */
import { SharedScans } from '../../../activities/shared-scans.ts';
import { chunkMemory, type ChunkMemory } from '../../../activities/of-chunk.ts';
import { clockSkew } from '../../../activities/clock-skew.ts';
import type { TimedClock } from '../../../activities/deps.ts';
import type { Waiting } from '../../../domain/waits.ts';
import type { Credentials } from '../../../domain/plan/plan.ts';
import type { Reply, ReplyFacts } from '../../../domain/service/reply.ts';
import { KeptRefusals } from '../../../domain/writes/kept-refusals.ts';
import { makeReport, statusOf } from '../../../domain/run/report.ts';
import type { RunState } from '../../../domain/run/state.ts';
import { DEFAULT_SERVICE_FACTS, type ServiceFacts } from '../../../domain/service/facts.ts';
import { Agenda } from './agenda.ts';
import type { Attempt } from './attempt.ts';
import { batchOf, oursOf, rebalanceOf, type Ours } from './ours.ts';
import type { Coverage } from './coverage.ts';
import { Oracle, generationIn } from './oracle.ts';
import { cannotBeTold, comesBackAfter, forgetsAGeneration } from './outside.ts';
import type { Event, Misfortune, Schedule } from './schedule.ts';
import { Service, type Movement, type Write } from './service.ts';
import { readerOf } from './reader.ts';
import { Halts, WorkerGate, knowsNoHalts } from './halts.ts';
import { Temporal } from './temporal.ts';
import { Turns } from './turns.ts';
import { CLOCKS_AGREE_MS, DATE_MS, DAY_MS, HOUR_MS } from './windows.ts';

const FIRST_KEY: Credentials = { mode: 'SANDBOX', organisation: 'org-1', keyName: 'key-1' };
const WITH_ONE_KEY: ServiceFacts = { ...DEFAULT_SERVICE_FACTS, keyUsedSince: '2026-11-21' };
const STARTS_AT_MS = {
  'before the date': DATE_MS - 10 * 60_000,
  'in the day': DATE_MS + 9 * HOUR_MS,
  'before midnight': DATE_MS + DAY_MS - 10 * 60_000,
  'before trades stop': DATE_MS + 26 * HOUR_MS - 5 * 60_000,
} as const;
/** So long without anything but looks is a lull. */
const LULL_MS = 40 * 60_000;
/** After the faults have stopped a run may still need its send window and the doubt after it. */
const ENDS_WITHIN_MS = 9 * DAY_MS;
/** What comes sooner belongs to what is going on. */
const REST_MS = 500;
/** So long after the faults have stopped, a batch that buys its money is left to itself. */
const BOUGHT_WITHIN_MS = 3 * HOUR_MS;
/** However much goes on by itself, a person who is asked answers by then. */
const LULL_OF_PEOPLE_MS = 3 * DAY_MS;
/** Shorter pauses need no sentence. */
const QUIET_MS = 60_000;
/** More than any schedule needs: a run that spins is a fault. */
const MOST_EVENTS = 150_000;
const MOST_EVENTS_OF_A_BATCH = 5 * MOST_EVENTS;

/** One write that left, and what came back; null: nothing yet, or its attempt is dead. */
export type Sent = {
  readonly write: Write;
  readonly sentAtMs: number;
  reply: Reply<unknown> | null;
};

/** Somebody who looks on, for a story: the faults go on until it has seen enough. */
export type Spectator = {
  /** A run is held by a problem of this code, which did not hold it before. */
  readonly isHeld: (temporal: Temporal, code: string) => Promise<void>;
  /** Some run has come a step further. */
  readonly look: () => Promise<void>;
  readonly hasSeenEnough: () => boolean;
};

export class World {
  readonly schedule: Schedule;
  readonly agenda: Agenda;
  readonly service: Service;
  /** Our runs, as Temporal has them: one, or two of the same day. */
  readonly runs: readonly Temporal[];
  /** Each run, and of a batch its chunks after it. */
  readonly workflows: readonly Temporal[];
  /** What the ids of all Temporal runs begin with. */
  readonly nameOfRuns: string;
  readonly oracle: Oracle;
  readonly coverage: Pick<Coverage, 'hit'>;
  /** Every write that left, oldest first. */
  readonly sent: Sent[] = [];
  readonly turns: Turns;
  readonly halts: Halts;
  /** Of the worker that is there now; null: nothing is ever halted. */
  gate: WorkerGate | null;
  /** What the worker itself knows of refused generations; one that has just started knows nothing. */
  keptRefusals = new KeptRefusals();
  /** How workers read the service. */
  readonly reader: ReturnType<typeof readerOf>;
  /** Of the worker that is there now. */
  scans: SharedScans;
  chunkMemory: ChunkMemory;
  /** Our clock less the true time. */
  ourSkewMs = 0;
  /** Temporal's clock less the true time. */
  #temporalSkewMs = 0;
  credentials: Credentials = FIRST_KEY;
  /** API keys that the workers have had. */
  readonly keysUsed = new Set([FIRST_KEY.keyName]);
  readonly #story: string[] | null;
  /** How often each moment has come. */
  readonly #moments = new Map<string, number>();
  /** When what is still to happen to us will happen. */
  readonly #coming = new Set<number>();
  /** When something last happened, was sent for the first time, or was booked. */
  #newsAtMs: number;
  /** When the faults stopped; null while they go on. */
  healedAtMs: number | null = null;
  /** An operator has tried again what was left. */
  #isRemedied = false;
  /** Something that takes virtual time has been asked for, or answered, just now. */
  #isMoving = false;
  /** Keys under which something was sent. */
  readonly #keysSent = new Set<string>();
  readonly #spectator: Spectator | null;
  /** What each run was held by when it was last looked at. */
  readonly #holds = new Map<Temporal, readonly string[]>();
  #points = 0;
  /** Somebody wants to know by what the runs are held. */
  readonly #looksForHolds: boolean;
  readonly #generations = new Map<string, number>();

  /** @param story what happened is added to it, for people; null when nobody wants to read it */
  constructor(
    schedule: Schedule,
    coverage: Pick<Coverage, 'hit'>,
    story: string[] | null = null,
    spectator: Spectator | null = null,
  ) {
    this.schedule = schedule;
    this.#spectator = spectator;
    this.#looksForHolds = spectator !== null || schedule.events.some(({ when }) => when.at.startsWith(HELD));
    this.coverage = coverage;
    this.#story = story;
    this.agenda = new Agenda(STARTS_AT_MS[schedule.policy.startsAt]);
    this.#newsAtMs = this.agenda.nowMs;
    this.oracle = new Oracle(this);
    worlds += 1;
    // What real activities remember of one world is nothing to the next.
    this.nameOfRuns = schedule.batch === null ? '' : `${worlds}-`;
    this.runs = oursIn(schedule).map((ours) => new Temporal(this, ours));
    this.workflows = this.runs.flatMap((run) => [run, ...run.chunks]);
    this.service = new Service(schedule, this.agenda, coverage, {
      booked: (movement) => this.#booked(movement),
      changed: () => this.#lookAgain(),
    });
    this.turns = new Turns(this);
    this.halts = new Halts(this);
    this.reader = readerOf(this);
    this.scans = this.#newScans();
    this.chunkMemory = chunkMemory(this.clock);
    this.gate = this.#newGate();
    this.toldSkewMs = null;
  }

  #newGate(): WorkerGate | null {
    return knowsNoHalts(this.schedule) ? null : new WorkerGate(this);
  }

  #newScans(): SharedScans {
    return new SharedScans(this.reader, { clock: this.clock, listLagMs: this.facts.listLagMs });
  }

  /** Since when the worker knows that the service's clock and ours are too far apart; null: it knows of nothing. */
  apartSinceMs: number | null = null;

  /** The service's clock less ours, as the worker last heard; null in a worker that has just started. */
  get toldSkewMs(): number | null {
    return clockSkew.latestMs();
  }

  set toldSkewMs(skewMs: number | null) {
    clockSkew.tell(skewMs);
    const isApart = skewMs !== null && Math.abs(skewMs) > CLOCKS_AGREE_MS;
    this.apartSinceMs = isApart ? (this.apartSinceMs ?? this.agenda.nowMs) : null;
  }

  /** Of the workers: what they wait for comes when it is due in virtual time. */
  readonly clock: TimedClock = {
    wallMs: () => this.wallMs(),
    monotonicMs: () => this.monotonicMs(),
    wake: (afterMs, callback) =>
      this.agenda.after(afterMs, () => {
        this.moves();
        callback();
      }).cancel,
  };

  /** Something that takes virtual time: it goes on by itself whenever what it waits for has come. */
  goesOn(work: () => Promise<void>): void {
    this.moves();
    void work().catch((error: unknown) =>
      this.oracle.broken('model', `it broke: ${String((error as Error).stack)}`),
    );
  }

  /** What waits for an answer has got it. */
  moves(): void {
    this.#isMoving = true;
  }

  /** Runs the whole schedule; what was broken, in the order in which it was. */
  async run(): Promise<readonly string[]> {
    const { story } = this.schedule;
    if (story !== null) this.coverage.hit('story', story);
    const [first, second] = this.runs;
    await first?.start('first');
    if (second !== undefined) this.later(this.schedule.secondAfterMs ?? 0, () => second.start('first'));
    const isLarge = this.schedule.policy.pays === 'batch' || this.schedule.batch !== null;
    const most = isLarge ? MOST_EVENTS_OF_A_BATCH : MOST_EVENTS;
    for (let events = 0; this.oracle.violations.length === 0; events += 1) {
      // Time goes on event by event.
      if (!(await this.#goOn())) break;
      if (this.#looksForHolds && (this.#hasNews() || this.isOver())) await this.#noteHolds();
      if (events > most) this.oracle.broken('M8', `the run spins: ${this.#whereItStands()}`);
    }
    if (this.oracle.violations.length === 0) this.#judgeTheEnd();
    return this.oracle.violations;
  }

  /** One event; false when nothing is left. */
  async #goOn(): Promise<boolean> {
    if (this.healedAtMs === null) {
      if (this.#mayHeal()) {
        this.#heal();
        return true;
      }
      if (this.#coming.size > 0) this.#skipTheLull();
    } else {
      // In the middle of things nothing rests.
      const pauseMs = (this.agenda.nextMs() ?? Infinity) - this.agenda.nowMs;
      if (pauseMs >= REST_MS && this.#isAtRest()) return false;
      for (const temporal of this.runs)
        // Temporal takes one after the other.
        if ([temporal, ...temporal.chunks].some(isGone)) await temporal.start('again');
    }
    const nextMs = this.agenda.nextMs();
    if (nextMs === null) return false;
    if (nextMs - this.agenda.nowMs > QUIET_MS) this.oracle.quietUntil(nextMs);
    await this.agenda.take()();
    if (this.#isMoving) {
      this.#isMoving = false;
      await settled(this.workflows);
    }
    return true;
  }

  /** Adds to the story of this schedule. */
  tell(what: () => string): void {
    if (this.#story === null) return;
    const at = new Date(this.agenda.nowMs).toISOString().slice(5, 23);
    this.#story.push(`${at} ${what()}`);
  }

  // Clocks and what the workers know.

  /** What the operator's file says; whoever takes another API key strikes out that there was only one. */
  get facts(): ServiceFacts {
    return this.schedule.isKeyKnown && this.keysUsed.size === 1 ? WITH_ONE_KEY : DEFAULT_SERVICE_FACTS;
  }

  wallMs(): number {
    return this.agenda.nowMs + this.ourSkewMs;
  }

  /** Of workers that outlive every crash; no two worlds have a moment in common. */
  monotonicMs(): number {
    return this.agenda.nowMs + worlds * 400 * DAY_MS;
  }

  temporalMs(): number {
    return this.agenda.nowMs + this.#temporalSkewMs;
  }

  #lookAgain(): void {
    for (const { chores } of this.workflows) chores.lookAgain();
  }

  /** Every answer that tells the service's clock teaches the worker (`activities/clock-skew.ts`). */
  told<T>(reply: Reply<T>): Reply<T> {
    if (reply.kind !== 'NOT_SENT') this.noteFacts(reply.facts);
    return reply;
  }

  noteFacts({ serviceTimeMs }: ReplyFacts): void {
    if (serviceTimeMs !== null) this.toldSkewMs = serviceTimeMs + 500 - this.wallMs();
  }

  /** The credentials that the plan was made with, as far as there is one. */
  #planKey(): Credentials {
    return this.runs[0]?.planRun?.plan?.credentials ?? FIRST_KEY;
  }

  /** What lies ahead and no line has told yet: clocks that nobody has read, blows that nobody has felt, what is under way. */
  pending(): unknown {
    return [
      this.ourSkewMs,
      this.#temporalSkewMs,
      this.toldSkewMs,
      this.credentials,
      this.service.pending(),
      this.halts.pending(),
      this.workflows.map((workflow) => workflow.pending()),
    ];
  }

  // What is sent and booked.

  /** A write leaves. */
  sending(write: Write, attempt: Attempt): Sent {
    const what = write.step === 'quote' ? 'quote' : write.key;
    // The same again and again is no news.
    if (!this.#keysSent.has(what)) this.#news();
    this.#keysSent.add(what);
    if (write.step === 'withdrawal') {
      const generation = Math.max(this.latestGeneration(write.item), generationIn(write.request.reference));
      this.#generations.set(write.item, generation);
    }
    this.oracle.sending(write, attempt);
    const sent: Sent = { write, sentAtMs: this.agenda.nowMs, reply: null };
    this.sent.push(sent);
    return sent;
  }

  #booked(movement: Movement): void {
    this.#news();
    this.tell(() => `--- ${movement.kind} ${movement.record.id} for ${movement.send.write.item} is booked`);
    this.oracle.booked(movement);
  }

  /** The latest generation of a payment under which something was sent. */
  latestGeneration(item: string): number {
    return this.#generations.get(item) ?? 1;
  }

  #news(): void {
    this.#newsAtMs = this.agenda.nowMs;
  }

  // What happens to us.

  /** A named moment has come: whatever the schedule has for it happens now or a little later. */
  reach(moment: string): void {
    const nth = (this.#moments.get(moment) ?? 0) + 1;
    this.#moments.set(moment, nth);
    for (const event of this.schedule.events) {
      if (event.when.at !== moment || event.when.nth !== nth || this.healedAtMs !== null) continue;
      // In the middle of what an attempt does: before it can go on.
      if (event.when.plusMs === 0 && isBlow(event.what)) this.#befall(event);
      else this.later(event.when.plusMs, () => this.#happen(event));
    }
  }

  /** How often each moment has come so far. */
  moments(): ReadonlyMap<string, number> {
    return new Map(this.#moments);
  }

  /** Some run has come a step further since this was asked. */
  #hasNews(): boolean {
    let points = 0;
    for (const temporal of this.workflows) points += temporal.pointsOfHistory();
    const isNews = points !== this.#points;
    this.#points = points;
    return isNews;
  }

  /** That a run is held by something which did not hold it before is a moment like any other. */
  async #noteHolds(): Promise<void> {
    for (const temporal of this.runs) {
      const before = this.#holds.get(temporal) ?? [];
      const now = holdsOf(temporal);
      this.#holds.set(temporal, now);
      for (const code of new Set(now)) {
        if (before.includes(code)) continue;
        // Whoever looks on sees it before anything comes of it.
        await this.#spectator?.isHeld(temporal, code);
        this.reach(`${HELD}${code}`);
      }
    }
    await this.#spectator?.look();
  }

  /** Something that will happen to us, however quiet it is until then. */
  later(ms: number, act: () => Promise<void>): void {
    const atMs = this.agenda.nowMs + ms;
    // Two things at one moment are one for this set: it only tells how long a lull can be.
    this.#coming.add(atMs);
    this.agenda.after(ms, async () => {
      this.#coming.delete(atMs);
      this.#news();
      await act();
    });
  }

  /** Nothing but looks since a while: no worker need be there until shortly before the next thing happens. */
  #skipTheLull(): void {
    const nextMs = Math.min(...this.#coming);
    const { nowMs } = this.agenda;
    if (nowMs - this.#newsAtMs < LULL_MS || nextMs - nowMs < 2 * LULL_MS) return;
    this.tell(() => 'nothing happens; no worker for a while');
    this.#stopWorkers();
    for (const temporal of this.workflows) temporal.withoutWorkers(nextMs - LULL_MS / 2);
    this.#news();
  }

  /** Another process will go on: it has heard no clock yet. */
  #stopWorkers(): void {
    for (const temporal of this.workflows) temporal.strike({ kind: 'crash' });
    this.toldSkewMs = null;
    this.scans = this.#newScans();
    this.chunkMemory = chunkMemory(this.clock);
    this.gate = this.#newGate();
    this.keptRefusals = new KeptRefusals();
  }

  #befall(event: Event): void {
    this.#note(event);
    if (event.what.kind === 'crash') {
      this.#stopWorkers();
      return;
    }
    if (event.what.kind === 'freeze') {
      // It stands still with its worker; what comes now goes to another one.
      this.gate?.freeze(this.agenda.nowMs + event.what.ms);
      this.gate = this.#newGate();
      this.keptRefusals = new KeptRefusals();
    }
    for (const temporal of this.workflows) temporal.strike(event.what);
  }

  #note({ what, when }: Event): void {
    this.#news();
    this.coverage.hit('event', what.kind);
    if (isBlow(what) && when.plusMs === 0) this.coverage.hit(what.kind, when.at);
    this.tell(() => `### ${JSON.stringify(what)} (${when.at} #${when.nth} + ${when.plusMs} ms)`);
  }

  async #happen(event: Event): Promise<void> {
    if (this.healedAtMs !== null) return;
    const { what } = event;
    if (isBlow(what)) {
      this.#befall(event);
      return;
    }
    this.#note(event);
    const temporal = this.workflows[event.of] ?? this.workflows[0];
    if (temporal === undefined) return;
    const { people } = temporal.home;
    switch (what.kind) {
      case 'crash':
      case 'freeze':
      case 'mute':
        return;
      case 'slow dispatch':
        temporal.slowDown(what.ms);
        return;
      case 'answered':
        await temporal.answerInstead(what);
        return;
      case 'handed on':
        await temporal.goOnFalsely(what);
        return;
      case 'away':
        this.#stopWorkers();
        for (const each of this.workflows) each.withoutWorkers(this.agenda.nowMs + what.ms);
        this.later(what.ms, async () => {});
        return;
      case 'pause':
        temporal.pause(what.ms);
        this.later(what.ms, async () => {});
        return;
      case 'reset':
        await temporal.reset(what.back, what.run);
        return;
      case 'two resets':
        await temporal.reset(what.back, 0);
        await temporal.reset(what.back, 1);
        return;
      case 'terminate':
        temporal.terminate(what);
        return;
      case 'vanish':
        if (!forgetsAGeneration(this)) temporal.home.vanish(what);
        return;
      case 'start':
        for (let start = 0; start < what.times; start += 1)
          // Temporal takes one after the other.
          await temporal.home.start('again');
        return;
      case 'restore':
        this.#restore(what);
        return;
      case 'cancel':
        await people.cancel(what.how);
        return;
      case 'go on':
        people.goOn(what);
        return;
      case 'superseded':
        await people.supersede();
        return;
      case 'cause gone':
        people.causeGone(what);
        return;
      case 'executed':
      case 'not executed':
        people.decide(what);
        return;
      case 'not this':
        await people.notThis(what.item);
        return;
      case 'pay again':
        people.payAgain(what);
        return;
      case 'our clock':
        if (!cannotBeTold(this, what.byMs)) this.ourSkewMs += what.byMs;
        return;
      case 'their clock':
        if (!cannotBeTold(this, -what.byMs)) this.service.skewMs += what.byMs;
        return;
      case 'Temporal’s clock':
        this.#temporalSkewMs += what.byMs;
        return;
      case 'credentials':
        this.#takeKey(what.use);
        return;
      case 'lists unreadable':
        this.service.listsUnreadableUntilMs = this.agenda.nowMs + what.ms;
        this.agenda.after(what.ms, () => this.#lookAgain());
        return;
      case 'slow reads':
        this.service.slowDown(what);
        return;
      case 'instructions unreadable':
        temporal.home.unreadableUntilMs = this.agenda.nowMs + what.ms;
        this.later(what.ms, async () => {});
        return;
      case 'service away':
        this.service.awayUntilMs = this.agenda.nowMs + what.ms;
        this.agenda.after(what.ms, () => this.#lookAgain());
        return;
      case 'halt':
        this.halts.halt(what);
        return;
      case 'halt record lost':
        this.halts.lose(what);
        return;
      case 'turn lost':
        this.turns.lose();
        return;
      case 'halts unreadable':
        this.halts.unreadableUntilMs = this.agenda.nowMs + what.ms;
        this.later(what.ms, async () => {});
        return;
      case 'slow readings':
        this.halts.slowDown(what);
        return;
      case 'money':
        this.service.money(what.currency, what.change);
        return;
      case 'word':
        this.service.sayOf(temporal.itemOf(temporal.home.ours.items[what.item]), what.word);
        return;
      case 'account':
        this.service.verify(what.account, what.status === 'VERIFIED');
        return;
      case 'refuses':
        this.service.refuse(what.step, what.code, what.ms);
        this.later(what.ms, async () => {});
        return;
      case 'deposits':
        for (let time = 1; time <= what.times; time += 1)
          this.later(time * what.everyMs, async () => this.service.deposit(what.each));
    }
  }

  /** Temporal goes back to an earlier state, with every run that it has. */
  #restore({ back, takesMs }: Extract<Misfortune, { kind: 'restore' }>): void {
    const [first] = this.runs;
    if (first === undefined || first.isAway() || forgetsAGeneration(this)) return;
    const thenMs = first.momentBefore(back);
    const losesPlan = this.runs.some(
      ({ planRun }) => planRun !== null && (planRun.endedAtMs ?? Infinity) > thenMs,
    );
    const backAfterMs = comesBackAfter(takesMs, losesPlan);
    this.turns.restore(thenMs);
    this.halts.restore(thenMs, backAfterMs);
    for (const temporal of this.workflows) temporal.restore(thenMs, backAfterMs);
  }

  /** A worker gets another key file by being started again. */
  #takeKey(use: Extract<Misfortune, { kind: 'credentials' }>['use']): void {
    const isOther = use === 'another key' || use === 'a third key';
    this.#stopWorkers();
    this.credentials = {
      mode: 'SANDBOX',
      organisation: use === 'another organisation' ? 'org-2' : 'org-1',
      keyName: isOther ? (use === 'another key' ? 'key-2' : 'key-3') : this.#planKey().keyName,
    };
    this.keysUsed.add(this.credentials.keyName);
  }

  // The end.

  /** The time is up, or nothing of ours is at work and nothing more will happen to us. */
  #mayHeal(): boolean {
    const nextMs = this.agenda.nextMs();
    if (this.#spectator !== null) return this.#spectator.hasSeenEnough() || nextMs === null;
    if (nextMs === null) return true;
    if (this.#coming.size > 0) return false;
    const startedAtMs = STARTS_AT_MS[this.schedule.policy.startsAt];
    if (nextMs >= startedAtMs + this.schedule.healsAfterMs) return true;
    return this.runs.every(({ current }) => current === null) || this.agenda.nowMs - this.#newsAtMs > LULL_MS;
  }

  /** No run is open, and nothing more will happen to us. */
  isOver(): boolean {
    return this.#coming.size === 0 && this.runs.every(({ current }) => current === null);
  }

  /** Faults stop. */
  #heal(): void {
    this.tell(() => '### faults stop');
    this.healedAtMs = this.agenda.nowMs;
    this.ourSkewMs = 0;
    this.#temporalSkewMs = 0;
    this.credentials = this.#planKey();
    this.keptRefusals = new KeptRefusals();
    for (const temporal of this.workflows) temporal.withWorkers();
    // A service that sends no `Date` does not tell that the clocks agree again: whoever set them starts the worker anew.
    if (!this.service.settings.dates) this.toldSkewMs = null;
    this.service.heal();
    this.halts.heal();
    if (this.schedule.batch?.isFunded !== true) return;
    // What it was to buy comes by itself, and an operator looks once more at what had no money until then.
    this.agenda.after(BOUGHT_WITHIN_MS, () => {
      this.service.money('MXN', 'comes');
      this.#isRemedied = false;
    });
  }

  /** After the faults have stopped: everything has ended, or nothing will change any more. What waits for a person hears the truth. */
  #isAtRest(): boolean {
    const isBooking = this.service.alive().length > 0;
    if (this.workflows.every(hasEnded) && this.#coming.size === 0) return !isBooking && !this.#remedy();
    const open = this.runs.filter(({ current }) => current !== null);
    if (isBooking || open.length === 0) return false;
    const sinceMs = this.agenda.nowMs - (this.healedAtMs ?? 0);
    for (const temporal of open) {
      if (!waitsForPeople(temporal, sinceMs > LULL_OF_PEOPLE_MS)) continue;
      if (!this.oracle.judgesWhoIsAsked(temporal)) return false;
      if (!temporal.people.sayTheTruth()) continue;
      this.agenda.after(1, () => temporal.wake());
      return false;
    }
    return this.agenda.nowMs > Math.max(this.healedAtMs ?? 0, DATE_MS) + ENDS_WITHIN_MS;
  }

  /** Whoever finds something undone when the causes are mended presses a button, once. True when there was something. */
  #remedy(): boolean {
    const undone = this.runs.filter((temporal) => this.oracle.isUndone(temporal));
    if (this.#isRemedied || undone.length === 0) return false;
    this.#isRemedied = true;
    const { remedy } = this.schedule;
    this.coverage.hit('event', `a remedy: ${remedy.kind}`);
    for (const temporal of undone)
      this.agenda.after(1, async () => {
        if (remedy.kind === 'reset') await temporal.reset(remedy.back, remedy.run);
        else temporal.people.goOn({ kind: 'go on', promptMs: 0 });
      });
    return true;
  }

  #judgeTheEnd(): void {
    for (const temporal of this.runs) {
      const newest = temporal.newest();
      const isOpen = [temporal, ...temporal.chunks].some(({ current }) => current !== null);
      if (isOpen || newest === undefined || newest.standing === 'open') {
        this.oracle.broken('M8', `the run never ends: ${this.#whereItStands()}`);
        return;
      }
      this.coverage.hit('end', newest.standing);
      this.oracle.ended(temporal, newest);
    }
  }

  #whereItStands(): string {
    const open = this.workflows.flatMap(({ current }) => current ?? []);
    const waits = open.flatMap(({ state }) => waitsOf(state));
    return [
      ...new Set(waits.map(({ reason, problem: { code, message } }) => `${reason}, ${code}: ${message}`)),
    ]
      .slice(0, 3)
      .join('; ');
  }
}

/** What the moments are called at which a run is held by a problem of some code. */
export const HELD = 'held by ';

function holdsOf({ current, chunks }: Temporal): readonly string[] {
  if (current === null || statusOf(current.state) !== 'HELD') return [];
  const states = [current.state, ...chunks.flatMap((chunk) => chunk.newest()?.state ?? [])];
  return states.flatMap((state) => makeReport(state).problems.map(({ code }) => code));
}

/** A batch, or a policy and perhaps another one. */
function oursIn({ policy, batch, rebalance, secondAfterMs }: Schedule): readonly Ours[] {
  if (rebalance !== null)
    return [
      rebalanceOf('the', policy, rebalance),
      ...(secondAfterMs === null ? [] : [rebalanceOf('the other', policy, rebalance)]),
    ];
  if (batch === null)
    return [
      oursOf('p', policy),
      ...(secondAfterMs === null ? [] : [oursOf('q', { ...policy, pays: 'fixed' })]),
    ];
  const other = secondAfterMs === null ? [] : [batchOf('the other', policy, batch)];
  return [batchOf('the', policy, batch), ...other];
}

/** Whatever can go on without time has gone on, also a workflow that is told something meanwhile. */
async function settled(workflows: readonly Temporal[]): Promise<void> {
  for (let turn = 0; turn < 2 || workflows.some(({ tasks }) => tasks > 0); turn += 1)
    // One after the other.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

/** How many worlds this process has seen. */
let worlds = 0;

/** Somebody has to start it, or submit it. */
function isGone(temporal: Temporal): boolean {
  const standing = temporal.standing();
  return standing === 'none' || (standing === 'terminated' && temporal.number === null);
}

function hasEnded(temporal: Temporal): boolean {
  const standing = temporal.standing();
  // A chunk that somebody has ended is its run's to start again, as long as that is open.
  const isLeft = temporal.number !== null && standing === 'terminated' && temporal.home.current === null;
  return !temporal.isAway() && (isLeft || ['ended', 'refused'].includes(standing));
}

/** Everything that a run says it waits for. */
function waitsOf(state: RunState): readonly Waiting[] {
  return [state, ...state.legs, ...state.payments].flatMap(({ waiting }) => waiting ?? []);
}

/** Somebody is asked, and everything else has had its time. */
function waitsForPeople({ current, chunks }: Temporal, isLongSince: boolean): boolean {
  if (current === null || current.state.waiting !== null) return false;
  const states = [current, ...chunks.flatMap((chunk) => chunk.current ?? [])].map(({ state }) => state);
  const waits = states.flatMap(waitsOf);
  return isLongSince ? waits.some(isForAPerson) : waits.length > 0 && waits.every(isForAPerson);
}

function isForAPerson({ reason }: Waiting): boolean {
  return reason === 'person';
}

/** What strikes attempts in the middle of what they do. */
function isBlow(what: Misfortune): boolean {
  return what.kind === 'crash' || what.kind === 'freeze' || what.kind === 'mute';
}
