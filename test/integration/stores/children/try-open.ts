/** try-open FILE: says `open` or the fault of opening. */
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { faultText, say } from './told.ts';

const [file = ''] = process.argv.slice(2);
try {
  const store = await openSqliteStore({ file, seal, busyDeadlineMs: 300 });
  await store.audit.append({ name: 'tool.started', attributes: {} });
  await store.close();
  say('open');
} catch (thrown) {
  say(faultText(thrown));
}
