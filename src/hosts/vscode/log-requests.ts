/** What becomes of requests, in the log: whoever answered, and from whichever surface. */

import { createRequestChanges, type RequestChange, type RequestChanges } from '#app/people/request-changes';
import type { RequestRecord } from '#kernel/approval/request';
import { endInWords, isSettledReport } from '#kernel/approval/request-end';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { english } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from './app-session.ts';
import { Rereader } from './approvals-view/rereader.ts';
import type { Disposable } from './disposables.ts';

/** The end of a request’s time announces nothing. */
const everyMs = 15_000;

export function logRequests(session: AppSession, log: Log): Disposable {
  let looked: { readonly app: object; readonly changes: RequestChanges } | undefined;
  return new Rereader({
    session,
    everyMs,
    follow: (app, changed) => app.approvals.onChange(changed),
    read: async (app) => {
      if (app === undefined) return;
      const isNew = looked?.app !== app;
      if (looked === undefined || isNew) looked = { app, changes: createRequestChanges(app.approvals) };
      const changes = await looked.changes.look();
      // What was there before this window is no news.
      for (const line of isNew ? [] : changes.flatMap(linesOf)) log.info(line);
    },
    onError: (error) => log.warn(`requests cannot be followed: ${toFault(error).message}`),
  });
}

/** A request may have gone several steps between two looks: an approval is told even where it has been used since. */
export function linesOf({ record, before }: RequestChange): readonly string[] {
  const what = `${showPlainly(record.title, 160)} (${record.id})`;
  const asked = before === undefined ? [`asked: ${what} by ${showPlainly(record.agent.id, 100)} through ${record.agent.host}`] : [];
  return [...asked, ...answerLines(record, before, what), ...endLines(record, what)];
}

function answerLines(record: RequestRecord, before: RequestChange['before'], what: string): readonly string[] {
  const { status, decision } = record;
  const isNew = before === undefined || before === 'pending';
  if (decision === undefined || (!isNew && status !== 'revoked')) return [];
  const said = decision.message === undefined ? '' : `: ${showPlainly(decision.message)}`;
  const who = `by ${showPlainly(decision.by, 100)} via ${decision.via}`;
  if (status === 'denied' || status === 'revoked') return [`${status}: ${what} ${who}${said}`];
  return [`${isSettledReport(record) ? 'settled' : 'approved'}: ${what} ${who}`];
}

function endLines(record: RequestRecord, what: string): readonly string[] {
  const { status, consumedBy } = record;
  if (status === 'consumed') return [`used: ${what}${consumedBy === undefined ? '' : ` by ${showPlainly(consumedBy, 200)}`}`];
  if (status === 'expired' && !isSettledReport(record))
    return [`expired: ${what}: ${english(endInWords(record)).replace(/^expired \((.*)\)$/, '$1')}`];
  return status === 'cancelled' ? [`cancelled: ${what}`] : [];
}
