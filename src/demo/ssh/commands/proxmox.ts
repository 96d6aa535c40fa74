/** pvesh, qm, pct and pvecm: they read the same cluster as the API does. `pvesh` can only get. */
import { ApiError } from '../../pve/api-error.ts';
import { isPage } from '../../pve/api-method.ts';
import { dispatch } from '../../pve/dispatch.ts';
import { cpusOf, maxMemory } from '../../pve/figures.ts';
import { type GuestKind, guestName, lockOf } from '../../pve/state.ts';
import { type CommandInput, type CommandOutput, complained, type NodeCommand, printed } from '../node-command.ts';

function pvesh({ cluster, node, args }: CommandInput): CommandOutput {
  const [action = '', path = '', ...rest] = args;
  if (action === 'ls') return printed('');
  if (action !== 'get') return complained(`pvesh: the demo nodes answer \`get\` only, not \`${action}\``, 255);
  const { parameters, format } = pveshOptions(rest);
  try {
    const result = dispatch(cluster, { verb: 'GET', path, parameters, user: 'root@pam', byToken: false, node: node.name });
    return printed(render(isPage(result) ? result.page : result, format));
  } catch (thrown) {
    return refused(thrown, path);
  }
}

function refused(thrown: unknown, path: string): CommandOutput {
  if (!(thrown instanceof ApiError)) return complained(thrown instanceof Error ? thrown.message : String(thrown), 255);
  if (thrown.status === 501) return complained(`No 'get' handler defined for '${path}'`, 255);
  const reasons = Object.entries(thrown.errors ?? {}).map(([name, reason]) => `${name}: ${reason.trim()}\n`);
  return { stdout: '', stderr: `${thrown.status === 400 ? '400 ' : ''}${thrown.message}${reasons.join('')}`, exitCode: 255 };
}

/** `--name value` and `--name=value`, one dash or two. */
function pveshOptions(words: readonly string[]): { readonly parameters: Record<string, string>; readonly format: string } {
  const parameters: Record<string, string> = {};
  for (let index = 0; index < words.length; index += 1) {
    const [name = '', value] = (words[index] ?? '').replace(/^--?/, '').split(/=(.*)/s, 2);
    parameters[name] = value ?? words[++index] ?? '';
  }
  const { 'output-format': format = 'text', ...others } = parameters;
  return { parameters: others, format };
}

function render(result: unknown, format: string): string {
  if (format === 'json') return JSON.stringify(result);
  if (format === 'json-pretty') return JSON.stringify(result, undefined, 3);
  if (Array.isArray(result)) return result.map((row) => (typeof row === 'object' ? columns(row) : String(row))).join('\n');
  return typeof result === 'object' && result !== null ? columns(result).replace(/ {2}/g, '\n') : String(result);
}

function columns(row: object): string {
  return Object.entries(row)
    .map(([key, value]) => `${key}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join('  ');
}

function guestTool(kind: GuestKind): NodeCommand {
  return ({ cluster, node, args }) => {
    const [action = '', id = ''] = args;
    const guests = [...cluster.state.guests.values()].filter((guest) => guest.kind === kind && guest.node === node.name);
    const guest = guests.find((one) => String(one.vmid) === id);
    if (action === 'list') {
      const rows = guests.map((one) =>
        `${String(one.vmid).padStart(10)} ${guestName(one).padEnd(20)} ${(one.running ? 'running' : 'stopped').padEnd(10)} ${String(maxMemory(one) / 1_048_576).padEnd(10)} ${cpusOf(one, undefined)} ${lockOf(one) ?? ''}`.trimEnd(),
      );
      return printed(['      VMID NAME                 STATUS     MEM(MB)    CPUS LOCK', ...rows].join('\n'));
    }
    if (guest === undefined)
      return complained(`Configuration file 'nodes/${node.name}/${kind === 'qemu' ? 'qemu-server' : 'lxc'}/${id}.conf' does not exist`, 2);
    if (action === 'status') return printed(`status: ${guest.running ? 'running' : 'stopped'}`);
    if (action === 'config')
      return printed(
        [...guest.config]
          .map(([key, value]) => `${key}: ${value}`)
          .sort()
          .join('\n'),
      );
    return complained(`${kind === 'qemu' ? 'qm' : 'pct'}: the demo nodes answer \`list\`, \`status\` and \`config\` only`, 255);
  };
}

function clusterStatus({ cluster, node, args }: CommandInput): CommandOutput {
  if (args[0] !== 'status') return complained(`pvecm: the demo nodes answer \`status\` only`, 255);
  const nodes = [...cluster.state.nodes.values()];
  const online = cluster.state.quorate ? nodes.filter((one) => one.up) : [node];
  return printed(
    `Cluster information\n-------------------\nName:             ${cluster.state.name}\nConfig Version:   ${cluster.state.version}\n\nQuorum information\n------------------\nNodes:            ${online.length}\nQuorate:          ${cluster.state.quorate ? 'Yes' : 'No'}\n\nMembership information\n----------------------\n${online.map((one) => `0x0000000${one.nodeid}          1 ${one.ip}${one === node ? ' (local)' : ''}`).join('\n')}`,
  );
}

export const proxmoxCommands: Readonly<Record<string, NodeCommand>> = {
  pvesh,
  qm: guestTool('qemu'),
  pct: guestTool('lxc'),
  pvecm: clusterStatus,
};
