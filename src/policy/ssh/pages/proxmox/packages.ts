/** Packages and certificates. */
import { anyNumber, hostName, kind, needs, oneOf } from '../../kinds.ts';
import type { Pages } from '../../page.ts';
import { readableFile } from '../../places.ts';

const packageName = kind(
  'the name of a package, or a pattern',
  /^[A-Za-z0-9*?[][A-Za-z0-9.+:*?[\]-]{0,80}(?:=[A-Za-z0-9.+:~-]{1,60})?(?:\/[a-z-]{2,30})?$/,
);
const hostAndPort = kind('a host and port', /^[A-Za-z0-9][A-Za-z0-9.-]{0,120}:\d{1,5}$/);
const format = kind('a format', /^[^\n]{1,200}$/);
const anyPath = kind('a path, or a pattern for names', /^(?!.*\/\.{1,2}(?:\/|$))[A-Za-z0-9/*][A-Za-z0-9_.*/+-]{0,200}$/);

export const packages: Pages = {
  dpkg: {
    why: 'prints packages; other actions install and remove, `--admindir` and `--root` read elsewhere',
    flags: '-lLsSCV --list --listfiles --status --search --audit --verify --print-architecture --get-selections --no-pager',
    operands: [anyNumber(anyPath)],
    check: ({ options }) => {
      const actions = [...options.keys()].filter((option) => option !== '--no-pager');
      return actions.length === 1 ? undefined : 'with other than one of `-l`, `-L`, `-s`, `-S`, `-V`';
    },
    match: `dpkg -l  dpkg -l 'proxmox-kernel*'  dpkg -s zfsutils-linux  dpkg -S /usr/bin/qm  dpkg -L pve-manager  dpkg --get-selections
      dpkg --audit`,
    notMatch: `dpkg -i x.deb  dpkg --admindir=/x -l  dpkg -r x  dpkg --configure -a  dpkg --root=/x -l  dpkg --purge x  dpkg -P x
      dpkg --set-selections  dpkg -l --pre-invoke=id`,
  },
  'dpkg-query': {
    why: 'prints packages; `--admindir` reads elsewhere',
    flags: '-lLsSWp --list --listfiles --status --search --show --print-avail --no-pager',
    options: { '-f --showformat': format },
    operands: [anyNumber(anyPath)],
    match: `dpkg-query -W -f '\${Package} \${Version}\\n' pve-manager  dpkg-query -W  dpkg-query -l 'ceph*'`,
    notMatch: 'dpkg-query --admindir=/x -W  dpkg-query --load-avail -W --root=/x  dpkg-query --control-path x ../y',
  },
  apt: {
    why: 'lists packages; other verbs install, `-o` and `-c` set programs to run',
    style: 'words',
    verbs: {
      list: {
        flags: '--installed --upgradable --upgradeable --all-versions -a --manual-installed -qq -q --verbose',
        operands: [anyNumber(packageName)],
      },
      'show, policy, depends, rdepends, search, showsrc': {
        flags: '-a --all-versions -n --names-only -f --full -q',
        operands: [anyNumber(packageName, 8)],
      },
    },
    match: `apt list --upgradable  apt list --installed  apt list -a pve-manager  apt show zfsutils-linux  apt policy pve-manager  apt list 'pve*'`,
    notMatch: `apt update  apt upgrade -y  apt install x  apt list -o APT::Update::Pre-Invoke::=id  apt list -c=/tmp/x  apt remove x  apt list -t=x
      apt changelog x`,
  },
  'apt-cache apt-mark apt-config': {
    why: 'prints what apt knows; `-o`, `-c` and verbs that mark or dump its whole configuration are left out',
    style: 'words',
    verbs: {
      'policy, show, showpkg, depends, rdepends, madison, search, stats, showhold, showmanual, showauto': {
        flags: '-q --installed --names-only -n',
        operands: [anyNumber(packageName, 8)],
      },
    },
    match: 'apt-cache policy pve-manager  apt-cache policy  apt-cache madison pve-qemu-kvm  apt-mark showhold',
    notMatch: `apt-mark hold x  apt-cache policy -c /etc/shadow  apt-cache -o x=y policy  apt-config dump  apt-cache gencaches  apt-mark auto x`,
  },
  'apt-get': {
    why: 'plays an upgrade through with `-s` and changes nothing; without it packages change',
    style: 'words',
    flags: '-s --simulate --just-print --dry-run --no-act -q -qq -V',
    verbs: { 'upgrade, dist-upgrade, autoremove, check': {}, install: { operands: [anyNumber(packageName, 8)] } },
    check: needs('-s --simulate --just-print --dry-run --no-act', 'which would change packages; add `-s`'),
    match: 'apt-get -s upgrade  apt-get dist-upgrade --simulate  apt-get -s install pve-manager',
    notMatch: `apt-get upgrade -y  apt-get update  apt-get -s -o APT::x=y upgrade  apt-get install x  apt-get -s source x  apt-get -s update`,
  },
  needrestart: {
    why: 'lists what needs a restart; `-r a` restarts',
    flags: '-bklpv',
    options: { '-r': oneOf('`l`', 'l') },
    check: ({ has, options }) => (has('-b', '-p') || options.get('-r') === 'l' ? undefined : 'without `-b`, which may ask or restart'),
    match: 'needrestart -b  needrestart -r l -k  needrestart -p',
    notMatch: 'needrestart -r a  needrestart  needrestart -r i  needrestart -c /x -b',
  },
  'locale localectl dkms': {
    why: 'prints one table of the system',
    flags: '-a --no-pager',
    verbs: { ', status': {} },
    match: 'dkms status  locale -a  localectl status  locale',
    notMatch: 'dkms install x/1  localectl set-locale x  dkms remove x/1 --all',
  },
  sshd: {
    why: 'prints its settings; anything else would start it or read other files',
    flags: '-T',
    check: needs('-T', 'which would start it'),
    match: 'sshd -T  sshd -T | grep -i permitroot',
    notMatch: 'sshd  sshd -T -f /etc/shadow  sshd -D  sshd -h /etc/x',
  },
  openssl: {
    why: 'prints a public certificate, of a server when a person agrees; keys and other commands are left out',
    style: 'words',
    verbs: {
      x509: {
        flags: '-noout -text -enddate -startdate -dates -subject -issuer -fingerprint -serial -sha256 -hash -modulus',
        options: {
          '-in': {
            ...readableFile,
            name: 'a readable certificate',
            accepts: (path) => /\.(?:pem|crt)$/.test(path) && readableFile.accepts(path),
          },
          '-checkend': kind('seconds', /^\d{1,9}$/),
          '-inform': oneOf('a form', 'PEM DER'),
        },
        filter: true,
      },
      s_client: {
        flags: '-showcerts -brief',
        options: { '-connect': hostAndPort, '-servername': hostName },
        filter: true,
        check: ({ has, piped }) =>
          has('-connect') && piped
            ? { ask: 'it connects to a host and sends it what is piped into it' }
            : 'without `echo |` in front and `-connect HOST:PORT`',
      },
      version: { flags: '-a' },
    },
    match: `openssl x509 -in /etc/pve/local/pve-ssl.pem -noout -enddate  openssl x509 -noout -text -in /etc/pve/pve-root-ca.pem  openssl version
      echo | openssl s_client -connect localhost:8006 2>/dev/null | openssl x509 -noout -enddate`,
    notMatch: `openssl x509 -in /etc/pve/pve-root-ca.pem -out /etc/x  openssl rsa -in /etc/pve/local/pve-ssl.key  openssl s_client -connect evil:443
      openssl x509 -noout -in /etc/pve/priv/pve-root-ca.key  openssl enc -k x  openssl x509 -noout  df | openssl version
      echo | openssl s_client -connect x:1 -cert /etc/x  openssl x509 -noout -engine x`,
  },
};
