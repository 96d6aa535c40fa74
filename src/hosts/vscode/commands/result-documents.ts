/** Results as pages of their own: nothing to save, nothing on disk, and always seen from their top. */
import { randomBytes } from 'node:crypto';
import { type Disposable, ViewColumn, type WebviewPanel, window } from 'vscode';
import type { Page } from './result-page.ts';

export interface ResultDocuments extends Disposable {
  /** Shows `page` in a tab with this title; a page of the same title is replaced. */
  show(title: string, page: Page): void;
}

export function createResultDocuments(): ResultDocuments {
  const open = new Map<string, WebviewPanel>();
  const panelOf = (title: string): WebviewPanel => {
    const known = open.get(title);
    if (known) return known;
    const options = { enableScripts: false, enableForms: false, enableFindWidget: true, localResourceRoots: [] };
    const panel = window.createWebviewPanel('banksman.result', title, ViewColumn.Active, options);
    open.set(title, panel);
    panel.onDidDispose(() => open.delete(title));
    return panel;
  };
  return {
    show(title, page) {
      const panel = panelOf(title);
      panel.webview.html = page(randomBytes(16).toString('hex'));
      panel.reveal();
    },
    dispose() {
      for (const panel of [...open.values()]) panel.dispose();
    },
  };
}
