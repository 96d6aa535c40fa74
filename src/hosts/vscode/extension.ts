/** The extension's entry. It exports these two functions and nothing else: every other extension can require this module. */
import { type ExtensionContext, env, l10n, window } from 'vscode';
import { t, useTexts } from './l10n.ts';
import type { WindowSession } from './window-session.ts';

let session: Promise<WindowSession> | undefined;

/** Outlives this module: a fresh copy of it, which any extension can load, finds it as well. */
const startedMark = Symbol.for('banksman.started');

/**
 * Returns when the window's part has started, and nothing with that: whatever it returned, any extension could get by calling it again with a
 * context of its own making. That part is loaded here and not by the entry's own import: tables of words are made as it is loaded, in the language that is set first.
 * SECURITY: once a process. A second start would answer with the caller's context, and so pin the caller's key at the next honest click. Which of the two
 * was the editor's nobody knows here, so the first ends, too.
 * @throws on a second start
 */
export function activate(context: ExtensionContext): Promise<void> {
  useTexts(l10n.bundle, env.language);
  if (startedMark in globalThis) {
    endStarted();
    void window.showErrorMessage(
      t(
        'Banksman was started a second time in this window, by another extension. It is off here now: nothing can be approved. Find out which extension that is, remove it, and reload the window.',
      ),
    );
    throw new Error('Banksman is started already in this process; reload the window');
  }
  Object.defineProperty(globalThis, startedMark, { value: () => void deactivate() });
  session = import('./window-session.ts').then(({ startWindow }) => startWindow(context));
  return session.then(() => undefined);
}

function endStarted(): void {
  const end: unknown = Reflect.get(globalThis, startedMark);
  if (typeof end === 'function') end();
}

/** Ends what runs; requests that wait stay pending in the store. */
export async function deactivate(): Promise<void> {
  const ending = session;
  session = undefined;
  await ending?.then(
    (started) => started.end(),
    // It never started; whoever activated it knows why.
    () => undefined,
  );
}
