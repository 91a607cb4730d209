/**
 * The files in deploy/ name what the product has: variables that it reads, commands that it knows, a grace that is longer than
 * its longest call. And they keep to what its security asks for: images by a tag, users without rights, files that nobody writes.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { loadCeilings } from '../../language/load-ceilings.ts';
import { loadApprovals } from '../../language/load-approvals.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { WRITE_LIMITS } from '../../workflows/limits.ts';
import { readPage } from '../support/docs-tables.ts';
import { commandsOf, silentProgram } from '../support/program.ts';
import { ROOT } from '../support/root.ts';

const DEPLOY = join(ROOT, 'deploy');
const files = readdirSync(DEPLOY, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /[^/]\.[^/]+$/.test(file),
);
const read = (file: string): string => readFileSync(join(DEPLOY, file), 'utf8');
const compose = parse(read('compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const dockerfile = read('Dockerfile');
const unit = read('systemd/cambist-worker@.service');

type Service = {
  readonly image: string;
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly ports?: readonly string[];
  readonly stop_grace_period?: string;
};

const isOurs = ({ image }: Service): boolean => image.startsWith('cambist:');
const workers = Object.entries(compose.services).filter(([name]) => name.startsWith('worker-'));

/** What Temporal's own programs read, and what its controller sets. */
const NOT_OURS =
  /^TEMPORAL_(?:ADDRESS|NAMESPACE|CORS_ORIGINS|TLS_CLIENT_(?:CERT|KEY)_PATH|DEPLOYMENT_NAME|WORKER_BUILD_ID)$/;

test('every variable is one that workers and commands read', () => {
  const known = new Set(
    readPage('docs/configuration.md')
      .rows('Variables')
      .map(([name = '']) => name.replaceAll('`', '')),
  );
  const named = files.flatMap((file) => read(file).match(/\b(?:CAMBIST|TEMPORAL)_[A-Z_]*[A-Z]\b/g) ?? []);
  assert.ok(named.includes('CAMBIST_KEY_FILE'));
  const unknown = named.filter((name) => !known.has(name) && !NOT_OURS.test(name));
  assert.deepEqual([...new Set(unknown)], []);
});

test('every image carries the tag of one version', () => {
  const images = [
    ...[...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image),
    ...files.flatMap((file) =>
      [...read(file).matchAll(/^\s*(?:- )?image: (\S+)$/gm)].map(([, image = '']) => image),
    ),
  ];
  assert.ok(images.length > 8);
  for (const image of images) assert.match(image, /^[a-z0-9./-]+:v?\d+\.\d+(?:\.\d+)?(?:-[a-z-]+)?$/);
});

test('each command is one of the program', async () => {
  const known = new Set(commandsOf(await silentProgram()).map(({ name }) => name));
  const ours = Object.values(compose.services).filter(isOurs);
  assert.ok(ours.length >= 5);
  for (const { command = [] } of ours) {
    const [first = '', second = ''] = command;
    assert.ok(known.has(first) || known.has(`${first} ${second}`), command.join(' '));
  }
});

test('the longest call fits into the grace with which a worker is ended', () => {
  const seconds = (text: string | undefined): number => Number.parseInt(text ?? '', 10);
  const graces = [
    ...workers.map(([, service]) => seconds(service.stop_grace_period)),
    seconds(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]),
    ...['worker/deployment.yaml', 'controller/worker.yaml'].map((file) =>
      seconds(/terminationGracePeriodSeconds: (\d+)/.exec(read(`kubernetes/${file}`))?.[1]),
    ),
  ];
  assert.equal(graces.length, 5);
  for (const grace of graces) assert.ok(grace * 1_000 > WRITE_LIMITS.startToCloseMs, `${grace} s`);
});

test('a container of ours has no rights, and writes only where a volume is', () => {
  for (const [name, service] of Object.entries(compose.services).filter(([, each]) => isOurs(each))) {
    assert.equal(service.read_only, true, name);
    assert.deepEqual(service.cap_drop, ['ALL'], name);
  }
  assert.match(dockerfile, /^USER 10001:10001$/m);
  assert.doesNotMatch(dockerfile.split('USER ')[1] ?? '', /^RUN /m);
  // A shell as the entry would keep signals from the worker.
  for (const instruction of ['ENTRYPOINT', 'CMD'])
    assert.match(dockerfile, new RegExp(`^${instruction} \\["[^\\n]*"\\]$`, 'm'));
});

test('what is published to the machine is not published to others', () => {
  const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
  assert.ok(ports.length > 0);
  for (const port of ports) assert.match(port, /^127\.0\.0\.1:/);
});

test('the pods of both ways are the same, but for what the controller adds', () => {
  const [own, controlled] = [podOf('worker/deployment.yaml'), podOf('controller/worker.yaml')];
  const isNotCertificate = ({ name }: { readonly name: string }): boolean => name !== 'temporal';
  const [container] = own.spec.containers;
  assert.ok(container !== undefined);
  assert.deepEqual(controlled, {
    ...own,
    spec: {
      ...own.spec,
      containers: [{ ...container, volumeMounts: container.volumeMounts.filter(isNotCertificate) }],
      volumes: own.spec.volumes.filter(isNotCertificate),
    },
  });
});

test('nodes are drained one worker at a time, whoever starts the workers', () => {
  const { spec } = parse(read('kubernetes/config/disruption.yaml')) as {
    readonly spec: {
      readonly maxUnavailable: number;
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    };
  };
  assert.equal(spec.maxUnavailable, 1);
  for (const file of ['worker/deployment.yaml', 'controller/worker.yaml'])
    assert.deepEqual(podOf(file).metadata.labels, spec.selector.matchLabels, file);
  for (const folder of ['worker', 'controller']) {
    const { resources } = parse(read(`kubernetes/${folder}/kustomization.yaml`)) as {
      readonly resources: readonly string[];
    };
    assert.ok(resources.includes('../config'), folder);
  }
});

function podOf(file: string): Pod {
  return (parse(read(`kubernetes/${file}`)) as { spec: { template: Pod } }).spec.template;
}

type Pod = {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly { readonly volumeMounts: readonly { readonly name: string }[] }[];
    readonly volumes: readonly { readonly name: string }[];
  };
};

test('every file of YAML can be read, and the example is a policy with ceilings and rules of approvals beside it, as live wants it', () => {
  for (const file of files.filter((name) => /\.ya?ml$/.test(name)))
    for (const document of parseAllDocuments(read(file), { merge: true }))
      assert.deepEqual('errors' in document ? document.errors : [], [], file);
  const name = 'kubernetes/config/policies/salaries.yaml';
  assert.ok(loadPolicy(read(name), name).ok);
  const rules = 'kubernetes/config/policies/approvals.yaml';
  assert.ok(loadApprovals(read(rules), rules).ok);
  const ceilings = 'kubernetes/config/policies/ceilings.yaml';
  assert.ok(loadCeilings(read(ceilings), ceilings).ok);
  for (const file of ['approvals', 'ceilings'])
    assert.ok(read('kubernetes/config/kustomization.yaml').includes(`policies/${file}.yaml`), file);
});
