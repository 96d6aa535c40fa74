/** Commands on pending requests. They take an id at most; the answer is only ever given in the dialog. */
import * as path from 'node:path';
import { commands, type Disposable, EventEmitter, Uri, window, workspace } from 'vscode';
import { type RequestRecord, type RequestStatus, requestStatuses } from '#kernel/approval/request';
import { showPlainly } from '#kernel/text/text';
import type { AppSession } from '../app-session.ts';
import { requestIdFrom } from '../approvals-view/approval-row.ts';
import type { RowFocus } from '../approvals-view/row-focus.ts';
import { viewId } from '../contributes/views.ts';
import { sideText, writtenFile } from '../details/write-sides.ts';
import { createDisposableBag } from '../disposables.ts';
import { faultWords } from '../fault-words.ts';
import { type ConfirmDeps, confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { tellFault } from '../notices.ts';
import { notify } from '../notify.ts';
import { agentName, answerText, statusNames, titleOfRequest } from '../request-words.ts';
import { plainLabel } from './picks.ts';
import { toldCommand } from './told-command.ts';

interface ApprovalCommandDeps {
  readonly session: AppSession;
  /** `user:alice`. */
  readonly person: string;
  review(id: string): Promise<unknown>;
  showDetails(id: string): Promise<void>;
  showDiff(id: string): Promise<void>;
  readonly confirm: ConfirmDeps;
  readonly focus: RowFocus;
}

export function registerApprovalCommands(deps: ApprovalCommandDeps): Disposable[] {
  const onRequest = (command: string, statuses: readonly RequestStatus[], act: (id: string) => Promise<unknown>) =>
    toldCommand(command, async (argument, isLost) => {
      const id = requestIdFrom(argument) ?? (await pickRequest(deps.session, statuses, isLost));
      if (id !== undefined) await deps.focus.around(argument, () => act(id));
    });
  const waiting: readonly RequestStatus[] = ['pending'];
  return [
    toldCommand('banksman.review', async (argument, isLost) => {
      // Opening a dialog decides nothing, so the only request there is needs no choosing.
      const id = requestIdFrom(argument) ?? (await onlyRequest(deps.session)) ?? (await pickRequest(deps.session, waiting, isLost));
      if (id !== undefined) await deps.focus.around(argument, () => deps.review(id));
    }),
    // Anything may run this one, and accept its box. Refusing is always safe: the agent can ask again.
    onRequest('banksman.deny', waiting, (id) => deny(id, deps)),
    onRequest('banksman.revoke', ['approved'], (id) => revoke(id, deps)),
    onRequest('banksman.showDetails', requestStatuses, (id) => deps.showDetails(id)),
    onRequest('banksman.showDiff', waiting, (id) => deps.showDiff(id)),
    toldCommand('banksman.showApprovals', () => commands.executeCommand(`${viewId}.focus`)),
  ];
}

async function onlyRequest(session: AppSession): Promise<string | undefined> {
  const records = await session
    .use(async ({ approvals }) => (await approvals.list({ statuses: ['pending'], limit: 2 })).records)
    .catch(() => []);
  return records.length === 1 ? records[0]?.id : undefined;
}

async function pickRequest(session: AppSession, statuses: readonly RequestStatus[], isLost: boolean): Promise<string | undefined> {
  const items = session.use(async ({ approvals }) => {
    const { records } = await approvals.list({ statuses, limit: 100 });
    return records.map((record) => ({
      label: plainLabel(titleOfRequest(record)),
      description: plainLabel(agentName(record.agent)),
      id: record.id,
    }));
  });
  try {
    if ((await items).length === 0) {
      void notify.info(
        statuses[0] !== undefined && statuses.length === 1
          ? t('There is no request that is {0}.', statusNames[statuses[0]])
          : t('There is no request.'),
      );
      return undefined;
    }
    const placeHolder = isLost ? t('The list was drawn anew as you pressed: choose the request here') : t('Choose a request');
    return (await window.showQuickPick(items, { title: t('Requests'), placeHolder, matchOnDescription: true }))?.id;
  } catch (thrown) {
    void tellFault(thrown);
    return undefined;
  }
}

/** Asks for words for the agent first, so that a button pressed by mistake decides nothing. */
async function deny(id: string, deps: ApprovalCommandDeps): Promise<void> {
  try {
    const record = await deps.session.use(({ approvals }) => approvals.get(id));
    if (record?.status !== 'pending') return void notify.info(t('Request {0} is {1}: nothing to deny.', id, statusOf(record)));
    const message = await window.showInputBox({
      title: t('Deny: {0}', titleOfRequest(record, 160)),
      prompt: t('Tell the agent why, or what to do instead. Enter denies; Esc denies nothing, the request stays pending.'),
      placeHolder: t('Optional'),
      ignoreFocusOut: true,
    });
    if (message === undefined) return;
    const words = message.trim();
    const result = await deps.session.use(({ approvals }) => approvals.deny(id, deps.person, ...(words === '' ? [] : [words])));
    if (result.ok) notify.status(`Banksman: ${answerText(result)}`);
    else void notify.info(t('Not denied: {0}', answerText(result)));
  } catch (thrown) {
    void notify.error(t('Not denied: {0}', faultWords(thrown)));
  }
}

/** Taking back is always safe as well, but it ends what somebody agreed to: a person confirms it. */
async function revoke(id: string, deps: ApprovalCommandDeps): Promise<void> {
  const record = await deps.session.use(({ approvals }) => approvals.get(id)).catch(() => undefined);
  if (record?.status !== 'approved') return void notify.info(t('Request {0} is {1}: nothing to take back.', id, statusOf(record)));
  const title = t('Revoke the approval: {0}?', titleOfRequest(record, 160));
  const detail = t('It has not been used yet. After this the call does not run; the agent is told and can ask again.');
  if (!(await confirmRun({ key: `revoke ${id}`, title, detail, stay: t('Keep'), proceed: t('Revoke'), harmless: true }, deps.confirm)))
    return;
  try {
    const result = await deps.session.use(({ approvals }) => approvals.revoke(id, deps.person));
    if (result.ok) notify.status(`Banksman: ${answerText(result)}`);
    else void notify.info(t('Not revoked: {0}', answerText(result)));
  } catch (thrown) {
    void notify.error(t('Not revoked: {0}', faultWords(thrown)));
  }
}

function statusOf(record: RequestRecord | undefined): string {
  return record === undefined ? t('not known') : statusNames[record.status];
}

/** The native diff of a write that waits. Both sides are read-only documents. */
const scheme = 'banksman-diff';

interface WriteDiff extends Disposable {
  show(id: string): Promise<void>;
}

export function createWriteDiff(session: AppSession): WriteDiff {
  const bag = createDisposableBag();
  const changed = bag.add(new EventEmitter<Uri>());
  const textOf = ({ authority, query }: Uri) =>
    session.use(async ({ approvals, config }) => {
      const record = await approvals.get(authority);
      return record
        ? sideText(record, query === 'now' ? 'now' : 'proposed', config.workspaceRoot)
        : t('There is no such request any more.');
    });
  bag.add(workspace.registerTextDocumentContentProvider(scheme, { onDidChange: changed.event, provideTextDocumentContent: textOf }));
  return {
    async show(id) {
      try {
        const record = await session.use(({ approvals }) => approvals.get(id));
        const file = record && writtenFile(record);
        if (file === undefined) return void notify.info(t('This request writes no file.'));
        const uriOf = (query: string) => Uri.from({ scheme, authority: id, path: `/${file.replace(/^\/+/, '')}`, query });
        const [left, right] = [uriOf('now'), uriOf('proposed')];
        for (const uri of [left, right]) changed.fire(uri);
        const title = t('{0}: now ↔ proposed', showPlainly(path.posix.basename(file), 60));
        await commands.executeCommand('vscode.diff', left, right, title, { preview: true });
      } catch (thrown) {
        void tellFault(thrown);
      }
    },
    dispose: () => bag.dispose(),
  };
}
