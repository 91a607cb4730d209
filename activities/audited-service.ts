/**
 * The client of the service with a journal: each write is in the journal, on the disk, before a byte of it leaves, and what came
 * of it is noted after. What cannot be written there is not sent. Nobody waits for the note of what came of it.
 */
import type { AuditFact } from '../domain/audit.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { Leaving, ServiceClient } from '../service/client.ts';

/** The journal as those who write see it. */
export type Journal = {
  /** Resolves with the number of the line once the line is on the disk. Rejects when it cannot be written. */
  readonly keep: (fact: AuditFact) => Promise<number>;
  /** The same for a line for which no send waits: it is on the disk with the next one that `keep` takes, or a moment later. */
  readonly keepSoon: (fact: AuditFact) => Promise<number>;
};

type Sent = Omit<Extract<AuditFact, { readonly kind: 'send' }>, 'kind'>;

/** @param note called with what could not be written after a send; the send itself is known to the journal */
export function auditedService(
  service: ServiceClient,
  journal: Journal,
  note: (problem: string) => void,
): ServiceClient {
  const audited = async <Value extends { readonly id: string }>(
    sent: Sent,
    leaving: Leaving | undefined,
    send: (leaving: Leaving) => Promise<Reply<Value>>,
  ): Promise<Reply<Value>> => {
    let line: number | null = null;
    const before = leaving ?? ALWAYS;
    const reply = await send({
      ...before,
      whyNot: async () => {
        const why = await before.whyNot();
        if (why !== null) return why;
        try {
          line = await journal.keep({ kind: 'send', ...sent });
        } catch (error) {
          return `the journal of the worker (CAMBIST_AUDIT) cannot be written: ${textOf(error)}`;
        }
        return before.whyNot();
      },
    });
    if (line !== null)
      journal
        .keepSoon({ kind: 'outcome', of: line, ...outcomeOf(reply) })
        .catch((error: unknown) => note(textOf(error)));
    return reply;
  };
  return {
    ...service,
    createQuote: (request, leaving) => {
      const { sellCurrency, buyCurrency, amount, validForSeconds, settlement, idempotencyKey } = request;
      const asked = {
        sellCurrency,
        buyCurrency,
        [`${amount.side}Amount`]: amount.value,
        validForSeconds: String(validForSeconds),
        settlement,
      };
      return audited({ write: 'quote', reference: null, idempotencyKey, request: asked }, leaving, (last) =>
        service.createQuote(request, last),
      );
    },
    createTrade: (request, leaving) => {
      const { quoteId, reference, idempotencyKey } = request;
      return audited({ write: 'trade', reference, idempotencyKey, request: { quoteId } }, leaving, (last) =>
        service.createTrade(request, last),
      );
    },
    createWithdrawal: (request, leaving) => {
      const { account, currency, amount, tag, idempotencyKey } = request;
      const asked = { account, currency, amount };
      return audited(
        { write: 'withdrawal', reference: tag, idempotencyKey, request: asked },
        leaving,
        (last) => service.createWithdrawal(request, last),
      );
    },
  };
}

const ALWAYS: Leaving = {
  signal: new AbortController().signal,
  whyNot: async () => null,
  whyNotNow: () => null,
  withinMs: 5_000,
};

function outcomeOf(
  reply: Reply<{ readonly id: string }>,
): Omit<Extract<AuditFact, { readonly kind: 'outcome' }>, 'kind' | 'of'> {
  switch (reply.kind) {
    case 'DONE':
      return { result: 'DONE', recordId: reply.value.id, why: null };
    case 'REFUSED':
      return { result: 'REFUSED', recordId: null, why: reply.error.code };
    case 'NOT_SENT':
      return { result: 'NOT_SENT', recordId: null, why: reply.reason };
    case 'UNKNOWN':
      return { result: 'UNKNOWN', recordId: null, why: reply.error?.code ?? reply.reason };
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
