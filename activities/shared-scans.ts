/**
 * The scans of the withdrawal list, shared by all calls of a worker: whoever asks before a scan begins is served by it, however
 * many they are; whoever asks later waits for the next one, because what is under way could miss a record that is there by
 * now. It must never tell that a list was read whole when it was not: what cuts a scan short is told to all whom it served.
 */
import { setMaxListeners } from 'node:events';
import type { Withdrawal } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { ServiceClient } from '../service/client.ts';
import { Findings, newestMsOf, readBack, type Question, type Scanned } from '../service/list-scan.ts';
import { unread } from '../service/pages.ts';
import { clockSkew } from './clock-skew.ts';
import type { Clock, Deps } from './deps.ts';

/** A poll for statuses may be served by a scan that began so long before: what it lacks shows in the next poll. */
const JOINS_WITHIN_MS = 1_000;
/** An answer that takes longer is none: an attempt has two minutes, and waits for a scan that is under way as well. */
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

type Scan = {
  readonly beganAtMs: number;
  readonly askers: Map<Asker, Findings<Withdrawal>>;
  /** What it has read, for those who may still join it. */
  readonly pages: (readonly Withdrawal[])[];
  /** `whole`: the list has no further page. `cut short`: nobody wanted more, or it could not be read. */
  state: 'under way' | 'whole' | 'cut short';
};

export class SharedScans implements Scans {
  readonly #clock: Clock;
  /** Polls go on all the time, and a long list takes a while: what is to be sent does not wait for them. */
  readonly #lookUps: OneByOne;
  readonly #polls: OneByOne;

  constructor({ listWithdrawals }: Pick<ServiceClient, 'listWithdrawals'>, clock: Clock) {
    this.#clock = clock;
    this.#lookUps = new OneByOne(listWithdrawals, clock);
    this.#polls = new OneByOne(listWithdrawals, clock);
  }

  lookUp(question: Question<Withdrawal>, signal: AbortSignal): Promise<Scanned<Withdrawal>> {
    return this.#ask(question, signal, (asker) => this.#lookUps.add(asker));
  }

  poll(question: Question<Withdrawal>, signal: AbortSignal): Promise<Scanned<Withdrawal>> {
    return this.#ask(question, signal, (asker) => {
      if (!this.#polls.joins(asker) && !this.#lookUps.joins(asker)) this.#polls.add(asker);
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

/** Scans of which the next begins when the one before it has ended. */
class OneByOne {
  readonly #list: ServiceClient['listWithdrawals'];
  readonly #clock: Clock;
  /** Whoever is served by the next scan. */
  #next = new Set<Asker>();
  /** The one that began last. */
  #latest: Scan | null = null;
  #isAtWork = false;

  constructor(list: ServiceClient['listWithdrawals'], clock: Clock) {
    this.#list = list;
    this.#clock = clock;
  }

  add(asker: Asker): void {
    this.#next.add(asker);
    this.#begin();
  }

  remove(asker: Asker): void {
    this.#next.delete(asker);
    this.#latest?.askers.delete(asker);
  }

  /** Whether the scan that began last can serve it, with what it has read already. */
  joins(asker: Asker): boolean {
    const scan = this.#latest;
    if (scan === null || this.#clock.monotonicMs() - scan.beganAtMs >= JOINS_WITHIN_MS) return false;
    const findings = new Findings(asker.question);
    const isServed = scan.pages.some((page) => findings.take(page, newestMsOf(page)));
    if (isServed || scan.state === 'whole') asker.end(findings, null);
    else if (scan.state === 'under way') scan.askers.set(asker, findings);
    else return false;
    return true;
  }

  #begin(): void {
    if (this.#isAtWork || this.#next.size === 0) return;
    this.#isAtWork = true;
    // Whoever asks in the same turn is served as well.
    setImmediate(() => void this.#scan());
  }

  async #scan(): Promise<void> {
    const askers = new Map([...this.#next].map((asker) => [asker, new Findings(asker.question)]));
    const scan: Scan = { beganAtMs: this.#clock.monotonicMs(), askers, pages: [], state: 'under way' };
    // From here on the list is being read: whoever asks later wants a later scan.
    this.#next = new Set();
    this.#latest = scan;
    try {
      const onReply = (reply: Reply<unknown>): void => clockSkew.note(this.#clock, reply);
      const stopped = await readBack(this.#list, (page) => this.#isEnough(scan, page), { onReply });
      // What nobody asked for was not read.
      if (scan.state === 'under way') scan.state = stopped === null ? 'whole' : 'cut short';
      for (const [asker, findings] of askers) asker.end(findings, stopped);
    } catch (error) {
      scan.state = 'cut short';
      for (const asker of askers.keys()) asker.fail(error);
    }
    this.#isAtWork = false;
    this.#begin();
  }

  /** Gives a page to all who wait for it; true when nobody needs another one. */
  #isEnough(scan: Scan, page: readonly Withdrawal[]): boolean {
    const now = this.#clock.monotonicMs();
    const newestMs = newestMsOf(page);
    if (now - scan.beganAtMs < JOINS_WITHIN_MS) scan.pages.push(page);
    else scan.pages.length = 0;
    for (const [asker, findings] of scan.askers) {
      if (findings.take(page, newestMs)) asker.end(findings, null);
      else if (now > asker.untilMs) asker.end(findings, unread(TOO_LONG));
    }
    const isEnough = scan.askers.size === 0;
    if (isEnough) scan.state = 'cut short';
    return isEnough;
  }
}
