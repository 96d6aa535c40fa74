import * as z from 'zod';
import { clusterArgument } from '#kernel/arguments';
import type { Permissions } from '#kernel/ports/cluster';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';
import { lacking, type Need } from '../support/visible.ts';

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

function nodes(privilege: string): Need {
  return { privilege, path: '/nodes', below: true };
}

/** One role a group; whoever uses several holds the union. */
export const rightsGroups: readonly RightsGroup[] = [
  {
    group: 'look',
    tools: ['every tool that reads, but get_updates'],
    needs: [{ privilege: 'Sys.Audit', path: '/' }, ...guest('VM.Audit', 'VM.GuestAgent.Audit'), ...storage('Datastore.Audit')],
  },
  { group: 'updates', tools: ['get_updates'], needs: [nodes('Sys.Modify')] },
  {
    group: 'power',
    tools: [
      ...['start_vm', 'stop_vm', 'restart_vm', 'shutdown_vm', 'reset_vm', 'suspend_vm', 'resume_vm'],
      ...['start_container', 'stop_container', 'restart_container', 'shutdown_container'],
    ],
    needs: guest('VM.PowerMgmt'),
  },
  { group: 'wake', tools: ['wake_node'], needs: [nodes('Sys.PowerMgmt')] },
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
