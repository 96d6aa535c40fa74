/** The extension's entry. It exports these two functions and nothing else: every other extension can require this module. */
// oxlint-disable-next-line import/no-unassigned-import -- it has to run before the modules below make their schemas, and has nothing to give
import './without-eval.ts';
import type { ExtensionContext } from 'vscode';
import type { TestSeam } from './test-seam.ts';
import { startWindow, type WindowSession } from './window-session.ts';

let session: WindowSession | undefined;

/** Returns the in-host suite's seam under `ExtensionMode.Test` only. */
export function activate(context: ExtensionContext): TestSeam | undefined {
  session = startWindow(context);
  return session.seam;
}

/** Ends what runs; requests that wait stay pending in the store. */
export async function deactivate(): Promise<void> {
  const ending = session;
  session = undefined;
  await ending?.end();
}
