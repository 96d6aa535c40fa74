import type { Page } from 'playwright-core';
import { waitUntil } from './wait-until.ts';

const WIDGET = '.quick-input-widget:visible';
const ROWS = `${WIDGET} .quick-input-list .monaco-list-row`;

/** Runs a command by the palette, as a person does: who sees it closed, because a view took the focus just then, opens it again. */
export function runCommand(page: Page, title: string): Promise<void> {
  return inPalette(page, title, () => page.locator(ROWS, { hasText: title }).first().click({ timeout: 10_000 }));
}

/** As `runCommand`, without the mouse. */
export async function runCommandByKeys(page: Page, title: string): Promise<void> {
  await inPalette(page, title, async () => {
    await page.locator(`${WIDGET} .monaco-list-row.focused`, { hasText: title }).waitFor({ timeout: 10_000 });
    await page.keyboard.press('Enter');
  });
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden', timeout: 60_000 });
}

async function inPalette(page: Page, title: string, press: () => Promise<void>): Promise<void> {
  const type = async () => {
    await page.keyboard.press('F1');
    await page.locator(WIDGET).waitFor({ timeout: 10_000 });
    // In one piece: after each letter the editor goes through all its commands again, for a second on a small machine.
    await page.keyboard.insertText(title);
    await press();
  };
  await waitUntil(
    `the command “${title}” in the palette`,
    () =>
      type()
        .then(() => true)
        .catch(() => false),
    90_000,
  );
}

/** Chooses the row of the open quick pick that shows `text`. */
export async function pickRow(page: Page, text: string): Promise<void> {
  await page.locator(ROWS, { hasText: text }).first().click({ timeout: 60_000 });
}

/** Types into the open input box or quick pick, over what is there. */
export async function typeInto(page: Page, text: string, title?: string): Promise<void> {
  const box = title === undefined ? page.locator(WIDGET) : page.locator(WIDGET, { hasText: title });
  await box.waitFor({ timeout: 60_000 });
  await box.locator('input').first().fill(text);
}

/** What the open quick pick lists. */
export async function pickRows(page: Page): Promise<string[]> {
  return (await page.locator(ROWS).allInnerTexts()).map((text) => text.replaceAll('\n', ' '));
}

/** Waits for a row that shows `text`. */
export async function waitPickRow(page: Page, text: string): Promise<void> {
  await page.locator(ROWS, { hasText: text }).first().waitFor({ timeout: 60_000 });
}
