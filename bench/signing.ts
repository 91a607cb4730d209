/**
 * Signed requests: what a token and a signature cost against the raw signatures of `openssl speed ecdsap256` on the same
 * core, and how many requests the client sends in a second. Processes of their own, in turns.
 */
import { spawnSync } from 'node:child_process';
import { median, number, plain, timed, type Figure, type Section } from './figures.ts';
import { MEASURED_CORE, OTHER_CORE, firstLine, onCore, pinning, runFile, startFile } from './pinned.ts';
import type { Rate } from './signing-process.ts';

const ROUNDS = 3;
const SECONDS = 1;
const REQUEST_SECONDS = 2;
/** A token and a signature are two signatures; the rest is JSON, base64 and hashing. */
const SIGNATURES = 2;
const MOST_TIMES = 4;

export async function measureSigning(): Promise<Section> {
  const raw: number[] = [];
  const ours: Rate[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const perSecond = opensslSignaturesPerSecond();
    if (perSecond !== null) raw.push(perSecond);
    ours.push(await runFile<Rate>(MEASURED_CORE, 'signing-process.ts', ['sign', `${SECONDS}`]));
  }
  const requests = await measureRequests();
  const costMs = median(ours.map(({ cpuMsEach }) => cpuMsEach));
  return {
    title: `signed requests (CPU time, ${pinning()})`,
    figures: [
      ...costFigures(raw, costMs),
      plain('signed requests of the client per second, one process', number(requests.perSecond)),
      plain('  CPU time of each, signing included', `${requests.cpuMsEach.toFixed(3)} ms`),
    ],
  };
}

function costFigures(raw: readonly number[], costMs: number): Figure[] {
  const cost = plain('a token and a request signature', `${costMs.toFixed(3)} ms`);
  if (raw.length === 0) return [cost, plain('two raw signatures (openssl)', 'no `openssl` here')];
  const perSecond = median(raw);
  const rawMs = (SIGNATURES * 1_000) / perSecond;
  const times = costMs / rawMs;
  return [
    plain('raw signatures per second (openssl speed ecdsap256)', number(perSecond)),
    plain('two raw signatures', `${rawMs.toFixed(3)} ms`),
    cost,
    timed(
      '  against two raw signatures',
      `${times.toFixed(1)} times`,
      `at most ${MOST_TIMES}`,
      times <= MOST_TIMES,
    ),
  ];
}

/** Null when there is no openssl, or one that prints something else. */
function opensslSignaturesPerSecond(): number | null {
  const [command, args] = onCore(MEASURED_CORE, 'openssl', ['speed', '-seconds', `${SECONDS}`, 'ecdsap256']);
  const { stdout, status } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) return null;
  // " 256 bits ecdsa (nistp256)   0.0000s   0.0001s  50931.2  17237.9": time and rate of signing and of verifying.
  const rate = /^ *256 bits ecdsa \(nistp256\) +\S+ +\S+ +([0-9.]+) +[0-9.]+ *$/m.exec(stdout)?.[1];
  return rate === undefined ? null : Number(rate);
}

async function measureRequests(): Promise<Rate> {
  const server = startFile(OTHER_CORE, 'fixed-server.ts', []);
  try {
    const origin = await firstLine(server, 'fixed-server.ts');
    const rates: Rate[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rates.push(
        await runFile<Rate>(MEASURED_CORE, 'signing-process.ts', ['request', `${REQUEST_SECONDS}`, origin]),
      );
    }
    return {
      perSecond: median(rates.map(({ perSecond }) => perSecond)),
      cpuMsEach: median(rates.map(({ cpuMsEach }) => cpuMsEach)),
    };
  } finally {
    server.kill();
  }
}
