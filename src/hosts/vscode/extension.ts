/** The extension's entry. It exports these two functions and nothing else: every other extension can require this module. */
// oxlint-disable-next-line import/no-unassigned-import -- it has to run before the modules below make their schemas, and has nothing to give
import './without-eval.ts';
import type { ExtensionContext } from 'vscode';
import { startWindow, type WindowSession } from './window-session.ts';

let session: WindowSession | undefined;

/** Returns nothing: whatever it returned, any extension could get by calling it again with a context of its own making. */
export function activate(context: ExtensionContext): void {
  session = startWindow(context);
}

/** Ends what runs; requests that wait stay pending in the store. */
export async function deactivate(): Promise<void> {
  const ending = session;
  session = undefined;
  await ending?.end();
}
