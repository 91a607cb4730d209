// Who books a write, when, and under which id.

import type { BookId, RecordMarks } from './records.ts';

export interface Booking {
  readonly book: BookId;
  readonly id: string;
  readonly seq: number;
  /** The time of the record. */
  readonly at: number;
  /** When the request was accepted; earlier than `at` for a booking that comes late. */
  readonly acceptedAt: number;
  readonly actorId: string;
  readonly actorEmail: string;
  readonly marks: RecordMarks;
}
