/**
 * `run POLICY --pay-again ITEM`: what must hold before a person opens later generations of a payment (design: "The chain
 * rule"). It looks at the service and advises; the instruction is a permission, and the worker that sends looks again.
 */
import { randomUUID } from 'node:crypto';
import type { Plan } from '../domain/plan/plan.ts';
import type { Withdrawal } from '../domain/service/records.ts';
import { reference, runName, type RunName } from '../domain/references.ts';
import type { Report, ReportPayment } from '../domain/run/report.ts';
import {
  instructionsAbout,
  isCancelled,
  withdrawalsUntil,
  type Instruction,
  type Kept,
} from '../domain/people/instructions.ts';
import { checkPayAgain, type PayAgainVerdict, type PaymentHistory } from './decisions.ts';
import type { Settings } from '../config/config.ts';
import { claimantOf } from './claims.ts';
import type { Ending } from '../domain/endings.ts';
import { CommandFailure } from './failure.ts';
import type { Trouble } from '../language/text/problem.ts';
import { sayGoOn } from './go-on.ts';
import { keepInstruction, keptAbout, wakeRun } from './keep-instruction.ts';
import type { Place } from './place.ts';
import { requireOwnPlan, requirePlan } from './plan-made.ts';
import type { PolicyFile } from './policy-file.ts';
import { atService, requireService, serviceFailure } from './preflight.ts';
import { readInput, readRun, requireRun, type RunView } from './runs.ts';
import { requireSameBatch, type ReadBatch } from './same-batch.ts';
import { requireSamePolicy } from './same-policy.ts';
import { startRun } from './start-run.ts';

/** What a person asked for, checked for form only. */
export type PayAgainRequest = { readonly item: string; readonly reason: string; readonly by: string };

type May = Extract<PayAgainVerdict, { kind: 'may' }>;

/** A generation that may be opened. */
export type Opening = {
  readonly instruction: Extract<Instruction, { kind: 'pay again' }>;
  /** When its keys are sent no more. */
  readonly windowUntilMs: number;
  readonly payment: ReportPayment;
  /** The payment's name in the new generation. */
  readonly reference: string;
  /** Items that the run goes on with besides, since it is started again. */
  readonly others: readonly string[];
};

/** A payment that a person wants to be paid again. */
export type AskedAgain = {
  readonly place: Place;
  readonly settings: Settings;
  readonly run: RunName;
  readonly policyFile: PolicyFile;
  /** The file of a payout; null: none is named. */
  readonly batch: ReadBatch | null;
  readonly request: PayAgainRequest;
  readonly now: () => number;
};

/**
 * What would be opened, before a person says yes.
 * @returns also a remark about the service. @throws CommandFailure when the payment may not be paid again
 */
export async function judgeOpening(
  asked: AskedAgain,
): Promise<{ readonly opening: Opening; readonly remark: string | null }> {
  const { place, settings, run, policyFile, batch, request, now } = asked;
  const facts = await requireRun(place, run);
  await requireSamePolicy(place, { run, policyFile, facts });
  if (batch !== null) await requireSameBatch(place, { run, batch, facts });
  if (facts.isOpen) {
    throw refusal('refused by us', {
      code: 'RUN_OPEN',
      place: runName(run),
      message: 'it has not ended yet, so it may still pay',
      fix: `Wait for its end (npx cambist run … --wait), or see \`npx cambist status ${runName(run)}\`.`,
    });
  }
  const plan = await requirePlan(place, run);
  requireOwnPlan(settings, plan);
  const view = await readRun(place, facts);
  const remark = await requireService(settings, now);
  const kept = await keptAbout(place, run);
  const opening = await openingOf({ place, settings, plan, view, kept, request, nowMs: now() });
  return { opening, remark };
}

/** One instruction opens the next generations; then the run is started again, and reads it. */
export async function openGenerations(asked: AskedAgain, { instruction }: Opening): Promise<void> {
  const { place, run, policyFile } = asked;
  const { client, mode, taskQueue } = place;
  await keepInstruction(place, run, instruction);
  if (isCancelled((await keptAbout(place, run)).instructions)) await sayGoOn(place, run, instruction);
  const startedBy = instruction.by;
  const before = await readInput(client, await requireRun(place, run));
  const isStarted = await startRun({
    client,
    taskQueue,
    mode,
    run,
    policyFile,
    batch: before?.batch ?? null,
    startedBy,
    shown: null,
    again: true,
  });
  // Started by somebody else in the meantime: that run reads the instruction too.
  if (!isStarted) await wakeRun(place, run);
}

/** Everything that the checks read. */
type OpeningInput = {
  readonly place: Place;
  readonly settings: Settings;
  readonly plan: Plan;
  readonly view: RunView;
  readonly kept: Kept;
  readonly request: PayAgainRequest;
  readonly nowMs: number;
};

/** @throws CommandFailure when the payment may not be paid again, or the service cannot be read whole */
async function openingOf(input: OpeningInput): Promise<Opening> {
  const { plan, view, request, nowMs } = input;
  const payment = requirePayment(plan, view.report, request.item);
  requireEnded(input, payment);
  const history = historyOf(input, payment);
  const may = await atService(input.settings, async (service, address) => {
    const verdict = await checkPayAgain(service, history);
    if (verdict.kind !== 'could be') return requireMay(input, verdict, address);
    // The twin of another run is nobody's doubt here.
    const claimant = await claimantOfTwin(input, verdict.record);
    if (claimant === null) return requireMay(input, verdict, address);
    const otherIds = [...history.identity.otherIds, verdict.record.id];
    const identity = { ...history.identity, otherIds };
    return requireMay(input, await checkPayAgain(service, { ...history, identity }), address);
  });
  return {
    instruction: {
      kind: 'pay again',
      id: randomUUID(),
      item: request.item,
      by: request.by,
      why: request.reason,
      follows: may.follows,
      recordId: may.recordId,
    },
    windowUntilMs: withdrawalsUntil(new Date(nowMs).toISOString().slice(0, 10)),
    payment,
    reference: reference(plan.run, payment.id, may.generation),
    others: goesOnWith(view.report, payment.id),
  };
}

function requirePayment(plan: Plan, report: Report, item: string): ReportPayment {
  const payment = report.payments.find(({ id }) => id === item);
  if (payment !== undefined) return payment;
  const isLeg = plan.legs.some(({ id }) => id === item);
  const ids =
    plan.batch === null
      ? plan.payments.map(({ id }) => id).join(', ') || 'none'
      : `the ${plan.batch.payments} payments of its batch`;
  throw refusal('bad input', {
    code: 'ITEM_NOT_FOUND',
    place: `${runName(plan.run)} ${item}`,
    message: isLeg ? `"${item}" is a leg; only payments are paid again` : `the plan has no payment "${item}"`,
    fix: isLeg ? 'Trade it in a new run, if it is still wanted.' : `It has: ${ids}.`,
  });
}

/** Problems of payments for which nothing was ever sent: they need no later generation. */
const NEVER_SENT: readonly string[] = ['LEG_NOT_TRADED', 'CANCELLED', 'NOTHING_TO_PAY'];

/** The report's side of it: the payment has ended unpaid, after something may have been sent. */
function requireEnded({ plan, view, kept }: OpeningInput, payment: ReportPayment): void {
  const { report } = view;
  const place = `${runName(plan.run)} ${payment.id}`;
  if (payment.outcome === 'PENDING' || payment.outcome === 'NEEDS_HUMAN') {
    throw refusal('refused by us', {
      code: 'PAYMENT_OPEN',
      place,
      message: `it is ${payment.outcome}: whether it is paid is not known, so it is not paid again`,
      fix: 'Start the run again with --go-on: it looks at the service and ends the payment first.',
    });
  }
  const code = report.problems.find(({ item }) => item === payment.id)?.code ?? '';
  if (payment.amount === null || NEVER_SENT.includes(code)) {
    throw refusal('refused by us', {
      code: 'PAYMENT_NEVER_SENT',
      place,
      message: `nothing was ever sent for it (${code || 'its amount is not known'}), so there is nothing to pay again`,
      fix: 'Start the run again with --go-on: it pays it under its first name.',
    });
  }
  const { cancelled } = instructionsAbout(kept, payment.id);
  const unsent = report.problems
    .filter((problem) => problem.code === 'CANCELLED')
    .map(({ item }) => item ?? 'all');
  if (cancelled && unsent.length > 0) {
    throw refusal('refused by us', {
      code: 'RUN_CANCELLED',
      place,
      message: `the run is cancelled; paying it again would take the cancel back and send the rest too: ${unsent.join(', ')}`,
      fix: 'Take the cancel back first with --go-on, or pay this one in a new run.',
    });
  }
}

function historyOf({ plan, view, kept, settings }: OpeningInput, payment: ReportPayment): PaymentHistory {
  const { report } = view;
  return {
    identity: {
      reference: reference(plan.run, payment.id),
      account: payment.account,
      currency: payment.currency,
      amount: payment.amount ?? '0',
      opensAtMs: plan.sendWindows.opensAtMs,
      namedId: null,
      ownIds: payment.withdrawalId === null ? [] : [payment.withdrawalId],
      otherIds: report.payments.flatMap(({ id, withdrawalId }) =>
        id === payment.id || withdrawalId === null ? [] : [withdrawalId],
      ),
      fromGeneration: 1,
      closedIds: [],
      follows: [],
      approvedUntilMs: null,
      failedWords: settings.facts.withdrawalStatuses.failed,
    },
    reported: payment,
    kept,
  };
}

async function claimantOfTwin({ place, plan }: OpeningInput, record: Withdrawal): Promise<string | null> {
  const { id, createdAt, currency } = record;
  const { organisation } = plan.credentials;
  return claimantOf(place, {
    run: plan.run,
    organisation,
    record: { id, createdAt, currencies: [currency] },
  });
}

/** What may be opened. @throws CommandFailure */
function requireMay({ plan, request }: OpeningInput, verdict: PayAgainVerdict, address: string): May {
  const place = `${runName(plan.run)} ${request.item}`;
  switch (verdict.kind) {
    case 'may':
      return verdict;
    case 'unreadable':
      throw serviceFailure(verdict.reply, address);
    case 'stands':
      throw refusal('refused by us', {
        code: 'PAYMENT_STANDS',
        place,
        message: `withdrawal ${verdict.id} of it stands at the service ("${verdict.status}"); paying it again would pay it twice`,
        fix: 'Nothing to do while it stands. Start the run with --go-on to bring its report up to date.',
      });
    case 'could be':
      throw refusal('refused by us', {
        code: 'PAYMENT_COULD_STAND',
        place,
        message: `withdrawal ${verdict.record.id} carries no tag, agrees in currency, amount and account and says "${verdict.record.status}": it could be this payment`,
        fix: 'Find out whose it is. If it is another one, pay this one in a new run.',
      });
    case 'opened before':
      throw refusal('refused by us', {
        code: 'PAY_AGAIN_OPEN',
        place,
        message: `${verdict.by} has opened generation ~${verdict.generation} of it already, and nothing has come of it yet; no second one is opened`,
        fix: 'Start the run with --go-on: it pays that generation.',
      });
  }
}

/** What a new start goes on with besides. */
function goesOnWith(report: Report, item: string): readonly string[] {
  return [...report.legs, ...report.payments].flatMap(({ id, outcome }) =>
    id === item || outcome === 'TRADED' || outcome === 'PAID' ? [] : [id],
  );
}

function refusal(ending: Ending, trouble: Trouble): CommandFailure {
  return new CommandFailure(ending, [{ ...trouble, message: `${trouble.message}; nothing was sent` }]);
}
