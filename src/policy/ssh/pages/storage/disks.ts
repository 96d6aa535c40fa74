/** Disks themselves: health, identity, partitions, arrays. */
import { anyNumber, atMostOne, device, kind, needs, number, oneOf, some } from '../../kinds.ts';
import type { Pages, Slot } from '../../page.ts';
import { plainPath } from '../../places.ts';

const deviceType = kind('a type of device', /^[a-z0-9+,/_]{1,40}$/);
const logs = oneOf(
  'a log that is only read',
  'error selftest selective background scttemp scttempsts scterc devstat ssd nvmelog defects directory xerror xselftest sasphy sataphy envrep genstats tapedevstat farm',
);
const one: readonly Slot[] = [device];
const raidWords = 'show|all|list|LIST|display|DISPLAY|status|STATUS|ctrl|controller|config|detail|pd|ld|array';

const nvmeReads = `smart-log, error-log, id-ctrl, id-ns, list-ns, list-ctrl, fw-log, show-regs, get-feature, endurance-log, self-test-log,
  ns-descs, nvm-id-ctrl, primary-ctrl-caps, effects-log, supported-log-pages, list-secondary, intel smart-log-add, wdc vs-smart-add-log,
  ocp smart-add-log, micron vs-smart-add-log, samsung vs-smart-add-log`;

export const disks: Pages = {
  smartctl: {
    why: 'prints the health of a disk; `-t` and `-X` run tests, `-s`, `-o`, `-S` change settings, `-B` reads a file',
    flags: '-HiAacxj --health --info --attributes --all --capabilities --xall --scan --scan-open',
    options: {
      '-d --device': deviceType,
      '-l --log': logs,
      '-n --nocheck': kind('a power mode', /^(?:never|sleep|standby|idle)(?:,\d{1,3}){0,2}$/),
      '-f --format': oneOf('a form', 'old brief hex hex,id hex,val'),
      '-q --quietmode': oneOf('how quiet', 'errorsonly silent noserial'),
      '-T --tolerance': oneOf('a tolerance', 'normal conservative permissive'),
      '-g --get': oneOf('a setting', 'all aam apm dsn lookahead security wcache rcache wcreorder'),
      '--json': { optional: kind('a form of JSON', /^[a-z]{1,6}$/) },
    },
    operands: [anyNumber(device, 1)],
    check: needs(
      '-H -i -A -a -c -x -l -g --health --info --attributes --all --capabilities --xall --scan --scan-open --log --get',
      'which says nothing',
    ),
    match: `smartctl -H /dev/sda  smartctl -a /dev/nvme0  smartctl -x -d sat /dev/sdb  smartctl --scan  smartctl -A -j /dev/sda
      smartctl -a -d megaraid,0 /dev/sda`,
    notMatch: `smartctl -t long /dev/sda  smartctl -s off /dev/sda  smartctl -X /dev/sda  smartctl -B /etc/shadow -a /dev/sda
      smartctl --smart=off /dev/sda  smartctl -o on /dev/sda  smartctl -H /etc/shadow  smartctl -S on -a /dev/sda  smartctl --test=short /dev/sda`,
  },
  nvme: {
    why: 'prints health, identity and logs of NVMe disks; other verbs write, format or connect',
    style: 'words',
    flags: '-v --verbose -H --human-readable',
    options: { '-o --output-format': oneOf('a form', 'normal json') },
    verbs: {
      'list, list-subsys, version': { operands: [anyNumber(device, 1)] },
      [nvmeReads]: {
        flags: '-a --all',
        options: {
          '-n --namespace-id -e --log-entries -f --feature-id -s --sel -c --cntid': kind('a number', /^(?:0x[0-9a-fA-F]{1,8}|\d{1,10})$/),
        },
        operands: one,
      },
    },
    match: `nvme list  nvme list -o json  nvme smart-log /dev/nvme0  nvme error-log /dev/nvme0n1 -e 5  nvme id-ctrl /dev/nvme0 -H  nvme list-subsys`,
    notMatch: `nvme format /dev/nvme0  nvme sanitize /dev/nvme0n1  nvme smart-log /etc/shadow  nvme admin-passthru /dev/nvme0  nvme reset /dev/nvme0
      nvme smart-log /dev/nvme0 --raw-binary  nvme fw-download /dev/nvme0  nvme connect -t tcp -a 1.2.3.4  nvme get-log /dev/nvme0
      nvme set-feature /dev/nvme0`,
  },
  hdparm: {
    why: 'prints what a disk says of itself; with values, `-y`, `-Y`, `--security-…` it would change it, and of `-t` a person is asked',
    flags: '-iICgHNtT',
    operands: [some(device, 4)],
    check: (call) =>
      call.has('-t', '-T') ? { ask: 'it loads the disk for some seconds' } : needs('-i -I -C -g -H', 'which would set')(call),
    match: 'hdparm -I /dev/sda  hdparm -C /dev/sda /dev/sdb  hdparm -i /dev/sda  hdparm -tT /dev/sda',
    notMatch: `hdparm -y /dev/sda  hdparm -Y /dev/sda  hdparm -S 12 /dev/sda  hdparm --security-erase x /dev/sda  hdparm -W0 /dev/sda
      hdparm -N5 /dev/sda  hdparm /dev/sda`,
  },
  'fdisk sfdisk gdisk': {
    why: 'prints partitions with `-l`; without it they would be edited',
    flags: '-lx --list --list-details --bytes',
    options: { '-o --output': kind('columns', /^[A-Za-z0-9,+-]{1,100}$/) },
    operands: [anyNumber(device, 8)],
    check: needs('-l --list -x --list-details', 'which would edit'),
    match: 'fdisk -l  fdisk -l /dev/sda  sfdisk -l  gdisk -l /dev/sda',
    notMatch: 'fdisk /dev/sda  sfdisk /dev/sda  sfdisk --delete /dev/sda  sfdisk -d /dev/sda  gdisk /dev/sda  fdisk -l /etc/shadow',
  },
  sgdisk: {
    why: 'prints partitions; other letters change them or write copies',
    flags: '-p --print',
    options: { '-i --info': number },
    operands: [some(device, 1)],
    check: needs('-p -i --print --info', 'which does nothing'),
    match: 'sgdisk -p /dev/sda  sgdisk -i 1 /dev/sda  sgdisk --print /dev/nvme0n1',
    notMatch: 'sgdisk -Z /dev/sda  sgdisk --zap-all /dev/sda  sgdisk -b /etc/x /dev/sda  sgdisk -o /dev/sda  sgdisk /dev/sda',
  },
  parted: {
    why: 'prints partitions; other commands change them',
    flags: '-smjl --script --machine --json --list',
    operands: (call) =>
      call.has('-l', '--list')
        ? []
        : [
            device,
            atMostOne(oneOf('`unit`', 'unit')),
            atMostOne(oneOf('a unit', 's B KiB MiB GiB TiB KB MB GB TB % compact')),
            oneOf('`print`', 'print p'),
            atMostOne(oneOf('what to print', 'free all devices list')),
          ],
    match: 'parted -l  parted /dev/sda print  parted -s /dev/sda print free  parted /dev/sda unit MiB print',
    notMatch: 'parted /dev/sda  parted /dev/sda rm 1  parted -s /dev/sda mklabel gpt  parted -l /dev/sda rm 1  parted /dev/sda print rm',
  },
  blockdev: {
    why: 'prints sizes and settings of a device; `--set…`, `--flushbufs`, `--rereadpt` change them',
    flags: `--report --getsize64 --getsz --getss --getpbsz --getro --getra --getfra --getbsz --getiomin --getioopt --getalignoff
      --getmaxsect -v`,
    operands: [anyNumber(device, 8)],
    match: 'blockdev --getsize64 /dev/sda  blockdev --report  blockdev --getra /dev/sda',
    notMatch: 'blockdev --setro /dev/sda  blockdev --flushbufs /dev/sda  blockdev --rereadpt /dev/sda  blockdev --setra 8192 /dev/sda',
  },
  mdadm: {
    why: 'prints arrays; other modes assemble, fail and stop them',
    flags: '-DEQ --detail --examine --query -sv --scan --verbose --brief --export -Y --test',
    operands: [anyNumber(device, 8)],
    check: needs('-D -E -Q --detail --examine --query', 'which would change arrays'),
    match: 'mdadm --detail /dev/md0  mdadm -D --scan  mdadm --examine /dev/sda1  mdadm -Q /dev/md0',
    notMatch: `mdadm --stop /dev/md0  mdadm --manage /dev/md0 --fail /dev/sda1  mdadm --assemble --scan  mdadm -S /dev/md0  mdadm --detail /dev/md0 -o
      mdadm --monitor --scan`,
  },
  multipath: {
    why: 'prints paths to disks; without `-l` it sets them up, `-F`, `-f`, `-r` change them',
    flags: '-l',
    options: { '-v': oneOf('a level', '0 1 2 3') },
    check: needs('-l', 'which would set up paths'),
    match: 'multipath -ll  multipath -l  multipath -v3 -ll',
    notMatch: 'multipath  multipath -v 2  multipath -F  multipath -f x  multipath -r  multipath -C x  multipath -a /dev/sda',
  },
  multipathd: {
    why: 'asks the daemon for paths; alone it would start, other commands change them',
    verbs: { 'show paths, show maps, show topology, show status, show daemon': {} },
    match: 'multipathd show paths  multipathd show topology',
    notMatch: 'multipathd  multipathd -d  multipathd reconfigure  multipathd -k  multipathd show paths format x',
  },
  dmsetup: {
    why: 'prints devices of the mapper; `table` of encrypted ones holds keys, other commands change them',
    flags: '-c -C --columns --noheadings --tree',
    options: { '-o --options': kind('columns', /^[a-z_,]{1,100}$/), '--target': kind('a target', /^[a-z-]{2,20}$/) },
    verbs: {
      'ls, info, status, deps, targets, version': {
        operands: [anyNumber(kind('the name of a device', /^(?:\/dev\/mapper\/)?[A-Za-z0-9_][A-Za-z0-9_.+-]{0,100}$/), 8)],
      },
    },
    match: 'dmsetup ls --tree  dmsetup status  dmsetup info -c  dmsetup deps pve-root',
    notMatch: `dmsetup remove x  dmsetup table --showkeys luks-x  dmsetup table  dmsetup suspend x  dmsetup ls --exec id  dmsetup message x 0 y`,
  },
  cryptsetup: {
    why: 'prints whether a device is open; headers and other actions are left out',
    verbs: {
      status: { operands: [kind('the name of a device', /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$/)] },
      isLuks: { flags: '-v', operands: one },
    },
    match: 'cryptsetup status luks-x  cryptsetup isLuks -v /dev/sda3',
    notMatch: `cryptsetup luksDump /dev/sda3 --dump-master-key  cryptsetup luksOpen /dev/sda3 x  cryptsetup close x  cryptsetup status /etc/shadow
      cryptsetup luksDump /dev/sda3`,
  },
  'tune2fs dumpe2fs': {
    why: 'prints the head of a file system; other options change it',
    flags: '-lh',
    operands: one,
    check: needs('-l -h', 'which would change or print all of it'),
    match: 'tune2fs -l /dev/mapper/pve-root  dumpe2fs -h /dev/sda2',
    notMatch: 'tune2fs -O ^has_journal /dev/sda1  tune2fs -m 1 /dev/sda1  dumpe2fs /dev/sda2  tune2fs -l /etc/shadow  dumpe2fs -i /x',
  },
  xfs_info: {
    why: 'prints the shape of a file system',
    operands: [{ kind: plainPath, min: 1, max: 1 }],
    match: 'xfs_info /  xfs_info /mnt/data',
    notMatch: 'xfs_info -t /etc/shadow /  xfs_info',
  },
  btrfs: {
    why: 'prints file systems, devices and subvolumes; other commands change them',
    flags: '-b -h -H -k -m -g --raw --human-readable -T --tabular',
    style: 'words',
    verbs: {
      'filesystem usage, filesystem df, filesystem show, fi usage, fi df, fi show, device stats, device usage, scrub status, balance status, subvolume list, subvolume show, qgroup show':
        {
          flags: '-s --summarize -a -d -c --check -t',
          operands: [anyNumber(plainPath, 2)],
        },
    },
    match: 'btrfs filesystem usage /  btrfs device stats /mnt/data  btrfs scrub status /  btrfs fi show',
    notMatch: `btrfs scrub start /  btrfs device delete /dev/sdb /  btrfs device stats -z /  btrfs balance start /  btrfs subvolume delete /x
      btrfs send /x`,
  },
  iscsiadm: {
    why: 'prints sessions and nodes; other operations connect, log in or change',
    options: { '-m --mode': oneOf('`session` or `node`', 'session node'), '-P --print': oneOf('a level', '0 1 2 3') },
    check: needs('-m --mode', 'which does nothing'),
    match: 'iscsiadm -m session  iscsiadm -m session -P 3  iscsiadm -m node',
    notMatch: `iscsiadm -m node --login  iscsiadm -m discovery -t st -p evil  iscsiadm -m node -o show  iscsiadm -m node -u  iscsiadm -m session -R`,
  },
  'storcli storcli64 perccli perccli64 ssacli sas2ircu sas3ircu megacli MegaCli64': {
    why: 'prints what a RAID controller says; commands other than show change it',
    style: 'words',
    flags: '-aALL -a0 -NoLog -AdpAllInfo -LDInfo -Lall -LALL -PDList -AdpBbuCmd -GetBbuStatus -LdPdInfo -EncInfo',
    operands: [
      anyNumber(
        kind(
          'a controller, or a word that shows it',
          new RegExp(`^(?:/c(?:\\d{1,2}|all)(?:/[vespd](?:\\d{1,3}|all)){0,3}|${raidWords}|slot=\\d{1,2}|\\d|[jJ])$`),
        ),
        8,
      ),
    ],
    check: ({ operands, options }) => {
      if (options.size > 0) return options.has('-AdpBbuCmd') && !options.has('-GetBbuStatus') ? 'without `-GetBbuStatus`' : undefined;
      return operands.some((operand) => /^(?:show|list|display|status)$/i.test(operand))
        ? undefined
        : 'without `show`, `list`, `status` or `display`';
    },
    match: `storcli /c0 show  storcli64 /c0/eall/sall show all  sas2ircu list  sas3ircu 0 display  ssacli ctrl all show config
      megacli -AdpAllInfo -aALL`,
    notMatch: `storcli /c0 set x=1  storcli /c0/v0 del  sas2ircu 0 delete  megacli -CfgClr -a0  storcli /c0  ssacli ctrl slot=0 create
      storcli /c0 show file=/etc/x`,
  },
};
