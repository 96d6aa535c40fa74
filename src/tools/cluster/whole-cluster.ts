/** The tools that look at a cluster as a whole: how it stands, what there is, and what Banksman’s token may do. */
import * as z from 'zod';
import { clusterArgument, pagingArguments } from '#kernel/arguments';
import type { JsonObject } from '#kernel/json';
import type { ClusterPort, ClusterStatusRow, EndpointState, Permissions } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { keyPart, pageOf } from '../support/paging.ts';
import { guestNeeds, lacking, listOutcome, type Need, storageNeeds } from '../support/visible.ts';

export const getClusterStatus = defineTool({
  name: 'get_cluster_status',
  title: 'Get cluster status',
  description:
    'Health of the Proxmox VE cluster: quorum, and each node’s name, address and whether it is online. Also the configured endpoints of the API, with how their certificates are known. Use it first to learn the node names. CPU and memory of a node: get_node_status.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  input: z.strictObject({ cluster: clusterArgument }),
  touches: () => [],
  headline: () => say`Read the cluster status`,
  run: async (_input, context) => {
    const { api } = context.cluster();
    const rows = await api.clusterStatus(context.signal);
    const cluster = rows.find((row) => row.type === 'cluster');
    const nodes = rows.filter((row) => row.type === 'node');
    const online = nodes.filter((row) => row.online).length;
    const endpoints = await api.endpoints();
    const health = healthOf(cluster, nodes.length, online);
    const result: JsonObject = {
      cluster: cluster?.name ?? api.name,
      health,
      // A standalone node has no cluster row and needs no quorum.
      quorate: cluster === undefined ? null : cluster.quorate === true,
      nodes: nodes.map((row) => ({
        node: row.name,
        online: row.online === true,
        ip: row.ip ?? null,
        nodeid: row.nodeid ?? null,
        local: row.local === true,
      })),
      endpoints: endpoints.map(({ origin, node, certificate }) => ({ endpoint: origin, node: node ?? null, certificate })),
    };
    return {
      ok: true,
      message: `cluster ${cluster?.name ?? api.name} is ${health}: ${online} of ${nodes.length} nodes online${quorumText(cluster)}${failOverText(endpoints)}`,
      result,
    };
  },
});

function healthOf(cluster: ClusterStatusRow | undefined, nodes: number, online: number): string {
  if (cluster !== undefined && cluster.quorate !== true) return 'without quorum';
  return online === nodes ? 'healthy' : 'degraded';
}

function quorumText(cluster: ClusterStatusRow | undefined): string {
  if (cluster === undefined) return ', standalone';
  return cluster.quorate === true ? ', quorate' : ', not quorate';
}

/** Worth saying only where it matters: with one fingerprint for several endpoints, before the others' certificates are known. */
function failOverText(endpoints: readonly EndpointState[]): string {
  const unknown = endpoints.filter((endpoint) => endpoint.certificate === 'unknown').length;
  return unknown === 0 ? '' : `; the certificates of ${unknown} of ${endpoints.length} endpoints are not known yet: no fail-over to them`;
}

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

/** Paths named in a message; the result names all. */
const mostMissing = 20;

export const getPermissions = defineTool({
  name: 'get_permissions',
  title: 'Get permissions',
  description:
    'What the API token of this Proxmox VE cluster may do: its privileges by path, and for each group of tools which ones are missing. Use it when a call is refused for a missing privilege or a list looks too short.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  rare: true,
  input: z.strictObject({ cluster: clusterArgument }),
  touches: () => [],
  headline: () => say`Read what the API token may do`,
  run: async (_input, context) => {
    const permissions = await context.cluster().api.permissions(context.signal);
    const groups = rightsOf(permissions);
    const whole = groups.filter((group) => group.allowed).map((group) => group.group);
    const paths = Object.keys(permissions).toSorted();
    return {
      ok: true,
      message: `the API token has rights on ${paths.length} path${paths.length === 1 ? '' : 's'}; everywhere it may: ${whole.length === 0 ? 'nothing' : whole.join(', ')}`,
      result: {
        groups,
        // `true`: handed down to the paths below.
        permissions: Object.fromEntries(paths.map((path) => [path, { ...permissions[path] }])),
      },
    };
  },
});

// The privileges of the API that groups of tools need at least, so that a token's rights can be told in words (docs/rights.md).
interface RightsGroup {
  readonly group: string;
  readonly tools: readonly string[];
  readonly needs: readonly Need[];
}

function guest(...privileges: readonly string[]): readonly Need[] {
  return privileges.map((privilege) => ({ privilege, path: '/vms', below: true }));
}

function storage(...privileges: readonly string[]): readonly Need[] {
  return privileges.map((privilege) => ({ privilege, path: '/storage', below: true }));
}

function onNodes(privilege: string): Need {
  return { privilege, path: '/nodes', below: true };
}

/** One role a group; whoever uses several holds the union. */
export const rightsGroups: readonly RightsGroup[] = [
  {
    group: 'look',
    tools: ['every tool that reads, but get_updates'],
    needs: [{ privilege: 'Sys.Audit', path: '/' }, ...guest('VM.Audit', 'VM.GuestAgent.Audit'), ...storage('Datastore.Audit')],
  },
  { group: 'updates', tools: ['get_updates'], needs: [onNodes('Sys.Modify')] },
  {
    group: 'power',
    tools: [
      ...['start_vm', 'stop_vm', 'restart_vm', 'shutdown_vm', 'reset_vm', 'suspend_vm', 'resume_vm'],
      ...['start_container', 'stop_container', 'restart_container', 'shutdown_container'],
    ],
    needs: guest('VM.PowerMgmt'),
  },
  { group: 'wake', tools: ['wake_node'], needs: [onNodes('Sys.PowerMgmt')] },
  { group: 'snapshots', tools: ['create_snapshot', 'rollback_snapshot', 'delete_snapshot'], needs: guest('VM.Snapshot') },
  {
    group: 'configuration',
    tools: ['set_guest_config', 'set_tags'],
    needs: guest('VM.Config.CPU', 'VM.Config.Memory', 'VM.Config.Options'),
  },
  { group: 'disks', tools: ['resize_disk'], needs: [...guest('VM.Config.Disk'), ...storage('Datastore.AllocateSpace')] },
  { group: 'backup', tools: ['backup_guest', 'get_backups'], needs: [...guest('VM.Backup'), ...storage('Datastore.AllocateSpace')] },
  { group: 'migrate', tools: ['migrate_guest'], needs: guest('VM.Migrate') },
  {
    group: 'make',
    tools: ['clone_guest', 'restore_guest'],
    needs: [...guest('VM.Clone', 'VM.Allocate', 'VM.Backup'), ...storage('Datastore.AllocateSpace')],
  },
  { group: 'delete', tools: ['delete_guest'], needs: guest('VM.Allocate') },
];

/** Each group of tools with what the token lacks for it. */
export function rightsOf(permissions: Permissions) {
  return rightsGroups.map((group) => {
    const missing = missingRights(permissions, group);
    return { group: group.group, tools: [...group.tools], allowed: missing.length === 0, missing: missing.slice(0, mostMissing) };
  });
}

/** `VM.Backup on /vms`, of each right of the group that is not held everywhere. */
function missingRights(permissions: Permissions, { needs }: RightsGroup): readonly string[] {
  return needs.flatMap((need) => lacking(permissions, need)).map(({ privilege, path }) => `${privilege} on ${path}`);
}
