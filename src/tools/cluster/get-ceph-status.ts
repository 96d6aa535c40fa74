import * as z from 'zod';
import { clusterArgument } from '#kernel/arguments';
import { Fault } from '#kernel/errors';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import { say } from '#kernel/text/message';
import { defineTool } from '#kernel/tool';

export const getCephStatus = defineTool({
  name: 'get_ceph_status',
  title: 'Get Ceph status',
  description:
    'Health of the Ceph storage of the Proxmox VE cluster, where there is one: checks that warn or fail, monitors, OSDs, placement groups, and how full it is.',
  group: 'cluster',
  tier: 'green',
  impact: 'none',
  permission: 'data:read',
  rare: true,
  input: z.strictObject({ cluster: clusterArgument }),
  touches: () => [],
  headline: () => say`Read the Ceph status`,
  run: async (_input, context) => {
    try {
      const status = await context.cluster().api.record({ record: 'ceph' }, context.signal);
      const health = isJsonObject(status['health']) ? textOf(status['health']['status']) : undefined;
      return { ok: true, message: `Ceph is ${health ?? 'in an unknown state'}`, result: { installed: true, ...partsOf(status) } };
    } catch (thrown) {
      // `binary not installed: /usr/bin/ceph-mon`, or no configuration: that is an answer.
      if (!(thrown instanceof Fault) || !/not installed|not (?:yet )?initialized|does not exist/.test(thrown.message)) throw thrown;
      return { ok: true, message: 'Ceph is not installed on the node that answers', result: { installed: false } };
    }
  },
});

const shownParts = ['health', 'quorum_names', 'monmap', 'mgrmap', 'osdmap', 'pgmap', 'fsmap'];

function partsOf(status: JsonObject): JsonObject {
  return Object.fromEntries(shownParts.flatMap((name) => (status[name] === undefined ? [] : [[name, status[name]]])));
}
