/** The folder of policies by which a worker sends: what cannot be used is told, and allows nothing. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { readPoliciesFolder } from '../../config/policies-folder.ts';
import { convertPolicy } from '../support/policies.ts';

const folder = await mkdtemp(join(tmpdir(), 'policies-'));
after(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  await rm(folder, { recursive: true });
  await mkdir(join(folder, 'finishing'), { recursive: true });
});

const put = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
const named = (name: string): string => convertPolicy().replace('name: replaced', `name: ${name}`);
const PAYOUT = `policy: 1
kind: payout
name: team
environment: sandbox
payout: { fund: { mode: none }, destinations: accounts.yaml }
shortfall: hold
`;
const read = () => readPoliciesFolder(folder, {});

test('policies hold by their names, and those that were replaced for the dates before the one in their file’s name', async () => {
  await put('one.yaml', named('one'));
  await put('notes.txt', 'no policy');
  await put('finishing/one@2026-11-28.yaml', named('one'));
  const { policies, troubles } = await read();
  assert.deepEqual(
    policies.map(({ policy, before }) => [policy.name, before]),
    [
      ['one', null],
      ['one', '2026-11-28'],
    ],
  );
  assert.deepEqual(troubles, []);
});

test('a file with mistakes, a replaced policy without a date, and a name that stands twice allow nothing, and are told', async () => {
  await put('good.yaml', named('good'));
  await put('bad.yaml', 'policy: 1\nkind: what\n');
  await put('finishing/good.yaml', named('good'));
  await put('twin.yaml', named('twin'));
  await put('again.yml', named('twin'));
  const { policies, troubles } = await read();
  assert.deepEqual(
    policies.map(({ policy }) => policy.name),
    ['good'],
  );
  const told = troubles.join('\n');
  for (const what of [
    /^bad\.yaml:\d+:\d+: /m,
    /"finishing\/good\.yaml" has no date in its name/,
    /policy "twin" stands in it twice/,
  ])
    assert.match(told, what);
});

test('destinations and rates are those of the folder; a file that is missing, outside or wrong leaves none', async () => {
  await put('team.yaml', PAYOUT);
  assert.deepEqual((await read()).policies[0]?.destinations, null);
  assert.match((await read()).troubles.join(), /"accounts\.yaml": there is no such file/);
  await put('accounts.yaml', 'accounts:\n  wac_7Hk2mQ9vT4xR: { currency: MXN, label: the supplier }\n');
  const { policies } = await read();
  assert.deepEqual([...(policies[0]?.destinations ?? [])], [['wac_7Hk2mQ9vT4xR', 'MXN']]);
});

test('a folder that is not there has no policy, and says so', async () => {
  const { policies, troubles } = await readPoliciesFolder(join(folder, 'missing'), {});
  assert.deepEqual(policies, []);
  assert.match(troubles.join(), /missing": ENOENT/);
});
