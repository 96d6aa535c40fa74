/**
 * iproute2 and ethtool. SECURITY: iproute2 takes abbreviations by table order (`ip l s` is link *set*), so only whole, listed names are
 * taken, and a name of an object without a verb takes nothing behind it.
 */
import { address, anyNumber, atMostOne, interfaceName, kind, number, oneOf, word } from '../../kinds.ts';
import type { Call, Form, Kind, Pages } from '../../page.ts';

const shows = ['show', 'list', 'ls'];
const linkKind = kind('a kind of link', /^[a-z0-9_]{2,15}$/);

/** `addr show, addr list, …` for each name, with the abbreviations of the verb that are safe for it. */
function verbs(names: string, form: Form): Readonly<Record<string, Form>> {
  const keys = names.split(' ').flatMap((name) => shows.map((verb) => `${name} ${verb}`));
  return { [names.split(' ').join(', ')]: {}, [keys.join(', ')]: { ...form, check: oneDevice } };
}

/** `dev eth0` names what an operand names, and the word `group` takes a device for a group. */
function oneDevice({ operands, has }: Call): string | undefined {
  return operands.length > 0 && has('dev') ? 'with two devices' : undefined;
}

/** ss(8), STATE-FILTER and EXPRESSION: states, ports, addresses, and comparisons of ports in one word. */
const socketStates = `all|established|syn-sent|syn-recv|fin-wait-[12]|time-wait|closed?|close-wait|last-ack|listen(?:ing)?|closing|connected
|synchronized|bucket|big`.replaceAll('\n', '');
const filterWords = `state|exclude|${socketStates}|dst|src|sport|dport|dev|=|!=|[<>]=?|eq|ne|gt|lt|or|and|not|\\(|\\)`;
const addressAndPort = '(?=.)(?:(?=[^/]*[.:])\\[?[0-9a-fA-F:.]{2,45}\\]?(?:/\\d{1,3})?)?(?::(?:\\d{1,5}|[a-z]{2,15}))?';
const portTest = '[sd]port [=!<>]{1,2} :?\\w{1,15}';
const filterWord: Kind = kind(
  'a filter such as `state established` or `sport = :22`',
  new RegExp(`^(?:${filterWords}|${addressAndPort}|\\( *${portTest}(?: (?:or|and) ${portTest}){0,4} *\\)|${portTest})$`),
);

const globalFlags = `--brief --json --pretty --statistics --stats --details --oneline -4 -6 -0 -br -brief -j -json -p -pretty -s -stats
  -statistics -d -details -o -oneline -h -human -human-readable -c -color -c=never -color=never -c=auto -color=auto -r -N -Numeric
  -t -timestamp`;
const ofAddress: Form = {
  flags: 'up primary secondary permanent dynamic temporary deprecated tentative dadfailed',
  options: {
    'dev master': interfaceName,
    scope: word,
    to: address,
    type: linkKind,
    label: kind('the label of an address', /^[A-Za-z0-9][A-Za-z0-9_.@:*-]{0,20}$/),
  },
  operands: [atMostOne(interfaceName)],
  check: oneDevice,
};
const ofLink: Form = {
  flags: 'up novf',
  options: { 'dev master vrf': interfaceName, type: linkKind, group: word },
  operands: [atMostOne(interfaceName)],
};
const ofRoute: Form = {
  options: { 'dev vrf': interfaceName, 'table proto protocol scope type': word, 'via src to root match exact': address, metric: number },
  operands: [atMostOne(address)],
};
const ofNeighbour: Form = {
  flags: 'proxy unused nomaster',
  options: { 'dev vrf master': interfaceName, 'nud table': word, to: address },
  operands: [atMostOne(address)],
};

export const ip: Pages = {
  ip: {
    why: 'shows addresses, links, routes and neighbours; other verbs change them, `-b` reads commands, `-n`, `netns exec` and `vrf exec` run elsewhere, `monitor` never ends',
    style: 'words',
    flags: globalFlags,
    options: { '-f -family --family': oneOf('an address family', 'inet inet6 link bridge mpls') },
    verbs: {
      ...verbs('addr address a maddr maddress', ofAddress),
      'addr s, addr sh, address s, address sh, a s, a sh': ofAddress,
      ...verbs('link l', ofLink),
      ...verbs('route r ro', ofRoute),
      'route s, route sh, r s, r sh, ro s, ro sh': ofRoute,
      'route get, r get, ro get': { options: { from: address, 'iif oif vrf': interfaceName, to: address }, operands: [atMostOne(address)] },
      ...verbs('neigh neighbor neighbour nei n', ofNeighbour),
      ...verbs('rule ru', ofNeighbour),
      ...verbs('netns vrf tunnel tuntap netconf ntable mroute mrule token nexthop', {
        options: { dev: interfaceName },
        operands: [atMostOne(interfaceName)],
      }),
      'netns list-id, vrf show': {},
    },
    match: `ip a  ip addr  ip -br a  ip -4 addr show dev vmbr0  ip a s vmbr0  ip -s link show eno1  ip -d link show type bridge  ip route  ip r ls
      ip route get 10.0.0.1  ip -6 neigh show  ip nei  ip rule list  ip netns list  ip route show table all  ip -s -s link show eno1  ip -c=never a`,
    notMatch: `ip addr add 1.2.3.4/24 dev eno1  ip addr flush dev x  ip link set vmbr0 down  ip l s lo up  ip l s eno1 down  ip -b /etc/shadow
      ip -batch x  ip netns exec x id  ip -n x addr  ip route del default  ip route flush cache  ip addr show eth0 flush  ip monitor  ip addr restore
      ip link show eth0 set  ip vrf exec x id  ip xfrm state  ip route get evil.example  ip addr eth0  ip neigh flush all  ip -all netns exec id`,
  },
  bridge: {
    why: 'shows links, tables and VLANs of bridges; other verbs change them, `monitor` never ends',
    style: 'words',
    flags: '-d -details -s -statistics -j -json -p -pretty -c -compressvlans -br -o -oneline',
    verbs: {
      ...verbs('link fdb vlan mdb', {
        flags: 'self master',
        options: { 'dev br brport': interfaceName, vid: number, 'state dynamic': word },
        operands: [],
      }),
    },
    match: `bridge link  bridge fdb show br vmbr0  bridge vlan show  bridge vlan  bridge -d link show  bridge -s fdb show  bridge mdb show`,
    notMatch: `bridge vlan add dev eth0 vid 2  bridge fdb flush dev vmbr0  bridge link set dev x learning off  bridge monitor  bridge -b /x
      bridge -n x link`,
  },
  tc: {
    why: 'shows how traffic is shaped; other verbs change it',
    style: 'words',
    flags: '-s -statistics -d -details -j -json -p -pretty -g -graph',
    verbs: {
      ...verbs('qdisc class filter', {
        flags: 'ingress root',
        options: { dev: interfaceName, parent: kind('a handle', /^[0-9a-f:]{1,12}$/) },
      }),
    },
    match: 'tc -s qdisc show dev vmbr0  tc qdisc  tc class show dev eno1',
    notMatch: 'tc qdisc add dev eno1 root netem delay 1000ms  tc qdisc del dev x root  tc -b /x  tc monitor  tc -n x qdisc',
  },
  ss: {
    why: 'prints sockets; `-K` closes them, `-D` writes a file, `-F` reads one, `-E` waits, `-N` enters a namespace, `-b` shows programs of the kernel',
    flags: `-tulnap46xsemioHwWZzO0dSTQ --tcp --udp --listening --numeric --all --processes --ipv4 --ipv6 --summary --unix --extended
      --info --memory --options --no-header --oneline --tos --sctp --raw --threads --cgroup`,
    options: {
      '-A --query': kind('kinds of sockets', /^[a-z_]{2,15}(?:,[a-z_]{2,15}){0,5}$/),
      '-f --family': oneOf('an address family', 'inet inet6 unix link netlink vsock'),
    },
    // SECURITY: a name of a host would be looked up in the network.
    operands: [anyNumber(filterWord, 16)],
    match: `ss -tln  ss -tulpn  ss -s  ss -tn state established  ss -tn sport = :22  ss -tn dst 10.0.0.5  ss -tn '( sport = :22 )'
      ss -tlnp sport = :8006`,
    notMatch: `ss -K  ss -tK dst 10.0.0.1  ss -D /tmp/x  ss -F /etc/shadow  ss --kill  ss -E  ss -N x  ss -tn dst evil.example  ss -b  ss -r`,
  },
  ethtool: {
    why: 'shows settings and counters of an interface; capital and other letters change, test or blink it',
    style: 'words',
    flags: `-a --show-pause -c --show-coalesce -g --show-ring -i --driver -k --show-features --show-offload -l --show-channels -S
      --statistics -T --show-time-stamping -m --module-info --dump-module-eeprom --show-eee --show-fec --show-priv-flags -P
      --show-permaddr -n -u --show-nfc -x --show-rxfh --phy-statistics --show-tunnels --include-statistics -I --json`,
    operands: [interfaceName],
    check: ({ options }) => (options.size > 2 ? 'with several options at once' : undefined),
    match: `ethtool eno1  ethtool -i eno1  ethtool -S eno1  ethtool -k eno1  ethtool -m enp1s0f0  ethtool --show-features eno1  ethtool -P eno1`,
    notMatch: `ethtool -s eno1 speed 10  ethtool -K eno1 tso off  ethtool -E eno1 x  ethtool -p eno1  ethtool --flash eno1 x  ethtool --reset eno1 all
      ethtool -t eno1  ethtool -G eno1 rx 4096  ethtool --identify eno1 5  ethtool -d eno1  ethtool -e eno1  ethtool -A eno1 rx off`,
  },
};
