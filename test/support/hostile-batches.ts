/**
 * Batch files as people, spreadsheets and attackers make them, each with everything that `check` says of it. One table, to
 * be read; the test writes each as a real file and types the command.
 */

export const ACCOUNT = 'wac_7Hk2mQ9vT4xR';
/** One that takes EUR. */
export const EUR_ACCOUNT = 'wac_7Hk2mQ9vT4xS';
const HEADER = 'id,account,currency,amount,note';

/** What a file is, its bytes, and what is said: `BATCH_` left out, `CODE line:column`, warnings with `?` in front. */
export type HostileBatch = {
  readonly what: string;
  readonly bytes: Buffer;
  readonly said: readonly string[];
  /** What is added to the short payout policy. */
  readonly policy: string;
  readonly options: readonly string[];
  readonly file: string;
};

function batch(
  what: string,
  text: string | Buffer,
  said: readonly string[],
  more: Partial<Pick<HostileBatch, 'policy' | 'options' | 'file'>> = {},
): HostileBatch {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return { what, bytes, said, policy: '', options: [], file: 'b.csv', ...more };
}

/** One payment under the usual first line, on line 2. */
function row(cells: {
  id?: string;
  account?: string;
  currency?: string;
  amount?: string;
  note?: string;
}): string {
  const { id = 'p1', account = ACCOUNT, currency = 'MXN', amount = '1.00', note = 'x' } = cells;
  return `${HEADER}\n${[id, account, currency, amount, note].join(',')}\n`;
}

/** The amount begins in column 25 of such a row. */
const AMOUNTS: readonly (readonly [amount: string, code: string])[] = [
  ['"1,234.56"', 'AMOUNT'],
  ['"1.234,56"', 'AMOUNT'],
  ['"1,234"', 'AMOUNT'],
  ['"12,5"', 'AMOUNT'],
  ['1e3', 'SHORTENED'],
  ['1.23E+15', 'SHORTENED'],
  ['"1,23E+05"', 'SHORTENED'],
  ['1E-2', 'SHORTENED'],
  ['1 000.00', 'AMOUNT'],
  [' 1.00', 'AMOUNT'],
  ['1.00 ', 'AMOUNT'],
  ['1\u00A0000.00', 'AMOUNT'],
  ['1\u202F000.00', 'AMOUNT'],
  ["1'000.00", 'AMOUNT'],
  ['1_000.00', 'AMOUNT'],
  ['-1.00', 'AMOUNT_BELOW_ZERO'],
  ['1.00-', 'AMOUNT_BELOW_ZERO'],
  ['-1.00 MXN', 'AMOUNT_BELOW_ZERO'],
  ['MXN -1.00', 'AMOUNT_BELOW_ZERO'],
  ['- 1.00', 'AMOUNT_BELOW_ZERO'],
  ['+1.00', 'AMOUNT'],
  ['\u22121.00', 'AMOUNT_BELOW_ZERO'],
  ['(1.00)', 'AMOUNT_BELOW_ZERO'],
  ['($1.00)', 'AMOUNT_BELOW_ZERO'],
  ['$1.00', 'AMOUNT_WITH_CURRENCY'],
  ['1.00€', 'AMOUNT_WITH_CURRENCY'],
  ['1.00 MXN', 'AMOUNT_WITH_CURRENCY'],
  ['1.00 EUR', 'AMOUNT_WITH_CURRENCY'],
  ["'1.00", 'QUOTES'],
  ['“1.00”', 'QUOTES'],
  ['#DIV/0!', 'SHEET_ERROR'],
  ['########', 'SHEET_ERROR'],
  ['MXN 1.00', 'AMOUNT_WITH_CURRENCY'],
  ['0', 'AMOUNT'],
  ['0.00', 'AMOUNT'],
  ['00', 'AMOUNT'],
  ['01.00', 'AMOUNT'],
  ['.50', 'AMOUNT'],
  ['1.', 'AMOUNT'],
  ['1.0.0', 'AMOUNT'],
  ['1,00', 'CELLS'],
  ['0x10', 'AMOUNT'],
  ['1.00%', 'AMOUNT'],
  ['NaN', 'AMOUNT'],
  ['Infinity', 'AMOUNT'],
  ['null', 'AMOUNT'],
  ['one', 'AMOUNT'],
  ['???', 'AMOUNT'],
  ['١٢', 'AMOUNT'],
  ['１.００', 'AMOUNT'],
  ['1.000', 'AMOUNT_DECIMALS'],
  ['1.234', 'AMOUNT_DECIMALS'],
  ['0.001', 'AMOUNT_DECIMALS'],
  ['1.0000000000000000001', 'AMOUNT'],
  ['123456789012345678901', 'AMOUNT'],
  [`1${'0'.repeat(500)}`, 'AMOUNT'],
  ['', 'EMPTY_FIELD'],
  [' ', 'AMOUNT'],
  ['=1+1', 'FORMULA'],
  ['=1.00', 'FORMULA'],
  ['@1.00', 'FORMULA'],
  ['1.00\u200B', 'CONTROL_CHARACTER'],
  ['1\u00AD0.00', 'CONTROL_CHARACTER'],
  ['\u202E00.1', 'CONTROL_CHARACTER'],
  ['1.00\0', 'CONTROL_CHARACTER'],
  ['"1.\n00"', 'CONTROL_CHARACTER'],
  ['\t1.00', 'CONTROL_CHARACTER'],
];

/** The id begins in column 1. */
const IDS: readonly (readonly [id: string, code: string])[] = [
  ['', 'EMPTY_FIELD'],
  [' p1', 'ID'],
  ['p1 ', 'ID'],
  ['p 1', 'ID'],
  ['p.1', 'ID'],
  ['p/1', 'ID'],
  ['p~2', 'ID'],
  ['../p', 'ID'],
  ['-p', 'FORMULA'],
  ['_p', 'ID'],
  ['#1', 'ID'],
  ['é1', 'ID'],
  ['р1', 'ID'],
  ['№1', 'ID'],
  ['p'.repeat(65), 'ID'],
  ['p'.repeat(5_000), 'ID'],
  ['=p', 'FORMULA'],
  ['+p', 'FORMULA'],
  ['@p', 'FORMULA'],
  ['＝p', 'FORMULA'],
  ['p\u200D1', 'CONTROL_CHARACTER'],
  ['\u2066p1', 'CONTROL_CHARACTER'],
  ['p\u001B[31m', 'CONTROL_CHARACTER'],
  ['p\u00071', 'CONTROL_CHARACTER'],
  ["'p1", 'QUOTES'],
  ['“p1”', 'QUOTES'],
  ['1.23E+15', 'SHORTENED'],
  ['#N/A', 'SHEET_ERROR'],
  ['p;1', 'ID'],
  ['__proto__', 'ID'],
];

/** The account begins in column 4. */
const ACCOUNTS: readonly (readonly [account: string, code: string])[] = [
  ['', 'EMPTY_FIELD'],
  ['wac_', 'ACCOUNT'],
  ['wac_0OIl', 'ACCOUNT'],
  ['WAC_7Hk2mQ9vT4xR', 'ACCOUNT'],
  [' wac_7Hk2mQ9vT4xR', 'ACCOUNT'],
  ['wac-7Hk2mQ9vT4xR', 'ACCOUNT'],
  [`wac_${'7'.repeat(23)}`, 'ACCOUNT'],
  ['DE89370400440532013000', 'ACCOUNT'],
  ['3F2504E0-4F89-11D3-9A0C-0305E82C3301', 'ACCOUNT'],
  ['wac_7Hk2mQ9vT4xR/', 'ACCOUNT'],
  ['1.23457E+15', 'SHORTENED'],
  ['«wac_7Hk2mQ9vT4xR»', 'QUOTES'],
  ['#REF!', 'SHEET_ERROR'],
  ['wac_7Hk2mQ9vT4xR\u200C', 'CONTROL_CHARACTER'],
  ['=HYPERLINK("x")', 'SYNTAX'],
  ['"=HYPERLINK(""x"")"', 'FORMULA'],
];

/** The currency begins in column 21. */
const CURRENCIES: readonly (readonly [currency: string, code: string])[] = [
  ['', 'EMPTY_FIELD'],
  ['mxn', 'CURRENCY'],
  ['Mxn', 'CURRENCY'],
  ['MX', 'CURRENCY_UNKNOWN'],
  ['M', 'CURRENCY'],
  ['ZZZ', 'CURRENCY_UNKNOWN'],
  ['PESO', 'CURRENCY_UNKNOWN'],
  ['$', 'CURRENCY'],
  ['МXN', 'CURRENCY'],
  ['MXN ', 'CURRENCY'],
  ['MXN\u200B', 'CONTROL_CHARACTER'],
  ['constructor', 'CURRENCY'],
];

/** The note begins in column 30; it is only kept. */
const NOTES: readonly (readonly [note: string, code: string | null])[] = [
  ['=cmd', 'FORMULA'],
  ['"=cmd|\' /C calc\'!A0"', 'FORMULA'],
  ['+SUM(A1)', 'FORMULA'],
  ['-2+3+cmd', 'FORMULA'],
  ['@SUM(1)', 'FORMULA'],
  [' =cmd', 'FORMULA'],
  ['"\t=cmd"', 'FORMULA'],
  ['＋1a', 'FORMULA'],
  ['a\u202Eb', 'CONTROL_CHARACTER'],
  ['a\u2067b', 'CONTROL_CHARACTER'],
  ['a\u200Bb', 'CONTROL_CHARACTER'],
  ['a\uFEFFb', 'CONTROL_CHARACTER'],
  ['a\u2028b', 'CONTROL_CHARACTER'],
  ['a\u0085b', 'CONTROL_CHARACTER'],
  ['\u001B]0;owned\u0007', 'CONTROL_CHARACTER'],
  ['a\0b', 'CONTROL_CHARACTER'],
  ['', null],
  ['-', null],
  ['-12.50', null],
  ['+49 170 1234567', null],
  ['"two\nlines"', null],
  ['"a ""quoted"" word; and, commas"', null],
  ['می‌خواهم', null],
  ['👩‍🚀 Ann', null],
  ["O'Neil & <sons>", null],
  ['__proto__', null],
  ["'; DROP TABLE payments; --", null],
];

const P = (id: string, amount = '1.00', note = 'x'): string => `${id},${ACCOUNT},MXN,${amount},${note}`;
const lines = (...all: readonly string[]): string => `${all.join('\n')}\n`;

const STRUCTURE: readonly HostileBatch[] = [
  batch('nothing', '', ['EMPTY 1:1']),
  batch('only a byte order mark', '\uFEFF', ['EMPTY 1:1']),
  batch('only line ends', '\n\r\n\n', ['EMPTY 1:1']),
  batch('only blanks', '   ', ['EMPTY 1:1']),
  batch('only a first line', lines(HEADER), ['EMPTY 1:1']),
  batch('no first line', lines(P('p1')), [
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
  ]),
  batch('a column is missing', lines('id,account,amount', 'p1,x,1'), ['COLUMN_MISSING 1:1']),
  batch('capitals in the first line', lines(HEADER.toUpperCase(), P('p1')), [
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
  ]),
  batch('blanks in the first line', lines('id, account,currency,amount,note', P('p1')), [
    'COLUMN_MISSING 1:1',
  ]),
  batch('a column twice', lines('id,account,currency,amount,amount', P('p1')), ['COLUMN_TWICE 1:28']),
  batch('another column twice', lines(`${HEADER},note`, `${P('p1')},y`), ['COLUMN_TWICE 1:33']),
  batch('columns without a name and with nothing in them', lines(`${HEADER},, `, `${P('p1')}, ,`), []),
  batch(
    'a column without a name, with something in it',
    lines(`${HEADER},`, `${P('p1')},`, `${P('p2', '2.00')},y`),
    ['COLUMN 3:32'],
  ),
  batch('the first line once more', lines(HEADER, P('p1'), `\uFEFF${HEADER}`, P('p2', '2.00')), [
    'HEADER_TWICE 3:1',
  ]),
  batch(
    'the first line once more, in another order',
    lines(HEADER, P('p1'), 'account,id,currency,amount,note'),
    ['HEADER_TWICE 3:1'],
  ),
  batch('a formula in the first line', lines(`${HEADER},=x`, `${P('p1')},y`), ['FORMULA 1:33']),
  batch('a control character in the first line', lines(`${HEADER},a\u202Eb`, `${P('p1')},y`), [
    'CONTROL_CHARACTER 1:33',
  ]),
  batch('a hint for a spreadsheet', lines('sep=,', HEADER, P('p1')), []),
  batch('a first line of 20,000 characters', lines(`${HEADER},${'n'.repeat(20_000)}`, P('p1')), [
    'TOO_LARGE 1:1',
  ]),
  batch('too few cells', lines(HEADER, P('p1'), `p2,${ACCOUNT},MXN,1.00`, P('p3', '3.00')), ['CELLS 3:1']),
  batch('too many cells', lines(HEADER, `${P('p1')},y`), ['CELLS 2:1']),
  batch('a row of separators', lines(HEADER, P('p1'), ',,,,'), []),
  batch('a row of one cell', lines(HEADER, P('p1'), 'total'), ['CELLS 3:1']),
  batch('blank lines between rows', lines(HEADER, '', P('p1'), '', '', P('p2', '2.00')), []),
  batch('no line end at the end', lines(HEADER, P('p1')).trimEnd(), []),
  batch('semicolons', lines(HEADER, P('p1')).replaceAll(',', ';'), []),
  batch('tabs', lines(HEADER, P('p1')).replaceAll(',', '\t'), []),
  batch('bars', lines(HEADER, P('p1')).replaceAll(',', '|'), []),
  batch('a separator that changes', lines(HEADER, P('p1').replaceAll(',', ';')), ['CELLS 2:1']),
  batch('line ends of Windows', lines(HEADER, P('p1'), P('p2', '2.00')).replaceAll('\n', '\r\n'), []),
  batch('line ends of old Macs', lines(HEADER, P('p1'), P('p2', '0')).replaceAll('\n', '\r'), [
    'AMOUNT 3:25',
  ]),
  batch('mixed line ends', `${HEADER}\r\n${P('p1')}\n${P('p2', '0')}\r\n`, ['AMOUNT 3:25']),
  batch('a byte order mark', `\uFEFF${lines(HEADER, P('p1', '0'))}`, ['AMOUNT 2:25']),
  batch('everything in quotes', lines(HEADER, P('p1')).replaceAll(/[^,\n]+/g, '"$&"'), []),
  batch('a mistake behind a cell of two lines', lines(HEADER, P('p1', '1.00', '"a\nb"'), P('p2', '0')), [
    'AMOUNT 4:25',
  ]),
  batch(
    'a mistake behind a cell with separators',
    lines('note,id,account,currency,amount', `"a,b",p1,${ACCOUNT},MXN,0`),
    ['AMOUNT 2:31'],
  ),
  batch('a quote inside a cell', lines(HEADER, P('p1', '1.00', '5" pipe'), P('p2', '0')), [
    'SYNTAX 2:30',
    'AMOUNT 3:25',
  ]),
  batch('text behind a closing quote', lines(HEADER, P('p1', '1.00', '"a"b'), P('p2', '0')), [
    'SYNTAX 2:30',
    'AMOUNT 3:25',
  ]),
  batch('a quote that is never closed', lines(HEADER, P('p0', '0'), P('p1', '1.00', '"a'), P('p2', '0')), [
    'AMOUNT 2:25',
    'SYNTAX 3:30',
  ]),
  batch(
    'a quote that is closed rows later',
    lines(HEADER, P('p1', '1.00', '"a'), P('p2'), P('p3', '1.00', 'b"')),
    ['SYNTAX 2:30'],
  ),
  batch('a row of 20,000 characters', lines(HEADER, P('p1', '1.00', 'n'.repeat(20_000)), P('p2', '0')), [
    'TOO_LARGE 2:1',
    'AMOUNT 3:25',
  ]),
  batch(
    'a row of a million characters',
    lines(HEADER, P('p1', '0'), P('p2', '1.00', 'n'.repeat(1_100_000))),
    ['AMOUNT 2:25', 'TOO_LARGE 3:1'],
  ),
  batch(
    'a cell of a million characters in quotes',
    lines(HEADER, P('p1', '0'), `p2,"${'n\n'.repeat(550_000)}"`),
    ['AMOUNT 2:25', 'TOO_LARGE 3:1'],
  ),
  batch('a hundred thousand separators', lines(HEADER, P('p1'), ','.repeat(100_000)), []),
  batch('the same id twice', lines(HEADER, P('p1'), P('p1', '2.00')), ['DUPLICATE_ID 3:1']),
  batch('the same id in capitals', lines(HEADER, P('p1'), P('P1', '2.00')), ['DUPLICATE_ID 3:1']),
  batch('the same id three times', lines(HEADER, P('p1'), P('p1', '2.00'), P('p1', '3.00')), [
    'DUPLICATE_ID 3:1',
    'DUPLICATE_ID 4:1',
  ]),
  batch('an id twice, and wrong amounts', lines(HEADER, P('p1', '0'), P('p1', 'x')), [
    'AMOUNT 2:25',
    'AMOUNT 3:25',
    'DUPLICATE_ID 3:1',
  ]),
  batch('the same payment twice', lines(HEADER, P('p1'), P('p2', '1.0')), ['?LOOK_ALIKE 3:25']),
  batch('a currency that cannot be withdrawn', row({ currency: 'JPY', amount: '5' }), [
    '?CURRENCY_NOT_WITHDRAWABLE 2:21',
  ]),
  batch('decimals of yen', row({ currency: 'JPY', amount: '5.00' }), ['?CURRENCY_NOT_WITHDRAWABLE 2:21']),
  batch('decimals of a stablecoin', row({ currency: 'USDC', amount: '5.123456' }), []),
  batch(
    'a mistake in every cell',
    row({ id: ' ', account: 'x', currency: 'mxn', amount: '1,5', note: '=x' }).replace('1,5', '"1,5"'),
    ['ID 2:1', 'ACCOUNT 2:3', 'CURRENCY 2:5', 'AMOUNT 2:9', 'FORMULA 2:15'],
  ),
  batch('UTF-16 with a byte order mark', Buffer.from(`\uFEFF${lines(HEADER, P('p1'))}`, 'utf16le'), [
    'ENCODING 1:1',
  ]),
  batch('UTF-16 without one', Buffer.from(lines(HEADER, P('p1')), 'utf16le'), ['ENCODING 1:1']),
  batch(
    'Latin-1',
    Buffer.from(lines(HEADER, P('p0', '0'), P('p1', '1.00', 'José'), P('p2', '0')), 'latin1'),
    ['AMOUNT 2:25', 'ENCODING 3:33'],
  ),
  batch('half a character at the end', Buffer.concat([Buffer.from(row({})), Buffer.from([0xc3])]), [
    'ENCODING 3:1',
  ]),
  batch('an overlong encoding', Buffer.concat([Buffer.from(`${HEADER}\np1,`), Buffer.from([0xc0, 0xaf])]), [
    'ENCODING 2:4',
  ]),
  batch('a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]), [
    'ENCODING 1:1',
  ]),
  batch('a spreadsheet', Buffer.from('PK\u0003\u0004\u0014\0\u0006\0', 'latin1'), ['FORM 1:1']),
  batch('a YAML file', 'policy: 1\nkind: payout\n', [
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
    'COLUMN_MISSING 1:1',
  ]),
];

const J = (more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ id: 'p1', account: ACCOUNT, currency: 'MXN', amount: '1.00', ...more });
const jsonl = (what: string, text: string, said: readonly string[], policy = ''): HostileBatch =>
  batch(what, text, said, { file: 'b.jsonl', policy });

const JSON_LINES: readonly HostileBatch[] = [
  jsonl('JSON Lines', lines(J(), J({ id: 'p2', amount: '2.00' })), []),
  jsonl('with a byte order mark', `\uFEFF${lines(J())}`, []),
  jsonl('with line ends of Windows', `${J()}\r\n${J({ id: 'p2', amount: '2.00' })}\r\n`, []),
  jsonl('blank lines between', lines(J(), '', J({ id: 'p2', amount: '2.00' })), []),
  jsonl('other fields of any kind', lines(J({ n: 5, t: true, o: { a: [1, '}'] }, z: null })), []),
  jsonl('an amount as a number', lines(J({ amount: 1 })), ['AMOUNT_UNQUOTED 1:67']),
  jsonl('an amount as a long number', lines(J().replace('"1.00"', '1.00000000000000000001')), [
    'AMOUNT_UNQUOTED 1:67',
  ]),
  jsonl('an amount as null', lines(J({ amount: null })), ['AMOUNT_UNQUOTED 1:67']),
  jsonl('an amount as a list', lines(J({ amount: ['1.00'] })), ['AMOUNT_UNQUOTED 1:67']),
  jsonl('an id as a number', lines(J({ id: 5 })), ['WRONG_TYPE 1:7']),
  jsonl('an account as an object', lines(J({ account: {} })), ['WRONG_TYPE 1:22']),
  jsonl('an empty id', lines(J({ id: '' })), ['EMPTY_FIELD 1:7']),
  jsonl('no amount', lines(J({ amount: undefined })), ['MISSING_FIELD 1:1']),
  jsonl('an empty object', lines('{}'), [
    'MISSING_FIELD 1:1',
    'MISSING_FIELD 1:1',
    'MISSING_FIELD 1:1',
    'MISSING_FIELD 1:1',
  ]),
  jsonl('several mistakes in a line', lines(J({ id: undefined, currency: 5, amount: '0' })), [
    'MISSING_FIELD 1:1',
    'WRONG_TYPE 1:42',
    'AMOUNT 1:53',
  ]),
  jsonl('a field twice', lines(J().replace('}', ',"amount":"1000.00"}')), ['COLUMN_TWICE 1:74']),
  jsonl('another field twice', lines(J().replace('}', ',"n":1,"n":2}')), ['COLUMN_TWICE 1:80']),
  jsonl('a field twice behind an object', lines('{"o":{"id":"p0"},"id":"p1","o":1}'), ['COLUMN_TWICE 1:28']),
  jsonl('a digit as an escape', lines(J().replace('1.00', '1\\u0030.00')), ['TEXT 1:67']),
  jsonl('a hidden character as an escape', lines(J({ n: 'a' }).replace('"a"', '"\\u202e"')), [
    'CONTROL_CHARACTER 1:78',
  ]),
  jsonl('a prototype', lines(J().replace('{', '{"__proto__":{"amount":"5"},')), []),
  jsonl('a formula', lines(J({ n: '=cmd' })), ['FORMULA 1:78']),
  jsonl('a line that is no JSON', lines(J(), '{"id":', J({ id: 'p2', amount: '0' })), [
    'SYNTAX 2:1',
    'AMOUNT 3:67',
  ]),
  jsonl('a comma behind a line', lines(`${J()},`, J({ id: 'p2' })), ['SYNTAX 1:1']),
  jsonl('a text in a line', lines(J(), '"p1"'), ['SYNTAX 2:1']),
  jsonl('a list in a line', lines(J(), '["p1"]'), ['SYNTAX 2:1']),
  jsonl('null in a line', lines(J(), 'null'), ['SYNTAX 2:1']),
  jsonl('a list of all', `[\n${J()}\n]\n`, ['FORM 1:1']),
  jsonl('a list of all on one line', `[${J()}]\n`, ['FORM 1:1']),
  jsonl('an object over several lines', `{\n"id": "p1"\n}\n`, ['SYNTAX 1:1']),
  jsonl('comments', lines(J(), '// p2'), ['SYNTAX 2:1']),
  jsonl('thousands of brackets', lines(J(), '['.repeat(10_000)), ['SYNTAX 2:1']),
  jsonl('a line of 20,000 characters', lines(J(), J({ id: 'p2', n: 'n'.repeat(20_000) })), ['TOO_LARGE 2:1']),
  jsonl('a line of a million characters', lines(J(), J({ n: 'n'.repeat(1_100_000) })), ['TOO_LARGE 2:1']),
  jsonl('the same id twice', lines(J(), J({ amount: '2.00' })), ['DUPLICATE_ID 2:7']),
  jsonl('a trailer that is right', lines(J(), '{"trailer":{"count":1,"totals":["1 MXN"]}}'), []),
  jsonl('a trailer with another count', lines(J(), '{"trailer":{"count":2}}'), ['CONTROL_COUNT 2:1']),
  jsonl('a trailer with another total', lines(J(), '{"trailer":{"totals":["1.01 MXN"]}}'), [
    'CONTROL_TOTAL 2:1',
  ]),
  jsonl(
    'a trailer that lacks a currency',
    lines(J(), J({ id: 'p2', currency: 'EUR' }), '{"trailer":{"totals":["1 MXN"]}}'),
    ['CONTROL_TOTAL 3:1'],
  ),
  jsonl(
    'a trailer of an amount that cannot be read',
    lines(J({ amount: '0' }), '{"trailer":{"count":1,"totals":["9 MXN"]}}'),
    ['AMOUNT 1:67'],
  ),
  jsonl('a payment behind the trailer', lines(J(), '{"trailer":{"count":1}}', J({ id: 'p2' })), [
    'TRAILER 3:1',
  ]),
  jsonl('two trailers', lines(J(), '{"trailer":{"count":1}}', '{"trailer":{"count":1}}'), ['TRAILER 3:1']),
  jsonl('a trailer with a number as total', lines(J(), '{"trailer":{"totals":[1]}}'), ['TRAILER 2:1']),
  jsonl('a trailer with a currency twice', lines(J(), '{"trailer":{"totals":["1 MXN","1 MXN"]}}'), [
    'TRAILER 2:1',
  ]),
  jsonl('a trailer with a count twice', lines(J(), '{"trailer":{"count":2,"count":1}}'), ['TRAILER 2:1']),
  jsonl('a trailer with totals twice', lines(J(), '{"trailer":{"totals":["9 MXN"],"totals":["1 MXN"]}}'), [
    'TRAILER 2:1',
  ]),
  jsonl(
    'a trailer in the line of a payment',
    lines(J(), J({ id: 'p2' }).replace('{', '{"trailer":{"count":1},')),
    ['TRAILER 2:2'],
  ),
  jsonl('a column that is called trailer', lines(J({ trailer: 'AB-123' })), []),
  jsonl('a name of a column with escapes', J().replace('"amount"', '"\\u0061mount"'), ['TEXT 1:58']),
  jsonl('another name with escapes', J().replace('}', ',"Stra\\u00dfe":"x"}'), []),
  jsonl('a name that turns the direction', J().replace('}', ',"\\u202ename":"x"}'), [
    'CONTROL_CHARACTER 1:74',
  ]),
  jsonl('a name that is a formula', J().replace('}', ',"=1+1":"x"}'), ['FORMULA 1:74']),
  jsonl('an empty trailer', lines(J(), '{"trailer":{}}'), ['TRAILER 2:1']),
  jsonl('a trailer with a broken count', lines(J(), '{"trailer":{"count":1.5}}'), ['TRAILER 2:1']),
  jsonl('only a trailer', '{"trailer":{"count":0}}\n', ['EMPTY 1:1']),
];

const LIMITS = `limits: { per_payment: ["2.00 MXN"], paid_per_run: ["3.00 MXN"] }\n`;
const LIVE = `shortfall: skip\n${LIMITS}`;
const three = lines(HEADER, P('p1', '2.00'), P('p2', '1.00'), P('p3', '0.01'));

const RULES: readonly HostileBatch[] = [
  batch('limits that are reached', lines(HEADER, P('p1', '2.00'), P('p2', '1.00')), [], { policy: LIMITS }),
  batch('a payment above its limit', lines(HEADER, P('p1', '2.01')), ['AMOUNT_ABOVE_LIMIT 2:25'], {
    policy: LIMITS,
  }),
  batch('payments above their limit together', three, ['AMOUNT_ABOVE_LIMIT 4:25'], { policy: LIMITS }),
  batch('a currency without a limit in sandbox', row({ currency: 'EUR' }), [], { policy: LIMITS }),
  batch(
    'a currency without a limit in live',
    lines(HEADER, P('p1'), P('p2').replace('MXN', 'EUR').replace(ACCOUNT, EUR_ACCOUNT)),
    ['LIMIT_MISSING 3:21'],
    {
      policy: LIVE,
    },
  ),
  batch('the expected count and total', three, [], {
    options: ['--expect-count', '3', '--expect-total', '3.01 MXN'],
  }),
  batch('another count', three, ['CONTROL_COUNT --expect-count'], { options: ['--expect-count', '4'] }),
  batch('another total', three, ['CONTROL_TOTAL --expect-total'], {
    options: ['--expect-total', '3.02 MXN'],
  }),
  batch('the total of a currency that is not there', three, ['CONTROL_TOTAL --expect-total'], {
    options: ['--expect-total', '3.01 MXN', '--expect-total', '1 EUR'],
  }),
];

/** All of them. */
export const HOSTILE_BATCHES: readonly HostileBatch[] = [
  ...AMOUNTS.map(([amount, code]) =>
    batch(`the amount ${JSON.stringify(amount.slice(0, 30))}`, row({ amount }), [
      code === 'CELLS' ? 'CELLS 2:1' : `${code} 2:25`,
    ]),
  ),
  ...IDS.map(([id, code]) =>
    batch(`the id ${JSON.stringify(id.slice(0, 30))}`, row({ id }), [`${code} 2:1`]),
  ),
  ...ACCOUNTS.map(([account, code]) =>
    batch(`the account ${JSON.stringify(account)}`, row({ account }), [`${code} 2:4`]),
  ),
  ...CURRENCIES.map(([currency, code]) =>
    batch(`the currency ${JSON.stringify(currency)}`, row({ currency }), [`${code} 2:21`]),
  ),
  ...NOTES.map(([note, code]) =>
    batch(`the note ${JSON.stringify(note)}`, row({ note }), code === null ? [] : [`${code} 2:30`]),
  ),
  ...STRUCTURE,
  ...JSON_LINES,
  ...RULES,
];
