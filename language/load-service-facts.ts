/**
 * What an operator knows about the service that the interface leaves open (`CAMBIST_SERVICE_FILE`; design, section 4):
 * a YAML file, all optional, to a whole `ServiceFacts` with the careful defaults filled in.
 */
import { z } from 'zod';
import { DEFAULT_SERVICE_FACTS } from '../domain/service-facts.ts';
import type { ServiceFacts } from '../domain/service-facts.ts';
import { parseDuration } from './business-date.ts';
import { checkStructure } from './check-structure.ts';
import { frozen } from './frozen.ts';
import { currency, duration, hinted, statusWord, wholeNumber } from './leaves.ts';
import type { PolicyProblem } from './problem.ts';
import { quoted } from './problem.ts';
import { readYaml } from './yaml-source.ts';
import type { YamlSource } from './yaml-source.ts';

/** Loaded facts, or why there are none. */
export type LoadedServiceFacts =
  | { readonly ok: true; readonly facts: ServiceFacts }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** Loads the text of a service file; `file` is only shown. An empty file gives the defaults. */
export function loadServiceFacts(text: string, file: string): LoadedServiceFacts {
  const source = readYaml({ text, file, subject: 'SERVICE_FILE' });
  const parsed = source.broken ? null : checkStructure(ServiceFileSchema, source, {});
  const facts = parsed === null ? null : toServiceFacts(parsed);
  if (facts !== null) {
    checkDisjoint(
      source,
      { field: 'trade_words', good: 'settled' },
      facts.tradeWords.settled,
      facts.tradeWords.failed,
    );
    checkDisjoint(
      source,
      { field: 'withdrawal_words', good: 'paid' },
      facts.withdrawalWords.paid,
      facts.withdrawalWords.failed,
    );
  }
  const problems = source.problems();
  return facts === null || problems.length > 0 ? { ok: false, problems } : { ok: true, facts: frozen(facts) };
}

function words(description: string): z.ZodArray<z.ZodString> {
  const word = statusWord({ description: 'A status word, as the service sends it.' });
  return hinted(z.array(word).min(1).max(100), { description, example: '[COMPLETED]' });
}

const ServiceFileSchema = z.strictObject({
  trade_words: hinted(
    z.strictObject({
      settled: words('Trade statuses that mean "settled".').optional(),
      failed: words('Trade statuses that mean "will never settle".').optional(),
    }),
    {
      description: 'What the statuses of a trade mean.',
      example: '{ settled: [SETTLED], failed: [FAILED] }',
    },
  ).optional(),
  withdrawal_words: hinted(
    z.strictObject({
      paid: words('Withdrawal statuses that mean "paid".').optional(),
      failed: words('Withdrawal statuses that mean "will never be paid".').optional(),
    }),
    {
      description: 'What the statuses of a withdrawal mean.',
      example: '{ paid: [COMPLETED], failed: [FAILED] }',
    },
  ).optional(),
  sale_leaves_withdrawable: hinted(z.enum(['at_trade', 'at_settlement']), {
    description: 'When sold money leaves the withdrawable balance: what planning from balances may count on.',
    example: 'at_trade',
  }).optional(),
  settle_doubt: hinted(
    z.strictObject({
      trade: duration({ description: 'How long doubt about a trade lasts.', example: '2m' }).optional(),
      withdrawal: duration({
        description: 'How long doubt about a withdrawal lasts.',
        example: '24h',
      }).optional(),
    }),
    { description: 'How long doubt lasts before absence counts.', example: '{ trade: 2m, withdrawal: 24h }' },
  ).optional(),
  // No withdrawal takes more than 8 decimals by the narrowest pattern of heading "POST /fx/withdrawals".
  decimals: hinted(
    z.record(
      currency({ description: 'A currency.', example: 'USDC' }),
      wholeNumber(0, 8, { description: 'Its decimals.', example: '6' }),
    ),
    { description: 'Decimals per currency that differ from the built-in table.', example: '{ USDC: 6 }' },
  ).optional(),
});

function toServiceFacts(parsed: z.output<typeof ServiceFileSchema>): ServiceFacts {
  const defaults = DEFAULT_SERVICE_FACTS;
  return {
    tradeWords: {
      settled: parsed.trade_words?.settled ?? defaults.tradeWords.settled,
      failed: parsed.trade_words?.failed ?? defaults.tradeWords.failed,
    },
    withdrawalWords: {
      paid: parsed.withdrawal_words?.paid ?? defaults.withdrawalWords.paid,
      failed: parsed.withdrawal_words?.failed ?? defaults.withdrawalWords.failed,
    },
    saleLeavesWithdrawable: parsed.sale_leaves_withdrawable ?? defaults.saleLeavesWithdrawable,
    settleDoubtMs: {
      trade: parseDuration(parsed.settle_doubt?.trade ?? '') ?? defaults.settleDoubtMs.trade,
      withdrawal: parseDuration(parsed.settle_doubt?.withdrawal ?? '') ?? defaults.settleDoubtMs.withdrawal,
    },
    decimals: parsed.decimals ?? defaults.decimals,
  };
}

/** A word that means both would end an item on the wrong side: refused, also against the defaults of a list left out. */
function checkDisjoint(
  source: YamlSource,
  names: { readonly field: string; readonly good: string },
  good: readonly string[],
  failed: readonly string[],
): void {
  const { field } = names;
  const [list, other, otherName] = source.has([field, 'failed'])
    ? [failed, good, names.good]
    : [good, failed, 'failed'];
  const listName = otherName === 'failed' ? names.good : 'failed';
  const taken = new Set(other.map((word) => word.toUpperCase()));
  list.forEach((word, index) => {
    if (!taken.has(word.toUpperCase())) return;
    const isDefault = !source.has([field, otherName]);
    source.report(source.placeAt([field, listName, index]), {
      mistake: 'CONTRADICTION',
      message: `${quoted(word)} is also a word for \`${otherName}\`${isDefault ? ', by default' : ''}`,
      fix: isDefault
        ? `delete it here, or write \`${otherName}\` out without it`
        : 'delete it from one of the two lists',
    });
  });
}
