/** Which requests have changed since the last look. Nothing is polled: look when the store rings, and when `nextExpiry` has passed. */

import type { Approvals } from '#kernel/app';
import { lapsesAt, type RequestRecord, type RequestStatus } from '#kernel/approval/request';

export interface RequestChange {
  readonly record: RequestRecord;
  /** What it was at the last look; absent for one that is new. */
  readonly before?: RequestStatus;
}

export interface RequestChanges {
  /** Oldest first. The first look gives the newest requests there are, as new. */
  look(): Promise<readonly RequestChange[]>;
  /** In ms from now; at least a second, for the store’s clock may be behind this one. */
  nextExpiry(): number;
}

const pageSize = 200;
/** `setTimeout` takes no more. */
const longestMs = 2 ** 31 - 1;

export function createRequestChanges(approvals: Pick<Approvals, 'list' | 'get'>): RequestChanges {
  const seen = new Map<string, RequestRecord>();
  return {
    look: async () => {
      const { records } = await approvals.list({ limit: pageSize });
      const listed = new Set(records.map(({ id }) => id));
      // Whatever was open before and is no longer among the newest is looked up by itself.
      const others = await Promise.all([...seen.keys()].filter((id) => !listed.has(id)).map((id) => approvals.get(id)));
      const older = others.filter((record) => record !== undefined);
      const changes = [...older, ...records.toReversed()]
        .map((record) => changeOf(record, seen.get(record.id)))
        .filter(({ record, before }) => record.status !== before);
      seen.clear();
      for (const record of [...older.filter(isOpen), ...records]) seen.set(record.id, record);
      return changes;
    },
    nextExpiry: () => {
      const times = [...seen.values()].filter(isOpen).map(lapsesAt);
      return Math.min(longestMs, Math.max(1_000, Math.min(...times, Number.POSITIVE_INFINITY) - Date.now()));
    },
  };
}

function changeOf(record: RequestRecord, before: RequestRecord | undefined): RequestChange {
  return before === undefined ? { record } : { record, before: before.status };
}

function isOpen({ status }: RequestRecord): boolean {
  return status === 'pending' || status === 'approved';
}
