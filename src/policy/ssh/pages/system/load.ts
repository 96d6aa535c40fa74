/** Load and memory: samples that end. */
import { anyNumber, bounded, columns, kind, listOf, oneOf, samples, upTo } from '../../kinds.ts';
import { type Call, flag, type Page, type Slot } from '../../page.ts';

const blockDevice = kind('the name of a block device', /^(?:ALL|(?:\/dev\/)?(?:sd|nvme|vd|dm-|md|zd|rbd|mmcblk|loop)[a-z0-9]{0,12})$/);
const processor = kind('processors', /^(?:ALL|on|[0-9,-]{1,60})$/);
const devicesThenSamples: readonly Slot[] = [anyNumber(blockDevice), ...samples, anyNumber(blockDevice)];

function fewIterations({ has }: Call): string | undefined {
  if (!has('-b', '--batch')) return 'without `-b`, which needs a terminal';
  return has('-n', '--iter') ? undefined : 'without `-n`, which never ends; add `-n 1`';
}

export const load: readonly Page[] = [
  {
    names: ['free'],
    why: 'prints memory once; `-s` and `-c` would repeat',
    options: {
      '-bkmghtwlvL --bytes --kibi --mebi --gibi --tebi --kilo --mega --giga --human --si --total --wide --lohi --line --committed': flag,
    },
    match: 'free  free -h  free -mt  free --mega',
    notMatch: 'free -s 1  free -h -s1  free -c 3  free --seconds=1',
  },
  {
    names: ['vmstat'],
    why: 'prints averages since boot, or a few samples',
    options: {
      '-asdDmnwtfy --stats --disk --disk-sum --active --forks --slabs --wide --timestamp --one-header --no-first': flag,
      '-S --unit': oneOf('a unit', 'k K m M'),
    },
    operands: samples,
    check: bounded,
    match: 'vmstat  vmstat 1 5  vmstat -s  vmstat -S M 1 4',
    notMatch: 'vmstat 1  vmstat 1 1000  vmstat 100 5  vmstat -p sda1 1',
  },
  {
    names: ['iostat'],
    why: 'prints the load of disks, averaged or in a few samples; `+f` and `-f` read other directories',
    options: {
      '-cdhkmNstVxyz --compact --human --pretty': flag,
      '-p': { optional: listOf(blockDevice), apart: true },
      '-o': oneOf('a form', 'JSON'),
      '-j': oneOf('a kind of names', 'ID LABEL PATH UUID'),
    },
    operands: devicesThenSamples,
    check: bounded,
    match: 'iostat  iostat -x 1 3  iostat -dmx 2 2 | head  iostat -h -p sda  iostat -xz sda sdb 1 3',
    notMatch: 'iostat 1  iostat -x 2  iostat 1 100000  iostat -f /etc 1 1  iostat -g x sda',
  },
  {
    names: ['mpstat', 'pidstat'],
    why: 'prints the load of processors or processes, averaged or in a few samples; `pidstat -e` starts a program',
    options: {
      '-AuVnTdrRsStvwlhHU': flag,
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
  {
    names: ['sar'],
    why: 'prints what was counted today, or a few samples; `-o` writes and `-f` reads files',
    options: {
      '-AbBdFHhpqrRSuvwWyzt --human --pretty': flag,
      '-n': kind('parts of the network', /^[A-Z0-9,]{2,60}$/),
      '-P': processor,
      '-m': kind('parts', /^[A-Z,]{2,40}$/),
      '-s -e': kind('a time of day', /^\d\d:\d\d(?::\d\d)?$/),
    },
    operands: samples,
    check: bounded,
    match: 'sar -u 1 3  sar -n DEV 1 2  sar  sar -q',
    notMatch: 'sar 1  sar -o /tmp/x 1 1  sar -f /etc/shadow  sar -C x 1 1',
  },
  {
    names: ['iotop', 'iotop-c'],
    why: 'prints what processes read and write, a few times',
    options: {
      '-bokPatqc --batch --only --processes --accumulated --kilobytes --time --quiet': flag,
      '-n --iter': upTo(10),
      '-d --delay': upTo(5),
    },
    check: fewIterations,
    match: 'iotop -b -n 2 -o  iotop -botqn 3  iotop --batch --iter=1',
    notMatch: 'iotop  iotop -b  iotop -b -n 100000  iotop -n 1',
  },
  {
    names: ['slabtop'],
    why: 'prints the caches of the kernel once',
    options: { '-o --once': flag, '-s --sort': oneOf('a column', 'a b c l v n o p s u') },
    check: ({ has }) => (has('-o', '--once') ? undefined : 'without `-o`, which never ends'),
    match: 'slabtop -o  slabtop -o -s c',
    notMatch: 'slabtop  slabtop -d 1  slabtop -s c',
  },
  {
    names: ['dstat'],
    why: 'prints a few samples; `--output` writes',
    options: { '-cdgilmnprstvy -a --nocolor --noheaders --disk --net --cpu --io --top-io': flag, '-D -N -C': columns },
    operands: samples,
    check: ({ operands }) => (operands.length === 2 ? undefined : 'without interval and count, such as `1 5`; it never ends'),
    match: 'dstat 1 5  dstat -cdn 1 3',
    notMatch: 'dstat  dstat 1  dstat --output /etc/x 1 1',
  },
  {
    names: ['nfsstat', 'nfsiostat'],
    why: 'prints counters of NFS; `-Z` without an end is left out',
    options: { '-cnmrsvl34 --client --server --nfs --rpc --list --mounts': flag },
    match: 'nfsstat -c  nfsstat -m  nfsiostat',
    notMatch: 'nfsstat -Z 1  nfsstat --sleep  nfsiostat 1',
  },
];
