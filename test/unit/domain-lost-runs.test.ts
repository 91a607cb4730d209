/** Which runs of a policy the service's lists show, and how a run is held beside those that Temporal has lost (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instructionOf } from '../../domain/people/instruction-shape.ts';
import { SeenRuns, besideLostRuns, isLetGo } from '../../domain/writes/lost-runs.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { foundListOf, nameOfFound } from '../../domain/run/claims.ts';
import { hashOfTexts } from '../../language/batch/chunk-hash.ts';
import { kept, said, type LooseRecorded } from '../support/instructions.ts';

const OWN: RunName = { policy: 'treasury', id: '2026-11-21' };
const at = (text: string): string => `2026-11-${text}.000Z`;

function seen(...records: readonly (readonly [reference: string | null, createdAt: string])[]): SeenRuns {
  const runs = new SeenRuns(OWN);
  for (const record of records) runs.note(...record);
  return runs;
}

const namesSince = (runs: SeenRuns, since: string): readonly string[] =>
  runs.othersSince(Date.parse(at(since))).map(runName);

const others = (count: number): readonly RunName[] =>
  Array.from({ length: count }, (_, index) => ({ policy: 'treasury', id: `2026-11-20-${index}` }));

test('runs of the policy count, each once, the newest first; those of other policies and what names no run do not', () => {
  const runs = seen(
    ['treasury.2026-11-19.eur-usd-1', at('19T09:00:00')],
    ['treasury.2026-11-20.eur-usd-1', at('20T09:00:00')],
    ['treasury.2026-11-19.eur-usd-2~2', at('20T11:00:00')],
    ['treasury-2.2026-11-20.eur-usd-1', at('20T12:00:00')],
    ['other.2026-11-20.eur-usd-1', at('20T12:00:00')],
    ['treasury.2026-11-20', at('20T12:00:00')],
    ['treasury.2026-11-20.a.b', at('20T12:00:00')],
    ['treasury.2026-11-20 \u001b[2J.a', at('20T12:00:00')],
    [null, at('20T12:00:00')],
  );
  assert.deepEqual(namesSince(runs, '01T00:00:00'), ['treasury.2026-11-19', 'treasury.2026-11-20']);
  assert.equal(runs.hasOwn, false);
});

test('a run none of whose records is as young as is asked does not count', () => {
  const runs = seen(
    ['treasury.2026-11-19.eur-usd-1', at('19T09:00:00')],
    ['treasury.2026-11-20.eur-usd-1', at('20T09:00:00')],
    ['treasury.2026-11-20.eur-usd-2', at('19T09:00:00')],
  );
  assert.deepEqual(namesSince(runs, '20T09:00:00'), ['treasury.2026-11-20']);
  assert.deepEqual(namesSince(runs, '20T09:00:01'), []);
});

test('a run sees its own records, however old they are, and never counts among the others', () => {
  const runs = seen(
    ['treasury.2026-11-21.eur-usd-1', at('01T09:00:00')],
    ['treasury.2026-11-21-b.eur-usd-1', at('21T09:00:00')],
  );
  assert.equal(runs.hasOwn, true);
  assert.deepEqual(namesSince(runs, '01T00:00:00'), ['treasury.2026-11-21-b']);
});

const nameOf = (lost: readonly RunName[]): string => nameOfFound('lost-runs', lost.map(runName), hashOfTexts);

test('the name of a list is of exactly these runs in any order, and can be kept as what a person has said', () => {
  const [one, two, three] = others(3).map(({ id }) => ({ policy: 'treasury', id }));
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  const name = nameOf([one, two]);
  assert.equal(nameOf([two, one]), name);
  for (const list of [[one], [two], [one, three], [one, two, three]]) assert.notEqual(nameOf(list), name);
  assert.ok(foundListOf(name) === 'lost-runs');
  for (const item of ['lost-runs', 'lost-runs-1', 'eur-usd-1', `${name}x`, `x${name}`])
    assert.equal(foundListOf(item), null, item);
  assert.ok(instructionOf(said({ kind: 'go-on', item: name })).ok);
});

test('a run is let go by exactly the list that it shows, and by nothing else that somebody has said', () => {
  const name = nameOf(others(2));
  const isSaid = (...all: readonly LooseRecorded[]): boolean => isLetGo(kept(...all), name);
  assert.equal(isSaid({ kind: 'cancel' }, { kind: 'go-on', item: name }), true);
  assert.equal(isSaid(), false);
  assert.equal(isSaid({ kind: 'go-on', item: null }), false);
  assert.equal(isSaid({ kind: 'go-on', item: nameOf(others(3)) }), false);
  assert.equal(isSaid({ kind: 'not executed', item: name }), false);
  assert.equal(isSaid({ kind: 'acknowledge', standing: name, needs: [] }), false);
});

test('what holds it names a few of the runs, why, and the commands that go on; it waits for a person', () => {
  const of = { run: OWN, policyFile: 'policies/treasury.yaml', isBatch: false, isPlanned: false };
  const { reason, problem } = besideLostRuns(of, others(1), 'lost-runs-abcdefghijkl');
  assert.deepEqual([reason, problem.code, problem.item], ['person', 'OTHER_RUNS_LOST', null]);
  assert.equal(
    problem.message,
    'The service has records of a run of this policy that Temporal does not know: treasury.2026-11-20-0. Temporal was likely restored from an older backup, or another namespace uses the same key. This run sends nothing before a person says so.',
  );
  assert.match(
    problem.fix,
    /^Start it again first, by `npx cambist run policies\/treasury\.yaml --id 2026-11-20-0`: /,
  );
  assert.match(
    problem.fix,
    /`npx cambist run policies\/treasury\.yaml --id 2026-11-21 --go-on lost-runs-abcdefghijkl`/,
  );
  const asked = { ...of, policyFile: "ana's policy.yaml", isBatch: true };
  const many = besideLostRuns(asked, others(50), 'lost-runs-abcdefghijkl');
  assert.match(many.problem.message, /records of 50 runs .*: (treasury\S+, ){5}and 45 more\. /);
  assert.match(
    many.problem.fix,
    /^Start each of them again first, by `npx cambist run 'ana'\\''s policy\.yaml' --batch FILE --id ID`: /,
  );
});
