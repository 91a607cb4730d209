/**
 * Reads what Temporal knows about the look-alikes of a batch, and keeps a person's approval of exactly those that the person
 * was shown.
 */
import { randomUUID } from 'node:crypto';
import { approvalIn, type LookAlikeApproval } from '../../domain/people/instructions.ts';
import type { RunName } from '../../domain/references.ts';
import { keepInstruction, keptAbout } from '../decide/keep-instruction.ts';
import type { Ours } from './look-alikes.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { accountedFor } from '../../domain/run/claims.ts';
import type { Place } from '../place.ts';
import { readFirstPlan } from '../../durable/plans.ts';

const ASKED_WITHIN_MS = 10_000;

export async function readOurs(place: Place, run: RunName): Promise<Ours> {
  const { client, mode } = place;
  return {
    approval: approvalIn(await keptAbout(place, run)),
    madeAtMs: (await readFirstPlan(client, mode, run))?.madeAtMs ?? null,
    accountFor: async (records) =>
      accountedFor(await claimsOf(client).whose({ mode, run }, records, ASKED_WITHIN_MS)),
  };
}

/** Keeps what a person has approved. @throws CommandFailure when no worker took it in time */
export async function approveLookAlikes(
  place: Place,
  run: RunName,
  said: { readonly approval: LookAlikeApproval; readonly by: string; readonly why: string },
): Promise<void> {
  const { approval, by, why } = said;
  const instruction = { kind: 'approve look-alikes', id: randomUUID(), by, why, ...approval } as const;
  await keepInstruction(place, run, instruction, { seen: null });
}
