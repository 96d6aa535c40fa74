/** The gate's dialogs in a real window. */
import { CancellationTokenSource, window } from 'vscode';
import { notify } from '../notify.ts';
import type { Dialogs } from './dialogs.ts';

/** What the words belong to is decided already: it must not wait for ever on a box that nobody looks at. */
const noteMs = 60_000;

export function createWindowDialogs(): Dialogs {
  return {
    async ask({ severity, title, detail, buttons }) {
      // SECURITY: a modal is the one prompt that no command can answer (docs/adr/0006-modal-gate.md). Plain strings, not items: `isCloseAffordance` would
      // move the focus, and with it Enter, to the next button.
      const show = severity === 'error' ? window.showErrorMessage : window.showWarningMessage;
      return show(title, { modal: true, detail }, ...buttons);
    },
    async type({ title, prompt, check }) {
      return window.showInputBox({ title, prompt, ignoreFocusOut: true, validateInput: check });
    },
    async note({ title, prompt }) {
      const source = new CancellationTokenSource();
      const timer = setTimeout(() => source.cancel(), noteMs);
      try {
        return await window.showInputBox({ title, prompt, placeHolder: 'Optional' }, source.token);
      } finally {
        clearTimeout(timer);
        source.dispose();
      }
    },
    tell(kind, message) {
      if (kind === 'status') notify.status(message);
      else if (kind === 'info') void notify.info(message);
      else if (kind === 'warning') void notify.warning(message);
      else void notify.error(message);
    },
    async offer(message, label) {
      return (await notify.info(message, label)) === label;
    },
  };
}
