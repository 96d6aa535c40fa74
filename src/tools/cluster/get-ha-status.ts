import * as z from 'zod';
import { clusterArgument } from '#kernel/arguments';
import { type JsonObject, textOf } from '#kernel/json';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';

export const getHaStatus = defineTool({
  name: 'get_ha_status',
  title: 'Get high availability',
  description:
    'High availability of the Proxmox VE cluster: quorum, the master, each node’s local manager, and every guest that is managed with what is asked of it, its state and its node. Use it when a guest does not stay as it was put.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  rare: true,
  outsideText: ['comment'],
  input: z.strictObject({ cluster: clusterArgument }),
  touches: () => [],
  headline: () => say`Read the state of high availability`,
  run: async (_input, context) => {
    const rows = await context.cluster().api.rows({ rows: 'ha' }, context.signal);
    const ofType = (type: string) => rows.filter((row) => row['type'] === type).toSorted(byId);
    const services = ofType('service');
    const troubled = services.filter((row) => ['error', 'fence', 'recovery'].includes(textOf(row['state']) ?? ''));
    const quorate = Number(rows.find((row) => row['type'] === 'quorum')?.['quorate'] ?? 0) === 1;
    const named = troubled.map((row) => `${textOf(row['sid']) ?? '?'} is in \`${textOf(row['state']) ?? '?'}\``).join(', ');
    return {
      ok: true,
      message: `high availability manages ${services.length} guest${services.length === 1 ? '' : 's'}, ${quorate ? 'quorate' : 'without quorum'}${named === '' ? '' : `; ${named}`}`,
      result: { quorate, master: textOf(ofType('master')[0]?.['node']) ?? null, managers: ofType('lrm'), services },
    };
  },
});

/** The API gives its rows in another order each time. */
function byId(one: JsonObject, other: JsonObject): number {
  return (textOf(one['id']) ?? '').localeCompare(textOf(other['id']) ?? '', 'en', { numeric: true });
}
