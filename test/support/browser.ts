/**
 * A person at the Temporal UI: a real Chromium without a window, which clicks and types what a person would. Chromium is the
 * machine's own (`chromium`, `google-chrome` or `chromium-browser` on the PATH, or CAMBIST_CHROMIUM).
 */
import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The path of the machine's Chromium; null: there is none. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | null {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = [
    ...(env['CAMBIST_CHROMIUM'] === undefined ? [] : [env['CAMBIST_CHROMIUM']]),
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
  ];
  return paths.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export async function openBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      // Root has no other way to start it; it opens nothing but our own pages.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });
}

/** The pages of one Temporal server's UI. */
export class TemporalUi {
  readonly page: Page;
  readonly #url: string;

  private constructor(page: Page, url: string) {
    this.page = page;
    this.#url = url;
  }

  static async open(browser: Browser, url: string): Promise<TemporalUi> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 760 }, timezoneId: 'UTC' });
    // The machine may be busy with other tests.
    context.setDefaultTimeout(90_000);
    return new TemporalUi(await context.newPage(), url);
  }

  get #dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** The list of workflows that a query finds. */
  async openList(query: string): Promise<void> {
    await this.page.goto(`${this.#url}/namespaces/default/workflows?query=${encodeURIComponent(query)}`);
    await this.page.getByRole('table').waitFor();
  }

  /** The newest Temporal run of a workflow. */
  async openWorkflow(workflowId: string): Promise<void> {
    await this.page.goto(`${this.#url}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`);
    // It goes on to the page of the newest Temporal run.
    await this.page.waitForURL(/\/history$/);
    await this.page.getByRole('heading', { name: 'Event History' }).waitFor();
    await this.page.waitForLoadState('networkidle');
  }

  /** Opens the dialog of the button "Reset". @returns the events that it offers, as they are listed */
  async openReset(): Promise<readonly string[]> {
    const { page } = this;
    await page.getByRole('button', { name: 'Reset', exact: true }).click();
    await this.#dialog.getByTestId('workflow-reset-event-id-select-button').click();
    await this.#dialog.getByRole('option').first().waitFor();
    return this.#dialog.getByRole('option').allInnerTexts();
  }

  /** Chooses one of the events that the open dialog offers, says why, and confirms. */
  async confirmReset(event: string, reason: string): Promise<void> {
    await this.#dialog.getByRole('option', { name: event, exact: true }).click();
    await this.#dialog.getByTestId('reset-reason').fill(reason);
    await this.takePicture('failed-run-reset.png');
    await this.#dialog.getByTestId('confirm-modal-button').click();
    await this.#dialog.waitFor({ state: 'hidden' });
  }

  /** For the guide: written only where CAMBIST_PICTURES names a folder. */
  async takePicture(name: string): Promise<void> {
    const folder = process.env['CAMBIST_PICTURES'];
    if (folder !== undefined) await this.page.screenshot({ path: join(folder, name) });
  }

  /** All text that the page shows. */
  async text(): Promise<string> {
    return (await this.page.locator('body').innerText()).replaceAll(/\s+/g, ' ');
  }

  /** Waits until the page shows this. */
  async untilShown(text: RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }
}

/** The one that a list of choices has at a place, from 0 (the first) to 1 (the last). */
export function at<T>(choices: readonly T[], place: number): T {
  const choice = choices[Math.round(place * (choices.length - 1))];
  assert.ok(choice !== undefined, 'there is nothing to choose');
  return choice;
}
