/** The gate's dialogs in a real window. */
import { window } from 'vscode';
import type { Dialogs } from './dialogs.ts';

const statusMs = 6000;

export function createWindowDialogs(): Dialogs {
  return {
    async ask({ severity, title, detail, buttons }) {
      // SECURITY: a modal is the one prompt that no command can answer (design §6). Plain strings, not items: `isCloseAffordance` would
      // move the focus, and with it Enter, to the next button.
      const show = severity === 'error' ? window.showErrorMessage : window.showWarningMessage;
      return show(title, { modal: true, detail }, ...buttons);
    },
    async type({ title, prompt, check }) {
      return window.showInputBox({ title, prompt, ignoreFocusOut: true, validateInput: check });
    },
    tell(kind, message) {
      if (kind === 'status') window.setStatusBarMessage(message, statusMs);
      else if (kind === 'info') void window.showInformationMessage(message);
      else if (kind === 'warning') void window.showWarningMessage(message);
      else void window.showErrorMessage(message);
    },
    async offer(message, label) {
      return (await window.showInformationMessage(message, label)) === label;
    },
  };
}
