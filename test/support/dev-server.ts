// The Temporal dev server of the tests: the one that `npm test` started for the whole run, else one for this file.
// In memory, with short timers; whoever needs a database file or wants to kill it starts one of their own.

import { startDevServer, type DevServer } from '../../worker/dev-server.ts';

let own: Promise<string> | undefined;
let names = 0;

/** host:port of a server that many tests share: use `uniqueName` for task queues, run ids and policies. */
export function testServerAddress(): Promise<string> {
  const shared = process.env['CAMBIST_TEST_TEMPORAL'];
  if (shared !== undefined) return Promise.resolve(shared);
  own ??= startOwn();
  return own;
}

/** `prefix` and what no other test of this run has; fits every part of a reference. */
export function uniqueName(prefix: string): string {
  names += 1;
  return `${prefix}-${process.pid}-${names}`;
}

/** A server of its own that finds a history long after so many events, so that runs soon go on in new ones. */
export function startServerOfShortHistories(events: number): Promise<DevServer> {
  return startDevServer({
    port: 0,
    headless: true,
    shortTimers: true,
    dynamicConfig: [`limit.historyCount.suggestContinueAsNew=${events}`],
  });
}

/** Ends with this process, and does not keep it from ending. */
async function startOwn(): Promise<string> {
  const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  server.unref();
  return server.address;
}
