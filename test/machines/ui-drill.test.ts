/**
 * The drill of the guide "When a run failed": somebody who knows only the Temporal UI mends the cause, presses Reset there, and
 * chooses any event. A real browser clicks; the sandbox's own ledger says what moved.
 */
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import type { Browser } from 'playwright-core';
import { startDevServer, type DevServer } from '../../worker/dev-server.ts';
import { TemporalUi, at, findChromium, openBrowser } from '../support/browser.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Run, type Stage } from '../support/stage.ts';

const executable = findChromium();
const skip =
  executable === null &&
  'no Chromium on this machine: install it (Debian: apt-get install chromium), or name it in CAMBIST_CHROMIUM';

const ACCOUNT = { id: MXN_ACCOUNT, currency: 'MXN', assetType: 'FIAT' } as const;
const QUICK = convertPolicy({ quote: '{ settlement: IMMEDIATE }' });

describe('when a run failed', { skip }, () => {
  let server: DevServer;
  let stage: Stage;
  let browser: Browser;
  let ui: TemporalUi;

  before(async () => {
    server = await startDevServer({ port: 0, uiPort: 0, shortTimers: true });
    stage = await openStage({
      temporalAddress: server.address,
      rates: { 'USD/MXN': '17.25' },
      balances: { USD: '100000', MXN: '0' },
      timePasses: true,
    });
    await stage.startWorker();
    browser = await openBrowser(executable ?? '');
    ui = await TemporalUi.open(browser, server.uiUrl ?? '');
  });
  after(async () => {
    await browser?.close();
    await stage?.close();
    await server?.stop();
  });

  const setAccount = (status: 'LIVE' | 'UNVERIFIED'): void =>
    stage.sandbox.putAccounts([{ ...ACCOUNT, status }]);

  /** The account loses its verification after the trade; the run has traded then, and paid nobody. */
  async function startRefused(): Promise<Run> {
    setAccount('LIVE');
    const { run, release } = await stage.startHeld(QUICK, 'createTrade', { when: 'before' });
    setAccount('UNVERIFIED');
    release();
    const report = await run.report();
    assert.deepEqual(
      [report.status, report.legs[0]?.outcome, report.payments[0]?.outcome],
      ['PARTIAL', 'TRADED', 'NOT_PAID'],
    );
    return run;
  }

  async function reset(run: Run, place: number): Promise<void> {
    await ui.openWorkflow(run.handle.workflowId);
    const events = await ui.openReset();
    await ui.confirmReset(at(events, place), 'the account is verified now');
  }

  function assertOnce(run: Run): void {
    const { trades, withdrawals } = run.movements();
    assert.deepEqual([trades.length, withdrawals.length], [1, 1], 'one trade and one withdrawal');
  }

  cell(
    'the failure opens with what is done and what to do, and any event that the dialog offers leads to the end',
    async () => {
      const places = [0, 0.5, 1];
      const runs: Run[] = [];
      while (runs.length < places.length) runs.push(await startRefused());
      const [first] = runs;
      assert.ok(first !== undefined);
      await ui.openWorkflow(first.handle.workflowId);
      await ui.untilShown(/WITHDRAWAL_ADDRESS_NOT_VERIFIED/);
      assert.match(await ui.text(), /1 of 2 items is done.*press Reset and choose any event/);

      setAccount('LIVE');
      for (const [index, run] of runs.entries()) await reset(run, places[index] ?? 0);
      for (const run of runs) {
        const report = await run.report();
        assert.deepEqual([report.status, report.payments[0]?.outcome], ['COMPLETED', 'PAID']);
        assertOnce(run);
        await ui.openWorkflow(run.handle.workflowId);
        assert.match(await ui.text(), new RegExp(`Completed ${run.handle.workflowId}`));
      }
    },
  );

  test('a run that was refused before anything moved is planned anew after a reset', async () => {
    setAccount('UNVERIFIED');
    const run = await stage.start(QUICK, { name: 'mxn-supplier' });
    assert.equal((await run.report()).status, 'FAILED');
    await ui.openWorkflow(run.handle.workflowId);
    await ui.untilShown(/is UNVERIFIED: the service pays nothing to it/);
    await ui.takePicture('failed-run.png');
    setAccount('LIVE');
    await reset(run, 1);
    assert.equal((await run.report()).status, 'COMPLETED');
    assertOnce(run);
    await ui.openWorkflow(run.handle.workflowId);
    await ui.takePicture('failed-run-done.png');
  });

  test('a run that waits is found by the query of the guide, and says what it waits for', async () => {
    setAccount('LIVE');
    stage.sandbox.setBalances({ USD: '0' });
    const run = await stage.start(convertPolicy({ quote: '{ settlement: IMMEDIATE }', shortfall: 'hold' }));
    await run.heldBy('SHORTFALL');
    await ui.openList(
      `WorkflowType = 'run' AND CambistState = 'HELD' AND CambistPolicy = '${run.name.policy}'`,
    );
    await ui.untilShown(new RegExp(run.handle.workflowId));
    stage.sandbox.deposit({ currency: 'USD', amount: '100000' });
    await run.wake();
    assert.equal((await run.report()).status, 'COMPLETED');
  });
});
