/** The older tools, firewalls, and what asks the network. */
import { address, anyNumber, atMostOne, hostName, interfaceName, kind, needs, oneOf, some, upTo, word } from '../../kinds.ts';
import { type Call, flag, type Objection, type Page } from '../../page.ts';

const chain = kind('the name of a chain', /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,40}$/);
const table = oneOf('a table', 'filter nat mangle raw security');
const family = oneOf('a family', 'ip ip6 inet arp bridge netdev');

function asksNetwork({ operands }: Call): Objection {
  return { ask: `it sends packets from the node to ${operands.length === 0 ? 'other hosts' : 'the host that is named'}` };
}

function pingsFew(call: Call): Objection | undefined {
  return call.has('-c') ? asksNetwork(call) : 'without `-c`, which never ends; add `-c 3`';
}

export const network: readonly Page[] = [
  {
    names: ['arp'],
    why: 'prints neighbours; `-d`, `-s` and `-f` change them',
    options: { '-anev --all --numeric --verbose': flag, '-i --device': interfaceName },
    operands: [atMostOne(address)],
    match: 'arp -n  arp -an  arp -n -i vmbr0',
    notMatch: 'arp -d 10.0.0.1  arp -s 10.0.0.1 aa:bb:cc:dd:ee:ff  arp -f /etc/shadow  arping -c1 x',
  },
  {
    names: ['route', 'netstat'],
    why: 'prints routes and sockets; `route add` and `del` change them, `-c` never ends',
    options: {
      '-nervatulpsiolW46xg --numeric --extend --route --tcp --udp --listening --programs --all --statistics --interfaces --groups': flag,
    },
    match: 'route -n  netstat -rn  netstat -tulpn  netstat -i',
    notMatch: 'route add default gw 10.0.0.1  route del default  netstat -c  netstat --continuous',
  },
  {
    names: ['ifconfig'],
    why: 'prints interfaces; with more than a name it would change one',
    options: { '-asv': flag },
    operands: [atMostOne(interfaceName)],
    match: 'ifconfig  ifconfig -a  ifconfig vmbr0',
    notMatch: 'ifconfig vmbr0 down  ifconfig eno1 10.0.0.9  ifconfig eno1 up',
  },
  {
    names: ['ifquery'],
    why: 'prints how interfaces are set up; `ifup`, `ifdown` and `ifreload` change them',
    options: { '-acrlv --list --all --check --running --state --verbose': flag, '-o --format': oneOf('a form', 'native json') },
    operands: [anyNumber(interfaceName, 4)],
    match: 'ifquery --list  ifquery -a  ifquery --check -a  ifquery vmbr0',
    notMatch: 'ifup vmbr0  ifdown vmbr0  ifreload -a  ifquery -i /etc/shadow  ifquery --interfaces=/x -a',
  },
  {
    names: ['brctl'],
    why: 'prints bridges; other verbs change them',
    verbs: { 'show, showmacs, showstp': { operands: [atMostOne(interfaceName)] } },
    match: 'brctl show  brctl showmacs vmbr0',
    notMatch: 'brctl addbr x  brctl delif vmbr0 eno1  brctl stp vmbr0 on',
  },
  {
    names: ['iptables', 'ip6tables', 'ebtables', 'arptables', 'iptables-legacy', 'iptables-nft', 'ip6tables-legacy', 'ip6tables-nft'],
    why: 'prints rules of the firewall; other letters change them, `-Z` sets counters to zero, `--modprobe` starts a program',
    style: 'words',
    options: {
      '-L -S --list --list-rules': { optional: chain, apart: true },
      '-n --numeric -v --verbose -x --exact -w --line-numbers -nv -vn -nL -vL -nvL -vnL -Lnv -Lvn -Ln -Lv -nvx -Lnvx -vnx': flag,
      '-t --table': table,
    },
    operands: [atMostOne(chain)],
    check: needs('-L -S --list --list-rules -nL -vL -nvL -vnL -Lnv -Lvn -Ln -Lv -Lnvx', 'which would change the firewall'),
    match:
      'iptables -L -n  iptables -L -n -v  iptables -S  iptables -t nat -L -n --line-numbers  iptables -nvL INPUT  ip6tables -L FORWARD -n',
    notMatch:
      'iptables -F  iptables -Z  iptables -L -Z  iptables -A INPUT -j DROP  iptables -L -n --modprobe=/tmp/x  iptables -P INPUT DROP  iptables -t nat -F  iptables -LZ  iptables',
  },
  {
    names: ['iptables-save', 'ip6tables-save', 'ebtables-save', 'iptables-legacy-save', 'iptables-nft-save'],
    why: 'prints all rules; `-f` writes a file, `-M` starts a program',
    options: { '-c --counters': flag, '-t --table': table },
    match: 'iptables-save  iptables-save -c -t filter  ip6tables-save | grep PVEFW',
    notMatch: 'iptables-save -f /etc/x  iptables-save -M /tmp/x  iptables-restore  iptables-save --file=/x',
  },
  {
    names: ['nft'],
    why: 'prints rules of the firewall; other verbs change them, `-f`, `-i`, `-I` and `-D` read',
    options: { '-ansjytSupT --handle --numeric --stateless --json --terse': flag },
    verbs: {
      'list ruleset, list tables, list chains, list sets, list maps, list flowtables, list counters, list hooks': {
        operands: [atMostOne(family)],
      },
      'list table': { operands: [atMostOne(family), word] },
      'list chain, list set, list map': { operands: [atMostOne(family), word, word] },
    },
    match: 'nft list ruleset  nft -a list ruleset  nft list tables  nft list table inet filter  nft list chain inet filter input',
    notMatch: 'nft flush ruleset  nft add table x  nft -f /etc/shadow  nft list ruleset -i  nft monitor  nft delete table x  nft -i',
  },
  {
    names: ['ipset'],
    why: 'prints sets of addresses; other commands change them, `-f` names a file',
    style: 'words',
    options: { '-n -name -t -terse -s -sorted': flag, '-o -output': oneOf('a form', 'plain save xml') },
    verbs: { 'list, -L, save': { options: { '-n -name -t -terse': flag }, operands: [atMostOne(word)] } },
    match: 'ipset list  ipset list -n  ipset -t list  ipset save',
    notMatch: 'ipset flush  ipset restore  ipset destroy  ipset add x 1.1.1.1  ipset save -f /etc/x',
  },
  {
    names: ['conntrack'],
    why: 'counts and lists connections; `-D`, `-F`, `-U`, `-I` change them, `-E` never ends',
    style: 'words',
    options: {
      '-L -C -S -n --dump --count --stats': flag,
      '-p --proto': word,
      '-s -d --src --dst': address,
      '-f --family': oneOf('a family', 'ipv4 ipv6'),
      '-o --output': kind('a form', /^[a-z,]{1,40}$/),
    },
    check: needs('-L -C -S --dump --count --stats', 'which would change or follow connections'),
    match: 'conntrack -C  conntrack -S  conntrack -L -p tcp',
    notMatch: 'conntrack -F  conntrack -D -s 10.0.0.1  conntrack -E  conntrack -L -F  conntrack',
  },
  {
    names: ['lldpcli', 'lldpctl'],
    why: 'prints neighbours on the wire; other commands configure',
    options: { '-f': oneOf('a form', 'plain xml json json0 keyvalue') },
    verbs: {
      'show neighbors, show neighbors details, show neighbors summary, show interfaces, show statistics, show chassis, show configuration':
        {},
    },
    match: 'lldpcli show neighbors  lldpcli -f json show neighbors details',
    notMatch: 'lldpcli configure system hostname x  lldpcli -c /x show neighbors  lldpcli watch  lldpcli',
  },
  {
    names: ['resolvectl'],
    why: 'prints how names are looked up; `query` asks the network, others change it',
    options: { '--no-pager': flag },
    verbs: {
      'status, dns, domain, default-route, statistics, show-cache': {
        operands: [atMostOne(interfaceName)],
        check: ({ operands, verb }) => (operands.length > 0 && verb !== 'status' && verb !== 'dns' ? 'with an interface' : undefined),
      },
    },
    match: 'resolvectl status  resolvectl dns  resolvectl statistics --no-pager',
    notMatch: 'resolvectl flush-caches  resolvectl query evil.example  resolvectl dns eno1 1.1.1.1  resolvectl reset-statistics',
  },
  {
    names: ['mii-tool', 'iw', 'vnstat'],
    why: 'prints the state of links or counted traffic',
    options: { '-vdmhs --json --short': flag, '-i': interfaceName },
    verbs: { '': {}, 'dev, list, phy, reg get': {} },
    check: ({ operands }) => (operands.length > 0 ? 'with an operand' : undefined),
    match: 'vnstat -d  vnstat -i vmbr0  iw dev  mii-tool -v',
    notMatch: 'mii-tool -r eno1  mii-tool -F 100baseTx-FD eno1  iw dev wlan0 set x  vnstat -l -i x  vnstat --remove -i x',
  },
  {
    names: ['wg'],
    why: 'prints peers; private keys and other verbs are left out',
    verbs: {
      '': {},
      'show interfaces': {},
      show: {
        operands: [
          atMostOne(interfaceName),
          atMostOne(
            oneOf(
              'what is no secret',
              'public-key listen-port fwmark peers endpoints allowed-ips latest-handshakes transfer persistent-keepalive',
            ),
          ),
        ],
      },
    },
    match: 'wg  wg show  wg show wg0 latest-handshakes  wg show interfaces',
    notMatch: 'wg show all private-key  wg show wg0 preshared-keys  wg show wg0 dump  wg showconf wg0  wg genkey  wg set wg0 x',
  },
  {
    names: ['ping', 'ping6'],
    why: 'sends packets, a few; a person is asked',
    options: {
      '-46nqDOv': flag,
      '-c': upTo(10),
      '-i': kind('seconds', /^(?:0\.[2-9]|[1-5])$/),
      '-W -w': upTo(20),
      '-s': upTo(9000),
      '-t': upTo(255),
      '-I': interfaceName,
      '-M': oneOf('a way', 'do dont want'),
    },
    operands: [hostName],
    check: pingsFew,
    match: 'ping -c 3 10.0.0.2  ping -c 1 -W 2 pve2  ping -M do -s 8972 -c 3 10.0.0.2',
    notMatch: 'ping 10.0.0.1  ping -f 10.0.0.1  ping -c 100000 x  ping -c 1  ping -b -c 1 10.0.0.255  ping -c 1 -p ff x',
  },
  {
    names: ['dig', 'host', 'nslookup', 'traceroute', 'tracepath'],
    why: 'asks the network; a person is asked',
    style: 'words',
    options: { '-4 -6 -n -x -r -w -b -v +short +trace +noall +answer': flag, '-c': upTo(10), '-t': word, '-m': upTo(30) },
    operands: [some(kind('a host, a server or a type', /^(?:@)?[A-Za-z0-9_](?:[A-Za-z0-9_.:-]{0,120})$/), 3)],
    check: asksNetwork,
    match: 'dig +short pve2  host pve2  traceroute -n 10.0.0.2  nslookup pve2',
    notMatch: 'dig -f /etc/shadow  dig -k /x y  host  nslookup',
  },
  {
    names: ['showmount', 'rpcinfo'],
    why: 'asks a server for its exports; a person is asked',
    options: { '-eadp --exports --all --directories': flag },
    operands: [atMostOne(hostName)],
    check: asksNetwork,
    match: 'showmount -e 10.0.0.9  rpcinfo -p 10.0.0.9',
    notMatch: 'showmount -e a b  rpcinfo -d x 1  rpcinfo -b 1 1',
  },
];
