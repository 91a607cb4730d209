/** Lets a client of Temporal read on where a person has put data of a form that Cambist does not know (`domain/unreadable.ts`). */
import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { UNREADABLE } from '../domain/unreadable.ts';

/**
 * Reads what can be read, and `UNREADABLE` for the rest. Without it, one workflow with a strange memo would end the reading
 * of a whole list.
 */
export const READABLE: PayloadCodec = {
  encode: async (payloads) => payloads,
  decode: async (payloads) => payloads.map(readable),
};

function readable(payload: Payload): Payload {
  try {
    defaultPayloadConverter.fromPayload(payload);
    return payload;
  } catch {
    return defaultPayloadConverter.toPayload(UNREADABLE);
  }
}
