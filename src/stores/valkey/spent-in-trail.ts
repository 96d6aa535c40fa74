/** What the trail remembers of a grant, whatever was done to its keys. */
import { isJsonObject } from '#kernel/json';
import { grantLifeMs, type RequestRecord } from '#kernel/request';
import { parseStoredRecord } from '../stored-record.ts';
import type { StoreContext } from './store-context.ts';
import { rangeOfLog, trailReaders } from './trail-range.ts';

const pageSize = 1000;
/** Clocks of the store's users may differ by this much, in ms. */
const skewMs = 60_000;

/**
 * Whether the trail says that this request's grant has been used. SECURITY: an administrator's user can put a grant back and remove its
 * outcome, and a server that lost its last second does the same; neither can take a record out of the trail. What is written in the five
 * minutes of a grant is all there is to look at. A process that has no user who may read the trail does without.
 */
export async function isSpentInTrail({ connections, keys, now }: StoreContext, { id, grant }: RequestRecord): Promise<boolean> {
  if (!trailReaders.some((role) => connections.has(role))) return false;
  const since = Math.max(grant?.payload.issuedAt ?? 0, now() - grantLifeMs) - skewMs;
  for (let offset = 0; ; offset += pageSize) {
    const page = await connections.asAny(trailReaders, (client, role) => rangeOfLog(client, role, keys.log, [since, offset, pageSize]));
    if (page.some((member) => member.includes(id) && isSpending(member, id))) return true;
    if (page.length < pageSize) return false;
  }
}

function isSpending(member: string, id: string): boolean {
  const record = parseStoredRecord(member);
  return record?.name === 'approval.consumed' && isJsonObject(record.attributes) && record.attributes['request_id'] === id;
}
