/** The gate's dialogs in a real window. */
import { CancellationTokenSource, commands, window, workspace } from 'vscode';
import { t } from '../l10n.ts';
import { notify } from '../notify.ts';
import { dialogColours } from './dialog-colours.ts';
import type { Dialogs } from './dialogs.ts';

/** What the words belong to is decided already: it must not wait for ever on a box that nobody looks at. */
const noteMs = 60_000;

export function createWindowDialogs(): Dialogs {
  return {
    async ask({ severity, title, detail, buttons }) {
      const painted = paintedHere();
      if (painted.length > 0) {
        void tellPainted(painted);
        return undefined;
      }
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
        return await window.showInputBox({ title, prompt, placeHolder: t('Optional') }, source.token);
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

/** SECURITY: the user's own colours are theirs; a folder's are whoever's wrote the folder, and could leave a dialog with nothing to read in it. */
function paintedHere(): readonly string[] {
  const found = workspace.getConfiguration('workbench').inspect('colorCustomizations');
  return [...new Set([...dialogColours(found?.workspaceValue), ...dialogColours(found?.workspaceFolderValue)])];
}

async function tellPainted(painted: readonly string[]): Promise<void> {
  const button = t('Open Workspace Settings');
  const words = t(
    "Nothing was asked: this folder's settings colour the editor's dialogs (`workbench.colorCustomizations`: {0}), so that what is asked could not be read. Take that out; what waits stays pending.",
    painted.slice(0, 5).join(', '),
  );
  if ((await notify.error(words, button)) === button) await commands.executeCommand('workbench.action.openWorkspaceSettingsFile');
}
