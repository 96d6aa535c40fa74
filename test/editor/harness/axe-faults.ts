import axe from 'axe-core';
import type { FrameLocator } from 'playwright-core';

/** What axe finds wrong with a web view's page, by the rules for WCAG 2.2 AA. */
export async function axeFaults(page: FrameLocator): Promise<readonly string[]> {
  const frame = await (await page.locator('html').elementHandle())?.ownerFrame();
  if (!frame) throw new Error('the page has no frame');
  // By the browser's debugger: the page's own policy lets no other script run.
  await frame.evaluate(axe.source);
  return frame.evaluate<readonly string[]>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  );
}
