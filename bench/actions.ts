/**
 * What runs cost where Temporal is paid by the action (Temporal Cloud) and where it is kept: actions and bytes for each 1,000
 * payments and for a conversion. Counted in real histories, by what docs.temporal.io/cloud/actions says of each event. Queries
 * and heartbeats leave no event, so they are counted on the wire between the worker, the commands and the server.
 */
import { convertPolicy } from '../test/support/policies.ts';
import { startCommand } from '../test/support/commands.ts';
import { openTemporalProxy } from '../test/support/proxy.ts';
import { openStage, type Stage } from '../test/support/stage.ts';
import { counted, number, plain, type Figure, type Section } from './figures.ts';
import { AT_ONCE, payBatch } from './payouts.ts';

const PAYMENTS = 1_000;
/** As long as a payment that waits for its bank keeps a poll inside its worker. */
const SLOW_MS = 60_000;

const NOT_IN_HISTORIES = { QueryWorkflow: 'queries', RecordActivityTaskHeartbeat: 'heartbeats' } as const;

/** Each attribute of an event that Temporal Cloud counts, by what it is. A start stands for a continue-as-new too. */
const COUNTED = {
  workflowExecutionStartedEventAttributes: 'starts',
  activityTaskScheduledEventAttributes: 'calls',
  timerStartedEventAttributes: 'timers',
  workflowExecutionSignaledEventAttributes: 'signals',
  workflowExecutionUpdateAcceptedEventAttributes: 'updates',
  upsertWorkflowSearchAttributesEventAttributes: 'search attributes',
} as const;

type Actions = { readonly of: ReadonlyMap<string, number>; readonly bytes: number; readonly events: number };

export async function measureActions(address: string): Promise<readonly Section[]> {
  const calls = new Map<string, number>();
  const proxy = await openTemporalProxy(address, null, (name) => calls.set(name, (calls.get(name) ?? 0) + 1));
  const stage = await openStage({
    rates: { 'USD/MXN': '17.25' },
    balances: { USD: '1000000000', MXN: '0' },
    settings: { ...AT_ONCE, settlementMs: { IMMEDIATE: 0, T0: 0, T1: 0, T2: 0 } },
    temporalAddress: proxy.address,
  });
  const worker = startCommand(stage, ['worker']);
  try {
    await worker.says(/^ready worker/m);
    const measure = async (policy: string, work: () => Promise<unknown>): Promise<Actions> => {
      const before = new Map(calls);
      await work();
      const onTheWire = Object.entries(NOT_IN_HISTORIES).map(
        ([call, what]) => [what, (calls.get(call) ?? 0) - (before.get(call) ?? 0)] as const,
      );
      const { of, ...more } = await inHistories(stage, policy);
      return { of: new Map([...of, ...onTheWire]), ...more };
    };
    const paid: number[] = [];
    const pay = (name: string) => async () => paid.push((await payBatch(stage, PAYMENTS, name)).paid);
    const quick = await measure('quick', pay('quick'));
    stage.sandbox.setSettings({ withdrawalSteps: [{ status: 'PENDING', forMs: SLOW_MS }] });
    const slow = await measure('slow', pay('slow'));
    stage.sandbox.setSettings(AT_ONCE);
    const conversion = await measure('one', async () =>
      (await stage.start(convertPolicy(), { name: 'one' })).report(),
    );
    const of = `${number(PAYMENTS)} payments of a batch`;
    return [
      {
        title: `${of}, paid at once`,
        figures: [
          counted('payments that are not paid', [2 * PAYMENTS - paid.reduce((a, b) => a + b, 0)], 0),
          ...figuresOf(quick),
        ],
      },
      { title: `${of} that take ${SLOW_MS / 1_000} s`, figures: figuresOf(slow) },
      { title: 'one conversion with one payment', figures: figuresOf(conversion) },
    ];
  } finally {
    worker.process.kill('SIGTERM');
    await worker.ended;
    await stage.close();
    await proxy.close();
  }
}

/** All workflows of a policy: its runs, their plans, parts and instructions. */
async function inHistories({ temporal: { client } }: Stage, policy: string): Promise<Actions> {
  const of = new Map<string, number>();
  const add = (what: string, count: number): void => void of.set(what, (of.get(what) ?? 0) + count);
  let [bytes, events] = [0, 0];
  const query = `WorkflowId STARTS_WITH 'sandbox/${policy}.'`;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const history = (await handle.fetchHistory()).events ?? [];
    const { raw } = await handle.describe();
    bytes += Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0);
    events += history.length;
    const tasksWithMarkers = new Set<string>();
    for (const event of history) {
      for (const [attribute, what] of Object.entries(COUNTED))
        if (event[attribute as keyof typeof COUNTED]) add(what, 1);
      add('calls again', Math.max((event.activityTaskStartedEventAttributes?.attempt ?? 1) - 1, 0));
      const marker = event.markerRecordedEventAttributes;
      if (marker) tasksWithMarkers.add(String(marker.workflowTaskCompletedEventId));
    }
    // All that one workflow task asks inside itself counts once.
    add('local calls', tasksWithMarkers.size);
  }
  return { of, bytes, events };
}

function figuresOf({ of, bytes, events }: Actions): readonly Figure[] {
  const all = [...of.values()].reduce((sum, count) => sum + count, 0);
  return [
    plain('actions', number(all)),
    ...[...of].map(([what, count]) => plain(`  ${what}`, number(count))),
    plain('history events', number(events)),
    plain('bytes of histories', number(bytes)),
  ];
}
