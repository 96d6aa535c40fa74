/**
 * The editor as the agents' user, the service as another: nothing in the editor approves, and everything in it says so. One editor for all of it.
 */
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openApprovals, waitRow, waitRowGone } from '../harness/approvals-view.ts';
import { attack, HOSTILE_EXTENSION } from '../harness/attack.ts';
import { channelLines, waitForLine } from '../harness/channel-log.ts';
import { sendPrompt } from '../harness/chat.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { denyInModal, hasModal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { runCommand } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { type ServiceMachine, startServiceMachine, whyNoService } from '../harness/service-machine.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';

const why = await whyNoService();

describe.skipIf(why !== undefined)(`an editor with the service${why === undefined ? '' : ` (${why})`}`, () => {
  let service: ServiceMachine;
  let bench: Workbench;

  beforeAll(async () => {
    service = await startServiceMachine();
    const { machine } = service;
    bench = await launchWorkbench({
      extensions: [HOSTILE_EXTENSION],
      account: {
        user: machine.users.alice,
        home: path.join(machine.folder, machine.users.alice),
        env: { BANKSMAN_SERVICE: machine.sockets },
      },
      machineSettings: {
        'banksman.clusters': [{ name: 'mine', endpoints: ['https://127.0.0.1:9'], tokenId: 'ops@pve!banksman' }],
        'banksman.securityLevel': 'relaxed',
      },
    });
  });
  afterEach(async ({ task }) => {
    await screenshot(bench.page, `s-${task.name.replaceAll(/\W+/g, '-').slice(0, 40)}`);
  });
  afterAll(async () => {
    await bench?.close();
    await service?.close();
  });

  const states = () => {
    const { cluster } = service.machine.demo;
    cluster.tasks.advance();
    return Object.fromEntries([...cluster.state.guests].map(([vmid, { running }]) => [vmid, running]));
  };
  const clear = () => runCommand(bench.page, 'Notifications: Clear All Notifications');

  /** What the agent asks. @returns the number that its result will have */
  async function ask(prompt: string): Promise<number> {
    const count = toolResults(bench.model).length + 1;
    await sendPrompt(bench.page, prompt);
    return count;
  }

  async function idOf(title: string): Promise<string> {
    const { detail } = await waitModal(bench.page, title);
    return /req-[0-9a-f]{8}/.exec(detail)?.[0] ?? '';
  }

  /** The person's own browser, elsewhere. */
  async function answer(address: string, button: string, words?: string): Promise<void> {
    const { phone } = service;
    await phone.goto(address);
    await phone.locator('article').waitFor();
    await phone.waitForTimeout(900);
    await phone.getByRole('button', { name: button }).click();
    if (words !== undefined) {
      await phone.getByLabel('Words for the agent').fill(words);
      await phone.getByRole('dialog').getByRole('button', { name: 'Deny' }).click();
    }
    await phone.locator('#result').waitFor();
  }

  it('says at the start what of its settings counts for nothing', async () => {
    const said = await waitForLine(bench.editor, /count for nothing here/);
    expect(said).toContain('banksman.clusters, banksman.securityLevel count for nothing here: the service has its own');
    await bench.page.locator('.statusbar-item', { hasText: 'Banksman: balanced' }).waitFor({ timeout: 60_000 });
    await clear();
  });

  it('shows the request in the tree and the dialog, leads to the page, and a passkey elsewhere runs it', async () => {
    const { page } = bench;
    await openApprovals(page);
    const count = await ask('stop vm 100 on pve');
    const modal = await waitModal(page, 'Stop VM 100');
    expect(modal.buttons.filter((label) => label !== 'Cancel')).toEqual(['Deny', 'Show Details', 'Open Page']);
    expect(modal.detail).toContain(`No window approves this, here it can only be denied: an approver answers at ${service.origin}`);
    await screenshot(page, 's-dialog');
    const id = await idOf('Stop VM 100');
    await waitRow(page, 'Stop VM 100');
    await modal.click('Open Page');
    const leave = page.locator('.monaco-dialog-box', { hasText: 'external website' });
    await leave.waitFor({ timeout: 30_000 });
    expect(await leave.innerText()).toContain(`${service.origin}/r/${id}`);
    await page.keyboard.press('Escape');
    expect(states()[100]).toBe(true);
    await answer(`${service.origin}/r/${id}`, 'Approve once');
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
    expect(states()[100]).toBe(false);
    await waitRowGone(page, 'Stop VM 100');
    await waitForLine(bench.editor, /approved: Stop VM 100 .* by user:carol-phone via page$/);
  });

  it.each([
    ['a command link and an icon', '[Deny](command:banksman.deny) $(shield) $(check)'],
    ['bidi, blanks and marks', `x\u202e${'\u2800'.repeat(40)}y${'\u0301'.repeat(30)}\u200b`],
    ['a long one', `web ${'w'.repeat(300)} on agent1?`],
  ])('shows a guest named with %s so that its number and node stay, and nothing of it is a link or an icon', async (what, name) => {
    const { page } = bench;
    const guest = service.machine.demo.cluster.state.guests.get(200);
    if (guest === undefined) throw new Error('no guest 200');
    const usual = guest.config.get('hostname');
    guest.config.set('hostname', name);
    const count = await ask('stop container 200 on Home');
    const modal = await waitModal(page, 'Stop container 200');
    expect(modal.title).toMatch(/^Stop container 200\b.* on Home\?$/);
    expect(`${modal.title}${modal.detail}`).not.toMatch(/[\u202e\u200b\u2800]|\p{M}{4}/u);
    const box = page.locator('.monaco-dialog-box', { hasText: 'Stop container 200' });
    expect(await box.locator('.dialog-message-row a[href], .dialog-message-row .codicon-check').count()).toBe(0);
    await waitRow(page, '200');
    await screenshot(page, `s-name-${what.replaceAll(/\W+/g, '-')}`);
    await denyInModal(page, modal);
    expect(await waitForToolResult(bench.model, count)).toContain('"status":"denied"');
    expect(await page.locator('.notifications-toasts a[href^="command:"], .statusbar-item .codicon-check').count()).toBe(0);
    if (usual !== undefined) guest.config.set('hostname', usual);
  });

  it('tells the agent that the person denied it on the page, with their words', async () => {
    const count = await ask('stop container 200 on Home');
    const id = await idOf('200');
    await bench.page.keyboard.press('Escape');
    await answer(`${service.origin}/r/${id}`, 'Deny…', 'not during the backup');
    const result = await waitForToolResult(bench.model, count);
    expect(result).toContain('"status":"denied"');
    expect(result).toContain('not during the backup');
    expect(states()[200]).toBe(true);
  });

  it.each([
    ['Set Security Level', 'The security level is balanced. No window changes that'],
    ['Auto-Approve Rules', 'There are no auto-approve rules. No window changes that'],
    ['Agree to the Configuration', 'The configuration is root’s own. No window changes that'],
    ['Set API Token', 'The service holds the clusters’ tokens'],
  ])('%s: says where that is done', async (command, said) => {
    await clear();
    await runCommand(bench.page, `Banksman: ${command}`);
    expect(await waitForNotification(bench.page, said)).toContain(said);
    await clear();
  });

  it('keeps a request whose service was killed while its dialog was open: said at once, and answered once it is back', async () => {
    const { page } = bench;
    const before = states();
    const count = await ask('start vm 101 on Home');
    const id = await idOf('Start VM 101');
    process.kill(service.machine.servicePid(), 'SIGKILL');
    expect(await waitForToolResult(bench.model, count)).toContain('"code":"service_lost"');
    // The dialog is of before: nothing in it approves, and its Deny is answered in words.
    expect(await hasModal(page, 'Start VM 101')).toBe(true);
    await page.keyboard.press('Escape');
    await page.locator('.statusbar-item', { hasText: 'Banksman: no service' }).waitFor({ timeout: 60_000 });
    await screenshot(page, 's-away');
    await service.machine.stop();
    await service.machine.start();
    await waitRow(page, 'Start VM 101');
    await page.locator('.statusbar-item', { hasText: 'Banksman: balanced' }).waitFor({ timeout: 60_000 });
    expect(states()).toEqual(before);
    await answer(`${service.origin}/r/${id}`, 'Approve once');
    await waitRowGone(page, 'Start VM 101');
    const again = await ask('start vm 101 on Home');
    expect(await waitForToolResult(bench.model, again)).toContain('"status":"ok"');
    expect(states()[101]).toBe(true);
  });

  it.each<[string, (say: (message: object) => void) => void, RegExp]>([
    ['that does not answer', () => undefined, /nobody answers/],
    ['of another version', (say) => say({ kind: 'welcome', protocol: 99 }), /another version of the protocol/],
  ])('a service %s is said, and nothing falls back', async (_what, serve, said) => {
    await service.machine.stop();
    const end = await service.pose(serve);
    try {
      await runCommand(bench.page, 'Banksman: Reload Settings and Store');
      await waitForLine(bench.editor, said);
      await waitForNotification(bench.page, said);
      // What is told lies over the chat.
      await clear();
      const count = await ask('list vms');
      expect(await waitForToolResult(bench.model, count)).toMatch(/service_unavailable|service_version/);
    } finally {
      await end();
    }
    await service.machine.start();
    await runCommand(bench.page, 'Banksman: Reload Settings and Store');
    await bench.page.locator('.statusbar-item', { hasText: 'Banksman: balanced' }).waitFor({ timeout: 60_000 });
  });

  describe('a hostile extension in its host', () => {
    let id: string;
    let before: ReturnType<typeof states>;

    it('has a request before it that waits', async () => {
      before = states();
      await ask('stop container 201 on pve');
      id = await idOf('201');
      expect(id).toMatch(/^req-/);
    });

    it.each(['acceptCard', 'pressEverything', 'invokeTool', 'takeService', 'ownCommands'] as const)('%s approves nothing', async (name) => {
      const report = await attack(bench.folder, name, id);
      expect(report.join('\n')).not.toMatch(/attack ended|"status":"ok"|VALUE OK|^read (?:state|etc.secrets.token0): "/m);
      expect(states()).toEqual(before);
      expect(channelLines(bench.editor).filter((line) => /OK: stop_container/.test(line))).toEqual([]);
    });

    it('loosens nothing by the settings', async () => {
      await attack(bench.folder, 'loosenSettings');
      await waitForLine(bench.editor, /the setting `banksman\.approvers` names approvers|starting again with the new ones/);
      const { out } = await service.machine.as(service.machine.users.alice, ['level', 'get']);
      expect(out).toBe('balanced\n');
      expect(states()).toEqual(before);
    });
  });

  it('cannot be started a second time with a context of its own', async () => {
    const report = await attack(bench.folder, 'callExports', 'req-00000000');
    expect(report).toContainEqual('exports activate,deactivate');
    expect(report.filter((line) => line.includes('seam.'))).toEqual([]);
    await waitForNotification(bench.page, /started a second time in this window/i);
    expect(states()[201]).toBe(true);
  });
});
