/** The kernel (messages, modules, settings), and samples of load and memory that end. */
import { anyNumber, bounded, columns, kind, listOf, needs, oneOf, samples, some, time, upTo } from '../../kinds.ts';
import type { Call, Pages, Slot } from '../../page.ts';

const blockDevice = kind('the name of a block device', /^(?:ALL|(?:\/dev\/)?(?:sd|nvme|vd|dm-|md|zd|rbd|mmcblk|loop)[a-z0-9]{0,12})$/);
const processor = kind('processors', /^(?:ALL|on|[0-9,-]{1,60})$/);
const devicesThenSamples: readonly Slot[] = [anyNumber(blockDevice), ...samples, anyNumber(blockDevice)];

function fewIterations({ has }: Call): string | undefined {
  if (!has('-b', '--batch')) return 'without `-b`, which needs a terminal';
  return has('-n', '--iter') ? undefined : 'without `-n`, which never ends; add `-n 1`';
}

const levels = kind('levels of messages', /^[a-z+]+(?:,[a-z]+)*$/);
const setting = kind(
  'the name of a setting, such as vm.swappiness',
  /^(?!.*(?:stable_secret|register))[a-z0-9_]+(?:[./][A-Za-z0-9_@*-]+){1,8}$/,
);

/** `-H` starts a pager by itself. */
function withoutPager({ has }: Call): string | undefined {
  return has('-H', '--human') && !has('-P', '--nopager') ? 'with `-H`, which starts a pager; add `--nopager`' : undefined;
}

export const load: Pages = {
  free: {
    why: 'prints memory once; `-s` and `-c` would repeat',
    flags: '-bkmghtwlvL --bytes --kibi --mebi --gibi --tebi --kilo --mega --giga --human --si --total --wide --lohi --line --committed',
    match: 'free  free -h  free -mt  free --mega',
    notMatch: 'free -s 1  free -h -s1  free -c 3  free --seconds=1',
  },
  vmstat: {
    why: 'prints averages since boot, or a few samples',
    flags: '-asdDmnwtfy --stats --disk --disk-sum --active --forks --slabs --wide --timestamp --one-header --no-first',
    options: { '-S --unit': oneOf('a unit', 'k K m M') },
    operands: samples,
    check: bounded,
    match: 'vmstat  vmstat 1 5  vmstat -s  vmstat -S M 1 4',
    notMatch: 'vmstat 1  vmstat 1 1000  vmstat 100 5  vmstat -p sda1 1',
  },
  iostat: {
    why: 'prints the load of disks, averaged or in a few samples; `+f` and `-f` read other directories',
    flags: '-cdhkmNstVxyz --compact --human --pretty',
    options: {
      '-p': { optional: listOf(blockDevice), apart: true },
      '-o': oneOf('a form', 'JSON'),
      '-j': oneOf('a kind of names', 'ID LABEL PATH UUID'),
    },
    operands: devicesThenSamples,
    check: bounded,
    match: 'iostat  iostat -x 1 3  iostat -dmx 2 2 | head  iostat -h -p sda  iostat -xz sda sdb 1 3',
    notMatch: 'iostat 1  iostat -x 2  iostat 1 100000  iostat -f /etc 1 1  iostat -g x sda',
  },
  'mpstat pidstat': {
    why: 'prints the load of processors or processes, averaged or in a few samples; `pidstat -e` starts a program',
    flags: '-AuVnTdrRsStvwlhHU',
    options: {
      '-P': processor,
      '-I': oneOf('interrupts', 'SUM CPU SCPU ALL'),
      '-N': processor,
      '-o': oneOf('a form', 'JSON'),
      '-p': kind('processes', /^(?:ALL|SELF|[\d,]{1,60})$/),
      '-C -G': kind('a name', /^[A-Za-z0-9_.-]{1,40}$/),
    },
    operands: samples,
    check: bounded,
    match: 'mpstat  mpstat -P ALL 1 2  pidstat -d 1 3  pidstat -u -p 1 1 2',
    notMatch: 'mpstat 1  mpstat 1 86400  pidstat 1  pidstat -e id  pidstat -d 1 1 -e id',
  },
  sar: {
    why: 'prints what was counted today, or a few samples; `-o` writes',
    flags: '-AbBdFHhpqrRSuvwWyzt --human --pretty',
    options: {
      '-n': kind('parts of the network', /^[A-Z0-9,]{2,60}$/),
      '-P': processor,
      '-m': kind('parts', /^[A-Z,]{2,40}$/),
      '-f': kind('a file of /var/log/sysstat', /^\/var\/log\/(?:sysstat|sa)\/sa\d{2,8}$/),
      '-s -e': kind('a time of day', /^\d\d:\d\d(?::\d\d)?$/),
    },
    operands: samples,
    check: bounded,
    match: 'sar -u 1 3  sar -q -f /var/log/sysstat/sa22  sar -n DEV 1 2  sar  sar -q',
    notMatch: 'sar 1  sar -o /tmp/x 1 1  sar -f /etc/shadow  sar -C x 1 1',
  },
  'iotop iotop-c': {
    why: 'prints what processes read and write, a few times',
    flags: '-bokPatqc --batch --only --processes --accumulated --kilobytes --time --quiet',
    options: { '-n --iter': upTo(10), '-d --delay': upTo(5) },
    check: fewIterations,
    match: 'iotop -b -n 2 -o  iotop -botqn 3  iotop --batch --iter=1',
    notMatch: 'iotop  iotop -b  iotop -b -n 100000  iotop -n 1',
  },
  slabtop: {
    why: 'prints the caches of the kernel once',
    flags: '-o --once',
    options: { '-s --sort': oneOf('a column', 'a b c l v n o p s u') },
    check: ({ has }) => (has('-o', '--once') ? undefined : 'without `-o`, which never ends'),
    match: 'slabtop -o  slabtop -o -s c',
    notMatch: 'slabtop  slabtop -d 1  slabtop -s c',
  },
  dstat: {
    why: 'prints a few samples; `--output` writes',
    flags: '-cdgilmnprstvy -a --nocolor --noheaders --disk --net --cpu --io --top-io',
    options: { '-D -N -C': columns },
    operands: samples,
    check: ({ operands }) => (operands.length === 2 ? undefined : 'without interval and count, such as `1 5`; it never ends'),
    match: 'dstat 1 5  dstat -cdn 1 3',
    notMatch: 'dstat  dstat 1  dstat --output /etc/x 1 1',
  },
  'nfsstat nfsiostat': {
    why: 'prints counters of NFS; `-Z` without an end is left out',
    flags: '-cnmrsvl34 --client --server --nfs --rpc --list --mounts',
    match: 'nfsstat -c  nfsstat -m  nfsiostat',
    notMatch: 'nfsstat -Z 1  nfsstat --sleep  nfsiostat 1',
  },
  dmesg: {
    why: 'prints kernel messages once; `-c`, `-C`, `-n`, `-D`, `-E` change the buffer or the console, `-w` never ends, `-F` and `-K` read files',
    flags: '-TxkuedtrSPHJ --ctime --decode --kernel --userspace --reltime --show-delta --notime --raw --syslog --nopager --human --json',
    options: {
      '-l --level -f --facility': levels,
      '--since --until': time,
      '--time-format': kind('a format', /^[a-z]{3,10}$/),
      '-L --color': { optional: kind('when to use colours', /^(?:auto|always|never)$/) },
    },
    check: withoutPager,
    match: 'dmesg  dmesg -T --level=err,warn  dmesg -Tx  dmesg -H --nopager  dmesg --color=never',
    notMatch: 'dmesg -c  dmesg -C  dmesg -w  dmesg -TC  dmesg -n 1  dmesg -F /etc/shadow  dmesg -H  dmesg --console-off  dmesg -D',
  },
  'lsmod kmod': {
    why: 'lists loaded modules',
    verbs: { ', list': {} },
    match: 'lsmod  kmod list',
    notMatch: 'lsmod x  kmod load x  lsmod; rmmod x',
  },
  modinfo: {
    why: 'prints what a module says of itself; `-b` reads another root',
    flags: '-adlpn0 --author --description --license --parameters --filename',
    options: { '-F --field': kind('a field', /^[a-z]{2,20}$/) },
    operands: [some(kind('the name of a module', /^[A-Za-z0-9_-]{1,60}$/), 8)],
    match: 'modinfo zfs  modinfo -F version nvidia  modinfo -p kvm_intel',
    notMatch: 'modinfo -b /x y  modinfo /etc/shadow  modinfo -k x y',
  },
  modprobe: {
    why: 'prints the settings of all modules; anything else loads one',
    flags: '-c --showconfig',
    check: needs('-c --showconfig', 'which would load a module'),
    match: 'modprobe -c  modprobe --showconfig | grep vfio',
    notMatch: 'modprobe x  modprobe -r x  modprobe -c x  modprobe -C /etc/shadow -c',
  },
  sysctl: {
    why: 'prints settings of the kernel; `-w` or a `=` sets them, `-p` and `--system` load files',
    flags: '-aneNbA --all --values --ignore --names',
    options: { '-r --pattern': kind('a pattern', /^[^\n]{1,100}$/) },
    operands: [anyNumber(setting)],
    match: 'sysctl -a  sysctl vm.swappiness vm.dirty_ratio  sysctl -n net.ipv4.ip_forward  sysctl -a -r bridge',
    notMatch: `sysctl -w vm.swappiness=1  sysctl vm.swappiness=1  sysctl -p /etc/shadow  sysctl --system  sysctl -p
      sysctl net.ipv6.conf.all.stable_secret`,
  },
};
