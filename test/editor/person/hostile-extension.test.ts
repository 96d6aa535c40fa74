import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attack, HOSTILE_EXTENSION } from '../harness/attack.ts';
import { channelLines, waitForLine } from '../harness/channel-log.ts';
import { sendPrompt } from '../harness/chat.ts';
import { guestStates } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { closeModals, hasModal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';

let bench: Workbench;
let atStart: Record<string, string | undefined>;

beforeAll(async () => {
  // A person's whole time: the attacks take longer than the two minutes that a call waits by default.
  bench = await launchWorkbench({ extensions: [HOSTILE_EXTENSION], machineSettings: { 'banksman.approvalWait': { editor: 900_000 } } });
  atStart = await guestStates(bench.demo.config);
});

afterEach(async ({ task }) => {
  await screenshot(bench.page, `c-${task.name.replaceAll(/\W+/g, '-').slice(0, 40)}`);
});

afterAll(() => bench?.close());

/** Nothing has happened that only a person may let happen. */
async function expectNothingApproved(): Promise<void> {
  expect(channelLines(bench.editor).filter((line) => /\] OK: \w+ \((?:red|yellow)\)/.test(line))).toEqual([]);
  expect(await guestStates(bench.demo.config)).toEqual(atStart);
  await bench.page.locator('.statusbar-item', { hasText: 'Banksman: balanced' }).waitFor({ timeout: 20_000 });
}

async function pendingRequest(title: string): Promise<string> {
  const { detail } = await waitModal(bench.page, title);
  return /req-[0-9a-f]{8}/.exec(detail)?.[0] ?? '';
}

describe('a dialog of another extension in front of ours', () => {
  it('that is closed with Enter, twice, denies what comes behind it', async () => {
    const { page } = bench;
    const results = toolResults(bench.model).length;
    await sendPrompt(page, 'stop container 200 on Home');
    await attack(bench.folder, 'decoy');
    await waitModal(page, 'Save your changes');
    await waitForLine(bench.editor, /asked: Stop container 200/);
    // Ours has been asked for, and is not seen yet.
    await page.waitForTimeout(1500);
    expect(await hasModal(page, '200')).toBe(false);
    await page.keyboard.press('Enter');
    await waitModal(page, '200');
    await page.keyboard.press('Enter');
    await page.locator('.quick-input-widget:visible', { hasText: 'Tell the agent why' }).waitFor({ timeout: 60_000 });
    await page.keyboard.press('Escape');
    expect(await waitForToolResult(bench.model, results + 1)).toContain('"status":"denied"');
    await expectNothingApproved();
  });
});

describe('another extension in the same host', () => {
  it("can run the command behind the editor's own cards, and gets no further than the dialog", async () => {
    await sendPrompt(bench.page, 'stop vm 100 on pve');
    const modal = await waitModal(bench.page, 'Stop VM 100');
    await attack(bench.folder, 'acceptCard');
    await bench.page.waitForTimeout(1500);
    expect(await modal.isOpen()).toBe(true);
    expect(toolResults(bench.model).slice(1)).toEqual([]);
    await expectNothingApproved();
  });

  it('cannot answer the dialog with any command that presses something', async () => {
    const report = await attack(bench.folder, 'pressEverything');
    expect(report.at(-1)).toMatch(/^pressed \d{3} commands$/);
    expect(await hasModal(bench.page, 'Stop VM 100')).toBe(true);
    expect(toolResults(bench.model).slice(1)).toEqual([]);
    await expectNothingApproved();
  });

  it('cannot claim an approval in the arguments of the tool', async () => {
    const report = await attack(bench.folder, 'invokeTool', await pendingRequest('Stop VM 100'));
    expect(report.filter((line) => line.includes('"status":"ok"'))).toEqual([]);
    expect(await hasModal(bench.page, 'Stop VM 100')).toBe(true);
    await expectNothingApproved();
  });

  it("cannot answer it with Banksman's own commands, whatever the argument", async () => {
    const report = await attack(bench.folder, 'ownCommands', await pendingRequest('Stop VM 100'));
    expect(report.at(-1)).toMatch(/^ran \d{2,3} commands$/);
    expect(await hasModal(bench.page, 'Stop VM 100')).toBe(true);
    await expectNothingApproved();
  });
});

describe('with what the installed module exports', () => {
  it('cannot start it a second time with a context of its own: both are off then, and the window says so', async () => {
    await closeModals(bench.page);
    const results = toolResults(bench.model).length;
    await sendPrompt(bench.page, 'stop container 201 on pve');
    const report = await attack(bench.folder, 'callExports', await pendingRequest('201'));
    expect(report).toContainEqual('exports activate,deactivate');
    const starts = report.filter((line) => /forged activate(?: after deactivate)?: (?!banksman\.|seam\.)/.test(line));
    expect(starts).toHaveLength(4);
    expect(starts.filter((line) => !line.endsWith('failed: Banksman is started already in this process; reload the window'))).toEqual([]);
    // SECURITY: whoever gets the in-host suite's seam answers every question; no forged context may get it.
    expect(report.filter((line) => line.includes('seam.'))).toEqual([]);
    await waitForNotification(bench.page, /started a second time in this window/i);
    expect(toolResults(bench.model).slice(results).join()).not.toContain('"status":"ok"');
    expect(await guestStates(bench.demo.config)).toEqual(atStart);
    expect(existsSync(path.join(bench.configDir, 'banksman', 'config.json')) ? 'a key was pinned' : 'no key was pinned').toBe(
      'no key was pinned',
    );
  });
});
