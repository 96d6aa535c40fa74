/** Container, views and their welcome texts. */

export const containerId = 'banksman';
export const viewId = 'banksman.approvals';
export const historyViewId = 'banksman.history';

export const viewsContainers = { activitybar: [{ id: containerId, title: 'Banksman', icon: 'media/activity.svg' }] };

export const views = {
  [containerId]: [
    { id: viewId, name: 'Pending Approvals', icon: 'media/activity.svg', contextualTitle: 'Banksman' },
    { id: historyViewId, name: 'Decided Requests', icon: 'media/activity.svg', contextualTitle: 'Banksman', visibility: 'collapsed' },
  ],
};

/** `banksman.state` is set by the view; undefined until the extension runs. */
export const viewsWelcome = [
  {
    view: viewId,
    when: 'banksman.state == ready && isWorkspaceTrusted && !banksman.filteredPending',
    contents: [
      'No call is waiting for you.',
      'When an agent wants to do something that needs a person, it appears here with a countdown, and a dialog asks you.',
      '[Show Log](command:banksman.showLog)',
      'New here? [Open the walkthrough](command:banksman.openWalkthrough).',
    ].join('\n'),
  },
  {
    view: viewId,
    when: 'banksman.state == unconfigured',
    contents: [
      'No Proxmox VE cluster is configured yet.',
      '[Configure a Cluster](command:banksman.openSettings?%5B%22clusters%22%5D)',
      '[Set API Token](command:banksman.setClusterToken)',
      'The [walkthrough](command:banksman.openWalkthrough) shows each step.',
    ].join('\n'),
  },
  {
    view: viewId,
    when: 'banksman.state == ready && !isWorkspaceTrusted',
    contents: [
      'This workspace is not trusted: tools that only read run here, all others are refused.',
      '[Manage Workspace Trust](command:workbench.trust.manage)',
    ].join('\n'),
  },
  {
    view: historyViewId,
    when: '!banksman.filteredHistory',
    contents: 'Nothing has been decided yet. What was approved, denied, expired or taken back is listed here.',
  },
  { view: viewId, when: '!banksman.state || banksman.state == starting', contents: 'Banksman is starting…' },
];
