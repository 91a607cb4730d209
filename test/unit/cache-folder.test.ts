/** Compiled code that is kept is run by the next start: so it is kept only where nobody else can write. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { keptToUs } from '../../scripts/lib/cache-folder.mjs';

const home = mkdtempSync(join(tmpdir(), 'cambist-home-'));
after(() => rmSync(home, { recursive: true, force: true }));

test('a folder for compiled code is made for this user alone, and taken again the next time', () => {
  const folder = join(home, 'cambist', 'code');
  assert.equal(keptToUs(folder), folder);
  assert.equal(keptToUs(folder), folder);
  if (process.platform !== 'win32') assert.equal(statSync(folder).mode & 0o777, 0o700);
});

test('a folder that others may write to, a link to one and a file are refused', () => {
  const open = join(home, 'open');
  mkdirSync(open);
  chmodSync(open, 0o770);
  const link = join(home, 'link');
  symlinkSync(join(home, 'cambist', 'code'), link);
  const refused = process.platform === 'win32' ? [link] : [open, link];
  for (const folder of refused) assert.throws(() => keptToUs(folder), /Others may use/, folder);
  assert.throws(() => keptToUs(import.meta.filename), /EEXIST/);
});
