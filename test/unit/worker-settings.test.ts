/** Where a command takes its settings from: variables, what `cambist up` left, and what live money may not go by. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test, type TestContext } from 'node:test';
import { loadSettings } from '../../config/config.ts';
import { withDevEnvironment } from '../../config/dev-environment.ts';
import { ConfigurationError } from '../../config/errors.ts';
import { readProfile } from '../../config/temporal.ts';
import { KEY_NAME } from '../support/service-fixture.ts';

const UP = {
  CAMBIST_BASE_URL: 'http://127.0.0.1:7300/v3',
  CAMBIST_TASK_QUEUE: 'cambist-sandbox',
  CAMBIST_SANDBOX_ADMIN_URL: 'http://127.0.0.1:7301',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
  TEMPORAL_NAMESPACE: 'default',
  TEMPORAL_TLS: 'false',
  CAMBIST_UI_URL: 'http://127.0.0.1:8233',
};

test('without variables, what `cambist up` left in the folder counts, in sandbox and with the key beside it', async (t) => {
  const folder = folderOfUp(t, UP);
  const settings = await loadSettings({ CAMBIST_READ_KEY_FILE: '' }, folder);
  assert.deepEqual(settings.address, { origin: 'http://127.0.0.1:7300', basePath: '/v3' });
  assert.deepEqual(
    [settings.mode, settings.key.name, settings.taskQueue],
    ['SANDBOX', KEY_NAME, 'cambist-sandbox'],
  );
  const env = await withDevEnvironment({ CAMBIST_TASK_QUEUE: 'mine', TEMPORAL_ADDRESS: '' }, folder);
  assert.equal(env['CAMBIST_TASK_QUEUE'], 'mine');
  assert.deepEqual(readProfile(env, 'SANDBOX').address, '127.0.0.1:7233');
});

test('a service, a key or a mode that is set by hand is never mixed with what `cambist up` left', async (t) => {
  const folder = folderOfUp(t, UP);
  for (const env of [
    { CAMBIST_BASE_URL: 'https://api.example.com/v3' },
    { CAMBIST_KEY_FILE: '/etc/live.json' },
    { CAMBIST_READ_KEY_FILE: '/etc/live.json' },
    { CAMBIST_APP_MODE: 'LIVE' },
    { CAMBIST_APP_MODE: 'SANDBOX' },
  ])
    assert.deepEqual(await withDevEnvironment(env, folder), env);
});

test('a Temporal that is set by hand comes with nothing of what `cambist up` left, nor a profile with its server', async (t) => {
  const folder = folderOfUp(t, UP);
  const env = await withDevEnvironment({ TEMPORAL_NAMESPACE: 'mine' }, folder);
  assert.deepEqual(
    Object.keys(env).filter((name) => name.startsWith('TEMPORAL_')),
    ['TEMPORAL_NAMESPACE'],
  );
  assert.equal(env['CAMBIST_BASE_URL'], UP.CAMBIST_BASE_URL);

  const config = join(folder, 'config');
  mkdirSync(join(config, 'temporalio'), { recursive: true });
  writeFileSync(join(config, 'temporalio/temporal.toml'), '[profile.default]\napi_key = "canary-secret"\n');
  const others = { HOME: folder, XDG_CONFIG_HOME: config };
  assert.equal(readProfile(others, 'SANDBOX').options.apiKey, 'canary-secret');
  assert.equal(readProfile(await withDevEnvironment(others, folder), 'SANDBOX').options.apiKey, undefined);
});

test('a file that names more than this machine, or something that `cambist up` does not write, is refused', async (t) => {
  for (const change of [
    { CAMBIST_BASE_URL: 'https://api.example.com/v3' },
    { CAMBIST_BASE_URL: 'http://192.0.2.1:7300/v3' },
    { CAMBIST_BASE_URL: 'http://127.0.0.1.example.com/v3' },
    { CAMBIST_BASE_URL: 'https://127.0.0.1:7300/v3' },
    { CAMBIST_BASE_URL: undefined },
    { TEMPORAL_ADDRESS: 'temporal.example.com:7233' },
    { TEMPORAL_ADDRESS: 'me@127.0.0.1:7233' },
    { TEMPORAL_TLS: 'true' },
    { CAMBIST_UI_URL: 'https://ui.example.com' },
    { CAMBIST_KEY_FILE: 'live.json' },
    { CAMBIST_APP_MODE: 'LIVE' },
    { CAMBIST_SERVICE_FILE: '/elsewhere/facts.yaml' },
    { NODE_OPTIONS: '--import=evil' },
    { CAMBIST_TASK_QUEUE: 7 },
  ])
    await assertRefused(folderOfUp(t, { ...UP, ...change }), JSON.stringify(change));
  const broken = folderOfUp(t, UP);
  writeFileSync(join(broken, '.cambist/dev.json'), '{');
  await assertRefused(broken, 'no JSON');
});

test('a file or key of another user, one that others may write, and a link to one are refused', async (t) => {
  for (const name of ['dev.json', 'key.json']) {
    const writable = folderOfUp(t, UP);
    chmodSync(join(writable, '.cambist', name), 0o620);
    await assertRefused(writable, `${name} writable`);

    const linked = folderOfUp(t, UP);
    renameSync(join(linked, '.cambist', name), join(linked, 'elsewhere.json'));
    symlinkSync(join(linked, 'elsewhere.json'), join(linked, '.cambist', name));
    await assertRefused(linked, `${name} linked`);
  }
  const foreign = folderOfUp(t, UP);
  const uid = mock.method(process as { getuid: () => number }, 'getuid', () => 54_321);
  await assertRefused(foreign, 'of another user');
  uid.mock.restore();
  assert.equal((await loadSettings({}, foreign)).mode, 'SANDBOX');
});

test('each mode has a task queue of its own, unless one is named', async (t) => {
  const folder = folderOfUp(t, UP);
  const env = {
    CAMBIST_BASE_URL: 'https://api.example.com/v3',
    CAMBIST_KEY_FILE: join(folder, '.cambist/key.json'),
  };
  const queueIn = async (more: NodeJS.ProcessEnv): Promise<string> =>
    (await loadSettings({ ...env, ...more }, folder)).taskQueue;
  assert.equal(await queueIn({ CAMBIST_APP_MODE: 'SANDBOX' }), 'cambist-sandbox');
  assert.equal(await queueIn({ CAMBIST_APP_MODE: 'LIVE' }), 'cambist-live');
  assert.equal(await queueIn({ CAMBIST_APP_MODE: 'LIVE', CAMBIST_TASK_QUEUE: 'treasury' }), 'treasury');
});

test('live refuses to run where no certificate is checked', async (t) => {
  const folder = folderOfUp(t, UP);
  const env = {
    CAMBIST_BASE_URL: 'https://api.example.com/v3',
    CAMBIST_KEY_FILE: join(folder, '.cambist/key.json'),
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  };
  assert.deepEqual(await codesOf(() => loadSettings({ ...env, CAMBIST_APP_MODE: 'LIVE' }, folder)), [
    'TLS_CHECKS_OFF',
  ]);
  assert.equal((await loadSettings({ ...env, CAMBIST_APP_MODE: 'SANDBOX' }, folder)).mode, 'SANDBOX');
});

test('live needs a Temporal that somebody named, by TLS, which asks who we are; sandbox takes any', async (t) => {
  const folder = folderOfUp(t, UP);
  const certificate = join(folder, 'client.pem');
  writeFileSync(certificate, 'certificate');
  const none = { TEMPORAL_CONFIG_FILE: join(folder, 'no-profile.toml') };
  const place = { ...none, TEMPORAL_ADDRESS: 'temporal.example.com:7233', TEMPORAL_NAMESPACE: 'treasury' };
  const pair = { TEMPORAL_TLS_CLIENT_CERT_PATH: certificate, TEMPORAL_TLS_CLIENT_KEY_PATH: certificate };
  const cases: readonly (readonly [env: NodeJS.ProcessEnv, codes: readonly string[]])[] = [
    [{ ...place, ...pair }, []],
    [{ ...place, TEMPORAL_API_KEY: 'canary-secret' }, []],
    [none, ['TEMPORAL_ADDRESS_MISSING', 'TEMPORAL_NAMESPACE_MISSING', 'TEMPORAL_NOT_SECURED']],
    [{ ...place, ...pair, TEMPORAL_ADDRESS: '' }, ['TEMPORAL_ADDRESS_MISSING']],
    [{ ...place, ...pair, TEMPORAL_NAMESPACE: '' }, ['TEMPORAL_NAMESPACE_MISSING']],
    [place, ['TEMPORAL_NOT_SECURED']],
    [{ ...place, TEMPORAL_ADDRESS: '127.0.0.1:7233' }, ['TEMPORAL_NOT_SECURED']],
    [{ ...place, TEMPORAL_TLS: 'true' }, ['TEMPORAL_NOT_SECURED']],
    [{ ...place, TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: 'canary-secret' }, ['TEMPORAL_NOT_SECURED']],
    [{ ...place, ...pair, TEMPORAL_TLS: 'false' }, ['TEMPORAL_NOT_SECURED']],
    [{ ...place, ...pair, NODE_TLS_REJECT_UNAUTHORIZED: '0' }, ['TLS_CHECKS_OFF']],
  ];
  for (const [env, codes] of cases) {
    assert.deepEqual(await codesOf(() => readProfile(env, 'LIVE')), codes, JSON.stringify(env));
    assert.deepEqual(await codesOf(() => readProfile(env, 'SANDBOX')), []);
  }
  assert.deepEqual(readProfile(none, 'SANDBOX').address, '127.0.0.1:7233');
});

const PEM = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

/** A folder in which `cambist up` was started, with its two files. */
function folderOfUp(t: TestContext, variables: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-settings-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, '.cambist'));
  const write = (name: string, value: object): void =>
    writeFileSync(join(folder, '.cambist', name), JSON.stringify(value), { mode: 0o600 });
  write('dev.json', variables);
  write('key.json', { name: KEY_NAME, privateKey: PEM });
  return folder;
}

async function assertRefused(folder: string, what: string): Promise<void> {
  assert.deepEqual(await codesOf(() => withDevEnvironment({}, folder)), ['DEV_ENVIRONMENT_REFUSED'], what);
}

/** The codes of what is wrong; none when nothing is. */
async function codesOf(work: () => unknown): Promise<readonly string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    assert.equal(error.message.includes('canary-secret'), false);
    return error.problems.map(({ code }) => code);
  }
}

test('a build id is a short plain token, or there is none', async (t) => {
  const folder = folderOfUp(t, UP);
  const buildOf = async (text: string) =>
    (await loadSettings({ CAMBIST_BUILD_ID: text }, folder)).build?.id ?? null;
  assert.equal((await loadSettings({}, folder)).build, null);
  assert.equal(await buildOf(''), null);
  for (const text of ['1.4.0', '4f1083e', '2026-11-23', 'v2-rc.1', 'a'.repeat(64)])
    assert.equal(await buildOf(text), text);
  for (const text of ['1 4', 'a:b', '$(x)', '-1', '.1', 'ü', 'a/b', "a'b", 'a\n', 'a'.repeat(65)])
    await assert.rejects(
      buildOf(text),
      (error) => error instanceof ConfigurationError && error.problems[0]?.code === 'BUILD_ID_INVALID',
      text,
    );
});

test('the address of metrics is of this machine alone unless it is written out, and anything else is refused', async (t) => {
  const folder = folderOfUp(t, UP);
  const addressOf = async (text: string) =>
    (await loadSettings({ CAMBIST_METRICS: text }, folder)).metricsAddress;
  assert.equal(await addressOf(''), null);
  assert.equal(await addressOf('9464'), '127.0.0.1:9464');
  assert.equal(await addressOf('localhost:9464'), '127.0.0.1:9464');
  assert.equal(await addressOf('0.0.0.0:9464'), '0.0.0.0:9464');
  assert.equal(await addressOf('[::1]:9464'), '[::1]:9464');
  for (const text of [
    '0',
    '127.0.0.1',
    '65536',
    'host:9464',
    'http://127.0.0.1:9464',
    '127.0.0.1:94x',
    ':9464',
  ])
    await assert.rejects(
      addressOf(text),
      (error) => error instanceof ConfigurationError && error.problems[0]?.code === 'METRICS_ADDRESS_INVALID',
      text,
    );
});

test('the Temporal Worker Controller names build and deployment; a build id of ours stands above', async (t) => {
  const folder = folderOfUp(t, UP);
  const given = {
    TEMPORAL_DEPLOYMENT_NAME: 'treasury/cambist',
    TEMPORAL_WORKER_BUILD_ID: 'cambist-0-9-0_4f10',
  };
  const buildOf = async (env: NodeJS.ProcessEnv) => (await loadSettings(env, folder)).build;
  assert.deepEqual(await buildOf(given), { deployment: 'treasury/cambist', id: 'cambist-0-9-0_4f10' });
  const { TEMPORAL_DEPLOYMENT_NAME, TEMPORAL_WORKER_BUILD_ID } = given;
  assert.equal(await buildOf({ TEMPORAL_DEPLOYMENT_NAME }), null);
  assert.equal(await buildOf({ TEMPORAL_WORKER_BUILD_ID }), null);
  const queue = 'cambist-here';
  assert.deepEqual(await buildOf({ ...given, CAMBIST_BUILD_ID: '1.4.0', CAMBIST_TASK_QUEUE: queue }), {
    deployment: queue,
    id: '1.4.0',
  });
});

test('a build id is refused beside a task queue that cannot name a deployment, as two queues could share one', async (t) => {
  const folder = folderOfUp(t, UP);
  const loaded = (queue: string, build: string) =>
    codesOf(() => loadSettings({ CAMBIST_TASK_QUEUE: queue, CAMBIST_BUILD_ID: build }, folder));
  for (const queue of ['', 'eu-west', 'EU_west-1']) assert.deepEqual(await loaded(queue, '1.4.0'), []);
  for (const queue of ['eu.west', 'eu:west', 'eu west', 'zürich', 'a/b']) {
    assert.deepEqual(await loaded(queue, '1.4.0'), ['BUILD_ID_INVALID'], queue);
    assert.deepEqual(await loaded(queue, ''), [], queue);
  }
});
