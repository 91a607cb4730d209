/** The rules and the dashboard of deploy/: they ask for metrics that a worker has, and each alert says what a person does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { METRICS } from '../../worker/metrics.ts';
import { readPage } from '../support/docs-tables.ts';
import { urlOf } from '../support/root.ts';

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity?: string };
  readonly annotations: { readonly summary?: string; readonly runbook?: string };
};

const RULES = (
  parse(readFileSync(urlOf('deploy/prometheus/cambist.rules.yaml'), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  }
).groups.flatMap(({ rules }) => rules);
const BOARD = JSON.parse(readFileSync(urlOf('deploy/grafana/cambist.json'), 'utf8')) as {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: string }[];
  };
  readonly panels: readonly {
    readonly title: string;
    readonly datasource: { readonly type: string; readonly uid: string };
    readonly targets: readonly { readonly expr: string }[];
  }[];
};

/** Every metric as Prometheus stores it, each with its labels. */
const SERIES = new Map(
  Object.entries(METRICS).flatMap(([name, { kind, labels }]): readonly [string, readonly string[]][] =>
    kind === 'histogram'
      ? [`${name}_bucket`, `${name}_sum`, `${name}_count`].map((each) => [each, [...labels, 'le']])
      : [[name, labels]],
  ),
);

function unknownIn(expr: string): readonly string[] {
  return [...expr.matchAll(/\b(cambist_\w+)(?:\{([^}]*)\})?/g)].flatMap(([, name = '', inside = '']) => {
    const labels = SERIES.get(name);
    if (labels === undefined) return [name];
    const asked = [...inside.matchAll(/(\w+)\s*[=!]~?/g)].map(([, label = '']) => label);
    return asked.filter((label) => !labels.includes(label)).map((label) => `${name}{${label}}`);
  });
}

test('the rules and the dashboard ask only for metrics and labels that a worker has', () => {
  const asked = [
    ...RULES.map(({ expr }) => expr),
    ...BOARD.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
  assert.deepEqual(asked.flatMap(unknownIn), []);
  assert.deepEqual(unknownIn('max(cambist_none) > cambist_halts{off="x"}'), [
    'cambist_none',
    'cambist_halts{off}',
  ]);
});

test('the dashboard shows every metric of ours', () => {
  const shown = BOARD.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n');
  assert.deepEqual(
    Object.keys(METRICS).filter((name) => !shown.includes(name)),
    [],
  );
});

test('each panel of the dashboard asks the Prometheus that one chooses above, and no variable is without use', () => {
  const { templating, panels } = BOARD;
  const [source, ...others] = templating.list;
  assert.deepEqual([source?.type, source?.query, others], ['datasource', 'prometheus', []]);
  for (const { title, datasource } of panels)
    assert.deepEqual(datasource, { type: 'prometheus', uid: `\${${source?.name ?? ''}}` }, title);
});

test('a gauge is not added up over workers: each of them has read the same', () => {
  const gauges = Object.entries(METRICS).flatMap(([name, { kind }]) => (kind === 'gauge' ? [name] : []));
  const asked = BOARD.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const added = asked.filter((expr) =>
    gauges.some(
      (name) => name !== 'cambist_build_info' && new RegExp(`\\bsum\\b[^(]*\\(${name}\\b`).test(expr),
    ),
  );
  assert.deepEqual(added, []);
});

test('there are at most ten alerts, and each has a severity, a time, a sentence and an entry in the runbook', () => {
  assert.ok(RULES.length <= 10);
  for (const { alert, for: time, labels, annotations } of RULES) {
    assert.match(time ?? '', /^\d+m$/, alert);
    assert.match(labels.severity ?? '', /^(critical|warning)$/, alert);
    assert.match(annotations.summary ?? '', /^[A-Z].*\.$/, alert);
    assert.equal(annotations.runbook, `docs/runbook.md#${alert.toLowerCase()}`);
  }
  const headings = [...readPage('docs/runbook.md').text.matchAll(/^## (.*)$/gm)].map(
    ([, heading]) => heading,
  );
  assert.deepEqual(
    headings,
    RULES.map(({ alert }) => alert),
  );
});
