import type { Locator, Page } from 'playwright-core';
import { waitUntil } from './wait-until.ts';

const ACTIVITY = '.activitybar .action-item:has([aria-label^="Banksman"]), .activitybar .action-item[aria-label^="Banksman"]';
/** Of requests: the clusters (in German "Cluster") have rows of their own. */
const ROWS = '.part.sidebar .pane:not(:has(> .pane-header[aria-label^="Cluster"])) .monaco-list-row';
const PERSON_MS = 1200;

/** A row of the tree of pending approvals. */
export interface ApprovalRow {
  readonly label: string;
  readonly description: string;
  /** What a screen reader says. */
  readonly spoken: string;
}

/** Opens the view from the activity bar. */
export async function openApprovals(page: Page): Promise<void> {
  const title = page.locator('.part.sidebar .composite.title', { hasText: 'Banksman' });
  if (!(await title.isVisible())) await page.locator(ACTIVITY).first().click();
  await title.waitFor({ timeout: 60_000 });
}

/** Unfolds the list of what is decided, below the pending ones. */
export async function openHistory(page: Page): Promise<void> {
  const header = page.locator('.part.sidebar .pane-header', { hasText: 'Decided Requests' });
  if ((await header.getAttribute('aria-expanded')) !== 'true') await header.click();
  await page.locator('.part.sidebar .pane-header[aria-expanded="true"]', { hasText: 'Decided Requests' }).waitFor({ timeout: 30_000 });
}

/** Presses an action in the title of a list. */
export async function pressViewAction(page: Page, view: string, action: string): Promise<void> {
  const header = page.locator('.part.sidebar .pane-header', { hasText: view });
  await header.hover();
  await header.locator(`.action-label[aria-label^="${action}"]`).click();
}

/** The rows of the list of what is decided. */
export function historyRows(page: Page): Promise<ApprovalRow[]> {
  return rowsOf(page.locator('.part.sidebar .pane', { hasText: 'Decided Requests' }).locator('.monaco-list-row'));
}

export function approvalRows(page: Page): Promise<ApprovalRow[]> {
  return rowsOf(page.locator(ROWS));
}

async function rowsOf(found: Locator): Promise<ApprovalRow[]> {
  const rows = await found.all();
  return Promise.all(
    rows.map(async (row) => ({
      label: await textOf(row.locator('.label-name')),
      description: await textOf(row.locator('.label-description')),
      spoken: (await row.getAttribute('aria-label')) ?? '',
    })),
  );
}

/** Waits for a row that shows `text`. */
export async function waitRow(page: Page, text: string, timeoutMs = 60_000): Promise<void> {
  await page.locator(ROWS, { hasText: text }).first().waitFor({ timeout: timeoutMs });
}

/** Waits until no row shows `text`. */
export async function waitRowGone(page: Page, text: string, timeoutMs = 60_000): Promise<void> {
  await page.locator(ROWS, { hasText: text }).first().waitFor({ state: 'detached', timeout: timeoutMs });
}

/** Presses an inline action (`Review`, `Deny`) of the row that shows `text`, as a person who has seen it appear. */
export async function pressRowAction(page: Page, text: string, action: string): Promise<void> {
  const row = page.locator(ROWS, { hasText: text }).first();
  // The editor draws a new row more than once and forgets its element in between: a press then brings no row along.
  await page.waitForTimeout(PERSON_MS);
  await page.evaluate(LISTEN);
  do {
    await row.hover();
    await row.locator(`.action-label[aria-label^="${action}"]`).click();
    // A row that is drawn anew between the button's going down and up hears no click: nothing happens, and a person presses again.
  } while (!(await page.evaluate<string[]>(HEARD)).some((label) => label.startsWith(action)));
}

const LISTEN = `
  globalThis.heardClicks = [];
  globalThis.hearClick ??= (event) => globalThis.heardClicks.push(event.target.closest('.action-label')?.getAttribute('aria-label') ?? '');
  document.addEventListener('click', globalThis.hearClick, true)`;
const HEARD = 'globalThis.heardClicks';

/**
 * Waits for what the press of a row opens. Where the row was drawn anew just then, the request is chosen again, from a list that says so.
 *
 * @param title of what opens, and of the request in that list
 */
export async function waitOpened(page: Page, opened: Locator, title: string, timeoutMs = 90_000): Promise<void> {
  const again = page.locator('.quick-input-widget:visible', { has: page.locator('input[placeholder^="The list was drawn anew"]') });
  const row = again.locator('.monaco-list-row', { hasText: title }).first();
  await waitUntil(
    `“${title}” to open`,
    async () => {
      if (await row.isVisible()) await row.click({ timeout: 5_000 }).catch(() => undefined);
      return opened.isVisible();
    },
    timeoutMs,
  );
}

/** The number on the activity bar; undefined when there is none. */
export async function approvalBadge(page: Page): Promise<string | undefined> {
  const badge = page.locator(`:is(${ACTIVITY}) .badge-content`).first();
  const text = (await badge.count()) > 0 ? (await badge.innerText()).trim() : '';
  return text === '' ? undefined : text;
}

async function textOf(locator: Locator): Promise<string> {
  return (await locator.count()) > 0 ? (await locator.first().innerText()).trim() : '';
}
