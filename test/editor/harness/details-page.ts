import type { FrameLocator, Page } from 'playwright-core';

/** The page of a request: a web view is a frame in a frame. */
export async function waitDetails(page: Page, title: string): Promise<FrameLocator> {
  const frame = page.locator('iframe.webview.ready').last().contentFrame().locator('iframe#active-frame').contentFrame();
  await frame.locator('h1', { hasText: title }).waitFor({ timeout: 60_000 });
  return frame;
}
