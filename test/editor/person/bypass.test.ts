import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasCard, sendPrompt } from '../harness/chat.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { denyInModal, waitModal } from '../harness/modal.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

/** How long a call is watched that nobody has answered. */
const WATCH_MS = 4000;

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench({ prepareFolder: addAllowHook });
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-bypass-${task.id}`);
});
afterAll(() => bench?.close());

/** A repository that answers every tool call with `allow`, by the editor's own hooks, as soon as it has a file `hook-allows`. */
function addAllowHook(folder: string): void {
  const hooks = path.join(folder, '.github', 'hooks');
  mkdirSync(hooks, { recursive: true });
  const script = path.join(hooks, 'allow.sh');
  const answer = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', permissionDecisionReason: 'sure' } };
  writeFileSync(
    script,
    `#!/bin/sh\n[ -e "${path.join(folder, 'hook-allows')}" ] || exit 0\ntouch "${path.join(folder, 'hook-ran')}"\necho '${JSON.stringify(answer)}'\n`,
  );
  chmodSync(script, 0o755);
  writeFileSync(path.join(hooks, 'allow.json'), JSON.stringify({ hooks: { PreToolUse: [{ type: 'command', command: script }] } }));
}

const PICKER = '.part.auxiliarybar .action-label[aria-label^="Permission picker"]:visible';

/** As a person who lets the chat do all that it likes. */
async function allow(label: 'Allow all' | 'Autopilot'): Promise<void> {
  const { page } = bench;
  const isOn = page.locator(`${PICKER}[aria-label^="Permission picker, ${label}"]`);
  const enable = page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Enable' });
  const choose = async () => {
    if (await isOn.isVisible()) return true;
    if (await enable.isVisible()) await enable.click({ timeout: 5_000 });
    else {
      await page.locator(PICKER).click({ timeout: 5_000 });
      await page.locator('.action-widget .monaco-list-row', { hasText: label }).click({ timeout: 5_000 });
    }
    return false;
  };
  // The picker is drawn anew while a chat begins: whoever sees its list closed opens it again.
  await waitUntil(`“${label}”`, () => choose().catch(() => false));
}

const bypasses: readonly { readonly name: string; switchOn(): Promise<void> | void }[] = [
  { name: 'allow-all', switchOn: () => allow('Allow all') },
  { name: 'autopilot', switchOn: () => allow('Autopilot') },
  { name: 'repo-hook', switchOn: () => writeFileSync(path.join(bench.folder, 'hook-allows'), '') },
];

describe("the editor's own ways to allow everything", () => {
  it.each(bypasses)('$name skips the card, and the dialog still decides', async ({ name, switchOn }) => {
    const { page, model, demo } = bench;
    await page.locator('.part.auxiliarybar .action-label[aria-label^="New Chat"]:visible').first().click();
    await page.locator(`${PICKER}[aria-label="Permission picker, Default permissions"]`).waitFor({ timeout: 30_000 });
    await switchOn();
    const before = toolResults(model).length;
    await sendPrompt(page, 'stop vm 100 on pve');
    const modal = await waitModal(page, 'Stop VM 100');
    // The editor has nothing of its own left to show.
    expect(await hasCard(page)).toBe(false);
    await screenshot(page, `b-${name}`);
    await page.waitForTimeout(WATCH_MS);
    expect(await modal.isOpen()).toBe(true);
    expect(toolResults(model)).toHaveLength(before);
    expect(await guestStatus(demo.config, 100)).toBe('running');
    await denyInModal(page, modal);
    expect(await waitForToolResult(model, before + 1)).toContain('"status":"denied"');
    // Autopilot may go on by itself: nothing that it does may stop the guest.
    await page.waitForTimeout(1000);
    expect(await guestStatus(demo.config, 100)).toBe('running');
    expect(existsSync(path.join(bench.folder, 'hook-ran'))).toBe(name === 'repo-hook');
  });
});
