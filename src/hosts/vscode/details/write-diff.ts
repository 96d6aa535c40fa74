/** The native diff of a write that waits. Both sides are read-only documents. */
import * as path from 'node:path';
import { commands, type Disposable, EventEmitter, Uri, window, workspace } from 'vscode';
import { toFault } from '#kernel/errors';
import { showPlainly } from '#kernel/text';
import type { AppSession } from '../app-session.ts';
import { createDisposableBag } from '../disposables.ts';
import { sideText, writtenFile } from './write-sides.ts';

const scheme = 'banksman-diff';

export interface WriteDiff extends Disposable {
  show(id: string): Promise<void>;
}

export function createWriteDiff(session: AppSession): WriteDiff {
  const bag = createDisposableBag();
  const changed = bag.add(new EventEmitter<Uri>());
  const textOf = ({ authority, query }: Uri) =>
    session.use(async ({ approvals, config }) => {
      const record = await approvals.get(authority);
      return record ? sideText(record, query === 'now' ? 'now' : 'proposed', config.workspace.root) : 'There is no such request any more.';
    });
  bag.add(workspace.registerTextDocumentContentProvider(scheme, { onDidChange: changed.event, provideTextDocumentContent: textOf }));
  return {
    async show(id) {
      try {
        const record = await session.use(({ approvals }) => approvals.get(id));
        const file = record && writtenFile(record);
        if (file === undefined) return void window.showInformationMessage('This request writes no file.');
        const uriOf = (query: string) => Uri.from({ scheme, authority: id, path: `/${file.replace(/^\/+/, '')}`, query });
        const [left, right] = [uriOf('now'), uriOf('proposed')];
        for (const uri of [left, right]) changed.fire(uri);
        const title = `${showPlainly(path.posix.basename(file), 60)}: now ↔ proposed`;
        await commands.executeCommand('vscode.diff', left, right, title, { preview: true });
      } catch (thrown) {
        void window.showErrorMessage(`Banksman: ${toFault(thrown).message}`);
      }
    },
    dispose: () => bag.dispose(),
  };
}
