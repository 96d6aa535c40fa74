/** The site as a reader gets it: every link leads somewhere, nothing comes from elsewhere, and it can be read by everybody. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { chromium, type Page } from 'playwright-core';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { makeSite, placeOf } from '../../../scripts/docs/site.ts';
import { chromiumPath } from '../page/page-world.ts';

vi.setConfig({ testTimeout: 180_000 });

const site = makeSite(path.join(import.meta.dirname, '../../..'));
const pages = [...site].flatMap(([file, content]) => (typeof content === 'string' ? [{ file, html: content }] : []));

const valuesOf = (html: string, attribute: string) =>
  [...html.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value = '']) => value);

describe('the site', () => {
  it('has the pages of the navigation, and the decisions', () => {
    const files = pages.map(({ file }) => file);
    expect(files).toEqual(
      expect.arrayContaining([
        'index.html',
        placeOf('docs/start.md'),
        placeOf('docs/adr/README.md'),
        placeOf('docs/adr/0006-modal-gate.md'),
      ]),
    );
  });

  it('leads somewhere with every link and anchor', () => {
    const targets = pages.flatMap(({ file, html }) =>
      [...valuesOf(html, 'href'), ...valuesOf(html, 'src')].map((target) => ({ file, target })),
    );
    expect(targets.length).toBeGreaterThan(2000);
    expect(targets.filter(({ file, target }) => !leadsSomewhere(file, target))).toEqual([]);
  });

  it('names no two things alike on a page', () => {
    const alike = pages.filter(({ html }) => new Set(valuesOf(html, 'id')).size !== valuesOf(html, 'id').length);
    expect(alike.map(({ file }) => file)).toEqual([]);
  });

  it('runs nothing and fetches nothing from elsewhere', () => {
    expect(pages.filter(({ html }) => /<script|<iframe|<form|<[^>]* on\w+="/.test(html)).map(({ file }) => file)).toEqual([]);
    const fetched = pages.flatMap(({ html }) => [
      ...valuesOf(html, 'src'),
      ...[...html.matchAll(/<link [^>]*href="([^"]*)"/g)].map(([, value = '']) => value),
    ]);
    expect(fetched.filter((target) => /^(?:[a-z]+:|\/)/i.test(target))).toEqual([]);
    expect(String(site.get('site.css'))).not.toMatch(/url\(|@import/);
  });

  it('shows no mark of tests and generators', () => {
    expect(pages.filter(({ html }) => /&lt;!--/.test(html)).map(({ file }) => file)).toEqual([]);
  });
});

describe.skipIf(!existsSync(chromiumPath))('in a browser, from its files', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'banksman-site-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('passes the rules for WCAG 2.2 AA, in the light and in the dark, and does not scroll sideways on a phone', async () => {
    for (const [file, content] of site) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), content);
    }
    const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
    try {
      for (const [file, colorScheme] of [
        [placeOf('docs/start.md'), 'light'],
        [placeOf('docs/compare.md'), 'dark'],
      ] as const) {
        const page = await browser.newPage({ colorScheme, viewport: { width: 390, height: 800 } });
        await page.goto(pathToFileURL(path.join(folder, file)).href);
        expect(await faultsOf(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
        await page.close();
      }
    } finally {
      await browser.close();
    }
  });
});

function leadsSomewhere(from: string, target: string): boolean {
  if (target.startsWith('https:')) return true;
  const [name = '', anchor] = target.split('#', 2);
  const file = name === '' ? from : path.posix.join(path.posix.dirname(from), name);
  const content = site.get(file);
  return content !== undefined && (anchor === undefined || valuesOf(String(content), 'id').includes(anchor));
}

async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<readonly string[]>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  );
}
