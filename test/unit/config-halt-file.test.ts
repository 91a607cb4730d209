/** A file on a worker's machine halts it: the worker looks at the disk before each write, and does not trust what it cannot read. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConfigurationError } from '../../config/errors.ts';
import { haltFileAt } from '../../config/halt-file.ts';

const folder = await mkdtemp(join(tmpdir(), 'halt-file-'));
after(() => rm(folder, { recursive: true }));

test('while the file is there, nothing is sent, and the message names file and machine', async () => {
  const path = join(folder, 'halt');
  const look = haltFileAt(path);
  assert.equal(look(), null);
  await writeFile(path, '');
  const closed = look();
  assert.deepEqual([closed?.kind, closed?.problem.code], ['halted', 'HALT_FILE']);
  assert.match(closed?.problem.message ?? '', /The file ".*halt" is there on machine /);
  await rm(path);
  assert.equal(look(), null);
});

test('a link that leads nowhere, and a folder with the name, halt as well', async () => {
  const [link, directory] = [join(folder, 'link'), join(folder, 'directory')];
  await symlink(join(folder, 'nowhere'), link);
  await mkdir(directory);
  for (const path of [link, directory]) assert.equal(haltFileAt(path)()?.kind, 'halted', path);
});

test('while the folder of the file is away, nothing is sent', async () => {
  const [disk, away] = [join(folder, 'disk'), join(folder, 'away')];
  await mkdir(disk);
  const look = haltFileAt(join(disk, 'halt'));
  assert.equal(look(), null);
  await rename(disk, away);
  assert.match(look()?.problem.message ?? '', /is not known \(ENOENT\)/);
  await rename(away, disk);
  assert.equal(look(), null);
});

test('a worker does not start with a file in a folder that is not there; without a name nothing is halted', () => {
  assert.equal(haltFileAt(null)(), null);
  assert.throws(
    () => haltFileAt(join(folder, 'missing', 'halt')),
    (error) => error instanceof ConfigurationError && error.problems[0]?.code === 'HALT_FOLDER_MISSING',
  );
});
