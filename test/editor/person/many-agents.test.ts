/** Two hundred requests of eight agents in one list: arranged, denied at once, answered by keys alone; and all agents paused by a click. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  approvalBadge,
  approvalRows,
  openApprovals,
  pressRowAction,
  pressViewAction,
  waitRow,
  waitRowGone,
} from '../harness/approvals-view.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { pickRow, runCommand } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { seedRequests } from '../harness/seed-requests.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench();
  await openApprovals(bench.page);
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-many-${task.id}`);
});

afterAll(() => bench?.close());

const list = () => bench.page.locator('.part.sidebar .pane', { hasText: 'Pending Approvals' }).locator('.monaco-list').first();
const agents = () => bench.page.locator('.statusbar-item', { hasText: 'Agents: ' });

/** Where the focus is: the label of the row, else what has it. */
const focused = () =>
  bench.page.evaluate<string>(`
    document.activeElement?.closest('.monaco-list')?.querySelector('.monaco-list-row.focused')?.getAttribute('aria-label') ??
      document.activeElement?.className ?? ''`);

async function opensUngrouped(): Promise<boolean> {
  const next = await bench.openWindow();
  await openApprovals(next);
  await waitUntil('the list', async () => (await approvalRows(next)).some(({ spoken }) => spoken.includes('host5')));
  const labels = (await approvalRows(next)).map(({ label }) => label);
  await next.close();
  return labels.includes('Stop VM 10005') && !labels.includes('MCP “host5”');
}

describe('two hundred requests of eight agents', () => {
  it('are told of together, and stand below the eight, which do not move when more come', async () => {
    const { page } = bench;
    await seedRequests(bench.stateDir, 200, { agents: 8 });
    await waitUntil('the number of all', async () => (await approvalBadge(page)) === '200');
    await waitForNotification(page, /new requests of \d agents wait for you/);
    await pressViewAction(page, 'Pending Approvals', 'Collapse All');
    await waitUntil(
      'all groups',
      async () => (await approvalRows(page)).filter(({ description }) => description === '25 wait').length === 8,
    );
    const groups = (await approvalRows(page)).map(({ spoken }) => spoken);
    expect(groups).toContainEqual('MCP “host3”, 25 requests wait');
    expect(await agents().getAttribute('aria-label')).toContain('200 requests wait for a person');
    await screenshot(page, 'm1-eight-agents');
    const row = page.locator('.part.sidebar .monaco-list-row', { hasText: 'MCP “host5”' });
    await row.hover();
    const before = await row.boundingBox();
    await seedRequests(bench.stateDir, 9, { agents: 8, from: 201 });
    await waitRow(page, '27 wait');
    expect(await row.boundingBox()).toEqual(before);
  });

  it('of one of them are denied at once; what comes while the question is open waits on', async () => {
    const { page } = bench;
    await pressRowAction(page, 'MCP “host3”', 'Deny All');
    const modal = await waitModal(page, 'Deny 26 requests of');
    expect(modal.buttons[0]).toBe('Keep Waiting');
    expect(modal.detail).toContain('What is asked from now on is not denied.');
    await screenshot(page, 'm2-deny-all');
    await seedRequests(bench.stateDir, 1, { agents: 8, from: 211 });
    await waitUntil('the new one', async () => (await approvalBadge(page)) === '210');
    await modal.click('Deny 26');
    await page.locator('.quick-input-widget:visible', { hasText: 'Tell the agents why' }).waitFor({ timeout: 60_000 });
    await page.keyboard.type('one at a time, please');
    await page.keyboard.press('Enter');
    await waitForNotification(page, /26 requests were denied/);
    await waitRow(page, '1 waits');
    expect((await approvalRows(page)).map(({ spoken }) => spoken)).toContainEqual('MCP “host3”, 1 request waits');
  });

  it('are arranged as the person chooses, also in the next window', async () => {
    const { page } = bench;
    await runCommand(page, 'Banksman: Group Pending Approvals');
    await screenshot(page, 'm3-group-by');
    await pickRow(page, 'Not Grouped');
    await waitRow(page, 'Stop VM 10005');
    // The browser writes what is remembered a moment later.
    expect(await waitUntil('a window that opens ungrouped', opensUngrouped, 180_000)).toBe(true);
    await page.bringToFront();
    await runCommand(page, 'Banksman: Group Pending Approvals');
    await pickRow(page, 'By Agent');
    await waitRow(page, '26 wait');
  });

  it('are gone at one answer, but for nothing that the question did not name', async () => {
    const { page } = bench;
    await runCommand(page, 'Banksman: Deny All');
    await (await waitModal(page, 'Deny 184 requests?')).click('Deny 184');
    await page.locator('.quick-input-widget:visible', { hasText: 'Tell the agents why' }).waitFor({ timeout: 60_000 });
    await page.keyboard.press('Escape');
    await waitForNotification(page, /184 requests were denied/);
    await waitRow(page, 'No call is waiting');
    await agents().filter({ hasText: 'Agents: running' }).waitFor({ timeout: 60_000 });
    expect(await approvalBadge(page)).toBeUndefined();
  });
});

describe('by keys alone', () => {
  it('a request is reviewed, left, looked at and denied, and the focus is in the list again', async () => {
    const { page } = bench;
    for (const vmid of [200, 201]) await callFromCommandLine(bench, 'stop_container', { vmid });
    await waitRow(page, '201');
    await list().focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    const modal = await waitModal(page, '200');
    await modal.escape();
    await waitUntil('the row to have the focus again', async () => (await focused()).startsWith('Stop container 200'));
    await page.keyboard.press('Shift+F10');
    const menu = page.locator('.context-view .monaco-menu, .monaco-menu-container .monaco-menu').first();
    await menu.waitFor({ timeout: 30_000 });
    const inMenu = (await menu.locator('.action-label').allInnerTexts()).filter((text) => text !== '');
    expect(inMenu).toEqual(['Review', 'Deny…', 'Show Details']);
    await screenshot(page, 'm4-menu');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('.quick-input-widget:visible', { hasText: 'Enter denies' }).waitFor({ timeout: 60_000 });
    await page.keyboard.press('Enter');
    await waitRowGone(page, 'Stop container 200');
    await waitUntil('the next row to have the focus', async () => (await focused()).startsWith('Stop container 201'));
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
  });
});

describe('all agents', () => {
  it('are paused by one click, and go on by a person in the dialog alone', async () => {
    const { page } = bench;
    await agents().click();
    await agents().filter({ hasText: 'Agents: paused' }).waitFor({ timeout: 60_000 });
    await screenshot(page, 'm5-paused');
    await agents().click();
    const modal = await waitModal(page, 'Let all agents change things again?');
    expect(modal.buttons[0]).toBe('Keep Them Paused');
    await modal.escape();
    await agents().filter({ hasText: 'Agents: paused' }).waitFor({ timeout: 60_000 });
    await agents().click();
    await (await waitModal(page, 'Let all agents change things again?')).click('Resume Agents');
    await (await waitModal(page, 'Trust the approval key')).click('Trust This Key');
    await agents().filter({ hasText: 'Agents: 1 waiting' }).waitFor({ timeout: 60_000 });
  });
});
