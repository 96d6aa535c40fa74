/** The dialog and the page of a request in dark and in high contrast, in a wide and in a narrow window (the other suites run in light). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openApprovals, pressRowAction, waitRow } from '../harness/approvals-view.ts';
import { axeFaults } from '../harness/axe-faults.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { unfoldDetails, waitDetails } from '../harness/details-page.ts';
import { launchWorkbench, type Workbench, type WorkbenchOptions } from '../harness/launch-workbench.ts';
import { waitModal } from '../harness/modal.ts';
import { runCommand, typeInto, waitPickRow } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';

let bench: Workbench | undefined;

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail' && bench) await screenshot(bench.page, `failed-looks-${task.id}`);
});

const longName = `.github/workflows/${'a-name-that-is-longer-than-a-line-of-a-dialog-'.repeat(3)}.yml`;

async function launch(theme: string, more: WorkbenchOptions = {}): Promise<void> {
  bench = await launchWorkbench({ settings: { 'workbench.colorTheme': theme }, ...more });
  await callFromCommandLine(bench, 'stop_vm', { vmid: 100, reason: 'it answers nobody; its last word was an hour ago' });
  await callFromCommandLine(bench, 'write_file', { path: longName, content: 'run: rm -rf /\n'.repeat(60) });
  await openApprovals(bench.page);
  await waitRow(bench.page, '100');
  await waitRow(bench.page, '.github');
}

/** What of the title is cut off at its top, and how far it hangs into the text below, in pixels. */
async function titleFaults({ page }: Workbench): Promise<{ readonly cut: number; readonly over: number }> {
  return page.locator('.monaco-dialog-box .dialog-message-container').evaluate((container) => {
    const title = container.querySelector('.dialog-message-text')?.getBoundingClientRect();
    const detail = container.querySelector('.dialog-message-detail')?.getBoundingClientRect();
    if (title === undefined || detail === undefined) throw new Error('no dialog');
    const cut = Math.max(0, Math.round(container.getBoundingClientRect().top - title.top));
    return { cut, over: Math.max(0, Math.round(title.bottom - detail.top)) };
  });
}

/** As a person who chose another theme; no page of the one before is left. */
async function paint({ page }: Workbench, theme: string, kind: string): Promise<void> {
  await page.setViewportSize({ width: 1360, height: 860 });
  await runCommand(page, 'View: Close All Editors');
  await runCommand(page, 'Preferences: Color Theme');
  await typeInto(page, theme);
  await waitPickRow(page, theme);
  await page.keyboard.press('Enter');
  await page.locator(`.monaco-workbench.${kind}`).waitFor({ timeout: 60_000 });
}

describe('in another theme', () => {
  beforeAll(() => launch('Light Modern'));
  afterAll(() => bench?.close());

  describe.each([
    ['Dark Modern', 'vs-dark'],
    ['Dark High Contrast', 'hc-black'],
    ['Light High Contrast', 'hc-light'],
  ])('%s', (theme, kind) => {
    beforeAll(() => paint(bench as Workbench, theme, kind));

    it.each([
      [1360, 860],
      [700, 560],
    ])('no part of a dialog hides its title at %d by %d, and the pages can be read', async (width, height) => {
      const { page } = bench as Workbench;
      for (const [row, title] of [
        ['100', 'Stop VM 100'],
        ['.github', 'Write .github/workflows'],
      ] as const) {
        await page.setViewportSize({ width, height });
        await page.mouse.move(width / 2, height / 2);
        await pressRowAction(page, row, 'Review');
        const modal = await waitModal(page, title);
        await screenshot(page, `k-${kind}-${width}-${row.replace('.', '')}`);
        expect({ row, ...(await titleFaults(bench as Workbench)) }).toEqual({ row, cut: 0, over: 0 });
        await modal.escape();
        await page.mouse.move(width / 2, height / 2);
        // The side bar takes most of a narrow window.
        await page.setViewportSize({ width: 1360, height });
        await pressRowAction(page, row, 'Show Details');
        const details = await waitDetails(page, title);
        await screenshot(page, `k-${kind}-${width}-${row.replace('.', '')}-card`);
        await unfoldDetails(details);
        expect(await axeFaults(details)).toEqual([]);
        await page.setViewportSize({ width, height });
        await page.waitForTimeout(1000);
        await screenshot(page, `k-${kind}-${width}-${row.replace('.', '')}-page`);
        const over = await details.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
        expect({ row, over: Math.max(0, over) }).toEqual({ row, over: 0 });
      }
    });

    it('the clusters, a guest’s page, the activity and what Doctor says can be read, and axe knows no fault of the pages', async () => {
      const { page } = bench as Workbench;
      await page.setViewportSize({ width: 1360, height: 1300 });
      await page.locator('.part.sidebar .monaco-list-row[aria-label^="VM 100"]').click();
      const guest = await waitDetails(page, '100 ');
      await guest.locator('#graphs svg').first().waitFor({ timeout: 60_000 });
      await guest.locator('#config th').first().waitFor({ timeout: 60_000 });
      expect(await axeFaults(guest)).toEqual([]);
      await screenshot(page, `k-${kind}-guest`);
      await runCommand(page, 'Banksman: Show Activity');
      const activity = await waitDetails(page, 'Activity');
      await activity.locator('#calls button.call').first().click();
      await activity.locator('#calls .inside').waitFor({ timeout: 60_000 });
      expect(await axeFaults(activity)).toEqual([]);
      await screenshot(page, `k-${kind}-activity`);
      await runCommand(page, 'Banksman: Doctor');
      const doctor = await waitDetails(page, 'Banksman Doctor');
      await doctor.locator('.findings').first().waitFor({ timeout: 60_000 });
      expect(await axeFaults(doctor)).toEqual([]);
      await screenshot(page, `k-${kind}-doctor`);
      await runCommand(page, 'Banksman: Show Policy');
      const policy = await waitDetails(page, 'Policy');
      await policy.locator('table').first().waitFor({ timeout: 60_000 });
      expect(await axeFaults(policy)).toEqual([]);
      await screenshot(page, `k-${kind}-policy`);
    });
  });
});

describe('in German', () => {
  beforeAll(() => launch('Light Modern', { language: 'de' }));
  afterAll(() => bench?.close());

  it('rows, the dialog and the pages speak it', async () => {
    const { page } = bench as Workbench;
    await pressRowAction(page, '100', 'Prüfen');
    const modal = await waitModal(page, 'Stoppen: VM 100');
    await screenshot(page, 'k-german-gate');
    expect(await page.locator('.monaco-dialog-box .dialog-buttons').innerText()).toContain('Ablehnen');
    await modal.escape();
    await pressRowAction(page, '100', 'Details anzeigen');
    const details = await waitDetails(page, 'Stoppen: VM 100');
    await screenshot(page, 'k-german-details');
    expect(await details.locator('html').getAttribute('lang')).toBe('de');
    expect(await axeFaults(details)).toEqual([]);
    await runCommand(page, 'Banksman: Aktivität anzeigen');
    const activity = await waitDetails(page, 'Aktivität');
    await activity.getByText('Nach Ergebnis').waitFor({ timeout: 60_000 });
    await screenshot(page, 'k-german-activity');
    await runCommand(page, 'Banksman: Diagnose');
    const doctor = await waitDetails(page, 'Banksman Doctor');
    await doctor.locator('.findings').first().waitFor({ timeout: 60_000 });
    expect(await doctor.locator('body').innerText()).toMatch(/2 offene Anfragen[\s\S]*Token angenommen/);
    await screenshot(page, 'k-german-doctor');
  });
});
