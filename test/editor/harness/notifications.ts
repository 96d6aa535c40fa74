import type { Page } from 'playwright-core';

/** Waits for a notification that shows `text`; they fade after a few seconds. */
export async function waitForNotification(page: Page, text: string | RegExp, timeoutMs = 60_000): Promise<string> {
  const toast = page.locator('.notifications-toasts .notification-list-item', { hasText: text }).first();
  await toast.waitFor({ timeout: timeoutMs });
  return (await toast.innerText()).trim();
}
