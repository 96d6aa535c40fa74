/** The editor remembers the audit trail outside its store: who cuts it off so that it still fits together is told of. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { channelLines } from '../../harness/channel-log.ts';
import { callFromCommandLine } from '../../harness/command-line.ts';
import { waitForNotification } from '../../harness/notifications.ts';
import { screenshot } from '../../harness/screenshot.ts';
import { waitUntil } from '../../harness/wait-until.ts';
import { bench } from './window.ts';

/** How many windows have compared the trail with what they remember, and found it right. */
function looks(): number {
  return channelLines(bench.editor).filter((line) => line.includes('the audit trail fits what this editor saw of it')).length;
}

/** As whoever may write the file: the newest record goes, the anchor goes back, and the triggers that would have refused it are back too. */
function cutOff(): void {
  const [file] = globSync(path.join(bench.stateDir, '**', '*.db'));
  if (file === undefined) throw new Error(`no store below ${bench.stateDir}`);
  const database = new DatabaseSync(file);
  database.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE');
  const triggers = database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'audit%'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  database.exec(`DELETE FROM audit WHERE sequence = (SELECT max(sequence) FROM audit);
    UPDATE audit_head SET (sequence, hash) = (SELECT sequence, body ->> '$.hash' FROM audit ORDER BY sequence DESC LIMIT 1)`);
  for (const { sql } of triggers) database.exec(String(sql));
  database.exec('COMMIT');
  database.close();
}

export function tellOfACutTrail(): void {
  describe('the audit trail', () => {
    it('is told of when its end was cut off together with its anchor', async () => {
      for (const tool of ['get_vms', 'get_storage']) expect((await callFromCommandLine(bench, tool, {})).status).toBe('ok');
      const before = looks();
      await bench.page.reload();
      await waitUntil('the editor to look at the trail', () => looks() > before);
      cutOff();
      await bench.page.reload();
      const told = await waitForNotification(bench.page, 'records of the audit trail were removed or rewritten');
      expect(told).toMatch(/record \d+, which this editor saw, is gone or another/);
      await screenshot(bench.page, 'g1-trail-cut-off');
    });
  });
}
