/** Sealed payloads: what opens for whom, and what becomes of everything else. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  ApplicationFailure,
  defaultPayloadConverter,
  type Payload,
  type SerializationContext,
} from '@temporalio/common';
import { ConfigurationError } from '../../config/errors.ts';
import { PLAIN_CODEC, sealingCodec, shownPayload, type ReadableKeys } from '../../config/seal/codec.ts';
import { keysInFile, sealKeysOf } from '../../config/seal/key-file.ts';
import {
  newSealKeys,
  parseSealKeys,
  sealKeysText,
  withNewestActive,
  withNextKey,
  type SealKeys,
} from '../../config/seal/keys.ts';
import { UNREADABLE, keyNeededFor } from '../../domain/unreadable.ts';
import { scheduleIdOf, scheduledIdOf } from '../../workflows/names.ts';

const NOW = Date.parse('2026-11-21T09:00:00Z');
const VALUE = { account: 'wac_7Hk2mQ9vT4xR', amount: '16500.00' };
const OF_RUN = workflow('sandbox/mxn-supplier.2026-11-21');

function workflow(workflowId: string, namespace = 'default'): SerializationContext {
  return { type: 'workflow', namespace, workflowId };
}

function fixed(keys: SealKeys): ReadableKeys {
  return { now: () => keys, again: () => keys };
}

async function sealedBy(
  keys: SealKeys,
  context?: SerializationContext,
  value: unknown = VALUE,
): Promise<Payload> {
  const [payload] = await sealingCodec(fixed(keys)).encode(
    [defaultPayloadConverter.toPayload(value)],
    context,
  );
  assert.ok(payload !== undefined);
  return payload;
}

async function openedBy(keys: SealKeys, payload: Payload, context?: SerializationContext): Promise<unknown> {
  const [opened] = await sealingCodec(fixed(keys)).decode([payload], context);
  assert.ok(opened !== undefined);
  return defaultPayloadConverter.fromPayload(opened);
}

const isMissing = (error: unknown): boolean =>
  error instanceof ApplicationFailure && error.type === 'SEAL_KEY_MISSING' && error.nonRetryable !== true;

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-seal-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a sealed value shows nothing of itself, and opens for its own workflow', async () => {
  const keys = newSealKeys(NOW);
  const payload = await sealedBy(keys, OF_RUN);
  const shown = Buffer.concat([payload.data ?? Buffer.of(), ...Object.values(payload.metadata ?? {})]);
  for (const word of ['wac_', '16500', 'account', 'json']) assert.ok(!shown.includes(word), word);
  assert.deepEqual(await openedBy(keys, payload, OF_RUN), VALUE);
  assert.deepEqual(await openedBy(keys, await sealedBy(keys, OF_RUN, null), OF_RUN), null);
  // The SDK may give a value without bytes as an empty list.
  const empty = { ...defaultPayloadConverter.toPayload(undefined), data: [] } as unknown as Payload;
  const [sealed] = await sealingCodec(fixed(keys)).encode([empty], OF_RUN);
  assert.deepEqual(await openedBy(keys, sealed ?? {}, OF_RUN), undefined);
});

test('no two sealed values are the same', async () => {
  const keys = newSealKeys(NOW);
  const [one, other] = [await sealedBy(keys, OF_RUN), await sealedBy(keys, OF_RUN)];
  assert.notDeepEqual(one.data, other.data);
});

test('what was sealed for one workflow opens for no other, nor for an activity, nor in another namespace', async () => {
  const keys = newSealKeys(NOW);
  const payload = await sealedBy(keys, OF_RUN);
  const others: readonly (SerializationContext | undefined)[] = [
    workflow('sandbox/mxn-supplier.2026-11-22'),
    workflow('sandbox/mxn-supplier.2026-11-21/instructions'),
    workflow('sandbox/mxn-supplier.2026-11-21', 'other'),
    { ...OF_RUN, type: 'activity', isLocal: false },
    undefined,
  ];
  for (const context of others) assert.deepEqual(await openedBy(keys, payload, context), UNREADABLE);
  assert.deepEqual(await openedBy(keys, await sealedBy(keys), OF_RUN), UNREADABLE);
  assert.deepEqual(await openedBy(keys, await sealedBy(keys)), VALUE);
});

test('what is plain, cut, changed or sealed by others becomes a value that no shape accepts', async () => {
  const keys = newSealKeys(NOW);
  const payload = await sealedBy(keys, OF_RUN);
  const data = payload.data ?? new Uint8Array();
  const changed = (at: number): Payload => {
    const bytes = Uint8Array.from(data);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return { ...payload, data: bytes };
  };
  const strange: readonly Payload[] = [
    defaultPayloadConverter.toPayload(VALUE),
    { ...payload, data: data.subarray(0, 20) },
    { ...payload, data: new Uint8Array() },
    { metadata: payload.metadata ?? {} },
    {},
    ...Array.from(data.keys(), changed),
    await sealedBy(newSealKeys(NOW), OF_RUN),
    { ...payload, metadata: { ...payload.metadata, key: Buffer.from('x') } },
    // Read as base64url, each of these is the id of the key.
    ...['ID=', ' ID', 'ID.'].map((form): Payload => {
      const key = Buffer.from(form.replace('ID', keys.active.id));
      return { ...payload, metadata: { ...payload.metadata, key } };
    }),
  ];
  for (const each of strange)
    assert.deepEqual(await openedBy(keys, each, OF_RUN).catch(() => 'an error'), UNREADABLE);
});

test('a key of the same file that is not there yet is an error, so that Temporal gives the task again', async () => {
  const older = newSealKeys(NOW);
  const newer = withNewestActive(withNextKey(older, NOW));
  const payload = await sealedBy(newer, OF_RUN);
  await assert.rejects(openedBy(older, payload, OF_RUN), isMissing);
  assert.deepEqual(await openedBy(newer, await sealedBy(older, OF_RUN), OF_RUN), VALUE);
});

test('without keys, what is sealed or only looks so is no error, but a value that no shape accepts and that names its key', async () => {
  const keys = newSealKeys(NOW);
  const forged: Payload = {
    metadata: { encoding: Buffer.from('binary/cambist-sealed'), key: Buffer.from('x') },
    data: Buffer.from('anything'),
  };
  const plain = defaultPayloadConverter.toPayload(VALUE);
  const decoding = PLAIN_CODEC.decode([await sealedBy(keys, OF_RUN), forged, plain]);
  await assert.doesNotReject(decoding);
  const values = (await decoding).map((payload) => defaultPayloadConverter.fromPayload<unknown>(payload));
  assert.deepEqual(values, [
    { ...UNREADABLE, sealedBy: keys.active.id },
    { ...UNREADABLE, sealedBy: 'x' },
    VALUE,
  ]);
  assert.deepEqual(values.map(keyNeededFor), [keys.active.id, 'x', null]);
});

test('a worker finds a key that was put into its file while it ran', async (t) => {
  const path = join(temporaryFolder(t), 'seal.json');
  const older = newSealKeys(NOW);
  const newer = withNewestActive(withNextKey(older, NOW));
  writeFileSync(path, sealKeysText(older), { mode: 0o600 });
  let nowMs = 0;
  const keys = keysInFile(path, () => nowMs);
  const payload = await sealedBy(newer, OF_RUN);
  writeFileSync(path, sealKeysText(newer));
  nowMs = 60_000;
  const [opened] = await sealingCodec(keys).decode([payload], OF_RUN);
  assert.deepEqual(opened && defaultPayloadConverter.fromPayload(opened), VALUE);
  assert.equal(keys.now().active.id, newer.active.id);
});

test('a schedule seals for the workflows that it starts, and for no other one', async () => {
  const keys = newSealKeys(NOW);
  const ofSchedule = workflow(scheduleIdOf('SANDBOX', 'daily-treasury'));
  const payload = await sealedBy(keys, ofSchedule);
  const started = workflow(scheduledIdOf('SANDBOX', 'daily-treasury', NOW));
  assert.deepEqual(await openedBy(keys, payload, started), VALUE);
  assert.deepEqual(await openedBy(keys, payload, ofSchedule), VALUE);
  const other = workflow(scheduledIdOf('SANDBOX', 'other', NOW));
  assert.deepEqual(await openedBy(keys, payload, other), UNREADABLE);
  assert.deepEqual(await openedBy(keys, await sealedBy(keys, started), ofSchedule), UNREADABLE);
});

test('a sealed value is at most 160 bytes longer, so that summaries and pages stay within their bounds', async () => {
  const keys = newSealKeys(NOW);
  for (const value of ['', 'x'.repeat(160), 'x'.repeat(98_304)]) {
    const plain = defaultPayloadConverter.toPayload(value);
    const payload = await sealedBy(keys, OF_RUN, value);
    const more = sizeOf(payload) - (plain.data?.length ?? 0);
    assert.ok(more <= 160, String(more));
  }
});

function sizeOf({ metadata, data }: Payload): number {
  return Object.entries(metadata ?? {}).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    data?.length ?? 0,
  );
}

test('people are shown everything that the keys have sealed, and that the rest is unreadable', async () => {
  const older = newSealKeys(NOW);
  const show = (payload: Payload) => defaultPayloadConverter.fromPayload(shownPayload(fixed(older), payload));
  assert.deepEqual(show(await sealedBy(older, OF_RUN)), VALUE);
  assert.deepEqual(show(defaultPayloadConverter.toPayload(VALUE)), UNREADABLE);
  const later = await sealedBy(withNewestActive(withNextKey(older, NOW)), OF_RUN);
  assert.equal(shownPayload(fixed(older), later), later);
});

test('the file of keys is read as it was written, and a mistake in it is told without a secret', () => {
  const keys = withNextKey(newSealKeys(NOW), NOW);
  const text = sealKeysText(keys);
  assert.deepEqual(parseSealKeys(text), keys);
  const secret = keys.active.secret.toString('base64url');
  const id = keys.active.id;
  const wrong = [
    '',
    '[]',
    '{}',
    text.replace(secret, secret.slice(1)),
    text.replace(`"active": "${id}"`, '"active": "other"'),
    text.replace(`"id": "${id}"`, `"id": "${newSealKeys(NOW).active.id}"`),
    text.replace('"keys"', '"more": 1, "keys"'),
    text.replace(keys.keys[1]?.id ?? '', id),
  ];
  for (const each of wrong) {
    const why = parseSealKeys(each);
    assert.ok(typeof why === 'string' && /^(it|its|It|Its) /.test(why), JSON.stringify(why));
    assert.ok(!why.includes(secret));
  }
});

test('a file of keys that others may use is refused, and in live there must be one', (t) => {
  const path = join(temporaryFolder(t), 'seal.json');
  const codeOf = (env: NodeJS.ProcessEnv, mode: 'LIVE' | 'SANDBOX'): string | undefined => {
    try {
      return sealKeysOf(env, mode) === null ? 'none' : 'read';
    } catch (error) {
      assert.ok(error instanceof ConfigurationError);
      return error.problems[0]?.code;
    }
  };
  const env = { CAMBIST_SEAL_KEYS: path };
  assert.equal(codeOf({}, 'SANDBOX'), 'none');
  assert.equal(codeOf({}, 'LIVE'), 'SEAL_KEYS_MISSING');
  assert.equal(codeOf(env, 'SANDBOX'), 'SEAL_KEYS_UNREADABLE');
  writeFileSync(path, 'nothing', { mode: 0o600 });
  assert.equal(codeOf(env, 'SANDBOX'), 'SEAL_KEYS_UNREADABLE');
  writeFileSync(path, sealKeysText(newSealKeys(NOW)));
  assert.equal(codeOf(env, 'LIVE'), 'read');
  for (const [mode, code] of [
    [0o640, 'read'],
    [0o644, 'SEAL_KEYS_TOO_OPEN'],
    [0o660, 'SEAL_KEYS_TOO_OPEN'],
  ] as const) {
    chmodSync(path, mode);
    assert.equal(codeOf(env, 'SANDBOX'), code);
  }
});
