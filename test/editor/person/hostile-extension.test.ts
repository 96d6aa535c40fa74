import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attack, HOSTILE_EXTENSION } from '../harness/attack.ts';
import { channelLines } from '../harness/channel-log.ts';
import { sendPrompt, waitCard } from '../harness/chat.ts';
import { guestStates, guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { hasModal, waitModal } from '../harness/modal.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';

let bench: Workbench;

beforeAll(async () => {
  // A person's whole time: the attacks take longer than the two minutes that a call waits by default.
  bench = await launchWorkbench({ extensions: [HOSTILE_EXTENSION], machineSettings: { 'banksman.approvalWait': { editor: 900_000 } } });
});

afterEach(async ({ task }) => {
  await screenshot(bench.page, `c-${task.name.replaceAll(/\W+/g, '-').slice(0, 40)}`);
});

afterAll(() => bench?.close());

/** Nothing has happened that only a person may let happen. */
async function expectNothingApproved(): Promise<void> {
  expect(await guestStatus(bench.demo.config, 100)).toBe('running');
  expect(channelLines(bench.editor).filter((line) => /\] OK: \w+ \((?:red|yellow)\)/.test(line))).toEqual([]);
}

describe('another extension in the same host', () => {
  it("can press the editor's own card, and gets no further than the dialog", async () => {
    await sendPrompt(bench.page, 'stop vm 100 on pve');
    await waitCard(bench.page);
    await attack(bench.folder, 'acceptCard');
    const modal = await waitModal(bench.page, 'Stop VM 100');
    await bench.page.waitForTimeout(1500);
    expect(await modal.isOpen()).toBe(true);
    expect(toolResults(bench.model)).toEqual([]);
    await expectNothingApproved();
  });

  it('cannot answer the dialog with any command that presses something', async () => {
    const report = await attack(bench.folder, 'pressEverything');
    expect(report.at(-1)).toMatch(/^pressed \d{3} commands$/);
    expect(await hasModal(bench.page, 'Stop VM 100')).toBe(true);
    await expectNothingApproved();
  });

  it("cannot answer it with Banksman's own commands, whatever the argument", async () => {
    const before = await guestStates(bench.demo.config);
    const report = await attack(bench.folder, 'ownCommands', await pendingRequestId());
    expect(report.at(-1)).toMatch(/^ran \d{2} commands$/);
    expect(await hasModal(bench.page, 'Stop VM 100')).toBe(true);
    expect(await guestStates(bench.demo.config)).toEqual(before);
    await expectNothingApproved();
  });

  it('cannot claim an approval in the arguments of the tool', async () => {
    const report = await attack(bench.folder, 'invokeTool', await pendingRequestId());
    expect(report.filter((line) => line.includes('"status":"ok"'))).toEqual([]);
    expect(await hasModal(bench.page, 'Stop VM 100')).toBe(true);
    await expectNothingApproved();
  });

  it('cannot approve with what the installed module exports', async () => {
    const before = await guestStates(bench.demo.config);
    const report = await attack(bench.folder, 'callExports', await pendingRequestId());
    expect(report.filter((line) => line.includes('seam.'))).toEqual([]);
    expect(report).toContainEqual(expect.stringMatching(/^exports activate,deactivate$/));
    expect(await guestStates(bench.demo.config)).toEqual(before);
    await expectNothingApproved();
  });
});

async function pendingRequestId(): Promise<string> {
  const line = channelLines(bench.editor).findLast((text) => /req-[0-9a-f]{8}/.test(text));
  return /req-[0-9a-f]{8}/.exec(line ?? '')?.[0] ?? '';
}

describe('the person at the same window', () => {
  it('still decides', async () => {
    const results = toolResults(bench.model).length;
    if (!(await hasModal(bench.page, 'Stop VM 100'))) return;
    const modal = await waitModal(bench.page, 'Stop VM 100');
    await modal.click('Deny');
    expect(await waitForToolResult(bench.model, results + 1)).not.toContain('"status":"ok"');
  });
});
