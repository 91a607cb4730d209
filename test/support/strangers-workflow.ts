/** For `test/machines/strangers.test.ts` and `test/server/run-odd-calls.test.ts`: the workflows of a stranger, who has a worker of his own and no key file. */
import { proxyActivities, workflowInfo } from '@temporalio/workflow';

type Straight = {
  /** Of our workers. */
  readonly taskQueue: string;
  readonly activity: string;
  /** By the clock of our workers. */
  readonly nowMs: number;
  readonly call: Readonly<Record<string, unknown>> & {
    readonly plan: object;
    readonly state?: object;
    readonly items?: readonly { readonly state: object }[];
  };
};

/** Calls an activity of ours, with a plan and a state that say that this very workflow has made them a moment ago. */
export async function straight({ taskQueue, activity, nowMs, call }: Straight): Promise<unknown> {
  const activities = proxyActivities<Record<string, (call: unknown) => Promise<unknown>>>({
    taskQueue,
    startToCloseTimeout: '1m',
    retry: { maximumAttempts: 1 },
  });
  const { runId } = workflowInfo();
  const own = { plan: { ...call.plan, madeFor: runId, madeAtMs: nowMs, foundRecords: false } };
  const known = { knownIn: runId, knownAtMs: nowMs, walkedIn: runId, askedIn: runId };
  const state = call.state && { state: { ...call.state, ...known } };
  const items = call.items && {
    items: call.items.map((item) => ({ ...item, state: { ...item.state, ...known } })),
  };
  return activities[activity]?.({ ...call, ...own, ...state, ...items });
}

/** In the place of ours: asked with the same input, it completes with whatever its starter wants to be believed. */
export async function plan(_input: unknown, answer: unknown): Promise<unknown> {
  return answer;
}

type Oddly = { readonly taskQueue: string; readonly activity: string; readonly args: readonly unknown[] };

/** Calls an activity of ours with these arguments as they are, and says how that ends. */
export async function oddly({ taskQueue, activity, args }: Oddly): Promise<string> {
  const activities = proxyActivities<Record<string, (...call: unknown[]) => Promise<unknown>>>({
    taskQueue,
    scheduleToCloseTimeout: '20s',
    retry: { maximumAttempts: 1 },
  });
  try {
    return JSON.stringify(await activities[activity]?.(...args));
  } catch (error) {
    return String(error);
  }
}
