/** Answers that come when nobody waits any more, and dialogs whose request is decided elsewhere. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openApprovals, openHistory, pressRowAction, waitRow, waitRowGone } from '../harness/approvals-view.ts';
import { waitForLine } from '../harness/channel-log.ts';
import { sendPrompt } from '../harness/chat.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, hasModal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { typeInto } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench({ machineSettings: { 'banksman.approvalWait': { editor: 15_000 } } });
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-late-answer-${task.id}`);
});

afterAll(() => bench?.close());

async function ask(prompt: string): Promise<number> {
  const next = toolResults(bench.model).length + 1;
  await sendPrompt(bench.page, prompt);
  return next;
}

describe('an answer after the call stopped waiting', () => {
  it('is not taken in silence: the dialog comes again, and Approve and Run does what the person meant', async () => {
    const count = await ask('stop vm 100 on pve');
    const first = await waitModal(bench.page, 'Stop VM 100');
    expect(first.detail).toMatch(/The call waits for your answer until \d\d:\d\d:\d\d\./);
    expect(first.buttons).not.toContain('Approve and Run');
    await screenshot(bench.page, 'l1-waits');
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"pending"');
    await first.press('Approve once');
    await bench.page.locator('.dialog-message-detail', { hasText: 'stopped waiting' }).waitFor({ timeout: 30_000 });
    const second = await waitModal(bench.page, 'Stop VM 100');
    expect(second.detail).toMatch(
      /The call stopped waiting while you read this[\s\S]*No call has waited for the answer since \d\d:\d\d:\d\d/,
    );
    expect(second.buttons[0]).toBe('Deny');
    expect(second.buttons).toContain('Approve and Run');
    await screenshot(bench.page, 'l2-nobody-waits');
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    await approveInModal(bench.page, second, 'Approve and Run');
    await waitForNotification(bench.page, /VM 100 .*stopped/);
    await screenshot(bench.page, 'l3-ran');
    expect(await guestStatus(bench.demo.config, 100)).toBe('stopped');
    await waitForLine(bench.editor, /\[info\] approved: Stop VM 100 .* via editor$/);
    await waitForLine(bench.editor, /\[info\] used: Stop VM 100 .*by hand of user:\w+$/);
  });

  it('is told to the agent on its next word, which runs nothing', async () => {
    const count = await ask('stop vm 100 on pve');
    const result = await waitForToolResult(bench.model, count);
    expect(result).toContain('"code":"already_run"');
    expect(result).toMatch(/user:\w+ ran it by hand at \d\d:\d\d:\d\d, and the call ended with ok/);
    expect(await hasModal(bench.page, 'Stop VM 100')).toBe(false);
  });

  it('gives the agent the result, when it asks how its request stands', async () => {
    const id = /req-[0-9a-f]{8}/.exec(toolResults(bench.model).at(-1) ?? '')?.[0];
    const count = await ask(`check ${id}`);
    const result = await waitForToolResult(bench.model, count);
    expect(result).toMatch(
      /"status":"consumed"[\s\S]*"outcome":\{"status":"ok"[\s\S]*"started_by":"user:\w+","result":\{[\s\S]*"vmid":100/,
    );
  });
});

describe('a dialog whose request is decided elsewhere', () => {
  it('is told to be over at once; what is pressed there changes nothing, and the next dialog comes', async () => {
    await ask('stop container 200 on Home');
    await waitModal(bench.page, '200');
    const second = await bench.openWindow();
    await openApprovals(second);
    await waitRow(second, '200');
    await pressRowAction(second, '200', 'Deny');
    await typeInto(second, 'not today', 'Deny: Stop container 200');
    await second.keyboard.press('Enter');
    await waitRowGone(second, '200');
    await second.close();
    await bench.page.bringToFront();
    await waitForNotification(bench.page, /is over: denied by .*Its dialog changes nothing any more/);
    await screenshot(bench.page, 'l4-over');
    await (await waitModal(bench.page, '200')).click('Approve once');
    await waitForNotification(bench.page, /was already denied by/);
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
    await ask('stop container 201 on pve');
    await (await waitModal(bench.page, '201')).escape();
    await openApprovals(bench.page);
    await openHistory(bench.page);
    await waitRow(bench.page, 'denied by');
    await screenshot(bench.page, 'l5-history');
  });
});
