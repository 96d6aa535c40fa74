/** The view of the clusters and a guest's page, as a person uses them on the demo cluster. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { FrameLocator, Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openApprovals } from '../harness/approvals-view.ts';
import { axeFaults } from '../harness/axe-faults.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { waitDetails } from '../harness/details-page.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, waitModal } from '../harness/modal.ts';
import { pickRow, pickRows, runCommand, typeInto, waitPickRow } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { machineSettings, machineSettingsFile } from '../harness/settings-file.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;

beforeAll(async () => {
  bench = await launchWorkbench();
  // Rows that are not on the screen are not in the page.
  await bench.page.setViewportSize({ width: 1360, height: 1300 });
  await openApprovals(bench.page);
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-clusters-${task.id}`);
});

afterAll(() => bench?.close());

const pane = () => bench.page.locator('.part.sidebar .pane', { has: bench.page.locator('.pane-header[aria-label^="Clusters"]') });

const row = (text: string): Locator => pane().locator('.monaco-list-row', { hasText: text }).first();

async function pressTitle(action: string): Promise<void> {
  await pane().locator('.pane-header').hover();
  await pane().locator(`.pane-header .action-label[aria-label^="${action}"]`).click();
}

async function pressInline(text: string, action: string): Promise<void> {
  await row(text).hover();
  await row(text).locator(`.action-label[aria-label^="${action}"]`).click();
}

describe('the view of the clusters', () => {
  it('shows the cluster, its nodes and guests with what they are, for eyes and for a screen reader', async () => {
    await row('100').waitFor({ timeout: 60_000 });
    expect(await row('demo').getAttribute('aria-label')).toMatch(/cluster demo, \d+ of \d+ nodes online · \d+ of \d+ guests run/);
    expect(await row('100').getAttribute('aria-label')).toMatch(/VM 100 .*, running, \d+ % · /);
    expect(await row('103').getAttribute('aria-label')).toContain('protected: no call changes it');
    await screenshot(bench.page, 'g1-clusters');
  });

  it('finds by name, says so, and shows all again', async () => {
    await pressTitle('Search Clusters');
    await typeInto(bench.page, '20', 'Search the Clusters');
    await bench.page.keyboard.press('Enter');
    await row('100').waitFor({ state: 'detached', timeout: 30_000 });
    await row('200').waitFor({ timeout: 30_000 });
    expect(await pane().locator('.pane-header').innerText()).toContain('“20”');
    await screenshot(bench.page, 'g2-found');
    await pressTitle('Clear Filter');
    await row('100').waitFor({ timeout: 30_000 });
  });

  it('offers the tools that fit, marks what is protected, and acts only through the gate', async () => {
    await pressInline('103', 'Do…');
    await waitPickRow(bench.page, 'Get guest');
    expect((await pickRows(bench.page)).find((one) => one.includes('Stop VM'))).toContain('103 is protected');
    await bench.page.keyboard.press('Escape');
    await pressInline('200', 'Do…');
    await waitPickRow(bench.page, 'Shut down container');
    expect((await pickRows(bench.page)).filter((one) => /Start|Stop VM/.test(one))).toEqual([]);
    await screenshot(bench.page, 'g3-do');
    await pickRow(bench.page, 'Stop container');
    const modal = await waitModal(bench.page, 'Stop container 200');
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
    await approveInModal(bench.page, modal);
    await waitUntil('container 200 to be stopped in the view', async () =>
      ((await row('200').getAttribute('aria-label')) ?? '').includes('stopped'),
    );
    expect(await guestStatus(bench.demo.config, 200)).toBe('stopped');
  });
});

describe('a guest’s page', () => {
  let page: FrameLocator;

  it('shows the last hour, configuration, tasks and what was done to it', async () => {
    await row('100').click();
    await (await waitDetails(bench.page, '100')).locator('#graphs svg[role="img"]').first().waitFor({ timeout: 60_000 });
    await screenshot(bench.page, 'g4-guest-running');
    await row('200').click();
    page = await waitDetails(bench.page, '200');
    await page.locator('#agents td', { hasText: 'stop_container' }).first().waitFor({ timeout: 60_000 });
    await page.locator('#config th', { hasText: 'hostname' }).waitFor({ timeout: 60_000 });
    expect(await page.locator('#head button').allInnerTexts()).toEqual(expect.arrayContaining(['Start', 'Do…']));
    await screenshot(bench.page, 'g4-guest');
  });

  it('shows a task’s log, and acts through the gate', async () => {
    await page.locator('#tasks button', { hasText: 'Log' }).first().click();
    await page.locator('#log pre').waitFor({ timeout: 60_000 });
    expect(await page.locator('#log [role="status"]').innerText()).toContain('It ended: OK');
    await page.locator('#head button', { hasText: 'Start' }).click();
    await approveInModal(bench.page, await waitModal(bench.page, 'Start container 200'));
    await page.locator('#head button', { hasText: 'Shut Down…' }).waitFor({ timeout: 60_000 });
    expect(await guestStatus(bench.demo.config, 200)).toBe('running');
  });

  it.each([1360, 760])('has no fault that axe knows at %d, and nothing off the screen', async (width) => {
    await bench.page.setViewportSize({ width, height: 1300 });
    expect(await axeFaults(page)).toEqual([]);
    const over = await page.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
    expect(Math.max(0, over)).toBe(0);
    await screenshot(bench.page, `g5-guest-${width}`);
  });
});

describe('the activity', () => {
  let page: FrameLocator;

  it('shows each call with what came of it, and proves that it is in the trail', async () => {
    await bench.page.setViewportSize({ width: 1360, height: 1300 });
    await runCommand(bench.page, 'Banksman: Show Activity');
    page = await waitDetails(bench.page, 'Activity');
    const call = page.locator('#calls button.call', { hasText: 'stop_container' }).first();
    expect(await call.innerText()).toContain('200 on demo');
    await call.click();
    await page.locator('#calls button', { hasText: 'Show Proof' }).click();
    await page.locator('#calls pre', { hasText: 'banksman_proof' }).waitFor({ timeout: 60_000 });
    await page.locator('#calls button', { hasText: 'Explain' }).click();
    await page.locator('#calls pre', { hasText: 'Now it would end as: pending' }).waitFor({ timeout: 60_000 });
    await screenshot(bench.page, 'g6-activity');
    expect(await axeFaults(page)).toEqual([]);
  });

  it('follows what happens, and shows what fits alone', async () => {
    await callFromCommandLine(bench, 'stop_vm', { vmid: 103 });
    await page.locator('#calls button.call', { hasText: 'refused' }).first().waitFor({ timeout: 60_000 });
    await page.locator('select[data-say="end"]').selectOption('denied');
    await page.locator('#calls button.call', { hasText: 'stop_container' }).first().waitFor({ state: 'detached', timeout: 60_000 });
    await bench.page.setViewportSize({ width: 760, height: 1300 });
    await screenshot(bench.page, 'g7-activity-narrow');
    expect(await page.locator('html').evaluate((root) => Math.max(0, root.scrollWidth - root.clientWidth))).toBe(0);
  });
});

it('says in the view of the clusters that a setting is wrong, and opens the settings from there', async () => {
  const file = machineSettingsFile(bench);
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, JSON.stringify({ ...machineSettings(bench), 'banksman.clusters': [{ name: 7 }] }));
  try {
    await row('wrong, so no tool runs').waitFor({ timeout: 60_000 });
    await row('Show the log').waitFor({ timeout: 60_000 });
    await screenshot(bench.page, 'g8-clusters-wrong-setting');
    expect(await row('settings are wrong').innerText()).toContain('so no tool runs');
    await row('Open Settings').click();
    await bench.page.locator('.settings-editor').waitFor({ timeout: 60_000 });
  } finally {
    writeFileSync(file, before);
  }
  await row('Open Settings').waitFor({ state: 'detached', timeout: 60_000 });
});
