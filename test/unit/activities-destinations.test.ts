/** The only accounts that a payout pays: by the command's reading and by the worker's own, and as a part of the policy's hash. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowedAccounts } from '../../activities/allowed-accounts.ts';
import { readBatch, tallyBatch } from '../../activities/observing-batch.ts';
import { readInput } from '../../activities/observing.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import {
  DESTINATION_BYTES,
  accountsOf,
  destinationsText,
  inBoth,
  readDestinations,
  whyNoDestination,
} from '../../domain/destinations.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { loadDestinations } from '../../language/load-destinations.ts';
import { hashOfInput, policyHash } from '../../language/policy/policy-hash.ts';
import { chunksWith, inActivity, page, planInputOf, worker } from '../support/activities.ts';
import { RUN } from '../support/scripts.ts';

const ACCOUNT = 'wac_7Hk2mQ9vT4xR';
const OTHER = 'wac_EuR5epaLive1';
const POLICY = `policy: 1
kind: payout
name: ${RUN.policy}
environment: sandbox
payout: { fund: { mode: none }, destinations: list.yaml }
shortfall: hold
`;
const fileOf = (accounts: Readonly<Record<string, string>>): string =>
  `accounts:\n${Object.entries(accounts)
    .map(([account, currency]) => `  ${account}: { currency: ${currency}, label: Marta }\n`)
    .join('')}`;
const BOTH = destinationsText(new Map(Object.entries({ [ACCOUNT]: 'MXN', [OTHER]: 'EUR' })));
const PAYMENTS: readonly BatchPayment[] = [
  ['a', ACCOUNT, 'MXN', '5'],
  ['b', OTHER, 'EUR', '5'],
];
const BATCH = {
  payments: 2,
  totals: [
    { currency: 'EUR', value: '5' },
    { currency: 'MXN', value: '5' },
  ],
  chunks: [{ payments: 2, hash: hashOfChunk(PAYMENTS) }],
};
const inputWith = (destinations: string | undefined, policyText = POLICY) => ({
  ...planInputOf(policyText),
  batch: BATCH,
  ...(destinations !== undefined && { destinations }),
});

/** What becomes of the batch; `own`: the file in the worker's folder, `missing`, or null where it has no folder. */
async function tallied(destinations: string | undefined, own: string | null) {
  const { deps } = worker(
    { listWithdrawalAccounts: async () => page() },
    {
      chunks: chunksWith({
        readInput: async () => ({
          run: RUN,
          mode: 'SANDBOX',
          number: 1,
          payments: PAYMENTS,
          isFirst: true,
        }),
      }),
      readOwnFile: async (name) => {
        assert.equal(name, 'list.yaml');
        if (own === null) return null;
        return own === 'missing' ? { ok: false, message: 'there is no such file' } : { ok: true, text: own };
      },
    },
  );
  const given = readInput(deps, inputWith(destinations));
  if (given.kind !== 'read') return given.problems.map(({ code }) => code);
  const { policy, manifest } = given;
  assert.ok(policy.kind === 'payout' && manifest !== null);
  const read = await inActivity({}, () =>
    readBatch(deps, { mode: 'SANDBOX', run: RUN, manifest, policy, destinations: given.destinations }),
  );
  if (read.kind === 'wait') return [`waits: ${read.wait.problem.code}`];
  assert.ok(read.kind === 'read', JSON.stringify(read));
  const seen = tallyBatch(deps, read, { policy, held: new Map(), alike: null });
  return seen.kind === 'refused' ? seen.problems.map(({ code, item }) => `${code} ${item}`) : [seen.kind];
}

test('a worker refuses a batch that pays an account which is not among the destinations', async () => {
  const one = destinationsText(new Map([[ACCOUNT, 'MXN']]));
  assert.deepEqual(await tallied(BOTH, null), ['seen']);
  assert.deepEqual(await tallied(one, null), ['PLAN_DESTINATION_UNKNOWN b']);
  assert.deepEqual(await tallied(BOTH.replace('MXN', 'USD'), null), ['PLAN_DESTINATION_UNKNOWN a']);
});

test('a worker with a folder reads the destinations there too, and the narrower of both counts', async () => {
  const both = fileOf({ [ACCOUNT]: 'MXN', [OTHER]: 'EUR' });
  assert.deepEqual(await tallied(BOTH, both), ['seen']);
  assert.deepEqual(await tallied(BOTH, fileOf({ [ACCOUNT]: 'MXN' })), ['PLAN_DESTINATION_UNKNOWN b']);
  const less = destinationsText(new Map([[OTHER, 'EUR']]));
  assert.deepEqual(await tallied(less, both), ['PLAN_DESTINATION_UNKNOWN a']);
  // What it cannot read, it does not replace by what the command says.
  assert.deepEqual(await tallied(BOTH, 'missing'), ['waits: DESTINATIONS_UNREADABLE']);
  assert.deepEqual(await tallied(BOTH, 'accounts: {}\n'), ['waits: DESTINATIONS_UNREADABLE']);
});

test('a run is started with the destinations that its policy names, and with none where it names none', async () => {
  assert.deepEqual(await tallied(undefined, null), ['INPUT_INVALID']);
  assert.deepEqual(await tallied('anybody\n', null), ['INPUT_INVALID']);
  const plain = POLICY.replace(', destinations: list.yaml', '');
  const { deps } = worker();
  assert.equal(readInput(deps, inputWith(undefined, plain)).kind, 'read');
  assert.equal(readInput(deps, inputWith(BOTH, plain)).kind, 'refused');
  const { policy } = readInput(deps, inputWith(BOTH)) as { policy: Parameters<typeof allowedAccounts>[1] };
  assert.deepEqual(await allowedAccounts(deps, policy, null), { kind: 'read', destinations: null });
});

test('other destinations are another policy: the hash that the worker computes has them', () => {
  const hashOf = (destinations: string): string => {
    const read = readInput(worker().deps, inputWith(destinations));
    assert.ok(read.kind === 'read');
    assert.equal(read.policyHash, hashOfInput(inputWith(destinations)));
    return read.policyHash;
  };
  const less = destinationsText(new Map([[OTHER, 'EUR']]));
  assert.notEqual(hashOf(BOTH), hashOf(less));
  assert.notEqual(hashOf(BOTH), policyHash(POLICY));
  assert.equal(hashOfInput({ policyText: POLICY }), policyHash(POLICY));
  // Comments, labels and the order of a file make no difference.
  const texts = [
    fileOf({ [ACCOUNT]: 'MXN', [OTHER]: 'EUR' }),
    `# paid monthly\n${fileOf({ [OTHER]: 'EUR', [ACCOUNT]: 'MXN' }).replaceAll('Marta', 'Jonas')}`,
  ];
  for (const text of texts) {
    const loaded = loadDestinations(text, 'd.yaml');
    assert.ok(loaded.ok);
    assert.equal(destinationsText(accountsOf(loaded.destinations)), BOTH);
  }
});

test('the text of destinations is read back as it was made, and nothing else is', () => {
  assert.deepEqual(readDestinations(BOTH), new Map(Object.entries({ [ACCOUNT]: 'MXN', [OTHER]: 'EUR' })));
  const reversed = BOTH.split('\n').slice(0, -1).toReversed().join('\n');
  for (const text of ['', 'x', 'a: MXN', 'a: mxn\n', `${BOTH}${BOTH}`, `${reversed}\n`, 'a b: MXN\n'])
    assert.equal(readDestinations(text), null, text);
  const one = new Map([['a', 'MXN']]);
  assert.deepEqual(inBoth(one, null), one);
  assert.deepEqual(inBoth(one, new Map([['a', 'EUR']])), new Map());
  assert.equal(whyNoDestination(null, ['x', 'b', 'EUR', '1']), null);
  assert.match(whyNoDestination(one, ['x', 'a', 'EUR', '1']) ?? '', /takes MXN .* not EUR/);
});

test('more destinations than fit the input of a run are a mistake of their file', () => {
  const idOf = (index: number): string => `wac_${'x'.repeat(17)}${`${11_111 + index}`.replaceAll('0', 'A')}`;
  const accounts = Array.from({ length: 4_000 }, (_, index) => [idOf(index), 'MXN']);
  const text = fileOf(Object.fromEntries(accounts));
  const loaded = loadDestinations(text, 'd.yaml');
  assert.ok(!loaded.ok);
  assert.match(loaded.problems[0]?.message ?? '', new RegExp(`at most ${DESTINATION_BYTES} go with a run`));
});
