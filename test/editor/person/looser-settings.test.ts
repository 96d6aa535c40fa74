/** What other programs of the account write into settings and configuration counts only once a person agreed in the dialog. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { generateApproverKey } from '#app/for-hosts';
import { attack, HOSTILE_EXTENSION } from '../harness/attack.ts';
import { waitForLine } from '../harness/channel-log.ts';
import { sendPrompt } from '../harness/chat.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { runCommand } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench({ extensions: [HOSTILE_EXTENSION] });
  const results = toolResults(bench.model).length;
  await sendPrompt(bench.page, 'stop vm 100 on pve');
  await approveInModal(bench.page, await waitModal(bench.page, 'Stop VM 100'));
  await waitForToolResult(bench.model, results + 1);
});

afterEach(async ({ task }) => {
  await screenshot(bench.page, `j-${task.name.replaceAll(/\W+/g, '-').slice(0, 40)}`);
});

afterAll(() => bench?.close());

const configFile = () => path.join(bench.configDir, 'banksman', 'config.json');

async function ask(prompt: string): Promise<string> {
  // What is told lies over the chat.
  await runCommand(bench.page, 'Notifications: Clear All Notifications');
  const results = toolResults(bench.model).length;
  await sendPrompt(bench.page, prompt);
  return waitForToolResult(bench.model, results + 1);
}

describe('settings that another extension wrote', () => {
  it('protect what they protected before, name no approver, and are told of', async () => {
    const report = await attack(bench.folder, 'loosenSettings');
    expect(report[0]).toMatch(/^approvers: failed/);
    expect(report[1]).toBe('protected: written');
    await waitForLine(bench.editor, /does not count, for nobody agreed to it: no longer protected: guests 103/);
    await waitForNotification(bench.page, 'does not count, for nobody agreed to it');
    await bench.page.locator('.statusbar-item', { hasText: /\d alarms?/ }).waitFor({ timeout: 60_000 });
    expect(await ask('stop vm 103')).toContain('"status":"denied"');
    expect(await guestStatus(bench.demo.config, 103)).toBe('running');
  });

  it('and a pin that a hook wrote stand in one dialog, which by default keeps the old values', async () => {
    const config = JSON.parse(readFileSync(configFile(), 'utf8')) as { approvers: object[] };
    const { publicKey } = generateApproverKey();
    writeFileSync(configFile(), JSON.stringify({ ...config, approvers: [...config.approvers, { name: 'mallory', key: publicKey }] }));
    await runCommand(bench.page, 'Banksman: Agree to the Configuration');
    const modal = await waitModal(bench.page, 'Make the configuration looser?');
    expect(modal.buttons[0]).toBe('Keep the Old Values');
    expect(modal.detail).toContain(`one more approver: mallory (${publicKey})`.replace('mallory', '`mallory`'));
    expect(modal.detail).toContain('no longer protected: guests 103');
    await modal.click('Keep the Old Values');
    expect(await ask('stop vm 103')).toContain('"status":"denied"');
  });

  it('count once a person agreed', async () => {
    await runCommand(bench.page, 'Banksman: Agree to the Configuration');
    await (await waitModal(bench.page, 'Make the configuration looser?')).click('Agree');
    await runCommand(bench.page, 'Banksman: Agree to the Configuration');
    await waitForNotification(bench.page, 'nothing waits');
    expect(readFileSync(path.join(path.dirname(configFile()), 'agreed.json'), 'utf8')).toContain('mallory');
  });
});
