/** Makes the write gate of a worker from its folder of policies (CAMBIST_POLICIES). In live no worker starts without one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { approvalGate, type ApprovalsOfWorker } from '../activities/approval-gate.ts';
import { approvedResumes } from '../activities/approved-resumes.ts';
import { CeilingTally } from '../activities/ceiling-tally.ts';
import type { Clock, Deps } from '../activities/deps.ts';
import { OPEN_GATE, eachSecond, writeGate, type WriteGate } from '../activities/write-gate.ts';
import { createSealer, type Settings } from '../config/config.ts';
import { ConfigurationError } from '../config/errors.ts';
import { policiesFolder } from '../config/policies-folder.ts';
import { verifySignature } from '../config/ssh-keygen.ts';
import type { HaltRecord } from '../domain/halt.ts';
import type { Note } from './note.ts';
import { sentInJournals } from './sent-in-journals.ts';

/** Keeps no process alive. */
const unheld = (ms: number): Promise<unknown> => sleep(ms, undefined, { ref: false });

/** What stands between the words of Temporal and the service. */
type Gates = {
  readonly gate: WriteGate;
  readonly heard: ApprovalsOfWorker['heard'];
  /** The record of halts, with what each resume waits for. */
  readonly resumesHeard: (read: () => Promise<HaltRecord>) => () => Promise<HaltRecord>;
};

type Parts = {
  /** The namespace of Temporal. */
  readonly namespace: string;
  readonly reader: Deps['reader'];
  readonly clock: Clock;
  /** What Temporal shows of a run. */
  readonly shown: Pick<Parameters<typeof approvalGate>[0], 'readPlan' | 'readWords' | 'readRows'>;
  /** Called with what of the folder, or of the journals of workers before, cannot be used. */
  readonly note: Note;
};

/** @throws ConfigurationError when the folder has no policy of the mode that could be used, and in live when no folder is named */
export async function gateOf(
  settings: Pick<Settings, 'policiesFolder' | 'auditFolder' | 'mode' | 'facts' | 'key'>,
  { reader, clock, shown, note, namespace }: Parts,
): Promise<Gates> {
  const { policiesFolder: folder, auditFolder, mode, facts, key } = settings;
  if (folder === null && mode === 'SANDBOX')
    return { gate: OPEN_GATE, heard: asSaid, resumesHeard: (read) => read };
  if (folder === null)
    throw new ConfigurationError([
      {
        code: 'POLICIES_MISSING',
        item: null,
        message:
          'CAMBIST_POLICIES is not set, and the worker is one of live: whoever may write to Temporal could move money by it.',
        fix: 'Set it to a folder on this machine with the policies that this worker may carry out.',
      },
    ]);
  const read = policiesFolder(folder, facts.decimals, { isStrict: mode === 'LIVE' });
  const { policies, troubles } = await read();
  const isOfMode = policies.some(({ policy }) => policy.environment === mode.toLowerCase());
  if (!isOfMode)
    throw new ConfigurationError([
      {
        code: 'POLICIES_UNUSABLE',
        item: null,
        message: `CAMBIST_POLICIES is "${folder}", and it has no policy of ${mode} that can be used: ${troubles.join('; ') || 'no file *.yaml is one'}.`,
        fix: 'Name the folder of the policies that this worker may carry out. `npx cambist check` checks each of them.',
      },
    ]);
  for (const trouble of troubles) note('POLICIES_DAMAGED', `CAMBIST_POLICIES: ${trouble}`);
  const tally = new CeilingTally({ reader, facts, clock, wait: unheld });
  const owner = { mode, organisation: key.organisation, keyName: key.name };
  const sentEarlier =
    auditFolder === null ? async () => false : sentInJournals(auditFolder, owner, { clock, note });
  const { organisation } = key;
  const readNow = eachSecond(read, clock);
  const verify: typeof verifySignature = (asked) => verifySignature(asked);
  const { whyNot, heard } = approvalGate({ mode, organisation, clock, ...shown, verify }, readNow);
  const resuming = { mode, namespace, clock, readFolder: readNow, verify, pause: unheld };
  const seal = createSealer(settings);
  const gate = writeGate({
    read: readNow,
    mode,
    reader,
    facts,
    clock,
    seal,
    tally,
    approved: whyNot,
    sentEarlier,
  });
  return { gate, heard, resumesHeard: (readHalts) => approvedResumes(readHalts, resuming) };
}

const asSaid: ApprovalsOfWorker['heard'] = async (_run, kept) => kept;
