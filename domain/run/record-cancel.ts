/** Records a cancel where no reset loses it: as an instruction, as if a person had typed it. */
import { activityFailed } from './activity-failed.ts';
import type { Reading } from './parts.ts';
import { StepFailed, failed } from './ports.ts';

/** While it fails, it is tried again. */
export async function recordCancel({ input, state, ports, pauses }: Reading): Promise<void> {
  const { mode, run } = input;
  const instruction = { kind: 'cancel', by: 'Temporal', why: 'Cancel was pressed' } as const;
  for (let failures = 1; ; failures += 1) {
    const { asked } = pauses;
    const kept = await ports.recordInstruction({ mode, run, instruction }).catch(failed);
    if (!(kept instanceof StepFailed)) return pauses.goesOn(state);
    await pauses.pause(state, activityFailed(kept.message, failures), asked);
  }
}
