/** File systems, block devices and mounts: what is there, and what is full. */
import { anyNumber, attached, columns, device, kind, listOf, needs, number, some, unitOfSize, upTo } from '../../kinds.ts';
import { type Call, flag, type Page } from '../../page.ts';
import { listablePath, listableTree, plainPath } from '../../places.ts';

const fileSystems = listOf(kind('a type of file system', /^(?:no)?[a-z0-9._]{1,30}$/));
const source = kind('a device, place or server path', /^(?!.*\/\.{1,2}(?:\/|$))(?:\/|LABEL=|UUID=|[A-Za-z0-9])[A-Za-z0-9_.:/@=+-]{0,200}$/);
const range = kind('a number, or several with commas', /^\d{1,4}(?:,\d{1,4}){0,20}$/);

/** With `-a`, or below, each name is printed: only where no name is closed. Otherwise names of a few directories, or none. */
function namesFew({ has, operands, options }: Call): string | undefined {
  const depth = Number(options.get('-d') ?? options.get('--max-depth') ?? 99);
  if (has('-s', '--summarize') || (depth <= 2 && !has('-a', '--all') && !operands.includes('/*'))) return undefined;
  return operands.every((path) => listableTree.accepts(path)) && operands.length > 0
    ? undefined
    : 'of this place without `-s` or `-d 1`, which would print every name in it';
}

export const space: readonly Page[] = [
  {
    names: ['df'],
    why: 'prints the use of file systems; `--sync` would write',
    options: {
      '-haiklmHPT --human --human-readable --si --all --inodes --local --portability --print-type --total --no-sync': flag,
      '-xt --type --exclude-type': fileSystems,
      '-B --block-size': unitOfSize,
      '--output': attached(columns),
    },
    operands: [anyNumber(plainPath)],
    match: 'df  df -h  df -hT /var/lib/vz  df -h --output=source,size  df -x tmpfs',
    notMatch: 'df --sync  df -h x  df /var/../etc  df --files-from=x',
  },
  {
    names: ['du'],
    why: 'sums up the size of directories; `-L` and `-D` follow links, `--files0-from`, `--exclude-from` and `-X` read files',
    options: {
      '-habcklmsSx --human-readable --all --apparent-size --bytes --total --count-links --one-file-system --separate-dirs --si': flag,
      '--summarize --inodes --time': flag,
      '-d --max-depth': upTo(9),
      '-t --threshold -B --block-size': unitOfSize,
      '--exclude': kind('a pattern', /^[^\n]{1,100}$/),
    },
    operands: [some({ ...listablePath, accepts: (path) => path === '/*' || listablePath.accepts(path) })],
    check: namesFew,
    match:
      'du -sh /var/lib/vz  du -xh --max-depth=1 /var  du -shx /var/lib/vz/*  du -ah /var/lib/vz | sort -rh | head  du -h -d1 /  du -sh /*',
    notMatch:
      'du --exclude-from=/etc/shadow /  du -d1 /*  du -a /  du -h /root  du --files0-from=x  du -L /var  du -0 / -X /x  du -sh /etc/pve/priv  du',
  },
  {
    names: ['lsblk'],
    why: 'prints block devices; `--sysroot` would read another root',
    options: {
      '-AabdDfiJlmMNnOPprsStzvT --all --bytes --nodeps --discard --fs --ascii --json --list --perms --noheadings --output-all --pairs':
        flag,
      '--paths --raw --inverse --scsi --nvme --virtio --topology --zoned --tree --merge --noempty --shell': flag,
      '-Eox --dedup --output --sort': columns,
      '-eI --exclude --include': range,
      '-w --width': number,
    },
    operands: [anyNumber(device)],
    match: 'lsblk  lsblk -f  lsblk -o NAME,SIZE  lsblk --json -o NAME,MODEL /dev/sda  lsblk -dno NAME',
    notMatch: 'lsblk --sysroot /mnt  lsblk /etc/shadow  lsblk /dev/../etc/shadow  lsblk --sysroot=/x',
  },
  {
    names: ['blkid'],
    why: 'prints file systems and their ids; `-g` cleans its cache, `-c` names another',
    options: {
      '-pik': flag,
      '-o': kind('a form', /^(?:value|device|list|full|udev|export)$/),
      '-s': kind('a tag', /^[A-Z_]{2,20}$/),
      '-t': kind('a tag and value', /^[A-Z_]{2,20}=[A-Za-z0-9_.-]{1,60}$/),
      '-L -U': kind('a label or id', /^[A-Za-z0-9_.-]{1,60}$/),
    },
    operands: [anyNumber(device)],
    match: 'blkid  blkid /dev/sda1  blkid -o list  blkid -s UUID -o value /dev/sda2  blkid -p /dev/sdb',
    notMatch: 'blkid -g  blkid -c /etc/x  blkid -c /dev/null -w /etc/x  blkid /etc/shadow',
  },
  {
    names: ['findmnt'],
    why: 'prints what is mounted; `-F` and `--tab-file` read files, `-p` waits for ever',
    options: {
      '-AaDefiJklmnPRrsuUvybcC --all --df --evaluate --json --kernel --list --fstab --mtab --noheadings --pairs --raw --submounts --real':
        flag,
      '--bytes --notruncate --verify --verbose --pseudo --uniq --ascii --canonicalize --invert --first-only --nofsroot --shadowed': flag,
      '-o --output': columns,
      '-t --types': fileSystems,
      '-STM --source --target --mountpoint': source,
      '-O --options': kind('options', /^[a-z0-9_,=+-]{1,100}$/),
    },
    operands: [anyNumber(source, 2)],
    match: 'findmnt  findmnt -t ext4,zfs  findmnt -no SOURCE /  findmnt --df  findmnt /var/lib/vz  findmnt --verify',
    notMatch: 'findmnt --tab-file /etc/shadow  findmnt -F /etc/shadow  findmnt --poll  findmnt -p  findmnt -N /x /etc/../x',
  },
  {
    names: ['mount'],
    why: 'prints what is mounted; with a device or a place it would mount',
    options: { '-lv --show-labels --verbose': flag, '-t --types': fileSystems },
    operands: [],
    match: 'mount  mount -l  mount -t zfs,nfs4  mount | grep pve',
    notMatch: 'mount -a  mount /dev/sdb1 /mnt  mount -o remount,ro /  mount -t nfs a:/x /mnt  umount -a  mount -T /x',
  },
  {
    names: ['swapon'],
    why: 'prints swap; `-a` or a device would turn it on',
    options: { '-s --summary --noheadings --raw --bytes': flag, '--show': attached(columns) },
    operands: [],
    check: needs('-s --summary --show', 'which would do nothing or turn swap on'),
    match: 'swapon --show  swapon -s  swapon --show=NAME,SIZE --bytes',
    notMatch: 'swapon -a  swapon /dev/sda3  swapoff -a  swapon --show -a  swapon',
  },
  {
    names: ['losetup', 'zramctl'],
    why: 'lists loop devices or compressed memory; with a device, `-d`, `-f` or `-r` it would change them',
    options: {
      '-aln --all --list --noheadings --raw --bytes --json --output-all': flag,
      '-O --output': columns,
      '-j --associated': plainPath,
    },
    operands: [],
    match: 'losetup -a  losetup -l  losetup -j /var/lib/vz/images/100/x.raw  zramctl',
    notMatch: 'losetup -d /dev/loop0  losetup -f  losetup /dev/loop0 /x  zramctl -r /dev/zram0  zramctl --find',
  },
  {
    names: ['stat'],
    why: 'prints size, owner and times of a file',
    options: { '-fLt --file-system --terse --dereference': flag, '-c --format --printf': kind('a format', /^[^\n]{1,200}$/) },
    operands: [some(listablePath)],
    match: `stat /var/lib/vz/template/iso  stat -f /  stat -c '%n %s' /var/log/syslog  stat /etc/pve/storage.cfg`,
    notMatch: 'stat /root/.ssh/id_rsa  stat -L /proc/1/root  stat ../x  stat /etc/pve/priv/authkey.key  stat',
  },
  {
    names: ['file'],
    why: 'prints the type of a file by its first bytes; `-f` and `-m` read other files, `-z` starts programs',
    options: { '-biLk --brief --mime --mime-type --mime-encoding --dereference --keep-going': flag },
    operands: [some(listablePath, 8)],
    match: 'file /var/lib/vz/template/iso/debian.iso  file -b /boot/vmlinuz',
    notMatch: 'file -f /etc/shadow  file -m /etc/shadow /etc/hosts  file -s /dev/sda  file -z /x  file -C -m /x  file /root/.ssh/x',
  },
  {
    names: ['readlink', 'realpath', 'namei'],
    why: 'prints where a path leads',
    options: { '-efqsLlPmnovx --canonicalize --canonicalize-existing --canonicalize-missing --strip --long': flag },
    operands: [some(listablePath, 8)],
    match: 'readlink -f /dev/disk/by-id/ata-x  realpath /etc/localtime  namei -l /var/lib/vz  readlink /sys/class/net/*/device',
    notMatch: 'readlink /proc/1/root  realpath ../x  readlink  realpath --relative-to=x /y',
  },
];
