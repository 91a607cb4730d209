/** The real Prometheus, with the rules of deploy/ played in less time: every minute of them lasts a part of one. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../worker/dev-server.ts';
import { eventually } from './patience.ts';
import { urlOf } from './root.ts';

/** A minute of the rules lasts this long here. */
const MINUTE_MS = 500;

export type Prometheus = {
  /** Resolves once this alert fires. */
  fires(alert: string): Promise<void>;
  /** Resolves once it does not any more. */
  isSolved(alert: string): Promise<void>;
  /** Names of the alerts that fire. */
  firing(): Promise<readonly string[]>;
  close(): Promise<void>;
};

/** Why Prometheus cannot be started here; null: it can. */
export function whyNoPrometheus(): string | null {
  const isThere = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).status === 0);
  return isThere
    ? null
    : 'Prometheus and promtool are not on the PATH. On Debian: apt-get install --no-install-recommends prometheus.';
}

/** The same rules, with shorter times. */
export function quicker(rules: string): string {
  return rules
    .replaceAll(/for: (\d+)m$/gm, (_all, minutes: string) => `for: ${Number(minutes) * MINUTE_MS}ms`)
    .replaceAll(/(\d+) \* 60\b/g, (_all, minutes: string) => `${(Number(minutes) * MINUTE_MS) / 1_000}`);
}

/** Starts one that scrapes these addresses every second. */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'cambist-prometheus-'));
  const rules = await readFile(urlOf('deploy/prometheus/cambist.rules.yaml'), 'utf8');
  await writeFile(join(folder, 'rules.yaml'), quicker(rules));
  await writeFile(
    join(folder, 'prometheus.yml'),
    [
      'global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }',
      'rule_files: [rules.yaml]',
      `scrape_configs: [{ job_name: cambist, static_configs: [{ targets: ${JSON.stringify(targets)} }] }]`,
    ].join('\n'),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4_000)));
  const gone = once(child, 'exit');
  process.once('exit', () => child.kill('SIGKILL'));
  const firing = async (): Promise<readonly string[]> => {
    assert.equal(child.exitCode, null, errors);
    const answer = await fetch(`http://${address}/api/v1/alerts`);
    const { data } = (await answer.json()) as {
      readonly data: {
        readonly alerts: readonly {
          readonly state: string;
          readonly labels: Readonly<Record<string, string>>;
        }[];
      };
    };
    return data.alerts.flatMap(({ state, labels }) =>
      state === 'firing' ? (labels['alertname'] ?? []) : [],
    );
  };
  await eventually('a Prometheus that answers', () =>
    firing().then(
      () => true,
      () => null,
    ),
  );
  return {
    firing,
    fires: async (alert) => {
      await eventually(`${alert} fires`, async () => (await firing()).includes(alert) || null);
    },
    isSolved: async (alert) => {
      await eventually(`${alert} is solved`, async () => !(await firing()).includes(alert) || null);
    },
    close: async () => {
      child.kill('SIGKILL');
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
