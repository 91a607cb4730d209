/** What is said of a currency that Cambist does not know, in a policy or in a batch file. */
import { KNOWN_CURRENCIES } from '../../domain/currencies.ts';
import { nearest } from './nearest.ts';
import { quoted } from './printable.ts';
import type { Complaint } from './yaml-source.ts';

/** The complaint about a currency that is neither in our table nor in the service file. */
export function unknownCurrency(code: string): Complaint {
  const near = nearest(code, KNOWN_CURRENCIES);
  return {
    mistake: 'CURRENCY_UNKNOWN',
    message: `${quoted(code)} is not a currency that Cambist knows`,
    fix:
      near === null
        ? 'if the service has it, write its decimals into the service file'
        : `did you mean \`${near}\`?`,
  };
}
