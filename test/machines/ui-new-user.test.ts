/**
 * A new user of payout batches, from the outside: a file as Excel writes it in Germany, a mistake in it, an account that is not
 * verified yet, and Reset in the Temporal UI. He has what `cambist up` gives to everybody, with its usual waits: after a
 * reset, a payment in doubt would wait for a day. He types commands, reads what they print, and clicks in a real browser.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { todayIn } from '../../calendar/business-date.ts';
import { add } from '../../domain/money.ts';
import { TemporalUi, at, findChromium, openBrowser } from '../support/browser.ts';
import { assertExit, commandProcess, documentOf, flat, type Ended } from '../support/commands.ts';
import { test } from '../support/sliced.ts';
import { openUpPlace, readyOf, startUp } from '../support/up.ts';

const executable = findChromium();
const skip =
  executable === null &&
  'no Chromium on this machine: install it (Debian: apt-get install chromium), or name it in CAMBIST_CHROMIUM';

/** Says how the file is written, as docs/payouts.md asks for: nothing is guessed. */
const POLICY = `policy: 1
kind: payout
name: rechnungen
environment: sandbox
zone: Europe/Berlin
payout:
  fund: { from: USD, mode: net }
  columns: { id: { column: Beleg-Nr, as: slug }, account: Konto, currency: Währung, amount: Betrag }
  numbers: { decimal: ',', group: '.' }
  ignore: { id: Summe }
guard: { worst_rate: ['16.90 MXN per USD'] }
settle: { until: funds }
shortfall: hold
limits:
  per_run: '5000.00 USD'
  paid_per_run: ['10000.00 EUR', '10000.00 USD', '50000.00 MXN']
`;

/** The service of `up` has this account from the beginning, and has not verified it. */
const UNVERIFIED = 'wac_Unver1fied22';

const HEADER = 'Beleg-Nr;Empfänger;Konto;Währung;Betrag;Verwendung';
/** The payments as they are meant. One cell has two lines, so that Excel counts the rows below it otherwise than an editor. */
const PAYMENTS = [
  'R-2026/0001;Müller & Söhne GmbH;wac_EuR5epaLive1;EUR;1.250,00;Miete November',
  'R-2026/0002;Marta Ruiz;wac_7Hk2mQ9vT4xR;MXN;16.500,00;"Honorar;\nzweite Hälfte"',
  'R-2026/0003;Jürgen Weiß;wac_EuR5epaLive1;EUR;310,5;Reisekosten',
  `R-2026/0004;Lucía Gómez;${UNVERIFIED};MXN;4.321,07;Oktober`,
  `R-2026/0005;Lucía Gómez;${UNVERIFIED};MXN;8.000,00;November`,
  'R-2026/0006;Ann Lee;wac_U5DFedw1re9;USD;2.400,00;Lizenz',
];
const SUMS = ['Summe;;;EUR;1.560,50;', 'Summe;;;MXN;28.821,07;', 'Summe;;;USD;2.400,00;'];
const EMPTY = [';;;;;', ';;;;;'];

/** What the payments come to, as the service must have it: one entry for each payment. */
const PAID = [
  ['R-2026-0001', 'EUR', '1250'],
  ['R-2026-0002', 'MXN', '16500'],
  ['R-2026-0003', 'EUR', '310.5'],
  ['R-2026-0004', 'MXN', '4321.07'],
  ['R-2026-0005', 'MXN', '8000'],
  ['R-2026-0006', 'USD', '2400'],
];
const LATE = ['R-2026-0004', 'R-2026-0005'];

/** Each mistake as the user has made it: what he meant, and what he wrote. */
const CURRENCY_IN_SMALL_LETTERS = [';MXN;16.500,00;', ';mxn;16.500,00;'] as const;
const ENGLISH_AMOUNT = [';2.400,00;Lizenz', ';2,400.00;Lizenz'] as const;
const ID_TWICE = ['R-2026/0005', 'R-2026/0004'] as const;

/** Columns of the results, and how a moment stands in them. */
const SENT = 'sent_at (Europe/Berlin)';
const PAID_AT = 'seen_paid_at (Europe/Berlin)';
const MOMENT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

type Swap = readonly [from: string, to: string];

const meant = [HEADER, ...PAYMENTS, ...SUMS, ...EMPTY].join('\r\n');

/** As Excel writes "CSV UTF-8" in Germany: with a byte order mark, semicolons, and the line ends of Windows. */
function asExcelWrites(text: string): string {
  return `\uFEFF${text}\r\n`;
}

function swapped(text: string, ...swaps: readonly Swap[]): string {
  let now = text;
  for (const [from, to] of swaps) {
    assert.ok(now.includes(from), `"${from}" is not in the text`);
    now = now.replace(from, to);
  }
  return now;
}

function undone([from, to]: Swap): Swap {
  return [to, from];
}

/** The cells by the names of their columns, as Excel reads a file in Germany. Asserts the mark and the line ends. */
function asExcelReads(bytes: Buffer): readonly Readonly<Record<string, string>>[] {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  assert.ok(text.startsWith('\uFEFF'), 'without a byte order mark Excel takes it for Windows-1252');
  const outsideQuotes = text.replaceAll(/"(?:[^"]|"")*"/g, '');
  assert.doesNotMatch(outsideQuotes, /(?<!\r)\n|\r(?!\n)/, 'every row ends as in Windows');
  return parse(text.slice(1), {
    delimiter: ';',
    record_delimiter: '\r\n',
    columns: true,
  }) as Readonly<Record<string, string>>[];
}

/** An amount as Excel reads it in Germany. */
function germanAmount(text: string): string {
  assert.match(text, /^\d{1,3}(\.\d{3})*,\d+$/);
  return add('0', text.replaceAll('.', '').replace(',', '.'));
}

test(
  'somebody who is new to batches mends his file from Excel, runs it, resets it in the browser, and reads in Excel who was paid',
  async (t) => {
    const place = openUpPlace((close) => t.after(close));
    const type = (...argv: readonly string[]): Promise<Ended> => commandProcess(place, argv);
    const pathOf = (name: string): string => join(place.folder, name);
    const ready = readyOf(startUp(place));
    await writeFile(pathOf('rechnungen.yaml'), POLICY);
    const id = `${todayIn('Europe/Berlin', Date.now())}-november`;
    const run = `rechnungen.${id}`;

    // 1. The file has three mistakes. `check` says where, and what to do; nothing was started for it.
    const wrong = swapped(asExcelWrites(meant), CURRENCY_IN_SMALL_LETTERS, ENGLISH_AMOUNT, ID_TWICE);
    await writeFile(pathOf('november.csv'), wrong);
    const refused = await type('check', 'rechnungen.yaml', '--batch', 'november.csv');
    assertExit(refused, 2);
    const complaints = flat(refused.stdout);
    for (const said of [
      'BATCH_CURRENCY november.csv:3:41 (payment R-2026/0002): "mxn" is not a currency code.',
      'fix: did you mean `MXN`?',
      'BATCH_DUPLICATE_ID november.csv:7:1 (row 6, payment R-2026/0004): "R-2026-0004", which the text becomes, is already on line 6',
      'fix: give each payment an id of its own, or delete the row',
      'BATCH_AMOUNT november.csv:8:41 (row 7, payment R-2026/0006): "2,400.00" is not an amount: the policy says that amounts are written as 1.857,05.',
      'fix: write 2.400,00, or correct `numbers` in the policy',
      'november.csv: 3 mistakes in 6 payments: 1 BATCH_CURRENCY, 1 BATCH_DUPLICATE_ID, 1 BATCH_AMOUNT',
    ])
      assert.ok(complaints.includes(said), `${said}\n\n${refused.stdout}`);

    // 2. `--fix` mends the one that is certain, and leaves every other byte as it is.
    const fixed = await type(...['check', 'rechnungen.yaml', '--batch', 'november.csv', '--fix', 'gut.csv']);
    assertExit(fixed, 2);
    assert.match(fixed.stdout, /^ +3 +R-2026\/0002 +Währung +"mxn" +"MXN"$/m);
    assert.match(fixed.stdout, /^gut\.csv: november\.csv with 1 correction\.$/m);
    assert.match(flat(fixed.stdout), /gut\.csv: 2 mistakes in 6 payments/);
    const corrected = await readFile(pathOf('gut.csv'), 'utf8');
    assert.equal(corrected, swapped(wrong, undone(CURRENCY_IN_SMALL_LETTERS)));

    // He mends the other two by hand, as the messages say.
    const byHand = swapped(corrected, undone(ENGLISH_AMOUNT), [
      `R-2026/0004;Lucía Gómez;${UNVERIFIED};MXN;8.000,00`,
      `R-2026/0005;Lucía Gómez;${UNVERIFIED};MXN;8.000,00`,
    ]);
    assert.equal(byHand, asExcelWrites(meant));
    await writeFile(pathOf('gut.csv'), byHand);
    const good = await type(
      ...['check', 'rechnungen.yaml', '--batch', 'gut.csv', '--expect-count', '6'],
      ...['--expect-total', '1560.50 EUR', '--expect-total', '28821.07 MXN', '--expect-total', '2400 USD'],
    );
    assertExit(good, 0);
    assert.match(good.stdout, /^gut\.csv: ok, 6 payments$/m);
    assert.match(good.stdout, /^MXN +3 +28,821\.07 +16,500\.00$/m);
    assert.match(
      flat(good.stdout),
      /BATCH_ROW_IGNORED gut\.csv:9:1 \(row 8\): the row is no payment, as `ignore` in the policy says\. Summe;;;EUR;1\.560,50;/,
    );

    // 3. One account is not verified. `run` says so before it starts, and pays the others.
    const { temporal, sandbox } = await ready;
    const ledger = async (): Promise<Ledger> => documentOf(await type('ledger', '--json')) as Ledger;
    const runIt = [
      ...['run', 'rechnungen.yaml', '--batch', 'gut.csv', '--id', id],
      ...['--out', 'ergebnis.csv', '--wait'],
    ];
    const ran = await type(...runIt);
    assertExit(ran, 5);
    assert.ok(
      flat(ran.stderr).includes(
        'Of 6 payments, 2 cannot be paid and would not be funded: 2 payments, ACCOUNT_UNUSABLE: Have the account verified at the service,',
      ),
      ran.stderr,
    );
    assert.match(flat(ran.stderr), /gut\.csv:6: R-2026-0004, 4,321\.07 MXN to wac_Unver1fied22\./);
    assert.match(flat(ran.stderr), /gut\.csv:7: R-2026-0005, 8,000\.00 MXN to wac_Unver1fied22\./);
    assert.match(ran.stdout, new RegExp(`^${run}: PARTIAL$`, 'm'));
    const next = flat(ran.stdout);
    assert.ok(
      next.includes(
        `2 payments, ACCOUNT_UNUSABLE: Have the account verified at the service, then type \`npx cambist replay ${run}\`, or reset the run.`,
      ),
      ran.stdout,
    );
    assert.match(next, /Bring in up to 12,321\.07 MXN for those that you mend, then reset the run\./);
    assert.match(ran.stdout, /^MXN +28,821\.07 +16,500\.00 +12,321\.07 +0\.00$/m);
    const before = asExcelReads(await readFile(pathOf('ergebnis.csv')));
    assert.deepEqual(
      before.map((row) => row['outcome']),
      ['PAID', 'PAID', 'PAID', 'NOT_PAID', 'NOT_PAID', 'PAID'],
    );
    assert.match(before[3]?.['reason'] ?? '', /because of the status of the account/);
    assert.deepEqual(
      paidIn(await ledger(), run),
      PAID.filter(([payment = '']) => !LATE.includes(payment)),
    );
    const waiting = await type('status', run);
    assertExit(waiting, 5);
    assert.ok(
      flat(waiting.stdout).includes(
        `${run} ended PARTIAL (5 of 7 items done). 2 not paid: 2 account not verified or closed.`,
      ),
      waiting.stdout,
    );
    assert.match(
      flat(waiting.stdout),
      /Bring in up to 12,321\.07 MXN for those that you mend, then reset the run\./,
    );

    // 4. Later the service verifies the account, and the money that the plan had not bought for it is brought.
    await ask(sandbox.adminUrl, 'PUT', '/accounts', {
      accounts: [{ id: UNVERIFIED, currency: 'MXN', assetType: 'FIAT', status: 'LIVE' }],
    });
    await ask(sandbox.adminUrl, 'POST', '/deposits', { currency: 'MXN', amount: '12321.07' });

    // 5. He opens the run in the Temporal UI, reads what it says, and presses Reset: any event, and a reason.
    const reason = 'the account of Lucía Gómez is verified now';
    const browser = await openBrowser(executable ?? '');
    t.after(() => browser.close());
    const ui = await TemporalUi.open(browser, temporal.uiUrl);
    await ui.openWorkflow(`sandbox/${run}`);
    await ui.untilShown(/ACCOUNT_UNUSABLE/);
    assert.match(
      await ui.text(),
      /5 of 7 items are done, the others are not\. Mend the cause, .* or press Reset and choose any event/,
    );
    assert.match(await ui.text(), /Bring in up to 12,321\.07 MXN for those that you mend, then reset\./);
    await ui.confirmReset(at(await ui.openReset(), 0.5), reason);

    // The run goes on, pays what was missing, and waits for nothing.
    const again = await type(...runIt);
    assertExit(again, 0);
    assert.match(again.stdout, new RegExp(`^${run}: COMPLETED$`, 'm'));
    assert.doesNotMatch(again.stdout, /safety wait|IN_DOUBT|HELD/);
    const booked = await ledger();
    assert.deepEqual(paidIn(booked, run), PAID, 'each payment once, to the cent');
    const traded = booked.journal.filter(({ what }) => what === 'trade executed');
    assert.equal(traded.length, 1, 'the dollars were sold once');
    assert.deepEqual(
      ['EUR', 'MXN'].map((currency) => booked.balances[currency]?.total),
      ['248439.5', '0'],
    );
    await ui.openWorkflow(`sandbox/${run}`);
    assert.match(await ui.text(), new RegExp(`Completed sandbox/${run}`));

    // `status` and the report tell the reset, with its reason.
    const told = new RegExp(
      `Reset at \\S+ to event \\d+, after it had ended PARTIAL; the reason given is "${reason}"\\.`,
    );
    for (const command of ['status', 'report']) {
      const said = await type(command, run);
      assertExit(said, 0);
      assert.match(flat(said.stdout), told);
    }

    // 6. He opens the results in Excel: his own cells, and behind them what became of each payment.
    const results = asExcelReads(await readFile(pathOf('ergebnis.csv')));
    const own = asExcelReads(Buffer.from(asExcelWrites([HEADER, ...PAYMENTS].join('\r\n'))));
    assert.deepEqual(
      results.map((row, index) =>
        Object.fromEntries(Object.keys(own[index] ?? {}).map((name) => [name, row[name]])),
      ),
      own,
    );
    assert.deepEqual(
      results.map((row) => [row['Währung'], germanAmount(row['Betrag'] ?? '')]),
      PAID.map(([, currency, amount]) => [currency, amount]),
    );
    for (const [index, row] of results.entries()) {
      const [payment] = PAID[index] ?? [];
      assert.deepEqual([row['outcome'], row['status'], row['reason']], ['PAID', 'COMPLETED', '']);
      assert.equal(booked.references[row['withdrawal_id'] ?? ''], `${run}.${payment}`);
      assert.match(row[SENT] ?? '', MOMENT, `${payment} was sent`);
      // What was paid before the reset: the run that the reset has started did not see when. The first results say it.
      const seen = before[index]?.['outcome'] === 'PAID' ? before[index] : row;
      assert.match(seen[PAID_AT] ?? '', MOMENT, `${payment} was seen paid`);
      if (seen === row) continue;
      assert.deepEqual([row['withdrawal_id'], row[SENT]], [seen['withdrawal_id'], seen[SENT]]);
    }
  },
  { skip },
);

/** What `cambist ledger --json` prints, as far as this test reads it. */
type Ledger = {
  readonly journal: readonly {
    readonly what: string;
    readonly recordId: string | null;
    readonly lines: readonly {
      readonly account: string;
      readonly currency: string;
      readonly amount: string;
    }[];
  }[];
  readonly balances: Readonly<Record<string, { readonly total: string }>>;
  readonly references: Readonly<Record<string, string>>;
};

/** Each payment that has left for good, by its name in the run. */
function paidIn({ journal, references }: Ledger, run: string): readonly (readonly string[])[] {
  return journal
    .filter(({ what }) => what === 'withdrawal paid')
    .map(({ recordId, lines }) => {
      const outside = lines.find(({ account }) => account === 'outside');
      const reference = references[recordId ?? ''] ?? '';
      assert.ok(reference.startsWith(`${run}.`), reference);
      return [reference.slice(run.length + 1), outside?.currency ?? '', outside?.amount ?? ''];
    })
    .toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1));
}

/** What the operator of the service does. */
async function ask(adminUrl: string, method: string, path: string, body: unknown): Promise<void> {
  const answer = await fetch(`${adminUrl}${path}`, { method, body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.text());
}
