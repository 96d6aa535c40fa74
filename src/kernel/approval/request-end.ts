/** How a request ended, in words: an answer that nobody gave and an approval that nobody used are different things. */

import { clockTime, showPlainly } from '../text/text.ts';
import type { RequestRecord } from './request.ts';

type Ended = Pick<RequestRecord, 'status' | 'decision' | 'reported'>;

/** Nothing runs on a report, so its approval is never used: the time after which it could not be is of no interest. */
export function isSettledReport({ reported, decision, status }: Ended): boolean {
  return reported !== undefined && decision !== undefined && (status === 'approved' || status === 'expired');
}

/** A person approved it, and no call used that in its time. */
export function lapsedUnused({ reported, decision, status }: Ended): boolean {
  return status === 'expired' && decision !== undefined && reported === undefined;
}

/** For lists: `denied by alice`, `expired (nobody decided)`. */
export function endInWords(record: Ended): string {
  const by = record.decision === undefined ? '' : ` by ${showPlainly(record.decision.by.replace(/^user:/, ''), 40)}`;
  if (isSettledReport(record)) return `settled${by}`;
  if (record.status === 'consumed') return `approved${by} and used`;
  if (lapsedUnused(record)) return `approved${by}, not used in time`;
  return record.status === 'expired' ? 'expired (nobody decided)' : `${record.status}${by}`;
}

/** Why an expired request ran nothing, as a sentence without its end. */
export function expiryInWords(record: Ended, now: number): string {
  const { decision } = record;
  if (!lapsedUnused(record) || decision === undefined) return 'nobody decided within its hour, so nothing ran';
  const who = showPlainly(decision.by, 100);
  return `${who} approved it at ${clockTime(decision.at, now)}, but no call used that within its five minutes, so nothing ran`;
}
