/** Everything a person does with requests apart from saying yes: look, deny with words, take back, search, page. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  approvalRows,
  historyRows,
  openApprovals,
  openHistory,
  pressRowAction,
  pressViewAction,
  waitRow,
  waitRowGone,
} from '../harness/approvals-view.ts';
import { sendPrompt } from '../harness/chat.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { unfoldDetails, waitDetails } from '../harness/details-page.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, waitModal } from '../harness/modal.ts';
import { pickRow, runCommand, typeInto } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { seedRequests } from '../harness/seed-requests.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench();
  await openApprovals(bench.page);
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-requests-${task.id}`);
});

afterAll(() => bench?.close());

/** Asks for a red call in the chat. */
async function ask(prompt: string): Promise<number> {
  const next = toolResults(bench.model).length + 1;
  await sendPrompt(bench.page, prompt);
  return next;
}

/** How a request that waits ends its row: `59m · CLI root`. */
const pendingFromCommandLine = 'm · CLI';

describe('a request', () => {
  it('opens as a page with the facts, which leads back to the dialog', async () => {
    const count = await ask('stop vm 100 on pve');
    await (await waitModal(bench.page, 'Stop VM 100')).click('Show Details');
    const details = await waitDetails(bench.page, 'Stop VM 100');
    await details.getByText('Last backup').waitFor({ timeout: 30_000 });
    await unfoldDetails(details);
    const text = await details.locator('main').innerText();
    for (const part of ['Waits for a person', 'running', 'Snapshots', 'HA', 'classify', 'stop vm 100 on pve']) expect(text).toContain(part);
    await screenshot(bench.page, 'f1-details');
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    await details.getByRole('button', { name: 'Review…' }).click();
    await approveInModal(bench.page, await waitModal(bench.page, 'Stop VM 100'));
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
    await details.getByText('approved and used').waitFor({ timeout: 30_000 });
    expect(await guestStatus(bench.demo.config, 100)).toBe('stopped');
  });

  it('is denied with words, which the model is told', async () => {
    const count = await ask('stop container 200 on Home');
    await (await waitModal(bench.page, '200')).click('Deny');
    await typeInto(bench.page, 'backups run until six, try then', 'Tell the agent why');
    await screenshot(bench.page, 'f2-deny-with-words');
    await bench.page.keyboard.press('Enter');
    const result = await waitForToolResult(bench.model, count);
    expect(result).toContain('"status":"denied"');
    expect(result).toContain('backups run until six, try then');
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
  });

  it('that was approved and not used yet is taken back', async () => {
    const asked = await callFromCommandLine(bench, 'stop_container', { vmid: 201 });
    expect(asked.status).toBe('pending');
    await waitRow(bench.page, '201');
    await pressRowAction(bench.page, '201', 'Review');
    await approveInModal(bench.page, await waitModal(bench.page, '201'));
    await openHistory(bench.page);
    await waitRow(bench.page, 'not used yet');
    await screenshot(bench.page, 'f3-history');
    await pressRowAction(bench.page, 'not used yet', 'Revoke');
    await (await waitModal(bench.page, 'Revoke the approval')).click('Revoke');
    await waitRow(bench.page, 'revoked by');
    const again = await callFromCommandLine(bench, 'stop_container', { vmid: 201 });
    expect(again.status).toBe('pending');
    expect(again.request_id).not.toBe(asked.request_id);
    expect(await guestStatus(bench.demo.config, 201)).toBe('running');
    const ended = (await historyRows(bench.page)).map((row) => row.description.split(' · ')[1]);
    expect(ended[0]).toMatch(/^revoked by /);
    expect(ended).toEqual(
      expect.arrayContaining([expect.stringMatching(/^denied by /), expect.stringMatching(/^approved by .* and used$/)]),
    );
    // A button pressed by mistake decides nothing.
    await pressRowAction(bench.page, pendingFromCommandLine, 'Deny');
    await typeInto(bench.page, 'not today', 'Deny: Stop container 201');
    await screenshot(bench.page, 'f7-deny-from-the-row');
    await bench.page.keyboard.press('Escape');
    expect((await callFromCommandLine(bench, 'check_request_status', { request_id: again.request_id })).status).toBe('ok');
    await waitRow(bench.page, pendingFromCommandLine);
    await pressRowAction(bench.page, pendingFromCommandLine, 'Deny');
    await typeInto(bench.page, 'not today', 'Deny: Stop container 201');
    await bench.page.keyboard.press('Enter');
    await waitRowGone(bench.page, pendingFromCommandLine);
    const row = (await historyRows(bench.page)).find((entry) => entry.description.includes('denied by'));
    expect(row?.spoken).toContain('Stop container 201');
  });
});

/** Presses the row at the start of the list, where the older ones follow; the row `text`, the oldest of the next page, is then there. */
async function loadMore(text: string): Promise<void> {
  const list = bench.page.locator('.part.sidebar .pane', { hasText: 'Pending Approvals' }).locator('.monaco-list');
  await list.focus();
  await bench.page.keyboard.press('Home');
  await bench.page.locator('.part.sidebar .monaco-list-row', { hasText: 'Load More…' }).click();
  await waitUntil(`the row ${text}`, async () => {
    await list.focus();
    await bench.page.keyboard.press('Home');
    return bench.page.locator('.part.sidebar .monaco-list-row', { hasText: text }).isVisible();
  });
}

describe('a reported block', () => {
  it('is shown as such, with what the detector matched, and settled; that lets no call through', async () => {
    const report = { request_id: 'req-0badcafe', reason: 'url_blocked', destination: 'evil.example', pattern: 'evil-pattern' };
    expect((await callFromCommandLine(bench, 'report_block', report)).message).not.toContain('evil-pattern');
    await waitRow(bench.page, 'evil.example');
    await pressRowAction(bench.page, 'evil.example', 'Show Details');
    const details = await waitDetails(bench.page, 'evil.example');
    await details.getByText('evil-pattern').waitFor({ timeout: 30_000 });
    await screenshot(bench.page, 'f6-reported');
    await pressRowAction(bench.page, 'evil.example', 'Review');
    const modal = await waitModal(bench.page, 'evil.example');
    expect(modal.buttons).toContain('Settle Report');
    expect(modal.buttons).not.toContain('Approve once');
    await modal.click('Settle Report');
    await details.locator('.banner', { hasText: 'settled by user:' }).waitFor({ timeout: 30_000 });
  });
});

describe('thousands of requests', () => {
  it('come a page at a time, the newest three hundred first and the oldest of them on top, and are searched in the store', async () => {
    await runCommand(bench.page, 'Banksman: Group Pending Approvals');
    await pickRow(bench.page, 'Not Grouped');
    await seedRequests(bench.stateDir, 1200);
    await waitRow(bench.page, 'Stop VM 10901', 60_000);
    await bench.page.locator('.statusbar-item', { hasText: /Banksman: \w+\s+1200/ }).waitFor({ timeout: 60_000 });
    await loadMore('Stop VM 10801');
    await loadMore('Stop VM 10701');
    await screenshot(bench.page, 'f4-thousands');
    await pressViewAction(bench.page, 'Pending Approvals', 'Search Pending Approvals');
    await typeInto(bench.page, 'VM 10001 ', 'Search Requests');
    await bench.page.keyboard.press('Enter');
    await waitRow(bench.page, 'Stop VM 10001', 60_000);
    await waitRowGone(bench.page, 'Stop VM 10901');
    expect((await approvalRows(bench.page)).map((row) => row.label).filter((label) => /^Stop VM \d{5}$/.test(label))).toEqual([
      'Stop VM 10001',
    ]);
    await screenshot(bench.page, 'f5-search');
    await pressViewAction(bench.page, 'Pending Approvals', 'Clear Filter');
    await waitRow(bench.page, 'Stop VM 10901', 60_000);
    await pressViewAction(bench.page, 'Pending Approvals', 'Filter Pending Approvals');
    await pickRow(bench.page, 'CLI');
    await bench.page.keyboard.press('Enter');
    await bench.page.locator('.part.sidebar .message', { hasText: 'Nothing here fits CLI' }).waitFor({ timeout: 60_000 });
    await pressViewAction(bench.page, 'Pending Approvals', 'Clear Filter');
    await waitRow(bench.page, 'Stop VM 10901', 60_000);
  });
});
