/** `cambist doctor`: green where all is well, and of each thing that is wrong its code, what to do, and an exit code. */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { haltIdOf, scheduleIdOf } from '../../workflows/names.ts';
import { workerIdentity } from '../../operations/watch/worker-identity.ts';
import { packageVersion } from '../../cli/commands/version.ts';
import { startDevServer, type DevServer } from '../../worker/dev-server.ts';
import { assertExit, command, type Ended } from '../support/commands.ts';
import { readStart } from '../../durable/history.ts';
import { runName } from '../../domain/references.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { untilPolling } from '../support/pollers.ts';
import { openWire } from '../support/proxy.ts';
import { keepFor, openStage, type Stage } from '../support/stage.ts';
import { CommandFailure } from '../../operations/failure.ts';

const IDENTITY = workerIdentity(packageVersion(), { pid: 1, host: 'here' });

type Shown = {
  readonly name: string;
  readonly state: string;
  readonly says: string;
  readonly code: string | null;
  readonly fix: string | null;
};

// A server of its own: a halt of everything is one of every test.
let server: DevServer;
let stage: Stage;
before(async () => {
  server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  stage = await openStage({ temporalAddress: server.address });
  await stage.startWorker({ identity: IDENTITY, env: { CAMBIST_FILES: stage.folder } });
  await untilPolling(stage.temporal.client, stage.env['CAMBIST_TASK_QUEUE'] ?? '', [IDENTITY]);
});
after(async () => {
  await stage.close();
  await server.stop();
});

type Env = Readonly<Record<string, string | undefined>>;

const examineAtOnce = (env: Env = {}, files: readonly string[] = []): Promise<Ended> =>
  command(stage, ['doctor', ...files, '--json'], { env });

/** A busy machine keeps a check from its answer within the seconds that it has: the question is asked again. */
const examine = (env: Env = {}, files: readonly string[] = []): Promise<Ended> =>
  eventually('every check has its answer', async () => {
    const ended = await examineAtOnce(env, files);
    return /CHECK_TOO_SLOW|TEMPORAL_UNREACHABLE/.test(ended.stdout) ? null : ended;
  });

function checksOf({ stdout }: Ended): readonly Shown[] {
  return (JSON.parse(stdout) as { checks: readonly Shown[] }).checks;
}

/** What is not well, each as `state code`. */
function findings(ended: Ended): readonly string[] {
  const checks = checksOf(ended).filter(({ state }) => state !== 'ok');
  for (const { code, fix } of checks) if (code !== null) assert.ok(fix, `${code} has a fix`);
  return checks.map(({ name, state, code }) => `${state}: ${name}: ${code ?? ''}`);
}

test('where all is well it is green, looks at everything, and moves nothing', async () => {
  const ended = await examine();
  assertExit(ended, 0);
  assert.deepEqual(findings(ended), []);
  assert.deepEqual(
    checksOf(ended).map(({ name }) => name),
    [
      'configuration',
      'key file',
      'sealing keys',
      'service',
      'Temporal',
      'search attributes',
      'retention',
      'workers',
      'schedules',
      'halts',
      'records',
    ],
  );
  const methods = stage.sandbox.requests().map(({ method }) => method);
  assert.deepEqual([...new Set(methods)], ['GET']);
  const text = await command(stage, ['doctor']);
  assert.match(text.stdout, /^ok {7}configuration: SANDBOX at http/);
  assert.match(text.stdout, /^ok {7}sealing keys: none \(CAMBIST_SEAL_KEYS\)/m);
  assert.match(text.stdout, new RegExp(`ok {7}workers: 1 on .*cambist/${packageVersion()} 1@here`));
});

test('a key that is switched off, and a clock that is wrong, are configuration', async () => {
  stage.setKeyActive(false);
  const off = await examine();
  assertExit(off, 3);
  assert.deepEqual(findings(off), ['problem: service: AUTH_API_KEY_INVALID']);
  stage.setKeyActive(true);
  stage.sandbox.clock.setOffset(20_000);
  const apart = await examine();
  assertExit(apart, 3);
  assert.deepEqual(findings(apart), ['problem: service: CLOCK_SKEW']);
  stage.sandbox.clock.setOffset(0);
});

test('a key file that others may read is a warning in sandbox', async () => {
  const file = stage.env['CAMBIST_KEY_FILE'] ?? '';
  await chmod(file, 0o644);
  const ended = await examine();
  await chmod(file, 0o600);
  assertExit(ended, 0);
  assert.deepEqual(findings(ended), ['warning: key file: ']);
});

test('what is configured wrongly is told at once, and the rest is looked at all the same', async () => {
  const ended = await examine({ CAMBIST_KEY_FILE: '/nowhere/key.json', CAMBIST_TASK_QUEUE: 'nobody' });
  assertExit(ended, 7);
  assert.deepEqual(findings(ended), [
    'problem: configuration: KEY_FILE_NOT_FOUND',
    'problem: workers: NO_WORKER',
  ]);
});

test('the health check tells a worker of this machine from one of another', async () => {
  const there = await command(stage, ['doctor', '--worker', '--json']);
  assertExit(there, 7);
  const queue = `${stage.env['CAMBIST_TASK_QUEUE'] ?? ''}-here`;
  const env = { CAMBIST_TASK_QUEUE: queue };
  const here = await stage.startWorker({ env, identity: `cambist/0.0.1 7@${hostname()}` });
  try {
    await untilPolling(stage.temporal.client, queue, ['cambist/0.0.1']);
    const ended = await command(stage, ['doctor', '--worker'], { env });
    assertExit(ended, 0);
    assert.match(ended.stdout, /^ok {7}worker: cambist\/0\.0\.1 7@\S+ asks for work$/m);
  } finally {
    here.shutdown();
    await here.ended;
  }
});

test('a worker of another version is a warning', async () => {
  const queue = `${stage.env['CAMBIST_TASK_QUEUE'] ?? ''}-old`;
  const old = await stage.startWorker({
    env: { CAMBIST_TASK_QUEUE: queue },
    identity: 'cambist/0.0.1 7@there',
  });
  try {
    await untilPolling(stage.temporal.client, queue, ['cambist/0.0.1']);
    const ended = await examine({ CAMBIST_TASK_QUEUE: queue });
    assertExit(ended, 0);
    assert.deepEqual(findings(ended), ['warning: workers: WORKER_VERSION_DIFFERS']);
  } finally {
    old.shutdown();
  }
});

test('halts are shown, and so is that somebody has ended what keeps them', async () => {
  assertExit(await command(stage, ['halt', '--reason', 'wrong accounts', '--by', 'ana']), 0);
  const halted = await examine();
  assertExit(halted, 0);
  assert.deepEqual(findings(halted), ['warning: halts: HALTED']);
  await stage.temporal.client.workflow.getHandle(haltIdOf('SANDBOX')).terminate('tidied up');
  // Until a worker has begun a new record, it is a problem.
  const told = ['warning: halts: HALTED', 'warning: halts: HALT_RECORD_ENDED'].join();
  await eventually('a worker begins a new record', async () => findings(await examine()).join() === told);
  assertExit(await command(stage, ['resume']), 0);
  assert.deepEqual(findings(await examine()), []);
});

test('a schedule that is paused, and rates that are too old for its policy, are warnings', async () => {
  const [name, folder] = [uniqueName('s'), stage.folder];
  const rates = (asOf: string) =>
    writeFile(join(folder, 'rates.yaml'), `as_of: ${asOf}\nrates: ["17.25 MXN per USD"]\n`);
  const text = convertPolicy({
    guard: '{ reference: { file: rates.yaml, max_age: 30h }, worst_cost: 30bps }',
  }).replace('name: replaced\n', `name: ${name}\nzone: UTC\nschedule: { at: "00:00", days: [mon] }\n`);
  await rates(new Date().toISOString());
  await writeFile(join(folder, `${name}.yaml`), text);
  assertExit(await command(stage, ['schedule', 'apply', `${name}.yaml`]), 0);
  try {
    const withFiles = { CAMBIST_FILES: folder };
    assert.deepEqual(findings(await examine(withFiles)), []);
    await rates('2026-01-05T16:00:00Z');
    assertExit(await command(stage, ['schedule', 'pause', name, '--note', 'ask ana']), 0);
    const ended = await examine(withFiles);
    assertExit(ended, 0);
    assert.deepEqual(findings(ended), [
      `warning: schedule ${name}: `,
      `warning: rates of ${name}: PLAN_REFERENCE_TOO_OLD`,
    ]);
    assert.match(ended.stdout, /paused: ask ana/);
    await rm(join(folder, 'rates.yaml'));
    assert.ok(findings(await examine(withFiles)).includes(`warning: rates of ${name}: FILE_NOT_FOUND`));
  } finally {
    await stage.temporal.client.schedule.getHandle(scheduleIdOf('SANDBOX', name)).delete();
  }
});

test('with policy files it says which schedules were not applied, or are not as the files have them', async () => {
  const name = uniqueName('s');
  const file = `${name}.yaml`;
  const put = (at: string, more = ''): Promise<void> =>
    writeFile(
      join(stage.folder, file),
      convertPolicy().replace(
        'name: replaced\n',
        `name: ${name}\nzone: UTC\nschedule: { at: "${at}", days: weekdays${more} }\n`,
      ),
    );
  const look = () => examine({}, [file]);
  await put('09:30');
  const never = await look();
  assertExit(never, 0);
  assert.deepEqual(findings(never), [`warning: schedule ${name}: SCHEDULE_NOT_APPLIED`]);
  assertExit(await command(stage, ['schedule', 'apply', file]), 0);
  try {
    assert.deepEqual(findings(await look()), []);
    await put('10:00', ', holidays: [2020-12-25], end: 2020-12-31');
    const refused = await look();
    assertExit(refused, 2);
    await put('10:00');
    assert.deepEqual(findings(await look()), [`warning: schedule ${name}: SCHEDULE_DIFFERS`]);

    // What runs out soon is told of what was applied.
    const soon = new Date(stage.time.now() + 9 * 86_400_000).toISOString().slice(0, 10);
    for (const [more, code] of [
      [`, end: ${soon}`, 'SCHEDULE_ENDS'],
      [', holidays: [2020-12-25]', 'HOLIDAYS_RUN_OUT'],
    ] as const) {
      await put('10:00', more);
      assertExit(await command(stage, ['schedule', 'apply', file]), 0);
      assert.deepEqual(findings(await look()), [`warning: schedule ${name}: ${code}`]);
    }
  } finally {
    await stage.temporal.client.schedule.getHandle(scheduleIdOf('SANDBOX', name)).delete();
  }
});

test('in live a namespace that forgets within a month is a problem, and no worker starts on it', async () => {
  const live = await openStage({ mode: 'LIVE', temporalAddress: server.address });
  try {
    await live.startWorker({ identity: IDENTITY });
    await untilPolling(live.temporal.client, live.env['CAMBIST_TASK_QUEUE'] ?? '', [IDENTITY]);
    await keepFor(live.temporal, 29);
    const ended = await command(live, ['doctor', '--json']);
    assertExit(ended, 3);
    assert.deepEqual(findings(ended), ['problem: retention: RETENTION_SHORT']);
    await assert.rejects(live.startWorker(), (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.equal(error.ending, 'configuration');
      assert.deepEqual(
        error.problems.map(({ code }) => code),
        ['RETENTION_SHORT'],
      );
      return true;
    });
  } finally {
    await live.close();
  }
});

test('whatever is away or stands still keeps it no longer than its seconds, and is named', async () => {
  const wire = await openWire(server.address);
  const service = await openWire(new URL(stage.sandbox.baseUrl).host);
  try {
    for (const proxy of [wire, service]) proxy.setWeather({ kind: 'still' });
    const still = await examineAtOnce({
      TEMPORAL_ADDRESS: wire.address,
      CAMBIST_BASE_URL: `http://${service.address}/v3`,
    });
    assertExit(still, 7);
    assert.deepEqual(findings(still), [
      'problem: service: CHECK_TOO_SLOW',
      'problem: Temporal: TEMPORAL_UNREACHABLE',
    ]);
  } finally {
    await wire.close();
    await service.close();
  }
  const away = await examineAtOnce({
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    CAMBIST_BASE_URL: 'http://127.0.0.1:1/v3',
  });
  assertExit(away, 7);
  assert.equal(findings(away)[0], 'problem: service: SERVICE_UNREACHABLE');
});

test('a run that Temporal has lost, while the service has its records, is named', async () => {
  const [kept, lost] = [await stage.start(convertPolicy()), await stage.start(convertPolicy())];
  for (const run of [kept, lost]) assert.equal((await run.report()).status, 'COMPLETED');
  assert.deepEqual(findings(await examine()), []);
  const { client, namespace } = stage.temporal;
  await client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: lost.handle.workflowId },
  });
  await eventually(
    'the run is deleted',
    async () => (await readStart(client, lost.handle.workflowId)) === null,
  );
  const ended = await examine();
  assert.deepEqual(findings(ended), ['warning: records: RUNS_LOST']);
  const { says } = checksOf(ended).find(({ name }) => name === 'records') ?? { says: '' };
  assert.ok(says.includes(runName(lost.name)), says);
  assert.ok(!says.includes(runName(kept.name)), says);
});
