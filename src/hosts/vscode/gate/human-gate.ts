/** The person's side of the approvals in this window: what a waiting call opens, and what the tree's Review opens. */
import type { HumanGate } from '#kernel/app';
import type { RequestRecord } from '#kernel/approval/request';
import { showPlainly } from '#kernel/text/text';
import { faultWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import type { ModalQueue } from './confirm-run.ts';
import type { Dialogs } from './dialogs.ts';
import type { ReviewEnd } from './review.ts';

export interface WindowGate extends HumanGate {
  /** Opens the dialog of a stored request. Never rejects. */
  review(id: string): Promise<ReviewEnd>;
}

interface WindowGateDeps {
  readonly queue: ModalQueue;
  readonly dialogs: Dialogs;
  /** Runs the dialog of one request (`reviewRequest`), on an App that stays open meanwhile. */
  review(id: string): Promise<ReviewEnd>;
}

export function createWindowGate({ queue, dialogs, review }: WindowGateDeps): WindowGate {
  /** Asked for by a person: shown even when the call behind it no longer waits. */
  const wanted = new Set<string>();
  const show = async (id: string, done?: AbortSignal): Promise<ReviewEnd> => {
    // By its turn in the queue the call may have ended; the request is in the tree then, and a dialog out of nowhere helps nobody.
    if (done?.aborted && !wanted.has(id)) return 'left_pending';
    try {
      return await review(id);
    } catch (thrown) {
      dialogs.tell('error', t('The request cannot be shown: {0}', faultWords(thrown)));
      return 'failed';
    } finally {
      wanted.delete(id);
    }
  };
  const gate: WindowGate = {
    ask(request, done) {
      void askWhileWaiting(request, done);
    },
    review(id) {
      wanted.add(id);
      return queue.run(id, () => show(id));
    },
  };
  const askWhileWaiting = async (request: RequestRecord, done: AbortSignal) => {
    const end = await queue.run(request.id, () => show(request.id, done));
    if (end !== 'left_pending' || done.aborted) return;
    const title = showPlainly(request.title).replace(/\?$/, '');
    // The notification stays on the screen longer than the call waits: it says nothing that time makes untrue.
    const again = await dialogs.offer(t('You left it unanswered: {0}.', title), t('Review')).catch(() => false);
    if (again) await gate.review(request.id);
  };
  return gate;
}
