/** The status bar item. */
import { type Disposable, MarkdownString, StatusBarAlignment, type StatusBarItem, ThemeColor, window, workspace } from 'vscode';
import type { Pause } from '#kernel/approval/security';
import type { AlarmFeed } from './alarm-feed.ts';
import type { AppSession } from './app-session.ts';
import type { PendingFeed } from './approvals-view/pending-feed.ts';
import { createDisposableBag } from './disposables.ts';
import { t } from './l10n.ts';
import type { LevelFeed } from './security/level-feed.ts';
import { pauseText, statusText } from './status-text.ts';

export function createStatusBar(session: AppSession, feed: PendingFeed, levels: LevelFeed, alarms: AlarmFeed): Disposable {
  const bag = createDisposableBag();
  const item = bag.add(window.createStatusBarItem('banksman.status', StatusBarAlignment.Left, 10));
  item.name = 'Banksman';
  item.command = 'banksman.showApprovals';
  const paused = bag.add(window.createStatusBarItem('banksman.paused', StatusBarAlignment.Left, 9));
  paused.name = t('Banksman: Agents Paused');
  paused.command = 'banksman.pauseAgents';
  const show = () => {
    const { state } = session;
    const facts = { state: feed.stateName, pending: feed.pending, level: levels.level, bypasses: bypasses(), alarms: alarms.alarms };
    const text = statusText(state.kind === 'ready' ? { ...facts, app: state.app } : facts);
    item.text = text.text;
    item.tooltip = new MarkdownString(text.tooltip, true);
    item.accessibilityInformation = { label: text.spoken, role: 'button' };
    item.backgroundColor = text.attention === 'none' ? undefined : new ThemeColor(`statusBarItem.${text.attention}Background`);
    item.show();
    showPause(paused, levels.level?.paused);
  };
  bag.add({ dispose: feed.onChange(show) });
  bag.add({ dispose: levels.onChange(show) });
  bag.add({ dispose: alarms.onChange(show) });
  bag.add({ dispose: session.onChange(show) });
  bag.add(workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('chat') && show()));
  show();
  return bag;
}

/** Only while agents are paused. */
function showPause(item: StatusBarItem, paused: Pause | undefined): void {
  if (paused === undefined) {
    item.hide();
    return;
  }
  item.text = `$(debug-pause) ${t('Agents paused')}`;
  item.tooltip = pauseText(paused);
  item.accessibilityInformation = { label: t('Banksman: agents are paused. {0}', pauseText(paused)), role: 'button' };
  item.backgroundColor = new ThemeColor('statusBarItem.warningBackground');
  item.show();
}

/** The editor's own modes that skip its confirmations. They cannot skip ours, but a person should know. */
function bypasses(): string[] {
  const chat = workspace.getConfiguration('chat');
  const level = chat.get<unknown>('permissions.default');
  const found = typeof level === 'string' && level !== '' && level !== 'default' ? [`chat.permissions.default: ${level}`] : [];
  return chat.get<unknown>('tools.global.autoApprove') === true ? [...found, 'chat.tools.global.autoApprove'] : found;
}
