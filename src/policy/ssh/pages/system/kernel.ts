/** The kernel: its messages, modules and settings. */
import { anyNumber, kind, needs, some, time } from '../../kinds.ts';
import { type Call, flag, type Page } from '../../page.ts';

const levels = kind('levels of messages', /^[a-z+]+(?:,[a-z]+)*$/);
const setting = kind(
  'the name of a setting, such as vm.swappiness',
  /^(?!.*(?:stable_secret|register))[a-z0-9_]+(?:[./][A-Za-z0-9_@*-]+){1,8}$/,
);

/** `-H` starts a pager by itself. */
function withoutPager({ has }: Call): string | undefined {
  return has('-H', '--human') && !has('-P', '--nopager') ? 'with `-H`, which starts a pager; add `--nopager`' : undefined;
}

export const kernel: readonly Page[] = [
  {
    names: ['dmesg'],
    why: 'prints kernel messages once; `-c`, `-C`, `-n`, `-D`, `-E` change the buffer or the console, `-w` never ends, `-F` and `-K` read files',
    options: {
      '-TxkuedtrSPHJ --ctime --decode --kernel --userspace --reltime --show-delta --notime --raw --syslog --nopager --human --json': flag,
      '-l --level -f --facility': levels,
      '--since --until': time,
      '--time-format': kind('a format', /^[a-z]{3,10}$/),
      '-L --color': { optional: kind('when to use colours', /^(?:auto|always|never)$/) },
    },
    check: withoutPager,
    match: 'dmesg  dmesg -T --level=err,warn  dmesg -Tx  dmesg -H --nopager  dmesg --color=never',
    notMatch: 'dmesg -c  dmesg -C  dmesg -w  dmesg -TC  dmesg -n 1  dmesg -F /etc/shadow  dmesg -H  dmesg --console-off  dmesg -D',
  },
  {
    names: ['lsmod', 'kmod'],
    why: 'lists loaded modules',
    verbs: { ', list': {} },
    match: 'lsmod  kmod list',
    notMatch: 'lsmod x  kmod load x  rmmod x  modprobe x  lsmod; rmmod x',
  },
  {
    names: ['modinfo'],
    why: 'prints what a module says of itself; `-b` reads another root',
    options: { '-adlpn0 --author --description --license --parameters --filename': flag, '-F --field': kind('a field', /^[a-z]{2,20}$/) },
    operands: [some(kind('the name of a module', /^[A-Za-z0-9_-]{1,60}$/), 8)],
    match: 'modinfo zfs  modinfo -F version nvidia  modinfo -p kvm_intel',
    notMatch: 'modinfo -b /x y  modinfo /etc/shadow  modinfo -k x y',
  },
  {
    names: ['modprobe'],
    why: 'prints the settings of all modules; anything else loads one',
    options: { '-c --showconfig': flag },
    operands: [],
    check: needs('-c --showconfig', 'which would load a module'),
    match: 'modprobe -c  modprobe --showconfig | grep vfio',
    notMatch: 'modprobe x  modprobe -r x  modprobe -c x  modprobe -C /etc/shadow -c',
  },
  {
    names: ['sysctl'],
    why: 'prints settings of the kernel; `-w` or a `=` sets them, `-p` and `--system` load files',
    options: {
      '-aneNbA --all --values --ignore --names': flag,
      '-r --pattern': kind('a pattern', /^[^\n]{1,100}$/),
    },
    operands: [anyNumber(setting)],
    match: 'sysctl -a  sysctl vm.swappiness vm.dirty_ratio  sysctl -n net.ipv4.ip_forward  sysctl -a -r bridge',
    notMatch:
      'sysctl -w vm.swappiness=1  sysctl vm.swappiness=1  sysctl -p /etc/shadow  sysctl --system  sysctl -p  sysctl net.ipv6.conf.all.stable_secret',
  },
];
