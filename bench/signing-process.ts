/**
 * A process of its own for the two measurements of signing, so that it can be put on one core: `sign SECONDS` makes
 * tokens and signatures, `request SECONDS ORIGIN` sends signed requests. Prints one line of JSON.
 */
import { generateKeyPairSync } from 'node:crypto';
import { parseAddress } from '../service/address.ts';
import { createServiceClient } from '../service/client.ts';
import { parseKey } from '../service/key.ts';
import { signRequest } from '../service/signature.ts';

export type Rate = { readonly perSecond: number; readonly cpuMsEach: number };

const [, , what, seconds = '1', origin = ''] = process.argv;
const IN_FLIGHT = 8;
/** Until the code that is measured has been compiled for speed. */
const WARM_UP_SECONDS = 1;
const BODY = Buffer.from(
  '{"quoteId":"qte_7Hk2mQ9vT4xR","clientReferenceId":"mxn-supplier.2026-11-21.usd-mxn-1"}',
);

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const name = 'org/bench/apiKey/key_1';
const key = await parseKey(JSON.stringify({ name, privateKey: pem }), 'bench');

const once = what === 'sign' ? sign : request();
await measure(WARM_UP_SECONDS);
console.log(JSON.stringify(await measure(Number(seconds))));
process.exit(0);

async function sign(): Promise<void> {
  await signRequest({
    key,
    issuer: 'service',
    method: 'POST',
    path: '/v3/fx/trades',
    query: '',
    body: BODY,
    nowMs: Date.now(),
  });
}

function request(): () => Promise<void> {
  const client = createServiceClient({
    baseUrl: parseAddress(`${origin}/v3`),
    key,
    mode: 'SANDBOX',
    issuer: 'service',
    connections: IN_FLIGHT,
    isDefinitive: () => false,
  });
  return async () => {
    const reply = await client.balances();
    if (reply.kind !== 'DONE') throw new Error(`A request came to ${JSON.stringify(reply)}.`);
  };
}

/** One after the other for signing, several side by side for requests. CPU time of this process, all threads. */
async function measure(forSeconds: number): Promise<Rate> {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const until = startedAt + forSeconds * 1_000;
  let done = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() < until) {
      await once();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: what === 'sign' ? 1 : IN_FLIGHT }, loop));
  const { user, system } = process.cpuUsage(cpu);
  const elapsedSeconds = (performance.now() - startedAt) / 1_000;
  return { perSecond: done / elapsedSeconds, cpuMsEach: (user + system) / 1_000 / done };
}
