/** The page *Policy*: who may do what, a call that is tested, recorded calls against edited settings, and saving through the gate. */
import { readFileSync } from 'node:fs';
import type { FrameLocator } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { axeFaults } from '../../harness/axe-faults.ts';
import { callFromCommandLine } from '../../harness/command-line.ts';
import { waitDetails } from '../../harness/details-page.ts';
import { approveInModal, hasModal, waitModal } from '../../harness/modal.ts';
import { waitForNotification } from '../../harness/notifications.ts';
import { runCommand, typeInto, waitPickRow } from '../../harness/palette.ts';
import { screenshot } from '../../harness/screenshot.ts';
import { machineSettingsFile } from '../../harness/settings-file.ts';
import { waitUntil } from '../../harness/wait-until.ts';
import { bench } from './window.ts';

let policy: FrameLocator;

/** As a person: types over what is there, and leaves the field by pressing the button. */
async function edit(change: (settings: Record<string, unknown>) => Record<string, unknown>): Promise<void> {
  const field = policy.locator('#edited');
  const settings = JSON.parse(await field.inputValue()) as Record<string, unknown>;
  await field.fill(JSON.stringify(change(settings), undefined, 2));
}

const press = (label: string) => policy.getByRole('button', { name: label, exact: true }).click();
/** Waits until the settings were put there once more: the old text may hold `has`, too. */
async function loadAgain(has: string): Promise<void> {
  const before = await policy.locator('#edited').getAttribute('data-put');
  await press('Load Again');
  const field = policy.locator(`#edited:not([data-put="${before}"])`);
  await field.waitFor({ timeout: 60_000 });
  expect(await field.inputValue()).toContain(has);
}

const settingsFile = () => readFileSync(machineSettingsFile(bench), 'utf8');

export function seeThePolicy(): void {
  describe('the policy in the editor', () => {
    beforeAll(async () => {
      for (let count = 0; count < 3; count += 1) await callFromCommandLine(bench, 'execute_ssh', { node: 'pve', command: 'uptime' });
      await callFromCommandLine(bench, 'stop_vm', { vmid: 100 });
      await bench.page.setViewportSize({ width: 1360, height: 1300 });
      await runCommand(bench.page, 'Banksman: Show Policy');
      policy = await waitDetails(bench.page, 'Policy');
    });

    it('says who may do what at each level, and unfolds why', async () => {
      const row = policy.locator('.matrix tr', { hasText: 'stop_vm' });
      await row.waitFor({ timeout: 60_000 });
      await row.locator('summary').first().click();
      await row.getByText("needs a person's approval for exactly this call").first().waitFor();
      await policy.locator('select[data-say="tier"]').selectOption('basic');
      await row.getByText('which starts at model tier intermediate').first().waitFor({ state: 'attached', timeout: 30_000 });
      expect(await row.locator('summary').allInnerTexts()).toEqual(['refused', 'refused', 'refused']);
      await policy.locator('select[data-say="tier"]').selectOption('intermediate');
      await screenshot(bench.page, 'p-policy-who');
    });

    it('tests a call without making it', async () => {
      await policy.locator('select[data-say="tool"]').selectOption('stop_vm');
      await policy.locator('#input').fill('{ "vmid": 103 }');
      await press('Test');
      const answer = policy.locator('#answer');
      await answer.getByText('It would be refused.').waitFor({ timeout: 60_000 });
      expect(await answer.locator('tbody tr').last().innerText()).toContain('protected.guests:103');
      await policy.locator('#answer').scrollIntoViewIfNeeded();
      await screenshot(bench.page, 'p-policy-test');
    });

    it('shows what edited settings would have done with the recorded calls, before anything is saved', async () => {
      await edit((settings) => ({ ...settings, securityLevel: 'strict', tiers: { execute_ssh: 'red' } }));
      await press('Save…');
      await waitForNotification(bench.page, 'replay the settings first');
      await press('Replay');
      const change = policy.locator('#replay .changes li.tighter', { hasText: 'execute_ssh' });
      await change.getByText('3 calls').waitFor({ timeout: 60_000 });
      await policy.locator('#replay').scrollIntoViewIfNeeded();
      await screenshot(bench.page, 'p-policy-replay');
      expect(settingsFile()).not.toContain('execute_ssh');
      expect(await axeFaults(policy)).toEqual([]);
    });

    it('names a wrong field with its path', async () => {
      await edit((settings) => ({ ...settings, scopes: [{ name: 'ci', agents: [], reason: 'x' }] }));
      await press('Replay');
      await policy.locator('#replay .bad').getByText('scopes.0.agents').waitFor({ timeout: 60_000 });
      await edit(({ scopes: _wrong, ...settings }) => settings);
      await press('Replay');
      await policy.locator('#replay .changes li').first().waitFor({ timeout: 60_000 });
      expect(await policy.locator('#replay .bad').count()).toBe(0);
    });

    it('saves nothing where the person stays, and everything where they agree', async () => {
      await press('Save…');
      await (await waitModal(bench.page, 'Save these settings?')).click('Keep the Old Values');
      expect(await hasModal(bench.page, 'Set the security level to strict?')).toBe(false);
      expect(settingsFile()).not.toContain('execute_ssh');
      await press('Save…');
      await (await waitModal(bench.page, 'Save these settings?')).click('Save');
      await approveInModal(bench.page, await waitModal(bench.page, 'Set the security level to strict?'), 'Set to strict');
      await waitUntil('the settings to hold what was saved', async () => settingsFile().includes('execute_ssh'), 60_000);
      await policy.locator('.matrix th', { hasText: 'strict (now)' }).waitFor({ timeout: 60_000 });
      expect(await hasModal(bench.page, 'Save these settings?')).toBe(false);
    });

    it('what is looser is asked about once more, and until then the old values count', async () => {
      await loadAgain('"strict"');
      await edit(({ protected: _all, ...settings }) => settings);
      await policy.locator('select[data-say="since"]').selectOption('7');
      await press('Replay');
      await policy.locator('#replay .banner.waits', { hasText: '103' }).waitFor({ timeout: 60_000 });
      await policy.locator('#replay').scrollIntoViewIfNeeded();
      await screenshot(bench.page, 'p-policy-looser');
      await press('Save…');
      await (await waitModal(bench.page, 'Save these settings?')).click('Save');
      const looser = await waitModal(bench.page, 'Make the configuration looser?');
      expect(looser.detail).toContain('103');
      await looser.click('Keep the Old Values');
      await loadAgain('103');
    });

    it.each([
      ['Dark Modern', 'vs-dark'],
      ['Dark High Contrast', 'hc-black'],
    ])('can be read in %s, and axe knows no fault of it', async (theme, kind) => {
      const { page } = bench;
      await runCommand(page, 'Preferences: Color Theme');
      await typeInto(page, theme);
      await waitPickRow(page, theme);
      await page.keyboard.press('Enter');
      await page.locator(`.monaco-workbench.${kind}`).waitFor({ timeout: 30_000 });
      await policy.locator('.matrix tbody tr').first().waitFor({ timeout: 60_000 });
      await page.waitForTimeout(1_000);
      expect(await axeFaults(policy)).toEqual([]);
      for (const part of ['#who', '#replay']) {
        await policy.locator(part).scrollIntoViewIfNeeded();
        await screenshot(page, `p-policy-${kind}-${part.slice(1)}`);
      }
    });

    it('can be read in a narrow window', async () => {
      await bench.page.setViewportSize({ width: 760, height: 1000 });
      await bench.page.waitForTimeout(1_000);
      await screenshot(bench.page, 'p-policy-narrow');
      const over = await policy.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
      expect(Math.max(0, over)).toBe(0);
    });
  });
}
