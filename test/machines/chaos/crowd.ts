/** People who start, start again, reset, cancel and terminate runs, while everything around them breaks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { draftCopy, type Draft } from '../resets/copies.ts';
import { legalEvents, rewind } from '../resets/rewind.ts';
import { SAMPLES, textsOf } from '../resets/samples.ts';
import type { Stage } from '../../support/stage.ts';
import { RUN_TYPE } from '../../../workflows/names.ts';
import type { Dice } from '../../support/dice.ts';

export type Deeds = Record<'starts' | 'startedAgain' | 'resets' | 'cancels' | 'terminations', number>;

/** What a run needs of a stage: a client and the place of its task queue. */
export type Place = Pick<Stage, 'temporal' | 'env'>;

export type Crowd = {
  readonly drafts: readonly Draft[];
  readonly deeds: Deeds;
};

const PAUSE_MS = 250;
/** A request of the crowd that takes longer is given up; whether it was done shows later. */
const PATIENCE_MS = 3_000;

export async function crowd(place: Place, dice: Dice, stormMs: number): Promise<Crowd> {
  const deeds: Deeds = { starts: 0, startedAgain: 0, resets: 0, cancels: 0, terminations: 0 };
  const drafts: Draft[] = [];
  const until = Date.now() + stormMs;
  while (Date.now() < until) {
    await sleep(dice.below(2 * PAUSE_MS));
    const old = drafts.length > 3 && dice.isHit(0.4) ? dice.pick(drafts) : null;
    if (old !== null) {
      await meddle(place, old, dice, deeds);
      continue;
    }
    const number = drafts.length + 1;
    const sample = dice.pick(SAMPLES);
    const policyName = `${sample.name}-${number}`;
    const texts = await textsOf(sample, policyName, sample.amounts(number));
    const draft = draftCopy({ sample, number, policyName, texts });
    drafts.push(draft);
    // From one terminal, or from three at once.
    const times = dice.isHit(0.3) ? 3 : 1;
    deeds.starts += times;
    await Promise.all(Array.from({ length: times }, () => startRun(place, draft)));
  }
  return { drafts, deeds };
}

/** Starts a run unless it is open; one that has ended begins again. False when Temporal did not answer. */
export async function startRun(place: Place, { workflowId, input }: Draft): Promise<boolean> {
  return attempt(place, () =>
    place.temporal.client.workflow.start(RUN_TYPE, {
      workflowId,
      taskQueue: place.env['CAMBIST_TASK_QUEUE'] ?? '',
      args: [input],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  );
}

async function meddle(place: Place, draft: Draft, dice: Dice, deeds: Deeds): Promise<void> {
  const { client } = place.temporal;
  const handle = client.workflow.getHandle(draft.workflowId);
  const how = dice.share();
  const share = dice.share();
  const withSignals = dice.isHit(0.5);
  if (how < 0.4) {
    deeds.startedAgain += 1;
    await startRun(place, draft);
  } else if (how < 0.75) {
    const isDone = await attempt(place, async () => {
      const { runId } = await handle.describe();
      const events = await legalEvents(client, draft.workflowId, runId);
      const event = events[Math.floor(share * events.length)];
      const base = { workflowId: draft.workflowId, runId };
      return event === undefined ? null : rewind(client, base, event, { withSignals });
    });
    if (isDone) deeds.resets += 1;
  } else if (how < 0.85) {
    if (await attempt(place, () => handle.cancel())) deeds.cancels += 1;
  } else {
    if (await attempt(place, () => handle.terminate('by somebody'))) deeds.terminations += 1;
    deeds.startedAgain += 1;
    await startRun(place, draft);
  }
}

/** False when it was not answered, or refused: the crowd does not mind. */
export async function attempt(place: Place, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await place.temporal.client.withDeadline(Date.now() + PATIENCE_MS, work);
    return true;
  } catch {
    return false;
  }
}
