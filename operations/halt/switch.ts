/**
 * Halting and resuming, for commands: records what a person says, reads what is halted then, and wakes the runs that may go
 * on. Needs no worker.
 */
import {
  carriedFrom,
  drillOf,
  endsToSign,
  haltOfUnread,
  haltsAfter,
  isSameScope,
  replacedBy,
  type Carried,
  type Halt,
  type HaltRecord,
  type HaltWord,
  resumeToSign,
  scopeText,
  signedFor,
  type HaltSaid,
  type HaltScope,
  type ResumeSaid,
  type ResumeSigned,
  type ToEnd,
} from '../../domain/halt.ts';
import { IS_OPEN, listed, queryFor } from '../../durable/listed.ts';
import { readHalts, type HaltsOf } from '../../durable/halts/read.ts';
import { SAY_LIMIT_MS, say } from '../../durable/halts/say.ts';
import {
  CHUNK_TYPE,
  RUN_TYPE,
  haltIdOf,
  haltSignal,
  approveSignal,
  resumeSignal,
  wakeSignal,
} from '../../workflows/names.ts';
import type { SignedAs } from '../../domain/writes/approvals.ts';
import { CommandFailure } from '../failure.ts';
import {
  madeBy,
  notAllVerified,
  requirePublicKey,
  signedAsOther,
  signedText,
} from '../approve/signed-text.ts';

const TRIES = 3;
const WOKEN_AT_ONCE = 20;

/**
 * The halts that nobody has resumed, for a command. Drills stop nothing, and are left out. A resume may wait for signatures: only workers
 * know, and each run that waits says so.
 */
export async function currentHalts(of: HaltsOf): Promise<readonly Halt[]> {
  return (await haltRecord(of)).halts;
}

/**
 * The same, and how the record stands that keeps them. Who has ended it is told while something stands, or no person has begun
 * it anew.
 */
export async function haltRecord(
  of: HaltsOf,
): Promise<Pick<HaltRecord, 'isOpen' | 'ended'> & { readonly halts: readonly Halt[] }> {
  const { words, isOpen, ended } = await asked(of);
  const halts = haltsAfter(words).filter(isMeant);
  return { halts, isOpen, ended: halts.length > 0 || !isOpen ? ended : null };
}

function asked(of: HaltsOf): Promise<HaltRecord> {
  return of.client.withDeadline(Date.now() + SAY_LIMIT_MS, () => readHalts(of));
}

async function wordsOf(of: HaltsOf): Promise<readonly HaltWord[]> {
  return (await asked(of)).words;
}

function isMeant({ scope }: Halt): boolean {
  return drillOf(scope) === null;
}

/** @returns the halts that stand now, and the earlier halt of the same scope that this one replaces; null: there was none */
export async function halt(
  of: HaltsOf,
  said: HaltSaid,
): Promise<{ readonly halts: readonly Halt[]; readonly replaced: Halt | null }> {
  const { halts, replaced } = await keepHalt(of, said);
  return { halts: halts.filter(isMeant), replaced };
}

/** The same for a drill. @returns also the drills that are not over */
export async function keepHalt(
  of: HaltsOf,
  said: HaltSaid,
): Promise<{ readonly halts: readonly Halt[]; readonly replaced: Halt | null }> {
  const isSame = ({ scope }: Halt): boolean => isSameScope(scope, said.scope);
  for (let tries = 1; tries <= TRIES; tries += 1) {
    // It is said before anything is read, so that nothing that anybody has written keeps it from being said.
    await say(of, haltSignal.name, said, () => carried(of).catch(() => [haltOfUnread(Date.now())]));
    const words = await wordsOf(of);
    const halts = haltsAfter(words);
    // The signal can be lost only if a person ends the record at this very moment and another command begins a new one.
    if (halts.some(isSame)) return { halts, replaced: replacedBy(words, said) };
  }
  throw new CommandFailure('infrastructure', [
    {
      code: 'HALT_NOT_KEPT',
      place: haltIdOf(of.mode),
      message:
        'the halt could not be kept: a person or a program ends its workflow, or resumes, again and again',
      fix: 'See the workflow in the Temporal UI, then type it again. Until then, stop the workers.',
    },
  ]);
}

async function carried(of: HaltsOf): Promise<readonly Carried[]> {
  return carriedFrom(await wordsOf(of));
}

/**
 * Takes back halts that the person has seen; other halts stay, also one of the same scope that came later.
 * @returns the halts that nobody has resumed then
 */
export async function resume(
  of: HaltsOf,
  halts: readonly Pick<Halt, 'scope' | 'atMs'>[],
  { by, why }: { readonly by: string; readonly why: string },
): Promise<readonly Halt[]> {
  for (const { scope, atMs: haltAtMs } of halts) {
    const said: ResumeSaid = { scope, by, why, haltAtMs };
    // One after the other: mostly there is one.
    await say(of, resumeSignal.name, said, () => carried(of));
  }
  return haltsAfter(await wordsOf(of)).filter(isMeant);
}

/** The halts of exactly this scope whose end people may have to sign. */
export async function haltsToEnd(of: HaltsOf, scope: HaltScope): Promise<readonly ToEnd[]> {
  return endsToSign(await wordsOf(of), scope);
}

/**
 * Those of them whose end this key may sign so.
 * @throws CommandFailure where it has signed them all in the other role: who has resumed a halt is none of those who approve that
 */
export async function haltsToSign(
  of: HaltsOf & { readonly namespace: string },
  scope: HaltScope,
  { as, keyFile }: { readonly as: SignedAs; readonly keyFile: string },
): Promise<readonly ToEnd[]> {
  const words = await wordsOf(of);
  const key = await requirePublicKey(keyFile);
  const halts = endsToSign(words, scope);
  const areOther = await areSignedOtherwise(of, words, { halts: halts.map(({ halt: one }) => one), as, key });
  const left = halts.filter((_one, index) => areOther[index] === false);
  if (halts.length > 0 && left.length === 0 && areOther.includes(null))
    throw notAllVerified(`resume ${scopeText(scope)}`, '`npx cambist status`');
  if (halts.length > 0 && left.length === 0)
    throw signedAsOther(`resume ${scopeText(scope)}`, as, 'resumed it', '`npx cambist status`');
  return left;
}

/** Whether this key has signed the end of each halt in the other role; null: too many signatures name it. @throws CommandFailure when this machine cannot verify that */
export async function areSignedOtherwise(
  { mode, namespace }: Pick<HaltsOf, 'mode'> & { readonly namespace: string },
  words: readonly HaltWord[],
  { halts, as, key }: { readonly halts: readonly Halt[]; readonly as: SignedAs; readonly key: string },
): Promise<readonly (boolean | null)[]> {
  const claimed = halts.map(({ scope, atMs: haltAtMs }) => {
    const others = signedFor(words, { scope, haltAtMs }).filter((signed) => signed.as !== as);
    return others.map((one) => ({
      ...one,
      text: resumeToSign({ ...one, mode, namespace, scope, haltAtMs }),
    }));
  });
  const { made, unverified } = await madeBy(key, claimed);
  return claimed.map(
    (others) =>
      others.some((one) => made.has(one)) || (others.some((one) => unverified.has(one)) ? null : false),
  );
}

/** So long a signature for a resume may be on its way. Once Temporal has it in time, it counts for good. */
const SIGNED_MS = 86_400_000;

/**
 * Signs that this halt may end, and keeps the signature beside it.
 * @throws CommandFailure when the key cannot sign
 */
export async function signResume(
  of: HaltsOf & { readonly namespace: string },
  { scope, atMs: haltAtMs }: Pick<Halt, 'scope' | 'atMs'>,
  {
    as,
    keyFile,
    by,
    why,
    nowMs,
  }: Pick<ResumeSigned, 'as' | 'by' | 'why'> & { readonly keyFile: string; readonly nowMs: number },
): Promise<void> {
  const { mode, namespace } = of;
  const expiresAtMs = nowMs + SIGNED_MS;
  const text = resumeToSign({ as, mode, namespace, scope, haltAtMs, expiresAtMs });
  const signature = await signedText(keyFile, text);
  const signed: ResumeSigned = { scope, by, why, haltAtMs, as, expiresAtMs, signature };
  await say(of, approveSignal.name, signed, () => carried(of));
}

/**
 * Whether Temporal's list, which may be a moment behind, shows no run of this policy; false where Temporal cannot be asked.
 */
export async function isUnknown({ client, mode }: HaltsOf, policy: string): Promise<boolean> {
  const query = queryFor({ types: [RUN_TYPE], mode, policy });
  try {
    return (await client.workflow.count(query)).count === 0;
  } catch {
    return false;
  }
}

/**
 * Wakes every open run, so that it looks at the halts at once. A run that cannot be found, or does not get the signal, looks
 * later by itself.
 */
export async function wakeAll({ client, mode }: HaltsOf): Promise<void> {
  const wake = async (workflowId: string): Promise<void> => {
    await client.workflow
      .getHandle(workflowId)
      .signal(wakeSignal)
      .catch(() => {});
  };
  let some: string[] = [];
  try {
    const open = listed(client, { types: [RUN_TYPE, CHUNK_TYPE], mode, also: [IS_OPEN] });
    for await (const { workflowId } of open) {
      some.push(workflowId);
      if (some.length < WOKEN_AT_ONCE) continue;
      await Promise.all(some.map(wake));
      some = [];
    }
  } catch {
    // The resume counts even if this fails.
  }
  await Promise.all(some.map(wake));
}
