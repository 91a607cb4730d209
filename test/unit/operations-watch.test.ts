/** What `watch` tells, and that nothing is lost or told under a new id: over a restart, a receiver that fails, a service that is away. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Need } from '../../domain/people/instructions.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { AttentionNow } from '../../operations/notify/attention-now.ts';
import { newState, type News, type WatchState } from '../../operations/notify/news.ts';
import {
  programReceiver,
  readSecret,
  signatureOf,
  webhookReceiver,
  type Receiver,
} from '../../operations/notify/receivers.ts';
import { StateFile } from '../../operations/notify/state-file.ts';
import { watch } from '../../operations/notify/watch.ts';
import type { Listed } from '../../operations/watch/attention.ts';
import type { RunFacts } from '../../operations/follow/runs.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const NOTHING: AttentionNow = {
  runs: [],
  acknowledged: 0,
  missed: [],
  unfinished: [],
  halts: [],
  paused: [],
  pausedRuns: [],
};

function listed(needs: readonly Need[], state = 'HELD'): Listed {
  const isOpen = state === 'HELD';
  const facts = { run: { policy: 'p', id: '2026-11-21' }, isOpen, state } as RunFacts;
  const [first] = needs;
  const why = first === undefined ? null : { code: first[0], message: `It is ${first[0]}.` };
  return { facts, why, needs, reasons: [], isStuck: false };
}

const held = (...needs: readonly Need[]): AttentionNow => ({ ...NOTHING, runs: [listed(needs)] });

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-watch-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Plays looks, one a minute, until there are no more. `null`: Temporal cannot be read. */
async function play(
  start: WatchState,
  looks: readonly (AttentionNow | null)[],
  more: {
    readonly receiver?: Receiver;
    readonly isServiceRead?: boolean;
    readonly file?: { write(state: WatchState): Promise<void> };
  } = {},
) {
  const told: News[] = [];
  const notes: string[] = [];
  let state = start;
  let nowMs = NOW;
  const left = [...looks];
  const ending = new AbortController();
  await watch(
    start,
    {
      file: more.file ?? { write: async (next) => void (state = next) },
      receiver: async (news) => {
        const why = (await more.receiver?.(news)) ?? null;
        if (why === null) told.push(news);
        return why;
      },
      look: async () => {
        const now = left.shift() ?? null;
        if (now === null) throw new Error('Temporal is away');
        return { now, isServiceRead: more.isServiceRead ?? true };
      },
      nowMs: () => nowMs,
      note: (message) => void notes.push(message),
      pause: async (ms) => {
        nowMs += ms;
        if (left.length === 0 && (state.outbox.length === 0 || nowMs > NOW + 3_600_000)) ending.abort();
      },
    },
    ending.signal,
  );
  const said = told.map(({ change, kind, name, code }) => [change, kind, name, code].join(' '));
  return { told, said, notes, state };
}

const NAME = 'p.2026-11-21';

test('what is new is told once, what is solved as well, and another reason of the same run is news', async () => {
  const { said, told, state } = await play(newState('SANDBOX'), [
    held(['SHORTFALL', 'a', 1]),
    held(['SHORTFALL', 'a', 1]),
    held(['SHORTFALL', 'a', 1], ['SHORTFALL', 'b', 1], ['IN_DOUBT', 'c', 1]),
    held(['IN_DOUBT', 'c', 1]),
    { ...NOTHING, runs: [listed([], 'FAILED')] },
    NOTHING,
  ]);
  assert.deepEqual(said, [
    `new run ${NAME} SHORTFALL`,
    `new run ${NAME} SHORTFALL`,
    `new run ${NAME} IN_DOUBT`,
    `solved run ${NAME} SHORTFALL`,
    `new run ${NAME} FAILED`,
    `solved run ${NAME} IN_DOUBT`,
    `solved run ${NAME} FAILED`,
  ]);
  assert.equal(new Set(told.map(({ id }) => id)).size, told.length);
  assert.deepEqual(state.outbox, []);
});

test('while Temporal cannot be read nothing is solved, and people are told', async () => {
  const { said, notes } = await play(newState('SANDBOX'), [
    held(['SHORTFALL', 'a', 1]),
    null,
    held(['SHORTFALL', 'a', 1]),
  ]);
  assert.deepEqual(said, [`new run ${NAME} SHORTFALL`]);
  assert.match(notes.join('\n'), /could not be read: Temporal is away/);
});

test('money that came back is not solved by a look that could not ask the service', async () => {
  const { state } = await play(newState('SANDBOX'), [held(['WITHDRAWAL_FAILED', 'a', 1])]);
  const unasked = await play(state, [NOTHING], { isServiceRead: false });
  assert.deepEqual(unasked.said, []);
  const asked = await play(unasked.state, [NOTHING]);
  assert.deepEqual(asked.said, [`solved run ${NAME} WITHDRAWAL_FAILED`]);
});

test('what the receiver does not take is told again in order, under the same id', async () => {
  const ids: string[] = [];
  const receiver: Receiver = async ({ id }) => {
    ids.push(id);
    return ids.length <= 3 ? 'the webhook cannot be reached' : null;
  };
  const { said, notes } = await play(newState('SANDBOX'), [held(['SHORTFALL', 'a', 1]), NOTHING], {
    receiver,
  });
  assert.deepEqual(said, [`new run ${NAME} SHORTFALL`, `solved run ${NAME} SHORTFALL`]);
  assert.equal(new Set(ids.slice(0, 4)).size, 1);
  assert.match(
    notes[0] ?? '',
    /SHORTFALL.* was not taken: the webhook cannot be reached\. It is told again\./,
  );
});

test('a watch that dies after the receiver has taken it tells it again under the same id, and loses nothing', async (t) => {
  const path = join(folderOf(t), 'inner', 'watch.json');
  const dies = new Error('the process has died');
  const file = new StateFile(path);
  const start = await file.read('SANDBOX');
  let first: News | null = null;
  const dying = play(start, [held(['SHORTFALL', 'a', 1])], {
    receiver: async (news) => {
      first = news;
      return null;
    },
    file: {
      write: async (state) => {
        if (first !== null) throw dies;
        await file.write(state);
      },
    },
  });
  await assert.rejects(dying, dies);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const again = new StateFile(path);
  const kept = await again.read('SANDBOX');
  const { told } = await play(kept, [held(['SHORTFALL', 'a', 1])]);
  assert.deepEqual(told, [first]);
});

test('a file of state that is damaged, of another mode, or written by another process ends the watch', async (t) => {
  const path = join(folderOf(t), 'watch.json');
  const isUnusable = (error: unknown): boolean =>
    error instanceof CommandFailure && error.problems[0]?.code === 'WATCH_STATE_UNUSABLE';
  const file = new StateFile(path);
  await file.write({ ...(await file.read('SANDBOX')) });
  await assert.rejects(new StateFile(path).read('LIVE'), isUnusable);
  const other = new StateFile(path);
  const state = await other.read('SANDBOX');
  await other.write({ ...state, outbox: [] });
  writeFileSync(path, readFileSync(path, 'utf8').replace('"outbox":[]', '"outbox":[ ]'));
  await assert.rejects(file.write(state), isUnusable);
  for (const text of [
    '',
    '{',
    '{"version":2}',
    '{"version":1,"mode":"SANDBOX","standing":[1],"outbox":[]}',
  ]) {
    writeFileSync(path, text);
    await assert.rejects(new StateFile(path).read('SANDBOX'), isUnusable, text);
  }
});

const NEWS: News = {
  id: 'an-id',
  at: '2026-11-21T12:00:00.000Z',
  mode: 'SANDBOX',
  change: 'new',
  kind: 'run',
  name: '$(touch canary) `id` "quoted"',
  code: 'SHORTFALL',
  message: 'It lacks money.',
};

test('a webhook gets the news signed by the secret, and only a 2xx means that it was taken', async (t) => {
  const seen: { readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }[] = [];
  let status = 302;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      seen.push({ headers: request.headers, body });
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const secret = 's'.repeat(32);
  const receive = webhookReceiver(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`,
    secret,
    () => NOW,
  );
  assert.equal(await receive(NEWS), 'the webhook answered with status 302');
  assert.equal(seen.length, 1, 'no redirect is followed');
  status = 204;
  assert.equal(await receive(NEWS), null);
  const [, { headers, body } = { headers: {}, body: '' }] = seen;
  assert.deepEqual(JSON.parse(body), NEWS);
  const timestamp = String(headers['cambist-timestamp']);
  assert.equal(timestamp, String(NOW / 1_000));
  assert.equal(headers['cambist-signature'], `v1=${signatureOf(secret, timestamp, body)}`);
  assert.equal(
    signatureOf('key', '1', 'body'),
    '91b5374b153842ad05b2c4eab9349b8321b14703165bd3fb8b034dfb8be98ae5',
  );
});

test('a webhook must be https or of this machine, and its address holds no password', () => {
  for (const address of [
    'http://alerts.example.com/x',
    'https://a:b@alerts.example.com',
    'ftp://127.0.0.1/',
    'alerts',
  ])
    assert.throws(
      () => webhookReceiver(address, 's'.repeat(32), () => NOW),
      (error) => error instanceof CommandFailure && error.problems[0]?.code === 'WATCH_RECEIVER',
      address,
    );
  for (const address of ['https://alerts.example.com/x', 'http://localhost:1/', 'http://[::1]:1/'])
    webhookReceiver(address, 's'.repeat(32), () => NOW);
});

test('a secret is long, and in a plain file that only its owner may use', async (t) => {
  const path = join(folderOf(t), 'secret');
  writeFileSync(path, `${'a'.repeat(40)}\n`, { mode: 0o600 });
  assert.equal(await readSecret(path), 'a'.repeat(40));
  const isUnusable = (error: unknown): boolean =>
    error instanceof CommandFailure &&
    error.problems[0]?.code === 'WATCH_SECRET_UNUSABLE' &&
    !error.message.includes('aaaa');
  chmodSync(path, 0o640);
  await assert.rejects(readSecret(path), isUnusable);
  chmodSync(path, 0o600);
  writeFileSync(path, 'a'.repeat(31));
  await assert.rejects(readSecret(path), isUnusable);
  await assert.rejects(readSecret(join(path, 'none')), isUnusable);
});

test('a program gets the news on its stdin and never in a shell, without our settings; only an end with 0 takes it', async (t) => {
  const folder = folderOf(t);
  const program = join(folder, 'receiver');
  const script = (text: string): void => writeFileSync(program, `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  const env = { PATH: process.env['PATH'], CAMBIST_KEY_FILE: 'canary', TEMPORAL_API_KEY: 'canary' };
  const receive = programReceiver(program, env, folder);
  script('cat > got; env > environment');
  assert.equal(await receive(NEWS), null);
  assert.deepEqual(JSON.parse(readFileSync(join(folder, 'got'), 'utf8')), NEWS);
  assert.doesNotMatch(readFileSync(join(folder, 'environment'), 'utf8'), /canary/);
  script('exit 3');
  assert.equal(await receive(NEWS), 'the program ended with 3');
  assert.equal(
    await programReceiver('/none/such', env, folder)(NEWS),
    'the program cannot be started (ENOENT)',
  );
});
