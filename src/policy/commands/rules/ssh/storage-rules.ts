/** Disks, file systems, sensors. */
import type { ProgramRule } from '../../program-rule.ts';
import { columns, kind, listOf, oneOf, sizeUnit, wholeNumber } from '../../value-kinds.ts';
import { plainPath } from './node-paths.ts';

const device = kind('a device such as /dev/sda', /^\/dev\/(?:(?:disk\/by-[a-z]+|mapper|pve|zvol)\/[A-Za-z0-9_.:+@=-]+(?:\/[A-Za-z0-9_.:+@=-]+)*|[a-z0-9-]+)$/);
const fileSystem = kind('a type of file system', /^[a-z0-9._]{1,30}$/);
const pool = kind('the name of a pool', /^[A-Za-z][A-Za-z0-9_.:-]{0,60}$/);
const dataset = kind('the name of a dataset', /^[A-Za-z][A-Za-z0-9_.:/@-]{0,200}$/);

export const storageRules: readonly ProgramRule[] = [
  {
    id: 'ssh.df',
    program: 'df',
    flags: 'haiklmHPT',
    values: { x: fileSystem, t: fileSystem, B: sizeUnit },
    longs: {
      '--human-readable': null, '--si': null, '--all': null, '--inodes': null, '--local': null, '--portability': null, '--print-type': null, '--total': null, '--no-sync': null,
      '--type': fileSystem, '--exclude-type': fileSystem, '--block-size': sizeUnit,
    },
    optional: { '--output': { kind: columns } },
    operands: { kind: plainPath, max: 16 },
    role: 'source',
    justification: 'prints the use of file systems; `--sync` would write',
    match: ['df', 'df -h', 'df -hT /var/lib/vz', 'df -h --output=source,size', 'df -x tmpfs'],
    notMatch: ['df --sync', 'df -h x', 'df /var/../etc', 'df --files-from=x'],
  },
  {
    id: 'ssh.lsblk',
    program: 'lsblk',
    flags: 'AabdDfiJlmNnOPprsStzvT',
    values: { o: columns, e: listOf(wholeNumber), I: listOf(wholeNumber), x: columns, w: wholeNumber },
    longs: {
      '--all': null, '--bytes': null, '--nodeps': null, '--discard': null, '--fs': null, '--ascii': null, '--json': null, '--list': null, '--perms': null, '--noheadings': null,
      '--output-all': null, '--pairs': null, '--paths': null, '--raw': null, '--inverse': null, '--scsi': null, '--topology': null, '--zoned': null, '--tree': null, '--merge': null,
      '--output': columns, '--exclude': listOf(wholeNumber), '--include': listOf(wholeNumber), '--sort': columns,
    },
    operands: { kind: device, max: 16 },
    role: 'source',
    justification: 'prints block devices; `--sysroot` would read another root',
    match: ['lsblk', 'lsblk -f', 'lsblk -o NAME,SIZE', 'lsblk --json -o NAME,MODEL /dev/sda', 'lsblk -dno NAME'],
    notMatch: ['lsblk --sysroot /mnt', 'lsblk /etc/shadow', 'lsblk /dev/../etc/shadow'],
  },
  {
    id: 'ssh.sensors',
    program: 'sensors',
    flags: 'Afuj',
    longs: { '--no-adapter': null, '--fahrenheit': null },
    operands: { kind: kind('the name of a chip', /^[a-z0-9_]+-(?:[a-z0-9_]+|\*)-[a-z0-9*]+$/), max: 8 },
    role: 'source',
    justification: 'prints sensor values; `-s` writes limits to chips, `-c` reads another file',
    match: ['sensors', 'sensors -j', 'sensors -A', 'sensors coretemp-isa-0000'],
    notMatch: ['sensors -s', 'sensors --set', 'sensors -c /etc/shadow', 'sensors -js', 'sensors --bus-list'],
  },
  {
    id: 'ssh.smartctl',
    program: 'smartctl',
    flags: 'HiAacxj',
    values: { d: kind('a type of device', /^[a-z0-9+,]{1,40}$/), l: oneOf('a log', 'error', 'selftest', 'selective', 'background', 'scttemp', 'devstat', 'ssd', 'nvmelog'), n: oneOf('a power mode', 'never', 'sleep', 'standby', 'idle') },
    longs: { '--health': null, '--info': null, '--attributes': null, '--all': null, '--capabilities': null, '--xall': null, '--json': null, '--scan': null, '--scan-open': null, '--device': kind('a type of device', /^[a-z0-9+,]{1,40}$/) },
    operands: { kind: device, max: 1 },
    requires: [['-H', '-i', '-A', '-a', '-c', '-x', '-l', '--health', '--info', '--attributes', '--all', '--capabilities', '--xall', '--scan', '--scan-open']],
    role: 'source',
    justification: 'prints the health of a disk; `-t` and `-X` run tests, `-s`, `-o`, `-S` change settings, `-B` reads a file',
    match: ['smartctl -H /dev/sda', 'smartctl -a /dev/nvme0', 'smartctl -H -d sat /dev/sdb', 'smartctl --scan', 'smartctl -A -j /dev/sda'],
    notMatch: ['smartctl -t long /dev/sda', 'smartctl -s off /dev/sda', 'smartctl -X /dev/sda', 'smartctl -B /etc/shadow -a /dev/sda', 'smartctl --smart=off /dev/sda', 'smartctl -o on /dev/sda', 'smartctl -H /etc/shadow'],
  },
  {
    id: 'ssh.zpool',
    program: 'zpool',
    verbs: [['status'], ['list']],
    flags: 'vxLPDgisteHp',
    operands: { kind: pool, max: 8 },
    role: 'source',
    justification: 'prints pools; `-c` would run a script, `-T` or an interval would repeat',
    match: ['zpool status', 'zpool status -v rpool', 'zpool status -x', 'zpool list', 'zpool list -v'],
    notMatch: ['zpool destroy rpool', 'zpool status -c upath', 'zpool status 1', 'zpool status -T d', 'zpool scrub rpool', 'zpool clear rpool', 'zpool iostat 1'],
  },
  {
    id: 'ssh.zfs-list',
    program: 'zfs',
    verbs: [['list']],
    flags: 'rHp',
    values: { t: columns, o: columns, s: columns, S: columns, d: wholeNumber },
    operands: { kind: dataset, max: 8 },
    role: 'source',
    justification: 'prints datasets',
    match: ['zfs list', 'zfs list -t snapshot', 'zfs list -r -o name,used rpool'],
    notMatch: ['zfs destroy rpool/data', 'zfs set x=y rpool', 'zfs send rpool@a', 'zfs list -j x'],
  },
];
