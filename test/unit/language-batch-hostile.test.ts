/** Batch files as people, spreadsheets and attackers make them, through the command: every mistake with its place. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { typeCommand } from '../support/typed-command.ts';
import { paragraphOf } from '../../cli/terminal/text.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { ACCOUNT, EUR_ACCOUNT, HOSTILE_BATCHES, type HostileBatch } from '../support/hostile-batches.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'cambist-batches-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

const check = ({ file, options }: HostileBatch, ...more: readonly string[]) =>
  typeCommand(['check', 'p.yaml', '--batch', file, ...options, ...more], { cwd: FOLDER, columns: 80 });

type Document = {
  readonly batch: { readonly ok: boolean; readonly mistakes: number; readonly warnings: number };
  readonly problems: readonly Trouble[];
  readonly warnings: readonly Trouble[];
  readonly exitCode: number;
};

/** What a terminal obeys, hides or reorders. */
const OBEYED = /[\0-\x09\x0B-\x1F\x7F-\x9F\u200B\u202A-\u202E\u2066-\u2069]/;

function write({ policy, bytes, file }: HostileBatch): void {
  const isLive = policy.startsWith('shortfall');
  writeFileSync(
    join(FOLDER, 'p.yaml'),
    `policy: 1
kind: payout
name: p
environment: ${isLive ? 'live' : 'sandbox'}
payout: { fund: { mode: none }, stop_after: { failed: 1 }${isLive ? ', destinations: d.yaml' : ''} }
${policy}`,
  );
  writeFileSync(
    join(FOLDER, 'd.yaml'),
    `accounts: { ${ACCOUNT}: { currency: MXN, label: a }, ${EUR_ACCOUNT}: { currency: EUR, label: b } }`,
  );
  writeFileSync(join(FOLDER, file), bytes);
}

for (const [index, batch] of HOSTILE_BATCHES.entries()) {
  test(`batch ${index + 1}, ${batch.what}: ${batch.said.join(', ') || 'nothing is wrong'}`, async () => {
    write(batch);
    const { exitCode, stdout, stderr } = await check(batch, '--json');
    assert.equal(stderr, '');
    const document: Document = JSON.parse(stdout);
    const said = (word: string, all: Document['problems']): readonly string[] =>
      all.map(
        ({ code, place }) =>
          `${word}${code.replace('BATCH_', '')} ${place?.replace(`${batch.file}:`, '').replace(/ .*/, '') ?? ''}`,
      );
    const mistakes = said('', document.problems);
    assert.deepEqual([...mistakes, ...said('?', document.warnings)], batch.said);
    assert.equal(exitCode, mistakes.length === 0 ? 0 : 2);
    assert.equal(document.exitCode, exitCode);
    assert.equal(document.batch.ok, exitCode === 0);
    assert.equal(document.batch.mistakes, mistakes.length);
    // Nothing that a terminal obeys, and nothing wider than a person can read.
    const shown = [...document.problems, ...document.warnings].map((trouble) => paragraphOf(trouble, 80));
    assert.doesNotMatch([stdout, ...shown].join('\n'), OBEYED);
    for (const line of shown.join('\n').split('\n')) assert.ok(line.length <= 110, line.slice(0, 200));
  });
}

test('the table is as large as it says', () => {
  assert.ok(HOSTILE_BATCHES.length >= 150, `${HOSTILE_BATCHES.length}`);
});
