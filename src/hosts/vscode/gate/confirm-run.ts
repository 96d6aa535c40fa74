/** A person's own yellow call from the palette: confirmed in a modal, since a program can run commands and press quick picks. */
import type { Dialogs } from './dialogs.ts';
import type { ModalQueue } from './modal-queue.ts';
import { minimumOpenMs } from './review.ts';

export const runButton = 'Run';
const cancelButton = 'Do Not Run';

export interface ConfirmDeps {
  readonly queue: ModalQueue;
  readonly dialogs: Dialogs;
  /** Monotonic, in ms. */
  now(): number;
}

/** Whether a person pressed Run. @param key tells questions apart, so that the same one is not asked twice at once */
export function confirmRun(
  question: { readonly key: string; readonly title: string; readonly detail: string },
  deps: ConfirmDeps,
): Promise<boolean> {
  return deps.queue.run(`run:${question.key}`, async () => {
    for (;;) {
      const openedAt = deps.now();
      const answer = await deps.dialogs
        .ask({ id: question.key, severity: 'warning', title: question.title, detail: question.detail, buttons: [cancelButton, runButton] })
        .catch(() => undefined);
      if (answer !== runButton) return false;
      if (deps.now() - openedAt >= minimumOpenMs) return true;
    }
  });
}
