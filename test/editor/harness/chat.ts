import type { Page } from 'playwright-core';

const INPUT = '.interactive-input-part';

/** Waits until the chat has chosen the scripted model; a fresh browser profile needs a few seconds to enable the chat. */
export async function openChat(page: Page, modelName: string): Promise<void> {
  const chosen = page.locator(`${INPUT} .chat-input-toolbars .action-item`, { hasText: modelName });
  await chosen.waitFor({ timeout: 150_000 });
}

/** Types into the chat and presses Enter, as a person does. */
export async function sendPrompt(page: Page, text: string): Promise<void> {
  await typePrompt(page, text);
  await page.keyboard.press('Enter');
}

export async function typePrompt(page: Page, text: string): Promise<void> {
  await focusInput(page);
  await page.keyboard.insertText(text);
}

/** By the mouse, as a person does; where notifications lie over it, which may come one after the other, by the keyboard's focus. */
async function focusInput(page: Page): Promise<void> {
  // Cards of waiting calls hold editors, too.
  const input = page.locator(`${INPUT} .monaco-editor[data-uri^="chatSessionInput"]`);
  await input.waitFor();
  await input.click({ timeout: 5_000 }).catch(() => input.locator('.native-edit-context, textarea').first().focus());
}

/** As `sendPrompt`, where a name or command at the end opens a list that Enter would choose from. */
export async function sendToParticipant(page: Page, text: string): Promise<void> {
  await focusInput(page);
  await page.keyboard.type(`${text} `);
  await page.locator('.suggest-widget.visible').waitFor({ state: 'detached', timeout: 10_000 });
  await page.keyboard.press('Enter');
}

/** Chooses another model in the picker below the chat. */
export async function pickModel(page: Page, from: string, to: string): Promise<void> {
  await page.locator(`${INPUT} .chat-input-toolbars .action-item`, { hasText: from }).click();
  // The list folds away whatever was not used lately; searching unfolds it.
  await page.locator('.action-widget input').fill(to);
  await page.locator('.action-widget .monaco-list-row', { hasText: to }).click();
  await openChat(page, to);
}

/** The text of the last answer. */
export async function lastAnswer(page: Page): Promise<string> {
  return page.locator('.interactive-response').last().innerText();
}

/** Waits until an answer of the model shows `text`. */
export async function waitForAnswer(page: Page, text: string | RegExp, timeoutMs = 90_000): Promise<void> {
  await page.locator('.interactive-response', { hasText: text }).last().waitFor({ timeout: timeoutMs });
}

/** Whether the chat shows a confirmation card of its own: Banksman's calls have none. */
export async function hasCard(page: Page): Promise<boolean> {
  return (await page.locator('.chat-tool-confirmation-carousel-container .monaco-button:visible').count()) > 0;
}
