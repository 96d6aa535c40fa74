/** Container, views and the text of the start. */

export const containerId = 'banksman';
export const viewId = 'banksman.approvals';
export const historyViewId = 'banksman.history';

export const clusterViewId = 'banksman.cluster';

export const viewsContainers = { activitybar: [{ id: containerId, title: 'Banksman', icon: 'media/activity.svg' }] };

export const views = {
  [containerId]: [
    { id: viewId, name: 'Pending Approvals', icon: 'media/activity.svg', contextualTitle: 'Banksman', initialSize: 10 },
    { id: clusterViewId, name: 'Clusters', icon: 'media/activity.svg', contextualTitle: 'Banksman', initialSize: 25 },
    {
      id: historyViewId,
      name: 'Decided Requests',
      icon: 'media/activity.svg',
      contextualTitle: 'Banksman',
      visibility: 'collapsed',
      initialSize: 10,
    },
  ],
};

/** `banksman.state` is set by the view; undefined until the extension runs. What an empty list says later are rows (`approvals-view/empty-rows.ts`). */
export const viewsWelcome = [{ view: viewId, when: '!banksman.state || banksman.state == starting', contents: 'Banksman is starting…' }];
