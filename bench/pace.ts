/**
 * How much of a service's rate limit workers use that were not told of it, nor of each other. In virtual time, so that the
 * counts are the same on every machine.
 */
import { LIMITS, MINUTE, World, type Limit } from '../test/support/pace.ts';
import { number, type Figure, type Section } from './figures.ts';

/** Every worker learns for itself, and then they are counted. */
const LEARNING_MS = 4 * MINUTE;
const COUNTED_MS = 6 * MINUTE;
const LEAST_PERCENT = { one: 90, three: 85 };

export async function measurePace(): Promise<Section> {
  const figures: Figure[] = [];
  for (const [name, perSecond, limit] of LIMITS) {
    const allowed = (perSecond * COUNTED_MS) / 1_000;
    // The sections of the bench run one after the other.
    figures.push(used(`one worker, ${name}`, (await accepted(1, limit())) / allowed, LEAST_PERCENT.one));
    figures.push(used(`  three`, (await accepted(3, limit())) / allowed, LEAST_PERCENT.three));
  }
  return { title: 'used of a rate limit that nobody was told of (virtual time)', figures };
}

async function accepted(workers: number, limit: Limit): Promise<number> {
  const world = new World();
  const counts = Array.from({ length: workers }, () => world.work(world.limiter(), limit));
  const all = (): number => counts.reduce((sum, count) => sum + count.accepted, 0);
  await world.until(LEARNING_MS);
  const before = all();
  await world.until(LEARNING_MS + COUNTED_MS);
  return all() - before;
}

function used(name: string, share: number, leastPercent: number): Figure {
  const percent = 100 * share;
  const verdict = percent >= leastPercent ? 'ok' : 'wrong';
  return { name, measured: `${number(percent)} %`, goal: `at least ${leastPercent} %`, verdict };
}
