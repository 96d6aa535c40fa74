/** What the page looks like to whom: phones and desks, light and dark, screen readers (axe-core's rules for WCAG 2.2 AA). */
import { join } from 'node:path';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Device, openPageWorld, type PageWorld, settle } from './page-world.ts';

/** Where somebody wants to look: pictures of each view. */
const pictures = process.env['BANKSMAN_PICTURES'];

let world: PageWorld;
beforeAll(async () => {
  const workspace = { approvals: { disruptive: 5 } };
  world = await openPageWorld(workspace, undefined, 'machine');
  await world.ask('stop_vm', { vmid: 100, reason: 'the nightly backup hangs, and a restart from inside did not help' }, 'night');
  await world.ask('stop_container', { vmid: 200 }, 'night');
  await world.ask('start_vm', { vmid: 101 }, 'day');
});
afterAll(() => world.close());

describe.each([
  // German has the longer words.
  [360, 'light', 'de-DE'],
  [360, 'dark', 'de-DE'],
  [1280, 'light', 'en-US'],
  [1280, 'dark', 'en-US'],
] as const)('%i pixels, %s, %s', (width, scheme, locale) => {
  let device: Device;
  let stranger: Device;
  beforeAll(async () => {
    stranger = await world.device({ width, scheme, locale });
    device = await world.enrolled(`${scheme}${width}-phone`, { width, scheme, locale });
  });

  const open = async (path: string, on: Device = device) => on.open(path);
  const row = (target: RegExp) => device.tab.locator('.row', { hasText: target });

  it.each<[string, () => Promise<void>, boolean?]>([
    ['stranger', () => open('/', stranger), true],
    [
      'invitation',
      async () => open(new URL((await world.invite(`bob-${width}-${scheme}`)).url).href.slice(world.page.origin.length), stranger),
      true,
    ],
    ['list', () => open('/')],
    [
      'request',
      async () => {
        await open('/');
        await row(/VM 100 \(web\)/).click();
        await device.tab.locator('article').waitFor();
        await device.tab.locator('#exact').click();
      },
    ],
    [
      'question',
      async () => {
        await open('/');
        await device.tab.locator('.group [data-act="deny-many"]').click();
        await device.tab.getByRole('dialog').waitFor();
      },
    ],
    ['settings', () => open('/settings')],
    ['browser', () => open('/me')],
    [
      'answered',
      async () => {
        await open('/');
        await row(/container 200/i).click();
        await device.tab.locator('article').waitFor();
        await settle(device.tab);
        await device.tab.locator('#approve').click();
        await device.tab.locator('#result').waitFor();
      },
    ],
    ['nothing', () => open('/r/req-00000000')],
  ])('%s: no fault that axe knows, nothing wider than the window', async (name, show, isStranger) => {
    await show();
    const { tab } = isStranger === true ? stranger : device;
    await tab.evaluate(axe.source);
    const faults = await tab.evaluate<readonly string[]>(
      `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
        .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
    );
    expect(faults).toEqual([]);
    expect(await tab.evaluate<number>('document.scrollingElement.scrollWidth')).toBeLessThanOrEqual(width);
    if (pictures !== undefined) await tab.screenshot({ path: join(pictures, `${name}-${width}-${scheme}.png`), fullPage: true });
  });
});

it('moves nothing for who wants nothing moved', async () => {
  const { tab } = await world.device();
  await tab.goto(`${world.page.origin}/`);
  const moving = `[...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s' || getComputedStyle(e).animationName !== 'none').length`;
  expect(await tab.evaluate<number>(moving)).toBe(0);
});
