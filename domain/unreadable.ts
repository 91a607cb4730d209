/**
 * What stands for data in Temporal that cannot be read: a person who may write there can put anything into a memo, an answer or
 * a result. No shape of ours accepts it.
 */
import { isRecord } from './shape.ts';

export const UNREADABLE = Object.freeze({ unreadable: true });

/** True where a part of this memo could not be read. */
export function hasUnreadable(memo: Memo): boolean {
  return Object.values(memo ?? {}).some((value) => isRecord(value) && value['unreadable'] === true);
}

/** The id of the key without which a part of this memo cannot be read; null: no key is missing. */
export function keyNeededForMemo(memo: Memo): string | null {
  return (
    Object.values(memo ?? {})
      .map(keyNeededFor)
      .find((key) => key !== null) ?? null
  );
}

type Memo = Readonly<Record<string, unknown>> | undefined;

/** What stands for a value that is sealed, or looks so, where there are no keys. No shape accepts it either. */
export function sealedUnread(keyId: string): typeof UNREADABLE & { readonly sealedBy: string } {
  return { ...UNREADABLE, sealedBy: keyId };
}

/** The id of the key without which this value cannot be read; null: it is another value. */
export function keyNeededFor(value: unknown): string | null {
  if (!isRecord(value) || value['unreadable'] !== true) return null;
  const { sealedBy = null } = value;
  return typeof sealedBy === 'string' ? sealedBy : null;
}

/** What is said where a key is not there. Of what a worker says, Temporal hands on only this text. */
export function keyMissingText(keyId: string): string {
  return `The key "${keyId}" that has sealed it is not in CAMBIST_SEAL_KEYS. Put the newest file of keys there.`;
}

/** The id of the key that such a text says is missing, wherever the text stands; null: it says something else. */
export function missingKeyIn(text: string): string | null {
  return /key "([^"]*)" that has sealed it is not in CAMBIST_SEAL_KEYS/.exec(text)?.[1] ?? null;
}

/** The code where the key of a sealed value is not there and may still come; Temporal shows it as the type of a failure. */
export const SEAL_KEY_MISSING = 'SEAL_KEY_MISSING';
