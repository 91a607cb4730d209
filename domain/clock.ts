/**
 * The times of one message for a person, all in one zone, which the first of them names. Commands have them, and the texts of the
 * Temporal UI. A workflow may use this, because nothing that is replayed depends on such a text. Pure.
 */

export type Clock = {
  /** A moment: `14:03:05 Europe/Paris` the first time, then `14:03:05`; of another day `2026-11-20 14:03`. */
  readonly at: (ms: number) => string;
  /** The same for a moment of a report. */
  readonly atText: (utc: string) => string;
  /** A sentence of ours, with the times in it told by this clock. What stands between quotation marks is another's, and stays. */
  readonly retold: (text: string) => string;
};

/**
 * For a message that is read now: a time of today has no date.
 * @param zone the policy's; null, or no zone: UTC
 * @param isNamed true: an earlier line of the message has named the zone
 */
export function clockOf(zone: string | null, nowMs: number, isNamed = false): Clock {
  return clock(zone, nowMs, (ms, known) => momentText(ms, nowMs, known), isNamed);
}

/** For a text that stays where it is, and is read on another day: each time has its date. @param nowMs when it is written */
export function keptClockOf(zone: string | null, nowMs: number): Clock {
  return clock(zone, nowMs, (ms, known) => localText(ms, known).replace(/:00$/, ''), false);
}

function clock(
  zone: string | null,
  nowMs: number,
  textOf: (ms: number, zone: string) => string,
  isNamed: boolean,
): Clock {
  const known = zone !== null && formatOf(zone) !== null ? zone : 'UTC';
  let isTold = isNamed;
  const at = (ms: number): string => {
    const text = textOf(ms, known);
    if (isTold) return text;
    isTold = true;
    return `${text} ${known}`;
  };
  const today = localText(nowMs, 'UTC').slice(0, DATE);
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

/** `14:03:05` today, otherwise `2026-11-20 14:03`. @param zone an IANA zone */
export function momentText(ms: number, nowMs: number, zone: string): string {
  const text = localText(ms, zone);
  const isToday = text.slice(0, DATE) === localText(nowMs, zone).slice(0, DATE);
  return isToday ? text.slice(DATE + 1) : text.replace(/:\d\d$/, '');
}

/** So long is a date. */
const DATE = '2026-11-20'.length;

/** `2026-11-20 14:03:05` in a zone. What Temporal or the service has for a moment need not be one. */
function localText(ms: number, zone: string): string {
  return Number.isNaN(new Date(ms).getTime()) ? 'an unknown time' : (formatOf(zone)?.format(ms) ?? '');
}

/** One for each zone, since each takes a tenth of a millisecond to make; null: there is no such zone. */
const FORMATS = new Map<string, Intl.DateTimeFormat | null>();

function formatOf(zone: string): Intl.DateTimeFormat | null {
  let format = FORMATS.get(zone);
  if (format === undefined) {
    format = newFormat(zone);
    FORMATS.set(zone, format);
  }
  return format;
}

function newFormat(timeZone: string): Intl.DateTimeFormat | null {
  try {
    // Swedish writes a date and a time as ISO 8601 does.
    return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  } catch {
    return null;
  }
}

/** What is quoted, or a time in UTC as messages have it: with its date, or to the second without one. One inside a name is none. */
const UTC_TIMES =
  /"[^"]*"|(?<![\w./-])(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z| UTC)|(?<![\d:.-])(\d\d:\d\d:\d\d) UTC/g;
