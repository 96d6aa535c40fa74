import { type BrowserContext, chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser with a profile of its own in `folder`: the editor keeps secrets and enablement there. */
export function openBrowser(folder: string, executablePath: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, {
    executablePath,
    headless: true,
    args: FLAGS,
    viewport: { width: 1360, height: 860 },
  });
}
