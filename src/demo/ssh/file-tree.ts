/** The files that a demo node shows: sysfs and procfs values, a few configuration files, backups. Made anew for each command. */
import type { Cluster } from '../pve/cluster.ts';
import { nodeFigures } from '../pve/figures.ts';
import { kernel } from '../pve/methods/nodes.ts';
import type { GuestState, NodeState } from '../pve/state.ts';

export interface FileTree {
  /** The content of a file, or undefined. */
  read(path: string): string | undefined;
  /** Names in a directory, sorted; undefined for what is none. */
  list(path: string): readonly string[] | undefined;
  /** Paths that match a glob of `*`, `?` and `[…]`, sorted; none: the pattern itself, as a shell leaves it. */
  expand(pattern: string): readonly string[];
}

const emptyDirectories = [
  ...['/root', '/tmp', '/var/log/pve', '/etc/pve/qemu-server', '/etc/pve/lxc'],
  ...['images', 'snippets', 'dump', 'template/iso', 'template/cache'].map((name) => `/var/lib/vz/${name}`),
];

export function fileTree(cluster: Cluster, node: NodeState): FileTree {
  const files = new Map<string, string>([...systemFiles(cluster, node), ...configurationFiles(cluster, node), ...dumpFiles(cluster, node)]);
  const directories = directoriesOf([...files.keys(), ...emptyDirectories.map((path) => `${path}/.`)]);
  const everything = [...new Set([...files.keys(), ...directories])];
  return {
    read: (path) => files.get(clean(path)),
    list(path) {
      const base = clean(path);
      if (!directories.has(base)) return undefined;
      const prefix = base === '/' ? '/' : `${base}/`;
      const names = everything
        .filter((one) => one !== base && one.startsWith(prefix))
        .map((one) => one.slice(prefix.length).split('/', 1)[0] ?? '');
      return [...new Set(names)].sort();
    },
    expand(pattern) {
      const matcher = globPattern(pattern);
      const found = everything.filter((path) => matcher.test(path)).sort();
      return found.length > 0 ? found : [pattern];
    },
  };
}

function clean(path: string): string {
  const absolute = path.startsWith('/') ? path : `/root/${path}`;
  const parts: string[] = [];
  for (const part of absolute.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function directoriesOf(paths: readonly string[]): Set<string> {
  const found = new Set<string>(['/']);
  for (const path of paths) {
    const parts = path.split('/').slice(1, -1);
    for (let depth = 1; depth <= parts.length; depth += 1) found.add(`/${parts.slice(0, depth).join('/')}`);
  }
  return found;
}

/** What is no valid pattern (`[z-a]`, `[`) matches nothing, so that the word stays as it is. */
function globPattern(glob: string): RegExp {
  const source = glob
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*/g, '[^/]*')
    .replace(/\?/g, '[^/]');
  try {
    return new RegExp(`^${source}$`);
  } catch {
    return /(?!)/;
  }
}

function systemFiles(cluster: Cluster, node: NodeState): [string, string][] {
  const { uptime, loads, mem } = nodeFigures(cluster, node);
  const kib = (bytes: number) => String(Math.floor(bytes / 1024)).padStart(8);
  const zones = node.thermalZones.flatMap(({ zone, type, millidegrees }): [string, string][] => [
    [`/sys/class/thermal/thermal_zone${zone}/type`, `${type}\n`],
    [`/sys/class/thermal/thermal_zone${zone}/temp`, `${millidegrees}\n`],
  ]);
  return [
    ...zones,
    ['/sys/class/hwmon/hwmon0/name', 'coretemp\n'],
    ['/sys/class/hwmon/hwmon0/temp1_label', 'Package id 0\n'],
    ['/sys/class/hwmon/hwmon0/temp1_input', `${node.thermalZones[1]?.millidegrees ?? 40_000}\n`],
    ['/sys/class/hwmon/hwmon1/name', 'nvme\n'],
    ['/sys/class/hwmon/hwmon1/temp1_label', 'Composite\n'],
    ['/sys/class/hwmon/hwmon1/temp1_input', `${35_850 + node.nodeid * 1000}\n`],
    ['/sys/devices/system/cpu/online', `0-${node.cpus - 1}\n`],
    ['/proc/uptime', `${uptime}.12 ${uptime * node.cpus}.50\n`],
    ['/proc/loadavg', `${loads.join(' ')} 2/412 91824\n`],
    ['/proc/version', `${kernel.sysname} version ${kernel.release} (build@proxmox) ${kernel.version}\n`],
    [
      '/proc/meminfo',
      `MemTotal:       ${kib(node.memoryBytes)} kB\nMemFree:        ${kib(node.memoryBytes - mem)} kB\nMemAvailable:   ${kib(node.memoryBytes - mem)} kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n`,
    ],
    [
      '/proc/cpuinfo',
      Array.from({ length: node.cpus }, (_, index) => `processor\t: ${index}\nmodel name\t: Intel(R) Xeon(R) E-2336 CPU @ 2.90GHz\n`).join(
        '\n',
      ),
    ],
  ];
}

function configurationFiles(cluster: Cluster, node: NodeState): [string, string][] {
  const nodes = [...cluster.state.nodes.values()];
  const guests = [...cluster.state.guests.values()];
  const folder = (guest: GuestState) => (guest.kind === 'qemu' ? 'qemu-server' : 'lxc');
  const text = (guest: GuestState) =>
    [...guest.config]
      .map(([key, value]) => `${key}: ${value}\n`)
      .sort()
      .join('');
  return [
    ['/etc/hostname', `${node.name}\n`],
    ['/etc/hosts', `127.0.0.1 localhost.localdomain localhost\n${nodes.map((one) => `${one.ip} ${one.name}.lan ${one.name}\n`).join('')}`],
    ['/etc/os-release', 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nVERSION_ID="13"\nID=debian\n'],
    ['/etc/debian_version', '13.2\n'],
    ...guests.map((guest): [string, string] => [`/etc/pve/nodes/${guest.node}/${folder(guest)}/${guest.vmid}.conf`, text(guest)]),
    ...guests
      .filter((guest) => guest.node === node.name)
      .map((guest): [string, string] => [`/etc/pve/${folder(guest)}/${guest.vmid}.conf`, text(guest)]),
    ...nodes.map((one): [string, string] => [
      `/etc/pve/nodes/${one.name}/config`,
      [...one.config].map(([key, value]) => `${key}: ${value.trim()}\n`).join(''),
    ]),
  ];
}

function dumpFiles(cluster: Cluster, node: NodeState): [string, string][] {
  return cluster.state.volumes.flatMap((volume): [string, string][] => {
    if (volume.content !== 'backup' || volume.node !== node.name) return [];
    return [[`/var/lib/vz/dump/${volume.volid.split('/').pop() ?? ''}`, '']];
  });
}
