/** What `plan` and `run` say, before anything is sent, of rows that cannot be paid. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { PlanBatch } from '../../domain/batch.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { firstUnpayable } from '../../operations/batches/tally.ts';
import { unpayableDocument, unpayableLines } from '../../cli/views/unpayable-text.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'cambist-unpayable-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

/** A batch in EUR, of which another batch holds payments. */
function batchOf(letters: string): PlanBatch {
  const chunk = { payments: letters.length, hash: 'f0', unpayable: letters };
  const eur = [{ currency: 'EUR', value: '9' }];
  const rules = { parallel: 8, stopAfter: null, canary: null, dedupeMs: 1 };
  return { payments: letters.length, totals: eur, payable: eur, heldBy: ['p.old'], chunks: [chunk], rules };
}

async function linesOf(letters: string, most = 20) {
  const rows = letters
    .split('')
    .map((_letter, index) => `inv-${index + 1},wac_7Hk2mQ9vT4xR,EUR,${index + 1}.50`);
  writeFileSync(join(FOLDER, 'november.csv'), `id,account,currency,amount\n${rows.join('\n')}\n`);
  const text = 'policy: 1\nkind: payout\nname: pay\nenvironment: sandbox\npayout: { fund: { mode: none } }\n';
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok && loaded.policy.kind === 'payout');
  const policyFile = { policy: loaded.policy, destinations: null };
  const batch = batchOf(letters);
  const file = { file: 'november.csv', cwd: FOLDER, policyFile, decimals: {} };
  const found = await firstUnpayable(file, batch, most);
  const planned = { run: { policy: 'pay', id: '2026-11-21-weekly' }, batch };
  return { text: unpayableLines(file.file, planned, found), document: unpayableDocument(planned, found) };
}

test('rows that cannot be paid are counted by their reason, the rarest first, with the first rows and the advice once', async () => {
  const { text } = await linesOf('.uuumuu.d.');
  assert.deepEqual(text, [
    'Of 10 payments, 7 cannot be paid and would not be funded:',
    '1 payment, ACCOUNT_MISSING: Register the account at the service, then type `npx cambist replay pay.2026-11-21-weekly`, or reset the run.',
    '  november.csv:6: inv-5, 5.50 EUR to wac_7Hk2mQ9vT4xR. The service does not know withdrawal account "wac_7Hk2mQ9vT4xR".',
    '1 payment, PAID_BY_ANOTHER_BATCH: See the report of the other run. If both are to be paid, give this payment another id. If the other run does not pay it in the end, start this run again with --go-on.',
    '  november.csv:10: inv-9, 9.50 EUR to wac_7Hk2mQ9vT4xR. Another batch of the policy has paid a payment with this id, or may still pay it: p.old.',
    '5 payments, ACCOUNT_UNUSABLE: Have the account verified at the service, then type `npx cambist replay pay.2026-11-21-weekly`, or reset the run.',
    ...[2, 3, 4].map(
      (number) =>
        `  november.csv:${number + 1}: inv-${number}, ${number}.50 EUR to wac_7Hk2mQ9vT4xR. The service pays nothing to withdrawal account "wac_7Hk2mQ9vT4xR", because of the status of the account.`,
    ),
    '  and 2 more',
  ]);
});

test('a reason that stands behind many rows of another one is found, and the document has the first of each', async () => {
  const { text, document } = await linesOf(`${'u'.repeat(30)}c`, 2);
  assert.match(text.join('\n'), /^1 payment, ACCOUNT_CURRENCY: .*\n  november\.csv:32: inv-31,/m);
  assert.equal(document.unpayable.payments, 31);
  assert.deepEqual(
    document.unpayable.first.map(({ line, code }) => [line, code]),
    [
      [2, 'ACCOUNT_UNUSABLE'],
      [3, 'ACCOUNT_UNUSABLE'],
      [32, 'ACCOUNT_CURRENCY'],
    ],
  );
  assert.match(document.unpayable.first[0]?.fix ?? '', /`npx cambist replay pay\.2026-11-21-weekly`/);
});

test('a batch that can be paid whole says nothing of it', async () => {
  assert.deepEqual((await linesOf('...')).text, []);
});
