/** Records as calls that only look leave them: what an agent of a model asked of a cluster or a workspace, and what it was told. */
import { createHash } from 'node:crypto';
import type { AuditDraft } from '#kernel/audit-event';
import type { JsonObject } from '#kernel/json';

/** Always the same for the same call, and spread like chance (FNV-1a, mixed once more). */
function numberAt(index: number, salt: string, below: number): number {
  let hash = 0x811c9dc5;
  for (const char of `${salt} ${index}`) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return ((hash ^ (hash >>> 16)) >>> 0) % below;
}

function callId(index: number): string {
  const hex = createHash('sha256').update(`call ${index}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

interface Look {
  readonly tool: string;
  readonly input: JsonObject;
  readonly message: string;
  readonly target: JsonObject;
}

const looks: readonly ((at: (salt: string, below: number) => number) => Look)[] = [
  (at) => {
    const [vmid, node] = [100 + at('vmid', 5000), `pve${1 + at('node', 16)}`];
    const name = `web${at('vmid', 5000)}`;
    const state = at('state', 4) === 0 ? 'stopped' : 'running';
    return {
      tool: 'get_guest',
      input: { vmid },
      message: `VM ${vmid} (${name}) on ${node} is ${state}, ${at('snapshots', 4)} snapshots, ${at('backups', 9)} backups`,
      target: { guestType: 'qemu', kind: 'guest', name, node, vmid },
    };
  },
  (at) => {
    const node = `pve${1 + at('node', 16)}`;
    return {
      tool: 'get_node_status',
      input: { node },
      message: `node ${node} is online, load ${at('load', 1600) / 100}, ${at('memory', 100)} % of memory`,
      target: { kind: 'node', node },
    };
  },
  (at) => ({
    tool: 'get_vms',
    input: { state: at('state', 2) === 0 ? 'running' : 'stopped' },
    message: `${at('count', 500)} guests on ${1 + at('nodes', 16)} nodes`,
    target: { kind: 'cluster' },
  }),
  (at) => {
    const file = `src/${['app', 'core', 'web'][at('folder', 3)]}/module-${at('file', 4000)}.ts`;
    return { tool: 'read_file', input: { path: file }, message: `${at('lines', 900)} lines`, target: { kind: 'file', path: file } };
  },
];

/** The record of the `index`th call. */
export function readOf(index: number): AuditDraft {
  const at = (salt: string, below: number): number => numberAt(index, salt, below);
  const cluster = `lab${at('cluster', 4)}`;
  const look = looks[at('tool', looks.length)] ?? looks[0];
  if (!look) throw new Error('no tool');
  const { tool, input, message, target } = look(at);
  return {
    name: 'tool.finished',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': callId(index),
      'gen_ai.tool.call.arguments': input,
      source: 'mcp',
      agent: { id: `mcp:laptop-${at('agent', 40)}`, host: 'mcp', model_tier: 'advanced', model: 'some-model-4' },
      tier: 'green',
      target: [{ ...target, cluster }],
      cluster,
      impact: 'none',
      rules: ['tier:green'],
      policy_version: 'c11cc0772dedece8',
      sandbox: 'not_checked',
      status: 'ok',
      code: 'ok',
      message,
      duration_ms: 1 + at('duration', 180),
    },
  };
}
