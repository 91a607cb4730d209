/**
 * The gate before every write of a worker. It reads what people have halted again and again
 * (`durable/halts/read.ts`), and each write asks what was read last. The gate is open only while the last
 * good reading is young, counted from before it was asked for. So a halt that Temporal has taken stops every
 * worker within that time, and the gate of a worker that cannot read is closed. A halt that it has seen holds
 * until a resume that names it, whatever becomes of the record, and so does one that workers before it have seen. A file on the
 * worker's machine halts it whatever Temporal says.
 */
import {
  READING_HOLDS_MS,
  haltOf,
  halted,
  heldAfter,
  holding,
  unsignedOf,
  type Closed,
  type Halt,
  type HaltRecord,
  type HaltedWrite,
  type HaltsHeld,
} from '../domain/halt.ts';
import { makeProblem } from '../domain/problems.ts';
import type { TimedClock } from './deps.ts';
import { ageMs, momentOf, type Moment } from './moment.ts';

/** The pause from the start of one reading to the start of the next, unless a reading takes longer. */
const READ_EVERY_MS = 250;
/** So long a write waits for a reading that is late, because a busy machine is no halt. */
const PATIENCE_MS = 3_000;

type HaltGateOptions = {
  /**
   * Reads the record of halts; the same object where it has not changed. Rejects when it cannot be read, within about
   * `READING_HOLDS_MS`.
   */
  readonly read: () => Promise<HaltRecord>;
  /** What workers before this one have seen halted, and not seen the end of. */
  readonly remembered: readonly Halt[];
  readonly clock: TimedClock;
  /** What halts this machine alone, as it stands in this moment (`config/halt-file.ts`); null: nothing. */
  readonly onMachine: () => Closed | null;
  /** Called with what the gate goes by when a reading has changed it. The gate goes by it already. */
  readonly onChange?: (held: HaltsHeld) => void;
  /** Called after each reading in which Temporal has lost what this worker goes by, or its record has ended. */
  readonly putBack: (held: HaltsHeld) => void;
};

export class HaltGate {
  readonly #options: HaltGateOptions;
  #held: HaltsHeld;
  /** When the last good reading was asked for; null: there was none. */
  #asked: Moment | null = null;
  /** The calls of `settled` that wait for the next reading. */
  #waiting: (() => void)[] = [];

  constructor(options: HaltGateOptions) {
    this.#options = options;
    this.#held = holding(options.remembered);
  }

  /** Null: the write may leave in this very moment. */
  whyNot(write: HaltedWrite): Closed | null {
    const onMachine = this.#options.onMachine();
    if (onMachine !== null) return onMachine;
    const halt = haltOf(this.#held.halts, write);
    if (halt !== null) return halted(halt, unsignedOf(this.#held.record?.words ?? [], halt));
    return this.#asked !== null && ageMs(this.#options.clock, this.#asked) < READING_HOLDS_MS
      ? null
      : { kind: 'unreadable', problem: makeProblem('HALT_UNREADABLE', null) };
  }

  /** Reads once. When that fails, the last reading stays, and grows old. */
  async look(): Promise<void> {
    const asked = momentOf(this.#options.clock);
    const before = this.#held;
    try {
      const record = await this.#options.read();
      if (record !== before.record) this.#held = heldAfter(before, record);
      this.#asked = asked;
    } catch {
      return;
    }
    const { record, lost } = this.#held;
    if (this.#held !== before) this.#options.onChange?.(this.#held);
    const hasEnded = record !== null && record.runIds.length > 0 && !record.isOpen;
    if (lost.length > 0 || hasEnded) this.#options.putBack(this.#held);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  /** When the last reading is too old, waits a little for the next one. Never waits for a halt to end. */
  async settled(write: HaltedWrite): Promise<void> {
    if (this.whyNot(write)?.kind !== 'unreadable') return;
    await new Promise<void>((resolve) => {
      const takeBack = this.#options.clock.wake(PATIENCE_MS, resolve);
      this.#waiting.push(() => {
        takeBack();
        resolve();
      });
    });
  }

  /** Reads until `signal` ends it. */
  async keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const started = momentOf(this.#options.clock);
      // One reading after the other, so that an answer that comes late never replaces a newer one.
      await this.look();
      await this.#pause(READ_EVERY_MS - ageMs(this.#options.clock, started), signal);
    }
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        takeBack();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const takeBack = this.#options.clock.wake(Math.max(ms, 0), end);
      signal.addEventListener('abort', end);
    });
  }
}
