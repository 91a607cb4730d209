/** The reader of batch files: what it gives, in which order, what it remembers, and that sums are exact. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { subtract, sum } from '../../domain/money.ts';
import { reference } from '../../domain/references.ts';
import type { BatchEncoding, BatchFormat, BatchNumbers, PayoutFund } from '../../domain/policy.ts';
import { unknownCurrency } from '../../language/text/unknown-currency.ts';
import { BatchReader, type BatchRow, type BatchRules } from '../../language/batch/batch-reader.ts';
import { loadDestinations } from '../../language/load-destinations.ts';
import { formatTrouble, troubleOfPolicy, type PolicyProblem } from '../../language/text/problem.ts';
import { formatOf } from '../support/batch-format.ts';
import { urlOf } from '../support/root.ts';

const ACCOUNT = 'wac_7Hk2mQ9vT4xR';
const OTHER_ACCOUNT = '3f2504e0-4f89-11d3-9a0c-0305e82c3301';
const HEADER = 'id,account,currency,amount,note';

function rules(more: Partial<BatchRules> = {}): BatchRules {
  return {
    file: 'b.csv',
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { format: formatOf(), fund: { kind: 'none' } },
    },
    destinations: null,
    decimals: {},
    mostFindings: 50,
    ...more,
  };
}

async function* chunksOf(text: string, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) {
    await Promise.resolve();
    yield bytes.subarray(start, start + size);
  }
}

type Read = { readonly rows: readonly BatchRow[]; readonly reader: BatchReader };

async function read(text: string, more: Partial<BatchRules> = {}, size?: number): Promise<Read> {
  const reader = new BatchReader(chunksOf(text, size), rules(more));
  const rows: BatchRow[] = [];
  for await (const row of reader.rows()) rows.push(row);
  return { rows, reader };
}

function listed(problems: readonly PolicyProblem[]): readonly string[] {
  return problems.map(({ code, line, column }) => `${code} ${line}:${column}`);
}

/** As every command prints it. */
function printed({ reader }: Read): string {
  const { mistakes, warnings } = reader.findings;
  return [...mistakes.first, ...warnings.first]
    .map((problem) => formatTrouble(troubleOfPolicy(problem), (line) => line))
    .join('\n');
}

test('rows come in the order of the file, with the other columns beside them', async () => {
  const text = readFileSync(urlOf('policies/batches/contractors.csv'), 'utf8');
  const payout = { format: formatOf({ id: 'ref', currency: 'ccy' }) };
  const { rows, reader } = await read(text, {
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { ...payout, fund: { kind: 'none' } },
    },
  });
  assert.equal(rows.length, 5);
  assert.deepEqual(
    { ...rows[3], others: { ...rows[3]?.others } },
    {
      line: 5,
      id: 'inv-1045',
      account: 'wac_U5DFedw1re9',
      currency: 'USD',
      amount: '2400.00',
      others: { name: 'Ann Lee', note: 'November, second half' },
    },
  );
  assert.deepEqual(reader.totals.currencies, [
    { currency: 'EUR', payments: 2, sum: '1560.5', largest: '1250.00' },
    { currency: 'GBP', payments: 1, sum: '980', largest: '980.00' },
    { currency: 'MXN', payments: 1, sum: '16500', largest: '16500.00' },
    { currency: 'USD', payments: 1, sum: '2400', largest: '2400.00' },
  ]);
  assert.equal(printed({ rows, reader }), '');
});

test('a row with a mistake is told with its line, and the others are given all the same', async () => {
  const found = await read(`${HEADER}
p1,${ACCOUNT},MXN,"1.234,56",x
p2,${ACCOUNT},MXN,2.00,x
P2,${ACCOUNT},MXN,2.00,"Ana
Ruiz"
p3,${ACCOUNT},MXO,3.00,x
`);
  assert.deepEqual(
    found.rows.map(({ id }) => id),
    ['p2'],
  );
  assert.equal(
    printed(found),
    `BATCH_AMOUNT b.csv:2:25 (payment p1): "1.234,56" is not an amount: it has separators; only a decimal point may stand between digits.
    p1,${ACCOUNT},MXN,"1.234,56",x
                            ^^^^^^^^^^
  fix: write 1234.56, or \`numbers: { decimal: ",", group: "." }\` into the policy
BATCH_DUPLICATE_ID b.csv:4:1 (payment P2): "P2" is already on line 3; small and capital letters make no difference.
    P2,${ACCOUNT},MXN,2.00,"Ana
    ^^
  fix: give each payment an id of its own, or delete the row
BATCH_CURRENCY_UNKNOWN b.csv:6:21 (row 5, payment p3): "MXO" is not a currency that Cambist knows.
    p3,${ACCOUNT},MXO,3.00,x
                        ^^^
  fix: did you mean \`MXN\`?
BATCH_LOOK_ALIKE b.csv:4:25 (payment P2): 2.00 MXN to ${ACCOUNT} is on line 3 already.
    P2,${ACCOUNT},MXN,2.00,"Ana
                            ^^^^
  fix: see that you mean both; if not, delete one of the two`,
  );
});

test('a word that begins with a currency is most likely that one, and not a longer one', () => {
  assert.equal(unknownCurrency('EURO').fix, 'did you mean `EUR`?');
  assert.equal(unknownCurrency('USDS').fix, 'did you mean `USD`?');
});

test('an account that is not among the destinations, or takes another currency, is refused', async () => {
  const list = loadDestinations(`accounts:\n  ${ACCOUNT}: { currency: MXN, label: Marta }\n`, 'd.yaml');
  assert.ok(list.ok);
  const text = `${HEADER}\np1,${ACCOUNT},MXN,1.00,x\np2,${ACCOUNT},EUR,1.00,x\np3,${OTHER_ACCOUNT},MXN,1.00,x\n`;
  const { rows, reader } = await read(text, { destinations: list.destinations });
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['p1'],
  );
  assert.deepEqual(listed(reader.findings.mistakes.first), [
    'BATCH_DESTINATION_CURRENCY 3:21',
    'BATCH_DESTINATION_UNKNOWN 4:4',
  ]);
  assert.match(reader.findings.mistakes.first[0]?.message ?? '', /\("Marta"\) takes MXN, not EUR/);
});

test('the decimals of the service file count, and make a currency known', async () => {
  const text = `${HEADER}\np1,${ACCOUNT},XYZ,1.0005,x\n`;
  assert.deepEqual(listed((await read(text)).reader.findings.mistakes.first), [
    'BATCH_CURRENCY_UNKNOWN 2:21',
  ]);
  const known = await read(text, { decimals: { XYZ: 4 } });
  assert.equal(known.rows.length, 1);
});

test('every id that is taken fits into a reference, and every reference into the metadata of a withdrawal', async () => {
  const longest = 'p'.repeat(64);
  const { rows } = await read(`${HEADER}\n${longest},${ACCOUNT},MXN,1.00,x\n`);
  const run = { policy: 'p'.repeat(40), id: `2026-11-21-${'w'.repeat(53)}` };
  const whole = reference(run, rows[0]?.id ?? '', 999_999);
  // Interface heading "Withdrawal": a value of metadata has 500 characters at most.
  assert.ok(whole.length <= 500, `${whole.length}`);
});

test('mistakes beyond the first are counted and not kept', async () => {
  const bad = Array.from({ length: 500 }, (_, index) => `p${index},${ACCOUNT},MXO,1.00,x`).join('\n');
  const { findings, totals } = (await read(`${HEADER}\n${bad}\n`)).reader;
  assert.equal(findings.mistakes.count, 500);
  assert.equal(findings.mistakes.first.length, 50);
  assert.equal(totals.rows, 500);
});

test('a file with more than 100,000 rows is refused where they begin, and read no further', async () => {
  let chunks = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; ; chunks += 1) {
      await Promise.resolve();
      yield Buffer.from('{]\n'.repeat(10_000));
    }
  }
  const reader = new BatchReader(endless(), rules({ mostFindings: 100_001 }));
  for await (const row of reader.rows()) assert.fail(`a row on line ${row.line}`);
  const { count, first } = reader.findings.mistakes;
  assert.equal(count, 100_001);
  assert.deepEqual(listed(first.slice(-1)), ['BATCH_TOO_LARGE 100001:1']);
  assert.ok(chunks <= 12, `${chunks} chunks were read`);
});

test('no more of a file is read ahead than a few chunks, however slowly its rows are taken', async () => {
  for (const rowOf of [
    (id: number) => `p${id},${ACCOUNT},MXN,${id}.01,x\n`,
    (id: number) =>
      `${JSON.stringify({ id: `p${id}`, account: ACCOUNT, currency: 'MXN', amount: `${id}.01` })}\n`,
  ]) {
    let chunks = 0;
    // Far more than the buffers of any stream of Node hold.
    const [perChunk, all] = [400, 50];
    const source = async function* (): AsyncGenerator<Uint8Array> {
      if (!rowOf(1).startsWith('{')) yield Buffer.from(`${HEADER}\n`);
      for (; chunks < all; chunks += 1) {
        await Promise.resolve();
        yield Buffer.from(
          Array.from({ length: perChunk }, (_, index) => rowOf(chunks * perChunk + index + 1)).join(''),
        );
      }
    };
    const reader = new BatchReader(source(), rules());
    let taken = 0;
    let mostAhead = 0;
    for await (const row of reader.rows()) {
      taken += row.id === '' ? 0 : 1;
      mostAhead = Math.max(mostAhead, chunks - taken / perChunk);
      if (taken % perChunk === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(taken, perChunk * all);
    assert.ok(mostAhead <= 20, `${mostAhead} chunks of ${all} were read ahead`);
  }
});

test('a payment that could have the id of a trade of its run is refused, where its run may trade', async () => {
  const text = `${HEADER}\nUSD-mxn-2,${ACCOUNT},MXN,1.00,x\nusd-inv-2,${ACCOUNT},MXN,2.00,x\n`;
  const policyOf = (fund: PayoutFund) => ({
    environment: 'sandbox' as const,
    rules: { limits: null },
    payout: { format: formatOf(), fund },
  });
  const { reader } = await read(text, { policy: policyOf({ kind: 'net', from: 'USD' }) });
  assert.deepEqual(listed(reader.findings.mistakes.first), ['BATCH_ID_OF_LEG 2:1']);
  const own = await read(text, { policy: policyOf({ kind: 'none' }) });
  assert.deepEqual(own.reader.findings.mistakes.first, []);
});

test('whoever stops taking rows closes the file', async () => {
  let isClosed = false;
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from(`${HEADER}\n`);
      for (let index = 0; ; index += 1) {
        await Promise.resolve();
        yield Buffer.from(`p${index},${ACCOUNT},MXN,${index + 1}.01,x\n`);
      }
    } finally {
      isClosed = true;
    }
  }
  for await (const row of new BatchReader(source(), rules()).rows()) if (row.line > 3) break;
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(isClosed);
});

test('a file of which the first line says enough is closed as well', async () => {
  let isClosed = false;
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield await Promise.resolve(Buffer.from('[{}]\n'));
    } finally {
      isClosed = true;
    }
  }
  const { findings } = await (async () => {
    const reader = new BatchReader(source(), rules());
    for await (const row of reader.rows()) assert.fail(`a row on line ${row.line}`);
    return reader;
  })();
  assert.deepEqual(listed(findings.mistakes.first), ['BATCH_FORM 1:1']);
  assert.ok(isClosed);
});

test('a file that cannot be read to its end is no batch', async () => {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${HEADER}\np1,${ACCOUNT},MXN,1.00,x\n`);
    await Promise.resolve();
    throw new Error('the disk is gone');
  }
  const reader = new BatchReader(source(), rules());
  await assert.rejects(async () => {
    for await (const row of reader.rows()) assert.equal(row.id, 'p1');
  }, /the disk is gone/);
});

/** An amount above zero in pesos, as a file may have it. */
const amount = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }), fc.integer({ min: 0, max: 99 }), fc.boolean())
  .filter(([whole, cents]) => whole > 0n || cents > 0)
  .map(
    ([whole, cents, isShort]) =>
      `${whole}${isShort && cents === 0 ? '' : `.${String(cents).padStart(2, '0')}`}`,
  );

/** What people write into notes: separators, quotes, line ends, any script; nothing that a spreadsheet would run. */
const note = fc
  .array(fc.constantFrom('a', 'é', '漢', '🏦', ' ', ',', ';', '\t', '|', '"', '""', '\n', '\r\n', '.', '1'), {
    maxLength: 8,
  })
  .map((parts) => `n${parts.join('')}`);

const payments = fc.uniqueArray(
  fc.record({ id: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,20}$/), amount, note }),
  { selector: ({ id }) => id.toLowerCase(), minLength: 1, maxLength: 20 },
);

const form = fc.record({
  separator: fc.constantFrom(',', ';', '\t', '|'),
  lineEnd: fc.constantFrom('\n', '\r\n'),
  mark: fc.constantFrom('', '\uFEFF'),
  chunkBytes: fc.constantFrom(1, 2, 7, 64, 65_536),
});

test('what is written as CSV is read as it was, by any separator, line end and chunk', async () => {
  await fc.assert(
    fc.asyncProperty(payments, form, async (all, { separator, lineEnd, mark, chunkBytes }) => {
      const cell = (text: string): string =>
        /^[\w.]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
      const rows = all.map((one) => [one.note, one.id, ACCOUNT, 'MXN', one.amount].map(cell).join(separator));
      const header = ['note', 'id', 'account', 'currency', 'amount'].join(separator);
      const text = `${mark}${[header, ...rows].join(lineEnd)}${lineEnd}`;
      const linesIn = (row: string): number => row.split(/\r\n|\n|\r/).length;
      const lineOf = (index: number): number =>
        2 + rows.slice(0, index).reduce((before, row) => before + linesIn(row), 0);
      const found = await read(text, {}, chunkBytes);
      // A note of several lines that looks like rows is refused, which is right as well.
      fc.pre(!printed(found).includes('BATCH_SYNTAX'));
      assert.equal(found.reader.findings.mistakes.count, 0, printed(found));
      assert.deepEqual(
        found.rows.map(({ line, id, amount: paid, others }) => ({
          line,
          id,
          amount: paid,
          note: others['note'],
        })),
        all.map((one, index) => ({ line: lineOf(index), ...one })),
      );
    }),
    { numRuns: 100 },
  );
});

test('what is written as JSON Lines is read as it was', async () => {
  await fc.assert(
    fc.asyncProperty(payments, form, async (all, { lineEnd, mark, chunkBytes }) => {
      const rows = all.map((one) => JSON.stringify({ ...one, account: ACCOUNT, currency: 'MXN' }));
      const found = await read(`${mark}${['', '', ...rows].join(lineEnd)}${lineEnd}`, {}, chunkBytes);
      assert.equal(found.reader.findings.mistakes.count, 0, printed(found));
      assert.deepEqual(
        found.rows.map(({ line, id, amount: paid, others }) => ({
          line,
          id,
          amount: paid,
          note: others['note'],
        })),
        all.map((one, index) => ({ line: 3 + index, ...one })),
      );
    }),
    { numRuns: 100 },
  );
});

test('sums are exact, whatever the order of the rows', async () => {
  await fc.assert(
    fc.asyncProperty(payments, async (all) => {
      const text = (of: typeof all): string =>
        `${HEADER}\n${of.map((one) => `${one.id},${ACCOUNT},MXN,${one.amount},x`).join('\n')}\n`;
      const cents = all.reduce(
        (total, one) =>
          total +
          BigInt(
            `${one.amount}.`.replace(
              /^(\d+)\.?(\d*)\.?$/,
              (_, a: string, b: string) => `${a}${b.padEnd(2, '0')}`,
            ),
          ),
        0n,
      );
      for (const of of [all, all.toReversed()]) {
        const [total] = (await read(text(of))).reader.totals.currencies;
        assert.equal(total?.payments, all.length);
        assert.equal(subtract(total?.sum ?? '0', sum(all.map((one) => one.amount))), '0');
        assert.equal(
          subtract(total?.sum ?? '0', `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`),
          '0',
        );
      }
    }),
    { numRuns: 80 },
  );
});

test('no bytes at all make the reader throw, or say what a terminal would obey', async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .array(
        fc.constantFrom(
          HEADER,
          '\n',
          ',',
          '"',
          ACCOUNT,
          'MXN',
          '1.00',
          'p1',
          '{',
          '}',
          '[',
          '"id":',
          '\\',
          '\0',
          '\u202E',
          '\r',
          'é',
          '=x',
          ' ',
        ),
        { maxLength: 60 },
      )
      .map((parts) => Buffer.from(parts.join(''))),
  );
  await fc.assert(
    fc.asyncProperty(bytes, fc.constantFrom(1, 5, 1_000), async (all, size) => {
      const reader = new BatchReader(chunksOf(Buffer.from(all).toString('latin1'), size), rules());
      const rows: BatchRow[] = [];
      for await (const row of reader.rows()) rows.push(row);
      assert.ok(rows.length > 0 || reader.findings.mistakes.count > 0);
      assert.doesNotMatch(printed({ rows, reader }), /[\0-\x09\x0B-\x1F\x7F-\x9F\u202E]/);
      for (const problem of reader.findings.mistakes.first)
        assert.ok(problem.line >= 1 && problem.column >= 1);
    }),
    { numRuns: 300 },
  );
});

/** The amounts of one currency, as the policy says that they are written. */
async function amountsIn(
  currency: string,
  amounts: readonly string[],
  numbers: BatchNumbers,
): Promise<string> {
  const rows = amounts.map((text, index) => `p${index};${ACCOUNT};${currency};${text};x`);
  const payout = { format: formatOf({}, { numbers }) };
  const found = await read(`${HEADER.replaceAll(',', ';')}\n${rows.join('\n')}\n`, {
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { ...payout, fund: { kind: 'none' } },
    },
  });
  const { mistakes } = found.reader.findings;
  return [...found.rows.map((row) => row.amount), ...listed(mistakes.first)].join(' ');
}

const NUMBERS: readonly (readonly [BatchNumbers, readonly string[], string])[] = [
  [{ decimal: ',', group: '.' }, ['1.857,05', '1857,05', '12', '1.000.000'], '1857.05 1857.05 12 1000000'],
  [{ decimal: ',', group: null }, ['1857,05', '0,10'], '1857.05 0.10'],
  [{ decimal: '.', group: "'" }, ["1'857.05", '1\u2019857\u2019000'], '1857.05 1857000'],
  [
    { decimal: ',', group: 'space' },
    ['1 857,05', '1\u00A0857\u00A0000,5', '1\u202F857'],
    '1857.05 1857000.5 1857',
  ],
  [{ decimal: '.', group: ',' }, ['1,857.05', '1,857,000'], '1857.05 1857000'],
];

for (const [numbers, written, expected] of NUMBERS)
  test(`amounts are read as the policy says that they are written: ${JSON.stringify(numbers)}`, async () => {
    assert.equal(await amountsIn('EUR', written, numbers), expected);
  });

test('an amount that is written otherwise than the policy says is refused, and never guessed', async () => {
  const numbers = { decimal: ',', group: '.' } as const;
  const written = [
    '1857.05',
    '1.857.05',
    '18.57,05',
    '1.8570',
    '1,857.05',
    "1'857,05",
    '1.857 000',
    '-1,00',
    ',5',
    '0,00',
  ];
  const expected = written.map(
    (text, index) => `BATCH_AMOUNT${text.startsWith('-') ? '_BELOW_ZERO' : ''} ${index + 2}:25`,
  );
  assert.equal(await amountsIn('EUR', written, numbers), expected.join(' '));
});

test('of such an amount the fix has the right text where no other amount can be meant, else the form alone', async () => {
  const german = { decimal: ',', group: '.' } as const;
  const formAlone = 'it in the form of 1.857,05';
  for (const [numbers, text, fix] of [
    [german, '2,400.00', '2.400,00'],
    [german, "1'234'567.50", '1.234.567,50'],
    [german, '12.50', '12,50'],
    [{ decimal: '.', group: "'" }, '2.400,5', "2'400.5"],
    [{ decimal: ',', group: null }, '2.400,00', '2400,00'],
    [{ decimal: ',', group: null }, '2.400', 'it in the form of 1857,05'],
    [{ decimal: '.', group: 'space' }, '2,400', 'it in the form of 1 857.05'],
    [german, '1.857 000', formAlone],
    [german, '1.857.05', formAlone],
    [german, '0.00', formAlone],
  ] as const) {
    const rows = `${HEADER.replaceAll(',', ';')}\np;${ACCOUNT};EUR;${text};x\n`;
    const payout = { format: formatOf({}, { numbers }) };
    const found = await read(rows, {
      policy: {
        environment: 'sandbox',
        rules: { limits: null },
        payout: { ...payout, fund: { kind: 'none' } },
      },
    });
    const said = printed(found);
    assert.ok(said.includes(`fix: write ${fix}, or correct \`numbers\` in the policy`), said);
  }
});

test('of what people write into a cell of amounts, the message says what it is', async () => {
  const german = { decimal: ',', group: '.' } as const;
  const english = { decimal: '.', group: null } as const;
  for (const [numbers, text, said] of [
    [german, '12,50 EUR', '"12,50 EUR" has the currency beside the amount. fix: write 12,50'],
    [german, '12.50 EUR', 'beside the amount. fix: write 12,50, or correct `numbers` in the policy'],
    [
      english,
      '€12,50',
      'beside the amount. fix: write 12.50, or `numbers: { decimal: "," }` into the policy',
    ],
    [english, '12.50 USD', '"12.50 USD" says USD, but the currency of the row is EUR. fix: correct the one'],
    [english, '$12.50', 'has "$" beside the amount, which may stand for several currencies. fix: see that'],
    [english, '12.50-', '"12.50-" is below zero, and a batch only pays out. fix: delete the row'],
    [english, '(12.50)', '"(12.50)" is below zero'],
    [
      english,
      '1.25E+05',
      '"1.25E+05" is a number that a spreadsheet has shortened: some of its digits are lost.',
    ],
    [
      english,
      '#####',
      'a spreadsheet writes where it cannot calculate or show a value. fix: mend the formula',
    ],
    [
      english,
      "'12.50",
      'has quotes around it, or a sign in front, that belong to no value. fix: write 12.50',
    ],
  ] as const) {
    const payout = { format: formatOf({}, { numbers }) };
    const found = await read(`${HEADER.replaceAll(',', ';')}\np;${ACCOUNT};EUR;${text};x\n`, {
      policy: {
        environment: 'sandbox',
        rules: { limits: null },
        payout: { ...payout, fund: { kind: 'none' } },
      },
    });
    const told = printed(found).replace(/\n[^]*\n {2}fix/, ' fix');
    assert.ok(told.includes(said), told);
  }
});

test('an id that a spreadsheet has shortened or could not calculate is no id, also with `as: slug`', async () => {
  const payout = { format: formatOf({}, { slugs: true }) };
  const ids = ['1.23E+15', '#N/A', 'R-2026/1'].map((id) => `${id},${ACCOUNT},MXN,1.00,x`).join('\n');
  const { rows, reader } = await read(`${HEADER}\n${ids}\n`, {
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { ...payout, fund: { kind: 'none' } },
    },
  });
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['R-2026-1'],
  );
  assert.deepEqual(listed(reader.findings.mistakes.first), ['BATCH_SHORTENED 2:1', 'BATCH_SHEET_ERROR 3:1']);
});

test('zeros behind the decimals of a currency are cut off; other digits are refused', async () => {
  const numbers = { decimal: '.', group: null } as const;
  assert.equal(await amountsIn('EUR', ['1250.0000', '1.10000'], numbers), '1250.00 1.10');
  assert.equal(await amountsIn('EUR', ['1.000'], numbers), 'BATCH_AMOUNT_DECIMALS 2:25');
  assert.equal(await amountsIn('JPY', ['12000.00', '12000.01'], numbers), '12000 BATCH_AMOUNT_DECIMALS 3:25');
});

test('amounts that may have points between their thousands are remarked on, where the policy does not say', async () => {
  const text = (amounts: readonly string[]): string =>
    `${HEADER}\n${amounts.map((each, index) => `p${index},${ACCOUNT},USDC,${each},x`).join('\n')}\n`;
  const remarks = async (
    amounts: readonly string[],
    more: Partial<BatchFormat> = {},
  ): Promise<readonly string[]> => {
    const payout = { format: formatOf({}, more) };
    const { reader } = await read(text(amounts), {
      policy: {
        environment: 'sandbox',
        rules: { limits: null },
        payout: { ...payout, fund: { kind: 'none' } },
      },
    });
    return reader.findings.warnings.first.map(({ code, line, message }) => `${code} ${line} ${message}`);
  };
  assert.deepEqual(await remarks(['1.250', '12.500', '3.000']), [
    'BATCH_AMOUNT_THOUSANDS 2 every amount in USDC has three digits after the point; the 3 payments are 16.750000 USDC in all',
  ]);
  assert.deepEqual(await remarks(['1.250', '12.5']), []);
  assert.deepEqual(await remarks(['1.250'], { numbers: { decimal: '.', group: ',' } }), []);
});

test('an amount that a column of a bank’s template counts in another currency is refused', async () => {
  const told = async (column: string, value: string): Promise<readonly string[]> => {
    const { rows, reader } = await read(
      `id,account,currency,amount,${column}\np1,${ACCOUNT},EUR,10.00,${value}\n`,
    );
    const { first } = reader.findings.mistakes;
    assert.equal(rows.length, first.length === 0 ? 1 : 0);
    return first.map(({ code, line, column: at, message }) => `${code} ${line}:${at} ${message}`);
  };
  for (const column of ['amountCurrency', 'Amount currency', 'AMOUNT_CURRENCY'])
    assert.deepEqual(await told(column, 'source'), [
      `BATCH_AMOUNT_CURRENCY 2:${ACCOUNT.length + 15} "${column}" is "source", not "target": the amount may be in another currency than EUR`,
    ]);
  assert.equal((await told('amountCurrency', '')).length, 1);
  assert.equal((await told('amountCurrency', 'USD')).length, 1);
  for (const same of ['target', 'Target', 'EUR']) assert.deepEqual(await told('amountCurrency', same), []);
  assert.deepEqual(await told('sourceCurrency', 'source'), []);
});

test('a column of that name may be the one that says the currency', async () => {
  const payout = { format: formatOf({ currency: 'amountCurrency' }) };
  const { rows } = await read(`id,account,amountCurrency,amount\np1,${ACCOUNT},EUR,10.00\n`, {
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { ...payout, fund: { kind: 'none' } },
    },
  });
  assert.deepEqual(
    rows.map(({ currency }) => currency),
    ['EUR'],
  );
});

test('ids that people have become ids by the rule of the policy, and two that become one are refused', async () => {
  const payout = { format: formatOf({}, { slugs: true }) };
  const text = ['R-2026/0001', 'Müller & Söhne 7', 'r-2026 0001', '/', 'a'.repeat(70)]
    .map((id) => `${id},${ACCOUNT},MXN,1.00,x`)
    .join('\n');
  const { rows, reader } = await read(`${HEADER}\n${text}\n`, {
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { ...payout, fund: { kind: 'none' } },
    },
  });
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['R-2026-0001', 'Muller-Sohne-7'],
  );
  assert.deepEqual(listed(reader.findings.mistakes.first), [
    'BATCH_DUPLICATE_ID 4:1',
    'BATCH_ID 5:1',
    'BATCH_ID 6:1',
  ]);
});

test('rows that the policy names, rows of empty cells and the line of the separator are no payments', async () => {
  const payout = { format: formatOf({}, { ignore: { id: 'Summe' } }) };
  const text = `sep=;\r\n${HEADER.replaceAll(',', ';')}\r\np1;${ACCOUNT};MXN;1.00;x\r\nSumme;;MXN;1,00;\r\n;;;;\r\n;;;;\r\n`;
  const { rows, reader } = await read(text, {
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { ...payout, fund: { kind: 'none' } },
    },
  });
  assert.deepEqual(
    rows.map(({ id, line }) => `${id} ${line}`),
    ['p1 3'],
  );
  assert.deepEqual(listed(reader.findings.mistakes.first), []);
  assert.deepEqual(listed(reader.findings.warnings.first), ['BATCH_ROW_IGNORED 4:1']);
  // A spreadsheet does not show the line of the separator: its first row is the header.
  assert.equal(reader.findings.warnings.first[0]?.also, 'row 3');
});

/** What the reader says of bytes. */
async function saidOf(bytes: Buffer, encoding: BatchEncoding = 'utf-8', size = 7): Promise<string> {
  const pieces = (async function* () {
    for (let start = 0; start < bytes.length; start += size)
      yield await Promise.resolve(bytes.subarray(start, start + size));
  })();
  const reader = new BatchReader(
    pieces,
    rules({
      policy: {
        environment: 'sandbox',
        rules: { limits: null },
        payout: { format: formatOf({}, { encoding }), fund: { kind: 'none' } },
      },
    }),
  );
  const notes: string[] = [];
  for await (const { others } of reader.rows()) notes.push(others['note'] ?? '');
  return [...notes, ...reader.findings.mistakes.first.map(({ code, fix }) => `${code} ${fix}`)].join('|');
}

test('files in the encodings of spreadsheets are read where the policy says so, whatever the pieces', async () => {
  const text = `${HEADER}\r\np1,${ACCOUNT},MXN,1.00,Müller €\r\n`;
  const latin = Buffer.from(text.replace('€', '\u0080'), 'latin1');
  const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le');
  const swapped = Buffer.from(utf16).swap16();
  for (const size of [2, 7, 1_000]) {
    assert.equal(await saidOf(latin, 'windows-1252', size), 'Müller €');
    assert.equal(await saidOf(utf16, 'utf-16', size), 'Müller €');
    assert.equal(await saidOf(swapped, 'utf-16', size), 'Müller €');
  }
  assert.match(await saidOf(latin, 'utf-8', 1_000), /^BATCH_ENCODING .*`encoding: windows-1252`/);
  assert.match(await saidOf(utf16, 'utf-8', 1_000), /^BATCH_ENCODING .*`encoding: utf-16`/);
  // A file that says itself that it is UTF-8, with and without a line for the separator.
  for (const encoding of ['windows-1252', 'utf-16'] as const)
    for (const before of ['', 'sep=,\r\n'])
      assert.match(
        await saidOf(Buffer.from(`\uFEFF${before}${text}`), encoding, 1_000),
        /^BATCH_ENCODING delete `encoding`/,
        `${encoding} ${before}`,
      );
});

const FORMS: readonly (readonly [string, RegExp])[] = [
  ['PK\u0003\u0004\u0014\u0000', /workbook.*\.xlsx/],
  ['\u00D0\u00CF\u0011\u00E0\u00A1\u00B1', /\.xls/],
  ['<?xml version="1.0"?>\n<Document>', /XML.*pain\.001/],
  ['101 091000019 0910000192611210800A094101', /NACHA/],
  [':20:REF\n:28D:1/1', /MT101/],
  ['%PDF-1.7', /a PDF/],
];

for (const [beginning, name] of FORMS)
  test(`a file of another form is named for what it is: ${name.source}`, async () => {
    const reader = new BatchReader(
      (async function* () {
        yield await Promise.resolve(Buffer.from(`${beginning}\n`, 'latin1'));
      })(),
      rules(),
    );
    for await (const row of reader.rows()) assert.fail(`a payment: ${row.id}`);
    assert.equal(reader.findings.mistakes.count, 1);
    const [mistake] = reader.findings.mistakes.first;
    assert.equal(mistake?.code, 'BATCH_FORM');
    assert.match(mistake.message, name);
  });
