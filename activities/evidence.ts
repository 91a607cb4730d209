/** The evidence that a report keeps of what was asked of the service, one line for each answer. Pure. */
import type { Evidence } from '../domain/run/state.ts';
import type { Quote } from '../domain/service/records.ts';
import { nameOf, type Answer, type Effect } from '../domain/writes/step.ts';

/** Null: the answer is not the service's, or is no record of an item. */
export function evidenceOf(item: string, effect: Effect, answer: Answer, nowMs: number): Evidence | null {
  if (typeof answer === 'boolean' || 'instructions' in answer || 'claimed' in answer || 'rival' in answer)
    return null;
  if (
    'turn' in answer ||
    'demand' in answer ||
    'free' in answer ||
    'onDate' in answer ||
    'named' in answer ||
    'lostRuns' in answer
  )
    return null;
  const at = new Date(nowMs).toISOString();
  if (!('kind' in answer)) {
    const found =
      'complete' in answer
        ? `${answer.records.length} record(s)${answer.complete ? '' : `, incomplete: ${answer.reason ?? ''}`}`
        : '';
    return { at, item, call: effect.kind, result: found, traceId: null, replayed: null, quote: null };
  }
  const facts = answer.kind === 'NOT_SENT' ? null : answer.facts;
  return {
    at,
    item,
    call: effect.kind,
    result: nameOf(answer),
    traceId: facts?.traceId ?? null,
    replayed: facts?.replayed ?? null,
    quote: answer.kind === 'DONE' ? quoteIn(answer.value) : null,
  };
}

/** Both amounts of a quote; null: the record is no quote. */
function quoteIn(record: object | null): Evidence['quote'] {
  if (record === null || !('quoteAmount' in record)) return null;
  const { id, sellAmount, buyAmount, quoteAmount } = record as Quote;
  return { id, sellAmount: sellAmount ?? quoteAmount, buyAmount: buyAmount ?? quoteAmount };
}
