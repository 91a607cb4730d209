/** What money is missing for a batch, and what is left after it, known before anything is sent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainPlan, planDocument } from '../../cli/views/plan-text.ts';
import { shortfallOf } from '../../cli/views/shortfall-text.ts';
import { compilePlan } from '../../domain/plan/compile.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { inputOn } from '../support/plans.ts';

const DATE = '2026-11-18';
/** A payment in each currency. */
const PAID = { EUR: '400', MXN: '6500', USD: '75' } as const;

type ShortfallCase = readonly [there: Readonly<Record<string, string>>, payout: string, more?: string];

/** The plan of a batch of PAID, where this much is there; `payout` are lines of the policy below `payout:`. */
function planned(...[there, payout, more = '']: ShortfallCase) {
  const loaded = loadPolicy(
    `policy: 1\nkind: payout\nname: p\nenvironment: sandbox\nzone: UTC\npayout: { ${payout} }\n${more}`,
    'p.yaml',
  );
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const totals = Object.entries(PAID).map(([currency, value]) => ({ currency, value }));
  const batch = {
    payments: 3,
    totals,
    payable: totals,
    heldBy: [],
    chunks: [{ payments: 3, hash: 'a'.repeat(64), unpayable: null }],
  };
  const input = inputOn(DATE, loaded, there, { batch });
  const result = compilePlan(input);
  assert.ok(result.ok, JSON.stringify(result));
  return { plan: result.plan, input };
}

function missing(...asked: ShortfallCase): string | null {
  const { plan, input } = planned(...asked);
  const problem = shortfallOf(plan, input.observation);
  return problem === null ? null : `${problem.message} ${problem.fix}`;
}

const same = (text: string): string => text;
const PLAIN = { good: same, bad: same, warn: same, strong: same, faint: same };

function afterwards(...asked: ShortfallCase): string | undefined {
  const { plan, input } = planned(...asked);
  const text = explainPlan(plan, input, [], { width: 80, paint: PLAIN });
  return text.split('\n\n').find((section) => section.startsWith('Afterwards'));
}

const FUNDED = 'fund: { from: USD, mode: net }';
const GUARD = 'guard: { worst_rate: ["0.80 EUR per USD", "16.25 MXN per USD"] }\nquote: { settlement: T0 }\n';

test('a batch that buys nothing is short of what is not there', () => {
  assert.equal(missing(PAID, 'fund: { mode: none }'), null);
  assert.match(
    missing({ ...PAID, EUR: '150' }, 'fund: { mode: none }') ?? '',
    /^The batch is short of 250\.00 EUR \(it pays 400\.00 EUR, and 150\.00 EUR are withdrawable\)\..*mode: net/,
  );
});

test('a batch that buys what is missing is short of what its funding currency does not buy', () => {
  // 400 EUR and 6500 MXN cost 900 USD at the worst rates, and 75 USD are paid.
  assert.equal(missing({ USD: '975' }, FUNDED, GUARD), null);
  assert.equal(
    missing({ USD: '775' }, FUNDED, `${GUARD}shortfall: skip\n`),
    'The batch is short of 3,250.00 MXN (it would buy 3,250.00 MXN of the 6,500.00 MXN that it needs: there is not enough USD for more). ' +
      '`shortfall: skip`: the payments for which there is no money would not be paid. ' +
      'Before the run starts, bring money in, or change the limits of the policy that keep the run from buying what is missing: a run plans its purchases only once. After the start, only money in the missing currency helps.',
  );
});

test('with `shortfall: hold` all is planned, and it is the funding currency that is short', () => {
  assert.equal(missing({ USD: '975' }, FUNDED, `${GUARD}shortfall: hold\n`), null);
  assert.equal(
    missing({ USD: '50' }, FUNDED, `${GUARD}shortfall: hold\n`),
    'The batch is short of 925.00 USD (it pays 75.00 USD and buys for 900.00 USD at most, and 50.00 USD are there). ' +
      '`shortfall: hold`: the payments for which there is no money would wait for it. ' +
      'Bring USD in: once it is there, the run buys and pays by itself, as long as it may trade.',
  );
  assert.equal(
    missing({ USD: '975' }, FUNDED, `${GUARD}shortfall: hold\nlimits: { per_trade: "400.00 USD" }\n`),
    'The batch is short of 80.00 EUR (it would buy 320.00 EUR of the 400.00 EUR that it needs: the limit per_trade allows only a part of it; the rest is left for another day). ' +
      '`shortfall: hold`: the payments for which there is no money would wait for it. ' +
      'Before the run starts, change the limits of the policy that keep the run from buying what is missing. After the start, only money in the missing currency helps.',
  );
});

test('with `shortfall: skip`, where the funding currency does not even pay its own, all three are missing', () => {
  assert.match(
    missing({ USD: '50' }, FUNDED, `${GUARD}shortfall: skip\n`) ?? '',
    /^The batch is short of 25\.00 USD \(it pays 75\.00 USD, and 50\.00 USD are there\), and of 400\.00 EUR \(it would buy nothing of .*\), and of 6,500\.00 MXN \(.*\)\. `shortfall: skip`/,
  );
});

test('what a batch leaves of each currency is told without its payments and with them', () => {
  const there = { USD: '1000', EUR: '500' };
  assert.equal(
    afterwards(there, FUNDED, GUARD),
    `Afterwards
  CURRENCY  BALANCE  PROJECTED      PAID    LEFT
  USD        600.00     600.00     75.00  525.00
  EUR        500.00     500.00    400.00  100.00
  MXN          0.00   6,500.00  6,500.00    0.00
  BALANCE is what is left after the sales; PROJECTED adds what is bought, once
  it has settled; LEFT is what is left of PROJECTED once the batch is paid.`,
  );
  assert.match(afterwards({ ...PAID, USD: '80' }, FUNDED, GUARD) ?? '', /USD +80\.00 +80\.00 +75\.00 +5\.00/);
  assert.equal(afterwards(PAID, 'fund: { mode: none }'), undefined);
  const { plan, input } = planned(there, FUNDED, GUARD);
  assert.deepEqual(
    planDocument(plan, input, []).positions.map(({ after }) => after),
    [
      { withdrawable: '600', projected: '600', paid: '75', left: '525' },
      { withdrawable: '500', projected: '500', paid: '400', left: '100' },
      { withdrawable: '0', projected: '6500', paid: '6500', left: '0' },
    ],
  );
});
