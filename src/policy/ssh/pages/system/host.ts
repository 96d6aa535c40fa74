/** Names, time, users: what the node is and who is on it. */
import { anyNumber, atMostOne, attached, kind, needs, number, oneOf, some, text, time, userName, word } from '../../kinds.ts';
import { flag, type Page } from '../../page.ts';

const precision = oneOf('a precision', 'date hours minutes seconds ns d h m s');

export const host: readonly Page[] = [
  {
    names: ['hostname'],
    why: 'prints names and addresses; an operand or `-F` would set the name',
    options: { '-fIisdA --fqdn --long --all-ip-addresses --all-fqdns --ip-address --short --domain': flag },
    match: 'hostname  hostname -f  hostname --all-ip-addresses',
    notMatch: 'hostname pwned  hostname -F /tmp/x  hostname -b  hostname --file=/tmp/x  hostname -fF x',
  },
  {
    names: ['hostnamectl'],
    why: 'prints names and system; `set-…`, `-H` and `-M` change or reach elsewhere',
    options: { '--static --transient --pretty --no-pager': flag, '--json': oneOf('a form', 'short pretty off') },
    verbs: { ', status, hostname, chassis, deployment, location, icon-name': {} },
    match: 'hostnamectl  hostnamectl status  hostnamectl --static',
    notMatch: 'hostnamectl set-hostname x  hostnamectl hostname x  hostnamectl -H x  hostnamectl chassis server',
  },
  {
    names: ['uname', 'lsb_release', 'arch', 'nproc', 'whoami', 'tty', 'runlevel', 'lsmem'],
    why: 'prints one fact of the machine',
    options: {
      '-asnrvmpiodc --all --kernel-name --kernel-release --kernel-version --machine --nodename --operating-system': flag,
      '--processor --hardware-platform --json --summary --bytes': flag,
      '--ignore': number,
    },
    match: 'uname -a  uname -srm  nproc --all  arch  lsmem --summary  lsb_release -a',
    notMatch: 'uname x  uname -z  nproc 1  whoami x  lsmem --sysroot /x',
  },
  {
    names: ['uptime'],
    why: 'prints how long the node has run',
    options: { '-psV --pretty --since --version': flag },
    match: 'uptime  uptime -p  uptime --since',
    notMatch: 'uptime /etc/shadow  uptime --help-me',
  },
  {
    names: ['date'],
    why: 'prints the time; an operand without `+` or `-s` would set it, `-f` and `-r` read files',
    options: {
      '-uR --utc --universal --rfc-email': flag,
      '-d --date': time,
      '-I --iso-8601': attached(precision),
      '--rfc-3339': precision,
    },
    operands: [atMostOne(kind('a format that starts with `+`', /^\+/))],
    match: `date  date -u  date '+%F %T'  date -d '1 hour ago' +%F  date -Is`,
    notMatch: 'date -s 2020-01-01  date 010101002020  date --set=x  date -f /etc/shadow  date -r /etc/shadow',
  },
  {
    names: ['hwclock'],
    why: 'prints the clock of the board; other options set it',
    options: { '-rv --show --get --verbose --utc': flag },
    check: needs('-r --show --get', 'which would be less clear; add `--show`'),
    match: 'hwclock --show  hwclock -r',
    notMatch: 'hwclock -w  hwclock --systohc  hwclock --set --date x  hwclock -s  hwclock -f /etc/x -r',
  },
  {
    names: ['timedatectl'],
    why: 'prints clock and synchronisation; `set-…` changes them',
    options: { '--no-pager --all --value': flag, '-p --property': word },
    verbs: { ', status, show, timesync-status, show-timesync, list-timezones': {} },
    match: 'timedatectl  timedatectl status  timedatectl show-timesync --all  timedatectl show -p NTPSynchronized',
    notMatch: 'timedatectl set-ntp false  timedatectl set-time 1  timedatectl -H x  timedatectl set-timezone UTC',
  },
  {
    names: ['chronyc'],
    why: 'asks the local chronyd; `-h` asks another host, other commands change it',
    options: { '-nNacv': flag },
    verbs: {
      'tracking, activity, sourcestats, sources, selectdata, ntpdata, rtcdata, serverstats, smoothing, clients, authdata': {
        options: { '-av': flag },
      },
    },
    match: 'chronyc tracking  chronyc sources -v  chronyc -n sourcestats  chronyc activity',
    notMatch: `chronyc makestep  chronyc 'add server x'  chronyc -h evil sources  chronyc shutdown  chronyc -f /x tracking  chronyc`,
  },
  {
    names: ['ntpq'],
    why: 'asks the local ntpd for its peers',
    options: { '-pnw --peers --numeric --wide': flag },
    check: needs('-p --peers', 'which would read commands'),
    match: 'ntpq -p  ntpq -pn',
    notMatch: `ntpq  ntpq -c 'config x'  ntpq -p evil`,
  },
  {
    names: ['who', 'w', 'users'],
    why: 'prints who is logged in; a file operand would be read',
    options: {
      '-abdHhlmpqrstTufiow --all --boot --heading --count --users --runlevel --time --no-header --short --from --ip-addr': flag,
    },
    match: 'who  who -a  who -b  w -h  w',
    notMatch: 'who /etc/shadow  who --lookup  who /var/log/btmp  w --kill',
  },
  {
    names: ['last', 'lastlog'],
    why: 'prints logins; `-f` reads another file, `lastlog -C` and `-S` write',
    options: {
      '-adFiRwx --dns --fullnames --fulltimes --hostlast --nohostname --system --ip': flag,
      '-n --limit -#': number,
      '-s --since -p --present -t --until --time': time,
      '-u --user': userName,
      '--time-format': oneOf('a time format', 'notime short full iso'),
    },
    operands: [anyNumber(kind('the name of a user or terminal', /^[a-z_][a-z0-9_.-]{0,31}$/), 3)],
    match: 'last -n 5  last reboot  last -x -n 10  last -5  lastlog -u root  lastlog',
    notMatch: 'last -f /etc/shadow  last --file=/etc/shadow  lastlog -C -u root  last /etc/shadow  lastb',
  },
  {
    names: ['loginctl'],
    why: 'lists sessions; other verbs end or lock them',
    options: { '--no-pager --no-legend --full -l': flag },
    verbs: { ', list-sessions, list-users, list-seats': {}, 'session-status, user-status': { operands: [atMostOne(word)] } },
    match: 'loginctl  loginctl list-sessions --no-legend  loginctl session-status 1',
    notMatch: 'loginctl terminate-user root  loginctl kill-session 1  loginctl -H x list-sessions  loginctl show-session 1',
  },
  {
    names: ['getent'],
    why: 'looks up public tables and names of hosts; `shadow` and the tables of accounts are left out',
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
      'services, protocols, networks, rpc': { operands: [anyNumber(word, 4)] },
    },
    match: 'getent hosts pve2  getent ahostsv4 10.0.0.1  getent services ssh',
    notMatch: 'getent shadow  getent passwd  getent hosts secret.evil.example  getent -s x hosts pve',
  },
  {
    names: ['echo', 'printf', 'true'],
    why: 'prints the words that are given, to separate the output of others',
    options: { '-n -e -E -en -ne': flag },
    style: 'words',
    operands: [anyNumber(text, 20)],
    match: `echo -e 'x'  echo -n x  echo '== disks' && lsblk  echo  printf '%s\\n' ok  true`,
    notMatch: 'echo x > /etc/motd  echo $HOME  echo `id`  echo x | sh  printf -v x y',
  },
];
