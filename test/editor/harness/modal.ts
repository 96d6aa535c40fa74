import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { waitOpened } from './approvals-view.ts';

/** An answer within 700 ms of the dialog's opening does not count; a person takes longer than this anyway. */
const PERSON_MS = 900;

/** A modal dialog of the editor, found by its title: others (Copilot's sign-in) can be in the page too. */
export interface Modal {
  readonly title: string;
  /** The text below the title. */
  readonly detail: string;
  /** Buttons from the first item to the last; `Cancel`, which the editor adds, is among them. */
  readonly buttons: readonly string[];
  /** Clicks as a person does: not before the dialog could have been read, and types the code on the card where one is asked for. */
  click(button: string): Promise<void>;
  /** As `click`, for a button after which the same question comes again. */
  press(button: string): Promise<void>;
  /** Esc, which answers nothing. */
  escape(): Promise<void>;
  isOpen(): Promise<boolean>;
}

/** The modal whose title contains `title`. */
export async function waitModal(page: Page, title: string, timeoutMs = 90_000): Promise<Modal> {
  const box = modalBox(page, title);
  await waitOpened(page, box, title, timeoutMs);
  const seenAt = Date.now();
  return {
    title: (await box.locator('.dialog-message-text').innerText()).trim(),
    detail: await detailText(box),
    buttons: await buttonTexts(box),
    click: async (button) => {
      const code = codeFor(button, await detailText(box));
      await pressAsPerson(box, button, seenAt);
      await box.waitFor({ state: 'detached', timeout: 30_000 });
      if (code !== undefined) await typeCode(page, code);
    },
    press: (button) => pressAsPerson(box, button, seenAt),
    escape: async () => {
      await page.keyboard.press('Escape');
      await box.waitFor({ state: 'detached', timeout: 30_000 });
    },
    isOpen: () => box.isVisible(),
  };
}

/** Approves; where the key of this window is new, the question about it follows and is answered with yes. */
export async function approveInModal(page: Page, modal: Modal, button = 'Approve once'): Promise<void> {
  await modal.click(button);
  const isNew = await modalBox(page, 'Trust the approval key')
    .waitFor({ timeout: 3_000 })
    .then(() => true)
    .catch(() => false);
  if (isNew) await (await waitModal(page, 'Trust the approval key')).click('Trust This Key');
}

/** Presses Deny and leaves out the words that a person may add. */
export async function denyInModal(page: Page, modal: Modal): Promise<void> {
  await modal.click('Deny');
  await page.locator('.quick-input-widget:visible', { hasText: 'Tell the agent why' }).waitFor({ timeout: 60_000 });
  await page.keyboard.press('Escape');
}

/** Whether a modal with this title is on the screen now. */
export function hasModal(page: Page, title: string): Promise<boolean> {
  return modalBox(page, title).isVisible();
}

/** Esc until none is left: attacks have queued some. */
export async function closeModals(page: Page): Promise<void> {
  const modal = page.locator('.monaco-dialog-box');
  for (let quiet = 0; quiet < 3; ) {
    quiet = (await modal.isVisible()) ? 0 : quiet + 1;
    if (quiet === 0) await page.keyboard.press('Escape');
    await page.waitForTimeout(500);
  }
}

/** Any button but those that go nowhere asks for the code that stands on the card. */
function codeFor(button: string, detail: string): string | undefined {
  if (['Deny', 'Cancel', 'Show Details'].includes(button) || button.startsWith('Keep') || button.startsWith('Do Not')) return undefined;
  return /then type (.+)\.$/m.exec(detail)?.[1];
}

async function typeCode(page: Page, code: string): Promise<void> {
  const box = page.locator('.quick-input-widget:visible', { hasText: 'code that stood at the top of the card' });
  await box.waitFor({ timeout: 30_000 });
  await box.locator('input').first().fill(code);
  await page.keyboard.press('Enter');
  await box.waitFor({ state: 'hidden', timeout: 30_000 });
}

function modalBox(page: Page, title: string): Locator {
  return page.locator('.monaco-dialog-box', { has: page.locator('.dialog-message-text', { hasText: title }) });
}

async function detailText(box: Locator): Promise<string> {
  const detail = box.locator('.dialog-message-detail');
  return (await detail.count()) > 0 ? (await detail.innerText()).trim() : '';
}

async function buttonTexts(box: Locator): Promise<string[]> {
  const texts = await box.locator('.dialog-buttons .monaco-button').allInnerTexts();
  // In the page the first item is the rightmost button.
  return texts.map((text) => text.trim()).toReversed();
}

async function pressAsPerson(box: Locator, button: string, seenAt: number): Promise<void> {
  await sleep(Math.max(0, seenAt + PERSON_MS - Date.now()));
  await box.locator('.monaco-button', { hasText: button }).click();
}
