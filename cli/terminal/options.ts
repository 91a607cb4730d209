/** Reads values of options, which commander gives as text. */
import { InvalidArgumentError } from 'commander';
import type { Mode } from '../../domain/service/records.ts';

/** A port; 0 means any free one. */
export function port(text: string): number {
  const value = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('A port is a number from 0 (any free one) to 65535.');
}

export function nonEmpty(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It is empty.');
}

export function policyName(text: string): string {
  if (/^[a-z0-9-]{1,40}$/.test(text)) return text;
  throw new InvalidArgumentError('It is no name of a policy: small letters, digits and -, at most 40.');
}

export function currencyCode(text: string): string {
  if (/^[A-Z0-9]{3,10}$/.test(text)) return text;
  throw new InvalidArgumentError('It is no currency code, like MXN or USDC.');
}

export function modeName(text: string): Mode {
  const mode = text.toUpperCase();
  if (mode === 'SANDBOX' || mode === 'LIVE') return mode;
  throw new InvalidArgumentError('It is sandbox or live.');
}

/** The most characters of a person's reason or name: it is kept for good, and shown in every report. */
const MOST_CHARACTERS = 500;

/** A person's reason or name, on one line. */
export function statement(text: string): string {
  const said = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  if (said.length <= MOST_CHARACTERS) return nonEmpty(said);
  throw new InvalidArgumentError(`It is longer than ${MOST_CHARACTERS} characters; name a ticket instead.`);
}

const MOST_COUNTED = 100;

/** How many of something a command shows. */
export function countFrom1(text: string): number {
  const value = Number(text);
  if (/^[1-9][0-9]{0,2}$/.test(text) && value <= MOST_COUNTED) return value;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${MOST_COUNTED}.`);
}

/** The id of an event in a history. */
export function eventId(text: string): number {
  if (/^[1-9][0-9]{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is the number of an event, as Temporal’s UI shows it.');
}
