/** A call whose process ended before it said what came of it: the editor says so above all else, until a person has seen it. */
import { randomUUID } from 'node:crypto';
import { globSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { seal } from '../../../../src/audit/seal.ts';
import { openSqliteStore } from '../../../../src/stores/sqlite/open-sqlite-store.ts';
import { approvalRows, openApprovals, waitRow, waitRowGone } from '../../harness/approvals-view.ts';
import { callFromCommandLine } from '../../harness/command-line.ts';
import { waitModal } from '../../harness/modal.ts';
import { waitForNotification } from '../../harness/notifications.ts';
import { screenshot } from '../../harness/screenshot.ts';
import { bench } from './window.ts';

/** As a process leaves it that was killed while a service was restarted: the same call's beginning once more, and no end. */
async function leaveBegun(): Promise<void> {
  const [file] = globSync(path.join(bench.stateDir, '**', '*.db'));
  if (file === undefined) throw new Error(`no store below ${bench.stateDir}`);
  const store = await openSqliteStore({ file, seal });
  const records = await store.audit.read(0, 1000);
  const begun = records.findLast(({ name, attributes }) => name === 'tool.started' && attributes['gen_ai.tool.name'] === 'restart_service');
  if (begun === undefined) throw new Error('no restart is in the trail');
  const gone = { 'gen_ai.tool.call.id': randomUUID(), process: { machine: 'another', pid: 1 }, ends_by: new Date(0).toISOString() };
  await store.audit.append({ name: 'tool.started', attributes: { ...begun.attributes, ...gone } });
  await store.close();
}

export function seeUnknownOutcomes(): void {
  describe('an outcome that nobody knows', () => {
    it('is the first row of the list, says what to look at, and goes once a person has seen it', async () => {
      expect((await callFromCommandLine(bench, 'restart_service', { node: 'pve', service: 'chrony' })).status).toBe('ok');
      expect((await callFromCommandLine(bench, 'stop_container', { vmid: 201 })).status).toBe('pending');
      await leaveBegun();
      await bench.page.reload();
      await openApprovals(bench.page);
      await waitRow(bench.page, 'container 201', 120_000);
      await waitRow(bench.page, 'Outcome unknown: restart_service', 120_000);
      expect((await approvalRows(bench.page))[0]?.label).toBe('Outcome unknown: restart_service');
      await screenshot(bench.page, 'unknown-outcome');
      await bench.page.locator('.part.sidebar .monaco-list-row', { hasText: 'Outcome unknown' }).click();
      const modal = await waitModal(bench.page, 'Have you seen what became of this call?');
      await screenshot(bench.page, 'unknown-outcome-modal');
      expect(modal.detail).toMatch(/restart_service chrony\.service on pve on demo by cli:\w+[\s\S]*look at the target/);
      await waitForNotification(bench.page, /nobody knows what came of restart_service \(chrony/);
      await modal.click('Mark as Seen');
      await waitRowGone(bench.page, 'Outcome unknown');
      await waitRow(bench.page, 'container 201');
    });
  });
}
