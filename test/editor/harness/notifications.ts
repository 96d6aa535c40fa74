import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { runCommand } from './palette.ts';

/** Waits for a notification that shows `text`; they fade after a few seconds. */
export async function waitForNotification(page: Page, text: string | RegExp, timeoutMs = 60_000): Promise<string> {
  const toast = page.locator('.notifications-toasts .notification-list-item', { hasText: text }).first();
  await toast.waitFor({ timeout: timeoutMs });
  return (await toast.innerText()).trim();
}

/** Notes the text of every notification that comes up from now on, also of those that fade again. */
export function collectToasts(page: Page): { stop(): Promise<string[]> } {
  const seen = new Set<string>();
  const stop = new AbortController();
  const look = async () => {
    for (; !stop.signal.aborted && !page.isClosed(); await sleep(150)) {
      // Between two pages there is nothing to look at.
      const texts = await page
        .locator('.notifications-toasts .notification-list-item-message')
        .allInnerTexts()
        .catch(() => []);
      for (const text of texts) seen.add(text.trim());
    }
  };
  const looking = look();
  return {
    async stop() {
      stop.abort();
      await looking;
      return [...seen];
    },
  };
}

/** What the notification center holds, toasts that faded included. */
export async function allNotifications(page: Page): Promise<string[]> {
  await runCommand(page, 'Notifications: Show Notifications');
  const center = page.locator('.notifications-center');
  await center.waitFor({ timeout: 30_000 });
  return (await center.locator('.notification-list-item-message').allInnerTexts()).map((text) => text.trim());
}
