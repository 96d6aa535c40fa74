/** fill-disk FOLDER: appends until the disk is full, says the fault, makes room, and says whether the trail goes on unbroken. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seal } from '#audit/seal';
import { verifyTrail } from '#audit/verify-trail';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { draftBy, opened } from '../request-fixtures.ts';
import { faultText, say } from './told.ts';

const [folder = ''] = process.argv.slice(2);
const ballast = join(folder, 'ballast');
const store = await openSqliteStore({ file: join(folder, 'state', 'banksman.db'), seal });
const record = await opened(store);
writeFileSync(ballast, Buffer.alloc(128 * 1024));
let acknowledged = 1;
try {
  for (;;) {
    await store.audit.append({ name: 'tool.started', attributes: { text: 'x'.repeat(2000) } });
    acknowledged += 1;
  }
} catch (thrown) {
  say(faultText(thrown));
}
try {
  await opened(store, draftBy('mcp:full'));
  say('no fault');
} catch (thrown) {
  say(faultText(thrown));
}
// Reading goes on, and what was acknowledged is there.
const verdict = await verifyTrail(store.audit);
say(JSON.stringify({ ok: verdict.ok, lost: acknowledged - verdict.records, pending: (await store.requests.get(record.id))?.status }));
rmSync(ballast);
await opened(store, draftBy('mcp:full'));
say(JSON.stringify(await verifyTrail(store.audit).then(({ ok, records }) => ({ ok, added: records - acknowledged }))));
await store.close();
