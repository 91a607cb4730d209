/**
 * `createWithdrawals`: sends a slice of payments side by side and returns an outcome for each. What stops one of them
 * does not stop the others, and the call ends when all of them have ended.
 */
import type { Problem } from '../domain/problems.ts';
import type { Wait } from '../domain/waits.ts';
import { asForgotten } from '../domain/writes/doubt.ts';
import { createWithdrawalSteps, type Wanted } from '../domain/writes/withdrawal.ts';
import type { PaymentsAnswer, PaymentsCall } from '../domain/run/calls.ts';
import { allEnded } from './all-ended.ts';
import type { Deps } from './deps.ts';
import { Driver } from './driver.ts';
import type { Said } from './said.ts';
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
        const items = call.items.map((item) => stopped(item, stop, driver.mayHaveSent));
        return { items, evidence: [], runId: driver.payer };
      }
      const items = await allEnded(
        call.items.map(async (asked) => {
          const { payment, wanted, state } = asked;
          const item = { ...context, take: takeFor(payment.id, takenBy) };
          const now = driver.stopped === null ? wanted : stoppedOf(payment.id, wanted, driver.stopped);
          try {
            const step = await driver.run(payment.id, createWithdrawalSteps(item, payment, now, state));
            return { id: payment.id, step, ...traceOf(payment.id, driver) };
          } catch (error) {
            // It may have sent something before.
            return { ...stopped(asked, driver.whyStopped(error), true), ...traceOf(payment.id, driver) };
          }
        }),
      );
      deps.tell({ kind: 'reached', point: 'before result' });
      return { items, evidence: evidenceOf(call, driver), runId: driver.payer };
    });
};

function traceOf(item: string, { evidence }: Driver): { readonly traceId?: string } {
  const sent = evidence.findLast((one) => one.item === item && one.call === 'send withdrawal');
  return typeof sent?.traceId === 'string' ? { traceId: sent.traceId } : {};
}

/** A chunk keeps only what did not go as it should, because its payments tell the rest. */
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
  mayHaveSent: boolean,
): PaymentsAnswer['items'][number] {
  const wait = { ...stop, problem: { ...stop.problem, item: payment.id } };
  return {
    id: payment.id,
    step: { kind: 'wait', state: mayHaveSent ? asForgotten(state) : state, wait },
  };
}
