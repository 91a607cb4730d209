/**
 * What activities are given (`activities/deps.ts`), as far as they ask for it: the Temporal of the model at one moment, and its
 * service in its time. The real observation before a plan, `readGo`, `readChunks`, the real looks and what a leg is still asked
 * for run with it; only what `operations/` reads from Temporal is told once more here, with the rules of `domain/run/held.ts`.
 */
import type { Deps } from '../../../activities/deps.ts';
import { nameOfPayment } from '../../../domain/batch.ts';
import type { Fact } from '../../../domain/people/instructions.ts';
import { runName, type RunName } from '../../../domain/references.ts';
import type { ChunkInput } from '../../../domain/run/calls.ts';
import { chunkStateOf } from '../../../domain/run/chunk-state.ts';
import { isHeld, recordIn, type Coordinator, type Holder, type Suspect } from '../../../domain/run/claims.ts';
import { chunkIdOf } from '../../../workflows/names.ts';
import { whose } from './others.ts';
import { readInputOf } from './ours.ts';
import type { Temporal } from './temporal.ts';
import type { World } from './world.ts';

/** Longer than any schedule. */
const RETENTION_MS = 90 * 86_400_000;

/** A worker that carries out an activity of this run or chunk. */
export function workerOf(world: World, temporal: Temporal): Deps {
  const { home } = temporal;
  const { run: own, mode } = home.ours.input;
  const chunkOf = (number: number): Temporal | undefined => home.chunks[number - 1];
  const homeOf = (run: RunName): Temporal | undefined =>
    world.runs.find(({ ours }) => runName(ours.input.run) === runName(run));
  const others = world.runs.filter((each) => each !== home && each.ours.input.run.policy === own.policy);
  const service = { ...world.credentials, ...world.reader };
  const deps = {
    service,
    reader: service,
    facts: world.facts,
    // What workers remember is of one world.
    clock: world.clock,
    tell: () => {},
    isStopping: () => false,
    instructions: {
      read: async () => home.kept,
      note: async (_mode: unknown, _run: unknown, facts: readonly Fact[]) => {
        if (!home.keeps()) throw new Error('Temporal does not keep it.');
        home.note(facts);
      },
      end: async () => {},
    },
    scans: world.scans,
    turn: world.turns.asked(),
    plans: {
      find: async () => ({ input: readInputOf(home.ours, world.schedule.batch) }),
      read: async () => {
        const plan = home.planRun?.plan ?? null;
        return plan === null ? { kind: 'waiting', waiting: null } : { kind: 'plan', plan };
      },
    },
    chunks: {
      readInput: async (workflowId: string, runId?: string): Promise<ChunkInput | null> => {
        const asked =
          runId === undefined
            ? home.chunks.find(({ number }) => chunkIdOf(mode, own, number ?? 0) === workflowId)
            : temporal;
        const input = asked?.execution(runId)?.input;
        return input !== undefined && 'payments' in input ? input : null;
      },
      readGo: async (_mode: unknown, _run: unknown, number: number) => home.goFor(number),
      readState: async (_mode: unknown, _run: unknown, number: number) => {
        const newest = chunkOf(number)?.newest();
        if (newest === undefined || newest.chunk === null) return null;
        return { state: chunkStateOf(newest.chunk.standing), isClosed: newest.standing !== 'open' };
      },
      tell: async (_mode: unknown, _run: unknown, number: number) =>
        (await chunkOf(number)?.hear(number)) ?? false,
      startAgain: async (_mode: unknown, _run: unknown, number: number) => {
        const chunk = chunkOf(number);
        if (chunk?.newest() !== undefined) await chunk.startChunk(false);
      },
      reopenRun: async () => {
        if (home.newest()?.standing === 'open') return false;
        world.coverage.hit('batch', 'a chunk opens its run again');
        if (home.newest() !== undefined) await home.start('go on');
        return true;
      },
    },
    claims: {
      unknown: async (_mode: unknown, runs: readonly RunName[]) =>
        runs.filter((run) => homeOf(run)?.isUnknown === true),
      keptForMs: async () => RETENTION_MS,
      whose: async (_of: unknown, records: Parameters<typeof whose>[1]) => whose(world.runs, records),
      suspects: async (_of: unknown, names: readonly string[]): Promise<readonly Suspect[]> =>
        others.flatMap(({ ours, chunks }) =>
          chunks.flatMap((chunk, index) => {
            const theirs = (ours.batch?.[index] ?? []).map(nameOfPayment);
            const suspected = names.filter((name) => theirs.includes(name));
            if (chunk.newest() === undefined || suspected.length === 0) return [];
            return [{ run: ours.input.run, number: index + 1, names: suspected }];
          }),
        ),
      holders: async (_mode: unknown, suspects: readonly Suspect[]) => {
        const held = new Map<string, Holder>();
        for (const suspect of suspects) {
          const other = homeOf(suspect.run);
          if (other === undefined) continue;
          for (const [name, withdrawalId] of heldBy(other, suspect)) {
            world.coverage.hit('batch', 'another batch holds a payment');
            held.set(name, { run: runName(suspect.run), withdrawalId });
          }
        }
        return { held, silent: null };
      },
      // Those that were planned before: of two the first one goes before.
      plannedBeside: async () => {
        const atMs = home.planRun?.endedAtMs ?? Infinity;
        const isBefore = ({ planRun, ours }: Temporal): boolean => {
          const theirsMs = planRun?.plan === null ? null : (planRun?.endedAtMs ?? null);
          const isNamedFirst = runName(ours.input.run) < runName(own);
          return theirsMs !== null && (theirsMs < atMs || (theirsMs === atMs && isNamedFirst));
        };
        return others.filter(isBefore).map(({ ours }) => ours.input.run);
      },
    },
  };
  // Whatever else there is, these activities ask for none of it.
  return deps as unknown as Deps;
}

/** As `durable/other-runs/claims.ts`: what one chunk holds of these; a batch without a plan holds nothing. */
function heldBy(
  other: Temporal,
  { number, names }: Suspect,
): readonly (readonly [name: string, withdrawalId: string | null])[] {
  const plan = other.planRun?.plan ?? null;
  const chunk = other.chunks[number - 1]?.newest()?.chunk ?? null;
  if (chunk === null) return [];
  const letters = plan?.batch?.chunks[number - 1]?.unpayable ?? '';
  const payments = (other.ours.batch?.[number - 1] ?? []).map(nameOfPayment);
  const answer = chunk.holds(names);
  if (plan === null && !answer.hasPlan) return [];
  const coordinator = coordinatorOf(other);
  return names.flatMap((name) => {
    const isWanted = (letters[payments.indexOf(name)] ?? '.') === '.';
    const asked = { name, isWanted, madeFor: plan?.madeFor ?? null };
    return isHeld(answer, coordinator, asked) ? [[name, recordIn(answer, name)] as const] : [];
  });
}

function coordinatorOf(other: Temporal): Coordinator {
  const newest = other.newest();
  if (newest?.standing === 'open') return { kind: 'open', runId: newest.runId };
  const hasEnded = newest?.standing === 'ended' || newest?.standing === 'refused';
  return { kind: hasEnded ? 'ended' : 'cut off' };
}
