/**
 * What stands for data in Temporal that cannot be read: a person who may write there can put anything into a memo, an answer or
 * a result. No shape of ours accepts it.
 */
import { isRecord } from './shape.ts';

export const UNREADABLE = Object.freeze({ unreadable: true });

/** True where a part of this memo could not be read. */
export function hasUnreadable(memo: Readonly<Record<string, unknown>> | undefined): boolean {
  return Object.values(memo ?? {}).some((value) => isRecord(value) && value['unreadable'] === true);
}

/** The code where the key of a sealed value is not there and may still come; Temporal shows it as the type of a failure. */
export const SEAL_KEY_MISSING = 'SEAL_KEY_MISSING';
