/** File systems, block devices and mounts, LVM and ZFS: what is there, and what is full. */
import {
  anyNumber,
  attached,
  bounded,
  columns,
  device,
  kind,
  listOf,
  needs,
  number,
  oneOf,
  samples,
  some,
  unitOfSize,
  upTo,
} from '../../kinds.ts';
import type { Call, Form, Pages } from '../../page.ts';
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

const volume = kind('a group, volume or device', /^(?!.*\/\.)(?:\/dev\/[A-Za-z0-9][\w.+/-]{0,120}|\w[\w.+-]{0,100}(?:\/[\w.+-]{1,100})?)$/);
const pool = kind('the name of a pool', /^[A-Za-z][A-Za-z0-9_.:-]{0,60}$/);
const poolOrDisk = kind('the name of a pool or disk', /^[A-Za-z][A-Za-z0-9_.:/@+-]{0,200}$/);
const dataset = kind('the name of a dataset or snapshot', /^[A-Za-z][A-Za-z0-9_.:/@%#-]{0,250}$/);
const properties = kind('properties with commas', /^[a-z][a-z0-9_@:.-]{0,60}(?:,[a-z][a-z0-9_@:.-]{0,60}){0,30}$/);
const types = listOf(oneOf('a type', 'filesystem snapshot snap volume bookmark all vdev fs vol'));

/** Reports of LVM. SECURITY: `--config`, `--profile`, `--commandprofile` and `--devicesfile` change what runs. */
const report: Form = {
  flags: `-avPmqcCs --all --verbose --partial --segments --noheadings --nosuffix --unbuffered --aligned --unquoted --nameprefixes --rows
    --readonly --colon --columns --short --maps --foreign --shared --binary --headings --history --allpvs`,
  options: {
    '-oO --options --sort': kind('columns', /^[+#-]?[a-z_-]{1,40}(?:,[+-]?[a-z_-]{1,40}){0,40}$/),
    '--units': kind('a unit', /^[hrbskmgtpeHRBSKMGTPE]$/),
    '-S --select': kind('a selection', /^[A-Za-z0-9_ =!<>~&|(){}".,%-]{1,200}$/),
    '--separator': kind('a separator', /^.{1,3}$/),
    '--reportformat': oneOf('a form', 'basic json json_std'),
  },
  operands: [anyNumber(volume, 8)],
};

const json = '-j --json --json-int --json-flat-vdevs --json-pool-key-guid';

/** `zpool status 5` repeats for ever, and a number is no name of a pool. */
const named: Form = { operands: [anyNumber(poolOrDisk, 8)] };

function onlyShows({ operands }: Call): string | undefined {
  return operands.length > 0 ? 'with a pool, which would be imported' : undefined;
}

export const space: Pages = {
  df: {
    why: 'prints the use of file systems; `--sync` would write',
    flags: '-haiklmHPT --human --human-readable --si --all --inodes --local --portability --print-type --total --no-sync',
    options: { '-xt --type --exclude-type': fileSystems, '-B --block-size': unitOfSize, '--output': attached(columns) },
    operands: [anyNumber(plainPath)],
    match: 'df  df -h  df -hT /var/lib/vz  df -h --output=source,size  df -x tmpfs',
    notMatch: 'df --sync  df -h x  df /var/../etc  df --files-from=x',
  },
  du: {
    why: 'sums up the size of directories; `-L` and `-D` follow links, `--files0-from`, `--exclude-from` and `-X` read files',
    flags: `-habcklmsSx --human-readable --all --apparent-size --bytes --total --count-links --one-file-system --separate-dirs --si
      --summarize --inodes --time`,
    options: { '-d --max-depth': upTo(9), '-t --threshold -B --block-size': unitOfSize, '--exclude': kind('a pattern', /^[^\n]{1,100}$/) },
    operands: [some({ ...listablePath, accepts: (path) => path === '/*' || listablePath.accepts(path) })],
    check: namesFew,
    match: `du -sh /var/lib/vz  du -xh --max-depth=1 /var  du -shx /var/lib/vz/*  du -ah /var/lib/vz | sort -rh | head  du -h -d1 /  du -sh /*`,
    notMatch: `du --exclude-from=/etc/shadow /  du -d1 /*  du -a /  du -h /root  du --files0-from=x  du -L /var  du -0 / -X /x  du -sh /etc/pve/priv
      du`,
  },
  lsblk: {
    why: 'prints block devices; `--sysroot` would read another root',
    flags: `-AabdDfiJlmMNnOPprsStzvT --all --bytes --nodeps --discard --fs --ascii --json --list --perms --noheadings --output-all
      --pairs --paths --raw --inverse --scsi --nvme --virtio --topology --zoned --tree --merge --noempty --shell`,
    options: { '-Eox --dedup --output --sort': columns, '-eI --exclude --include': range, '-w --width': number },
    operands: [anyNumber(device)],
    match: 'lsblk  lsblk -f  lsblk -o NAME,SIZE  lsblk --json -o NAME,MODEL /dev/sda  lsblk -dno NAME',
    notMatch: 'lsblk --sysroot /mnt  lsblk /etc/shadow  lsblk /dev/../etc/shadow  lsblk --sysroot=/x',
  },
  blkid: {
    why: 'prints file systems and their ids; `-g` cleans its cache, `-c` names another',
    flags: '-pik',
    options: {
      '-o': kind('a form', /^(?:value|device|list|full|udev|export)$/),
      '-s': kind('a tag', /^[A-Z_]{2,20}$/),
      '-t': kind('a tag and value', /^[A-Z_]{2,20}=[A-Za-z0-9_.-]{1,60}$/),
      '-L -U': kind('a label or id', /^[A-Za-z0-9_.-]{1,60}$/),
    },
    operands: [anyNumber(device)],
    match: 'blkid  blkid /dev/sda1  blkid -o list  blkid -s UUID -o value /dev/sda2  blkid -p /dev/sdb',
    notMatch: 'blkid -g  blkid -c /etc/x  blkid -c /dev/null -w /etc/x  blkid /etc/shadow',
  },
  findmnt: {
    why: 'prints what is mounted; `-F` and `--tab-file` read files, `-p` waits for ever',
    flags: `-AaDefiJklmnPRrsuUvybcC --all --df --evaluate --json --kernel --list --fstab --mtab --noheadings --pairs --raw
      --submounts --real --bytes --notruncate --verify --verbose --pseudo --uniq --ascii --canonicalize --invert --first-only
      --nofsroot --shadowed`,
    options: {
      '-o --output': columns,
      '-t --types': fileSystems,
      '-STM --source --target --mountpoint': source,
      '-O --options': kind('options', /^[a-z0-9_,=+-]{1,100}$/),
    },
    operands: [anyNumber(source, 2)],
    match: 'findmnt  findmnt -t ext4,zfs  findmnt -no SOURCE /  findmnt --df  findmnt /var/lib/vz  findmnt --verify',
    notMatch: 'findmnt --tab-file /etc/shadow  findmnt -F /etc/shadow  findmnt --poll  findmnt -p  findmnt -N /x /etc/../x',
  },
  mount: {
    why: 'prints what is mounted; with a device or a place it would mount',
    flags: '-lv --show-labels --verbose',
    options: { '-t --types': fileSystems },
    match: 'mount  mount -l  mount -t zfs,nfs4  mount | grep pve',
    notMatch: 'mount -a  mount /dev/sdb1 /mnt  mount -o remount,ro /  mount -t nfs a:/x /mnt  mount -T /x',
  },
  exportfs: {
    why: 'prints what is exported over NFS; other options change it',
    flags: '-vs',
    match: 'exportfs  exportfs -v  exportfs -s',
    notMatch: 'exportfs -a  exportfs -ra  exportfs -u x:/y  exportfs -f',
  },
  swapon: {
    why: 'prints swap; `-a` or a device would turn it on',
    flags: '-s --summary --noheadings --raw --bytes',
    options: { '--show': attached(columns) },
    check: needs('-s --summary --show', 'which would do nothing or turn swap on'),
    match: 'swapon --show  swapon -s  swapon --show=NAME,SIZE --bytes',
    notMatch: 'swapon -a  swapon /dev/sda3  swapon --show -a  swapon',
  },
  'losetup zramctl': {
    why: 'lists loop devices or compressed memory; with a device, `-d`, `-f` or `-r` it would change them',
    flags: '-aln --all --list --noheadings --raw --bytes --json --output-all',
    options: { '-O --output': columns, '-j --associated': plainPath },
    match: 'losetup -a  losetup -l  losetup -j /var/lib/vz/images/100/x.raw  zramctl',
    notMatch: 'losetup -d /dev/loop0  losetup -f  losetup /dev/loop0 /x  zramctl -r /dev/zram0  zramctl --find',
  },
  stat: {
    why: 'prints size, owner and times of a file',
    flags: '-fLt --file-system --terse --dereference',
    options: { '-c --format --printf': kind('a format', /^[^\n]{1,200}$/) },
    operands: [some(listablePath)],
    match: `stat /var/lib/vz/template/iso  stat -f /  stat -c '%n %s' /var/log/syslog  stat /etc/pve/storage.cfg`,
    notMatch: 'stat /root/.ssh/id_rsa  stat -L /proc/1/root  stat ../x  stat /etc/pve/priv/authkey.key  stat',
  },
  file: {
    why: 'prints the type of a file by its first bytes; `-f` and `-m` read other files, `-z` starts programs',
    flags: '-biLk --brief --mime --mime-type --mime-encoding --dereference --keep-going',
    operands: [some(listablePath, 8)],
    match: 'file /var/lib/vz/template/iso/debian.iso  file -b /boot/vmlinuz',
    notMatch: 'file -f /etc/shadow  file -m /etc/shadow /etc/hosts  file -s /dev/sda  file -z /x  file -C -m /x  file /root/.ssh/x',
  },
  'readlink realpath namei': {
    why: 'prints where a path leads',
    flags: '-efqsLlPmnovx --canonicalize --canonicalize-existing --canonicalize-missing --strip --long',
    operands: [some(listablePath, 8)],
    match: 'readlink -f /dev/disk/by-id/ata-x  realpath /etc/localtime  namei -l /var/lib/vz  readlink /sys/class/net/*/device',
    notMatch: 'readlink /proc/1/root  realpath ../x  readlink  realpath --relative-to=x /y',
  },
  'lvs vgs pvs lvdisplay vgdisplay pvdisplay lvscan vgscan pvscan lvmdiskscan': {
    why: 'prints volumes; options that change the configuration of LVM are left out',
    ...report,
    match: `lvs  vgs  pvs  lvs -a -o +devices,data_percent  lvdisplay pve/data  vgs --noheadings --units g -o vg_name,vg_free  pvs -o +pv_used
      lvs --reportformat json`,
    notMatch: `lvs --config 'x'  pvs --reportformat json --config global/x=1  lvs --commandprofile x  vgscan --mknodes  pvscan --cache
      lvs --devicesfile x  lvs /dev/../etc/shadow`,
  },
  zpool: {
    why: 'prints pools; `-c` would run a script, an interval without a count never ends, other verbs change them',
    verbs: {
      status: { flags: `-vxLPDgistep ${json}`, ...named },
      list: { flags: `-vLPgHp ${json}`, options: { '-o': properties }, ...named },
      get: { flags: `-Hp ${json}`, options: { '-o': columns }, operands: [properties, anyNumber(poolOrDisk, 8)] },
      iostat: { flags: '-vlqrwyLPgHpn', operands: [anyNumber(poolOrDisk, 8), ...samples], check: bounded },
      history: { flags: '-il', ...named },
      events: { flags: '-vH', ...named },
      'version, import': { check: onlyShows },
      upgrade: { flags: '-v', check: ({ has }) => (has('-v') ? undefined : 'without `-v`; look with `zpool status`') },
    },
    match: `zpool status  zpool status -v rpool  zpool list -o name,health  zpool list -v  zpool iostat -v  zpool iostat -vl rpool 1 3
      zpool get all rpool  zpool history rpool  zpool events  zpool import  zpool status -x  zpool version`,
    notMatch: `zpool destroy rpool  zpool status -c upath  zpool iostat -c id  zpool iostat 1  zpool events -f  zpool events -c  zpool import tank
      zpool import -a  zpool scrub rpool  zpool clear rpool  zpool status -T d  zpool status 1  zpool upgrade -a  zpool offline rpool sda
      zpool export rpool`,
  },
  zfs: {
    why: 'prints datasets and their properties; other verbs change, send or mount them',
    verbs: {
      list: { flags: `-rHp ${json}`, options: { '-t': types, '-osS': columns, '-d': number }, operands: [anyNumber(dataset, 8)] },
      get: { flags: `-rHp ${json}`, options: { '-t': types, '-os': columns, '-d': number }, operands: [properties, anyNumber(dataset, 8)] },
      holds: { flags: '-rHp', operands: [some(dataset, 8)] },
      'userspace, groupspace, projectspace': { flags: '-nHpiS', options: { '-oS': columns }, operands: [dataset] },
      'version, mount': {},
    },
    match: `zfs list  zfs list -t snapshot  zfs list -r -o name,used rpool  zfs get compression,recordsize rpool/data  zfs get all rpool
      zfs holds rpool/data@a  zfs mount`,
    notMatch: `zfs destroy rpool/data  zfs set x=y rpool  zfs send rpool@a  zfs snapshot rpool@x  zfs mount -a  zfs load-key -a  zfs receive rpool/x
      zfs rollback rpool@x  zfs allow u destroy rpool  zfs unmount rpool/data  zfs diff rpool@a`,
  },
  zdb: {
    why: 'prints the configuration of a pool; other letters walk or print its content',
    flags: '-C',
    operands: [anyNumber(pool, 1)],
    check: ({ has }) => (has('-C') ? undefined : 'without `-C`, which would walk the pool'),
    match: 'zdb -C  zdb -C rpool',
    notMatch: 'zdb -R rpool 0:0:200:r  zdb -e -p /dev rpool  zdb rpool  zdb -d rpool',
  },
  'arcstat zarcstat': {
    why: 'prints the cache of ZFS in a few samples; `-o` writes',
    flags: '-vxapL',
    options: { '-f': listOf(kind('a column', /^[a-z0-9%_]{1,12}$/)), '-s': kind('a separator', /^.{1,3}$/) },
    operands: samples,
    check: bounded,
    match: 'arcstat  arcstat 1 3  arcstat -f time,hit%,size 1 2',
    notMatch: 'arcstat 1  arcstat -o /etc/x 1 1  arcstat 1 100000',
  },
  'arc_summary zarcsummary': {
    why: 'prints the cache of ZFS',
    flags: '-adgpr --alternate --description --graph --raw',
    options: { '-s --section': oneOf('a section', 'archits arc dmu l2arc spl tunables vdev zil archit') },
    match: 'arc_summary  arc_summary -s arc  arc_summary | head -30',
    notMatch: 'arc_summary; reboot  arc_summary -s /etc/shadow',
  },
};
