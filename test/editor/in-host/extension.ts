// The extension's entry for the in-host suite: the shipped one with dialogs that the suite answers. Never packaged.
// oxlint-disable-next-line import/no-unassigned-import -- it has to run before the modules below make their schemas, and has nothing to give
import '#kernel/without-eval';
import { type ExtensionContext, ExtensionMode } from 'vscode';
import { createWindowDialogs } from '#hosts/vscode/gate/window-dialogs';
import { startWindow, type WindowSession } from '#hosts/vscode/window-session';
import { createTestSeam, type TestSeam } from './test-seam.ts';

let session: WindowSession | undefined;

export function activate(context: ExtensionContext): TestSeam {
  if (context.extensionMode !== ExtensionMode.Test) throw new Error('this build is for the in-host suite only');
  const { seam, dialogs } = createTestSeam(createWindowDialogs());
  session = startWindow(context, dialogs);
  return seam;
}

export async function deactivate(): Promise<void> {
  await session?.end();
}
