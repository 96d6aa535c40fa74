/** A plan as a person sees it and holds it: read step by step, struck, approved, paused, let go on, followed to its end and taken back. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { approvalRows, openApprovals, openHistory, pressRowAction, waitRow, waitRowGone } from '../harness/approvals-view.ts';
import { attack, HOSTILE_EXTENSION } from '../harness/attack.ts';
import { axeFaults } from '../harness/axe-faults.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { unfoldDetails, waitDetails } from '../harness/details-page.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, closeModals, type Modal, waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { pickRow, runCommand, runCommandByKeys, typeInto } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await launchWorkbench({ extensions: [HOSTILE_EXTENSION] });
  await openApprovals(bench.page);
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-plans-${task.id}`);
});
afterAll(() => bench?.close());

const describeIt = (text: string, more = {}) => ({ tool: 'set_guest_config', arguments: { vmid: 100, description: text }, ...more });

async function propose(steps: readonly object[]): Promise<string> {
  const { request_id: id, message } = await callFromCommandLine(bench, 'propose_plan', { steps, reason: 'more memory for the web server' });
  if (id === undefined) throw new Error(message);
  return id;
}

/** Unfolds the plan whose row shows `text`. */
async function unfold(text: string): Promise<void> {
  const row = bench.page.locator('.part.sidebar .monaco-list-row', { hasText: text }).first();
  await row.waitFor({ timeout: 60_000 });
  // The row is drawn anew while it is pressed: whoever sees it closed presses again.
  for (let tries = 0; tries < 20 && (await row.getAttribute('aria-expanded')) !== 'true'; tries += 1) {
    await row.locator('.monaco-tl-twistie').click();
    await bench.page.waitForTimeout(500);
  }
}

const spoken = async () => (await approvalRows(bench.page)).map((row) => row.spoken);

async function inThemes(page: Page, name: string): Promise<void> {
  await screenshot(page, `${name}-light`);
  for (const theme of ['Dark Modern', 'Dark High Contrast']) {
    await chooseTheme(page, theme);
    await screenshot(page, `${name}-${theme.toLowerCase().replaceAll(' ', '-')}`);
  }
  await page.setViewportSize({ width: 620, height: 860 });
  await page.waitForTimeout(1_000);
  await screenshot(page, `${name}-narrow`);
  await page.setViewportSize({ width: 1360, height: 860 });
  await chooseTheme(page, 'Light Modern');
}

async function chooseTheme(page: Page, theme: string): Promise<void> {
  await runCommand(page, 'Preferences: Color Theme');
  await typeInto(page, theme);
  await pickRow(page, theme);
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  await page.waitForTimeout(1_000);
}

describe('a plan', () => {
  let id = '';

  it('shows its steps below its row, and all of its card as a page', async () => {
    await propose([
      { tool: 'create_snapshot', arguments: { vmid: 100, name: 'before_update' } },
      { tool: 'restart_vm', arguments: { vmid: 100 }, wait_seconds: 10 },
      { tool: 'start_vm', arguments: { vmid: 101 } },
    ]);
    await unfold('Run a plan of 3');
    await waitRow(bench.page, '3. Start VM 101');
    const steps = (await spoken()).filter((text) => text.startsWith('Step '));
    expect(steps).toEqual([
      expect.stringMatching(/^Step 1: .*napshot .*VM 100.*, create_snapshot$/),
      expect.stringMatching(/^Step 2: Restart VM 100.*, restart_vm, after step 1 has ended, and 10 s more$/),
      expect.stringMatching(/^Step 3: Start VM 101.*, start_vm, after step 2 has ended$/),
    ]);
    await pressRowAction(bench.page, 'Run a plan of 3', 'Show Details');
    const details = await waitDetails(bench.page, 'Run a plan of 3 steps');
    await unfoldDetails(details);
    const text = await details.locator('main').innerText();
    for (const part of [
      'The plan',
      'Restart VM 100',
      'cannot be taken back',
      'Begins after step 2 has ended',
      'Afterwards:',
      'Strike Steps…',
    ])
      expect(text).toContain(part);
    await inThemes(bench.page, 'q1-plan');
  });

  it('loses a step before it is approved: what is left is a question of its own', async () => {
    await pressRowAction(bench.page, '2. Restart VM 100', 'Strike Steps');
    await pickRow(bench.page, '3. Start VM 101');
    await screenshot(bench.page, 'q2-strike');
    await bench.page.locator('.quick-input-widget:visible .monaco-button', { hasText: 'OK' }).click();
    await waitForNotification(bench.page, /is what is left of .* rehearsed anew/);
    await waitRow(bench.page, 'Run a plan of 1');
    await waitRowGone(bench.page, 'Run a plan of 3');
    expect((await spoken()).filter((text) => text.startsWith('Run a plan'))).toHaveLength(1);
  });

  it('is followed step by step once it runs, and paused', async () => {
    id = await propose([describeIt('one'), describeIt('two', { wait_seconds: 45 }), describeIt('three')]);
    await waitRow(bench.page, 'Run a plan of 3');
    await pressRowAction(bench.page, 'Run a plan of 3', 'Review');
    await approveInModal(bench.page, await waitModal(bench.page, 'Run a plan of 3 steps'), 'Approve and Run');
    await waitRow(bench.page, 'running · 1 of 3 done');
    await pressRowAction(bench.page, 'running · 1 of 3 done', 'Pause Plan');
    await waitRow(bench.page, 'paused · 1 of 3 done');
    expect((await spoken()).filter((text) => text.startsWith('Step '))).toEqual([
      expect.stringMatching(/, done$/),
      expect.stringMatching(/, to come$/),
      expect.stringMatching(/, to come$/),
    ]);
    await inThemes(bench.page, 'q3-paused');
  });

  it('stays paused whatever another extension runs and presses', async () => {
    const report = await attack(bench.folder, 'planCommands', id);
    expect(report.at(-1)).toBe('ran 6 commands');
    await closeModals(bench.page);
    await waitRow(bench.page, 'paused · 1 of 3 done');
    const progress = await callFromCommandLine(bench, 'check_plan', { plan_id: id });
    expect(progress.message).toContain('is paused: 1 of 3 steps done');
  });

  it('goes on when a person says so in the dialog, and its end is told', async () => {
    await pressRowAction(bench.page, 'paused · 1 of 3 done', 'Resume Plan');
    const modal = await waitModal(bench.page, 'Let this plan go on?');
    expect(modal.buttons[0]).toBe('Keep It Paused');
    await screenshot(bench.page, 'q4-resume');
    await modal.click('Resume Plan');
    await waitForNotification(bench.page, /Run a plan of 3 steps .*: done, 3 of 3 steps done/, 120_000);
    await waitRowGone(bench.page, 'of 3 done');
    expect((await callFromCommandLine(bench, 'check_plan', { plan_id: id })).message).toContain('is done: 3 of 3 steps done');
  });

  it('is taken back by a plan that a person reads, too', async () => {
    await openHistory(bench.page);
    await unfold('and used');
    await waitRow(bench.page, '3. Set description');
    await screenshot(bench.page, 'q5-history');
    await runCommand(bench.page, 'Banksman: Undo Plan…');
    await pickRow(bench.page, 'done · 3 of 3 steps done');
    await waitRow(bench.page, 'Undo plan req-');
    await screenshot(bench.page, 'q6-undo');
    expect((await callFromCommandLine(bench, 'check_plan', { plan_id: id })).message).toContain('is done');
  });

  it('is stopped after a question, and says what did not run', async () => {
    const stopped = await propose([describeIt('one'), describeIt('two', { wait_seconds: 30 })]);
    await waitRow(bench.page, 'Run a plan of 2');
    await pressRowAction(bench.page, 'Run a plan of 2', 'Review');
    await approveInModal(bench.page, await waitModal(bench.page, 'Run a plan of 2 steps'), 'Approve and Run');
    await waitRow(bench.page, 'running · 1 of 2 done');
    await pressRowAction(bench.page, 'running · 1 of 2 done', 'Stop Plan');
    await (await waitModal(bench.page, 'Stop this plan?')).click('Stop Plan');
    await waitForNotification(bench.page, /Run a plan of 2 steps .*: stopped, 1 of 2 steps done \(a person stopped it\)/, 120_000);
    expect((await callFromCommandLine(bench, 'check_plan', { plan_id: stopped })).message).toContain('is stopped: 1 of 2 steps done');
  });
});

describe('a plan of 40 steps', () => {
  const title = 'Run a plan of 40 steps';
  const row = 'Run a plan of 40';
  const sizes = [
    [1360, 860],
    [620, 560],
  ] as const;

  it('has a card that fits, in a narrow window, too', async () => {
    await propose(Array.from({ length: 40 }, (_, index) => describeIt(`part ${index + 1} of a long piece of work`)));
    await waitRow(bench.page, row);
    for (const [width, height] of sizes) {
      await bench.page.setViewportSize({ width, height });
      await pressRowAction(bench.page, row, 'Review');
      const modal = await waitModal(bench.page, title);
      await screenshot(bench.page, `q7-forty-card-${width}`);
      for (const button of await bench.page.locator('.monaco-dialog-box .dialog-buttons .monaco-button:visible').all()) {
        const box = await button.boundingBox();
        expect(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height).toBe(true);
      }
      expect(modal.detail).toMatch(/1\. [\s\S]*more/);
      await modal.escape();
    }
  });

  it('has all its steps in the list, to its end by the keyboard', async () => {
    await bench.page.setViewportSize({ width: 1360, height: 860 });
    await unfold(row);
    await runCommand(bench.page, 'Banksman: Show Pending Approvals');
    const last = bench.page.locator('.part.sidebar .monaco-list-row', { hasText: /^40\. / });
    await waitUntil('the last step', async () => {
      await bench.page.keyboard.press('PageDown');
      return last.isVisible();
    });
    await screenshot(bench.page, 'q7-forty-list');
    expect(await last.getAttribute('aria-label')).toMatch(/^Step 40: /);
  });

  it('has a page that is read to its end by the keyboard, in a narrow window, too', async () => {
    await runCommand(bench.page, 'Banksman: Show Plan');
    await pickRow(bench.page, row);
    const details = await waitDetails(bench.page, title);
    await unfoldDetails(details);
    await inThemes(bench.page, 'q7-forty-page');
    expect(await axeFaults(details)).toEqual([]);
    for (const [width, height] of sizes) {
      await bench.page.setViewportSize({ width, height });
      await details.locator('h1').click();
      await bench.page.keyboard.press('End');
      const root = details.locator('html');
      await waitUntil('the end of the page', () => root.evaluate((html) => html.scrollTop + html.clientHeight >= html.scrollHeight - 2));
      expect(await root.evaluate((html) => html.scrollWidth - html.clientWidth)).toBeLessThanOrEqual(0);
      await screenshot(bench.page, `q7-forty-end-${width}`);
    }
    expect(await details.locator('main').innerText()).toContain('part 40 of a long piece of work');
  });

  it('is struck and approved by keys alone', async () => {
    const { page } = bench;
    await page.setViewportSize({ width: 1360, height: 860 });
    await runCommandByKeys(page, 'Banksman: Show Pending Approvals');
    await moveTo(page, row);
    await page.keyboard.press('ArrowRight');
    await moveTo(page, 'Step 7: ');
    await chooseInMenu(page, 'Strike Steps…');
    // The step that it was pressed on is chosen already.
    await page.locator('.quick-input-widget:visible .monaco-list-row', { hasText: '7. ' }).first().waitFor({ timeout: 60_000 });
    await page.keyboard.press('Enter');
    await waitRow(page, 'Run a plan of 39');
    await runCommandByKeys(page, 'Banksman: Show Pending Approvals');
    await moveTo(page, 'Run a plan of 39');
    await page.keyboard.press('Enter');
    const modal = await waitModal(page, 'Run a plan of 39 steps');
    expect(modal.detail).not.toContain('part 7 of');
    await screenshot(page, 'q8-thirty-nine-card');
    await answerByKeys(page, modal, 'Approve and Run');
    const runs = page.locator('.part.sidebar .monaco-list-row', { hasText: 'of 39 done' });
    // Only where no plan before this one was approved in this window.
    const isNew = page.locator('.monaco-dialog-box', { hasText: 'Trust the approval key' });
    await runs.or(isNew).first().waitFor({ timeout: 90_000 });
    if (await isNew.isVisible()) await answerByKeys(page, await waitModal(page, 'Trust the approval key'), 'Trust This Key');
    await runs.first().waitFor({ timeout: 90_000 });
    await screenshot(page, 'q8-thirty-nine-running');
  });
});

/** Goes down the list until the row that says `text` has the focus; from its top again where it ends, or where a slow window let it go past. */
async function moveTo(page: Page, text: string): Promise<void> {
  const focused = page.locator('.part.sidebar .monaco-list:focus .monaco-list-row.focused');
  const label = async () =>
    (await focused.count()) > 0
      ? focused
          .first()
          .getAttribute('aria-label', { timeout: 2_000 })
          .catch(() => null)
      : null;
  const pressed = async (key: string) => {
    const before = await label();
    await page.keyboard.press(key);
    for (let tries = 0; tries < 20; tries += 1) {
      if ((await label()) !== before) return true;
      await page.waitForTimeout(50);
    }
    return false;
  };
  await pressed('Home');
  await waitUntil(`the row “${text}” to have the focus`, async () => {
    if ((await label())?.startsWith(text) === true) return true;
    if (!(await pressed('ArrowDown'))) await pressed('Home');
    return false;
  });
}

async function chooseInMenu(page: Page, label: string): Promise<void> {
  await page.keyboard.press('Shift+F10');
  const chosen = page.locator('.monaco-menu .action-item.focused', { hasText: label });
  await page.locator('.monaco-menu').first().waitFor({ timeout: 60_000 });
  await waitUntil(`“${label}” in the menu`, async () => {
    await page.keyboard.press('ArrowDown');
    await page.waitForTimeout(100);
    return chosen.isVisible();
  });
  await page.keyboard.press('Enter');
}

/** Presses a button of the dialog that is open, not before it could have been read, and types the code that stands on it. */
async function answerByKeys(page: Page, { detail }: Modal, label: string): Promise<void> {
  await page.waitForTimeout(900);
  const focused = page.locator('.monaco-dialog-box .monaco-button:focus', { hasText: label });
  await waitUntil(`the focus on “${label}”`, async () => {
    if (await focused.isVisible()) return true;
    await page.keyboard.press('Tab');
    await page.waitForTimeout(100);
    return false;
  });
  await page.keyboard.press('Enter');
  const box = page.locator('.quick-input-widget:visible', { hasText: 'code that stood' });
  await box.waitFor({ timeout: 60_000 });
  await page.keyboard.type(/then type (.+)\.$/m.exec(detail)?.[1] ?? '');
  await page.keyboard.press('Enter');
  await box.waitFor({ state: 'hidden', timeout: 60_000 });
}
