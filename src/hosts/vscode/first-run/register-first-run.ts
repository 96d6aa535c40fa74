/** What a newcomer meets: the walkthrough, once; the assistant; and the offer of what to protect. */

import * as path from 'node:path';
import { ConfigurationTarget, commands, type Disposable, type Memento, type SecretStorage, workspace } from 'vscode';
import { boundToken, tokenSecret } from '#app/clusters/bound-token';
import { toFault } from '#kernel/errors';
import { wordOf } from '#kernel/json';
import type { Log } from '#kernel/ports/log';
import type { AppSession } from '../app-session.ts';
import type { ConfirmDeps } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { loadParts } from '../load-parts.ts';
import { tellFault } from '../notices.ts';
import { notify } from '../notify.ts';
import type { NewClusterAnswers } from './connect-cluster.ts';
import { offerProtection, protect, rememberOffer } from './offer-protection.ts';

export interface FirstRunDeps {
  readonly session: AppSession;
  readonly secrets: SecretStorage;
  /** Of the profile. */
  readonly memory: Memento;
  readonly log: Log;
  readonly confirm: ConfirmDeps;
  readonly configFile: string;
  readonly stateDir: string;
}

export function registerFirstRun(deps: FirstRunDeps): Disposable[] {
  let isOpen = false;
  const connecting = commands.registerCommand('banksman.connectCluster', async () => {
    // A second one would take the boxes of the first.
    if (isOpen) return;
    isOpen = true;
    try {
      await connectCluster(deps);
    } catch (thrown) {
      void tellFault(thrown);
    } finally {
      isOpen = false;
    }
  });
  return [connecting, offerProtection(deps), openOnce(deps)];
}

const shownKey = 'banksman.walkthroughShown';

/** In a profile in which nobody has seen it, and that has no cluster yet. */
function openOnce({ session, memory, log }: FirstRunDeps): Disposable {
  const stop = session.onChange(() => {
    const { state } = session;
    if (state.kind !== 'ready') return;
    stop();
    const { config, live } = state.app;
    if (memory.get(shownKey) === true || live.clusters.length > 0 || config.answersAt !== undefined) return;
    // Noted first: two windows open one.
    memory
      .update(shownKey, true)
      .then(() => commands.executeCommand('banksman.openWalkthrough'))
      .then(undefined, (thrown: unknown) => log.warn(`the walkthrough does not open: ${toFault(thrown).message}`));
  });
  return { dispose: stop };
}

async function connectCluster(deps: FirstRunDeps): Promise<void> {
  const { state } = deps.session;
  if (state.kind === 'ready' && state.app.config.answersAt !== undefined)
    return void notify.info(
      t('The service holds the clusters, and none of this editor counts: root writes them into `/etc/banksman/config.json`.'),
    );
  // What is wrong there already would be taken for the new cluster's fault.
  const { clusters } = (await loadParts()).settingsOf(deps.stateDir);
  const { askNewCluster } = await import('./connect-cluster.ts');
  const answers = await askNewCluster({ clusters, confirm: deps.confirm, baseDir: path.dirname(deps.configFile) });
  if (answers === undefined) return notify.status(t('Banksman: no cluster was connected, and nothing was written'));
  await write(answers, deps);
  const waiting = await deps.session.use(async ({ agreement }) => (await agreement?.pending()) ?? []);
  if (waiting.length > 0) await commands.executeCommand('banksman.agreeConfiguration');
  await commands.executeCommand('banksman.doctor');
}

/** All of it or nothing. */
async function write(answers: NewClusterAnswers, deps: FirstRunDeps): Promise<void> {
  const { cluster, secret, protect: chosen } = answers;
  const { secrets, memory, configFile } = deps;
  const settings = workspace.getConfiguration('banksman');
  const written = (key: string) => settings.inspect(key)?.globalValue;
  const [clusters, wasProtected] = [written('clusters'), written('protected')];
  const name = wordOf(cluster['name']);
  const { tokenPlace } = await import('#app/clusters/new-cluster');
  const { entry, undo } = await withKnownHosts(answers, path.dirname(configFile));
  try {
    // Who was asked here is not asked again.
    await rememberOffer(memory, [name]);
    await secrets.store(tokenSecret(name), boundToken(secret, tokenPlace(entry)));
    // Before the cluster: agents never see it without.
    if (chosen.length > 0) await protect(chosen);
    await settings.update('clusters', [...(Array.isArray(clusters) ? clusters : []), entry], ConfigurationTarget.Global);
  } catch (thrown) {
    await secrets.delete(tokenSecret(name));
    await undo();
    if (chosen.length > 0) await settings.update('protected', wasProtected, ConfigurationTarget.Global);
    throw thrown;
  }
}

/** The entry, with the host keys that were compared in a file of its own. */
async function withKnownHosts({ cluster, ssh }: NewClusterAnswers, folder: string) {
  if (ssh === undefined) return { entry: cluster, undo: async () => undefined };
  const [{ storeBeside }, { sshEntry }] = await Promise.all([import('#app/clusters/new-cluster'), import('./ssh-steps.ts')]);
  const text = `${ssh.hosts.map(({ key }) => key.line).join('\n')}\n`;
  const { file, remove } = await storeBeside(folder, wordOf(cluster['name']), { kind: 'known_hosts', text });
  return { entry: { ...cluster, ssh: sshEntry(ssh, file) }, undo: remove };
}
