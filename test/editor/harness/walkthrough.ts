import type { Page } from 'playwright-core';
import { openApprovals } from './approvals-view.ts';
import { waitUntil } from './wait-until.ts';

/** The title of our walkthrough on the page that the editor draws it on. */
const TITLE = 'Let an agent work on your cluster, safely';

/** Presses the row in our view as a newcomer does; resolves when our walkthrough, and not the editor's own Welcome page, is there. */
export async function openBanksmanWalkthrough(page: Page): Promise<void> {
  await openApprovals(page);
  await page.locator('.part.sidebar .monaco-list-row', { hasText: 'Open the walkthrough' }).click({ timeout: 60_000 });
  await page.locator('h2.category-title', { hasText: TITLE }).waitFor({ timeout: 20_000 });
}

/** Waits until it is there, whoever opened it. */
export async function waitWalkthrough(page: Page): Promise<void> {
  await page.locator('h2.category-title', { hasText: TITLE }).waitFor({ timeout: 60_000 });
}

/** The steps' titles, in their order. */
export function walkthroughSteps(page: Page): Promise<string[]> {
  return page.locator('.getting-started-step .step-title').filter({ visible: true }).allInnerTexts();
}

/** Unfolds a step and presses its link. */
export async function pressStepLink(page: Page, step: string, link: string): Promise<void> {
  await openBanksmanWalkthrough(page);
  const box = page.locator('.getting-started-step', { hasText: step });
  const button = box.locator('.monaco-button', { hasText: link });
  // Opening the walkthrough again folds the steps anew, a moment after it is there; a press on an unfolded step folds nothing.
  await waitUntil(`the link ${link}`, async () => {
    if (!(await button.isVisible())) await box.click({ timeout: 5000 });
    await page.waitForTimeout(500);
    return button.isVisible();
  });
  await button.click({ timeout: 30_000 });
}
