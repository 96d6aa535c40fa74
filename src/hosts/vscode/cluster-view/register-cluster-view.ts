/** The view of the clusters with its rows' commands and the guests' pages, wired together. */
import { commands, type Uri } from 'vscode';
import type { AppSession } from '../app-session.ts';
import { toldCommand } from '../commands/told-command.ts';
import { createDisposableBag, type Disposable } from '../disposables.ts';
import { t } from '../l10n.ts';
import { notify } from '../notify.ts';
import type { TreeRow } from './cluster-rows.ts';
import { createClusterView } from './cluster-view.ts';
import type { GuestPanels } from './guest-panels.ts';
import { actByVerb, chooseAndAct, type RowActionDeps } from './row-actions.ts';

/** Commands for one tool each; the name of the tool without what kind of guest it is for. */
const verbs: Readonly<Record<string, string>> = {
  'banksman.startGuest': 'start',
  'banksman.shutdownGuest': 'shutdown',
  'banksman.restartGuest': 'restart',
  'banksman.snapshotGuest': 'create_snapshot',
  'banksman.migrateGuest': 'migrate_guest',
};

export interface ClusterSurfaceDeps extends Omit<RowActionDeps, 'clusters'> {
  readonly session: AppSession;
  readonly extensionUri: Uri;
}

export function registerClusterView({ session, extensionUri, ...rest }: ClusterSurfaceDeps): Disposable {
  const bag = createDisposableBag();
  const view = bag.add(createClusterView(session));
  const actions: RowActionDeps = { ...rest, clusters: () => view.feed.clusters };
  let panels: GuestPanels | undefined;
  bag.add({ dispose: () => panels?.dispose() });
  const showGuest = async (target: TreeRow['target'], upid?: string): Promise<void> => {
    const { createGuestPanels } = await import('./guest-panels.ts');
    panels ??= createGuestPanels({ session, view, actions, extensionUri });
    panels.show(target, upid);
  };
  /** SECURITY: of what a command is given only a row's id counts: which guest, and what is done to it, the tree and the person say. */
  const onRow = (command: string, run: (row: TreeRow) => unknown) =>
    bag.add(
      toldCommand(command, async (argument) => {
        const row = view.row(argument);
        if (row === undefined) void notify.info(t('Choose a row of the view “Clusters” first.'));
        else await run(row);
      }),
    );
  for (const [command, verb] of Object.entries(verbs)) onRow(command, ({ target }) => actByVerb(verb, target, actions));
  onRow('banksman.doOnRow', ({ target, label }) => chooseAndAct(target, label, actions));
  onRow('banksman.openGuest', ({ target }) => showGuest(target));
  onRow('banksman.openTask', ({ target: { cluster, upid = '' } }) => showTask(view.guest, { cluster, upid }));
  return bag;

  function showTask(guestOf: typeof view.guest, { cluster, upid }: { readonly cluster: string; readonly upid: string }): unknown {
    const guest = guestOf(cluster, Number(upid.split(':')[6]));
    return guest === undefined ? commands.executeCommand('banksman.run.get_recent_tasks') : showGuest(guest.target, upid);
  }
}
