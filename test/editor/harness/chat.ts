import type { Page } from 'playwright-core';
import { waitUntil } from './wait-until.ts';

const INPUT = '.interactive-input-part';

/** Waits until the chat has chosen the scripted model; a fresh browser profile needs a few seconds to enable the chat. */
export async function openChat(page: Page, modelName: string): Promise<void> {
  const chosen = page.locator(`${INPUT} .chat-input-toolbars .action-item`, { hasText: modelName });
  await chosen.waitFor({ timeout: 150_000 });
}

/** Types into the chat and presses Enter, as a person does. */
export async function sendPrompt(page: Page, text: string): Promise<void> {
  // Cards of waiting calls hold editors, too.
  await page.locator(`${INPUT} .monaco-editor[data-uri^="chatSessionInput"]`).click();
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
}

/** Waits until an answer of the model shows `text`. */
export async function waitForAnswer(page: Page, text: string | RegExp, timeoutMs = 90_000): Promise<void> {
  await page.locator('.interactive-response', { hasText: text }).last().waitFor({ timeout: timeoutMs });
}

/** The editor's own confirmation card, which is a courtesy and not Banksman's gate. */
export interface ConfirmationCard {
  readonly text: string;
  readonly buttons: readonly string[];
  press(button: string): Promise<void>;
}

const CARD = '.chat-tool-confirmation-carousel-container';

/** The card of the call that waits for one; there are two copies in the page, one of them hidden. */
export async function waitCard(page: Page, timeoutMs = 90_000): Promise<ConfirmationCard> {
  const buttons = page.locator(`${CARD} .monaco-button:visible`);
  await buttons.first().waitFor({ timeout: timeoutMs });
  return {
    text: await page.locator(`${CARD}:visible`).first().innerText(),
    buttons: (await buttons.allInnerTexts()).map((text) => text.trim()).filter((text) => text !== ''),
    press: (button) => page.locator(`${CARD} .monaco-button:visible`, { hasText: button }).first().click(),
  };
}

/** Whether such a card is on the screen now. */
export async function hasCard(page: Page): Promise<boolean> {
  return (await page.locator(`${CARD} .monaco-button:visible`).count()) > 0;
}

/** Lets the card pass if one comes before `isOver`: whether the editor shows one is its own affair. */
export async function allowIfAsked(page: Page, isOver: () => boolean): Promise<void> {
  const shown = await waitUntil('a card or the end of the call', async () => ((await hasCard(page)) ? 'card' : isOver() && 'over'), 60_000);
  if (shown === 'card') await (await waitCard(page)).press('Allow Once');
}
