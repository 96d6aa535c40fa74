import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { runCommand } from './palette.ts';
import { waitUntil } from './wait-until.ts';

/** Where an editor writes: `logDir` of the running editor. */
export interface LogSource {
  readonly logDir: string;
}

/** The lines of the output channel `Banksman`, of every window of this run, as the editor writes them to disk. */
export function channelLines(editor: LogSource): string[] {
  return globSync(path.join(editor.logDir, '*', 'exthost*', 'banksman.banksman', 'Banksman.log'))
    .toSorted()
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => line !== '');
}

/** Waits for a line that fits; the error shows what is there instead. */
export async function waitForLine(editor: LogSource, pattern: RegExp, timeoutMs = 60_000): Promise<string> {
  try {
    return await waitUntil(`a line like ${pattern}`, () => channelLines(editor).find((line) => pattern.test(line)), timeoutMs);
  } catch (error) {
    throw new Error(`the output channel has:\n${channelLines(editor).join('\n')}`, { cause: error });
  }
}

/** Opens the channel as a person does, by the command palette. */
export async function showChannel(page: Page): Promise<void> {
  await runCommand(page, 'Banksman: Show Log');
  await page.locator('.part.panel .view-line').first().waitFor({ timeout: 30_000 });
}

/** The lines of the panel that are on the screen. */
export async function visibleChannelText(page: Page): Promise<string> {
  const lines = await page.locator('.part.panel .view-line').allTextContents();
  return lines.join('\n').replaceAll('\u00A0', ' ');
}
