import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { approvalBadge, approvalRows, openApprovals, pressRowAction, waitRow, waitRowGone } from '../harness/approvals-view.ts';
import { sendPrompt } from '../harness/chat.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, hasModal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { typeInto } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;
let second: Page;

beforeAll(async () => {
  bench = await launchWorkbench();
});

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  await screenshot(bench.page, `failed-two-windows-${task.id}`);
  if (second) await screenshot(second, `failed-two-windows-${task.id}-second`);
});

afterAll(() => bench?.close());

/** Asks for a red call in the first window. */
async function askInFirst(prompt: string): Promise<number> {
  const next = toolResults(bench.model).length + 1;
  await bench.page.bringToFront();
  await sendPrompt(bench.page, prompt);
  return next;
}

describe('the list of pending approvals', () => {
  it('lets a person approve a call whose dialog they had closed', async () => {
    const count = await askInFirst('stop vm 100 on pve');
    await (await waitModal(bench.page, 'Stop VM 100')).escape();
    await openApprovals(bench.page);
    await waitRow(bench.page, 'Stop VM 100');
    expect(await waitUntil('the badge', () => approvalBadge(bench.page))).toBe('1');
    const [row] = await approvalRows(bench.page);
    expect(row?.description).toMatch(/^\d+m · Chat$/);
    expect(row?.spoken).toMatch(/^Stop VM 100 .*, asked by Chat [0-9a-f]+, \d+m left$/);
    await screenshot(bench.page, 'd1-tree');
    await pressRowAction(bench.page, 'Stop VM 100', 'Review');
    const modal = await waitModal(bench.page, 'Stop VM 100');
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    await approveInModal(bench.page, modal);
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
    expect(await guestStatus(bench.demo.config, 100)).toBe('stopped');
    await waitRowGone(bench.page, 'Stop VM 100');
    await waitUntil('the badge to go', async () => (await approvalBadge(bench.page)) === undefined);
  });

  it('shows the same request in a second window, which can answer it', async () => {
    second = await bench.openWindow();
    await openApprovals(second);
    const count = await askInFirst('stop container 201 on pve');
    await waitModal(bench.page, '201');
    await second.bringToFront();
    await waitRow(second, '201');
    expect(await hasModal(second, '201')).toBe(false);
    await pressRowAction(second, '201', 'Review');
    const modal = await waitModal(second, '201');
    await screenshot(second, 'd2-second-window');
    await approveInModal(second, modal);
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
    expect(await guestStatus(bench.demo.config, 201)).toBe('stopped');
  });

  it('tells the window that answers last that the request was decided already', async () => {
    await bench.page.bringToFront();
    const late = await waitModal(bench.page, '201');
    await late.click('Approve once');
    await waitForNotification(bench.page, /already|elsewhere/i);
    await screenshot(bench.page, 'd3-loser-told');
    expect(await guestStatus(bench.demo.config, 201)).toBe('stopped');
  });

  it('counts one answer of two windows to a call from the command line, which then runs', async () => {
    const asked = await callFromCommandLine(bench, 'start_vm', { vmid: 100 });
    expect(asked.status).toBe('pending');
    for (const page of [bench.page, second]) {
      await page.bringToFront();
      await openApprovals(page);
      await waitRow(page, 'Start VM 100');
      await pressRowAction(page, 'Start VM 100', 'Review');
      await waitModal(page, 'Start VM 100');
    }
    await approveInModal(second, await waitModal(second, 'Start VM 100'));
    await waitRowGone(second, 'Start VM 100');
    await bench.page.bringToFront();
    await (await waitModal(bench.page, 'Start VM 100')).click('Deny');
    await waitForNotification(bench.page, /Start VM 100.*is over already: approved by .*Your answer changed nothing/is);
    expect((await callFromCommandLine(bench, 'start_vm', { vmid: 100 })).status).toBe('ok');
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    expect((await callFromCommandLine(bench, 'start_vm', { vmid: 100 })).request_id).not.toBe(asked.request_id);
  });

  it('keeps a request whose window was reloaded while its dialog was open', async () => {
    await second.close();
    await askInFirst('stop container 200 on Home');
    await waitModal(bench.page, '200');
    await bench.page.reload();
    await openApprovals(bench.page);
    await waitRow(bench.page, '200', 60_000);
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
    await pressRowAction(bench.page, '200', 'Deny');
    await typeInto(bench.page, 'not now', 'Deny: Stop container 200');
    await bench.page.keyboard.press('Enter');
    await waitRowGone(bench.page, '200');
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
  });
});
