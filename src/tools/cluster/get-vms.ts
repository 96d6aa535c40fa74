import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import { defineTool } from '#kernel/tool';
import { listGuests } from '../support/list-guests.ts';

export const getVms = defineTool({
  name: 'get_vms',
  title: 'Get VMs',
  description:
    'All virtual machines (qemu) of the Proxmox VE cluster: vmid, name, node, status, CPU, memory, tags. Containers are separate: get_containers.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  input: z.strictObject({ cluster: clusterArgument, ...pagingArguments }),
  touches: () => [],
  headline: () => 'List the VMs',
  run: (input, context) => listGuests({ type: 'qemu', key: 'vms', noun: 'VM' }, input, context),
});
