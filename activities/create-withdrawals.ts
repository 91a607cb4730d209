/** `createWithdrawals`: sends a slice of payments side by side and returns an outcome for each. */
import type { Problem } from '../domain/problems.ts';
import type { Wait } from '../domain/waits.ts';
import { asForgotten } from '../domain/writes/doubt.ts';
import { createWithdrawalSteps, type Wanted } from '../domain/writes/withdrawal.ts';
import type { PaymentsAnswer, PaymentsCall } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { Driver, type Said } from './driver.ts';
import { beating } from './heartbeats.ts';
import { SharedReads } from './shared-read.ts';

export const createWithdrawals = (deps: Deps) => {
  const said = new SharedReads<Said>(deps.clock);
  return (call: PaymentsCall): Promise<PaymentsAnswer> =>
    beating(async () => {
      const driver = await Driver.open(deps, call, call.sideBySide, said);
      const context = driver.context({
        othersAccepted: call.othersAccepted,
        tradedSoFar: [],
        unwanted: null,
        otherWithdrawalIds: call.twinIds,
      });
      const takenBy = new Map<string, string>();
      const stop = await driver.stop();
      if (stop !== null) {
        const items = call.items.map((item) => stopped(item, stop, driver));
        return { items, evidence: [], runId: driver.payer };
      }
      const items = await Promise.all(
        call.items.map(async ({ payment, wanted, state }) => {
          const item = { ...context, take: takeFor(payment.id, takenBy) };
          const asked = driver.stopped === null ? wanted : stoppedOf(payment.id, wanted, driver.stopped);
          const step = await driver.run(payment.id, createWithdrawalSteps(item, payment, asked, state));
          return { id: payment.id, step, ...traceOf(payment.id, driver) };
        }),
      );
      deps.reached('before result');
      return { items, evidence: evidenceOf(call, driver), runId: driver.payer };
    });
};

function traceOf(item: string, { evidence }: Driver): { readonly traceId?: string } {
  const sent = evidence.findLast((one) => one.item === item && one.call === 'send withdrawal');
  return typeof sent?.traceId === 'string' ? { traceId: sent.traceId } : {};
}

/** Of a chunk only what did not go as it should: what a batch did is in its payments. */
function evidenceOf({ chunk }: PaymentsCall, { evidence }: Driver): PaymentsAnswer['evidence'] {
  return chunk === undefined ? evidence : evidence.filter(({ result }) => result !== 'success');
}

/** The batch was stopped after this call was made. */
function stoppedOf(item: string, wanted: Wanted, problem: Problem): Wanted {
  return { ...wanted, unwanted: wanted.unwanted ?? { ...problem, item } };
}

/** A record that one item of the slice counts as its own is no other one's. */
function takeFor(item: string, takenBy: Map<string, string>): (recordId: string) => boolean {
  return (recordId) => {
    const owner = takenBy.get(recordId) ?? item;
    takenBy.set(recordId, owner);
    return owner === item;
  };
}

function stopped(
  { payment, state }: PaymentsCall['items'][number],
  stop: Wait,
  { mayHaveSent }: Driver,
): PaymentsAnswer['items'][number] {
  const wait = { ...stop, problem: { ...stop.problem, item: payment.id } };
  return {
    id: payment.id,
    step: { kind: 'wait', state: mayHaveSent ? asForgotten(state) : state, wait },
  };
}
