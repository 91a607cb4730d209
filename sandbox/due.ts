// Carries out what is due on the agenda. Every request, and every read of the admin interface, starts with it.

import type { Booking } from './booking.ts';
import type { Core } from './core.ts';
import type { LateBooking, Reply } from './records.ts';
import type { TradeInput } from './quotes-and-trades.ts';
import { createTrade, stepTrade, tradeView } from './quotes-and-trades.ts';
import { Refusal } from './refusal.ts';
import { refusalReply, successReply } from './replies.ts';
import type { WithdrawalInput } from './withdrawals.ts';
import { createWithdrawal, createdWithdrawalView, stepWithdrawal } from './withdrawals.ts';

/** Carries out everything due by now, each at its own time and in that order. */
export function runDue(core: Core): void {
  for (
    let item = core.agenda.take(core.clock.now());
    item !== null;
    item = core.agenda.take(core.clock.now())
  ) {
    switch (item.what.kind) {
      case 'trade-step':
        stepTrade(core, item.at, item.what);
        break;
      case 'withdrawal-step':
        stepWithdrawal(core, item.at, item.what);
        break;
      case 'late-booking':
        bookLate(core, item.at, item.what.recordId, item.what.booking);
        break;
    }
  }
}

export function bookTradeReply(core: Core, input: TradeInput, booking: Booking): Reply {
  return successReply({ data: tradeView(createTrade(core, input, booking)) });
}

export function bookWithdrawalReply(core: Core, input: WithdrawalInput, booking: Booking): Reply {
  return successReply({ data: createdWithdrawalView(createWithdrawal(core, input, booking)) });
}

/** Nothing is booked where the key has succeeded meanwhile, or where the operation would be refused now. */
function bookLate(core: Core, at: number, id: string, late: LateBooking): void {
  if (core.idempotency.succeeded(late.replyId)) return;
  const booking: Booking = {
    book: late.book,
    id,
    seq: late.seq,
    at,
    acceptedAt: late.acceptedAt,
    actorId: late.actorId,
    actorEmail: late.actorEmail,
    marks: late.marks,
  };
  let reply: Reply;
  try {
    reply =
      late.operation === 'createTrade'
        ? bookTradeReply(core, late.input as TradeInput, booking)
        : bookWithdrawalReply(core, late.input as WithdrawalInput, booking);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    reply = refusalReply(error);
  }
  if (late.key === 'in-flight') core.idempotency.keep(late.replyId, reply);
}
