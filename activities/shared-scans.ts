/**
 * List scans of the withdrawals, shared by all calls of a worker. One scan answers everybody who asked before it began.
 * Whoever asks later waits for the next scan, because the one under way could miss a record that is there by now. A
 * lookup continues where the last complete scan began, so that one scan of a long list serves all later lookups. It
 * must never say that a list was read whole when it was not: if a scan is cut short, everybody whom it served is told.
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

/** Somebody who waits for an answer. `null`: the list was read as far back as was asked. */
type Asker = {
  readonly question: Question<Withdrawal>;
  readonly untilMs: number;
  readonly end: (findings: Findings<Withdrawal>, stopped: Reply<unknown> | null) => void;
  readonly fail: (error: unknown) => void;
};

/** Who waits, with what was found for it so far. */
type Askers = Map<Asker, Findings<Withdrawal>>;

type Scan = {
  readonly beganAtMs: number;
  /** It reads on for them. */
  readonly askers: Askers;
  /** They take what it reads meanwhile, and go on with the next one. */
  readonly followers: Askers;
  /** It goes on with what is known, and reads the list back to this moment; null: it reads all that is asked for. */
  readonly goesOnFromMs: number | null;
  /** What it has read, for those who may still join it. */
  readonly pages: (readonly Withdrawal[])[];
  /** `whole`: the list has no further page. `cut short`: nobody wanted more, or it could not be read. */
  state: 'under way' | 'whole' | 'cut short';
};

export class SharedScans implements Scans {
  readonly #clock: Clock;
  /**
   * Lookups before a write have scans of their own. Polls for statuses run all the time, and a long list takes a while,
   * so that no write may wait for them.
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

/** Scans one after the other: the next begins when the one before has ended. */
class OneByOne {
  readonly #list: ServiceClient['listWithdrawals'];
  readonly #clock: Clock;
  /** Of what earlier scans have read; null: each reads all by itself. */
  readonly #memory: Memory | null;
  /** Whoever is served by the next scan. */
  #next: Askers = new Map();
  /** The one that began last. */
  #latest: Scan | null = null;
  #isAtWork = false;

  constructor(list: ServiceClient['listWithdrawals'], clock: Clock, memory: Memory | null) {
    this.#list = list;
    this.#clock = clock;
    this.#memory = memory;
  }

  /** @param goesOn it takes what the scan before has read a moment ago, and is not asked about that any more */
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

  /** Whether the scan that began last can serve it, with what it has read already. */
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

  /** One that began a moment ago; null where it need not go back as far as others ask. */
  #joinable(): Scan | null {
    const scan = this.#latest;
    if (scan === null || this.#clock.monotonicMs() - scan.beganAtMs >= JOINS_WITHIN_MS) return null;
    return scan.goesOnFromMs === null ? scan : null;
  }

  #begin(): void {
    if (this.#isAtWork || this.#next.size === 0) return;
    this.#isAtWork = true;
    // Whoever asks in the same turn is served as well.
    setImmediate(() => void this.#scan());
  }

  async #scan(): Promise<void> {
    const askers = this.#next;
    const beganAtMs = this.#clock.monotonicMs();
    const questions = [...askers.keys()].map(({ question }) => question);
    // Held to the end of the scan: whoever forgets it meanwhile takes nothing away from those whom this one serves.
    const known = this.#memory?.known ?? null;
    const goesOnFromMs = known?.goesOnFrom(questions, beganAtMs) ?? null;
    const followers: Askers = new Map();
    const scan: Scan = { beganAtMs, askers, followers, goesOnFromMs, pages: [], state: 'under way' };
    const reading = this.#memory?.begin(known, goesOnFromMs) ?? null;
    // From here on the list is being read: whoever asks later wants a later scan.
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
      // What nobody asked for was not read.
      if (scan.state === 'under way') scan.state = stopped === null ? 'whole' : 'cut short';
      if (stopped === null) reading?.end(scan.state === 'whole');
      for (const [asker, findings] of askers) {
        if (goesOnFromMs !== null && stopped === null) known?.tell(findings, asker.question);
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

  /** Gives a page to all who wait for it; true when nobody needs another one. */
  #isEnough(scan: Scan, page: readonly Withdrawal[]): boolean {
    const now = this.#clock.monotonicMs();
    const newestMs = newestMsOf(page);
    if (now - scan.beganAtMs < JOINS_WITHIN_MS) scan.pages.push(page);
    else scan.pages.length = 0;
    const { goesOnFromMs } = scan;
    for (const [asker, findings] of scan.followers) {
      findings.take(page, newestMs);
      if (findings.isAll) asker.end(findings, null);
    }
    for (const [asker, findings] of scan.askers) {
      // Where the scan goes on, what is older is known: everybody hears of both at its end.
      if (findings.take(page, newestMs) && goesOnFromMs === null) asker.end(findings, null);
      else if (now > asker.untilMs) asker.end(findings, unread(TOO_LONG));
    }
    const isKnown = goesOnFromMs !== null && page.length > 0 && newestMs < goesOnFromMs;
    const isEnough = scan.askers.size === 0 || isKnown;
    if (isEnough) scan.state = 'cut short';
    return isEnough;
  }
}

/** Lookups use what a scan has read for so long at most. Then a scan reads the whole list again. */
const KNOWN_FOR_MS = 600_000;
/** If nobody looks anything up for so long, what was read is forgotten. */
const FORGOTTEN_AFTER_MS = 60_000;

/** Keeps what the scans before have read, until nobody has looked for a while. */
class Memory {
  known: KnownList | null = null;
  readonly #clock: TimedClock;
  readonly #listLagMs: number;
  #takeBackForget: (() => void) | null = null;

  constructor(clock: TimedClock, listLagMs: number) {
    this.#clock = clock;
    this.#listLagMs = listLagMs;
  }

  /**
   * A scan begins; what it reads counts once it has ended well.
   * @param goesOnFromMs as `known` says; null: it reads the list anew
   */
  begin(known: KnownList | null, goesOnFromMs: number | null) {
    // By the service's clock, which is the one of the records.
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
        // Nobody wanted the scan any more, so that it stopped before it had read so far.
        if (goesOnFromMs !== null && !isWhole && oldestMs >= goesOnFromMs) return;
        const backToMs = isWhole ? Number.NEGATIVE_INFINITY : oldestMs;
        const goesOn = goesOnFromMs === null ? null : known;
        this.#keep(goesOn ?? new KnownList(this.#listLagMs, { readAtMs, beganAtMs, backToMs }));
        this.known?.add(read, beganAtMs);
      },
    };
  }

  #keep(known: KnownList): void {
    this.known = known;
    this.#takeBackForget?.();
    this.#takeBackForget = this.#clock.wake(FORGOTTEN_AFTER_MS, () => {
      this.known = null;
    });
  }
}

/** What one scan has read of a list, back to some moment, with what those have added that went on with it. */
class KnownList {
  readonly #listLagMs: number;
  readonly #byId = new Map<string, Withdrawal>();
  /** By the reference of the first generation; those without a name among the others. */
  readonly #byName = new Map<string, Map<string, Withdrawal>>();
  /** When the scan began that read all of it: on the monotonic clock, and on the service's. */
  readonly #readAtMs: number;
  readonly #wholeAtMs: number;
  /** Everything that was created later than this is there. */
  readonly #backToMs: number;
  /** When the last scan began that went on with it, epoch milliseconds of the service's clock. */
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

  /** Back to when a scan must read that goes on with it; null: it does not go back so far. */
  goesOnFrom(questions: readonly Question<Withdrawal>[], nowMs: number): number | null {
    if (nowMs - this.#readAtMs > KNOWN_FOR_MS) return null;
    const isKnown = questions.every(
      ({ sinceMs, readAfterMs = Number.NEGATIVE_INFINITY }) =>
        sinceMs > this.#backToMs && this.#wholeAtMs > readAfterMs + CLOCK_TOLERANCE_MS,
    );
    if (!isKnown) return null;
    // What was missing from the list when that scan began is younger than this.
    return this.#beganAtMs - 2 * this.#listLagMs - 2 * CLOCK_TOLERANCE_MS;
  }

  /** @param beganAtMs when the scan began that has read these */
  add(records: readonly Withdrawal[], beganAtMs: number): void {
    this.#beganAtMs = beganAtMs;
    for (const record of records) this.#put(record);
  }

  /** Adds what is known, as it is known now. */
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

/** No tag is empty. */
const UNNAMED = '';
