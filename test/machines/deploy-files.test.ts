/**
 * What those say of the files of deploy/ for whom they are written: kustomize and the validation of the API server of
 * Kubernetes, the loader of Compose, the linter of BuildKit, systemd and Prometheus. Each says nothing of the files as they
 * are, and names a mistake that is put into them. `npm run proof -- deploy` plays it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from '../support/root.ts';

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
      `${program} cannot be started here (${error.message}). It needs Go, systemd-analyze and promtool: on Debian apt-get install systemd prometheus.`,
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

test('Prometheus has nothing to say of its configuration', () => {
  // Its rules stand in the container where the configuration says.
  const copy = copyWith('prometheus/prometheus.yaml', '/etc/prometheus/', '');
  const { status, said } = run('promtool', ['check', 'config', join(copy, 'prometheus/prometheus.yaml')]);
  assert.equal(status, 0, said);
  assert.match(said, /SUCCESS: \d+ rules found/);
});
