/**
 * What people say, in the journal of the worker that sees it: one line for each instruction that the worker accepts or reads, for
 * each halt, each resume and each signature for one, and for the end of each halt. No write waits for such a line, and none is stopped
 * by it.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { AuditFact } from '../domain/audit.ts';
import { seenIn, type HaltSeen, type HaltsHeld } from '../domain/halt.ts';
import { isAcceptanceOf } from '../domain/people/instruction-shape.ts';
import {
  itemsNamedIn,
  wordsOf,
  type Accepted,
  type Kept,
  type Recorded,
} from '../domain/people/instructions.ts';
import { runName, runOfAnyWorkflowId, type RunName } from '../domain/references.ts';
import { fingerprintOf } from '../language/ssh-signers.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Journal } from './audited-service.ts';
import type { Deps } from './deps.ts';
import { createActivities } from './index.ts';
import { putLast } from './put-last.ts';

/** Each function is called with all that the worker sees. What the journal has already is not written again. */
export type Words = {
  /** What is kept about a run. */
  readonly kept: (run: RunName, instructions: readonly Recorded[]) => void;
  /** What this worker has just accepted. The run may still refuse it. */
  readonly accepted: (run: RunName, accepted: Accepted) => void;
  readonly halts: (held: HaltsHeld) => void;
};

/** The words of so many runs are remembered; those of others are written once more when the worker sees them again. */
const MOST_RUNS = 1_000;
/** The place of the halts beside the runs. The name of a run has a dot. */
const HALTS = 'halts';

/** @param note called with why a line could not be written; it is written when the worker sees the word again */
export function wordsIn(journal: Journal, note: (problem: string) => void): Words {
  /** The lines that the journal has, by the run that they are about; the one that was used last stands last. */
  const written = new Map<string, Set<string>>();
  const writtenOf = (place: string): Set<string> =>
    putLast(written, place, written.get(place) ?? new Set(), MOST_RUNS);
  const told = (line: Promise<number>, onFailure: () => void): void => {
    line.catch((error: unknown) => {
      onFailure();
      note(error instanceof Error ? error.message : String(error));
    });
  };
  const writeOnce = (
    place: string,
    name: string,
    write: () => Promise<number>,
    onFailure: () => void = () => {},
  ): void => {
    const lines = writtenOf(place);
    if (lines.has(name)) return;
    lines.add(name);
    told(write(), () => {
      lines.delete(name);
      onFailure();
    });
  };
  /** What is halted, once a line of it could not be written; null: all are. */
  let unwritten: HaltsHeld | null = null;
  const halts = (held: HaltsHeld): void => {
    const ends = held.over.map(({ scope, atMs }): AuditFact => {
      return { kind: 'over', scope, haltAt: momentOf(atMs) };
    });
    unwritten = null;
    // At once: the next worker goes by them. The end of a halt comes behind what has taken its place.
    for (const fact of [...seenIn(held).map(factOfSeen), ...ends])
      writeOnce(
        HALTS,
        JSON.stringify(fact),
        () => journal.keep(fact),
        () => {
          unwritten ??= held;
        },
      );
  };
  return {
    kept: (run, instructions) => {
      if (unwritten !== null) halts(unwritten);
      for (const { said, items } of wordsOf(instructions)) {
        const fact = { ...factOf(run, said, said.number), items };
        // A list of items may be long, and a batch has one for each chunk. Where anything else differs, somebody has changed what
        // is kept.
        const name = JSON.stringify({ ...fact, items: [items.length, items[0]] });
        writeOnce(fact.run, name, () => journal.keepSoon(fact));
      }
    },
    accepted: (run, accepted) => told(journal.keepSoon(factOf(run, accepted, null)), () => {}),
    halts,
  };
}

/** The activities of a worker. `words` null: it keeps no journal. */
export function auditedActivities(words: Words | null, deps: Deps): Activities {
  if (words === null) return createActivities(deps);
  const activities = createActivities({
    ...deps,
    instructions: auditedInstructions(deps.instructions, words),
  });
  return {
    ...activities,
    acceptInstruction: async (call) => {
      const accepted = await activities.acceptInstruction(call);
      const { workflowExecution } = ActivityContext.current().info;
      const run = runOfAnyWorkflowId(workflowExecution?.workflowId ?? '');
      // Anybody with the namespace can call this activity, with anything.
      if (run !== null && isAcceptanceOf(call.instruction, accepted)) words.accepted(run, accepted);
      return accepted;
    },
  };
}

/** The instructions of runs. What is read of them is in the journal. */
function auditedInstructions(instructions: Deps['instructions'], words: Words): Deps['instructions'] {
  const seen = async (run: RunName, reading: Promise<Kept>): Promise<Kept> => {
    const kept = await reading;
    words.kept(run, kept.instructions);
    return kept;
  };
  return {
    ...instructions,
    read: (mode, run, chunk) => seen(run, instructions.read(mode, run, chunk)),
    readEarlier: (mode, run, runId, chunk) => seen(run, instructions.readEarlier(mode, run, runId, chunk)),
  };
}

function factOf(
  run: RunName,
  said: Accepted,
  number: number | null,
): Extract<AuditFact, { readonly kind: 'said' }> {
  const { id: entry, kind: what, by, why, atMs } = said;
  const signed =
    said.kind === 'approve' ? { as: said.as, key: fingerprintOf(said.signature), about: said.about } : null;
  return {
    kind: 'said',
    run: runName(run),
    entry,
    number,
    what,
    items: itemsNamedIn(said),
    recordId: 'recordId' in said ? said.recordId : null,
    by,
    why,
    saidAt: momentOf(atMs),
    signed,
  };
}

function factOfSeen(seen: HaltSeen): AuditFact {
  const { scope, by, why } = seen;
  const said = { scope, by, why, saidAt: momentOf(seen.atMs) };
  if (seen.kind === 'halt') return { kind: 'halt', ...said };
  const ofHalt = { ...said, haltAt: momentOf(seen.haltAtMs) };
  if (seen.kind === 'resume') return { kind: 'resume', ...ofHalt };
  return { kind: 'approve', ...ofHalt, as: seen.as, key: fingerprintOf(seen.signature) };
}

function momentOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
