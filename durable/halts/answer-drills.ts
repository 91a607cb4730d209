/** How a worker answers a drill of the kill switch, which only shows that a halt stops every worker. */
import type { Client } from '@temporalio/client';
import { drillOf, type Closed, type Halt, type HaltedWrite } from '../../domain/halt.ts';
import type { Mode } from '../../domain/service/records.ts';
import { haltDrillIdOf, stoppedSignal } from '../../workflows/names.ts';

const SAY_LIMIT_MS = 5_000;

type Worker = { readonly worker: string; readonly whyNot: (write: HaltedWrite) => Closed | null };

/** Answers the drills among the halts that stand. A drill that does not get the answer has already ended. */
export function answerDrills(
  { client, mode }: { readonly client: Client; readonly mode: Mode },
  halts: readonly Halt[],
  { worker, whyNot }: Worker,
): void {
  for (const { scope } of halts) {
    const drill = drillOf(scope);
    if (drill === null || scope.policy === null) continue;
    if (whyNot({ policy: scope.policy, currencies: [] })?.kind !== 'halted') continue;
    const handle = client.workflow.getHandle(haltDrillIdOf(mode, drill));
    client
      .withDeadline(Date.now() + SAY_LIMIT_MS, () => handle.signal(stoppedSignal, worker))
      .catch(() => {});
  }
}
