/** Results as read-only documents: nothing to save, nothing on disk. */
import { commands, type Disposable, EventEmitter, Uri, window, workspace } from 'vscode';
import { createDisposableBag } from '../disposables.ts';

const scheme = 'banksman';
const keptPages = 20;

export interface ResultDocuments extends Disposable {
  /** Shows `markdown` as a page under `title`; a page of the same title is replaced. */
  show(title: string, markdown: string): Promise<void>;
}

export function createResultDocuments(): ResultDocuments {
  const bag = createDisposableBag();
  const pages = new Map<string, string>();
  const changed = bag.add(new EventEmitter<Uri>());
  bag.add(
    workspace.registerTextDocumentContentProvider(scheme, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => pages.get(uri.path) ?? 'This result is no longer kept. Run the command again.',
    }),
  );
  return {
    async show(title, markdown) {
      const uri = Uri.from({ scheme, path: `/${title.replaceAll('/', '-')}.md` });
      pages.delete(uri.path);
      pages.set(uri.path, markdown);
      for (const old of [...pages.keys()].slice(0, -keptPages)) pages.delete(old);
      changed.fire(uri);
      try {
        await commands.executeCommand('markdown.showPreview', uri);
      } catch {
        // The built-in markdown extension can be switched off.
        await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true });
      }
    },
    dispose: () => bag.dispose(),
  };
}
