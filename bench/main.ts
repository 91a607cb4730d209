/** The bench: `npm run bench` sets up, then calls this. Loopback only; it ends by itself, within two minutes or so. */
import { startDevServer } from '../worker/dev-server.ts';
import { measureConvert } from './convert.ts';
import { isRight, tableOf, type Section } from './figures.ts';
import { measureSigning } from './signing.ts';
import { measureWorker } from './worker.ts';

const TURNS = 30;

/** Measures, prints one table on stdout, and resolves with the exit code: 1 when a count is wrong. */
export async function bench(): Promise<number> {
  const server = await startDevServer({ port: 0, headless: true });
  process.env['CAMBIST_TEST_TEMPORAL'] = server.address;
  try {
    const sections: Section[] = [];
    say('Signed requests …');
    sections.push(await measureSigning());
    say('A worker process: start, quote to trade, requests …');
    sections.push(...(await measureWorker()));
    say('One convert run, by the interpreter and by hand …');
    sections.push(await measureConvert(TURNS));
    console.log(tableOf(sections));
    return isRight(sections) ? 0 : 1;
  } finally {
    await server.stop();
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
