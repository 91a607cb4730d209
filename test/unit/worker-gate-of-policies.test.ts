/** The folder of policies of a worker: in live it must have one, and one that allows something. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { OPEN_GATE } from '../../activities/write-gate.ts';
import { ConfigurationError } from '../../config/errors.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Mode } from '../../domain/service/records.ts';
import { gateOf } from '../../worker/gate-of-policies.ts';
import { client } from '../support/activities.ts';
import { convertPolicy } from '../support/policies.ts';
import { NOW } from '../support/scripts.ts';
import { makeKey } from '../support/service-fixture.ts';

const root = await mkdtemp(join(tmpdir(), 'gate-'));
after(() => rm(root, { recursive: true }));
const { key } = await makeKey();

async function gateIn(mode: Mode, policiesFolder: string | null) {
  const notes: string[] = [];
  const settings = { mode, policiesFolder, key, facts: DEFAULT_SERVICE_FACTS, auditFolder: null };
  const clock = { wallMs: () => NOW, monotonicMs: () => 0 };
  const never = () => Promise.reject(new Error('Nothing is read of a run.'));
  const shown = { readPlan: never, readWords: never, readRows: never };
  const note = (code: string, text: string) => notes.push(`${code}: ${text}`);
  const { gate } = await gateOf(settings, { reader: client([]), clock, shown, note, namespace: 'default' });
  return { gate, notes };
}

async function assertRefused(mode: Mode, folder: string | null, code: string, why: RegExp): Promise<void> {
  await assert.rejects(gateIn(mode, folder), (error) => {
    assert.ok(error instanceof ConfigurationError);
    const [problem] = error.problems;
    assert.equal(problem?.code, code);
    assert.match(problem?.message ?? '', why);
    return true;
  });
}

test('a worker of live does not start without a folder of policies; one of the sandbox then sends what its runs plan', async () => {
  assert.equal((await gateIn('SANDBOX', null)).gate, OPEN_GATE);
  await assertRefused('LIVE', null, 'POLICIES_MISSING', /is not set, and the worker is one of live/);
});

test('a worker does not start with a folder that has no policy of its mode, or none that can be used', async () => {
  const folder = join(root, 'one');
  await mkdir(folder);
  await assertRefused(
    'SANDBOX',
    folder,
    'POLICIES_UNUSABLE',
    /of SANDBOX that can be used: no file \*\.yaml/,
  );
  await writeFile(join(folder, 'p.yaml'), convertPolicy());
  await assertRefused('LIVE', folder, 'POLICIES_UNUSABLE', /has no policy of LIVE/);
  assert.notEqual((await gateIn('SANDBOX', folder)).gate, OPEN_GATE);
  await writeFile(join(folder, 'q.yaml'), 'policy: 1\n');
  assert.match(
    (await gateIn('SANDBOX', folder)).notes.join(),
    /^POLICIES_DAMAGED: CAMBIST_POLICIES: q\.yaml:/,
  );
  await writeFile(join(folder, 'p.yaml'), 'policy: 1\n');
  await assertRefused('SANDBOX', folder, 'POLICIES_UNUSABLE', /q\.yaml:/);
});
