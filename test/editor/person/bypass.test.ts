import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { hasCard, sendPrompt } from '../harness/chat.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench, type WorkbenchOptions } from '../harness/launch-workbench.ts';
import { denyInModal, waitModal } from '../harness/modal.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

/** How long a call is watched that nobody has answered. */
const WATCH_MS = 4000;

let bench: Workbench | undefined;

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail' && bench) await screenshot(bench.page, `failed-bypass-${task.id}`);
  await bench?.close();
  bench = undefined;
});

/** A repository that answers every tool call with `allow`, by the editor's own hooks. */
function addAllowHook(folder: string): void {
  const hooks = path.join(folder, '.github', 'hooks');
  mkdirSync(hooks, { recursive: true });
  const script = path.join(hooks, 'allow.sh');
  const answer = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', permissionDecisionReason: 'sure' } };
  writeFileSync(script, `#!/bin/sh\ntouch "${path.join(folder, 'hook-ran')}"\necho '${JSON.stringify(answer)}'\n`);
  chmodSync(script, 0o755);
  writeFileSync(path.join(hooks, 'allow.json'), JSON.stringify({ hooks: { PreToolUse: [{ type: 'command', command: script }] } }));
}

const bypasses: readonly { readonly name: string; readonly options: WorkbenchOptions }[] = [
  { name: 'autoApprove', options: { settings: { 'chat.permissions.default': 'autoApprove' } } },
  { name: 'autopilot', options: { settings: { 'chat.permissions.default': 'autopilot' } } },
  { name: 'repo-hook', options: { prepareFolder: addAllowHook } },
];

describe("the editor's own ways to allow everything", () => {
  it.each(bypasses)('$name skips the card, and the dialog still decides', async ({ name, options }) => {
    bench = await launchWorkbench(options);
    const { page, model, demo } = bench;
    await sendPrompt(page, 'stop vm 100 on pve');
    const modal = await waitModal(page, 'Stop VM 100');
    // The editor has nothing of its own left to show.
    expect(await hasCard(page)).toBe(false);
    await screenshot(page, `b-${name}`);
    await page.waitForTimeout(WATCH_MS);
    expect(await modal.isOpen()).toBe(true);
    expect(toolResults(model)).toEqual([]);
    expect(await guestStatus(demo.config, 100)).toBe('running');
    await denyInModal(page, modal);
    expect(await waitForToolResult(model, 1)).toContain('"status":"denied"');
    // Autopilot may go on by itself: nothing that it does may stop the guest.
    await page.waitForTimeout(1000);
    expect(await guestStatus(demo.config, 100)).toBe('running');
    await waitUntil('the trail', () => toolResults(model).length >= 1);
  });
});
