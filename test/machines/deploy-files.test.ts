/**
 * What those say of the files of deploy/ for whom they are written: kustomize and the validation of the API server of
 * Kubernetes, the loader of Compose, the linter of BuildKit, systemd and Prometheus. Each says nothing of the files as they
 * are, and names a mistake that is put into them. `npm run proof -- deploy` plays it.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { stringify } from 'yaml';
import { convertPolicy } from '../support/policies.ts';
import { ROOT } from '../support/root.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';

const DEPLOY = join(ROOT, 'deploy');
const UNIT = 'systemd/cambist-worker@.service';
/** Of ten, in tenths: how much a worker that is taken over could reach. 92 is a unit without a word on it. */
const EXPOSURE = 20;

const folder = mkdtempSync(join(tmpdir(), 'cambist-deploy-'));
const readers = join(folder, 'readers');
after(() => rmSync(folder, { recursive: true, force: true }));

type Said = { readonly status: number | null; readonly said: string };

function run(program: string, args: readonly string[], cwd = folder): Said {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  // A machine that plays nothing fails: it is no proof.
  if (error !== undefined)
    assert.fail(
      `${program} cannot be started here (${error.message}). These tests need Go, systemd-analyze, strace and promtool: on Debian apt-get install systemd strace prometheus.`,
    );
  return { status, said: stdout + stderr };
}

before(() => {
  const built = run('go', ['build', '-o', readers, '.'], join(ROOT, 'test/machines/deploy-files'));
  assert.equal(built.status, 0, built.said);
});

/** A copy of deploy/, with one mistake. */
function copyWith(file: string, right: string, wrong: string): string {
  const copy = mkdtempSync(join(folder, 'copy-'));
  cpSync(DEPLOY, copy, { recursive: true });
  const text = readFileSync(join(DEPLOY, file), 'utf8');
  assert.ok(text.includes(right), `${file} has no '${right}'.`);
  writeFileSync(join(copy, file), text.replace(right, wrong));
  return copy;
}

test('Kubernetes, Compose and BuildKit have nothing to say of the files for them', () => {
  assert.deepEqual(run(readers, [DEPLOY]), { status: 0, said: '' });
});

const PODS = 'kubernetes/worker/deployment.yaml';
const MISTAKES: readonly (readonly [
  who: string,
  file: string,
  right: string,
  wrong: string,
  finding: RegExp,
])[] = [
  ['Compose', 'compose.yaml', 'stop_grace_period:', 'stop_grace:', /stop_grace false schema/],
  ['Compose', 'compose.yaml', 'network_mode: service:sandbox', 'network_mode: service:box', /"box"/],
  ['BuildKit', 'Dockerfile', 'CMD ["worker", "--json"]', 'CMD worker', /JSONArgsRecommended/],
  ['BuildKit', 'Dockerfile', 'STOPSIGNAL', 'STOPSIGN', /unknown instruction: STOPSIGN/],
  [
    'kustomize',
    'kubernetes/config/kustomization.yaml',
    'policies/salaries.yaml',
    'policies/none.yaml',
    /none\.yaml/,
  ],
  ['kustomize', 'kubernetes/controller/kustomization.yaml', 'worker.yaml', 'workers.yaml', /workers\.yaml/],
  ['Kubernetes', PODS, 'readinessProbe:', 'readynessProbe:', /unknown field ".*readynessProbe"/],
  ['Kubernetes', PODS, 'maxSurge: 1', 'maxSurge: 0', /maxUnavailable: .*may not be 0/],
  [
    'Kubernetes',
    PODS,
    'name: tmp, mountPath',
    'name: temp, mountPath',
    /volumeMounts\[\d\]\.name: Not found/,
  ],
  ['Kubernetes', PODS, 'defaultMode: 288', 'defaultMode: 999', /defaultMode: Invalid value: 999/],
  [
    'Kubernetes',
    PODS,
    'app.kubernetes.io/component: worker }\n  strategy',
    'app.kubernetes.io/component: other }\n  strategy',
    /`selector` does not match template `labels`/,
  ],
  [
    'Kubernetes',
    'kubernetes/config/disruption.yaml',
    'maxUnavailable: 1',
    'maxUnavailable: 1\n  minAvailable: 1',
    /cannot be both set/,
  ],
];

for (const [who, file, right, wrong, finding] of MISTAKES)
  test(`${who} names '${wrong.replaceAll(/\s+/g, ' ')}' in ${file}`, () => {
    const { status, said } = run(readers, [copyWith(file, right, wrong)]);
    assert.match(said, finding);
    assert.equal(status, 1);
  });

/** The unit as systemd of this machine reads it, which looks whether the program is there. */
function unitFile(change: (text: string) => string): string {
  const file = join(mkdtempSync(join(folder, 'unit-')), 'cambist-worker@1.service');
  const text = readFileSync(join(DEPLOY, UNIT), 'utf8');
  writeFileSync(file, change(text).replace('ExecStart=/usr/bin/node', `ExecStart=${process.execPath}`));
  return file;
}

test('systemd has nothing to say of the unit, and names a mistake in it', () => {
  const verify = (file: string): Said => run('systemd-analyze', ['verify', '--man=no', file]);
  assert.deepEqual(verify(unitFile((text) => text)), { status: 0, said: '' });
  const wrong = verify(unitFile((text) => text.replace('ProtectSystem=strict', 'ProtectSystem=stricter')));
  assert.match(wrong.said, /protect system/i);
});

test('systemd finds little that a worker of the unit could reach, and more without its filter of calls', () => {
  const security = (file: string): Said =>
    run('systemd-analyze', ['security', '--offline=true', `--threshold=${EXPOSURE}`, file]);
  assert.equal(security(unitFile((text) => text)).status, 0);
  assert.equal(security(unitFile((text) => text.replace(/^SystemCallFilter=.*$/m, ''))).status, 1);
});

test('a worker of the unit asks the system for nothing that its filter of calls forbids', async () => {
  const stage = await openStage({ rates: { 'USD/MXN': '17.25' } });
  const calls = join(folder, 'calls');
  const strace = spawn(
    'strace',
    [
      '-f',
      '-qq',
      '-e',
      'signal=none',
      '-o',
      calls,
      process.execPath,
      join(ROOT, 'bin/cambist.mjs'),
      'worker',
      '--json',
    ],
    { cwd: stage.folder, env: stage.env, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    const [ready] = await once(createInterface({ input: strace.stdout }), 'line');
    const { pid }: { readonly pid: number } = JSON.parse(String(ready));
    const worked = await stage.start(convertPolicy());
    assertDoneOnce(worked, await worked.report());
    process.kill(pid, 'SIGTERM');
    if (strace.exitCode === null) await once(strace, 'exit');
    assert.equal(strace.exitCode, 0);
  } finally {
    strace.kill('SIGKILL');
    await stage.close();
  }
  const [, filter = ''] = /^SystemCallFilter=(.*)$/m.exec(readFileSync(join(DEPLOY, UNIT), 'utf8')) ?? [];
  const allowed = new Set(filter.split(' ').flatMap(callsIn));
  const called = [...readFileSync(calls, 'utf8').matchAll(/^\d+ +(\w+)\(/gm)].map(([, name = '']) => name);
  assert.ok(called.length > 1_000);
  assert.deepEqual(
    [...new Set(called)].filter((name) => !allowed.has(name)),
    [],
  );
});

/** The calls of a set, and of the sets in it, as systemd of this machine has them. */
function callsIn(set: string): readonly string[] {
  if (!set.startsWith('@')) return [set];
  const { status, said } = run('systemd-analyze', ['syscall-filter', set]);
  assert.equal(status, 0, said);
  return [...said.matchAll(/^ +(@?[\w-]+)$/gm)].flatMap(([, name = '']) => callsIn(name));
}

test('Prometheus understands every query of the board', () => {
  const {
    panels,
  }: { readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] } = JSON.parse(
    readFileSync(join(DEPLOY, 'grafana/cambist.json'), 'utf8'),
  );
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const check = (exprs: readonly string[]): Said => {
    // Grafana puts in a time.
    const rules = exprs.map((expr, index) => ({
      record: `query:${index}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    }));
    writeFileSync(join(folder, 'board.yaml'), stringify({ groups: [{ name: 'board', rules }] }));
    return run('promtool', ['check', 'rules', 'board.yaml']);
  };
  const { status, said } = check(queries);
  assert.equal(status, 0, said);
  assert.ok(said.includes(`SUCCESS: ${queries.length} rules found`), said);
  assert.equal(check(['sum by (le) (rate(cambist_requests_total))']).status, 1);
});

test('Prometheus has nothing to say of its configuration', () => {
  // Its rules stand in the container where the configuration says.
  const copy = copyWith('prometheus/prometheus.yaml', '/etc/prometheus/', '');
  const { status, said } = run('promtool', ['check', 'config', join(copy, 'prometheus/prometheus.yaml')]);
  assert.equal(status, 0, said);
  assert.match(said, /SUCCESS: \d+ rules found/);
});
