/** The results of a batch: every row as it was written, and what became of it behind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatOf } from '../support/batch-format.ts';
import { resultLines, type RowResult } from '../../language/batch/results.ts';

const FORMAT = formatOf({ id: 'ref', currency: 'ccy' });
const PAID: RowResult = {
  outcome: 'PAID',
  withdrawalId: 'wtd_1',
  status: 'COMPLETED',
  sentAt: '2026-11-21T23:30:05.120Z',
  seenPaidAt: null,
  reason: null,
  traceId: 't-1',
};

async function linesOf(
  text: string,
  results: Readonly<Record<string, RowResult>> = {},
  format = FORMAT,
): Promise<string[]> {
  const bytes = (async function* () {
    yield await Promise.resolve(Buffer.from(text));
  })();
  const lines: string[] = [];
  for await (const line of resultLines(bytes, { format, zone: 'Europe/Paris' }, (id) =>
    Promise.resolve(results[id] ?? PAID),
  ))
    lines.push(line);
  return lines;
}

test('rows of CSV stay as they are written, whatever their separator, quotes and line ends', async () => {
  const text =
    '\uFEFFnote;ref;account;ccy;amount\r\n"a;""b""\r\nc";p-1;wac_1;EUR;1.50\r\n\r\n2;p-2;wac_1;EUR;2.00';
  const refused = {
    outcome: 'NOT_PAID',
    withdrawalId: null,
    status: null,
    reason: 'It says "no; never".',
    traceId: null,
  };
  assert.deepEqual(await linesOf(text, { 'p-2': refused }), [
    '\uFEFFnote;ref;account;ccy;amount;outcome;withdrawal_id;status;sent_at (Europe/Paris);seen_paid_at (Europe/Paris);reason;trace_id\r\n',
    '"a;""b""\r\nc";p-1;wac_1;EUR;1.50;PAID;wtd_1;COMPLETED;2026-11-22 00:30:05;;;t-1\r\n',
    '2;p-2;wac_1;EUR;2.00;NOT_PAID;;;;;"It says ""no; never"".";\r\n',
  ]);
});

test('nothing that is added runs as a formula or breaks a row', async () => {
  const evil = {
    outcome: 'NOT_PAID',
    withdrawalId: '=1+1',
    status: ' +cmd|x',
    reason: '@a\r\nb,"',
    traceId: '-1',
  };
  const [, row] = await linesOf('ref,account,ccy,amount\np-1,wac_1,EUR,1\n', { 'p-1': evil });
  assert.ok(row !== undefined);
  assert.ok(row.startsWith("p-1,wac_1,EUR,1,NOT_PAID,'=1+1,' +cmd|x,,,\"'@a"), row);
  assert.doesNotMatch(row, /[\r\n](?!$)/);
});

test('columns that have the names of results stay, and the new ones are called otherwise', async () => {
  const [header] = await linesOf('ref,status,account,ccy,amount,outcome\np-1,x,wac_1,EUR,1,y\n');
  assert.equal(
    header,
    'ref,status,account,ccy,amount,outcome,cambist_outcome,withdrawal_id,cambist_status,sent_at (Europe/Paris),seen_paid_at (Europe/Paris),reason,trace_id\n',
  );
});

test('a column without a name stays, and the results stand behind it', async () => {
  const lines = await linesOf('ref,account,ccy,amount,,\np-1,wac_1,EUR,1,,\n');
  assert.deepEqual(
    lines.map((line) => line.split(',').indexOf(line.startsWith('ref') ? 'outcome' : 'PAID')),
    [6, 6],
  );
});

test('JSON Lines stay JSON Lines; the trailer is left out', async () => {
  const row = { ref: 'p-1', account: 'wac_1', ccy: 'EUR', amount: '1.00', status: 'mine' };
  const lines = await linesOf(`${JSON.stringify(row)} \n{"trailer":{"count":1}}\n`);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      {
        ...row,
        outcome: 'PAID',
        withdrawal_id: 'wtd_1',
        cambist_status: 'COMPLETED',
        sent_at: '2026-11-21T23:30:05.120Z',
        seen_paid_at: null,
        reason: null,
        trace_id: 't-1',
      },
    ],
  );
});

test('the line that names the separator stays where the encoding does, ids keep their text, and rows that are no payments are left out', async () => {
  const text = 'sep=;\r\nref;account;ccy;amount\r\nR 1/2;wac_1;EUR;1,50\r\nSumme;;;1,50\r\n;;;\r\n';
  const format = { ...FORMAT, slugs: true, ignore: { ref: 'Summe' } };
  const refused = { ...PAID, outcome: 'NOT_PAID' };
  assert.deepEqual(await linesOf(text, { 'R-1-2': refused }, format), [
    'sep=;\r\nref;account;ccy;amount;outcome;withdrawal_id;status;sent_at (Europe/Paris);seen_paid_at (Europe/Paris);reason;trace_id\r\n',
    'R 1/2;wac_1;EUR;1,50;NOT_PAID;wtd_1;COMPLETED;2026-11-22 00:30:05;;;t-1\r\n',
  ]);
  // In front of such a line Excel does not heed the mark of the new encoding, and would garble every "ü".
  const [first] = await linesOf(text, { 'R-1-2': refused }, { ...format, encoding: 'windows-1252' });
  assert.match(first ?? '', /^\uFEFFref;account;ccy;amount;outcome;/);
});
