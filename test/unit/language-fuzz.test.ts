/** Random damage to real files: loading never throws, and no amount gets in that does not stand in quotes. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Policy, Limits, RebalancePolicy } from '../../domain/policy.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { loadReferenceRates } from '../../language/load-reference-rates.ts';
import { loadServiceFacts } from '../../language/load-service-facts.ts';
import { formatTrouble, troubleOfPolicy, type PolicyProblem } from '../../language/text/problem.ts';
import { urlOf } from '../support/root.ts';
import { isSample } from '../support/policies.ts';

/** As every command prints it. */
function printed(problem: PolicyProblem): string {
  return formatTrouble(troubleOfPolicy(problem), (line) => line);
}

const POLICIES = urlOf('policies/');
const SAMPLES = readdirSync(POLICIES)
  .filter(isSample)
  .map((name) => readFileSync(new URL(name, POLICIES), 'utf8'));

// prettier-ignore
const SNIPPETS = [
  '"', "'", '\n', ' ', '\t', ':', '-', '#', '&a ', '*a', '!!str ', '<<: ', '---\n', '? ', '|\n', '>-\n', '%', '{', '}',
  '[', ']', ',', '0', '00', '1e3', '.5', '1000.00', '1_000', '0x10', '.inf', '~', 'null', 'true', 'all', 'proceeds',
  '__proto__: 1\n', 'constructor: 1\n', '\0', '\u202E', '\uFEFF', '\r', '\\', '\\x31', '🏦', '\uD800', 'é', ' USD', ' per ',
];

/** One edit: at a place (a share of the length) delete some characters and insert a snippet. */
const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.integer({ min: 0, max: 8 }),
  insert: fc.oneof(fc.constantFrom(...SNIPPETS), fc.constant(''), fc.string({ maxLength: 6 })),
});

const damaged = fc
  .record({ sample: fc.constantFrom(...SAMPLES), edits: fc.array(edit, { minLength: 1, maxLength: 4 }) })
  .map(({ sample, edits }) =>
    edits.reduce((text, { at, remove, insert }) => {
      const index = Math.floor(at * text.length);
      return text.slice(0, index) + insert + text.slice(index + remove);
    }, sample),
  );

/** The samples with the quotes taken off somewhere. */
const unquoted = fc
  .record({ sample: fc.constantFrom(...SAMPLES), which: fc.nat(), cut: fc.constantFrom('both', 'space') })
  .map(({ sample, which, cut }) => {
    const texts = [...sample.matchAll(/^[^#\n]*?"([0-9][^"]*)"/gm)];
    const match = texts[which % texts.length];
    const quoted = `"${match?.[1] ?? ''}"`;
    return sample.replace(quoted, cut === 'both' ? quoted.slice(1, -1) : ` ${quoted.slice(1, -1)} `);
  });

function rebalanceAmounts({ rebalance, rules: { limits } }: RebalancePolicy): readonly string[] {
  const { base, targets, minTrade } = rebalance;
  const goals = targets.map(({ goal }) =>
    goal.kind === 'keep' ? [goal.keep, goal.band] : goal.kind === 'range' ? [goal.min, goal.max] : [],
  );
  const inBase = [minTrade, limits?.perTrade?.value, limits?.perRun?.value];
  return [
    ...[base.min, ...goals.flat()].flatMap((amount) => amount ?? []),
    ...inBase.flatMap((amount) => (amount ? [`${amount} ${base.currency}`] : [])),
  ];
}

function limitAmounts(limits: Limits | null): readonly string[] {
  if (limits === null) return [];
  const { perTrade, perRun, perPayment, paidPerRun } = limits;
  return [perTrade, perRun, ...perPayment, ...paidPerRun].flatMap((limit) =>
    limit === null ? [] : [`${limit.value} ${limit.currency}`],
  );
}

/** Every text of the record that holds an amount, as it must stand in the file. */
function amountsOf(policy: Policy): readonly string[] {
  if (policy.kind === 'rebalance') return rebalanceAmounts(policy);
  if (policy.kind === 'payout') return limitAmounts(policy.rules.limits);
  const { amount } = policy.convert;
  const rate = policy.guard?.worstRates[0]?.rate ?? null;
  return [
    amount.kind === 'sell-all' ? amount.keep : amount.value,
    ...policy.withdraw.flatMap((entry) => (entry.amount.kind === 'fixed' ? [entry.amount.value] : [])),
    ...limitAmounts(policy.rules.limits),
    ...(rate === null ? [] : [`${rate.value} ${rate.currency} per ${rate.per}`]),
  ];
}

test('a damaged policy never throws, every problem can be printed, and every amount stands in quotes', () => {
  fc.assert(
    fc.property(damaged, (text) => {
      const result = loadPolicy(text, 'p.yaml');
      for (const problem of [...result.warnings, ...(result.ok ? [] : result.problems)]) {
        assert.ok(problem.line >= 1 && problem.column >= 1);
        assert.match(problem.excerpt, /^[^\n]*\n *\^+$/);
        assert.doesNotMatch(printed(problem), /[\0-\x09\x0B-\x1F\x7F-\x9F\u202E]/);
      }
      if (!result.ok) {
        assert.ok(result.problems.length > 0);
        return;
      }
      for (const amount of amountsOf(result.policy)) {
        assert.ok(text.includes(`"${amount}"`) || text.includes(`'${amount}'`), amount);
      }
    }),
    { numRuns: 800 },
  );
});

const UNQUOTED: ReadonlySet<string> = new Set(['POLICY_AMOUNT_UNQUOTED', 'POLICY_TIME']);

test('a sample without the quotes of one amount, or of a time, is always refused', () => {
  fc.assert(
    fc.property(unquoted, (text) => {
      const result = loadPolicy(text, 'p.yaml');
      assert.equal(result.ok, false);
      assert.ok(!result.ok && result.problems.some(({ code }) => UNQUOTED.has(code)));
    }),
    { numRuns: 200 },
  );
});

test('no text at all makes a loader throw', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.constantFrom(...SNIPPETS)).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(text, (any) => {
      loadPolicy(any, 'p.yaml');
      loadServiceFacts(any, 's.yaml');
      loadReferenceRates(any, 'r.yaml');
    }),
    { numRuns: 800 },
  );
});
