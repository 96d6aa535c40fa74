/** Asks a person which requests a list shows. */
import { type QuickPickItem, window } from 'vscode';
import { agentHosts } from '#kernel/agent';
import type { RequestStatus } from '#kernel/request';
import { hostNames } from './agent-name.ts';
import type { RequestFilter } from './request-filter.ts';

interface FilterItem extends QuickPickItem {
  add(filter: RequestFilter): RequestFilter;
}

/** undefined when the person gave up. The search stays as it was. */
export async function chooseFilter(filter: RequestFilter, statuses: readonly RequestStatus[]): Promise<RequestFilter | undefined> {
  const chosen = await window.showQuickPick(filterItems(filter, statuses), {
    title: 'Filter Requests',
    placeHolder: 'Nothing chosen shows all',
    canPickMany: true,
  });
  const start: RequestFilter = { search: filter.search, statuses: [], hosts: [], severe: false, reported: false };
  return chosen?.reduce((made, item) => item.add(made), start);
}

function filterItems(filter: RequestFilter, statuses: readonly RequestStatus[]): FilterItem[] {
  const ofStatus = statuses.map(
    (status): FilterItem => ({
      label: status,
      description: 'status',
      picked: filter.statuses.includes(status),
      add: (made) => ({ ...made, statuses: [...made.statuses, status] }),
    }),
  );
  const ofHost = agentHosts.map(
    (host): FilterItem => ({
      label: hostNames[host],
      description: 'asked from',
      picked: filter.hosts.includes(host),
      add: (made) => ({ ...made, hosts: [...made.hosts, host] }),
    }),
  );
  return [
    ...(statuses.length > 1 ? ofStatus : []),
    { label: 'Disruptive or irreversible', description: 'impact', picked: filter.severe, add: (made) => ({ ...made, severe: true }) },
    { label: 'Reported blocks', description: 'kind', picked: filter.reported, add: (made) => ({ ...made, reported: true }) },
    ...ofHost,
  ];
}
