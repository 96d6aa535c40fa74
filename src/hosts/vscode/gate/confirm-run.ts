/** A person's own act, confirmed in a modal: a program can run commands and press quick picks, but no modal (docs/adr/0006-modal-gate.md). */
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

export interface Confirmation {
  /** Tells questions apart, so that the same one is not asked twice at once. */
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  /** What goes on; default `Run`. */
  readonly proceed?: string;
  /** The default button, which changes nothing; default `Do Not Run`. */
  readonly stay?: string;
}

/** Whether a person pressed the button that goes on. */
export function confirmRun(question: Confirmation, deps: ConfirmDeps): Promise<boolean> {
  const { key, title, detail, proceed = runButton, stay = cancelButton } = question;
  return deps.queue.run(`run:${key}`, async () => {
    for (;;) {
      const openedAt = deps.now();
      const answer = await deps.dialogs
        .ask({ id: key, severity: 'warning', title, detail, buttons: [stay, proceed] })
        .catch(() => undefined);
      if (answer !== proceed) return false;
      if (deps.now() - openedAt >= minimumOpenMs) return true;
    }
  });
}
