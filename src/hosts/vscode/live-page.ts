/** Pages that follow what happens: a document of parts, each made in the extension and put into its place by one script (media/live-page.js). */
import { randomBytes } from 'node:crypto';
import { Uri, ViewColumn, type WebviewPanel, window } from 'vscode';
import { pageShell } from './live-shell.ts';

interface LivePageOptions {
  /** The editor's name for this kind of page. */
  readonly kind: string;
  readonly title: string;
  /** On the tab, where the title is too long for one. */
  readonly tab?: string;
  readonly style: string;
  readonly parts: readonly string[];
  /** The part whose changes are spoken; absent: none. */
  readonly spoken?: string;
  /** The extension's own folder. */
  readonly extensionUri: Uri;
  /** SECURITY: from our own script in this panel alone; it is still only ever a choice among what the page offers. */
  said(words: Readonly<Record<string, unknown>>): void;
  /** It can be seen again, or not any more. */
  seen(isVisible: boolean): void;
  ended(): void;
}

export interface LivePage {
  readonly isVisible: boolean;
  reveal(): void;
  /** Puts what is another than before. */
  draw(parts: Readonly<Record<string, string>>): void;
  /** Brings a part into sight. */
  goTo(part: string): void;
  dispose(): void;
}

export function openLivePage(options: LivePageOptions): LivePage {
  const { kind, title, tab = title, style, parts, spoken, extensionUri } = options;
  const media = Uri.joinPath(extensionUri, 'media');
  const settings = { enableScripts: true, enableForms: false, enableFindWidget: true, localResourceRoots: [media] };
  const panel: WebviewPanel = window.createWebviewPanel(kind, tab, ViewColumn.Active, settings);
  let last: Readonly<Record<string, string>> = {};
  let drawn = new Map<string, string>();
  const draw = (now: Readonly<Record<string, string>>) => {
    last = now;
    const changed = Object.entries(now).filter(([name, markup]) => drawn.get(name) !== markup);
    for (const [name, markup] of changed) drawn.set(name, markup);
    if (changed.length > 0) void panel.webview.postMessage({ parts: Object.fromEntries(changed) });
  };
  panel.webview.onDidReceiveMessage((message: unknown) => {
    const words = typeof message === 'object' && message !== null ? (message as Readonly<Record<string, unknown>>) : {};
    if (words['ready'] !== true) return options.said(words);
    // The document is new: one that was hidden is loaded again.
    drawn = new Map();
    draw(last);
  });
  panel.onDidChangeViewState(() => options.seen(panel.visible));
  panel.onDidDispose(() => options.ended());
  const script = panel.webview.asWebviewUri(Uri.joinPath(media, 'live-page.js')).toString();
  panel.webview.html = pageShell({
    ...{ title, style, parts, script, nonce: randomBytes(16).toString('hex') },
    ...(spoken === undefined ? {} : { spoken }),
  });
  return {
    get isVisible() {
      return panel.visible;
    },
    draw,
    reveal: () => panel.reveal(),
    goTo: (part) => void panel.webview.postMessage({ to: part }),
    dispose: () => panel.dispose(),
  };
}
