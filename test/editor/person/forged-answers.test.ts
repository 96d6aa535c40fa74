/** Ways to an approval that no person gave, tried in the editor's own account: a click that was meant for another dialog. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openApprovals, pressRowAction } from '../harness/approvals-view.ts';
import { attack, HOSTILE_EXTENSION } from '../harness/attack.ts';
import { channelLines, waitForLine } from '../harness/channel-log.ts';
import { sendPrompt } from '../harness/chat.ts';
import { guestStates } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { denyInModal, hasModal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;
let atStart: Record<string, string | undefined>;

beforeAll(async () => {
  bench = await launchWorkbench({ extensions: [HOSTILE_EXTENSION], machineSettings: { 'banksman.approvalWait': { editor: 900_000 } } });
  atStart = await guestStates(bench.demo.config);
});

afterEach(async ({ task }) => {
  await screenshot(bench.page, `h-${task.name.replaceAll(/\W+/g, '-').slice(0, 40)}`);
});

afterAll(() => bench?.close());

async function expectNothingApproved(): Promise<void> {
  expect(channelLines(bench.editor).filter((line) => /approved: |\] OK: \w+ \((?:red|yellow)\)/i.test(line))).toEqual([]);
  expect(await guestStates(bench.demo.config)).toEqual(atStart);
}

/** Where a button of the dialog is, in pixels of the page. */
async function middleOf(title: string, button: string): Promise<{ readonly x: number; readonly y: number }> {
  const box = bench.page.locator('.monaco-dialog-box', { hasText: title }).locator('.monaco-button', { hasText: button }).first();
  const place = await box.boundingBox();
  if (place === null) throw new Error(`no button ${button}`);
  return { x: place.x + place.width / 2, y: place.y + place.height / 2 };
}

describe('a decoy in front of the dialog', () => {
  it('closed with two clicks 180 ms apart approves nothing: what counts is a code that stands on the card', async () => {
    const { page } = bench;
    await sendPrompt(page, 'stop container 200 on Home');
    const seen = await waitModal(page, '200');
    const approve = await middleOf('200', 'Approve once');
    const answers = toolResults(bench.model).length;
    await denyInModal(page, seen);
    await waitForToolResult(bench.model, answers + 1);
    await sendPrompt(page, 'stop container 201 on pve');
    await attack(bench.folder, 'decoy');
    await waitModal(page, 'Save your changes');
    await waitForLine(bench.editor, /asked: Stop container 201/);
    // Longer than an answer has to take: it is counted from the asking, which is hidden.
    await page.waitForTimeout(1500);
    const decoy = await middleOf('Save your changes', 'Save');
    await page.mouse.click(decoy.x, decoy.y);
    await page.waitForTimeout(180);
    for (let click = 0; click < 3; click += 1) await page.mouse.click(approve.x, approve.y, { delay: 20 });
    await page.waitForTimeout(3000);
    await page.keyboard.press('Enter');
    await page.waitForTimeout(3000);
    expect(await hasModal(page, 'Trust the approval key')).toBe(false);
    await expectNothingApproved();
    await page.keyboard.press('Escape');
    await page.waitForTimeout(500);
    await page.keyboard.press('Escape');
  });
});

describe('a repository that colours the editor', () => {
  const settings = () => path.join(bench.folder, '.vscode', 'settings.json');
  const paint = (colours: object) => {
    mkdirSync(path.dirname(settings()), { recursive: true });
    writeFileSync(settings(), JSON.stringify({ 'workbench.colorCustomizations': colours }));
  };
  const groundOf = () => bench.page.evaluate<string>('getComputedStyle(document.querySelector(".part.sidebar")).backgroundColor');

  it('leaves no dialog that cannot be read: nothing is asked, and it is said why', async () => {
    const { page } = bench;
    const blank = { 'editorWidget.background': '#123456', 'editorWidget.foreground': '#123456', foreground: '#123456' };
    paint({ ...blank, 'sideBar.background': '#123456' });
    await waitUntil('the colours of the folder', async () => (await groundOf()) === 'rgb(18, 52, 86)', 30_000);
    // The call of the test before still waits.
    await openApprovals(page);
    await pressRowAction(page, '201', 'Review');
    await waitForNotification(page, /Nothing was asked: this folder's settings colour the editor's dialogs/);
    expect(await hasModal(page, '201')).toBe(false);
    await expectNothingApproved();
    rmSync(settings());
    await waitUntil('the usual colours', async () => (await groundOf()) !== 'rgb(18, 52, 86)', 30_000);
    await pressRowAction(page, '201', 'Review');
    await denyInModal(page, await waitModal(page, '201'));
    await expectNothingApproved();
  });
});
