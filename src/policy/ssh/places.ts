/**
 * Which files of a node may be read or listed, decided from the path as text: the node is not here to be asked. A pattern is taken as all
 * that it could match. Places are written as patterns of whole segments; `**` at the end stands for everything below.
 */
import { splitNames } from '#kernel/text/text';
import type { Kind } from './page.ts';

/** What an administrator reads to find a fault. World-readable, or without secrets; passwords in them are hidden in the output. */
const readablePlaces = splitNames(`
  /etc/aliases /etc/apt/preferences /etc/apt/preferences.d/* /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/chrony/*.conf
  /etc/chrony/conf.d/* /etc/chrony/sources.d/* /etc/corosync/corosync.conf /etc/cron.*/* /etc/crontab /etc/debian_version
  /etc/default/chrony /etc/default/corosync /etc/default/grub /etc/default/grub.d/* /etc/default/keyboard /etc/default/ksmtuned
  /etc/default/locale /etc/default/nfs-* /etc/default/pve-ha-manager /etc/default/pveproxy /etc/default/smartmontools /etc/default/zfs
  /etc/default/zramswap /etc/exports /etc/fstab /etc/group /etc/host.conf /etc/hostname /etc/hosts /etc/hosts.allow /etc/hosts.deny
  /etc/idmapd.conf /etc/initramfs-tools/*.conf /etc/initramfs-tools/modules /etc/iscsi/initiatorname.iscsi /etc/issue /etc/issue.net
  /etc/kernel/cmdline /etc/kernel/proxmox-boot-uuids /etc/ksmtuned.conf /etc/localtime /etc/logrotate.conf /etc/logrotate.d/*
  /etc/lsb-release /etc/lvm/lvm.conf /etc/lvm/lvmlocal.conf /etc/lxc/default.conf /etc/machine-id /etc/mdadm/mdadm.conf
  /etc/modprobe.d/* /etc/modules /etc/modules-load.d/* /etc/motd /etc/multipath.conf /etc/multipath/wwids
  /etc/network/interfaces /etc/network/interfaces.d/* /etc/network/interfaces.new /etc/nfs.conf /etc/nsswitch.conf /etc/ntp.conf
  /etc/os-release /etc/postfix/main.cf /etc/postfix/master.cf /etc/pve/.clusterlog /etc/pve/.members /etc/pve/.rrd
  /etc/pve/.version /etc/pve/.vmlist /etc/pve/authkey.pub /etc/pve/ceph.conf /etc/ceph/ceph.conf /etc/pve/corosync.conf
  /etc/pve/datacenter.cfg /etc/pve/firewall/*.fw /etc/pve/ha/*.cfg /etc/pve/ha/*_status /etc/pve/jobs.cfg /etc/pve/mapping/*.cfg
  /etc/pve/local/host.fw /etc/pve/local/lrm_status /etc/pve/local/lxc/*.conf /etc/pve/local/qemu-server/*.conf
  /etc/pve/local/*.pem /etc/pve/lxc/*.conf /etc/pve/nodes/*/host.fw /etc/pve/nodes/*/lrm_status /etc/pve/nodes/*/lxc/*.conf
  /etc/pve/nodes/*/qemu-server/*.conf /etc/pve/nodes/*/*.pem /etc/pve/pve-root-ca.pem /etc/pve/qemu-server/*.conf
  /etc/pve/replication.cfg /etc/pve/sdn/.running-config /etc/pve/sdn/controllers.cfg /etc/pve/sdn/fabrics.cfg /etc/pve/sdn/subnets.cfg /etc/pve/sdn/vnets.cfg
  /etc/pve/sdn/zones.cfg /etc/pve/storage.cfg /etc/pve/virtual-guest/*.conf /etc/pve/vzdump.cron /etc/resolv.conf
  /etc/rsyslog.conf /etc/rsyslog.d/* /etc/samba/smb.conf /etc/security/limits.conf /etc/security/limits.d/* /etc/smartd.conf
  /etc/ssh/ssh_config /etc/ssh/sshd_config /etc/ssh/sshd_config.d/*.conf /etc/subgid /etc/subuid /etc/sysctl.conf /etc/sysctl.d/* /etc/systemd/*.conf
  /etc/systemd/network/*.link /etc/systemd/network/*.network /etc/timezone /etc/udev/rules.d/* /etc/vzdump.conf /etc/zfs/vdev_id.conf /etc/zfs/zpool.cache
  /boot/config-* /usr/lib/os-release /usr/lib/sysctl.d/* /usr/lib/modprobe.d/* /usr/lib/systemd/system/* /lib/systemd/system/*
  /usr/share/doc/** /usr/share/perl5/PVE/** /usr/share/pve-docs/** /usr/share/zoneinfo/**
  /run/reboot-required /run/reboot-required.pkgs /var/run/reboot-required /var/run/reboot-required.pkgs
  /run/systemd/resolve/*.conf /var/lib/dhcp/*.leases /var/lib/apt/extended_states /var/lib/dpkg/status
  /var/lib/vz/template/*/* /mnt/pve/*/template/*/* /var/log/**
  /proc/buddyinfo /proc/cgroups /proc/cmdline /proc/consoles /proc/cpuinfo /proc/crypto /proc/devices /proc/diskstats /proc/dma
  /proc/drbd /proc/filesystems /proc/interrupts /proc/iomem /proc/ioports /proc/loadavg /proc/locks /proc/mdstat /proc/meminfo
  /proc/misc /proc/modules /proc/mounts /proc/mtrr /proc/partitions /proc/pressure/* /proc/schedstat /proc/scsi/scsi
  /proc/slabinfo /proc/softirqs /proc/stat /proc/swaps /proc/uptime /proc/version /proc/version_signature /proc/vmstat
  /proc/zoneinfo /proc/fs/nfsd/versions /proc/fs/nfsfs/* /proc/irq/*/smp_affinity /proc/irq/*/smp_affinity_list
  /proc/irq/*/effective_affinity_list /proc/net/arp /proc/net/bonding/* /proc/net/dev /proc/net/fib_trie /proc/net/if_inet6
  /proc/net/ip_vs /proc/net/netstat /proc/net/nf_conntrack /proc/net/packet /proc/net/protocols /proc/net/ptype
  /proc/net/raw /proc/net/route /proc/net/rpc/* /proc/net/snmp /proc/net/snmp6 /proc/net/sockstat /proc/net/sockstat6
  /proc/net/softnet_stat /proc/net/stat/* /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 /proc/net/unix
  /proc/net/vlan/* /proc/net/wireless /proc/spl/kstat/** /proc/sys/**
`).map(splitPlace);

/** Of each process: state, limits and counters; not its environment, memory, descriptors and root. */
const readableOfProcess = splitNames(`cgroup comm io limits loginuid mountinfo mounts mountstats oom_adj oom_score oom_score_adj sched
  schedstat smaps_rollup stat statm status wchan`);

/** SECURITY: in a readable place, and still secret, endless or binary beyond use. */
const closedPlaces = splitNames(`
  /proc/sys/net/ipv6/conf/*/stable_secret /proc/sys/kernel/cad_pid /proc/sys/fs/binfmt_misc/register
  /var/log/audit /var/log/btmp /var/log/btmp.[0-9] /var/log/btmp.[0-9].gz /var/log/installer /var/log/journal /var/log/sudo-io
`).map(splitPlace);

/** SECURITY: not even listed: names of keys, and doors to other trees (`/proc/1/root`, descriptors). */
const closedToList = splitNames(`
  /etc/pve/priv /etc/pve/nodes/*/priv /etc/pve/local/priv /etc/ssl/private /etc/ssh /root/.* /home/*/.*
  /proc/[0-9]* /proc/self /proc/thread-self /dev/fd /sys/kernel/debug /sys/kernel/tracing /net /misc /media
  /var/lib/ceph/*/*/keyring /var/lib/ceph/*/*/lockbox.keyring
`).map(splitPlace);

/**
 * SECURITY: below /sys, what blocks for ever (trace_pipe), what holds secrets (firmware tables with licence keys, EFI variables), and
 * what touches the device when it is read (PCI resources, ROMs, vital product data).
 */
const closedInSysfs = splitNames('/kernel/debug /kernel/tracing /kernel/config /kernel/security /firmware /fs/bpf').map(splitPlace);
const closedLeaves = splitNames('rom vpd config resource[0-9]* eeprom nvmem trace_pipe trace data');

/** Directories in which every file is a plain value or a log: `grep -r` reads them whole, and follows no links. */
const plainTrees = splitNames(`
  /sys/devices/system/cpu/vulnerabilities /sys/devices/system/cpu/smt /sys/devices/system/cpu/*/cpufreq
  /sys/devices/system/cpu/*/topology /sys/class/dmi/id /sys/class/thermal/* /sys/class/hwmon/* /sys/class/power_supply/*
  /sys/class/net/*/statistics /sys/class/net/*/bonding /sys/block/*/queue /sys/module/*/parameters /sys/kernel/mm/ksm
  /sys/kernel/mm/transparent_hugepage /etc/network /etc/modprobe.d /etc/modules-load.d /etc/sysctl.d /etc/apt/sources.list.d
  /etc/apt/preferences.d /etc/logrotate.d /etc/cron.d /etc/udev/rules.d /etc/default/grub.d /etc/pve/firewall /etc/pve/ha
  /etc/pve/qemu-server /etc/pve/lxc /etc/pve/nodes/*/qemu-server /etc/pve/nodes/*/lxc /etc/pve/mapping
  /usr/share/doc/* /usr/share/perl5/PVE /usr/share/perl5/PVE/* /usr/share/pve-docs /proc/spl/kstat/zfs /proc/net/bonding
  /var/log /var/log/* /var/log/*/*
`).map(splitPlace);

/** A file whose content may be read. */
export const readableFile: Kind = {
  name: 'a file that holds no secrets, such as those of /var/log, /sys, /proc and of the known ones in /etc',
  file: true,
  accepts: (path) => isReadable(path) || path === '/etc/passwd',
  ask: (path) => (path === '/etc/passwd' ? 'it prints the accounts of the node' : undefined),
};

/** A directory that `grep -r` may read whole. */
export const readableTree: Kind = {
  name: 'a directory of logs or of plain values, such as /var/log',
  file: true,
  accepts: (path) => {
    const segments = segmentsOf(path);
    return (
      segments !== undefined &&
      !meetsAny(closedPlaces, segments) &&
      plainTrees.some((tree) => tree.length === segments.length && lies(segments, tree))
    );
  },
};

/** A file or directory whose name and attributes may be listed. */
export const listablePath: Kind = { name: 'an absolute path that holds no secrets', file: true, accepts: isListable };

/** A directory whose whole tree may be listed (`ls -R`): nothing that is closed lies below it, and it is not the system itself. */
export const listableTree: Kind = {
  name: 'a directory whose tree holds no secrets, such as /var/lib/vz',
  file: true,
  accepts: (path) => {
    const segments = segmentsOf(path);
    if (segments === undefined || segments.length === 0 || !isListable(path)) return false;
    const holds = (closed: readonly string[]) => segments.every((segment, index) => meets(segment, closed[index] ?? ''));
    return !closedToList.some((closed) => closed.length > segments.length && holds(closed)) && !isWide(segments);
  },
};

/** A mount point or any file on it, for programs that read nothing of it. */
export const plainPath: Kind = {
  name: 'an absolute path',
  file: true,
  accepts: (path) => segmentsOf(path) !== undefined && (!/[*?[\]]/.test(path) || isListable(path)),
};

/** Trees of the kernel, whatever is mounted, and a pattern near the root: more than one place. */
function isWide([first = '', second]: readonly string[]): boolean {
  return second === undefined ? ['sys', 'proc', 'dev', 'mnt'].includes(first) : /[*?[]/.test(second);
}

/** `/a/b` as `['a', 'b']`; undefined for anything that is not absolute or not in its shortest form. */
function segmentsOf(path: string): readonly string[] | undefined {
  if (!path.startsWith('/') || path.length > 400) return undefined;
  if (path === '/') return [];
  const segments = (path.endsWith('/') ? path.slice(1, -1) : path.slice(1)).split('/');
  return segments.some((segment) => segment === '' || isDots(segment) || isTooWild(segment)) ? undefined : segments;
}

function splitPlace(place: string): readonly string[] {
  return place.slice(1).split('/');
}

/** Comparing patterns takes steps by the power of their stars. */
function isTooWild(segment: string): boolean {
  return segment.split('*').length > 5;
}

/** `.` and `..`, and patterns that match them: a leading dot is only matched by a dot (POSIX §2.14.3). */
function isDots(segment: string): boolean {
  return segment.startsWith('.') && (meets(segment, '..') || meets(segment, '.'));
}

function isReadable(path: string): boolean {
  const segments = segmentsOf(path);
  if (segments === undefined || path.endsWith('/')) return false;
  if (segments[0] === 'sys') return isReadableInSysfs(segments.slice(1));
  if (segments[0] === 'proc' && segments.length === 3 && isProcess(segments[1] ?? '')) return readableOfProcess.includes(segments[2] ?? '');
  return readablePlaces.some((place) => lies(segments, place)) && !meetsAny(closedPlaces, segments);
}

function isProcess(segment: string): boolean {
  return /^(?:\d+|self|\*|\[0-9\]\*)$/.test(segment);
}

function isReadableInSysfs(below: readonly string[]): boolean {
  if (below.length < 2) return false;
  if (closedInSysfs.some((closed) => closed.every((name, index) => meets(below[index] ?? '', name)))) return false;
  if (hasOnlyPlainLeaves(below)) return true;
  const leaf = below.at(-1) ?? '';
  return !closedLeaves.some((name) => meets(leaf, name));
}

/** Where a pattern meets none of the closed leaves: processors and memory, and the values of sensors themselves. */
function hasOnlyPlainLeaves([top, second, ...rest]: readonly string[]): boolean {
  if (top === 'devices' && second === 'system') return true;
  return top === 'class' && (second === 'thermal' || second === 'hwmon' || second === 'power_supply') && rest.length === 2;
}

function isListable(path: string): boolean {
  const segments = segmentsOf(path);
  // A pattern needs a fixed start, so that it cannot roam.
  if (segments === undefined || /[*?[]/.test(segments[0] ?? '')) return false;
  return !meetsAny(closedToList, segments);
}

/** The path is one of the closed places, lies in one, or is a pattern that could match one. */
function meetsAny(places: readonly (readonly string[])[], segments: readonly string[]): boolean {
  return places.some((closed) => segments.length >= closed.length && closed.every((name, index) => meets(segments[index] ?? '', name)));
}

/** Every path that the segments could stand for is in the place. */
function lies(segments: readonly string[], place: readonly string[]): boolean {
  const open = place.at(-1) === '**';
  const fixed = open ? place.slice(0, -1) : place;
  if (open ? segments.length <= fixed.length : segments.length !== fixed.length) return false;
  return fixed.every((name, index) => covers(name, segments[index] ?? ''));
}

/** The place's segment, with at most one `*`, matches all that the other one does. A `*` matches no leading dot. */
function covers(name: string, segment: string): boolean {
  const star = name.indexOf('*');
  if (star < 0) return name === segment;
  const [before, after] = [name.slice(0, star), name.slice(star + 1)];
  const firstWild = segment.search(/[*?[]/);
  const lastWild = Math.max(segment.lastIndexOf('*'), segment.lastIndexOf('?'), segment.lastIndexOf(']'));
  const head = firstWild < 0 ? segment : segment.slice(0, firstWild);
  const tail = segment.slice(lastWild + 1);
  if (segment.startsWith('.') && before === '') return false;
  return head.startsWith(before) && tail.endsWith(after) && segment.length >= before.length + after.length;
}

/** Whether two shell patterns (POSIX §2.14.1) can match one name; a set `[…]` counts as any character. Unsure counts as yes. */
function meets(one: string, other: string): boolean {
  return meet(tokensOf(one), tokensOf(other));
}

const tokensOf = (pattern: string) => pattern.match(/\[[^\]]*\]|[\s\S]/g) ?? [];

function meet(one: readonly string[], other: readonly string[]): boolean {
  const [first, ...restOfOne] = one;
  const [second, ...restOfOther] = other;
  if (first === '*') return meet(restOfOne, other) || (second !== undefined && meet(one, restOfOther));
  if (second === '*') return meet(other, one);
  if (first === undefined || second === undefined) return first === second;
  const anyOne = (token: string) => token === '?' || token.length > 1;
  return (first === second || anyOne(first) || anyOne(second)) && meet(restOfOne, restOfOther);
}
