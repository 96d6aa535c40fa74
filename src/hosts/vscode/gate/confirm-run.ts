/** A person's own act, confirmed in a modal: a program can run commands and press quick picks, but no modal (docs/adr/0006-modal-gate.md). */
import type { Dialogs } from './dialogs.ts';
import type { ModalQueue } from './modal-queue.ts';

/** An answer sooner than this after opening was meant for whatever had the focus before. */
export const minimumOpenMs = 700;

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
  return deps.queue.run(`run:${question.key}`, () => confirmNow(question, deps));
}

/** For who has the turn in the queue already. */
export async function confirmNow(question: Confirmation, deps: Pick<ConfirmDeps, 'dialogs' | 'now'>): Promise<boolean> {
  const { key, title, detail, proceed = runButton, stay = cancelButton } = question;
  for (;;) {
    const openedAt = deps.now();
    const answer = await deps.dialogs.ask({ id: key, severity: 'warning', title, detail, buttons: [stay, proceed] }).catch(() => undefined);
    if (answer !== proceed) return false;
    if (deps.now() - openedAt >= minimumOpenMs) return true;
  }
}
