/** The times of one message for a person, all in one zone, and with the date where it is not today. Pure. */
import { DateTime, IANAZone } from 'luxon';

export type Clock = {
  /** A moment: `14:03:05 Europe/Paris` the first time, then `14:03:05`; of another day `2026-11-20 14:03`. */
  readonly at: (ms: number) => string;
  /** The same for a moment of a report. */
  readonly atText: (utc: string) => string;
  /** A sentence of ours, with the times in it told by this clock. What stands between quotation marks is another's, and stays. */
  readonly retold: (text: string) => string;
};

/**
 * @param zone the policy's; null, or no zone: UTC
 * @param isNamed true: an earlier line of the message has named the zone
 */
export function clockOf(zone: string | null, nowMs: number, isNamed = false): Clock {
  const known = zone !== null && IANAZone.isValidZone(zone) ? zone : 'UTC';
  let isTold = isNamed;
  const at = (ms: number): string => {
    const text = momentText(ms, nowMs, known);
    if (isTold) return text;
    isTold = true;
    return `${text} ${known}`;
  };
  const today = new Date(nowMs).toISOString().slice(0, 10);
  return {
    at,
    atText: (utc) => at(Date.parse(utc)),
    retold: (text) =>
      text.replaceAll(UTC_TIMES, (found: string, date?: string, ofDate?: string, ofToday?: string) => {
        const time = ofDate ?? ofToday;
        const ms = time === undefined ? Number.NaN : Date.parse(`${date ?? today}T${time}Z`);
        return Number.isNaN(ms) ? found : at(ms);
      }),
  };
}

/** `14:03:05` today, otherwise `2026-11-20 14:03`. */
export function momentText(ms: number, nowMs: number, zone: string): string {
  const moment = DateTime.fromMillis(ms, { zone });
  const isToday = moment.hasSame(DateTime.fromMillis(nowMs, { zone }), 'day');
  return moment.toFormat(isToday ? 'HH:mm:ss' : 'yyyy-MM-dd HH:mm');
}

/** The zone of this machine, for what belongs to no policy. */
export function localZone(): string {
  return DateTime.local().zoneName;
}

/** What is quoted, or a time in UTC as messages have it: with its date, or to the second without one. */
const UTC_TIMES =
  /"[^"]*"|(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z| UTC)|(?<![\d:.-])(\d\d:\d\d:\d\d) UTC/g;
