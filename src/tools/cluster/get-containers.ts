import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import { defineTool } from '#kernel/tool';
import { listGuests } from '../support/list-guests.ts';

export const getContainers = defineTool({
  name: 'get_containers',
  title: 'Get containers',
  description:
    'All containers (lxc) of the Proxmox VE cluster: vmid, name, node, status, CPU, memory, tags. Virtual machines are separate: get_vms.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  input: z.strictObject({ cluster: clusterArgument, ...pagingArguments }),
  touches: () => [],
  headline: () => 'List the containers',
  run: (input, context) => listGuests({ type: 'lxc', key: 'containers', noun: 'container' }, input, context),
});
