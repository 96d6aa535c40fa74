/** Puts a cluster's API token into SecretStorage. */
import { commands, type Disposable, type SecretStorage, window } from 'vscode';
import { tokenFromInput, tokenSecret } from '../cluster-token.ts';

/** @param clusterNames the configured clusters, as the settings name them now */
export function registerClusterTokenCommand(secrets: SecretStorage, clusterNames: () => readonly string[]): Disposable {
  return commands.registerCommand('banksman.setClusterToken', async () => {
    const name = await chooseCluster(clusterNames());
    if (name === undefined) return;
    const typed = await window.showInputBox({
      title: `API Token of ${name}`,
      prompt: 'The token secret that Proxmox VE showed once, a UUID. It is kept in the editor’s secret storage.',
      placeHolder: 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx',
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) =>
        text !== '' && tokenFromInput(text) === undefined ? 'not a token secret: a UUID, or `user@realm!name=UUID`' : undefined,
    });
    const secret = tokenFromInput(typed ?? '');
    if (secret === undefined) return;
    await secrets.store(tokenSecret(name), secret);
    void window.showInformationMessage(`The API token of ${name} is stored.`);
  });
}

async function chooseCluster(names: readonly string[]): Promise<string | undefined> {
  if (names.length === 1) return names[0];
  if (names.length > 1) return window.showQuickPick([...names], { title: 'Set API Token', placeHolder: 'Cluster' });
  const button = 'Open Settings';
  const pressed = await window.showInformationMessage('Configure a cluster first: `banksman.clusters`.', button);
  if (pressed === button) await commands.executeCommand('banksman.openSettings');
  return undefined;
}
