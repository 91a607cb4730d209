/** A file of destinations: the only accounts that a payout may pay, each with its currency and who it is. */
import * as z from 'zod';
import {
  DESTINATIONS_FILE_BYTES,
  DESTINATION_BYTES,
  accountsOf,
  destinationsText,
} from '../domain/destinations.ts';
import { checkStructure } from './text/check-structure.ts';
import { account, currency, hinted, label } from './text/leaves.ts';
import type { PolicyProblem } from './text/problem.ts';
import { readYaml } from './text/yaml-source.ts';

/** An account that may be paid. */
export type Destination = { readonly currency: string; readonly label: string };

/** Destinations by account. */
export type Destinations = ReadonlyMap<string, Destination>;

/** Loaded destinations, or why there are none. */
export type LoadedDestinations =
  | { readonly ok: true; readonly destinations: Destinations }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** Loads the text of such a file; `file` is only shown. */
export function loadDestinations(text: string, file: string): LoadedDestinations {
  const source = readYaml({ text, file, subject: 'DESTINATIONS', maxBytes: DESTINATIONS_FILE_BYTES });
  const parsed = source.broken ? null : checkStructure(DestinationsSchema, source, {});
  if (parsed !== null && Object.keys(parsed.accounts).length === 0) {
    source.report(source.keyPlaceAt(['accounts']), {
      mistake: 'MISSING_FIELD',
      message: '`accounts` names no account, so no payment could be made',
      fix: 'write one, such as `wac_7Hk2mQ9vT4xR: { currency: MXN, label: Acme }`',
    });
  }
  if (parsed !== null) {
    const bytes = Buffer.byteLength(destinationsText(accountsOf(Object.entries(parsed.accounts))));
    if (bytes > DESTINATION_BYTES)
      source.report(source.keyPlaceAt(['accounts']), {
        mistake: 'TOO_LARGE',
        message: `the accounts and their currencies come to ${bytes} bytes; at most ${DESTINATION_BYTES} go with a run`,
        fix: 'Spread them over several policies, each with a file of destinations of its own.',
      });
  }
  const problems = source.problems();
  if (parsed === null || problems.length > 0) return { ok: false, problems };
  return { ok: true, destinations: new Map(Object.entries(parsed.accounts)) };
}

const DestinationsSchema = z.strictObject({
  accounts: hinted(
    z.record(
      account({ description: 'The id of a withdrawal account.' }),
      hinted(
        z.strictObject({
          currency: currency({ description: 'The only currency that is paid to it.', example: 'MXN' }),
          label: label({ description: 'Who that is, for people.', example: 'Acme' }),
        }),
        { description: 'An account that may be paid.', example: '{ currency: MXN, label: Acme }' },
      ),
    ),
    { description: 'Each account once.', example: '{ wac_7Hk2mQ9vT4xR: { currency: MXN, label: Acme } }' },
  ),
});
