/** Commands on pending requests. They take an id at most; the answer is only ever given in the dialog. */
import { commands, type Disposable, window } from 'vscode';
import { toFault } from '#kernel/errors';
import type { AppSession } from '../app-session.ts';
import { agentName } from '../approvals-view/agent-name.ts';
import { viewId } from '../contributes/views.ts';
import { plainLabel } from './picks.ts';
import { requestIdFrom } from './request-id.ts';

export interface ApprovalCommandDeps {
  readonly session: AppSession;
  /** `user:alice`. */
  readonly person: string;
  review(id: string): Promise<unknown>;
}

export function registerApprovalCommands(deps: ApprovalCommandDeps): Disposable[] {
  const onRequest = (command: string, act: (id: string) => Promise<unknown>) =>
    commands.registerCommand(command, async (argument: unknown) => {
      const id = requestIdFrom(argument) ?? (await pickRequest(deps.session));
      if (id !== undefined) await act(id);
    });
  return [
    commands.registerCommand('banksman.review', async (argument: unknown) => {
      // Opening a dialog decides nothing, so the only request there is needs no choosing.
      const id = requestIdFrom(argument) ?? (await onlyRequest(deps.session)) ?? (await pickRequest(deps.session));
      if (id !== undefined) await deps.review(id);
    }),
    // Anything may run these two. Refusing is always safe: the agent can ask again.
    onRequest('banksman.deny', (id) => deny(id, deps)),
    onRequest('banksman.denyWithMessage', (id) => denyWithMessage(id, deps)),
    commands.registerCommand('banksman.showApprovals', () => commands.executeCommand(`${viewId}.focus`)),
  ];
}

async function onlyRequest(session: AppSession): Promise<string | undefined> {
  const records = await session
    .use(async ({ approvals }) => (await approvals.list({ statuses: ['pending'], limit: 2 })).records)
    .catch(() => []);
  return records.length === 1 ? records[0]?.id : undefined;
}

async function pickRequest(session: AppSession): Promise<string | undefined> {
  const items = session.use(async ({ approvals }) => {
    const { records } = await approvals.list({ statuses: ['pending'], limit: 100 });
    return records.map((record) => ({ label: plainLabel(record.title), description: plainLabel(agentName(record.agent)), id: record.id }));
  });
  try {
    if ((await items).length === 0) {
      void window.showInformationMessage('No call is waiting for an approval.');
      return undefined;
    }
    return (await window.showQuickPick(items, { title: 'Pending Approvals', placeHolder: 'Choose a request' }))?.id;
  } catch (thrown) {
    void window.showErrorMessage(`Banksman: ${toFault(thrown).message}`);
    return undefined;
  }
}

async function denyWithMessage(id: string, deps: ApprovalCommandDeps): Promise<void> {
  const message = await window.showInputBox({
    title: 'Deny with Message',
    prompt: 'What the agent is told, for example what to do instead. Enter denies, Esc leaves the request pending.',
    ignoreFocusOut: true,
  });
  if (message !== undefined) await deny(id, deps, message.trim() === '' ? undefined : message.trim());
}

async function deny(id: string, deps: ApprovalCommandDeps, message?: string): Promise<void> {
  try {
    const result = await deps.session.use(({ approvals }) => approvals.deny(id, deps.person, message));
    if (result.ok) window.setStatusBarMessage(`Banksman: ${result.message}`, 6000);
    else void window.showInformationMessage(`Not denied: ${result.message}`);
  } catch (thrown) {
    void window.showErrorMessage(`Not denied: ${toFault(thrown).message}`);
  }
}
