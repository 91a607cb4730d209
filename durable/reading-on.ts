/**
 * How a workflow is shown whose memo is sealed by a key that this process does not have: as Temporal has it, without the memo. The
 * others of its list are shown beside it.
 */
import { Client } from '@temporalio/client';
import { defaultPayloadConverter, type PayloadCodec } from '@temporalio/common';
import { missingKeyIn, sealedUnread } from '../domain/unreadable.ts';

export function isOfMissingKey(error: unknown): boolean {
  return keyIn(error) !== null;
}

/** The same client, for which `sealedUnread` stands for what a missing key has sealed. */
export function readingOn({ connection, options }: Client): Client {
  const { namespace, loadedDataConverter } = options;
  const payloadCodecs = loadedDataConverter.payloadCodecs.map(lenient);
  return new Client({ connection, namespace, dataConverter: { payloadCodecs } });
}

function lenient(codec: PayloadCodec): PayloadCodec {
  const read: PayloadCodec['decode'] = async ([payload], context) => {
    try {
      return await codec.decode(payload === undefined ? [] : [payload], context);
    } catch (error) {
      const key = keyIn(error);
      if (key === null) throw error;
      return [defaultPayloadConverter.toPayload(sealedUnread(key))];
    }
  };
  return {
    encode: async (payloads, context) => codec.encode(payloads, context),
    decode: async (payloads, context) =>
      (await Promise.all(payloads.map((payload) => read([payload], context)))).flat(),
  };
}

function keyIn(error: unknown): string | null {
  return error instanceof Error ? missingKeyIn(error.message) : null;
}
