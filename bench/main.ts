/** The bench: `npm run bench` sets up, then calls this. Loopback only; it ends by itself, within eight minutes. */
import { startDevServer } from '../worker/dev-server.ts';
import { measureActions } from './actions.ts';
import { measureBatches } from './batches.ts';
import { measureBeside } from './beside.ts';
import { measureConvert } from './convert.ts';
import { isRight, tableOf } from './figures.ts';
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
import { measureWorker } from './worker.ts';

const TURNS = 30;

/**
 * The dev server looks for new workflow tasks 20 times a second at most, and so adds up to 50 ms to each step. Beside that
 * nothing of an interpreter could be seen: the comparison is made without it, everything else as a user has it.
 */
const UNTHROTTLED = ['history.transferProcessorMaxPollRPS=1000'];

/** Measures, prints one table on stdout, and resolves with the exit code: 1 when a count is wrong. */
export async function bench(): Promise<number> {
  say('How long commands take to start …');
  const startUp = await measureStartUp();
  say('Policies: a large plan, and a thousand files …');
  const policies = measurePolicies();
  say('Batch files of 100,000 payments …');
  const batches = await measureBatches();
  say('Rate limits of a service …');
  const pace = await measurePace();
  say('Signed requests …');
  const signing = await measureSigning();
  say('A worker process: start, quote to trade, requests …');
  const worker = await withServer([], measureWorker);
  say('One convert run, by the interpreter and by hand …');
  const convert = await withServer(UNTHROTTLED, () => measureConvert(TURNS));
  say('Batches, against one workflow for each payment and a bare script …');
  const payouts = await withServer([], () => measurePayouts([1_000, 10_000]));
  say('Batches with a journal and without …');
  const journal = await withServer([], () => measureJournal(1_000, 3));
  say('Batches sealed and plain …');
  const seal = await withServer([], () => measureSeal(1_000, 3));
  say('Batches that wait for their payments …');
  const polls = await withServer([], measurePolls);
  say('A conversion beside a batch …');
  const beside = await withServer([], measureBeside);
  say('A run that only waits for money …');
  const held = await withServer([], measureHeld);
  const sections = [
    startUp,
    policies,
    batches,
    pace,
    signing,
    ...worker,
    convert,
    payouts,
    journal,
    seal,
    polls,
    beside,
    held,
  ];
  console.log(tableOf(sections));
  return isRight(sections) ? 0 : 1;
}

/** `npm run bench -- large`: what may not grow with a batch, up to 100,000 payments; a quarter of an hour and more. */
export async function benchLarge(): Promise<number> {
  say('Batches of 1,000, 10,000 and 100,000 payments …');
  const sections = [await withServer([], () => measureLarge([1_000, 10_000, 100_000]))];
  console.log(tableOf(sections));
  return isRight(sections) ? 0 : 1;
}

/** `npm run bench -- actions`: what runs cost where Temporal is paid by the action, and where it is kept; some minutes. */
export async function benchActions(): Promise<number> {
  say('Two batches and a conversion …');
  const sections = await withServer([], (address) => measureActions(address));
  console.log(tableOf(sections));
  return isRight(sections) ? 0 : 1;
}

/** `npm run bench -- start-up`: how long a command takes to start, on the Node that runs this. */
export async function benchStartUp(): Promise<number> {
  console.log(tableOf([await measureStartUp()]));
  return 0;
}

/** `npm run bench -- tests`: whether the tests keep to their ten minutes. A missed goal fails nothing. */
export async function benchTests(): Promise<number> {
  console.log(tableOf([await measureTests()]));
  return 0;
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

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
