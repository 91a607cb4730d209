/** What `doctor` says of the folder of policies of this machine. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { lookAtPolicies } from '../../operations/watch/own-policies.ts';
import { convertPolicy } from '../support/policies.ts';

const folder = await mkdtemp(join(tmpdir(), 'own-policies-'));
after(() => rm(folder, { recursive: true }));
const look = async (date: string, mode: 'SANDBOX' | 'LIVE' = 'SANDBOX') => {
  const { policies, troubles } = await lookAtPolicies(folder, {
    mode,
    decimals: {},
    nowMs: Date.parse(`${date}T00:00:00Z`),
  });
  return [policies, ...troubles.map(({ code }) => code)];
};

test('a replaced policy is told once no run before its date can send any more, and a file with mistakes at once', async () => {
  await mkdir(join(folder, 'finishing'));
  await mkdir(join(folder, 'revoked'));
  await writeFile(join(folder, 'approvals.yaml'), 'approvals: 1\nrules: []\n');
  await writeFile(join(folder, 'ceilings.yaml'), 'ceilings: 1\nunbounded: true\n');
  await writeFile(join(folder, 'p.yaml'), convertPolicy());
  await writeFile(join(folder, 'finishing/p@2026-11-28.yaml'), convertPolicy());
  assert.deepEqual(await look('2026-12-04'), [2]);
  assert.deepEqual(await look('2026-12-05'), [2, 'POLICIES_OVER']);
  assert.deepEqual(await look('2026-12-04', 'LIVE'), [0, 'POLICIES_UNUSABLE']);
  await rm(join(folder, 'ceilings.yaml'));
  assert.deepEqual(await look('2026-12-04', 'LIVE'), [0, 'POLICIES_UNUSABLE', 'POLICIES_DAMAGED']);
  await writeFile(join(folder, 'ceilings.yaml'), 'ceilings: 1\nunbounded: true\n');
  await rm(join(folder, 'revoked'), { recursive: true });
  assert.deepEqual(await look('2026-12-04', 'LIVE'), [0, 'POLICIES_UNUSABLE', 'POLICIES_DAMAGED']);
  await writeFile(join(folder, 'q.yaml'), 'policy: 1\n');
  assert.deepEqual(await look('2026-12-04'), [2, 'POLICIES_DAMAGED']);
});
