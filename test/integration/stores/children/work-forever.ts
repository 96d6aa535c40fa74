/** work-forever FILE: opens, approves and consumes requests and appends records without end; says what was acknowledged. */
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { approved, createApprover, draftBy } from '../request-fixtures.ts';
import { say } from './told.ts';

const [file = ''] = process.argv.slice(2);
const store = await openSqliteStore({ file, seal });
const approver = createApprover();
say('ready');
for (let index = 0; ; index += 1) {
  const { sequence, hash } = await store.audit.append({ name: 'tool.started', attributes: { index } });
  say(`appended ${sequence} ${hash}`);
  const record = await approved(store, approver, Date.now(), draftBy(`mcp:${process.pid}`, 100 + index));
  say(`approved ${record.id}`);
  const consumed = await store.requests.consume(record.id, record.digest, String(process.pid));
  if (consumed.ok) say(`consumed ${record.id}`);
}
