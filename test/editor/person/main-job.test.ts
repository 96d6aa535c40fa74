import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { channelLines, showChannel, visibleChannelText, waitForLine } from '../harness/channel-log.ts';
import { hasCard, sendPrompt, waitForAnswer } from '../harness/chat.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { denyInModal, hasModal, waitModal } from '../harness/modal.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench();
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-main-job-${task.id}`);
});

afterAll(() => bench?.close());

/** Types the prompt; resolves with the number that its tool's result will have. */
async function askFor(prompt: string): Promise<number> {
  const before = toolResults(bench.model).length;
  await sendPrompt(bench.page, prompt);
  return before + 1;
}

describe("Copilot's agent on the demo cluster", () => {
  it('offers the model every tool of the manifest', async () => {
    await waitForLine(bench.editor, /\b\d+ tools ready\b/);
    const count = await askFor('cluster status');
    await waitForToolResult(bench.model, count);
    const offered = bench.model.requests.findLast((turn) => turn.tools.length > 0)?.tools.map((tool) => tool.name) ?? [];
    const declared: readonly { readonly name: string }[] = packageJson.contributes.languageModelTools;
    expect(offered.filter((name) => name.startsWith('banksman_')).sort()).toEqual(declared.map(({ name }) => name).sort());
  });

  it('runs a green tool and asks nobody', async () => {
    const count = await askFor('list vms');
    const result = await waitForToolResult(bench.model, count);
    expect(result).toContain('"status":"ok"');
    expect(result).toContain('"vmid":100');
    expect(await hasCard(bench.page)).toBe(false);
    await waitForAnswer(bench.page, 'banksman_get_vms');
    await screenshot(bench.page, 'a1-green-read');
    await waitForLine(bench.editor, /\[info\] OK: get_vms \(green\) \[\d+(?:\.\d+)?m?s\]$/);
  });

  it('stops a guest once a person approved it in the dialog', async () => {
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    const count = await askFor('stop vm 100 on pve');
    const modal = await waitModal(bench.page, 'Stop VM 100');
    // One real prompt; a card before it would only teach to press Allow.
    expect(await hasCard(bench.page)).toBe(false);
    expect(modal.title).toMatch(/^Stop VM 100 \(.+\) on pve\?$/);
    expect(modal.buttons[0]).toBe('Deny');
    expect(modal.buttons).toContain('Approve once');
    expect(modal.detail).toContain('stop vm 100 on pve');
    // Who waits stands above what may be longer than the dialog.
    expect(modal.detail).toMatch(/The call waits for your answer until \d\d:\d\d:\d\d\.[\s\S]*It interrupts what runs there\./);
    expect(modal.detail).not.toMatch(/ed25519:|needs a person/);
    await screenshot(bench.page, 'a3-modal');
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    await modal.click('Approve once');
    const key = await waitModal(bench.page, 'Trust the approval key of this window');
    expect(key.buttons[0]).toBe('Do Not Trust');
    expect(key.detail).toMatch(/Fingerprint: [\w-]{16}\n/);
    await screenshot(bench.page, 'a3-key');
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    await key.click('Trust This Key');
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
    expect(await guestStatus(bench.demo.config, 100)).toBe('stopped');
    await waitForAnswer(bench.page, 'banksman_stop_vm');
    await screenshot(bench.page, 'a4-stopped');
    await waitForLine(bench.editor, /\[info\] approved: Stop VM 100 .* by user:\w+ via editor$/);
    await waitForLine(bench.editor, /\[info\] OK: stop_vm \(red\) \[\d+(?:\.\d+)?m?s\]$/);
  });

  it('tells the model when the person denied it, and the guest runs on', async () => {
    const count = await askFor('stop container 200 on Home');
    const modal = await waitModal(bench.page, '200');
    await denyInModal(bench.page, modal);
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"denied"');
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
    await screenshot(bench.page, 'a5-denied');
    await waitForLine(bench.editor, /DENIED: stop_container \(red\)/);
    await waitForLine(bench.editor, /\[info\] denied: Stop container 200 .* by user:\w+ via editor$/i);
  });

  it('refuses a protected guest and asks nobody', async () => {
    const before = await guestStatus(bench.demo.config, 103);
    const count = await askFor('stop vm 103 on agent1');
    const result = await waitForToolResult(bench.model, count);
    expect(result).toContain('"status":"denied"');
    expect(result).toContain('protected');
    expect(await hasModal(bench.page, 'VM 103')).toBe(false);
    expect(await guestStatus(bench.demo.config, 103)).toBe(before);
    await screenshot(bench.page, 'a6-protected');
    await waitForLine(bench.editor, /DENIED: stop_vm \(red\)/);
  });

  it('refuses what is forbidden, and asks nobody', async () => {
    const count = await askFor('reboot pve');
    const result = await waitForToolResult(bench.model, count);
    expect(result).toContain('"status":"denied"');
    await waitForLine(bench.editor, /DENIED: reboot_node \(black\)/);
  });

  it('shows the whole trail in its output channel, in the order in which it happened', async () => {
    const outcomes = channelLines(bench.editor).flatMap(
      (line) => /\] (?<said>(?:OK|DENIED|FAILED): \w+ \(\w+\))/.exec(line)?.groups?.said ?? [],
    );
    expect(outcomes).toEqual([
      'OK: get_cluster_status (green)',
      'OK: get_vms (green)',
      'OK: stop_vm (red)',
      'DENIED: stop_container (red)',
      'DENIED: stop_vm (red)',
      'DENIED: reboot_node (black)',
    ]);
    await showChannel(bench.page);
    await screenshot(bench.page, 'e1-output-channel');
    expect(await visibleChannelText(bench.page)).toContain('DENIED: reboot_node (black)');
  });
});
