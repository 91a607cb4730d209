/**
 * Carries out what the steps ask for: it signs, sends, reads instructions (`said.ts`) and lists, and keeps what came back
 * as evidence. Each activity call has one driver. The driver decides nothing about replies, but it never sends after the
 * deadline of the attempt.
 */
import { randomUUID } from 'node:crypto';
import { ApplicationFailure, Context as ActivityContext, type Info } from '@temporalio/activity';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Problem } from '../domain/problems.ts';
import type { Wait } from '../domain/waits.ts';
import type { Closed } from '../domain/halt.ts';
import type { ListScan } from '../domain/writes/lookups.ts';
import type { Money } from '../domain/policy.ts';
import type { Balances, Trade, Withdrawal } from '../domain/service/records.ts';
import {
  keyMaterial,
  runName,
  runOfAnyWorkflowId,
  runPrefix,
  type WriteEndpoint,
} from '../domain/references.ts';
import type { Reply } from '../domain/service/reply.ts';
import { activityFailed } from '../domain/run/activity-failed.ts';
import type { Evidence } from '../domain/run/state.ts';
import type { Call } from '../domain/run/calls.ts';
import { accountedFor } from '../domain/run/claims.ts';
import {
  drive,
  nameOf,
  type Answer,
  type Attempt,
  type Context,
  type Effect,
  type Funding,
  type OwnTrade,
  type Steps,
} from '../domain/writes/step.ts';
import type { LegStep } from '../domain/writes/leg-state.ts';
import type { PaymentStep } from '../domain/writes/withdrawal.ts';
import { withoutStack } from '../domain/without-stack.ts';
import type { Leaving } from '../service/client.ts';
import { ServiceInputError } from '../service/errors.ts';
import { hashKey } from '../service/idempotency-key.ts';
import { scanList } from '../service/list-scan.ts';
import type { Fetched } from '../service/schemas.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';
import type { OwnTurn } from '../domain/turn.ts';
import { clockSkew } from './clock-skew.ts';
import { heldBesideNow } from './claims.ts';
import { readDay } from './day.ts';
import { readDemand } from './demand.ts';
import { readFreeMoney } from './free-money.ts';
import { isForTemporal, whatFailed } from './failures.ts';
import { slept } from './polling.ts';
import { evidenceOf } from './evidence.ts';
import { LEAVES_WITHIN_MS, SaidForCall, TOO_LATE, type Heeded, type Said } from './said.ts';
import { SHARED_READ_MS, SharedRead, type SharedReads } from './shared-read.ts';
import type { Deps, OfBatch } from './deps.ts';

/** How long other runs are asked. A run without a worker must not use up the time in which a write may leave. */
const CLAIMS_MS = 5_000;

/** If Temporal does not answer, the same attempt asks again: so often, and after so long. */
const READ_TRIES = 3;
const READ_AGAIN_MS = 500;

/**
 * If an attempt reaches us later than this after it was scheduled, we ask Temporal whether it still counts before it
 * may send.
 */
const PROMPT_MS = 5_000;

/** Everything that one activity call needs to drive steps. */
export class Driver {
  readonly #deps: Deps;
  readonly #call: Call;
  readonly #attempt: Attempt;
  /**
   * The latest moment at which a write may leave, on the monotonic clock. So a frozen worker that wakes up sends
   * nothing.
   */
  readonly #sendUntilMonotonicMs: number;
  readonly #said: SaidForCall;
  readonly #balances: SharedRead<Reply<Balances>>;
  /** Lets only so many payments ask the service at a time. What they share is read once for all of them. */
  readonly #inPlace: LimitFunction;
  readonly evidence: Evidence[] = [];
  /** The turn, once the run has it. */
  #turn: OwnTurn | null = null;

  /** The Temporal run that carries out this call. */
  get runId(): string {
    return this.#attempt.runId;
  }

  /** Who pays: the Temporal run, or the payer that a chunk is. Null: a chunk that has no go. */
  get payer(): string | null {
    return this.#said.payer;
  }

  /** Why nothing more of the batch may be sent, as its run said last; null: it may. */
  get stopped(): Problem | null {
    return this.#said.stopped;
  }

  /** True when an earlier attempt of this call may have sent something. */
  get mayHaveSent(): boolean {
    return this.#attempt.number > 1;
  }

  /**
   * @throws ApplicationFailure when another workflow than those of the run asks, and when Temporal has given this attempt up
   * already: a machine that froze before it began would otherwise count its deadline from when it woke.
   * @param sideBySide how many payments are sent at a time at most
   * @param said what other calls of the same Temporal run have just read. Only an undisturbed call uses it; every other
   * call reads again
   */
  static async open(
    deps: Deps,
    call: Call,
    sideBySide: number = Number.POSITIVE_INFINITY,
    said: SharedReads<Said> | null = null,
  ): Promise<Driver> {
    const { info } = ActivityContext.current();
    const { workflowId = '' } = info.workflowExecution ?? {};
    const { run } = call.plan;
    const caller = runOfAnyWorkflowId(workflowId);
    if (caller === null || runName(caller) !== runName(run))
      throw withoutStack(
        ApplicationFailure.nonRetryable(`No workflow of run ${runName(run)} asks for this.`, 'NOT_ALLOWED'),
      );
    const waitedMs = deps.clock.wallMs() - info.currentAttemptScheduledTimestampMs;
    if (Math.abs(waitedMs) > PROMPT_MS && !(await deps.isCurrentAttempt(info)))
      throw withoutStack(
        ApplicationFailure.retryable('This attempt has been given up; another one goes on.', 'SUPERSEDED'),
      );
    return new Driver(deps, call, { info, sideBySide, said });
  }

  private constructor(
    deps: Deps,
    call: Call,
    {
      info,
      sideBySide,
      said,
    }: { readonly info: Info; readonly sideBySide: number; readonly said: SharedReads<Said> | null },
  ) {
    this.#deps = deps;
    this.#call = call;
    this.#inPlace = pLimit(sideBySide);
    this.#attempt = {
      runId: info.workflowExecution?.runId ?? '',
      number: numberOf(info),
      startedAtMs: deps.clock.wallMs(),
      sendWithinMs: WRITE_LIMITS.sendWithinMs,
    };
    this.#sendUntilMonotonicMs = deps.clock.monotonicMs() + WRITE_LIMITS.sendWithinMs;
    this.#said = new SaidForCall(deps, call, this.#attempt, said);
    this.#balances = new SharedRead(deps.clock, async () => this.#told(await deps.reader.balances()));
  }

  /** What the steps of one item may know. */
  context(item: {
    readonly othersAccepted: boolean;
    readonly tradedSoFar: readonly Money[];
    readonly unwanted: Problem | null;
    readonly otherWithdrawalIds: readonly string[];
    readonly legs?: readonly string[];
    readonly funding?: Funding;
    readonly sale?: string;
    readonly ownTrades?: readonly OwnTrade[];
  }): Context {
    const { service, reader, facts, keptRefusals, clock } = this.#deps;
    return {
      plan: this.#call.plan,
      attempt: this.#attempt,
      facts,
      credentials: { mode: service.mode, organisation: service.organisation, keyName: service.keyName },
      reader: { mode: reader.mode, organisation: reader.organisation },
      ...item,
      keptRefusals,
      take: () => true,
      whyHalted: (currencies) => this.#whyHalted(currencies),
      nowMs: clock.wallMs,
      skewMs: clockSkew.latestMs,
    };
  }

  /** Why nothing of this call may be sent, whatever its items are; null when nothing stands in the way. */
  async stop(): Promise<Wait | null> {
    for (let tries = 1; ; tries += 1) {
      try {
        await Promise.all([this.#said.read(), this.#haltsRead()]);
        return null;
      } catch (error) {
        // This is returned, not thrown. So no later attempt is in doubt about something that this attempt has never
        // sent.
        const wait = this.whyStopped(error);
        const isSaid = this.#said.waitAfter(error) !== null;
        if (isSaid || tries === READ_TRIES || !(await slept(this.#deps, READ_AGAIN_MS))) return wait;
      }
    }
  }

  /** What people are told of an error that stops a call or one of its items. @throws what is for Temporal */
  whyStopped(error: unknown): Wait {
    const wait = this.#said.waitAfter(error);
    if (wait !== null) return wait;
    if (isForTemporal(error)) throw error;
    return activityFailed(whatFailed(error), 1);
  }

  /** Runs the steps of one item to their end, and tells what they came to. */
  async run<Step extends LegStep | PaymentStep>(item: string, steps: Steps<Step>): Promise<Step> {
    let heeded: Heeded | null = null;
    const step = await drive(steps, async (effect) => {
      this.#deps.tell({ kind: 'reached', point: `before ${effect.kind}` });
      let answer: Answer;
      if (effect.kind === 'read instructions') {
        heeded = await this.#said.read();
        answer = heeded.kept;
      } else answer = await this.#perform(effect, heeded);
      const evidence = evidenceOf(item, effect, answer, this.#deps.clock.wallMs());
      if (evidence !== null) this.evidence.push(evidence);
      this.#deps.tell({ kind: 'reached', point: `after ${effect.kind}` });
      return answer;
    });
    this.#deps.tell({ kind: 'stepped', step });
    return step;
  }

  async #perform(
    effect: Exclude<Effect, { readonly kind: 'read instructions' }>,
    heeded: Heeded | null,
  ): Promise<Answer> {
    const { service, reader } = this.#deps;
    switch (effect.kind) {
      case 'note facts':
        return this.#said.note(effect.facts);
      case 'read balances':
        return this.#balances.value(SHARED_READ_MS);
      case 'read claims': {
        const claims = await this.#deps.claims.whose(this.#ofRun, effect.records, CLAIMS_MS);
        return { claimed: accountedFor(claims) };
      }
      case 'read words': {
        const { item, record } = effect;
        return { named: await this.#deps.claims.named({ ...this.#ofRun, item }, record, CLAIMS_MS) };
      }
      case 'read rival': {
        // The go of the chunk already says what another batch has paid or may still pay.
        if (this.#call.chunk !== undefined) return { rival: null, silent: null };
        return this.#deps.claims.rival(this.#ofRun, effect.item);
      }
      case 'take turn':
        return this.#takeTurn();
      case 'read demand': {
        const { leg, ownTrades } = effect;
        return readDemand(this.#deps, { ...this.#ofRun, leg, ownTrades, turn: this.#turn });
      }
      case 'read day': {
        const { run, sendWindows } = this.#call.plan;
        const onReply = (reply: Reply<unknown>): void => void this.#told(reply);
        return readDay(this.#deps, { run, sendWindows, limit: effect.limit, turn: this.#turn, onReply });
      }
      case 'read lost runs':
        return { lostRuns: await heldBesideNow(this.#deps, this.#ofRun, effect.seen) };
      case 'read free money':
        return readFreeMoney(this.#deps, {
          currencies: effect.currencies,
          turn: this.#turn,
          onReply: (reply) => this.#told(reply),
        });
      case 'fetch trade':
        return wholeRecord(this.#told(await wellFormed(() => reader.trade(effect.id))));
      case 'fetch withdrawal':
        return this.#inPlace(async () =>
          wholeRecord(this.#told(await wellFormed(() => reader.withdrawal(effect.id)))),
        );
      case 'scan trades': {
        const { records, stopped } = await scanList(reader.listTrades, {
          ...effect,
          onReply: (reply) => this.#told(reply),
          signal: ActivityContext.current().cancellationSignal,
        });
        return scanned(records, stopped);
      }
      case 'scan withdrawals': {
        const { cancellationSignal } = ActivityContext.current();
        const { records, stopped } = await this.#deps.scans.lookUp(effect, cancellationSignal);
        return scanned(records, stopped);
      }
      case 'send quote': {
        const { reference, sell, buy, amount, validForSeconds, settlement } = effect.request;
        const strange = this.#notOfRun(reference);
        if (strange !== null) return strange;
        const quoted = { kind: 'quote', reference, sell, buy, amount, validForSeconds, settlement } as const;
        const request = {
          sellCurrency: sell,
          buyCurrency: buy,
          amount: { side: amount.side, value: amount.value },
          validForSeconds: validForSeconds as 3 | 15 | 30 | 45 | 60,
          settlement,
          // A quote moves no money. It has a fresh key each time, so that the service replays no dead quote.
          idempotencyKey: hashKey(randomUUID()),
        };
        const leaving = this.#leaving(heeded, [sell, buy]);
        const reply = this.#told(
          await this.#deps.gate.quote(quoted, () => service.createQuote(request, leaving)),
        );
        // If the service sends no `Date`, the creation time of the quote shows its clock.
        if (reply.kind === 'DONE' && reply.facts.serviceTimeMs === null)
          clockSkew.tell(Date.parse(reply.value.createdAt) - this.#deps.clock.wallMs());
        return reply;
      }
      case 'send trade': {
        const { quote, reference, sell, buy } = effect;
        const strange = this.#notOfRun(reference);
        if (strange !== null) return strange;
        const quoteId = quote.id;
        const traded = { kind: 'trade', reference, sell, buy, quote } as const;
        const request = { quoteId, reference, idempotencyKey: this.#key('trades', reference, quoteId) };
        const leaving = this.#leaving(heeded, [sell, buy]);
        return this.#told(
          await this.#deps.gate.send(traded, () => wellFormed(() => service.createTrade(request, leaving))),
        );
      }
      case 'send withdrawal': {
        const { account, currency, amount, reference } = effect.request;
        const idempotencyKey = this.#key('withdrawals', reference, null);
        const request = { account, currency, amount, tag: reference, idempotencyKey };
        const paid = { kind: 'withdrawal', reference, account, currency, amount } as const;
        const leaving = this.#leaving(heeded, [currency]);
        return this.#inPlace(async () =>
          this.#told(
            await this.#deps.gate.send(
              paid,
              () => wellFormed(() => service.createWithdrawal(request, leaving)),
              this.#call.chunk,
            ),
          ),
        );
      }
    }
  }

  /**
   * Halts and instructions are read for the run of the call, so no leg of another run is traded by it. The reference of a payment is
   * made from the run.
   */
  #notOfRun(reference: string): Reply<never> | null {
    const { run } = this.#call.plan;
    if (reference.startsWith(runPrefix(run))) return null;
    return { kind: 'NOT_SENT', reason: `"${reference}" is no reference of run ${runName(run)}` };
  }

  /**
   * A write has waited for its turn at the service. These checks ask again whether it may still leave, because things
   * may have changed meanwhile.
   */
  #leaving(heeded: Heeded | null, currencies: readonly string[]): Leaving {
    return {
      signal: ActivityContext.current().cancellationSignal,
      isOfBatch: this.#call.chunk !== undefined,
      whyNot: async () => {
        await this.#haltsRead();
        const unheeded = await this.#said.whyNotHeeded(heeded);
        return unheeded ?? (this.#tooLate() ? TOO_LATE : null);
      },
      whyNotNow: () => this.#whyHalted(currencies)?.problem.message ?? null,
      withinMs: LEAVES_WITHIN_MS,
    };
  }

  #whyHalted(currencies: readonly string[]): Closed | null {
    return this.#deps.halts.whyNot({ policy: this.#call.plan.run.policy, currencies });
  }

  /** Waits for a late reading of what is halted. */
  async #haltsRead(): Promise<void> {
    await this.#deps.halts.settled({ policy: this.#call.plan.run.policy, currencies: [] });
  }

  get #ofRun(): OfBatch {
    const { run, credentials } = this.#call.plan;
    return { mode: credentials.mode, run };
  }

  /** The key of an item is always the same. It is made from the credentials of the plan, never from this worker's. */
  #key(endpoint: WriteEndpoint, reference: string, quoteId: string | null): string {
    const { mode, organisation } = this.#call.plan.credentials;
    return hashKey(keyMaterial({ mode, organisation, endpoint, reference, quoteId }));
  }

  /**
   * True after the deadline of the attempt, on either clock, or once Temporal has given the attempt up. Then no write
   * leaves.
   */
  #tooLate(): boolean {
    const { clock } = this.#deps;
    const wallOver = clock.wallMs() > this.#attempt.startedAtMs + WRITE_LIMITS.sendWithinMs;
    return (
      wallOver ||
      clock.monotonicMs() > this.#sendUntilMonotonicMs ||
      ActivityContext.current().cancellationSignal.aborted
    );
  }

  /**
   * Asks once for the turn, and waits a few seconds at most. An attempt that waited longer would take a place that
   * others need.
   */
  async #takeTurn(): Promise<Answer> {
    try {
      const answer = await this.#deps.turn.take(this.#call.plan.run, false);
      if (answer.turn === 'ours') this.#turn = answer;
      return answer;
    } catch {
      return { turn: 'silent' };
    }
  }

  /** Gives the turn to others, unless this run goes on at once. If that fails, the turn lapses by itself. */
  async giveTurnBack(mayHaveTraded: boolean): Promise<void> {
    await this.#deps.turn
      .giveBack(this.#call.plan.run, mayHaveTraded ? this.#deps.clock.wallMs() : null)
      .catch(() => {});
  }

  #told<T>(reply: Reply<T>): Reply<T> {
    clockSkew.note(this.#deps.clock, reply);
    return reply;
  }
}

/**
 * Says which attempt this is. If a person resets a pending activity (a button of Temporal's UI), Temporal counts from
 * one again. But the time at which it was first scheduled shows it. If this is not the first attempt, an earlier one
 * may have sent.
 */
function numberOf({ attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs }: Info): number {
  return currentAttemptScheduledTimestampMs > scheduledTimestampMs ? Math.max(attempt, 2) : attempt;
}

function scanned<T>(records: readonly T[], stopped: Reply<unknown> | null): ListScan<T> {
  return { records, complete: stopped === null, reason: stopped === null ? null : nameOf(stopped) };
}

/**
 * Uses a record that was read by its id only when it is whole, because the interface does not show the shape of that
 * answer.
 */
function wholeRecord<T extends Trade | Withdrawal>(reply: Reply<Fetched<T>>): Reply<T> {
  if (reply.kind !== 'DONE') return reply;
  if (reply.value.kind === 'WHOLE') return { ...reply, value: reply.value.record };
  return { kind: 'UNKNOWN', reason: 'the record by its id lacks fields', error: null, facts: reply.facts };
}

/**
 * If the client refuses to build a request (an id of the service that does not look like one), nothing was sent. The
 * reply says so, and the call does not fail for ever.
 */
async function wellFormed<T>(request: () => Promise<Reply<T>>): Promise<Reply<T>> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof ServiceInputError)) throw error;
    return { kind: 'NOT_SENT', reason: error.message };
  }
}
