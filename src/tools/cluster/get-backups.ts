import * as z from 'zod';
import { clusterArgument, nodeArgument, pagingArguments } from '#kernel/arguments';
import type { ClusterPort } from '#kernel/ports/cluster';
import { sanitizeText } from '#kernel/text';
import { defineTool } from '#kernel/tool';
import { countMessage, keyPart, listResult, pageOf } from '../support/paging.ts';
import { nodeOf } from '../support/targets.ts';

/** `pve-storage-id` of the API schema. */
const storageArgument = z
  .string()
  .transform(sanitizeText)
  .pipe(z.string().regex(/^[a-zA-Z][a-zA-Z0-9._-]{0,99}$/, 'must be a storage name such as `local`'))
  .default('local')
  .meta({ description: 'Storage to look in; see get_storage.' });

export const getBackups = defineTool({
  name: 'get_backups',
  title: 'Get backups',
  description:
    'Backups (vzdump archives) on one storage of a Proxmox VE node: volume id, guest, size in bytes, creation time (Unix seconds), notes.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  timeoutMs: 60_000,
  outsideText: ['notes'],
  input: z.strictObject({ node: nodeArgument, storage: storageArgument, cluster: clusterArgument, ...pagingArguments }),
  touches: ({ node }) => [{ kind: 'node', access: 'read', node }],
  headline: (input, targets) => `List the backups on ${input.storage} of node ${nodeOf(targets).node}`,
  run: async (input, context) => {
    const { node } = nodeOf(context.targets);
    const { api } = context.cluster();
    const backups = await api.backups(node, input.storage, context.signal);
    const page = pageOf(backups, input, {
      name: `backups on ${input.storage} of ${node} in ${api.name}`,
      key: (row) => [-Number(row['ctime'] ?? 0), keyPart(row['volid'])],
    });
    const result = listResult('backups', page, { node, storage: input.storage });
    if (page.total > 0 || input.filter) return { ok: true, message: countMessage(page, 'backup'), result };
    // Without these the API answers 200 and an empty list, so "none" and "not allowed to see" look alike.
    const missing = await missingPrivileges(api, context.signal);
    if (missing.length === 0) return { ok: true, message: '0 backups', result };
    return {
      ok: true,
      message: `0 backups visible; the token lacks ${missing.join(' and ')}, so there may be some`,
      result: { ...result, missing_privileges: missing },
    };
  },
});

/** What `PVE::Storage::check_volume_access` asks for before a backup is listed. */
const neededPrivileges = ['VM.Backup', 'Datastore.AllocateSpace'] as const;

async function missingPrivileges(api: ClusterPort, signal: AbortSignal): Promise<readonly string[]> {
  const paths = await api.permissions(signal).catch(() => ({}));
  const held = Object.values(paths);
  return neededPrivileges.filter((privilege) => !held.some((privileges) => Object.hasOwn(privileges, privilege)));
}
