/** Listing, finding and reading files of a node. */
import { amount, anyNumber, atMostOne, attached, kind, number, oneOf, some, text, time, unitOfSize, when } from '../../kinds.ts';
import type { Call, Kind, Objection, Pages, Slot } from '../../page.ts';
import { listablePath, listableTree, readableFile, readableTree } from '../../places.ts';
import { ofLines } from './filters.ts';

/** GNU grep 3. Not `-f`, `--file`, `--exclude-from`: they read files. Not `-R`: it follows links. */
const grepFlags = `-abcEFGhHiIlLnoPqrsTUvwxyzZ --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case
  --no-ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches --files-without-match --only-matching
  --quiet --silent --no-messages --byte-offset --with-filename --no-filename --line-number --initial-tab --null --text --null-data
  --line-buffered --recursive`;

/** `-e` gives the pattern, so the first operand is a file then. */
function patternThenFiles({ has }: Pick<Call, 'has'>): readonly Slot[] {
  const files = has('-r', '--recursive') ? some(readableTree, 8) : anyNumber(readableFile, 32);
  return has('-e', '--regexp') ? [files] : [text, files];
}

/** SECURITY: of binary files, such as `/var/log/btmp`, a walk prints no more than that they match. */
function noBinaries({ has }: Call): string | undefined {
  return has('-r', '--recursive') && has('-a', '--text', '-z', '--null-data')
    ? 'with `-r` and `-a`, which would print binary files'
    : undefined;
}

const age = kind('a number such as `-7`', /^[+-]?\d{1,6}(?:\.\d{1,3})?$/);

/** Names of everything, homes and keys among them, are for a person to agree to. */
function rootsOfFind({ operands }: Call): Objection | undefined {
  const isOpen = (root: string) => listableTree.accepts(root) || (kernelTree.test(root) && listablePath.accepts(root));
  return operands.every(isOpen) ? undefined : { ask: 'it lists names in places that hold homes, keys or the trees of the kernel' };
}

/** `find` follows no links, so these parts end. */
const kernelTree = /^\/(?:sys\/(?:class|block|bus|kernel\/iommu_groups|devices\/system|module\/\w+)|dev\/(?:disk|mapper|pve|zvol))(?:\/|$)/;

const place: Kind = { ...listablePath, accepts: (path) => listablePath.accepts(path) && !/[*?[]/.test(path) };

export const files: Pages = {
  'ls dir': {
    why: 'lists names and attributes; `-L` and `-H` would follow links, `-R` walks only trees without secrets',
    flags: `-aAbBcCdfFgGhiklmnNopqQrRsStuUvxX1Z --all --almost-all --directory --full-time --human-readable --si --inode
      --numeric-uid-gid --no-group --reverse --size --group-directories-first --file-type --classify --recursive`,
    options: {
      '-I --ignore --hide': text,
      '-wT --width': number,
      '--time-style': kind('a time style', /^(?:(?:posix-)?(?:full-iso|long-iso|iso|locale)|\+[%A-Za-z0-9 :.,/_-]{1,40})$/),
      '--sort': oneOf('a sort order', 'none name size time version extension width'),
      '--time': oneOf('a time', 'atime access use ctime status birth mtime modification'),
      '--block-size': unitOfSize,
      '--color': attached(when),
    },
    operands: ({ has }) => (has('-R', '--recursive') ? [some(listableTree, 8)] : [anyNumber(listablePath, 32)]),
    match: `ls  ls -lh /var/lib/vz/dump  ls -la /etc/pve/qemu-server /etc/pve/lxc  ls -R /var/lib/vz  ls -l /dev/disk/by-id/  ls /sys/class/net
      ls -lR /sys/class/thermal`,
    notMatch: `ls -R /  ls -R  ls /etc/pve/priv  ls /proc/1/root  ls ../x  ls /root/.ssh  ls -l /proc/self/fd  ls -LR /var/lib/vz  ls -R /etc/pve
      ls -R /sys  ls -la /etc/ssl/private`,
  },
  'cat tac nl zcat xzcat zstdcat bzcat': {
    why: 'prints files without secrets, or what is piped into it',
    flags: '-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting',
    operands: [anyNumber(readableFile, 32)],
    filter: true,
    match: `cat /proc/meminfo  cat /sys/class/thermal/thermal_zone*/temp 2>/dev/null  cat -n /etc/hosts  cat /etc/network/interfaces
      cat /var/log/syslog  cat /etc/pve/storage.cfg  cat /etc/pve/qemu-server/100.conf  cat /proc/1/status  zcat /var/log/syslog.2.gz  df | cat
      cat /var/log/vzdump/qemu-100.log`,
    notMatch: `cat /etc/shadow  cat /etc/pve/priv/authkey.key  cat /root/.ssh/id_rsa  cat /sys/../etc/shadow  cat /proc/1/environ  cat /dev/sda  cat -
      cat /sys/kernel/debug/tracing/trace_pipe  cat /sys/*/*/tracing/trace_pipe  cat  cat /etc/pve/user.cfg  cat /etc/pve/local/pve-ssl.key  cat /etc/*
      cat /var/lib/pve-cluster/config.db  cat /proc/self/root/etc/shadow  cat /etc/pve/domains.cfg  cat /etc/pve/sdn/dns.cfg  cat /var/log/btmp`,
  },
  'head tail': {
    why: 'prints the first or last lines; `-f`, `--follow` and `--pid` never end',
    flags: '-qvz --quiet --silent --verbose --zero-terminated',
    options: { '-nc --lines --bytes': amount, '-#': number },
    ...ofLines,
    match: 'tail -n 50 /var/log/syslog  lsblk | head -n 5  ps aux | head -20  tail -100 /var/log/pve/tasks/index  df | tail -n +2',
    notMatch: `tail -f /var/log/syslog  tail -F /var/log/syslog  tail --follow=name /var/log/syslog  head -n 1 /etc/shadow  head  head -c 1G /dev/zero
      tail --pid=1 /etc/hosts  df | tail --follow`,
  },
  'grep egrep fgrep zgrep zegrep zfgrep xzgrep zstdgrep': {
    why: 'searches what is piped into it, files without secrets, or whole trees of logs; `-f` reads files, `-R` follows links',
    flags: grepFlags,
    options: {
      '-e --regexp --include --exclude --exclude-dir': text,
      '-mABC --max-count --after-context --before-context --context -#': number,
      '--color --colour': attached(when),
    },
    operands: patternThenFiles,
    filter: true,
    check: noBinaries,
    match: `ps aux | grep pveproxy  grep -i error /var/log/syslog  grep -m1 'model name' /proc/cpuinfo  df -h | grep -v tmpfs
      grep -r . /sys/class/dmi/id  grep -E '^(iface|auto)' /etc/network/interfaces  grep -rn fence /var/log  zgrep -i error /var/log/syslog.2.gz
      grep -e a -e b /etc/hosts  lspci | grep -A3 -i vga`,
    notMatch: `grep -r password /etc  grep -r . /etc/pve/priv  grep '' /etc/shadow  uptime | grep -f /etc/shadow  grep -R x /sys/class  grep x
      grep -r x /proc  uptime | grep x /proc/meminfo  grep --file=/etc/shadow x  grep -r . /sys  grep -ra . /var/log  ls | grep -r root /etc
      grep root /etc/pve/user.cfg`,
  },
  wc: {
    why: 'counts standard input, or the same files as cat; `--files0-from` reads a list of files',
    flags: '-clmLw --bytes --chars --lines --max-line-length --words',
    ...ofLines,
    match: 'ps aux | wc -l  wc -l /proc/cpuinfo  wc -l /var/log/syslog',
    notMatch: 'df -h | wc --files0-from=/etc/shadow  wc -l /etc/shadow  wc  df | wc -l /etc/hosts',
  },
  'md5sum sha1sum sha256sum cksum': {
    why: 'sums up the same files as cat; `-c` reads a list of files',
    flags: '-bt',
    ...ofLines,
    match: 'md5sum /etc/pve/corosync.conf /etc/corosync/corosync.conf  df | md5sum  sha256sum /etc/network/interfaces',
    notMatch: 'sha256sum /etc/shadow  md5sum --check /etc/x  md5sum -c /etc/hosts  md5sum',
  },
  'diff cmp': {
    why: 'compares two of the same files as cat; `-r` would walk trees',
    flags: '-qsuyiwbBlNa --brief --report-identical-files --side-by-side --unified --suppress-common-lines --color',
    options: { '-U -n': number },
    operands: [readableFile, readableFile],
    match: 'diff /etc/corosync/corosync.conf /etc/pve/corosync.conf  diff -u /etc/hosts /etc/fstab  cmp /etc/hosts /etc/fstab',
    notMatch: `diff /etc/hosts /etc/shadow  diff -r /etc /etc/pve  diff /etc/hosts  diff --from-file=/etc/shadow /etc/hosts  cmp - /etc/hosts`,
  },
  'getfacl lsattr': {
    why: 'prints access lists or attributes; `-R` would walk trees',
    flags: '-pcntald --omit-header --absolute-names --numeric',
    operands: [some(listablePath, 8)],
    match: 'getfacl /var/lib/vz  lsattr -d /etc/pve',
    notMatch: 'getfacl -R /etc  lsattr /root/.ssh  getfacl -  lsattr -R /  getfacl',
  },
  'which whereis type': {
    why: 'prints where a program is',
    flags: '-ab',
    operands: [some(kind('the name of a program', /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,60}$/), 8)],
    match: 'which zpool  which -a qm pct  whereis zfs',
    notMatch: 'which /root/x  whereis -B /root -f x  which',
  },
  'test [': {
    why: 'tells whether a file is there',
    style: 'words',
    flags: '-f -d -e -s -L -h -b -c -r -x !',
    operands: [place, atMostOne(oneOf('`]`', ']'))],
    check: ({ name, operands }) => ((name === '[') === (operands.length === 2) ? undefined : 'with its `]` too many or too few'),
    match: 'test -f /var/run/reboot-required && echo yes  test -e /etc/pve/ceph.conf  [ -e /var/run/reboot-required ] && echo reboot',
    notMatch: `test -f /root/.ssh/id_rsa  test -e ../x  test x = y  test  [ -f /root/.ssh/x ]  [ -f /etc/hosts  test -f /etc/hosts ]
      [ /etc/hosts -o -n ]`,
  },
  find: {
    why: 'finds files by name and attributes; `-exec`, `-ok`, `-delete`, `-fprint`, `-fls` act, `-L`, `-H`, `-follow` follow links',
    style: 'words',
    flags: `( ) ! -not -a -and -o -or -true -false -empty -readable -writable -executable -nouser -nogroup -print -print0 -ls -prune
      -quit -depth -xdev -mount -daystart -noleaf -ignore_readdir_race -P`,
    options: {
      '-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname': text,
      '-regextype': oneOf('a syntax', 'posix-awk posix-basic posix-egrep posix-extended egrep grep'),
      '-type -xtype': kind('a type of file', /^[bcdflps](?:,[bcdflps]){0,6}$/),
      '-maxdepth -mindepth': kind('a depth', /^1?\d$/),
      '-mtime -mmin -atime -amin -ctime -cmin -used -links -inum -uid -gid': age,
      '-size': kind('a size such as `+10M`', /^[+-]?\d{1,12}[bcwkMG]?$/),
      '-perm': kind('a mode such as `/222`', /^[/-]?(?:[0-7]{1,4}|[ugoa]*[+=-][rwxXst]*(?:,[ugoa]*[+=-][rwxXst]*){0,4})$/),
      '-user -group -fstype': kind('a name or number', /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/),
      '-newermt -newerct -newerat': time,
      '-newer': place,
      '-printf': kind('an output format', /^[ -~]{1,300}$/),
    },
    operands: [some(place, 8)],
    check: rootsOfFind,
    match: `find /var/log -type f -size +100M -ls  find /var/lib/vz -name '*.vma.zst' -mtime +30  find /sys/kernel/iommu_groups/ -type l
      find / -xdev -type f -size +1G  find /var/lib/vz/dump -maxdepth 1 -type f -printf '%s %p\\n'  find /mnt/pve/nas -iname '*.iso'`,
    notMatch: `find / -name '*.key' -exec cat {} +  find /var/log -fprintf /tmp/x %p  find / -ok rm {} \\;  find /var/log -delete  find -L /var/log
      find / -name x -exec id +  find /etc/pve/priv  find /var/log -fls x  find /var/log -files0-from x  find  find -H /var/log
      find /var/log -execdir id +`,
  },
};
