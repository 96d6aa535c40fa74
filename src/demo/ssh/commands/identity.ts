/** What a node is and has: names, users, time, disks, memory, sensors. */
import { guestFigures, nodeFigures } from '../../pve/figures.ts';
import { release } from '../../pve/methods/access.ts';
import { kernel } from '../../pve/methods/nodes.ts';
import { type CommandInput, type CommandOutput, complained, hasOption, type NodeCommand, printed, readOptions } from '../node-command.ts';

function hostname({ node, args }: CommandInput): CommandOutput {
  const [option, ...more] = args;
  if (option === undefined) return printed(node.name);
  const answers: Readonly<Record<string, string>> = {
    '-I': `${node.ip} `,
    '-i': node.ip,
    '-f': `${node.name}.lan`,
    '--fqdn': `${node.name}.lan`,
    '-s': node.name,
    '--short': node.name,
  };
  const answer = answers[option];
  if (answer !== undefined && more.length === 0) return printed(answer);
  return complained(
    option.startsWith('-') ? `hostname: invalid option -- '${option.replace(/^-+/, '')}'` : 'hostname: the demo nodes keep their names',
  );
}

function uname({ node, args }: CommandInput): CommandOutput {
  const { options } = readOptions(args, []);
  const facts = { s: kernel.sysname, n: node.name, r: kernel.release, v: kernel.version, m: kernel.machine, o: 'GNU/Linux' };
  if (options.size === 0) return printed(facts.s);
  const all = hasOption(options, 'a', '--all');
  return printed(
    Object.entries(facts)
      .filter(([letter]) => all || hasOption(options, letter))
      .map(([, fact]) => fact)
      .join(' '),
  );
}

function uptime({ cluster, node, args }: CommandInput): CommandOutput {
  const { uptime: seconds, loads } = nodeFigures(cluster, node);
  if (args[0] === '-s') return printed(new Date(node.bootedAt).toISOString().slice(0, 19).replace('T', ' '));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (args[0] === '-p') return printed(`up ${days} days, ${hours} hours, ${minutes} minutes`);
  const span = `${days > 0 ? `${days} days, ` : ''}${String(hours).padStart(2)}:${String(minutes).padStart(2, '0')}`;
  return printed(` ${new Date(cluster.clock.now()).toISOString().slice(11, 19)} up ${span},  1 user,  load average: ${loads.join(', ')}`);
}

function date({ cluster, args }: CommandInput): CommandOutput {
  const now = new Date(cluster.clock.now());
  const [format] = args.filter((arg) => arg.startsWith('+'));
  if (format === '+%s') return printed(String(Math.floor(now.getTime() / 1000)));
  if (args.includes('-Is') || args.includes('--iso-8601=seconds')) return printed(now.toISOString().replace(/\.\d+Z$/, '+00:00'));
  if (format !== undefined) return printed(now.toISOString().replace('T', ' ').slice(0, 19));
  const [weekday = '', day = '', month = '', year = '', clock = ''] = now.toUTCString().replace(',', '').split(' ');
  return printed(`${weekday} ${month} ${day.replace(/^0/, ' ')} ${clock} UTC ${year}`);
}

function processes({ cluster, node, args }: CommandInput): CommandOutput {
  const { operands, options } = readOptions(args, ['-p', '-o', '--sort']);
  if (options.get('-p') === '1') return printed('systemd');
  const guests = [...cluster.state.guests.values()].filter((guest) => guest.node === node.name && guest.running);
  const row = (pid: number, cpu: string, command: string) =>
    `root ${String(pid).padStart(11)} ${cpu.padStart(4)}  0.8 241712 98304 ?        Ss   Nov18   4:12 ${command}`;
  const lines = [
    row(1, '0.0', '/sbin/init'),
    row(812, '0.1', 'pmxcfs'),
    row(998, '0.0', 'sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups'),
    row(1187, '0.2', 'pvedaemon'),
    row(1204, '0.3', 'pveproxy'),
    ...guests.map((guest) =>
      row(
        guest.pid,
        (guestFigures(cluster, guest).cpu * 100).toFixed(1),
        guest.kind === 'qemu' ? `/usr/bin/kvm -id ${guest.vmid}` : `lxc-start -F -n ${guest.vmid}`,
      ),
    ),
  ];
  const header =
    operands.includes('aux') || operands.length === 0
      ? 'USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND'
      : 'PID CMD';
  return printed([header, ...lines].join('\n'));
}

function top(input: CommandInput): CommandOutput {
  const { options } = readOptions(input.args, ['-o', '-w', '-n', '-d']);
  if (!hasOption(options, 'b')) return complained('top: failed tty get');
  return printed(
    `top - ${uptime({ ...input, args: [] }).stdout.trim()}\nTasks: 214 total,   1 running, 213 sleeping\n\n${processes({ ...input, args: ['aux'] }).stdout}`,
  );
}

function addresses({ node, args }: CommandInput): CommandOutput {
  const words = args.filter((arg) => !arg.startsWith('-'));
  if (args.includes('-j'))
    return printed(JSON.stringify([{ ifname: 'vmbr0', operstate: 'UP', addr_info: [{ family: 'inet', local: node.ip, prefixlen: 24 }] }]));
  if (words[0] === 'addr' || words[0] === 'a' || words[0] === 'address')
    return printed(
      `1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n    inet 127.0.0.1/8 scope host lo\n2: vmbr0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500\n    inet ${node.ip}/24 scope global vmbr0`,
    );
  if (words[0] === 'route' || words[0] === 'r')
    return printed(
      `default via 192.168.1.1 dev vmbr0 proto kernel onlink\n192.168.1.0/24 dev vmbr0 proto kernel scope link src ${node.ip}`,
    );
  if (words[0] === 'link' || words[0] === 'l')
    return printed('1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n2: vmbr0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500');
  return complained(`Object "${words[0] ?? ''}" is unknown, try "ip help".`, 1);
}

const packages = `pve-manager/${release.version}/${release.repoid} (running kernel: ${kernel.release})`;

export const identityCommands: Readonly<Record<string, NodeCommand>> = {
  hostname,
  uname,
  uptime,
  date,
  ps: processes,
  top,
  ip: addresses,
  nproc: ({ node }) => printed(String(node.cpus)),
  whoami: () => printed('root'),
  id: () => printed('uid=0(root) gid=0(root) groups=0(root)'),
  arch: () => printed(kernel.machine),
  pveversion: ({ args }) =>
    printed(
      args.includes('-v') || args.includes('--verbose')
        ? `proxmox-ve: 9.1.0\npve-manager: ${release.version}\nqemu-server: 9.1.4\nlxc-pve: 6.0.5-3`
        : packages,
    ),
};

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
