/** The streams of a command's process. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ROOT, urlOf } from '../support/root.ts';

const MAIN = urlOf('cli/main.ts').href;

for (const argv of [['completion', 'bash'], ['ledger']]) {
  test(`"cambist ${argv.join(' ')}" ends as it would when nobody reads what it writes`, async () => {
    const code = `import { main } from '${MAIN}'; process.exitCode = await main(${JSON.stringify(argv)});`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', code], {
      cwd: join(ROOT, 'test/support/fixtures'),
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Long before it writes: its modules have to be loaded first.
    const isAnswer = argv[0] === 'completion';
    (isAnswer ? child.stdout : child.stderr).destroy();
    const other = text(isAnswer ? child.stderr : child.stdout);
    const [exitCode] = await once(child, 'close');
    assert.equal(await other, '');
    assert.equal(exitCode, isAnswer ? 0 : 3);
  });
}
