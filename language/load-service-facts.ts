/**
 * Reads the service file (`CAMBIST_SERVICE_FILE`; design: "The service file"), in which an operator states facts about the
 * service that the interface leaves open. Every field is optional. The result is a whole `ServiceFacts`, with the careful
 * defaults where nothing is stated.
 */
import * as z from 'zod';
import { DEFAULT_SERVICE_FACTS } from '../domain/service/facts.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import { formatDuration, parseDuration } from '../calendar/business-date.ts';
import { checkStructure } from './text/check-structure.ts';
import { frozen } from './text/frozen.ts';
import { calendarDate, currency, duration, hinted, status, wholeNumber } from './text/leaves.ts';
import type { PolicyProblem } from './text/problem.ts';
import { quoted } from './text/printable.ts';
import { readYaml } from './text/yaml-source.ts';
import type { YamlSource } from './text/yaml-source.ts';

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
    checkDisjoint(source, 'trade_statuses', facts.tradeStatuses);
    checkDisjoint(source, 'withdrawal_statuses', facts.withdrawalStatuses);
    checkDoubt(source, facts);
  }
  const problems = source.problems();
  return facts === null || problems.length > 0 ? { ok: false, problems } : { ok: true, facts: frozen(facts) };
}

function statuses(description: string, example = '[COMPLETED]'): z.ZodArray<z.ZodString> {
  const one = status({ description: 'A status, as the service sends it.' });
  return hinted(z.array(one).min(1).max(100), { description, example });
}

const ServiceFileSchema = z.strictObject({
  trade_statuses: hinted(
    z.strictObject({
      settled: statuses('Trade statuses that mean "settled".').optional(),
      failed: statuses('Trade statuses that mean "will never settle".').optional(),
      pending: statuses('Trade statuses that mean "goes on".', '[LOCKED]').optional(),
    }),
    {
      description: 'What the statuses of a trade mean.',
      example: '{ settled: [SETTLED], failed: [FAILED] }',
    },
  ).optional(),
  withdrawal_statuses: hinted(
    z.strictObject({
      paid: statuses('Withdrawal statuses that mean "paid".').optional(),
      failed: statuses('Withdrawal statuses that mean "will never be paid".').optional(),
      pending: statuses('Withdrawal statuses that mean "goes on".', '[PENDING]').optional(),
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
  list_lag: duration({
    description: 'How long a new record may be missing from the lists.',
    example: '1m',
  }).optional(),
  key_used_since: calendarDate({
    description: 'Only this API key has written since 00:00 UTC of this date.',
    example: '2026-11-01',
  }).optional(),
  account_statuses: hinted(
    z.strictObject({
      unusable: statuses('Account statuses with which it cannot be paid.', '[UNVERIFIED]').optional(),
    }),
    {
      description: 'What the statuses of a withdrawal account mean.',
      example: '{ unusable: [UNVERIFIED, DISABLED] }',
    },
  ).optional(),
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
  late_after: hinted(
    z.strictObject({
      settlement: duration({ description: 'How long settlement may take.', example: '6h' }).optional(),
      withdrawal: duration({
        description: 'How long an accepted withdrawal may take.',
        example: '24h',
      }).optional(),
    }),
    { description: 'When a run says that it is late.', example: '{ settlement: 6h, withdrawal: 24h }' },
  ).optional(),
  // The narrowest pattern for amounts, under heading "POST /fx/withdrawals", takes at most 8 decimals.
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
  const listLagMs = parseDuration(parsed.list_lag ?? '') ?? defaults.listLagMs;
  const doubtMs = (written: string | undefined, defaultMs: number): number =>
    parseDuration(written ?? '') ?? Math.max(defaultMs, 2 * listLagMs);
  return {
    tradeStatuses: {
      settled: parsed.trade_statuses?.settled ?? defaults.tradeStatuses.settled,
      failed: parsed.trade_statuses?.failed ?? defaults.tradeStatuses.failed,
      pending: parsed.trade_statuses?.pending ?? defaults.tradeStatuses.pending,
    },
    withdrawalStatuses: {
      paid: parsed.withdrawal_statuses?.paid ?? defaults.withdrawalStatuses.paid,
      failed: parsed.withdrawal_statuses?.failed ?? defaults.withdrawalStatuses.failed,
      pending: parsed.withdrawal_statuses?.pending ?? defaults.withdrawalStatuses.pending,
    },
    saleLeavesWithdrawable: parsed.sale_leaves_withdrawable ?? defaults.saleLeavesWithdrawable,
    listLagMs,
    keyUsedSince: parsed.key_used_since ?? defaults.keyUsedSince,
    accountStatuses: { unusable: parsed.account_statuses?.unusable ?? defaults.accountStatuses.unusable },
    settleDoubtMs: {
      trade: doubtMs(parsed.settle_doubt?.trade, defaults.settleDoubtMs.trade),
      withdrawal: doubtMs(parsed.settle_doubt?.withdrawal, defaults.settleDoubtMs.withdrawal),
    },
    lateAfterMs: {
      settlement: parseDuration(parsed.late_after?.settlement ?? '') ?? defaults.lateAfterMs.settlement,
      withdrawal: parseDuration(parsed.late_after?.withdrawal ?? '') ?? defaults.lateAfterMs.withdrawal,
    },
    decimals: parsed.decimals ?? defaults.decimals,
  };
}

/**
 * A status with two meanings would end an item wrongly, so it is refused, also when one meaning comes from a default. When
 * both lists are written, the later one is at fault; otherwise the one that is written.
 */
function checkDisjoint(
  source: YamlSource,
  field: string,
  lists: Readonly<Record<string, readonly string[]>>,
): void {
  const names = Object.keys(lists);
  names.forEach((later, index) => {
    for (const earlier of names.slice(0, index)) {
      const [name, other] = source.has([field, later]) ? [later, earlier] : [earlier, later];
      reportShared(source, { field, name, other }, lists);
    }
  });
}

function reportShared(
  source: YamlSource,
  { field, name, other }: { readonly field: string; readonly name: string; readonly other: string },
  lists: Readonly<Record<string, readonly string[]>>,
): void {
  const taken = new Set(lists[other]?.map((found) => found.toUpperCase()));
  const isDefault = !source.has([field, other]);
  lists[name]?.forEach((found, index) => {
    if (!taken.has(found.toUpperCase())) return;
    source.report(source.placeAt([field, name, index]), {
      mistake: 'CONTRADICTION',
      message: `${quoted(found)} is also a status for \`${other}\`${isDefault ? ', by default' : ''}`,
      fix: isDefault
        ? `delete it here, or write \`${other}\` out without it`
        : 'delete it from one of the two lists',
    });
  });
}

/** Doubt must not end before the lists show every record: a record that was sent would count as not sent. */
function checkDoubt(source: YamlSource, facts: ServiceFacts): void {
  const leastMs = 2 * facts.listLagMs;
  for (const write of ['trade', 'withdrawal'] as const) {
    if (facts.settleDoubtMs[write] >= leastMs) continue;
    const least = formatDuration(leastMs);
    source.report(source.placeAt(['settle_doubt', write]), {
      mistake: 'CONTRADICTION',
      message: `"${formatDuration(facts.settleDoubtMs[write])}" is shorter than twice \`list_lag\` (${least})`,
      fix: `write at least ${least}, or a shorter \`list_lag\``,
    });
  }
}
