// How a write is served: the idempotency cache around it, the operation itself, and the faults on the way.
//
//   admit the key → read the body → wait → book (or fail, or book later) → wait → keep the reply → deliver
//
// W1: of two requests with one key only one is booked. W2: whatever is delivered, what is kept under the key is
// decided before the key leaves the in-flight state. W3: a committed write whose reply is not kept keeps its
// success, so the same key never books twice.

import type { Caller } from './auth.ts';
import { parseBody } from './bodies.ts';
import type { Booking } from './booking.ts';
import { sha256Hex } from './canonical.ts';
import { isoOf } from './clock.ts';
import type { Core } from './core.ts';
import { bookTradeReply, bookWithdrawalReply, runDue } from './due.ts';
import type { FaultPlan } from './faults.ts';
import { keyPattern } from './idempotency.ts';
import type { WriteOperation } from './operations.ts';
import { keyRetentionMs, routes } from './operations.ts';
import type { QuoteInput, TradeInput } from './quotes-and-trades.ts';
import { checkTrade, createQuote, quoteView, readQuoteInput, readTradeInput } from './quotes-and-trades.ts';
import type { LateBooking, RecordMarks, Reply } from './records.ts';
import { Refusal } from './refusal.ts';
import {
  errorReply,
  failureCodeOf,
  htmlReply,
  reachesOperation,
  refusalReply,
  successReply,
} from './replies.ts';
import type { SandboxSettings } from './settings.ts';
import type { WithdrawalInput } from './withdrawals.ts';
import { checkWithdrawal, readWithdrawalInput } from './withdrawals.ts';

export interface WriteRequest {
  readonly operation: WriteOperation;
  readonly caller: Caller;
  readonly idempotencyKey: string | undefined;
  readonly body: Uint8Array;
}

/** What leaves, and how: whole, cut in the middle, or not at all. */
export interface Delivery {
  readonly reply: Reply;
  readonly manner: 'whole' | 'cut' | 'lost';
  readonly replayed: boolean;
  readonly resourceId: string | null;
}

type Input =
  | { readonly operation: 'createQuote'; readonly value: QuoteInput }
  | { readonly operation: 'createTrade'; readonly value: TradeInput }
  | { readonly operation: 'createWithdrawal'; readonly value: WithdrawalInput };

/** "Idempotency rules" 1 and 2. */
export function requireKey(operation: WriteOperation, key: string | undefined): string {
  if (key === undefined) {
    const route = routes.find((known) => known.operation === operation);
    throw new Refusal('IDEMPOTENCY_KEY_MISSING', { endpoint: `${route?.method} ${route?.path}` });
  }
  if (!keyPattern.test(key)) throw new Refusal('IDEMPOTENCY_KEY_INVALID');
  return key;
}

export async function serveWrite(core: Core, request: WriteRequest, plan: FaultPlan): Promise<Delivery> {
  const { operation, caller } = request;
  const replyId = scopedKey(core.settings, request);
  const admission = core.idempotency.admit(
    replyId,
    { operation, hash: sha256Hex(request.body), retentionMs: keyRetentionMs[operation] },
    core.clock.now(),
  );
  switch (admission.kind) {
    case 'mismatch':
      throw new Refusal('IDEMPOTENCY_MISMATCH', {
        originalRequestHash: admission.originalRequestHash,
        firstSeenAt: isoOf(admission.firstSeenAt),
      });
    case 'in-flight': {
      const headers = { 'Retry-After': `${core.settings.inFlightRetryAfterSeconds}` };
      throw new Refusal('IDEMPOTENCY_IN_FLIGHT', {}, { headers });
    }
    case 'replay':
      await core.faults.wait(plan, 'before');
      await core.faults.wait(plan, 'after');
      return { ...deliver(plan, admission.reply, ''), replayed: true, resourceId: idIn(admission.reply) };
    case 'fresh':
      break;
  }
  try {
    const input = readInput(core, operation, request.body);
    await core.faults.wait(plan, 'before');
    runDue(core);
    const served = book(core, caller, input, plan, replyId);
    await core.faults.wait(plan, 'after');
    settleKey(core, replyId, served.kept);
    return {
      ...deliver(plan, served.reply, served.resourceId),
      replayed: false,
      resourceId: served.resourceId,
    };
  } catch (error) {
    if (!(error instanceof Refusal)) {
      core.idempotency.release(replyId);
      throw error;
    }
    const reply = refusalReply(error);
    settleKey(core, replyId, keepsError(core.settings, error.code, error.status) ? reply : null);
    // The operation was refused, so that the error of a fault is not answered: the write did nothing.
    const delivered =
      plan.reply?.kind === 'error' ? { reply, manner: 'whole' as const } : deliver(plan, reply, '');
    return { ...delivered, replayed: false, resourceId: null };
  }
}

interface Served {
  readonly reply: Reply;
  /** What stays under the key; null: nothing, `in-flight`: the key waits for a late booking. */
  readonly kept: Reply | null | 'in-flight';
  readonly resourceId: string;
}

function book(core: Core, caller: Caller, input: Input, plan: FaultPlan, replyId: string): Served {
  const booking = newBooking(core, caller, input.operation, plan);
  const { reply: effect } = plan;
  if (effect?.kind === 'late-commit' && input.operation !== 'createQuote') {
    return bookLater(core, input, booking, effect, replyId);
  }
  if (effect?.kind === 'stored-failure') {
    const code = effect.code ?? failureCodeOf(input.operation);
    if (effect.committed === true) commit(core, input, booking);
    const details = effect.timeoutMs === undefined ? {} : { timeoutMs: effect.timeoutMs };
    const reply = errorReply({ kind: 'error', code, details }, booking.id);
    return { reply, kept: reply, resourceId: booking.id };
  }
  if (effect?.kind === 'error') {
    const reply = errorReply(effect, booking.id);
    const success = effect.committed === true ? commit(core, input, booking) : null;
    const stays =
      effect.stored ?? (success === null && keepsError(core.settings, effect.code ?? '', reply.status));
    return { reply, kept: stays ? reply : success, resourceId: booking.id };
  }
  const success = commit(core, input, booking);
  return { reply: success, kept: success, resourceId: booking.id };
}

/** Checks now, answers now, books later. */
function bookLater(
  core: Core,
  input: Exclude<Input, { operation: 'createQuote' }>,
  booking: Booking,
  effect: Extract<FaultPlan['reply'], { kind: 'late-commit' }>,
  replyId: string,
): Served {
  if (input.operation === 'createTrade') checkTrade(core, booking.book, input.value, booking.acceptedAt);
  else checkWithdrawal(core, booking.book, input.value);
  const key = effect.key ?? 'in-flight';
  const late: LateBooking = {
    operation: input.operation,
    book: booking.book,
    actorId: booking.actorId,
    actorEmail: booking.actorEmail,
    input: input.value,
    seq: booking.seq,
    acceptedAt: booking.acceptedAt,
    marks: booking.marks,
    replyId,
    key,
  };
  core.agenda.plan(booking.at + effect.ms, { kind: 'late-booking', recordId: booking.id, booking: late });
  const reply = errorReply({ kind: 'error', code: failureCodeOf(input.operation) }, booking.id);
  const kept = { 'in-flight': 'in-flight', free: null, stored: reply } as const;
  return { reply, kept: kept[key], resourceId: booking.id };
}

function commit(core: Core, input: Input, booking: Booking): Reply {
  switch (input.operation) {
    case 'createQuote':
      return successReply({ data: quoteView(createQuote(core, input.value, booking)) });
    case 'createTrade':
      return bookTradeReply(core, input.value, booking);
    case 'createWithdrawal':
      return bookWithdrawalReply(core, input.value, booking);
  }
}

function settleKey(core: Core, replyId: string, kept: Served['kept']): void {
  if (kept === null) core.idempotency.release(replyId);
  else if (kept === 'in-flight') core.idempotency.leaveInFlight(replyId);
  else core.idempotency.keep(replyId, kept);
}

/** What the reply effect of the faults makes of a reply; also for reads. */
export function deliver(
  plan: FaultPlan,
  reply: Reply,
  resourceId: string,
): { readonly reply: Reply; readonly manner: Delivery['manner'] } {
  const { reply: effect } = plan;
  switch (effect?.kind) {
    case 'lose-reply':
      return { reply, manner: 'lost' };
    case 'cut-body':
      return { reply, manner: 'cut' };
    case 'late-commit':
      return { reply, manner: effect.reply === '500' || reply.status < 500 ? 'whole' : 'lost' };
    case 'html':
      return { reply: htmlReply(effect.status), manner: 'whole' };
    case 'error':
      return { reply: errorReply(effect, resourceId), manner: 'whole' };
    case 'status':
      return {
        reply: { ...reply, status: effect.status ?? reply.status, body: effect.body ?? reply.body },
        manner: 'whole',
      };
    case 'close-before':
    case 'rate-limit':
    case 'stored-failure':
    case undefined:
      return { reply, manner: 'whole' };
  }
}

function readInput(core: Core, operation: WriteOperation, bytes: Uint8Array): Input {
  const body = parseBody(bytes);
  switch (operation) {
    case 'createQuote':
      return { operation, value: readQuoteInput(body) };
    case 'createTrade':
      return { operation, value: readTradeInput(body) };
    case 'createWithdrawal':
      return { operation, value: readWithdrawalInput(core, body) };
  }
}

const idPrefixes = { createQuote: 'qte', createTrade: 'tde', createWithdrawal: 'wtd' } as const;

function newBooking(core: Core, caller: Caller, operation: WriteOperation, plan: FaultPlan): Booking {
  const seq = core.next();
  const now = core.clock.now();
  return {
    book: caller.book,
    id: core.ids.make(idPrefixes[operation], seq),
    seq,
    at: now,
    acceptedAt: now,
    actorId: caller.key.actorId,
    actorEmail: caller.key.actorEmail,
    marks: marksOf(core.settings, plan),
  };
}

function marksOf(settings: SandboxSettings, plan: FaultPlan): RecordMarks {
  let marks: RecordMarks = {
    word: null,
    outcome: null,
    listLagMs: settings.listLagMs,
    readLagMs: settings.readLagMs,
  };
  for (const effect of plan.record) {
    if (effect.kind === 'word')
      marks = { ...marks, word: { word: effect.word, money: effect.money ?? 'moved' } };
    else if (effect.kind === 'outcome') marks = { ...marks, outcome: effect.outcome };
    else {
      marks = {
        ...marks,
        listLagMs: effect.ms,
        readLagMs: effect.byId === true ? effect.ms : marks.readLagMs,
      };
    }
  }
  return marks;
}

function scopedKey(settings: SandboxSettings, request: WriteRequest): string {
  const { caller, operation } = request;
  const owner = settings.keyScope === 'org' ? caller.key.organization : caller.key.name;
  const space = settings.keyPerOperation ? operation : 'any';
  return `${owner} ${caller.mode} ${space} ${requireKey(operation, request.idempotencyKey)}`;
}

/** `storeErrors`: refusals are 4xx of the operation itself. */
function keepsError(settings: SandboxSettings, code: string, status: number): boolean {
  if (settings.storeErrors === 'none' || !reachesOperation(code)) return false;
  return settings.storeErrors === 'all' || status < 500;
}

function idIn(reply: Reply): string | null {
  const match = /"(?:id|resourceId)":"((?:qte|tde|wtd)_[^"]+)"/.exec(reply.body);
  return match?.[1] ?? null;
}
