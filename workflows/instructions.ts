/**
 * `instructions`: keeps what people said about a run, and facts that no reset may lose, outside the run's own history.
 * It exists only for runs about which something is to be kept; it ends by itself long after every window has passed.
 */
import { condition, setHandler } from '@temporalio/workflow';
import type { Fact, Kept, Recorded } from '../domain/instructions.ts';
import { instructionsQuery, noteFactsUpdate, recordInstructionUpdate } from './names.ts';

/** Longer than any window and any retention of the service. */
const KEPT_MS = 90 * 86_400_000;

export async function instructions(): Promise<Kept> {
  const said: Recorded[] = [];
  const facts: Fact[] = [];
  setHandler(instructionsQuery, () => ({ instructions: said, facts }));
  setHandler(recordInstructionUpdate, (instruction) => {
    // The same id twice is one instruction: a command that was repeated says nothing new.
    if (!said.some(({ id }) => id === instruction.id)) said.push(instruction);
  });
  setHandler(noteFactsUpdate, (noted) => {
    facts.push(...noted);
  });
  for (;;) {
    const before = said.length + facts.length;
    if (!(await condition(() => said.length + facts.length !== before, KEPT_MS)))
      return { instructions: said, facts };
  }
}
