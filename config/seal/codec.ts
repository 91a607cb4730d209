/**
 * What stands between Temporal and every value of ours: seals what goes there, and opens what comes from there. What is plain,
 * forged or sealed for another workflow becomes `UNREADABLE`, which no shape accepts: an error would stop a workflow for good.
 * Only a key that may still come is an error. Then Temporal gives the task again.
 */
import {
  ApplicationFailure,
  defaultPayloadConverter,
  type Payload,
  type PayloadCodec,
  type SerializationContext,
} from '@temporalio/common';
import { SEAL_KEY_MISSING, UNREADABLE, keyMissingText, sealedUnread } from '../../domain/unreadable.ts';
import { SEALED } from '../../workflows/names.ts';
import { isOfFamily, type SealKey, type SealKeys } from './keys.ts';
import { seal, ownerBytes, unseal, type Owner } from './seal.ts';

const ENCODING = 'binary/cambist-sealed';
/** A worker whose key is missing looks again after this time. */
const AGAIN_MS = 10_000;
/** What Temporal appends to the workflow id of a schedule: a schedule seals for all that it starts. */
const SCHEDULED_TIME = /-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** The keys of a file as it is now. */
export type ReadableKeys = {
  readonly now: () => SealKeys;
  /** The keys of the file read anew, because one was missing. */
  readonly again: () => SealKeys;
};

/** Seals with these keys. */
export function sealingCodec(keys: ReadableKeys): PayloadCodec {
  return {
    encode: async (payloads, context) => {
      const owner = ownerBytes(ownerOf(context));
      return payloads.map((payload) => sealed(keys.now().active, owner, payload));
    },
    decode: async (payloads, context) => {
      const owners = ownersOf(context);
      return payloads.map((payload) => opened(keys, owners, payload) ?? withMark(UNREADABLE_PAYLOAD));
    },
  };
}

/**
 * What people are shown of a payload, of whichever workflow: what is sealed is opened, and of the rest it is said that it is
 * unreadable, as for a worker. One whose key is not there stays as it is.
 */
export function shownPayload(keys: ReadableKeys, payload: Payload): Payload {
  try {
    return withoutMark(opened(keys, null, payload) ?? UNREADABLE_PAYLOAD);
  } catch (error) {
    if (error instanceof ApplicationFailure) return payload;
    throw error;
  }
}

/**
 * Without keys: plain values as they are. One that is sealed, or that somebody has made look so, becomes a value that no shape
 * accepts: an error would stop the workflow, or a whole list, by one word of a stranger. Who needs the value itself asks for the
 * key (`domain/unreadable.ts`).
 */
export const PLAIN_CODEC: PayloadCodec = {
  encode: async (payloads) => payloads,
  decode: async (payloads) =>
    payloads.map((payload) =>
      textIn(payload.metadata, 'encoding') === ENCODING
        ? defaultPayloadConverter.toPayload(sealedUnread(textIn(payload.metadata, 'key')))
        : payload,
    ),
};

/** Temporal gives the task again. */
export function keyMissing(id: string): ApplicationFailure {
  return ApplicationFailure.create({
    type: SEAL_KEY_MISSING,
    message: keyMissingText(id),
    nextRetryDelay: AGAIN_MS,
  });
}

function sealed(key: SealKey, owner: Buffer, { metadata, data }: Payload): Payload {
  const names = Object.entries(metadata ?? {}).filter(([name]) => name !== SEALED);
  const head = Buffer.from(JSON.stringify(names.map(([name, value]) => [name, latin(value)])));
  const length = Buffer.alloc(2);
  length.writeUInt16BE(head.length);
  // The SDK gives no bytes as an empty list.
  const plain = Buffer.concat([length, head, new Uint8Array(data ?? [])]);
  return {
    metadata: { encoding: bytesOf(ENCODING), key: bytesOf(key.id) },
    data: seal(key, owner, plain),
  };
}

/** Null: it was not sealed by one of the keys for one of the owners. @throws ApplicationFailure where its key is missing */
function opened(keys: ReadableKeys, owners: readonly Buffer[] | null, payload: Payload): Payload | null {
  const { metadata, data } = payload;
  if (textIn(metadata, 'encoding') !== ENCODING) return null;
  const id = textIn(metadata, 'key');
  const key = keyIn(keys.now(), id) ?? (isOfFamily(keys.now(), id) ? keyIn(keys.again(), id) : null);
  if (key === null) {
    // Anybody can write any id. Only one that was made with these keys may come.
    if (isOfFamily(keys.now(), id)) throw keyMissing(id);
    return null;
  }
  const plain = unseal(key, owners, new Uint8Array(data ?? []));
  if (plain === null) return null;
  const start = 2 + plain.readUInt16BE(0);
  const names = JSON.parse(plain.toString('utf8', 2, start)) as readonly (readonly [string, string])[];
  return withMark({
    metadata: Object.fromEntries(names.map(([name, value]) => [name, Buffer.from(value, 'latin1')])),
    data: new Uint8Array(plain.subarray(start)),
  });
}

function keyIn({ keys }: SealKeys, id: string): SealKey | null {
  return keys.find((key) => key.id === id) ?? null;
}

const UNREADABLE_PAYLOAD = defaultPayloadConverter.toPayload(UNREADABLE);

/** By this mark a workflow knows that what it says of its failures is to be sealed (`workflows/sealed-failures.ts`). */
function withMark(payload: Payload): Payload {
  return { ...payload, metadata: { ...payload.metadata, [SEALED]: bytesOf('yes') } };
}

function withoutMark({ metadata, ...payload }: Payload): Payload {
  const names = Object.entries(metadata ?? {}).filter(([name]) => name !== SEALED);
  return { ...payload, metadata: Object.fromEntries(names) };
}

function ownerOf(context: SerializationContext | undefined): Owner {
  if (context === undefined) return { namespace: '', kind: null, workflowId: '' };
  const { type, namespace, workflowId = '' } = context;
  return { namespace, kind: type, workflowId };
}

function ownersOf(context: SerializationContext | undefined): readonly Buffer[] {
  const owner = ownerOf(context);
  const schedule = owner.workflowId.replace(SCHEDULED_TIME, '');
  const ids = owner.kind === 'workflow' ? new Set([owner.workflowId, schedule]) : [owner.workflowId];
  return [...ids].map((workflowId) => ownerBytes({ ...owner, workflowId }));
}

function textIn(metadata: Payload['metadata'], name: string): string {
  const value = metadata?.[name];
  return value ? latin(value) : '';
}

function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
