/**
 * What the Temporal UI shows of sealed runs, in a real browser: with the codec of `cambist up` what people look for, and without
 * it no account and no amount.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TemporalUi, findChromium, openBrowser } from '../support/browser.ts';
import { assertExit, commandProcess, reportOf } from '../support/commands.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { test } from '../support/sliced.ts';
import { openUpPlace, readyOf, startUp } from '../support/up.ts';

const executable = findChromium();
const skip =
  executable === null &&
  'no Chromium on this machine: install it (Debian: apt-get install chromium), or name it in CAMBIST_CHROMIUM';

const PAGES = ['history', 'memo', 'user-metadata'];
/** The name of our encoding, as the UI shows it of what it cannot read. */
const SEALED = Buffer.from('binary/cambist-sealed').toString('base64');
/** Of the input, the result, the memo, a summary, and the details. */
const OF_PAID = [
  `account: ${MXN_ACCOUNT}`,
  '"withdrawalId": "wtd_',
  '"todo": "sell 1,000.00 USD for MXN',
  `Pay supplier 18,500.00 MXN to ${MXN_ACCOUNT}`,
  'Started by',
];
/** Of the failure. */
const OF_FAILED = ['Ended: nothing was traded or paid of 2 items', '"code": "OUTSIDE_GUARD"'];

test(
  'with the codec of `up` the UI shows the input, result, failure, memo, summaries and details of sealed runs; without it no account and no amount',
  async (t) => {
    const opened = openUpPlace((close) => t.after(close));
    assertExit(await commandProcess(opened, ['keys', 'new', 'seal.json']), 0);
    const place = { ...opened, env: { ...opened.env, CAMBIST_SEAL_KEYS: 'seal.json' } };
    const { temporal } = await readyOf(startUp(place));
    const start = async (name: string, policy: string, exit: number): Promise<string> => {
      await writeFile(join(opened.folder, `${name}.yaml`), policy.replace(/^name: .*$/m, `name: ${name}`));
      const ended = await commandProcess(opened, ['run', `${name}.yaml`, '--wait', '--json']);
      assertExit(ended, exit);
      return reportOf(ended).workflowId;
    };
    const quick = { quote: '{ settlement: IMMEDIATE }' };
    const paid = await start('paid', convertPolicy(quick), 0);
    const failed = await start(
      'failed',
      convertPolicy({ ...quick, guard: '{ worst_rate: "90 MXN per USD" }' }),
      4,
    );

    const browser = await openBrowser(executable ?? '');
    t.after(() => browser.close());
    const textOf = async (ui: TemporalUi, workflowId: string): Promise<string> => {
      await ui.openWorkflow(workflowId);
      const top = ui.page.url().replace(/\/history$/, '');
      const texts: string[] = [];
      for (const page of PAGES) {
        await ui.page.goto(`${top}/${page}`);
        await ui.page.waitForLoadState('networkidle');
        // What a person wrote in Markdown stands in frames of its own.
        for (const frame of ui.page.frames()) texts.push(await frame.locator('body').innerText());
      }
      return texts.join('\n').replaceAll(/\s+/g, ' ');
    };
    const ui = await TemporalUi.open(browser, temporal.uiUrl ?? '');
    const blind = await TemporalUi.open(browser, temporal.uiUrl ?? '');
    await blind.page.route('**/decode', (route) => route.abort());
    for (const [workflowId, told] of [
      [paid, OF_PAID],
      [failed, OF_FAILED],
    ] as const) {
      const shown = await textOf(ui, workflowId);
      for (const word of told) assert.ok(shown.includes(word), `"${word}" is not shown: ${shown}`);
      assert.ok(!shown.includes('Decoding failed') && !shown.includes(SEALED), shown);
      const unread = await textOf(blind, workflowId);
      assert.ok(unread.includes(SEALED), 'nothing sealed is shown');
      for (const word of [...told, MXN_ACCOUNT, '1000.00', '1,000.00', '18500', '18,500'])
        assert.ok(!unread.includes(word), `"${word}" is shown without the codec`);
    }
  },
  { skip },
);
