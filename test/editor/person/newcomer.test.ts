/** The first minutes in a fresh profile: from no cluster to one that an agent works on; the walkthrough and its links, the level, the lists of the palette. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#kernel/json';
import { connectDemo, demoFacts } from '../harness/assistant.ts';
import { sendPrompt } from '../harness/chat.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { pickRow, pickRows, runCommand, typeInto, waitPickRow } from '../harness/palette.ts';
import { saveArtifact, screenshot } from '../harness/screenshot.ts';
import { machineSettings } from '../harness/settings-file.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';
import { openBanksmanWalkthrough, pressStepLink, waitWalkthrough, walkthroughSteps } from '../harness/walkthrough.ts';

let bench: Workbench;
const startedAt = Date.now();

beforeAll(async () => {
  bench = await launchWorkbench({
    machineSettings: { 'banksman.clusters': [], 'banksman.protected': { guests: [103] } },
    prepareFolder: (folder) => writeFileSync(path.join(folder, 'notes.txt'), 'before\n'),
  });
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-newcomer-${task.id}`);
});

afterAll(() => bench?.close());

const settings = () => machineSettings(bench);

/** A web view is a frame in a frame. */
const webview = () =>
  bench.page.locator('iframe.webview.ready:visible').last().contentFrame().locator('iframe#active-frame').contentFrame();

describe('a newcomer', () => {
  it('is shown the walkthrough, unasked', async () => {
    await waitWalkthrough(bench.page);
    expect(await walkthroughSteps(bench.page)).toEqual([
      'Connect a cluster, or try the demo',
      'Protect what must not stop',
      'Look whether it works',
      'Ask in the chat',
      'Answer in one place',
      'Check the trail',
    ]);
    await screenshot(bench.page, 'n1-walkthrough');
  });

  it('connects a cluster by the assistant, and sees that it works', async () => {
    await connectDemo(bench, (step) => screenshot(bench.page, `n1-${step}`));
    await webview().locator('.banner.good', { hasText: 'Everything that was tried works' }).waitFor({ timeout: 60_000 });
    await screenshot(bench.page, 'n1-doctor');
    const { endpoints, tokenId, secret } = demoFacts(bench);
    const [cluster] = settings()['banksman.clusters'] as [JsonObject];
    expect(cluster).toMatchObject({ endpoints, tokenId });
    expect(Object.keys((cluster['tls'] as { fingerprint: object }).fingerprint)).toEqual(endpoints);
    expect(JSON.stringify(settings())).not.toContain(secret);
    expect(settings()['banksman.protected']).toMatchObject({
      guests: [103, { vmid: 200, reason: 'is named as one that others depend on' }],
    });
  });

  it('lets the chat restart a container, once they approved it, and finds that in the activity', async () => {
    const count = toolResults(bench.model).length + 1;
    await sendPrompt(bench.page, 'restart container 201 on pve');
    await approveInModal(bench.page, await waitModal(bench.page, '201'));
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
    expect(await guestStatus(bench.demo.config, 201)).toBe('running');
    await runCommand(bench.page, 'Banksman: Show Activity');
    await webview().locator('button.call', { hasText: 'restart_container' }).first().waitFor({ timeout: 60_000 });
    await screenshot(bench.page, 'n1-activity');
  });

  it('takes back what an agent did to a file', async () => {
    await callFromCommandLine(bench, 'run_command', { command: 'echo after > notes.txt' });
    const notes = () => readFileSync(path.join(bench.folder, 'notes.txt'), 'utf8');
    expect(notes()).toBe('after\n');
    await runCommand(bench.page, 'Banksman: Undo This Run');
    await pickRow(bench.page, 'echo after');
    await (await waitModal(bench.page, 'Undo what this run changed?')).click('Undo');
    await waitUntil('the file as it was', () => notes() === 'before\n', 30_000);
  });

  it('pauses all agents', async () => {
    await runCommand(bench.page, 'Banksman: Pause or Resume All Agents');
    await typeInto(bench.page, 'lunch', 'Pause All Agents');
    await bench.page.keyboard.press('Enter');
    await bench.page.locator('.statusbar-item', { hasText: 'Agents: paused' }).waitFor({ timeout: 60_000 });
    expect(await callFromCommandLine(bench, 'restart_container', { vmid: 201 })).toMatchObject({ code: 'agents_paused' });
    saveArtifact('newcomer-seconds.txt', `${(Date.now() - startedAt) / 1000}\n`);
    await runCommand(bench.page, 'Banksman: Pause or Resume All Agents');
    await (await waitModal(bench.page, 'Let all agents change things again?')).click('Resume Agents');
  });

  it('is not shown the walkthrough again in the next window', async () => {
    const page = await bench.openWindow();
    await page.locator('.statusbar-item', { hasText: 'Banksman: balanced' }).waitFor({ timeout: 60_000 });
    expect(await page.locator('h2.category-title').count()).toBe(0);
    await page.close();
  });
});

describe('the walkthrough', () => {
  it('leads from “Protect what must not stop” to that one setting, where it counts', async () => {
    await pressStepLink(bench.page, 'Protect what must not stop', 'Open the Setting');
    const editor = bench.page.locator('.settings-editor');
    await editor.getByText('1 Setting Found').waitFor({ timeout: 30_000 });
    // In the editor's own words, with its own spaces.
    expect((await editor.locator('.setting-item-title').first().innerText()).replaceAll(/\s+/g, ' ').trim()).toBe('Banksman: Protected');
    await waitUntil('the settings to close', async () => {
      await bench.page.keyboard.press('Escape');
      return (await editor.count()) === 0;
    });
  });

  it('leads to the assistant, the list, the check of the trail and the log', async () => {
    await openBanksmanWalkthrough(bench.page);
    await pressStepLink(bench.page, 'Connect a cluster', 'Connect a Cluster');
    await bench.page.locator('.quick-input-widget:visible', { hasText: 'Address of a node' }).waitFor({ timeout: 30_000 });
    await bench.page.keyboard.press('Escape');
    await pressStepLink(bench.page, 'Check the trail', 'Verify Audit Trail');
    expect(await waitForNotification(bench.page, 'Audit trail:')).toMatch(/\d+ records/);
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
