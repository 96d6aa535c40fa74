/** The views `Pending Approvals` and `Decided Requests`, and the number on the activity bar. */
import type { RequestStatus } from '#kernel/request';
import type { AppSession } from '../app-session.ts';
import { historyViewId, viewId } from '../contributes/views.ts';
import { createDisposableBag, type Disposable } from '../disposables.ts';
import type { PendingFeed } from './pending-feed.ts';
import { RequestFeed } from './request-feed.ts';
import { createRequestList } from './request-list.ts';

const pending: readonly RequestStatus[] = ['pending'];
/** Approved ones too: until they are used they can be taken back. */
const decided: readonly RequestStatus[] = ['approved', 'consumed', 'denied', 'revoked', 'expired', 'cancelled'];

export function createApprovalsViews(session: AppSession, state: PendingFeed, onError: (error: unknown) => void): Disposable {
  const bag = createDisposableBag(onError);
  const waiting = bag.add(new RequestFeed({ session, statuses: pending, onError }));
  const over = bag.add(new RequestFeed({ session, statuses: decided, onError }));
  bag.add(createRequestList({ viewId, name: 'Pending', feed: waiting, statuses: pending, state }));
  bag.add(createRequestList({ viewId: historyViewId, name: 'History', feed: over, statuses: decided }));
  return bag;
}
