/** Files that a person names are looked at before they are read: nothing blocks a command, nothing fills its memory. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readPolicyFile } from '../../operations/policy-file.ts';
import { readTextFile } from '../../config/read-text-file.ts';

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-file-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a text is read whole, whatever its length below the limit', async (t) => {
  const path = join(temporaryFolder(t), 'a.yaml');
  for (const text of ['', 'a: 1\n', `# ${'é'.repeat(300_000)}\n`]) {
    writeFileSync(path, text);
    assert.deepEqual(await readTextFile(path), { ok: true, text });
  }
});

test(
  'a pipe that nobody writes to, a folder, a device and a huge file are refused at once',
  { timeout: 10_000 },
  async (t) => {
    const folder = temporaryFolder(t);
    const pipe = join(folder, 'pipe.yaml');
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
    const huge = join(folder, 'huge.yaml');
    writeFileSync(huge, '');
    truncateSync(huge, 400 * 1024 * 1024);
    const messages = await Promise.all(
      [pipe, folder, '/dev/zero', huge, join(folder, 'none.yaml')].map(async (path) => {
        const read = await readTextFile(path);
        return read.ok ? 'read' : read.message;
      }),
    );
    assert.deepEqual(messages, [
      'it is no regular file (a pipe, a socket or a device)',
      'it is a folder, not a file',
      'it is no regular file (a pipe, a socket or a device)',
      'the file has 419430400 bytes; at most 1048576 are read',
      'there is no such file',
    ]);
    const { policyFile, problems } = await readPolicyFile(pipe, {
      cwd: folder,
      decimals: {},
      nowMs: Date.now(),
    });
    assert.equal(policyFile, null);
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['FILE_UNREADABLE'],
    );
  },
);
