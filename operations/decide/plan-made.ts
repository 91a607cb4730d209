/** The plan of a run as it was made, and its items. Also checks that this command's key may judge the plan. */
import { WorkflowNotFoundError } from '@temporalio/client';
import { paymentOf } from '../../domain/plan/batch-items.ts';
import type { Payment, Plan } from '../../domain/plan/plan.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { goOnCommand } from '../../domain/replacement.ts';
import { readPlan } from '../../durable/plans.ts';
import type { Settings } from '../../config/config.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { SubmittedBatch } from '../batches/submitted.ts';

/** How long to wait for a plan that is being made. */
const PATIENCE_MS = 1_000;

/** @throws CommandFailure when the run has no plan */
export async function requirePlan(place: Place, run: RunName): Promise<Plan> {
  const plan = await planOf(place, run);
  if (plan !== null) return plan;
  throw new CommandFailure('refused by us', [
    {
      code: 'NO_PLAN',
      place: runName(run),
      message: 'Temporal shows no plan of the run, so nothing of it was sent',
      fix: `See \`npx cambist status ${runName(run)}\`. If the run has ended, start it again: \`${goOnCommand(run)}\`.`,
    },
  ]);
}

/**
 * The payment with this id; null when the item is a leg.
 * @throws CommandFailure when the plan has no such item
 */
export async function requireItem(place: Place, plan: Plan, item: string): Promise<Planned | null> {
  if (plan.legs.some(({ id }) => id === item)) return null;
  const planned = await plannedPayment(place, plan, item);
  if (planned !== null) return planned;
  const ids = [...plan.legs, ...plan.payments].map(({ id }) => id);
  const batch = plan.batch === null ? [] : [`${plan.batch.payments} payments in its batch`];
  throw new CommandFailure('bad input', [
    {
      code: 'ITEM_NOT_FOUND',
      place: 'ITEM',
      message: `the plan of ${runName(plan.run)} has no leg or payment "${item}"`,
      fix: `It has: ${[...ids, ...batch].join(', ') || 'none'}.`,
    },
  ]);
}

/**
 * `inBatch`: the number of the chunk that has the payment, and its place there, from 0; null: the payment is of no batch.
 */
export type Planned = {
  readonly payment: Payment;
  readonly inBatch: { readonly chunk: number; readonly index: number } | null;
};

/** A payment of the plan, or of its batch; null when there is none with this id. */
async function plannedPayment(place: Place, plan: Plan, item: string): Promise<Planned | null> {
  const planned = plan.payments.find(({ id }) => id === item);
  if (planned !== undefined) return { payment: planned, inBatch: null };
  if (plan.batch === null) return null;
  const submitted = new SubmittedBatch(place, plan.run, plan.batch.chunks.length);
  for await (const { number, payments } of submitted.chunks()) {
    const index = payments.findIndex(([id]) => id === item);
    const row = payments[index];
    if (row !== undefined) return { payment: paymentOf(plan.run, row), inBatch: { chunk: number, index } };
  }
  return null;
}

/** The plan of a run. Null when there is none, or when Temporal no longer has it. */
export async function planOf({ client, mode }: Place, run: RunName): Promise<Plan | null> {
  try {
    const state = await readPlan(client, mode, run, PATIENCE_MS);
    return state.kind === 'plan' ? state.plan : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/**
 * Checks that this command reads as the plan's organisation, in the plan's mode: any other reading proves nothing about the
 * plan. @throws CommandFailure
 */
export function requireOwnPlan(settings: Settings, plan: Plan): void {
  const { mode, organisation } = plan.credentials;
  const looksAs = (settings.readKey ?? settings.key).organisation;
  if (settings.mode === mode && looksAs === organisation) return;
  throw new CommandFailure('configuration', [
    {
      code: 'CREDENTIALS_DIFFER',
      place: runName(plan.run),
      message: `this command looks with a key of ${looksAs} in ${settings.mode}, but the plan was made for ${organisation} in ${mode}; what it sees says nothing about this run`,
      fix: 'Use the key file and mode of the plan (CAMBIST_KEY_FILE, CAMBIST_READ_KEY_FILE, CAMBIST_APP_MODE).',
    },
  ]);
}
