/** Of a worker's folder of files nothing else can be read than what is in it, whatever path a policy names. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readFolderFile } from '../../config/files-folder.ts';

const root = await mkdtemp(join(tmpdir(), 'cambist-folder-'));
after(() => rm(root, { recursive: true, force: true }));
const folder = join(root, 'policies');
await mkdir(join(folder, 'rates'), { recursive: true });
await writeFile(join(folder, 'rates', 'daily.yaml'), 'as_of: now\n');
await writeFile(join(folder, '..rates.yaml'), 'as_of: dots\n');
await writeFile(join(root, 'secret.yaml'), 'key\n');
await mkdir(join(root, 'policies-of-others'));
await writeFile(join(root, 'policies-of-others', 'rates.yaml'), 'theirs\n');
await symlink(join(root, 'secret.yaml'), join(folder, 'link.yaml'));
await symlink(root, join(folder, 'up'));
await symlink(join(folder, 'rates'), join(folder, 'inside'));

const kindOf = async (name: string, most = 1_000): Promise<string> => {
  const read = await readFolderFile(folder, name, most);
  return read.ok ? read.text : read.kind;
};

test('files in the folder are read, by their path in it', async () => {
  assert.equal(await kindOf('rates/daily.yaml'), 'as_of: now\n');
  assert.equal(await kindOf('./rates/../rates/daily.yaml'), 'as_of: now\n');
  assert.equal(await kindOf('..rates.yaml'), 'as_of: dots\n');
  assert.equal(await kindOf('inside/daily.yaml'), 'as_of: now\n');
});

test('nothing outside it is read: by dots, by an absolute path, by a link, or in a folder of a similar name', async () => {
  for (const name of [
    '../secret.yaml',
    'rates/../../secret.yaml',
    join(root, 'secret.yaml'),
    join(folder, 'rates/daily.yaml'),
    'link.yaml',
    'up/secret.yaml',
    '../policies-of-others/rates.yaml',
    '..',
    '.',
    '',
  ])
    assert.equal(await kindOf(name), 'outside', name);
});

test('what is not there, no file, or too large is said as that', async () => {
  assert.equal(await kindOf('rates/none.yaml'), 'missing');
  assert.equal(await kindOf('../none.yaml'), 'outside');
  assert.equal(await kindOf('rates'), 'unreadable');
  assert.equal(await kindOf('rates/daily.yaml', 5), 'unreadable');
});
