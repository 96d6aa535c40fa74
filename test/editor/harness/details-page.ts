import type { FrameLocator, Page } from 'playwright-core';
import { waitOpened } from './approvals-view.ts';

/** The page of a request: a web view is a frame in a frame. */
export async function waitDetails(page: Page, title: string): Promise<FrameLocator> {
  const frame = page.locator('iframe.webview.ready').last().contentFrame().locator('iframe#active-frame').contentFrame();
  await waitOpened(page, frame.locator('h1', { hasText: title }), title);
  return frame;
}

/** Unfolds all that is folded at first, as a person does; it is read then. */
export async function unfoldDetails(details: FrameLocator): Promise<void> {
  const folded = details.locator('#rest details:not([open]) > summary');
  while ((await folded.count()) > 0) await folded.first().click();
  // A plan's page has no part about the policy: what it was told stands with its steps.
  if ((await details.locator('#fold-policy').count()) > 0) await details.locator('.trail').waitFor({ timeout: 60_000 });
}
