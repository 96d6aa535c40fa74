/** systemctl and journalctl. A restart sticks, and the API's service list shows it. */

import { ApiError } from '../../pve/api-error.ts';
import { isPage } from '../../pve/api-method.ts';
import { dispatch } from '../../pve/dispatch.ts';
import { cpusOf, maxMemory } from '../../pve/figures.ts';
import { controlService, findService, journalLines, journalTime } from '../../pve/services.ts';
import { type GuestKind, guestName, lockOf, type ServiceState } from '../../pve/state.ts';
import { type CommandInput, type CommandOutput, complained, hasOption, type NodeCommand, printed, readOptions } from '../node-command.ts';

type Verb = (input: CommandInput, units: readonly string[], quiet: boolean) => CommandOutput;

const verbs: Readonly<Record<string, Verb>> = {
  'is-active': question({ word: (service) => service?.active ?? 'inactive', wanted: 'active', otherwise: 3 }),
  'is-failed': question({ word: (service) => service?.active ?? 'inactive', wanted: 'failed', otherwise: 1 }),
  'is-enabled': question({ word: (service) => service?.unitState ?? 'not-found', wanted: 'enabled', otherwise: 1 }),
  status,
  restart,
  show: (input, units) => printed(units.map((unit) => showUnit(input, unit)).join('\n')),
};

/** Of the properties only those that were asked for; what is not installed is described all the same, and the exit code is 0. */
function showUnit({ node, args }: CommandInput, unit: string): string {
  const { options } = readOptions(args, ['-p', '--property']);
  const wanted = (options.get('--property') ?? options.get('-p'))?.split(',');
  const properties = Object.entries(propertiesOf(findService(node, unit), unit.replace(/\.service$/, '')));
  const lines = properties.filter(([key]) => wanted === undefined || wanted.includes(key)).map(([key, value]) => `${key}=${value}`);
  return lines.join('\n');
}

function propertiesOf(service: ServiceState | undefined, name: string): Readonly<Record<string, string>> {
  if (service === undefined || service.unitState === 'not-found')
    return { Id: `${name}.service`, LoadState: 'not-found', ActiveState: 'inactive', UnitFileState: '' };
  const loadState = service.unitState === 'masked' ? 'masked' : 'loaded';
  return { Id: `${name}.service`, LoadState: loadState, ActiveState: service.active, UnitFileState: service.unitState };
}

function systemctl(input: CommandInput): CommandOutput {
  const { operands, options } = readOptions(input.args, ['-n', '--lines', '-o', '--type', '-t', '--state', '-p', '--property']);
  const [action = 'list-units', ...units] = operands;
  if (options.has('--version')) return printed('systemd 257 (257.8-1~deb13u2)');
  if (action === 'list-units' || action === 'list-unit-files') return listUnits(input);
  const verb = verbs[action];
  if (verb === undefined) return complained(`Unknown command verb '${action}'.`);
  return units.length === 0 ? complained('Too few arguments.') : verb(input, units, hasOption(options, 'q', '--quiet'));
}

interface Question {
  readonly word: (service: ServiceState | undefined) => string;
  readonly wanted: string;
  readonly otherwise: number;
}

/** One word per unit; the exit code is 0 when any is as asked. */
function question({ word, wanted, otherwise }: Question): Verb {
  return (input, units, quiet) => {
    const words = units.map((unit) => word(findService(input.node, unit)));
    return { stdout: quiet ? '' : words.map((one) => `${one}\n`).join(''), stderr: '', exitCode: words.includes(wanted) ? 0 : otherwise };
  };
}

function restart({ cluster, node }: CommandInput, units: readonly string[]): CommandOutput {
  const command = { command: 'restart', now: cluster.clock.now() } as const;
  const failures = units.map((unit) => controlService(node, unit, command)).filter((failure) => failure !== undefined);
  return { stdout: '', stderr: failures.map((failure) => `${failure.text}\n`).join(''), exitCode: failures[0]?.exitCode ?? 0 };
}

function status(input: CommandInput, units: readonly string[]): CommandOutput {
  let exitCode = 0;
  let stdout = '';
  let stderr = '';
  for (const unit of units) {
    const service = findService(input.node, unit);
    if (service === undefined) {
      stderr += `Unit ${unit.includes('.') ? unit : `${unit}.service`} could not be found.\n`;
      exitCode = 4;
    } else {
      stdout += statusBlock(input, service);
      if (service.active !== 'active') exitCode = 3;
    }
  }
  return { stdout, stderr, exitCode };
}

const marks = { active: '●', inactive: '○', failed: '×' } as const;
const phrases = { active: 'active (running)', inactive: 'inactive (dead)', failed: 'failed (Result: exit-code)' } as const;

function statusBlock({ cluster, node }: CommandInput, service: ServiceState): string {
  const since = new Date(service.since).toUTCString();
  const lines = [
    `${marks[service.active]} ${service.name}.service - ${service.description}`,
    `     Loaded: loaded (/usr/lib/systemd/system/${service.name}.service; ${service.unitState}; preset: enabled)`,
    `     Active: ${phrases[service.active]} since ${since}`,
    '',
    ...journalLines(cluster, node, service.name),
  ];
  return `${lines.join('\n')}\n`;
}

function listUnits({ node }: CommandInput): CommandOutput {
  const rows = [...node.services.values()].map(
    (service) => `  ${`${service.name}.service`.padEnd(30)} loaded ${service.active.padEnd(8)} ${service.description}`,
  );
  return printed(
    ['  UNIT                           LOAD   ACTIVE   DESCRIPTION', ...rows, '', `${rows.length} loaded units listed.`].join('\n'),
  );
}

const valued = '-u --unit -n --lines --since --until -S -U -p --priority -o --output -b'.split(' ');

function journalctl({ cluster, node, args }: CommandInput): CommandOutput {
  const { options } = readOptions(args, valued);
  if (options.has('--disk-usage')) return printed('Archived and active journals take up 96M in the file system.');
  const lines = journalLines(cluster, node, options.get('-u') ?? options.get('--unit'));
  if (hasOption(options, 'r', '--reverse')) lines.reverse();
  const count = Number(options.get('-n') ?? options.get('--lines') ?? lines.length);
  const shown = hasOption(options, 'r') ? lines.slice(0, count) : lines.slice(Math.max(0, lines.length - count));
  return printed(shown.length > 0 ? shown.join('\n') : `-- No entries --`);
}

function dmesg({ node }: CommandInput): CommandOutput {
  return printed(`[    0.000000] Linux version 6.17.4-2-pve (build@proxmox) booted ${journalTime(node.bootedAt)}`);
}

export const serviceCommands: Readonly<Record<string, NodeCommand>> = { systemctl, journalctl, dmesg };

// pvesh, qm, pct and pvecm: they read the same cluster as the API does. `pvesh` can only get.

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
