/** How a request ended, in words: an answer that nobody gave and an approval that nobody used are different things. */

import { type Message, say, timeOfDay } from '../text/message.ts';
import { showPlainly } from '../text/text.ts';
import type { RequestRecord, RequestStatus } from './request.ts';

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
export function endInWords(record: Ended): Message {
  const { status, decision } = record;
  const by = decision === undefined ? undefined : showPlainly(decision.by.replace(/^user:/, ''), 40);
  if (isSettledReport(record)) return say`settled by ${by ?? '?'}`;
  if (status === 'consumed') return by === undefined ? say`approved and used` : say`approved by ${by} and used`;
  if (lapsedUnused(record)) return say`approved by ${by ?? '?'}, not used in time`;
  if (status === 'expired') return say`expired (nobody decided)`;
  return by === undefined ? statusWords[status] : statusBy(status, by);
}

export const statusWords: Readonly<Record<RequestStatus, Message>> = {
  pending: say`pending`,
  approved: say`approved`,
  denied: say`denied`,
  cancelled: say`cancelled`,
  revoked: say`revoked`,
  consumed: say`consumed`,
  expired: say`expired`,
};

function statusBy(status: RequestStatus, by: string): Message {
  if (status === 'approved') return say`approved by ${by}`;
  if (status === 'denied') return say`denied by ${by}`;
  if (status === 'revoked') return say`revoked by ${by}`;
  return status === 'cancelled' ? say`cancelled by ${by}` : say`pending by ${by}`;
}

/** Why an expired request ran nothing, as a sentence without its end. */
export function expiryInWords(record: Ended, now: number): Message {
  const { decision } = record;
  if (!lapsedUnused(record) || decision === undefined) return say`nobody decided within its hour, so nothing ran`;
  const who = showPlainly(decision.by, 100);
  return say`${who} approved it at ${timeOfDay(decision.at, now)}, but no call used that within its five minutes, so nothing ran`;
}
