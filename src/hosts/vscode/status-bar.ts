/** The status bar item. */
import { type Disposable, MarkdownString, StatusBarAlignment, type StatusBarItem, ThemeColor, window, workspace } from 'vscode';
import type { EffectiveLevel } from '#kernel/app';
import type { AlarmFeed } from './alarm-feed.ts';
import type { AppSession } from './app-session.ts';
import type { PendingFeed } from './approvals-view/pending-feed.ts';
import { createDisposableBag } from './disposables.ts';
import { t } from './l10n.ts';
import type { LevelFeed } from './security/level-feed.ts';
import { pauseNow } from './security/security-commands.ts';
import { agentsText, statusText } from './status-text.ts';

export function createStatusBar(session: AppSession, feed: PendingFeed, levels: LevelFeed, alarms: AlarmFeed): Disposable {
  const bag = createDisposableBag();
  const item = bag.add(window.createStatusBarItem('banksman.status', StatusBarAlignment.Left, 10));
  item.name = 'Banksman';
  item.command = 'banksman.showApprovals';
  const agents = bag.add(window.createStatusBarItem('banksman.agents', StatusBarAlignment.Left, 9));
  agents.name = t('Banksman: Agents');
  agents.command = { command: 'banksman.pauseAgents', title: t('Pause or Resume All Agents'), arguments: [pauseNow] };
  const show = () => {
    const { state } = session;
    const facts = { state: feed.stateName, pending: feed.pending, level: levels.level, bypasses: bypasses(), alarms: alarms.alarms };
    const text = statusText(state.kind === 'ready' ? { ...facts, app: state.app } : facts);
    item.text = text.text;
    item.tooltip = new MarkdownString(text.tooltip, true);
    item.accessibilityInformation = { label: text.spoken, role: 'button' };
    item.backgroundColor = text.attention === 'none' ? undefined : new ThemeColor(`statusBarItem.${text.attention}Background`);
    item.show();
    showAgents(agents, state.kind === 'ready' && state.app.isAway !== true ? levels.level : undefined, feed.pending);
  };
  bag.add({ dispose: feed.onChange(show) });
  bag.add({ dispose: levels.onChange(show) });
  bag.add({ dispose: alarms.onChange(show) });
  bag.add({ dispose: session.onChange(show) });
  bag.add(workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('chat') && show()));
  show();
  return bag;
}

/** Whether agents work, wait or are paused; a click pauses. Nothing while that is not known. */
function showAgents(item: StatusBarItem, level: EffectiveLevel | undefined, pending: number): void {
  if (level === undefined) {
    item.hide();
    return;
  }
  const { text, tooltip, spoken } = agentsText(level.paused, pending);
  item.text = text;
  item.tooltip = tooltip;
  item.accessibilityInformation = { label: spoken, role: 'button' };
  item.backgroundColor = level.paused === undefined ? undefined : new ThemeColor('statusBarItem.warningBackground');
  item.show();
}

/** The editor's own modes that skip its confirmations. They cannot skip ours, but a person should know. */
function bypasses(): string[] {
  const chat = workspace.getConfiguration('chat');
  const level = chat.get<unknown>('permissions.default');
  const found = typeof level === 'string' && level !== '' && level !== 'default' ? [`chat.permissions.default: ${level}`] : [];
  return chat.get<unknown>('tools.global.autoApprove') === true ? [...found, 'chat.tools.global.autoApprove'] : found;
}
