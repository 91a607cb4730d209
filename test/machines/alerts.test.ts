/**
 * Each alert of deploy/ fired and solved again, on the real Prometheus that scrapes real workers, by what it is about: the worker is
 * killed, the service is away, money comes back. `npm run proof -- alerts` plays it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { freePort } from '../../worker/dev-server.ts';
import type { Place } from '../../operations/place.ts';
import { acknowledge } from '../../operations/watch/attention.ts';
import { startBuiltWorker, type BuiltWorker } from '../support/built-worker.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { quicker, startPrometheus, whyNoPrometheus, type Prometheus } from '../support/prometheus.ts';
import { urlOf } from '../support/root.ts';
import { openStage, type Stage, type StageOptions } from '../support/stage.ts';

const RULES = urlOf('deploy/prometheus/cambist.rules.yaml');
const NO_PROMETHEUS = whyNoPrometheus();
/** A machine that plays nothing fails: it is no proof. */
assert.equal(NO_PROMETHEUS, null, NO_PROMETHEUS ?? '');

/** A stage with one worker, and the Prometheus that watches it. */
type Watched = {
  readonly stage: Stage;
  readonly prometheus: Prometheus;
  readonly worker: BuiltWorker;
  /** Starts a worker in the place of the one before. */
  readonly restart: () => Promise<void>;
};

type Story = (watched: Watched, alert: string) => Promise<void>;

const fired = new Set<string>();
/** Longer than a doubt may last before it is told. */
const AHEAD_MS = 1_800_000;

function story(
  alert: string,
  title: string,
  {
    env = {},
    folders,
    ...options
  }: StageOptions & {
    readonly env?: NodeJS.ProcessEnv;
    readonly folders?: (stage: Stage) => Promise<NodeJS.ProcessEnv>;
  },
  play: Story,
): void {
  test(`${alert}: ${title}`, async () => {
    const stage = await openStage({ rates: { 'USD/MXN': '17.25' }, ...options });
    const own = { ...env, ...(await folders?.(stage)) };
    const metricsAt = `127.0.0.1:${await freePort()}`;
    const start = (): BuiltWorker => startBuiltWorker({ env: { ...stage.env, ...own }, metricsAt });
    let worker = start();
    const prometheus = await startPrometheus([metricsAt]);
    try {
      await worker.ready;
      const watched: Watched = {
        stage,
        prometheus,
        get worker() {
          return worker;
        },
        restart: async () => {
          worker = start();
          await worker.ready;
        },
      };
      await prometheus.isSolved('CambistWorkerAway');
      assert.deepEqual(await prometheus.firing(), [], 'nothing fires where all is well');
      await play(watched, alert);
      await prometheus.isSolved(alert);
      fired.add(alert);
    } finally {
      await prometheus.close();
      await worker.kill();
      await stage.close();
    }
  });
}

story(
  'CambistWorkerAway',
  'the worker is killed, and another one started',
  {},
  async ({ worker, prometheus, restart }, alert) => {
    await worker.kill();
    await prometheus.fires(alert);
    await restart();
  },
);

story(
  'CambistServiceSilent',
  'the service goes away and comes back',
  {},
  async ({ stage, prometheus }, alert) => {
    await stage.closeSandbox();
    await prometheus.fires(alert);
    await stage.reopenSandbox();
  },
);

story(
  'CambistConfigurationRefused',
  'the key is switched off and on again',
  {},
  async ({ stage, prometheus }, alert) => {
    stage.setKeyActive(false);
    await prometheus.fires(alert);
    stage.setKeyActive(true);
  },
);

story(
  'CambistClockOff',
  'the clock of the worker goes wrong, and right again',
  {},
  async ({ worker, prometheus }, alert) => {
    worker.process.send({ movedMs: 60_000 });
    await prometheus.fires(alert);
    worker.process.send({ movedMs: 0 });
  },
);

story(
  'CambistHalted',
  'a person halts everything, and resumes it',
  {},
  async ({ stage, prometheus }, alert) => {
    assertExit(await command(stage, ['halt', '--reason', 'a drill', '--by', 'ana']), 0);
    await prometheus.fires(alert);
    assertExit(await command(stage, ['resume', '--yes', '--by', 'ana', '--reason', 'over']), 0);
  },
);

story(
  'CambistRunHeld',
  'a run waits for money, and the money comes',
  { balances: { USD: '5000', EUR: '0' }, rates: { 'EUR/MXN': '20' } },
  async ({ stage, prometheus }, alert) => {
    const run = await stage.start(convertPolicy({ sell: 'EUR', shortfall: 'hold' }));
    await prometheus.fires(alert);
    stage.sandbox.setBalances({ EUR: '5000' });
    await run.wake();
    assert.equal((await run.report()).status, 'COMPLETED');
  },
);

story(
  'CambistDoubtLong',
  'a payment is long in doubt, until a person looks after it',
  {
    serviceFile: 'list_lag: 1s\nsettle_doubt: { trade: 2s, withdrawal: 24h }\n',
    // The worker that is watched only looks, so that its clock may be ahead of that of the one that pays.
    env: { CAMBIST_TASK_QUEUE: uniqueName('looks') },
  },
  async ({ stage, worker, prometheus }, alert) => {
    await stage.startWorker();
    stage.sandbox.addFault({ operation: 'createWithdrawal', effect: { kind: 'stored-failure' } });
    const run = await stage.start(convertPolicy());
    await run.heldBy('WITHDRAWAL_INITIATION_FAILED');
    worker.process.send({ movedMs: AHEAD_MS });
    await prometheus.fires(alert);
    const place: Place = {
      ...stage.temporal,
      mode: 'SANDBOX',
      taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
      uiUrl: null,
      say: () => {},
    };
    // By the clock of the worker that is watched: the doubt has only begun.
    const nowMs = Date.now() + AHEAD_MS;
    await acknowledge(place, run.name, { by: 'ana', why: 'asked the bank', nowMs, failed: null });
  },
);

story(
  'CambistStartMissed',
  'a schedule cannot start its run, until a person knows of it',
  { folders: async ({ folder }) => ({ CAMBIST_FILES: folder }) },
  async ({ stage, prometheus }, alert) => {
    const name = uniqueName('s');
    const rates = join(stage.folder, 'rates.yaml');
    await writeFile(rates, `as_of: ${new Date().toISOString()}\nrates: ["17.25 MXN per USD"]\n`);
    const text = convertPolicy({
      guard: '{ reference: { file: rates.yaml, max_age: 30h }, worst_cost: 500bps }',
    });
    await writeFile(
      join(stage.folder, `${name}.yaml`),
      text.replace('name: replaced\n', `name: ${name}\nzone: UTC\nschedule: { at: "00:00", days: daily }\n`),
    );
    assertExit(await command(stage, ['schedule', 'apply', `${name}.yaml`]), 0);
    await rm(rates);
    await command(stage, ['schedule', 'trigger', name]);
    await prometheus.fires(alert);
    const today = new Date().toISOString().slice(0, 10);
    assertExit(await command(stage, ['list', '--acknowledge', `${name}.${today}`, '--by', 'ana']), 0);
    await stage.temporal.client.schedule
      .getHandle(`sandbox/${name}/schedule`)
      .delete()
      .catch(() => {});
  },
);

story(
  'CambistMoneyCameBack',
  'a payment comes back after it was paid, until a person looks after it',
  { rates: { 'EUR/USD': '1.1' }, settings: { withdrawalReturnAfterMs: 8_000 } },
  async ({ stage, prometheus }, alert) => {
    const run = await stage.start(
      convertPolicy({ buy: 'EUR', withdraw: [{ id: 'supplier', account: 'wac_Returns5Later' }] }),
    );
    assert.equal((await run.report()).status, 'COMPLETED');
    await prometheus.fires(alert);
    const { policy, id } = run.name;
    assertExit(await command(stage, ['list', '--acknowledge', `${policy}.${id}`, '--by', 'ana']), 0);
  },
);

const ceilings = (stage: Stage, dollars: string): Promise<void> =>
  writeFile(
    join(stage.folder, 'policies/ceilings.yaml'),
    `ceilings: 1\nworkers: 1\npaid: { per_day: ["99999.00 MXN"] }\ntraded: { per_day: ["${dollars} USD", "999999.00 MXN"] }\n`,
  );
const capped = uniqueName('p');

story(
  'CambistCeilingNear',
  'the trades of a day come near their ceiling, and it is raised',
  {
    folders: async (stage) => {
      const folder = join(stage.folder, 'policies');
      await mkdir(folder);
      await writeFile(join(folder, 'p.yaml'), convertPolicy().replace(/^name: .*$/m, `name: ${capped}`));
      await ceilings(stage, '1050.00');
      return { CAMBIST_POLICIES: folder };
    },
  },
  async ({ stage, prometheus }, alert) => {
    const run = await stage.start(convertPolicy(), { name: capped });
    // After its start, the worker waits until the lists must show what it may have sent before.
    await eventually(
      'the end of the run',
      async () => (await run.now()).status === 'COMPLETED' || null,
      async () => String(Math.floor(Date.now() / 5_000)),
    );
    await prometheus.fires(alert);
    await ceilings(stage, '5000.00');
  },
);

test('every alert was fired and solved, and promtool accepts the rules, as they are and as they were played', async () => {
  const rules = await readFile(RULES, 'utf8');
  const { groups } = parse(rules) as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
  };
  assert.deepEqual(fired, new Set(groups.flatMap((group) => group.rules.map(({ alert }) => alert))));
  const promtool = (...args: readonly string[]): void => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
    assert.equal(status, 0, `${stdout}${stderr}`);
  };
  promtool('check', 'rules', RULES.pathname);
  promtool('test', 'rules', urlOf('deploy/prometheus/cambist.rules.test.yaml').pathname);
  assert.notEqual(quicker(rules), rules);
});
