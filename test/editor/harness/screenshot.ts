import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../../../scripts/lib/cache-folder.mjs';

/** Saves what the page shows as `.screens/<name>.png` (ignored by git), for people to look at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = path.join(ROOT, '.screens');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}
