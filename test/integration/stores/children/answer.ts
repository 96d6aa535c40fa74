/** answer URL NAME: a person's machine. Says the person's public key; for each line `ID approve|deny` gives the answer and says its result. */
import { openValkeyStore } from '#stores/valkey/open-valkey-store';
import { createApprover, decisionBy, grantFor, storeApproval } from '../request-fixtures.ts';
import { sampleCredentials } from '../valkey-server.ts';
import { say, told } from './told.ts';

const [url = '', name = ''] = process.argv.slice(2);
const { requests } = await openValkeyStore({ url, credentials: sampleCredentials('agent', 'exec', 'log-writer', 'admin') });
const approver = createApprover(name);
say(approver.pinned.key);
for (;;) {
  const [id = '', answer] = (await told()).split(' ');
  const record = await requests.get(id);
  const now = Date.now();
  const result =
    record && answer === 'approve'
      ? await storeApproval(requests, id, grantFor(record, approver, now, await requests.identity()), decisionBy(name, now))
      : await requests.deny(id, decisionBy(name, now));
  say(JSON.stringify({ asked: record?.title, ok: result.ok, status: result.record?.status, why: result.ok ? undefined : result.why }));
}
