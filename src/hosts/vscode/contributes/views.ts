/** Container, views and the text of the start. */

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

/** `banksman.state` is set by the view; undefined until the extension runs. What an empty list says later are rows (`approvals-view/empty-rows.ts`). */
export const viewsWelcome = [{ view: viewId, when: '!banksman.state || banksman.state == starting', contents: 'Banksman is starting…' }];
