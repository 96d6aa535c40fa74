import assert from 'node:assert/strict';
import { answerSlowly, callTool } from './call-tool.ts';
import type { InHostCase } from './in-host-case.ts';

/** In a folder that nobody has trusted: only tools that read. */
export const untrustedCases: readonly InHostCase[] = [
  {
    name: 'is not trusted, or the others would prove nothing',
    async run({ api }) {
      assert.equal(api.workspace.isTrusted, false);
    },
  },
  {
    name: 'runs a green tool',
    async run(host) {
      assert.equal((await callTool(host, 'get_cluster_status', {})).status, 'ok');
    },
  },
  {
    name: 'refuses a yellow tool and says why',
    async run(host) {
      const outcome = await callTool(host, 'execute_ssh', { node: 'pve', command: 'uptime' });
      assert.equal(outcome.status, 'denied');
      assert.match(outcome.message, /untrusted workspace/);
    },
  },
  {
    name: 'refuses a red tool and asks nobody',
    async run(host) {
      const asked = answerSlowly(host, 'Approve once');
      assert.equal((await callTool(host, 'stop_vm', { node: 'pve', vmid: 100 })).status, 'denied');
      assert.deepEqual(asked, []);
    },
  },
];
