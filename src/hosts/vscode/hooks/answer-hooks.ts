/**
 * Answers the hook of the agent that runs in this window (docs/hooks.md) with the window's own App: its settings, its trail. The program that the agent
 * starts finds the socket by the window's first folder. Nothing is approved here.
 */
import path from 'node:path';
import { type Extension, extensions, lm, workspace } from 'vscode';
import type { Listening } from '#hosts/hook/serve-hooks';
import { reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { AppSession } from '../app-session.ts';
import type { Disposable } from '../disposables.ts';
import { loadParts } from '../load-parts.ts';
import { workspaceRestriction } from '../tools/run-tool.ts';
import { toolOwner } from './tool-owner.ts';

interface AnswerDeps {
  readonly session: AppSession;
  readonly log: Log;
  readonly stateDir: string;
  /** This one. */
  readonly extension: Extension<unknown>;
}

/** From the first App on, so that a window's start costs nothing. */
export function registerHookAnswers({ session, log, stateDir, extension }: AnswerDeps): Disposable {
  const over = new AbortController();
  const cliFile = path.join(extension.extensionPath, 'dist', 'cli.cjs');
  const ownerOf = (tool: string) => toolOwner(tool, { own: extension, extensions: extensions.all, offered: lm.tools });
  let current: { readonly folder: string; readonly listening: Promise<Listening> } | undefined;
  const end = () => {
    const ended = current?.listening;
    current = undefined;
    ended
      ?.then((listening) => {
        listening.withdraw();
        return listening.closed();
      })
      .catch(() => undefined);
  };
  const start = async (folder: string): Promise<Listening> => {
    await loadParts();
    const { judgeHook, listen } = await import('#hosts/hook/serve-hooks');
    const { onStampChange, removeDeadSockets, stampOf, windowSocket } = await import('#hosts/hook/places');
    await removeDeadSockets(stateDir);
    // SECURITY: `hooks` stands in the machine's configuration file, and counts from the next call on.
    const reread = onStampChange(
      () => stampOf({}),
      () => session.reload(),
    );
    return listen(windowSocket(folder, stateDir), async (question) => {
      reread();
      return session.use((app) => judgeHook(app, question, { signal: over.signal, cliFile, ownerOf, ...workspaceRestriction() }));
    });
  };
  const look = () => {
    const folder = firstFolder();
    // On Windows no hook is installed, and a path is no name of a pipe.
    if (process.platform === 'win32' || session.state.kind !== 'ready' || folder === current?.folder) return;
    end();
    if (folder === undefined) return;
    const listening = start(folder);
    current = { folder, listening };
    listening.catch((thrown: unknown) => {
      // The next App tries again.
      if (current?.listening === listening) current = undefined;
      log.error(`hooks of this window's agent are answered elsewhere: ${reasonOf(thrown)}`);
    });
  };
  const stop = session.onChange(look);
  return {
    dispose: () => {
      stop();
      over.abort(new Error('the window is closing'));
      end();
    },
  };
}

/** Where the hooks of this window's agent start. */
export function firstFolder(): string | undefined {
  return workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri.fsPath;
}
