/**
 * Network state. SECURITY: iproute2 takes abbreviations by table order (`ip l s` is link *set*), so only whole, listed names are taken, and
 * a name of an object without a verb takes nothing behind it.
 */
import type { ProgramRule, Takes } from '../../program-rule.ts';
import { kind, oneOf, wholeNumber } from '../../value-kinds.ts';

const interfaceName = kind('the name of an interface', /^[A-Za-z0-9][A-Za-z0-9_.@:-]{0,20}$/);
const interfaceLabel = kind('the label of an address', /^[A-Za-z0-9][A-Za-z0-9_.@:*-]{0,20}$/);
const network = kind('an address or network', /^(?:default|any|[0-9a-fA-F.:]{2,45}(?:\/\d{1,3})?)$/);
const word = kind('a keyword', /^[a-z0-9_]{1,20}$/);
const linkKind = kind('a kind of link', /^[a-z0-9_]{2,15}$/);

const globalFlags = [
  ...['--brief', '--json', '--pretty', '--statistics', '--stats', '--details', '--oneline'],
  ...['-4', '-6', '-br', '-brief', '-j', '-json', '-p', '-pretty', '-s', '-stats', '-statistics', '-d', '-details', '-o', '-oneline'],
  ...['-h', '-human', '-human-readable', '-c', '-color', '-c=never', '-color=never', '-c=auto', '-color=auto', '-r', '-N', '-Numeric'],
];
const globalOptions = {
  '-f': oneOf('an address family', 'inet', 'inet6', 'link', 'bridge', 'mpls'),
  '-family': oneOf('an address family', 'inet', 'inet6', 'link', 'bridge', 'mpls'),
};

const addressWords: Readonly<Record<string, Takes>> = {
  dev: interfaceName,
  up: null,
  scope: word,
  to: network,
  master: interfaceName,
  type: linkKind,
  primary: null,
  secondary: null,
  permanent: null,
  label: interfaceLabel,
  dynamic: null,
  temporary: null,
  deprecated: null,
  tentative: null,
};
const linkWords: Readonly<Record<string, Takes>> = {
  dev: interfaceName,
  up: null,
  master: interfaceName,
  type: linkKind,
  group: word,
  novf: null,
};
const routeWords: Readonly<Record<string, Takes>> = {
  dev: interfaceName,
  table: word,
  proto: word,
  protocol: word,
  scope: word,
  via: network,
  src: network,
  to: network,
  root: network,
  match: network,
  exact: network,
  vrf: interfaceName,
  type: word,
  metric: wholeNumber,
};
const neighbourWords: Readonly<Record<string, Takes>> = {
  dev: interfaceName,
  to: network,
  nud: word,
  proxy: null,
  vrf: interfaceName,
  unused: null,
  nomaster: null,
};

/** ss(8), FILTER: a port, or comparisons of ports in one word. */
const socketFilter =
  /^(?::(?:\d{1,5}|[a-z]{2,15})|\( *[sd]port [=!<>]{1,2} :?\w{1,15}(?: (?:or|and) [sd]port [=!<>]{1,2} :?\w{1,15}){0,4} *\)|[sd]port = :\w{1,15})$/;

/** SECURITY: a name would be looked up in the network. */
const socketAddress = kind('an address with or without a port', /^(?=.)(?:\[?[0-9a-fA-F:.]{2,45}\]?(?:\/\d{1,3})?)?(?::\d{1,5})?$/);

const show = ['show', 'list', 'ls'] as const;
const addressNames = ['addr', 'address', 'a'];
const linkNames = ['link', 'l'];
const routeNames = ['route', 'r', 'ro'];
const neighbourNames = ['neigh', 'neighbor', 'neighbour', 'n'];
const ruleNames = ['rule', 'ru'];

/** `time-wait`, `syn-sent`, … (ss(8), STATE-FILTER). */
const socketState = kind('a state of sockets', /^[a-z0-9-]{2,15}$/);

export const networkRules: readonly ProgramRule[] = [
  {
    ...ipRule(
      'bare',
      [...addressNames, ...linkNames, ...routeNames, ...neighbourNames, ...ruleNames, 'maddr', 'maddress', 'netns'].map((name) => [name]),
    ),
    justification: 'an object alone is shown',
    match: ['ip addr', 'ip -4 addr', 'ip -br a', 'ip route', 'ip -s link', 'ip neigh', 'ip rule'],
    notMatch: ['ip addr flush', 'ip addr eth0', 'ip -batch x', 'ip -n x addr', 'ip addr -4', 'ip monitor', 'ip l s'],
  },
  {
    ...ipRule('addr', [...verbsOf([...addressNames, 'maddr', 'maddress']), ...shortOf(addressNames)]),
    words: { ...ipWords(), ...addressWords },
    operands: { kind: interfaceName, max: 1 },
    countsAsOperand: ['dev'],
    justification: 'shows addresses',
    match: ['ip addr show', 'ip a s vmbr0', 'ip -j addr show', 'ip addr show dev vmbr0', 'ip addr show vmbr0 up', 'ip a show eth0'],
    notMatch: ['ip addr add 10.0.0.1/24 dev x', 'ip addr flush dev x', 'ip addr show eth0 flush', 'ip addr restore', 'ip addr save'],
  },
  {
    ...ipRule('link', verbsOf(linkNames)),
    words: { ...ipWords(), ...linkWords },
    operands: { kind: interfaceName, max: 1 },
    countsAsOperand: ['dev'],
    justification: 'shows links',
    match: ['ip link show', 'ip link show vmbr0', 'ip -d link show type bridge', 'ip -s link show eth0', 'ip link ls up'],
    notMatch: [
      'ip link set vmbr0 down',
      'ip link delete vmbr0',
      'ip link show eth0 set',
      'ip link show dev x down',
      'ip link add x type dummy',
      'ip link s lo up',
    ],
  },
  {
    ...ipRule('route', [...verbsOf(routeNames), ...shortOf(routeNames)]),
    words: { ...ipWords(), ...routeWords },
    operands: { kind: network, max: 1 },
    justification: 'shows routes',
    match: ['ip route show', 'ip route show table all', 'ip -6 route show default', 'ip route list dev vmbr0', 'ip r ls'],
    notMatch: [
      'ip route add default via 10.0.0.1',
      'ip route del default',
      'ip route flush cache',
      'ip route show flush',
      'ip route restore',
    ],
  },
  {
    ...ipRule(
      'route-get',
      routeNames.map((name) => [name, 'get']),
    ),
    words: { ...ipWords(), from: network, iif: interfaceName, oif: interfaceName, to: network, vrf: interfaceName },
    operands: { kind: network, max: 1 },
    justification: 'asks the kernel which route it would take; sends nothing',
    match: ['ip route get 10.0.0.1', 'ip route get 1.1.1.1 from 10.0.0.5'],
    notMatch: ['ip route get evil.example', 'ip route get 1.1.1.1 set'],
  },
  {
    ...ipRule('neigh', verbsOf([...neighbourNames, ...ruleNames])),
    words: { ...ipWords(), ...neighbourWords, table: word },
    operands: { kind: network, max: 1 },
    justification: 'shows neighbours and rules',
    match: ['ip neigh show', 'ip neigh show dev vmbr0', 'ip rule list'],
    notMatch: ['ip neigh flush all', 'ip neigh add x', 'ip rule add from 10.0.0.1', 'ip rule flush'],
  },
  {
    id: 'ssh.ss',
    program: 'ss',
    flags: 'tulnap46xsemioHwWZzO',
    values: {
      A: kind('kinds of sockets', /^[a-z_]{2,15}(?:,[a-z_]{2,15}){0,5}$/),
      f: oneOf('an address family', 'inet', 'inet6', 'unix', 'link', 'netlink', 'vsock'),
    },
    longs: {
      '--tcp': null,
      '--udp': null,
      '--listening': null,
      '--numeric': null,
      '--all': null,
      '--processes': null,
      '--ipv4': null,
      '--ipv6': null,
      '--summary': null,
      '--unix': null,
      '--extended': null,
      '--info': null,
      '--memory': null,
      '--options': null,
      '--no-header': null,
      '--oneline': null,
    },
    words: {
      state: socketState,
      exclude: socketState,
      dst: socketAddress,
      src: socketAddress,
      sport: null,
      dport: null,
      '=': null,
      or: null,
      and: null,
      '(': null,
      ')': null,
    },
    operands: { kind: kind('a port such as `:22`, or ports in parentheses', socketFilter), max: 4 },
    role: 'source',
    justification: 'prints sockets; `-K` closes them, `-D` writes a file, `-F` reads one, `-E` waits, `-N` enters a namespace',
    match: ['ss -tln', 'ss -tulpn', 'ss -s', 'ss -tn state established', 'ss -tn sport = :22', 'ss -tn dst 10.0.0.5'],
    notMatch: [
      'ss -K',
      'ss -tK dst 10.0.0.1',
      'ss -D /tmp/x',
      'ss -F /etc/shadow',
      'ss --kill',
      'ss -E',
      'ss -N x',
      'ss -tn dst evil.example',
    ],
  },
];

function ipRule(
  name: string,
  verbs: readonly (readonly string[])[],
): Pick<ProgramRule, 'id' | 'program' | 'verbs' | 'words' | 'optionsFirst' | 'role'> {
  return { id: `ssh.ip-${name}`, program: 'ip', verbs, words: ipWords(), optionsFirst: true, role: 'source' };
}

function verbsOf(names: readonly string[]): readonly (readonly string[])[] {
  return names.flatMap((name) => show.map((verb) => [name, verb]));
}

/** Abbreviations that everybody writes: of addresses and routes `s` and `sh` mean show in every iproute2; of links `s` means set. */
function shortOf(names: readonly string[]): readonly (readonly string[])[] {
  return names.flatMap((name) => ['s', 'sh'].map((verb) => [name, verb]));
}

/** Options of `ip` itself; they stand before the object, where keywords cannot. */
function ipWords(): Readonly<Record<string, Takes>> {
  return { ...Object.fromEntries(globalFlags.map((flag) => [flag, null])), ...globalOptions };
}
