import * as z from 'zod';
import { clusterArgument } from '#kernel/arguments';
import { defineTool } from '#kernel/tool';
import { missingRights, rightsGroups } from '../support/rights.ts';

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
  headline: () => 'Read what the API token may do',
  run: async (_input, context) => {
    const permissions = await context.cluster().api.permissions(context.signal);
    const groups = rightsGroups.map((group) => {
      const missing = missingRights(permissions, group);
      return { group: group.group, tools: [...group.tools], allowed: missing.length === 0, missing: missing.slice(0, mostMissing) };
    });
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
