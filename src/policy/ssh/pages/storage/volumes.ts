/** LVM and ZFS. */
import { anyNumber, bounded, columns, kind, listOf, number, oneOf, samples, some } from '../../kinds.ts';
import { type Call, flag, type Options, type Page } from '../../page.ts';

const volume = kind(
  'a group, volume or device',
  /^(?!.*\/\.)(?:\/dev\/[A-Za-z0-9][A-Za-z0-9_.+/-]{0,120}|[A-Za-z0-9_][A-Za-z0-9_.+-]{0,100}(?:\/[A-Za-z0-9_.+-]{1,100})?)$/,
);
const pool = kind('the name of a pool', /^[A-Za-z][A-Za-z0-9_.:-]{0,60}$/);
const poolOrDisk = kind('the name of a pool or disk', /^[A-Za-z][A-Za-z0-9_.:/@+-]{0,200}$/);
const dataset = kind('the name of a dataset or snapshot', /^[A-Za-z][A-Za-z0-9_.:/@%#-]{0,250}$/);
const properties = kind('properties with commas', /^[a-z][a-z0-9_@:.-]{0,60}(?:,[a-z][a-z0-9_@:.-]{0,60}){0,30}$/);
const types = kind(
  'types with commas',
  /^(?:filesystem|snapshot|snap|volume|bookmark|all|vdev|fs|vol)(?:,(?:filesystem|snapshot|snap|volume|bookmark|fs|vol))*$/,
);

/** Reports of LVM. SECURITY: `--config`, `--profile`, `--commandprofile` and `--devicesfile` change what runs. */
const report: Options = {
  '-avPmq --all --verbose --partial --segments --noheadings --nosuffix --unbuffered --aligned --unquoted --nameprefixes --rows --readonly':
    flag,
  '-cCs --colon --columns --short --maps --foreign --shared --binary --headings --history --allpvs': flag,
  '-oO --options --sort': kind('columns', /^[+#-]?[a-z_-]{1,40}(?:,[+-]?[a-z_-]{1,40}){0,40}$/),
  '--units': kind('a unit', /^[hrbskmgtpeHRBSKMGTPE]$/),
  '-S --select': kind('a selection', /^[A-Za-z0-9_ =!<>~&|(){}".,%-]{1,200}$/),
  '--separator': kind('a separator', /^.{1,3}$/),
  '--reportformat': oneOf('a form', 'basic json json_std'),
};

const json = '-j --json --json-int --json-flat-vdevs --json-pool-key-guid';

/** `zpool status 5` repeats for ever, and a number is no name of a pool. */
const named: Pick<Page, 'operands'> = { operands: [anyNumber(poolOrDisk, 8)] };

function onlyShows({ operands }: Call): string | undefined {
  return operands.length > 0 ? 'with a pool, which would be imported' : undefined;
}

export const volumes: readonly Page[] = [
  {
    names: ['lvs', 'vgs', 'pvs', 'lvdisplay', 'vgdisplay', 'pvdisplay', 'lvscan', 'vgscan', 'pvscan', 'lvmdiskscan'],
    why: 'prints volumes; options that change the configuration of LVM are left out',
    options: report,
    operands: [anyNumber(volume, 8)],
    match:
      'lvs  vgs  pvs  lvs -a -o +devices,data_percent  lvdisplay pve/data  vgs --noheadings --units g -o vg_name,vg_free  pvs -o +pv_used  lvs --reportformat json',
    notMatch: `lvs --config 'x'  pvs --reportformat json --config global/x=1  lvs --commandprofile x  vgscan --mknodes  pvscan --cache  lvremove -f pve/data
      lvextend -L +1G pve/data  vgchange -an  lvs --devicesfile x  lvs /dev/../etc/shadow`,
  },
  {
    names: ['zpool'],
    why: 'prints pools; `-c` would run a script, an interval without a count never ends, other verbs change them',
    verbs: {
      status: { options: { [`-vxLPDgistep ${json}`]: flag }, ...named },
      list: { options: { [`-vLPgHp ${json}`]: flag, '-o': properties }, ...named },
      get: { options: { [`-Hp ${json}`]: flag, '-o': columns }, operands: [properties, anyNumber(poolOrDisk, 8)] },
      iostat: { options: { '-vlqrwyLPgHpn': flag }, operands: [anyNumber(poolOrDisk, 8), ...samples], check: bounded },
      history: { options: { '-il': flag }, ...named },
      events: { options: { '-vH': flag }, ...named },
      'version, import': { check: onlyShows },
      upgrade: { options: { '-v': flag }, check: ({ has }) => (has('-v') ? undefined : 'without `-v`; look with `zpool status`') },
    },
    match: `zpool status  zpool status -v rpool  zpool list -o name,health  zpool list -v  zpool iostat -v  zpool iostat -vl rpool 1 3  zpool get all rpool
      zpool history rpool  zpool events  zpool import  zpool status -x  zpool version`,
    notMatch: `zpool destroy rpool  zpool status -c upath  zpool iostat -c id  zpool iostat 1  zpool events -f  zpool events -c  zpool import tank
      zpool import -a  zpool scrub rpool  zpool clear rpool  zpool status -T d  zpool status 1  zpool upgrade -a  zpool offline rpool sda  zpool export rpool`,
  },
  {
    names: ['zfs'],
    why: 'prints datasets and their properties; other verbs change, send or mount them',
    verbs: {
      list: { options: { [`-rHp ${json}`]: flag, '-t': types, '-osS': columns, '-d': number }, operands: [anyNumber(dataset, 8)] },
      get: {
        options: { [`-rHp ${json}`]: flag, '-t': types, '-os': columns, '-d': number },
        operands: [properties, anyNumber(dataset, 8)],
      },
      holds: { options: { '-rHp': flag }, operands: [some(dataset, 8)] },
      'userspace, groupspace, projectspace': { options: { '-nHpiS': flag, '-oS': columns }, operands: [dataset] },
      'version, mount': {},
    },
    match:
      'zfs list  zfs list -t snapshot  zfs list -r -o name,used rpool  zfs get compression,recordsize rpool/data  zfs get all rpool  zfs holds rpool/data@a  zfs mount',
    notMatch: `zfs destroy rpool/data  zfs set x=y rpool  zfs send rpool@a  zfs snapshot rpool@x  zfs mount -a  zfs load-key -a  zfs receive rpool/x
      zfs rollback rpool@x  zfs allow u destroy rpool  zfs unmount rpool/data  zfs diff rpool@a`,
  },
  {
    names: ['zdb'],
    why: 'prints the configuration of a pool; other letters walk or print its content',
    options: { '-C': flag },
    operands: [anyNumber(pool, 1)],
    check: ({ has }) => (has('-C') ? undefined : 'without `-C`, which would walk the pool'),
    match: 'zdb -C  zdb -C rpool',
    notMatch: 'zdb -R rpool 0:0:200:r  zdb -e -p /dev rpool  zdb rpool  zdb -d rpool',
  },
  {
    names: ['arcstat', 'zarcstat'],
    why: 'prints the cache of ZFS in a few samples; `-o` writes',
    options: { '-vxapL': flag, '-f': listOf(kind('a column', /^[a-z0-9%_]{1,12}$/)), '-s': kind('a separator', /^.{1,3}$/) },
    operands: samples,
    check: bounded,
    match: 'arcstat  arcstat 1 3  arcstat -f time,hit%,size 1 2',
    notMatch: 'arcstat 1  arcstat -o /etc/x 1 1  arcstat 1 100000',
  },
  {
    names: ['arc_summary', 'zarcsummary'],
    why: 'prints the cache of ZFS',
    options: {
      '-adgpr --alternate --description --graph --raw': flag,
      '-s --section': oneOf('a section', 'archits arc dmu l2arc spl tunables vdev zil archit'),
    },
    match: 'arc_summary  arc_summary -s arc  arc_summary | head -30',
    notMatch: 'arc_summary; reboot  arc_summary -s /etc/shadow',
  },
];
