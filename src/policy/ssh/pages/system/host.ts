/** The node itself: names, time, users; processors, buses, firmware, sensors. */
import {
  anyNumber,
  atMostOne,
  attached,
  columns,
  device,
  kind,
  listOf,
  needs,
  number,
  oneOf,
  some,
  text,
  time,
  userName,
  word,
} from '../../kinds.ts';
import type { Kind, Pages } from '../../page.ts';

const precision = oneOf('a precision', 'date hours minutes seconds ns d h m s');

/** util-linux takes `-e=CPU` as `-e CPU`. */
const attachedColumns: Kind = { ...columns, accepts: (value) => columns.accepts(value.replace(/^=/, '')) };
const slot = kind('a slot such as 01:00.0', /^[0-9a-fA-F:.*]{1,15}$/);
const vendor = kind('ids such as 10de:2204', /^[0-9a-fA-F*]{0,4}:[0-9a-fA-F*]{0,4}(?::[0-9a-fA-F*]{0,4})?$/);

/** SECURITY: `-H` with a name and `-I lan` reach other machines; so no interface is chosen. */
const ipmiVerbs = `sdr, sdr info, sensor, sensor list, sel, sel info, sel list, sel elist, fru, mc info,
  bmc info, chassis status, chassis power status, power status, chassis restart_cause, dcmi power reading, channel info, pef status, pef info, pef list`;

export const host: Pages = {
  hostname: {
    why: 'prints names and addresses; an operand or `-F` would set the name',
    flags: '-fIisdA --fqdn --long --all-ip-addresses --all-fqdns --ip-address --short --domain',
    match: 'hostname  hostname -f  hostname --all-ip-addresses',
    notMatch: 'hostname pwned  hostname -F /tmp/x  hostname -b  hostname --file=/tmp/x  hostname -fF x',
  },
  hostnamectl: {
    why: 'prints names and system; `set-…`, `-H` and `-M` change or reach elsewhere',
    flags: '--static --transient --pretty --no-pager',
    options: { '--json': oneOf('a form', 'short pretty off') },
    verbs: { ', status, hostname, chassis, deployment, location, icon-name': {} },
    match: 'hostnamectl  hostnamectl status  hostnamectl --static',
    notMatch: 'hostnamectl set-hostname x  hostnamectl hostname x  hostnamectl -H x  hostnamectl chassis server',
  },
  'uname lsb_release arch nproc whoami tty runlevel lsmem': {
    why: 'prints one fact of the machine',
    flags: `-asnrvmpiodc --all --kernel-name --kernel-release --kernel-version --machine --nodename --operating-system --processor
      --hardware-platform --json --summary --bytes`,
    options: { '--ignore': number },
    match: 'uname -a  uname -srm  nproc --all  arch  lsmem --summary  lsb_release -a',
    notMatch: 'uname x  uname -z  nproc 1  whoami x  lsmem --sysroot /x',
  },
  uptime: {
    why: 'prints how long the node has run',
    flags: '-psV --pretty --since --version',
    match: 'uptime  uptime -p  uptime --since',
    notMatch: 'uptime /etc/shadow  uptime --help-me',
  },
  date: {
    why: 'prints the time; an operand without `+` or `-s` would set it, `-f` and `-r` read files',
    flags: '-uR --utc --universal --rfc-email',
    options: { '-d --date': time, '-I --iso-8601': attached(precision), '--rfc-3339': precision },
    operands: [atMostOne(kind('a format that starts with `+`', /^\+/))],
    match: `date  date -u  date '+%F %T'  date -d '1 hour ago' +%F  date -Is`,
    notMatch: 'date -s 2020-01-01  date 010101002020  date --set=x  date -f /etc/shadow  date -r /etc/shadow',
  },
  hwclock: {
    why: 'prints the clock of the board; other options set it',
    flags: '-rv --show --get --verbose --utc',
    check: needs('-r --show --get', 'which would be less clear; add `--show`'),
    match: 'hwclock --show  hwclock -r',
    notMatch: 'hwclock -w  hwclock --systohc  hwclock --set --date x  hwclock -s  hwclock -f /etc/x -r',
  },
  timedatectl: {
    why: 'prints clock and synchronisation; `set-…` changes them',
    flags: '--no-pager --all --value',
    options: { '-p --property': word },
    verbs: { ', status, show, timesync-status, show-timesync, list-timezones': {} },
    match: 'timedatectl  timedatectl status  timedatectl show-timesync --all  timedatectl show -p NTPSynchronized',
    notMatch: 'timedatectl set-ntp false  timedatectl set-time 1  timedatectl -H x  timedatectl set-timezone UTC',
  },
  chronyc: {
    why: 'asks the local chronyd; `-h` asks another host, other commands change it',
    flags: '-nNacv',
    verbs: {
      'tracking, activity, sourcestats, sources, selectdata, ntpdata, rtcdata, serverstats, smoothing, clients, authdata': {
        flags: '-av',
      },
    },
    match: 'chronyc tracking  chronyc sources -v  chronyc -n sourcestats  chronyc activity',
    notMatch: `chronyc makestep  chronyc 'add server x'  chronyc -h evil sources  chronyc shutdown  chronyc -f /x tracking  chronyc`,
  },
  ntpq: {
    why: 'asks the local ntpd for its peers',
    flags: '-pnw --peers --numeric --wide',
    check: needs('-p --peers', 'which would read commands'),
    match: 'ntpq -p  ntpq -pn',
    notMatch: `ntpq  ntpq -c 'config x'  ntpq -p evil`,
  },
  'who w users': {
    why: 'prints who is logged in; a file operand would be read',
    flags: '-abdHhlmpqrstTufiow --all --boot --heading --count --users --runlevel --time --no-header --short --from --ip-addr',
    match: 'who  who -a  who -b  w -h  w',
    notMatch: 'who /etc/shadow  who --lookup  who /var/log/btmp  w --kill',
  },
  'last lastlog': {
    why: 'prints logins; `-f` reads another file, `lastlog -C` and `-S` write',
    flags: '-adFiRwx --dns --fullnames --fulltimes --hostlast --nohostname --system --ip',
    options: {
      '-n --limit -#': number,
      '-s --since -p --present -t --until --time': time,
      '-u --user': userName,
      '--time-format': oneOf('a time format', 'notime short full iso'),
    },
    operands: [anyNumber(kind('the name of a user or terminal', /^[a-z_][a-z0-9_.-]{0,31}$/), 3)],
    match: 'last -n 5  last reboot  last -x -n 10  last -5  lastlog -u root  lastlog',
    notMatch: 'last -f /etc/shadow  last --file=/etc/shadow  lastlog -C -u root  last /etc/shadow',
  },
  'id groups': {
    why: 'prints the numbers and groups of an account; a person is asked',
    flags: '-ugGnrz --user --group --groups --name --real',
    operands: [anyNumber(userName, 3)],
    check: () => ({ ask: 'it prints an account of the node' }),
    match: 'id  id root  id -un  groups www-data',
    notMatch: 'id x/y  id --help=x  groups -x',
  },
  crontab: {
    why: 'prints the tasks of an account; a person is asked, and the rest changes them',
    flags: '-l',
    options: { '-u': userName },
    check: ({ has }) => (has('-l') ? { ask: 'commands in a crontab may hold passwords' } : 'without `-l`, which would change it'),
    match: 'crontab -l  crontab -l -u root',
    notMatch: 'crontab  crontab -r  crontab -e  crontab /root/x  crontab -lr',
  },
  loginctl: {
    why: 'lists sessions; other verbs end or lock them',
    flags: '--no-pager --no-legend --full -l',
    verbs: { ', list-sessions, list-users, list-seats': {}, 'session-status, user-status': { operands: [atMostOne(word)] } },
    match: 'loginctl  loginctl list-sessions --no-legend  loginctl session-status 1',
    notMatch: 'loginctl terminate-user root  loginctl kill-session 1  loginctl -H x list-sessions  loginctl show-session 1',
  },
  getent: {
    why: 'looks up public tables and names of hosts; `shadow` is left out, and a person is asked of accounts',
    verbs: {
      'ahosts, ahostsv4, ahostsv6, hosts': {
        operands: [
          some(
            kind(
              'a name of the cluster or an address',
              /^[A-Za-z0-9:][A-Za-z0-9:-]{0,60}(?:\.(?:[0-9.]+|local|lan|home|internal|localdomain))?$/,
            ),
            4,
          ),
        ],
      },
      'services, protocols, networks, rpc, group': {
        operands: [anyNumber(kind('a name or port', /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,40}(?:\/(?:tcp|udp))?$/), 4)],
      },
      passwd: { operands: [anyNumber(word, 4)], check: () => ({ ask: 'it prints accounts of the node' }) },
    },
    match: 'getent hosts pve2  getent ahostsv4 10.0.0.1  getent services ssh  getent passwd root',
    notMatch: 'getent shadow  getent gshadow  getent hosts secret.evil.example  getent -s x hosts pve',
  },
  'echo printf true': {
    why: 'prints the words that are given, to separate the output of others',
    flags: '-n -e -E -en -ne',
    style: 'text',
    operands: [anyNumber(text, 20)],
    check: ({ name, operands: [format = ''] }) =>
      name === 'printf' && /^-|%[^%A-Za-z]*(?:\d{4}|\*)/.test(format) ? 'with an option, or a wide field' : undefined,
    match: `echo -e 'x'  echo '--- zpool' && zpool status -x  echo -n x  echo '== disks' && lsblk  echo  printf '%s\\n' ok  true`,
    notMatch: 'echo x > /etc/motd  echo $HOME  echo `id`  echo x | sh  printf -v x y  printf %99999d 1',
  },
  lscpu: {
    why: 'prints the processors; `-s` would read another root',
    flags: '-JxyabcBC --json --hex --physical --all --online --offline --bytes --output-all --raw',
    options: { '-ep --extended --parse --caches': attached(attachedColumns) },
    match: 'lscpu  lscpu -J  lscpu -e  lscpu -e=CPU,NODE',
    notMatch: 'lscpu -s /mnt  lscpu --sysroot=/mnt',
  },
  lspci: {
    why: 'prints PCI devices; `-F`, `-A`, `-O`, `-H`, `-M` and `-i` read files or touch the bus',
    flags: '-vnktPDbm',
    options: { '-s': slot, '-d': vendor },
    match: 'lspci  lspci -nnk  lspci -vvv -s 01:00.0  lspci -tv  lspci -d 10de:',
    notMatch: 'lspci -F /etc/shadow  lspci -A x -O dump.name=/x  lspci -xxx  lspci -H1  lspci -i /etc/shadow  lspci -Q',
  },
  lsusb: {
    why: 'prints USB devices; `-D` opens one by its path',
    flags: '-vt --verbose --tree',
    options: { '-s': kind('a bus and device', /^\d{0,3}:?\d{0,3}$/), '-d': vendor },
    match: 'lsusb  lsusb -t  lsusb -v -d 1d6b:0002',
    notMatch: 'lsusb -D /dev/bus/usb/001/001  lsusb --device=/x',
  },
  dmidecode: {
    why: 'prints what the firmware says of the machine; `--dump-bin` writes, `--from-dump` and `-d` read files',
    flags: '-qu --quiet --no-sysfs',
    options: {
      '-t --type': listOf(kind('a type', /^(?:\d{1,3}|[a-z]{2,12})$/)),
      '-s --string': kind('the name of a value', /^[a-z-]{3,40}$/),
      '-H --handle': kind('a handle', /^(?:0x)?[0-9A-Fa-f]{1,4}$/),
    },
    match: 'dmidecode  dmidecode -t memory  dmidecode -s system-product-name  dmidecode -q -t 17',
    notMatch: 'dmidecode --dump-bin /etc/x  dmidecode --from-dump /etc/shadow  dmidecode -d /dev/sda  dmidecode --dump',
  },
  'lshw inxi hwinfo': {
    why: 'prints an inventory; `lshw -dump` writes, `inxi -i` and `-w` ask the network, `hwinfo --save-config` writes',
    style: 'words',
    flags: `-short -businfo -json -xml -numeric -quiet -sanitize -F -Fx -Fxx -Fxxx -Fz -M -C -D -N -S -m -b -c0 -z --short --cpu
      --disk --memory --netcard --gfxcard`,
    options: { '-class -C -c': kind('a class', /^[a-z]{3,15}$/) },
    match: 'lshw -short  lshw -class disk -class network  inxi -F  hwinfo --short',
    notMatch: 'lshw -dump /etc/x  lshw -disable x  inxi -i  inxi -U  hwinfo --save-config=all  hwinfo --log /etc/x  lshw -X',
  },
  sensors: {
    why: 'prints sensor values; `-s` writes limits to chips, `-c` reads another file',
    flags: '-Afuj --no-adapter --fahrenheit',
    operands: [anyNumber(kind('the name of a chip', /^[a-z0-9_]+-(?:\*|(?:[a-z0-9_]+|\*)-[a-z0-9*]+)$/), 8)],
    match: 'sensors  sensors -j  sensors -A  sensors coretemp-isa-0000',
    notMatch: 'sensors -s  sensors --set  sensors -c /etc/shadow  sensors -js  sensors --bus-list',
  },
  ipmitool: {
    why: 'asks the board of this machine; other verbs switch or configure, `-H` reaches other machines, and of `lan print` a person is asked',
    flags: '-vc',
    verbs: {
      [ipmiVerbs.replace(/\s+/g, ' ')]: {},
      'sdr type, sdr entity': { operands: [word] },
      'lan print': { operands: [atMostOne(number)], check: () => ({ ask: 'it prints the community string of SNMP' }) },
      'sdr list, sdr elist': { operands: [atMostOne(oneOf('a kind', 'all full compact event mcloc fru generic'))] },
      'fru print': { operands: [atMostOne(number)] },
      'sel list, sel elist': { operands: [atMostOne(oneOf('`first` or `last`', 'first last')), atMostOne(number)] },
    },
    match: `ipmitool sdr list  ipmitool sel elist  ipmitool chassis power status  ipmitool sel list last 10  ipmitool sdr type temperature`,
    notMatch: `ipmitool chassis power cycle  ipmitool power off  ipmitool -H 10.0.0.9 sdr  ipmitool sel clear  ipmitool exec /x  ipmitool shell
      ipmitool lan set 1 x  ipmitool sdr dump /x`,
  },
  'efibootmgr mokutil bootctl': {
    why: 'prints how the machine boots; other options change it',
    flags: '-v --verbose --sb-state --no-pager',
    verbs: { '': {}, 'status, list': { flags: '--no-pager' } },
    check: ({ verb, options }) => (options.has('--sb-state') && verb !== '' ? 'with both a verb and `--sb-state`' : undefined),
    match: 'efibootmgr -v  efibootmgr  mokutil --sb-state  bootctl status --no-pager',
    notMatch: 'efibootmgr -o 0001  efibootmgr -B -b 1  efibootmgr -n 2  mokutil --import x  bootctl install  bootctl set-default x',
  },
  udevadm: {
    why: 'prints what udev knows of a device; other verbs trigger or change rules',
    verbs: {
      info: {
        flags: '-ax --attribute-walk --export',
        options: {
          '-q --query': oneOf('what to print', 'all name path symlink property'),
          '-n --name': device,
          '-p --path': kind('a path of /sys', /^\/(?:sys\/)?(?:class|block|devices|bus)\/[A-Za-z0-9_.:/@-]{1,200}$/),
        },
        operands: [anyNumber(device, 4)],
      },
    },
    match: 'udevadm info /dev/sda  udevadm info --query=all --name=/dev/nvme0n1  udevadm info -a -n /dev/sdb',
    notMatch: `udevadm trigger  udevadm control --reload  udevadm info --cleanup-db  udevadm monitor  udevadm info -e -x /etc  udevadm settle`,
  },
  numactl: {
    why: 'prints the nodes of the processors; an operand would be run',
    flags: '-Hs --hardware --show',
    check: needs('-H -s --hardware --show', 'which would run a program'),
    match: 'numactl --hardware  numactl -s  numactl -H',
    notMatch: 'numactl --cpunodebind=0 id  numactl -H id  numactl  numactl -N0 reboot',
  },
  numastat: {
    why: 'prints memory by node of the processors',
    flags: '-cmnvz',
    options: { '-p': word },
    operands: [anyNumber(word, 4)],
    match: 'numastat  numastat -m  numastat -c kvm  numastat -p 1',
    notMatch: 'numastat -V=x  numastat /etc/shadow  numastat -x /y',
  },
  cpupower: {
    why: 'prints frequencies and idle states; `set` verbs change them',
    options: { '-c --cpu': kind('processors', /^(?:all|[\d,-]{1,60})$/) },
    verbs: { 'frequency-info, idle-info, monitor -l': { flags: '-efdpglmwso --hwfreq --governors --driver --policy' } },
    match: 'cpupower frequency-info  cpupower -c all frequency-info -g  cpupower idle-info',
    notMatch: 'cpupower frequency-set -g performance  cpupower idle-set -D 0  cpupower monitor',
  },
  'nvidia-smi': {
    why: 'prints the state of NVIDIA cards; `-r`, `-pm` and the like change them, `-l` never ends, `-f` writes',
    style: 'words',
    flags: '-L -q --list-gpus --query',
    options: {
      '-i --id': kind('a card', /^[0-9,:.a-fA-F]{1,40}$/),
      '-d --display': kind('parts', /^[A-Z_,]{2,80}$/),
      '--query-gpu --query-compute-apps': kind('fields', /^[a-z0-9._,]{1,300}$/),
      '--format': kind('a format', /^csv(?:,(?:noheader|nounits))*$/),
    },
    verbs: { '': {}, topo: { flags: '-m' }, vgpu: { flags: '-q' } },
    match: 'nvidia-smi  nvidia-smi -L  nvidia-smi --query-gpu=name,temperature.gpu --format=csv',
    notMatch: 'nvidia-smi -r  nvidia-smi -pm 1  nvidia-smi -l 1  nvidia-smi -q -f /etc/x  nvidia-smi dmon',
  },
  'lsscsi lsirq lsipc lslocks': {
    why: 'lists SCSI devices, interrupts or locks',
    flags: '-abcdegHiJklLnPrsStuwWv --json --noheadings --raw --bytes --notruncate --size --long --list',
    options: { '-o --output': columns },
    match: 'lsscsi -s  lslocks -o PID,COMMAND,PATH  lsirq  lsscsi -g',
    notMatch: 'lsscsi --sysfsroot=/x  lsscsi -y /x  lsirq --softirq=x  lslocks /etc/shadow',
  },
  lsns: {
    why: 'lists namespaces',
    flags: '-JlnruW --json --list --noheadings --raw',
    options: { '-o --output': columns, '-p --task': number, '-t --type': oneOf('a type', 'mnt net ipc user pid uts cgroup time') },
    match: 'lsns  lsns -t net -o NS,PID,COMMAND',
    notMatch: 'lsns x  lsns -t /etc/shadow',
  },
};
