import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import type { ClusterPort } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { keyPart, pageOf } from '../support/paging.ts';
import { guestNeeds, listOutcome, type Need, storageNeeds } from '../support/visible.ts';

const resourceTypes = ['vm', 'container', 'storage', 'node', 'sdn'] as const;
type ResourceKind = (typeof resourceTypes)[number];

/** A node's row is there for everybody. The zones of software-defined networks matter to who asks for them. */
const needsOf: Readonly<Record<ResourceKind | 'all', readonly Need[]>> = {
  vm: guestNeeds,
  container: guestNeeds,
  storage: storageNeeds,
  node: [],
  sdn: [{ privilege: 'SDN.Audit', path: '/sdn/zones', below: true }],
  all: [...guestNeeds, ...storageNeeds],
};

export const getClusterResources = defineTool({
  name: 'get_cluster_resources',
  title: 'Get cluster resources',
  description:
    'Every resource of the Proxmox VE cluster, or one type. `vm` gives VMs and containers, `container` only containers. One kind in detail: get_vms, get_containers, get_storage.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({
    type: z.enum(resourceTypes).optional().meta({ description: 'Only this type.' }),
    cluster: clusterArgument,
    ...pagingArguments,
  }),
  touches: () => [],
  headline: () => say`List the cluster resources`,
  run: async (input, context) => {
    const { api } = context.cluster();
    const page = pageOf(await rowsOf(api, input.type, context.signal), input, {
      name: `resources ${input.type ?? ''} of ${api.name}`,
      // Kind by kind; guests by number, which their id (`qemu/100`) would sort as text.
      key: (row) => [keyPart(row['type']), keyPart(row['vmid']), keyPart(row['id'])],
    });
    return listOutcome({ page, key: 'resources', noun: 'resource', needs: needsOf[input.type ?? 'all'] }, api, context.signal);
  },
});

async function rowsOf(api: ClusterPort, type: ResourceKind | undefined, signal: AbortSignal): Promise<readonly JsonObject[]> {
  // `container` is no value of the API's `type`: it answers 400. Containers are the `lxc` rows of `vm`.
  if (type === 'container') return (await api.resources('vm', signal)).filter((row) => row['type'] === 'lxc');
  return api.resources(type, signal);
}
