/** Disks, memory, sensors. */
import { nodeFigures } from '../../pve/figures.ts';
import { type CommandInput, type CommandOutput, hasOption, type NodeCommand, printed, readOptions } from '../node-command.ts';

/** `1.5G`, as `-h` prints. */
function human(bytes: number): string {
  const units = ['B', 'K', 'M', 'G', 'T'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 10 || unit === 0 ? Math.ceil(value) : value.toFixed(1)}${units[unit] ?? ''}`;
}

function diskFree({ cluster, node, args }: CommandInput): CommandOutput {
  const { options } = readOptions(args, ['-x', '-t', '-B']);
  const size = hasOption(options, 'h') ? human : (bytes: number) => String(Math.floor(bytes / 1024));
  const row = (name: string, total: number, used: number, mount: string) =>
    [
      name.padEnd(20),
      size(total).padStart(9),
      size(used).padStart(9),
      size(total - used).padStart(9),
      `${Math.round((100 * used) / total)}%`.padStart(4),
      mount,
    ].join(' ');
  const nas = cluster.state.storages.get('nas');
  const lines = [
    row('udev', node.memoryBytes / 2, 0, '/dev'),
    row('/dev/mapper/pve-root', node.diskBytes, node.diskUsedBytes, '/'),
    row('/dev/fuse', 134_217_728, 32_768, '/etc/pve'),
    ...(nas === undefined ? [] : [row('nas.lan:/export/pve', nas.totalBytes, nas.usedBytes, '/mnt/pve/nas')]),
  ];
  return printed(
    [`Filesystem           ${hasOption(options, 'h') ? '     Size' : '1K-blocks'}      Used     Avail Use% Mounted on`, ...lines].join(
      '\n',
    ),
  );
}

function free({ cluster, node, args }: CommandInput): CommandOutput {
  const { mem } = nodeFigures(cluster, node);
  const { options } = readOptions(args, []);
  const divisor = [...options.keys()].includes('-b')
    ? 1
    : hasOption(options, 'g')
      ? 1_073_741_824
      : hasOption(options, 'm')
        ? 1_048_576
        : 1024;
  const size = hasOption(options, 'h') ? (bytes: number) => `${human(bytes)}i` : (bytes: number) => String(Math.floor(bytes / divisor));
  const cells = (values: readonly number[]) => values.map((value) => size(value).padStart(12)).join('');
  const total = node.memoryBytes;
  return printed(
    `               total        used        free      shared  buff/cache   available\nMem:    ${cells([total, mem, total - mem, 0, 0, total - mem])}\nSwap:   ${cells([0, 0, 0])}`,
  );
}

const blockDevices = [
  { name: 'sda', size: '476.9G', type: 'disk', mountpoint: null },
  { name: 'sda1', size: '1007K', type: 'part', mountpoint: null },
  { name: 'sda2', size: '1G', type: 'part', mountpoint: '/boot/efi' },
  { name: 'sda3', size: '475.9G', type: 'part', mountpoint: null },
  { name: 'pve-root', size: '100G', type: 'lvm', mountpoint: '/' },
] as const;

function listBlocks({ args }: CommandInput): CommandOutput {
  const { options } = readOptions(args, ['-o', '--output']);
  if (hasOption(options, 'J', '--json')) return printed(JSON.stringify({ blockdevices: blockDevices }, undefined, 3));
  const rows = blockDevices.map(({ name, size, type, mountpoint }) =>
    `${name.padEnd(14)} ${size.padStart(8)} ${type.padEnd(5)} ${mountpoint ?? ''}`.trimEnd(),
  );
  return printed(['NAME               SIZE TYPE  MOUNTPOINTS', ...rows].join('\n'));
}

function sensors({ node, args }: CommandInput): CommandOutput {
  const degrees = (node.thermalZones[1]?.millidegrees ?? 40_000) / 1000;
  if (args.includes('-j'))
    return printed(
      JSON.stringify(
        { 'coretemp-isa-0000': { Adapter: 'ISA adapter', 'Package id 0': { temp1_input: degrees, temp1_max: 80, temp1_crit: 100 } } },
        undefined,
        3,
      ),
    );
  return printed(`coretemp-isa-0000\nAdapter: ISA adapter\nPackage id 0:  +${degrees.toFixed(1)}°C  (high = +80.0°C, crit = +100.0°C)\n`);
}

export const storageCommands: Readonly<Record<string, NodeCommand>> = { df: diskFree, free, lsblk: listBlocks, sensors };
