import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../../../scripts/lib/cache-folder.mjs';

/** Saves what the page shows as `.screens/<name>.png` (ignored by git), for people to look at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(screens(), `${name}.png`) });
}

/** Saves a text beside the screenshots. */
export function saveArtifact(name: string, text: string): void {
  writeFileSync(path.join(screens(), name), text);
}

function screens(): string {
  const folder = path.join(ROOT, '.screens');
  mkdirSync(folder, { recursive: true });
  return folder;
}
