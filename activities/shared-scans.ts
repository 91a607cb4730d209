/**
 * List scans of the withdrawals, shared by all calls of a worker. One scan answers all calls that asked
 * before it began. A call that asks later waits for the next scan, because the scan under way may have passed
 * the place of a record that is there by now. A lookup goes on from the last complete scan, so that one scan
 * of a long list serves all later lookups. A list that was not read whole must never pass for whole: if a
 * scan is cut short, every call that it served is told.
 */
import { setMaxListeners } from 'node:events';
import type { Withdrawal } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { ServiceClient } from '../service/client.ts';
import { firstReference } from '../domain/references.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import { Findings, newestMsOf, readBack, type Question, type Scanned } from '../service/list-scan.ts';
import { READ_BOUNDS, unread } from '../service/pages.ts';
import { clockSkew } from './clock-skew.ts';
import type { Clock, Deps, Joins, TimedClock } from './deps.ts';

/** A poll for statuses may use what a scan has read, if that scan began no longer ago than this. */
const JOINS_WITHIN_MS = 1_000;
/** The longest time for an answer. An attempt has two minutes, and may also wait for a scan that is under way. */
const ANSWERS_WITHIN_MS = 60_000;

const GIVEN_UP = 'the list was not read to its end: the call was given up';
const TOO_LONG = 'the list could not be read to its end in time';

type Scans = Deps['scans'];

/** A call that waits for an answer. `stopped`: null when the list was read as far as the call asked. */
type Asker = {
  readonly question: Question<Withdrawal>;
  readonly untilMs: number;
  readonly end: (findings: Findings<Withdrawal>, stopped: Reply<unknown> | null) => void;
  readonly fail: (error: unknown) => void;
};

/** The calls that wait, each with what was found for it so far. */
type Askers = Map<Asker, Findings<Withdrawal>>;

type Scan = {
  readonly beganAtMs: number;
  /** The calls for which this scan reads on. */
  readonly askers: Askers;
  /**
   * Calls that take what this scan reads while it is under way, and the rest from the next scan. This scan
   * does not read on for them.
   */
  readonly followers: Askers;
  /** What it builds on, which is this scan's own to its end. Null: the scan reads all that is asked for. */
  readonly basis: Basis | null;
  /** The pages that it has read, for calls that may still join it. */
  readonly pages: (readonly Withdrawal[])[];
  /** `whole`: the list has no further page. `cut short`: no call wanted more, or a page failed. */
  state: 'under way' | 'whole' | 'cut short';
};

export class SharedScans implements Scans {
  readonly #clock: Clock;
  /**
   * Lookups before a write have scans of their own. Polls for statuses run all the time, and a long list
   * takes a while to read: no write may wait for them.
   */
  readonly #lookUps: OneByOne;
  readonly #polls: OneByOne;

  /** @param listLagMs how long a new record may be missing from the list */
  constructor(
    { listWithdrawals }: Pick<ServiceClient, 'listWithdrawals'>,
    { clock, listLagMs }: { readonly clock: TimedClock; readonly listLagMs: number },
  ) {
    this.#clock = clock;
    this.#lookUps = new OneByOne(listWithdrawals, clock, new Memory(clock, listLagMs));
    // The new status of a known record shows only when the list is read again.
    this.#polls = new OneByOne(listWithdrawals, clock, null);
  }

  lookUp(question: Question<Withdrawal>, signal: AbortSignal): Promise<Scanned<Withdrawal>> {
    return this.#ask(question, signal, (asker) => this.#lookUps.add(asker));
  }

  poll(
    question: Question<Withdrawal>,
    signal: AbortSignal,
    { joins }: { readonly joins: Joins },
  ): Promise<Scanned<Withdrawal>> {
    return this.#ask(question, signal, (asker) => {
      const hasJoined = joins === 'ends with it' && (this.#polls.joins(asker) || this.#lookUps.joins(asker));
      if (!hasJoined) this.#polls.add(asker, joins === 'goes on after it');
    });
  }

  #ask(
    question: Question<Withdrawal>,
    signal: AbortSignal,
    enter: (asker: Asker) => void,
  ): Promise<Scanned<Withdrawal>> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', giveUp);
        this.#lookUps.remove(asker);
        this.#polls.remove(asker);
      };
      const asker: Asker = {
        question,
        untilMs: this.#clock.monotonicMs() + ANSWERS_WITHIN_MS,
        end: ({ records }, stopped) => {
          leave();
          resolve({ records, stopped });
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      const giveUp = (): void => asker.end(new Findings(question), unread(GIVEN_UP));
      if (signal.aborted) return giveUp();
      // All payments of a call ask side by side.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', giveUp);
      enter(asker);
    });
  }
}

/** Scans, one after the other: the next one begins when the one before has ended. */
class OneByOne {
  readonly #list: ServiceClient['listWithdrawals'];
  readonly #clock: Clock;
  /** What earlier scans have read; null: each scan reads everything itself. */
  readonly #memory: Memory | null;
  /** The calls that the next scan serves. */
  #next: Askers = new Map();
  /** The scan that began last. */
  #latest: Scan | null = null;
  #isAtWork = false;

  constructor(list: ServiceClient['listWithdrawals'], clock: Clock, memory: Memory | null) {
    this.#list = list;
    this.#clock = clock;
    this.#memory = memory;
  }

  /**
   * @param goesOn the call takes what the last scan has read, if that scan began a moment ago, and the next
   * scan need not find that again
   */
  add(asker: Asker, goesOn = false): void {
    const findings = new Findings(asker.question);
    const scan = goesOn ? this.#joinable() : null;
    for (const page of scan?.pages ?? []) findings.take(page, newestMsOf(page));
    if (findings.isAll) return asker.end(findings, null);
    if (scan?.state === 'under way') scan.followers.set(asker, findings);
    else this.#next.set(asker, findings);
    this.#begin();
  }

  remove(asker: Asker): void {
    this.#next.delete(asker);
    this.#latest?.askers.delete(asker);
    this.#latest?.followers.delete(asker);
  }

  /** Whether the scan that began last can serve the call, with what it has read already. */
  joins(asker: Asker): boolean {
    const scan = this.#joinable();
    if (scan === null) return false;
    const findings = new Findings(asker.question);
    const isServed = scan.pages.some((page) => findings.take(page, newestMsOf(page)));
    if (isServed || scan.state === 'whole') asker.end(findings, null);
    else if (scan.state === 'under way') scan.askers.set(asker, findings);
    else return false;
    return true;
  }

  /** The last scan, if it began a moment ago and reads all that is asked for; else null. */
  #joinable(): Scan | null {
    const scan = this.#latest;
    if (scan === null || this.#clock.monotonicMs() - scan.beganAtMs >= JOINS_WITHIN_MS) return null;
    return scan.basis === null ? scan : null;
  }

  #begin(): void {
    if (this.#isAtWork || this.#next.size === 0) return;
    this.#isAtWork = true;
    // Calls that ask in this same turn of the event loop are served by this scan too.
    setImmediate(() => void this.#scan());
  }

  async #scan(): Promise<void> {
    const askers = this.#next;
    const beganAtMs = this.#clock.monotonicMs();
    const questions = [...askers.keys()].map(({ question }) => question);
    const basis = this.#memory?.basisFor(questions, beganAtMs) ?? null;
    const followers: Askers = new Map();
    const scan: Scan = { beganAtMs, askers, followers, basis, pages: [], state: 'under way' };
    const reading = this.#memory?.begin(basis) ?? null;
    // From here on the list is being read: calls that ask later need a later scan.
    this.#next = new Map();
    this.#latest = scan;
    try {
      const onReply = (reply: Reply<unknown>): void => clockSkew.note(this.#clock, reply);
      const isEnough = (page: readonly Withdrawal[]): boolean => {
        reading?.take(page);
        return this.#isEnough(scan, page);
      };
      const bounds = { ...READ_BOUNDS, nowMs: () => this.#clock.monotonicMs() };
      const stopped = await readBack(this.#list, isEnough, { onReply, bounds });
      // `#isEnough` has ended the scan as "cut short" where no call wanted more.
      if (scan.state === 'under way') scan.state = stopped === null ? 'whole' : 'cut short';
      if (stopped === null) reading?.end(scan.state === 'whole');
      for (const [asker, findings] of askers) {
        if (stopped === null) basis?.known.tell(findings, asker.question);
        asker.end(findings, stopped);
      }
    } catch (error) {
      scan.state = 'cut short';
      for (const asker of askers.keys()) asker.fail(error);
    }
    for (const [asker, findings] of followers) this.#next.set(asker, findings);
    followers.clear();
    this.#isAtWork = false;
    this.#begin();
  }

  /** Gives a page to all calls that wait for it. True when no call needs another page. */
  #isEnough(scan: Scan, page: readonly Withdrawal[]): boolean {
    const now = this.#clock.monotonicMs();
    const newestMs = newestMsOf(page);
    if (now - scan.beganAtMs < JOINS_WITHIN_MS) scan.pages.push(page);
    else scan.pages.length = 0;
    const { basis } = scan;
    for (const [asker, findings] of scan.followers) {
      findings.take(page, newestMs);
      if (findings.isAll) asker.end(findings, null);
    }
    for (const [asker, findings] of scan.askers) {
      // If the scan goes on from an earlier one, its basis has the rest, and calls get both at the end.
      if (findings.take(page, newestMs) && basis === null) asker.end(findings, null);
      else if (now > asker.untilMs) asker.end(findings, unread(TOO_LONG));
    }
    const isKnown = basis !== null && page.length > 0 && newestMs < basis.backToMs;
    const isEnough = scan.askers.size === 0 || isKnown;
    if (isEnough) scan.state = 'cut short';
    return isEnough;
  }
}

/** Lookups use what a scan has read for at most so long. Then a scan reads the whole list again. */
const KNOWN_FOR_MS = 600_000;
/** If no lookup is made for so long, what was read is forgotten. */
const FORGOTTEN_AFTER_MS = 60_000;

/** Keeps what earlier scans have read, until no lookup has been made for a while. */
class Memory {
  #known: KnownList | null = null;
  readonly #clock: TimedClock;
  readonly #listLagMs: number;
  #takeBackForget: (() => void) | null = null;

  constructor(clock: TimedClock, listLagMs: number) {
    this.#clock = clock;
    this.#listLagMs = listLagMs;
  }

  /** What a scan for these questions may build on; null: nothing, so that it reads the list anew. */
  basisFor(questions: readonly Question<Withdrawal>[], nowMs: number): Basis | null {
    return this.#known?.basisFor(questions, nowMs) ?? null;
  }

  /** A scan begins. What it reads is kept once it has ended well. */
  begin(basis: Basis | null) {
    // By the service's clock, because the records have its times.
    const beganAtMs = this.#clock.wallMs() + (clockSkew.latestMs() ?? 0);
    const readAtMs = this.#clock.monotonicMs();
    const read: Withdrawal[] = [];
    let oldestMs = Number.POSITIVE_INFINITY;
    return {
      take: (page: readonly Withdrawal[]): void => {
        read.push(...page);
        if (page.length > 0) oldestMs = newestMsOf(page);
      },
      end: (isWhole: boolean): void => {
        // No call wanted the scan any more, so that it stopped before it had read back to the known scan.
        if (basis !== null && !isWhole && oldestMs >= basis.backToMs) return;
        const backToMs = isWhole ? Number.NEGATIVE_INFINITY : oldestMs;
        const known = basis?.known ?? new KnownList(this.#listLagMs, { readAtMs, beganAtMs, backToMs });
        known.add(read, beganAtMs);
        this.#keep(known);
      },
    };
  }

  #keep(known: KnownList): void {
    this.#known = known;
    this.#takeBackForget?.();
    this.#takeBackForget = this.#clock.wake(FORGOTTEN_AFTER_MS, () => {
      this.#known = null;
    });
  }
}

/**
 * What a scan builds on. It reads the list back to `backToMs`, and takes what is older from `known`. The two are
 * one value: a scan that stops early has what it needs for that, whatever the memory forgets meanwhile.
 */
type Basis = { readonly known: KnownList; readonly backToMs: number };

/** What one scan has read of a list, back to some moment, with what later scans have added to it. */
class KnownList {
  readonly #listLagMs: number;
  readonly #byId = new Map<string, Withdrawal>();
  /** Records by the reference of their first generation; records without a tag are under `UNNAMED`. */
  readonly #byName = new Map<string, Map<string, Withdrawal>>();
  /** When the first scan began, which read everything: on the monotonic clock, and on the service's clock. */
  readonly #readAtMs: number;
  readonly #wholeAtMs: number;
  /** Every record that was created later than this is known. */
  readonly #backToMs: number;
  /** When the last scan began that went on from it, epoch milliseconds of the service's clock. */
  #beganAtMs: number;

  constructor(
    listLagMs: number,
    scan: { readonly readAtMs: number; readonly beganAtMs: number; readonly backToMs: number },
  ) {
    this.#listLagMs = listLagMs;
    this.#readAtMs = scan.readAtMs;
    this.#wholeAtMs = scan.beganAtMs;
    this.#beganAtMs = scan.beganAtMs;
    this.#backToMs = scan.backToMs;
  }

  /** Null: what is known is too old, or does not go back far enough. */
  basisFor(questions: readonly Question<Withdrawal>[], nowMs: number): Basis | null {
    if (nowMs - this.#readAtMs > KNOWN_FOR_MS) return null;
    const isKnown = questions.every(
      ({ sinceMs, readAfterMs = Number.NEGATIVE_INFINITY }) =>
        sinceMs > this.#backToMs && this.#wholeAtMs > readAfterMs + CLOCK_TOLERANCE_MS,
    );
    if (!isKnown) return null;
    // Records that the list did not show yet when that scan began are younger than this.
    return { known: this, backToMs: this.#beganAtMs - 2 * this.#listLagMs - 2 * CLOCK_TOLERANCE_MS };
  }

  /** @param beganAtMs when the scan began that has read these records */
  add(records: readonly Withdrawal[], beganAtMs: number): void {
    this.#beganAtMs = beganAtMs;
    for (const record of records) this.#put(record);
  }

  /** Gives a call the known records, as they were last read. */
  tell(findings: Findings<Withdrawal>, { reference }: Question<Withdrawal>): void {
    const known =
      reference === undefined
        ? [...this.#byId.values()]
        : [...this.#named(reference), ...this.#named(UNNAMED)];
    findings.take(known, Number.POSITIVE_INFINITY);
  }

  #named(name: string): Iterable<Withdrawal> {
    return this.#byName.get(name)?.values() ?? [];
  }

  #put(record: Withdrawal): void {
    const { id, tag } = record;
    const name = tag === null ? UNNAMED : firstReference(tag);
    this.#byId.set(id, record);
    const named = this.#byName.get(name) ?? new Map<string, Withdrawal>();
    this.#byName.set(name, named.set(id, record));
  }
}

/** Stands for "without a tag": no tag is empty. */
const UNNAMED = '';
