/** Reads the rules of approvals of a folder of policies: who must sign before a run may move more than an amount. */
import * as z from 'zod';
import type { ApprovalRule } from '../domain/writes/approval-rules.ts';
import { parseDuration } from '../calendar/business-date.ts';
import { checkStructure } from './text/check-structure.ts';
import { frozen } from './text/frozen.ts';
import { duration, hinted, label, money, policyName, readMoney, wholeNumber } from './text/leaves.ts';
import type { PolicyProblem } from './text/problem.ts';
import { readYaml } from './text/yaml-source.ts';

/** Loaded rules, or why there are none. */
export type LoadedApprovals =
  | { readonly ok: true; readonly rules: readonly ApprovalRule[] }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

/** Loads the text of such a file; `file` is only shown. Who is who stands in `allowed_signers`. */
export function loadApprovals(text: string, file: string): LoadedApprovals {
  const source = readYaml({ text, file, subject: 'APPROVALS' });
  const parsed = source.broken ? null : checkStructure(ApprovalsSchema, source, {});
  for (const [index, { need, of }] of (parsed?.rules ?? []).entries()) {
    if (new Set(of).size < of.length)
      source.report(source.placeAt(['rules', index, 'of']), {
        mistake: 'LISTED_TWICE',
        message: 'a name stands in `of` twice',
        fix: 'write each name once',
      });
    else if (need > of.length)
      source.report(source.placeAt(['rules', index, 'need']), {
        mistake: 'NUMBER',
        message: `${need} people must sign, and \`of\` names ${of.length}`,
        fix: 'name more people, or ask for fewer',
      });
  }
  const problems = source.problems();
  if (parsed === null || problems.length > 0) return { ok: false, problems };
  const rules = parsed.rules.map(({ policies = null, above, need, of, within }) => {
    return { policies, above: readMoney(above), need, of, withinMs: parseDuration(within) ?? 0 };
  });
  return { ok: true, rules: frozen(rules) };
}

const ApprovalsSchema = z.strictObject({
  approvals: wholeNumber(1, 1, { description: 'The version of this file’s form.', example: '1' }),
  rules: hinted(
    z
      .array(
        z.strictObject({
          policies: hinted(
            z
              .array(policyName({ description: 'The name of a policy.' }))
              .min(1)
              .max(1_000),
            {
              description: 'The policies that it covers; left out: all.',
              example: '[contractors]',
            },
          ).optional(),
          above: money({
            description: 'A run that trades and pays more than this in all must be approved.',
            example: '"50000.00 USD"',
          }),
          need: wholeNumber(0, 20, {
            description: 'How many people must approve it; 0: the signature of who has started it is enough.',
            example: '2',
          }),
          of: hinted(
            z.array(label({ description: 'A name of `allowed_signers`.', example: 'ana' })).max(100),
            { description: 'The people who may approve it.', example: '[ana, ben, chi]' },
          ),
          within: duration({
            description: 'How long they have, from when the plan was made.',
            example: '4h',
          }),
        }),
      )
      .max(100),
    {
      description: 'Each rule that covers a run must be met.',
      example: '[{ above: "50000.00 USD", need: 2, of: [ana, ben, chi], within: 4h }]',
    },
  ),
});
