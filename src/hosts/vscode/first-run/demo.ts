/** The demo cluster in one click: in a thread of this window, with nothing in the settings. It is gone with the window. */

import * as path from 'node:path';
import { commands, type Disposable, ProgressLocation, window } from 'vscode';
import type { DemoThread } from '#app/demo-thread';
import type { AppSession } from '../app-session.ts';
import { toldCommand } from '../commands/told-command.ts';
import { t } from '../l10n.ts';
import { notify } from '../notify.ts';

export interface Demo extends Disposable {
  /** The raw settings, with the demo's cluster and protection while it runs: where nobody configured a cluster. */
  over(raw: Record<string, unknown>): Record<string, unknown>;
}

/** @param session of this window, once it is there */
export function createDemo(extensionPath: string, session: () => AppSession): Demo {
  let running: DemoThread | undefined;
  let isStarting = false;
  const end = () => {
    const ending = running;
    running = undefined;
    void ending?.stop().catch(() => undefined);
  };
  const endedByItself = (demo: DemoThread) => {
    if (running !== demo) return;
    running = undefined;
    session().reload();
    void notify.warning(t('The demo cluster has ended. “Start Demo” starts a new one.'));
  };
  const command = toldCommand('banksman.startDemo', async () => {
    if (isStarting || running !== undefined) return void commands.executeCommand('banksman.cluster.focus');
    const { state } = session();
    if (state.kind === 'ready' && state.app.live.clusters.length > 0)
      return void notify.info(t('The demo cluster is for windows without a cluster of their own: agents would see it beside yours.'));
    // With a problem no tool runs, a demo's neither.
    if (state.kind === 'problem') throw state.fault;
    isStarting = true;
    try {
      const demo = await starting(extensionPath);
      running = demo;
      void demo.gone.then(() => endedByItself(demo));
      session().reload();
      await commands.executeCommand('banksman.cluster.focus');
      void notify.info(
        t('A demo cluster runs in this window, until it is closed. Ask in the chat: “Which VMs are running?”, “Stop VM 100”.'),
      );
    } finally {
      isStarting = false;
    }
  });
  return {
    over(raw) {
      if (running === undefined) return raw;
      if (Array.isArray(raw['clusters']) && raw['clusters'].length > 0) {
        end();
        return raw;
      }
      return { ...raw, clusters: running.config['clusters'], protected: raw['protected'] ?? running.config['protected'] };
    },
    dispose: () => {
      command.dispose();
      end();
    },
  };
}

function starting(extensionPath: string): Thenable<DemoThread> {
  return window.withProgress({ location: ProgressLocation.Notification, title: t('Starting the demo cluster') }, async () => {
    const { startDemoThread } = await import('#app/demo-thread');
    return startDemoThread(path.join(extensionPath, 'dist', 'cli.cjs'));
  });
}
