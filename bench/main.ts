/** The bench: `npm run bench` sets up, then calls this. Loopback only; it ends by itself, within eight minutes. */
import { startDevServer } from '../worker/dev-server.ts';
import { measureActions } from './actions.ts';
import { measureBatches } from './batches.ts';
import { measureBeside } from './beside.ts';
import { measureConvert } from './convert.ts';
import { isRight, tableOf, type Section } from './figures.ts';
import { measureHeld } from './held.ts';
import { measureJournal } from './journal.ts';
import { measureLarge } from './large.ts';
import { measurePace } from './pace.ts';
import { measurePayouts } from './payouts.ts';
import { measurePolicies } from './policies.ts';
import { measurePolls } from './polls.ts';
import { measureSeal } from './seal.ts';
import { measureSigning } from './signing.ts';
import { measureStartUp } from './start-up.ts';
import { measureTests } from './tests.ts';
import { measureTraces } from './traces.ts';
import { measureWorker } from './worker.ts';

const TURNS = 30;

/**
 * The dev server looks for new workflow tasks 20 times a second at most, and so adds up to 50 ms to each step. Beside that
 * nothing of an interpreter could be seen: the comparison is made without it, everything else as a user has it.
 */
const UNTHROTTLED = ['history.transferProcessorMaxPollRPS=1000'];

type Measure = {
  readonly title: string;
  /** Takes a quarter of an hour, or measures what few ask for: it is played by its name alone. */
  readonly isExtra?: true;
  readonly measure: () => Promise<readonly Section[]>;
};

const MEASURES: Readonly<Record<string, Measure>> = {
  'start-up': { title: 'How long commands take to start', measure: async () => [await measureStartUp()] },
  policies: {
    title: 'Policies: a large plan, and a thousand files',
    measure: async () => [measurePolicies()],
  },
  files: { title: 'Batch files of 100,000 payments', measure: async () => [await measureBatches()] },
  limits: { title: 'Rate limits of a service', measure: async () => [await measurePace()] },
  signing: { title: 'Signed requests', measure: async () => [await measureSigning()] },
  worker: {
    title: 'A worker process: start, quote to trade, requests',
    measure: () => withServer([], measureWorker),
  },
  convert: {
    title: 'One convert run, by the interpreter and by hand',
    measure: () => withServer(UNTHROTTLED, async () => [await measureConvert(TURNS)]),
  },
  payouts: {
    title: 'Batches, against one workflow for each payment and a bare script',
    measure: () => withServer([], async () => [await measurePayouts([1_000, 10_000])]),
  },
  journal: {
    title: 'Batches with a journal and without',
    measure: () => withServer([], async () => [await measureJournal(1_000, 3)]),
  },
  seal: {
    title: 'Batches sealed and plain',
    measure: () =>
      withServer([], (plain) =>
        withServer([], async (sealed) => [await measureSeal({ plain, sealed }, 1_000, 3)]),
      ),
  },
  traces: {
    title: 'Batches with spans and without',
    measure: () => withServer([], async () => [await measureTraces(1_000, 3)]),
  },
  polls: {
    title: 'Batches that wait for their payments',
    measure: () => withServer([], async () => [await measurePolls()]),
  },
  beside: {
    title: 'A conversion beside a batch',
    measure: () => withServer([], async () => [await measureBeside()]),
  },
  held: {
    title: 'A run that only waits for money',
    measure: () => withServer([], async () => [await measureHeld()]),
  },
  large: {
    title: 'Batches of 1,000, 10,000 and 100,000 payments; a quarter of an hour and more',
    isExtra: true,
    measure: () => withServer([], async () => [await measureLarge([1_000, 10_000, 100_000])]),
  },
  actions: {
    title: 'What runs cost where Temporal is paid by the action, and where it is kept',
    isExtra: true,
    measure: () => withServer([], (address) => measureActions(address)),
  },
  tests: {
    title: 'Whether the tests keep to their ten minutes',
    isExtra: true,
    measure: async () => [await measureTests()],
  },
};

/** What can be measured by its name. */
export const NAMES: readonly string[] = Object.keys(MEASURES);

/**
 * Measures, prints one table on stdout, and resolves with the exit code: 1 when a count is wrong.
 * @param names of {@link NAMES}; none: all but what takes long
 */
export async function bench(names: readonly string[]): Promise<number> {
  const wanted = Object.entries(MEASURES).filter(([name, { isExtra }]) =>
    names.length === 0 ? isExtra !== true : names.includes(name),
  );
  const sections: Section[] = [];
  try {
    for (const [, { title, measure }] of wanted) {
      process.stderr.write(`${title} …\n`);
      sections.push(...(await measure()));
    }
  } finally {
    console.log(tableOf(sections));
  }
  return isRight(sections) ? 0 : 1;
}

async function withServer<T>(
  dynamicConfig: readonly string[],
  work: (address: string) => Promise<T>,
): Promise<T> {
  const server = await startDevServer({ port: 0, headless: true, dynamicConfig });
  process.env['CAMBIST_TEST_TEMPORAL'] = server.address;
  try {
    return await work(server.address);
  } finally {
    await server.stop();
  }
}
