/** For `test/server/run-questions.test.ts`: a workflow that is slow to answer, and waits by a timer unless it is woken first. */
import {
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

const { first, next } = proxyActivities<{ first(): Promise<void>; next(): Promise<void> }>({
  startToCloseTimeout: '1m',
});

export const slowQuery = defineQuery<string, [ms: number]>('slow');
export const wokenSignal = defineSignal('woken');

export async function asked(): Promise<void> {
  let wakes = 0;
  let isPast = false;
  setHandler(wokenSignal, () => {
    wakes += 1;
  });
  setHandler(slowQuery, (ms) => {
    const { now } = workflowInfo().unsafe;
    for (const endsAtMs = now() + ms; now() < endsAtMs;);
    return isPast ? 'past the first step' : 'before the first step';
  });
  await next();
  await first();
  isPast = true;
  if (wakes === 0) await condition(() => wakes > 0, '5s');
  await next();
  await condition(() => false, '100ms');
  await next();
}
