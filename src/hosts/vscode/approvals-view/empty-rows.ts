/**
 * What a list says where it has no request. Rows, not the editor's welcome texts: the editor forgets those of every extension when a
 * second set of extensions is read before its workbench is restored, as with a fresh profile, and the list was blank.
 */
import type { Command } from 'vscode';
import { t } from '../l10n.ts';
import type { StateName } from './pending-feed.ts';

export interface EmptyRow {
  readonly label: string;
  /** A codicon. */
  readonly icon: string;
  /** Plain text. */
  readonly tooltip: string;
  readonly command?: Command;
}

const walkthrough = action(
  t('Open the walkthrough'),
  'book',
  t('Each step, from the first cluster to the first approval'),
  'openWalkthrough',
);

export const showLog: EmptyRow = action(t('Show the log'), 'output', t('Every call, and what became of it'), 'showLog');

const nothingWaits: readonly EmptyRow[] = [
  {
    label: t('No call is waiting for you'),
    icon: 'pass',
    tooltip: t('When an agent wants to do something that needs a person, it appears here with a countdown, and a dialog asks you.'),
  },
  walkthrough,
  showLog,
];

const noCluster: readonly EmptyRow[] = [
  {
    label: t('No cluster is configured yet'),
    icon: 'info',
    tooltip: t('The tools of the workspace run; those of a Proxmox VE cluster have none.'),
  },
  action(t('Connect a cluster…'), 'plug', t('Asks for what it takes, one after the other, and tries it'), 'connectCluster'),
  action(t('Start the demo cluster'), 'beaker', t('An emulator in this window: nothing of yours is touched'), 'startDemo'),
  walkthrough,
];

const notTrusted: readonly EmptyRow[] = [
  {
    label: t('This workspace is not trusted'),
    icon: 'workspace-untrusted',
    tooltip: t('Tools that only read run here, all others are refused.'),
  },
  {
    label: t('Manage workspace trust'),
    icon: 'gear',
    tooltip: t('Opens the editor’s own page'),
    command: { command: 'workbench.trust.manage', title: t('Manage workspace trust') },
  },
];

/** Below `Pending Approvals`; none while Banksman starts, is closed or has a problem, which has rows of its own. */
export function emptyPending(state: StateName, trusted: boolean): readonly EmptyRow[] {
  if (state === 'unconfigured') return noCluster;
  if (state !== 'ready') return [];
  return trusted ? nothingWaits : notTrusted;
}

/** Below `Decided Requests`. */
export const emptyHistory: readonly EmptyRow[] = [
  {
    label: t('Nothing has been decided yet'),
    icon: 'info',
    tooltip: t('What was approved, denied, expired or taken back is listed here.'),
  },
];

function action(label: string, icon: string, tooltip: string, verb: string): EmptyRow {
  return { label, icon, tooltip, command: { command: `banksman.${verb}`, title: label } };
}
