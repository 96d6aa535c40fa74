/** Processors, buses, firmware, sensors: what the machine is made of. */
import { anyNumber, atMostOne, attached, columns, device, kind, listOf, needs, number, oneOf } from '../../kinds.ts';
import { flag, type Kind, type Page } from '../../page.ts';

/** util-linux takes `-e=CPU` as `-e CPU`. */
const attachedColumns: Kind = { ...columns, accepts: (value) => columns.accepts(value.replace(/^=/, '')) };
const slot = kind('a slot such as 01:00.0', /^[0-9a-fA-F:.*]{1,15}$/);
const vendor = kind('ids such as 10de:2204', /^[0-9a-fA-F*]{0,4}:[0-9a-fA-F*]{0,4}(?::[0-9a-fA-F*]{0,4})?$/);

/** SECURITY: `-H` with a name and `-I lan` reach other machines; so no interface is chosen. */
const ipmiVerbs = `sdr, sdr list, sdr elist, sdr info, sensor, sensor list, sel, sel info, sel list, sel elist, fru, fru print, mc info,
  bmc info, chassis status, chassis power status, power status, chassis restart_cause, dcmi power reading, channel info, pef status, pef info, pef list`;

export const hardware: readonly Page[] = [
  {
    names: ['lscpu'],
    why: 'prints the processors; `-s` would read another root',
    options: {
      '-JxyabcBC --json --hex --physical --all --online --offline --bytes --output-all --raw': flag,
      '-ep --extended --parse --caches': attached(attachedColumns),
    },
    match: 'lscpu  lscpu -J  lscpu -e  lscpu -e=CPU,NODE',
    notMatch: 'lscpu -s /mnt  lscpu --sysroot=/mnt',
  },
  {
    names: ['lspci'],
    why: 'prints PCI devices; `-F`, `-A`, `-O`, `-H`, `-M` and `-i` read files or touch the bus',
    options: { '-vnktPDbm': flag, '-s': slot, '-d': vendor },
    match: 'lspci  lspci -nnk  lspci -vvv -s 01:00.0  lspci -tv  lspci -d 10de:',
    notMatch: 'lspci -F /etc/shadow  lspci -A x -O dump.name=/x  lspci -xxx  lspci -H1  lspci -i /etc/shadow  lspci -Q',
  },
  {
    names: ['lsusb'],
    why: 'prints USB devices; `-D` opens one by its path',
    options: { '-vt --verbose --tree': flag, '-s': kind('a bus and device', /^\d{0,3}:?\d{0,3}$/), '-d': vendor },
    match: 'lsusb  lsusb -t  lsusb -v -d 1d6b:0002',
    notMatch: 'lsusb -D /dev/bus/usb/001/001  lsusb --device=/x',
  },
  {
    names: ['dmidecode'],
    why: 'prints what the firmware says of the machine; `--dump-bin` writes, `--from-dump` and `-d` read files',
    options: {
      '-qu --quiet --no-sysfs': flag,
      '-t --type': listOf(kind('a type', /^(?:\d{1,3}|[a-z]{2,12})$/)),
      '-s --string': kind('the name of a value', /^[a-z-]{3,40}$/),
      '-H --handle': kind('a handle', /^(?:0x)?[0-9A-Fa-f]{1,4}$/),
    },
    operands: [],
    match: 'dmidecode  dmidecode -t memory  dmidecode -s system-product-name  dmidecode -q -t 17',
    notMatch: 'dmidecode --dump-bin /etc/x  dmidecode --from-dump /etc/shadow  dmidecode -d /dev/sda  dmidecode --dump',
  },
  {
    names: ['lshw', 'inxi', 'hwinfo'],
    why: 'prints an inventory; `lshw -dump` writes, `inxi -i` and `-w` ask the network, `hwinfo --save-config` writes',
    style: 'words',
    options: {
      '-short -businfo -json -xml -numeric -quiet -sanitize': flag,
      '-class -C -c': kind('a class', /^[a-z]{3,15}$/),
      '-F -Fx -Fxx -Fxxx -Fz -M -C -D -N -S -m -b -c0 -z --short --cpu --disk --memory --netcard --gfxcard': flag,
    },
    match: 'lshw -short  lshw -class disk -class network  inxi -F  hwinfo --short',
    notMatch: 'lshw -dump /etc/x  lshw -disable x  inxi -i  inxi -U  hwinfo --save-config=all  hwinfo --log /etc/x  lshw -X',
  },
  {
    names: ['sensors'],
    why: 'prints sensor values; `-s` writes limits to chips, `-c` reads another file',
    options: { '-Afuj --no-adapter --fahrenheit': flag },
    operands: [anyNumber(kind('the name of a chip', /^[a-z0-9_]+-(?:\*|(?:[a-z0-9_]+|\*)-[a-z0-9*]+)$/), 8)],
    match: 'sensors  sensors -j  sensors -A  sensors coretemp-isa-0000',
    notMatch: 'sensors -s  sensors --set  sensors -c /etc/shadow  sensors -js  sensors --bus-list',
  },
  {
    names: ['ipmitool'],
    why: 'asks the board of this machine; other verbs switch or configure, `-H` reaches other machines, `lan print` shows passwords',
    options: { '-vc': flag },
    verbs: {
      [ipmiVerbs.replace(/\s+/g, ' ')]: {},
      'sel list, sel elist': { operands: [atMostOne(oneOf('`first` or `last`', 'first last')), atMostOne(number)] },
    },
    match: 'ipmitool sdr list  ipmitool sel elist  ipmitool chassis power status  ipmitool sel list last 10',
    notMatch:
      'ipmitool chassis power cycle  ipmitool power off  ipmitool -H 10.0.0.9 sdr  ipmitool sel clear  ipmitool exec /x  ipmitool shell  ipmitool lan print  ipmitool sdr dump /x',
  },
  {
    names: ['efibootmgr', 'mokutil', 'bootctl'],
    why: 'prints how the machine boots; other options change it',
    options: { '-v --verbose --sb-state --no-pager': flag },
    verbs: { '': {}, 'status, list': { options: { '--no-pager': flag } } },
    check: ({ verb, options }) => (options.has('--sb-state') && verb !== '' ? 'with both a verb and `--sb-state`' : undefined),
    match: 'efibootmgr -v  efibootmgr  mokutil --sb-state  bootctl status --no-pager',
    notMatch: 'efibootmgr -o 0001  efibootmgr -B -b 1  efibootmgr -n 2  mokutil --import x  bootctl install  bootctl set-default x',
  },
  {
    names: ['udevadm'],
    why: 'prints what udev knows of a device; other verbs trigger or change rules',
    verbs: {
      info: {
        options: {
          '-ax --attribute-walk --export': flag,
          '-q --query': oneOf('what to print', 'all name path symlink property'),
          '-n --name': device,
          '-p --path': kind('a path of /sys', /^\/(?:sys\/)?(?:class|block|devices|bus)\/[A-Za-z0-9_.:/@-]{1,200}$/),
        },
        operands: [anyNumber(device, 4)],
      },
    },
    match: 'udevadm info /dev/sda  udevadm info --query=all --name=/dev/nvme0n1  udevadm info -a -n /dev/sdb',
    notMatch:
      'udevadm trigger  udevadm control --reload  udevadm info --cleanup-db  udevadm monitor  udevadm info -e -x /etc  udevadm settle',
  },
  {
    names: ['numactl', 'numastat'],
    why: 'prints memory by node of the processors; an operand of `numactl` would be run',
    options: { '-Hs --hardware --show': flag, '-cmnvz': flag },
    operands: [],
    check: needs('-H -s --hardware --show -c -m -n -v -z', 'which would run a program'),
    match: 'numactl --hardware  numactl -s  numastat -m',
    notMatch: 'numactl --cpunodebind=0 id  numactl -H id  numactl  numastat -p x',
  },
  {
    names: ['cpupower'],
    why: 'prints frequencies and idle states; `set` verbs change them',
    options: { '-c --cpu': kind('processors', /^(?:all|[\d,-]{1,60})$/) },
    verbs: { 'frequency-info, idle-info, monitor -l': { options: { '-efdpglmwso --hwfreq --governors --driver --policy': flag } } },
    match: 'cpupower frequency-info  cpupower -c all frequency-info -g  cpupower idle-info',
    notMatch: 'cpupower frequency-set -g performance  cpupower idle-set -D 0  cpupower monitor',
  },
  {
    names: ['nvidia-smi'],
    why: 'prints the state of NVIDIA cards; `-r`, `-pm` and the like change them, `-l` never ends, `-f` writes',
    style: 'words',
    options: {
      '-L -q --list-gpus --query': flag,
      '-i --id': kind('a card', /^[0-9,:.a-fA-F]{1,40}$/),
      '-d --display': kind('parts', /^[A-Z_,]{2,80}$/),
      '--query-gpu --query-compute-apps': kind('fields', /^[a-z0-9._,]{1,300}$/),
      '--format': kind('a format', /^csv(?:,(?:noheader|nounits))*$/),
    },
    verbs: { '': {}, 'topo -m': {}, vgpu: { options: { '-q': flag } } },
    match: 'nvidia-smi  nvidia-smi -L  nvidia-smi --query-gpu=name,temperature.gpu --format=csv',
    notMatch: 'nvidia-smi -r  nvidia-smi -pm 1  nvidia-smi -l 1  nvidia-smi -q -f /etc/x  nvidia-smi dmon',
  },
  {
    names: ['lsscsi', 'lsirq', 'lsipc', 'lslocks'],
    why: 'lists SCSI devices, interrupts or locks',
    options: {
      '-abcdegHiJklLnPrsStuwWv --json --noheadings --raw --bytes --notruncate --size --long --list': flag,
      '-o --output': columns,
    },
    match: 'lsscsi -s  lslocks -o PID,COMMAND,PATH  lsirq  lsscsi -g',
    notMatch: 'lsscsi --sysfsroot=/x  lsscsi -y /x  lsirq --softirq=x  lslocks /etc/shadow',
  },
  {
    names: ['lsns'],
    why: 'lists namespaces',
    options: {
      '-JlnruW --json --list --noheadings --raw': flag,
      '-o --output': columns,
      '-p --task': number,
      '-t --type': oneOf('a type', 'mnt net ipc user pid uts cgroup time'),
    },
    match: 'lsns  lsns -t net -o NS,PID,COMMAND',
    notMatch: 'lsns x  lsns -t /etc/shadow',
  },
];
