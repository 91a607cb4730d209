/** What of a batch file is corrected without a doubt, and that every other byte stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchFormat } from '../../domain/policy.ts';
import { corrected } from '../../language/batch/corrections.ts';
import { formatOf } from '../support/batch-format.ts';

async function correctedText(text: string, format: BatchFormat = formatOf()): Promise<string> {
  const { bytes } = await corrected(Buffer.from(text), format, {});
  return Buffer.from(bytes).toString('utf8');
}

/** One row, with one cell written as given. */
const CELLS = { id: 'inv-1', account: 'wac_7Hk2mQ9vT4xR', currency: 'EUR', amount: '12.50' } as const;

const CERTAIN: readonly (readonly [column: keyof typeof CELLS, was: string, now: string])[] = [
  ['id', ' inv-1', 'inv-1'],
  ['id', 'inv-1\u00A0', 'inv-1'],
  ['account', 'wac_7Hk2mQ9vT4xR\t', 'wac_7Hk2mQ9vT4xR'],
  ['account', '\u200Bwac_7Hk2mQ9vT4xR', 'wac_7Hk2mQ9vT4xR'],
  ['currency', 'eur', 'EUR'],
  ['currency', ' Eur ', 'EUR'],
  ['currency', 'usdc', 'USDC'],
  ['amount', ' 12.50 ', '12.50'],
  ['amount', '+12.50', '12.50'],
  ['amount', '0012.50', '12.50'],
  ['amount', '.50', '0.50'],
  ['amount', '12.', '12'],
  ['amount', '12.50 EUR', '12.50'],
  ['amount', 'eur 12.50', '12.50'],
  ['amount', '€12.50', '12.50'],
  ['amount', '12.50\u00A0€', '12.50'],
  ['amount', "'12.50", '12.50'],
  ['amount', '“12.50”', '12.50'],
  ['id', '‘inv-1’', 'inv-1'],
  ['id', "'inv-1", 'inv-1'],
  ['id', 'inv\u00AD-1', 'inv-1'],
  ['account', '„wac_7Hk2mQ9vT4xR“', 'wac_7Hk2mQ9vT4xR'],
  ['account', 'wac_7Hk2\u200BmQ9v\uFEFFT4xR\u2060', 'wac_7Hk2mQ9vT4xR'],
  ['account', '3F2504E0-4F89-11D3-9A0C-0305E82C3301', '3f2504e0-4f89-11d3-9a0c-0305e82c3301'],
  ['currency', '«EUR»', 'EUR'],
  ['currency', '\u200EEUR', 'EUR'],
];

for (const [column, was, now] of CERTAIN) {
  test(`${JSON.stringify(was)} in the column ${column} becomes ${now}, in CSV and in JSON Lines`, async () => {
    const csv = (cell: string): string =>
      `id,account,currency,amount\n${Object.values({ ...CELLS, [column]: cell }).join(',')}\n`;
    assert.equal(await correctedText(csv(was)), csv(now));
    if (was.includes('\t')) return;
    const json = (cell: string): string => `${JSON.stringify({ ...CELLS, [column]: cell })}\n`;
    assert.equal(await correctedText(json(was)), json(now));
  });
}

const LEFT: readonly (readonly [column: keyof typeof CELLS, text: string, why: string])[] = [
  ['amount', '12.5000', 'it is read as it is'],
  ['amount', '250.000', 'the point may separate thousands'],
  ['amount', '0250.000', 'so it may here'],
  ['amount', '1,250', 'the comma may be either'],
  ['amount', '12,50', 'the policy says nothing of a comma'],
  ['amount', '1.857,05', 'the policy says nothing of separators'],
  ['amount', '1 857.05', 'the policy says nothing of blanks'],
  ['amount', '1.2E3', 'a spreadsheet may have rounded it'],
  ['amount', '12.505', 'cutting it off would change it'],
  ['amount', '-12.50', 'it may be a repayment'],
  ['amount', '12.50-', 'so it may here'],
  ['amount', '(12.50)', 'and so it may here'],
  ['amount', '12.50 USD', 'the row is in another currency'],
  ['amount', '$12.50', 'several currencies have this sign'],
  ['amount', '250.000 EUR', 'the point may separate thousands'],
  ['amount', '\u202E05.21', 'a person sees the digits in another order'],
  ['amount', '\u200F12.50', 'a sign turns the direction of writing'],
  ['amount', '1.2E+03', 'its digits are lost'],
  ['account', '1.23E+15', 'its digits are lost'],
  ['account', '#N/A', 'the spreadsheet could not calculate it'],
  ['account', 'wac_7Hk2 mQ9vT4xR', 'a blank is seen'],
  ['currency', '$', 'several currencies have this sign'],
  ['amount', '00', 'it is zero'],
  ['amount', '', 'it is empty'],
  ['currency', 'Euro', 'it is no code'],
  ['currency', 'eux', 'it is no currency'],
  ['account', 'Marta Ruiz', 'it is no account'],
  ['id', 'inv 1', 'the policy does not say how it becomes an id'],
  ['id', '=inv-1', 'it is a formula'],
];

for (const [column, text, why] of LEFT) {
  test(`${JSON.stringify(text)} in the column ${column} is left: ${why}`, async () => {
    const row = Object.values({ ...CELLS, [column]: text }).map((cell) =>
      cell.includes(',') ? `"${cell}"` : cell,
    );
    const csv = `id,account,currency,amount\n${row.join(',')}\n`;
    assert.equal(await correctedText(csv), csv);
  });
}

test('with numbers declared, an amount is corrected as the policy writes it', async () => {
  const format = formatOf({}, { numbers: { decimal: ',', group: '.' } });
  const csv = (...amounts: readonly string[]): string =>
    ['id;account;currency;amount', ...amounts.map((amount, at) => `i-${at};wac_1;EUR;${amount}`), ''].join(
      '\n',
    );
  assert.equal(
    await correctedText(csv(' 1.857,05', ',5', '012,50', '1.857.05'), format),
    csv('1.857,05', '0,5', '12,50', '1.857.05'),
  );
});

test('byte order mark, separators, line ends, quotes, blank lines, notes and other rows stay to the byte', async () => {
  const file = (id: string, currency: string, amount: string): string =>
    `\uFEFFsep=;\r\nid;note;account;currency;amount\r\n\r\n" x";" a; ""b""\r\n c ";wac_1;EUR;1.00 \r;;;;\r\n${id};Grüße;wac_1;"${currency}";${amount}`;
  const { bytes, corrections } = await corrected(Buffer.from(file('i-2 ', 'eur', '007')), formatOf(), {});
  assert.equal(
    Buffer.from(bytes).toString('utf8'),
    file('i-2', 'EUR', '7').replace('" x"', '"x"').replace('1.00 \r', '1.00\r'),
  );
  assert.deepEqual(
    corrections.map(({ line, row, payment, column, was, now }) => [line, row, payment, column, was, now]),
    [
      [4, 3, 'x', 'id', ' x', 'x'],
      [4, 3, 'x', 'amount', '1.00 ', '1.00'],
      [7, 5, 'i-2', 'id', 'i-2 ', 'i-2'],
      [7, 5, 'i-2', 'currency', 'eur', 'EUR'],
      [7, 5, 'i-2', 'amount', '007', '7'],
    ],
  );
});

test('a file in another encoding stays in it', async () => {
  const text = (id: string, currency: string): string =>
    `id;note;account;currency;amount\r\n${id};Grüße;wac_1;${currency};1.00\r\n`;
  const slugs = { slugs: true } as const;
  const latin = await corrected(
    Buffer.from(text(' Müller 1', 'eur'), 'latin1'),
    formatOf({}, { ...slugs, encoding: 'windows-1252' }),
    {},
  );
  // With `as: slug` a blank in front of an id is no mistake. The payment is called as the file calls it.
  assert.equal(Buffer.from(latin.bytes).toString('latin1'), text(' Müller 1', 'EUR'));
  assert.deepEqual(
    latin.corrections.map(({ payment }) => payment),
    [' Müller 1'],
  );
  const format = formatOf({}, { encoding: 'utf-16' });
  const little = await corrected(Buffer.from(`\uFEFF${text('i-1 ', 'eur')}`, 'utf16le'), format, {});
  assert.equal(Buffer.from(little.bytes).toString('utf16le'), `\uFEFF${text('i-1', 'EUR')}`);
  const big = await corrected(Buffer.from(`\uFEFF${text('i-1 ', 'eur')}`, 'utf16le').swap16(), format, {});
  assert.equal(Buffer.from(big.bytes).swap16().toString('utf16le'), `\uFEFF${text('i-1', 'EUR')}`);
});

test('bytes that are no text stay, and rows in front of them are corrected', async () => {
  const broken = (currency: string): Buffer =>
    Buffer.concat([
      Buffer.from(`id,account,currency,amount\ni-1,wac_1,${currency},1\n`),
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from('i-2,wac_1,eur,1\n'),
    ]);
  const { bytes } = await corrected(broken('eur'), formatOf(), {});
  assert.deepEqual(Buffer.from(bytes), broken('EUR'));
});

test('names of columns with blanks around them or in other capitals are corrected, and then their rows', async () => {
  const format = formatOf({ currency: 'ccy' });
  assert.equal(
    await correctedText('sep=;\nID ; account;"Ccy "; Amount;a,b,c,d,e\ni-1; wac_1; eur ; 1.00;x\n', format),
    'sep=;\nid;account;"ccy";amount;a,b,c,d,e\ni-1;wac_1;EUR;1.00;x\n',
  );
  // Which of the two is meant is not certain.
  const twice = 'id,account,ccy,Amount,AMOUNT\ni-1,wac_1,eur,1.00,2.00\n';
  assert.equal(await correctedText(twice, format), twice);
});

/** Whole files, with every correction. */
const FILES: readonly (readonly [what: string, was: string, now: string, corrections: number])[] = [
  [
    'empty cells that a spreadsheet left out at the end',
    'id,account,currency,amount,note,more\ni-1,wac_1,eur,1.00\ni-2,wac_1,EUR,2.00,x\n',
    'id,account,currency,amount,note,more\ni-1,wac_1,EUR,1.00,,\ni-2,wac_1,EUR,2.00,x,\n',
    3,
  ],
  [
    'empty cells beyond the first line',
    'id;account;currency;amount\r\ni-1;wac_1;EUR;1.00;; ;\r\ni-2;wac_1;EUR;2.00\r\n',
    'id;account;currency;amount\r\ni-1;wac_1;EUR;1.00\r\ni-2;wac_1;EUR;2.00\r\n',
    1,
  ],
  [
    'the first line once more, with a byte order mark, as where two files were put together',
    'id,account,currency,amount\ni-1,wac_1,EUR,1.00\n\uFEFFID,account,Currency,"amount"\ni-2,wac_1,EUR,2.00\n',
    'id,account,currency,amount\ni-1,wac_1,EUR,1.00\n\ni-2,wac_1,EUR,2.00\n',
    1,
  ],
  [
    'quotes of a word processor around a cell that holds a comma',
    'id,account,currency,amount,note\ni-1,wac_1,EUR,1.00,“November, first half”\n',
    'id,account,currency,amount,note\ni-1,wac_1,EUR,1.00,"November, first half"\n',
    1,
  ],
  [
    'characters that nobody can see, in the names of columns and in notes',
    '\uFEFFid,ac\u00ADcount,currency,amount,no\u200Bte\ni-1,wac_1,EUR,1.00,"Mül\u00ADler ""A"", می\u200Cخواهم"\ni-2,wac_1,EUR,2.00,"\uFEFFx"\n',
    '\uFEFFid,account,currency,amount,note\ni-1,wac_1,EUR,1.00,"Müller ""A"", می\u200Cخواهم"\ni-2,wac_1,EUR,2.00,"x"\n',
    4,
  ],
  [
    'a JSON list',
    '[{"id": "i-1", "account": "wac_1",\r\n   "currency": "eur", "amount": "1.00", "note": "a, [b] {c}"},\r\n {"id":"i-2","account":"wac_1","currency":"EUR","amount":"2.00","tags":[{"a":1}]}]\r\n',
    '{"id": "i-1", "account": "wac_1", "currency": "EUR", "amount": "1.00", "note": "a, [b] {c}"}\n{"id":"i-2","account":"wac_1","currency":"EUR","amount":"2.00","tags":[{"a":1}]}\n',
    2,
  ],
  [
    'commas between the lines of JSON',
    '{"id":"i-1","account":"wac_1","currency":"EUR","amount":"1.00"} ,\n{"id":"i-2","account":"wac_1","currency":"EUR","amount":"2.00"}\n',
    '{"id":"i-1","account":"wac_1","currency":"EUR","amount":"1.00"} \n{"id":"i-2","account":"wac_1","currency":"EUR","amount":"2.00"}\n',
    1,
  ],
];

for (const [what, was, now, count] of FILES) {
  test(`${what}: corrected, and then there is nothing to correct any more`, async () => {
    const { bytes, corrections } = await corrected(Buffer.from(was), formatOf(), {});
    assert.equal(Buffer.from(bytes).toString('utf8'), now);
    assert.equal(corrections.length, count);
    assert.equal(await correctedText(now), now);
  });
}

test('a form that could be read in two ways stays', async () => {
  for (const text of [
    // A value that is read is missing: nobody knows which cell was left out.
    'id,account,amount,currency\ni-1,wac_1,1.00\n',
    'id,note,account,currency,amount,more\ni-1,wac_1,EUR,1.00\n',
    // Of a note that also turns the direction of writing, nobody knows what is meant.
    'id,account,currency,amount,note\ni-1,wac_1,EUR,1.00,\u200Ba\u202Eb\n',
    // Something stands in the cells beyond.
    'id,account,currency,amount\ni-1,wac_1,EUR,1.00,,x\n',
    // Which quote belongs to which cell?
    'id,account,currency,amount,note\ni-1,wac_1,EUR,1.00,“a,b\n',
    // The columns in another order: the rows behind are of another file.
    'id,account,currency,amount\nid,account,amount,currency\ni-1,wac_1,1.00,EUR\n',
    '[{"id":"i-1"}, 5]\n',
    '[{"id":"i-1"}\n',
  ])
    assert.equal(await correctedText(text), text);
});

test('rows that are no payments, and mistakes that are not certain, stay as they are', async () => {
  const format = formatOf({}, { ignore: { id: 'Summe' } });
  const text = (currency: string): string =>
    `id,account,currency,amount\nSumme,,eur,3\ni-1,wac_1,eur\ni-2,"wac_1",${currency},1\ni"3,wac_1,eur,1\n`;
  assert.equal(await correctedText(text('eur'), format), text('EUR'));
  for (const other of ['', '\n', 'PK\u0003\u0004', '[\n']) assert.equal(await correctedText(other), other);
});
