/**
 * `words`: keeps what people decided about a run outside the run's own history, so that no reset of the run loses it.
 * It exists only for runs about which somebody said something; it ends by itself long after every fence has passed.
 */
import { condition, setHandler } from '@temporalio/workflow';
import type { Word } from '../domain/words.ts';
import { recordWordUpdate, wordsQuery } from './names.ts';

/** Longer than any fence and any retention of the service. */
const KEPT_MS = 90 * 86_400_000;

export async function words(): Promise<readonly Word[]> {
  const said: Word[] = [];
  setHandler(wordsQuery, () => said);
  setHandler(recordWordUpdate, (word) => {
    said.push(word);
  });
  for (;;) {
    const before = said.length;
    if (!(await condition(() => said.length !== before, KEPT_MS))) return said;
  }
}
