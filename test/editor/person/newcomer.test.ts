/** The first minutes in a fresh profile: the walkthrough and its links, the level, the lists of the palette. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { pickRow, pickRows, runCommand, waitPickRow } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { waitUntil } from '../harness/wait-until.ts';
import { openBanksmanWalkthrough, pressStepLink, walkthroughSteps } from '../harness/walkthrough.ts';

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench();
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-newcomer-${task.id}`);
});

afterAll(() => bench?.close());

describe('the walkthrough', () => {
  it('is opened by the link in the view, in a profile that nobody has used', async () => {
    await openBanksmanWalkthrough(bench.page);
    expect(await walkthroughSteps(bench.page)).toEqual([
      'Connect a cluster',
      'Store the API token',
      'Protect what must not stop',
      'Ask in the chat',
      'Answer in one place',
      'Check the trail',
    ]);
    await screenshot(bench.page, 'n1-walkthrough');
  });

  it.each([
    ['Connect a cluster', 'Open the Setting', 'Banksman: Clusters'],
    ['Protect what must not stop', 'Open the Setting', 'Banksman: Protected'],
  ])('leads from “%s” to that one setting, where it counts', async (step, link, title) => {
    await pressStepLink(bench.page, step, link);
    const settings = bench.page.locator('.settings-editor');
    await settings.getByText('1 Setting Found').waitFor({ timeout: 30_000 });
    // In the editor's own words, with its own spaces.
    expect((await settings.locator('.setting-item-title').first().innerText()).replaceAll(/\s+/g, ' ').trim()).toBe(title);
    await waitUntil('the settings to close', async () => {
      await bench.page.keyboard.press('Escape');
      return (await settings.count()) === 0;
    });
  });

  it('leads to the token, the list, the check of the trail and the log', async () => {
    await pressStepLink(bench.page, 'Store the API token', 'Set API Token');
    await bench.page.locator('.quick-input-widget:visible', { hasText: 'API Token of demo' }).waitFor({ timeout: 30_000 });
    await bench.page.keyboard.press('Escape');
    await pressStepLink(bench.page, 'Check the trail', 'Verify Audit Trail');
    expect(await waitForNotification(bench.page, 'Audit trail:')).toContain('nothing has been recorded yet');
    await pressStepLink(bench.page, 'Check the trail', 'Show Log');
    await bench.page.locator('.part.panel .view-line').first().waitFor({ timeout: 30_000 });
    await pressStepLink(bench.page, 'Answer in one place', 'Show Pending Approvals');
    await bench.page.locator('.part.sidebar .pane-header', { hasText: 'Pending Approvals' }).waitFor({ timeout: 30_000 });
  });
});

/** The row that has the focus when a list opens, which a stray Enter takes. */
async function activeRow(): Promise<string> {
  return bench.page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row.focused').innerText();
}

/** Rows whose text is wider than the list, and so cut off. */
function cutRows(): Promise<number> {
  return bench.page
    .locator(
      '.quick-input-widget:visible .quick-input-list .monaco-icon-label-container, .quick-input-widget:visible .quick-input-list .quick-input-list-label-meta',
    )
    .evaluateAll((parts) => parts.filter((part) => part.scrollWidth > part.clientWidth + 1).length);
}

describe('the list of security levels', () => {
  it.each([
    [1280, 800],
    [900, 700],
  ])('opens on the level that counts, with every consequence in sight, at %d by %d', async (width, height) => {
    await bench.page.setViewportSize({ width, height });
    await runCommand(bench.page, 'Banksman: Set Security Level');
    await waitPickRow(bench.page, 'relaxed');
    expect(await activeRow()).toContain('balanced (now)');
    expect(await cutRows()).toBe(0);
    await screenshot(bench.page, `n2-levels-${width}`);
    await bench.page.keyboard.press('Escape');
  });

  it('changes nothing on a stray Enter, and asks before it lowers the level', async () => {
    await runCommand(bench.page, 'Banksman: Set Security Level');
    await waitPickRow(bench.page, 'relaxed');
    await bench.page.keyboard.press('Enter');
    await runCommand(bench.page, 'Banksman: Set Security Level');
    await pickRow(bench.page, 'relaxed');
    const modal = await waitModal(bench.page, 'Set the security level to relaxed');
    expect(modal.buttons[0]).toBe('Keep balanced');
    await modal.click('Keep balanced');
    await runCommand(bench.page, 'Banksman: Set Security Level');
    await waitPickRow(bench.page, 'balanced (now)');
    await bench.page.keyboard.press('Escape');
  });
});

describe('the list of guests', () => {
  it('to stop marks what is protected, and does not take it', async () => {
    await runCommand(bench.page, 'Banksman: Stop VM');
    await waitPickRow(bench.page, '103');
    expect(await activeRow()).toContain('100');
    expect((await pickRows(bench.page)).find((row) => row.includes('103'))).toContain('guest 103 is protected by configuration');
    await pickRow(bench.page, '103');
    await bench.page.locator('.quick-input-widget:visible input[placeholder^="Not possible: guest 103"]').waitFor({ timeout: 30_000 });
    await screenshot(bench.page, 'n3-protected');
    await bench.page.keyboard.press('Escape');
  });

  it('to start leaves out templates and marks what is locked', async () => {
    await runCommand(bench.page, 'Banksman: Start VM');
    await waitPickRow(bench.page, '104');
    const rows = await pickRows(bench.page);
    expect(rows.find((row) => row.includes('104'))).toContain('it is locked (backup)');
    expect(rows.filter((row) => row.includes('900'))).toEqual([]);
    await bench.page.keyboard.press('Escape');
  });
});

/** The page of a result: a web view is a frame in a frame. */
async function resultPage(title: string) {
  const frame = bench.page.locator('iframe.webview.ready:visible').last().contentFrame().locator('iframe#active-frame').contentFrame();
  await frame.locator('h1', { hasText: title }).waitFor({ timeout: 60_000 });
  return frame.locator('html');
}

describe('the page of a result', () => {
  it.each(['Get VMs', 'Get containers', 'Get storage', 'Get cluster status', 'Get recent tasks', 'Doctor'])(
    'of %s starts at its top, and nothing is off the screen at either width',
    async (command) => {
      await runCommand(bench.page, `Banksman: ${command}`);
      const page = await resultPage(command);
      for (const [width, height] of [
        [1280, 800],
        [900, 700],
      ] as const) {
        await bench.page.setViewportSize({ width, height });
        // The web view follows the window a little later.
        await bench.page.waitForTimeout(1000);
        const { over, top } = await page.evaluate((root) => ({ over: root.scrollWidth - root.clientWidth, top: root.scrollTop }));
        await screenshot(bench.page, `n4-${command.replaceAll(' ', '-')}-${width}`);
        expect({ over: Math.max(0, over), top }).toEqual({ over: 0, top: 0 });
      }
    },
  );
});
