/** Facts about the machine that hold no secret: which system it is, how much memory it has, what its libraries declare. */
import type { PathAction } from './judge-path.ts';

const release = String.raw`/etc/(?:os-release|lsb-release|(?:debian|alpine|fedora|redhat|centos|rocky)[_-](?:version|release)|system-release|issue|timezone|shells|\*[-_]?release\*?|os-\*)|/usr/lib/os-release`;
const kernel = String.raw`/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|filesystems|stat|swaps|vmstat|diskstats)|/sys/fs/cgroup/(?:memory|cpu|pids)\.(?:max|current|stat|weight)|/sys/devices/system/cpu/(?:online|present|possible)`;
/** SECURITY: nothing here is a program or a library that runs: a copy of one could run under another name. */
const headers = String.raw`/usr/(?:local/)?include(?:/[\w.+-]+)*/?|/usr/share/(?:doc|man|zoneinfo|dict|locale|licenses|common-licenses)(?:/[\w.+-]+)*/?`;
const readable = new RegExp(`^(?:${release}|${kernel}|${headers})$`);
/** Places of the system whose names are looked at. */
const listable = /^\/(?:usr(?:\/(?:local|bin|sbin|lib|lib64|share|src|include)(?:\/[\w.+@-]+)*)?|bin|sbin|lib|lib64|opt)\/?$/;

/** Whether a program that only prints may have the path. */
export function isMachineFact(path: string, action: PathAction): boolean {
  if (/(?:^|\/)\.\.?(?:\/|$)/.test(path)) return false;
  return (action !== 'write' && action !== 'remove' && readable.test(path)) || (action === 'list' && listable.test(path));
}

const endless = /^\/dev\/(?:zero|u?random)$/;

/** A device that never ends, for who takes a bounded part of it. */
export function isEndlessDevice(path: string): boolean {
  return endless.test(path);
}

/** `32`, `64k`, `100M`: an amount that does no harm. */
export function isSmallAmount(text: string): boolean {
  return /^(?:\d{1,9}|\d{1,6}[kK](?:i?B)?|\d{1,3}M(?:i?B)?)$/.test(text);
}

/** Forms of programs that change the machine in which they only show it. */
const looks: Readonly<Record<string, RegExp>> = {
  mount: /^(?:-l)?$/,
  ip: /^(?:-(?:br(?:ief)?|[46cosd]|json|color|details|stats) ?)*(?:a|addr|address|l|link|r|ro|route|n|neigh|rule)(?: (?:s|show|list|ls))?(?: dev)?(?: (?:lo|eth\d+|en\w+|wl\w+|docker\d+|veth\w+|br-?\w*))?$/,
  ifconfig: /^(?:-a|lo|(?:eth|en|wl)\w+)?$/,
  route: /^(?:-n)?$/,
  sysctl: /^(?:-n )?[a-z][\w.]+$/,
  swapon: /^(?:-s|--show)$/,
  hostnamectl: /^(?:status)?$/,
  timedatectl: /^(?:status|show)?$/,
  'update-alternatives': /^(?:--list|--display|--query) [\w.+-]+$/,
  getent: /^(?:passwd|group|services|protocols) [\w.-]+$/,
};

/** `mount`, `ip addr show`: it prints what is there. */
export function looksAtMachine(program: string, words: readonly string[]): boolean {
  return Object.hasOwn(looks, program) && looks[program]?.test(words.join(' ')) === true;
}
