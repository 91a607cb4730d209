/**
 * The kill switch: what people have halted and resumed, as Temporal keeps it, and the gate of each worker. The gate is the real one
 * (`activities/halt-gate.ts`); its readings come in virtual time, and only while an attempt of its worker is at work.
 */
import { HaltGate } from '../../../activities/halt-gate.ts';
import {
  NO_RECORD,
  beginsWith,
  haltsAfter,
  type Closed,
  type Halt,
  type HaltRecord,
  type HaltScope,
  type HaltWord,
  type HaltedWrite,
  type HaltsHeld,
} from '../../../domain/halt.ts';
import type { Planned } from './agenda.ts';
import { isHaltForgotten } from './outside.ts';
import type { Misfortune, Schedule } from './schedule.ts';
import type { World } from './world.ts';

/** A worker gives a reading up after this. */
const READING_FAILS_AFTER_MS = 1_000;
const READING_MS = 10;
/** So long after a worker has put a halt back, a person who sees it takes it back. */
const SEEN_AFTER_MS = 600_000;

const ASK_FOR_HALTS: readonly Misfortune['kind'][] = [
  'halt',
  'halt record lost',
  'halts unreadable',
  'slow readings',
];

/** Nothing of this schedule has to do with halts: its gates always stand open, and nobody reads for them. */
export function knowsNoHalts({ events }: Schedule): boolean {
  return events.every(({ what }) => !ASK_FOR_HALTS.includes(what.kind));
}

/** What a person has said of halts, and when Temporal had it: by its own clock (`atMs`), and in truth. */
type Word = HaltWord & {
  readonly word: 'halt' | 'resume' | 'stands';
  readonly scope: HaltScope;
  readonly trueMs: number;
};

export class Halts {
  readonly #world: World;
  #words: readonly Word[] = [];
  /** The workflow that keeps the record: when it began, by Temporal's clock and in truth. Null: there is none. */
  #workflow: { readonly name: string; readonly atMs: number; readonly trueMs: number } | null = null;
  #record: HaltRecord = NO_RECORD;
  /** When Temporal was last back from a backup. */
  backAtMs = -Infinity;
  /** Until when no reading is answered. */
  unreadableUntilMs = 0;
  #slow = { takesMs: READING_MS, untilMs: 0 };

  constructor(world: World) {
    this.#world = world;
  }

  /** What people have said, oldest first. */
  get words(): readonly Word[] {
    return this.#words;
  }

  /** A person halts it, and takes that very halt back a while later. */
  halt({ policy, currency, forMs }: Extract<Misfortune, { kind: 'halt' }>): void {
    const scope = { policy, currency };
    const haltAtMs = this.#say('halt', scope, {});
    if (haltAtMs === null) return;
    this.#world.coverage.hit('halt', scopeName(scope));
    this.#world.later(forMs, async () => this.#resume(scope, haltAtMs));
  }

  /** Somebody deletes the workflow that keeps the record, and perhaps starts it again empty. */
  lose({ isBegunAnew }: Extract<Misfortune, { kind: 'halt record lost' }>): void {
    if (this.#world.agenda.nowMs < this.backAtMs) return;
    this.#words = [];
    this.#workflow = null;
    if (isBegunAnew) this.#begin();
    this.#changed();
  }

  /** A worker puts back what Temporal has lost. */
  putBack({ halts, lost }: HaltsHeld): void {
    const { nowMs } = this.#world.agenda;
    if (nowMs < this.backAtMs) return;
    this.#world.coverage.hit('halt', 'put back by a worker');
    const atMs = this.#world.temporalMs();
    const isNew = this.#workflow === null;
    if (isNew) this.#begin();
    const words = [...(isNew ? beginsWith(halts, atMs) : []), ...beginsWith(lost, atMs)].map(
      ({ said }): Word => ({ word: 'stands', said, scope: (said as Halt).scope, atMs, trueMs: nowMs }),
    );
    this.#words = [...this.#words, ...words];
    this.#changed();
    this.#world.later(SEEN_AFTER_MS, async () => {
      for (const { scope, atMs: haltAtMs } of lost) this.#resume(scope, haltAtMs);
    });
  }

  /** For so long each reading takes so long. */
  slowDown({ takesMs, ms }: Extract<Misfortune, { kind: 'slow readings' }>): void {
    this.#slow = { takesMs, untilMs: this.#world.agenda.nowMs + ms };
  }

  /** Whoever finds a halt that stands takes it back, and readings are quick. */
  heal(): void {
    this.unreadableUntilMs = 0;
    this.#slow = { takesMs: READING_MS, untilMs: 0 };
    for (const { scope, atMs } of haltsAfter(this.#words)) this.#resume(scope, atMs);
  }

  /** Temporal is away, and then knows what it knew at `thenMs`. */
  restore(thenMs: number, takesMs: number): void {
    const { nowMs } = this.#world.agenda;
    isHaltForgotten(
      this.#world,
      this.#words.some(({ word, trueMs }) => word === 'halt' && trueMs > thenMs),
    );
    this.#words = this.#words.filter(({ trueMs }) => trueMs <= thenMs);
    if ((this.#workflow?.trueMs ?? 0) > thenMs) this.#workflow = null;
    this.#changed();
    this.backAtMs = nowMs + takesMs;
  }

  /** What a reading that begins now says, and how long it takes. Null: nobody answers. */
  asRead(): {
    readonly takesMs: number;
    readonly record: HaltRecord | null;
    readonly words: readonly Word[];
  } {
    const { nowMs } = this.#world.agenda;
    if (nowMs < this.unreadableUntilMs || nowMs < this.backAtMs)
      return { takesMs: READING_FAILS_AFTER_MS, record: null, words: [] };
    const takesMs = nowMs < this.#slow.untilMs ? this.#slow.takesMs : READING_MS;
    return { takesMs, record: this.#record, words: this.#words };
  }

  /** What lies ahead and no line has told yet. */
  pending(): unknown {
    const { nowMs } = this.#world.agenda;
    const { takesMs, untilMs } = this.#slow;
    const left = [this.unreadableUntilMs, this.backAtMs, untilMs].map((ms) => Math.max(0, ms - nowMs));
    return [this.#workflow === null, this.#words.map(({ word, scope }) => [word, scope]), left, takesMs];
  }

  #resume(scope: HaltScope, haltAtMs: number): void {
    if (this.#say('resume', scope, { haltAtMs }) !== null) this.#world.coverage.hit('halt', 'resumed');
  }

  /** When Temporal had it, by its clock; null: Temporal is away, so that nobody is told. */
  #say(word: Word['word'], scope: HaltScope, more: object): number | null {
    const { nowMs } = this.#world.agenda;
    if (nowMs < this.backAtMs) return null;
    const atMs = this.#world.temporalMs();
    const said = { scope, by: 'ana', why: 'wrong accounts', ...more };
    if (this.#workflow === null) this.#begin();
    this.#words = [...this.#words, { word, said, scope, atMs, trueMs: nowMs }];
    this.#changed();
    return atMs;
  }

  #begin(): void {
    const { nowMs } = this.#world.agenda;
    this.#workflow = { name: `halt-${nowMs}`, atMs: this.#world.temporalMs(), trueMs: nowMs };
  }

  #changed(): void {
    this.#record = {
      ...NO_RECORD,
      words: this.#words,
      ...(this.#workflow && {
        runIds: [this.#workflow.name],
        sinceMs: this.#workflow.atMs,
        isOpen: true,
      }),
    };
  }
}

function scopeName({ policy, currency }: HaltScope): string {
  if (policy === null) return currency === null ? 'everything' : 'a currency';
  return currency === null ? 'a policy' : 'a policy in a currency';
}

/** Somebody at work, for whom a gate reads. */
type User = { readonly isOver: () => boolean };

/** The gate of one worker, which stands still with it. */
export class WorkerGate {
  readonly #world: World;
  readonly #gate: HaltGate;
  #users: readonly User[] = [];
  /** What its readings have shown, ever. */
  #seen: ReadonlySet<Word> = new Set();
  #frozenUntilMs = 0;
  /** Ends the readings; null: there are none. */
  #reading: AbortController | null = null;

  constructor(world: World) {
    this.#world = world;
    this.#gate = new HaltGate({
      read: () => this.#read(),
      remembered: [],
      putBack: (held) => world.halts.putBack(held),
      onMachine: () => null,
      clock: { ...world.clock, wake: (afterMs, callback) => this.#later(afterMs, callback).cancel },
    });
  }

  /** What this worker has seen, and Temporal has lost since. */
  get seenAndLost(): readonly Word[] {
    const there = this.#world.halts.words;
    return [...this.#seen].filter((word) => !there.includes(word));
  }

  /** Reads until this one is over. */
  open(user: User): void {
    this.#users = [...this.#users, user];
    if (this.#reading !== null) return;
    this.#reading = new AbortController();
    void this.#gate.keepLooking(this.#reading.signal);
  }

  freeze(untilMs: number): void {
    this.#frozenUntilMs = untilMs;
  }

  whyNot(write: HaltedWrite): Closed | null {
    return this.#gate.whyNot(write);
  }

  async settled(write: HaltedWrite): Promise<void> {
    if (this.#gate.whyNot(write)?.kind === 'unreadable')
      this.#world.coverage.hit('halt', 'waits for a reading');
    await this.#gate.settled(write);
  }

  /** It says what was true when it was asked for. */
  #read(): Promise<HaltRecord> {
    this.#users = this.#users.filter(({ isOver }) => !isOver());
    if (this.#users.length === 0) {
      this.#reading?.abort();
      this.#reading = null;
    }
    const { takesMs, record, words } = this.#world.halts.asRead();
    return new Promise((resolve, reject) => {
      this.#later(takesMs, () => {
        this.#seen = new Set([...this.#seen, ...words]);
        if (record === null) reject(new Error('no answer'));
        else resolve(record);
      });
    });
  }

  /** Later, and not before its worker goes on. */
  #later(afterMs: number, act: () => void): Planned {
    const { agenda } = this.#world;
    let planned: Planned;
    const due = (): void => {
      if (this.#frozenUntilMs > agenda.nowMs) {
        planned = agenda.at(this.#frozenUntilMs, due);
        return;
      }
      this.#world.moves();
      act();
    };
    planned = agenda.after(afterMs, due);
    return { cancel: () => planned.cancel() };
  }
}
